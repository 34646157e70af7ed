/* The runs of zcc as a plan: lib/send/trials. */
#include "lib/send/trials.h"

#include <limits.h>
#include <malloc.h>
#include <sys/prctl.h>

#include "lib/compare/facts.h"
#include "lib/send/sender.h"

/* The server that was waited for, if none is to be. */
static const struct send_options *waited_for;
static bool waits = true;

static bool wait_for_server(struct target *to, struct run *run)
{
	waited_for = run->opt;
	return !waits || target_wait(to, run);
}

#define target_wait(to, run) wait_for_server(to, run)
#define open_files           open_the_files
#include "lib/send/trials.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */
#undef open_files

#include "tests/unit/unit.h"

static struct send_options opt;
static struct plan plan;

static void add(struct plan *p)
{
	const struct figures f = figures_of("bytes=1 seconds=1");

	plan_add(p, 0, &(struct ends){.sent = &f});
}

static void prepare(const char *words)
{
	static char *argv[32];

	options_parse(&opt, words_of(words, argv), argv);
	plan_close(&plan);
	trials_prepare(&plan, &opt);
}

static void print_values(int i)
{
	int k;

	for (k = 0; k < trials_kind.keys; k++)
		if (plan_value(&plan.run[i], k)[0] != '\0')
			report("  %s %s", trials_kind.key[k].name, plan_value(&plan.run[i], k));
	report("\n");
}

static void print_options(int i)
{
	const struct given *g;
	struct send_options run;
	char *text;

	options_of_run(&opt, i, &run);
	report("  %s: %s %d to %s %s, %g s, %d loops, %s%sas run %d:", plan_name(&plan.run[i]),
	       run.method->name, run.streams, run.server, run.port, run.seconds, run.loops,
	       run.gauge.soak ? "soaked, " : "", run.gauge.idle ? "unsoaked, " : "",
	       plan.run[i].reference + 1);
	for (g = run.given.option; g < run.given.option + run.given.n; g++) {
		text = option_text(g);
		if (g->is_given && !g->row->is_shared && !g->row->is_repeated)
			report(" %s=%s", g->row->name != NULL ? g->row->name : g->row->letters,
			       text);
		free(text);
	}
	report("\n");
}

/* Prints the runs of each command line. */
static void expect_runs(const char *list, void (*print)(int i), const char *title)
{
	const char *words;
	int i;

	capture(STDOUT_FILENO);
	while ((words = next_of(&list)) != NULL) {
		prepare(words);
		report("%s\n", words);
		for (i = 0; i < plan.n; i++)
			print(i);
	}
	expect(captured(), title);
}

/* The last list varies fastest.  An option of the text of --vs displaces what it cannot stand beside. */
static void test_runs(void)
{
	expect_runs("-s 0 file|-s 0 -S -P 2 -b 1k|-s 0 -m mmap -P 3|-s 0 -p 2,1 -b 4k,1m"
		    "|-s 0 -m splice,uring-zc -b 1g|-s 0 -p 7 --idle"
		    "|-s 0 --request 10,1k|-s 0 --request 9 -r 2 --keep",
		    print_values, "each combination of the lists' values is a run");
	expect_runs(
		"-s 0 -m mmap,send -n 5 -r 2 --vs -t_2 --vs -m_splice_-P_2|-s 0 -w -O 1 --vs -S --vs --bytes_1k"
		"|-s 0 -b 4k,64k --vs -P_4 --vs -b_1m --setting a=: --setting b=:"
		"|-s 0 -p 7 --vs -s_[::1]:8 --vs -p_9|-s [::1]:8 -6 -k --preload -S --vs -p_9_-4 --vs -Z"
		"|-s 0 file -c --idle -m send,mmap --vs --congestion_'a_b'|-s 0 -c --wait 5 --vs --idle --vs -w"
		"|-s 0 -P 1,2 --vs -m_send,splice_-P_4,2_-k"
		"|-s 0 --request 10,1k --vs --keep_-p_9 --vs --request_1m",
		print_options, "--vs makes runs of its own");
}

