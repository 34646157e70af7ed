#include "lib/compare/comparison.h"

#include <limits.h>

#include "lib/compare/facts.h"
#include "lib/compare/groups.h"
#include "lib/compare/ratio.h"
#include "lib/compare/verdict.h"
#include "lib/report/units.h"

const char *comparison_run_place(const struct plan *p, int i, char buf[COMPARISON_PLACE])
{
	snprintf(buf, COMPARISON_PLACE, "round %d", p->rounds + 1);
	if (p->n > 1)
		string_append(buf, COMPARISON_PLACE, ", %s", plan_name(&p->run[i]));
	return buf;
}

/*
 * Text.
 */

/* A rate in Gbit/s, as developers of kernels have it. */
static const char *giga_text(double rate, double half)
{
	return isfinite(half) ? text_of("%.3f +-%.3f", 1e-9 * rate, 1e-9 * half)
			      : decimal(1e-9 * rate, 3);
}

/* The mean of a measure and half of its interval, as `61.2%? +-0.4%`. */
static const char *measure_text(const struct measure *m, double mean, double half, unsigned unsafe)
{
	const struct figure *row = figure_named(m->key);
	const double unit = row->kind == FIGURE_BIT_RATE ? 8 * 1024 : 1; /* of KiB/s */
	const int places = mean < 10 ? 2 : 1;

	if (row->kind == FIGURE_LOAD)
		return load_text(mean, half, unsafe);
	if (row->kind == FIGURE_COST || row->kind == FIGURE_CPU_TIME ||
	    row->kind == FIGURE_SECONDS || row->kind == FIGURE_CPU_SECONDS)
		return cost_text(mean, half, unsafe);
	if (row->kind == FIGURE_SHARE)
		return isfinite(half) ? text_of("%.2g%% +-%.2g%%", percent(mean), percent(half))
				      : text_of("%.2g%%", percent(mean));
	if ((m->count != NULL || row->kind == FIGURE_US) && mean < 100)
		return isfinite(half) ? text_of("%.*f +-%.*f", places, mean, places, half)
				      : decimal(mean, places);
	if (!isfinite(half))
		return grouped(mean / unit);
	return text_of("%s +-%s", grouped(mean / unit), grouped(half / unit));
}

/*
 * The table.
 */

/* A column of means, or of the ratios behind them. */
struct column {
	int measure;
	bool is_ratio;
	bool is_brief; /* it is of --brief */
	bool begins;   /* it may begin a table of its own: the one before is of another kind */
	int width;
};

#define COLUMNS_MAX 64
#define BRIEF_WIDTH 75 /* of a commit message */

static int width_of(const char *utf8)
{
	int n = 0;

	for (; *utf8 != '\0'; utf8++)
		n += (*utf8 & 0xc0) != 0x80;
	return n;
}

/* The runs that others are compared with are not all the first: a line below the table says which. */
static const char *ratio_head(const struct plan *p)
{
	int i;

	if (p->before != NULL)
		return "ratio to before";
	for (i = 0; i < p->n; i++)
		if (p->run[i].reference > 0)
			return "ratio";
	return "ratio to the first";
}

/* What a column has of run i of the plan `of`, or if that is NULL its head. */
static const char *cell(const struct plan *p, const struct plan *of, int i, const struct column *c)
{
	const struct measure *m = &p->kind->measure[c->measure];
	const bool is_giga = c->is_brief && figure_named(m->key)->kind == FIGURE_BIT_RATE;
	struct estimate e;
	struct ratio r;

	if (of == NULL && c->is_ratio)
		return ratio_head(p);
	if (of == NULL)
		return is_giga ? "Gbit/s" : m->title;
	if (!c->is_ratio) {
		e = plan_result(of, i, c->measure)->mean;
		if (is_giga)
			return giga_text(e.value, statistics_half(&e));
		return measure_text(m, e.value, statistics_half(&e),
				    plan_unsafe(of, i, c->measure));
	}
	if (of != p) /* it is before */
		return "";
	r = ratio_of(p, i, c->measure);
	if (!r.is_known)
		return r.is_asked ? "-" : "";
	return text_of("%s%s", times_text(&r.e, r.unsafe), r.is_same ? " =" : "");
}

