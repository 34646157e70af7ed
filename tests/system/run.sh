#!/bin/sh
# tests/run: a test that fails fails the run, which leaves nothing behind.
#
# seconds: 2
. "$TOP/tests/lib.sh"

it 'a check that fails is printed with the command that failed, and the run has status 1'; ( begin
	mkdir -p tree/tests/system tmp
	cp "$TOP/tests/run" "$TOP/tests/lib.sh" tree/tests
	cat >tree/tests/system/test.sh <<-'END'
		. "$TOP/tests/lib.sh"
		it title; ( begin; echo said; false; true ); ok
		check other true
		finish
	END
	TMPDIR=$PWD/tmp SANITIZE='' SLOW=1 ONCE=1 exits 1 sh tree/tests/run test
	grep -A 1 '^not ok 1 - title$' out | grep -qx '# said'
	grep -qx '# failed at: false' out
	[ "$(tail -n 1 out)" = '1 passed, 1 failed, 0 skipped' ]
	prints_nothing ls tmp
); ok
finish