/* Reads the options of a table that zcc does not have, and notes them in a plan. */
static void note(struct plan *p, const char *words)
{
	static const struct option_row rows[] = {
		{.help = "Options:\n"},
		{"", "new", "SIZE", "a", OPTION_AT(struct send_options, SIZE, mss), .max = 1e9},
		{"", "server", "HOST", "a", OPTION_AT(struct send_options, TEXT, server)},
		{"", "one", "N", "a", OPTION_AT(struct send_options, INT, mss), .max = 9,
		 .is_list = 1, .is_one = true},
		{"", "both", "N", "a", OPTION_AT(struct send_options, INT, mss), .max = 9,
		 .is_list = 2, .is_one = true},
		{"", "each", "N", "a", OPTION_AT(struct send_options, INT, mss), .max = 9,
		 .is_list = 3},
		{"", "many", "WORD", "a", OPTION_AT(struct send_options, TEXT, title),
		 .is_repeated = true},
		{"", "part", "P", "a", OPTION_AT(struct send_options, PERCENT, seconds), .max = 9},
		{"x", NULL, NULL, "a", OPTION_AT(struct send_options, FLAG, nodelay)},
		{.help = "Output:\n", .is_neutral = true},
		{"", "gone", .instead = "another"},
		{"", "other", "N", "a", OPTION_AT(struct send_options, INT, debug), .max = 9}};
	static char *argv[32];
	const struct fileset set = {.builtin = true};
	const struct environment environment = {.host = ""};

	opt = (struct send_options){.server = "", .port = "1", .command = "zcc"};
	options_read(&USAGE("zcc", rows, false), words_of(words, argv), argv, &opt, &opt.given);
	plan_open(p, &trials_kind, 1);
	plan_set(p, PLAN_PROFILE, "given"); /* as before the first run of a comparison */
	trials_note(p, &opt, &(struct send_result){.set = &set}, &environment);
	add(p);
}

static void print_difference(const char *key, const char *before, const char *now, void *unused)
{
	report("%s %s>%s;", key, before, now);
}

/* A row of the table is all that an option needs to be in the record, in JSON, and compared. */
static void test_new_option(void)
{
	struct comparison c = {.plan = &plan, .opt = &(struct compare_options){.against = "file"}};
	struct send_report rep = {.opt = &opt};
	struct json j = {.depth = 0};
	struct plan before;

	plan_close(&plan);
	note(&before, "--other 2 --server a");
	note(&plan,
	     "--new 64k --server a --other 0 -x --one 3 --both 1,2 --each 4 --many b --part 0.5");
	capture(STDOUT_FILENO);
	facts_compare(&plan, &before, print_difference, NULL);
	is(captured(),
	   "--both >1,2;--each >4;--many >b;--new >65536;--one >3;--part >0.5;-x >given;",
	   "a new option is compared, but for those of the output");
	plan.before = plan.kept = &before; /* as with --save and --against of one file */
	capture(STDOUT_FILENO);
	comparison_print(&c, NULL);
	ok(occurrences(captured(), "\n--new differs: default before, 65536 now\n") == 1,
	   "a difference has one line, where the file that is compared with is that of --save");
	capture(STDOUT_FILENO);
	report_json_open(&j, "start", &rep, NULL);
	has(captured(),
	    "\"options\":{\"new\":65536,\"server\":\"a\",\"one\":3,\"both\":[1,2],\"each\":[4],"
	    "\"many\":[\"b\"],\"part\":0.5,\"x\":true}",
	    "JSON has the options that were given in the table's order, without defaults");
	plan_close(&before);
	note(&before, "--part .5 --many b --each 4 --both 1,2 --one 3 -x --server a --new 65536");
	plan.before = plan.kept = NULL;
	capture(STDOUT_FILENO);
	facts_compare(&plan, &before, print_difference, NULL);
	is(captured(), "", "neither another spelling of a number nor another order differs");
	plan_close(&before);
}

static const char *facts_of(const char *list)
{
	const char *key;

	capture(STDOUT_FILENO);
	while ((key = next_of(&list)) != NULL)
		report("%s;", plan_fact(&plan, key));
	return captured();
}

