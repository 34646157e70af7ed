#include "lib/command/commands.h"

#include <sys/wait.h>

#include "lib/base/program.h"
#include "lib/compare/facts.h"
#include "lib/compare/shell.h"
#include "lib/report/words.h"

#define FORGET_NS 100000000u /* between two looks at how much a command has printed */

/*
 * The tables.
 */

static const struct run_key keys[] = {
	[RUN_SETTING] = {.name = "setting"},
	[RUN_WORDS] = {.name = "command"},
	[RUN_NAME] = {.name = "name"},
	[RUN_INSTRUMENT] = {.name = "instrument"},
};

#define GROUP(which, key, name) {key "_cpu_seconds", .is_of_load = true, .part = PART_GROUP},

static const struct measure measures[] = {
	{"cpu_seconds", .is_of_load = true, .title = "CPU seconds",
	 .ratio_key = "cpu_seconds_ratio", .verb = "takes", .times = "times the CPU time of"},
	{"load_percent", .is_of_load = true, .title = "load"},
	{"seconds", .title = "seconds", .ratio_key = "seconds_ratio", .verb = "takes",
	 .times = "times as long as"},
	{"user_system_seconds", .title = "user+system", .ratio_key = "user_system_seconds_ratio",
	 .verb = "takes", .times = "times the user and system time of"},
	{"user_seconds", .part = PART_COUNT},
	{"system_seconds", .part = PART_COUNT},
	PROFILE_EACH(GROUP)
	/* How far these can be trusted. */
	{"load_uncertainty_percent", .is_of_load = true},
	{"load_shared_percent", .is_of_load = true},
	{"drift_percent", .is_of_load = true},
};

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

const struct plan_kind commands_kind = {
	.program = "cyclesoak",
	.measure = measures,
	.measures = LENGTH(measures),
	.key = keys,
	.keys = LENGTH(keys),
};

