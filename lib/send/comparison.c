#include "lib/report/units.h"
#include "lib/send/plan.h"

#define NAME   64 /* bytes of a run's name */
#define FIGURE 96 /* bytes of a figure with its interval */

/*
 * Names.
 */

/* What tells the runs of a plan apart. */
enum {
	METHOD = 1 << 0,
	BYTES = 1 << 1,
	STREAMS = 1 << 2,
	INSTRUMENT = 1 << 3,
	RECEIVER = 1 << 4, /* by its method */
	PORT = 1 << 5      /* by its port, as two have one method, or the method is not known */
};

/* The parts in which the runs differ, as a set; the method is always in it. */
static unsigned differing_in(const struct plan *p)
{
	const struct plan_run *a = p->run, *b;
	unsigned parts = METHOD;

	for (b = a + 1; b < a + p->n; b++) {
		parts |= (a->chunk != b->chunk ? BYTES : 0u) |
			 (a->streams != b->streams ? STREAMS : 0u) |
			 (strcmp(a->instrument, b->instrument) != 0 ? INSTRUMENT : 0u);
		if (strcmp(a->port, b->port) != 0)
			parts |= strcmp(a->received.method, b->received.method) != 0 ? RECEIVER
										     : PORT;
	}
	return parts & PORT ? parts & ~(unsigned)RECEIVER : parts;
}

/* `send 64k, 4 streams, soaked`, of the parts of a set; `64k a call, 4 streams` without the method. */
static const char *name_of(const struct plan_run *run, unsigned parts, char buf[NAME])
{
	const bool soaked = strcmp(run->instrument, LOAD_BY_SOAKING) == 0;
	uint64_t bytes = run->chunk;
	int unit = 0; /* of 1024, as the options have them */

	for (; unit < 4 && bytes > 0 && bytes % 1024 == 0; unit++)
		bytes /= 1024;
	snprintf(buf, NAME, "%s", parts & METHOD ? run->sent.method : "");
	if (parts & BYTES)
		string_append(buf, NAME, " %" PRIu64 "%.*s%s", bytes, unit > 0, &" kmgt"[unit],
			      parts & METHOD ? "" : " a call");
	if (parts & RECEIVER && run->received.method[0] != '\0')
		string_append(buf, NAME, " to %s", run->received.method);
	if (parts & PORT && run->port[0] != '\0')
		string_append(buf, NAME, " to port %s", run->port);
	if (parts & STREAMS)
		string_append(buf, NAME, ", %" PRIu64 " stream%s", run->streams,
			      plural(run->streams));
	if (parts & INSTRUMENT && run->instrument[0] != '\0')
		string_append(buf, NAME, ", %s", soaked ? "soaked" : "unsoaked");
	return buf + strspn(buf, ", ");
}

const char *comparison_run_place(const struct plan *p, int i, char buf[COMPARISON_PLACE])
{
	char name[NAME];

	snprintf(buf, COMPARISON_PLACE, "round %d", p->rounds + 1);
	if (p->n > 1)
		string_append(buf, COMPARISON_PLACE, ", %s",
			      name_of(&p->run[i], differing_in(p), name));
	return buf;
}

/*
 * Text.
 */

static const char *rate_text_of(double rate, double half, unsigned unsafe, char buf[FIGURE_STRLEN])
{
	char text[FIGURE_STRLEN];

	(void)unsafe;
	grouped(rate, buf);
	if (isfinite(half))
		string_append(buf, FIGURE_STRLEN, " +-%s", grouped(half, text));
	return buf;
}

/* The figures that are compared, in the table's order. */
static const struct {
	const char *title;
	int width;
	/* The mean and half of its interval, as `61.2%? +-0.4%`. */
	const char *(*text)(double mean, double half, unsigned unsafe, char buf[FIGURE_STRLEN]);
	const char *key; /* in JSON, in whose unit the plan's is `factor` */
	double factor;
	const char *ratio_key;    /* NULL: there is no ratio of it */
	const char *verb, *times; /* around the ratio, in words */
} compared[] = {
	[PLAN_RATE] = {"KiB/s", 22, rate_text_of, "bits_per_second", 8 * 1024, "throughput_ratio",
		       "has", "times the throughput of"},
	[PLAN_LOAD] = {"load", 13, load_text, "load_percent", .factor = 100},
	[PLAN_COST] = {"cost, us/KiB", 15, cost_text, "cost_us_per_kib", 1, "cost_ratio", "costs",
		       "times as much as"},
	[PLAN_REMOTE_LOAD] = {"receiver: load", 14, load_text, "remote_load_percent",
			      .factor = 100},
	[PLAN_REMOTE_COST] = {"cost, us/KiB", 15, cost_text, "remote_cost_us_per_kib", 1,
			      "remote_cost_ratio", "costs the receiver", "times as much as"},
};

