#!/bin/sh
# cyclesoak: what it prints, what the soakers are to the kernel.  No load is judged here: planted.sh has the
# calibrations that are refused, loads.sh the load of busy programs, soaker.sh what is left of the soakers.
#
# group: soaks
# seconds: 10
# limit: 500
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak zcc=$BIN/zcc
cpus=$(getconf _NPROCESSORS_ONLN)
find_hastening

made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
fake_calibration "$(machine_name)" >moded

# Lines on what other programs, the host of a virtual machine, or a container do
of_others="CPU quota\|(steal)\|left its soaker no time\|is not idle\|the load is below 0\|the soakers do not yield\|the soakers delay wake-ups"
# one_error: err has one line, beside such
one_error()
{
	grep -v "$of_others" err >errors || :
	one_line errors
}
# Only the CPUs that were calibrated can be measured.
if [ "$cpus" -gt 1 ]; then
	it 'cyclesoak: -N that contradicts the calibration is refused'; ( begin
		exits 1 "$cyclesoak" -1 -N 1
		one_error
		grep -q "cyclesoak -C" err
	); ok
	it 'a calibration of fewer CPUs is refused without -N'; ( begin
		exits 1 "$cyclesoak" -1 -f moded
		one_error
	); ok
else
	skip '-N against the calibration' 'one CPU'
