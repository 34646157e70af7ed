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

const char *times_text(const struct estimate *e, unsigned unsafe)
{
	const int places = e->value < 10 ? 2 : 1;
	const char *text = text_of("%s%s", decimal(e->value, places), unsafe != 0 ? "?" : "");

	if (isnan(e->low))
		return text;
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
