/* Samples, their rings and their figures: lib/load/profile. */
#include "lib/base/proc.h"
#include "lib/base/program.h"
#include "lib/load/kernel.h"
#include "lib/load/profile.h"

#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/unit/script.h"

/* A kernel whose events are descriptors from 100 on, with rings in our memory. */
static struct machine {
	const char *what;                                      /* that is missing */
	int no_cycles, no_event, no_ring, no_wake, no_symbols; /* errors */
	const char *paranoid, *restricted, *rate;              /* files */
	bool permits;
	int uid;
} the;

static _Alignas(64) unsigned char memory[2][4096];
static char *symbols;    /* the file */
static sigset_t blocked; /* in the thread */

static long open_event_of(const struct perf_event_attr *attr, int pid, int cpu, int group)
{
	const bool is_timer = attr->type == PERF_TYPE_SOFTWARE &&
			      attr->config == PERF_COUNT_SW_CPU_CLOCK;
	const bool is_right = attr->freq && attr->disabled && attr->exclude_callchain_user &&
			      pid == -1 && group == -1 &&
			      attr->sample_type == (PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN) &&
			      (is_timer || (attr->type == PERF_TYPE_HARDWARE &&
					    attr->config == PERF_COUNT_HW_CPU_CYCLES));

	errno = !is_timer && the.no_cycles ? the.no_cycles : the.no_event;
	note("%s %d%s;", is_timer ? "timer" : "cycles", (int)attr->sample_freq,
	     is_right ? "" : "?");
	return errno != 0 ? -1 : 100 + cpu;
}

static void *map(size_t size, int fd)
{
	errno = the.no_ring;
	return the.no_ring || size != (size_t)sysconf(_SC_PAGESIZE) + 262144 ? MAP_FAILED
									     : memory[fd % 2];
}

static int read_file(const char *path, char *buf, size_t size)
{
	const char *text = strstr(path, "paranoid") ? the.paranoid
			   : strstr(path, "kptr")   ? the.restricted
						    : the.rate;

	return text == NULL || snprintf(buf, size, "%s", text) < 0 ? -1 : 0;
}

static FILE *open_symbols(void)
{
	errno = the.no_symbols;
	return the.no_symbols ? NULL : fmemopen(symbols, strlen(symbols), "r");
}

#define syscall(number, attr, pid, cpu, group, flags)                                              \
	((number) == SYS_perf_event_open && (flags) == PERF_FLAG_FD_CLOEXEC                        \
		 ? open_event_of(attr, pid, cpu, group)                                            \
		 : -1)
#define mmap(at, size, prot, flags, fd, offset) map(size, fd)
#define munmap(at, size)                                                                           \
	note("unmap%s;", (size) == (size_t)sysconf(_SC_PAGESIZE) + 262144 ? "" : "?")
#define ioctl(fd, request, arg)                                                                    \
	note("%s %d;", (request) == PERF_EVENT_IOC_ENABLE ? "on" : "off", fd)
#define close(fd)                       ((fd) >= 100 ? note("close %d;", fd) : (fd) < 0 || (close)(fd) == 0)
#define eventfd(n, flags)               (errno = the.no_wake, the.no_wake ? -1 : eventfd(n, flags))
#define poll(p, n, ms)                  (pthread_sigmask(SIG_BLOCK, NULL, &blocked), poll(p, n, (ms) / 500))
#define fopen(path, mode)               open_symbols()
#define file_read_line(path, buf, size) read_file(path, buf, size)
#define kernel_permits(one, two)                                                                   \
	((one) == (two) && ((one) == CAP_PERFMON || (one) == CAP_SYSLOG) && the.permits)
#define geteuid()          ((uid_t)the.uid)
#define files_allow_most() note("files;")
#include "lib/load/profile.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#define SIZE 64 /* bytes of the ring */

static _Alignas(8) unsigned char ring[SIZE];
static uint64_t head, seen, sum;

