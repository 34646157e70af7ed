#!/bin/sh
# A seeded random walk over every option of every program, with sanitizers.
# OPTIONS_SEED, OPTIONS_CASES and OPTIONS_CASE choose another walk, its length, or one of its cases.
#
# group: soaks
# only: check-long
# seconds: 5
# limit: 5400
. "$TOP/tests/lib.sh"

bin=$BIN seed=${OPTIONS_SEED:-$(scale 3 "$(date +%s)")} cases=${OPTIONS_CASES:-$(scale 40 2000)}

long 'the programs are built with address and undefined sanitizers' && ( begin
	! sanitized || skip_check "they have the suite's own"
	echo 'int main(void){return 0;}' | $CC -fsanitize=address,undefined -x c -o probe - 2>/dev/null && ./probe ||
		skip_check 'this compiler has none'
	unset MAKEFLAGS MFLAGS MAKEOVERRIDES # which are of the plain programs
	make -s -j2 -C "$TOP" CC="$CC" SANITIZE=address,undefined all
); ok
[ -z "$LONG" ] || sanitized || [ ! -x "$TOP/build/address,undefined/zcc" ] || bin=$TOP/build/address,undefined
made_up_calibration >calibration
it "seed $seed: whatever the options, no program crashes, hangs, loses bytes or breaks its report"; ( begin; need python3
	"$TOP/tests/helpers/options" "$bin" calibration "$seed" "$cases" ${OPTIONS_CASE:+"$OPTIONS_CASE"}
); ok
finish
