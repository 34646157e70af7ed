#include "lib/report/stalls.h"

#include "lib/report/units.h"

void stalls_keep(struct stalls *s, struct stall stall)
{
	int i = s->kept;

	for (; i > 0 && s->first[i - 1].at_ns > stall.at_ns; i--)
		s->first[i] = s->first[i - 1];
	s->first[i] = stall;
	s->kept += s->kept < STALLS_KEPT;
}

/* Counts a wait, and keeps it if it is a stall. */
static void stalls_count(struct stalls *s, uint64_t at_ns, uint64_t ns)
{
	if (ns > s->longest_ns)
		s->longest_ns = ns;
	if (ns < STALL_LEAST_NS)
		return;
	stalls_keep(s, (struct stall){at_ns, ns, 0});
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

void stalls_add(struct stalls *sum, const struct stalls *s)
{
	int i;

	sum->n += s->n;
	if (s->longest_ns > sum->longest_ns)
		sum->longest_ns = s->longest_ns;
	for (i = 0; i < s->kept; i++)
		stalls_keep(sum, s->first[i]);
}

void stalls_list_text(const struct stalls *s, int most)
{
	struct wrap w = {.width = WRAP_WIDTH, .indent = "      "};
	int i;

	if (s->n == 0)
		return;
	wrap_add(&w, "", "    %s:", s->n == 1 ? "the stall" : "the first stalls");
	for (i = 0; i < s->kept && i < most; i++)
		wrap_add(&w, i > 0 ? ", " : " ", "%.3f s at %.3f s (%s)",
			 (double)s->first[i].ns / 1e9,
			 seconds_between(s->start_ns, s->first[i].at_ns),
			 time_text(s->first[i].at_ns, ""));
	report("\n");
}

void stalls_list_json(struct json *j, const char *key, const struct stalls *s,
		      const char *const *places)
{
	int i;

	json_open(j, key, '[');
	for (i = 0; i < s->kept && i < STALLS_FIRST; i++) {
		json_open(j, NULL, '{');
		json_number(j, "start", seconds_between(s->start_ns, s->first[i].at_ns));
		json_number(j, "seconds", (double)s->first[i].ns / 1e9);
		json_string(j, "place", places != NULL ? places[s->first[i].place] : NULL);
		json_string(j, "time", time_text(s->first[i].at_ns, "Z"));
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
