#!/bin/sh
# cyclesoak: which calibrations it refuses, what it prints, what the soakers are to the kernel.  No load
# is judged here: t-calibration.sh has the calibration, t-loads.sh the load of busy programs, t-soaker.sh
# what is left of the soakers.
#
# group: soaks
# seconds: 40
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak zcc=$BIN/zcc
cpus=$(getconf _NPROCESSORS_ONLN)
find_at_once

made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
fake_calibration "$(machine_name)" >moded

# Calibration files that will not do: each is one line that says what to run.
refused()
{
	check "a calibration that is $1" '
		exits 1 as_user "$cyclesoak" -1 -f calibration
		one_line err
		grep -q "calibration" err
		grep -q "cyclesoak -C" err'
	rm -rf calibration
}
refused missing
: >calibration
refused empty
cp counts_per_sec calibration
chmod 0 calibration
refused unreadable
head -n 1 counts_per_sec >calibration
refused 'a bare number'
sed 's/^cpus .*/cpus 0-6/' counts_per_sec >calibration
refused 'for other CPUs'
sed "/^cpu 0 /d" counts_per_sec >calibration
refused 'lacking a CPU'
sed '1s/.*/-5/' counts_per_sec >calibration
refused negative
sed '1s/.*/nan/' counts_per_sec >calibration
refused 'not a number'
sed 's/^cpu 0 .*/cpu 0 0.001 0.001 0.9 0.001 inf 0.001/' counts_per_sec >calibration
refused infinite
sed '1s/$/0/' counts_per_sec >calibration
refused 'in contradiction with itself'
sed 's/^soaker .*/soaker 999/' counts_per_sec >calibration
refused 'of another version'
head -c 4096 /dev/urandom >calibration
refused binary
head -c 3000000 /dev/zero | tr '\0' 1 >calibration
refused huge
mkdir calibration
refused 'a directory'
mkfifo calibration
refused 'a FIFO'
# Only the CPUs that were calibrated can be measured.
if [ "$cpus" -gt 1 ]; then
	check '-N that contradicts the calibration is refused' '
		exits 1 "$cyclesoak" -1 -N 1
		one_line err
		grep -q "cyclesoak -C" err'
	check 'a calibration of fewer CPUs is refused without -N' '
		exits 1 "$cyclesoak" -1 -f moded
		one_line err'
	check '-N as calibrated is taken' 'soaking "$cyclesoak" -1 -p 0.3 -N 1 -f moded'
else
	skip '-N against the calibration' 'one CPU'
fi
check 'zcc -c needs a calibration: one line, exit 1, before it connects' '
	mkdir none && cd none
	exits 1 "$zcc" -c -s 0 -p 1
	one_line err
	grep -q "cyclesoak -C" err'
# What it prints.
check '-1: one bare figure' '
	soaking "$cyclesoak" -1 -p 0.5
	grep -Eqx -e "-?[0-9]+\.[0-9]" out
	one_line out'
check 'a line each period, -B with a figure per CPU, exit 0 on SIGTERM' '
	soaking "$cyclesoak" -B -p 0.2 sleep 0.3
	grep -Eq "^System load: -?[0-9.]+%\?? \+-[0-9.]+%, slowed -?[0-9.]+% cpu0 -?[0-9.]+%" out
	[ $(grep -o "cpu[0-9]* -\{0,1\}[0-9]" out | wc -l) -eq $cpus ]'
check '-n: that many lines and a closing one' '
	soaking "$cyclesoak" -n 3 -p 0.1
	[ $(grep -Ec "^System load: " out) -eq 3 ]
	tail -n 1 out | grep -Eqx "mean of 3: -?[0-9.]+%\?? \+-[0-9.]+%, minimum -?[0-9.]+%, maximum -?[0-9.]+%"'
check '-d: the kernel has its say' '
	soaking "$cyclesoak" -n 1 -p 0.3 -d
	grep -Eq "; kernel: user [0-9.]+%, nice [0-9.]+%, .*steal [0-9.]+%$" out
	[ $cpus -eq 1 ] || grep -Eq "; wake-up [0-9]+ us, unsoaked [0-9]+ us; kernel" out'
