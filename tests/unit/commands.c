/* Commands that are compared: lib/command/commands.  What the gauge does is made up, and printed in its order. */
#define KEEPS_FILES /* of shell_open(), to the end of the program */
#include "lib/compare/rounds.h"
#include "lib/load/gauge.h"
#include "lib/report/periods.h"

#include "tests/unit/unit.h"

static bool measuring;     /* the gauge measures */
static const char *others; /* how they keep the machine busy; NULL: they do not */
static int stops;          /* the signal that ends the wait for an idle machine; 0: none */
static double took;        /* seconds of the next command */
static const char *unsafe; /* `?` for each of the next runs whose load is unsafe */

static void said(const char *what)
{
	dprintf(STDERR_FILENO, "[%s]", what);
}

static const char *wait_idle(_Atomic int *stop)
{
	said("wait");
	*stop = stops;
	return others;
}

static void start(double seconds)
{
	dprintf(STDERR_FILENO, "[start %g]", seconds);
	measuring = true;
}

static void stop(void)
{
	said("stop");
	measuring = false;
}

/* Two CPUs, of which a half was busy. */
static void load(struct load *l)
{
	l->load = 0.5;
	l->uncertainty = 0.01;
	l->cpus = 2;
	l->seconds = took++;
	l->unsafe = *unsafe == '?' ? UNSAFE_STEAL : 0;
	unsafe += *unsafe != '\0';
	strcpy(l->instrument, LOAD_BY_IDLE);
	said("load");
}

/* Says it once behind each line of a command, however often the gauge reads meanwhile. */
static void end(void)
{
	const off_t at = lseek(STDERR_FILENO, 0, SEEK_CUR);
	char last = 0;

	if (pread(STDERR_FILENO, &last, 1, at - 1) == 1 && last == '\n')
		said("end");
}

static const struct load *load_each(unsigned reasons)
{
	static struct load each[2];

	load_init(&each[0]);
	each[0].load = 0.75;
	each[1] = each[0];
	dprintf(STDERR_FILENO, "[each %u]", reasons);
	return each;
}

static void say(bool is_interval)
{
	said(is_interval ? "say of an interval" : "say");
}

/* NOLINTBEGIN(bugprone-reserved-identifier) */
#define gauge_prepare_or_die(g, s)      ((g)->setup = (s), (g)->file.cpus.n = 2, said("prepare"))
#define gauge_close(g)                  said("close")
#define gauge_wait_idle(g, setup, stop) wait_idle(stop)
#define gauge_measures(g)               measuring
#define gauge_start(g, seconds)         start(seconds)
#define gauge_stop(g)                   stop()
#define gauge_begin(g, interface)       said("begin")
#define gauge_end(g)                    end()
#define gauge_after(g, stop)            said("after")
#define gauge_load(g, l)                load(l)
#define gauge_load_each(g, unsafe)      load_each(unsafe)
#define gauge_say(g, l, is_interval)    say(is_interval)
#define command_figures_of(usage)       ((struct command_figures){.user = 0.25, .system = 0.5})
#undef LENGTH
#include "lib/command/commands.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */
/* NOLINTEND(bugprone-reserved-identifier) */

static _Atomic int ended; /* the signal that ends the comparison */
static struct command_options opt;
static struct commands c;

/* Options of a comparison of these commands, "this|that"; the first is a single operand. */
static void init(const char *list)
{
	static const struct gauge_setup setup = {.idle = 1, .what = "command"};
	static const struct options_given given;
	static char text[COMMANDS_MAX][256];
	static const struct option_row row = {.letters = "", .name = "vs"};
	static char *words[2];
	const char *next;
	int i;

	opt = (struct command_options){.show_output = true, .compare.rounds = 1};
	c = (struct commands){
		.opt = &opt, .setup = &setup, .stop = &ended, .line = "line", .given = &given};
	ended = 0;
	measuring = false;
	others = NULL;
	took = 1;
	unsafe = "";
	for (i = 0; (next = next_of(&list)) != NULL; i++) {
		strcpy(text[i], next);
		if (i > 0)
			commands_take(&row, text[i], &opt);
	}
	words[0] = text[0];
	commands_settle(&opt, words);
}

/* Runs the comparison, and prints with it what it returns. */
static void compare(void)
{
	char why[DIE_MAX];
	const char *error = commands_run(&c, why);

	report_flush();
	printf("\nreturns %s, signal %d\n\n", error != NULL ? error : "no error", ended);
	fflush(stdout);
	if (opt.no_shell)
		free(opt.words[0]);
}

static const struct comparison_case {
	const char *list, *prepare, *conclude, *others, *unsafe;
	int rounds, retries, stops;
	bool is_silent, no_shell;
} orders[] =
	{
		{"echo a >&2|echo b >&2", "echo p", "echo c", .rounds = 2},
		{"echo a >&2|echo b >&2", .others = "other programs take the CPUs"},
		{"echo a >&2", .unsafe = "?", .retries = 1},
},
  failures[] = {
	  {"exit 3", .conclude = "exit 4"}, /* it runs all the same */
	  {"echo its reason >&2; exit 3", .is_silent = true},
	  {"exit 3|true", .is_silent = true},
	  {"echo a >&2", .prepare = "exit 5"},
	  {"echo a >&2", .conclude = "exit 6"},
	  {"/no/such/file", .no_shell = true},
};

#define WORK "i=0; while [ $i -lt 3000000 ]; do i=$((i + 1)); done" /* seconds, without a child */

