#include "lib/compare/groups.h"

#include "lib/compare/ratio.h"
#include "lib/report/units.h"

#define FIRST_WIDTH 20
#define CELL        15    /* columns of a figure, unless a name is wider */
#define LEAST_ROW   0.005 /* of the greatest cost: a group with less in all runs has no row */
#define LEAST_PART  0.05  /* of a difference */

/* What is printed: the groups of an end, in the runs of one plan or of two. */
struct groups {
	const struct plan *p;
	int measure[PROFILE_GROUPS], n; /* of which there are n */
	const char *who;                /* before a line */
	const char *unit;
};

/* The mean of a group; 0 where it is not known. */
static double group_mean(const struct plan *of, int run, int measure)
{
	const double mean = plan_result(of, run, measure)->mean.value;

	return isnan(mean) ? 0 : mean;
}

/* Whether a run has a profile of this end. */
static bool has_profile(const struct groups *g, const struct plan *of, int run)
{
	int k;

	for (k = 0; k < g->n; k++)
		if (!isnan(plan_result(of, run, g->measure[k])->mean.value))
			return true;
	return false;
}

static double cost_of(const struct groups *g, const struct plan *of, int run)
{
	double sum = 0;
	int k;

	for (k = 0; k < g->n; k++)
		sum += group_mean(of, run, g->measure[k]);
	return sum;
}

/* Whether the load, or the profile itself, makes the groups of a run unsafe. */
static bool is_unsafe(const struct groups *g, const struct plan *of, int run)
{
	return plan_unsafe(of, run, g->measure[0]) != 0 ||
	       plan_profile_unsafe(of, run, g->p->kind->measure[g->measure[0]].end);
}

/* The plan of the i-th column, and its run: of two plans each run stands before and now. */
static const struct plan *column(const struct plan *p, int i, int *run)
{
	*run = p->before != NULL ? i / 2 : i;
	return p->before != NULL && i % 2 == 0 ? p->before : p;
}

/* Whether a group has a part that counts in one of the runs. */
static bool matters(const struct groups *g, int measure, int columns)
{
	double most = 0, all = 0;
	const struct plan *of;
	int i, run;

	for (i = 0; i < columns; i++) {
		of = column(g->p, i, &run);
		most = fmax(most, group_mean(of, run, measure));
		all = fmax(all, cost_of(g, of, run));
	}
	return most >= LEAST_ROW * all && most > 0;
}

static int width_of(const struct groups *g, int i)
{
	const struct plan *of;
	int run;

	of = column(g->p, i, &run);
	return 2 + (int)fmax((double)strlen(name_in(g->p, of, run)), CELL);
}

/* Prints a row of the columns from `first` to before `end`: that of a measure, or of the names (-1). */
static void print_row(const struct groups *g, int measure, int first, int end)
{
	const struct measure *m = g->p->kind->measure;
	const struct plan *of;
	struct estimate e;
	const char *name;
	int i, run;

	report("%-*s", FIRST_WIDTH,
	       measure >= 0 ? m[measure].group : text_of("%s%s", g->who, g->unit));
	for (i = first; i < end; i++) {
		of = column(g->p, i, &run);
		name = name_in(g->p, of, run);
		e = plan_result(of, run, measure >= 0 ? measure : g->measure[0])->mean;
		report("  %*s", width_of(g, i) - 2,
		       measure < 0
			       ? name
			       : cost_text(e.value, statistics_half(&e), is_unsafe(g, of, run)));
	}
	report("\n");
}

/* The tables: several where the names of all runs are too wide for one. */
static void print_tables(const struct groups *g)
{
	const int columns = g->p->n * (g->p->before != NULL ? 2 : 1);
	int first, end, k, width;

	for (first = 0; first < columns; first = end) {
		width = FIRST_WIDTH + width_of(g, first);
		for (end = first + 1; end < columns; end++) {
			width += width_of(g, end);
			if (width > WRAP_WIDTH)
				break;
		}
		print_row(g, -1, first, end);
		for (k = 0; k < g->n; k++)
			if (matters(g, g->measure[k], columns))
				print_row(g, g->measure[k], first, end);
	}
}

/* `send 64k - sendfile 1m: 0.83 us/KiB: data copy 0.61, memory 0.09`: the greatest parts of a difference first. */
static void print_difference(const struct groups *g, const struct plan *a, int i,
			     const struct plan *b, int k)
{
	const double all = cost_of(g, a, i) - cost_of(g, b, k);
	const struct measure *m = g->p->kind->measure;
	const bool has_unsafe = is_unsafe(g, a, i) || is_unsafe(g, b, k);
	double part[PROFILE_GROUPS];
	struct wrap w = {.width = WRAP_WIDTH, .indent = "  "};
	int most = 0, n, l;

	if (!has_profile(g, a, i) || !has_profile(g, b, k))
		return;
	for (l = 0; l < g->n; l++)
		part[l] = group_mean(a, i, g->measure[l]) - group_mean(b, k, g->measure[l]);
	wrap_add(&w, "", "%s%s - %s:", g->who, name_in(g->p, a, i), name_in(g->p, b, k));
	wrap_add(&w, " ", "%.3f%s %s", all, has_unsafe ? "?" : "", g->unit);
	for (n = 0; n < g->n; n++) {
		for (l = 0; l < g->n; l++)
			most = fabs(part[l]) > fabs(part[most]) ? l : most;
		if (!(fabs(part[most]) >= LEAST_PART * fabs(all)) || part[most] == 0)
			break;
		wrap_add(&w, n > 0 ? ", " : ": ", "%s %.3f", m[g->measure[most]].group, part[most]);
		part[most] = 0;
	}
	report("\n");
}

void groups_print(const struct plan *p)
{
	const int columns = p->n * (p->before != NULL ? 2 : 1);
	const struct measure *m = p->kind->measure;
	const struct plan *of;
	struct groups g;
	int end, i, k, run;

	for (end = 0; end < 2; end++) {
		g = (struct groups){.p = p, .who = end == 1 ? "receiver: " : ""};
		for (k = 0; k < p->kind->measures && g.n < PROFILE_GROUPS; k++)
			if (m[k].group != NULL && m[k].end == end)
				g.measure[g.n++] = k;
		for (i = 0; i < columns; i++) {
			of = column(p, i, &run);
			if (has_profile(&g, of, run))
				break;
		}
		if (i == columns)
			continue;
		g.unit = figure_named(m[g.measure[0]].key)->kind == FIGURE_CPU_TIME ? "us/KiB"
										    : "CPU seconds";
		print_tables(&g);
		for (i = 0; i < p->n; i++)
			if (p->before != NULL)
				print_difference(&g, p, i, p->before, i);
			else if (p->run[i].reference != i)
				print_difference(&g, p, p->run[i].reference, p, i);
	}
}