/* The columns of what is known. */
static int columns_of(const struct plan *p, bool brief, struct column column[COLUMNS_MAX])
{
	const struct measure *m = p->kind->measure, *last = NULL;
	struct column *c = column;
	int i, k, is_ratio;

	for (k = 0; k < p->kind->measures; k++)
		for (is_ratio = 0; is_ratio < 2; is_ratio++) {
			if (m[k].title == NULL || !is_known(p, k) ||
			    (is_ratio && (m[k].ratio_key == NULL || m[k].is_aside ||
					  (p->n == 1 && p->before == NULL))))
				continue;
			*c = (struct column){k, is_ratio != 0, brief,
					     last == NULL || last->end != m[k].end ||
						     last->is_of_load != m[k].is_of_load ||
						     last->is_aside != m[k].is_aside ||
						     (!is_ratio && !m[k].is_of_load &&
						      !m[k].is_aside && m[k].ratio_key != NULL),
					     0};
			c->width = width_of(cell(p, NULL, 0, c));
			for (i = 0; i < p->n; i++) {
				c->width = (int)fmax(c->width, width_of(cell(p, p, i, c)));
				if (p->before != NULL)
					c->width = (int)fmax(c->width,
							     width_of(cell(p, p->before, i, c)));
			}
			last = &m[k];
			c++;
		}
	return (int)(c - column);
}

/* Prints run i of the plan `of`, or the head; a name that is wider than `width` stands on a line of its own. */
static void print_row(const struct plan *p, const struct plan *of, int i, const struct column *c,
		      int columns, int width)
{
	const char *value = of == NULL ? "run" : name_in(p, of, i);
	int at = width_of(value), start;

	report("%s", value);
	if (at > width) {
		report("\n");
		at = 0;
	}
	for (; columns > 0; columns--, c++) {
		value = cell(p, of, i, c);
		start = width + 2 + (c->is_ratio ? 0 : c->width - width_of(value));
		if (*value != '\0') {
			report("%*s%s", start - at, "", value);
			at = start + width_of(value);
		}
		width += 2 + c->width;
	}
	report("\n");
}

/* How wide the columns are that stay together from c on, and how many they are. */
static int width_together(const struct column *c, const struct column *end, int *n)
{
	int width = 0;

	for (*n = 0; c < end && (*n == 0 || !c->begins); c++, ++*n)
		width += 2 + c->width;
	return width;
}

/* Prints the table, or if it is too wide several of them, one below the other; without heads on one line a run. */
static void print_table(const struct plan *p, bool quiet, bool brief)
{
	const int most = brief ? BRIEF_WIDTH : quiet ? INT_MAX : WRAP_WIDTH;
	struct column column[COLUMNS_MAX], *c = column;
	const struct column *const end = column + columns_of(p, brief, column);
	int i, n, more, names = 3, room = most, width;

	for (; c < end; c += n)
		room = (int)fmin(room, most - width_together(c, end, &n));
	for (i = 0; i < p->n; i++) {
		width = width_of(name_in(p, p->before, i));
		names = width > names && width <= room ? width : names;
	}
	for (c = column; c < end; c += n) {
		width = names + width_together(c, end, &n);
		while (c + n < end && width + width_together(c + n, end, &more) <= most) {
			width += width_together(c + n, end, &more);
			n += more;
		}
		if (!quiet)
			print_row(p, NULL, 0, c, n, names);
		for (i = 0; i < p->n; i++) {
			if (p->before != NULL)
				print_row(p, p->before, i, c, n, names);
			print_row(p, p, i, c, n, names);
		}
	}
}

/*
 * What is below the table.
 */

