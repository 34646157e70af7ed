#include "lib/send/saved.h"

#include "tests/unit/unit.h"

#define NAMES                                                                                      \
	"round\tmethod\tbuffer_bytes\tstreams\tbaseline\tkib_per_second\tload_percent\t"           \
	"load_uncertainty_percent\tcost_us_per_kib\tunsafe\treceiver_load_percent\t"               \
	"receiver_load_uncertainty_percent\treceiver_cost_us_per_kib\treceiver_unsafe\n"
#define HEAD        "# zcc 1.0, Linux 6.1 x86_64, host\n" NAMES
#define SEND(round) round "\tsend\t65536\t2\tone\t1000\t50\t1\t2.5\tsteal,weight\t-\t0\t-\t-\n"
#define MMAP(round) round "\tmmap\t4194304\t1\tone\t2000\t-\t0\t-\t-\t25\t2\t0.5\tsteal\n"

/* A run with these figures of the sender, its reasons, and the receiver's cost. */
#define ROW(rate, load, error, cost, reasons, remote_cost)                                         \
	HEAD "1\tsend\t65536\t2\tone\t" rate "\t" load "\t" error "\t" cost "\t" reasons           \
	     "\t-\t0\t" remote_cost "\t-\n"

static const char *parse(const char *text, struct saved *s)
{
	char *copy = strdup(text);
	const char *why = saved_parse(copy, s);

	free(copy);
	return why;
}

static void test_parse(void)
{
	const struct plan_run *run;
	struct saved s;

	ok(parse(HEAD SEND("1") MMAP("1") SEND("2") MMAP("2"), &s) == NULL &&
		   s.session[0].plan.n == 2 && s.session[0].plan.rounds == 2 &&
		   strcmp(s.session[0].plan.setting[PLAN_BASELINE], "one") == 0,
	   "two rounds of two runs");
	is(s.session[0].machine, "zcc 1.0, Linux 6.1 x86_64, host",
	   "the machine is that of the first line");
	run = &s.session[0].plan.run[0];
	ok(strcmp(run->method, "send") == 0 && run->chunk == 65536 && run->streams == 2 &&
		   run->figure[PLAN_RATE][1] == 1000 && run->figure[PLAN_LOAD][1] == 0.5 &&
		   run->figure[PLAN_SHARED][1] == 0.01 && run->figure[PLAN_COST][1] == 2.5 &&
		   run->unsafe == (UNSAFE_STEAL | UNSAFE_WEIGHT),
	   "each figure of a run is in its place");
	run = &s.session[0].plan.run[1];
	ok(isnan(run->figure[PLAN_LOAD][0]) && isnan(run->figure[PLAN_COST][0]) &&
		   run->figure[PLAN_REMOTE_LOAD][0] == 0.25 &&
		   run->figure[PLAN_REMOTE_SHARED][0] == 0.02 &&
		   run->figure[PLAN_REMOTE_COST][0] == 0.5 && run->remote_unsafe == UNSAFE_STEAL,
	   "figures of the receiver, and some that are not known");
	saved_close(&s);
}

