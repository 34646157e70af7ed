#include "lib/report/stalls.h"

#include "lib/report/units.h"

/* Counts a wait. */
static void stalls_count(struct stalls *s, uint64_t at_ns, uint64_t ns)
{
	if (ns > s->longest_ns)
		s->longest_ns = ns;
	if (ns < STALL_LEAST_NS)
		return;
	if (s->n < STALLS_FIRST)
		s->first[s->n] = (struct stall){at_ns, ns};
	s->n++;
}

void stalls_look(struct stall_watch *w, uint64_t now, uint64_t count, bool waits)
{
	const bool moves = !w->waits || !waits || count != w->count;

	if (w->ended || now < w->since_ns) /* another thread has looked since then */
		return;
	if (moves && w->still)
		stalls_count(&w->stalls, w->since_ns, now - w->since_ns);
	if (moves)
		w->since_ns = now;
	w->still = !moves;
	w->count = count;
	w->waits = waits;
}

void stalls_end(struct stall_watch *w, uint64_t now)
{
	stalls_look(w, now > w->since_ns ? now : w->since_ns, w->count, false);
	w->ended = true;
}

uint64_t stalls_period(int n)
{
	return (uint64_t)(20e6 * fmin(fmax(n / 16.0, 1), 5));
}

void pauses_look(struct pauses *p, uint64_t due, uint64_t now, uint64_t least_ns)
{
	if (now < due + least_ns)
		return;
	p->n++;
	if (now - due > p->longest_ns)
		p->longest_ns = now - due;
}

static uint64_t kept(const struct stalls *s)
{
	return s->n < STALLS_FIRST ? s->n : STALLS_FIRST;
}

void stalls_add(struct stalls *sum, const struct stalls *s)
{
	const struct stalls a = *sum;
	uint64_t i = 0, k = 0, n;

	sum->n += s->n;
	if (s->longest_ns > sum->longest_ns)
		sum->longest_ns = s->longest_ns;
	for (n = 0; n < kept(sum); n++)
		if (k == kept(s) || (i < kept(&a) && a.first[i].at_ns <= s->first[k].at_ns))
			sum->first[n] = a.first[i++];
		else
			sum->first[n] = s->first[k++];
}

void stalls_list_text(const struct stalls *s, int most)
{
	struct wrap w = {.width = WRAP_WIDTH, .indent = "      "};
	const uint64_t n = kept(s) < (uint64_t)most ? kept(s) : (uint64_t)most;
	char text[TIME_STRLEN];
	uint64_t i;

	if (n == 0)
		return;
	wrap_add(&w, "", "    %s:", s->n == 1 ? "the stall" : "the first stalls");
	for (i = 0; i < n; i++)
		wrap_add(&w, i > 0 ? ", " : " ", "%.3f s at %.3f s (%s)",
			 (double)s->first[i].ns / 1e9,
			 seconds_between(s->start_ns, s->first[i].at_ns),
			 time_text(s->first[i].at_ns, false, text));
	report("\n");
}

void stalls_list_json(struct json *j, const struct stalls *s)
{
	char text[TIME_STRLEN];
	uint64_t i;

	json_open(j, "first_stalls", '[');
	for (i = 0; i < kept(s); i++) {
		json_open(j, NULL, '{');
		json_number(j, "start", seconds_between(s->start_ns, s->first[i].at_ns));
		json_number(j, "seconds", (double)s->first[i].ns / 1e9);
		json_string(j, "time", time_text(s->first[i].at_ns, true, text));
		json_close(j, '}');
	}
	json_close(j, ']');
}

void pauses_text(const struct pauses *p)
{
	if (p->n > 0)
		report("    zcc itself was stopped or waited for a CPU: %" PRIu64
		       " time%s, maximum %.1f ms\n",
		       p->n, plural(p->n), (double)p->longest_ns / 1e6);
}

void pauses_json(struct json *j, const struct pauses *p)
{
	json_open(j, "pauses", '{');
	json_count(j, "count", p->n);
	json_number(j, "max", (double)p->longest_ns / 1e9);
	json_close(j, '}');
}