/*
 * A sentence for each run of which a measure, that is of a load or is not, differs.  Sets *same if one has a ratio that
 * shows no difference, and *none if it can have none.
 */
static void print_ratios(const struct plan *p, bool of_load, bool *same, bool *none)
{
	const struct measure *m = p->kind->measure;
	struct ratio r;
	struct wrap w;
	int i, k;

	for (k = 0; k < p->kind->measures; k++)
		for (i = 0; i < p->n && m[k].ratio_key != NULL; i++) {
			if (m[k].is_of_load != of_load)
				continue;
			r = ratio_of(p, i, k);
			*same |= r.is_same && !m[k].is_aside;
			*none |= r.is_asked && !r.is_known && !m[k].is_aside;
			if (!r.differs)
				continue;
			w = (struct wrap){.width = WRAP_WIDTH, .indent = "  "};
			wrap_add(&w, "", "%s", name_in(p, p, i));
			wrap_add(&w, " ", "%s", ratio_text(p, k, &r));
			wrap_add(&w, " ", "%s %s", m[k].times, name_in(p, r.than, r.run));
			report("\n");
		}
}

static double run_mean(const struct plan *p, int i, int measure)
{
	return plan_result(p, i, measure)->mean.value;
}

/* How many runs know a measure that may explain their difference; 0 if it hardly differs, or does not matter. */
static int explaining(const struct plan *p, int measure)
{
	const struct figure *row = figure_named(p->kind->measure[measure].key);
	double value, least = INFINITY, most = -INFINITY;
	bool explains;
	int i, n = 0;

	for (i = 0; i < p->n; i++) {
		value = run_mean(p, i, measure);
		least = value < least ? value : least;
		most = value > most ? value : most;
		n += !isnan(value);
	}
	explains = row->kind != FIGURE_SHARE   ? most > 1.1 * least
		   : row->group == GROUP_WAITS ? most - least > 0.05
					       : most >= 0.001;
	return explains ? n : 0;
}

/* The text of a mean that may explain a difference: a share, or a number. */
static const char *why_text(const struct figure *row, double value)
{
	return row->kind == FIGURE_SHARE ? text_of("%.1f%%", percent(value)) : grouped(value);
}

/* A line for each figure that may explain how the runs differ, and for receivers' methods that differ. */
static void print_why(const struct plan *p)
{
	const struct figure *row;
	struct wrap w;
	int i, k, n;

	for (k = 0; k < p->kind->measures; k++) {
		n = p->kind->measure[k].is_why ? explaining(p, k) : 0;
		if (n == 0)
			continue;
		row = figure_named(p->kind->measure[k].key);
		w = (struct wrap){.width = WRAP_WIDTH, .indent = "  "};
		wrap_add(&w, "", "%s%s:", row->group == GROUP_WAITS ? "TCP waited for " : "",
			 row->label);
		for (i = 0; n > 0; i++)
			if (!isnan(run_mean(p, i, k)))
				wrap_add(&w, " ", "%s %s%s", plan_name(&p->run[i]),
					 why_text(row, run_mean(p, i, k)), --n > 0 ? "," : "");
		report("\n");
	}
	for (i = 1; i < p->n && strcmp(p->run[i].receiver, p->run[0].receiver) == 0; i++)
		;
	if (i >= p->n)
		return;
	w = (struct wrap){.width = WRAP_WIDTH, .indent = "  "};
	wrap_add(&w, "", "receiver's method:");
	for (i = 0; i < p->n; i++)
		wrap_add(&w, i > 0 ? ", " : " ", "%s %s", plan_name(&p->run[i]),
			 p->run[i].receiver[0] != '\0' ? p->run[i].receiver : "-");
	report("\n");
}

/* Whether a run, or the same run before, differs in a measure by more than the interval of their ratio. */
static bool is_different(const struct plan *p, int measure)
{
	struct estimate e;
	int i;

	for (i = p->before != NULL ? 0 : 1; i < p->n; i++) {
		e = plan_result(p, i, measure)->ratio;
		if (isfinite(e.value) && (e.low > 1 || e.high < 1))
			return true;
	}
	return false;
}

