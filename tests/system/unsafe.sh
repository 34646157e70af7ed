#!/bin/sh
# What makes a load unsafe is noticed within a period, marked behind the figure, and printed once while it
# lasts; the next period is safe again.  hotplug.sh has real CPUs that come and go.
#
# group: soaks
# seconds: 6
. "$TOP/tests/lib.sh"

whole_test_needs jq 'what makes a load unsafe'
cpus=$(getconf _NPROCESSORS_ONLN)
all=$(cat /sys/devices/system/cpu/online)
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
hasten_tools

# The periods of a cyclesoak --json, and what makes them unsafe.
# is_unsafe REASON...: whether the period PERIOD of soak.out is, for each of the reasons
is_unsafe()
{
	for reason; do
		sed -n "${PERIOD}p" soak.out | grep -q "\"unsafe\":\[[^]]*\"$reason\"" || return
	done
}
# next_period: waits until one more is over, or that after PERIOD; PERIOD is its number
next_period()
{
	PERIOD=$((${PERIOD:-$(lines_in soak.out)} + 1))
	wait_until counts -ge $PERIOD lines_in soak.out
}
# until_period 'filter': waits for a period after PERIOD of which it holds; PERIOD is its number
until_period()
{
	from=$((${PERIOD:-$(lines_in soak.out)} + 1)) filter=$1
	wait_until period_found
	PERIOD=$((from + $(cat period)))
}
period_found() { tail -n "+$from" soak.out | jq -en "[inputs | $filter] | index(true)" >period 2>/dev/null; }
# begin_all REASON...: all are in periods after PERIOD, of which the last is PERIOD then.  end_all REASON...: none is.
begin_all()
{
	before=$PERIOD last=$PERIOD
	for reason; do
		PERIOD=$before
		until_period "(.unsafe // []) | index(\"$reason\") != null"
		[ "$PERIOD" -lt "$last" ] || last=$PERIOD
	done
	PERIOD=$last
}
end_all() { until_period "(.unsafe // []) - $(printf '"%s"\n' "$@" | jq -cs .) == (.unsafe // [])"; }
# lines N 'pattern': soak.err has that many
lines()
{
	cat soak.err
	[ "$(grep -c -e "^cyclesoak: $2" soak.err)" -eq "$1" ]
}
# stop PID: stops it, and waits until all of it is: on a busy machine the soakers come late to their stop
stop()
{
	kill -STOP "$1"
	wait_until stopped "$1"
}
stopped() { ! cat "/proc/$1/task"/*/stat 2>/dev/null | grep -qv ') [TZ] '; }

# Files of the kernel, as they might be: what a program reads in their place is written meanwhile.
clock=/sys/devices/system/clocksource/clocksource0/current_clocksource
# stat_of TICKS: that so many ticks were stolen from each CPU
stat_of()
{
	printf 'cpu  1000 1000 1000 1000 0 0 0 %d 0 0\n' $((1000 + $1 * cpus))
	made_up_calibration | sed -n "s/^cpu \([0-9]*\) .*/cpu\1 1000 1000 1000 1000 0 0 0 $((1000 + $1)) 0 0/p"
	printf 'intr 1000\n'
}
stat_of 0 >stat
stat_of 20 >later
echo tsc >current_clocksource
mkdir -p kernel/sched_ext
echo disabled >kernel/sched_ext/state
mounts='' clock_changed='' steal='' scheduler=''
if unshare -m true 2>/dev/null; then
	[ ! -e $clock ] || mounts="mount --bind current_clocksource $clock &&" clock_changed=clock_changed
	mounts="mount --bind stat /proc/stat && mount --bind kernel /sys/kernel && $mounts" steal=steal scheduler=scheduler
else
	skip 'another clock source or scheduler, steal' 'no privilege for namespaces'
