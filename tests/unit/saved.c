/* Files of --save: lib/send/saved. */
#include "lib/send/plan.h"

#include "tests/unit/unit.h"

#define NAMES                                                                                      \
	"round\tmethod\tbuffer_bytes\tstreams\tbaseline\tkib_per_second\tload_percent\t"           \
	"load_uncertainty_percent\tcost_us_per_kib\tunsafe\treceiver_load_percent\t"               \
	"receiver_load_uncertainty_percent\treceiver_cost_us_per_kib\treceiver_unsafe\t"           \
	"congestion\tpace_bytes_per_second\toffloads\tload_shared_percent\tdrift_percent\t"        \
	"instrument\tserver\tinterface\tseconds\twarmup_seconds\tdate\ttitle\n"
#define HEAD        "# zcc 1.0, Linux 6.1 x86_64, host\n" NAMES
#define SETTINGS    "\tbbr\t0\ttso,gso"
#define SHARED      "\t0.5\t-0.2\tsoak"
#define REST        SETTINGS SHARED "\thost\teth0\t2\t0.5\t2026-11-23T05:49:20Z\tlabel\n"
#define SEND(round) round "\tsend\t65536\t2\tone\t1000\t50\t1\t2.5\tsteal,weight\t-\t0\t-\t-" REST
#define MMAP(round) round "\tmmap\t4194304\t1\tone\t2000\t-\t0\t-\t-\t25\t2\t0.5\tsteal" REST

static const char *parse(const char *text, struct saved *s)
{
	char *copy = strdup(text);
	const char *why;

	*s = (struct saved){.last = NULL};
	why = saved_parse(copy, s);

	free(copy);
	return why;
}

static void test_parse(void)
{
	const struct plan_run *run;
	struct saved s;

	ok(parse(HEAD SEND("1") MMAP("1") SEND("2") MMAP("2"), &s) == NULL && s.last->n == 2 &&
		   s.last->rounds == 2 && strcmp(s.last->setting[PLAN_BASELINE], "one") == 0,
	   "two rounds of two runs");
	is(s.last->setting[PLAN_MACHINE], "zcc 1.0, Linux 6.1 x86_64, host",
	   "the machine is that of the first line");
	run = &s.last->run[0];
	ok(strcmp(run->method, "send") == 0 && run->chunk == 65536 && run->streams == 2 &&
		   run->figure[PLAN_RATE][1] == 1000 && run->figure[PLAN_LOAD][1] == 0.5 &&
		   run->figure[PLAN_UNCERTAINTY][1] == 0.01 &&
		   run->figure[PLAN_SHARED][1] == 0.005 && run->figure[PLAN_COST][1] == 2.5 &&
		   run->figure[PLAN_DRIFT][0] == -0.002 &&
		   run->unsafe[0] == (UNSAFE_STEAL | UNSAFE_WEIGHT),
	   "each figure of a run is in its place");
	run = &s.last->run[1];
	ok(isnan(run->figure[PLAN_LOAD][0]) && isnan(run->figure[PLAN_COST][0]) &&
		   run->figure[PLAN_REMOTE_LOAD][0] == 0.25 &&
		   run->figure[PLAN_REMOTE_SHARED][0] == 0.02 &&
		   run->figure[PLAN_REMOTE_COST][0] == 0.5 && run->unsafe[1] == UNSAFE_STEAL,
	   "figures of the receiver, and some that are not known");
	is(s.last->setting[PLAN_PACE], "0", "the pace is read");
	is(s.last->setting[PLAN_CONGESTION], "bbr", "the congestion control is read");
	is(s.last->setting[PLAN_OFFLOADS], "tso,gso", "the offloads are read");
	saved_close(&s);
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
	static const char *const bad[] = {"",
					  "# zcc 1.0\n",
					  "# iperf3\n" NAMES SEND("1"),
					  "# zcc 1.0\nround\n" SEND("1"),
					  HEAD,
					  HEAD SEND("2"),
					  HEAD SEND("1") MMAP("1") SEND("2"),
					  HEAD SEND("1") SEND("3"),
					  HEAD SEND("1") "2\tsend\n",
					  HEAD SEND("1") SEND("x"),
					  HEAD SEND("1") "# zcc 2.0\n" MMAP("1")};
	const char *changes = /* what is put for what */
		"\tbbr>|\tbbr>\tmore\tbbr|65536>65536.5|1000>1e999|1000>-1|1000>1e16|1000>nan|1000>1000x"
		"|\t50>\t1e100|\t50>\t-10001|\t1\t2.5>\t1e290\t2.5|\t1\t2.5>\t-1\t2.5|\t2.5>\t1e100"
		"|-\t-\tbbr>-1e100\t-\tbbr|steal,>steal,,|" REST ">";
	const char *change;
	char find[256], *put;
	struct saved s;
	size_t i;

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
	ok(parse_changed("steal,", "later,", &s) == NULL &&
		   s.last->run[0].unsafe[0] == (UNSAFE_OTHER | UNSAFE_WEIGHT),
	   "a reason that is not known is one of the others: the load is unsafe all the same");
	saved_close(&s);
	ok(parse_changed("\t2\tone", "\t1024\tone", &s) == NULL && s.last->run[0].streams == 1024,
	   "a plan of 1024 streams is read");
	saved_close(&s);
}