/* A line for each count that differs, with all runs; in two plans each run before and now. */
static void print_counts(const struct plan *p)
{
	const struct measure *m = p->kind->measure;
	const struct plan *of;
	struct estimate e;
	struct wrap w;
	int i, k;

	for (k = 0; k < p->kind->measures; k++) {
		if (m[k].count == NULL || !is_different(p, k))
			continue;
		w = (struct wrap){.width = WRAP_WIDTH, .indent = "  "};
		wrap_add(&w, "", "%s:", m[k].count);
		for (i = 0; i < p->n; i++)
			for (of = p->before != NULL ? p->before : p; of != NULL;
			     of = of == p ? NULL : p) {
				e = plan_result(of, i, k)->mean;
				wrap_add(&w, i > 0 || (of == p && p->before != NULL) ? ", " : " ",
					 "%s %s", name_in(p, of, i),
					 measure_text(&m[k], e.value, statistics_half(&e), 0));
			}
		report("\n");
	}
}

/* A line for each reason why loads were unsafe, or could not be measured, in all sessions. */
static void print_unsafe(const struct plan *p, const char *before)
{
	const struct plan *session;
	bool known = false;
	int i, unsafe, runs;

	for (i = 0; i < p->kind->measures; i++)
		known |= p->kind->measure[i].is_of_load && p->kind->measure[i].title != NULL &&
			 is_known(p, i);
	for (i = 0; i < UNSAFE_REASONS; i++) {
		unsafe = runs = 0;
		for (session = p; session != NULL; session = session->earlier) {
			unsafe += session->unsafe_runs[i];
			runs += session->added;
		}
		if (unsafe > 0)
			report("%s%s in %d of %d run%s: %s\n", before, limits_name(i), unsafe, runs,
			       plural((uint64_t)runs),
			       known ? "unsafe (?)" : "the load could not be measured");
	}
}

/* The sessions of a file, the last one first: their rounds, machine, date and title. */
static void print_sessions(const char *which, const struct plan *p, const char *path)
{
	const char *title;
	struct wrap w;

	for (; p != NULL; p = p->earlier) {
		w = (struct wrap){.width = BRIEF_WIDTH, .indent = "  "};
		wrap_add(&w, "", "%s: %d round%s in %s:", which, p->rounds,
			 plural((uint64_t)p->rounds), printable(path));
		wrap_add(&w, " ", "%s", printable(plan_fact(p, "machine")));
		report("\n");
		title = plan_fact(p, "title");
		if (plan_fact(p, "date")[0] != '\0')
			report("  of %s%s%s\n", plan_fact(p, "date"), title[0] != '\0' ? ": " : "",
			       printable(title));
	}
}

/* A text of a session, as a line has it; empty is a default. */
static const char *fact_text(const char *value)
{
	return *value != '\0' ? text_of("%s", printable(value)) : "default";
}

static void print_difference(const char *key, const char *before, const char *now, void *options)
{
	struct wrap w = {.width = BRIEF_WIDTH, .indent = "  "};

	*(bool *)options |= key[0] == '-';
	wrap_add(&w, "", "%s%s differs:", key, strcmp(key, "congestion") == 0 ? " control" : "");
	wrap_add(&w, " ", "%s before,", fact_text(before));
	wrap_add(&w, " ", "%s now", fact_text(now));
	report("\n");
}

static void json_difference(const char *key, const char *before, const char *now, void *json)
{
	(void)before;
	(void)now;
	json_string(json, NULL, key + strspn(key, "-"));
}

static void print_words(const char *head, const char *text)
{
	char *rest = strdupa(text), *word;
	struct wrap w = {.width = BRIEF_WIDTH, .indent = "  "};

	wrap_add(&w, "", "%s:", head);
	while ((word = strsep(&rest, " ")) != NULL)
		wrap_add(&w, " ", "%s", printable(word));
	report("\n");
}