static void begin_ring(uint64_t at)
{
	head = at;
	seen = sum = 0;
}

static void put(uint16_t size, uint64_t value)
{
	const struct perf_event_header h = {.type = PERF_RECORD_LOST, .size = size};
	uint64_t words[4] = {0, value, value, value};
	const uint64_t n = size > 32 ? 32 : size < 8 ? 8 : size;
	uint64_t i;

	memcpy(words, &h, sizeof(h));
	for (i = 0; i < n; i++)
		ring[(head + i) % SIZE] = ((unsigned char *)words)[i];
	head += size;
}

static void each(void *arg, const struct perf_event_header *h)
{
	uint64_t last;

	(void)arg;
	memcpy(&last, (const unsigned char *)h + h->size - sizeof(last), sizeof(last));
	seen++;
	sum += last;
}

static void test_ring(void)
{
	begin_ring(0);
	put(16, 3);
	put(24, 4);
	put(24, 5);
	ok(ring_each(ring, SIZE, 0, SIZE, each, NULL) && seen == 3 && sum == 12,
	   "each record of a full ring is read");
	begin_ring(UINT64_MAX - 39); /* the kernel's counters never end */
	put(24, 5);
	put(32, 6);
	ok(ring_each(ring, SIZE, UINT64_MAX - 39, head, each, NULL) && seen == 2 && sum == 11,
	   "a record that ends at the begin of the ring is whole");
}

static void test_hostile_rings(void)
{
	static const uint16_t sizes[] = {0, 4, 7, 12, 20, 48, UINT16_MAX};
	size_t i;

	for (i = 0; i < LENGTH(sizes); i++) {
		begin_ring(0);
		put(16, 1);
		put(sizes[i], 1);
		ok(!ring_each(ring, SIZE, 0, 40, each, NULL) && seen == 1,
		   "the records behind one of %d bytes, of 24 that are left, are skipped",
		   sizes[i]);
	}
	ok(!ring_each(ring, SIZE, 0, SIZE + 8, each, NULL) &&
		   !ring_each(ring, SIZE, 4, 16, each, NULL) && seen == 1,
	   "a ring cannot have more than its size, nor a record between two words");
}

/* A sample of a thread, with addresses of which the record says how many there are. */
static void count_one(uint16_t size, uint32_t tid, uint64_t n, uint64_t address,
		      struct profile_counts *c)
{
	static struct symbols none;
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t n, chain[2];
	} sample = {{.type = PERF_RECORD_SAMPLE, .size = size},
		    1,
		    tid,
		    n,
		    {(uint64_t)PERF_CONTEXT_KERNEL, address}};

	profile_count(&none, 7, &sample.header, c);
}

static void test_counts(void)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} lost = {{.type = PERF_RECORD_LOST, .size = sizeof(lost)}, 1, 40};
	struct profile_counts c = {.lost = 0};

	count_one(24, 5, 0, 0, &c);
	count_one(40, 5, 2, 0x1000, &c);
	count_one(24, 7, 0, 0, &c);
	profile_count(NULL, 7, &lost.header, &c);
	count_one(16, 5, 0, 0, &c);
	count_one(40, 5, 3, 0, &c);
	count_one(40, 5, UINT64_MAX, 0, &c);
	ok(c.n[PROFILE_USER] == 1 && c.n[PROFILE_OTHER] == 1 && c.idle == 1 && c.lost == 43,
	   "samples are in groups, idle time if they are a soaker's, or lost if their size is impossible");
}