static void test_wrong(void)
{
	static const char *const bad[] = {
		"",
		"# zcc 1.0\n",
		"# iperf3\n" NAMES SEND("1"),
		"# zcc 1.0\nround\n" SEND("1"),
		HEAD,
		HEAD SEND("2"),
		HEAD SEND("1") MMAP("1") SEND("2"),
		HEAD SEND("1") MMAP("1") MMAP("2") SEND("2"),
		HEAD SEND("1") SEND("3"),
		HEAD SEND("1") "2\tsend\n",
		HEAD SEND("1") SEND("x"),
		HEAD "1\tsend\t65536\t2\tone\t1000\t50\t1\t2.5\t-\t-\t0\t-\n",
		HEAD "1\tsend\t65536\t2\tone\t1000\t50\t1\t2.5\t-\t-\t0\t-\t-\tmore\n",
		HEAD "1\tsend\t65536.5\t2\tone\t1000\t50\t1\t2.5\t-\t-\t0\t-\t-\n",
		HEAD "1\tsend\t65536\t2\tone\t1e999\t50\t1\t2.5\t-\t-\t0\t-\t-\n",
		ROW("-1", "50", "1", "2.5", "-", "-"),
		ROW("1e16", "50", "1", "2.5", "-", "-"),
		ROW("1000", "1e100", "1", "2.5", "-", "-"),
		ROW("1000", "-10001", "1", "2.5", "-", "-"),
		ROW("1000", "50", "1e290", "2.5", "-", "-"),
		ROW("1000", "50", "-1", "2.5", "-", "-"),
		ROW("1000", "50", "1", "1e100", "-", "-"),
		ROW("1000", "50", "1", "2.5", "-", "-1e100"),
		ROW("1000", "50", "1", "2.5", "steal,,weight", "-"),
		HEAD "1\tsend\t65536\t2\tone\tnan\t50\t1\t2.5\t-\t-\t0\t-\t-\n",
		HEAD "1\tsend\t65536\t2\tone\t1000x\t50\t1\t2.5\t-\t-\t0\t-\t-\n",
		HEAD "1\tsend\t65536\t2\tone\t1000\t50\t1\t2.5\t-\t-\t0\t-\t-",
	};
	struct saved s;
	size_t i;

	for (i = 0; i < LENGTH(bad); i++)
		ok(parse(bad[i], &s) != NULL && s.session == NULL,
		   "text %zu that no plan was saved as is rejected", i + 1);
}

static void test_round_trip(void)
{
	char path[] = "/tmp/zc-saved-XXXXXX";
	struct saved s, again;
	char command[64];

	close(mkstemp(path));
	ok(parse(HEAD SEND("1") MMAP("1") SEND("2") MMAP("2"), &s) == NULL, "a plan to be written");
	ok(s.session[0].plan.run[0].figure[PLAN_SHARED][0] == 0.01,
	   "all of an uncertainty is shared if the file has no parts of it");
	is(s.session[0].plan.run[0].instrument, LOAD_BY_SOAKING,
	   "a load without an instrument in the file was measured by soaking");
	strcpy(s.session[0].plan.run[1].instrument, LOAD_BY_IDLE);
	s.session[0].plan.run[0].figure[PLAN_SHARED][1] = 0.005;
	s.session[0].plan.run[0].figure[PLAN_DRIFT][1] = -0.002;
	saved_append_or_die(&(struct saved){.n = 0}, &s.session[0].plan, path);
	saved_read_or_die(&again, "--against", path);
	unlink(path);
	snprintf(command, sizeof(command), "zcc %s, ", VERSION);
	ok(strncmp(again.session[0].machine, command, strlen(command)) == 0,
	   "what is written names the program's version");
	ok(again.session[0].plan.n == 2 && again.session[0].plan.rounds == 2 &&
		   strcmp(again.session[0].plan.setting[PLAN_BASELINE], "one") == 0 &&
		   again.session[0].plan.run[0].unsafe == s.session[0].plan.run[0].unsafe &&
		   again.session[0].plan.run[1].remote_unsafe ==
			   s.session[0].plan.run[1].remote_unsafe &&
		   again.session[0].plan.run[0].figure[PLAN_COST][1] == 2.5 &&
		   again.session[0].plan.run[1].figure[PLAN_REMOTE_COST][1] == 0.5 &&
		   isnan(again.session[0].plan.run[1].figure[PLAN_COST][0]) &&
		   strcmp(again.session[0].plan.run[0].instrument, LOAD_BY_SOAKING) == 0 &&
		   strcmp(again.session[0].plan.run[1].instrument, LOAD_BY_IDLE) == 0 &&
		   again.session[0].plan.run[0].figure[PLAN_SHARED][1] == 0.005 &&
		   again.session[0].plan.run[0].figure[PLAN_DRIFT][1] == -0.002 &&
		   isnan(again.session[0].plan.run[0].figure[PLAN_DRIFT][0]) &&
		   again.session[0].plan.run[1].chunk == 4194304,
	   "what is written is read as it was");
	saved_close(&s);
	saved_close(&again);
}

