/*
 * plan.h: a comparison: runs that differ in the method, the bytes of a call, the number of streams or the
 * instrument, each of them once a round; their figures, in a file too; and what zcc prints of them.
 *
 *	plan_open(&plan, runs_a_round, rounds);
 *	saved_read_or_die(&kept, "--save", "now.tsv");
 *	while (plan.rounds < rounds && !plan_is_precise(&plan, 0.03))
 *		for (k = 0; k < plan.n; k++)
 *			plan_add(&plan, plan_turn(&plan, k), &result);
 *	saved_append_or_die(&plan, "now.tsv");
 *	comparison_print(&plan, &report, NULL);
 *	saved_close(&kept);
 *	plan_close(&plan);
 */
#pragma once

#include "lib/load/statistics.h"
#include "lib/report/environment.h"
#include "lib/send/report.h"

/*
 * The figures that a plan keeps of a run in each round: of this host, and of the receiver if that is another
 * host.  The first five are compared; the others tell how far the loads can be trusted.
 */
enum plan_figure {
	PLAN_RATE, /* KiB per second */
	PLAN_LOAD, /* shares of 1, as are those below but the costs */
	PLAN_COST, /* us/KiB */
	PLAN_REMOTE_LOAD,
	PLAN_REMOTE_COST,
	PLAN_UNCERTAINTY, /* of the load, as the run alone reports it */
	PLAN_SHARED,      /* the part of it that does not vary from round to round */
	PLAN_REMOTE_SHARED,
	PLAN_DRIFT, /* by how much the baselines before and after differ; NAN: not measured so */
	PLAN_FIGURES
};

#define PLAN_WORD 16  /* bytes of a name */
#define PLAN_TEXT 256 /* bytes of a setting */

/* A run of a plan, in all rounds. */
struct plan_run {
	char port[PLAN_WORD * 2];     /* the server's, of several; empty: there is one */
	char instrument[PLAN_WORD];   /* LOAD_BY_*, of this host; empty: none */
	uint64_t chunk, streams;      /* the most bytes asked of one call; connections */
	double *figure[PLAN_FIGURES]; /* of each round; NAN: not known */
	unsigned unsafe[2];           /* the reasons of all rounds, of this host and the receiver */
	uint64_t unsafe_rounds;       /* in which either end had such a reason */
	/* Of all rounds together.  Their methods are known before: the receiver's from its receipt. */
	struct figures sent, received;
};

/* Settings that all runs of a plan share, and that may differ in another plan. */
enum plan_setting {
	PLAN_SERVER,
	PLAN_INTERFACE,
	PLAN_SECONDS, /* of a run, as they were asked for */
	PLAN_WARMUP,
	PLAN_CONGESTION,
	PLAN_PACE,     /* bytes per second of each stream; 0: no limit */
	PLAN_OFFLOADS, /* of the interface, such as `tso,gso`; `none` */
	PLAN_BASELINE, /* `one`: all runs of this host have one in common, a file's; `own` */
	PLAN_DATE,     /* when the first run was over: 2026-11-23T05:49:20Z */
	PLAN_TITLE,    /* a label */
	PLAN_MACHINE,  /* of a session of a file: the program's version, the kernel, the host */
	PLAN_SETTINGS
};

struct plan {
	struct plan_run *run;
	int n;                           /* runs of a round */
	int rounds;                      /* that are complete */
	int added;                       /* runs, also of a round that is not complete */
	int unsafe_runs[UNSAFE_REASONS]; /* those of them that it made unsafe, at either end */
	char setting[PLAN_SETTINGS][PLAN_TEXT]; /* empty: not known, or none */
	struct plan *earlier;                   /* the session before, of the same plan, or NULL */
	struct plan *before;                    /* the last session of --against, or NULL */
	struct plan *kept; /* the last session that the file of --save had, or NULL */
	char *text;        /* the session, as the file of --save has it; NULL: it has not */
};

/* Makes a plan of `rounds` rounds at most, in which no figure is known yet. */
void plan_open(struct plan *p, int runs, int rounds);
void plan_close(struct plan *p);

