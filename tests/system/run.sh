#!/bin/sh
# tests/run: a test that fails, hangs or ends early fails the run, which leaves nothing behind.
#
# seconds: 4
. "$TOP/tests/lib.sh"

mkdir -p tree/tests/system tmp
cp "$TOP/tests/run" "$TOP/tests/lib.sh" tree/tests
# runs STATUS 'COMMANDS': the run of one test of these commands
runs()
{
	printf '#!/bin/sh\n# A test.\n#\n# limit: 2\n. "$TOP/tests/lib.sh"\n%s\n' "$2" >tree/tests/system/test.sh
	TMPDIR=$PWD/tmp SANITIZE='' SLOW=1 ONCE=1 exits "$1" sh tree/tests/run
	prints_nothing ls tmp
}
sleepers()
{
	grep -lasx "sleep.678." /proc/[0-9]*/cmdline || :
}
it 'a test that passes'; ( begin
	runs 0 "check title true; finish"
	[ "$(tail -n 1 out)" = '1 passed, 0 failed, 0 skipped' ]
); ok
it 'a check that fails is printed with the command that failed'; ( begin
	runs 1 "it title; ( begin; echo said; cat /dev/null; false; true ); ok; check other true; finish"
	grep -A 1 '^not ok 1 - title$' out | grep -qx '# said'
	grep -qx '# failed at: false' out
	[ "$(tail -n 1 out)" = '1 passed, 1 failed, 0 skipped' ]
); ok
it 'a test that ends without its plan'; ( begin
	runs 1 "check title true"
	grep -qx 'not ok - test did not finish: title' out
); ok
it 'a test that hangs names its check, and its processes end'; ( begin
	runs 1 "it title; ( begin; sleep 678 & wait ); ok; finish"
	grep -qx 'not ok - test did not finish: title' out
	wait_until prints_nothing sleepers
); ok
finish
