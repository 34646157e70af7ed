#include "lib/compare/comparison.h"

#include <limits.h>

#include "lib/compare/facts.h"
#include "lib/compare/ratio.h"
#include "lib/compare/verdict.h"
#include "lib/compare/why.h"
#include "lib/report/table.h"
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

/*
 * The table.
 */

/* The signs of a table, of which lines below it tell. */
struct signs {
	bool same, none, unsafe;
};

/* The table: a column of means, or of the ratios behind them, has its measure as its id. */
struct cells {
	const struct plan *p;
	bool brief;
	struct column *column;
	struct signs *signs; /* that its cells have */
};

#define COLUMNS_MAX 64
#define WHY_MOST    8  /* rows of what differs, without -d */
#define BRIEF_WIDTH 75 /* of a commit message */

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

static const char *cell(const void *arg, int row, int column)
{
	const struct cells *of = arg;
	const struct plan *p = of->p, *in = p->before != NULL && row % 2 == 0 ? p->before : p;
	const int i = p->before != NULL ? row / 2 : row, k = of->column[column].id;
	const struct measure *m = &p->kind->measure[k];
	const bool is_giga = of->brief && figure_named(m->key)->kind == FIGURE_BIT_RATE;
	struct estimate e;
	struct ratio r;
	unsigned unsafe;

	if (column == 0)
		return row < 0 ? "run" : name_in(p, in, i);
	if (row < 0)
		return of->column[column].is_left ? ratio_head(p) : is_giga ? "Gbit/s" : m->title;
	if (!of->column[column].is_left) {
		e = plan_result(in, i, k)->mean;
		unsafe = plan_unsafe(in, i, k);
		of->signs->unsafe |= unsafe != 0;
		return is_giga ? giga_text(e.value, statistics_half(&e))
			       : measure_text(m, e.value, statistics_half(&e), unsafe);
	}
	if (in != p)
		return "";
	r = ratio_of(p, i, k);
	of->signs->same |= r.is_same;
	of->signs->none |= r.is_asked && !r.is_known;
	if (!r.is_known)
		return r.is_asked ? "-" : "";
	return text_of("%s%s", times_text(&r.e, r.unsafe), r.is_same ? " =" : "");
}

/* Prints the columns of what is known, and returns their signs; several tables if they are too wide, or one line a run. */
static struct signs print_table(const struct plan *p, bool quiet, bool brief)
{
	struct signs signs = {.same = false};
	const struct measure *m = p->kind->measure, *last = NULL;
	struct column column[COLUMNS_MAX] = {{.id = 0}};
	const struct cells cells = {p, brief, column, &signs};
	struct table t = {.rows = p->n * (p->before != NULL ? 2 : 1),
			  .columns = 1,
			  .column = column,
			  .most = brief   ? BRIEF_WIDTH
				  : quiet ? INT_MAX
					  : WRAP_WIDTH,
			  .cell = cell,
			  .arg = &cells};
	int k;

	for (k = 0; k < p->kind->measures; k++) {
		if (m[k].title == NULL || !is_known(p, k))
			continue;
		column[t.columns++] = (struct column){
			.id = k,
			.begins = last == NULL || m[k].is_aside || last->is_aside ||
				  last->end != m[k].end || last->is_of_load != m[k].is_of_load ||
				  (!m[k].is_of_load && m[k].ratio_key != NULL)};
		if (m[k].ratio_key != NULL && (p->n > 1 || p->before != NULL))
			column[t.columns++] = (struct column){.id = k, .is_left = true};
		last = &m[k];
	}
	table_print(&t);
	return signs;
}

/*
 * What is below the table.
 */

static void add_ratio(struct wrap *w, const struct plan *p, int i, int measure)
{
	const struct ratio r = ratio_of(p, i, measure);

	wrap_add(w, w->column > 0 ? "; " : "", "%s", name_in(p, p, i));
	wrap_add(w, " ", "%s", ratio_text(p, measure, &r));
	wrap_add(w, " ", "%s %s", p->kind->measure[measure].times, name_in(p, r.than, r.run));
}

