#!/bin/sh
# What makes a load unsafe is noticed within a period, marked behind the figure, and printed once while it
# lasts; the next period is safe again.  hotplug.sh has real CPUs that come and go.
#
# group: quiet
# seconds: 20
# limit: 500
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak zcc=$BIN/zcc zcs=$BIN/zcs
cpus=$(getconf _NPROCESSORS_ONLN)
if ! command -v jq >/dev/null 2>&1; then
	skip 'what makes a load unsafe' 'no jq'
	finish
fi
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec

# in_line: waits until nobody soaks; asking once a second, as soaking does, may take long
in_line()
{
	flock -w 20 /dev/zero true 2>/dev/null || :
}

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

in_line && until_holding -p 0.3 --json -n 1000
soaker=$(soaker_of "$SOAK")
keeper=$(keeper_of "$SOAK")
undisturbed_no_soaker_stopped()
{
	next_period
	next_period
	for reason in soaker_stopped soaker_moved cpu_offline cpu_online clock_changed; do
		not is_unsafe "$PERIOD" $reason
	done
}
check 'undisturbed, no soaker is stopped, moved or without its CPU' undisturbed_no_soaker_stopped
soakers_that_stopped_each()
{
	stop "$soaker"
	begins soaker_stopped
	next_period
	is_unsafe "$PERIOD" soaker_stopped
	lines 1 "^cyclesoak: the soakers were stopped (SIGSTOP"
	kill -CONT "$soaker"
	ends soaker_stopped
	lines 1 "^cyclesoak: the soakers were stopped (SIGSTOP"
}
check 'soakers that are stopped: each period is unsafe, with one line, until they go on' soakers_that_stopped_each
kill -CONT "$soaker"
stopped_and_continued_within()
{
	stop "$soaker"
	kill -CONT "$soaker"
	begins soaker_stopped
	ends soaker_stopped
	lines 2 "^cyclesoak: the soakers were stopped (SIGSTOP"
}
check 'stopped and continued within a period' stopped_and_continued_within
keeper_is_stopped()
{
	stop "$keeper"
	begins soaker_stopped
	kill -CONT "$keeper"
	ends soaker_stopped
	lines 3 "^cyclesoak: the soakers were stopped (SIGSTOP"
}
check_long 'their keeper is stopped and continued: the period is unsafe' keeper_is_stopped
kill -CONT "$keeper"

freezer=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bfreezer\b.*/\1/p' /proc/self/mounts | head -n 1)
if [ -n "$freezer" ] && mkdir "$freezer/zc-test-$$" 2>/dev/null; then
	soakers_that_control_group()
	{
		echo "$soaker" >"$freezer/zc-test-$$/cgroup.procs"
		echo FROZEN >"$freezer/zc-test-$$/freezer.state"
		begins soaker_stopped
		echo THAWED >"$freezer/zc-test-$$/freezer.state"
		ends soaker_stopped
	}
	check_long 'soakers that a control group freezes' soakers_that_control_group
	echo THAWED >"$freezer/zc-test-$$/freezer.state"
	echo "$soaker" >"$freezer/cgroup.procs"
	met()
	{
		rmdir "$freezer/zc-test-$$" 2>/dev/null
	}
	wait_until met
else
	skip 'soakers that a control group freezes' 'no freezer of version 1 that a group can be made in'
fi

# Another thread than that of the process
thread=$(tasks_of "$soaker" | sed -n 2p)
own=$(sed -n 's/^Cpus_allowed_list:	//p' /proc/"$soaker"/task/"$thread"/status)
other=$(tr , '\n' </sys/devices/system/cpu/online | sed 's/.*-//' | tail -n 1)
if [ "$cpus" -lt 2 ] || [ "$own" = "$other" ]; then
	skip 'a soaker that is moved to another CPU' 'one CPU'
