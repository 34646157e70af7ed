#include "lib/load/meter.h"

#define LINGER_NS   10000000000u /* for which the soakers go on without a client */
#define CALM_NS     1000000000u  /* without a client, before the baseline is renewed */
#define RETRY_NS    500000000u   /* between two tries to get the lock from another program */
#define BASELINE_NS 60000000000u /* between two tries to measure a first baseline */
#define LOOK_NS     50000000u    /* between two polls of the thread that measures a baseline */

#define NEVER UINT64_MAX /* no time to look again */

#define PART_SECONDS 0.01 /* a shorter part of a transfer says nothing about the rest */

/* The next state, and when to look again. */
struct step {
	enum meter_state state;
	uint64_t due_ns;
};

void meter_read(struct meter *m, struct meter_mark *mark)
{
	pthread_rwlock_rdlock(&m->lock);
	*mark = m->last;
	if (m->counts)
		gauge_sample(&m->gauge, &mark->now);
	pthread_rwlock_unlock(&m->lock);
}

void meter_load(const struct meter *m, const struct meter_mark *from, const struct meter_mark *to,
		struct load *l)
{
	const bool is_whole = from->period == to->period;

	load_init(l);
	if (to->period == 0 || m->gauge.calibration.cpu == NULL)
		return;
	gauge_between(&m->gauge, is_whole ? &from->now : &to->begin, &to->now, -1, l);
	if (!(l->seconds > (is_whole ? 0 : PART_SECONDS)))
		load_init(l);
}

void meter_say(struct meter *m, const struct load *l)
{
	if (!isnan(l->load) || l->unsafe != 0) /* parked soakers end no reason */
		gauge_say(&m->gauge, l, false);
}

const char *meter_no_load(struct meter *m, unsigned unsafe)
{
	const char *word;
	bool has_baseline;

	if (!m->wanted)
		return NO_LOAD_OFF;
	word = no_load_of(unsafe | m->gauge.missing, m->gauge.calibration.kind->name);
	if (*word != '\0')
		return word;
	if (m->state == METER_BLOCKED)
		return NO_LOAD_HELD;
	pthread_rwlock_rdlock(&m->lock);
	has_baseline = m->gauge.calibration.cpu != NULL;
	pthread_rwlock_unlock(&m->lock);
	return has_baseline ? NO_LOAD_SHORT : NO_LOAD_BASELINE;
}

/*
 * Ends the period, if there is one; replaces the baseline by `taken`, unless it is NULL; and, if `counts`, begins a new
 * period.
 */
static void change_period(struct meter *m, const struct calibration *taken, bool counts)
{
	pthread_rwlock_wrlock(&m->lock);
	if (m->counts)
		gauge_sample(&m->gauge, &m->last.now);
	if (taken != NULL) {
		free(m->gauge.calibration.cpu);
		m->gauge.calibration = *taken;
	}
	m->counts = counts;
	if (counts) {
		gauge_sample(&m->gauge, &m->last.begin);
		m->last.period++;
	}
	pthread_rwlock_unlock(&m->lock);
}

/*
 * An own baseline.
 */

static void *baseline_thread(void *arg)
{
	struct meter *m = arg;

	if (!baseline_measure(&m->gauge.instrument, &m->taken, 0, &m->stop))
		m->taken.cpu = NULL;
	return NULL;
}

static struct step baseline_start(struct meter *m, uint64_t now)
{
	m->taken = (struct calibration){.cpus = m->gauge.calibration.cpus};
	m->stop = 0;
	if (thread_start(&m->thread, baseline_thread, m) != 0)
		return (struct step){m->state, now + BASELINE_NS};
	return (struct step){METER_MEASURING, now + LOOK_NS};
}

/*
 * Takes the baseline of the thread, which has ended, unless a client came meanwhile or the new baseline is worse than
 * the old.  A period ends, and the next one has the new baseline.
 */
static void baseline_take(struct meter *m)
{
	const struct calibration *old = &m->gauge.calibration;

	if (!m->stop && m->taken.cpu != NULL && baseline_starved(&m->taken) < 0 &&
	    m->taken.others <=
		    (old->cpu == NULL || baseline_is_old(old) ? 1 : fmax(CAL_BUSY, old->others)))
		change_period(m, &m->taken, m->counts);
	else
		free(m->taken.cpu);
}

/*
 * The state machine: the function of each state returns the next state, and when to look again.
 */

/* Names the program that soaks, unless it was the last one named. */
static void name_holder(struct meter *m)
{
	const struct lock_holder *h = &m->gauge.instrument.holder;

	if (m->named != h->pid)
		warnx("the load is not measured: %s (pid %d) soaks the CPUs: stop it, or start zcs "
		      "without -c (on one host one -c measures both ends)",
		      h->name, h->pid);
	m->named = h->pid;
}

