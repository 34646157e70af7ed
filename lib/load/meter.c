#include "lib/load/meter.h"

#include "lib/load/baseline.h"
#include "lib/load/idle.h"

#define CALM_NS     1000000000u   /* without a client, until the baseline is renewed */
#define RETRY_NS    500000000u    /* between two tries to have the lock of another program */
#define BASELINE_NS 60000000000u  /* between two tries to have a first baseline */
#define LOOK_NS     50000000u     /* between two looks at the thread that measures it */
#define OLD_NS      3600000000000 /* of CLOCK_BOOTTIME: a baseline is good for an hour */

#define PART_SECONDS 0.01 /* a part of a time tells nothing of the rest if it is shorter */

/* The reasons that make every load against this baseline unsafe. */
static unsigned baseline_reasons(const struct calibration *c)
{
	const int64_t age = (int64_t)clock_ns(CLOCK_BOOTTIME) - c->taken_ns;

	return (age > OLD_NS ? UNSAFE_BASELINE_OLD : 0u) |
	       (baseline_tasks(c) > CAL_BUSY ? UNSAFE_BASELINE_BUSY : 0u);
}

/* The caller has the meter's lock. */
static void read_sample(const struct meter *m, struct load_sample *sample)
{
	m->instrument.kind->sample(&m->instrument, &m->calibration, sample, NULL);
	sample->limits.now |= baseline_reasons(&m->calibration);
}

void meter_read(struct meter *m, struct meter_mark *mark)
{
	pthread_rwlock_rdlock(&m->lock);
	*mark = m->last;
	if (m->counts)
		read_sample(m, &mark->now);
	pthread_rwlock_unlock(&m->lock);
}

void meter_load(const struct meter *m, const struct meter_mark *from, const struct meter_mark *to,
		struct load *l)
{
	const bool is_whole = from->period == to->period;

	load_init(l);
	if (to->period == 0 || m->calibration.cpu == NULL)
		return;
	load_between(&m->calibration, is_whole ? &from->now : &to->begin, &to->now, -1, l);
	l->baseline = m->own ? BASELINE_IDLE : BASELINE_FILE;
	if (!(l->seconds > (is_whole ? 0 : PART_SECONDS)))
		load_init(l);
}

void meter_say(struct meter *m, const struct load *l)
{
	if (!isnan(l->load) || l->unsafe != 0) /* parked soakers end no reason */
		limits_say(l->unsafe, &m->said);
}

bool meter_measures(const struct meter *m)
{
	return m->instrument.kind != NULL;
}

const char *meter_no_load(struct meter *m, unsigned unsafe)
{
	bool has_baseline;

	if (!meter_measures(m))
		return m->missing == 0 ? NO_LOAD_OFF : NO_LOAD_BASELINE;
	if (m->state == METER_BLOCKED)
		return NO_LOAD_HELD;
	pthread_rwlock_rdlock(&m->lock);
	has_baseline = m->calibration.cpu != NULL;
	pthread_rwlock_unlock(&m->lock);
	/* A baseline of a busy machine leaves no load that means anything. */
	if (!has_baseline || unsafe & (UNSAFE_BASELINE_BUSY | UNSAFE_CALIBRATION))
		return NO_LOAD_BASELINE;
	return NO_LOAD_SHORT;
}

/* Begins a period.  The caller has the meter's lock. */
static void period_begin(struct meter *m)
{
	read_sample(m, &m->last.begin);
	m->last.now = m->last.begin;
	m->last.period++;
	m->counts = true;
}

/* Ends the period, if there is one.  The caller has the meter's lock. */
static void period_end(struct meter *m)
{
	if (m->counts)
		read_sample(m, &m->last.now);
	m->counts = false;
}

/* The soakers have settled. */
static void count(struct meter *m)
{
	pthread_rwlock_wrlock(&m->lock);
	period_begin(m);
	pthread_rwlock_unlock(&m->lock);
	m->state = METER_SOAKING;
	m->next_ns = 0;
}

static void park(struct meter *m)
{
	pthread_rwlock_wrlock(&m->lock);
	period_end(m);
	pthread_rwlock_unlock(&m->lock);
	soaker_park(m->instrument.soaker);
	m->state = METER_PARKED;
	m->next_ns = now_ns() + (m->calibration.cpu == NULL ? BASELINE_NS : 0);
}

/*
 * Waking the soakers.
 */

