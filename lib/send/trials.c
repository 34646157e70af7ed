#include "lib/send/trials.h"

#include "lib/compare/facts.h"
#include "lib/send/sender.h"

/*
 * The plan.
 */

void trials_prepare(struct plan *p, const struct send_options *all)
{
	const struct given *ports = option_given(&all->given, "port");
	char *name = options_name(all);
	struct send_options opt;
	struct plan_run *run;
	int i;

	plan_open(p, &trials_kind, all->runs);
	if (all->gauge.profile)
		plan_set(p, PLAN_PROFILE, "given");
	for (i = 0, run = p->run; i < p->n; i++, run++) {
		options_of_run(all, i, &opt);
		if (all->compare.settings.n > 0)
			plan_set_value(run, RUN_SETTING,
				       all->compare.settings.all[opt.setting].name);
		plan_set_value(run, RUN_WORDS, all->words[i % all->n_words].text);
		if (plan_value(run, RUN_WORDS)[0] == '\0')
			plan_set_value(run, RUN_NAME, name);
		if (gauge_is_wanted(&opt.gauge))
			plan_set_value(run, RUN_INSTRUMENT, gauge_kind(&opt.gauge)->name);
		if (opt.request != NO_REQUEST) {
			plan_set_value(run, RUN_REQUEST, text_of("%" PRIu64, opt.request));
		} else {
			plan_set_value(run, RUN_METHOD, opt.method->name);
			plan_set_value(
				run, RUN_SIZE,
				text_of("%zu", method_chunk(opt.method, opt.chunk, opt.streams)));
		}
		plan_set_value(run, RUN_STREAMS, text_of("%d", opt.streams));
		if (ports != NULL && ports->n > 1)
			plan_set_value(run, RUN_PORT, opt.port);
		if (all->words[i % all->n_words].vs != NULL)
			plan_set_value(run, RUN_VS, all->words[i % all->n_words].vs);
		/* Of runs that differ in the setting alone the first is the reference. */
		run->reference = opt.setting > 0 ? i % all->n_words : all->words[i].reference;
	}
	free(name);
}

/* Stores the names and the bytes of the files; of many, the first names. */
static void note_files(struct plan *p, const struct fileset *set)
{
	char names[1024] = "";
	size_t i;

	for (i = 0; i < set->n && !set->builtin; i++)
		if (!string_append(names, sizeof(names) - 4, " %s", set->file[i].name))
			break;
	if (i < set->n)
		string_append(names, sizeof(names), set->builtin ? " built in" : " ...");
	plan_set(p, "files", "%zu, %" PRIu64 " bytes:%s", set->n, set->bytes, names);
}

/* Stores what a receipt has of the other host. */
static void note_remote(struct plan *p, const struct figures *f)
{
	const struct figure *row;
	const char *key;

	plan_set(p, PLAN_REMOTE "version", "%s", f->version);
	plan_set(p, PLAN_REMOTE "kernel", "%s", f->kernel);
	for (row = figure_table; row < figure_table + figure_rows; row++) {
		if (!(row->objects & IN_ENVIRONMENT))
			continue;
		key = text_of(PLAN_REMOTE "%s", row->key);
		if (row->size > 0)
			plan_set(p, key, "%s", (const char *)figure_member(row, f));
		else if (!isnan(figure_value(row, f)))
			plan_set(p, key, "%.9g", figure_value(row, f));
	}
}

void trials_note(struct plan *p, const struct send_options *opt, const struct send_result *res,
		 const struct environment *environment)
{
	char text[ENVIRONMENT_MAX];
	struct link link;

	if (plan_knows(p, "date")) {
		/* Runs by several interfaces share none of what the first one's has. */
		if (strcmp(plan_fact(p, "interface"), res->target.interface) != 0) {
			plan_set(p, "interface", "?");
			plan_set(p, "mtu", "?");
			plan_set(p, "offloads", "?");
		}
		return;
	}
	facts_of_options(p, opt->command, &opt->given);
	if (opt->title != NULL)
		plan_set(p, "title", "%s", opt->title);
	if (res->set != NULL)
		note_files(p, res->set);
	plan_set(p, "congestion", "%s", res->congestion);
	plan_set(p, "interface", "%s", res->target.interface);
	link_read(&link, res->target.interface);
	environment_lines(environment, &link, text);
	plan_set_lines(p, text);
	if (res->receipts > 0 && !(res->local && strcmp(res->target.interface, "lo") == 0))
		note_remote(p, &res->received);
}

/*
 * A run.
 */

/* Whether the other host measures a load, as far as its receipt tells. */
static bool measures_there(const struct send_result *res)
{
	return res->receipts > 0 && !res->local &&
	       strcmp(res->received.host.no_load, NO_LOAD_OFF) != 0;
}

