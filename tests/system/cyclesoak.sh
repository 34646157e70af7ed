#!/bin/sh
# cyclesoak: which calibrations it refuses, what it prints, what the soakers are to the kernel.  No load
# is judged here: calibration.sh has the calibration, loads.sh the load of busy programs, soaker.sh
# what is left of the soakers.
#
# group: soaks
# seconds: 10
# limit: 500
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak zcc=$BIN/zcc
cpus=$(getconf _NPROCESSORS_ONLN)
find_at_once

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
# Calibration files that will not do: each causes one line, which names the command to run.
not_taken()
{
	it "a calibration that is $1"; ( begin
		exits 1 as_user "$cyclesoak" -1 -f calibration
		one_error
		grep -q "calibration" err
		grep -q "cyclesoak -C" err
	); ok
	rm -rf calibration
}
not_taken missing
: >calibration
not_taken empty
cp counts_per_sec calibration
chmod 0 calibration
not_taken unreadable
head -n 1 counts_per_sec >calibration
not_taken 'a bare number'
sed 's/^cpus .*/cpus 0-6/' counts_per_sec >calibration
not_taken 'for other CPUs'
sed "/^cpu 0 /d" counts_per_sec >calibration
not_taken 'lacking a CPU'
sed '1s/.*/-5/' counts_per_sec >calibration
not_taken negative
sed '1s/.*/nan/' counts_per_sec >calibration
not_taken 'not a number'
sed 's/^cpu 0 .*/cpu 0 0.001 0.001 0.9 0.001 inf 0.001/' counts_per_sec >calibration
not_taken infinite
sed 's/^soaker .*/soaker 999/' counts_per_sec >calibration
not_taken 'of another version'
head -c 4096 /dev/urandom >calibration
not_taken binary
head -c 3000000 /dev/zero | tr '\0' 1 >calibration
not_taken huge
mkdir calibration
not_taken 'a directory'
mkfifo calibration
not_taken 'a FIFO'
# Only the CPUs that were calibrated can be measured.
if [ "$cpus" -gt 1 ]; then
	it '-N that contradicts the calibration is refused'; ( begin
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
it '-1: one bare figure'; ( begin
	soaking "$cyclesoak" -1 -p 0.1
	grep -Eqx -e "-?[0-9]+\.[0-9]" out
	one_line out
); ok
it 'a command: one line, -B with a figure per CPU'; ( begin
	soaking "$cyclesoak" -B sleep 0.2
	grep -Eq "^System load: -?[0-9.]+%\?? \+-([1-9]|0\.[1-9])[0-9.]*%, slowed -?[0-9.]+%, cpu0 -?[0-9.]+%" out
	[ "$(grep -o "cpu[0-9]* -\{0,1\}[0-9]" out | wc -l)" -eq "$cpus" ]
); ok
it '-d: the kernel has its say'; ( begin
	soaking "$cyclesoak" -n 1 -p 0.2 -d
	no_wider 80 out
	paste -sd ' ' out >joined
	grep -Eq "[; ] kernel: user [0-9.]+%, nice [0-9.]+%[, ]+.*steal [0-9.]+% mean" joined
); ok
it '--json: a line per period and a closing one, or one for a command, and the version in each'; ( begin
	soaking "$cyclesoak" -n 2 -p 0.2 -B --json
	[ "$(wc -l <out)" -eq 3 ]
	head -n 2 out >periods
	tail -n 1 out >closing
	soaking "$cyclesoak" --json -- sleep 0.1
	one_line out
	cat periods closing >>out
	[ "$(grep -c '^{"schema":1,.*}$' out)" -eq 4 ]
	[ -n "$no_json" ] || valid_json out
); ok
# holds FILE 'expression': it is true of each of its objects
holds()
{
	jq -es "length > 0 and all(.[]; $2)" "$1" || { echo "does not hold: $2"; cat "$1"; return 1; }
}
it '--json: the figures of a period are numbers, and there is one for each CPU'; ( begin; need jq
	holds periods '[.load_percent, .load_uncertainty_percent, .slowed_percent] | all(type == "number")'
	holds periods '[.accounting_percent | .user, .system, .softirq, .idle] | all(type == "number")'
	holds periods "(.load_by_cpu | length) == $cpus"
	holds periods '.load_by_cpu | all(.load_percent | type == "number")'
); ok
it '--json: the closing object has the mean of both periods between the least and the greatest'; ( begin; need jq
	holds closing '[.load_percent, .load_min_percent, .load_max_percent] | all(type == "number")'
	holds closing ".periods == 2 and .load_min_percent <= .load_percent and .load_percent <= .load_max_percent"
); ok
# For two values Student's t is 12.71, and their standard error half of what they differ by.
it "--json: the closing interval is that of Student's t"; ( begin; need jq
	cat periods closing | jq -es '
		(.[2].load_uncertainty_percent | . * .) as $squares |
		(map(.load_uncertainty_percent)[:2] | max) as $one |
		(12.71 * (.[0].load_percent - .[1].load_percent) / 2) as $both |
		($one * $one + $both * $both) as $sum |
		$squares > 0.999 * $sum and $squares < 1.001 * $sum'
); ok
if [ -z "$LONG" ]; then
	: # it takes nine seconds
elif strace -o /dev/null true 2>/dev/null; then
	# As a real-time program would hold it up.
	it 'a soaker that begins to run late has not been spinning before'; ( begin
		soaking strace -f -o /dev/null -e trace=sched_setscheduler \
		    -e inject=sched_setscheduler:delay_enter=6000000 "$cyclesoak" -n 3 -p 1
		grep -q "left its soaker no time in 5 seconds: another program, perhaps a real-time one, occupies it" err
		awk -F "[:%]" '/^System load/ { n++; bad += $2 < -1000 } END { exit n != 3 || bad }' out
	); ok
else
	skip 'a soaker that begins to run late' 'no strace, or it may not trace'
fi
it '-1 that is interrupted: a line, in JSON too, and exit 1'; ( begin
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
it '-n: that many lines and a closing one, also if a child that it inherited by exec ends'; ( begin
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
it 'each line is a load, flushed into a file as it comes'; ( begin
	cat soak.out soak.err
	not grep -Evx "System load: -?[0-9]+\.[0-9]%.*|mean of .*" soak.out
	not grep -v "$of_others" soak.err
); ok
# What was missed is not made up by a burst of lines.
it 'stopped and continued: no burst of lines'; ( begin
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
it 'SIGTERM: exit 0, a closing line, no soaker left'; ( begin
	[ $status -eq 0 ]
	gone "$soaker"
	tail -n 1 soak.out | grep -q '^mean of '
); ok
it 'stdout closed: an error, and no soaker left'; ( begin
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
sed 's/^machine .*/machine elsewhere 1.0 CPU/' counts_per_sec >other
it 'a calibration of another machine is refused: one line, exit 1'; ( begin
	exits 1 "$cyclesoak" -1 -p 0.1 -f other
	one_error
	grep -q "other was made on another machine or kernel: run" err
); ok
cg=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpu\b.*/\1/p' /proc/self/mounts | head -n 1)
if [ -n "$cg" ] && mkdir "$cg/zc-test-$$" 2>/dev/null; then
	it 'a CPU quota on the control group is reported'; ( begin
		echo 150000 >"$cg/zc-test-$$/cpu.cfs_quota_us"
		sh -c "echo \$\$ >\"$cg/zc-test-$$/cgroup.procs\"; exec \"$cyclesoak\" -1 -p 0.1" >out 2>err ||
			grep "soaked already" err
		cat out err
		grep -q "CPU quota.*(150000)" err
	); ok
	if unshare -m true 2>/dev/null; then
		it 'a CPU quota is reported even if the path of the mount has a space'; ( begin
			mkdir "a b"
			sh -c "echo \$\$ >\"$cg/zc-test-$$/cgroup.procs\"
				exec unshare -m sh -c \"mount --bind $cg \\\"a b\\\" && umount -l $cg &&
					exec $cyclesoak -1 -p 0.1\"" >out 2>err || grep "soaked already" err
			cat out err
			grep -q "CPU quota.*(150000)" err
		); ok
	else
		skip 'a CPU quota is reported even if the path of the mount has a space' 'no privilege for namespaces'
	fi
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

check_usage '^cyclesoak: .*Z' cyclesoak -Z
check_usage '--period.*not between' cyclesoak -p 0
check_usage '--period' cyclesoak -p 1x
check_usage '--cpus' cyclesoak -N 0
check_usage '--cpus.*more than' cyclesoak -N 8000
check_usage 'cannot be used together' cyclesoak -C --json
it '-h: help on stdout, exit 0'; ( begin
	exits 0 "$cyclesoak" -h
	not [ -s err ]
	for o in -C -N -p -B -1 -f -d -h; do grep -q -e " $o," out; done
); ok

finish