/* Prints what differs from a session, and both command lines if it is an option. */
static void print_differences(const struct plan *now, const struct plan *then)
{
	bool options = false;

	facts_compare(now, then, print_difference, &options);
	if (options) {
		print_words("command before", plan_fact(then, "command"));
		print_words("command now", plan_fact(now, "command"));
	}
}

static void print_rounds(const struct plan *p, int rounds, const char *more)
{
	report("%d round%s of %d run%s%s\n", rounds, plural((uint64_t)rounds), p->n,
	       plural((uint64_t)p->n), more);
}

/* What the limit needs, and what there is; without a report in text on stderr. */
static void print_gate(const struct comparison *c)
{
	const struct plan *p = c->plan;
	const int now = plan_sessions(p->earlier) + 1, before = plan_sessions(p->before);
	const char *text = text_of("--fail-above %g%%: at least %d of %d rounds must count",
				   c->opt->fail_above, VERDICT_NEEDS, c->opt->rounds);

	if (p->before != NULL)
		text = text_of(
			"--fail-above %g%%: %d save session%s before, and %d now with this one; "
			"%d a side are needed%s",
			c->opt->fail_above, before, plural((uint64_t)before), now, VERDICT_NEEDS,
			before < VERDICT_NEEDS || now < VERDICT_NEEDS ? ": not judged yet" : "");
	if (c->json || c->quiet)
		warnx("%s", text);
	else
		report("%s\n", text);
}

void comparison_print_size(const struct comparison *c)
{
	const int runs = c->plan->n * c->opt->rounds;
	const double seconds = runs * c->seconds;

	if (c->opt->fail_above > 0)
		print_gate(c);
	if (c->json || c->quiet)
		return;
	report("%s%d run%s", c->opt->precision > 0 ? "at most " : "", runs, plural((uint64_t)runs));
	if (seconds >= 100)
		report(", about %s minutes", grouped(seconds / 60));
	else if (seconds > 0)
		report(", about %s second%s", grouped(ceil(seconds)),
		       plural((uint64_t)ceil(seconds)));
	report("\n");
}

void comparison_print_runs(const struct comparison *c)
{
	const struct plan *p = c->plan;
	char *command;
	int i;

	comparison_print_size(c);
	print_rounds(p, c->opt->rounds, "");
	for (i = 0; i < p->n; i++) {
		report("%s\n", plan_name(&p->run[i]));
		if (c->command == NULL)
			continue;
		command = c->command(c->arg, i);
		make_printable(command);
		report("  %s\n", command);
		free(command);
	}
}

/* How far several sessions of a side are apart, by the measures that have a ratio. */
static void print_spread(const char *which, const struct plan *p)
{
	const struct measure *m = p->kind->measure;
	struct wrap w = {.width = BRIEF_WIDTH, .indent = "  "};
	const char *separator = " ";
	int k;

	wrap_add(&w, "", "%s: the means of %d sessions differ by up to", which, plan_sessions(p));
	for (k = 0; k < p->kind->measures; k++)
		if (m[k].ratio_key != NULL && is_known(p, k)) {
			wrap_add(&w, separator, "%.1f%% (%s%s)", percent(plan_spread(p, k)),
				 m[k].end == 1 ? "receiver: " : "", m[k].title);
			separator = ", ";
		}
	report("\n");
}

/* What the figures depend on, of the settings of a session. */
static void print_setup(const struct plan *p)
{
	struct wrap w = {.width = BRIEF_WIDTH, .indent = "  "};
	const char *const *key = p->kind->setup;
	const char *separator = "setup: ";

	for (; key != NULL && *key != NULL; key++)
		if (plan_fact(p, *key)[strspn(plan_fact(p, *key), "?")] != '\0') {
			wrap_add(&w, separator, "%s %s", *key + strspn(*key, "-"),
				 printable(plan_fact(p, *key)));
			separator = ", ";
		}
	if (w.column > 0)
		report("\n");
}

