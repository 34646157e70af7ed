#!/bin/sh
# The parsers under damaged input: 50,000 cases of each by the random driver, and 20,000 under the
# sanitizers; `make check-long` has a million, and 100,000.  `make fuzz` is longer.
#
# seconds: 20
. "$TOP/tests/lib.sh"

flags='-std=gnu11 -D_GNU_SOURCE -pthread'
sanitizers='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g'
targets=$("$HELPERS/fuzz" -l)
cases=$(scale 50000 1000000) sanitized_cases=$(scale 20000 100000)
seed=${SEED:-$(new_seed)} # of those under the sanitizers
ASAN_OPTIONS=abort_on_error=1:quarantine_size_mb=4
export ASAN_OPTIONS
unset UBSAN_OPTIONS
# shellcheck disable=SC3045 # where it is not known, a core is left in this directory
ulimit -c 0

# What each target is to find.  The linker puts these before the parsers.
cat >broken.c <<'END'
#include "common.h"
#include "lib/load/calibration.h"
#include "lib/net/wire.h"
#include "lib/report/receipt.h"
#include <stdlib.h>
#include <string.h>
#define BEFORE(type, name, ...) type __real_##name(__VA_ARGS__); type __wrap_##name(__VA_ARGS__)

static volatile char kept;

/* Takes the byte behind the end of the stream, or looks at the one behind the buffer. */
BEFORE(size_t, wire_feed, struct wire *w, const void *buf, size_t len)
{
	size_t n = __real_wire_feed(w, buf, len);

#ifdef MEMORY
	kept = ((const char *)buf)[len];
	return n;
#endif
	return w->state == WIRE_DONE && n + 1 == len ? len : n;
}

/* Takes a second newline. */
BEFORE(const char *, receipt_parse, const char *buf, size_t len, struct figures *f)
{
	return __real_receipt_parse(buf, len > 2 && buf[len - 2] == '\n' ? len - 1 : len, f);
}

/* Leaves what it has freed. */
BEFORE(const char *, calibration_parse, const char *text, size_t len, struct calibration *c)
{
	const char *why = __real_calibration_parse(text, len, c);

	if (why != NULL && strcmp(why, "lacks a CPU") == 0)
		c->cpu = (void *)c;
	return why;
}

/* Takes 2^64 for 0. */
BEFORE(const char *, parse_size, const char *s, uint64_t *bytes)
{
	if (strcmp(s, "18446744073709551616") != 0)
		return __real_parse_size(s, bytes);
	*bytes = 0;
	return NULL;
}

/* Has stored what it refuses. */
BEFORE(const char *, parse_seconds, const char *s, double *seconds)
{
	const char *why = __real_parse_seconds(s, seconds);

	if (why != NULL && strlen(s) > 308)
		*seconds = strtod(s, NULL);
	return why;
}

/* Takes a range that ends before it begins for an empty one, or forgets some memory. */
BEFORE(const char *, parse_cpus, const char *s, struct cpus *cpus)
{
	int first, last;
	char more;

#ifdef MEMORY
	kept = *(char *)calloc(1, 1);
#endif
	if (sscanf(s, "%4d-%4d%c", &first, &last, &more) != 2 || first < 0 || last < 0 || last >= first)
		return __real_parse_cpus(s, cpus);
	cpus->n = 0;
	return NULL;
}
END

