#include "lib/load/meter.h"

#define CALM_NS     1000000000u   /* without a client, until the baseline is renewed */
#define RETRY_NS    500000000u    /* between two tries to have the lock of another program */
#define BASELINE_NS 60000000000u  /* between two tries to have a first baseline */
#define LOOK_NS     50000000u     /* between two looks at the thread that measures it */
#define OLD_NS      3600000000000 /* of CLOCK_BOOTTIME: a baseline is good for an hour */

#define NEVER UINT64_MAX /* no time to look again */

#define PART_SECONDS 0.01 /* a part of a time tells nothing of the rest if it is shorter */

/* The next state, and when to look again. */
struct step {
	enum meter_state state;
	uint64_t due_ns;
};

/* The reasons that make every load against this baseline unsafe. */
static unsigned baseline_reasons(const struct calibration *c)
{
	const int64_t age = (int64_t)clock_ns(CLOCK_BOOTTIME) - c->taken_ns;

	return (age > OLD_NS ? UNSAFE_BASELINE_OLD : 0u) |
	       (c->others > CAL_BUSY ? UNSAFE_BASELINE_BUSY : 0u);
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
	return m->wanted;
}

const char *meter_no_load(struct meter *m, unsigned unsafe)
{
	bool has_baseline;

	if (!m->wanted)
		return NO_LOAD_OFF;
	if (unsafe & UNSAFE_CPU_OFFLINE) /* the receipt has that reason */
		return "";
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

/*
 * An own baseline.
 */

static void *baseline_thread(void *arg)
{
	struct own_baseline *b = arg;
	struct instrument *in = &b->instrument;
	char why[DIE_MAX];
	struct idle *w;

	if (in->kind == NULL && (w = idle_open(&b->taken.cpus, why)) != NULL)
		*in = instrument_idle(w);
	if (in->kind == NULL || !in->kind->baseline(in, &b->taken, 0, &b->stop))
		b->taken.cpu = NULL;
	b->done = true;
	return NULL;
}

static struct step baseline_start(struct meter *m, uint64_t now)
{
	struct own_baseline *b = &m->baseline;

	b->instrument = m->instrument;
	b->taken = (struct calibration){.cpus = m->calibration.cpus};
	b->stop = 0;
	b->done = false;
	b->runs = thread_start(&b->thread, baseline_thread, b) == 0;
	b->done |= !b->runs;
	return (struct step){METER_MEASURING, now + LOOK_NS};
}

/* Whether a new baseline may replace the old one: a good one is not replaced by a bad one. */
static bool is_better(const struct meter *m, const struct calibration *taken)
{
	return baseline_is_whole(taken) &&
	       (m->calibration.cpu == NULL || taken->others <= CAL_BUSY ||
		baseline_reasons(&m->calibration) != 0);
}

/*
 * Takes the baseline of a thread that has ended, if no client came meanwhile.  The period ends, and
 * another one begins against it; idle time, which disturbs nothing, is counted from its first baseline on.
 */
static void baseline_take(struct meter *m)
{
	struct own_baseline *b = &m->baseline;
	const bool counts = m->counts;

	if (b->runs)
		pthread_join(b->thread, NULL);
	b->runs = false;
	if (m->instrument.kind == NULL)
		m->instrument = b->instrument;
	if (b->stop || b->taken.cpu == NULL || !is_better(m, &b->taken)) {
		free(b->taken.cpu);
		return;
	}
	pthread_rwlock_wrlock(&m->lock);
	period_end(m);
	free(m->calibration.cpu);
	m->calibration = b->taken;
	if (counts || m->instrument.soaker == NULL)
		period_begin(m);
	pthread_rwlock_unlock(&m->lock);
	m->renewed_ns = m->idle_ns;
}

/*
 * The state machine.  There is a function for each state that can last: it returns the next state, and
 * when to look again.
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

static struct step parked(struct meter *m, uint64_t now, bool clients)
{
	const bool has_baseline = m->calibration.cpu != NULL;
	const uint64_t calm = clients ? 0 : m->idle_ns + CALM_NS;
	const uint64_t at = m->retry_ns > calm ? m->retry_ns : calm;

	/* Clients would disturb a first baseline, and nobody else needs a load. */
	if (clients != has_baseline || (!clients && m->renewed_ns == m->idle_ns))
		return (struct step){METER_PARKED, NEVER};
	if (now < at)
		return (struct step){m->state, at};
	if (m->instrument.soaker == NULL)
		return baseline_start(m, now);
	m->retry_ns = now + RETRY_NS;
	if (soaker_unpark(m->instrument.soaker, &m->holder))
		return (struct step){METER_SETTLING, now + SOAK_SETTLE_NS};
	if (clients)
		name_holder(m);
	return (struct step){clients ? METER_BLOCKED : METER_PARKED, m->retry_ns};
}