/* Prints the rounds, and the other sessions. */
static void print_above(const struct plan *p, const struct compare_options *opt)
{
	print_rounds(p, p->rounds, "; means and 95% confidence intervals");
	if (opt->brief)
		print_setup(p);
	print_sessions("before", p->before, opt->against);
	if (opt->compare != NULL)
		print_sessions(p->before != NULL ? "now" : "saved", p, opt->save);
	else if (p->before != NULL || opt->brief)
		report("%s%s\n", p->before != NULL ? "now: " : "",
		       printable(plan_fact(p, "machine")));
	if (p->kept != NULL && opt->compare == NULL)
		report("this is session %d in %s\n", plan_sessions(p->kept) + 1,
		       printable(opt->save));
	print_differences(p, p->before);
	print_differences(p, p->kept);
	if (p->before != NULL && p->before->earlier != NULL)
		print_spread("before", p->before);
	if (p->before != NULL && p->earlier != NULL)
		print_spread("now", p);
}

/*
 * JSON.
 */

/* An estimate in the unit of its key, which begins with `remote_` if it is of the other end. */
static void json_estimate(struct json *j, const char *name, int end, const char *value_key,
			  struct estimate e, double factor)
{
	char key[64];

	if (!isfinite(factor * e.value))
		return;
	snprintf(key, sizeof(key), "%s%s", end == 1 ? PLAN_REMOTE : "", name);
	json_open(j, key, '{');
	json_number(j, value_key, factor * e.value);
	json_number(j, "low", factor * e.low);
	json_number(j, "high", factor * e.high);
	json_close(j, '}');
}

/* The means of what is counted at an end, or of the groups of its profile, if any is known. */
static void json_parts(struct json *j, const struct plan *p, int i, int end, bool groups)
{
	const struct measure *m = p->kind->measure;
	bool is_open = false;
	int k;

	for (k = 0; k < p->kind->measures; k++, m++) {
		if ((groups ? m->group : m->count) == NULL || m->end != end ||
		    isnan(plan_result(p, i, k)->mean.value))
			continue;
		if (!is_open)
			json_open(j,
				  text_of("%s%s", end == 1 ? PLAN_REMOTE : "",
					  groups ? "groups" : "counts"),
				  '{');
		is_open = true;
		json_estimate(j, m->key, 0, "mean", plan_result(p, i, k)->mean,
			      figure_factor(figure_named(m->key)));
	}
	if (is_open)
		json_close(j, '}');
}

/* The means of run i, and what made them unsafe. */
static void json_figures(struct json *j, const struct plan *p, int i)
{
	const struct measure *m = p->kind->measure;
	unsigned unsafe = 0;
	int k;

	for (k = 0; k < p->kind->measures; k++, m++) {
		if (m->title != NULL)
			json_estimate(j, m->key, m->end, "mean", plan_result(p, i, k)->mean,
				      figure_factor(figure_named(m->key)));
		unsafe |= plan_unsafe(p, i, k);
	}
	for (k = 0; k < 4; k++)
		json_parts(j, p, i, k % 2, k >= 2);
	json_unsafe(j, unsafe);
}

static void json_values(struct json *j, const struct plan *p, int i)
{
	const struct run_key *key = p->kind->key;
	const char *value;
	int k;

	for (k = 0; k < p->kind->keys; k++) {
		value = plan_value(&p->run[i], k);
		if (key[k].is_number && *value != '\0')
			json_number(j, key[k].name, strtod(value, NULL));
		else if (*value != '\0')
			json_string(j, key[k].name, value);
	}
	if (p->run[i].receiver[0] != '\0')
		json_string(j, "receiver_method", p->run[i].receiver);
}

