#include "lib/load/meter.h"

#include <sys/file.h>
#include <sys/mman.h>

#include "lib/load/keeper.h"
#include "lib/load/baseline.h"
#include "tests/unit/unit.h"

static struct meter m;
static struct baseline baseline = {.spin = 1, .speed = 1};
static int other_lock; /* by which another program has the soakers' lock, or not */

/* The soaker of one CPU, whose counts stand still; its lock is on a file of this test's own. */
static struct soaker *one_soaker(void)
{
	struct soaker *s = calloc(1, sizeof(*s) + sizeof(s->cpu[0]));
	char path[] = "/tmp/zc-meter.XXXXXX";

	if (s == NULL || (s->lock = mkstemp(path)) < 0)
		err(EXIT_FAILURE, "soaker");
	other_lock = open(path, O_RDONLY);
	unlink(path);
	s->n = 1;
	s->keeper = 1; /* no child of this process */
	s->parked = 1;
	s->cpu[0].last_ns = 1;
	s->online = sysconf(_SC_NPROCESSORS_ONLN);
	return s;
}

/* A parked meter, with a baseline that was just measured. */
static void meter_init(void)
{
	m = (struct meter){.wanted = true, .gauge.instrument = instrument_soak(one_soaker())};
	m.gauge.calibration = (struct calibration){.cpus.n = 1, .cpu = &baseline};
	m.gauge.calibration.taken_ns = (int64_t)clock_ns(CLOCK_BOOTTIME);
	pthread_rwlock_init(&m.lock, NULL);
}