fi
# What it prints.
it 'cyclesoak -1: one bare figure'; ( begin
	soaking "$cyclesoak" -1 -p 0.1
	grep -Eqx -e "-?[0-9]+\.[0-9]" out
	one_line out
); ok
it 'cyclesoak -B COMMAND: one line, with a figure per CPU'; ( begin
	soaking "$cyclesoak" -B sleep 0.2
	grep -Eq "^System load: -?[0-9.]+%\?? \+-([1-9]|0\.[1-9])[0-9.]*%, slowed -?[0-9.]+%, cpu0 -?[0-9.]+%" out
	[ "$(grep -o "cpu[0-9]* -\{0,1\}[0-9]" out | wc -l)" -eq "$cpus" ]
); ok
it 'cyclesoak -d: what the kernel accounted'; ( begin
	soaking "$cyclesoak" -n 1 -p 0.2 -d
	no_wider 80 out
	paste -sd ' ' out >joined
	grep -Eq "[; ] kernel: user [0-9.]+%, nice [0-9.]+%[, ]+.*steal [0-9.]+% mean" joined
); ok
# holds FILE 'expression': it is true of each of its objects
holds()
{
	jq -es "length > 0 and all(.[]; $2)" "$1" || { echo "does not hold: $2"; cat "$1"; return 1; }
}
it 'cyclesoak --json: an object per period, with each CPU, and a closing one with the means'; ( begin; need jq
	soaking "$cyclesoak" -n 2 -p 0.2 -B --json
	[ "$(grep -c '^{"schema":1,.*}$' out)" -eq 3 ]
	head -n 2 out >periods
	tail -n 1 out >closing
	holds periods '[.load_percent, .load_uncertainty_percent, .slowed_percent] | all(type == "number")'
	holds periods '[.accounting_percent | .user, .system, .softirq, .idle] | all(type == "number")'
	holds periods "(.load_by_cpu | length) == $cpus and (.load_by_cpu | all(.load_percent != null and .load_percent != 0))"
	holds closing '[.load_percent, .load_min_percent, .load_max_percent] | all(type == "number")'
	holds closing ".periods == 2 and .load_min_percent <= .load_percent and .load_percent <= .load_max_percent"
); ok
it 'cyclesoak --json: the load of each CPU is unsafe where that of the machine is'; ( begin; need jq
	sed '/^cpu /s/ 0 0 1 0 / 0.1 0 1 0 /' counts_per_sec >busy
	awk -v rate="$(head -n 1 busy)" 'NR == 1 { $0 = 0.9 * rate } { print }' busy >f
	soaking "$cyclesoak" -n 1 -p 0.2 --json -f f
	head -n 1 out | jq -e '(.unsafe | index("baseline_busy")) and (.load_by_cpu | all(.unsafe | index("baseline_busy")))'
); ok
it 'cyclesoak --json COMMAND: one object'; ( begin
	soaking "$cyclesoak" --json -- sleep 0.1
	one_line out
	grep '^{"schema":1,.*}$' out
); ok
# For two values Student's t is 12.71, and their standard error half of what they differ by.
it "cyclesoak --json: the closing interval is that of Student's t"; ( begin; need jq
	cat periods closing | jq -es '
		(.[2].load_uncertainty_percent | . * .) as $squares |
		(map(.load_uncertainty_percent)[:2] | max) as $one |
		(12.71 * (.[0].load_percent - .[1].load_percent) / 2) as $both |
		($one * $one + $both * $both) as $sum |
		$squares > 0.999 * $sum and $squares < 1.001 * $sum'
); ok
# As a real-time program would hold it up.
long 'a soaker that begins to run late has not been spinning before' && ( begin; need strace
	soaking strace -f -o /dev/null -e trace=sched_setscheduler \
	    -e inject=sched_setscheduler:delay_enter=6000000 "$cyclesoak" -n 3 -p 1
	grep -q "left its soaker no time in 5 seconds: another program, perhaps a real-time one, occupies it" err
	awk -F "[:%]" '/^System load/ { n++; bad += $2 < -1000 } END { exit n != 3 || bad }' out
); ok
it 'cyclesoak -1 that is interrupted: a line, in JSON too, and exit 1'; ( begin
	"$cyclesoak" -1 -p 1000 --json >out 2>err &
	SOAK=$!
	remember $SOAK
	# Once it has a soaker it blocks SIGTERM (0x4000), and no longer all signals, to wait for it.
	wait_until or_gone $SOAK grep -q '^SigBlk:	00000000.*[4-7c-f]...$' "/proc/$SOAK/status"
	kill -TERM "$SOAK"
	status=0
	wait "$SOAK" || status=$?
	cat out err
	[ $status -eq 1 ]
	grep -qx "cyclesoak: interrupted before the period was over" err
	one_line out
	grep -q '"error":"interrupted before the period was over"}$' out
); ok
it 'cyclesoak -n: that many lines and a closing one, also if a child that it inherited by exec ends'; ( begin
	soaking sh -c "sleep 0.2 & exec \"$cyclesoak\" -n 4 -p 0.1"
	[ "$(grep -Ec "^System load: " out)" -eq 4 ]
	tail -n 1 out | grep -Eqx "mean of 4: -?[0-9.]+%\?? \+-[0-9.]+%, minimum -?[0-9.]+%, maximum -?[0-9.]+%"
	# The mean's uncertainty has that of the periods in it.
	sed 's/.* +-\([0-9.]*\)%.*/\1/' out >uncertain
	[ "$(sort -n uncertain | tail -n 1)" = "$(tail -n 1 uncertain)" ]
); ok
until_holding -p 0.1
soaker=$(soaker_of "$SOAK")
keeper=$(keeper_of "$SOAK")
it 'the soaker is in a session of its own, nice 19 for its autogroup'; ( begin
	[ "$(stat_field "$soaker" 6)" = "$keeper" ]
	not [ -e /proc/"$soaker"/autogroup ] || grep -q " nice 19$" /proc/"$soaker"/autogroup
); ok
it 'a soaker for each CPU: bound to it, SCHED_IDLE, nice 19'; ( begin
	for t in $(tasks_of "$soaker"); do
		[ "$(stat_field "$soaker"/task/"$t" 41)" = 5 ]
		[ "$(stat_field "$soaker"/task/"$t" 19)" = 19 ]
	done
	# One that has had no time yet is not bound yet.
	met()
	{
		cpus_of "$soaker" >allowed
		[ "$(grep -x "[0-9]*" allowed | sort -u | wc -l)" -eq "$cpus" ]
	}
	wait_until met
	cat allowed
); ok
it 'the soaker holds no descriptor of its parent but the lock and the pipe that ends it'; ( begin
	ls -l /proc/"$soaker"/fd
	[ "$(ls -l /proc/"$soaker"/fd | grep -vc "/dev/null\|/dev/zero\|total")" -eq 1 ]
	ls -l /proc/"$soaker"/fd | grep -q " 0 -> pipe:"
); ok
it 'no signal but SIGKILL ends the soaker'; ( begin
	kill -TERM "$soaker"; kill -INT "$soaker"; kill -HUP "$soaker"; kill -INT "$keeper"; kill -TERM "$keeper"
	n=$(wc -l <soak.out)
	wait_until counts -gt $((n + 1)) lines_in soak.out
	not gone "$soaker"
); ok
group=$(sed -n 's/^[0-9]*:\(cpu\|cpu,cpuacct\|\):\(.*zc-soaker\)$/\2/p' /proc/"$soaker"/cgroup)
if [ -n "$group" ]; then
	it "the soaker's control group is idle"; ( begin
		cat /proc/"$soaker"/cgroup
		# shellcheck disable=SC2046 # several words: $(find)
		cat $(find /sys/fs/cgroup -maxdepth 2 -name zc-soaker)/cpu.idle | grep -qx 1
	); ok