static struct step park(struct meter *m, uint64_t now)
{
	pthread_rwlock_wrlock(&m->lock);
	period_end(m);
	pthread_rwlock_unlock(&m->lock);
	soaker_park(m->instrument.soaker);
	m->retry_ns = now + (m->calibration.cpu == NULL ? BASELINE_NS : 0);
	return (struct step){METER_PARKED, now};
}

static struct step settling(struct meter *m, uint64_t now, bool clients)
{
	if (now < m->due_ns)
		return (struct step){METER_SETTLING, m->due_ns};
	if (m->calibration.cpu == NULL)
		return clients ? park(m, now) : baseline_start(m, now);
	pthread_rwlock_wrlock(&m->lock);
	period_begin(m);
	pthread_rwlock_unlock(&m->lock);
	return (struct step){METER_COUNTING, now};
}

static struct step counting(struct meter *m, uint64_t now, bool clients)
{
	const uint64_t calm = m->idle_ns + CALM_NS, over = m->idle_ns + METER_LINGER_NS;

	if (clients)
		return (struct step){METER_COUNTING, NEVER};
	if (now >= over && m->instrument.soaker != NULL)
		return park(m, now);
	if (now >= over)
		return (struct step){METER_COUNTING, NEVER};
	if (!m->own || m->renewed_ns == m->idle_ns)
		return (struct step){METER_COUNTING, over};
	return now < calm ? (struct step){METER_COUNTING, calm} : baseline_start(m, now);
}

static struct step measuring(struct meter *m, uint64_t now)
{
	if (!m->baseline.done)
		return (struct step){METER_MEASURING, now + LOOK_NS};
	baseline_take(m);
	if (m->counts)
		return (struct step){METER_COUNTING, now};
	if (m->instrument.soaker != NULL)
		return park(m, now);
	m->renewed_ns = m->idle_ns; /* idle time is tried again after the next client */
	return (struct step){METER_PARKED, now};
}

static struct step next_step(struct meter *m, uint64_t now, bool clients)
{
	switch ((enum meter_state)m->state) { /* clang has no switch over an atomic */
	case METER_SETTLING: return settling(m, now, clients);
	case METER_COUNTING: return counting(m, now, clients);
	case METER_MEASURING: return measuring(m, now);
	default: return parked(m, now, clients);
	}
}

bool meter_look(struct meter *m, bool clients)
{
	const uint64_t now = now_ns();
	const unsigned period = m->last.period;
	const bool counted = m->counts;
	struct step next = {METER_PARKED, NEVER};

	if (clients) {
		m->idle_ns = 0;
		m->baseline.stop = 1;
	} else if (m->idle_ns == 0) {
		m->idle_ns = now;
	}
	if (m->wanted)
		next = next_step(m, now, clients);
	m->state = next.state;
	m->due_ns = next.due_ns;
	return m->counts != counted || m->last.period != period;
}

void meter_want(struct meter *m)
{
	meter_look(m, true);
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
		return;
	}
	m->instrument = instrument_idle(w);
	measure_first(m);
	period_begin(m);
	m->state = METER_COUNTING;
}

/* Starts the soakers, which measure the first baseline unless a file has it, and parks them. */
static void soak(struct meter *m)
{
	struct soaker *s = soaker_start_parkable(&m->calibration.cpus, &m->holder);

	m->instrument = instrument_soak(s);
	if (soaker_is_parked(s)) {
		name_holder(m);
		return;
	}
	if (m->own)
		measure_first(m);
	park(m, now_ns());
}

void meter_start_or_die(struct meter *m, const struct gauge_setup *setup)
{
	struct cpus cpus;

	gauge_cpus(setup, &cpus);
	m->wanted = true;
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
	if (!m->wanted)
		return;
	m->baseline.stop = 1;
	if (m->baseline.runs)
		baseline_take(m);
	if (m->instrument.kind != NULL)
		m->instrument.kind->close(&m->instrument);
	free(m->calibration.cpu);
}
