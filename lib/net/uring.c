#include "lib/net/uring.h"

#include "lib/base/proc.h"

#include <linux/time_types.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define DISABLED_FILE "/proc/sys/kernel/io_uring_disabled"
#define PATIENCE_NS   1000000000u
#define RETRY_NS      10000000u
#define PRESSURE_NS   1000000u /* before a call is repeated for which the kernel lacked a resource */

/*
 * The memory that a ring had locked counts until a moment after the ring was closed: ENOMEM is final only after
 * PATIENCE_NS.
 */
static int setup(unsigned entries, struct io_uring_params *p)
{
	const uint64_t until = now_ns() + PATIENCE_NS;
	int fd;

	while ((fd = (int)syscall(SYS_io_uring_setup, entries, p)) < 0 && errno == ENOMEM &&
	       now_ns() < until)
		sleep_ns(RETRY_NS);
	return fd;
}

static int map_rings(struct uring *u, const struct io_uring_params *p)
{
	const size_t sq = p->sq_off.array + p->sq_entries * sizeof(unsigned);
	const size_t cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
	unsigned i, *array;
	char *map;

	u->rings_size = sq > cq ? sq : cq;
	u->entries = p->sq_entries;
	u->rings = map = mmap(NULL, u->rings_size, prot, flags, u->fd, IORING_OFF_SQ_RING);
	if (u->rings == MAP_FAILED)
		return -1;
	u->sqe = mmap(NULL, u->entries * sizeof(*u->sqe), prot, flags, u->fd, IORING_OFF_SQES);
	if (u->sqe == MAP_FAILED)
		return -1;
	u->sq_tail = (void *)(map + p->sq_off.tail);
	u->cq_head = (void *)(map + p->cq_off.head);
	u->cq_tail = (void *)(map + p->cq_off.tail);
	u->cqe = (void *)(map + p->cq_off.cqes);
	u->cq_mask = p->cq_entries - 1;
	/* Requests are submitted in the order in which they are written. */
	array = (void *)(map + p->sq_off.array);
	for (i = 0; i < u->entries; i++)
		array[i] = i;
	return 0;
}

/* The ring is disabled until its thread starts it. */
int uring_open(struct uring *u, unsigned entries, bool deferred)
{
	struct io_uring_params p = {.flags = IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER |
					     IORING_SETUP_DEFER_TASKRUN};

	*u = (struct uring){.rings = MAP_FAILED, .sqe = MAP_FAILED};
	u->fd = setup(entries, &p);
	if (u->fd < 0 && errno == EINVAL && !deferred) {
		p = (struct io_uring_params){.flags = IORING_SETUP_R_DISABLED};
		u->fd = setup(entries, &p);
	}
	if (u->fd < 0)
		return -1;
	/* Both are of Linux 5.11 or earlier, as is a ring that is disabled at first. */
	if ((p.features & IORING_FEAT_SINGLE_MMAP) != 0 && (p.features & IORING_FEAT_EXT_ARG) != 0)
		return map_rings(u, &p);
	errno = EINVAL;
	return -1;
}

int uring_start(struct uring *u)
{
	return uring_register(u, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

int uring_register(const struct uring *u, unsigned op, const void *arg, unsigned n)
{
	return (int)syscall(SYS_io_uring_register, u->fd, op, arg, n) < 0 ? -1 : 0;
}

struct io_uring_sqe *uring_request(struct uring *u, unsigned char op, int fd, const void *buf,
				   size_t len)
{
	struct io_uring_sqe *sqe = &u->sqe[u->tail++ & (u->entries - 1)];

	*sqe = (struct io_uring_sqe){
		.opcode = op, .fd = fd, .addr = (uintptr_t)buf, .len = (uint32_t)len};
	return sqe;
}

int uring_enter(struct uring *u, unsigned wait, int timeout_ms)
{
	struct __kernel_timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000};
	const struct io_uring_getevents_arg arg = {.ts = (uintptr_t)&t};
	const bool timed = wait > 0 && timeout_ms >= 0;
	const unsigned flags = (wait > 0 ? IORING_ENTER_GETEVENTS : 0) |
			       (timed ? IORING_ENTER_EXT_ARG : 0);
	long n;

	atomic_store_explicit(u->sq_tail, u->tail, memory_order_release);
	n = syscall(SYS_io_uring_enter, u->fd, u->tail - u->submitted, wait, flags,
		    timed ? &arg : NULL, timed ? sizeof(arg) : 0);
	if (n > 0)
		u->submitted += (unsigned)n;
	if (n < 0 && (errno == EAGAIN || errno == EBUSY))
		sleep_ns(PRESSURE_NS);
	else if (n < 0 && errno != ETIME && errno != EINTR)
		return -1;
	return 0;
}

bool uring_has_next(const struct uring *u)
{
	return atomic_load_explicit(u->cq_head, memory_order_relaxed) !=
	       atomic_load_explicit(u->cq_tail, memory_order_acquire);
}

bool uring_next(struct uring *u, struct io_uring_cqe *done)
{
	const unsigned head = atomic_load_explicit(u->cq_head, memory_order_relaxed);

	if (!uring_has_next(u))
		return false;
	*done = u->cqe[head & u->cq_mask];
	atomic_store_explicit(u->cq_head, head + 1, memory_order_release);
	return true;
}

void uring_cancel(struct uring *u, uint64_t user_data, uint64_t own_user_data)
{
	struct io_uring_sqe *sqe = uring_request(u, IORING_OP_ASYNC_CANCEL, -1, NULL, 0);

	sqe->addr = user_data;
	sqe->user_data = own_user_data;
}

void uring_close(struct uring *u)
{
	if (u->sqe != MAP_FAILED)
		munmap(u->sqe, u->entries * sizeof(*u->sqe));
	if (u->rings != MAP_FAILED)
		munmap(u->rings, u->rings_size);
	close(u->fd);
	u->fd = -1;
}

const char *uring_explain(int error)
{
	char disabled[16] = "0";

	switch (error) {
	case EPERM:
		file_read_line(DISABLED_FILE, disabled, sizeof(disabled));
		return strcmp(disabled, "0") != 0
			       ? "io_uring: kernel.io_uring_disabled forbids it: set that sysctl to 0"
			       : "io_uring: a seccomp filter forbids it: containers need a profile "
				 "that allows io_uring_setup";
	case ENOSYS: return "io_uring: this kernel has none, or a seccomp filter hides it";
	case EINVAL: return "io_uring: this kernel is too old: Linux 6.1 or later is needed";
	case ENOMEM: return "io_uring: no memory to lock: raise ulimit -l, or use fewer streams";
	default: return strerror(error);
	}
}
