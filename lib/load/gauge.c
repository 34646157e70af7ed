#include "lib/load/gauge.h"

struct cpus gauge_cpus(const struct gauge_setup *setup)
{
	return cpus_to_soak(setup->n_cpus, &setup->on);
}

void gauge_calibrate_or_die(const struct gauge_setup *setup, bool force)
{
	const struct cpus cpus = gauge_cpus(setup);

	calibrate_or_die(&cpus, setup->file, force, setup->wait);
}

const struct instrument_kind *gauge_kind(const struct gauge_setup *setup)
{
	return setup->soak                    ? &by_soaking
	       : setup->idle == IDLE_BY_CLOCK ? &by_clock
	       : setup->idle                  ? &by_idle_time
					      : NULL;
}

bool gauge_is_wanted(const struct gauge_setup *setup)
{
	return gauge_kind(setup) != NULL;
}

void gauge_prepare_or_die(struct gauge *g, const struct gauge_setup *setup)
{
	*g = (struct gauge){.setup = setup, .drift = NAN};
	if (!gauge_is_wanted(setup))
		return;
	g->file.cpus = gauge_cpus(setup);
	if (setup->soak && !setup->own && !setup->profile)
		calibration_find_or_die(&g->file, setup->file, setup->never_idle);
	g->calibration = g->file;
	g->from.at = alloc_or_die((size_t)g->file.cpus.n + 1, sizeof(*g->from.at), "load");
	g->to.at = alloc_or_die((size_t)g->file.cpus.n + 1, sizeof(*g->to.at), "load");
}

void gauge_warn(const struct gauge_setup *setup)
{
	limits_warn(gauge_is_wanted(setup) && setup->n_cpus == 0 && setup->on.n == 0);
}

/* Whether this reason, for which the load is not measured, has had no line yet. */
static bool is_first_line(struct gauge *g, unsigned reason)
{
	const unsigned before = g->said.missing;

	g->said.missing |= reason;
	return (before & reason) == 0;
}

/*
 * Own baselines.
 */

/*
 * Measures the idle machine, as the first or the second baseline of a measurement, and prints a line on stderr
 * if the machine is busy.  Returns false if there is no baseline: *stop ended it, or other programs left a soaker no
 * time.
 */
static bool measure_idle(struct gauge *g, bool second, struct calibration *c,
			 const _Atomic int *stop)
{
	const char *when;
	bool is_whole, is_said;

	if (!baseline_measure(&g->instrument, c, g->seconds, stop))
		return false;
	when = text_of("%s the %s", second ? "after" : "before", g->setup->what);
	is_whole = baseline_starved(c) < 0;
	g->half = second && !is_whole;
	if (is_whole && !(c->others > CAL_BUSY)) /* NAN: a CPU was offline, and has its own line */
		return true;
	is_said = atomic_fetch_or(&g->said.reasons, UNSAFE_BASELINE_BUSY) & UNSAFE_BASELINE_BUSY;
	if (is_whole ? c->others > CAL_FULL : !second) {
		if (is_first_line(g, UNSAFE_BASELINE_BUSY))
			warnx("the load is not measured: %s: end other programs, or give "
			      "--wait-idle SECS%s",
			      baseline_disturbed(c, when), busiest_find());
	} else if (!is_said) {
		warnx("%s: the load is unsafe%s%s", baseline_disturbed(c, when),
		      is_whole ? "" : ", as only the baseline before counts", busiest_find());
	}
	return is_whole;
}

void gauge_after(struct gauge *g, const _Atomic int *stop)
{
	struct calibration *c = &g->calibration;

	g->drift = NAN;
	g->half = g->bracketed = false;
	if (g->instrument.kind == NULL || g->baseline != BASELINE_OWN)
		return;
	g->after = (struct calibration){.cpus = c->cpus};
	g->seconds = fmax(g->seconds, g->to.at[0].time - g->from.at[0].time);
	if (!measure_idle(g, true, &g->after, stop)) {
		free(g->after.cpu);
		g->after.cpu = NULL;
		return;
	}
	g->drift = baseline_merge(c, &g->after);
	g->bracketed = true;
}

/* Makes the baseline after one measurement the baseline before the next. */
static void take_baseline(struct gauge *g)
{
	if (g->after.cpu == NULL)
		return;
	free(g->calibration.cpu);
	g->calibration = g->after;
	g->after.cpu = NULL;
}

/*
 * Starting an instrument.
 */

/* Opens the profile of the soakers, if one is asked for, or prints why there is none. */
static void open_profile(struct gauge *g)
{
	struct instrument *in = &g->instrument;
	const struct cpus *cpus = &g->calibration.cpus;
	const bool is_said = g->no_profile != NULL;
	const char *why;
	pid_t *soaker;
	int i;

	if (!g->setup->profile)
		return;
	g->no_profile = NULL;
	soaker = alloc_or_die((size_t)cpus->n, sizeof(*soaker), "a profile");
	for (i = 0; i < cpus->n; i++)
		soaker[i] = soaker_thread(in->soaker, i);
	in->profile = profile_open(cpus, soaker, &g->no_profile, &why);
	free(soaker);
	if (in->profile == NULL && !is_said)
		warnx("--profile: no profile is measured: %s", why);
}