else
	skip "the soaker's control group is idle" 'control groups cannot be made here'
fi
it 'a second cyclesoak fails and names the process that soaks'; ( begin
	exits 1 $at_once "$cyclesoak" -1
	one_error
	grep -q "by cyclesoak (pid $SOAK)" err
	if can_be_user; then
		exits 1 as_user $at_once "$cyclesoak" -1 -f counts_per_sec
		grep -q "by cyclesoak (pid $SOAK)" err
	fi
); ok
it 'while cyclesoak soaks, zcc -c names it before it connects'; ( begin
	exits 1 $at_once "$zcc" -c -s 0 -p 1
	grep -q "by cyclesoak (pid $SOAK)" err
); ok
it 'cyclesoak: each line is a load, flushed into a file as it comes'; ( begin
	cat soak.out soak.err
	not grep -Evx "System load: -?[0-9]+\.[0-9]%.*|mean of .*" soak.out
	not grep -v "$of_others" soak.err
); ok
# What was missed is not made up by a burst of lines.
it 'cyclesoak stopped and continued: no burst of lines'; ( begin
	kill -STOP "$SOAK"
	n=$(wc -l <soak.out)
	sleep 0.8
	begun=$(cut -d" " -f1 /proc/uptime)
	kill -CONT "$SOAK"
	wait_until counts -gt "$n" lines_in soak.out
	sleep 0.3
	lines=$(($(wc -l <soak.out) - n))
	# A period is 0.1 s; the stop has missed seven.
	awk -v lines=$lines -v begun="$begun" '{ print lines, $1 - begun; exit lines > ($1 - begun) / 0.1 + 3 }' /proc/uptime
); ok
kill -TERM "$SOAK"
wait "$SOAK"
status=$?
it 'cyclesoak, SIGTERM: exit 0, a closing line, no soaker left'; ( begin
	[ $status -eq 0 ]
	gone "$soaker"
	tail -n 1 soak.out | grep -q '^mean of '
); ok
it 'cyclesoak that is stopped and continued in a period: the period is as long as it was to be'; ( begin; need jq
	"$cyclesoak" --json -n 1 -p 1 >soak.out 2>soak.err &
	SOAK=$!
	remember $SOAK
	wait_until or_gone $SOAK not prints_nothing soaker_of $SOAK
	for turn in $(seq 8); do
		sleep 0.1
		kill -STOP $SOAK
		kill -CONT $SOAK
	done
	wait $SOAK
	head -n 1 soak.out | jq -e '.seconds > 0.999'
); ok
it 'cyclesoak --idle COMMAND, started by a program that ignores SIGCHLD: it ends, with the status of the command'; ( begin
	status=0
	timeout -k 5 60 env --ignore-signal=CHLD "$cyclesoak" --idle sh -c 'exit 3' || status=$? # soakers set SIGCHLD themselves
	[ $status -eq 3 ]
); ok
it 'cyclesoak, stdout closed: an error, and no soaker left'; ( begin
	{ status=0; "$cyclesoak" -p 0.1 2>err || status=$?; echo $status >status; } | head -n 1 >out
	cat err
	[ "$(cat status)" = 1 ]
	grep -q "stdout: Broken pipe" err
); ok