ground=
for part in "$TOP"/lib/net/*.c "$TOP"/lib/load/*.c "$TOP"/lib/report/*.c; do
	! [ -f "$part" ] || ground="$ground $part"
done

# build NAME flags...: the driver by itself and with those parsers; not with the suite's own flags.
build()
{
	name=$1
	shift
	mkdir -p "$name".d
	(cd "$name".d && $CC $flags "$@" -I"$TOP" -DVERSION='"0"' -c "$TOP/common.c" $ground)
	$CC $flags "$@" -I"$TOP" -c -o "$name"-fuzz.o "$TOP/tests/fuzz.c"
	$CC $flags "$@" -o "$name" "$name"-fuzz.o "$name".d/*.o -lm
	$CC $flags "$@" -I"$TOP" -Wl,--wrap=wire_feed,--wrap=receipt_parse,--wrap=calibration_parse \
	    -Wl,--wrap=parse_size,--wrap=parse_seconds,--wrap=parse_cpus -o "$name"-broken \
	    broken.c "$name"-fuzz.o "$name".d/*.o -lm
}

check 'the driver builds' build plain -O1
if echo 'int main(void){return 0;}' | $CC "$sanitizers" -x c -o probe - 2>/dev/null && ./probe; then
	check 'the driver builds with sanitizers' build sanitized -O1 "$sanitizers" -DMEMORY
fi

target_that()
{
	exits 2 "$HELPERS/fuzz" none
	exits 2 "$HELPERS/fuzz"
	exits 2 "$HELPERS/fuzz" wire -y
	exits 1 "$HELPERS/fuzz" wire no/file
}
check 'a target that there is not' target_that
seed_gives_same_cases()
{
	for t in $targets; do
		mkdir "$t"-1 "$t"-again "$t"-2
		"$HELPERS/fuzz" "$t" -s 1 -d "$t"-1
		"$HELPERS/fuzz" "$t" -s 1 -d "$t"-again
		"$HELPERS/fuzz" "$t" -s 2 -d "$t"-2
		diff -r "$t"-1 "$t"-again
		not diff -rq "$t"-1 "$t"-2
		"$HELPERS/fuzz" "$t" -s 1 -n 1000 >"$t".once
		"$HELPERS/fuzz" "$t" -s 1 -n 1000 >"$t".again
		diff "$t".once "$t".again
	done
}
check 'a seed gives the same cases again, another one others' seed_gives_same_cases
what_damage_begins()
{
	for t in $targets; do
		"$HELPERS/fuzz" "$t" "$t"-1/* >"$t".valid
		[ "$(wc -l <"$t".valid)" -eq 64 ]
		[ "$(grep -c ": accepted$" "$t".valid)" -ge 32 ]
	done
}
check 'what damage begins from is valid, but for some' what_damage_begins

broken_parser_found()
{
	exits 134 ./plain-broken "$t" -n 1000000
	grep -q "^$t: does not hold: " err
	case=$(sed -n "s/^case [0-9]* of seed 1: fuzz $t -x //p" err)
	[ -n "$case" ]
	exits 134 ./plain-broken "$t" -x "$case"
	exits 0 ./plain "$t" -x "$case"
}
for t in $targets; do
	check "$t: a broken parser is found, and its case fails again by itself" broken_parser_found
done
if [ -x sanitized-broken ]; then
	read_beyond_case_found()
	{
		exits 134 ./sanitized-broken wire
		grep -q "heap-buffer-overflow" err
		grep -q "^case [0-9]* of seed 1: fuzz wire -x " err
	}
	check 'a read beyond a case is found' read_beyond_case_found
	memory_that_not_freed()
	{
		status=0
		./sanitized-broken cpus -n 10 >out 2>err || status=$?
		cat err
		[ $status -ne 0 ]
		grep -q "LeakSanitizer: detected memory leaks" err
	}
	check 'memory that is not freed is found' memory_that_not_freed
fi

# All runs, as many at a time as there are CPUs: build, target, cases, seed.
for t in $targets; do
	echo plain "$t" "$cases" 1
	[ ! -x sanitized ] || echo sanitized "$t" "$sanitized_cases" "$seed"
done >runs
xargs -P "$(nproc)" -n 4 sh -c '"./$0" "$1" -n "$2" -s "$3" >"$1.$0" 2>&1 || exit 1' <runs

cases_seed()
{
	cat "$t".plain
	grep -qx "$t: $cases cases, [0-9]* accepted, seed 1" "$t".plain
	accepted=$(sed -n "s/.* \([0-9]*\) accepted.*/\1/p" "$t".plain)
	[ "$accepted" -ge $((cases / 20)) ]
	[ "$accepted" -le $((cases * 3 / 5)) ]
}
with_sanitizers_cases_seed()
{
	cat "$t".sanitized
	grep -qx "$t: $sanitized_cases cases, [0-9]* accepted, seed $seed" "$t".sanitized
}
for t in $targets; do
	check "$t: $cases cases, seed 1, and of those 5 to 60 % are accepted" cases_seed
	if [ -x sanitized ]; then
		check "$t: with sanitizers $sanitized_cases cases, seed $seed" with_sanitizers_cases_seed
	else
		skip "$t: with sanitizers" 'none for this compiler'
	fi
done

# What `make fuzz` runs.
mkdir -p obj/tests
cp "$HELPERS/fuzz" obj/tests
libfuzzer()
{
	MAKE="make OBJ=$PWD/obj" FUZZ_CC=$1 CASES=2000 SEED=1 "$TOP/tests/libfuzzer" "$PWD/obj" size
}
without_libfuzzer_random()
{
	libfuzzer none >out
	cat out
	[ "$(wc -l <out)" -eq 2 ]
	head -n 1 out | grep -q "^no libFuzzer for .none. here"
	grep -q "^size: 2000 cases, .* seed 1$" out
}
check 'without libFuzzer the random driver is used' without_libfuzzer_random
if [ -z "$LONG" ]; then
	: # make check-long has it
elif libfuzzer clang >log 2>&1; grep -q '^no libFuzzer' log; then
	skip 'libFuzzer' 'not here, or no clang'
else
	libfuzzer_finds_nothing()
	{
		cat log
		grep -q "^size: libFuzzer, 2000 runs in .* seed 1$" log
	}
	check 'libFuzzer finds nothing in a few cases' libfuzzer_finds_nothing
fi

finish