static bool is_blank(const char *command)
{
	return command[strspn(command, " \t\n")] == '\0';
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a row has functions of one type */
void commands_take(const struct option_row *o, char *text, void *to)
{
	struct command_options *opt = to;

	if (is_blank(text))
		option_error(o, "the command is empty");
	if (opt->n == COMMANDS_MAX - 1)
		option_error(o, "more than %d commands", COMMANDS_MAX - 1);
	opt->command[++opt->n] = text;
}

char *command_join(char **words)
{
	char *text = words_join(words);

	if (words[1] == NULL)
		strcpy(text, words[0]);
	return text;
}

/* Splits the commands into words; they are those of a comparison that no shell runs. */
static void split(struct command_options *opt)
{
	int i, n;

	for (i = 0; i <= opt->n; i++) {
		opt->words[i] = words_split(opt->command[i], &n);
		if (opt->words[i] == NULL)
			usage_error("--no-shell: '%s': a quote has no end", opt->command[i]);
	}
}

bool commands_settle(struct command_options *opt, char **words)
{
	const int settings = opt->compare.settings.n;
	const int runs = (opt->n + 1) * (settings > 0 ? settings : 1);
	int i, k;

	if (!rounds_settle(&opt->compare, runs) && !opt->compare.dry)
		return false;
	if (*words == NULL)
		usage_error("a comparison needs a COMMAND: cyclesoak [OPTION...] -- COMMAND");
	opt->command[0] = command_join(words);
	if (is_blank(opt->command[0]))
		usage_error("the COMMAND is empty");
	for (i = 1; i <= opt->n; i++)
		for (k = 0; k < i; k++)
			if (strcmp(opt->command[i], opt->command[k]) == 0)
				usage_error(
					"--vs '%s': the same command as %s: -r, --runs repeats all "
					"runs",
					opt->command[i], k > 0 ? "another --vs" : "without --vs");
	if (opt->no_shell)
		split(opt);
	return true;
}

/* Opens the plan: the setting varies slowest. */
static void open_plan(struct commands *c)
{
	const struct settings *s = &c->opt->compare.settings;
	const int n = c->opt->n + 1;
	struct plan_run *run;
	int i;

	plan_open(&c->plan, &commands_kind, n * (s->n > 0 ? s->n : 1));
	if (c->setup->profile)
		plan_set(&c->plan, PLAN_PROFILE, "given");
	for (i = 0; i < c->plan.n; i++) {
		run = &c->plan.run[i];
		plan_set_value(run, RUN_WORDS, c->opt->command[i % n]);
		plan_set_value(run, RUN_INSTRUMENT, gauge_kind(c->setup)->name);
		if (s->n > 0)
			plan_set_value(run, RUN_SETTING, s->all[i / n].name);
		run->reference = i >= n ? i % n : 0;
	}
}

/* Stores, once, what all runs share. */
static void note(struct commands *c)
{
	const struct link none = {.mtu = 0};
	char text[ENVIRONMENT_MAX];

	if (plan_knows(&c->plan, "date"))
		return;
	facts_of_options(&c->plan, c->line, c->given);
	environment_lines(&c->environment, &none, text);
	plan_set_lines(&c->plan, text);
}

/*
 * A run.
 */

/*
 * Runs a command until it ends, and ends what is measured.  A signal that is to end the comparison
 * goes to the command's session, a second one ends it.  Returns NULL or how the command failed.
 */
static const char *run_command(struct commands *c, int i)
{
	char *const *words = c->opt->words[i];
	const char *error;
	sigset_t set, before;
	const char *said;
	siginfo_t info;
	pid_t pid;
	int sig;

	stop_signals(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &before);
	pid = shell_start(c->opt->command[i], words,
			  c->opt->show_output ? SHELL_PRINTS : SHELL_IS_SILENT);
	if (pid < 0) {
		error = text_of("cannot run %s: %s", words != NULL ? words[0] : "sh",
				strerror(errno));
		sigprocmask(SIG_SETMASK, &before, NULL);
		return error;
	}
	while (info.si_pid = 0, TEMP_FAILURE_RETRY(waitid(P_PID, (id_t)pid, &info,
							  WEXITED | WNOHANG | WNOWAIT)) == 0 &&
					info.si_pid == 0) {
		gauge_end(&c->gauge); /* dies if the soakers have ended */
		while ((sig = wait_signal(&set, &info, now_ns() + FORGET_NS)) < 0)
			shell_forget();
		if (sig > 0 && info.si_signo != SIGCHLD && !stop_is_repeated(info.si_signo)) {
			kill(-pid, *c->stop > 0 ? SIGKILL : info.si_signo);
			*c->stop = info.si_signo;
		}
	}
	gauge_end(&c->gauge);
	if (*c->stop > 0)
		shell_end(pid); /* with what it has started, and left */
	shell_wait(pid, NULL, NULL, UINT64_MAX, &error);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (error == NULL || c->opt->show_output)
		return error;
	said = shell_said();
	return text_of("%s: %s", error, *said != '\0' ? said : "--show-output prints what it says");
}

/* Runs the command of --prepare or --conclude, if there is one: the runs before and after it share no baseline. */
static const char *run_aside(struct commands *c, const char *option, const char *command,
			     char why[DIE_MAX])
{
	const char *error = "interrupted";
	pid_t pid;

	if (command == NULL)
		return NULL;
	gauge_stop(&c->gauge); /* before the command starts: it is not soaked */
	pid = shell_start(command, NULL, SHELL_PRINTS);
	if (pid < 0)
		error = strerror(errno);
	else if (!shell_wait(pid, option, c->stop, UINT64_MAX, &error))
		(void)shell_end_running();
	if (error == NULL)
		return NULL;
	snprintf(why, DIE_MAX, "%s: %s", option, error);
	return why;
}

/* Does what comes before a run, outside all measurement, and measures the idle machine. */
static const char *prepare(struct commands *c, char why[DIE_MAX])
{
	const char *error = run_aside(c, "--prepare", c->opt->prepare, why), *busy;

	if (error != NULL || *c->stop > 0)
		return error;
	busy = gauge_wait_idle(&c->gauge, c->setup, c->stop);
	if (busy != NULL && *c->stop == 0)
		warnx("%s", busy);
	if (*c->stop == 0 && !gauge_measures(&c->gauge))
		gauge_start(&c->gauge, c->seconds);
	return NULL;
}

/* Adds what a run measured to the plan, and with --json, -B or -d prints it. */
static void add(struct commands *c, int i, const struct figures *f, const struct load *each)
{
	const struct plan_run *run = &c->plan.run[i];
	struct period p = {.figures = *f,
			   .cpus = &c->gauge.file.cpus,
			   .is_command = true,
			   .each = each,
			   .run = c->plan.added + 1,
			   .command = run->value[RUN_WORDS],
			   .setting = run->value[RUN_SETTING]};

	if (c->json) {
		period_json(&p, plan_knows(&c->plan, "date") ? NULL : &c->environment);
	} else if (c->debug || c->per_cpu) {
		report("%s:\n", c->gauge.said.place);
		period_print(&p, c->debug);
	}
	note(c);
	rounds_add(&c->rounds, i, &(struct ends){.sent = f});
}

/* Run i of the plan. */
static const char *run(void *commands, int i, char why[DIE_MAX])
{
	struct commands *c = commands;
	const char *error = prepare(c, why), *last = NULL;
	const bool is_prepared = error == NULL && *c->stop == 0;
	const struct load *each = NULL;
	struct figures f;

	figures_init(&f);
	if (is_prepared) {
		gauge_begin(&c->gauge, NULL);
		error = run_command(c, i % (c->opt->n + 1));
	}
	if (error == NULL && *c->stop == 0) {
		gauge_after(&c->gauge, c->stop);
		gauge_load(&c->gauge, &f.host);
		f.seconds = f.host.seconds;
		f.command = command_figures_of(&shell_usage);
		if (c->json || c->per_cpu)
			each = gauge_load_each(&c->gauge, f.host.unsafe);
		gauge_say(&c->gauge, &f.host, false);
		c->seconds = fmax(c->seconds, f.seconds);
	}
	if (is_prepared && *c->stop == 0)
		last = run_aside(c, "--conclude", c->opt->conclude, why);
	if (*c->stop > 0)
		return "interrupted";
	error = error != NULL ? error : last;
	if (error != NULL)
		error = die_line(error, why);
	if (!rounds_repeat(&c->rounds, i, &(struct ends){.sent = &f}, error) && error == NULL)
		add(c, i, &f, each);
	return error;
}

/*
 * All runs.
 */

static void begin_json(struct json *j, void *commands)
{
	const struct commands *c = commands;

	json_report_open(j);
	json_open(j, "comparison", '{');
	environment_json_start(j, &c->environment, NULL, clock_ns(CLOCK_REALTIME));
	facts_json(j, c->given);
}

/* Prints the rounds that are complete; in JSON an error, too, even if there is no round. */
static void print(struct commands *c, const char *error)
{
	struct json j = {.depth = 0};

	if (c->plan.rounds > 0)
		comparison_print(&c->comparison, error);
	else if (c->json && error != NULL)
		json_fail(&j, error);
}

void commands_die(void *commands, const char *why)
{
	(void)shell_end_running();
	print(commands, why);
}

const char *commands_run(struct commands *c, char why[DIE_MAX])
{
	struct comparison *comparison = &c->comparison;
	const char *error;

	open_plan(c);
	*comparison = (struct comparison){.plan = &c->plan,
					  .opt = &c->opt->compare,
					  .is_wanted = true,
					  .json = c->json,
					  .is_detailed = c->debug,
					  .begin_json = begin_json,
					  .arg = c};
	c->rounds = (struct rounds){.comparison = comparison,
				    .gauge = &c->gauge,
				    .stop = c->stop,
				    .once = run,
				    .arg = c};
	rounds_read_or_die(&c->rounds);
	if (c->opt->compare.dry) {
		comparison_print_runs(comparison);
		rounds_close(&c->rounds);
		plan_close(&c->plan);
		return NULL;
	}
	gauge_prepare_or_die(&c->gauge, c->setup);
	error = shell_open();
	if (error != NULL)
		die("%s", error);
	settings_catch();
	comparison_print_size(comparison);
	error = rounds_run(&c->rounds, why);
	gauge_close(&c->gauge);
	print(c, error);
	rounds_close(&c->rounds);
	plan_close(&c->plan);
	return error;
}
