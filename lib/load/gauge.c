#include "lib/load/gauge.h"

#include "lib/load/baseline.h"

void gauge_cpus(const struct gauge_setup *setup, struct cpus *cpus)
{
	cpus_to_soak(setup->n_cpus, &setup->on, cpus);
}

void gauge_check_cpus(const struct gauge_setup *setup)
{
	struct cpus cpus;

	if (setup->n_cpus > 0 && setup->on.n > 0)
		usage_error("-N, --cpus and --on-cpus cannot be used together");
	gauge_cpus(setup, &cpus);
}

static const char *file_of(const struct gauge_setup *setup)
{
	return setup->file != NULL ? setup->file : CALIBRATION_FILE;
}

void gauge_calibrate_or_die(const struct gauge_setup *setup, bool force)
{
	struct cpus cpus;

	gauge_cpus(setup, &cpus);
	calibrate_or_die(&cpus, file_of(setup), force, setup->wait);
}

bool gauge_is_wanted(const struct gauge_setup *setup)
{
	return setup->soak || setup->idle;
}

void gauge_prepare_or_die(struct gauge *g, const struct gauge_setup *setup)
{
	struct cpus cpus;

	*g = (struct gauge){.setup = setup, .bracket = {.drift = NAN}};
	gauge_cpus(setup, &cpus);
	g->calibration.cpus = cpus;
	if (setup->soak && !setup->own)
		calibration_find_or_die(&g->calibration, setup->file, &cpus, setup->needs_file);
	if (setup->soak)
		limits_warn();
}

void gauge_copy(struct gauge *g, const struct gauge *prepared)
{
	const struct calibration *c = &prepared->calibration;

	*g = *prepared;
	if (c->cpu == NULL)
		return;
	g->calibration.cpu = alloc_or_die((size_t)c->cpus.n, sizeof(*c->cpu), "calibration");
	memcpy(g->calibration.cpu, c->cpu, (size_t)c->cpus.n * sizeof(*c->cpu));
}

/*
 * Starting an instrument.
 */

static bool start_soaking(struct gauge *g)
{
	const struct cpus *cpus = &g->calibration.cpus;
	struct soaker *s = g->setup->needs_file ? soaker_start_or_die(cpus, g->setup->wait)
						: soaker_start_or_warn(cpus, g->setup->wait);

	if (s == NULL)
		return false;
	g->instrument = instrument_soak(s);
	if (g->setup->debug)
		soaker_say_yield(s);
	return true;
}

static bool start_watching(struct gauge *g)
{
	char why[DIE_MAX];
	struct idle *w = idle_open(&g->calibration.cpus, why);

	if (w == NULL && (g->setup->gross || g->setup->needs_file))
		die("--idle: %s", why);
	if (w == NULL) {
		warnx("--idle: %s: no load is measured", why);
		return false;
	}
	g->instrument = instrument_idle(w);
	return true;
}

bool gauge_start(struct gauge *g, double seconds)
{
	const struct gauge_setup *setup = g->setup;

	if (!gauge_is_wanted(setup))
		return true;
	if (!(setup->soak ? start_soaking(g) : start_watching(g))) {
		g->missing = setup->soak ? UNSAFE_SOAKED_ALREADY : UNSAFE_NOT_MEASURED;
		return false;
	}
	g->baseline = g->calibration.cpu != NULL ? BASELINE_FILE : BASELINE_OWN;
	if (setup->gross) {
		idle_gross(g->instrument.idle, &g->calibration);
		g->baseline = BASELINE_NONE;
	}
	if (g->baseline != BASELINE_OWN ||
	    bracket_open(&g->bracket, setup->what, &g->instrument, &g->calibration, seconds))
		return true;
	gauge_stop(g);
	g->missing = UNSAFE_BASELINE_BUSY;
	return false;
}

bool gauge_measures(const struct gauge *g)
{
	return g->instrument.kind != NULL;
}

void gauge_check_or_die(const struct gauge *g)
{
	if (g->instrument.soaker != NULL)
		soaker_check_or_die(g->instrument.soaker);
}

void gauge_stop(struct gauge *g)
{
	if (g->instrument.kind != NULL)
		g->instrument.kind->close(&g->instrument);
	g->instrument = (struct instrument){.kind = NULL};
	bracket_end(&g->bracket);
	free(g->calibration.cpu);
	g->calibration.cpu = NULL;
}

/*
 * Marks.
 */

void gauge_mark_open(const struct gauge *g, struct gauge_mark *m)
{
	const size_t n = (size_t)g->calibration.cpus.n;

	*m = (struct gauge_mark){.each = NULL};
	if (n > 0)
		m->each = alloc_or_die(n, sizeof(*m->each), "load");
}

void gauge_mark_close(struct gauge_mark *m)
{
	free(m->each);
}

static void sample(const struct gauge *g, struct load_sample *sum, struct load_sample *each)
{
	if (g->instrument.kind != NULL)
		g->instrument.kind->sample(&g->instrument, &g->calibration, sum, each);
}

void gauge_sample(const struct gauge *g, struct load_sample *sum)
{
	sample(g, sum, NULL);
}

void gauge_begin(const struct gauge *g, struct gauge_mark *m, const char *interface)
{
	counters_read(&m->counters, interface);
	sample(g, &m->sum, m->each);
}

void gauge_end(const struct gauge *g, struct gauge_mark *m, const char *interface)
{
	sample(g, &m->sum, m->each);
	counters_read(&m->counters, interface);
}

void gauge_after(struct gauge *g, struct gauge_mark *from, struct gauge_mark *to,
		 const _Atomic int *stop)
{
	const struct bracket_samples samples = {&from->sum, from->each, &to->sum, to->each};

	g->bracket.drift = NAN;
	if (g->instrument.kind != NULL && g->baseline == BASELINE_OWN)
		bracket_close(&g->bracket, &g->instrument, &g->calibration, &samples, stop);
}

void gauge_next(struct gauge *g)
{
	bracket_next(&g->bracket, &g->calibration);
}

/*
 * Loads.
 */

void gauge_between(const struct gauge *g, const struct load_sample *from,
		   const struct load_sample *to, int i, struct load *l)
{
	load_init(l);
	if (g->instrument.kind == NULL) {
		l->unsafe = g->missing;
		return;
	}
	load_between(&g->calibration, from, to, i, l);
	l->baseline = g->baseline;
	if (g->baseline != BASELINE_OWN)
		return;
	l->drift = g->bracket.drift;
	if (!isnan(l->load) || l->unsafe != 0)
		l->unsafe |= bracket_unsafe(&g->bracket);
}

void gauge_load(const struct gauge *g, const struct gauge_mark *from, const struct gauge_mark *to,
		struct load *l)
{
	gauge_between(g, &from->sum, &to->sum, -1, l);
	counters_rates(&from->counters, &to->counters, &l->rates);
	if (g->instrument.kind != NULL)
		l->unsafe |= limits_steal(&l->rates);
	else
		l->seconds = seconds_between(from->counters.ns, to->counters.ns);
}

void gauge_say(struct gauge *g, const struct load *l)
{
	/* The bracket has printed that the machine was busy. */
	const unsigned said = g->baseline == BASELINE_OWN ? UNSAFE_BASELINE_BUSY : 0;

	if (g->instrument.kind != NULL)
		limits_say(l->unsafe & ~said, &g->said);
}
