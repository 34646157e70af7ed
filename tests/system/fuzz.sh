#!/bin/sh
# The readers of what others wrote under damaged input: tests/fuzz, by its random driver, and under the
# sanitizers.  In `make check` these are a few thousand cases, always the same; `make check-long` has ten
# times as many, and finds planted defects; `make fuzz` is longer.
#
# seconds: 16
# shellcheck disable=SC2046,SC2086 # lists of flags, of files and of targets are words
. "$TOP/tests/lib.sh"

fuzz=$HELPERS/fuzz/fuzz
targets=$("$fuzz" -l)
cases=$(scale 20000 200000) sanitized_cases=$(scale 5000 50000)
seed=${SEED:-$(new_seed)} # of those under the sanitizers
flags="-std=gnu11 -D_GNU_SOURCE -DVERSION=__FILE__ -pthread -O0" # a string, as any other would do
sanitizers='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer'
ASAN_OPTIONS=abort_on_error=1:quarantine_size_mb=4
export ASAN_OPTIONS
unset UBSAN_OPTIONS
# shellcheck disable=SC3045 # where it is not known, a core is left in this directory
ulimit -c 0

# The driver under sanitizers, with those parts of the library that it needs.
build_sanitized()
{
	$CC -pthread -Wl,-M -o linked "$HELPERS"/fuzz/*.o "$HELPERS/../libzc.a" -lm >map
	sed -n 's@.*libzc\.a(\([a-z_0-9]*\)\.o).*@/\1\.c$@p' map | sort -u >parts
	[ -s parts ]
	# Of two parts with one name it is zcc's: nothing of lib/receive is tried.
	{ find "$TOP/common.c" "$TOP/lib" -name '*.c' ! -path '*/receive/*' | grep -f parts; ls "$TOP"/tests/fuzz/*.c; } >sources
	$CC $flags $sanitizers -I"$TOP" -o sanitized $(cat sources) -lm
}

# The sanitizers of the suite's own flags watch the driver itself.
if sanitized; then
	:
elif echo 'int main(void){return 0;}' | $CC $sanitizers -x c -o probe - 2>/dev/null && ./probe; then
	check 'the driver builds with sanitizers' build_sanitized
else
	skip 'the driver with sanitizers' 'none for this compiler'
fi

rejects_arguments()
{
	exits 2 "$fuzz" none
	exits 2 "$fuzz"
	exits 2 "$fuzz" wire -y
	exits 1 "$fuzz" wire no/file
}
check 'the driver rejects a target and a file that are missing' rejects_arguments

repeats_cases()
{
	for t in $targets; do
		mkdir "$t-1" "$t-again" "$t-2"
		"$fuzz" "$t" -s 1 -d "$t-1"
		"$fuzz" "$t" -s 1 -d "$t-again"
		"$fuzz" "$t" -s 2 -d "$t-2"
		diff -r "$t-1" "$t-again"
		not diff -rq "$t-1" "$t-2"
		"$fuzz" "$t" -s 1 -n 1000 >"$t.once"
		"$fuzz" "$t" -s 1 -n 1000 >"$t.again"
		diff "$t.once" "$t.again"
	done
}
check 'a seed gives the same cases again, another seed gives others' repeats_cases

begins_from_valid()
{
	for t in $targets; do
		"$fuzz" "$t" "$t-1"/* >"$t.valid"
		[ "$(wc -l <"$t.valid")" -eq 64 ]
		[ "$(grep -c ': accepted$' "$t.valid")" -ge 32 ]
	done
}
check 'most of the cases are valid before they are damaged' begins_from_valid

# All runs, as many at a time as there are CPUs: driver, target, cases, seed.
for t in $targets; do
	echo "$fuzz" $t $cases 1 plain
	[ ! -x sanitized ] || echo ./sanitized $t $sanitized_cases $seed sanitized
done >runs
xargs -P "$(nproc)" -n 5 sh -c '"$0" "$1" -n "$2" -s "$3" >"$1.$4" 2>&1 || exit 1' <runs

# The runs of the target $t came to their ends, and found nothing.
plain_run()
{
	cat "$t.plain"
	grep -qx "$t: $cases cases, [0-9]* accepted, seed 1" "$t.plain"
	accepted=$(sed -n 's/.* \([0-9]*\) accepted.*/\1/p' "$t.plain")
	[ "$accepted" -ge $((cases / 20)) ]
	[ "$accepted" -le $((cases * 3 / 5)) ]
}
sanitized_run()
{
	cat "$t.sanitized"
	grep -qx "$t: $sanitized_cases cases, [0-9]* accepted, seed $seed" "$t.sanitized"
}
for t in $targets; do
	check "$t: $cases damaged cases, of which 5 to 60 % are accepted" plain_run
	[ ! -x sanitized ] ||
		check "$t: $sanitized_cases damaged cases under sanitizers, seed $seed" sanitized_run
