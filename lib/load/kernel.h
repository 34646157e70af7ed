/*
 * kernel.h: options with which the kernel was built, and which decide what its clocks count; what it permits.
 *
 *	if (kernel_option(KERNEL_IRQ_TIME) == 1)
 *		...
 */
#pragma once

#include "common.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux" /* the kernel's types (Documentation/bpf/btf.rst) */

enum kernel_option {
	KERNEL_IRQ_TIME, /* IRQ_TIME_ACCOUNTING: a thread's CPU clock leaves out interrupts and softirqs */
	KERNEL_STEAL_TIME, /* PARAVIRT_TIME_ACCOUNTING: it leaves out what the hypervisor takes */
	KERNEL_OPTIONS
};

/* Their names in an environment. */
extern const char *const kernel_option_name[KERNEL_OPTIONS];

/* Whether the kernel has this option: 1 or 0; -1 if neither BTF nor /boot/config-RELEASE can be read. */
int kernel_option(enum kernel_option o);

/* The timer's interrupts per second, CONFIG_HZ; NAN if /boot/config-RELEASE cannot be read. */
double kernel_hz(void);

/* Whether this thread has these two capabilities (linux/capability.h), or CAP_SYS_ADMIN, of which they are parts. */
bool kernel_permits(int one, int two);
