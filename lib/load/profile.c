#include "lib/load/profile.h"

#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "lib/base/proc.h"
#include "lib/base/program.h"
#include "lib/load/kernel.h"

#define SAMPLE_HZ    199 /* on each CPU: a prime, and no multiple of a tick */
#define SAMPLE_CPUS  64  /* up to which it is that; on more CPUs it is less on each */
#define SAMPLE_LEAST 29
#define RING_BYTES   262144u /* of a CPU: more than a second of samples with long call chains */
#define DRAIN_MS     500

#define OTHER_MOST 0.1  /* share of the load that may be in no group */
#define LOST_MOST  0.01 /* share of the samples that may be lost */
#define OFF_POINTS 0.03 /* by which the samples' busy share may differ from the load */
#define OFF_SHARE  0.2
#define FEW_LOAD   30 /* samples of load, net of the idle machine's: fewer tell no shares */

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define MAX_RATE "/proc/sys/kernel/perf_event_max_sample_rate"
#define RESTRICT "/proc/sys/kernel/kptr_restrict"
#define ALLOW    "'sysctl kernel.perf_event_paranoid=0 kernel.kptr_restrict=0' first"

/* The events of a CPU, and the soaker there. */
struct ring {
	int fd;
	struct perf_event_mmap_page *page; /* the records are behind it */
	pid_t soaker;
};

struct profile {
	struct ring *ring;
	int n;
	bool by_timer;
	struct symbols symbols;
	pthread_mutex_t lock; /* for the rest */
	struct profile_counts counts;
	pid_t soaker; /* of the ring that is being emptied */
	pthread_t thread;
	bool runs;
	int wake; /* eventfd(2): the thread is to end */
};

/*
 * Rings.
 */

bool ring_each(const void *ring, uint64_t size, uint64_t tail, uint64_t head,
	       void (*each)(void *arg, const struct perf_event_header *record), void *arg)
{
	const unsigned char *data = ring;
	struct perf_event_header header;
	uint64_t at;
	size_t first;
	void *copy;

	if (head - tail > size)
		return false;
	for (; head != tail; tail += header.size) {
		at = tail & (size - 1);
		/* Records are multiples of 8 bytes, so that no header is divided. */
		if (head - tail < sizeof(header) || size - at < sizeof(header))
			break;
		memcpy(&header, data + at, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail ||
		    header.size % sizeof(uint64_t) != 0)
			break;
		first = header.size < size - at ? header.size : (size_t)(size - at);
		if (first == header.size) {
			each(arg, (const void *)(data + at));
			continue;
		}
		copy = alloc_or_die(header.size, 1, "a profile");
		memcpy(copy, data + at, first);
		memcpy((unsigned char *)copy + first, data, header.size - first);
		each(arg, copy);
		free(copy);
	}
	return head == tail;
}

void profile_count(struct symbols *s, pid_t soaker, const struct perf_event_header *record,
		   struct profile_counts *c)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t n, chain[];
	} *sample = (const void *)record;
	const struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} *lost = (const void *)record;
	enum profile_group g;

	if (record->type == PERF_RECORD_LOST && record->size >= sizeof(*lost))
		c->lost += (double)lost->lost;
	if (record->type != PERF_RECORD_SAMPLE)
		return;
	if (record->size < sizeof(*sample) ||
	    sample->n > (record->size - sizeof(*sample)) / sizeof(sample->chain[0])) {
		c->lost++;
		return;
	}
	g = symbols_group(s, sample->chain, (size_t)sample->n, (pid_t)sample->tid == soaker);
	if (g == PROFILE_IDLE)
		c->idle++;
	else
		c->n[g]++;
}

static void count(void *profile, const struct perf_event_header *record)
{
	struct profile *p = profile;

	profile_count(&p->symbols, p->soaker, record, &p->counts);
}

/* Empties all rings.  The caller has the lock. */
static void drain(struct profile *p)
{
	struct ring *r;
	uint64_t head;

	for (r = p->ring; r < p->ring + p->n; r++) {
		head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
		p->soaker = r->soaker;
		if (!ring_each((const unsigned char *)r->page + r->page->data_offset,
			       r->page->data_size, r->page->data_tail, head, count, p))
			p->counts.lost++;
		__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
	}
}

