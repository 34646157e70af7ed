/* Files of --save: lib/compare/saved. */
#include "lib/compare/saved.h"

#include "lib/send/trials.h"

#include "tests/unit/unit.h"

#define NAMES                                                                                      \
	"round\tmethod\tbuffer_bytes\tstreams\tbaseline\tkib_per_second\tload_percent\t"           \
	"load_uncertainty_percent\tcost_us_per_kib\tunsafe\treceiver_load_percent\t"               \
	"receiver_load_uncertainty_percent\treceiver_cost_us_per_kib\treceiver_unsafe\t"           \
	"congestion\tpace_bytes_per_second\toffloads\tload_shared_percent\tdrift_percent\t"        \
	"instrument\tserver\tinterface\tseconds\twarmup_seconds\tdate\ttitle\n"
#define TOO_MANY    513 /* settings */
#define HEAD        "# zcc 1.0, Linux 6.1 x86_64, host\n" NAMES
#define SETTINGS    "\tbbr\t0\ttso,gso"
#define LOADS       "\t0.5\t-0.2\tsoak"
#define REST        SETTINGS LOADS "\thost\teth0\t2\t0.5\t2026-11-23T05:49:20Z\tlabel\n"
#define SEND(round) round "\tsend\t65536\t2\tone\t1000\t50\t1\t2.5\tweight,steal\t-\t0\t-\t-" REST
#define MMAP(round) round "\tmmap\t4194304\t1\tone\t2000\t-\t0\t-\t-\t25\t2\t0.5\tsteal" REST
#define BUSY(round) round "\tsend\t65536\t2\tone\t1000\t50\t1\t2.5\tbaseline_busy\t-\t0\t-\t-" REST
#define TWO         HEAD SEND("1") MMAP("1") SEND("2") MMAP("2")

/* The columns of what is counted at an end, and a run of which nothing was counted. */
#define COUNTS(end)                                                                                \
	end "calls_per_mib\t" end "packets_in_per_mib\t" end "packets_out_per_mib\t" end           \
	    "bytes_per_packet\t" end "interrupts_per_mib\t" end "reschedules_per_mib\t" end        \
	    "net_rx_per_mib\t" end "net_tx_per_mib\t" end "switches_per_mib\t" end                 \
	    "tasks_us_per_kib\t"
#define NO_COUNTS "-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t"

/* The same as it is written now. */
#define NEW_NAMES                                                                                       \
	"round\tmethod\tblksize\tnum_streams\tinstrument\tsetting\tvs\tbits_per_second\tload_percent\t" \
	"cost_us_per_kib\tremote_load_percent\tremote_cost_us_per_kib\tload_uncertainty_percent\t"      \
	"remote_load_uncertainty_percent\tload_shared_percent\tdrift_percent\t" COUNTS("")              \
		COUNTS("remote_") "unsafe\tremote_unsafe\n"
#define NEW_SETTINGS                                                                               \
	"# baseline: one\n# congestion: bbr\n# pace: 0\n# offloads: tso,gso\n# server: host\n"     \
	"# interface: eth0\n# duration: 2\n# omit: 0.5\n# date: 2026-11-23T05:49:20Z\n"            \
	"# title: label\n"
#define NEW_SEND(round)                                                                            \
	round "\tsend\t65536\t2\tsoak\t-\t-\t8192000\t50\t2.5\t-\t-\t1\t0\t0.5\t-0.2\t" NO_COUNTS  \
	      "weight,steal\t-\n"
#define NEW_MMAP(round)                                                                              \
	round "\tmmap\t4194304\t1\tsoak\t-\t-\t16384000\t-\t-\t25\t0.5\t0\t2\t0.5\t-0.2\t" NO_COUNTS \
	      "-\tsteal\n"
#define NEW_TWO NEW_SETTINGS NEW_NAMES NEW_SEND("1") NEW_MMAP("1") NEW_SEND("2") NEW_MMAP("2")

static const char *parse(const char *text, struct saved *s)
{
	char *copy = strdup(text);
	const char *why;

	*s = (struct saved){.last = NULL};
	why = saved_parse(copy, &trials_kind, s);
	free(copy);
	return why;
}

