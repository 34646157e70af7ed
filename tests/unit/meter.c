#include "lib/load/meter.h"

#include <sys/file.h>

#include "lib/load/keeper.h"
#define KEEPS_FILES
#include "tests/unit/unit.h"

/* The windows of a baseline take no longer than the other sleeps here. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's are reserved */
int nanosleep(const struct timespec *t, struct timespec *left)
{
	const struct timespec longest = {.tv_nsec = 20000000};

	return clock_nanosleep(CLOCK_MONOTONIC, 0,
			       t->tv_sec > 0 || t->tv_nsec > longest.tv_nsec ? &longest : t, left);
}

static struct meter m;
static struct soaker *soaker;
static struct baseline baseline = {.spin = 1, .speed = 1};
static int other_lock; /* by which another program has the soakers' lock, or not */

/* A parked meter of one CPU, whose counts stand still, with a baseline that was just measured. */
static void meter_init(void)
{
	char path[] = "/tmp/zc-meter.XXXXXX";

	free(soaker);
	soaker = alloc_or_die(1, sizeof(*soaker) + sizeof(soaker->cpu[0]), "soaker");
	soaker->lock = mkstemp(path);
	other_lock = open(path, O_RDONLY);
	unlink(path);
	soaker->n = 1;
	soaker->keeper = 1; /* no child of this process */
	soaker->parked = 1;
	soaker->cpu[0].last_ns = 1;
	soaker->online = sysconf(_SC_NPROCESSORS_ONLN);
	m = (struct meter){.wanted = true,
			   .gauge.instrument = {&by_soaking, .parks = true, .soaker = soaker}};
	m.gauge.calibration = (struct calibration){.cpus.n = 1,
						   .cpu = &baseline,
						   .kind = &by_soaking,
						   .all = baseline,
						   .taken_ns = (int64_t)clock_ns(CLOCK_BOOTTIME)};
	pthread_rwlock_init(&m.lock, NULL);
}

/* The next look, once it is time to. */
static bool look(bool clients)
{
	m.retry_ns = 0;
	if (m.idle_ns != 0)
		m.idle_ns = 1; /* long ago */
	if (m.state == METER_SETTLING)
		m.due_ns = 0;
	return meter_look(&m, clients);
}

/* What is read after longer than a part of a load may be short. */
static struct meter_mark later(void)
{
	struct meter_mark mark;

	sleep_ns(20000000);
	meter_read(&m, &mark);
	return mark;
}

/* Whether the load between two moments has that many seconds; NAN stands for none. */
static bool lasts(const struct meter_mark *from, const struct meter_mark *to, double seconds)
{
	struct load l;

	meter_load(&m, from, to, &l);
	return isnan(seconds) ? isnan(l.seconds) : near(l.seconds, seconds);
}

/* A client comes, has a load, and goes: twice. */
static void test_loads(void)
{
	struct meter_mark before, from, to, last;
	struct load l;

	meter_init();
	before = later();
	meter_look(&m, true);
	ok(m.state == METER_SETTLING && soaker->parked == 0 && look(true),
	   "a client wakes the soakers, and a period begins when they have settled");
	from = later();
	to = later();
	ok(lasts(&from, &to, to.now.time - from.now.time),
	   "the load of a period is that between two moments");
	ok(lasts(&before, &to, to.now.time - to.begin.time) && to.begin.time < from.now.time,
	   "the load of a client that woke the soakers begins with the period");
	look(true);
	soaker->weight = true;
	later();
	meter_look(&m, false);
	ok(look(false) && m.state == METER_PARKED && soaker->parked != 0,
	   "the period ends when no client has come for long");
	soaker->weight = false;
	meter_read(&m, &last);
	to = later();
	ok(last.now.limits.now == UNSAFE_WEIGHT && lasts(&last, &to, NAN) &&
		   lasts(&from, &to, last.now.time - from.now.time),
	   "nothing is counted after a period, and its last sample keeps the reasons");
	m.gauge.calibration.taken_ns -= 3601000000000;
	meter_look(&m, true);
	look(true);
	to = later();
	ok(lasts(&from, &to, to.now.time - to.begin.time),
	   "a load across two periods is that of the second");
	meter_load(&m, &from, &to, &l);
	ok(l.unsafe == UNSAFE_BASELINE_OLD, "a baseline of more than an hour is old: %s",
	   limits_format(l.unsafe));
}