/* A later version may have reasons that this one does not know. */
static void test_reasons(void)
{
	struct saved s;

	ok(parse(ROW("1000", "50", "1", "2.5", "later,steal", "-"), &s) == NULL &&
		   s.session[0].plan.run[0].unsafe == (UNSAFE_OTHER | UNSAFE_STEAL),
	   "a reason that is not known is one of the others: the load is unsafe all the same");
	saved_close(&s);
}

/* The most streams and rounds that a comparison can have. */
static void test_most(void)
{
	struct saved s;

	ok(parse(HEAD "1\tsend\t65536\t1024\tone\t1000\t50\t1\t2.5\t-\t-\t0\t-\t-\n", &s) == NULL &&
		   s.session[0].plan.run[0].streams == 1024,
	   "a plan of 1024 streams is read");
	saved_close(&s);
}

/* Files of a plan that was saved with its settings, and of one without. */
static void test_settings(void)
{
	static const char row[] = "1\tsend\t65536\t2\tone\t1000\t50\t1\t2.5\t-\t-\t0\t-\t-";
	struct saved s, old;
	struct plan now = {
		.setting = {
			[PLAN_CONGESTION] = "reno", [PLAN_PACE] = "7", [PLAN_OFFLOADS] = "gso"}};
	char text[1024], line[SAVED_DIFFERENCE];

	snprintf(text, sizeof(text), "%.*s\tcongestion\tpace_bytes_per_second\toffloads\n%s%s\n",
		 (int)strlen(HEAD) - 1, HEAD, row, "\tbbr\t0\ttso,gso");
	ok(parse(text, &s) == NULL, "a file with the settings");
	is(s.session[0].plan.setting[PLAN_PACE], "0", "the pace is read");
	is(s.session[0].plan.setting[PLAN_CONGESTION], "bbr", "the congestion control is read");
	is(s.session[0].plan.setting[PLAN_OFFLOADS], "tso,gso", "the offloads are read");
	is(saved_difference(&s.session[0].plan, &now, PLAN_CONGESTION, line),
	   "congestion differs: bbr then, reno now", "another congestion control is a line");
	is(saved_difference(&s.session[0].plan, &now, PLAN_PACE, line),
	   "pace differs: none then, 7 bytes/s now", "another pace is a line");
	is(saved_difference(&s.session[0].plan, &now, PLAN_OFFLOADS, line),
	   "offloads differ: tso,gso then, gso now", "other offloads are a line");
	ok(saved_difference(&s.session[0].plan, &s.session[0].plan, PLAN_CONGESTION, line) ==
			   NULL &&
		   saved_difference(&s.session[0].plan, &s.session[0].plan, PLAN_PACE, line) ==
			   NULL &&
		   saved_difference(&s.session[0].plan, &s.session[0].plan, PLAN_OFFLOADS, line) ==
			   NULL,
	   "the same settings are no line");
	snprintf(text, sizeof(text), "%s%s\n", HEAD, row);
	ok(parse(text, &old) == NULL &&
		   saved_difference(&old.session[0].plan, &now, PLAN_PACE, line) == NULL,
	   "a file without the settings is read, and no difference is reported");
	saved_close(&old);
	snprintf(text, sizeof(text), "%s%s\tbbr\t0\t-\n", HEAD, row);
	ok(parse(text, &old) != NULL, "settings without their columns are rejected");
	snprintf(
		text, sizeof(text),
		"%.*s\tcongestion\tpace_bytes_per_second\toffloads\n%s\tbbr\t0\t-\n2%s\treno\t0\t-\n",
		(int)strlen(HEAD) - 1, HEAD, row, row + 1);
	ok(parse(text, &old) != NULL, "lines whose settings differ are rejected");
	saved_close(&s);
}