void profile_read(struct profile *p, struct profile_counts *c)
{
	pthread_mutex_lock(&p->lock);
	drain(p);
	*c = p->counts;
	pthread_mutex_unlock(&p->lock);
}

static void *drain_thread(void *profile)
{
	struct profile *p = profile;
	struct pollfd wake = {.fd = p->wake, .events = POLLIN};
	struct profile_counts unused;

	while (poll(&wake, 1, DRAIN_MS) <= 0)
		profile_read(p, &unused);
	return NULL;
}

/*
 * Start and end.
 */

/* Returns a descriptor, or -1. */
static int open_event(int cpu, bool by_timer, int hz)
{
	struct perf_event_attr attr = {
		.type = by_timer ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = by_timer ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_HW_CPU_CYCLES,
		.sample_freq = (uint64_t)hz,
		.freq = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
		.disabled = 1,
		.exclude_callchain_user = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Whether this CPU has the event; what forbids events, or limits files, is found later. */
static bool has_cycles(int cpu, int hz)
{
	const int fd = open_event(cpu, false, hz);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno == EACCES || errno == EPERM || errno == EMFILE;
}

/* Opens and maps the events of a CPU. */
static bool ring_open(struct ring *r, int cpu, bool by_timer, int hz)
{
	r->fd = open_event(cpu, by_timer, hz);
	if (r->fd < 0)
		return false;
	r->page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES, PROT_READ | PROT_WRITE,
		       MAP_SHARED, r->fd, 0);
	if (r->page != MAP_FAILED)
		return true;
	r->page = NULL;
	return false;
}

/* What helps where events (PARANOID) or addresses (RESTRICT) are refused, and the file has this value. */
static const char *advice(const char *file, long value)
{
	const bool is_events = strcmp(file, PARANOID) == 0;
	const int capability = is_events ? CAP_PERFMON : CAP_SYSLOG;
	const bool permits = kernel_permits(capability, capability);

	if (!is_events && value > 1) /* it hides them from root, too */
		return permits ? "'sysctl kernel.kptr_restrict=1' first" : ALLOW;
	if (permits || (is_events && value <= 0))
		return "a seccomp filter, a lockdown, a security module or a container forbids it";
	return geteuid() == 0 ? ALLOW : "run it as root, or " ALLOW;
}

/* Stores what is missing for events, or for the names of functions, and how to get it. */
static const char *explain(int error, const char *what, const char *file, const char **why)
{
	const bool refused = error == EACCES || error == EPERM;
	char value[32];

	*why = text_of("%s: %s", what, strerror(error));
	if (refused && file_read_line(file, value, sizeof(value)) == 0)
		*why = text_of("%s: %s is %s: %s", *why, strrchr(file, '/') + 1, value,
			       advice(file, strtol(value, NULL, 10)));
	if (error == EMFILE || error == ENFILE || error == ENOMEM)
		return NO_PROFILE_LIMIT;
	return refused ? NO_PROFILE_PERMISSION : NO_PROFILE_KERNEL;
}

/* How often a CPU is sampled: a frequency above what the kernel allows is refused. */
static int sample_hz(int cpus)
{
	const int many = SAMPLE_HZ * SAMPLE_CPUS / cpus;
	const int hz = many > SAMPLE_HZ ? SAMPLE_HZ : many < SAMPLE_LEAST ? SAMPLE_LEAST : many;
	char value[32];
	long most = 0;

	if (file_read_line(MAX_RATE, value, sizeof(value)) == 0)
		most = strtol(value, NULL, 10);
	return most > 0 && most < hz ? (int)most : hz;
}

struct profile *profile_open(const struct cpus *cpus, const pid_t *soaker, const char **missing,
			     const char **why)
{
	struct profile *p = alloc_or_die(1, sizeof(*p), "a profile");
	const char *what = NULL, *file = PARANOID;
	const int hz = sample_hz(cpus->n);
	int i, error;
	FILE *f;

	pthread_mutex_init(&p->lock, NULL);
	p->ring = alloc_or_die((size_t)cpus->n, sizeof(*p->ring), "a profile");
	files_allow_most();           /* each CPU has a descriptor */
	for (i = 0; i < cpus->n; i++) /* one event for all, as each has weights of its own */
		p->by_timer |= !has_cycles(cpus->id[i], hz);
	p->wake = eventfd(0, EFD_CLOEXEC);
	if (p->wake < 0) /* without it the thread would never end */
		what = "eventfd(2)";
	for (; what == NULL && p->n < cpus->n; p->n++) {
		p->ring[p->n].soaker = soaker[p->n];
		if (!ring_open(&p->ring[p->n], cpus->id[p->n], p->by_timer, hz))
			what = "perf_event_open(2)";
	}
	error = errno;
	if (what == NULL) {
		file = RESTRICT;
		f = fopen("/proc/kallsyms", "re");
		/* One that can be read has no addresses: they are hidden. */
		error = f != NULL ? EPERM : errno;
		what = symbols_read(&p->symbols, f);
	}
	if (what == NULL)
		return p;
	*missing = explain(error, what, file, why);
	profile_close(p);
	return NULL;
}

const char *profile_event(const struct profile *p)
{
	return p->by_timer ? "timer" : "cycles";
}

static void enable(const struct profile *p, unsigned long request)
{
	const struct ring *r;

	for (r = p->ring; r < p->ring + p->n; r++)
		ioctl(r->fd, request, 0);
}

/* Without the thread the rings are emptied at readings only. */
void profile_start(struct profile *p)
{
	sigset_t all, before;

	if (p == NULL || p->runs)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	p->runs = thread_start(&p->thread, drain_thread, p) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	enable(p, PERF_EVENT_IOC_ENABLE);
}

void profile_stop(struct profile *p)
{
	eventfd_t ignored;

	if (p == NULL)
		return;
	enable(p, PERF_EVENT_IOC_DISABLE);
	if (!p->runs)
		return;
	eventfd_write(p->wake, 1);
	pthread_join(p->thread, NULL);
	eventfd_read(p->wake, &ignored);
	p->runs = false;
}

void profile_close(struct profile *p)
{
	struct ring *r;

	if (p == NULL)
		return;
	profile_stop(p);
	for (r = p->ring; r < p->ring + p->n; r++) {
		if (r->page != NULL)
			munmap(r->page, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES);
		close(r->fd);
	}
	close(p->wake);
	symbols_free(&p->symbols);
	free(p->ring);
	free(p);
}

/*
 * Figures.
 */

static void add_reason(char unsafe[PROFILE_REASONS], const char *reason)
{
	string_append(unsafe, PROFILE_REASONS, "%s%s", unsafe[0] != '\0' ? "," : "", reason);
}

void profile_shares(const struct profile_counts *c, const struct profile_counts *idle, double time,
		    double load, double half, struct profile_shares *s,
		    char unsafe[PROFILE_REASONS])
{
	const double per_idle = idle->time > 0 ? time / idle->time : 0;
	double own[PROFILE_GROUPS], noise[PROFILE_GROUPS]; /* noise: the variance of own */
	double all = c->idle, sum = 0, noises = 0, share, variance, off;
	int g;

	for (g = 0; g < PROFILE_GROUPS; g++) {
		own[g] = c->n[g] - per_idle * idle->n[g];
		noise[g] = c->n[g] + per_idle * per_idle * idle->n[g];
		all += c->n[g];
		sum += own[g];
		noises += noise[g];
	}
	unsafe[0] = '\0';
	s->samples = sum;
	s->lost = c->lost / (all + c->lost);
	s->sampled = sum / all;
	if (!(sum > 0) || isnan(load))
		return;
	off = fabs(s->sampled - load);
	for (g = 0; g < PROFILE_GROUPS; g++) {
		share = own[g] / sum;
		/* The sum has the noise of this group, too, and that of all others. */
		variance = ((1 - share) * (1 - share) * noise[g] +
			    share * share * (noises - noise[g])) /
			   (sum * sum);
		s->group[g] = share * load;
		s->half[g] = hypot(hypot(1.96 * sqrt(variance) * load, share * half), share * off);
	}
	if (own[PROFILE_OTHER] > OTHER_MOST * sum)
		add_reason(unsafe, "other");
	if (s->lost > LOST_MOST)
		add_reason(unsafe, "lost");
	if (sum < FEW_LOAD || (off > OFF_POINTS && off > OFF_SHARE * load))
		add_reason(unsafe, "sampled");
}
