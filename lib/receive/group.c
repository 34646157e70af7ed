#include "lib/receive/group.h"

#include <sys/eventfd.h>

void member_mark(const struct meter *m, const struct member *c, struct mark *mark, bool counters)
{
	mark->bytes = c->bytes;
	mark->calls = c->calls;
	mark->files = c->files;
	mark_now(m, mark);
	if (counters)
		counters_read(&mark->counters, c->interface[0] != '\0' ? c->interface : NULL);
}

void group_join(struct client_group *g, struct member *c)
{
	if (g->n++ == 0) {
		g->total = 0;
		g->overlapped = g->summary = false;
		strcpy(g->interface, c->interface);
		figures_init(&g->sum);
		memset(&g->begin, 0, sizeof(g->begin));
		memset(&g->end, 0, sizeof(g->end));
		g->start_ns = now_ns();
	} else {
		g->overlapped = true;
		/* Packet rates of different interfaces cannot be added. */
		if (strcmp(g->interface, c->interface) != 0)
			g->interface[0] = '\0';
	}
	g->total++;
	LIST_INSERT_HEAD(&g->members, c, link);
}

static void report_all(struct client_group *g, bool interrupted)
{
	struct figures f;

	figures_between(g->meter, &g->begin, &g->end, &f);
	f.bytes = g->sum.bytes;
	f.calls = g->sum.calls;
	f.files = g->sum.files;
	f.warmup = g->sum.warmup;
	f.clients = g->total;
	if (g->interface[0] == '\0')
		f.rates.packets_in = f.rates.packets_out = NAN;
	report_group(g->report, &f, g->summary, g->overlapped, interrupted);
}

void group_remove(struct client_group *g, struct member *c, const struct figures *f, bool ok,
		  bool summary, bool interrupted)
{
	pthread_t before;
	bool has_before;

	pthread_mutex_lock(&g->lock);
	before = g->last_thread;
	has_before = g->has_last;
	g->last_thread = pthread_self();
	g->has_last = true;
	g->removed_bytes += c->bytes;
	if (c->calls > 0) { /* the time of the group is from the first begin to the last end */
		if (g->begin.ns == 0 || c->begin.ns < g->begin.ns)
			g->begin = c->begin;
		if (c->end.ns > g->end.ns)
			g->end = c->end;
		figures_add(&g->sum, f);
	}
	g->summary |= summary;
	g->failed |= !ok;
	LIST_REMOVE(c, link);
	if (g->n == 1)
		report_all(g, interrupted);
	g->n--; /* at the end, since the main thread reads it without the lock */
	eventfd_write(g->wake, 1);
	pthread_mutex_unlock(&g->lock);
	if (has_before)
		pthread_join(before, NULL);
}

void group_close(struct client_group *g)
{
	pthread_mutex_lock(&g->lock);
	if (g->n > 0 && g->report->json)
		report_all(g, true);
}

void interval_next(struct client_group *g, struct interval *v, bool quiet)
{
	struct interval last = *v;
	const struct member *c;
	struct figures f;

	pthread_mutex_lock(&g->lock);
	mark_now(g->meter, &v->begin);
	v->begin.bytes = g->removed_bytes;
	v->warm_up = false;
	LIST_FOREACH (c, &g->members, link) {
		/* cppcheck-suppress uninitvar ; LIST_FOREACH() sets it */
		v->begin.bytes += c->bytes;
		v->warm_up |= c->warming;
	}
	/* The first interval begins just before its group, when nothing could come. */
	if (last.begin.ns < g->start_ns)
		last.begin.ns = g->start_ns;
	figures_between(g->meter, &last.begin, &v->begin, &f);
	if (g->n > 0 && f.bytes > 0 && (g->report->json || !quiet))
		report_group_interval(g->report, &f, seconds_between(g->start_ns, last.begin.ns),
				      g->n, last.warm_up || v->warm_up);
	pthread_mutex_unlock(&g->lock);
}
