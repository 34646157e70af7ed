#!/bin/sh
# tests/run: which tests it runs, in which order and how many at a time, what it prints of them, and
# what is left of them.
#
# group: waits
# seconds: 12
. "$TOP/tests/lib.sh"

mkdir -p tree/tests/system
cp "$TOP/tests/run" tree/tests/run
run=$PWD/tree/tests/run
mkdir stub
own_tmpdir
: >lock
SOAK_LOCK=$PWD/lock # those that soak wait for none but each other
export SOAK_LOCK

# stub NAME [HEAD...] [-- COMMAND...]: a test that passes, with these lines in its head, and that runs
# these commands before
stub()
{
	path=tree/tests/system/$1.sh
	shift
	printf '#!/bin/sh\n# A stub.\n' >"$path"
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		printf '# %s\n' "$1" >>"$path"
		shift
	done
	[ $# -eq 0 ] || shift
	printf '%s\n' "$@" 'echo "ok 1 - x"' 'echo "1..1"' >>"$path"
}
only_stubs()
{
	rm -f tree/tests/system/*.sh
}

# runs STATUS [option or name...]: what runs here is not part of what runs this: no LONG, no sanitizers
runs()
{
	want=$1
	shift
	LONG=$long SANITIZE='' exits "$want" sh "$run" "$@"
}
long=

stub plain
stub long 'only: check-long'
test_that_only()
{
	runs 0
	grep -q "^plain .*1 passed" out
	not grep "^long" out
}
check 'a test that is only for check-long is not among those of check' test_that_only
test_that_only_for_check()
{
	runs 0 long
	grep -q "^long .*1 passed" out
}
check 'a test that is only for check-long runs where it is named' test_that_only_for_check
with_long_all_tests()
{
	long=1 runs 0
	grep -q "^plain .*1 passed" out
	grep -q "^long .*1 passed" out
}
check 'with LONG=1 all tests run' with_long_all_tests
test_that()
{
	runs 2 plain none
	grep -qx "no test none" err
	not [ -s out ]
}
check 'a test that does not exist is named, with status 2, and no other test runs' test_that
usage_tests_run()
{
	runs 2 $arguments
	tail -n 1 err | grep -qx "usage: tests/run .*"
	not [ -s out ]
}
for arguments in '-j' '-j 0' '-j many' '-y' '-j 1000'; do
	check "usage: tests/run $arguments" usage_tests_run
done
test_ended_after_seconds()
{
	only_stubs
	stub slow "limit: 1" -- "exec sleep 600"
	runs 1 -1
	grep -q "^not ok - slow did not finish" out
}
check 'a test is ended after the seconds of its line limit:, and that is a failure' test_ended_after_seconds
slow_multiplies_limits()
{
	only_stubs
	stub slow "limit: 1" -- 'sleep 1.2' 'echo "# DROPPED $SLOW"'
	SLOW=60 runs 0
	grep -qx "# DROPPED 60" out
}
check 'SLOW=60: a test whose limit is 1 second has 60, and sees the factor' slow_multiplies_limits
cp "$TOP/tests/lib.sh" "$TOP/tests/steal.sh" tree/tests
slow_check_is_named()
{
	only_stubs
	stub slow -- ". \"\$TOP/tests/lib.sh\"" 'read_uptime() { uptime=$((${uptime:-0} + 16)); }' "check 'a title' true"
	runs 0
	grep -qx "# SLOW: a title: 16 s" out
}
check 'a check that takes 15 seconds is named' slow_check_is_named
# checks COMMAND...: a test that sources lib.sh
checks()
{
	only_stubs
	stub checks "limit: 30" -- ". \"\$TOP/tests/lib.sh\"" "$@"
}
failed_command_is_shown()
{
	checks 'f() { echo said; [ "$(cat /dev/null)" = x ]; true; }' "check 'a title' f"
	runs 1 -1
	grep -A 9 '^not ok 1 - a title$' out >failure
	sed -n 2p failure | grep -qx '# said'
	grep -q '^# failed at: \[  *= x \]$' failure || grep -q "^# failed at: '\[' '' = x '\]'\$" failure
}
check 'a check that fails prints its output, and then the command that failed' failed_command_is_shown
trace_is_in_no_file()
{
	checks 'f() { exits 3 g; one_line err; not grep + err; false; }' 'g() { echo one >&2; return 3; }' "check 'a title' f"
	runs 1 -1
	grep -qx '# one' out
	grep -q '^# failed at: false' out
}
check 'the commands that exits runs are not in the file err' trace_is_in_no_file
hanging_check_is_named()
{
	checks 'f() { echo said; sleep 600; }' "check 'first' true" "check 'a title' f"
	sed -i 's/limit: 30/limit: 1/' tree/tests/system/checks.sh
	runs 1 -1
	grep -qx 'not ok - checks did not finish: a title' out
	grep -q '^# .*said$' out
	grep -q '^# .*sleep 600$' out
}
check 'a test that hangs names its check, with what it printed last and what it waits for' hanging_check_is_named
vain_wait_shows_file()
{
	checks 'sleep() { :; }' 'met() { grep -q good log; }' 'echo bad >log' "check 'a title' wait_until met"
	runs 1 -1
	grep -qx '# waited in vain for: met' out
	grep -qx '# > grep -q good log' out
	grep -qx '# log: bad' out
}
check 'a condition that is waited for in vain is shown with the files that it looks at' vain_wait_shows_file
nothing_done_is_skip()
{
	checks "f() { echo 'no such thing'; exit 77; }" "check 'a title' f"
	runs 0
	grep -qx 'ok 1 - a title # SKIP no such thing' out
	[ "$(tail -n 1 out)" = "1 passed, 0 failed, 1 skipped" ]
}
check 'a check that ends with status 77 is skipped for the reason it printed' nothing_done_is_skip
repeats_are_named()
{
	checks 'f() { repeating; repeating; }' "check 'a title' f" "check 'another' true"
	runs 0
	[ "$(tail -n 2 out)" = "repeated: checks: a title: 2
3 passed, 0 failed, 0 skipped" ]
}
check 'a check that began anew is named in the last lines, with how many times' repeats_are_named
programs_for_everybody()
{
	only_stubs
	mkdir -m 700 closed
	printf '#!/bin/sh\necho ran\n' >closed/zcc
	chmod 700 closed/zcc
	stub reads -- 'setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all sh -c "exec \"\$BIN/zcc\"" | sed "s/^/# DROPPED /"'
	BIN=$PWD/closed runs 0
	grep -qx '# DROPPED ran' out
}
if [ "$(id -u)" -eq 0 ] && can_be_user; then
	check 'programs in a directory of mode 0700: an ordinary user can run them in the tests' programs_for_everybody
else
	skip 'programs in a directory of mode 0700' "${not_user:-not root}"
fi
networks_apart()
{
	only_stubs
	stub a -- 'echo "# DROPPED a $OWN_NETWORK $(readlink /proc/self/ns/net)"'
	stub b 'network: host' -- 'echo "# DROPPED b $OWN_NETWORK $(readlink /proc/self/ns/net)"'
	runs 0
	grep -q '^# DROPPED a yes net:' out
	not grep "DROPPED a .*$(readlink /proc/self/ns/net)" out
	grep -qxF "# DROPPED b  $(readlink /proc/self/ns/net)" out
}
if [ -n "$OWN_NETWORK" ]; then
	check 'a test has a network namespace to itself, and with `network: host` that of tests/run' networks_apart
else
	skip 'a test has a network namespace to itself' 'needs root, ip(8) and network namespaces'
fi
slow_that_is_none()
{
	SLOW=$factor runs 2
	one_line err
	grep -q "^SLOW is '$factor', not a number" err
}
for factor in 0 x 1.5 100; do
	check "SLOW=$factor: exit status 2, with one line" slow_that_is_none
done
objects_are_validated()
{
	mkdir -p tree/tests/helpers tree/man
	cp "$TOP/tests/helpers/schema" tree/tests/helpers
	cp "$TOP/man/zc-json.schema.json" tree/man
	only_stubs
	stub good -- 'echo "{\"schema\":1,\"error\":\"x\"}" >objects.kept'
	runs 0
	grep -qx "2 passed, 0 failed, 0 skipped" out
	stub bad -- 'echo "{\"schema\":1,\"error\":2}" >objects.kept'
	runs 1
	grep -qx "not ok - every JSON object .*" out
	grep -qx "# bad.objects:" out
	grep -qx "2 passed, 1 failed, 0 skipped" out
}
if python3 -c 'import jsonschema' 2>/dev/null; then
	check 'JSON objects of all tests are validated: one that does not fit the schema is a failure, and named' objects_are_validated
else
	skip 'JSON objects of all tests are validated' 'no python3 with jsonschema'
fi
failure_counted_and_shown()
{
	only_stubs
	stub good
	stub bad -- 'echo "not ok 1 - y"' 'echo "# what it was"'
	stub some -- 'echo "ok 1 - z # SKIP no z"'
	runs 1 -1
	grep -qx "not ok 1 - y" out
	grep -qx "# what it was" out
	grep -qx "ok 1 - z # SKIP no z" out
	[ "$(tail -n 1 out)" = "3 passed, 1 failed, 1 skipped" ]
}
check 'a failure is counted and shown with its output; the last line has the counts of all tests' failure_counted_and_shown

# The first time it fails.
stub_unsteady()
{
	only_stubs
	rm -f seen.unsteady
	stub unsteady -- "if ! [ -f $PWD/seen.unsteady ]; then : >$PWD/seen.unsteady; echo 'not ok 2 - y'; echo '# why'; fi"
}
test_that_passes_the_second_time()
{
	stub_unsteady
	runs 0
	grep -qx "again: unsteady failed" out
	grep -qx "# not ok 2 - y" out
	grep -qx "# # why" out
	not grep -q "^not ok" out
	[ "$(tail -n 2 out)" = "unsteady: unsteady
1 passed, 0 failed, 0 skipped" ]
}
check 'a test that fails and then passes is called unsteady, and is no failure' test_that_passes_the_second_time
test_that_fails_with_1()
{
	stub_unsteady
	runs 1 -1
	grep -qx "not ok 2 - y" out
	[ "$(tail -n 1 out)" = "1 passed, 1 failed, 0 skipped" ]
}
check '-1: a test that fails is not run again' test_that_fails_with_1
test_runs_again_alone()
{
	only_stubs
	rm -f tries
	stub bad -- "echo bad >>$PWD/tries" 'echo "not ok 2 - y"'
	stub late -- "i=0; until [ \$((i += 1)) -gt 200 ] || [ -e $PWD/tries ]; do sleep 0.1; done" "sleep 0.3" "echo late >>$PWD/tries"
	runs 1
	cat tries
	[ "$(cat tries)" = "bad
late
bad" ]
	grep -qx "not ok 2 - y" out
}
check 'a test that failed is run again when all others have ended' test_runs_again_alone

# Side by side.
two_tests_run()
{
	only_stubs
	mkdir meet
	for n in 1 2 3 4; do
		stub $n -- "touch $PWD/meet/$n" "i=0; until [ \$((i += 1)) -gt 200 ] || [ -e $PWD/two ] ||
				[ \$(ls $PWD/meet | wc -l) -ge 2 ]; do sleep 0.1; done" "touch $PWD/two" "sleep 0.3" "ls $PWD/meet | wc -l >$PWD/seen.$n" "rm $PWD/meet/$n"
	done
	runs 0 -j 2
	cat seen.*
	[ "$(sort -n seen.* | tail -n 1)" -eq 2 ]
}
check '-j 2: two tests run at the same time, and not three' two_tests_run
longest_first_then_those()
{
	only_stubs
	stub a
	stub b "seconds: 5"
	stub c "group: waits" "seconds: 40"
	stub d
	runs 0 -j 1
	[ "$(sed -n "s/ .*passed, .* skipped (.*//p" out | paste -sd " ")" = "c b a d" ]
}
check '-j 1: the longest first, then those without a line seconds:, in the order of their names' longest_first_then_those
first_failure_ends()
{
	only_stubs
	stub a "seconds: 40"
	stub b "seconds: 5"
	stub c "seconds: 20" -- "echo \"not ok 1 - y\""
	stub d "group: quiet"
	runs 1 -x -j 1
	[ "$(sed -n "s/ .*passed, .* skipped (.*//p" out | paste -sd " ")" = "b c" ]
	[ "$(tail -n 1 out)" = "2 passed, 1 failed, 0 skipped" ]
	stub c "seconds: 20"
	runs 0 -x -j 1 a b c d
	[ "$(sed -n "s/ .*passed, .* skipped (.*//p" out | paste -sd " ")" = "b c a d" ]
}
check '-x: the shortest first, the quiet group last, and no test after the first that fails' first_failure_ends
what_tests_print()
{
	only_stubs
	for n in 1 2 3; do
		stub $n -- "echo \"not ok 1 - of $n\"" "sleep 0.1" "echo \"# of $n\"" "sleep 0.1" "echo \"# of $n\""
	done
	runs 1 -1
	for n in 1 2 3; do
		grep -A 3 "^$n .* 1 failed" out | tail -n 3 | paste -sd , | grep -qx "not ok 1 - of $n,# of $n,# of $n"
	done
}
check 'the output of tests that run side by side is not mixed' what_tests_print
tests_of_quiet_group()
{
	only_stubs
	stub a "seconds: 100" -- "echo a >>$PWD/order"
	stub b "group: quiet" -- "mkdir $PWD/alone || exit 1" "echo b >>$PWD/order" "sleep 0.3" "rmdir $PWD/alone"
	sed "s/echo b/echo c/" tree/tests/system/b.sh >tree/tests/system/c.sh
	runs 0 a b c
	[ "$(paste -sd " " order)" = "b c a" ]
}
check 'the tests of the quiet group run first, and one at a time' tests_of_quiet_group
tests_that_soak_run()
{
	only_stubs
	rm -rf "$PWD"/alone
	wait='i=0; until [ $((i += 1)) -gt 200 ] || [ -e'
	for n in 1 2 3; do
		stub soaks.$n "group: soaks" -- "mkdir $PWD/alone || exit 1" "echo $n >>$PWD/soaked" \
			"$wait $PWD/other ]; do sleep 0.1; done" "rmdir $PWD/alone"
	done
	stub other -- "$wait $PWD/alone ]; do sleep 0.1; done" "ls -d $PWD/alone || exit 1" "touch $PWD/other"
	runs 0 -j 3
	[ "$(tail -n 1 out)" = "4 passed, 0 failed, 0 skipped" ]
	[ "$(wc -l <soaked)" -eq 3 ]
	runs 0 -j 1 soaks.1 soaks.2
}
check 'the tests that soak run one at a time, beside others' tests_that_soak_run
soaks_wait_for_other_run()
{
	only_stubs
	stub soaks "group: soaks" "limit: 2"
	flock lock sh -c "touch held; sleep 4; touch over" &
	remember $!
	wait_until [ -e held ]
	runs 0
	[ -e over ]
	grep -q '^soaks .*1 passed, 0 failed, 0 skipped ([01] s)' out
}
check 'a test that soaks waits for one of another run, which is no part of its time' soaks_wait_for_other_run
with_sanitizers_what_program()
{
	only_stubs
	stub clean -- "sleep 0.5"
	stub reports -- 'path=${ASAN_OPTIONS#*log_path=}; echo "==1==ERROR: AddressSanitizer: made-up (x)" >${path%%:*}.99999999'
	LONG='' SANITIZE=address exits 1 sh "$run" -1 clean reports
	grep -q "^clean .*1 passed, 0 failed" out
	grep -q "^reports .*1 passed, 1 failed" out
	grep -qx "not ok - reports: AddressSanitizer: made-up " out
	[ "$(tail -n 1 out)" = "2 passed, 1 failed, 0 skipped" ]
}
check 'with sanitizers: what a program has reported is a failure of its own test, wherever it was printed' with_sanitizers_what_program

# busy_machine N: has /proc/stat advance by 60 ticks from one reading to the next; half of them are
# idle, until N readings were made, and then all
busy_machine()
{
	rm -f readings
	cat >stub/head <<END
#!/bin/sh
[ "\$3" = /proc/stat ] || exec $(command -v head) "\$@"
echo >>"$PWD/readings"
n=\$(wc -l <"$PWD/readings")
[ \$n -gt $1 ] && busy=0 || busy=30
echo "cpu  \$((n * busy)) 0 0 \$((n * (60 - busy))) 0 0 0 0 0 0"
END
	chmod 755 stub/head
	printf '#!/bin/sh\n[ "$1" = 0.3 ] || exec %s "$@"\n' "$(command -v sleep)" >stub/sleep
	chmod 755 stub/sleep
}
on_machine_that_stays()
{
	only_stubs
	stub a "group: quiet"
	stub b "group: quiet"
	stub c
	busy_machine 1000
	PATH=$PWD/stub:$PATH runs 0
	grep -qx "ok 1 - a # SKIP the machine is busy: other programs, or its host, take 50 % of its CPUs" out
	grep -qx "ok 1 - b # SKIP the machine is busy: other programs, or its host, take 50 % of its CPUs" out
	grep -q "^c .*1 passed" out
	[ "$(tail -n 2 out)" = "2 of the skipped tests need a quiet machine: a b
1 passed, 0 failed, 2 skipped" ]
}
check 'on a machine that stays busy the tests of the group quiet are skipped with that reason, and no other' on_machine_that_stays
machine_that_busy()
{
	busy_machine 4
	PATH=$PWD/stub:$PATH runs 0
	[ "$(tail -n 1 out)" = "3 passed, 0 failed, 0 skipped" ]
}
check 'a machine that is busy for a moment is waited for' machine_that_busy
test_of_quiet_group()
{
	busy_machine 1000
	PATH=$PWD/stub:$PATH runs 0 a
	[ "$(tail -n 1 out)" = "1 passed, 0 failed, 0 skipped" ]
}
check 'a test of the quiet group that is named runs on a busy machine, too' test_of_quiet_group

# left_running: the processes of the stubs
left_running()
{
	grep -lsF "$PWD/tree/tests/system/" /proc/[0-9]*/cmdline | cut -d/ -f3
}
sig_it_ends()
{
	only_stubs
	rm -f begun.*
	for n in 1 2; do
		stub $n -- "touch $PWD/begun.$n" "timeout 600 sleep 600"
	done
	# As from a terminal: a shell would start it in the background with SIGINT ignored.
	LONG='' SANITIZE='' env --default-signal=INT sh "$run" -j 2 >out 2>err &
	pid=$!
	remember $pid
	met()
	{
		[ -e begun.1 ] && [ -e begun.2 ]
	}
	wait_until met
	[ -n "$(left_running)" ]
	kill -"$signal" $pid
	status=0
	wait $pid || status=$?
	cat out err
	[ $status -eq 1 ]
	not left_running | grep .
	nothing_left
}
for signal in INT TERM HUP; do
	check "SIG$signal: it ends at once, with status 1, and nothing is left of it or the tests" sig_it_ends
done

finish