# Whatever makes a figure unsafe is reported.
# only_warns 'pattern': err has one line, which fits it, beside those on what other programs and the host
# of a virtual machine do
only_warns()
{
	grep -v "$of_others" err >warnings
	one_line warnings
	grep -q -e "$1" warnings
}
one=$(sed -n 's/^Cpus_allowed_list:	\([0-9]*\).*/\1/p' /proc/self/status)
if [ "$cpus" -gt 1 ]; then
	it 'an affinity smaller than the machine is reported'; ( begin
		soaking taskset -c "$one" "$cyclesoak" -1 -p 0.1
		only_warns "may run on 1 of the $cpus CPUs"
	); ok
	it 'zcs -c reports an affinity smaller than the machine'; ( begin
		ON="taskset -c $one"
		start_zcs -c
		stop_zcs
		grep -q "^zcs: .*may run on 1 of the $cpus CPUs" zcs.err
	); ok
fi
cg=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpu\b.*/\1/p' /proc/self/mounts | head -n 1)
if [ -n "$cg" ] && mkdir "$cg/zc-test-$$" 2>/dev/null; then
	it 'a CPU quota on the control group is reported'; ( begin
		echo 150000 >"$cg/zc-test-$$/cpu.cfs_quota_us"
		sh -c "echo \$\$ >\"$cg/zc-test-$$/cgroup.procs\"; exec \"$cyclesoak\" -1 -p 0.1" >out 2>err ||
			grep "soaked already" err
		cat out err
		grep -q "CPU quota.*(150000)" err
	); ok
	wait_until rmdir "$cg/zc-test-$$"
else
	skip 'a CPU quota on the control group is reported' 'no control group of version 1 can be made here'
fi

start_zcs -c
it 'zcs -c: load in the summary and in the receipt'; ( begin
	measured "$zcc" -s 0 -p "$PORT" -t 0.4 --congestion reno
	cp out report
	grep -Eqx "  load of this host, both ends" report
	figures_of load report | grep -Eqx "[0-9.]+%\?? \+-[0-9.]+%"
	[ "$(figures_of "CPUs measured" report)" = "$cpus" ]
	figures_of "cost, us/KiB" report | grep -Eqx "[0-9.]+\??"
	wait_until grep -Eq "[,:] load [0-9.]+%" zcs.out
); ok
soaker=$(soaker_of "$ZCS")
it 'zcs -c: its soaker does not hold the port'; ( begin
	[ -n "$soaker" ]
	ls -l /proc/"$soaker"/fd | not grep socket
); ok
kill -KILL "$ZCS"
it 'zcs killed: soaker gone, port free'; ( begin
	ended "$soaker"
	"$BIN/zcs" -p "$PORT" >o 2>e &
	p=$!
	wait_until grep -q listening e
	kill -TERM $p; wait $p
); ok

it 'zcs -c --on-cpus: these are soaked, and zcs itself may use all'; ( begin
	sed '1s/.*/1500000/; s/^cpus .*/cpus 0/; /^cpu [1-9]/d' counts_per_sec >of_one
	start_zcs -c --on-cpus 0 -f of_one
	[ "$(cpus_of "$(soaker_of "$ZCS")" | grep -cx 0)" -ge 1 ]
	hold_clients told -n 1
	cpus_of "$ZCS" | sort -u >allowed
	sed -n 's/^Cpus_allowed_list:	//p' /proc/self/status | diff - allowed
	stop_zcs
); ok

check_usage '^cyclesoak: .*Z' cyclesoak -Z
check_usage '--period.*not between' cyclesoak -p 0
check_usage '--period' cyclesoak -p 1x
check_usage '--cpus' cyclesoak -N 0
check_usage '--cpus.*more than' cyclesoak -N 8000
check_usage 'cannot be used together' cyclesoak -C --json

finish