/* What is known of this host and, by a receipt, of the other one. */
static void test_facts(void)
{
	struct file files[] = {{.name = "a"}, {.name = "b"}};
	struct fileset set = {.file = files, .n = 2, .bytes = 9};
	struct send_result res = {.receipts = 1, .target.interface = "eth0", .set = &set};
	const struct environment environment = {.host = "kernel: 6.1\n"};

	prepare("-s 0 -r 2 -T a_title -c --profile");
	is(facts_of(PLAN_PROFILE "|date"), "given;;", "a session with --profile is known by it");
	res.received = figures_of(
		"bytes=1 seconds=1 version=7.8.9 kernel=6.5.4 mtu=1400 offloads=tso");
	trials_note(&plan, &opt, &res, &environment);
	trials_note(&plan, &opt, &res, &environment);
	is(facts_of("title|kernel|interface|files|remote_version|remote_kernel|remote_mtu|"
		    "remote_offloads"),
	   "a title;6.1;eth0;2, 9 bytes: a b;7.8.9;6.5.4;1400;tso;",
	   "what is known of either end are facts of a session");
	strcpy(res.target.interface, "eth1");
	trials_note(&plan, &opt, &res, &environment);
	is(facts_of("kernel|interface|mtu|offloads"), "6.1;?;?;?;",
	   "runs by two interfaces share nothing of either");
}

static void test_entered(void)
{
	struct run run = {.opt = NULL};
	struct send_report rep = {.opt = NULL};
	struct trials a = {.opt = &opt, .run = &run, .report = &rep};
	struct send_result res = {.receipts = 1};

	ok(measures_there(&res), "a receiver may measure a load");
	strcpy(res.received.host.no_load, NO_LOAD_OFF);
	ok(!measures_there(&res), "a receiver that is not to measure a load does not");
	prepare("-s 0 -p 7 --idle --setting a=: --setting b=: --vs -p_9");
	waits = false;
	ok(entered(&a, 3) == 0 && waited_for == NULL,
	   "in a new setting nobody waits for a receiver that does not measure");
	a.remote_measures = true;
	ok(entered(&a, 3) == RECEIVER_SECONDS && strcmp(waited_for->port, "9") == 0 &&
		   waited_for->wait_server == 1,
	   "in a new setting the receiver of the run measures its idle host anew");
	waits = true;
}

/* Serves one connection after the other: with the receipt of a loop of two files, or with what it requests. */
static void serve(int listener)
{
	static char buf[1 << 16];
	uint64_t got;
	uint32_t size = 0;
	ssize_t n;
	int fd;

	for (; (fd = accept(listener, NULL, NULL)) >= 0; close(fd)) {
		for (got = 0; opt.request == NO_REQUEST && (n = read(fd, buf, sizeof(buf))) > 0;)
			got += (uint64_t)n;
		if (opt.request == NO_REQUEST && !opt.raw)
			dprintf(fd, "bytes=%" PRIu64 " seconds=1\n", got - 16);
		while (opt.request != NO_REQUEST &&
		       recv(fd, &size, sizeof(size), MSG_WAITALL) == sizeof(size) &&
		       write(fd, buf, ntohl(size)) >= 0 && opt.keep)
			;
	}
}

static void on_connected(void)
{
}

/* Options of zcc, and what is wrong with its runs; NULL: nothing. */
struct command {
	const char *options, *error;
};

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* What is mapped, and what is allocated of the heap; mallinfo2() is younger. */
static size_t bytes_taken(void)
{
	return mapped_bytes() + (size_t)mallinfo().uordblks;
}