/* A file is read, and written again; what is not known is `-`. */
static void test_round_trip(void)
{
	char path[] = "/tmp/zc-saved-XXXXXX";
	struct saved s, again;
	double *const *f;

	close(mkstemp(path));
	ok(parse(TWO, &s) == NULL && s.last->rounds == 2 && s.last->n == 2,
	   "two rounds of two runs are read");
	f = s.last->run[0].figure;
	ok(f[RATE][1] == 1000 * 8192 && f[LOAD][1] == 0.5 && f[COST][1] == 2.5 &&
		   f[UNCERTAINTY][1] == 0.01 && f[SHARED][1] == 0.005 && f[DRIFT][1] == -0.002 &&
		   isnan(f[REMOTE_LOAD][1]) &&
		   s.last->run[0].unsafe[0] == (UNSAFE_STEAL | UNSAFE_WEIGHT),
	   "the figures of a host are in their places");
	f = s.last->run[1].figure;
	ok(isnan(f[LOAD][0]) && f[REMOTE_LOAD][0] == 0.25 && f[REMOTE_COST][0] == 0.5 &&
		   f[REMOTE_UNCERTAINTY][0] == 0.02 && s.last->run[1].unsafe[1] == UNSAFE_STEAL,
	   "the figures of a receiver are in their places");
	is(s.last->machine, "zcc 1.0, Linux 6.1 x86_64, host",
	   "the machine is that of the first line");
	saved_append_or_die(s.last, path);
	saved_read_or_die(&again, &trials_kind, "--against", path);
	unlink(path);
	is(strchr(again.text, '\n') + 1, NEW_TWO,
	   "what 1.0.0 has saved is written by the keys of JSON, with what the runs share above");
	f = again.last->run[1].figure;
	ok(f[RATE][1] == 2000 * 8192 && f[REMOTE_COST][0] == 0.5 &&
		   strcmp(plan_setting(again.last, "omit"), "0.5") == 0,
	   "what is written is read");
	saved_close(&s);
	saved_close(&again);
}

/* Parses a file of one run with `put` in the place of the first `find` behind its names. */
static const char *parse_changed(const char *find, const char *put, struct saved *s)
{
	static const char good[] = HEAD SEND("1");
	const char *at = strstr(good + strlen(HEAD), find);
	char text[2048];

	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, put, at + strlen(find));
	return parse(text, s);
}

static void test_wrong(void)
{
	char many[TOO_MANY * 8 + 2048] = "# zcc 1.0\n";
	const char *const bad[] = {"",
				   "# iperf3\n" NAMES SEND("1"),
				   "# zcc 1.0\nround\n" SEND("1"),
				   "# zcc 1.0\n# iperf3\n" NAMES SEND("1"),
				   HEAD "# date: now\n" SEND("1"),
				   many,
				   HEAD,
				   HEAD SEND("1") MMAP("1") SEND("2"),
				   HEAD SEND("1") SEND("3"),
				   HEAD SEND("1") SEND("x"),
				   HEAD SEND("1") SEND("-"),
				   HEAD SEND("1") "# zcc 2.0\n" MMAP("1")};
	const char *changes = /* what is put for what */
		"\tbbr>|\tbbr>\tmore\tbbr|65536>65536.5|1000>1e999|1000>-1|1000>1e16|1000>nan|1000>1000x"
		"|\t50>\t1e100|\t50>\t-10001|\t1\t2.5>\t1e290\t2.5|\t1\t2.5>\t-1\t2.5|\t2.5>\t1e100"
		"|-\t-\tbbr>-1e100\t-\tbbr|weight,>weight,,|" REST ">";
	const char *change;
	char find[256], *put;
	struct saved s;
	size_t i;

	for (i = 0; i < TOO_MANY; i++)
		sprintf(many + strlen(many), "# %zu: 1\n", i);
	strcat(many, NAMES SEND("1"));
	for (i = 0; i < LENGTH(bad); i++)
		ok(parse(bad[i], &s) != NULL && s.last == NULL,
		   "text %zu that no plan was saved as is rejected", i + 1);
	while ((change = next_of(&changes)) != NULL) {
		strcpy(find, change);
		put = strchr(find, '>');
		*put++ = '\0';
		ok(parse_changed(find, put, &s) != NULL && s.last == NULL,
		   "a saved plan with '%s' for '%s' is rejected", put, find);
	}
}