#define COMPARED PLAN_UNCERTAINTY /* the first that is not compared */

/* Whether a figure is known of any run of the plans. */
static bool is_known(const struct plan *p, enum plan_figure f)
{
	int i;

	for (i = 0; i < p->n; i++)
		if (!isnan(plan_mean(p, i, f).value) ||
		    (p->before != NULL && !isnan(plan_mean(p->before, i, f).value)))
			return true;
	return false;
}

/* The name of run i; if there are two plans, with the time of the plan `of`. */
static const char *label(const struct plan *p, const struct plan *of, int i, char buf[FIGURE])
{
	char name[NAME];

	snprintf(buf, FIGURE, "%s%s", name_of(&p->run[i], differing_in(p), name),
		 p->before == NULL ? ""
		 : of == p->before ? " before"
				   : " now");
	return buf;
}

/* Prints run i of the plan `of`, or if that is NULL the table's head, with names of that width. */
static void print_row(const struct plan *p, const struct plan *of, int i, int width)
{
	char text[FIGURE];
	enum plan_figure f;
	struct estimate e;

	report("%-*s", width, of == NULL ? "run" : label(p, of, i, text));
	for (f = PLAN_RATE; f < COMPARED; f++) {
		if (!is_known(p, f))
			continue;
		e = plan_mean(of != NULL ? of : p, i, f);
		report("  %*s", compared[f].width,
		       of == NULL ? compared[f].title
				  : compared[f].text(e.value, statistics_half(&e),
						     plan_unsafe(of, i, f), text));
	}
	report("\n");
}

static void print_table(const struct plan *p, const struct send_options *opt)
{
	char text[FIGURE];
	int i, width = 0;

	for (i = 0; i < p->n; i++)
		width = (int)fmax(width, (double)strlen(label(p, p->before, i, text)));
	if (!opt->quiet)
		print_row(p, NULL, 0, width);
	for (i = 0; i < p->n; i++) {
		if (p->before != NULL)
			print_row(p, p->before, i, width);
		print_row(p, p, i, width);
	}
}

/* `2.61 (2.48 to 2.75)`, or without an interval `2.61`; `2.61?` of an unsafe load */
static const char *times(const struct estimate *e, unsigned unsafe, char buf[FIGURE])
{
	const int places = e->value < 10 ? 2 : 1;
	char text[FIGURE_STRLEN];

	snprintf(buf, FIGURE, "%s%s", decimal(e->value, places, text), unsafe != 0 ? "?" : "");
	if (!isnan(e->low)) {
		string_append(buf, FIGURE, " (%s", decimal(e->low, places, text));
		string_append(buf, FIGURE, " to %s)", decimal(e->high, places, text));
	}
	return buf;
}

/* Compares run i with its reference, or with itself before, in words. */
static void print_ratio(const struct plan *p, int i, enum plan_figure f)
{
	const struct plan *than = p->before != NULL ? p->before : p;
	const int k = p->before != NULL ? i : plan_reference(p, i);
	const unsigned unsafe = plan_unsafe(p, i, f) | plan_unsafe(than, k, f);
	struct estimate e = plan_ratio(p, i, f);
	char text[FIGURE];
	const char *note = e.low <= 1 && e.high >= 1 ? "no difference is shown" : NULL;
	struct wrap w = {.width = WRAP_WIDTH, .indent = "  "};

	if (isnan(plan_mean(p, i, f).value) || isnan(plan_mean(than, k, f).value))
		return;
	/* Figures that are near 0 may differ without end. */
	if (!isfinite(e.value) || isinf(e.low) || isinf(e.high)) {
		e = (struct estimate){NAN, NAN, NAN};
		note = "a figure is not above 0, or they vary too much";
	}
	wrap_add(&w, "", "%s", label(p, p, i, text));
	wrap_add(&w, " ", "%s%s %s", compared[f].verb,
		 f == PLAN_COST && is_known(p, PLAN_REMOTE_COST) ? " the sender" : "",
		 times(&e, unsafe, text));
	wrap_add(&w, " ", "%s %s%s", compared[f].times, label(p, than, k, text),
		 note != NULL ? ":" : "");
	if (note != NULL)
		wrap_add(&w, " ", "%s", note);
	report("\n");
}