check '--json: a line per period and a closing one, nothing else' '
	soaking "$cyclesoak" -n 2 -p 0.3 -B --json
	[ $(wc -l <out) -eq 3 ]
	head -n 2 out >periods
	tail -n 1 out >closing'
# holds FILE 'expression': it is true of each of its objects
holds()
{
	jq -es "length > 0 and all(.[]; $2)" "$1" || { cat "$1"; return 1; }
}
check_with jq '--json: the figures of a period are numbers, and there is one for each CPU' '
	holds periods "[.load_percent, .load_uncertainty_percent, .slowed_percent] | all(type == \"number\")"
	holds periods "[.accounting_percent | .user, .system, .softirq, .idle] | all(type == \"number\")"
	holds periods "(.load_by_cpu | length) == $cpus"
	holds periods ".load_by_cpu | all(.load_percent | type == \"number\")"
	[ $cpus -eq 1 ] || holds periods "[.wakeup_us, .wakeup_unsoaked_us] | all(. > 0)"'
check_with jq '--json: the closing object has the mean of both periods between the least and the greatest' '
	holds closing "[.load_percent, .load_min_percent, .load_max_percent] | all(type == \"number\")"
	holds closing ".periods == 2 and .load_min_percent <= .load_percent and .load_percent <= .load_max_percent"'
# For two values Student's t is 12.71, and their standard error half of what they differ by.
check_with jq "--json: the closing interval is that of Student's t" '
	cat periods closing | jq -es "
		(.[2].load_uncertainty_percent | . * .) as \$squares |
		(map(.load_uncertainty_percent)[:2] | max) as \$one |
		(12.71 * (.[0].load_percent - .[1].load_percent) / 2) as \$both |
		(\$one * \$one + \$both * \$both) as \$sum |
		\$squares > 0.999 * \$sum and \$squares < 1.001 * \$sum"'
if [ -z "$LONG" ]; then
	: # it takes nine seconds
elif strace -o /dev/null true 2>/dev/null; then
	# As a real-time program would hold it up.
	check 'a soaker that begins to run late has not been spinning before' '
		soaking strace -f -o /dev/null -e trace=sched_setscheduler \
		    -e inject=sched_setscheduler:delay_enter=6000000 "$cyclesoak" -n 3 -p 1
		grep -qx "cyclesoak: CPU [0-9]* left its soaker no time in 5 seconds: another program, or a real-time one, has all of it" err
		awk -F "[:%]" "/^System load/ { n++; bad += \$2 < -1000 } END { exit n != 3 || bad }" out'
else
	skip 'a soaker that begins to run late' 'no strace, or it may not trace'
fi
check '-1 that is interrupted: a line, in JSON too, and exit 1' '
	turns=0
	while :; do
		"$cyclesoak" -1 -p 1000 --json >out 2>err &
		SOAK=$!
		remember $SOAK
		wait_until "[ -n \"\$(soaker_of $SOAK)\" ] || gone $SOAK"
		! gone $SOAK || ! grep -q "soaked already" err || [ $turns -ge 60 ] || { turns=$((turns + 1)); continue; }
		break
	done
	kill -TERM $SOAK
	status=0
	wait $SOAK || status=$?
	cat out err
	[ $status -eq 1 ]
	grep -qx "cyclesoak: interrupted before the period was over" err
	one_line out
	grep -q "\"error\":\"interrupted before the period was over\"}$" out'
check 'the end of a child that it inherited by exec does not end it' '
	soaking sh -c "sleep 0.2 & exec \"$cyclesoak\" -n 4 -p 0.2"
	[ $(grep -c "^System load: " out) -eq 4 ]
	grep -q "^mean of 4: " out'
# stopped and continued: what was missed is not made up by a burst of lines
until_holding -p 0.2
soaker=$(soaker_of $SOAK)
keeper=$(keeper_of $SOAK)
check 'the soaker is in a session of its own, nice 19 for its autogroup' '
	[ "$(stat_field $soaker 6)" = "$keeper" ]
	not [ -e /proc/$soaker/autogroup ] || grep -q " nice 19$" /proc/$soaker/autogroup'