/* Names the program that soaks, unless it was the last that was named. */
static void name_holder(struct meter *m)
{
	if (!m->has_named || m->named != m->holder.pid)
		warnx("no load is measured while %s (pid %d) soaks the CPUs: "
		      "on one host one -c has both ends, start zcs without it",
		      m->holder.name, m->holder.pid);
	m->has_named = true;
	m->named = m->holder.pid;
}

static void set_settling(struct meter *m)
{
	m->state = METER_SETTLING;
	m->next_ns = now_ns() + SOAK_SETTLE_NS;
}

/* Tries to wake the soakers for clients. */
static void unpark(struct meter *m)
{
	if (soaker_unpark(m->instrument.soaker, &m->holder)) {
		set_settling(m);
		return;
	}
	m->state = METER_BLOCKED;
	m->next_ns = now_ns() + RETRY_NS;
	name_holder(m);
}

/* Another program has the lock: tries again while there are clients. */
static void retry(struct meter *m, bool clients)
{
	m->next_ns = now_ns() + RETRY_NS;
	if (!clients)
		m->state = METER_PARKED;
	else if (soaker_unpark(m->instrument.soaker, NULL))
		set_settling(m);
}

void meter_want(struct meter *m)
{
	if (!meter_measures(m))
		return;
	m->idle_ns = 0;
	m->baseline.stop = 1;
	if (m->state == METER_PARKED && m->calibration.cpu != NULL)
		unpark(m);
}

/*
 * An own baseline.
 */

static void *baseline_thread(void *arg)
{
	struct own_baseline *b = arg;
	const double tasks = b->meter->instrument.kind->baseline(&b->meter->instrument, &b->taken,
								 0, &b->stop);

	if (isnan(tasks))
		b->taken.cpu = NULL;
	b->done = true;
	return NULL;
}

static void baseline_start(struct meter *m)
{
	struct own_baseline *b = &m->baseline;

	b->meter = m;
	b->taken = (struct calibration){.cpus = m->calibration.cpus};
	b->stop = 0;
	b->done = false;
	b->runs = thread_start(&b->thread, baseline_thread, b) == 0;
}

/* Whether a new baseline may replace the old one: a good one is not replaced by a bad one. */
static bool is_better(const struct meter *m, const struct calibration *taken)
{
	return baseline_is_whole(taken) &&
	       (m->calibration.cpu == NULL || baseline_tasks(taken) <= CAL_BUSY ||
		baseline_reasons(&m->calibration) != 0);
}

/* Takes the baseline of a thread that has ended, if no client came meanwhile. */
static void baseline_take(struct meter *m)
{
	struct own_baseline *b = &m->baseline;
	const bool counts = m->counts;

	pthread_join(b->thread, NULL);
	b->runs = false;
	if (b->stop || b->taken.cpu == NULL || !is_better(m, &b->taken)) {
		free(b->taken.cpu);
		return;
	}
	pthread_rwlock_wrlock(&m->lock);
	period_end(m);
	free(m->calibration.cpu);
	m->calibration = b->taken;
	if (counts)
		period_begin(m);
	pthread_rwlock_unlock(&m->lock);
	b->renewed_ns = m->idle_ns;
}

/* Looks at the baseline while there are no clients, or they have just come. */
static void renew(struct meter *m, uint64_t now)
{
	struct own_baseline *b = &m->baseline;

	if (b->runs && b->done)
		baseline_take(m);
	else if (m->own && m->counts && !b->runs && m->idle_ns != 0 &&
		 b->renewed_ns != m->idle_ns && now >= m->idle_ns + CALM_NS &&
		 now < m->idle_ns + METER_LINGER_NS)
		baseline_start(m);
}

/* In METER_SOAKING: whether the soakers are to be parked. */
static bool is_over(const struct meter *m, uint64_t now)
{
	return m->instrument.soaker != NULL && !m->baseline.runs &&
	       (!m->counts || (m->idle_ns != 0 && now >= m->idle_ns + METER_LINGER_NS));
}

