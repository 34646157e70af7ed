#include "lib/send/trials.h"

#include <limits.h>

#include "lib/compare/note.h"
#include "lib/send/sender.h"

/*
 * The plan.
 */

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Options whose setting has the key of the quantity that they ask for, as in JSON. */
static const struct {
	const char *option, *key;
} quantities[] = {
	{"time", "duration"}, {"warmup", "omit"},           {"server", "server"},
	{"pace", "pace"},     {"congestion", "congestion"}, {"title", "title"},
};

/* The values of factors, as options have them. */
static void put_method(const struct send_options *opt, char value[PLAN_NAME])
{
	strcpy(value, opt->method->name);
}

static void put_size(const struct send_options *opt, char value[PLAN_NAME])
{
	snprintf(value, PLAN_NAME, "%zu", method_chunk(opt->method, opt->chunk, opt->streams));
}

static void put_streams(const struct send_options *opt, char value[PLAN_NAME])
{
	snprintf(value, PLAN_NAME, "%d", opt->streams);
}

/* A single port has no value. */
static void put_port(const struct send_options *opt, char value[PLAN_NAME])
{
	const struct given *g = option_given(&opt->given, "port");

	if (g != NULL && g->n > 1)
		snprintf(value, PLAN_NAME, "%s", opt->port);
}

static void put_instrument(const struct send_options *opt, char value[PLAN_NAME])
{
	if (gauge_is_wanted(&opt->gauge))
		strcpy(value, opt->gauge.soak ? LOAD_BY_SOAKING : LOAD_BY_IDLE);
}

/* The options whose lists make runs, and the factors that they set; the last varies fastest. */
static const struct {
	const char *option;
	int factor;
	void (*put)(const struct send_options *opt, char value[PLAN_NAME]);
} lists[] = {
	{"method", METHOD, put_method},         {"port", PORT, put_port},
	{"buffer-size", BUFFER_SIZE, put_size}, {"streams", STREAMS, put_streams},
	{NULL, INSTRUMENT, put_instrument},
};

void trial_options(const struct send_options *all, int i, struct send_options *opt)
{
	const int settings = all->compare.settings.n,
		  runs = all->runs / (settings > 0 ? settings : 1);
	const struct send_options *of = all;
	const struct given *g;
	int k, setting = i / runs;

	for (i %= runs, k = 0; i >= (of = options_of(all, k))->combinations; k++)
		i -= of->combinations;
	*opt = *of;
	opt->setting = setting;
	/* What all runs share, and the program may have changed since. */
	opt->compare = all->compare;
	opt->compares = all->compares;
	opt->gauge = all->gauge;
	opt->debug = all->debug;
	if (all->gauge.soak && all->gauge.idle) {
		if (i % 2 == 1)
			opt->gauge.idle = 0;
		else
			opt->gauge.soak = false;
		i /= 2;
	}
	for (k = LENGTH(lists) - 1; k >= 0; k--) {
		g = lists[k].option != NULL ? option_given(&of->given, lists[k].option) : NULL;
		if (g == NULL)
			continue;
		option_set(g, i % g->n, opt);
		i /= g->n;
	}
}

/* Whether an option's lists make runs. */
static bool is_list(const struct option_row *o)
{
	int k;

	for (k = 0; k < LENGTH(lists); k++)
		if (o->name != NULL && lists[k].option != NULL &&
		    strcmp(o->name, lists[k].option) == 0)
			return true;
	return false;
}

/* Returns, to be freed, what tells the options of a run from those of another one. */
static char *key_of(const struct send_options *opt)
{
	const struct given *g;
	char *text, *one;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (f == NULL)
		die_errno("options");
	fprintf(f, "%d %d %d %s %s %" PRIu64 " %d", opt->setting, opt->gauge.soak, opt->gauge.idle,
		opt->method->name, opt->port,
		(uint64_t)method_chunk(opt->method, opt->chunk, opt->streams), opt->streams);
	for (g = opt->given.option; g < opt->given.option + opt->given.n; g++) {
		if (!option_matters(&opt->given, g) || is_list(g->row))
			continue;
		one = option_text(g, opt);
		fprintf(f, "\n%s", one);
		free(one);
	}
	if (fclose(f) != 0)
		die_errno("options");
	return text;
}

