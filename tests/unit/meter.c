#include <sys/file.h>

#include "lib/load/keeper.h"
#include "lib/load/meter.h"
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

static struct machine {
	bool starts, has_file, parks, is_starved; /* the instrument, and its CPU */
	pid_t holder;                             /* who soaks; 0: nobody */
} machine;                                        /* on which a meter starts */

static int locks; /* that are held */
static bool is_unlocked,
	is_past; /* a sample was read without, or a look was due before it was asked for */

static struct soaker *soaker;
static struct baseline baseline = {.spin = 1, .speed = 1};

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
}

static void keep_tasks(const struct windows *w, int n, struct calibration *c)
{
	(void)w;
	(void)n;
	c->all.tasks = tasks;
	c->cpu[0].spin = !machine.is_starved;
}

static const struct instrument_kind kind = {
	.name = LOAD_BY_IDLE, .stop = stop_nothing, .read = read_nothing, .shares = keep_tasks};

static void prepare(struct gauge *g)
{
	g->calibration = (struct calibration){.cpus.n = 1, .kind = &kind};
	if (machine.has_file)
		g->calibration.cpu = &baseline;
}

static bool start(struct gauge *g)
{
	g->instrument = (struct instrument){.kind = &kind,
					    .parks = machine.parks,
					    .soaker = soaker,
					    .holder = {machine.holder - 1, "other"}};
	return machine.starts;
}

/* The part itself, without other threads that read. */
#define pthread_rwlock_init(lock, attributes) (locks = 0)
#define pthread_rwlock_rdlock(lock)           (locks++)
#define pthread_rwlock_wrlock(lock)           (locks++)
#define pthread_rwlock_unlock(lock)           (locks--)
#define gauge_sample(g, sum)                  (is_unlocked |= locks != 1, (gauge_sample)(g, sum))
#define gauge_prepare_or_die(g, setup)        ((void)(setup), prepare(g))
#define gauge_start_instrument(g)             start(g)
#include "lib/load/meter.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

static struct meter m;

static bool looks(bool clients)
{
	const uint64_t now = now_ns();
	const bool has_changed = meter_look(&m, clients);

	is_past |= m.due_ns < now;
	return has_changed;
}

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
	return looks(clients);
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
	looks(true);
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
	looks(false);
	ok(look(false) && m.state == METER_PARKED && soaker->parked != 0,
	   "the period ends when no client has come for long");
	soaker->weight = false;
	meter_read(&m, &last);
	to = later();
	ok(last.now.limits.now == UNSAFE_WEIGHT && lasts(&last, &to, NAN) &&
		   lasts(&from, &to, last.now.time - from.now.time),
	   "nothing is counted after a period, and its last sample keeps the reasons");
	m.gauge.calibration.taken_ns -= 3601000000000;
	looks(true);
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
	looks(true);
	ok(!look(true) && m.state == METER_BLOCKED && m.due_ns < UINT64_MAX &&
		   strcmp(meter_no_load(&m, 0), NO_LOAD_HELD) == 0,
	   "another program soaks: a client gets the reason, and the lock is tried again");
	look(false);
	looks(true);
	flock(other_lock, LOCK_UN);
	ok(!look(true) && m.state == METER_SETTLING && look(true),
	   "a load begins when the other program has ended");
	line = strstr(captured(), "soaks the CPUs: stop it");
	ok(line != NULL && strstr(line + 20, "soaks the CPUs") == NULL,
	   "another program that soaks is named once");
}

/*
 * Returns whether the baseline is renewed, and again, when a client came and left; if `disturbed` another comes
 * meanwhile.
 */
static bool has_renewed(bool disturbed)
{
	const unsigned before = m.last.period;
	int i;

	looks(true);
	looks(false);
	m.idle_ns -= 2000000000;
	for (i = 0; i < 2; i++) {
		if (m.due_ns == UINT64_MAX || looks(false) || m.state != METER_MEASURING)
			return false;
		while (m.state == METER_MEASURING) {
			sleep_ns(1000000);
			looks(disturbed);
		}
	}
	return m.state == METER_COUNTING && m.last.period == before + 2;
}

