#include "lib/report/units.h"
#include "lib/send/plan.h"

#define NAME   64 /* bytes of a run's name */
#define FIGURE 96 /* bytes of a figure with its interval */

/*
 * Names.
 */

/* What tells the runs of a plan apart; its columns in the table, and their widths, < 0: flush left. */
enum column { METHOD, BYTES, STREAMS, INSTRUMENT, COLUMNS };

static const struct {
	const char *title;
	int width;
} columns[] = {
	[METHOD] = {"method", -8},
	[BYTES] = {"bytes", 5},
	[STREAMS] = {"streams", 7},
	[INSTRUMENT] = {"CPUs", -8},
};

/* A run's text in a column; bytes as the options have them: `64k`. */
static const char *cell(const struct plan_run *run, enum column c, char buf[NAME])
{
	uint64_t n = c == BYTES ? run->chunk : run->streams;
	int i = 0;

	if (c == METHOD)
		return run->method;
	if (c == INSTRUMENT)
		return run->instrument[0] == '\0'                      ? ""
		       : strcmp(run->instrument, LOAD_BY_SOAKING) == 0 ? "soaked"
								       : "unsoaked";
	for (; c == BYTES && i < 4 && n > 0 && n % 1024 == 0; i++)
		n /= 1024;
	snprintf(buf, NAME, "%" PRIu64 "%.*s", n, i > 0, &" kmgt"[i]);
	return buf;
}

/* The columns in which the runs differ, as a set; the method is always in it. */
static unsigned differing_in(const struct plan *p)
{
	unsigned set = 1u << METHOD;
	char first[NAME], text[NAME];
	enum column c;
	int i;

	for (i = 1; i < p->n; i++)
		for (c = BYTES; c < COLUMNS; c++)
			if (strcmp(cell(&p->run[0], c, first), cell(&p->run[i], c, text)) != 0)
				set |= 1u << c;
	return set;
}

/* `send 64k, 4 streams, soaked`: the columns of a set; `64k a call, 4 streams` without the method. */
static const char *name_of(const struct plan_run *run, unsigned set, char buf[NAME])
{
	const bool has_method = (set & 1u << METHOD) != 0;
	const char *text;
	char number[NAME];
	enum column c;

	buf[0] = '\0';
	for (c = METHOD; c < COLUMNS; c++) {
		text = cell(run, c, number);
		if ((set & 1u << c) == 0 || text[0] == '\0')
			continue;
		string_append(buf, NAME, "%s%s",
			      buf[0] == '\0' ? ""
			      : c == BYTES   ? " "
					     : ", ",
			      text);
		if (c == STREAMS)
			string_append(buf, NAME, " stream%s", plural(run->streams));
		if (c == BYTES && !has_method)
			string_append(buf, NAME, " a call");
	}
	return buf;
}

static const char *run_name(const struct plan *p, int i, char buf[NAME])
{
	return name_of(&p->run[i], differing_in(p), buf);
}

const char *comparison_run_place(const struct plan *p, int i, char buf[COMPARISON_PLACE])
{
	char name[NAME];

	snprintf(buf, COMPARISON_PLACE, "round %d", p->rounds + 1);
	if (p->n > 1)
		string_append(buf, COMPARISON_PLACE, ", %s", run_name(p, i, name));
	return buf;
}

/*
 * Text.
 */

/* The figures that are compared, in the table's order. */
static const struct {
	const char *title;
	int width;
	const char *key; /* in JSON, in whose unit the plan's is `factor` */
	double factor;
	const char *ratio_key;                   /* NULL: there is no ratio of it */
	const char *verb, *times, *times_before; /* around the ratio and behind it, in words */
} compared[] = {
	[PLAN_RATE] = {"KiB/s", 22, "bits_per_second", 8 * 1024, "throughput_ratio", "has",
		       "times the throughput of ", "times its earlier throughput"},
	[PLAN_LOAD] = {"load", 13, "load_percent", .factor = 100},
	[PLAN_COST] = {"cost, us/KiB", 15, "cost_us_per_kib", 1, "cost_ratio", "costs",
		       "times as much as ", "times as much as before"},
	[PLAN_REMOTE_LOAD] = {"receiver: load", 14, "remote_load_percent", .factor = 100},
	[PLAN_REMOTE_COST] = {"cost, us/KiB", 15, "remote_cost_us_per_kib", 1, "remote_cost_ratio",
			      "costs the receiver", "times as much as ", "times as much as before"},
};

#define COMPARED PLAN_UNCERTAINTY /* the first that is not compared */

