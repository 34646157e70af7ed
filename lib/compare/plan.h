/*
 * plan.h: a comparison: runs, each of them once a round, and their figures.  What tells the runs apart, and
 * what is compared, are tables that the program brings.
 *
 *	plan_open(&plan, &kind, runs_a_round, rounds);
 *	plan_set_value(&plan.run[0], METHOD, "send");
 *	...
 *	while (plan.rounds < rounds && !plan_is_precise(&plan, 0.03))
 *		for (k = 0; k < plan.n; k++)
 *			plan_add(&plan, plan_turn(&plan, k), &(struct plan_result){...});
 *	ratio = plan_ratio(&plan, 1, COST);
 *	plan_close(&plan);
 */
#pragma once

#include "lib/load/statistics.h"
#include "lib/report/figures.h"

#define PLAN_RUNS_MAX   1024 /* a round */
#define PLAN_ROUNDS     5    /* without -r */
#define PLAN_ROUNDS_MAX 1000

#define PLAN_NAME    (TEXT_SIZE - 16) /* bytes of a run's name */
#define PLAN_PROFILE "--profile" /* the setting of sessions that are not compared with others */
#define PLAN_REMOTE  "remote_"   /* before the key of a measure of the other end */

/* What may tell runs apart, such as their number of streams. */
struct factor {
	const char *key;    /* in JSON and --save */
	bool is_number;     /* in JSON */
	bool is_named;      /* every name has it */
	bool is_apart;      /* it is named, and saved, only where it differs */
	bool is_any;        /* a run without a value is the same as one with any */
	bool follows_comma; /* in a name, behind those that do not */
	bool is_label; /* a name has it in place of what all runs of this value have in common */
	const struct factor
		*alias; /* the factor in whose place it is named, if it differs likewise; or NULL */
	/* Appends a value to a name; `begins` if nothing stands before it. */
	void (*append)(char name[PLAN_NAME], const char *value, bool begins);
};

/* What a factor may have as `append`: its value as it is, or of an instrument `soaked` or `unsoaked`. */
void factor_append(char name[PLAN_NAME], const char *value, bool begins);
void factor_append_instrument(char name[PLAN_NAME], const char *value, bool begins);

/* What is compared, or tells how far that can be trusted: a row of the table of figures. */
struct measure {
	const char *key; /* of the row; with `remote_` before it if it is of the other end */
	int end;         /* 0: of this host; 1: of the other end, if that is another host */
	bool is_of_load; /* its errors are those of that host's load */
	bool is_of_host; /* the end counted it of its host; not of an end whose host is the other's */
	const char *
		count; /* its line, where runs differ in it by more than their intervals; or NULL */
	const char *group; /* the group of a profile whose cost it is; or NULL */
	/* Its column; NULL: it has none. */
	const char *title;
	/* Its ratio, in JSON and in words; NULL: there is none. */
	const char *ratio_key;
	const char *verb;  /* before the ratio */
	const char *times; /* behind it */
};

/* A column of an older version's --save; a newer one calls it by its key. */
struct alias {
	const char *name, *key;
	double factor; /* from the column's unit to the key's; 0: it has text */
};

/* The tables of a program. */
struct plan_kind {
	const char *program; /* whose sessions they are */
	const struct factor *factor;
	const struct measure *measure;
	const struct alias *alias;
	int factors, measures, aliases;
	int instrument;   /* the factor by which loads are measured */
	unsigned figures; /* of --columns, those in these objects of JSON; 0: all, of both ends */
	const char *const *setup; /* settings of --brief, the last one NULL; or NULL */
	const char
		*witness; /* a setting of all sessions that have the options as they were given */
};

/*
 * What all runs of a session share: an option, whose key is as on the command line, and whose value is empty where it
 * has its default; or a fact, whose value is empty where it is not known.
 */
struct setting {
	char *key, *value;
	bool is_aside; /* it is not reported where it differs from that of another session */
};

/* A run of a plan, in all rounds. */
struct plan_run {
	char **value;         /* of each factor, as it was asked for; NULL: none, or not known */
	double **figure;      /* of each measure, in each round; NAN: not known */
	unsigned *reasons[2]; /* that made it unsafe, of this host and the other, in each round */
	unsigned unsafe[2];   /* the same of all rounds */
	char (*profile_unsafe[2])[PROFILE_REASONS]; /* what made either profile unsafe, likewise */
	uint64_t unsafe_rounds;                     /* in which either had such a reason */
	struct figures sum[2];                      /* of all rounds together, of either end */
};

