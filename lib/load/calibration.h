/*
 * calibration.h: the file that keeps the idle machine's baseline, and how it is made.
 */
#ifndef ZC_LOAD_CALIBRATION_H
#define ZC_LOAD_CALIBRATION_H

#include "common.h"
#include "lib/load/load.h"

/*
 * The soaker: a process in a session of its own with a thread for each CPU, which spins at the
 * lowest weight that the kernel has, and counts.  What it cannot count, something else took: see
 * zc(7) for the method.  There is one set of soakers on a machine.
 *
 * A soaker reads the clock in each turn.  Two readings far apart (a gap) are time that was taken:
 * by another task, an interrupt, a softirq, the hypervisor; so is what it waits longer for the
 * cache lines that it dirties, where traffic takes memory bandwidth or cache.  The rest it spins.
 * On the idle machine, too, other tasks have the CPU for a share tasks0 of the time, and of the time
 * that the soaker has it, it spins the share spin0.  The first goes on beside any load, the second
 * holds for what is left.  So, of the time T,
 *
 *	load = 1 - tasks0 - spin / spin0 / T
 *
 * How many turns the spinning gives is its speed.  It falls with the core's clock frequency and
 * when the core's other thread is busy, be that this machine's traffic or, on a virtual machine,
 * another guest; nothing in here can tell which, so it is a figure of its own:
 *
 *	slowed = 1 - speed / speed0
 */
#define CALIBRATION_FILE "./counts_per_sec"

/*
 * Calibrates on the first n_cpus CPUs (0: all), printing as it goes, and writes the file.  A
 * machine that is busy meanwhile is an error, or with `force` a warning.
 */
void calibrate_or_die(int n_cpus, const char *path, bool force);

/* Reads the file and checks that it fits this machine and n_cpus (0: whatever it was made for). */
void calibration_load_or_die(struct calibration *c, const char *path, int n_cpus);

/* The same for a file's text, with nothing checked but itself: NULL or what is wrong with it. */
const char *calibration_parse(const char *text, size_t len, struct calibration *c);

#endif