bool gauge_start_instrument(struct gauge *g)
{
	const struct gauge_setup *setup = g->setup;
	struct instrument in = {.kind = gauge_kind(setup),
				.parks = setup->parks && setup->soak,
				.wait = setup->wait,
				.holder.pid = -1};
	const char *why = in.kind->start(&in, &g->calibration.cpus);

	g->calibration.kind = in.kind;
	if (why == NULL) {
		if (in.kind->source[0] != '\0' && setup->debug)
			warnx("idle time is counted by %s",
			      in.kind == &by_clock ? "BPF programs" : "the kernel, in /proc/stat");
		g->instrument = in;
		open_profile(g);
		if (in.holder.pid < 0)
			profile_start(g->instrument.profile);
		return true;
	}
	g->missing = in.holder.pid >= 0 ? UNSAFE_SOAKED_ALREADY
		     : in.missing != 0  ? in.missing
					: UNSAFE_NOT_MEASURED;
	if (setup->never_idle || in.parks || in.kind == &by_clock)
		die("%s", why);
	if (is_first_line(g, g->missing))
		warnx("the load is not measured: %s", why);
	return false;
}

bool gauge_start(struct gauge *g, double seconds)
{
	const struct gauge_setup *setup = g->setup;

	if (!gauge_is_wanted(setup))
		return true;
	g->missing = 0;
	g->drift = NAN;
	g->half = g->bracketed = false;
	g->calibration = g->file;
	if (g->file.kind != gauge_kind(setup))
		g->calibration = (struct calibration){.cpus = g->file.cpus};
	if (!gauge_start_instrument(g))
		return false;
	g->baseline = g->calibration.cpu != NULL ? BASELINE_FILE : BASELINE_OWN;
	if (g->baseline == BASELINE_OWN && setup->never_idle && !g->calibration.kind->weighs) {
		baseline_none(&g->instrument, &g->calibration);
		g->baseline = BASELINE_NONE;
	}
	g->seconds = seconds;
	if (g->baseline != BASELINE_OWN || measure_idle(g, false, &g->calibration, NULL))
		return true;
	gauge_stop(g);
	g->missing = UNSAFE_BASELINE_BUSY;
	return false;
}

#define REST_NS    1000000000u /* how long other programs are to rest */
#define REST_SHARE 0.03

/* The share of the measured CPUs that other programs take while this one sleeps; NAN: not known. */
static double watch_others(const struct gauge *g)
{
	const struct cpus *cpus = &g->calibration.cpus;
	const int n = cpus->n;
	cpu_times *from = alloc_or_die(2 * ((size_t)n + 1), sizeof(*from), "--wait-idle");
	cpu_times *to = from + n + 1;
	struct load_sample first = {.tasks = NAN}, last = first;
	double total, rise[CPU_COLUMNS], counted = 0, share;
	uint64_t begin, end;
	int k;

	cpu_times_read(cpus, false, from, &begin);
	gauge_sample(g, &first);
	sleep_ns(REST_NS);
	gauge_sample(g, &last);
	cpu_times_read(cpus, false, to, &end);
	total = n * seconds_between(begin, end);
	for (k = 0; k < CPU_COLUMNS; k++) {
		rise[k] = to[n][k] - from[n][k];
		counted += rise[k];
	}
	share = 1 - (rise[CPU_IDLE] + rise[CPU_IOWAIT] + rise[CPU_STEAL]) / total;
	free(from);
	/* The kernel counts a soaker's time as nice and, in its system calls, as system. */
	if (!isnan(last.tasks))
		return (last.tasks - first.tasks) / (last.time - first.time);
	return counted > 0 ? share : NAN; /* a container may have a file that stands still */
}

const char *gauge_wait_idle(const struct gauge *g, const struct gauge_setup *setup,
			    const _Atomic int *stop)
{
	const uint64_t until = now_ns() + (uint64_t)(setup->wait_idle * 1e9);
	const struct cpus *cpus = &g->calibration.cpus;
	const bool all = cpus->n == sysconf(_SC_NPROCESSORS_ONLN);
	const char *where;
	char list[256];
	bool waits = false;
	double others;

	if (setup->wait_idle <= 0 || !gauge_is_wanted(setup))
		return NULL;
	cpus_format(cpus, list, sizeof(list));
	where = all ? "the machine" : text_of("CPU %s", list);
	do {
		others = watch_others(g);
		if (others < REST_SHARE)
			return NULL;
		if (isnan(others))
			return "--wait-idle: /proc/stat does not count what other programs take: "
			       "omit it";
		if (stop != NULL && *stop != 0)
			return "interrupted";
		if (!waits && now_ns() < until)
			warnx("waiting for other programs, which take %.1f%% of %s (--wait-idle)",
			      100 * others, where);
		waits = true;
	} while (now_ns() < until);
	return text_of("--wait-idle %g: other programs took %.1f%% of %s in the last second%s",
		       setup->wait_idle, 100 * others, where, busiest_find());
}

