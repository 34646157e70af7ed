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

/* In 10 CPU-seconds; the idle machine has 10 samples of the scheduler in 5, unless there is no such time. */
static void test_shares(void)
{
	static const struct {
		const char *title;
		double v[7]; /* samples: copies, scheduler, other, idle, lost; the load; the time of the idle machine */
		const char *want; /* samples of load, their share, lost ones; the groups; reasons */
	} rows[] = {
		/* 1.96 sqrt(1/16 300 + 9/16 160) / 400 0.42, 3/4 0.01 and 3/4 0.02: the noise is 120 + 4 10. */
		{"groups are shares of the load, without what the idle machine has",
		 {300, 120, 0, 580, 0, .42, 5},
		 "400 0.4000 0.0000; 0.3150 +-0.0272, 0.1050, 0.0000; "},
		{"much is in no group, or lost, or the samples are not as many as the load",
		 {300, 120, 60, 580, 20, .3, 5},
		 "460 0.4340 0.0185; 0.1957 +-0.0888, 0.0652, 0.0391; other,lost,sampled"},
		{"samples may differ from a load by a fifth of it",
		 {300, 120, 0, 580, 0, .44, 5},
		 "400 0.4000 0.0000; 0.3300 +-0.0382, 0.1100, 0.0000; "},
		{"or by 3 points",
		 {60, 0, 0, 940, 0, .08, 0},
		 "60 0.0600 0.0000; 0.0800 +-0.0224, 0.0000, 0.0000; "},
		{"few samples",
		 {25, 24, 0, 51, 0, .29, 5},
		 "29 0.2900 0.0000; 0.2500 +-0.1361, 0.0400, 0.0000; sampled"},
		{"where the load is not measured there are no groups",
		 {25, 24, 0, 51, 0, NAN, 5},
		 "29 0.2900 0.0000; 9.0000 +-9.0000, 9.0000, 9.0000; "},
	};
	struct profile_shares s;
	char unsafe[PROFILE_REASONS];
	const double *v;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		v = rows[i].v;
		s = (struct profile_shares){
			.group = {[PROFILE_COPY] = 9, [PROFILE_SCHEDULER] = 9, [PROFILE_OTHER] = 9},
			.half = {[PROFILE_COPY] = 9}};
		profile_shares(&(struct profile_counts){.n = {[PROFILE_COPY] = v[0],
							      [PROFILE_SCHEDULER] = v[1],
							      [PROFILE_OTHER] = v[2]},
							.idle = v[3],
							.lost = v[4]},
			       &(struct profile_counts){.n[PROFILE_SCHEDULER] = 10, .time = v[6]},
			       10, v[5], .01, &s, unsafe);
		is(text_of("%.0f %.4f %.4f; %.4f +-%.4f, %.4f, %.4f; %s", s.samples, s.sampled,
			   s.lost, s.group[PROFILE_COPY], s.half[PROFILE_COPY],
			   s.group[PROFILE_SCHEDULER], s.group[PROFILE_OTHER], unsafe),
		   rows[i].want, "%s", rows[i].title);
	}
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

/* Puts a record in a ring: a sample of a thread with n addresses, or as many samples that are lost. */
static void record(int i, uint32_t type, uint16_t size, uint32_t tid, uint64_t n)
{
	struct perf_event_mmap_page *page = (void *)memory[i];
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t n, chain[2];
	} record = {
		{.type = type, .size = size}, 1, tid, n, {(uint64_t)PERF_CONTEXT_KERNEL, 0x1000}};

	memcpy(memory[i] + page->data_offset + page->data_head, &record, sizeof(record));
	__atomic_store_n(&page->data_head, page->data_head + (size + 7) / 8 * 8, __ATOMIC_RELEASE);
}

static void sample(int i, uint32_t tid)
{
	record(i, PERF_RECORD_SAMPLE, 24, tid, 0);
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
	sample(0, 7);
	sample(1, 7);
	record(0, PERF_RECORD_SAMPLE, 40, 5, 2);
	record(0, PERF_RECORD_LOST, 24, 0, 40);
	record(0, PERF_RECORD_COMM, 24, 0, 1);
	record(1, PERF_RECORD_SAMPLE, 16, 5, 0);
	record(1, PERF_RECORD_SAMPLE, 40, 5, 3);
	record(1, PERF_RECORD_SAMPLE, 40, 5, UINT64_MAX);
	record(1, PERF_RECORD_SAMPLE, 4, 8, 0);
	profile_read(p, &c);
	ok(c.n[PROFILE_USER] == 1 && c.n[PROFILE_OTHER] == 1 && c.idle == 1 && c.lost == 44 &&
		   page->data_tail == 128,
	   "samples are in groups, idle time if they are a CPU's soaker's, or lost if their size is impossible");
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	profile_start(NULL);
	profile_start(p);
	profile_start(p);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	sample(1, 8);
	for (i = 0; i < 5000 && __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE) != 152; i++)
		sleep_ns(1000000);
	profile_stop(NULL);
	profile_stop(p);
	ok(sigismember(&blocked, SIGTERM) == 1 &&
		   sigismember(&before, SIGTERM) == sigismember(&after, SIGTERM),
	   "a signal is the caller's, and not the thread's");
	sample(0, 7);
	sleep_ns(2000000);
	ok(page->data_tail == 152 &&
		   ((struct perf_event_mmap_page *)(void *)memory[0])->data_tail == 112,
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

TESTS(test_ring, test_hostile_rings, test_shares, test_missing, test_profile, test_rate)