else
	soaker_that_moved()
	{
		taskset -p -c "$other" "$thread"
		begins soaker_moved
		ends soaker_moved
		[ "$(sed -n "s/^Cpus_allowed_list:	//p" /proc/"$soaker"/task/"$thread"/status)" = "$own" ]
		lines 1 "^cyclesoak: the soaker of CPU $own was moved to another CPU and is back: the load is unsafe$"
	}
	check 'a soaker that is moved to another CPU is bound again, the period unsafe, with one line' soaker_that_moved
fi
cpuset=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpuset\b.*/\1/p' /proc/self/mounts | head -n 1)
if [ "$cpus" -gt 1 ] && [ -n "$cpuset" ] && mkdir "$cpuset/zc-test-$$" 2>/dev/null; then
	# until_period FILTER: it holds of one of the next periods, which on a busy machine may not be the first
	until_period()
	{
		for i in $(seq 30); do
			next_period
			! sed -n "${PERIOD}p" soak.out | jq -e "$1" || return 0
		done
		tail -n 3 soak.out
		return 1
	}
	cpuset_takes_cpu()
	{
		echo "$own" >"$cpuset/zc-test-$$/cpuset.cpus"
		cat "$cpuset/cpuset.mems" >"$cpuset/zc-test-$$/cpuset.mems"
		echo "$soaker" >"$cpuset/zc-test-$$/cgroup.procs"
		begins cpu_offline
		until_period '.cpus == 1 and ([.load_by_cpu[] | has("load_percent")] | map(select(.)) | length) == 1'
		is_unsafe "$PERIOD" cpu_offline
		lines 1 "^cyclesoak: CPU [0-9]* went offline or came back, or a cpuset lacked it"
		echo "$soaker" >"$cpuset/cgroup.procs"
		ends cpu_offline
		until_period ".cpus == $cpus"
		lines 1 "^cyclesoak: CPU [0-9]* went offline or came back, or a cpuset lacked it"
		cpus_of "$soaker" >allowed
		cat allowed
		[ "$(grep -x "[0-9]*" allowed | sort -u | wc -l)" -eq "$cpus" ]
	}
	check 'a cpuset takes a CPU from the soakers: the load is unsafe and that of the others until it is back' cpuset_takes_cpu
	echo "$soaker" >"$cpuset/cgroup.procs"
	met()
	{
		rmdir "$cpuset/zc-test-$$" 2>/dev/null
	}
	wait_until met
else
	skip 'a cpuset takes a CPU from the soakers' 'one CPU, or no cpuset of version 1 that a group can be made in'
fi
kill -TERM "$SOAK"
wait "$SOAK"
closing_line_has_reasons()
{
	tail -n 1 soak.out | jq -e '.periods > 3 and (.unsafe | index("soaker_stopped") != null)'
}
check 'the closing line has the reasons of all periods' closing_line_has_reasons

# deport: moves the soakers of $SOAK, of which there is one, to a cpuset without its CPU
deport()
{
	mkdir "$cpuset/zc-test-$$"
	echo $other >"$cpuset/zc-test-$$/cpuset.cpus"
	cat "$cpuset/cpuset.mems" >"$cpuset/zc-test-$$/cpuset.mems"
	echo "$(soaker_of $SOAK)" >"$cpuset/zc-test-$$/cgroup.procs"
}
only_cpu_away()
{
	sed '1s/.*/1500000/; s/^cpus .*/cpus 0/; /^cpu [1-9]/d' counts_per_sec >one
	in_line && until_holding -p 0.3 -N 1 -f one -B
	deport
	wait_until grep -q "^System load: -, no soaked CPU was available cpu0 -$" soak.out
	kill -TERM $SOAK
	ended $SOAK
	rmdir "$cpuset/zc-test-$$"
	cat soak.out
	not grep nan soak.out
	tail -n 1 soak.out | grep "^mean of [1-9]"
}
only_cpu_away_once()
{
	turns=0
	while in_line; do
		"$cyclesoak" -1 -p 4 -N 1 -f one >out 2>err &
		SOAK=$!
		remember $SOAK
		wait_until or_gone $SOAK not prints_nothing soaker_of $SOAK
		! gone $SOAK || ! grep -q "soaked already" err || [ $turns -ge 60 ] || { turns=$((turns + 1)); continue; }
		break
	done
	deport
	wait $SOAK || status=$?
	rmdir "$cpuset/zc-test-$$"
	cat out err
	[ "$(grep -c . out)" -eq 0 ] && [ $status -eq 1 ] && grep -q "^cyclesoak: no soaked CPU was available: there is no load$" err ||
		grep -Eqx -e "-?[0-9]+\.[0-9]" out
}
if [ "$cpus" -gt 1 ] && [ "$other" -gt 0 ] && [ -n "$cpuset" ] && [ -w "$cpuset" ]; then
	check_long 'the only soaked CPU is taken from the soakers: periods without a load, and none of them in the mean' only_cpu_away
	check_long 'with -1 it is a bare figure or an error, and never nan' only_cpu_away_once
else
	skip 'the only soaked CPU is taken from the soakers' 'one CPU, or no cpuset of version 1 that a group can be made in'
fi

keeper_that_stopped()
{
	in_line && until_holding -p 0.2
	kill -STOP "$(keeper_of "$SOAK")"
	kill -TERM "$SOAK"
	ended "$SOAK"
}
check_long 'a keeper that is stopped does not keep the program from ending' keeper_that_stopped
in_line && until_holding -p 0.3 -B
soaker=$(soaker_of "$SOAK")
stop "$soaker"
next_period
next_period
kill -CONT "$soaker"
kill -TERM "$SOAK"
wait "$SOAK"
in_text_mark_behind()
{
	cat soak.out
	grep -Eq "^System load: -?[0-9]+\.[0-9]%\? \+-[0-9.]+%, slowed -?[0-9.]+% cpu[0-9]+ -?[0-9.]+%\?" soak.out
	tail -n 1 soak.out | grep -Eq "^mean of [0-9]+: -?[0-9]+\.[0-9]%\? \+-"
}
check 'in text the mark is behind the load, of each CPU too, and in the closing line' in_text_mark_behind
one_bare_figure()
{
	turns=0
	while in_line; do
		"$cyclesoak" -1 -p 2 >out 2>err &
		SOAK=$!
		remember $SOAK
		wait_until or_gone $SOAK not prints_nothing soaker_of $SOAK
		! gone $SOAK || ! grep -q "soaked already" err || [ $turns -ge 60 ] || { turns=$((turns + 1)); sleep 1; continue; }
		break
	done
	soaker=$(soaker_of "$SOAK")
	sleep 1
	kill -STOP "$soaker"
	ended "$SOAK"
	cat out err
	grep -Eqx -e "-?[0-9]+\.[0-9]" out
	grep -q "^cyclesoak: the soakers were stopped" err
}
check_long '-1 of an unsafe load: a bare figure, and the line on stderr' one_bare_figure

# Files of the kernel, as they might be: what a program reads in their place is written meanwhile.
# stand_in FILE 'options': cyclesoak, where `file` is that FILE
stand_in()
{
	printf '#!/bin/sh\nmount --bind file %s\nexec "%s" %s\n' "$1" "$cyclesoak" "$2" >stand-in
	chmod +x stand-in
	turns=0
	while in_line; do
		unshare -m ./stand-in >soak.out 2>soak.err &
		SOAK=$!
		remember $SOAK
		wait_until or_gone $SOAK [ -s soak.out ]
		gone $SOAK || return 0
		turns=$((turns + 1))
		[ $turns -lt 60 ] && grep -q 'soaked already' soak.err || return 1
		sleep 1
	done
}
if unshare -m true 2>/dev/null; then
	cpu_that_comes_online()
	{
		fake_calibration "$(machine_name)" >one
		echo 0 >file
		stand_in /sys/devices/system/cpu/online "-p 0.3 --json -f one"
		next_period
		not is_unsafe "$PERIOD" cpu_online
		echo 0,5-6 >file
		begins cpu_online
		next_period
		is_unsafe "$PERIOD" cpu_online
		lines 1 "^cyclesoak: CPU 5 came online and is not soaked: the load lacks what runs there"
		echo 0 >file
		ends cpu_online
		kill -TERM "$SOAK"
	}
	check_long 'a CPU that comes online and is not soaked: unsafe while it is, its number in the line' cpu_that_comes_online
	cpu_that_soaked_goes()
	{
		cat /sys/devices/system/cpu/online >file
		stand_in /sys/devices/system/cpu/online "-p 0.3 --json"
		echo 100 >file
		begins cpu_offline
		lines 1 "^cyclesoak: CPU 0 went offline or came back"
		lines 1 "^cyclesoak: CPU 100 came online and is not soaked"
		cat /sys/devices/system/cpu/online >file
		ends cpu_offline
		kill -TERM "$SOAK"
	}
	check_long 'a CPU that is soaked goes offline, and its soaker does not know it' cpu_that_soaked_goes
	clock=/sys/devices/system/clocksource/clocksource0/current_clocksource
	if [ -e $clock ]; then
		another_clock_source()
		{
			echo tsc >file
			stand_in "$clock" "-p 0.3 --json"
			next_period
			not is_unsafe "$PERIOD" clock_changed
			echo hpet >file
			begins clock_changed
			next_period
			is_unsafe "$PERIOD" clock_changed
			lines 1 "^cyclesoak: the clock source changed from tsc to hpet: the load is wrong"
			echo tsc >file
			ends clock_changed
			kill -TERM "$SOAK"
		}
		check 'another clock source than at the start: unsafe while it is, with both names' another_clock_source
		clock_flaps()
		{
			echo tsc >file
			stand_in $clock "-p 0.05 --json"
			for i in $(seq 12); do
				echo hpet >file
				begins clock_changed
				echo tsc >file
				ends clock_changed
			done
			kill -TERM $SOAK
			lines 10 "^cyclesoak: the clock source changed from tsc to hpet"
			lines 1 "^cyclesoak: that was the last of 10 lines about clock_changed: the reports still mark the loads$"
		}
		check_long 'a reason that comes and goes twelve times: ten lines, and one that they end' clock_flaps
	else
		skip 'another clock source than at the start' 'no clock sources'
	fi
	# 100 ticks a second and CPU; 10 of 1000 would be 1 %.
	more_than_of_steal()
	{
		printf "cpu  1000 1000 1000 1000 0 0 0 1000 0 0\nintr 1000\n" >file
		stand_in /proc/stat "-p 0.4 --json"
		next_period
		next_period
		not is_unsafe "$PERIOD" steal
		printf "cpu  2000 1000 1000 1000 0 0 0 1020 0 0\nintr 1000\n" >other
		dd if=other of=file conv=notrunc 2>dd.err
		begins steal
		lines 1 "^cyclesoak: the host of this virtual machine took 2\.0% of its CPU time (steal): the load is unsafe$"
		ends steal
		kill -TERM "$SOAK"
	}
	check 'more than 1 % of steal: unsafe, with one line that has the share' more_than_of_steal
else
	skip 'CPUs that come online, another clock source, steal' 'no privilege for namespaces'
fi

if preloaded slow; then
	clock_that_takes_microsecond()
	{
		in_line && soaking env LD_PRELOAD=./slow.so "$cyclesoak" -p 0.3 -n 2 --json
		jq -es 'all(.[]; .unsafe | index("clock_slow") != null)' out
		[ "$(grep -c "^cyclesoak: the clock source .* is slow: the load lacks interrupts of less than [0-9.]* us$" err)" -eq 1 ]
	}
	check 'a clock that takes a microsecond to read: each period is unsafe, with one line' clock_that_takes_microsecond
else
	skip 'a clock that takes a microsecond to read' 'no library can be preloaded'
fi

load_below_zero()
{
	sed 's/^cpu\( [0-9]*\) 0 0 1 0 /cpu\1 0 0 0.01 0 /; 1s/$/ 100/' counts_per_sec >starved
	sed -i "1s/.*/$(awk '$1 == "cpu" { sum += $5 * $7 } END { print sum }' starved)/" starved
	in_line && soaking "$cyclesoak" -p 0.5 -n 2 -B -f starved
	grep -Eq "^System load: -[0-9.]+%\? \+-[0-9.]+%, slowed -?[0-9.]+% cpu[0-9]+ -[0-9.]+%\?" out
	[ "$(grep -c "^cyclesoak: the load is below 0: the machine was not idle when it was calibrated" err)" -eq 1 ]
}
check 'a load far below 0: the calibration makes it unsafe, with one line' load_below_zero

# Wake-ups that soaking delays are no reason: the load is that of the traffic that was left.
if [ "$cpus" -gt 1 ] && preloaded wakeup; then
	delayed() # command...: its soakers delay wake-ups by a millisecond, of which one line tells
	{
		in_line && soaking env LD_PRELOAD="$PWD/wakeup.so" "$@"
		grep "^[a-z]*: soaking delays wake-ups: one from another CPU takes [0-9]* us, and [0-9]* us without soakers: " err >line
		one_line line
		sed 's/.* takes \([0-9]*\) us, and \([0-9]*\) us .*/\1 \2/' line >us
		read -r soaked unsoaked <us
		[ "$soaked" -ge 1000 ] && [ "$soaked" -gt "$unsoaked" ]
	}
	has_wakeup() # FILTER FILE: the object there, in JSON, has both figures
	{
		jq -e "$1 | .wakeup_us >= 1000 and .wakeup_unsoaked_us < .wakeup_us" "$2"
	}
	cyclesoak_delays()
	{
		delayed "$cyclesoak" -p 0.3 -n 1 --json
		head -n 1 out >first
		has_wakeup . first
	}
	zcc_delays()
	{
		delayed "$zcc" -c -d -s 0 -p $PORT -t 0.5 --json
		has_wakeup .end.host out
		grep "^zcc: a wake-up from another CPU takes $soaked us, and $unsoaked us without soakers$" err
	}
	cyclesoak_delays_for_long()
	{
		export WAKEUP_US=30000
		delayed "$cyclesoak" -p 0.3 -n 1
		[ "$soaked" -ge 4000 ]
	}
	check_long 'wake-ups that do not come while they are waited for: a line, too' cyclesoak_delays_for_long
	check 'cyclesoak: wake-ups that soaking delays by a millisecond: a line, and both figures in JSON' cyclesoak_delays
	start_zcs
	check 'zcc -c: so it is there, and -d prints the figures' zcc_delays
	stop_zcs
else
	skip 'wake-ups that soaking delays' 'one CPU, or no library can be preloaded'
fi

if strace -o /dev/null true 2>/dev/null; then
	fails_load_unsafe()
	{
		in_line && soaking strace -f -o /dev/null -e trace=$call -e inject=$call:error=EPERM \
		    "$cyclesoak" -p 0.3 -n 2 --json
		jq -es 'all(.[]; .unsafe | index("weight") != null)' out
		[ "$(grep -c "^cyclesoak: the soakers may take CPU from others: no lowest priority for them: Operation not permitted$" err)" -eq 1 ]
	}
	for call in setpriority sched_setscheduler; do
		check_long "$call fails: the load is unsafe, with one line" fails_load_unsafe
	done
	slow_sleeps()
	{
		rm -f counts_per_sec
		for i in $(seq 60); do
			in_line
			strace -f -o log -e trace=ppoll -e inject=ppoll:delay_enter=20000 "$cyclesoak" true >out 2>err || :
			grep "soaked already" err || break
		done
		cat out err
		# The soakers may have no time under strace.
		grep "own baselines\|left its soaker no time" out err
		[ "$(grep -c ppoll log)" -lt $((cpus * 400)) ]
	}
	check_long 'sleeps that take 20 ms: a command is not held up by 1200 of them on each CPU' slow_sleeps
	made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
	start_zcs
	zcc_reads_counters()
	{
		in_line && soaking strace -f -o log -e trace=openat "$zcc" -c -s 0 -p "$PORT" -t 0.3
		sed -n 's/.*"\(\/proc\/stat\|\/sys\/devices\/system\/cpu\/online\)".*/\1/p' log >order
		cat order
		# Both samples of the soakers, which begin with the list of CPUs, are between the counters.
		[ "$(awk "/stat/ { if (seen) between = n; else { seen = 1; n = 0 } } /online/ { n++ }
		    END { print between }" order)" -eq 2 ]
	}
	check 'zcc reads the counters of the host before the soakers at the begin, after them at the end' zcc_reads_counters
	stop_zcs
else
	skip 'calls that fail, the order of readings' 'no strace, or it may not trace'
fi
cg=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpu\b.*/\1/p' /proc/self/mounts | head -n 1)
if [ -n "$cg" ] && unshare -m -C true 2>/dev/null; then
	namespace_of_control_groups()
	{
		in_line && soaking unshare -m -C sh -c "mount -o remount,bind,ro $cg && exec \"$cyclesoak\" -p 0.3 -n 2 --json"
		jq -es 'all(.[]; .unsafe | index("weight") != null)' out
		[ "$(grep -c "^cyclesoak: the soakers share this control group.s weight and may take CPU from others: no idle group for them: Read-only file system$" err)" -eq 1 ]
	}
	check 'a namespace of control groups without an idle group: unsafe, with one line' namespace_of_control_groups
	idle_group_in_container()
	{
		mkdir -p "$cg/zc-test-$$"
		cat >contained <<END
#!/bin/sh
echo \$\$ >"$cg/zc-test-$$/cgroup.procs"
exec unshare -m -C sh -c 'umount -l $cg && mount -t cgroup -o cpu cgroup $cg && exec "$cyclesoak" -p 0.3 -n 2 --json'
END
		chmod +x contained
		in_line && soaking ./contained
		jq -es 'all(.[]; .unsafe | index("weight") != null)' out
		[ "$(grep -c "^cyclesoak: the soakers share this control group.s weight and may take CPU from others: their idle group is inside a container$" err)" -eq 1 ]
	}
	check_long 'a container that may make an idle group of its own: unsafe, with one line' idle_group_in_container
	wait_until rmdir "$cg/zc-test-$$"
else
	skip 'a namespace of control groups' 'no privilege for it, or no cpu controller of version 1'
fi
if [ -n "$cg" ] && [ -w "$cg" ] && "$BIN/run_rr" true 2>/dev/null; then
	under_run_rr_soakers()
	{
		turns=0
		while in_line; do
			"$BIN/run_rr" "$cyclesoak" -p 0.2 >soak.out 2>soak.err &
			SOAK=$!
			remember $SOAK
			wait_until or_gone $SOAK [ -s soak.out ]
			! gone $SOAK || [ $turns -ge 60 ] || { turns=$((turns + 1)); sleep 1; continue; }
			break
		done
		cat soak.err
		soaker=$(soaker_of "$SOAK")
		grep cpu /proc/"$soaker"/cgroup
		grep -q ":cpu[a-z,]*:.*/zc-soaker$" /proc/"$soaker"/cgroup
		kill -TERM "$SOAK"
	}
	check_long 'under run_rr the soakers have their idle group' under_run_rr_soakers
else
	skip 'under run_rr the soakers have their idle group' 'no real-time priority, or no groups can be made'
fi

# zcs, and its figures in the report of zcc
in_line && start_measuring -I 0.3
soaker=$(soaker_of "$ZCS")
# while_stopped options...: zcc, while the soakers of zcs are stopped
while_stopped()
{
	stop "$soaker"
	measured "$zcc" -s 0 -p "$PORT" -t 0.5 --congestion reno "$@"
	wait_until counts -eq 1 threads_of "$ZCS"
	kill -CONT "$soaker"
	cat out err
}
zcs_client_and_column()
{
	while_stopped
	wait_until grep -q "reads$" zcs.out
	cat zcs.out zcs.err
	grep -Eq "^127.* kbytes/sec \([0-9.]+ Gbit/s\), load -?[0-9.]+%\? \+-[0-9.]+% of" zcs.out
	[ "$(grep -c "^zcs: the soakers were stopped" zcs.err)" -eq 1 ]
	grep -Eqx "  load, both ends +- +-?[0-9.]+%\? \+-[0-9.]+%" out
	grep -Eq "^  unsafe: why +- +([a-z_]+,)*soaker_stopped" out
}
check 'zcs -c: the client and the column of the receiver are marked, with the reason' zcs_client_and_column
client_after()
{
	"$zcc" -s 0 -p "$PORT" -t 0.1 --congestion reno --json >out
	"$zcc" -s 0 -p "$PORT" -t 0.5 --congestion reno --json >out
	jq -e '(.end.remote.unsafe // []) | index("soaker_stopped") == null' out
}
check_long 'a client after it is not marked for that reason' client_after
json_has()
{
	while_stopped --json
	jq -e '.end.remote.unsafe | index("soaker_stopped") != null' out
	jq -e '(.end.host | has("unsafe") | not)' out
}
check '--json has it as an array of the remote host, not of this' json_has
kill -TERM "$ZCS"
ended "$ZCS"

# Receipts as a zcs may send them
receipt_of_several_reasons()
{
	start_peer -r 'bytes=1 seconds=1 load=1 uncertainty=0.1 cpus=1.75 unsafe=cpu_offline,soaker_stopped,steal\n'
	"$zcc" -s 0 -p $PORT -n 1 >out 2>err || :
	cat out
	grep -Ex "  (unsafe: why|  +|CPUs +) +.*" out | grep -A 9 unsafe: >rows
	printf '  %-15s %18s %18s\n' 'unsafe: why' - cpu_offline '' '' soaker_stopped '' '' steal CPUs - 1.75 >wanted
	diff wanted rows
}
check 'a receipt with three reasons and part of a CPU: a row each, none wider than its column' receipt_of_several_reasons
unsafe_table()
{
	start_peer -n 2 -r 'bytes=10000000 seconds=1 load=1 uncertainty=0.1 cpus=2 unsafe=steal\n'
	"$zcc" -s 0 -p $PORT -n 1 -b 1k,64k >out 2>err || :
	cat out
	[ "$(grep -c ' 100.0%? ' out)" -ge 1 ]
	[ "$(grep 'kbytes/sec\| 100.0%? ' out | awk '{ print length }' | sort -u | wc -l)" -eq 1 ]
}
check 'a table of sizes: a load of 100 % with its mark is as wide as its column' unsafe_table

start_zcs
zcc_run_marked()
{
	turns=0
	while in_line; do
		"$zcc" -c -s 0 -p "$PORT" -t 3 -I 0.3 --congestion reno >out 2>err &
		p=$!
		remember $p
		wait_until or_gone $p [ -s out ]
		! gone $p || ! grep -q "soaked already" err || [ $turns -ge 60 ] || { turns=$((turns + 1)); sleep 1; continue; }
		break
	done
	soaker=$(soaker_of "$p")
	stop "$soaker"
	n=$(wc -l <out)
	wait_until or_gone "$p" counts -gt $((n + 1)) lines_in out
	kill -CONT "$soaker"
	wait "$p"
	cat out err
	[ "$(grep -c "^zcc: the soakers were stopped" err)" -eq 1 ]
	[ "$(grep -c "^[0-9]* kbytes/sec ([0-9.]* Gbit/s), load -\{0,1\}[0-9.]*%? +-" out)" -ge 2 ]
	grep "^[0-9]* kbytes/sec" out | tail -n 1 | grep -q "%? +-[0-9.]*% of $cpus CPUs, cost"
	grep -Eqx "  load, both ends +-?[0-9.]+%\? \+-[0-9.]+% +-" out
	grep -Eq "^  unsafe: why +([a-z_]+,)*soaker_stopped" out
}
check 'zcc -c: the run is marked, in its first line, its column and an interval, with one line on stderr' zcc_run_marked
stop_zcs
finish