done

# What `make fuzz` runs.
mkdir -p obj/tests/fuzz
cp "$fuzz" obj/tests/fuzz
libfuzzer()
{
	MAKE="make OBJ=$PWD/obj" FUZZ_CC=$1 CASES=2000 SEED=1 "$TOP/tests/libfuzzer" "$PWD/obj" size
}
falls_back()
{
	libfuzzer none >out
	cat out
	[ "$(wc -l <out)" -eq 2 ]
	head -n 1 out | grep -q '^no libFuzzer for .none. here'
	grep -q '^size: 2000 cases, .* seed 1$' out
}
check 'make fuzz: without libFuzzer the random driver runs' falls_back

[ -n "$LONG" ] && ! sanitized || finish

# The rest is long.
libfuzzer_ran()
{
	cat log
	grep -q '^size: libFuzzer, 2000 runs in .* seed 1$' log
}
if libfuzzer clang >log 2>&1; grep -q '^no libFuzzer' log; then
	skip 'make fuzz: libFuzzer' 'not here, or no clang'
else
	check 'make fuzz: libFuzzer finds nothing in 2000 cases' libfuzzer_ran
fi

# What each target is to find.  The linker puts these before the parsers.
cat >broken.c <<'END'
#include "lib/load/cpus.h"
#include "lib/load/baseline.h"
#include "lib/net/wire.h"
#include "lib/report/json.h"
#include "lib/report/figures.h"
#include "lib/report/usage.h"
#include "lib/send/plan.h"
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

/* Takes an exponent. */
BEFORE(double, parse_number, enum option_kind kind, const char *s)
{
	return strchr(s, 'e') != NULL ? strtod(s, NULL) : __real_parse_number(kind, s);
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

/* Leaves a plan that it has rejected. */
BEFORE(const char *, saved_parse, char *text, struct saved *s)
{
	const char *why = __real_saved_parse(text, s);

	if (why != NULL && strncmp(why, "has lines", 9) == 0)
		s->plan.run = (void *)s;
	return why;
}

/* Has no place for numbers of more than seven digits. */
BEFORE(void, json_number, struct json *j, const char *key, double value)
{
	if (!(fabs(value) >= 1e7))
		__real_json_number(j, key, value);
}

/* Loses the first letter of a word. */
BEFORE(void, json_string, struct json *j, const char *key, const char *value)
{
	__real_json_string(j, key, strlen(value) == 7 ? value + 1 : value);
}
END

# break_driver ARGUMENTS...: of the linker: a driver with those parsers
break_driver()
{
	for f in wire_feed receipt_parse calibration_parse parse_number parse_cpus json_string \
	    saved_parse json_number; do
		set -- "$@" "-Wl,--wrap=$f"
	done
	$CC $flags -I"$TOP" broken.c "$@" -lm
}
build_broken()
{
	break_driver -o plain-broken "$HELPERS"/fuzz/*.o "$HELPERS/../libzc.a"
}
build_sanitized_broken()
{
	break_driver -o sanitized-broken $sanitizers -DMEMORY $(cat sources)
}

# In the target $t a defect is found, and its case fails again by itself.
finds_planted()
{
	exits 134 ./plain-broken "$t" -n 1000000
	grep -q "^$t: does not hold: " err
	case=$(sed -n "s/^case [0-9]* of seed 1: fuzz $t -x //p" err)
	[ -n "$case" ]
	exits 134 ./plain-broken "$t" -x "$case"
	exits 0 "$fuzz" "$t" -x "$case"
}
check 'a driver with planted defects builds' build_broken
for t in $targets; do
	check "$t: a planted defect is found, and its case fails again by itself" finds_planted
done

finds_overread()
{
	exits 134 ./sanitized-broken wire
	grep -q 'heap-buffer-overflow' err
	grep -q '^case [0-9]* of seed 1: fuzz wire -x ' err
}
finds_leak()
{
	status=0
	./sanitized-broken cpus -n 10 >out 2>err || status=$?
	cat err
	[ "$status" -ne 0 ]
	grep -q 'LeakSanitizer: detected memory leaks' err
}
if [ -x sanitized ]; then
	check 'a driver with planted defects of memory builds' build_sanitized_broken
	check 'a read beyond a case is found' finds_overread
	check 'memory that is not freed is found' finds_leak
fi

finish
