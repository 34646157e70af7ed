#!/bin/sh
# The readers of what others wrote under damaged input: tests/fuzz, by its random driver, and under the
# sanitizers.  In `make check` these are a few thousand cases, always the same; `make check-long` has ten
# times as many; `make fuzz` is longer.
#
# seconds: 16
# shellcheck disable=SC2046,SC2086 # lists of flags, of files and of targets are words
. "$TOP/tests/lib.sh"

fuzz=$HELPERS/fuzz/fuzz
cases=$(scale 20000 200000) sanitized_cases=$(scale 5000 50000)
seed=${SEED:-$(new_seed)} # of those under the sanitizers
flags='-std=gnu11 -D_GNU_SOURCE -DVERSION=__FILE__ -pthread -O0' # a string, as any other would do
sanitizers='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer'
export ASAN_OPTIONS=abort_on_error=1:quarantine_size_mb=4
unset UBSAN_OPTIONS
# shellcheck disable=SC3045 # where it is not known, a core is left in this directory
ulimit -c 0

# The driver under sanitizers, with those parts of the library that it needs.
it 'the driver builds with sanitizers'; ( begin
	! sanitized || skip_check "the suite's own sanitizers watch the driver"
	echo 'int main(void){return 0;}' | $CC $sanitizers -x c -o probe - 2>/dev/null && ./probe ||
		skip_check 'none for this compiler'
	$CC -pthread -Wl,-M -o linked "$HELPERS"/fuzz/*.o "$HELPERS/../libzc.a" -lm >map
	sed -n 's@.*libzc\.a(\([a-z_0-9]*\)\.o).*@/\1\.c$@p' map | sort -u >parts
	[ -s parts ]
	# Of two parts with one name it is zcc's: nothing of lib/receive is tried.
	{ find "$TOP/common.c" "$TOP/lib" -name '*.c' ! -path '*/receive/*' | grep -f parts; ls "$TOP"/tests/fuzz/*.c; } >sources
	$CC $flags $sanitizers -I"$TOP" -o sanitized $(cat sources) -lm
); ok

for t in $("$fuzz" -l); do
	it "$t: most of the cases are valid before they are damaged"; ( begin
		mkdir "$t"
		"$fuzz" "$t" -d "$t"
		"$fuzz" "$t" "$t"/* >valid
		[ "$(grep -c ': accepted$' valid)" -ge 32 ]
	); ok
	it "$t: $cases damaged cases, of which 5 to 60 % are accepted"; ( begin
		"$fuzz" "$t" -n $cases >found
		accepted=$(sed -n "s/^$t: $cases cases, \([0-9]*\) accepted, seed 1$/\1/p" found)
		[ "$accepted" -ge $((cases / 20)) ]
		[ "$accepted" -le $((cases * 3 / 5)) ]
	); ok
	[ ! -x sanitized ] || check "$t: $sanitized_cases damaged cases under sanitizers, seed $seed" \
		./sanitized $t -n $sanitized_cases -s $seed
done
finish