struct plan {
	const struct plan_kind *kind;
	char *machine; /* `zcc 1.0.1, Linux 6.18 x86_64, host`: the program and the host */
	struct plan_run *run;
	int n;                           /* runs of a round */
	int rounds;                      /* that are complete */
	int added;                       /* runs, also of a round that is not complete */
	int unsafe_runs[UNSAFE_REASONS]; /* those of them that it made unsafe, at either end */
	struct setting *setting;         /* that all runs share; --save has them in this order */
	int settings;
	struct plan *earlier; /* the session before, of the same plan, or NULL */
	struct plan *before;  /* the last session of --against, or NULL */
	struct plan *kept;    /* the last session that the file of --save had, or NULL */
	char *text;           /* the session, as the file of --save has it; NULL: it has not */
};

/* Makes a plan of this host, of `rounds` rounds at most, in which nothing is known yet. */
void plan_open(struct plan *p, const struct plan_kind *kind, int runs, int rounds);
void plan_close(struct plan *p);

/*
 * Store the value of a factor, or of a setting, which may not be reported, or the machine, with control characters
 * replaced.  plan_put_aside(): a setting that there is, or is not, is not reported.
 */
void plan_set_value(struct plan_run *run, int factor, const char *value);
void plan_set(struct plan *p, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void plan_set_aside(struct plan *p, const char *key, const char *value);
void plan_put_aside(struct plan *p, const char *key);
void plan_set_machine(struct plan *p, const char *machine);

/* Whether there is such a setting. */
bool plan_has(const struct plan *p, const char *key);

/* Whether a session tells the value of a setting: of an option, any session that has the witness. */
bool plan_knows(const struct plan *p, const char *key);

/* The value; empty if there is none. */
const char *plan_value(const struct plan_run *run, int factor);
const char *plan_setting(const struct plan *p, const char *key);

/*
 * Returns which run is the k-th of the round under way, from 0.  Each second round is in reverse order, so that
 * a drift of the machine adds nothing to the ratio of two runs.
 */
int plan_turn(const struct plan *p, int k);

/* What a run measured. */
struct plan_result {
	const struct figures *end[2]; /* either end's own; NULL: not known */
	const struct figures
		*host[2]; /* that have the load of either host; NULL: there is no other */
};

/* Adds run i of a round; the last of them completes the round. */
void plan_add(struct plan *p, int i, const struct plan_result *res);

/* Counts a run that was added, and the reasons that made it unsafe, at either end. */
void plan_count(struct plan *p, int i, unsigned unsafe);

/*
 * The mean of a measure of run i.  Its interval adds two errors in quadrature: the scatter of the rounds, and the
 * error that all rounds share, which more rounds do not reduce.  If there are earlier sessions, the scatter is
 * that of the sessions' means.
 */
struct estimate plan_mean(const struct plan *p, int i, int measure);

/* Whether run i has a label, and whether the runs that have the same one, or none, differ in a factor. */
int plan_label(const struct plan *p, int i); /* the factor, or -1 */
bool plan_varies(const struct plan *p, int i, int factor);

/*
 * The run that run i is compared with: the first by the same instrument, and of the first by a second
 * instrument the first of all.  One with a label is compared with the first without one
 * that has the most values in common, of what varies in both, such as a list that the label does not set.
 */
int plan_reference(const struct plan *p, int i);

/*
 * The ratio of a measure of run i to that of its reference in the same rounds.  The error that both share moves
 * both loads by the same number of points, so that only the difference of its shares of the loads remains; two
 * instruments share no error.
 *
 * Unless p->before is NULL, the ratio to the measure of the same run in that plan: by rounds, or by sessions if
 * either plan has several.  A single session is taken to scatter like those of the other plan.
 */
struct estimate plan_ratio(const struct plan *p, int i, int measure);

/* Makes the figures of loads unknown in the rounds in which these were unsafe, in all sessions of both sides. */
void plan_drop_unsafe(struct plan *p);

/* How many sessions there are, with the earlier ones. */
int plan_sessions(const struct plan *p);

/* By which share the greatest mean of a measure in the sessions is above the least, of the run that has most. */
double plan_spread(const struct plan *p, int measure);

/* The reasons that made a measure of run i unsafe in any session: one that is not of a load has none. */
unsigned plan_unsafe(const struct plan *p, int i, int measure);

/*
 * Whether half of the interval of each cost, or without a load of each throughput, is at most this share of it,
 * after this round and after the one before.  Fewer than PLAN_ROUNDS rounds are never precise: a few may agree
 * by chance, and stopping just then gives too narrow an interval.
 */
bool plan_is_precise(const struct plan *p, double share);

/* Whether no number of rounds can make them precise: the error that all rounds share is larger. */
bool plan_is_hopeless(const struct plan *p, double share);

/* Whether two runs of plans of one kind have the same values. */
bool plan_is_same_run(const struct plan_kind *kind, const struct plan_run *a,
		      const struct plan_run *b);