static void test_shares(void)
{
	const struct profile_counts idle = {.n[PROFILE_SCHEDULER] = 10, .time = 5};
	const struct profile_counts none = {.n[PROFILE_COPY] = 7};
	struct profile_counts c = {.n = {[PROFILE_COPY] = 300, [PROFILE_SCHEDULER] = 120},
				   .idle = 580};
	struct profile_shares s = {.lost = 0};
	char unsafe[PROFILE_REASONS];

	/* In 10 CPU-seconds the idle machine has 20 samples of the scheduler: 400 are load, 40 % of all. */
	profile_shares(&c, &idle, 10, 0.42, 0.01, &s, unsafe);
	ok(s.samples == 400 && near(s.sampled, 0.4) && near(s.group[PROFILE_COPY], 0.42 * 3 / 4) &&
		   near(s.group[PROFILE_SCHEDULER], 0.42 / 4) && s.group[PROFILE_TCP] == 0,
	   "groups are shares of the load that was measured, without what the idle machine has");
	/* 1.96 sqrt(1/16 300 + 9/16 160) / 400 0.42, 3/4 0.01 and 3/4 0.02: the scheduler's noise is 120 + 4 10. */
	ok(fabs(s.half[PROFILE_COPY] - 0.0272) < 1e-4,
	   "with the errors of the share, of the idle machine and of the load");
	is(unsafe, "", "and are safe");
	c.n[PROFILE_OTHER] = 60;
	c.lost = 20;
	profile_shares(&c, &idle, 10, 0.3, 0.01, &s, unsafe);
	is(unsafe, "other,lost,sampled",
	   "unless much is in no group, or lost, or the samples are not as many as the load");
	ok(near(s.lost, 20.0 / 1080), "what is lost is a share of all samples, lost ones included");
	c.n[PROFILE_OTHER] = c.lost = 0;
	profile_shares(&c, &idle, 10, 0.44, 0.01, &s, unsafe);
	is(unsafe, "", "samples may differ from a load by a fifth of it");
	c = (struct profile_counts){.n = {[PROFILE_COPY] = 60}, .idle = 940};
	profile_shares(&c, &none, 10, 0.08, 0.01, &s, unsafe);
	is(unsafe, "", "or by 3 points");
	c = (struct profile_counts){.n = {[PROFILE_COPY] = 25, [PROFILE_SCHEDULER] = 24},
				    .idle = 51};
	profile_shares(&c, &idle, 10, 0.29, 0.01, &s, unsafe);
	is(unsafe, "sampled", "or are few");
	s.group[PROFILE_COPY] = NAN;
	profile_shares(&c, &idle, 10, NAN, NAN, &s, unsafe);
	ok(isnan(s.group[PROFILE_COPY]) && near(s.sampled, 0.29),
	   "where the load is not measured there are samples, and no groups");
}

static struct profile *open_two(const char **missing, const char **why)
{
	struct perf_event_mmap_page *page;
	int i;

	for (i = 0; i < 2; i++) {
		page = (void *)memory[i];
		page->data_offset = 2048;
		page->data_size = 2048;
	}
	script.calls[0] = '\0';
	return profile_open(&(struct cpus){2, {0, 1}}, (const pid_t[]){7, 8}, missing, why);
}

/* Why there is none: each thing that may be missing, for a user, root, or one who has the capability. */
static void test_missing(void)
{
	static const struct machine rows[] = {
		{"a user", .no_event = EACCES, .paranoid = "2", .uid = 1},
		{"root without capabilities", .no_event = EPERM, .paranoid = "2"},
		{"who may", .no_event = EPERM, .paranoid = "2", .permits = true},
		{"whom the file lets", .no_event = EPERM, .paranoid = "0", .uid = 1},
		{"without the file", .no_event = EPERM},
		{"files", .no_event = EMFILE},
		{"files of all", .no_event = ENFILE},
		{"memory", .no_event = ENOMEM},
		{"the call", .no_event = ENOSYS},
		{"the ring", .no_ring = EPERM},
		{"the thread", .no_wake = EMFILE},
		{"functions", .no_symbols = ENOENT},
		{"addresses, to a user", .restricted = "1", .uid = 1},
		{"addresses, to root without capabilities", .restricted = "1"},
		{"addresses, to all", .restricted = "2", .uid = 1},
		{"addresses, to root", .restricted = "2", .permits = true},
		{"addresses, to who may", .restricted = "1", .permits = true},
	};
	const char *missing = NULL, *why = NULL;
	static char all[4096];
	size_t i;

	symbols = "0000000000000000 T hidden\n";
	for (i = 0; i < LENGTH(rows); i++) {
		the = rows[i];
		if (open_two(&missing, &why) == NULL)
			string_append(all, sizeof(all), "%s: %s: %s\n%s\n", the.what, missing, why,
				      script.calls);
	}
	expect(all, "what is missing for a profile, and how to get it");
}