/* What an earlier version wrote, with two sessions behind it. */
static void test_sessions(void)
{
	char path[] = "/tmp/zc-saved-XXXXXX", before[512], line[SAVED_DIFFERENCE];
	struct saved s;
	struct plan *p;
	FILE *f;

	f = fdopen(mkstemp(path), "w");
	if (f == NULL)
		err(EXIT_FAILURE, "%s", path);
	saved_find_or_die(&s, path);
	ok(s.n == 0 && saved_plan(&s) == NULL, "an empty file has no session");
	fputs(HEAD SEND("1"), f);
	fclose(f);
	saved_find_or_die(&s, path);
	p = &s.session[0].plan;
	plan_set(p, PLAN_TITLE, "second");
	plan_set(p, PLAN_DATE, "2026-11-23T05:49:20Z");
	plan_set(p, PLAN_SERVER, "host");
	plan_set(p, PLAN_INTERFACE, "eth0");
	plan_set(p, PLAN_SECONDS, "2");
	plan_set(p, PLAN_WARMUP, "0.5");
	saved_append_or_die(&s, p, path);
	saved_close(&s);
	saved_find_or_die(&s, path);
	p = &s.session[1].plan;
	plan_set(p, PLAN_TITLE, "third");
	plan_set(p, PLAN_SERVER, "other");
	plan_set(p, PLAN_INTERFACE, "lo");
	plan_set(p, PLAN_SECONDS, "0.5");
	plan_set(p, PLAN_WARMUP, "0");
	p->run[0].figure[PLAN_RATE][0] = 1500;
	saved_append_or_die(&s, p, path);
	saved_close(&s);
	saved_read_or_die(&s, "--against", path);
	snprintf(before, sizeof(before), "%.*s", (int)strlen(HEAD SEND("1")), s.text);
	is(before, HEAD SEND("1"), "sessions are added behind what was there");
	ok(s.n == 3 && saved_plan(&s)->earlier == &s.session[1].plan &&
		   plan_sessions(saved_plan(&s)) == 3,
	   "three sessions are read, each with the one before");
	ok(strcmp(s.session[2].plan.setting[PLAN_TITLE], "third") == 0 &&
		   strcmp(s.session[1].plan.setting[PLAN_TITLE], "second") == 0 &&
		   strcmp(s.session[1].plan.setting[PLAN_DATE], "2026-11-23T05:49:20Z") == 0 &&
		   s.session[0].plan.setting[PLAN_TITLE][0] == '\0',
	   "each session has its own title and date");
	ok(s.session[0].plan.run[0].figure[PLAN_RATE][0] == 1000 &&
		   s.session[2].plan.run[0].figure[PLAN_RATE][0] == 1500,
	   "and its own figures");
	p = &s.session[2].plan;
	is(saved_difference(p->earlier, p, PLAN_SERVER, line),
	   "server differs: host then, other now", "another server is a line");
	is(saved_difference(p->earlier, p, PLAN_INTERFACE, line),
	   "interface differs: eth0 then, lo now", "another interface is a line");
	is(saved_difference(p->earlier, p, PLAN_SECONDS, line), "-t differs: 2 s then, 0.5 s now",
	   "another -t is a line");
	is(saved_difference(p->earlier, p, PLAN_WARMUP, line),
	   "warm-up differs: 0.5 s then, 0 s now", "another warm-up is a line");
	ok(saved_difference(&s.session[0].plan, p, PLAN_WARMUP, line) == NULL,
	   "a warm-up that was not saved is not known to differ");
	unlink(path);
	saved_close(&s);
	ok(parse(HEAD SEND("1") "# zcc 2.0\n" MMAP("1"), &s) != NULL && s.session == NULL,
	   "sessions of different plans are rejected");
	ok(parse(HEAD SEND("1") "# zcc 2.0\n" SEND("1") SEND("2"), &s) == NULL && s.n == 2 &&
		   s.session[1].plan.rounds == 2,
	   "a session has as many rounds as it had");
	saved_close(&s);
}

int main(void)
{
	test_sessions();
	test_settings();
	test_parse();
	test_wrong();
	test_reasons();
	test_most();
	test_round_trip();
	return done();
}
