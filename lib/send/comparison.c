#include "lib/send/comparison.h"

#include "lib/report/units.h"

#define NAME   COMPARISON_NAME
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

/* Bytes as the options have them: `64k`. */
static void size_text(uint64_t bytes, char *buf, size_t size)
{
	static const char units[] = " kmgt";
	int i = 0;

	while (units[i + 1] != '\0' && bytes > 0 && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, size, "%" PRIu64 "%.*s", bytes, i > 0, &units[i]);
}

static const char *cell(const struct plan_run *run, enum column c, char buf[NAME])
{
	const bool soaked = strcmp(run->instrument, LOAD_BY_SOAKING) == 0;

	if (c == METHOD)
		return run->method;
	if (c == INSTRUMENT)
		return run->instrument[0] == '\0' ? "" : soaked ? "soaked" : "unsoaked";
	if (c == BYTES)
		size_text(run->chunk, buf, NAME);
	else
		snprintf(buf, NAME, "%d", run->streams);
	return buf;
}

/* The columns in which the runs differ, as a set; the method is always in it. */
static unsigned differing_in(const struct plan *p)
{
	const struct plan_run *a = p->run, *b;
	unsigned set = 1u << METHOD;

	for (b = a + 1; b < a + p->n; b++) {
		if (a->chunk != b->chunk)
			set |= 1u << BYTES;
		if (a->streams != b->streams)
			set |= 1u << STREAMS;
		if (strcmp(a->instrument, b->instrument) != 0)
			set |= 1u << INSTRUMENT;
	}
	return set;
}

/* `send 64k, 4 streams, soaked`: the columns of a set; `64k a call, 4 streams` without the method. */
static const char *name_of(const struct plan_run *run, unsigned set, char buf[NAME])
{
	char text[NAME];

	strcpy(buf, (set & 1u << METHOD) != 0 ? run->method : "");
	if (set & 1u << BYTES)
		string_append(buf, NAME, buf[0] != '\0' ? " %s" : "%s a call",
			      cell(run, BYTES, text));
	if (set & 1u << STREAMS)
		string_append(buf, NAME, "%s%d stream%s", buf[0] != '\0' ? ", " : "", run->streams,
			      plural((uint64_t)run->streams));
	if (set & 1u << INSTRUMENT && run->instrument[0] != '\0')
		string_append(buf, NAME, "%s%s", buf[0] != '\0' ? ", " : "",
			      cell(run, INSTRUMENT, text));
	return buf;
}

const char *comparison_run_name(const struct plan *p, int i, char buf[NAME])
{
	return name_of(&p->run[i], differing_in(p), buf);
}

const char *comparison_run_place(const struct plan *p, int i, char buf[COMPARISON_PLACE])
{
	char name[NAME];

	snprintf(buf, COMPARISON_PLACE, "round %d", p->rounds + 1);
	if (p->n > 1)
		string_append(buf, COMPARISON_PLACE, ", %s", comparison_run_name(p, i, name));
	return buf;
}

/*
 * Text.
 */

/* The plan that is compared with, and its earlier sessions; NULL: none. */
static const struct plan *before_of(const struct comparison *c)
{
	return c->before != NULL ? saved_plan(c->before) : NULL;
}

/* What run i is compared with: run *k of this plan, or of that before. */
static const struct plan *reference_of(const struct comparison *c, int i, int *k)
{
	*k = c->before != NULL ? i : plan_reference(c->plan, i);
	return c->before != NULL ? before_of(c) : c->plan;
}

/* The figures that are compared, in the table's order. */
static const struct {
	const char *title;
	int width;
	const char *key; /* in JSON, in whose unit the plan's is `factor` */
	double factor;
	const char *ratio_key; /* NULL: there is no ratio of it */
	/* Of the line about a ratio: what it is of, and what comes before and behind it. */
	const char *what, *verb, *times, *times_before;
} compared[] = {
	[PLAN_RATE] = {"KiB/s", 22, "bits_per_second", 8 * 1024, "throughput_ratio", "throughput",
		       "has", "times the throughput of ", "times its earlier throughput"},
	[PLAN_LOAD] = {"load", 13, "load_percent", .factor = 100},
	[PLAN_COST] = {"cost, us/KiB", 15, "cost_us_per_kib", 1, "cost_ratio", "cost", "costs",
		       "times as much as ", "times as much as before"},
	[PLAN_REMOTE_LOAD] = {"receiver: load", 14, "remote_load_percent", .factor = 100},
	[PLAN_REMOTE_COST] = {"cost, us/KiB", 15, "remote_cost_us_per_kib", 1, "remote_cost_ratio",
			      "the receiver's cost", "costs the receiver", "times as much as ",
			      "times as much as before"},
};