/* Rejects a --vs that has the same options as a run before. */
static void check_runs(const struct send_options *all)
{
	char **text = alloc_or_die((size_t)all->runs, sizeof(*text), "options");
	struct send_options opt, before;
	int i, k;

	for (i = 0; i < all->runs; i++) {
		trial_options(all, i, &opt);
		text[i] = key_of(&opt);
		for (k = 0; k < i && opt.vs != NULL; k++) {
			if (strcmp(text[i], text[k]) != 0)
				continue;
			trial_options(all, k, &before);
			usage_error(
				"--vs '%s' has a run with the same options as %s%s%s: -r, --runs "
				"repeats all runs",
				opt.vs, before.vs != NULL ? "--vs '" : "a run without --vs",
				before.vs != NULL ? before.vs : "", before.vs != NULL ? "'" : "");
		}
	}
	while (i > 0)
		free(text[--i]);
	free(text);
}

void trials_prepare(struct plan *p, const struct send_options *all)
{
	struct send_options opt;
	char value[PLAN_NAME];
	int i, k;

	if (all->others > 0)
		check_runs(all);
	plan_open(p, &trials_kind, all->runs, all->compare.rounds);
	if (all->gauge.profile)
		plan_set(p, PLAN_PROFILE, "given");
	for (i = 0; i < p->n; i++) {
		trial_options(all, i, &opt);
		for (k = 0; k < LENGTH(lists); k++) {
			value[0] = '\0';
			lists[k].put(&opt, value);
			plan_set_value(&p->run[i], lists[k].factor, value);
		}
		if (all->compare.settings.n > 0)
			plan_set_value(&p->run[i], SETTING,
				       all->compare.settings.all[opt.setting].name);
		if (opt.vs != NULL)
			plan_set_value(&p->run[i], VS, opt.vs);
	}
}

/* The key of the quantity that an option asks for; NULL: none. */
static const char *quantity_of(const struct option_row *o)
{
	int i;

	for (i = 0; o->name != NULL && i < LENGTH(quantities); i++)
		if (strcmp(o->name, quantities[i].option) == 0)
			return quantities[i].key;
	return NULL;
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
	const struct given *g;
	struct link link;
	int turn;

	if (plan_has(p, "date"))
		return;
	note_date(p);
	/* What is sent, the connection and the instruments, then the CPUs. */
	for (turn = 0; turn < 2; turn++)
		for (g = opt->given.option; g < opt->given.option + opt->given.n; g++) {
			if (turn == 0 && g->row->name != NULL &&
			    strcmp(g->row->name, "server") == 0)
				note_files(p, res->set);
			if ((g->row->kind == OPTION_CPUS) == turn && g->row->kind != OPTION_NONE)
				note_option(p, quantity_of(g->row), &opt->given, g, opt);
		}
	plan_set(p, "congestion", "%s", res->congestion);
	plan_set(p, "interface", "%s", res->target.interface);
	link_read(&link, res->target.interface);
	environment_lines(environment, &link, text);
	note_lines(p, text);
	if (res->receipts > 0 && !(res->local && strcmp(res->target.interface, "lo") == 0))
		note_remote(p, &res->received);
}

static struct plan_result measured_by(const struct send_result *res)
{
	const struct figures *received = res->receipts > 0 ? &res->received : NULL;

	return (struct plan_result){{&res->sent, received},
				    {result_host(res), res->local ? NULL : received}};
}

void trial_add(struct plan *p, int i, const struct send_result *res)
{
	const struct plan_result measured = measured_by(res);

	plan_add(p, i, &measured);
	if (measured.end[1] != NULL)
		plan_set_value(&p->run[i], RECEIVER_METHOD, p->run[i].sum[1].method);
}

/*
 * A run.
 */

/*
 * Checks a transfer, reports it, and adds complete figures to run i of the plan.  Returns NULL or what is
 * wrong, a text that may be in `why`.
 */
static const char *judge(struct trials *a, const struct transfer *t, int i, int retry,
			 char why[DIE_MAX])
{
	const struct send_result *res = &t->result;
	struct send_report *rep = a->report;
	struct plan_result measured;
	const char *error = a->run->is_broken ? a->run->failure
					      : result_check(res, a->now.streams, why);

	if (a->run->stop > 0)
		error = "interrupted";
	else if (error != NULL)
		error = die_line(error, why);
	rep->fails = error != NULL && a->run->stop <= 0;
	rep->repeats = false;
	a->remote_measures = res->receipts > 0 && !res->local &&
			     strcmp(res->received.no_load, NO_LOAD_OFF) != 0;
	gauge_say(&a->run->gauge, &res->sent.host, false);
	if (error == NULL)
		report_warn(rep, res);
	if (error == NULL && result_is_unsafe(res))
		rep->repeats = rounds_repeat(&a->opt->compare, retry,
					     res->sent.host.unsafe | res->received.host.unsafe);
	/* The last object has the error: that of a comparison is to come. */
	report_end(rep, res,
		   error != NULL || a->comparison.is_wanted ? error : fileset_error(res->set, why));
	if (error == NULL && !rep->repeats) {
		trials_note(&a->plan, &a->now, res, &rep->environment);
		trial_add(&a->plan, i, res);
		measured = measured_by(res);
		columns_print(&a->opt->compare.columns, &a->plan, i, &measured);
	}
	return error;
}

