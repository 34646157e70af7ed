#include "lib/receive/group.h"

#include <sys/utsname.h>

void wait_for_events(struct context *x, struct pollfd *p, nfds_t n, uint64_t due_ns,
		     const sigset_t *unblocked)
{
	pthread_mutex_unlock(&x->report.lock);
	wait_until(p, n, due_ns, unblocked);
	pthread_mutex_lock(&x->report.lock);
}

void mark_now(struct meter *m, struct mark *mark)
{
	mark->ns = now_ns();
	if (m->wanted)
		meter_read(m, &mark->load);
}

void figures_between(const struct context *x, const struct mark *from, const struct mark *to,
		     struct figures *f)
{
	figures_init(f);
	f->bytes = to->bytes - from->bytes;
	f->calls = to->calls - from->calls;
	f->files = to->files - from->files;
	f->seconds = seconds_between(from->ns, to->ns);
	if (x->meter.wanted) {
		meter_load(&x->meter, &from->load, &to->load, &f->host);
		f->host.seconds = f->seconds; /* the load of a part is taken for that of all */
	}
	if (to->counters.ns > from->counters.ns + RATES_NS)
		counters_rates(&from->counters, &to->counters, &f->host.rates);
	if (!isnan(f->host.load))
		f->host.unsafe |= limits_steal(f->host.steal);
	strcpy(f->method, x->opt->method->name);
}

void figures_describe(struct context *x, const struct link *link, struct figures *f)
{
	struct utsname system;

	uname(&system);
	strcpy(f->version, VERSION);
	strcpy(f->kernel, system.release);
	strcpy(f->boot, x->boot);
	environment_setup(&x->report.environment, link, f);
	if (isnan(f->host.load))
		strcpy(f->host.no_load, meter_no_load(&x->meter, f->host.unsafe));
}

void receipt_send(int sock, const struct figures *f, int flags)
{
	char line[RECEIPT_MAX];
	size_t left = receipt_format(f, line);
	const char *from = line;
	ssize_t n;

	while (left > 0 && (n = TEMP_FAILURE_RETRY(send(sock, from, left, flags))) > 0) {
		from += n;
		left -= (size_t)n;
	}
	shutdown(sock, SHUT_WR);
}

/* Begins an interval; returns whether a client was in its warm-up in the one before. */
static bool interval_begin(struct context *x)
{
	struct interval *i = &x->group.interval;
	const bool warmed_up = atomic_exchange(&x->group.warms_up, false) || i->warm_up;
	const struct client *c;

	i->begin.bytes = x->group.removed_bytes;
	i->warm_up = false;
	i->clients = 0;
	LIST_FOREACH (c, &x->group.clients, link) {
		/* cppcheck-suppress uninitvar ; LIST_FOREACH() sets it */
		i->begin.bytes += c->bytes;
		i->warm_up |= c->warming;
		i->clients += c->begun;
	}
	mark_now(&x->meter, &i->begin);
	return warmed_up || i->warm_up;
}

void group_join(struct context *x, struct client *c)
{
	struct client_group *g = &x->group;

	if (g->n++ == 0) {
		g->total = 0;
		g->summary = g->finished = false;
		figures_init(&g->sum);
		g->begin = g->end = (struct mark){.ns = 0};
		interval_begin(x);
		g->stalls = (struct stalls){.start_ns = g->interval.begin.ns};
	}
	LIST_INSERT_HEAD(&g->clients, c, link);
}

void group_look(struct context *x)
{
	const uint64_t now = now_ns();
	struct client *c;

	pthread_mutex_lock(&x->group.lock);
	/* cppcheck-suppress unknownMacro ; it is that of sys/queue.h */
	LIST_FOREACH (c, &x->group.clients, link)
		/* cppcheck-suppress uninitvar ; LIST_FOREACH() sets it */
		stalls_look(&c->silence, now, c->bytes, c->bytes > 0 && !c->warming);
	pthread_mutex_unlock(&x->group.lock);
}

void group_close(struct context *x)
{
	const struct client_group *g = &x->group;
	struct figures sum = g->sum, all;

	figures_between(x, &g->begin, &g->end, &all);
	sum.seconds = all.seconds;
	all.host.unsafe |= sum.host.unsafe;
	sum.host = all.host;
	sum.clients = g->total;
	sum.cut = !g->finished;
	strcpy(sum.method, all.method);
	if (isnan(sum.host.load))
		strcpy(sum.host.no_load, meter_no_load(&x->meter, sum.host.unsafe));
	if (g->interface[0] == '\0')
		sum.host.rates.packets_in = sum.host.rates.packets_out = NAN;
	report_group(&x->report, &sum, &g->stalls, g->summary);
}

void group_remove(struct context *x, struct client *c)
{
	struct client_group *g = &x->group;

	g->removed_bytes += c->bytes;
	if (c->begun && c->calls > 0) {
		/* Packet rates of different interfaces cannot be added. */
		if (g->begin.ns == 0)
			strcpy(g->interface, c->interface);
		else if (strcmp(g->interface, c->interface) != 0)
			g->interface[0] = '\0';
		/* The time of the group is from the first begin to the last end. */
		if (g->begin.ns == 0 || c->begin.ns < g->begin.ns)
			g->begin = c->begin;
		if (c->end.ns > g->end.ns)
			g->end = c->end;
		figures_add(&g->sum, &c->figures);
		if (isnan(c->figures.tcp.rtt)) /* subflows may have other interfaces */
			g->interface[0] = '\0';
		stalls_add(&g->stalls, &c->silence.stalls);
	}
	g->summary |= c->summary;
	g->finished |= !c->figures.cut;
	LIST_REMOVE(c, link);
	if (--g->n == 0)
		group_close(x);
}

void interval_next(struct context *x)
{
	struct client_group *g = &x->group;
	const struct mark last = g->interval.begin;
	const bool warm_up = interval_begin(x);
	struct figures f;

	figures_between(x, &last, &g->interval.begin, &f);
	f.clients = g->interval.clients;
	meter_say(&x->meter, &f.host);
	if (g->n > 0 && f.bytes > 0)
		report_group_interval(&x->report, &f, seconds_between(g->stalls.start_ns, last.ns),
				      warm_up);
}
