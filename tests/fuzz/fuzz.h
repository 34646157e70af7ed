/*
 * fuzz.h: what the targets of the fuzzer share.  A target makes valid cases, which are then damaged, runs one through
 * a reader of zc's, and checks what must hold.  It is a few functions of targets.c, and a row of targets[] there.
 */
#pragma once

#include "common.h"

#define CASE_MAX (64 * 1024)

struct text {
	size_t len;
	char s[CASE_MAX];
};

struct fuzz_target {
	const char *name;
	bool string; /* the case is a string: it ends at a NUL and has one */
	bool (*run)(const char *s, size_t len); /* whether it was accepted */
	void (*make)(struct text *t);           /* a valid case, or nearly */
	const char
		*words; /* that mean something to it, between `|`; NULL: headers of the wire do */
};

extern const struct fuzz_target targets[];
extern const size_t n_targets;

/* Aborts unless this is true. */
void holds(bool it_does, const char *what);

/* Chance: what a target chooses in run() depends on the case alone, so that a case fails again by itself. */
uint64_t any(void);
size_t below(size_t n); /* 0 if n is 0 */
bool one_in(size_t n);

/* Text: what does not fit in CASE_MAX is cut off. */
void put_bytes(struct text *t, const void *p, size_t n);
void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void put_odd_number(struct text *t);         /* at the edge of a type, or no number at all */
void put_header(struct text *t, uint32_t v); /* of the wire */