/* The means that may explain a difference. */
static void json_why(struct json *j, const struct plan *p, int i)
{
	const struct measure *m = p->kind->measure;
	int k;

	json_open(j, "why", '{');
	for (k = 0; k < p->kind->measures; k++, m++)
		if (m->is_why)
			json_number(j, m->key,
				    figure_factor(figure_named(m->key)) * run_mean(p, i, k));
	json_close(j, '}');
}

static void json_run(struct json *j, const struct plan *p, int i)
{
	const struct measure *m = p->kind->measure;
	const struct plan *session;
	uint64_t unsafe = 0;
	int k;

	for (session = p; session != NULL; session = session->earlier)
		unsafe += session->run[i].unsafe_rounds;
	json_open(j, NULL, '{');
	json_values(j, p, i);
	json_figures(j, p, i);
	json_why(j, p, i);
	json_count(j, "unsafe_rounds", unsafe);
	if (p->before == NULL && p->run[i].reference > 0)
		json_count(j, "reference", (uint64_t)p->run[i].reference);
	if (p->before != NULL) {
		json_open(j, "before", '{');
		json_figures(j, p->before, i);
		json_close(j, '}');
	}
	for (k = 0; k < p->kind->measures; k++, m++)
		if (m->ratio_key != NULL)
			json_estimate(j, m->ratio_key, m->end, "ratio", plan_result(p, i, k)->ratio,
				      1);
	json_close(j, '}');
}

static void print_json(struct comparison *c, const char *error)
{
	struct plan *p = c->plan;
	struct json j = {.stream = false};
	int i;

	c->begin_json(&j, c->arg);
	json_count(&j, "rounds", (uint64_t)p->rounds);
	json_string(&j, "machine", plan_fact(p, "machine"));
	if (p->before != NULL) {
		json_count(&j, "sessions", (uint64_t)plan_sessions(p));
		json_string(&j, "against", plan_fact(p->before, "machine"));
		json_count(&j, "against_rounds", (uint64_t)p->before->rounds);
		json_count(&j, "against_sessions", (uint64_t)plan_sessions(p->before));
		json_open(&j, "against_differs", '[');
		facts_compare(p, p->before, json_difference, &j);
		json_close(&j, ']');
	}
	json_open(&j, "runs", '[');
	for (i = 0; i < p->n; i++)
		json_run(&j, p, i);
	json_close(&j, ']');
	json_open(&j, "failed_runs", '[');
	for (i = 0; i < p->failures; i++)
		json_string(&j, NULL, p->failure[i]);
	json_close(&j, ']');
	if (c->opt->fail_above > 0 && error == NULL)
		c->status = verdict_print(p, c->opt->fail_above / 100, &j);
	json_close(&j, '}');
	json_report_close(&j, error);
}

/* The runs that failed in the end, which no figure has, of all sessions. */
static void print_failures(const struct plan *p, const char *before)
{
	int i;

	for (; p != NULL; p = p->earlier)
		for (i = 0; i < p->failures; i++)
			print_words(text_of("%somitted", before), p->failure[i]);
}

static void print_doubts(const struct comparison *c)
{
	print_failures(c->plan->before, "before: ");
	print_failures(c->plan, c->plan->before != NULL ? "now: " : "");
	if (c->plan->before != NULL)
		print_unsafe(c->plan->before, "before: ");
	print_unsafe(c->plan, c->opt->compare != NULL ? "now: " : "");
}

/* What decides whether a ratio to a session can be believed: no form of the report omits it. */
static void print_caution(const struct plan *p)
{
	if (p->before != NULL && p->before->earlier == NULL && p->earlier == NULL)
		report("one session each: the ratio includes what lasts for a session, such as a\n"
		       "  boot, the CPUs of interrupts or other guests of the host: repeat both\n"
		       "  (--save adds one)\n");
}

/* A block for a commit message. */
static void print_brief(const struct comparison *c)
{
	print_above(c->plan, c->opt);
	print_table(c->plan, false, true);
	report("=: no significant difference; ?: unsafe\n");
	print_caution(c->plan);
	print_doubts(c);
}