/*
 * Sends the file set over new connections, as run i of the plan.  Returns NULL or what is wrong, a text that
 * may be in `why`.
 */
static const char *send_once(struct trials *a, int i, int retry, char why[DIE_MAX])
{
	struct transfer t = {.opt = &a->now,
			     .run = a->run,
			     .report = a->report,
			     .result.set = &a->set[a->now.zeros]};
	const char *error;

	if (transfer_open(&t)) {
		a->connected();
		if (a->comparison.is_wanted && !a->opt->quiet && !a->opt->json &&
		    a->report->run == 1 && retry == 0)
			comparison_print_size(&a->comparison);
		report_start(a->report, &t.result.target, &t.result);
		transfer_run(&t);
	}
	/* Without a byte there are no figures. */
	if (a->run->is_broken && a->run->stop <= 0 && (!t.measuring || t.result.sent.bytes == 0))
		die("%s", a->run->failure);
	if (!t.measuring && a->run->stop <= 0)
		die("everything was sent before the warm-up ended: send more (-n, -t)");
	if (!t.measuring) { /* the program ends: what is open stays so */
		report_die(a->report, "interrupted");
		if (a->plan.added == 0)
			warnx("interrupted before the warm-up ended: nothing was measured");
		return "interrupted";
	}
	if (a->run->is_broken) /* another thread may die, and would end the report */
		pthread_mutex_lock(&a->report->lock);
	error = judge(a, &t, i, retry, why);
	if (!a->run->is_broken)
		transfer_close(&t);
	return error;
}

/* Tries what each --vs asks the kernel for; a wrong one is a usage error. */
static void try_others(struct trials *a, const char *place)
{
	char name[DIE_MAX];
	struct send_options opt;
	int i;

	die_with(EXIT_USAGE);
	die_about(name);
	a->run->opt = &opt;
	for (i = 0; i < a->plan.n; i++) {
		trial_options(a->opt, i, &opt);
		snprintf(name, sizeof(name), "--vs '%s'", opt.vs);
		if (opt.vs != NULL && opt.setting == 0)
			run_try_or_die(a->run);
	}
	a->run->opt = &a->now;
	die_about(place);
	die_with(EXIT_SUCCESS);
}

/* In which zcs has measured its host anew; and, from its last client on, in which it does. */
#define RECEIVER_SECONDS 2.5
#define RECEIVER_NS      10000000000u

/*
 * Enters the setting of the run, and waits until it has settled, and the receiver's baseline is one of it.  If the
 * last client left too long ago for that, zcs gets one that sends nothing.
 */
static const char *enter_setting(struct trials *a, char why[DIE_MAX])
{
	const double settle = a->now.compare.settle, given = a->now.wait_server;
	struct target target;
	const char *error;
	uint64_t until;

	if (a->settings.n == 0 || a->settings.present == a->now.setting)
		return NULL;
	gauge_stop(&a->run->gauge); /* its baseline is that of another setting */
	error = setting_enter(&a->settings, a->now.setting, why);
	if (error != NULL)
		return error;
	until = now_ns() +
		(uint64_t)(1e9 * fmax(settle, a->remote_measures ? RECEIVER_SECONDS : 0));
	if (!a->now.raw && until > now_ns() && until > a->left_ns + RECEIVER_NS) {
		a->now.wait_server = fmax(given, fmax(settle, 1));
		target_wait(&target, a->run);
	}
	a->now.wait_server = fmax(given, settle);
	while (now_ns() < until && a->run->stop <= 0)
		sleep_ns(TICK_NS);
	return NULL;
}

/*
 * Run i of the plan, again while its load is unsafe, as often as --retry has it.  In a comparison lines about a load
 * name the run, and each reason has one line, or with -d all of them.
 */