#define COMPARED PLAN_UNCERTAINTY /* the first that is not compared */

static bool is_remote(enum plan_figure f)
{
	return f == PLAN_REMOTE_LOAD || f == PLAN_REMOTE_COST;
}

/* Whether a figure is known of any run of the plans. */
static bool is_known(const struct comparison *c, enum plan_figure f)
{
	int i;

	for (i = 0; i < c->plan->n; i++)
		if (!isnan(plan_mean(c->plan, i, f).value) ||
		    (c->before != NULL && !isnan(plan_mean(before_of(c), i, f).value)))
			return true;
	return false;
}

/* `61.2%? +-0.4%`: the mean of a figure of run i, and half of its interval. */
static const char *mean_text(const struct plan *p, int i, enum plan_figure f, char buf[FIGURE])
{
	const struct estimate e = plan_mean(p, i, f);
	const double half = statistics_half(&e);
	const unsigned unsafe = plan_unsafe(p, i, is_remote(f));
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
			print_row(c, before_of(c), i, "before");
		print_row(c, c->plan, i, "now");
	}
}

/* Whether a ratio has an end that can be printed; figures that are near 0 may differ without end. */
static bool is_ratio(const struct estimate *e)
{
	return isfinite(e->value) && !isinf(e->low) && !isinf(e->high);
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
	return c->before != NULL ? plan_ratio_to(c->plan, before_of(c), i, f)
				 : plan_ratio(c->plan, i, f);
}

/* Compares run i with its reference, which is not itself, in words. */
static void print_ratio(const struct comparison *c, int i, enum plan_figure f)
{
	const struct estimate e = ratio_of(c, i, f);
	const bool none = e.low <= 1 && e.high >= 1;
	char name[NAME], other[NAME] = "", text[FIGURE];
	int k;
	const struct plan *than = reference_of(c, i, &k);
	const unsigned unsafe = plan_unsafe(c->plan, i, is_remote(f)) |
				plan_unsafe(than, k, is_remote(f));
	struct wrap w;

	if (isnan(plan_mean(c->plan, i, f).value) || isnan(plan_mean(than, k, f).value))
		return;
	if (c->before == NULL)
		comparison_run_name(c->plan, k, other);
	wrap_init(&w, NULL, 0, WRAP_WIDTH, "  ");
	wrap_add(&w, "", "%s%s", comparison_run_name(c->plan, i, name),
		 c->before != NULL ? " now" : "");
	if (!is_ratio(&e)) {
		wrap_add(&w, " ", "has no ratio of %s to %s:", compared[f].what,
			 c->before != NULL ? "before" : other);
		wrap_add(&w, " ", "a figure is not above 0, or they vary too much");
		wrap_end(&w);
		return;
	}
	wrap_add(&w, " ", "%s%s %s", compared[f].verb,
		 f == PLAN_COST && is_known(c, PLAN_REMOTE_COST) ? " the sender" : "",
		 times(&e, f == PLAN_RATE ? 0 : unsafe, text));
	wrap_add(&w, " ", "%s%s%s",
		 c->before != NULL ? compared[f].times_before : compared[f].times, other,
		 none ? ":" : "");
	if (none)
		wrap_add(&w, " ", "no difference is shown");
	wrap_end(&w);
}

/* A line for each run but the first, or for each run against before. */
static void print_ratios(const struct comparison *c, enum plan_figure f)
{
	int i;

	for (i = c->before != NULL ? 0 : 1; i < c->plan->n; i++)
		print_ratio(c, i, f);
}

/* Several ratios are not all in their intervals with a probability of 95 %. */
static void print_each(const struct comparison *c)
{
	if (c->plan->rounds > 1 && c->plan->n > (c->before != NULL ? 1 : 2))
		report("95%% is for each interval by itself: of 20 equal runs, one differs by "
		       "chance\n");
}

/* A line for each reason that made loads unsafe, or left none. */
static void print_unsafe(const struct comparison *c)
{
	const bool known = is_known(c, PLAN_LOAD) || is_known(c, PLAN_REMOTE_LOAD);
	const struct plan *p = c->plan;
	int i, n;

	for (i = 0; i < UNSAFE_REASONS; i++) {
		n = p->unsafe_runs[i];
		if (n > 0)
			report("%s in %d of %d run%s: %s\n", limits_name(i), n, p->added,
			       plural((uint64_t)p->added),
			       !known   ? "no load could be measured"
			       : n == 1 ? "its load is unsafe (?)"
					: "their loads are unsafe (?)");
	}
}

