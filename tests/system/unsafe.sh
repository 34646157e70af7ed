#!/bin/sh
# What makes a load unsafe is noticed within a period, marked behind the figure, and printed once while it
# lasts; the next period is safe again.  hotplug.sh has real CPUs that come and go.
#
# group: quiet
# seconds: 5
. "$TOP/tests/lib.sh"

command -v jq >/dev/null 2>&1 || { skip 'what makes a load unsafe' 'no jq'; finish; }
cpus=$(getconf _NPROCESSORS_ONLN)
all=$(cat /sys/devices/system/cpu/online)
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
real=$BIN/cyclesoak
hasten_tools
cyclesoak=$BIN/cyclesoak zcc=$BIN/zcc

# The periods of a cyclesoak --json, and what makes them unsafe.
# is_unsafe N REASON: whether the N-th period of soak.out is unsafe for that reason
is_unsafe() { sed -n "$1p" soak.out | jq -e "(.unsafe // []) | index(\"$2\") != null" >/dev/null; }
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
	wait_until period_found || { tail -n 5 soak.out; return 1; }
	PERIOD=$((from + $(cat period)))
}
period_found()
{
	tail -n "+$from" soak.out | jq -en "[inputs | $filter] | index(true)" >period 2>/dev/null
}
# begins REASON, ends REASON: it is in one of the next periods, or in none after one of the next
begins()
{
	until_period "(.unsafe // []) | index(\"$1\") != null"
}
ends()
{
	until_period "(.unsafe // []) | index(\"$1\") == null"
	next_period
	not is_unsafe $PERIOD "$1"
}
# lasts REASON 'line' 'begin' 'end': each period between these two commands is unsafe, with one line on stderr
lasts()
{
	next_period
	not is_unsafe $PERIOD "$1"
	eval "$3"
	begins "$1"
	next_period
	is_unsafe $PERIOD "$1"
	eval "$4"
	ends "$1"
	lines 1 "^cyclesoak: $2"
}
# lines N 'pattern': soak.err has that many
lines()
{
	cat soak.err
	[ "$(grep -c -e "$2" soak.err)" -eq "$1" ]
}

stopped()
{
	! cat "/proc/$1/task"/*/stat 2>/dev/null | grep -qv ') [TZ] '
}
# stop PID: stops it, and waits until all of it is: on a busy machine the soakers come late to their stop
stop()
{
	kill -STOP "$1"
	wait_until stopped "$1"
}

# Files of the kernel, as they might be: what a program reads in their place is written meanwhile.
clock=/sys/devices/system/clocksource/clocksource0/current_clocksource
can_stand_in=
! unshare -m true 2>/dev/null || can_stand_in=1
# One cyclesoak for all that changes while it runs: 100 ticks a second and CPU; 10 of 1000 would be 1 %.
printf 'cpu  1000 1000 1000 1000 0 0 0 1000 0 0\nintr 1000\n' >stat
echo tsc >current_clocksource
mounts=
for file in ${can_stand_in:+/proc/stat "$clock"}; do
	[ ! -e $file ] || mounts="$mounts mount --bind ${file##*/} $file &&"
done
launch soak.out '^{' ${mounts:+unshare -m} sh -c "$mounts exec $cyclesoak -p 0.11 --json"
SOAK=$launched
soaker=$(soaker_of "$SOAK")
it 'undisturbed, no soaker is stopped, moved or without its CPU, no clock changes, no host steals'; ( begin
	next_period
	for reason in soaker_stopped soaker_moved cpu_offline cpu_online clock_changed ${can_stand_in:+steal}; do
		not is_unsafe "$PERIOD" $reason
	done
); ok
check 'soakers that are stopped: each period is unsafe, with one line, until they go on' \
    lasts soaker_stopped 'the soakers were stopped (SIGSTOP' 'stop "$soaker"' 'kill -CONT "$soaker"'
kill -CONT "$soaker"
it 'soakers that are stopped and continued within a period: it is unsafe'; ( begin
	next_period
	stop "$soaker"
	kill -CONT "$soaker"
	begins soaker_stopped
	ends soaker_stopped
	lines 2 "^cyclesoak: the soakers were stopped (SIGSTOP"
); ok