static void print_text(const struct comparison *c)
{
	const struct plan *p = c->plan;
	const double precision = c->opt->precision;
	bool same = false, none = false;
	int i;

	if (!c->quiet)
		print_above(p, c->opt);
	print_table(p, c->quiet, false);
	if (c->quiet)
		return;
	print_ratios(p, true, &same, &none);
	print_ratios(p, false, &same, &none);
	if (same)
		report("=: no significant difference, as 1 is in the interval\n");
	if (none)
		report("-: a figure is not above 0, or they vary too much\n");
	for (i = 0; i < p->n && p->run[i].reference == 0; i++)
		;
	if (p->before == NULL && i < p->n)
		report("each ratio is to the same run in the first setting, or with --vs to the run\n"
		       "  without it\n");
	print_caution(p);
	if (p->rounds > 1 && p->n > (p->before != NULL ? 1 : 2))
		report("each interval is 95%% on its own: of 20 equal runs, about one differs by "
		       "chance\n");
	if (precision > 0 && !plan_is_precise(p, precision))
		report("--precision %g%% was not reached in %d round%s%s\n", percent(precision),
		       p->rounds, plural((uint64_t)p->rounds),
		       plan_is_hopeless(p, precision)
			       ? ":\n  the error that all rounds share is larger: run longer (-t)"
			       : "");
	print_why(p);
	print_counts(p);
	groups_print(p);
	print_doubts(c);
	if (p->rounds == 1)
		report("one round has no interval: repeat it (-r 5)\n");
}

void comparison_print(struct comparison *c, const char *error)
{
	plan_compute(c->plan, false);
	if (c->json)
		print_json(c, error);
	else if (c->opt->brief)
		print_brief(c);
	else
		print_text(c);
	if (!c->json && c->opt->fail_above > 0 && error == NULL)
		c->status = verdict_print(c->plan, c->opt->fail_above / 100, NULL);
	if (c->plan->failures > 0 && c->opt->compare == NULL && c->status == EXIT_SUCCESS)
		c->status = EXIT_FAILURE;
}

/* How a load was measured. */
static const char *instrument_text(const struct plan_run *run)
{
	return strcmp(plan_value(run, RUN_INSTRUMENT), LOAD_BY_SOAKING) == 0 ? "-c" : "--idle";
}

static void check_or_die(const struct plan *p, const struct plan *saved, const char *option,
			 const char *path)
{
	const bool profiled = plan_fact(saved, PLAN_PROFILE)[0] != '\0';
	const struct plan_run *a, *b;
	int i;

	if (p->n != saved->n)
		die("%s: %s has other runs: %d run%s a round, not %d", option, printable(path),
		    saved->n, plural((uint64_t)saved->n), p->n);
	if (profiled != (plan_fact(p, PLAN_PROFILE)[0] != '\0'))
		die("%s: %s was measured %s --profile, which disturbs what it measures: %s it",
		    option, printable(path), profiled ? "with" : "without",
		    profiled ? "give" : "omit");
	for (i = 0; i < p->n; i++) {
		a = &saved->run[i];
		b = &p->run[i];
		if (!plan_is_same_run(a, b))
			die("%s: %s has other runs: its run %d is %s, not %s", option,
			    printable(path), i + 1, plan_name(a), plan_name(b));
		if (!plan_is_same_instrument(a, b) && plan_value(a, RUN_INSTRUMENT)[0] != '\0' &&
		    plan_value(b, RUN_INSTRUMENT)[0] != '\0')
			die("%s: %s was measured by another instrument: %s by %s, not %s", option,
			    printable(path), plan_name(a), instrument_text(a), instrument_text(b));
	}
}

void comparison_check_or_die(const struct plan *p, const struct plan *saved, const char *option,
			     const char *path)
{
	for (; saved != NULL; saved = saved->earlier)
		check_or_die(p, saved, option, path);
}