/* Two clients while another program soaks, which then ends. */
static void test_blocked(void)
{
	const char *line;

	meter_init();
	flock(other_lock, LOCK_EX);
	capture(STDERR_FILENO);
	meter_look(&m, true);
	ok(!look(true) && m.state == METER_BLOCKED && m.due_ns < UINT64_MAX &&
		   strcmp(meter_no_load(&m, 0), NO_LOAD_HELD) == 0,
	   "another program soaks: a client gets the reason, and the lock is tried again");
	look(false);
	meter_look(&m, true);
	flock(other_lock, LOCK_UN);
	ok(!look(true) && m.state == METER_SETTLING && look(true),
	   "a load begins when the other program has ended");
	line = strstr(captured(), "soaks the CPUs: stop it");
	ok(line != NULL && strstr(line + 20, "soaks the CPUs") == NULL,
	   "another program that soaks is named once");
}

/* A machine of which tasks have a share. */
static double tasks;

static void read_nothing(const struct instrument *in, const struct cpus *cpus,
			 struct load_sample *at, bool for_baseline)
{
	(void)in;
	(void)for_baseline;
	at[0] = at[cpus->n] = (struct load_sample){.time = 1};
}

static void stop_nothing(struct instrument *in)
{
	(void)in;
}

static void keep_tasks(const struct windows *w, int n, struct calibration *c)
{
	(void)w;
	(void)n;
	c->all.tasks = tasks;
}

/*
 * Returns whether the baseline is renewed, and again, when a client came and left; if `disturbed` another comes
 * meanwhile.
 */
static bool has_renewed(bool disturbed)
{
	const unsigned before = m.last.period;
	int i;

	meter_look(&m, true);
	meter_look(&m, false);
	m.idle_ns -= 2000000000;
	for (i = 0; i < 2; i++) {
		if (m.due_ns == UINT64_MAX || meter_look(&m, false) || m.state != METER_MEASURING)
			return false;
		while (m.state == METER_MEASURING) {
			sleep_ns(1000000);
			meter_look(&m, disturbed);
		}
	}
	return m.state == METER_COUNTING && m.last.period == before + 2;
}

/* Idle time that cannot be measured; and one whose baseline is renewed. */
static void test_idle(void)
{
	static const struct instrument_kind kind = {.name = LOAD_BY_IDLE,
						    .stop = stop_nothing,
						    .read = read_nothing,
						    .shares = keep_tasks};

	m = (struct meter){.wanted = true,
			   .gauge = {.baseline = BASELINE_IDLE, .calibration.kind = &kind}};
	pthread_rwlock_init(&m.lock, NULL);
	meter_look(&m, false);
	ok(m.state == METER_PARKED && m.due_ns == UINT64_MAX &&
		   strcmp(meter_no_load(&m, 0), NO_LOAD_BASELINE) == 0,
	   "without an instrument nothing is tried, and a client lacks a load");
	m.gauge.instrument.kind = &kind;
	m.gauge.calibration = (struct calibration){
		.cpus.n = 1, .cpu = calloc(1, sizeof(baseline)), .kind = &kind};
	m.state = METER_COUNTING;
	m.counts = true;
	ok(has_renewed(false) && m.gauge.calibration.cpu->spin == 1,
	   "a pause without clients renews the baseline again and again, each for a period");
	tasks = 0.2;
	ok(!has_renewed(false), "but not by one of a busier machine");
	m.gauge.calibration.others = 0.3;
	ok(has_renewed(false), "unless that was busier still");
	m.idle_ns -= 10000000000;
	meter_look(&m, false);
	ok(m.state == METER_COUNTING && m.due_ns == UINT64_MAX, "but for 10 seconds");
	ok(!has_renewed(true) && m.last.period == 4,
	   "a client that comes meanwhile is measured against the old baseline");
	ok(strcmp(meter_no_load(&m, 0), NO_LOAD_SHORT) == 0 &&
		   strcmp(meter_no_load(&m, UNSAFE_BASELINE_BUSY), NO_LOAD_BASELINE) == 0 &&
		   strcmp(meter_no_load(&m, UNSAFE_CALIBRATION), "jump") == 0,
	   "a client whose load is not measured was too short, unless the baseline is the reason");
	meter_stop(&m);
}

TESTS(test_loads, test_blocked, test_idle)