/* Puts a sample of a thread in a ring, or a record of an impossible size. */
static void sample(int i, uint32_t tid, uint16_t size)
{
	struct perf_event_mmap_page *page = (void *)memory[i];
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t n;
	} record = {{.type = PERF_RECORD_SAMPLE, .size = size}, 1, tid, 0};

	memcpy(memory[i] + page->data_offset + page->data_head % page->data_size, &record,
	       sizeof(record));
	__atomic_store_n(&page->data_head, page->data_head + sizeof(record), __ATOMIC_RELEASE);
}

static void test_profile(void)
{
	const struct perf_event_mmap_page *page = (void *)memory[1];
	struct profile_counts c;
	const char *missing, *why;
	struct profile *p;
	sigset_t before, after;
	int i;

	symbols = "0000000000001000 T one\n";
	the = (struct machine){.no_cycles = ENOENT, .rate = "100"};
	p = open_two(&missing, &why);
	if (p == NULL)
		abort();
	is(profile_event(p), "timer", "CPUs that are sampled by a timer: the event is called so");
	sample(0, 7, 24);
	sample(1, 7, 24);
	sample(1, 8, 4);
	profile_read(p, &c);
	ok(c.idle == 1 && c.n[PROFILE_USER] == 1 && c.lost == 1 && page->data_tail == 48,
	   "each CPU has its soaker, and a ring that is emptied");
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	profile_start(NULL);
	profile_start(p);
	profile_start(p);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	sample(1, 8, 24);
	for (i = 0; i < 5000 && __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE) != 72; i++)
		sleep_ns(1000000);
	profile_stop(NULL);
	profile_stop(p);
	ok(sigismember(&blocked, SIGTERM) == 1 &&
		   sigismember(&before, SIGTERM) == sigismember(&after, SIGTERM),
	   "a signal is the caller's, and not the thread's");
	sample(0, 7, 24);
	sleep_ns(2000000);
	ok(page->data_tail == 72 &&
		   ((struct perf_event_mmap_page *)(void *)memory[0])->data_tail == 24,
	   "a thread empties the rings from start to stop");
	profile_start(p);
	profile_close(p);
	profile_close(NULL);
	is(script.calls,
	   "files;cycles 100;cycles 100;timer 100;timer 100;on 100;on 101;off 100;off 101;on 100;on 101;off 100;off 101;unmap;close 100;unmap;close 101;",
	   "CPUs that count no cycles are sampled by a timer, from the start to the stop");
	the.no_cycles = EACCES;
	ok(open_two(&missing, &why) == NULL && strstr(script.calls, "timer") == NULL,
	   "cycles that may not be counted are no reason for a timer");
}

static void test_rate(void)
{
	static const struct {
		int cpus;
		const char *rate;
		int hz;
	} rows[] = {{1, NULL, 199},   {64, "0", 199},  {65, "199", 195}, {1000, "28", 28},
		    {1000, "30", 29}, {2, "100", 100}, {2, "-1", 199}};
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		the.rate = rows[i].rate;
		ok(sample_hz(rows[i].cpus) == rows[i].hz,
		   "each of %d CPUs is sampled %d times a second", rows[i].cpus, rows[i].hz);
	}
}

TESTS(test_ring, test_hostile_rings, test_counts, test_shares, test_missing, test_profile,
      test_rate)