/* The end of a run that has a figure: the sender, unless only the receiver knows it. */
static const struct figures *end_with(const struct plan_run *run, const struct figure *row)
{
	return isnan(figure_value(row, &run->sent)) ? &run->received : &run->sent;
}

/* How many runs know a figure that may explain their difference; 0 if it hardly differs, or does not matter. */
static int explaining(const struct plan *p, const struct figure *row)
{
	double value, least = INFINITY, most = -INFINITY;
	bool explains;
	int i, n = 0;

	for (i = 0; i < p->n; i++) {
		value = figure_value(row, end_with(&p->run[i], row));
		least = value < least ? value : least;
		most = value > most ? value : most;
		n += !isnan(value);
	}
	explains = row->kind != FIGURE_SHARE   ? most > 1.1 * least
		   : row->group == GROUP_WAITS ? most - least > 0.05
					       : most >= 0.001;
	return explains ? n : 0;
}

/* A line for each figure, of all rounds together, that may explain how the runs differ. */
static void print_why(const struct plan *p)
{
	const unsigned parts = differing_in(p);
	char name[NAME], text[UNSAFE_STRLEN];
	const struct figure *row;
	const struct figures *f;
	struct wrap w;
	int i, n;

	for (row = figure_table; row < figure_table + figure_rows; row++) {
		n = row->objects & IN_WHY ? explaining(p, row) : 0;
		if (n == 0)
			continue;
		w = (struct wrap){.width = WRAP_WIDTH, .indent = "  "};
		wrap_add(&w, "", "%s%s:", row->group == GROUP_WAITS ? "TCP waited for " : "",
			 row->label);
		for (i = 0; n > 0; i++) {
			f = end_with(&p->run[i], row);
			if (!isnan(figure_value(row, f)))
				wrap_add(&w, " ", "%s %s%s", name_of(&p->run[i], parts, name),
					 figure_text(row, f, text), --n > 0 ? "," : "");
		}
		report("\n");
	}
}

/* A line for each reason why loads were unsafe, or could not be measured. */
static void print_unsafe(const struct plan *p)
{
	const bool known = is_known(p, PLAN_LOAD) || is_known(p, PLAN_REMOTE_LOAD);
	int i;

	for (i = 0; i < UNSAFE_REASONS; i++)
		if (p->unsafe_runs[i] > 0)
			report("%s in %d of %d run%s: %s\n", limits_name(i), p->unsafe_runs[i],
			       p->added, plural((uint64_t)p->added),
			       known ? "unsafe (?)" : "no load could be measured");
}

/* The sessions of a file, the last one first: their rounds, machine, date and title. */
static void print_sessions(const struct plan *p, const char *path)
{
	const char *title;

	for (; p != NULL; p = p->earlier) {
		report("before: %d round%s in %s: %s\n", p->rounds, plural((uint64_t)p->rounds),
		       printable(path), p->setting[PLAN_MACHINE]);
		title = p->setting[PLAN_TITLE];
		if (p->setting[PLAN_DATE][0] != '\0')
			report("  of %s%s%s\n", p->setting[PLAN_DATE], title[0] != '\0' ? ": " : "",
			       title);
	}
}

/* The settings of which a line reports that they differ, with their units. */
static const struct {
	enum plan_setting setting;
	const char *key, *what, *unit;
} settings[] = {
	{PLAN_SERVER, "server", "server", ""},
	{PLAN_INTERFACE, "interface", "interface", ""},
	{PLAN_SECONDS, "duration", "-t", " (seconds)"},
	{PLAN_WARMUP, "omit", "warm-up", " (seconds)"},
	{PLAN_CONGESTION, "congestion", "congestion", ""},
	{PLAN_PACE, "pace", "pace", " (bytes/s; 0: no limit)"},
	{PLAN_OFFLOADS, "offloads", "set of offloads", ""},
};

/*
 * Prints each setting that is known to differ between a plan and a session, or an earlier one: a line of text,
 * or its key in JSON.
 */
