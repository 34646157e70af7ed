/*
 * plan.h: a comparison: runs, each of them once a round, and their figures.  A run is its setting and its words; what
 * is compared is a table that the program brings.
 *
 *	plan_open(&plan, &kind, runs);
 *	plan_set_value(&plan.run[0], RUN_WORDS, "-m send");
 *	plan.run[1].reference = 0;
 *	...
 *	while (plan.rounds < rounds && !plan_is_precise(&plan, 0.03))
 *		for (k = 0; k < plan.n; k++)
 *			plan_add(&plan, plan_turn(&plan, k), &(struct ends){&sent, &received, local});
 *	plan_compute(&plan, false);
 *	ratio = plan_result(&plan, 1, COST)->ratio;
 *	plan_close(&plan);
 */
#pragma once

#include "lib/load/statistics.h"
#include "lib/report/figures.h"

#define PLAN_RUNS_MAX   1024 /* a round */
#define PLAN_ROUNDS     5    /* without -r */
#define PLAN_ROUNDS_MAX 1000

#define FACT_MOST 4000 /* bytes: a line of --save has room for them, however they are escaped */

#define PLAN_PROFILE "--profile" /* the fact of sessions that are not compared with others */
#define PLAN_REMOTE  "remote_"   /* before the key of what is of the other end */

enum part {
	PART_NONE,
	PART_WHY,   /* a share of waits, or a size */
	PART_COUNT, /* how often something is done */
	PART_GROUP  /* the cost of a group of a profile */
};

/* What is compared, or tells how far that can be trusted: a row of the table of figures. */
struct measure {
	const char *key; /* of the row; with `remote_` before it if it is of the other end */
	int end;         /* 0: of this host; 1: of the other end, if that is another host */
	bool is_of_load; /* its errors are those of that host's load */
	bool is_of_host; /* the end counted it of its host; not of an end whose host is the other's */
	bool is_of_bytes, is_of_requests; /* runs of that kind alone have it */
	bool is_aside;                    /* neither --precision nor a verdict asks for it */
	enum part part; /* what else it is, by which it may explain a difference */
	/* Its column; NULL: it has none. */
	const char *title;
	/* Its ratio, in JSON and in words; NULL: there is none. */
	const char *ratio_key;
	const char *verb;  /* before the ratio */
	const char *times; /* behind it */
};

/* What a run has besides figures, as texts: the first two tell it from others. */
enum { RUN_SETTING, RUN_WORDS, RUN_NAME, RUN_INSTRUMENT, RUN_VALUES };

struct run_key {
	const char *name; /* in JSON and --save */
	bool is_number;
};

/* A fact on which figures depend, and how it is printed. */
struct condition {
	const char *key, *format;
};

/* The tables of a program. */
struct plan_kind {
	const char *program; /* whose sessions they are */
	const struct measure *measure;
	int measures;
	const struct run_key *key; /* of RUN_*, then of what the program has of its own */
	int keys;
	const struct condition *setup; /* of --brief, the last one without a key; or NULL */
};

/* What all runs of a session share. */
struct fact {
	char *key, *value;
};

struct plan_run {
	char **value;      /* of each key; NULL: none */
	int reference;     /* the run that it is compared with: itself, if it is the first */
	bool is_measured;  /* in a round: not all failed */
	char receiver[16]; /* the method of the other end; empty: none, or not always the same */
	uint64_t unsafe_rounds; /* in which the load of either end was unsafe */
};

/* What made the load of either end unsafe in a round. */
struct doubts {
	unsigned unsafe[2];
	bool profile[2]; /* its profile was unsafe */
};

struct result {
	struct estimate mean, ratio;
};

struct plan {
	const struct plan_kind *kind;
	char id[17]; /* of the session */
	struct plan_run *run;
	int n;                           /* runs of a round */
	bool of_requests;                /* that its runs make */
	int rounds;                      /* that are complete */
	int added;                       /* runs, also of a round that is not complete */
	int unsafe_runs[UNSAFE_REASONS]; /* those of them that it made unsafe, at either end */
	int unmeasured; /* those of them whose load was wanted and is not measured, at either end */
	const char *no_load;   /* why the last of these is not: no_load_text() */
	double *figure;        /* of each measure of each run of each round */
	struct doubts *doubts; /* of each run of each round */
	int room;              /* rounds that there is memory for */
	struct fact *fact;
	int facts;
	char **failure; /* why runs failed, behind their places */
	int failures;
	bool safe_only;        /* figures of an unsafe load do not count */
	struct result *result; /* of each measure of each run; NULL: they are not computed */
	struct plan *earlier;  /* the session before, of the same plan, or NULL */
	struct plan *before;   /* the last session of --against, or NULL */
	struct plan *kept;     /* the last session that the file of --save had, or NULL */
};

