#include "lib/compare/why.h"

#include "lib/compare/ratio.h"
#include "lib/report/table.h"
#include "lib/report/units.h"

/* A quantity that differs. */
struct row {
	int measure;
	double size;
};

struct why {
	const struct plan *p;
	struct row *row;
};

static double result_mean(const struct plan *of, int run, int measure)
{
	return plan_result(of, run, measure)->mean.value;
}

/* The cost that a part of a profile is a part of. */
static double whole_of(const struct plan *of, int run, int end)
{
	const struct measure *m = of->kind->measure;
	double sum = 0, part;
	int k;

	for (k = 0; k < of->kind->measures; k++) {
		part = m[k].part == PART_GROUP && m[k].end == end ? result_mean(of, run, k) : NAN;
		sum += isnan(part) ? 0 : part;
	}
	return sum;
}

/* By how much run i differs in a measure from the one that it is compared with; 0 if that may be chance. */
static double difference(const struct plan *p, int i, int measure)
{
	const struct measure *m = &p->kind->measure[measure];
	const bool is_share = figure_named(m->key)->kind == FIGURE_SHARE;
	const struct ratio r = ratio_of(p, i, measure);
	double now = result_mean(p, i, measure), then = result_mean(r.than, r.run, measure);
	struct estimate some;

	if ((r.than == p && r.run == i) || !p->run[i].is_measured ||
	    !r.than->run[r.run].is_measured)
		return 0;
	if (is_share) { /* what a run does not do has no share */
		now = isnan(now) ? 0 : now;
		then = isnan(then) ? 0 : then;
	}
	/* Of nothing there is no ratio: what is surely more than nothing differs from it. */
	some = plan_result(now > then ? p : r.than, now > then ? i : r.run, measure)->mean;
	if (!r.differs && !(fmin(now, then) == 0 && some.low > 0))
		return 0;
	if (m->part == PART_GROUP)
		return fabs(now - then) / whole_of(r.than, r.run, m->end);
	if (is_share)
		return fabs(now - then);
	return r.differs ? fabs(log(r.e.value)) : INFINITY;
}

static int by_size(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return x->measure - y->measure;
}

/* The plan of a column, and its run: of two plans each run stands before and now. */
static const struct plan *plan_of(const struct plan *p, int column, int *run)
{
	*run = p->before != NULL ? (column - 1) / 2 : column - 1;
	return p->before != NULL && column % 2 == 1 ? p->before : p;
}

static const char *label_of(const struct measure *m)
{
	const struct figure *row = figure_named(m->key);
	const char *who = m->end == 1 ? "receiver: " : "";
	const char *unit = row->kind == FIGURE_CPU_TIME ? ", us/KiB" : ", CPU s";

	return text_of("%s%s%s%s", who, row->group == GROUP_WAITS ? "waited for " : "", row->label,
		       m->part == PART_GROUP ? unit : "");
}

static const char *cell(const void *arg, int row, int column)
{
	const struct why *why = arg;
	const struct measure *m = &why->p->kind->measure[row < 0 ? 0 : why->row[row].measure];
	const struct plan *of;
	struct estimate e;
	int run, k;

	if (column == 0)
		return row < 0 ? "what differs" : label_of(m);
	of = plan_of(why->p, column, &run);
	if (row < 0)
		return name_in(why->p, of, run);
	k = why->row[row].measure;
	e = plan_result(of, run, k)->mean;
	return measure_text(m, e.value, statistics_half(&e), plan_unsafe(of, run, k));
}

void why_print(const struct plan *p, int most)
{
	const int columns = 1 + p->n * (p->before != NULL ? 2 : 1);
	struct why why = {p, alloc_or_die((size_t)p->kind->measures, sizeof(*why.row), "a table")};
	struct table t = {.columns = columns,
			  .most = WRAP_WIDTH,
			  .cell = cell,
			  .arg = &why,
			  .column = alloc_or_die((size_t)columns, sizeof(*t.column), "a table")};
	const struct measure *m = p->kind->measure;
	int i, k;

	for (k = 0; k < p->kind->measures; k++) {
		why.row[t.rows] = (struct row){.measure = k};
		for (i = 0; i < p->n && m[k].part != PART_NONE; i++)
			why.row[t.rows].size = fmax(why.row[t.rows].size, difference(p, i, k));
		t.rows += why.row[t.rows].size > 0;
	}
	for (i = 1; i < columns; i++)
		t.column[i].begins = p->before == NULL || i % 2 == 1;
	qsort(why.row, (size_t)t.rows, sizeof(*why.row), by_size);
	t.rows = t.rows < most ? t.rows : most;
	if (t.rows > 0)
		table_print(&t);
	free(why.row);
	free(t.column);
}