/* Whether a figure is known of any run of the plans. */
static bool is_known(const struct comparison *c, enum plan_figure f)
{
	int i;

	for (i = 0; i < c->plan->n; i++)
		if (!isnan(plan_mean(c->plan, i, f).value) ||
		    (c->before != NULL && !isnan(plan_mean(c->before, i, f).value)))
			return true;
	return false;
}

/* `61.2%? +-0.4%`: the mean of a figure of run i, and half of its interval. */
static const char *mean_text(const struct plan *p, int i, enum plan_figure f, char buf[FIGURE])
{
	const struct estimate e = plan_mean(p, i, f);
	const double half = statistics_half(&e);
	const unsigned unsafe = plan_unsafe(p, i, f);
	char text[FIGURE_STRLEN];

	switch (f) {
	case PLAN_LOAD:
	case PLAN_REMOTE_LOAD: return load_text(e.value, half, unsafe, buf);
	case PLAN_COST:
	case PLAN_REMOTE_COST: return cost_text(e.value, half, unsafe, buf);
	default:
		snprintf(buf, FIGURE, "%s", grouped(e.value, text));
		if (isfinite(half))
			string_append(buf, FIGURE, " +-%s", grouped(half, text));
		return buf;
	}
}

/* Prints run i of a plan, or if that is NULL the table's head; of two plans, `when` tells which. */
static void print_row(const struct comparison *c, const struct plan *p, int i, const char *when)
{
	const unsigned set = differing_in(c->plan);
	char text[FIGURE];
	enum plan_figure f;
	enum column k;

	for (k = METHOD; k < COLUMNS; k++)
		if (set & 1u << k)
			report("%*s  ", columns[k].width,
			       p == NULL ? columns[k].title : cell(&p->run[i], k, text));
	if (c->before != NULL)
		report("%-6s  ", when);
	for (f = PLAN_RATE; f < COMPARED; f++)
		if (is_known(c, f))
			report("%s%*s", f > PLAN_RATE ? "  " : "", compared[f].width,
			       p == NULL ? compared[f].title : mean_text(p, i, f, text));
	report("\n");
}

static void print_table(const struct comparison *c, const struct send_options *opt)
{
	int i;

	if (!opt->quiet)
		print_row(c, NULL, 0, "");
	for (i = 0; i < c->plan->n; i++) {
		if (c->before != NULL)
			print_row(c, c->before, i, "before");
		print_row(c, c->plan, i, "now");
	}
}

/* `2.61 (2.48 to 2.75)`, or without an interval `2.61`; `2.61?` of an unsafe load */
static const char *times(const struct estimate *e, unsigned unsafe, char buf[FIGURE])
{
	const int places = e->value < 10 ? 2 : 1;
	char text[FIGURE_STRLEN];

	snprintf(buf, FIGURE, "%s%s", decimal(e->value, places, text), unsafe_mark(unsafe));
	if (!isnan(e->low)) {
		string_append(buf, FIGURE, " (%s", decimal(e->low, places, text));
		string_append(buf, FIGURE, " to %s)", decimal(e->high, places, text));
	}
	return buf;
}

static struct estimate ratio_of(const struct comparison *c, int i, enum plan_figure f)
{
	return c->before != NULL ? plan_ratio_to(c->plan, c->before, i, f)
				 : plan_ratio(c->plan, i, f);
}

/* Compares run i with its reference, which is not itself, in words. */
static void print_ratio(const struct comparison *c, int i, enum plan_figure f)
{
	const struct plan *than = c->before != NULL ? c->before : c->plan;
	const int k = c->before != NULL ? i : plan_reference(c->plan, i);
	const unsigned unsafe = plan_unsafe(c->plan, i, f) | plan_unsafe(than, k, f);
	struct estimate e = ratio_of(c, i, f);
	char name[NAME], other[NAME] = "", text[FIGURE];
	const char *note = e.low <= 1 && e.high >= 1 ? "no difference is shown" : NULL;
	struct wrap w;

	if (isnan(plan_mean(c->plan, i, f).value) || isnan(plan_mean(than, k, f).value))
		return;
	/* Figures that are near 0 may differ without end. */
	if (!isfinite(e.value) || isinf(e.low) || isinf(e.high)) {
		e = (struct estimate){NAN, NAN, NAN};
		note = "a figure is not above 0, or they vary too much";
	}
	if (c->before == NULL)
		run_name(c->plan, k, other);
	wrap_init(&w, NULL, 0, WRAP_WIDTH, "  ");
	wrap_add(&w, "", "%s%s", run_name(c->plan, i, name), c->before != NULL ? " now" : "");
	wrap_add(&w, " ", "%s%s %s", compared[f].verb,
		 f == PLAN_COST && is_known(c, PLAN_REMOTE_COST) ? " the sender" : "",
		 times(&e, unsafe, text));
	wrap_add(&w, " ", "%s%s%s",
		 c->before != NULL ? compared[f].times_before : compared[f].times, other,
		 note != NULL ? ":" : "");
	if (note != NULL)
		wrap_add(&w, " ", "%s", note);
	wrap_end(&w);
}