/* Adds the greatest and the smallest ratio of a measure, of those that differ; returns whether any run has a ratio. */
static bool add_extremes(struct wrap *w, const struct plan *p, int measure)
{
	int i, least = -1, most = -1;
	bool has_ratio = false;
	struct ratio r;

	for (i = 0; i < p->n; i++) {
		r = ratio_of(p, i, measure);
		has_ratio |= r.is_same || r.differs;
		if (!r.differs)
			continue;
		if (r.e.value > 1 &&
		    (most < 0 || r.e.value > plan_result(p, most, measure)->ratio.value))
			most = i;
		if (r.e.value < 1 &&
		    (least < 0 || r.e.value < plan_result(p, least, measure)->ratio.value))
			least = i;
	}
	if (most >= 0)
		add_ratio(w, p, most, measure);
	if (least >= 0)
		add_ratio(w, p, least, measure);
	return has_ratio;
}

/* A sentence with the answer: which runs differ most in cost, at either end, or in throughput if no cost is known. */
static void print_answer(const struct plan *p)
{
	struct wrap w = {.width = WRAP_WIDTH, .indent = "  "};
	const struct measure *m = p->kind->measure;
	bool is_compared = false;
	int of_load, k, first = -1;

	for (of_load = 1; of_load >= 0 && first < 0; of_load--)
		for (k = 0; k < p->kind->measures; k++)
			if (m[k].ratio_key != NULL && m[k].is_of_load == of_load &&
			    is_known(p, k) && (first < 0 || of_load)) {
				is_compared |= add_extremes(&w, p, k);
				first = first < 0 ? k : first;
			}
	if (w.column == 0 && is_compared)
		wrap_add(&w, "", "no significant difference in %.*s",
			 (int)strcspn(m[first].title, ","), m[first].title); /* without its unit */
	if (w.column > 0)
		report("\n");
}

/* A line for receivers' methods that differ. */
static void print_receivers(const struct plan *p)
{
	struct wrap w = {.width = WRAP_WIDTH, .indent = "  "};
	const struct plan_run *run, *first = NULL;
	const char *separator = " ";
	bool differ = false;

	for (run = p->run; run < p->run + p->n; run++) {
		first = first == NULL && run->is_measured ? run : first;
		differ |= run->is_measured && strcmp(run->receiver, first->receiver) != 0;
	}
	if (!differ)
		return;
	wrap_add(&w, "", "receiver's method:");
	for (run = p->run; run < p->run + p->n; run++) {
		if (!run->is_measured)
			continue;
		wrap_add(&w, separator, "%s %s", plan_name(run),
			 run->receiver[0] != '\0' ? run->receiver : "-");
		separator = ", ";
	}
	report("\n");
}

/* A line for each reason why loads were unsafe in all sessions, and one about those that are not measured. */
static void print_unsafe(const struct plan *p, const char *before)
{
	const char *why = NULL;
	const struct plan *session;
	int i, unsafe, unmeasured = 0, runs = 0;

	for (session = p; session != NULL; session = session->earlier) {
		runs += session->added;
		unmeasured += session->unmeasured;
		why = why != NULL ? why : session->no_load;
	}
	for (i = 0; i < UNSAFE_REASONS; i++) {
		for (session = p, unsafe = 0; session != NULL; session = session->earlier)
			unsafe += session->unsafe_runs[i];
		if (unsafe > 0)
			report("%s%s in %d of %d run%s: unsafe (?)\n", before, limits_name(i),
			       unsafe, runs, plural((uint64_t)runs));
	}
	if (unmeasured > 0)
		wrap_line(BRIEF_WIDTH, "%sload not measured in %d of %d run%s: %s", before,
			  unmeasured, runs, plural((uint64_t)runs), why);
}