static uint64_t next_look(const struct meter *m, uint64_t now)
{
	uint64_t over;

	if (m->baseline.runs)
		return now + LOOK_NS;
	switch ((enum meter_state)m->state) { /* clang has no switch over an atomic */
	case METER_PARKED:                    /* clients would disturb a first baseline */
		return m->calibration.cpu == NULL && m->idle_ns != 0 ? m->next_ns : UINT64_MAX;
	case METER_BLOCKED:
	case METER_SETTLING: return m->next_ns;
	default:
		if (m->idle_ns == 0)
			return UINT64_MAX;
		over = m->idle_ns + METER_LINGER_NS;
		if (!m->own || m->baseline.renewed_ns == m->idle_ns || now + CALM_NS >= over)
			return over;
		return now < m->idle_ns + CALM_NS ? m->idle_ns + CALM_NS : now + RETRY_NS;
	}
}

static void step(struct meter *m, uint64_t now, bool clients)
{
	switch ((enum meter_state)m->state) { /* clang has no switch over an atomic */
	case METER_PARKED:
		/* A baseline is to be had before the next client. */
		if (m->calibration.cpu != NULL || clients || now < m->next_ns)
			break;
		m->next_ns = now + RETRY_NS;
		if (soaker_unpark(m->instrument.soaker, NULL))
			set_settling(m);
		break;
	case METER_BLOCKED:
		if (now >= m->next_ns)
			retry(m, clients);
		break;
	case METER_SETTLING:
		if (now < m->next_ns)
			break;
		if (m->calibration.cpu != NULL) {
			count(m);
			break;
		}
		m->state = METER_SOAKING;
		if (!clients)
			baseline_start(m);
		break;
	case METER_SOAKING:
		renew(m, now);
		if (is_over(m, now))
			park(m);
	}
}

bool meter_look(struct meter *m, bool clients)
{
	const uint64_t now = now_ns();
	const unsigned period = m->last.period;
	const bool counted = m->counts;

	m->due_ns = UINT64_MAX;
	if (!meter_measures(m))
		return false;
	if (clients) {
		meter_want(m);
	} else if (m->idle_ns == 0) {
		m->idle_ns = now;
		if (m->state == METER_PARKED) /* for a first baseline, of which a client kept it */
			m->next_ns = now + CALM_NS;
	}
	step(m, now, clients);
	m->due_ns = next_look(m, now);
	return m->counts != counted || m->last.period != period;
}

/*
 * Start and end.
 */

/* Measures the first baseline; a machine that is busy makes it unsafe, one without a share none. */
static void measure_first(struct meter *m)
{
	struct calibration *c = &m->calibration;

	m->instrument.kind->baseline(&m->instrument, c, 0, NULL);
	if (baseline_is_whole(c))
		return;
	baseline_warn_held(m->instrument.soaker, c, "at the", "start",
			   "no load is measured until the machine is idle");
	free(c->cpu);
	c->cpu = NULL;
}

/* Watches the CPUs' idle time, which disturbs nothing, from now on: samples go on at once. */
static void watch(struct meter *m)
{
	char why[DIE_MAX];
	struct idle *w = idle_open(&m->calibration.cpus, why);

	if (w == NULL) {
		warnx("--idle: %s: no load is measured", why);
		m->missing = UNSAFE_NOT_MEASURED;
		return;
	}
	m->instrument = instrument_idle(w);
	measure_first(m);
	period_begin(m);
	m->state = METER_SOAKING;
}

/* Starts the soakers, which measure the first baseline unless a file has it, and parks them. */
static void soak(struct meter *m)
{
	struct lock_holder holder;
	struct soaker *s = soaker_start_parkable(&m->calibration.cpus, &holder);

	m->instrument = instrument_soak(s);
	m->state = METER_PARKED;
	if (soaker_is_parked(s)) {
		m->holder = holder;
		name_holder(m);
		return;
	}
	if (m->own)
		measure_first(m);
	soaker_park(s);
	m->next_ns = now_ns() + (m->calibration.cpu == NULL ? BASELINE_NS : 0);
}

void meter_start_or_die(struct meter *m, const struct gauge_setup *setup)
{
	struct cpus cpus;

	gauge_cpus(setup, &cpus);
	m->calibration.cpus = cpus;
	m->own = setup->idle ||
		 !calibration_find_or_die(&m->calibration, setup->file, &cpus, false);
	pthread_rwlock_init(&m->lock, NULL);
	if (setup->idle) {
		watch(m);
		return;
	}
	limits_warn();
	soak(m);
}

void meter_stop(struct meter *m)
{
	if (!meter_measures(m))
		return;
	m->baseline.stop = 1;
	if (m->baseline.runs)
		baseline_take(m);
	m->instrument.kind->close(&m->instrument);
	free(m->calibration.cpu);
}
