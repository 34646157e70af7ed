#include "lib/compare/ratio.h"

#include "lib/report/units.h"

bool is_known(const struct plan *p, int measure)
{
	int i;

	for (i = 0; i < p->n; i++)
		if (!isnan(plan_result(p, i, measure)->mean.value) ||
		    (p->before != NULL && !isnan(plan_result(p->before, i, measure)->mean.value)))
			return true;
	return false;
}

const char *name_in(const struct plan *p, const struct plan *of, int i)
{
	return text_of("%s%s", plan_name(of != NULL ? &of->run[i] : &p->run[i]),
		       p->before == NULL || of == NULL ? ""
		       : of == p->before               ? " before"
						       : " now");
}

static const char *share_text(double mean, double half)
{
	const int places = percent(mean) < 1 ? 2 : 1;

	return isfinite(half)
		       ? text_of("%.*f%% +-%.*f%%", places, percent(mean), places, percent(half))
		       : text_of("%.*f%%", places, percent(mean));
}

const char *measure_text(const struct measure *m, double mean, double half, unsigned unsafe)
{
	const struct figure *row = figure_named(m->key);
	const double unit = row->kind == FIGURE_BIT_RATE ? 8 * 1024 : 1; /* of KiB/s */
	const int places = mean < 10 ? 2 : 1;

	if (isnan(mean))
		return "-";
	if (row->kind == FIGURE_LOAD)
		return load_text(mean, half, unsafe);
	if (row->kind == FIGURE_COST || row->kind == FIGURE_CPU_TIME ||
	    row->kind == FIGURE_SECONDS || row->kind == FIGURE_CPU_SECONDS)
		return cost_text(mean, half, unsafe);
	if (row->kind == FIGURE_SHARE)
		return share_text(mean, half);
	if ((m->part == PART_COUNT || row->kind == FIGURE_US) && mean < 100)
		return isfinite(half) ? text_of("%.*f +-%.*f", places, mean, places, half)
				      : decimal(mean, places);
	if (!isfinite(half))
		return grouped(mean / unit);
	return text_of("%s +-%s", grouped(mean / unit), grouped(half / unit));
}

#define WIDE 100 /* an interval whose ends differ by this factor is of no use */

const char *times_text(const struct estimate *e, unsigned unsafe)
{
	const int places = e->value < 10 ? 2 : 1;
	const char *text = text_of("%s%s", decimal(e->value, places), unsafe != 0 ? "?" : "");

	if (isnan(e->low))
		return text;
	if (e->high > WIDE * e->low)
		return text_of("%s (interval too wide)", text);
	return text_of("%s (%s to %s)", text, decimal(e->low, places), decimal(e->high, places));
}

struct ratio ratio_of(const struct plan *p, int i, int measure)
{
	struct ratio r = {.than = p->before != NULL ? p->before : p,
			  .run = p->before != NULL ? i : p->run[i].reference,
			  .e = plan_result(p, i, measure)->ratio};

	r.unsafe = plan_unsafe(p, i, measure) | plan_unsafe(r.than, r.run, measure);
	r.is_asked = (p->before != NULL || i != r.run) &&
		     !isnan(plan_result(p, i, measure)->mean.value) &&
		     !isnan(plan_result(r.than, r.run, measure)->mean.value);
	r.is_known = r.is_asked && isfinite(r.e.value) && !isinf(r.e.low) && !isinf(r.e.high);
	r.is_same = r.is_known && r.e.low <= 1 && r.e.high >= 1;
	r.differs = r.is_known && (r.e.low > 1 || r.e.high < 1);
	return r;
}

const char *ratio_text(const struct plan *p, int measure, const struct ratio *r)
{
	return text_of("%s %s", p->kind->measure[measure].verb, times_text(&r->e, r->unsafe));
}