/* A line for each run but the first, or for each run against before. */
static void print_ratios(const struct comparison *c, enum plan_figure f)
{
	int i;

	for (i = c->before != NULL ? 0 : 1; i < c->plan->n; i++)
		print_ratio(c, i, f);
}

/* A line for each reason that made loads unsafe, or left none. */
static void print_unsafe(const struct comparison *c)
{
	const bool known = is_known(c, PLAN_LOAD) || is_known(c, PLAN_REMOTE_LOAD);
	const struct plan *p = c->plan;
	int i;

	for (i = 0; i < UNSAFE_REASONS; i++)
		if (p->unsafe_runs[i] > 0)
			report("%s in %d of %d run%s: %s\n", limits_name(i), p->unsafe_runs[i],
			       p->added, plural((uint64_t)p->added),
			       known ? "unsafe (?)" : "no load could be measured");
}

/* A session of a file and those before it: their rounds, machine, date and title. */
static void print_sessions(const struct plan *p, const char *what, const char *path)
{
	const char *title = p->setting[PLAN_TITLE];

	if (p->earlier != NULL)
		print_sessions(p->earlier, what, path);
	report("%s: %d round%s in %s: %s\n", what, p->rounds, plural((uint64_t)p->rounds),
	       printable(path), p->setting[PLAN_MACHINE]);
	if (p->setting[PLAN_DATE][0] != '\0')
		report("  of %s%s%s\n", p->setting[PLAN_DATE], title[0] != '\0' ? ": " : "", title);
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

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* The value that a session had otherwise than a plan, or an earlier one; NULL: none, or not known. */
static const char *other_value(const struct plan *then, const struct plan *now, enum plan_setting k)
{
	for (; then != NULL && now->setting[k][0] != '\0'; then = then->earlier)
		if (then->setting[k][0] != '\0' && strcmp(then->setting[k], now->setting[k]) != 0)
			return then->setting[k];
	return NULL;
}

static void print_differences(const struct plan *then, const struct plan *now)
{
	const char *value;
	size_t i;

	for (i = 0; i < SETTINGS; i++) {
		value = other_value(then, now, settings[i].setting);
		if (value != NULL)
			report("%s differs: %s then, %s now%s\n", settings[i].what, value,
			       now->setting[settings[i].setting], settings[i].unit);
	}
}

/* What the intervals of a comparison with a saved plan are of. */
static void print_basis(const struct comparison *c)
{
	const int now = plan_sessions(c->plan), then = plan_sessions(c->before);

	if (now == 1 && then == 1)
		report("one session each: a state that lasts as long, such as a boot, the CPUs of "
		       "interrupts\n  or other guests of the host, is in the ratio: repeat both (--save "
		       "adds a session)\n");
	else
		report("compared are the means of sessions: %d before, %d now\n", then, now);
}

static void print_precision(const struct plan *p, double share)
{
	if (plan_is_precise(p, share))
		return;
	report("--precision %g%% was not reached in %d round%s\n", percent(share), p->rounds,
	       plural((uint64_t)p->rounds));
	if (plan_is_hopeless(p, share))
		report("  and more rounds do not help, as what all of them share is more: run longer "
		       "(-t)\n");
}

/* What all runs have in common, and of a comparison with a saved plan, that plan. */
static void print_above(const struct comparison *c, const struct send_options *opt)
{
	const struct plan *p = c->plan;
	char name[NAME];

	report("%d round%s of %d run%s; means and 95%% intervals\n", p->rounds,
	       plural((uint64_t)p->rounds), p->n, plural((uint64_t)p->n));
	if (name_of(&p->run[0], ~differing_in(p), name)[0] != '\0')
		report("each run: %s\n", name);
	if (c->before == NULL)
		return;
	print_sessions(c->before, "before", opt->compare.against);
	print_differences(c->before, p);
	if (p->earlier != NULL)
		print_sessions(p->earlier, "now, too", opt->compare.save);
}

static void print_text(const struct comparison *c, const struct send_options *opt)
{
	const struct plan *p = c->plan;

	if (!opt->quiet)
		print_above(c, opt);
	print_table(c, opt);
	if (opt->quiet)
		return;
	print_ratios(c, PLAN_COST);
	print_ratios(c, PLAN_REMOTE_COST);
	print_ratios(c, PLAN_RATE);
	if (c->before != NULL)
		print_basis(c);
	/* What the file of --save has beside this session. */
	if (c->kept != NULL) {
		report("this is session %d in %s\n", plan_sessions(c->kept) + 1,
		       printable(opt->compare.save));
		print_differences(c->kept, p);
	}
	if (opt->compare.precision > 0)
		print_precision(p, opt->compare.precision);
	print_unsafe(c);
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

static void json_figures(struct json *j, const struct plan *p, int i)
{
	enum plan_figure f;
	struct estimate e;

	for (f = PLAN_RATE; f < COMPARED; f++) {
		e = plan_mean(p, i, f);
		json_estimate(j, compared[f].key, "mean", &e, compared[f].factor);
	}
}

static void json_ratios(struct json *j, const struct comparison *c, int i)
{
	enum plan_figure f;
	struct estimate e;

	for (f = PLAN_RATE; f < COMPARED; f++) {
		e = ratio_of(c, i, f);
		if (compared[f].ratio_key != NULL)
			json_estimate(j, compared[f].ratio_key, "ratio", &e, 1);
	}
}

static void json_runs(struct json *j, const struct comparison *c)
{
	const struct plan_run *run;
	int i;

	json_open(j, "runs", '[');
	for (i = 0; i < c->plan->n; i++) {
		run = &c->plan->run[i];
		json_open(j, NULL, '{');
		json_string(j, "method", run->method);
		json_count(j, "blksize", run->chunk);
		json_count(j, "num_streams", run->streams);
		if (run->instrument[0] != '\0')
			json_string(j, "instrument", run->instrument);
		json_figures(j, c->plan, i);
		json_unsafe(j, run->unsafe[0] | run->unsafe[1]);
		json_count(j, "unsafe_rounds", run->unsafe_rounds);
		if (c->before != NULL) {
			json_open(j, "before", '{');
			json_figures(j, c->before, i);
			json_unsafe(j, plan_unsafe(c->before, i, PLAN_LOAD) |
					       plan_unsafe(c->before, i, PLAN_REMOTE_LOAD));
			json_close(j, '}');
		}
		json_ratios(j, c, i);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_differences(struct json *j, const struct comparison *c)
{
	size_t i;

	json_open(j, "against_differs", '[');
	for (i = 0; i < SETTINGS; i++)
		if (other_value(c->before, c->plan, settings[i].setting) != NULL)
			json_string(j, NULL, settings[i].key);
	json_close(j, ']');
}

static void print_json(const struct comparison *c, const struct send_options *opt)
{
	struct link link;
	struct json j;

	json_report_open(&j);
	if (opt->title != NULL)
		json_string(&j, "title", opt->title);
	json_open(&j, "comparison", '{');
	link_read(&link, c->plan->setting[PLAN_INTERFACE]);
	environment_json_start(&j, c->environment, &link, time(NULL));
	json_open(&j, "connecting_to", '{');
	json_string(&j, "host", opt->server);
	json_count(&j, "port", strtoull(opt->port, NULL, 10));
	json_close(&j, '}');
	json_string(&j, "sender_tcp_congestion", c->plan->setting[PLAN_CONGESTION]);
	json_number(&j, "duration", opt->seconds);
	json_count(&j, "rounds", (uint64_t)c->plan->rounds);
	if (c->before != NULL) {
		json_count(&j, "sessions", (uint64_t)plan_sessions(c->plan));
		json_string(&j, "against", c->before->setting[PLAN_MACHINE]);
		json_count(&j, "against_rounds", (uint64_t)c->before->rounds);
		json_count(&j, "against_sessions", (uint64_t)plan_sessions(c->before));
		json_differences(&j, c);
	}
	json_runs(&j, c);
	json_close(&j, '}');
	json_report_close(&j, c->error);
}

void comparison_print(const struct comparison *c, const struct send_options *opt)
{
	if (opt->json)
		print_json(c, opt);
	else
		print_text(c, opt);
}

void comparison_check_or_die(const struct plan *p, const struct plan *saved, const char *option,
			     const char *path)
{
	char name[NAME], other[NAME];
	int i = 0;

	if (p->n != saved->n)
		die("%s: %s is of another plan: %d run%s a round, not %d", option, printable(path),
		    saved->n, plural((uint64_t)saved->n), p->n);
	while (i < p->n && plan_is_same_run(&p->run[i], &saved->run[i]))
		i++;
	if (i < p->n)
		die("%s: %s is of another plan: its run %d is %s, not %s", option, printable(path),
		    i + 1, name_of(&saved->run[i], ~0u, name), name_of(&p->run[i], ~0u, other));
}
