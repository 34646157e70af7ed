#!/bin/sh
# What makes a load unsafe is noticed within a period, marked behind the figure, and printed once while it
# lasts; the next period is safe again.  tests/unit/{soaker,limits}.c have all reasons, hotplug.sh CPUs that come and go.
#
# group: soaks
# seconds: 3
. "$TOP/tests/lib.sh"

whole_test_needs jq 'what makes a load unsafe'
cpus=$(getconf _NPROCESSORS_ONLN)
all=$(cat /sys/devices/system/cpu/online)
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
hasten_tools

# period 'FILTER': waits for a period of soak.out, after those that were there, of which it holds
period()
{
	filter=$1
	met() { tail -n "+$((seen + 1))" soak.out | jq -es "any($filter)" >found; }
	wait_until met
	seen=$(lines_in soak.out)
}
# stop PID: stops it, and waits until all of it is: on a busy machine the soakers come late to their stop
stop()
{
	kill -STOP "$1"
	stopped() { ! cat "/proc/$1/task"/*/stat 2>/dev/null | grep -qv ') [TZ] '; }
	wait_until stopped "$1"
}
it 'a soaker is moved, all are stopped: a line each, unsafe until it is over, on each CPU and in the closing line'; ( begin
	[ "$cpus" -gt 1 ] || skip_check 'one CPU'
	launch soak.out '{*' $cyclesoak -p 0.15 --json
	soaker=$(soaker_of $launched) keeper=$(keeper_of $launched)
	raise_soaker "$soaker"
	# All are to be on their CPUs, late on a busy machine.
	bound() { [ "$(cpus_of "$soaker" | grep -x '[0-9]*' | sort -u | wc -l)" -eq "$cpus" ]; }
	wait_until bound || wait_until bound
	# Numbers of processes may have begun anew before the threads.
	thread=$(tasks_of "$soaker" | grep -vx -m 1 "$soaker")
	cpus_of_it() { sed -n 's/^Cpus_allowed_list:	//p' "/proc/$soaker/task/$thread/status"; }
	own=$(cpus_of_it)
	other=${all##*[,-]}
	[ "$own" != "$other" ] || other=${all%%[,-]*}
	seen=$(lines_in soak.out)
	not grep 'soaker_stopped\|soaker_moved' soak.out
	taskset -p -c "$other" "$thread"
	period '.unsafe // [] | index("soaker_moved")'
	stop "$soaker"
	period '.unsafe // [] | index("soaker_stopped")'
	kill -CONT "$soaker"
	period '.unsafe // [] | (index("soaker_stopped") or index("soaker_moved")) | not'
	[ "$(cpus_of_it)" = "$own" ]
	remember "$keeper"
	kill -STOP "$keeper" # which does not keep the program from ending
	kill -TERM $launched
	ended $launched
	cat soak.err
	[ "$(grep -c '^cyclesoak: the soakers were stopped (SIGSTOP' soak.err)" -eq 1 ]
	[ "$(grep -c '^cyclesoak: a soaker was moved to another CPU and is back: the load is unsafe$' soak.err)" -eq 1 ]
	tail -n 1 soak.out | jq -e '.periods > 3 and (.unsafe | index("soaker_stopped") and index("soaker_moved"))'
	# What the hypervisor takes is of one CPU.
	jq -es 'def reasons: (.unsafe // []) - ["steal"];
		.[:-1] | all(.[]; reasons as $all | .load_by_cpu | length > 0 and all(reasons == $all))' soak.out
); ok
# What lasts from the start
cg=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpu\b.*/\1/p' /proc/self/mounts | head -n 1)
it 'no idle group: one line, and each period is unsafe'; ( begin
	[ -n "$cg" ] && unshare -m -C true || skip_check 'no privilege to mount, or no control groups of version 1'
	soaking unshare -m -C sh -c "mount -o remount,bind,ro $cg && exec $cyclesoak -p 0.1 -n 1 --json"
	jq -es 'length >= 1 and all(.[]; .unsafe | index("weight") != null)' out
	counts -eq 1 grep -c '^cyclesoak: the soakers may take CPU from .*: the idle control group: Read-only file system: ' err
); ok
start_zcs
# At full speed zcc would take all CPUs, and no soaker would get to count the stop.
undisturbed 'zcc -c --warmup: soakers that were stopped in the warm-up alone mark its intervals, and not the run'
least_turns=3; while again; do ( begin
	launch out '*bit/s*' "$zcc" -c -s 0 -p "$PORT" -I 0.1 --pace 2m -o 50k --warmup 1.2 -t 0.2
	! grep 'was fully busy' out.err || skip_check 'the machine is busy'
	soaker=$(soaker_of $launched)
	kill -STOP "$soaker" || skip_check 'the machine is busy'
	wait_until or_gone $launched grep -q 'were stopped' out.err
	kill -CONT "$soaker" || skip_check 'the machine is busy'
	ended $launched
	cat out
	grep '^ .*%? +-.*warm-up' out
	not grep "^    unsafe: why .*soaker_stopped" out
); done
stop_zcs
finish