check 'a soaker for each CPU: bound to it, SCHED_IDLE, nice 19' '
	for t in $(tasks_of $soaker); do
		[ "$(stat_field $soaker/task/$t 41)" = 5 ]
		[ "$(stat_field $soaker/task/$t 19)" = 19 ]
	done
	cpus_of $soaker >allowed
	cat allowed
	[ "$(grep -x "[0-9]*" allowed | sort -u | wc -l)" -eq "$cpus" ]'
check 'it holds no descriptor of its parent but the locks and the pipe that ends it' '
	ls -l /proc/$soaker/fd
	[ "$(ls -l /proc/$soaker/fd | grep -vc "/dev/null\|/dev/zero\|/run/zc-soaker.lock\|total")" -eq 1 ]
	ls -l /proc/$soaker/fd | grep -q " 0 -> pipe:"'
check 'no signal but SIGKILL ends it' '
	kill -TERM $soaker; kill -INT $soaker; kill -HUP $soaker; kill -INT $keeper; kill -TERM $keeper
	n=$(wc -l <soak.out)
	wait_until "[ \$(wc -l <soak.out) -gt $((n + 1)) ]"
	not gone $soaker'
group=$(sed -n 's/^[0-9]*:\(cpu\|cpu,cpuacct\|\):\(.*zc-soaker\)$/\2/p' /proc/$soaker/cgroup)
if [ -n "$group" ]; then
	check 'its control group is idle' '
		cat /proc/$soaker/cgroup
		cat $(find /sys/fs/cgroup -maxdepth 2 -name zc-soaker)/cpu.idle | grep -qx 1'
else
	skip 'its control group is idle' 'control groups cannot be made here'
fi
check 'a second set is refused, and the holder named' '
	exits 1 $at_once "$cyclesoak" -1
	one_line err
	grep -q "by cyclesoak (pid $SOAK)" err
	if can_be_user; then
		exits 1 as_user $at_once "$cyclesoak" -1 -f counts_per_sec
		grep -q "by cyclesoak (pid $SOAK)" err
	fi'
check 'also refused to zcc -c, before it connects' '
	exits 1 $at_once "$zcc" -c -s 0 -p 1
	grep -q "by cyclesoak (pid $SOAK)" err'
check 'each line is a load, flushed into a file as it comes' '
	cat soak.out soak.err
	not grep -Evx "System load: -?[0-9]+\.[0-9]%.*|mean of .*" soak.out
	not grep -v "(steal)" soak.err'
kill -TERM $SOAK
wait $SOAK
check 'SIGTERM: exit 0, a closing line, no soaker left' "
	[ $? -eq 0 ]
	gone $soaker
	tail -n 1 soak.out | grep -q '^mean of '"
until_holding -p 0.2
check 'stopped and continued: no burst of lines' '
	kill -STOP $SOAK
	n=$(wc -l <soak.out)
	sleep 1.5
	begun=$(cut -d" " -f1 /proc/uptime)
	kill -CONT $SOAK
	wait_until "[ \$(wc -l <soak.out) -gt $n ]"
	sleep 0.3
	lines=$(($(wc -l <soak.out) - n))
	# A period is 0.2 s; the stop has missed seven.
	awk -v lines=$lines -v begun=$begun "{ print lines, \$1 - begun; exit lines > (\$1 - begun) / 0.2 + 3 }" /proc/uptime'
kill -TERM $SOAK
check 'stdout closed: an error, and no soaker left' '
	turns=0
	while :; do
		{ status=0; "$cyclesoak" -p 0.1 2>err || status=$?; echo $status >status; } | head -n 1 >out
		grep -q "soaked already" err && [ $turns -lt 60 ] || break
		turns=$((turns + 1)); until_free
	done
	cat err
	[ "$(cat status)" = 1 ]
	grep -q "stdout: Broken pipe" err'

# What makes a figure unsafe is said.
# only_warns 'pattern': err has one line, which fits it, beside those on what other programs and the host
# of a virtual machine do
only_warns()
{
	grep -v "(steal)\|is not idle\|the load is below 0" err >warnings
	one_line warnings
	grep -q -e "$1" warnings
}
one=$(sed -n 's/^Cpus_allowed_list:	\([0-9]*\).*/\1/p' /proc/self/status)
if [ "$cpus" -gt 1 ]; then
	check 'an affinity smaller than the machine is said' '
		soaking taskset -c $one "$cyclesoak" -1 -p 0.1
		only_warns "may run on 1 of the $cpus CPUs"'
