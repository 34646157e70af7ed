#!/bin/sh
# cyclesoak --verify: what it cannot be used with, and what is left when a signal ends it.  tests/unit has its report.
#
# group: soaks
# seconds: 2
. "$TOP/tests/lib.sh"

check_usage "--verify: 'slow'" cyclesoak --verify=slow
check '--verify takes no command' fails_with 125 "^cyclesoak: --verify and 'true' cannot be used together" "$cyclesoak" --verify true
for signal in INT KILL; do
	it "--verify: no process is left after SIG$signal"; ( begin
		for turn in 1 2 3 4 5; do # on a busy machine nothing can be run, and it ends by itself
			env --default-signal=INT "$cyclesoak" --verify=quick >out 2>err &
			SOAK=$!
			remember $SOAK
			wait_until or_gone $SOAK not prints_nothing soaker_of $SOAK
			all="$(keeper_of $SOAK) $(soaker_of $SOAK) $(cat /proc/$SOAK/task/*/children 2>/dev/null || :)"
			echo "processes: $all"
			gone $SOAK || { kill -$signal $SOAK; break; }
		done
		! grep '^result: 0 passed, 0 failed' out || skip_check 'the machine is busy'
		[ -n "${all# }" ]
		for process in $all; do
			wait_until gone "$process"
		done
		[ -z "$(stale_group)" ]
		grep -q '^environment: kernel: ' out
	); ok
done
finish
