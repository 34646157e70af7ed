#!/bin/sh
# cyclesoak --verify: what it cannot be used with, what is left when a signal ends it, and with LONG=1 the
# form of its report.  Whether the figures are right is not judged here: the machine is not idle.
#
# group: soaks
# seconds: 2
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak
check_usage "--verify: 'slow'" cyclesoak --verify=slow
check_usage '--verify and --idle cannot be used together' cyclesoak --verify --idle
check_usage '--verify and -f, --calibration cannot be used together' cyclesoak --verify -f file
it '--verify takes no command'; ( begin
	exits 125 "$cyclesoak" --verify true
	grep -q "^cyclesoak: --verify and 'true' cannot be used together" err
); ok
for signal in INT KILL; do
	it "--verify: no process is left after SIG$signal"; ( begin
		env --default-signal=INT "$cyclesoak" --verify=quick >out 2>err &
		SOAK=$!
		remember $SOAK
		wait_until or_gone $SOAK not prints_nothing soaker_of $SOAK
		all="$(keeper_of $SOAK) $(soaker_of $SOAK) $(cat /proc/$SOAK/task/*/children)"
		echo "processes: $all"
		kill -$signal $SOAK
		for process in $all; do
			wait_until gone "$process"
		done
		[ -z "$(stale_group)" ]
		grep -q '^environment: kernel: ' out
	); ok
done
long '--verify=quick: the environment, a line for each figure, and the status' && ( begin
	status=0
	"$cyclesoak" --verify=quick >out 2>err || status=$?
	cat out err
	grep -v '^environment: ' out >steps
	no_wider 99 steps
	[ "$(grep -c '^environment: ' out)" -ge 2 ]
	for step in yield price zero burner sum softirq wake-up stream; do
		grep -q "^$step " out || [ "$step$(getconf _NPROCESSORS_ONLN)" = sum1 ]
	done
	# shellcheck disable=SC2046 # two numbers
	set -- $(sed -n '$s/.* \([0-9]*\) failed, \([0-9]*\) could not be run$/\1 \2/p' out)
	[ $status -eq $(($1 > 0 ? 1 : $2 > 0 ? 2 : 0)) ]
); ok
finish
