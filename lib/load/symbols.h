/*
 * symbols.h: the kernel's functions, and the group of work to which each belongs.
 *
 *	why = symbols_read(&s, fopen("/proc/kallsyms", "re"));
 *	if (why != NULL)
 *		die("%s", why);
 *	group = symbols_group(&s, chain, n, false);
 *	symbols_free(&s);
 */
#pragma once

#include "common.h"

/* The groups of a profile, in the order in which reports have them: each with its constant, key and name. */
#define PROFILE_EACH(GROUP)                                                                        \
	GROUP(PROFILE_COPY, "data_copy", "data copy")                                              \
	GROUP(PROFILE_TCP, "tcp_ip", "TCP/IP")                                                     \
	GROUP(PROFILE_CRYPTO, "crypto", "TLS, ciphers")                                            \
	GROUP(PROFILE_SKB, "skb", "socket buffers")                                                \
	GROUP(PROFILE_DEVICE, "device", "network device")                                          \
	GROUP(PROFILE_MEMORY, "memory", "memory")                                                  \
	GROUP(PROFILE_FILES, "files", "page cache, files")                                         \
	GROUP(PROFILE_LOCKS, "locks", "locks")                                                     \
	GROUP(PROFILE_SCHEDULER, "scheduler", "scheduler, wake-ups")                               \
	GROUP(PROFILE_INTERRUPTS, "interrupts", "interrupts, timers")                              \
	GROUP(PROFILE_ENTRY, "entry", "system call entry")                                         \
	GROUP(PROFILE_URING, "io_uring", "io_uring")                                               \
	GROUP(PROFILE_FILTERS, "filters", "netfilter, BPF")                                        \
	GROUP(PROFILE_USER, "user", "user")                                                        \
	GROUP(PROFILE_OTHER, "other", "other")

#define PROFILE_CONSTANT(which, key, name) which,

enum profile_group {
	PROFILE_EACH(PROFILE_CONSTANT)
	/* How many there are, and what else a function may have. */
	PROFILE_GROUPS,
	PROFILE_CALLER = PROFILE_GROUPS, /* a function that belongs to whoever called it */
	PROFILE_UNKNOWN,                 /* a function that no pattern has */
	PROFILE_IDLE,                    /* of a sample: the soaker itself */
	PROFILE_UNSEEN                   /* of a symbol: it has not been looked up yet */
};

struct symbol {
	uint64_t address;
	const char *name, *module; /* the module is NULL in the kernel itself */
	enum profile_group group;
};

struct symbols {
	char *text; /* of the file, with the names */
	struct symbol *symbol;
	size_t n;
};

/*
 * Reads a file as /proc/kallsyms is, and closes it; it may be NULL, if it could not be opened.  Returns NULL, or what is
 * missing.
 */
const char *symbols_read(struct symbols *s, FILE *f);
void symbols_free(struct symbols *s);

/*
 * The group of a sample: that of the first of its n kernel functions, from the inside, that has one.  A sample without
 * such a function is PROFILE_USER.  Of a soaker it is PROFILE_IDLE, unless an interrupt or a switch had the CPU.
 */
enum profile_group symbols_group(struct symbols *s, const uint64_t *chain, size_t n, bool soaker);