/* The sessions of a file: their rounds, machine, date and title. */
static void print_sessions(const struct saved *s, const char *what, const char *path)
{
	const char *date, *title;
	const struct plan *p;
	int i;

	for (i = 0; i < s->n; i++) {
		p = &s->session[i].plan;
		date = p->setting[PLAN_DATE];
		title = p->setting[PLAN_TITLE];
		report("%s: %d round%s in %s: %s\n", what, p->rounds, plural((uint64_t)p->rounds),
		       printable(path), s->session[i].machine);
		if (date[0] != '\0')
			report("  of %s%s%s\n", date, title[0] != '\0' ? ": " : "", title);
	}
}

/* A line for each setting that differs. */
static void print_differences(const struct saved *s, const struct plan *now)
{
	char line[SAVED_DIFFERENCE];
	enum plan_setting k;

	for (k = PLAN_SERVER; k < PLAN_SETTINGS; k++)
		if (saved_difference(saved_plan(s), now, k, line) != NULL)
			report("%s\n", line);
}

/* What the file of --save has beside this session: earlier ones, perhaps with other settings. */
static void print_kept(const struct comparison *c)
{
	if (c->kept == NULL || c->kept->n == 0)
		return;
	report("this is session %d in %s\n", c->kept->n + 1, printable(c->kept_path));
	print_differences(c->kept, c->plan);
}

/* What the intervals of a comparison with a saved plan are of. */
static void print_basis(const struct comparison *c)
{
	const int now = plan_sessions(c->plan), then = plan_sessions(before_of(c));

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
static void print_above(const struct comparison *c)
{
	const struct plan *p = c->plan;
	char name[NAME];

	report("%d round%s of %d run%s; means and 95%% intervals\n", p->rounds,
	       plural((uint64_t)p->rounds), p->n, plural((uint64_t)p->n));
	if (name_of(&p->run[0], ~differing_in(p), name)[0] != '\0')
		report("each run: %s\n", name);
	if (c->before == NULL)
		return;
	print_sessions(c->before, "before", c->before_path);
	print_differences(c->before, p);
	if (c->kept != NULL && p->earlier != NULL)
		print_sessions(c->kept, "now, too", c->kept_path);
}

static void print_text(const struct comparison *c, const struct send_options *opt)
{
	const struct plan *p = c->plan;

	if (!opt->quiet)
		print_above(c);
	print_table(c, opt);
	if (opt->quiet)
		return;
	print_ratios(c, PLAN_COST);
	print_ratios(c, PLAN_REMOTE_COST);
	print_ratios(c, PLAN_RATE);
	print_each(c);
	if (c->before != NULL)
		print_basis(c);
	print_kept(c);
	if (opt->compare.precision > 0)
		print_precision(p, opt->compare.precision);
	print_unsafe(c);
	if (p->rounds == 1)
		report("one round has no interval: repeat it (-r %d)\n", PLAN_ROUNDS);
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
		json_count(j, "num_streams", (uint64_t)run->streams);
		if (run->instrument[0] != '\0')
			json_string(j, "instrument", run->instrument);
		json_figures(j, c->plan, i);
		json_unsafe(j, run->unsafe | run->remote_unsafe);
		json_count(j, "unsafe_rounds", (uint64_t)run->unsafe_rounds);
		if (c->before != NULL) {
			json_open(j, "before", '{');
			json_figures(j, before_of(c), i);
			json_unsafe(j, plan_unsafe(before_of(c), i, false) |
					       plan_unsafe(before_of(c), i, true));
			json_close(j, '}');
		}
		json_ratios(j, c, i);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_differences(struct json *j, const struct comparison *c)
{
	char line[SAVED_DIFFERENCE];
	enum plan_setting k;

	json_open(j, "against_differs", '[');
	for (k = PLAN_SERVER; k < PLAN_SETTINGS; k++)
		if (saved_difference(before_of(c), c->plan, k, line) != NULL)
			json_string(j, NULL, saved_setting_key(k));
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
		json_string(&j, "against", c->before->session[c->before->n - 1].machine);
		json_count(&j, "against_rounds",
			   (uint64_t)c->before->session[c->before->n - 1].plan.rounds);
		json_count(&j, "against_sessions", (uint64_t)c->before->n);
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

void comparison_check_or_die(const struct plan *p, const struct saved *s, const char *option,
			     const char *path)
{
	const struct plan *b = saved_plan(s);
	const int i = saved_differing_run(p, b);
	char name[NAME], other[NAME];

	if (p->n != b->n)
		die("%s: %s is of another plan: %d run%s a round, not %d", option, printable(path),
		    b->n, plural((uint64_t)b->n), p->n);
	if (i >= 0)
		die("%s: %s is of another plan: its run %d is %s, not %s", option, printable(path),
		    i + 1, name_of(&b->run[i], ~0u, name), name_of(&p->run[i], ~0u, other));
}