/* Makes a plan of this host, in which nothing is known yet.  Its runs may be set later, in place of those it has. */
void plan_open(struct plan *p, const struct plan_kind *kind, int runs);
void plan_set_runs(struct plan *p, int runs);
void plan_close(struct plan *p);

void plan_set_value(struct plan_run *run, int key, const char *value);

/* The value; empty if there is none. */
const char *plan_value(const struct plan_run *run, int key);

/* `-m send, tso off`: printable, and cut with `...` where no text has room for it. */
const char *plan_name(const struct plan_run *run);

/*
 * Stores a fact, of at most FACT_MOST bytes: the rest is cut; an empty value is none.  plan_set_lines(): of each line
 * `KEY: TEXT`.
 */
void plan_set(struct plan *p, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void plan_set_lines(struct plan *p, char *lines);

/* The value of a fact; empty if it is not known. */
const char *plan_fact(const struct plan *p, const char *key);

/* Whether a session tells the value of a fact: of an option, any session with a command line. */
bool plan_knows(const struct plan *p, const char *key);

/*
 * Returns which run is the k-th of the round under way, from 0.  Each second round is in reverse order, so that
 * a drift of the machine adds nothing to the ratio of two runs.
 */
int plan_turn(const struct plan *p, int k);

/* What a run measured at each end. */
struct ends {
	const struct figures *sent, *received; /* NULL: not known */
	bool local; /* both ends are on one host, whose load either may have measured */
};

/* The figures that have the load of this host, and of the other: NULL if there is no other. */
void plan_hosts(const struct ends *ends, const struct figures *host[2]);

/* Adds run i of a round; the last of them completes the round. */
void plan_add(struct plan *p, int i, const struct ends *ends);

/* Adds run i of a round, which failed: it has no figure. */
void plan_fail(struct plan *p, int i, const char *why);

/* Whether runs of this kind have a measure. */
bool plan_has(const struct plan *p, int measure);

/* A figure of run i in a round; NAN if it is not known, or does not count. */
double plan_figure(const struct plan *p, int i, int measure, int round);

/*
 * Computes means and ratios, of loads that are not unsafe alone if `safe_only`.
 *
 * A mean's interval adds two errors in quadrature: the scatter of the rounds, and the error that all rounds share, which
 * more rounds do not reduce.  If there are earlier sessions, the scatter is that of the sessions' means.
 *
 * A ratio is that to the reference in the same rounds.  The error that both share moves both loads by the same
 * number of points, so that only the difference of its shares of the loads remains; two instruments share no error.
 * Unless p->before is NULL, the ratio is to the same run in that plan: by rounds, or by sessions if either plan has
 * several.  A single session is taken to scatter like those of the other plan.
 */
void plan_compute(struct plan *p, bool safe_only);
const struct result *plan_result(const struct plan *p, int i, int measure);

/* How many sessions there are, with the earlier ones. */
int plan_sessions(const struct plan *p);

/* By which share the greatest mean of a measure in the sessions is above the least, of the run that has most. */
double plan_spread(const struct plan *p, int measure);

/*
 * The reasons that made a measure of run i unsafe in any session, with UNSAFE_PROFILE for part of a profile: one that is
 * not of a load has none.
 */
#define UNSAFE_PROFILE (1u << 31)

unsigned plan_unsafe(const struct plan *p, int i, int measure);

/*
 * Whether the half width of the interval of each cost, or of each throughput if no cost is known, is at most this share
 * of it, after this round and after the one before.  Fewer than PLAN_ROUNDS rounds are never precise: a few may agree
 * by chance, and stopping just then gives too narrow an interval.
 */
bool plan_is_precise(const struct plan *p, double share);

/* Whether no number of rounds can make them precise: the error that all rounds share is larger. */
bool plan_is_hopeless(const struct plan *p, double share);

/* Whether two runs are measured by the same instrument. */
bool plan_is_same_instrument(const struct plan_run *a, const struct plan_run *b);

/* Whether they have the same setting and words. */
bool plan_is_same_run(const struct plan_run *a, const struct plan_run *b);