/* Idle time that cannot be measured; and one whose baseline is renewed. */
static void test_idle(void)
{
	m = (struct meter){.wanted = true,
			   .gauge = {.baseline = BASELINE_IDLE, .calibration.kind = &kind}};
	pthread_rwlock_init(&m.lock, NULL);
	looks(false);
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
	looks(false);
	ok(m.state == METER_COUNTING && m.due_ns == UINT64_MAX, "but for 10 seconds");
	ok(!has_renewed(true) && m.last.period == 4,
	   "a client that comes meanwhile is measured against the old baseline");
	ok(strcmp(meter_no_load(&m, 0), NO_LOAD_SHORT) == 0 &&
		   strcmp(meter_no_load(&m, UNSAFE_BASELINE_BUSY), NO_LOAD_BASELINE) == 0 &&
		   strcmp(meter_no_load(&m, UNSAFE_CALIBRATION), "jump") == 0,
	   "a client whose load is not measured was too short, unless the baseline is the reason");
	meter_stop(&m);
}

#define BUSY ": the load is not measured: CPU 0 was fully busy at the start"

/* How a meter starts: its state, whether it counts, how long it need not look, its baseline, and what it prints. */
static void test_start(void)
{
	static const struct {
		const char *title;
		struct machine machine;
		bool has_baseline;
		const char *want;
	} rows[] = {
		{"nothing starts", .want = "0 0 0, 0 s."},
		{"idle time", {.starts = true}, true, "3 1 1, 0 s."},
		{"idle time of a busy CPU",
		 {.starts = true, .is_starved = true},
		 false,
		 "3 1 1, 0 s" BUSY},
		{"soakers", {.starts = true, .parks = true}, true, "0 0 0, 0 s."},
		{"a file",
		 {.starts = true, .parks = true, .has_file = true, .is_starved = true},
		 true,
		 "0 0 0, 0 s."},
		{"soakers of a busy CPU",
		 {.starts = true, .parks = true, .is_starved = true},
		 false,
		 "0 0 0, 60 s" BUSY},
		{"soakers beside others",
		 {.starts = true, .parks = true, .holder = 7},
		 false,
		 "0 0 0, 0 s: the load is not measured: other (pid 6) soaks the CPUs"},
	};
	const struct gauge_setup setup = {.what = "test"};
	uint64_t now;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		meter_init();
		machine = rows[i].machine;
		soaker->parked = 0;
		m = (struct meter){.wanted = false};
		locks = 9;
		capture(STDERR_FILENO);
		meter_start_or_die(&m, &setup);
		now = now_ns();
		has(text_of("%d %d %u, %.0f s%s.", m.state, m.counts, m.last.period,
			    m.retry_ns > now ? seconds_between(now, m.retry_ns) : 0.0,
			    strchrnul(captured(), ':')),
		    rows[i].want, "%s: the state is that of the instrument, and a line has why",
		    rows[i].title);
		ok(m.wanted && locks == 0 &&
			   soaker->parked == (machine.parks && machine.holder == 0) &&
			   (m.gauge.baseline == BASELINE_FILE) == machine.has_file &&
			   (m.gauge.calibration.cpu != NULL) == rows[i].has_baseline,
		   "%s: there is a baseline, or not", rows[i].title);
		if (!machine.has_file)
			free(m.gauge.calibration.cpu);
	}
	machine.is_starved = false;
}

static void test_rules(void)
{
	ok(locks == 0 && !is_unlocked, "each sample is read under the lock, which is given back");
	ok(!is_past, "no look was due before it was asked for");
}

TESTS(test_loads, test_blocked, test_idle, test_start, test_rules)