static const char *trial(void *trials, int i, const char *place, char why[DIE_MAX])
{
	struct trials *a = trials;
	struct target waited;
	const char *error;
	int retry = 0;

	trial_options(a->opt, i, &a->now);
	a->report->opt = a->run->opt = &a->now;
	a->report->runs = a->opt->compare.rounds * a->plan.n;
	error = enter_setting(a, why);
	if (a->run->stop > 0)
		error = "interrupted";
	else if (error != NULL)
		error = die_line(error, why);
	if (error != NULL) {
		report_die(a->report, error);
		return error;
	}
	if (a->plan.added == 0)
		try_others(a, place);
	do {
		/* A server that is not zcs may serve one connection: its own. */
		if (!a->now.raw)
			target_wait(&waited, a->run);
		if (a->run->stop > 0)
			return "interrupted";
		run_gauge(a->run);
		a->run->gauge.said.place = place;
		if (place != NULL)
			a->run->gauge.said.most = a->opt->debug > 0 ? UINT_MAX : 1;
		a->report->run = a->plan.added + 1;
		error = send_once(a, i, retry++, why);
		a->left_ns = now_ns();
	} while (a->report->repeats && a->run->stop <= 0);
	return error;
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
		a->now.server = plan_setting(p, "server");
		a->now.port = "";
		a->now.seconds = strtod(plan_setting(p, "duration"), NULL);
	}
	link_read(&link, plan_setting(p, "interface"));
	report_json_open(j, "comparison", a->report, &link);
	json_string(j, "sender_tcp_congestion", plan_setting(p, "congestion"));
	json_number(j, "duration", a->now.seconds);
}

/* The seconds of a run with its baselines; 0 if only its bytes are known. */
static double run_seconds(const struct send_options *opt)
{
	const int baselines = opt->gauge.soak && opt->gauge.idle ? 2
			      : gauge_is_wanted(&opt->gauge)     ? 1
								 : 0;

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
		trial_options(all, i, &opt);
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

	report_die(a->report, why);
	if (a->comparison.is_wanted && a->plan.rounds > 0)
		comparison_print(&a->comparison, why);
}

/* Opens the files, unless they are open, and has them in memory if these options are to send them from there. */
static void open_files(const struct send_options *opt, struct fileset *set, char **names, int n)
{
	if (set->n == 0)
		fileset_open(set, names, n, opt->zeros);
	if (opt->bytes > 0 && set->bytes == 0)
		die("--bytes: the files are empty");
	if (opt->preload && set->file[0].data == NULL)
		fileset_preload(set);
}

void trials_compare(struct trials *a)
{
	a->comparison = (struct comparison){.opt = &a->opt->compare,
					    .quiet = a->opt->quiet,
					    .json = a->opt->json,
					    .begin_json = begin_json,
					    .arg = a};
	rounds_compare_or_die(&a->comparison, &trials_kind, &a->opt->given);
}

const char *trials_run(struct trials *a, char **names, int n, char why[DIE_MAX])
{
	const struct send_options *opt = a->opt;
	struct comparison *c = &a->comparison;
	struct rounds r = {.comparison = c, .stop = &a->run->stop, .once = trial, .arg = a};
	const char *error;
	int i;

	trials_prepare(&a->plan, opt);
	a->settings = opt->compare.settings;
	a->settings.stop = &a->run->stop;
	a->remote_measures = gauge_is_wanted(&opt->gauge);
	*c = (struct comparison){.plan = &a->plan,
				 .opt = &opt->compare,
				 .is_wanted = opt->compares,
				 .quiet = opt->quiet,
				 .json = opt->json,
				 .seconds = mean_seconds(opt),
				 .begin_json = begin_json,
				 .arg = a};
	if (opt->compare.dry) {
		try_others(a, NULL);
		comparison_print_runs(c);
		plan_close(&a->plan);
		return NULL;
	}
	rounds_read_or_die(&r);
	for (i = 0; i <= opt->others; i++)
		open_files(options_of(opt, i), &a->set[options_of(opt, i)->zeros], names, n);
	if (a->set[opt->zeros].bytes == 0)
		warnx("the files have 0 bytes, as those of /proc seem to have: no data are sent");
	if (a->settings.n > 0)
		a->connected(); /* a signal is to restore the first */
	error = rounds_run(&r, why);
	if (a->settings.n > 0) {
		gauge_stop(&a->run->gauge);
		/* The report may have to wait for its reader. */
		(void)settings_restore(a->run->stop > 0);
	}
	if (error == NULL)
		error = fileset_error(&a->set[opt->zeros], why);
	if (c->is_wanted && a->plan.rounds > 0)
		comparison_print(c, error);
	for (i = 0; i < 2 && !a->run->is_broken; i++)
		fileset_close(&a->set[i]);
	plan_close(&a->plan);
	rounds_close(&r);
	return error;
}