static void meter_free(void)
{
	close(other_lock);
	close(m.gauge.instrument.soaker->lock);
	free(m.gauge.instrument.soaker);
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

/* The seconds of the load between two moments; NAN if there is none. */
static double seconds_of(const struct meter_mark *from, const struct meter_mark *to)
{
	struct load l;

	meter_load(&m, from, to, &l);
	return l.seconds;
}

/* A client comes, has a load, and goes: twice. */
static void test_loads(void)
{
	struct meter_mark before, from, to, last;

	meter_init();
	before = later();
	ok(isnan(seconds_of(&before, &before)), "there is no load before the first client");
	meter_look(&m, true);
	ok(m.state == METER_SETTLING && !soaker_is_parked(m.gauge.instrument.soaker),
	   "a client wakes the soakers");
	ok(look(true), "a period begins when the soakers have settled");
	from = later();
	to = later();
	ok(near(seconds_of(&from, &to), to.now.time - from.now.time),
	   "the load of a period is that between two moments");
	ok(near(seconds_of(&before, &to), to.now.time - to.begin.time) &&
		   to.begin.time < from.now.time,
	   "the load of a client that woke the soakers begins with the period");
	ok(!look(true) && m.due_ns == UINT64_MAX, "a client is waited for");
	m.gauge.instrument.soaker->weight = true;
	ok(later().now.limits.now == UNSAFE_WEIGHT, "a reason that holds makes the load unsafe");
	ok(!meter_look(&m, false) && m.due_ns < UINT64_MAX,
	   "the soakers go on for some time without a client");
	m.idle_ns = 1; /* long ago */
	ok(meter_look(&m, false) && m.state == METER_PARKED &&
		   soaker_is_parked(m.gauge.instrument.soaker),
	   "the period ends when no client has come for long");
	m.gauge.instrument.soaker->weight = false;
	meter_read(&m, &last);
	to = later();
	ok(last.now.limits.now == UNSAFE_WEIGHT && isnan(seconds_of(&last, &to)) &&
		   near(seconds_of(&from, &to), last.now.time - from.now.time),
	   "nothing is counted after a period, and its last sample keeps the reasons");
	meter_look(&m, true);
	ok(look(true), "a second period begins");
	to = later();
	ok(near(seconds_of(&from, &to), to.now.time - to.begin.time) && to.now.limits.now == 0,
	   "a load across two periods is that of the second");
	meter_free();
}

/* Two clients while another program soaks, which then ends. */
static void blocked(void *arg)
{
	(void)arg;
	meter_look(&m, true);
	ok(m.state == METER_BLOCKED, "another program soaks: the soakers sleep");
	is(meter_no_load(&m, 0), NO_LOAD_HELD, "a client of that time has no load, and the reason");
	ok(!look(true) && m.state == METER_BLOCKED && m.due_ns < UINT64_MAX,
	   "the lock is tried again while there are clients");
	ok(!look(false) && m.state == METER_PARKED, "not without clients");
	meter_look(&m, true);
	flock(other_lock, LOCK_UN);
	ok(!look(true) && m.state == METER_SETTLING && look(true),
	   "a load begins when the other program has ended");
}

/* The same before there is a baseline, as if the other program had soaked at the start. */
static void blocked_at_start(void *arg)
{
	(void)arg;
	m.gauge.baseline = BASELINE_IDLE;
	m.gauge.calibration.cpu = NULL;
	meter_look(&m, true);
	look(true);
	ok(m.state == METER_PARKED && m.due_ns == UINT64_MAX,
	   "a first baseline is not measured while there are clients");
	is(meter_no_load(&m, 0), NO_LOAD_BASELINE, "those have no load for want of a baseline");
	meter_look(&m, false);
	ok(m.due_ns < UINT64_MAX, "it is tried for when they have left");
	ok(!look(false) && m.state == METER_PARKED && m.due_ns < UINT64_MAX,
	   "it is tried for again while the other program soaks");
	flock(other_lock, LOCK_UN);
	look(false);
	ok(m.state == METER_SETTLING, "it is measured when that has ended");
}

/* What is printed on stderr by a function that prints its checks on stdout. */
static void stderr_of(void (*function)(void *arg))
{
	const int before = dup(STDERR_FILENO), file = memfd_create("stderr", MFD_CLOEXEC);
	ssize_t n;

	dup2(file, STDERR_FILENO);
	function(NULL);
	dup2(before, STDERR_FILENO);
	n = pread(file, printed, sizeof(printed) - 1, 0);
	printed[n > 0 ? n : 0] = '\0';
	close(before);
	close(file);
}

static void test_blocked(void)
{
	const char *line;

	meter_init();
	flock(other_lock, LOCK_EX);
	stderr_of(blocked);
	line = strstr(printed, "no load is measured while ");
	ok(line != NULL && strstr(line + 1, "no load") == NULL,
	   "another program that soaks is named once");
	meter_free();
	meter_init();
	flock(other_lock, LOCK_EX);
	stderr_of(blocked_at_start);
	is(printed, "", "a program that was named at the start is not named again");
	meter_free();
}

static bool measure_until_stopped(const struct instrument *in, struct calibration *c,
				  double seconds, const _Atomic int *stop)
{
	(void)in;
	(void)c;
	(void)seconds;
	while (!*stop)
		sleep_ns(1000000);
	return false;
}

static void sample_nothing(const struct instrument *in, const struct calibration *c,
			   struct load_sample *sum, struct load_sample *each)
{
	(void)in;
	(void)c;
	(void)each;
	*sum = (struct load_sample){.time = 1};
}

/* Idle time that cannot be measured; and one whose baseline is renewed when a client comes. */
static void test_idle(void)
{
	static const struct instrument_kind kind = {.sample = sample_nothing,
						    .baseline = measure_until_stopped};

	m = (struct meter){.wanted = true, .gauge.baseline = BASELINE_IDLE};
	pthread_rwlock_init(&m.lock, NULL);
	meter_look(&m, false);
	ok(m.state == METER_PARKED && m.due_ns == UINT64_MAX,
	   "without an instrument nothing is tried");
	is(meter_no_load(&m, 0), NO_LOAD_BASELINE, "a client has no load then");
	m.gauge.instrument.kind = &kind;
	m.state = METER_COUNTING;
	m.counts = true;
	m.gauge.calibration = (struct calibration){.cpus.n = 1, .cpu = calloc(1, sizeof(baseline))};
	meter_look(&m, false);
	ok(m.state == METER_COUNTING && m.due_ns < UINT64_MAX,
	   "a pause without clients is waited for");
	m.idle_ns -= 2000000000;
	meter_look(&m, false);
	ok(m.state == METER_MEASURING, "the machine is measured while there are no clients");
	while (m.state == METER_MEASURING) {
		sleep_ns(10000000);
		meter_look(&m, true);
	}
	ok(m.state == METER_COUNTING && m.gauge.calibration.cpu != NULL && !m.renewed,
	   "a client that comes meanwhile is measured against the old baseline");
	look(false);
	meter_stop(&m);
}

int main(void)
{
	test_loads();
	test_blocked();
	test_idle();
	return done();
}
