#include "lib/send/comparison.h"

#include "lib/report/terms.h"
#include "lib/report/units.h"
#include "lib/report/wrap.h"

#define NAME   COMPARISON_NAME
#define FIGURE 96 /* bytes of a figure with its interval */

/*
 * Names.
 */

/* Which of its settings tell the runs of a plan apart. */
struct differing {
	bool method, chunk, streams, instrument;
};

/*
 * Runs that follow each other in a plan differ in one list's value alone, unless that begins anew.
 * Methods may differ in the bytes that they ask of a call where none were given.
 */
static struct differing differing_in(const struct plan *p)
{
	const struct plan_run *a, *b;
	struct differing d = {0};

	for (b = p->run + 1; b < p->run + p->n; b++) {
		a = b - 1;
		if (strcmp(a->method, b->method) != 0)
			d.method = true;
		else if (a->chunk != b->chunk)
			d.chunk = true;
		d.streams |= a->streams != b->streams;
		d.instrument |= strcmp(a->instrument, b->instrument) != 0;
	}
	return d;
}

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

/* `send 64k, 4 streams, soaked`: those of the settings that d has; the method if it has none. */
static const char *name_of(const struct plan_run *run, struct differing d, char buf[NAME])
{
	const bool has_method = d.method || !(d.chunk || d.streams || d.instrument);
	char size[24];

	buf[0] = '\0';
	if (has_method)
		string_append(buf, NAME, "%s", run->method);
	if (d.chunk) {
		size_text(run->chunk, size, sizeof(size));
		string_append(buf, NAME, "%s%s", has_method ? " " : "", size);
	}
	if (d.streams)
		string_append(buf, NAME, "%s%d stream%s", buf[0] != '\0' ? ", " : "", run->streams,
			      plural((uint64_t)run->streams));
	if (d.instrument && run->instrument[0] != '\0')
		string_append(buf, NAME, "%s%s", buf[0] != '\0' ? ", " : "",
			      strcmp(run->instrument, LOAD_BY_SOAKING) == 0 ? "soaked"
									    : "unsoaked");
	return buf;
}

const char *comparison_run_name(const struct plan *p, int i, char buf[NAME])
{
	return name_of(&p->run[i], differing_in(p), buf);
}

const char *comparison_run_place(const struct plan *p, int i, char *buf, size_t size)
{
	char name[NAME];

	snprintf(buf, size, "round %d", p->rounds + 1);
	if (p->n > 1)
		string_append(buf, size, ", %s", comparison_run_name(p, i, name));
	return buf;
}

/* The plan that is compared with, and its earlier sessions; NULL: none. */
static const struct plan *before_of(const struct comparison *c)
{
	return c->before != NULL ? saved_plan(c->before) : NULL;
}

/*
 * Text.
 */

/* A figure with its decimals; one that no host can have measured is printed with an exponent. */
static const char *number(double value, int places, char buf[FIGURE_STRLEN])
{
	snprintf(buf, FIGURE_STRLEN, fabs(value) < 1e9 ? "%.*f" : "%.*e", places, value);
	return buf;
}

static const char *rate_of(const struct estimate *e, char buf[FIGURE])
{
	const double half = statistics_half(e);
	char text[FIGURE_STRLEN];

	snprintf(buf, FIGURE, "%s", grouped(e->value, text));
	if (isfinite(half))
		string_append(buf, FIGURE, " +-%s", grouped(half, text));
	return buf;
}

static const char *load_of(const struct estimate *e, unsigned unsafe, char buf[FIGURE])
{
	const double half = statistics_half(e);
	char text[FIGURE_STRLEN];

	if (isnan(e->value))
		return strcpy(buf, "-");
	snprintf(buf, FIGURE, "%s%%%s", number(percent(e->value), 1, text), unsafe_mark(unsafe));
	if (isfinite(half))
		string_append(buf, FIGURE, " +-%s%%", number(100 * half, 1, text));
	return buf;
}