static void test_round_trip(void)
{
	char path[] = "/tmp/zc-saved-XXXXXX";
	struct saved s, again;
	struct plan *p, *q;
	char command[64];

	close(mkstemp(path));
	ok(parse(HEAD SEND("1") MMAP("1") SEND("2") MMAP("2"), &s) == NULL, "a plan to be written");
	p = s.last;
	strcpy(p->run[1].instrument, LOAD_BY_IDLE);
	p->run[0].figure[PLAN_SHARED][1] = NAN;
	saved_append_or_die(&(struct saved){.last = NULL}, p, path);
	saved_read_or_die(&again, "--against", path);
	q = again.last;
	unlink(path);
	snprintf(command, sizeof(command), "zcc %s, ", VERSION);
	ok(strncmp(q->setting[PLAN_MACHINE], command, strlen(command)) == 0,
	   "what is written names the program's version");
	ok(q->n == 2 && q->rounds == 2 && strcmp(q->setting[PLAN_BASELINE], "one") == 0 &&
		   q->run[0].unsafe[0] == p->run[0].unsafe[0] &&
		   q->run[1].unsafe[1] == p->run[1].unsafe[1] &&
		   q->run[0].figure[PLAN_COST][1] == 2.5 &&
		   q->run[1].figure[PLAN_REMOTE_COST][1] == 0.5 &&
		   isnan(q->run[1].figure[PLAN_COST][0]) &&
		   strcmp(q->run[0].instrument, LOAD_BY_SOAKING) == 0 &&
		   strcmp(q->run[1].instrument, LOAD_BY_IDLE) == 0 &&
		   q->run[0].figure[PLAN_SHARED][0] == 0.005 &&
		   isnan(q->run[0].figure[PLAN_SHARED][1]) &&
		   q->run[0].figure[PLAN_DRIFT][1] == -0.002 && q->run[1].chunk == 4194304,
	   "what is written is read as it was");
	saved_close(&s);
	saved_close(&again);
}

/* A session that was read, with two behind it. */
static void test_sessions(void)
{
	char path[] = "/tmp/zc-saved-XXXXXX", before[1024];
	struct saved s = {.last = NULL};
	struct plan *p;
	FILE *f;

	f = fdopen(mkstemp(path), "w");
	if (f == NULL)
		err(EXIT_FAILURE, "%s", path);
	saved_read_or_die(&s, "--save", path);
	ok(s.last == NULL, "an empty file has no session");
	saved_close(&s);
	fputs(HEAD SEND("1"), f);
	fclose(f);
	saved_read_or_die(&s, "--save", path);
	p = s.last;
	plan_set(p, PLAN_TITLE, "second");
	saved_append_or_die(&s, p, path);
	saved_close(&s);
	saved_read_or_die(&s, "--save", path);
	p = s.last;
	plan_set(p, PLAN_TITLE, "third");
	p->run[0].figure[PLAN_RATE][0] = 1500;
	saved_append_or_die(&s, p, path);
	p->rounds = 0;
	saved_append_or_die(&s, p, path);
	saved_close(&s);
	saved_read_or_die(&s, "--save", path);
	ok(plan_sessions(s.last) == 2, "a plan without a round adds no session");
	saved_append_or_die(&s, s.last, path);
	saved_close(&s);
	saved_read_or_die(&s, "--against", path);
	snprintf(before, sizeof(before), "%.*s", (int)strlen(HEAD SEND("1")), s.text);
	is(before, HEAD SEND("1"), "sessions are added behind what was there");
	p = s.last;
	ok(plan_sessions(p) == 3 && p->earlier->earlier->earlier == NULL,
	   "three sessions are read, each with the one before");
	ok(strcmp(p->earlier->setting[PLAN_TITLE], "second") == 0 &&
		   strcmp(p->earlier->earlier->setting[PLAN_TITLE], "label") == 0,
	   "each session has its own title");
	unlink(path);
	saved_close(&s);
	ok(parse(HEAD SEND("1") "# zcc 2.0\n" SEND("1") SEND("2"), &s) == NULL &&
		   plan_sessions(s.last) == 2 && s.last->rounds == 2,
	   "a session has as many rounds as it had");
	saved_close(&s);
}

int main(void)
{
	test_sessions();
	test_parse();
	test_wrong();
	test_round_trip();
	return done();
}