bool gauge_measures(const struct gauge *g)
{
	return g->instrument.kind != NULL;
}

void gauge_stop(struct gauge *g)
{
	profile_close(g->instrument.profile);
	if (g->instrument.kind != NULL)
		g->instrument.kind->stop(&g->instrument);
	g->instrument = (struct instrument){.kind = NULL};
	free(g->after.cpu);
	if (g->calibration.cpu != g->file.cpu)
		free(g->calibration.cpu);
	g->after.cpu = g->calibration.cpu = NULL;
}

void gauge_close(struct gauge *g)
{
	gauge_stop(g);
	free(g->file.cpu);
	free(g->from.at);
	free(g->to.at);
	free(g->each);
}

/*
 * Marks.
 */

/* Reads the instrument, if there is one, into at[]. */
static void mark_read(const struct gauge *g, const struct gauge_mark *m)
{
	if (g->instrument.kind != NULL)
		instrument_read(&g->instrument, &g->calibration.cpus, m->at, false);
}

struct load_sample gauge_sample_of(const struct gauge *g, const struct gauge_mark *m, int i)
{
	return gauge_measures(g) ? baseline_sample(&g->calibration, m->at, i)
				 : (struct load_sample){.time = 0};
}

void gauge_sample(const struct gauge *g, struct load_sample *sum)
{
	const size_t n = (size_t)g->calibration.cpus.n + 1;
	const struct gauge_mark m = {.at = alloc_or_die(n, sizeof(*m.at), "load")};

	mark_read(g, &m);
	if (gauge_measures(g))
		*sum = gauge_sample_of(g, &m, -1);
	free(m.at);
}

void gauge_begin(struct gauge *g, const char *interface)
{
	take_baseline(g);
	counters_read(&g->from.counters, interface);
	mark_read(g, &g->from);
}

void gauge_end(struct gauge *g)
{
	mark_read(g, &g->to);
	counters_read(&g->to.counters, g->from.counters.interface);
}

/*
 * Loads.
 */

/* As gauge_between() while the load is measured. */
static void measured_between(const struct gauge *g, const struct load_sample *from,
			     const struct load_sample *to, int i, struct load *l)
{
	load_between(&g->calibration, from, to, i, l);
	if (i < 0 && g->instrument.profile != NULL) {
		load_profile(&g->calibration, from, to, l);
		strcpy(l->event, profile_event(g->instrument.profile));
	}
	l->baseline = g->baseline;
	l->drift = g->drift;
	l->bracketed = g->bracketed;
	if (isnan(l->load) && l->unsafe == 0) /* no time passed */
		return;
	if (!g->bracketed && baseline_is_old(&g->calibration))
		l->unsafe |= UNSAFE_BASELINE_OLD;
	if (g->baseline == BASELINE_OWN && (g->calibration.others > CAL_BUSY || g->half))
		l->unsafe |= UNSAFE_BASELINE_BUSY;
}

void gauge_between(const struct gauge *g, const struct load_sample *from,
		   const struct load_sample *to, int i, struct load *l)
{
	load_init(l);
	l->unsafe = g->missing;
	if (g->instrument.kind != NULL)
		measured_between(g, from, to, i, l);
	if (g->instrument.kind == NULL && g->missing == 0)
		strcpy(l->no_load, NO_LOAD_OFF);
	else if (isnan(l->load))
		strcpy(l->no_load, no_load_of(l->unsafe, g->calibration.kind->name));
	if (g->no_profile != NULL)
		strcpy(l->no_profile, g->no_profile);
}

/* The load between the marks. */
static void load_of(const struct gauge *g, int i, struct load *l)
{
	const struct load_sample from = gauge_sample_of(g, &g->from, i),
				 to = gauge_sample_of(g, &g->to, i);

	gauge_between(g, &from, &to, i, l);
}

void gauge_load(const struct gauge *g, struct load *l)
{
	load_of(g, -1, l);
	counters_rates(&g->from.counters, &g->to.counters, &l->rates);
	if (g->instrument.kind != NULL)
		l->unsafe |= limits_steal(l->steal);
	else
		l->seconds = seconds_between(g->from.counters.ns, g->to.counters.ns);
}

const struct load *gauge_load_each(struct gauge *g, unsigned unsafe)
{
	const int n = g->calibration.cpus.n;
	struct load *l;
	int i;

	if (!gauge_measures(g))
		return NULL;
	if (g->each == NULL)
		g->each = alloc_or_die((size_t)n, sizeof(*g->each), "load");
	for (i = 0, l = g->each; i < n; i++, l++) {
		load_of(g, i, l);
		if (!isnan(l->load))
			l->unsafe |= unsafe | limits_steal(l->steal);
	}
	return g->each;
}

void gauge_say(struct gauge *g, const struct load *l, bool is_interval)
{
	if (g->instrument.kind != NULL)
		limits_say(l->unsafe | (is_interval ? g->said.reasons : 0u),
			   g->instrument.kind->name, l->no_load, &g->said);
}