static const char *cost_of(const struct estimate *e, unsigned unsafe, char buf[FIGURE])
{
	const double half = statistics_half(e);
	char text[FIGURE_STRLEN];

	if (isnan(e->value))
		return strcpy(buf, "-");
	snprintf(buf, FIGURE, "%s%s", number(e->value, 3, text), unsafe_mark(unsafe));
	if (isfinite(half))
		string_append(buf, FIGURE, " +-%s", number(half, 3, text));
	return buf;
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

/* The table's columns beside the name and the throughput. */
struct sides {
	bool here, remote;
	bool stacked; /* the names are too wide: each is a line above its figures */
	int width;    /* of the first column */
};

#define RATE_WIDTH 24  /* columns of a throughput */
#define SIDE_WIDTH 32  /* columns of a load and a cost */
#define TWO_HOSTS  100 /* columns of a table with the figures of two hosts */

static void print_row(const struct plan *p, int i, const char *name, const struct sides *sides)
{
	struct estimate rate = plan_mean(p, i, PLAN_RATE), load, cost;
	char text[FIGURE];

	report("%-*s  %22s", sides->width, name, rate_of(&rate, text));
	if (sides->here) {
		load = plan_mean(p, i, PLAN_LOAD);
		cost = plan_mean(p, i, PLAN_COST);
		report("  %13s", load_of(&load, plan_unsafe(p, i, false), text));
		report("  %15s", cost_of(&cost, plan_unsafe(p, i, false), text));
	}
	if (sides->remote) {
		load = plan_mean(p, i, PLAN_REMOTE_LOAD);
		cost = plan_mean(p, i, PLAN_REMOTE_COST);
		report("  %13s", load_of(&load, plan_unsafe(p, i, true), text));
		report("  %15s", cost_of(&cost, plan_unsafe(p, i, true), text));
	}
	report("\n");
}

static void print_head(const struct sides *sides)
{
	if (sides->here && sides->remote)
		report("%-*s  %22s  %30s  %30s\n", sides->width, "", "", "sender", "receiver");
	report("%-*s  %22s", sides->width, "", "KiB/s");
	if (sides->here)
		report("  %13s  %15s", "load", "cost, us/KiB");
	if (sides->remote)
		report("  %13s  %15s", "load", "cost, us/KiB");
	report("\n");
}

/* Which columns the table has, and whether the names fit beside them. */
static struct sides sides_of(const struct comparison *c)
{
	struct sides s = {.here = is_known(c, PLAN_LOAD), .remote = is_known(c, PLAN_REMOTE_LOAD)};
	const int limit = s.here && s.remote ? TWO_HOSTS : WRAP_WIDTH;
	char name[NAME];
	int i, n;

	for (i = 0; i < c->plan->n; i++) {
		n = (int)strlen(comparison_run_name(c->plan, i, name)) +
		    (c->before != NULL ? 8 : 0);
		s.width = n > s.width ? n : s.width;
	}
	s.stacked = s.width + RATE_WIDTH + SIDE_WIDTH * (s.here + s.remote) > limit;
	if (s.stacked)
		s.width = c->before != NULL ? 8 : 2;
	return s;
}

/* Prints the rows of a run: its own, or those before and now. */
static void print_run(const struct comparison *c, int i, const struct sides *sides)
{
	char name[NAME], line[NAME + 16];
	int k;

	comparison_run_name(c->plan, i, name);
	if (sides->stacked) {
		report("%s\n", name);
		strcpy(name, "");
	}
	for (k = c->before != NULL ? 0 : 1; k < 2; k++) {
		snprintf(line, sizeof(line), "%s%s%s", name,
			 c->before == NULL ? ""
			 : sides->stacked  ? "  "
					   : ", ",
			 c->before == NULL ? ""
			 : k == 0          ? "before"
					   : "now");
		print_row(k == 0 ? before_of(c) : c->plan, i, line, sides);
	}
}

static void print_table(const struct comparison *c, const struct send_options *opt)
{
	const struct sides sides = sides_of(c);
	int i;

	if (!opt->quiet)
		print_head(&sides);
	for (i = 0; i < c->plan->n; i++)
		print_run(c, i, &sides);
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

	snprintf(buf, FIGURE, "%s%s", number(e->value, places, text), unsafe_mark(unsafe));
	if (!isnan(e->low)) {
		string_append(buf, FIGURE, " (%s", number(e->low, places, text));
		string_append(buf, FIGURE, " to %s)", number(e->high, places, text));
	}
	return buf;
}

static struct estimate ratio_of(const struct comparison *c, int i, enum plan_figure f)
{
	return c->before != NULL ? plan_ratio_to(c->plan, before_of(c), i, f)
				 : plan_ratio(c->plan, i, f);
}

/* The reasons that make a ratio of the i-th run unsafe; a throughput needs no load. */
static unsigned unsafe_of(const struct comparison *c, int i, enum plan_figure f)
{
	const struct plan *than = c->before != NULL ? before_of(c) : c->plan;
	const int k = c->before != NULL ? i : 0;
	const bool remote = f == PLAN_REMOTE_COST;

	return f == PLAN_RATE ? 0 : plan_unsafe(c->plan, i, remote) | plan_unsafe(than, k, remote);
}

/* Prints that a figure which is known of a run and of what it is compared with has no ratio. */
static void print_no_ratio(const struct comparison *c, int i, enum plan_figure f)
{
	const struct estimate now = plan_mean(c->plan, i, f),
			      than = c->before != NULL ? plan_mean(before_of(c), i, f)
						       : plan_mean(c->plan, 0, f);
	char name[NAME], first[NAME];
	struct wrap w;

	if (isnan(now.value) || isnan(than.value))
		return;
	wrap_init(&w, NULL, 0, WRAP_WIDTH, "  ");
	wrap_add(&w, "", "%s%s has no ratio of %s to %s:", comparison_run_name(c->plan, i, name),
		 c->before != NULL ? " now" : "",
		 f == PLAN_RATE          ? "throughput"
		 : f == PLAN_REMOTE_COST ? "the receiver's cost"
					 : "cost",
		 c->before != NULL ? "before" : comparison_run_name(c->plan, 0, first));
	wrap_add(&w, " ", "a figure is not above 0, or they vary too much");
	wrap_end(&w);
}

/* What comes after a ratio: `times as much as sendfile`. */
static void add_reference(const struct comparison *c, enum plan_figure f, const char *colon,
			  struct wrap *w)
{
	char first[NAME];

	comparison_run_name(c->plan, 0, first);
	if (f == PLAN_RATE && c->before != NULL)
		wrap_add(w, " ", "times its earlier throughput%s", colon);
	else if (f == PLAN_RATE)
		wrap_add(w, " ", "times the throughput of %s%s", first, colon);
	else
		wrap_add(w, " ", "times as much as %s%s", c->before != NULL ? "before" : first,
			 colon);
}

/* A line for each run but the first, if the figure is known of it, or of each run against before. */
static void print_words(const struct comparison *c, enum plan_figure f, const char *verb)
{
	char name[NAME], text[FIGURE];
	struct estimate e;
	struct wrap w;
	bool none;
	int i;

	for (i = c->before != NULL ? 0 : 1; i < c->plan->n; i++) {
		e = ratio_of(c, i, f);
		if (!is_ratio(&e)) {
			print_no_ratio(c, i, f);
			continue;
		}
		wrap_init(&w, NULL, 0, WRAP_WIDTH, "  ");
		none = e.low <= 1 && e.high >= 1;
		wrap_add(&w, "", "%s%s %s %s", comparison_run_name(c->plan, i, name),
			 c->before != NULL ? " now" : "", verb,
			 times(&e, unsafe_of(c, i, f), text));
		add_reference(c, f, none ? ":" : "", &w);
		if (none)
			wrap_add(&w, " ", "no difference is shown");
		wrap_end(&w);
	}
}

/* Several ratios are not all in their intervals with a probability of 95 %. */
static void print_each(const struct comparison *c)
{
	if (c->plan->rounds > 1 && c->plan->n > (c->before != NULL ? 1 : 2))
		report("95%% is for each interval by itself: of 20 equal runs, one differs by "
		       "chance\n");
}

/* What a reason means where no run has a load; NULL if it is not why. */
static const char *no_load_reason(unsigned reason)
{
	switch (reason) {
	case UNSAFE_BASELINE_BUSY: return "the machine was busy before or after them";
	case UNSAFE_SOAKED_ALREADY: return "another program soaked the CPUs";
	case UNSAFE_CALIBRATION: return "the machine was not idle when it was calibrated";
	}
	return NULL;
}

/* The reason i made n runs unsafe. */
static void print_reason(const struct plan *p, int i, int n, bool known)
{
	const char *none = known ? NULL : no_load_reason(1u << i);
	struct wrap w;

	wrap_init(&w, NULL, 0, WRAP_WIDTH, "  ");
	if (none != NULL)
		wrap_add(&w, "", "no load could be measured");
	else
		wrap_add(&w, "", "%s", limits_name(i));
	if (1u << i == UNSAFE_STEAL && p->steal_most > p->steal_least)
		wrap_add(&w, " ", "of %.1f%% to %.1f%%", 100 * p->steal_least, 100 * p->steal_most);
	else if (1u << i == UNSAFE_STEAL)
		wrap_add(&w, " ", "of %.1f%%", 100 * p->steal_most);
	wrap_add(&w, " ", "in %d of %d run%s%s", n, p->added, plural((uint64_t)p->added),
		 known || none != NULL ? ":" : "");
	if (none != NULL)
		wrap_add(&w, " ", "%s", none);
	else if (known)
		wrap_add(&w, " ", n == 1 ? "its load is unsafe (?)" : "their loads are unsafe (?)");
	wrap_end(&w);
}

/* A line for each reason that made loads unsafe, or left none. */
static void print_unsafe(const struct comparison *c)
{
	const bool known = is_known(c, PLAN_LOAD) || is_known(c, PLAN_REMOTE_LOAD);
	int i;

	for (i = 0; i < UNSAFE_REASONS; i++)
		if (c->plan->unsafe_runs[i] > 0)
			print_reason(c->plan, i, c->plan->unsafe_runs[i], known);
}

/* The sessions of a file: their rounds, machine, date and title. */
static void print_sessions(const struct saved *s, const char *what, const char *path)
{
	const struct plan_settings *settings;
	const struct plan *p;
	int i;

	for (i = 0; i < s->n; i++) {
		p = &s->session[i].plan;
		settings = &p->settings;
		report("%s: %d round%s in %s: %s\n", what, p->rounds, plural((uint64_t)p->rounds),
		       printable(path), s->session[i].machine);
		if (settings->date[0] != '\0')
			report("  of %s%s%s\n", settings->date,
			       settings->title[0] != '\0' ? ": " : "", settings->title);
	}
}

/* How a setting differs from that of a session, of the last that has another one; NULL: in none. */
static const char *difference(const struct saved *s, const struct plan *now, enum saved_setting k,
			      char line[SAVED_DIFFERENCE])
{
	const struct plan *p;

	for (p = saved_plan(s); p != NULL; p = p->earlier)
		if (saved_difference(p, now, k, line) != NULL)
			return line;
	return NULL;
}

/* A line for each setting that differs. */
static void print_differences(const struct saved *s, const struct plan *now)
{
	char line[SAVED_DIFFERENCE];
	int k;

	for (k = 0; k < SAVED_SETTINGS; k++)
		if (difference(s, now, (enum saved_setting)k, line) != NULL)
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

/* Prints the bytes of a call of each method, where those differ and no row has them. */
static void print_calls(const struct plan *p)
{
	const struct differing d = differing_in(p);
	bool differ = false;
	struct wrap w;
	char size[24];
	int i, last = 0;

	for (i = 1; i < p->n; i++) {
		differ |= p->run[i].chunk != p->run[0].chunk;
		if (strcmp(p->run[i].method, p->run[i - 1].method) != 0)
			last = i;
	}
	if (d.chunk || !differ)
		return;
	wrap_init(&w, NULL, 0, WRAP_WIDTH, "  ");
	for (i = 0; i < p->n; i++) {
		if (i > 0 && strcmp(p->run[i].method, p->run[i - 1].method) == 0)
			continue;
		size_text(p->run[i].chunk, size, sizeof(size));
		wrap_add(&w, i == 0 ? "" : " ", "%s%s %s%s", i == 0 ? "bytes of a call: " : "",
			 p->run[i].method, size, i < last ? "," : "");
	}
	wrap_end(&w);
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

static void print_text(const struct comparison *c, const struct send_options *opt)
{
	const struct plan *p = c->plan;

	if (!opt->quiet)
		report("%d round%s of %d run%s; means and 95%% intervals\n", p->rounds,
		       plural((uint64_t)p->rounds), p->n, plural((uint64_t)p->n));
	if (!opt->quiet && c->before != NULL) {
		print_sessions(c->before, "before", c->before_path);
		print_differences(c->before, p);
		if (c->kept != NULL && p->earlier != NULL)
			print_sessions(c->kept, "now, too", c->kept_path);
	}
	if (!opt->quiet)
		print_calls(p);
	print_table(c, opt);
	if (opt->quiet)
		return;
	print_words(c, PLAN_COST, is_known(c, PLAN_REMOTE_COST) ? "costs the sender" : "costs");
	print_words(c, PLAN_REMOTE_COST, "costs the receiver");
	print_words(c, PLAN_RATE, "has");
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
	static const struct {
		enum plan_figure figure;
		const char *key;
		double factor;
	} keys[] = {{PLAN_RATE, "bits_per_second", 8 * 1024},
		    {PLAN_LOAD, "load_percent", 100},
		    {PLAN_COST, "cost_us_per_kib", 1},
		    {PLAN_REMOTE_LOAD, "remote_load_percent", 100},
		    {PLAN_REMOTE_COST, "remote_cost_us_per_kib", 1}};
	struct estimate e;
	size_t k;

	for (k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		e = plan_mean(p, i, keys[k].figure);
		json_estimate(j, keys[k].key, "mean", &e, keys[k].factor);
	}
}

static void json_ratios(struct json *j, const struct comparison *c, int i)
{
	static const struct {
		enum plan_figure figure;
		const char *key;
	} keys[] = {{PLAN_RATE, "throughput_ratio"},
		    {PLAN_COST, "cost_ratio"},
		    {PLAN_REMOTE_COST, "remote_cost_ratio"}};
	struct estimate e;
	size_t k;

	for (k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		e = ratio_of(c, i, keys[k].figure);
		json_estimate(j, keys[k].key, "ratio", &e, 1);
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
	static const char *const names[] = {
		[SAVED_SERVER] = "server",         [SAVED_INTERFACE] = "interface",
		[SAVED_SECONDS] = "duration",      [SAVED_WARMUP] = "omit",
		[SAVED_CONGESTION] = "congestion", [SAVED_PACE] = "pace",
		[SAVED_OFFLOADS] = "offloads",
	};
	char line[SAVED_DIFFERENCE];
	int k;

	json_open(j, "against_differs", '[');
	for (k = 0; k < SAVED_SETTINGS; k++)
		if (difference(c->before, c->plan, (enum saved_setting)k, line) != NULL)
			json_string(j, NULL, names[k]);
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
	link_read(&link, c->plan->settings.interface);
	json_program(&j, c->environment, &link);
	json_open(&j, "connecting_to", '{');
	json_string(&j, "host", opt->server);
	json_count(&j, "port", strtoull(opt->port, NULL, 10));
	json_close(&j, '}');
	json_string(&j, "sender_tcp_congestion", c->plan->settings.congestion);
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
	static const struct differing all = {true, true, true, true};
	const struct plan *b = saved_plan(s);
	char name[NAME], other[NAME];
	int i;

	if (p->n != b->n)
		die("%s: %s is of another plan: %d run%s a round, not %d", option, printable(path),
		    b->n, plural((uint64_t)b->n), p->n);
	for (i = 0; i < p->n; i++)
		if (!saved_is_run(&p->run[i], &b->run[i]))
			die("%s: %s is of another plan: its run %d is %s, not %s", option,
			    printable(path), i + 1, name_of(&b->run[i], all, name),
			    name_of(&p->run[i], all, other));
}
