#!/bin/sh
# The readers of what others wrote under damaged input: tests/fuzz by its random driver, in `make check-long` with
# sanitizers in the readers where the compiler has them.
#
# seconds: 2
. "$TOP/tests/lib.sh"

fuzz=$HELPERS/fuzz/fuzz # which has the suite's own sanitizers, if there are some
cases=$(scale 1200 200000) seed=${SEED:-$(($(new_seed) * 1000000))}
flags='-std=gnu11 -D_GNU_SOURCE -DVERSION=__FILE__ -pthread -fsanitize=address,undefined -fno-sanitize-recover=undefined'
export ASAN_OPTIONS=abort_on_error=1:quarantine_size_mb=4
unset UBSAN_OPTIONS
# shellcheck disable=SC3045 # where it is not known, a core is left in this directory
ulimit -c 0

long 'the driver of the fuzzer builds with sanitizers in all readers' && ( begin
	! sanitized || skip_check "the suite's own sanitizers watch the driver"
	echo 'int main(void){return 0;}' | $CC $flags -x c -o probe - 2>/dev/null && ./probe ||
		skip_check 'none for this compiler'
	$CC $flags -I"$TOP" -o fuzz "$TOP"/tests/fuzz/fuzz.c "$TOP"/lib/net/wire.c "$TOP"/lib/report/figures.c \
	    "$TOP"/lib/compare/saved.c "$HELPERS/../libzc.a" -lm
); ok
[ ! -x fuzz ] || fuzz=./fuzz
for t in $("$fuzz"); do
	it "$t: whatever it reads, nothing breaks, and of $cases damaged cases 5 to 60 % are accepted (from seed $seed on)"; ( begin
		exits 0 "$fuzz" "$t" "$cases" "$seed"
		accepted=$(sed -n "s/^$t: $cases cases, \([0-9]*\) accepted$/\1/p" out)
		[ "$accepted" -ge $((cases / 20)) ]
		[ "$accepted" -le $((cases * 3 / 5)) ]
	); ok
done
finish
