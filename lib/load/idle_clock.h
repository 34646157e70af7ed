/*
 * idle_clock.h: how long each CPU was idle, exact to the nanosecond, measured by four BPF programs at the functions
 * at which Linux up to 7.1 itself began and ended idle time: at the entry and the exit of the idle loop, and of
 * interrupts in it.  A reading is a load from memory.
 *
 *	why = idle_clock_open(&c, cpus->id[cpus->n - 1]);
 *	if (why != NULL)
 *		die("%s", why);
 *	idle = idle_clock_seconds(&c, cpu, now_ns());
 *	...
 *	idle_clock_close(&c);
 *
 * A CPU counts from its first entry of the idle loop on: the caller runs on each CPU once, and sleeps there.  The
 * programs need CAP_BPF and CAP_PERFMON (or root), BTF and the function tracer; they end with the process, or when
 * it has closed the clock.
 */
#pragma once

#include "common.h"

#define IDLE_CLOCK_HOOKS 4

/* One CPU's counts, in a cache line of its own, which only the programs on that CPU write. */
struct idle_clock_cpu {
	/*
	 * Even: 2 * the idle time so far, in ns.  Odd: the CPU is idle since `begun`, of CLOCK_MONOTONIC, and this is
	 * 2 * (the idle time before - begun) + 1.  It is one word, so that a reader needs no lock.
	 */
	uint64_t word;
	uint64_t open;       /* 2 * begun - 1, of when idle time began last */
	uint64_t in_loop;    /* whether the end of an interrupt begins idle time */
	uint64_t interrupts; /* that ended idle time */
	uint64_t unused[4];
};

struct idle_clock {
	int map, link[IDLE_CLOCK_HOOKS];
	int setting,
		watch; /* kernel.ftrace_enabled, and an inotify(7) instance that sees writes to it */
	_Atomic bool silenced;                     /* for good: see below */
	const volatile struct idle_clock_cpu *cpu; /* NULL: not open */
	size_t size;                               /* of that memory, in bytes */
};

/* Starts the clock of CPUs 0 to `last`.  Returns NULL, or what this machine lacks for it. */
const char *idle_clock_open(struct idle_clock *c, int last);

/*
 * Whether the programs may have missed something since the start: nothing calls them while kernel.ftrace_enabled is 0.
 * That lasts until another start, since a CPU that was busy when it became 1 again would count wrong as long as it is.
 */
bool idle_clock_is_silenced(struct idle_clock *c);

/* For how long a CPU was idle, in seconds, up to a moment of CLOCK_MONOTONIC that has just passed. */
double idle_clock_seconds(const struct idle_clock *c, int cpu, uint64_t ns);

/* Closes the clock; does nothing if it is not open. */
void idle_clock_close(struct idle_clock *c);