/*
 * Checks a transfer, reports it, and adds complete figures to run i of the plan.  Returns NULL or what is
 * wrong, a text that may be in `why`.
 */
static const char *judge(struct trials *a, const struct transfer *t, int i, char why[DIE_MAX])
{
	const struct send_result *res = &t->result;
	const struct ends ends = {&res->sent, res->receipts > 0 ? &res->received : NULL,
				  res->local};
	struct send_report *rep = a->report;
	const char *error = a->run->is_broken ? a->run->failure
					      : result_check(res, a->now.streams, why);

	if (a->run->stop > 0)
		error = "interrupted";
	else if (error != NULL)
		error = die_line(error, why);
	/* The one that ends the program is printed. */
	rep->fails = error != NULL && a->run->stop <= 0 && !rounds_go_on(&a->rounds);
	a->remote_measures = measures_there(res);
	gauge_say(&a->run->gauge, &res->sent.host, false);
	if (error == NULL)
		report_warn(rep, res);
	rep->repeats = rounds_repeat(&a->rounds, i, &ends, error);
	/* The last object has the error: that of a comparison is to come. */
	report_end(rep, res,
		   error != NULL || a->comparison.is_wanted ? error : fileset_error(res->set, why));
	if (error == NULL && !rep->repeats) {
		trials_note(&a->plan, a->opt, res, &rep->environment);
		rounds_add(&a->rounds, i, &ends);
	}
	return error;
}

/* What is above the figures of a comparison. */
static void print_size(struct trials *a)
{
	if (a->comparison.is_wanted && !a->is_announced)
		comparison_print_size(&a->comparison);
	a->is_announced = true;
}

/* Reports that a run failed before it had figures.  Returns why, which is in `why`. */
static const char *fail(struct trials *a, int i, const char *error, char why[DIE_MAX])
{
	const bool in_series = a->now.request != NO_REQUEST && !a->comparison.is_wanted;

	/* A size of requests is repeated in the same report. */
	if (!rounds_repeat(&a->rounds, i, NULL, die_line(error, why)) || !in_series)
		report_end_error(a->report, why);
	return why;
}

/*
 * Sends the file set over new connections, as run i of the plan.  Returns NULL or what is wrong, a text that
 * may be in `why`.
 */
static const char *send_once(struct trials *a, int i, char why[DIE_MAX])
{
	struct transfer t = {
		.opt = &a->now, .run = a->run, .report = a->report, .result.set = &a->set};
	const bool is_open = transfer_open(&t);
	const char *error, *failure = a->run->failure;

	if (is_open) {
		a->connected();
		print_size(a);
		report_start(a->report, &t.result.target, &t.result);
		transfer_run(&t);
		if (*failure == '\0')
			failure =
				"everything was sent before the warm-up ended: send more (-n, -t)";
	}
	if (!t.measuring && a->run->stop > 0) { /* the program ends: what is open stays so */
		report_end_error(a->report, "interrupted");
		if (a->plan.added == 0)
			warnx("interrupted before the warm-up ended: nothing was measured");
		return "interrupted";
	}
	/* Without a byte there are no figures. */
	if (!t.measuring || a->run->has_died ||
	    (a->run->is_broken && a->run->stop <= 0 && t.result.sent.bytes == 0))
		error = fail(a, i, failure, why);
	else
		error = judge(a, &t, i, why);
	if (is_open)
		transfer_close(&t);
	return error;
}

/*
 * Reports the requests of run i, and adds them to the plan.  Those of a comparison are a report, others one size below
 * the other.
 */
static void report_requests(struct trials *a, const struct target *target, const struct requests *q,
			    int i, const char *error)
{
	const struct send_options *opt = a->opt;
	struct send_report *rep = a->report;
	struct send_result res = {.target = *target,
				  .sent = q->host,
				  .received = q->received,
				  .receipts = q->has_receipt};
	struct ends ends = {.sent = &res.sent, .received = q->has_receipt ? &res.received : NULL};
	const bool compares = a->comparison.is_wanted;
	char here[HASH_SIZE];
	bool fails;

	boot_read(here);
	res.local = q->has_receipt && strcmp(q->received.boot, here) == 0;
	a->remote_measures = measures_there(&res);
	gauge_say(&a->run->gauge, &q->host.host, false);
	if (gauge_measures(&a->run->gauge) && q->host.seconds < SHORT_SECONDS && !rep->has_warned)
		warnx("the load was measured over less than half a second: send more (-n, -t)");
	rep->has_warned |= compares;
	if (compares && error == NULL && q->host.requests.failed > 0)
		warnx("%.0f request%s failed", q->host.requests.failed,
		      plural((uint64_t)q->host.requests.failed));
	ends.local = res.local;
	rep->repeats = rounds_repeat(&a->rounds, i, &ends, error);
	fails = compares && error != NULL && !rounds_go_on(&a->rounds);
	if (fails && !opt->json && !opt->quiet)
		report("the run that failed:\n");
	if (opt->json || (compares ? fails : !rep->repeats))
		requests_report(rep, q, i == 0 || compares || opt->interval > 0);
	if (error == NULL && !rep->repeats) {
		trials_note(&a->plan, opt, &res, &rep->environment);
		rounds_add(&a->rounds, i, &ends);
	}
}

