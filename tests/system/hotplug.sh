#!/bin/sh
# CPUs that go offline and come back, or come online and are not soaked, and a clock source that changes:
# on a virtual machine, by tests/vm, which needs QEMU and a kernel that `tests/vm fetch` got.
#
# only: check-long
# limit: 900
. "$TOP/tests/lib.sh"
own_tmpdir

if [ "$1" != guest ]; then
	vm=$TOP/tests/vm
	kernel=$("$vm" list | sed '/-rt/d; s/ .*//' | sort -V | tail -n 1)
	"$vm" -l 1 "${kernel:-none}" -- true >out 2>start.err
	if grep -q skipped start.err; then
		skip 'CPUs that come and go' "$(sed 's/.*skipped: //' start.err)"
		finish
	fi
	# The guest's lines are those of its checks.
	"$vm" -p full -c 2 -l 300 "$kernel" -- sh -c 'cd /tmp && exec sh "$TOP/tests/system/hotplug.sh" guest' >out 2>err
	status=$?
	sed -n '/^1\.\./!p' out
	count=$(grep -c '^ok\|^not ok' out)
	failed=$(grep -c '^not ok' out)
	it 'the guest ran all of its checks'; ( begin
		cat err
		grep -q "^1\.\." out
		[ "$status" -eq $((failed > 0)) ]
	); ok
	finish
fi

cpu1=/sys/devices/system/cpu/cpu1/online
clock=/sys/devices/system/clocksource/clocksource0
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec

until_holding -p 1 --json
soaker=$(soaker_of "$SOAK")
it 'a CPU goes offline: there is no load, with one line'; ( begin
	next_period
	not is_unsafe "$PERIOD" cpu_offline
	echo 0 >$cpu1
	begins cpu_offline
	next_period
	sed -n "${PERIOD}p" soak.out | jq -e 'has("load_percent") | not'
	lines 1 "^cyclesoak: a CPU went offline or came back"
); ok
it 'a CPU comes back online: its soaker is bound to it again, and the load is that of both'; ( begin
	echo 1 >$cpu1
	ends cpu_offline
	sed -n "${PERIOD}p" soak.out | jq -e ".cpus == 2 and .load_percent > -10"
	[ "$(cpus_of "$soaker" | sed 1d | sort | paste -sd " ")" = "0 1" ]
	lines 1 "^cyclesoak: a CPU went offline or came back"
); ok
it 'a CPU goes offline and comes back within a period'; ( begin
	echo 0 >$cpu1
	echo 1 >$cpu1
	begins cpu_offline || begins soaker_moved
	ends cpu_offline
	ends soaker_moved
	sed -n "${PERIOD}p" soak.out | jq -e ".cpus == 2"
); ok
if grep -q hpet $clock/available_clocksource && not grep -q hpet $clock/current_clocksource; then
	it 'the clock source changes: unsafe as long as it is another'; ( begin
		was=$(cat $clock/current_clocksource)
		echo hpet >$clock/current_clocksource
		begins clock_changed
		lines 1 "^cyclesoak: the clock source changed: "
		echo "$was" >$clock/current_clocksource
		ends clock_changed
	); ok
	kill -TERM "$SOAK"
	ended "$SOAK"
	it 'a slow clock source: unsafe, with one line'; ( begin
		was=$(cat $clock/current_clocksource)
		echo hpet >$clock/current_clocksource
		exits 0 "$BIN/cyclesoak" -p 0.5 -n 1 --json
		echo "$was" >$clock/current_clocksource
		head -n 1 out | jq -e '.unsafe | index("clock_slow") != null'
		grep -q "^cyclesoak: the clock or a system call is slow" err
	); ok
else
	skip 'the clock source changes, or is slow' 'no other one than hpet, or no hpet'
	kill -TERM "$SOAK"
	ended "$SOAK"
fi
echo 0 >$cpu1
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
until_holding -p 1 --json
check 'a CPU comes online that is not soaked: unsafe while it is there, with one line' \
    lasts cpu_online 'a CPU came online that is not measured' "echo 1 >$cpu1" "echo 0 >$cpu1"
kill -TERM "$SOAK"
ended "$SOAK"
finish