/* Each round has reasons of its own. */
static void test_reasons(void)
{
	struct saved s;

	ok(parse(HEAD SEND("1") BUSY("2"), &s) == NULL &&
		   s.last->run[0].unsafe[0] ==
			   (UNSAFE_STEAL | UNSAFE_WEIGHT | UNSAFE_BASELINE_BUSY) &&
		   s.last->run[0].unsafe_rounds == 2 && s.last->added == 2,
	   "the reasons of all rounds are read, and in how many runs they were");
	saved_close(&s);
}

#define PROFILED(unsafe)                                                                           \
	"# zcc 1.1.0, host\n# --profile: given\nround\tmethod\tblksize\tnum_streams\t"             \
	"profile_unsafe\n1\tsend\t65536\t1\t" unsafe "\n"

static void test_profiles(void)
{
	char path[] = "/tmp/zc-saved-XXXXXX";
	struct saved s, again;

	close(mkstemp(path));
	ok(parse(PROFILED("other,lost"), &s) == NULL, "what made a profile unsafe is read");
	saved_append_or_die(s.last, path);
	saved_read_or_die(&again, &trials_kind, "--against", path);
	unlink(path);
	is(again.last->run[0].profile_unsafe[0][0], "other,lost", "and written");
	has(again.text, "\t-\t-\tother,lost\t-\n", "behind the reasons of the load, for each end");
	saved_close(&s);
	saved_close(&again);
	ok(parse(PROFILED("other,lost,sampled,x"), &s) != NULL &&
		   parse(PROFILED("a b"), &s) != NULL,
	   "what is too long, or no list of words, is rejected");
}

static void read_or_die(void *path)
{
	struct saved s;

	saved_read_or_die(&s, &trials_kind, "--save", path);
	exit(EXIT_SUCCESS);
}

/* A session in a file, to which two are added, and one without a round. */
static void test_sessions(void)
{
	static const char *const title[] = {"second", "third", "fourth"};
	char path[] = "/tmp/zc-saved-XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");
	const char *names;
	struct saved s;
	struct plan *p;
	int i;

	if (f == NULL)
		err(EXIT_FAILURE, "%s", path);
	saved_read_or_die(&s, &trials_kind, "--save", path);
	ok(s.last == NULL, "an empty file has no session");
	saved_close(&s);
	fputs(HEAD SEND("1"), f);
	fclose(f);
	for (i = 0; i < 3; i++) {
		saved_read_or_die(&s, &trials_kind, "--save", path);
		plan_set(s.last, "title", "%s", title[i]);
		s.last->rounds = i < 2 ? 1 : 0;
		saved_append_or_die(s.last, path);
		saved_close(&s);
	}
	saved_read_or_die(&s, &trials_kind, "--against", path);
	unlink(path);
	p = s.last;
	ok(plan_sessions(p) == 3 && p->earlier->earlier->earlier == NULL,
	   "a plan without a round adds no session: three are read, each with the one before");
	ok(strcmp(plan_setting(p, "title"), "third") == 0 &&
		   strcmp(plan_setting(p->earlier, "title"), "second") == 0 &&
		   strcmp(plan_setting(p->earlier->earlier, "title"), "label") == 0,
	   "each session has its own title");
	names = strstr(s.text, "\n" NEW_NAMES);
	ok(names != NULL && strstr(names + 1, "\n" NEW_NAMES) == NULL,
	   "names of columns that a file lacks are added with the first session");
	s.text[strlen(HEAD SEND("1"))] = '\0';
	is(s.text, HEAD SEND("1"), "sessions are added behind what was there");
	saved_close(&s);
	ok(parse(HEAD SEND("1") "# zcc 2.0\n" SEND("1") SEND("2"), &s) == NULL &&
		   plan_sessions(s.last) == 2 && s.last->rounds == 2,
	   "a session has as many rounds as it had");
	saved_close(&s);
	ok(died(read_or_die, "/tmp") == EXIT_FAILURE &&
		   died(read_or_die, "/etc/passwd/x") == EXIT_FAILURE,
	   "what is there and cannot be read is an error, and no new file");
}

TESTS(test_round_trip, test_sessions, test_reasons, test_profiles, test_wrong)
