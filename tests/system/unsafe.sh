#!/bin/sh
# What makes a load unsafe is noticed within a period, marked behind the figure, and printed once while it
# lasts; the next period is safe again.  hotplug.sh has real CPUs that come and go.
#
# group: quiet
# seconds: 9
# limit: 500
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak zcc=$BIN/zcc zcs=$BIN/zcs
cpus=$(getconf _NPROCESSORS_ONLN)
if ! command -v jq >/dev/null 2>&1; then
	skip 'what makes a load unsafe' 'no jq'
	finish
fi
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec

stopped()
{
	[ "$(stat_field "$1" 3)" = T ] || gone "$1"
}
# stop PID: stops it, and waits until it is: on a busy machine the soakers come late to their stop
stop()
{
	kill -STOP "$1"
	wait_until stopped "$1"
}

# until_soaking command...: starts it in the background, until it has a soaker or has ended; SOAK is its pid,
# its output is in out and err.
until_soaking()
{
	"$@" >out 2>err &
	SOAK=$!
	remember $SOAK
	wait_until or_gone $SOAK not prints_nothing soaker_of $SOAK
}

# Files of the kernel, as they might be: what a program reads in their place is written meanwhile.
clock=/sys/devices/system/clocksource/clocksource0/current_clocksource
online=/sys/devices/system/cpu/online
can_stand_in=
! unshare -m true 2>/dev/null || can_stand_in=1
# stand_in 'options' FILE...: cyclesoak, which reads what is here under the last name of that FILE
stand_in()
{
	options=$1
	shift
	{
		echo '#!/bin/sh'
		printf 'exec unshare -m sh -c "'
		# shellcheck disable=SC2046,SC2183 # two words for each
		printf 'mount --bind %s %s && ' $(for file; do echo "${file##*/} $file"; done)
		# shellcheck disable=SC2016 # for the shell of the stand-in
		printf 'exec %s \\"\\$@\\"" cyclesoak "$@"\n' "$cyclesoak"
	} >cyclesoak
	chmod +x cyclesoak
	BIN=$PWD
	started=0
	until_holding $options || started=1
	BIN=${cyclesoak%/*}
	return $started
}

# One cyclesoak for all that changes while it runs: 100 ticks a second and CPU; 10 of 1000 would be 1 %.
printf 'cpu  1000 1000 1000 1000 0 0 0 1000 0 0\nintr 1000\n' >stat
echo tsc >current_clocksource
if [ -z "$can_stand_in" ]; then
	until_holding -p 0.12 --json -n 10000
else
	# shellcheck disable=SC2046 # the clock, if there is one
	stand_in '-p 0.12 --json -n 10000' /proc/stat $(ls $clock 2>/dev/null)
fi
soaker=$(soaker_of "$SOAK")
it 'undisturbed, no soaker is stopped, moved or without its CPU, no clock changes, no host steals'; ( begin
	next_period
	next_period
	for reason in soaker_stopped soaker_moved cpu_offline cpu_online clock_changed; do
		not is_unsafe "$PERIOD" $reason
	done
	[ -z "$can_stand_in" ] || not is_unsafe "$PERIOD" steal
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
other=$(tr , '\n' </sys/devices/system/cpu/online | sed 's/.*-//' | tail -n 1)
if [ "$cpus" -lt 2 ] || [ "$own" = "$other" ]; then
	skip 'a soaker that is moved to another CPU' 'one CPU'
else
	it 'a soaker that is moved to another CPU is bound again, the period unsafe, with one line'; ( begin
		next_period
		taskset -p -c "$other" "$thread"
		begins soaker_moved
		ends soaker_moved
		[ "$(sed -n "s/^Cpus_allowed_list:	//p" /proc/"$soaker"/task/"$thread"/status)" = "$own" ]
		lines 1 "^cyclesoak: a soaker was moved to another CPU and is back: the load is unsafe$"
	); ok
fi
cpuset=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpuset\b.*/\1/p' /proc/self/mounts | head -n 1)
if [ "$cpus" -gt 1 ] && [ -n "$cpuset" ] && mkdir "$cpuset/zc-test-$$" 2>/dev/null; then
	it 'a cpuset takes a CPU from the soakers: there is no load until it is back'; ( begin
		next_period
		echo "$own" >"$cpuset/zc-test-$$/cpuset.cpus"
		cat "$cpuset/cpuset.mems" >"$cpuset/zc-test-$$/cpuset.mems"
		echo "$soaker" >"$cpuset/zc-test-$$/cgroup.procs"
		begins cpu_offline
		until_period '(has("load_percent") | not) and ([.load_by_cpu[] | has("load_percent")] | any | not)'
		is_unsafe "$PERIOD" cpu_offline
		lines 1 "^cyclesoak: a CPU went offline or came back, or a cpuset lacked it: there is no load"
		echo "$soaker" >"$cpuset/cgroup.procs"
		ends cpu_offline
		until_period "has(\"load_percent\") and .cpus == $cpus"
		lines 1 "^cyclesoak: a CPU went offline or came back, or a cpuset lacked it: there is no load"
		cpus_of "$soaker" >allowed
		cat allowed
		[ "$(grep -x "[0-9]*" allowed | sort -u | wc -l)" -eq "$cpus" ]
	); ok
	echo "$soaker" >"$cpuset/cgroup.procs"
	met()
	{
		rmdir "$cpuset/zc-test-$$" 2>/dev/null
	}
	wait_until met
else
	skip 'a cpuset takes a CPU from the soakers' 'one CPU, or no cpuset of version 1 that a group can be made in'
fi
if [ -n "$can_stand_in" ]; then
	if [ -e $clock ]; then
		check 'another clock source than at the start: unsafe while it is, with one line' lasts clock_changed \
		    'the clock source changed: the load is wrong' 'echo hpet >current_clocksource' 'echo tsc >current_clocksource'
	else
		skip 'another clock source than at the start' 'no clock sources'
	fi
	it 'more than 1 % of steal: unsafe, with one line'; ( begin
		printf 'cpu  2000 1000 1000 1000 0 0 0 1020 0 0\nintr 1000\n' >later
		next_period
		dd if=later of=stat conv=notrunc 2>dd.err
		begins steal
		lines 1 '^cyclesoak: the host of this virtual machine took more than 1% of its CPU time (steal): the load is unsafe$'
		ends steal
	); ok
else
	skip 'another clock source, steal' 'no privilege for namespaces'
fi
kill -TERM "$SOAK"
wait "$SOAK"
it 'the closing line has the reasons of all periods'; ( begin
	tail -n 1 soak.out | jq -e '.periods > 3 and (.unsafe | index("soaker_stopped") != null)'
); ok

if [ "$cpus" -gt 1 ] && [ "$other" -gt 0 ] && [ -n "$cpuset" ] && [ -w "$cpuset" ]; then
	long 'the only soaked CPU is taken from the soakers: periods without a load, and none of them in the mean' && ( begin
		sed '1s/.*/1500000/; s/^cpus .*/cpus 0/; /^cpu [1-9]/d' counts_per_sec >one
		until_holding -p 0.3 -N 1 -f one -B
		mkdir "$cpuset/zc-test-$$"
		echo $other >"$cpuset/zc-test-$$/cpuset.cpus"
		cat "$cpuset/cpuset.mems" >"$cpuset/zc-test-$$/cpuset.mems"
		echo "$(soaker_of $SOAK)" >"$cpuset/zc-test-$$/cgroup.procs"
		wait_until grep -q "^System load: -, unsafe: cpu_offline, cpu0 -$" soak.out
		kill -TERM $SOAK
		ended $SOAK
		wait_until rmdir "$cpuset/zc-test-$$"
		not grep nan soak.out
		tail -n 1 soak.out | grep "^mean of [1-9]"
	); ok
fi
long 'a keeper that is stopped does not keep the program from ending' && ( begin
	until_holding -p 0.2
	kill -STOP "$(keeper_of "$SOAK")"
	kill -TERM "$SOAK"
	ended "$SOAK"
); ok
long '-1 of an unsafe load: a bare figure, and the line on stderr' && ( begin
	until_soaking "$cyclesoak" -1 -p 2
	soaker=$(soaker_of "$SOAK")
	kill -STOP "$soaker"
	ended "$SOAK"
	cat out err
	grep -Eqx -e "-?[0-9]+\.[0-9]" out
	grep -q "^cyclesoak: the soakers were stopped" err
); ok

if [ -n "$can_stand_in" ]; then
	long 'a CPU that comes online and is not soaked: unsafe while it is, with one line' && ( begin
		fake_calibration "$(machine_name)" >one
		echo 0 >online
		stand_in '-p 0.12 --json -f one' $online
		lasts cpu_online 'a CPU came online that is not measured: the load omits what runs there' \
		    'echo 0,5-6 >online' 'echo 0 >online'
		kill -TERM "$SOAK"
	); ok
	[ -e $clock ] &&
		long 'a reason that comes and goes twelve times: ten lines' && ( begin
			echo tsc >current_clocksource
			stand_in '-p 0.05 --json' $clock
			next_period
			for i in $(seq 12); do
				echo hpet >current_clocksource
				begins clock_changed
				echo tsc >current_clocksource
				ends clock_changed
			done
			kill -TERM "$SOAK"
			lines 10 "^cyclesoak: the clock source changed: "
		); ok
fi

# One cyclesoak for all that lasts from its start: no idle group, a slow clock, and late wake-ups.
cg=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpu\b.*/\1/p' /proc/self/mounts | head -n 1)
[ -z "$cg" ] || unshare -m -C true 2>/dev/null || cg=
slow='' wakeup=
! preloaded slow || slow=$PWD/slow.so
[ "$cpus" -lt 2 ] || ! preloaded wakeup || wakeup=$PWD/wakeup.so
# without_group command...: where it may make no control group
without_group()
{
	if [ -n "$cg" ]; then
		unshare -m -C sh -c "mount -o remount,bind,ro $cg && exec \"\$@\"" sh "$@"
	else
		"$@"
	fi
}
hinder()
{
	soaking without_group env LD_PRELOAD="$slow $wakeup" "$cyclesoak" -p 0.1 -n 2 --json >hindered.log
	mv out hindered.out
	mv err hindered.err
}
hinder
# is_always REASON 'line': each period is unsafe for that reason, with one line
is_always()
{
	cat hindered.log
	jq -es "length >= 2 and all(.[]; .unsafe | index(\"$1\") != null)" hindered.out
	[ "$(grep -c "^cyclesoak: $2$" hindered.err)" -eq 1 ]
}
# delays_wakeups FILE: one line there tells that the soakers delay wake-ups by a millisecond
delays_wakeups()
{
	grep "^[a-z]*: the soakers delay wake-ups: a thread on CPU [0-9]* ran [0-9]* us after another CPU had woken it: the load is unsafe$" "$1" >line
	one_line line
	[ "$(sed 's/.* ran \([0-9]*\) us .*/\1/' line)" -ge 1000 ]
}
if [ -n "$slow" ]; then
	check 'a clock that takes a microsecond to read: each period is unsafe, with one line' \
	    is_always clock_slow 'the clock or a system call is slow: the load omits short interrupts'
else
	skip 'a clock that takes a microsecond to read' 'no library can be preloaded'
fi
if [ -n "$cg" ]; then
	check 'a namespace of control groups without an idle group: each period is unsafe, with one line' \
	    is_always weight "the soakers share this control group's weight and may take CPU from others: no idle group for them: Read-only file system"
else
	skip 'a namespace of control groups' 'no privilege for it, or no cpu controller of version 1'
fi
# The state of sched_ext, as a kernel with such a scheduler has it.
if unshare -m mount -t tmpfs none /sys/kernel 2>/dev/null; then
	it 'a sched_ext scheduler: each period is unsafe, with one line'; ( begin
		soaking unshare -m sh -c 'mount -t tmpfs none /sys/kernel && mkdir /sys/kernel/sched_ext &&
		    echo enabled >/sys/kernel/sched_ext/state && exec "$@"' sh "$cyclesoak" -p 0.1 -n 2 --json
		jq -es 'length >= 2 and all(.[]; .unsafe | index("scheduler") != null)' out
		[ "$(grep -c '^cyclesoak: a sched_ext scheduler runs' err)" -eq 1 ]
	); ok
else
	skip 'a sched_ext scheduler' 'no privilege to mount'
fi
if [ -n "$wakeup" ]; then
	undisturbed 'cyclesoak: wake-ups that are a millisecond late: a line, and the loads are unsafe'; while again; do ( begin
		hinder
		cat hindered.log
		delays_wakeups hindered.err
		jq -es 'all(.[]; .unsafe | index("weight") != null)' hindered.out
	); done
	long 'wake-ups that do not come while they are waited for: a line, too' && ( begin
		soaking env WAKEUP_US=30000 LD_PRELOAD="$wakeup" "$cyclesoak" -p 0.3 -n 1
		delays_wakeups err
	); ok
else
	skip 'wake-ups that soaking delays' 'one CPU, or no library can be preloaded'
fi
if [ -n "$cg" ]; then
	long 'a container that may make an idle group of its own: unsafe, with one line' && ( begin
		mkdir "$cg/zc-test-$$"
		cat >contained <<END
#!/bin/sh
echo \$\$ >"$cg/zc-test-$$/cgroup.procs"
exec unshare -m -C sh -c 'umount -l $cg && mount -t cgroup -o cpu cgroup $cg && exec "$cyclesoak" -p 0.3 -n 2 --json'
END
		chmod +x contained
		soaking ./contained
		jq -es 'all(.[]; .unsafe | index("weight") != null)' out
		[ "$(grep -c "^cyclesoak: the soakers share this control group.s weight and may take CPU from others: their idle group is inside a container$" err)" -eq 1 ]
	); ok
	[ ! -d "$cg/zc-test-$$" ] || wait_until rmdir "$cg/zc-test-$$"
fi

# A soaker that has next to no time on the idle machine, and is slower than that has been: then any is too much.
it 'a load far below 0: one line on stderr, and the reason in place of each load and of their mean'; ( begin
	fake=1000000000000
	sed "s/^cpu\( [0-9]*\) .*/cpu\1 0 0 0.0001 0 $fake 0/; 1s/.*/$((cpus * fake / 10000))/" counts_per_sec >starved
	soaking "$cyclesoak" -p 0.2 -n 2 -B -f starved
	[ "$(grep -Ec "^System load: -, unsafe: ([a-z_,]*,)?calibration(,[a-z_,]*)?(, cpu[0-9]+ -)+$" out)" -eq 2 ]
	not grep 'mean of' out
	[ "$(grep -c "^cyclesoak: the load is below 0: the machine was not idle when it was calibrated" err)" -eq 1 ]
); ok
it 'a load far below 0 with -1: exit 1, and the reason'; ( begin
	status=0
	soaking "$cyclesoak" -p 0.2 -1 -f starved || status=$?
	[ $status -eq 1 ]
	grep -q "^cyclesoak: unsafe: [a-z_,]*calibration[a-z_,]*: there is no load$" err
); ok

for call in setpriority sched_setscheduler; do
	long "$call fails: the load is unsafe, with one line" && ( begin; need strace
		soaking strace -f -o /dev/null -e trace=$call -e inject=$call:error=EPERM \
		    "$cyclesoak" -p 0.3 -n 2 --json
		jq -es 'all(.[]; .unsafe | index("weight") != null)' out
		[ "$(grep -c "^cyclesoak: the soakers may take CPU from others: no lowest priority for them: Operation not permitted$" err)" -eq 1 ]
	); ok
done
if [ -n "$cg" ] && [ -w "$cg" ] && "$BIN/run_rr" true 2>/dev/null; then
	long 'under run_rr the soakers have their idle group' && ( begin
		until_soaking "$BIN/run_rr" "$cyclesoak" -p 0.2
		wait_until grep -q ":cpu[a-z,]*:.*/zc-soaker$" /proc/"$(soaker_of "$SOAK")"/cgroup
		kill -TERM "$SOAK"
	); ok
fi

# zcs, and its figures in the report of zcc
start_zcs -c -I 0.1
soaker=$(soaker_of "$ZCS")
# while_stopped options...: zcc, while the soakers of zcs are stopped.  At full speed it would take all CPUs,
# and nothing that soaks would get to count the stop.
while_stopped()
{
	stop "$soaker"
	measured "$zcc" -s 0 -p "$PORT" -t 0.3 --pace 2m -o 50k "$@"
	wait_until counts -eq 1 threads_of "$ZCS"
	kill -CONT "$soaker"
	cat out err
}
it 'zcs -c: the client and the column of the receiver are marked, with the reason'; ( begin
	while_stopped
	wait_until grep -Eq " reads?" zcs.out
	cat zcs.out zcs.err
	grep -Eq "^ *127.*[,:] load -?[0-9.]+%\? \+-[0-9.]+%, cost -?[0-9.]+\? us/KiB" zcs.out
	no_wider 100 zcs.out
	[ "$(grep -c "^zcs: the soakers were stopped" zcs.err)" -eq 1 ]
	figures_of load out | grep -Eqx -e "-?[0-9.]+%\? \+-[0-9.]+%"
	figures_of "cost, us/KiB" out | grep -Eqx -e "-?[0-9.]+\?"
	grep -Eq "^    unsafe: why +.*soaker_stopped" out
); ok
it 'zcc --json has the reasons of the remote host as an array, and none of this host'; ( begin
	while_stopped --json
	jq -e '.end.remote.unsafe | index("soaker_stopped") != null' out
	jq -e '(.end.host | has("unsafe") | not)' out
); ok
kill -TERM "$ZCS"
ended "$ZCS"

start_zcs
undisturbed 'zcc -c: the run is marked, in its first line, its column and an interval, with one line on stderr'; while again; do ( begin
	until_soaking "$zcc" -c -s 0 -p "$PORT" -t 1.2 -I 0.1 --pace 2m -o 50k
	p=$SOAK
	wait_until or_gone "$p" [ -s out ]
	soaker=$(soaker_of "$p")
	stop "$soaker"
	n=$(wc -l <out)
	wait_until or_gone "$p" counts -gt $((n + 1)) lines_in out
	kill -CONT "$soaker"
	wait "$p"
	cat out err
	[ "$(grep -c "^zcc: the soakers were stopped" err)" -eq 1 ]
	[ "$(grep -c "^[0-9]* kbytes/sec ([0-9.]* Gbit/s), .*load -\{0,1\}[0-9.]*%? +-" out)" -ge 2 ]
	grep "^[0-9]* kbytes/sec" out | tail -n 1 | grep -q "%? +-[0-9.]*% of $cpus CPUs, cost -\{0,1\}[0-9.]*? us/KiB$"
	figures_of load out | grep -Eqx -e "-?[0-9.]+%\? \+-[0-9.]+%"
	figures_of "cost, us/KiB" out | grep -Eqx -e "-?[0-9.]+\?"
	grep -Eq "^    unsafe: why +.*soaker_stopped" out
); done
stop_zcs
finish
