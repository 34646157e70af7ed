#!/bin/sh
# A seeded random walk over every option of every program, in `make check-long` with sanitizers:
# tests/helpers/options.
# OPTIONS_SEED, OPTIONS_CASES and OPTIONS_CASE choose another walk, its length, or one of its cases.
#
# group: soaks
# seconds: 15
# limit: 5400
. "$TOP/tests/lib.sh"

seed=${OPTIONS_SEED:-$(scale 11 "$(date +%s)")}
cases=${OPTIONS_CASES:-$(scale 100 2000)}

if ! command -v python3 >/dev/null 2>&1; then
	skip 'a random walk over all options' 'no python3'
	finish
fi

# What was given to make for the plain programs is not for these.
# shellcheck disable=SC2317 # check calls it
make_sanitized()
(
	unset MAKEFLAGS MFLAGS MAKEOVERRIDES
	make -s -j2 -C "$TOP" CC="$CC" SANITIZE=address,undefined all
)

bin=$BIN
if sanitized || [ -z "$LONG" ]; then
	: # those of the other tests
elif echo 'int main(void){return 0;}' | $CC -fsanitize=address,undefined -x c -o probe - 2>/dev/null && ./probe; then
	check 'the programs are built with address and undefined sanitizers' make_sanitized
	bin=$TOP/build/address,undefined
else
	skip 'the walk has sanitizers' 'this compiler has none'
fi
made_up_calibration >calibration
echo "# seed $seed, $cases cases"
it "seed $seed: whatever the options, no program crashes, hangs, loses bytes or breaks its report"; ( begin
	"$TOP/tests/helpers/options" --bin "$bin" --calibration calibration --seed "$seed" --cases "$cases" \
	    ${OPTIONS_CASE:+--case "$OPTIONS_CASE"}
); ok
output_of_check | tail -n 1 | sed 's/^/# /'
finish
