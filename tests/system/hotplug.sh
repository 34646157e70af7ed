#!/bin/sh
# CPUs that go offline and come back, or come online and are not soaked: on a virtual machine, by tests/vm, which
# needs QEMU and a kernel that `tests/vm fetch` got.
#
# only: check-long
# limit: 900
. "$TOP/tests/lib.sh"
in_guest -p full

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
unsafe() { period "(.unsafe // []) | index(\"$1\") != null"; }
safe() { period "(.unsafe // []) | index(\"$1\") == null"; }
# one_warning 'regex': soak.err has one such line
one_warning() { prints 1 grep -c "^cyclesoak: $1" soak.err; }

cpu1=/sys/devices/system/cpu/cpu1/online
soak || exit
it 'a CPU goes offline: the load is not measured, with one line, until it is back and its soaker is bound to it again'; ( begin
	safe cpu_offline
	echo 0 >$cpu1
	unsafe cpu_offline
	unsafe cpu_offline
	jq -e 'has("load_percent") | not' period
	echo 1 >$cpu1
	safe cpu_offline
	jq -e '.cpus == 2 and .load_percent > -10' period
	prints '0 1' eval 'cpus_of "$(soaker_of "$SOAK")" | sed 1d | sort | paste -sd " "'
	one_warning 'a measured CPU was offline'
); ok
it 'a CPU that goes offline and comes back within a period makes it unsafe'; ( begin
	echo 0 >$cpu1
	echo 1 >$cpu1
	moved='[.unsafe[]?] | any(. == "cpu_offline" or . == "soaker_moved")'
	period "$moved"
	period "($moved | not) and .cpus == 2"
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
finish