# Another thread than that of the process
thread=$(tasks_of "$soaker" | sed -n 2p)
own=$(sed -n 's/^Cpus_allowed_list:	//p' /proc/"$soaker"/task/"$thread"/status)
other=${all##*[,-]}
[ "$own" != "$other" ] || other=${all%%[,-]*}
it 'a soaker that is moved to another CPU is bound again, the period unsafe, with one line'; ( begin
	[ "$cpus" -gt 1 ] || skip_check 'one CPU'
	next_period
	taskset -p -c "$other" "$thread"
	begins soaker_moved
	ends soaker_moved
	[ "$(sed -n "s/^Cpus_allowed_list:	//p" /proc/"$soaker"/task/"$thread"/status)" = "$own" ]
	lines 1 "^cyclesoak: a soaker was moved to another CPU and is back: the load is unsafe$"
); ok
cpuset=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpuset\b.*/\1/p' /proc/self/mounts | head -n 1)
it 'a cpuset takes a CPU from the soakers: there is no load until it is back'; ( begin
	mkdir "$cpuset/zc-test-$$" && [ "$cpus" -gt 1 ] || skip_check 'one CPU, or no cpuset of version 1'
	next_period
	echo "$own" >"$cpuset/zc-test-$$/cpuset.cpus"
	cat "$cpuset/cpuset.mems" >"$cpuset/zc-test-$$/cpuset.mems"
	echo "$soaker" >"$cpuset/zc-test-$$/cgroup.procs"
	begins cpu_offline
	until_period '(has("load_percent") | not) and ([.load_by_cpu[] | has("load_percent")] | any | not)'
	is_unsafe "$PERIOD" cpu_offline
	echo "$soaker" >"$cpuset/cgroup.procs"
	ends cpu_offline
	until_period "has(\"load_percent\") and .cpus == $cpus"
	lines 1 "^cyclesoak: a CPU went offline or came back, or a cpuset lacked it: there is no load"
	cpus_of "$soaker" >allowed
	[ "$(grep -x "[0-9]*" allowed | sort -u | wc -l)" -eq "$cpus" ]
); ok
if [ -d "$cpuset/zc-test-$$" ]; then
	echo "$soaker" >"$cpuset/cgroup.procs"
	wait_until rmdir "$cpuset/zc-test-$$" 2>/dev/null
fi
if [ -n "$can_stand_in" ]; then
	[ ! -e $clock ] || check 'another clock source than at the start: unsafe while it is, with one line' \
	    lasts clock_changed 'the clock source changed: the load is wrong' \
	    'echo hpet >current_clocksource' 'echo tsc >current_clocksource'
	it 'more than 1 % of steal: unsafe, with one line'; ( begin
		printf 'cpu  2000 1000 1000 1000 0 0 0 1020 0 0\nintr 1000\n' >later
		next_period
		dd if=later of=stat conv=notrunc 2>dd.err
		begins steal
		ends steal
		lines 1 '^cyclesoak: the host of this virtual machine took more than 1% of its CPU time (steal): the load is unsafe$'
	); ok
else
	skip 'another clock source, steal' 'no privilege for namespaces'
fi
kill -STOP "$(keeper_of "$SOAK")" # which does not keep the program from ending
kill -TERM "$SOAK"
wait "$SOAK"
it 'each CPU has the reasons of its period, the closing line those of all'; ( begin
	tail -n 1 soak.out | jq -e '.periods > 3 and (.unsafe | index("soaker_stopped") != null)'
	jq -es '.[:-1] | all(.[]; .unsafe as $u | .load_by_cpu | length > 0 and all(.unsafe == $u))' soak.out
); ok

# What lasts from the start: a slow clock and late wake-ups of one cyclesoak, no idle group and sched_ext of another.
# is_always REASON 'line': each period of out is unsafe for that reason, with one line
is_always()
{
	jq -es "length >= 2 and all(.[]; .unsafe | index(\"$1\") != null)" out
	[ "$(grep -c "^cyclesoak: $2$" err)" -eq 1 ]
}
# delays_wakeups: one line of err tells that the soakers do.  Where others have the CPUs no delay tells anything.
delays_wakeups()
{
	late='a thread on CPU [0-9]* ran [1-9][0-9]* us after another CPU had woken it'
	grep -q "^cyclesoak: the soakers delay wake-ups: $late: the load is unsafe$" err || {
		head -n 1 out | jq -e '.tasks_percent < 10' || skip_check 'the machine is busy'
		return 1
	}
	[ "$(grep -c 'the soakers' err)" -eq 1 ]
}
undisturbed 'cyclesoak: a slow clock and late wake-ups: a line each, and the loads are unsafe'; while again; do ( begin
	preloaded late && [ "$cpus" -gt 1 ] || skip_check 'one CPU, or no library can be preloaded'
	soaking env LD_PRELOAD="$PWD/late.so" LATE='clock wakeup' "$real" -p 0.1 -n 2 --json
	! grep -q 'left its soaker no time' err || skip_check 'the machine is busy'
	is_always clock_slow 'the clock or a system call is slow: the load omits short interrupts'
	delays_wakeups
	jq -es 'all(.[]; .unsafe | index("weight") != null)' out
); done
cg=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpu\b.*/\1/p' /proc/self/mounts | head -n 1)
it 'no idle group, and a sched_ext scheduler: each period is unsafe, with a line each'; ( begin
	[ -n "$cg" ] && unshare -m -C mount -t tmpfs none /sys/kernel ||
		skip_check 'no privilege to mount, or no control groups of version 1'
	soaking unshare -m -C sh -c "mount -o remount,bind,ro $cg && mount -t tmpfs none /sys/kernel &&
		mkdir /sys/kernel/sched_ext && echo enabled >/sys/kernel/sched_ext/state &&
		exec $cyclesoak -p 0.1 -n 2 --json"
	is_always weight "the soakers share this control group's weight .*: no idle group for them: Read-only file system"
	is_always scheduler 'a sched_ext scheduler runs.*'
); ok
for call in setpriority sched_setscheduler; do
	long "$call fails: the load is unsafe, with one line" && ( begin; need strace
		soaking strace -f -o /dev/null -e trace=$call -e inject=$call:error=EPERM "$cyclesoak" -p 0.3 -n 2 --json
		is_always weight 'the soakers may take CPU from others: no lowest priority for them: Operation not permitted'
	); ok
done
# A soaker that has next to no time on the idle machine, and is slower than that has been: then any is too much.
fake=1000000000000
sed "s/^cpu\( [0-9]*\) .*/cpu\1 0 0 0.0001 0 $fake 0/; 1s/.*/$((cpus * fake / 10000))/" counts_per_sec >starved
it 'a load far below 0: one line on stderr, and the reason in place of each load and of their mean'; ( begin
	soaking timeout 60 "$cyclesoak" -p 0.1 -n 2 -B -f starved
	per_cpu='(, cpu[0-9]+ (-|[0-9.]+%\?))+'
	[ "$(grep -c '^System load: ' out)" -eq 2 ]
	! grep -q 'left its soaker no time' err || skip_check 'the machine is busy'
	grep -Eq "^System load: -, unsafe: ([a-z_,]*,)?calibration(,[a-z_,]*)?$per_cpu$" out
	# Where others have the CPUs for a period, it has a load.
	not grep 'mean of 2' out
	[ "$(grep -c "^cyclesoak: the load is below 0: the machine was not idle when it was calibrated" err)" -eq 1 ]
	status=0
	soaking "$cyclesoak" -p 0.1 -1 -f starved || status=$?
	[ "$(cat out)" = 100.0 ] || [ $status -eq 1 ]
	[ $status -eq 0 ] || grep -q "^cyclesoak: unsafe: [a-z_,]*calibration[a-z_,]*: there is no load$" err
); ok

# zcs, and its figures in the report of zcc.  At full speed zcc would take all CPUs, and no soaker would get to count
# the stop.
slowly='--pace 2m -o 50k'
it 'zcs -c: the client and the column of the receiver are marked, with the reason, in JSON too'; ( begin
	start_zcs -c -I 0.1
	stop "$(soaker_of "$ZCS")"
	measured "$zcc" -s 0 -p "$PORT" -t 0.25 $slowly
	cp out text
	wait_until counts -eq 1 threads_of "$ZCS"
	measured "$zcc" -s 0 -p "$PORT" -t 0.25 $slowly --json
	kill -CONT "$(soaker_of "$ZCS")"
	stop_zcs
	cat zcs.out zcs.err
	grep -Eq "^ *127.*[,:] load -?[0-9.]+%\? \+-[0-9.]+%, cost -?[0-9.]+\? us/KiB" zcs.out
	no_wider 100 zcs.out
	[ "$(grep -c "^zcs: the soakers were stopped" zcs.err)" -eq 1 ]
	figures_of load text | grep -Eqx -e "-?[0-9.]+%\? \+-[0-9.]+%"
	figures_of "cost, us/KiB" text | grep -Eqx -e "-?[0-9.]+\?"
	grep -Eq "^    unsafe: why +.*soaker_stopped" text
	jq -e '(.end.remote.unsafe | index("soaker_stopped") != null) and (.end.host | has("unsafe") | not)' out
); ok
start_zcs
# zcc_stopped options...: zcc -c, the soakers of which are stopped for one interval at least
zcc_stopped()
{
	launch out bit/s env --default-signal=INT "$zcc" -c -s 0 -p "$PORT" -I 0.1 $slowly "$@"
	soaker=$(soaker_of $launched)
	stop "$soaker"
	wait_until or_gone $launched grep -q 'were stopped' out.err
	kill -CONT "$soaker"
}
result='^[0-9]* kbytes/sec.* of [0-9]* CPUs, cost'
undisturbed 'zcc -c: the run is marked, in its first line, its column and an interval, with one line on stderr'
while again; do ( begin
	zcc_stopped -t 60
	kill -INT $launched
	ended $launched
	cat out out.err
	[ "$(grep -c "^zcc: the soakers were stopped" out.err)" -eq 1 ]
	[ "$(grep -Ec "^ +[0-9.]+-[0-9.]+ .* -?[0-9.]+%\? \+-[0-9.]+%" out)" -ge 1 ]
	grep "$result" out | grep -q "%? +-[0-9.]*% of $cpus CPUs, cost -\{0,1\}[0-9.]*? us/KiB$"
	figures_of load out | grep -Eqx -e "-?[0-9.]+%\? \+-[0-9.]+%"
	figures_of "cost, us/KiB" out | grep -Eqx -e "-?[0-9.]+\?"
	grep -Eq "^    unsafe: why +.*soaker_stopped" out
); done
undisturbed 'zcc -c --warmup: soakers that were stopped in the warm-up alone do not mark the run'
least_turns=3; while again; do ( begin
	zcc_stopped --warmup 0.6 -t 0.3 || skip_check 'the machine is busy'
	ended $launched
	cat out
	grep '^ .*%? +-.*warm-up' out
	not grep "^    unsafe: why .*soaker_stopped" out
); done
stop_zcs
finish