fi
sed 's/^machine .*/machine elsewhere 1.0 CPU/' counts_per_sec >other
check 'a calibration of another machine is said' '
	soaking "$cyclesoak" -1 -p 0.1 -f other
	only_warns "another machine or kernel (elsewhere 1.0 CPU)"'
cg=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpu\b.*/\1/p' /proc/self/mounts | head -n 1)
if [ -n "$cg" ] && mkdir "$cg/zc-test-$$" 2>/dev/null; then
	check 'a CPU quota on the control group is said' '
		echo 150000 >"$cg/zc-test-$$/cpu.cfs_quota_us"
		sh -c "echo \$\$ >\"$cg/zc-test-$$/cgroup.procs\"; exec \"$cyclesoak\" -1 -p 0.1" >out 2>err ||
			grep "soaked already" err
		cat out err
		grep -q "CPU quota.*(150000)" err'
	if unshare -m true 2>/dev/null; then
		check 'the same where the path of the mount has a space' '
			mkdir "a b"
			sh -c "echo \$\$ >\"$cg/zc-test-$$/cgroup.procs\"
				exec unshare -m sh -c \"mount --bind $cg \\\"a b\\\" && umount -l $cg &&
					exec $cyclesoak -1 -p 0.1\"" >out 2>err || grep "soaked already" err
			cat out err
			grep -q "CPU quota.*(150000)" err'
	else
		skip 'the same where the path of the mount has a space' 'no privilege for namespaces'
	fi
	rmdir "$cg/zc-test-$$"
else
	skip 'a CPU quota on the control group is said' 'no control group of version 1 can be made here'
fi

start_zcs
check 'zcc -c: load and cost of a transfer' '
	soaking "$zcc" -c -s 0 -p $PORT -t 1
	grep -Eq "^[0-9]+ kbytes/sec \([0-9.]+ Gbit/s\), load [0-9.]+%\?? \+-[0-9.]+% of $cpus CPUs, cost [0-9.]+ us/KiB" out
	# cost = load x CPUs / throughput
	awk "/^[0-9]+ kbytes/ { sub(\"%\", \"\", \$6); want = \$6 / 100 * $cpus * 1e6 / \$1
		exit !(\$12 > 0.98 * want && \$12 < 1.02 * want) }" out'
stop_zcs
turns=0
while :; do
	start_zcs -c && break
	grep -q 'soaked already' zcs.err && [ $turns -lt 60 ] || break
	turns=$((turns + 1))
	until_free
done
check 'zcs -c: load in the summary and in the receipt' '
	"$zcc" -s 0 -p $PORT -t 1 >report
	cat report
	grep -Eqx "  load, both ends +- +[0-9.]+%\?? \+-[0-9.]+%" report
	grep -Eqx "  CPUs +- +$cpus" report
	grep -Eqx "  us/KiB +- +[0-9.]+" report
	wait_until "grep -Eq \"kbytes/sec .* load [0-9.]+%\" zcs.out"'
soaker=$(soaker_of $ZCS)
check 'zcs -c: its soaker does not hold the port' '
	[ -n "$soaker" ]
	ls -l /proc/$soaker/fd | not grep socket'
kill -KILL $ZCS
check 'zcs killed: soaker gone, port free' '
	ended $soaker
	"$BIN/zcs" -p $PORT >o 2>e &
	p=$!
	wait_until "grep -q listening e"
	kill -TERM $p; wait $p'

bad()
{
	text=$1
	shift
	check "usage: cyclesoak $*" '
		exits 2 "$cyclesoak" "$@"
		one_line err
		not [ -s out ]
		grep -q -e "$text" err' "$@"
}
bad 'Z' -Z
bad '--period.*not between' -p 0
bad '--period' -p 1s
bad '--cpus' -N 0
bad '--cpus.*more than' -N 8000
bad 'cannot be used together' -C --json
check '-h: help on stdout, exit 0' '
	exits 0 "$cyclesoak" -h
	not [ -s err ]
	for o in -C -N -p -B -1 -f -d -h; do grep -q -e " $o," out; done'

finish