/* The sessions of a file, the last one first: their rounds, machine, date and title. */
static void print_sessions(const char *which, const struct plan *p, const char *path)
{
	const char *date, *title;

	for (; p != NULL; p = p->earlier) {
		wrap_line(BRIEF_WIDTH, "%s: %d round%s in %s: %s", which, p->rounds,
			  plural((uint64_t)p->rounds), path, plan_fact(p, "machine"));
		date = plan_fact(p, "date");
		title = plan_fact(p, "title");
		if (date[0] != '\0')
			wrap_line(BRIEF_WIDTH, "  of %s%s%s", date, title[0] != '\0' ? ": " : "",
				  title);
	}
}

static void print_difference(const char *key, const char *before, const char *now, void *options)
{
	*(bool *)options |= key[0] == '-';
	wrap_line(BRIEF_WIDTH, "%s%s differs: %s before, %s now", key,
		  strcmp(key, "congestion") == 0 ? " control" : "",
		  *before != '\0' ? before : "default", *now != '\0' ? now : "default");
}

static void json_difference(const char *key, const char *before, const char *now, void *json)
{
	(void)before;
	(void)now;
	json_string(json, NULL, key + strspn(key, "-"));
}

/* Prints what differs from a session, and both command lines if it is an option. */
static void print_differences(const struct plan *now, const struct plan *then)
{
	bool options = false;

	facts_compare(now, then, print_difference, &options);
	if (options) {
		wrap_line(BRIEF_WIDTH, "command before: %s", plan_fact(then, "command"));
		wrap_line(BRIEF_WIDTH, "command now: %s", plan_fact(now, "command"));
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
		wrap_line(INT_MAX, "  %s", command);
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

/*
 * Whether words may set an option: by its name, which may be cut short, or by its letter, which may follow others and
 * begins the name.
 */
static bool may_set(const char *words, const char *name, bool has_letter)
{
	char *rest = strdupa(words), *word;
	size_t n;

	while ((word = strsep(&rest, " ")) != NULL) {
		n = strcspn(word, "=");
		if (strncmp(word, "--", 2) == 0
			    ? strncmp(word + 2, name, n - 2) == 0
			    : *word == '-' && has_letter && strchr(word, *name) != NULL)
			return true;
	}
	return false;
}

/* Whether all runs share a condition: a --setting may change any of the machine's but its CPU, words an option. */
static bool is_shared(const struct plan *p, const char *key)
{
	const bool is_option = key[0] == '-';
	int i;

	for (i = 0; i < p->n; i++)
		if ((plan_value(&p->run[i], RUN_SETTING)[0] != '\0' && !is_option &&
		     strcmp(key, "cpu_model") != 0) ||
		    may_set(plan_value(&p->run[i], RUN_WORDS), key + strspn(key, "-"), is_option))
			return false;
	return true;
}

/* What the figures of all runs depend on, of the conditions of a session. */
static void print_setup(const struct plan *p)
{
	struct wrap w = {.width = BRIEF_WIDTH, .indent = "  "};
	const struct condition *c = p->kind->setup;
	const char *separator = "setup: ", *value;

	for (; c != NULL && c->key != NULL; c++) {
		value = plan_fact(p, c->key);
		if (value[strspn(value, "?")] == '\0' || !is_shared(p, c->key))
			continue;
		wrap_add(&w, separator, c->format, printable(value));
		separator = ", ";
	}
	if (w.column > 0)
		report("\n");
}

/* Prints the rounds, and the other sessions. */
static void print_above(const struct plan *p, const struct compare_options *opt)
{
	if (opt->brief && plan_fact(p, "command")[0] != '\0')
		wrap_line(BRIEF_WIDTH, "$ %s", plan_fact(p, "command"));
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
	if (p->before == NULL || p->earlier != NULL) /* else the same file */
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
static void json_parts(struct json *j, const struct plan *p, int i, int end, enum part part)
{
	const struct measure *m = p->kind->measure;
	bool is_open = false;
	int k;

	for (k = 0; k < p->kind->measures; k++, m++) {
		if (m->part != part || m->end != end || isnan(plan_result(p, i, k)->mean.value))
			continue;
		if (!is_open)
			json_open(j,
				  text_of("%s%s", end == 1 ? PLAN_REMOTE : "",
					  part == PART_GROUP ? "groups" : "counts"),
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
		if (m->title == NULL)
			continue;
		json_estimate(j, m->key, m->end, "mean", plan_result(p, i, k)->mean,
			      figure_factor(figure_named(m->key)));
		unsafe |= plan_unsafe(p, i, k);
	}
	for (k = 0; k < 4; k++)
		json_parts(j, p, i, k % 2, k < 2 ? PART_COUNT : PART_GROUP);
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
		if (m->part == PART_WHY)
			json_number(j, m->key,
				    figure_factor(figure_named(m->key)) *
					    plan_result(p, i, k)->mean.value);
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
	json_string(&j, "no_load_text", p->no_load);
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
			wrap_line(BRIEF_WIDTH, "%somitted: %s", before, p->failure[i]);
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
	struct signs signs;

	print_above(c->plan, c->opt);
	signs = print_table(c->plan, false, true);
	if (signs.same)
		report("=: no significant difference\n");
	if (signs.unsafe)
		report("?: unsafe\n");
	print_caution(c->plan);
	print_doubts(c);
}

static void print_text(const struct comparison *c)
{
	const struct plan *p = c->plan;
	const double precision = c->opt->precision;
	struct signs signs;
	int i;

	if (!c->quiet) {
		print_above(p, c->opt);
		print_receivers(p);
		why_print(p, c->is_detailed ? INT_MAX : WHY_MOST);
	}
	signs = print_table(p, c->quiet, false);
	if (c->quiet)
		return;
	if (signs.same)
		report("=: no significant difference, as 1 is in the interval\n");
	if (signs.none)
		report("-: a figure is not above 0, or they vary too much\n");
	for (i = 0; i < p->n && p->run[i].reference == 0; i++)
		;
	if (p->before == NULL && i < p->n)
		report("each ratio is to the same run in the first setting, or with --vs to the run\n"
		       "  without it\n");
	print_caution(p);
	if (p->rounds > 1 && p->n > (p->before != NULL ? 1 : 2))
		report("each interval is 95%%: of 20 ratios of equal runs, about one differs by "
		       "chance\n");
	if (precision > 0 && !plan_is_precise(p, precision))
		report("--precision %g%% was not reached in %d round%s%s\n", percent(precision),
		       p->rounds, plural((uint64_t)p->rounds),
		       plan_is_hopeless(p, precision)
			       ? ":\n  the error that all rounds share is larger: run longer (-t)"
			       : "");
	print_doubts(c);
	if (p->rounds == 1)
		report("one round has no interval: repeat it (-r 5)\n");
	print_answer(p);
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

static void check_or_die(const struct plan *p, const struct plan *saved, const char *option,
			 const char *path)
{
	const bool profiled = plan_fact(saved, PLAN_PROFILE)[0] != '\0';
	const struct instrument_kind *was, *is;
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
		was = instrument_named(plan_value(a, RUN_INSTRUMENT));
		is = instrument_named(plan_value(b, RUN_INSTRUMENT));
		if (was != is && *was->option != '\0' && *is->option != '\0')
			die("%s: %s was measured by another instrument: %s by %s, not %s", option,
			    printable(path), plan_name(a), was->option, is->option);
	}
}

void comparison_check_or_die(const struct plan *p, const struct plan *saved, const char *option,
			     const char *path)
{
	for (; saved != NULL; saved = saved->earlier)
		check_or_die(p, saved, option, path);
}
