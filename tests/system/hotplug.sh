#!/bin/sh
# CPUs that go offline and come back, or come online and are not measured: on a virtual machine, by tests/vm, which
# needs QEMU and a kernel that `tests/vm fetch` got.  Older kernels than the latest count idle time in another way:
#	tests/vm 6.1 -- sh -c 'cd /tmp && GUEST=yes SLOW=8 sh "$TOP/tests/system/hotplug.sh"'
#
# only: check-long
# limit: 900
. "$TOP/tests/lib.sh"
in_guest -s -a preempt=full

# soak: one cyclesoak, with a calibration of the CPUs that are online
soak()
{
	made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
	until_holding -p 1 --json
	seen=0
}
# period 'FILTER': waits for a period, after those that were there, of which it holds; it is in the file `period`
period()
{
	filter=$1
	met()
	{
		tail -n "+$((seen + 1))" soak.out | jq -c "select($filter)" 2>/dev/null | head -n 1 >period
		[ -s period ]
	}
	wait_until met
	seen=$(lines_in soak.out)
}
# The reasons of a period whose load is unsafe, or not measured.
reasons='((.unsafe // []) + [.no_load // empty])'
unsafe() { period "$reasons | index(\"$1\") != null"; }
safe() { period "$reasons | index(\"$1\") == null"; }
# one_warning 'regex': soak.err has one such line
one_warning() { prints 1 grep -c "^cyclesoak: $1" soak.err; }

cpu1=/sys/devices/system/cpu/cpu1/online
soak || exit
it 'a CPU goes offline: the load is not measured, with one line, until it is back and its soaker is bound to it again'; ( begin
	safe offline
	echo 0 >$cpu1
	unsafe offline
	unsafe offline
	jq -e 'has("load_percent") | not' period
	echo 1 >$cpu1
	safe offline
	jq -e '.cpus == 2 and .load_percent > -10' period
	prints '0 1' eval 'cpus_of "$(soaker_of "$SOAK")" | sed 1d | sort | paste -sd " "'
	one_warning 'the load is not measured: a measured CPU was offline'
); ok
kill -TERM "$SOAK"
ended "$SOAK"
echo 0 >$cpu1
soak || exit
it 'a CPU comes online that is not soaked: unsafe while it is there, with one line'; ( begin
	safe cpu_online
	echo 1 >$cpu1
	unsafe cpu_online
	unsafe cpu_online
	echo 0 >$cpu1
	safe cpu_online
	one_warning 'a CPU came online and is not measured'
); ok
kill -TERM "$SOAK"
ended "$SOAK"
echo 1 >$cpu1

# idle options...: cyclesoak --idle, whose output is in `out`, and whose errors are in `err`
idle()
{
	status=0
	cyclesoak --idle --json "$@" >out 2>err || status=$?
	measured
	[ $status -eq 0 ]
}
# measured: skips a check if a busy host disturbed the trial
measured() { ! grep 'busy\|never sleeps\|is not idle' err || skip_check 'the host of this machine is busy'; }
# watch options...: the same in the background, from its first period on
watch()
{
	launch out '{*' cyclesoak --idle --json "$@"
	mv out.err err
	measured
}
it '--idle: a CPU is away within the run of a command: the load is not measured, and the reason is the CPU'; ( begin
	idle sh -c "sleep 0.3; echo 0 >$cpu1; sleep 0.3; echo 1 >$cpu1; sleep 0.3"
	grep '^{' out | jq -e '.no_load == "offline" and ([has("load_percent", "unsafe")] | any | not)'
	one_line err
	idle sleep 0.3
	grep '^{' out | jq -e '.no_load != "offline"'
); ok
# Bursts that begin and end between two ticks are in no column: the columns of a CPU rise by less than the time.
it '--idle: in fifty periods beside bursts nothing is taken for a CPU that is away'; ( begin
	watch -p 0.1 -n 50 # the trial was before the bursts
	"$HELPERS/burn" 0,1 60 50 4000 >burnt &
	burner=$!
	ended $launched
	kill $burner
	jq -es '.[:50] | all(.[]; (.unsafe // []) - ["steal"] == [] and has("load_percent")) and
		([.[].load_percent] | max) > 40' out
); ok
echo 0 >$cpu1
it '--idle: a CPU comes online: each load has that reason, and no other, and is that of the CPU measured'; ( begin
	watch -p 0.5 -n 20
	wait_until counts -ge 3 lines_in out
	echo 1 >$cpu1
	wait_until counts -ge 8 lines_in out
	echo 0 >$cpu1
	ended $launched
	jq -es '.[:20] | all(.[]; .cpus == 1 and .load_percent > -5 and .load_percent < 105 and (.unsafe // []) - ["cpu_online"] == [])' out
	jq -es '[.[:20][] | .unsafe // [] | length] | add > 2 and .[0] == 0' out
	prints 1 grep -c 'a CPU came online' err
	one_line err
); ok
echo 1 >$cpu1
finish