/* The commands send signals to this process.  Two leave no child, which the init of a container may wait for late. */
static const struct comparison_case signals[] = {
	{.list = "(trap '' INT; trap 'echo it ends >&2; exit' TERM; sleep 9 & kill -INT $PPID; wait) & wait"},
	{.conclude = "echo c",
	 .list = "trap '' INT TERM; kill -INT $PPID; kill -TERM $PPID; " WORK
		 "; echo it survives >&2"},
	{"echo a >&2", .prepare = "trap 'echo it ends; exit' TERM; kill -INT $PPID; " WORK},
	{"echo a >&2", .others = "it is busy", .stops = SIGINT},
};

static void expect_cases(const struct comparison_case *row, size_t n, const char *title)
{
	capture_all();
	for (; n-- > 0; row++) {
		init(row->list);
		opt.prepare = row->prepare;
		opt.conclude = row->conclude;
		opt.compare.rounds += row->rounds > 0 ? row->rounds - 1 : 0;
		opt.compare.retries = row->retries;
		opt.show_output = !row->is_silent;
		opt.no_shell = row->no_shell;
		c.per_cpu = row->unsafe != NULL;
		unsafe = row->unsafe != NULL ? row->unsafe : "";
		others = row->others;
		stops = row->stops;
		if (row->no_shell)
			split(&opt);
		compare();
	}
	expect(captured(), title);
}

static void on_signal(int sig)
{
	ended = sig;
}

static void test_runs(void)
{
	expect_cases(
		orders, LENGTH(orders),
		"each run is prepared, measured and concluded, with the idle machine before it");
	expect_cases(failures, LENGTH(failures), "what fails ends the comparison, and is named");
	signal(SIGINT, on_signal);
	expect_cases(signals, LENGTH(signals),
		     "a signal ends the command, what it has left, and the comparison");
	stops = 0;
}

static void test_json(void)
{
	static const char *const parts[][2] = {
		{"\"start\":{", "1"},
		{"\"timestamp\":{", "2"},
		{"\"options\":{}", "1"},
		{"\"comparison\":{", "1"},
		{"\"run\":", "2"},
		{"\"run\":2,\"command\":\"echo b\",\"seconds\":2,", "1"},
		{"\"load_by_cpu\":[{\"cpu\":0,\"load_percent\":75", "2"}};
	size_t i;

	capture_all();
	init("echo a|echo b");
	c.json = true;
	compare();
	captured();
	for (i = 0; i < LENGTH(parts); i++)
		ok(occurrences(printed, parts[i][0]) == atoi(parts[i][1]),
		   "in JSON two runs and their comparison have %s %s times", parts[i][0],
		   parts[i][1]);
}

/* Two commands in two settings, none of which runs. */
static void test_plan(void)
{
	struct setting_command settings[] = {{"s", "exit 1"}, {"t", "exit 1"}};
	struct sigaction now;
	int i;

	init("echo a|echo b");
	opt.compare.settings.n = 2;
	memcpy(opt.compare.settings.all, settings, sizeof(settings));
	opt.compare.dry = true;
	strcpy(c.environment.host, "kernel: 6.1\n");
	capture_all();
	compare();
	c.setup = &(struct gauge_setup){.idle = 1, .profile = true};
	open_plan(&c);
	note(&c);
	for (i = 0; i < c.plan.n; i++)
		printf("%s, by %s, as run %d\n", plan_name(&c.plan.run[i]),
		       plan_value(&c.plan.run[i], RUN_INSTRUMENT), c.plan.run[i].reference + 1);
	printf("kernel %s, profile %s\n", plan_fact(&c.plan, "kernel"),
	       plan_fact(&c.plan, PLAN_PROFILE));
	expect(captured(), "each command in each setting is a run, which --dry-run names");
	plan_close(&c.plan);
	sigaction(SIGUSR1, NULL, &now);
	ok(now.sa_handler == settings_die_of, "a signal that ends the program ends its command");
	i = shell_start("sleep 60", NULL, SHELL_PRINTS);
	capture(STDOUT_FILENO);
	c.json = true;
	commands_die(&c, "no round is complete");
	report_flush();
	is(captured(), "{\"schema\":1,\"error\":\"no round is complete\"}\n",
	   "a comparison that dies without a round is an error in JSON");
	ok(kill(i, 0) != 0, "a comparison that dies ends the command that runs");
}

#define SEVEN "+a+a+a+a+a+a+a"

/* Of commands with `+` between them, and then of none; a quote is for --no-shell. */
static void settle(void *list)
{
	const bool has_quote = strchr(list, '\'') != NULL;
	char *at;

	for (at = list; (at = strchr(at, '+')) != NULL;)
		*at = '|';
	init(list);
	if (has_quote)
		split(&opt);
	commands_settle(&opt, (char *[]){NULL});
}

static void test_usage(void)
{
	static char text[] = "a b", more[] = "c";
	static char *one[] = {text, NULL}, *two[] = {text, more, NULL};

	expect_deaths(settle,
		      " \t\n|true+\t|true+true|a+b+b|true+false|a 'b+c|true" SEVEN SEVEN SEVEN SEVEN
			      SEVEN SEVEN SEVEN SEVEN SEVEN "+a",
		      "commands that are empty, given twice, too many or none are refused");
	is(command_join(one), "a b", "a single word is a command line as it is");
	is(command_join(two), "'a b' c", "several words are quoted");
	opt = (struct command_options){.n = 0};
	ok(!commands_settle(&opt, one), "one command alone is no comparison");
}

TESTS(test_runs, test_json, test_plan, test_usage)