static struct step parked(struct meter *m, uint64_t now, bool clients)
{
	const uint64_t calm = clients ? 0 : m->idle_ns + CALM_NS;
	struct instrument *in = &m->gauge.instrument;
	const uint64_t at = m->retry_ns > calm ? m->retry_ns : calm;

	/* The soakers run for clients if there is a baseline, and without clients to measure the first one. */
	if (clients != (m->gauge.calibration.cpu != NULL) || !in->parks)
		return (struct step){METER_PARKED, NEVER};
	if (now < at)
		return (struct step){m->state, at};
	m->retry_ns = now + RETRY_NS;
	if (soaker_unpark(in->soaker, &in->holder)) {
		profile_start(in->profile);
		return (struct step){METER_SETTLING, now + SOAK_SETTLE_NS};
	}
	if (clients)
		name_holder(m);
	return (struct step){clients ? METER_BLOCKED : METER_PARKED, m->retry_ns};
}

static struct step park(struct meter *m, uint64_t now)
{
	change_period(m, NULL, false);
	profile_stop(m->gauge.instrument.profile);
	soaker_park(m->gauge.instrument.soaker);
	m->retry_ns = now + (m->gauge.calibration.cpu == NULL ? BASELINE_NS : 0);
	return (struct step){METER_PARKED, now};
}

static struct step settling(struct meter *m, uint64_t now, bool clients)
{
	if (now < m->due_ns)
		return (struct step){METER_SETTLING, m->due_ns};
	if (m->gauge.calibration.cpu == NULL)
		return clients ? park(m, now) : baseline_start(m, now);
	change_period(m, NULL, true);
	return (struct step){METER_COUNTING, now};
}

static struct step counting(struct meter *m, uint64_t now, bool clients)
{
	const uint64_t calm = m->idle_ns + CALM_NS, over = m->idle_ns + LINGER_NS;

	if (clients || (now >= over && !m->gauge.instrument.parks))
		return (struct step){METER_COUNTING, NEVER};
	if (now >= over)
		return park(m, now);
	if (m->gauge.baseline != BASELINE_IDLE)
		return (struct step){METER_COUNTING, over};
	return now < calm ? (struct step){METER_COUNTING, calm} : baseline_start(m, now);
}

static struct step measuring(struct meter *m, uint64_t now, bool clients)
{
	(void)clients;
	if (pthread_tryjoin_np(m->thread, NULL) != 0)
		return (struct step){METER_MEASURING, now + LOOK_NS};
	baseline_take(m);
	return m->counts ? (struct step){METER_COUNTING, now} : park(m, now);
}

/* In the order of enum meter_state. */
static struct step (*const steps[])(struct meter *m, uint64_t now,
				    bool clients) = {parked, parked, settling, counting, measuring};

bool meter_look(struct meter *m, bool clients)
{
	const uint64_t now = now_ns();
	const unsigned period = m->last.period;
	const bool counted = m->counts;
	struct step next;

	if (clients) {
		m->idle_ns = 0;
		m->stop = 1;
	} else if (m->idle_ns == 0) {
		m->idle_ns = now;
	}
	next = steps[m->state](m, now, clients);
	m->state = next.state;
	m->due_ns = next.due_ns;
	return m->counts != counted || m->last.period != period;
}

/*
 * Start and end.
 */

void meter_start_or_die(struct meter *m, const struct gauge_setup *setup)
{
	struct gauge *g = &m->gauge;
	struct calibration *c = &g->calibration;

	gauge_prepare_or_die(g, setup);
	g->baseline = c->cpu != NULL ? BASELINE_FILE : BASELINE_IDLE;
	m->wanted = true;
	m->named = -1;
	pthread_rwlock_init(&m->lock, NULL);
	if (!gauge_start_instrument(g))
		return;
	if (g->instrument.holder.pid >= 0) {
		name_holder(m);
		return;
	}
	if (g->baseline == BASELINE_IDLE) {
		baseline_measure(&g->instrument, c, 0, NULL);
		if (baseline_starved(c) >= 0) {
			warnx("the load is not measured: %s: zcs tries again each minute without "
			      "clients%s",
			      baseline_disturbed(c, "at the start"), busiest_find());
			free(c->cpu);
			c->cpu = NULL;
		}
	}
	if (g->instrument.parks) {
		park(m, now_ns());
	} else { /* watching idle time disturbs nothing: a period begins at once */
		change_period(m, NULL, true);
		m->state = METER_COUNTING;
	}
}

void meter_stop(struct meter *m)
{
	if (!m->wanted)
		return;
	m->stop = 1;
	if (m->state == METER_MEASURING) {
		pthread_join(m->thread, NULL);
		baseline_take(m);
	}
	gauge_close(&m->gauge);
}
