#include "lib/compare/name.h"

#include "lib/report/units.h"

static bool differs(const struct plan *p, int factor, int run)
{
	return strcmp(plan_value(&p->run[0], factor), plan_value(&p->run[run], factor)) != 0;
}

/* Whether a factor differs from that of the first run wherever another one does. */
static bool differs_as(const struct plan *p, int factor, int other)
{
	int i = 0;

	while (i < p->n && (differs(p, factor, i) || !differs(p, other, i)))
		i++;
	return i == p->n;
}

unsigned differing_in(const struct plan *p)
{
	const struct factor *f = p->kind->factor;
	unsigned parts = 0, own, other;
	int i, k;

	for (i = 0; i < p->kind->factors; i++)
		for (k = 0; k < p->n; k++)
			parts |= f[i].is_named || differs(p, i, k) ? 1u << i : 0u;
	for (i = 0; i < p->kind->factors; i++) {
		if (f[i].alias == NULL)
			continue;
		own = 1u << i;
		other = 1u << (f[i].alias - f);
		if (parts & own && parts & other)
			parts &= differs_as(p, i, (int)(f[i].alias - f)) ? ~other : ~own;
	}
	return parts != 0 ? parts : 1u;
}

unsigned common_in(const struct plan *p)
{
	unsigned parts = ~differing_in(p);
	int i;

	for (i = 0; i < p->kind->factors; i++)
		parts &= p->kind->factor[i].is_apart ? ~(1u << i) : ~0u;
	return parts;
}

const char *name_of(const struct plan *p, int run, unsigned parts)
{
	const struct factor *f = p->kind->factor;
	const int label = plan_label(p, run);
	char name[PLAN_NAME] = "";
	const char *value;
	bool begins;
	size_t end;
	int i, comma;

	if (label >= 0)
		f[label].append(name, plan_value(&p->run[run], label), true);
	end = strlen(name);
	for (comma = 0; comma < 2; comma++)
		for (i = 0; i < p->kind->factors; i++) {
			value = plan_value(&p->run[run], i);
			if (!(parts & 1u << i) || *value == '\0' || f[i].follows_comma != comma ||
			    (label >= 0 && !plan_varies(p, run, i)))
				continue;
			begins = name[end] == '\0'; /* nothing follows the label */
			if (name[0] != '\0')
				string_append(name, PLAN_NAME, "%s", comma || begins ? ", " : " ");
			f[i].append(name, value, begins);
		}
	return text_of("%s%s", name,
		       strlen(name) < PLAN_NAME - 4 ? "" : "..."); /* less a character */
}

bool is_known(const struct plan *p, int measure)
{
	int i;

	for (i = 0; i < p->n; i++)
		if (!isnan(plan_mean(p, i, measure).value) ||
		    (p->before != NULL && !isnan(plan_mean(p->before, i, measure).value)))
			return true;
	return false;
}

const char *name_in(const struct plan *p, const struct plan *of, int i)
{
	return text_of("%s%s", name_of(p, i, differing_in(p)),
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
			  .run = p->before != NULL ? i : plan_reference(p, i),
			  .e = plan_ratio(p, i, measure)};

	r.unsafe = plan_unsafe(p, i, measure) | plan_unsafe(r.than, r.run, measure);
	r.is_asked = (p->before != NULL || i != r.run) && !isnan(plan_mean(p, i, measure).value) &&
		     !isnan(plan_mean(r.than, r.run, measure).value);
	r.is_known = r.is_asked && isfinite(r.e.value) && !isinf(r.e.low) && !isinf(r.e.high);
	r.is_same = r.is_known && r.e.low <= 1 && r.e.high >= 1;
	r.differs = r.is_known && (r.e.low > 1 || r.e.high < 1);
	return r;
}

const char *ratio_text(const struct plan *p, int measure, const struct ratio *r)
{
	return text_of("%s %s", p->kind->measure[measure].verb, times_text(&r->e, r->unsafe));
}
