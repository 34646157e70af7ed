#include "lib/receive/meter.h"

void mark_now(const struct meter *m, struct mark *mark)
{
	mark->ns = now_ns();
	if (m->soaker != NULL)
		load_sample_read(m->soaker, &m->calibration, &mark->load, NULL);
}

void figures_between(const struct meter *m, const struct mark *from, const struct mark *to,
		     struct figures *f)
{
	struct load l;

	figures_init(f);
	f->bytes = to->bytes - from->bytes;
	f->calls = to->calls - from->calls;
	f->files = to->files - from->files;
	f->seconds = seconds_between(from->ns, to->ns);
	if (m->soaker != NULL) {
		load_between(&m->calibration, &from->load, &to->load, -1, &l);
		figures_load(f, &l, m->calibration.cpus.n);
	}
	if (to->counters.ns > from->counters.ns + RATES_NS)
		counters_rates(&from->counters, &to->counters, &f->rates);
	strcpy(f->method, m->method);
}