static void print_differences(const struct plan *now, const struct plan *then, struct json *j)
{
	const struct plan *p;
	const char *value;
	size_t i;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		value = now->setting[settings[i].setting];
		for (p = then; p != NULL && (p->setting[settings[i].setting][0] == '\0' ||
					     strcmp(p->setting[settings[i].setting], value) == 0);)
			p = p->earlier;
		if (p == NULL || value[0] == '\0')
			continue;
		if (j != NULL)
			json_string(j, NULL, settings[i].key);
		else
			report("%s differs: %s then, %s now%s\n", settings[i].what,
			       p->setting[settings[i].setting], value, settings[i].unit);
	}
}

/* Prints how many rounds there are, and what all runs have in common. */
static void print_rounds(const struct plan *p, int rounds, const char *more)
{
	char name[NAME];
	const char *common = name_of(&p->run[0], ~(differing_in(p) | RECEIVER | PORT), name);

	report("%d round%s of %d run%s%s\n", rounds, plural((uint64_t)rounds), p->n,
	       plural((uint64_t)p->n), more);
	if (common[0] != '\0')
		report("each run: %s\n", common);
}

/* The seconds of a run with its baselines; 0 if only its bytes are known. */
static double run_seconds(const struct send_options *opt)
{
	const int baselines = opt->compare.instruments ? 2 : gauge_is_wanted(&opt->gauge) ? 1 : 0;

	return opt->seconds > 0
		       ? opt->warmup + opt->seconds +
				 baselines * baseline_windows(opt->seconds) * BASELINE_WINDOW
		       : 0;
}

void comparison_print_size(const struct plan *p, const struct send_options *opt)
{
	const int runs = p->n * opt->compare.rounds;
	const double seconds = runs * run_seconds(opt);
	char text[FIGURE_STRLEN];

	report("%s%d run%s", opt->compare.precision > 0 ? "at most " : "", runs,
	       plural((uint64_t)runs));
	if (seconds >= 100)
		report(", about %s minutes", grouped(seconds / 60, text));
	else if (seconds > 0)
		report(", about %s seconds", grouped(ceil(seconds), text));
	report("\n");
}

void comparison_print_runs(const struct plan *p, const struct send_options *opt)
{
	char name[NAME];
	int i;

	comparison_print_size(p, opt);
	print_rounds(p, opt->compare.rounds, "");
	for (i = 0; i < p->n; i++)
		report("%s\n", name_of(&p->run[i], differing_in(p), name));
}

/* Prints the rounds, and the other sessions. */
static void print_above(const struct plan *p, const struct send_options *opt)
{
	print_rounds(p, p->rounds, "; means and 95% intervals");
	print_sessions(p->before, opt->compare.against);
	if (p->kept != NULL)
		report("this is session %d in %s\n", plan_sessions(p->kept) + 1,
		       printable(opt->compare.save));
	print_differences(p, p->before, NULL);
	print_differences(p, p->kept, NULL);
}

/*
 * JSON.
 */

/* Factor: of the figure in the unit of its key. */
static void json_estimate(struct json *j, const char *key, const char *value_key,
			  const struct estimate *e, double factor)
{
	if (!isfinite(factor * e->value))
		return;
	json_open(j, key, '{');
	json_number(j, value_key, factor * e->value);
	json_number(j, "low", factor * e->low);
	json_number(j, "high", factor * e->high);
	json_close(j, '}');
}

/* The means of run i, and what made them unsafe. */
static void json_figures(struct json *j, const struct plan *p, int i)
{
	enum plan_figure f;
	struct estimate e;

	for (f = PLAN_RATE; f < COMPARED; f++) {
		e = plan_mean(p, i, f);
		json_estimate(j, compared[f].key, "mean", &e, compared[f].factor);
	}
	json_unsafe(j, plan_unsafe(p, i, PLAN_LOAD) | plan_unsafe(p, i, PLAN_REMOTE_LOAD));
}

