/*
 * symbols.h: the kernel's functions, and the group of work to which each belongs.
 *
 *	if (!symbols_read(&s, fopen("/proc/kallsyms", "re"), why))
 *		die("%s", why);
 *	group = symbols_group(&s, chain, n, false);
 *	symbols_free(&s);
 */
#pragma once

#include "common.h"

/* The groups of a profile, in the order in which reports have them. */
enum profile_group {
	PROFILE_COPY,
	PROFILE_TCP,
	PROFILE_SKB,
	PROFILE_DEVICE,
	PROFILE_MEMORY,
	PROFILE_FILES,
	PROFILE_LOCKS,
	PROFILE_SCHEDULER,
	PROFILE_INTERRUPTS,
	PROFILE_ENTRY,
	PROFILE_URING,
	PROFILE_FILTERS,
	PROFILE_USER,
	PROFILE_OTHER,
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
 * Reads a file as /proc/kallsyms is, and closes it; it may be NULL, with errno set.  Returns false, with what is wrong
 * in `why`, if it has no addresses.
 */
bool symbols_read(struct symbols *s, FILE *f, char why[DIE_MAX]);
void symbols_free(struct symbols *s);

/*
 * The group of a sample: that of the first of its n kernel functions, from the inside, that has one.  A sample without
 * such a function is PROFILE_USER.  Of a soaker it is PROFILE_IDLE, unless an interrupt or a switch had the CPU.
 */
enum profile_group symbols_group(struct symbols *s, const uint64_t *chain, size_t n, bool soaker);

/*
 * Appends the kernel functions of a sample to a text, the outermost first, each behind a `;`, or `;[user]` if there are
 * none.  What does not fit is cut off.
 */
void symbols_append(const struct symbols *s, const uint64_t *chain, size_t n, char *text,
		    size_t size);