fi
# One cyclesoak for all that changes while it runs
launch soak.out '{*' ${mounts:+unshare -m} sh -c "$mounts exec $cyclesoak -p 0.15 --json"
SOAK=$launched
soaker=$(soaker_of "$SOAK") keeper=$(keeper_of "$SOAK")
raise_soaker "$soaker"
# bound: all soakers are to their CPUs, late on a busy machine: until then they are not missed where they are taken away
bound() { [ "$(cpus_of "$soaker" | grep -x '[0-9]*' | sort -u | wc -l)" -eq "$cpus" ]; }
wait_until bound >&2 || wait_until bound >&2
own=$(cpus_of "$soaker" | sed -n 2p)
thread=$(tasks_of "$soaker" | sed -n 2p) # not that of the process
other=${all##*[,-]}
[ "$own" != "$other" ] || other=${all%%[,-]*}
it 'soakers are moved or stopped, 2 % are stolen, the clock or scheduler changes: a line each, and unsafe until it is over'; ( begin
	[ "$cpus" -gt 1 ] && moved=soaker_moved || moved=
	next_period
	for reason in soaker_stopped soaker_moved cpu_offline cpu_online clock_changed scheduler $steal; do
		not is_unsafe $reason
	done
	[ -z "$moved" ] || taskset -p -c "$other" "$thread"
	dd if=later of=stat conv=notrunc 2>dd.err
	begin_all $moved $steal
	stop "$soaker"
	echo hpet >current_clocksource
	echo enabled >kernel/sched_ext/state
	begin_all soaker_stopped $clock_changed $scheduler
	next_period
	is_unsafe soaker_stopped $clock_changed $scheduler
	echo tsc >current_clocksource
	echo disabled >kernel/sched_ext/state
	kill -CONT "$soaker"
	end_all soaker_stopped $moved $steal $clock_changed $scheduler
	[ "$(cpus_of "$soaker" | sed -n 2p)" = "$own" ]
	lines 1 'the soakers were stopped (SIGSTOP'
	[ -z "$moved" ] || lines 1 'a soaker was moved to another CPU and is back: the load is unsafe$'
	[ -z "$steal" ] || lines 1 'the hypervisor took more than 1% of this machine.s CPU time (steal): the load is unsafe$'
	[ -z "$clock_changed" ] || lines 1 'the clock source changed: the load is wrong'
	[ -z "$scheduler" ] || lines 1 'a sched_ext scheduler runs'
); ok
kill -CONT "$soaker"
cpuset=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpuset\b.*/\1/p' /proc/self/mounts | head -n 1)
it 'a cpuset takes a CPU from the soakers: the load is not measured until it is back'; ( begin
	mkdir "$cpuset/zc-test-$$" && [ "$cpus" -gt 1 ] || skip_check 'one CPU, or no cpuset of version 1'
	next_period
	echo "$own" >"$cpuset/zc-test-$$/cpuset.cpus"
	cat "$cpuset/cpuset.mems" >"$cpuset/zc-test-$$/cpuset.mems"
	echo "$soaker" >"$cpuset/zc-test-$$/cgroup.procs"
	until_period '.no_load == "offline" and (has("load_percent") | not) and ([.load_by_cpu[] | has("load_percent")] | any | not)'
	echo "$soaker" >"$cpuset/cgroup.procs"
	until_period "has(\"load_percent\") and .cpus == $cpus"
	lines 1 'the load is not measured: a measured CPU was offline, or missing in the cpuset: wait until it is back'
	[ "$(cpus_of "$soaker" | grep -x '[0-9]*' | sort -u | wc -l)" -eq "$cpus" ]
); ok
if [ -d "$cpuset/zc-test-$$" ]; then
	echo "$soaker" >"$cpuset/cgroup.procs"
	wait_until rmdir "$cpuset/zc-test-$$" 2>/dev/null
fi
kill -STOP "$keeper" # which does not keep the program from ending
kill -TERM "$SOAK"
wait "$SOAK"
it 'each CPU has the reasons of its period, the closing line those of all'; ( begin
	tail -n 1 soak.out | jq -e '.periods > 3 and (.unsafe | index("soaker_stopped") != null)'
	jq -es '.[:-1] | all(.[]; .unsafe as $u | .load_by_cpu | length > 0 and all(.unsafe == $u))' soak.out
); ok

# What lasts from the start
cg=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpu\b.*/\1/p' /proc/self/mounts | head -n 1)
it 'no idle group: one line, and each period is unsafe'; ( begin
	[ -n "$cg" ] && unshare -m -C true || skip_check 'no privilege to mount, or no control groups of version 1'
	soaking unshare -m -C sh -c "mount -o remount,bind,ro $cg && exec $cyclesoak -p 0.1 -n 1 --json"
	jq -es 'length >= 1 and all(.[]; .unsafe | index("weight") != null)' out
	counts -eq 1 grep -c '^cyclesoak: the soakers may take CPU from .*: the idle control group: Read-only file system: ' err
); ok

# zcs, and its figures in the report of zcc.  At full speed zcc would take all CPUs, and no soaker would get to count
# the stop.
slowly='--pace 2m -o 50k'
# is_marked FILE: the report has marks behind its load and cost, and the reason
is_marked()
{
	figures_of load "$1" | grep -Eqx -e "-?[0-9.]+%\? \+-[0-9.]+%"
	figures_of "cost, us/KiB" "$1" | grep -Eqx -e "-?[0-9.]+\? \+-[0-9.]+"
	grep -Eq "^    unsafe: why +.*soaker_stopped" "$1"
}
undisturbed 'zcs -c: the line of the client and the column of the receiver are marked, with the reason'
least_turns=3; while again; do ( begin
	start_zcs -c -I 0.1
	stop "$(soaker_of "$ZCS")"
	measured "$zcc" -s 0 -p "$PORT" -t 0.25 $slowly
	kill -CONT "$(soaker_of "$ZCS")"
	stop_zcs
	cat zcs.out zcs.err
	! grep 'was fully busy' zcs.err || skip_check 'the machine is busy'
	grep -Eq "^ *127.*[,:] load -?[0-9.]+%\? \+-[0-9.]+% of [0-9.]+ CPUs?, cost -?[0-9.]+\? \+-[0-9.]+ us/KiB" zcs.out
	no_wider 100 zcs.out
	[ "$(grep -c "^zcs: the soakers were stopped" zcs.err)" -eq 1 ]
	is_marked out
); done
start_zcs
undisturbed 'zcc -c --warmup: soakers that were stopped in the warm-up alone mark its intervals, and not the run'
least_turns=3; while again; do ( begin
	launch out '*bit/s*' "$zcc" -c -s 0 -p "$PORT" -I 0.1 $slowly --warmup 1.2 -t 0.2
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