/* Makes the requests of run i of the plan.  Returns NULL or what is wrong, a text that may be in `why`. */
static const char *request_once(struct trials *a, int i, const struct target *target,
				char why[DIE_MAX])
{
	const bool compares = a->comparison.is_wanted, begins = compares || !a->is_announced;
	const bool is_last = a->rounds.retry == a->opt->compare.retries;
	struct send_report *rep = a->report;
	struct requests q;
	const char *error;

	a->connected();
	print_size(a);
	if (compares || a->rounds.retry > 0)
		a->server = (struct request_server){.closes = false};
	if (!compares)
		rep->opt = a->opt; /* of all sizes */
	if (begins)
		report_start(rep, target, NULL);
	rep->repeats = false;
	error = requests_run(a->run, rep, target, &a->server, &q, why);
	if (error != NULL && a->run->stop <= 0)
		error = !compares && is_last && i < a->plan.n - 1 && requests_go_on(&a->server)
				? NULL
				: die_line(error, why);
	report_requests(a, target, &q, i, error);
	if (compares || (!rep->repeats && (error != NULL || a->plan.added == a->plan.n)))
		report_end(rep, NULL, error);
	return error;
}

/* Tries what each --vs asks the kernel for; a wrong one is a usage error. */
static void try_others(struct trials *a)
{
	char name[DIE_MAX] = "";
	struct send_options opt;
	int i;

	die_with(EXIT_USAGE);
	die_about(name);
	a->run->opt = &opt;
	for (i = 0; i < a->plan.n; i++) {
		options_of_run(a->opt, i, &opt);
		if (opt.setting > 0 || plan_value(&a->plan.run[i], RUN_VS)[0] == '\0')
			continue;
		snprintf(name, sizeof(name), "--vs '%s'", plan_value(&a->plan.run[i], RUN_WORDS));
		run_try_or_die(a->run);
	}
	a->run->opt = &a->now;
	die_about(a->rounds.place);
	die_with(EXIT_SUCCESS);
}

/* The options of run i are those of the run under way.  In a new setting the server may take until it accepts again. */
static void set_options(struct trials *a, int i)
{
	options_of_run(a->opt, i, &a->now);
	a->report->opt = a->run->opt = &a->now;
	a->now.wait_server = fmax(a->now.wait_server, a->now.compare.settle);
}

#define RECEIVER_SECONDS 2.5 /* in which zcs measures its host anew after a client */

/*
 * The setting of run i is in force.  The receiver's baseline is to be one of it: zcs gets a client that sends nothing.
 */
static double entered(void *trials, int i)
{
	struct trials *a = trials;
	struct target target;

	if (!a->remote_measures)
		return 0;
	set_options(a, i);
	a->now.wait_server = fmax(a->now.wait_server, 1);
	if (!a->now.raw)
		target_wait(&target, a->run);
	return RECEIVER_SECONDS;
}

/* Run i of the plan. */
static const char *trial(void *trials, int i, char why[DIE_MAX])
{
	struct trials *a = trials;
	struct target waited;
	bool is_found = false;

	set_options(a, i);
	a->report->runs = a->opt->compare.rounds * a->plan.n;
	a->report->run = a->plan.added + 1;
	a->run->failure[0] = '\0';
	if (a->plan.added == 0)
		try_others(a);
	/* A server that is not zcs may serve one connection: its own. */
	if (!a->now.raw)
		is_found = target_wait(&waited, a->run);
	if (a->run->stop > 0)
		return "interrupted";
	if (a->now.request != NO_REQUEST && !is_found)
		target_find(&waited, a->run, -1, NULL);
	if (a->run->failure[0] == '\0')
		run_gauge(a->run);
	if (a->run->failure[0] != '\0')
		return fail(a, i, a->run->failure, why);
	return a->now.request != NO_REQUEST ? request_once(a, i, &waited, why)
					    : send_once(a, i, why);
}

/*
 * All runs.
 */