/* Stores a setting, with its control characters replaced. */
void plan_set(struct plan *p, enum plan_setting k, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Stores, once, the settings of a plan whose first run has that result. */
void plan_note(struct plan *p, const struct send_options *opt, const struct send_result *res);

/*
 * Returns which run is the k-th of the round under way, from 0.  Each second round is in reverse order, so that
 * a drift of the machine adds nothing to the ratio of two runs.
 */
int plan_turn(const struct plan *p, int k);

/*
 * Adds run i of a round; the last of them completes the round.  Figures of the receiver are known
 * where it is another host and has measured its load.
 */
void plan_add(struct plan *p, int i, const struct send_result *res);

/*
 * The mean of a figure of run i.  Its interval adds two errors in quadrature: the scatter of the rounds, and the
 * error that all rounds share, which more rounds do not reduce.  If there are earlier sessions, the scatter is
 * that of the sessions' means.
 */
struct estimate plan_mean(const struct plan *p, int i, enum plan_figure f);

/*
 * The run that run i is compared with: the first by the same instrument, and of the first by a second
 * instrument the first of all.
 */
int plan_reference(const struct plan *p, int i);

/*
 * The ratio of a figure of run i to that of its reference in the same rounds.  The error that both share moves
 * both loads by the same number of points, so that only the difference of its shares of the loads remains; two
 * instruments share no error.
 *
 * Unless p->before is NULL, the ratio to the figure of the same run in that plan: by rounds, or by sessions if
 * either plan has several.  A single session is taken to scatter like those of the other plan.
 */
struct estimate plan_ratio(const struct plan *p, int i, enum plan_figure f);

/* How many sessions there are, with the earlier ones. */
int plan_sessions(const struct plan *p);

/* The reasons that made a figure of run i unsafe in any session: a throughput has none. */
unsigned plan_unsafe(const struct plan *p, int i, enum plan_figure f);

/*
 * Whether half of the interval of each cost, or without a load of each throughput, is at most this share of it,
 * after this round and after the one before.  Fewer than PLAN_ROUNDS rounds are never precise: a few may agree
 * by chance, and stopping just then gives too narrow an interval.
 */
bool plan_is_precise(const struct plan *p, double share);

/* Whether no number of rounds can make them precise: the error that all rounds share is larger. */
bool plan_is_hopeless(const struct plan *p, double share);

/*
 * Whether two runs have the same method, bytes of a call, streams and instrument, unless one of them
 * measured no load.
 */
bool plan_is_same_run(const struct plan_run *a, const struct plan_run *b);

/*
 * Files of --save: tab-separated values.  Each session has a comment that names the program and the
 * machine, and a line for each run of each complete round; the first one also the names of the columns.
 */
struct saved {
	struct plan *last; /* the last session, by which the others are found; NULL: none */
	char *text;        /* of the file as it was read, or NULL */
};

/* Reads a file that `option` names, or dies; one that is missing or empty has no session. */
void saved_read_or_die(struct saved *s, const char *option, const char *path);

/*
 * Adds the session of a plan to what the file has now, or replaces it there by one of more rounds; without a
 * complete round it only tries whether that is possible.  Several processes may do so at a time.  Dies if the file
 * has sessions of another plan.
 */
void saved_append_or_die(struct plan *p, const char *path);
void saved_close(struct saved *s);

/*
 * Adds the sessions of the text of such a file, which it changes, to an empty *s.  Returns NULL, or what
 * is wrong, to be printed after the file's name; there is no session then.
 */
const char *saved_parse(char *text, struct saved *s);

#define COMPARISON_PLACE 96

/* Where lines about run i of the round that is under way belong: `round 1, send 64k`. */
const char *comparison_run_place(const struct plan *p, int i, char buf[COMPARISON_PLACE]);

/* Prints how many runs there are at most, and about how long they take if that is known. */
void comparison_print_size(const struct plan *p, const struct send_options *opt);

/* Prints all runs of a round, before there is any. */
void comparison_print_runs(const struct plan *p, const struct send_options *opt);

/*
 * Prints the rounds that are complete, of which there is one at least: a row for each run with the means and
 * their 95 % intervals, and in words how many times the first it costs.  In JSON the error, too; NULL: none.
 */
void comparison_print(const struct plan *p, const struct send_report *r, const char *error);

/* Dies unless a session of the file that `option` names has the same runs as a plan, in its order. */
void comparison_check_or_die(const struct plan *p, const struct plan *saved, const char *option,
			     const char *path);
