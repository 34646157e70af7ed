/*
 * fuzz.h: what the targets of the fuzzer share: chance, text and its damage, and what must hold.
 *
 * A target makes cases that are valid, or nearly, which are then damaged; it runs one through zc's own
 * code and checks, beside that nothing breaks, what must hold of the result: a refusal has a reason and
 * leaves nothing behind, a whole is read as its pieces are, what is written and read is the same.  A
 * target is a file here and an entry of targets[] in fuzz.c.
 */
#pragma once

#include "common.h"

#define CASE_MAX (512 * 1024) /* bytes: a calibration of CPUS_MAX CPUs has less */

struct text {
	size_t len;
	char s[CASE_MAX];
};

struct fuzz_target {
	const char *name;
	bool string; /* the case is a string: it ends at a NUL and has one */
	bool (*run)(const char *s, size_t len); /* whether it was accepted */
	void (*make)(struct text *t);           /* a valid case, or nearly */
	const char *words;                      /* that mean something to it; NULL: headers do */
};

extern const struct fuzz_target wire_target, receipt_target, calibration_target, saved_target,
	receipts_target;

/* Shows the case that is tried, and aborts, unless this is true. */
void holds(bool it_does, const char *what);

/* A reason why something was refused is one line that can be printed after a name. */
void reason_holds(const char *why);

/*
 * Chance.  The same seed gives the same cases; what a target chooses depends on the case alone, so
 * that a case fails again by itself.
 */
void chance_begin(uint64_t seed);
uint64_t mixed(uint64_t v);
uint64_t any(void);
size_t below(size_t n); /* 0 if n is 0 */
bool one_in(size_t n);

/*
 * Text.  What does not fit in CASE_MAX is cut off.
 */
void put_bytes(struct text *t, const void *p, size_t n);
void put_char(struct text *t, char c);
void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void put_digits(struct text *t);             /* enough to be beyond or below a double */
void put_odd_number(struct text *t);         /* at the edge of a type, or no number at all */
void put_header(struct text *t, uint32_t v); /* of the wire */

/* Does one of nine things to a case of that target. */
void damage(struct text *t, const struct fuzz_target *target);