static void begin_json(struct json *j, void *trials)
{
	struct trials *a = trials;
	const struct given *ports = option_given(&a->opt->given, "port");
	struct link link;

	const struct plan *p = a->comparison.plan;

	a->now = *a->opt;
	if (ports != NULL && ports->n > 1)
		a->now.port = ""; /* there is no one port */
	a->report->opt = &a->now;
	*j = (struct json){.stream = a->report->json.stream};
	if (a->opt->compare.compare != NULL) {
		a->now.server = plan_fact(p, "--server");
		a->now.port = "";
		a->now.seconds = strtod(plan_fact(p, "--time"), NULL);
	}
	link_read(&link, plan_fact(p, "interface"));
	report_json_open(j, "comparison", a->report, &link);
	if (!p->of_requests)
		json_string(j, "sender_tcp_congestion", plan_fact(p, "congestion"));
	json_number(j, "duration", a->now.seconds);
}

/* The seconds of a run with its baselines; 0 if only its bytes are known. */
static double run_seconds(const struct send_options *opt)
{
	const int baselines = gauge_is_wanted(&opt->gauge) ? 1 : 0;

	return opt->seconds > 0
		       ? opt->warmup + opt->seconds +
				 baselines * baseline_windows(opt->seconds) * BASELINE_WINDOW
		       : 0;
}

/* The mean of all runs' seconds; 0 if they are not known of each. */
static double mean_seconds(const struct send_options *all)
{
	struct send_options opt;
	double seconds, sum = 0;
	int i;

	for (i = 0; i < all->runs; i++) {
		options_of_run(all, i, &opt);
		seconds = run_seconds(&opt);
		if (seconds <= 0)
			return 0;
		sum += seconds;
	}
	return sum / all->runs;
}

void trials_die(void *trials, const char *why)
{
	struct trials *a = trials;

	report_end_error(a->report, why);
	if (a->comparison.is_wanted && a->plan.rounds > 0)
		comparison_print(&a->comparison, why);
}

/* Opens the files, unless they are open, and has them in memory if these options are to send them from there. */
static void open_files(const struct send_options *opt, struct fileset *set, char **names, int n)
{
	if (set->n == 0)
		fileset_open(set, names, n);
	if (opt->bytes > 0 && set->bytes == 0)
		die("--bytes: the files are empty");
	if (opt->preload && set->file[0].data == NULL)
		fileset_preload(set);
}

static char *command_of(void *trials, int i)
{
	const struct trials *a = trials;
	struct send_options opt;

	options_of_run(a->opt, i, &opt);
	return options_command(&opt);
}

void trials_compare(struct trials *a)
{
	a->comparison = (struct comparison){.opt = &a->opt->compare,
					    .quiet = a->opt->quiet,
					    .json = a->opt->json,
					    .is_detailed = a->opt->debug > 0,
					    .begin_json = begin_json,
					    .arg = a};
	rounds_compare_or_die(&a->comparison, &trials_kind);
}

const char *trials_run(struct trials *a, char **names, int n, char why[DIE_MAX])
{
	const struct send_options *opt = a->opt;
	struct comparison *c = &a->comparison;
	struct send_options of;
	const char *error;
	int i;

	trials_prepare(&a->plan, opt);
	a->remote_measures = gauge_is_wanted(&opt->gauge);
	*c = (struct comparison){.plan = &a->plan,
				 .opt = &opt->compare,
				 .is_wanted = opt->compares,
				 .quiet = opt->quiet,
				 .json = opt->json,
				 .is_detailed = opt->debug > 0,
				 .seconds = mean_seconds(opt),
				 .command = command_of,
				 .begin_json = begin_json,
				 .arg = a};
	a->rounds = (struct rounds){.comparison = c,
				    .gauge = &a->run->gauge,
				    .stop = &a->run->stop,
				    .once = trial,
				    .entered = entered,
				    .arg = a};
	rounds_read_or_die(&a->rounds);
	if (opt->compare.dry) {
		try_others(a);
		comparison_print_runs(c);
		rounds_close(&a->rounds);
		plan_close(&a->plan);
		return NULL;
	}
	for (i = 0; i < opt->n_words && opt->request == NO_REQUEST; i++) {
		options_of_run(opt, i, &of);
		open_files(&of, &a->set, names, n);
	}
	if (a->set.bytes == 0 && opt->request == NO_REQUEST)
		warnx("the files have 0 bytes, as those of /proc seem to have: no data are sent");
	if (opt->compare.settings.n > 0)
		a->connected(); /* a signal is to restore the first */
	error = rounds_run(&a->rounds, why);
	if (error != NULL && (!a->rounds.is_made || a->report->json.depth > 0))
		report_end_error(a->report, error);
	if (error == NULL)
		error = fileset_error(&a->set, why);
	if (c->is_wanted && a->plan.rounds > 0)
		comparison_print(c, error);
	fileset_close(&a->set);
	rounds_close(&a->rounds);
	plan_close(&a->plan);
	return error;
}