static void json_runs(struct json *j, const struct plan *p)
{
	const struct plan_run *run;
	enum plan_figure f;
	struct estimate e;
	int i;

	json_open(j, "runs", '[');
	for (i = 0; i < p->n; i++) {
		run = &p->run[i];
		json_open(j, NULL, '{');
		json_string(j, "method", run->sent.method);
		json_count(j, "blksize", run->chunk);
		json_count(j, "num_streams", run->streams);
		if (run->instrument[0] != '\0')
			json_string(j, "instrument", run->instrument);
		if (run->port[0] != '\0')
			json_string(j, "port", run->port);
		if (run->received.method[0] != '\0')
			json_string(j, "receiver_method", run->received.method);
		json_figures(j, p, i);
		json_open(j, "why", '{');
		json_rows(j, &run->sent, IN_WHY);
		json_number(j, "mapped_percent", 100 * figures_mapped(&run->received));
		json_close(j, '}');
		json_count(j, "unsafe_rounds", run->unsafe_rounds);
		if (p->before != NULL) {
			json_open(j, "before", '{');
			json_figures(j, p->before, i);
			json_close(j, '}');
		}
		for (f = PLAN_RATE; f < COMPARED; f++) {
			e = plan_ratio(p, i, f);
			if (compared[f].ratio_key != NULL)
				json_estimate(j, compared[f].ratio_key, "ratio", &e, 1);
		}
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void print_json(const struct plan *p, const struct send_report *r, const char *error)
{
	struct link link;
	struct json j = {.stream = r->json.stream};

	link_read(&link, p->setting[PLAN_INTERFACE]);
	report_json_open(&j, "comparison", r, &link);
	json_string(&j, "sender_tcp_congestion", p->setting[PLAN_CONGESTION]);
	json_number(&j, "duration", r->opt->seconds);
	json_count(&j, "rounds", (uint64_t)p->rounds);
	if (p->before != NULL) {
		json_count(&j, "sessions", (uint64_t)plan_sessions(p));
		json_string(&j, "against", p->before->setting[PLAN_MACHINE]);
		json_count(&j, "against_rounds", (uint64_t)p->before->rounds);
		json_count(&j, "against_sessions", (uint64_t)plan_sessions(p->before));
		json_open(&j, "against_differs", '[');
		print_differences(p, p->before, &j);
		json_close(&j, ']');
	}
	json_runs(&j, p);
	json_close(&j, '}');
	json_report_close(&j, error);
}

/*
 * Both.
 */

void comparison_print(const struct plan *p, const struct send_report *r, const char *error)
{
	static const enum plan_figure ratios[] = {PLAN_COST, PLAN_REMOTE_COST, PLAN_RATE};
	const struct send_options *opt = r->opt;
	const double precision = opt->compare.precision;
	int i, k;

	if (opt->json) {
		print_json(p, r, error);
		return;
	}
	if (!opt->quiet)
		print_above(p, opt);
	print_table(p, opt);
	if (opt->quiet)
		return;
	for (k = 0; k < 3; k++)
		for (i = p->before != NULL ? 0 : 1; i < p->n; i++)
			print_ratio(p, i, ratios[k]);
	if (p->before != NULL && p->before->earlier == NULL && p->earlier == NULL)
		report("one session each: the ratio includes what lasts for a session, such as a "
		       "boot, the\n  CPUs of interrupts or other guests of the host: repeat both "
		       "(--save adds one)\n");
	if (p->rounds > 1 && p->n > (p->before != NULL ? 1 : 2))
		report("95%% is for each interval by itself: of 20 equal runs, one differs by "
		       "chance\n");
	if (precision > 0 && !plan_is_precise(p, precision))
		report("--precision %g%% was not reached in %d round%s%s\n", percent(precision),
		       p->rounds, plural((uint64_t)p->rounds),
		       plan_is_hopeless(p, precision)
			       ? ":\n  the error that all rounds share is larger: run longer (-t)"
			       : "");
	print_why(p);
	print_unsafe(p);
	if (p->rounds == 1)
		report("one round has no interval: repeat it (-r 5)\n");
}

void comparison_check_or_die(const struct plan *p, const struct plan *saved, const char *option,
			     const char *path)
{
	char name[NAME], other[NAME];
	int i = 0;

	if (saved == NULL)
		die("%s: %s has no session of --save", option, printable(path));
	/* cppcheck-suppress nullPointerRedundantCheck ; die() does not return */
	if (p->n != saved->n)
		die("%s: %s is of another plan: %d run%s a round, not %d", option, printable(path),
		    saved->n, plural((uint64_t)saved->n), p->n);
	while (i < p->n && plan_is_same_run(&p->run[i], &saved->run[i]))
		i++;
	if (i < p->n)
		die("%s: %s is of another plan: its run %d is %s, not %s", option, printable(path),
		    i + 1, name_of(&saved->run[i], ~0u, name), name_of(&p->run[i], ~0u, other));
}
