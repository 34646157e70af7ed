#!/bin/sh
# CPUs that go offline and come back: what the kernel does with the soakers, and with the idle time of /proc/stat.  On a
# virtual machine, by tests/vm, which needs QEMU and a kernel that `tests/vm fetch` got.  tests/unit/{soaker,idle}.c have the
# reasons, also of CPUs that come online.  Older kernels than the latest count idle time in another way:
#	tests/vm 6.1 -- sh -c 'cd /tmp && GUEST=yes SLOW=8 sh "$TOP/tests/system/hotplug.sh"'
#
# only: check-long
# limit: 900
. "$TOP/tests/lib.sh"
in_guest -s -a preempt=full

cpu1=/sys/devices/system/cpu/cpu1/online
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
until_holding -p 1 --json || exit
seen=0
# period 'FILTER': waits for a period, after those that were there, of which it holds
period()
{
	filter=$1
	met() { tail -n "+$((seen + 1))" soak.out | jq -es "any($filter)"; }
	wait_until met
	seen=$(lines_in soak.out)
}
it 'a CPU goes offline: the load is not measured, with one line, until it is back and its soaker is bound to it again'; ( begin
	period 'has("load_percent")'
	echo 0 >$cpu1
	for n in 1 2; do
		period '.no_load == "offline" and (has("load_percent") | not)'
	done
	echo 1 >$cpu1
	period '.cpus == 2 and .load_percent > -10'
	prints '0 1' eval 'cpus_of "$(soaker_of "$SOAK")" | sed 1d | sort | paste -sd " "'
	prints 1 grep -c '^cyclesoak: the load is not measured: a measured CPU was offline' soak.err
); ok
kill -TERM "$SOAK"
ended "$SOAK"

# measured: skips a check if a busy host disturbed the trial
measured() { ! grep 'busy\|never sleeps\|is not idle' err || skip_check 'the host of this machine is busy'; }
it '--idle: a CPU is away within the run of a command: the load is not measured, and the reason is the CPU'; ( begin
	while read -r offline command; do
		cyclesoak --idle --json sh -c "$command" >out 2>err || { measured && false; }
		measured
		grep '^{' out | jq -e "(.no_load == \"offline\") == $offline and (has(\"unsafe\") | not)"
		[ "$offline" = false ] || one_line err
	done <<-END
		true sleep 0.3; echo 0 >$cpu1; sleep 0.3; echo 1 >$cpu1; sleep 0.3
		false sleep 0.3
	END
); ok
# Bursts that begin and end between two ticks are in no column: the columns of a CPU rise by less than the time.
it '--idle: in fifty periods beside bursts nothing is taken for a CPU that is away'; ( begin
	launch out '{*' cyclesoak --idle --json -p 0.1 -n 50 # the trial was before the bursts
	mv out.err err
	measured
	"$HELPERS/burn" 0,1 60 50 4000 >burnt &
	burner=$!
	ended $launched
	kill $burner
	jq -es '.[:50] | all(.[]; (.unsafe // []) - ["steal"] == [] and has("load_percent")) and
		([.[].load_percent] | max) > 40' out
); ok
finish