/* Runs zcc six times.  Ends with 0 if it has the descriptors and memory of before, and with 77 without io_uring(7). */
static void run_often(const struct command *c)
{
	static char *argv[32];
	const char *error = NULL, *sanitizers = getenv("SANITIZE");
	/* A sanitizer has maps of its own, and the words of several runs last. */
	const bool is_counted = sanitizers == NULL || *sanitizers == '\0';
	char words[256], why[DIE_MAX];
	int listener, fd = listen_and_connect(&listener), i, argc, first, files = 0;
	struct sockaddr_in at = {.sin_port = 0};
	socklen_t len = sizeof(at);
	size_t taken = 0;
	pid_t server;

	/* The heap has all that is allocated, and neither grows nor shrinks from here on. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MXFAST, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	mallopt(M_MMAP_THRESHOLD, 1 << 25);
	free(malloc(1 << 24));
	alarm(30);
	getsockname(listener, (struct sockaddr *)&at, &len);
	listen(listener, 64);
	close(fd);
	close(accept(listener, NULL, NULL));
	dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
	snprintf(words, sizeof(words), "-s localhost -4 -p %d -q %s", ntohs(at.sin_port),
		 c->options);
	argc = words_of(words, argv);
	first = options_parse(&opt, argc, argv);
	server = fork();
	if (server == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
		serve(listener);
	for (i = 0; i < 6; i++) {
		struct run run;
		struct send_report rep = {.opt = &opt};
		struct trials all = {
			.opt = &opt, .run = &run, .report = &rep, .connected = on_connected};

		run_open(&run, &opt);
		error = trials_run(&all, argv + first, argc - first, why);
		run_close(&run);
		if (error != NULL && strstr(error, "-m uring") != NULL)
			_exit(77);
		if (i == 2) { /* the first runs fill caches */
			files = open_files();
			taken = bytes_taken();
		}
	}
	kill(server, SIGKILL);
	if (!is_counted || opt.n_words > 1)
		taken = bytes_taken();
	if (files != open_files() || taken != bytes_taken())
		die("%d descriptors were %d, %zu bytes taken %zu", open_files(), files,
		    bytes_taken(), taken);
	if (error == NULL || c->error == NULL ? error != c->error : strstr(error, c->error) == NULL)
		die("%s", error != NULL ? error : "no error");
	_exit(EXIT_SUCCESS);
}

#define TWO   " -n 1 /proc/self/exe /proc/self/exe"
#define SENDS "-P 2" TWO " -m "

static const struct command commands[] = {
	{.options = SENDS "sendfile"},
	{.options = SENDS "write --preload"},
	{.options = SENDS "mmap"},
	{.options = SENDS "splice"},
	{.options = SENDS "zerocopy"},
	{.options = SENDS "uring"},
	{.options = SENDS "uring-zc"},
	{.options = "-r 2 --vs -m_mmap_-P_3 --vs --preload_-m_send" TWO},
	{.options = "--wait-server 9" TWO},
	{"missing -P 3" TWO, "skipped 1 of 3 files"},
	{"-P 2" TWO " -n 2", ": the server received"},
	{.options = "--raw -t 0.02 -P 2 -I 0.01 /proc/self/exe"},
	{"-O 9" TWO, "everything was sent before"},
	{"-p 1 -r 2" TWO, "cannot connect"},
	{.options = "--bind 127.0.0.1" TWO},
	{.options = "--dry-run -r 2 --vs -k --vs -m_splice" TWO},
	{.options = "--request 0 -t 0.02 -I 0.01"},
	{.options = "--request 10 -n 9 -P 2 --keep -r 2"},
	{"--request 10 -n 9 -p 1", "the first connections failed, refused"},
};

/* The leak checker of `make check` has maps of its own, too: the command runs without. */
static void run_alone(void *number)
{
	unsetenv("LD_PRELOAD");
	setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1); /* what is freed is not taken */
	execl("/proc/self/exe", program_invocation_name, number, NULL);
}

static void test_gives_back(void)
{
	char title[256], number[8];
	size_t i;
	int status;

	for (i = 0; i < LENGTH(commands); i++) {
		snprintf(number, sizeof(number), "%zu", i);
		snprintf(title, sizeof(title), "zcc %s: each run gives back what it took",
			 commands[i].options);
		status = died(run_alone, number);
		if (status == 77)
			skip(title, "io_uring");
		else if (!ok(status == EXIT_SUCCESS, "%s", title))
			printf("# %s\n", strrchr(printed, ':'));
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		run_often(&commands[atoi(argv[1])]);
	test_new_option();
	test_runs();
	test_facts();
	test_entered();
	test_gives_back();
	return done();
}
