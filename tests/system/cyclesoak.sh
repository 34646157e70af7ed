#!/bin/sh
# cyclesoak: what it prints, with and without a command, and what the soakers are to the kernel.  Loads are not judged:
# planted.sh has the calibrations that are refused, loads.sh loads of known size, soaker.sh what is left of soakers.
#
# group: soaks
# seconds: 6
# limit: 500
. "$TOP/tests/lib.sh"

cpus=$(getconf _NPROCESSORS_ONLN) real=$BIN/cyclesoak
without_loads
unmeasured=$cyclesoak
hasten_tools
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec

# Lines on what other programs, the host of a virtual machine, or a container do
of_others='the clock or a system call is slow\|CPU quota\|(steal)\|was fully busy\|is not idle\|the load is below 0'
of_others="$of_others\|the soakers do not yield\|the soakers delay wake-ups\|the load is not measured: --idle: "
# one_error: err has one line, beside such
one_error()
{
	grep -v "$of_others" err >errors || :
	one_line errors
}
# Periods
it 'cyclesoak -n -B -d: a line a period, a closing one, also if a child that it inherited by exec ends'; ( begin
	soaking sh -c "sleep 0.1 & exec \"$cyclesoak\" -n 2 -p 0.1 -B -d"
	no_wider 80 out
	paste -sd ' ' out | tr -s ' ' >line
	load='-?[0-9.]+%\?? \+-([1-9]|0\.[1-9])[0-9.]*%'
	[ "$(grep -Eo "System load: $load, slowed -?[0-9.]+%, cpu0 -?[0-9.]+%" line | wc -l)" -eq 2 ]
	[ "$(grep -o "cpu[0-9]* -\{0,1\}[0-9]" line | wc -l)" -eq $((2 * cpus)) ]
	grep -Eq "[; ] kernel: user [0-9.]+%, nice [0-9.]+%" line # not of a period that ended late, as the next is short
	tail -n 1 out | grep -Eqx "mean of 2: -?[0-9.]+%\?? \+-[0-9.]+%, minimum -?[0-9.]+%, maximum -?[0-9.]+%"
); ok
it 'cyclesoak -1: one bare figure, and a line where it may not use all CPUs'; ( begin
	soaking taskset -c 0 "$cyclesoak" -1 -p 0.1
	grep -Eqx -e "-?[0-9]+\.[0-9]" out
	one_line out
	[ "$cpus" -eq 1 ] || { one_error && grep -q "may run on 1 of the $cpus CPUs" errors; }
); ok
it 'cyclesoak -1 that is interrupted: a line, in JSON too, and exit 1'; ( begin
	"$cyclesoak" -1 -p 1000 --json >out 2>err &
	SOAK=$!
	remember $SOAK
	# It handles SIGTERM (0x4000) once it has soakers.
	wait_until or_gone $SOAK grep -q '^SigCgt:	.*[4-7c-f]...$' "/proc/$SOAK/status"
	kill -TERM "$SOAK"
	status=0
	wait "$SOAK" || status=$?
	cat out err
	[ $status -eq 1 ]
	grep -qx "cyclesoak: interrupted before the period ended: nothing was measured" err
	grep -q '"error":"interrupted before the period ended: nothing was measured"}$' out
); ok
cg=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpu\b.*/\1/p' /proc/self/mounts | head -n 1)
it 'a CPU quota on the control group is reported, with --idle and where the load is not measured'; ( begin
	[ -n "$cg" ] && mkdir "$cg/zc-test-$$" || skip_check 'no control group of version 1 can be made here'
	echo 150000 >"$cg/zc-test-$$/cpu.cfs_quota_us"
	for command in "$unmeasured --idle true" "$BIN/zcc -s 0 -p 1 -r 2 -m send,mmap"; do
		sh -c "echo \$\$ >\"$cg/zc-test-$$/cgroup.procs\"; exec $command" 2>err || :
		[ "$(grep -c "CPU quota.*(150000)" err)" -eq 1 ]
	done
	wait_until rmdir "$cg/zc-test-$$"
); ok

# A command
printf 'exit 0\n' >plain
printf '#!/no/such/interpreter\n' >orphan
mkdir first second
echo >first/found
printf '#!/bin/sh\nexit 3\n' >second/found
chmod +x orphan second/found
it 'cyclesoak COMMAND: its exit status, also of the second of that name in PATH, and its options'; ( begin
	while IFS='|' read -r want command; do
		eval "set -- $command"
		exits "$want" env PATH="first:second:$PATH" "$unmeasured" --idle "$@"
		grep -Eqx -e "System load: .*" out
	done <<-'END'
		137|sh -c 'kill -9 $$'
		3|found
	END
); ok
while IFS='|' read -r want why path command; do
	it "cyclesoak '$command': exit status $want, $why, and the load is not measured"; ( begin
		status=0
		$loadless env PATH="${path:-$PATH}" "$real" --idle --json "$command" >out 2>err || status=$?
		[ $status -eq "$want" ]
		one_error
		grep -q "^cyclesoak: cannot run $command: $why" errors
		one_line out
		grep -q "^{\"schema\":1,\"error\":\"cannot run $command: $why\"}$" out
	); ok
done <<'END'
127|No such file or directory||./orphan
126|Permission denied|first:/no/such/directory|found
END
it 'cyclesoak COMMAND: a failure of its own is 125, usage errors included'; ( begin
	for args in -Z -C "-n 2" "-f ./no/such/calibration"; do
		fails_with 125 '^cyclesoak: ' "$cyclesoak" $args true
	done
); ok
it 'cyclesoak --json COMMAND: one object; the command does not inherit SIGPIPE ignored, nor blocked signals'; ( begin
	exits 0 "$unmeasured" --idle --json -- grep -E "^Sig(Ign|Blk):" /proc/self/status
	[ "$(grep -c '^{"schema":1,.*}$' out)" -eq 1 ]
	grep -q "^SigBlk:.*0000000000000000" out
	not grep -E "^SigIgn:.*[13579bdf]...$" out
); ok
it 'cyclesoak COMMAND: it inherits SIGPIPE ignored where cyclesoak did, but not SIGXFSZ'; ( begin
	exits 0 env --ignore-signal=PIPE $loadless "$real" --idle grep '^SigIgn:.*[13579bdf]...$' /proc/self/status
	exits 153 "$unmeasured" --idle sh -c 'ulimit -f 1; exec head -c 1m /dev/zero >big'
); ok
it 'cyclesoak COMMAND without descriptors for soakers: it runs, and its status stays'; ( begin; need prlimit
	! sanitized || skip_check 'sanitizers need descriptors'
	got=0
	soaking prlimit --nofile=4 "$real" sh -c 'exit 7' || got=$?
	[ $got -eq 7 ]
	grep -q '^cyclesoak: the load is not measured: cannot start the soakers: Too many open files' err
	grep -q '^System load: not measured: the soakers could not be started: ' out
); ok
it 'cyclesoak -1 COMMAND whose load is not measured: one line has the reason, and one that there is no figure'; ( begin
	exits 125 "$unmeasured" --idle -1 true
	counts -eq 1 grep -c 'the load is not measured: ' err
	grep -x 'cyclesoak: -1, --once: there is no figure to print' err
); ok
it 'Ctrl-C while cyclesoak waits for an idle machine: it ends, and the command does not run'; ( begin
	"$HELPERS/burn" 0 60 >burnt &
	burner=$!
	remember $burner
	env --default-signal=INT "$real" --idle --wait-idle 60 touch ran >out 2>err &
	SOAK=$!
	remember $SOAK
	wait_until grep '^cyclesoak: waiting for other programs, which take [0-9.]*% of the machine (--wait-idle)$' err
	kill -INT $SOAK
	ended $SOAK
	kill $burner
	got=0; wait $SOAK || got=$?
	[ $got -eq 130 ]
	not [ -e ran ]
); ok
it 'cyclesoak --output FILE: the report goes there, the command keeps stdout; no FILE, no command'; ( begin
	exits 3 "$unmeasured" --idle --output text -- sh -c 'echo of the command; exit 3'
	grep -qx 'of the command' out
	one_line out
	xargs <text | grep '^System load: .* took '
	exits 0 "$unmeasured" --idle --json --output json -- echo of the command
	one_line out
	one_line json
	grep -q '^{"schema":1,.*}$' json
	fails_with 125 '^cyclesoak: cannot write no/file: No such file or directory$' "$unmeasured" --idle --output no/file touch ran
	not [ -e ran ]
); ok
# Soakers set SIGCHLD themselves, as do shells.
it 'cyclesoak --idle COMMAND, started by a program that ignores SIGCHLD: it ends, with its status'; ( begin
	exits 3 timeout -k 5 60 env --ignore-signal=CHLD $loadless "$real" --idle sh -c 'exit 3'
); ok
it 'cyclesoak COMMAND passes SIGUSR1, which would end it, to the command, and has its status'; ( begin
	exits 9 "$unmeasured" --idle sh -c 'trap "exit 9" USR1; kill -USR1 $PPID; while :; do sleep 0.05; done'
); ok
# On a terminal: a command counts the SIGINT of one Ctrl-C, which cyclesoak gets late.
cat >terminal.py <<'END'
import os, pty, signal, sys
COUNT = (r'trap "n=\$((n + 1)); echo got \$n." INT; trap "echo all \$n.; exit 9" TERM; '
         'echo ready; while :; do sleep 0.1; done')
pid, terminal = pty.fork()
if pid == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL) # a shell ignores it in what it starts by &
    os.execv(sys.argv[1], [sys.argv[1], '--idle', 'sh', '-c', COUNT])
text = b''
def read_until(words):
    global text
    while words not in text:
        text += os.read(terminal, 1000) # an error: the command has ended
read_until(b'ready')
os.kill(pid, signal.SIGSTOP)
os.waitpid(pid, os.WUNTRACED)
os.write(terminal, b'\x03')
read_until(b'got 1.')
os.kill(pid, signal.SIGTERM)
os.kill(pid, signal.SIGCONT)
read_until(b'all 1.')
read_until(b'System load')
sys.exit(os.waitpid(pid, 0)[1] != 9 << 8)
END
it 'Ctrl-C of a terminal reaches the command once, SIGTERM goes on to it'; ( begin; need python3
	python3 terminal.py "$unmeasured"
); ok

# The soakers
until_holding -p 0.1 -B --json
soaker=$(soaker_of "$SOAK")
keeper=$(keeper_of "$SOAK")
it 'a soaker for each CPU, bound to it: SCHED_IDLE, nice 19, in a session of its own; no signal but SIGKILL ends it'; ( begin
	for signal in TERM INT HUP; do kill -$signal "$soaker" "$keeper"; done
	[ "$(stat_field "$soaker" 6)" = "$keeper" ]
	not [ -e /proc/"$soaker"/autogroup ] || grep -q " nice 19$" /proc/"$soaker"/autogroup
	for t in $(tasks_of "$soaker"); do
		[ "$(stat_field "$soaker"/task/"$t" 41)" = 5 ]
		[ "$(stat_field "$soaker"/task/"$t" 19)" = 19 ]
	done
	# One that has had no time yet is not bound yet.
	met() { [ "$(cpus_of "$soaker" | grep -x "[0-9]*" | sort -u | wc -l)" -eq "$cpus" ]; }
	wait_until met
); ok
it "the soaker's group is idle; it holds no descriptor of its parent but the lock and the pipe that ends it"; ( begin
	ls -l /proc/"$soaker"/fd >files
	[ "$(grep -vc "/dev/null\|/dev/zero\|total" files)" -eq 1 ]
	grep -q " 0 -> pipe:" files
	grep -q '^[0-9]*:\(cpu\|cpu,cpuacct\|\):\(.*zc-soaker\)$' /proc/"$soaker"/cgroup || skip_check 'no control groups here'
	# shellcheck disable=SC2046 # several words: $(find)
	cat $(find /sys/fs/cgroup -maxdepth 2 -name zc-soaker)/cpu.idle | grep -qx 1
); ok
it 'a second cyclesoak, of another user too, fails, and names the process that soaks'; ( begin
	! can_be_user || as=as_user
	for soaks in -C '-1 -f counts_per_sec'; do
		exits 1 ${as-} "$BIN/cyclesoak" $soaks --wait 0
		one_error
		grep -q "by cyclesoak (pid $SOAK)" errors
	done
); ok
it 'cyclesoak that is stopped and continued: no period ends before its time, and none is made up'; ( begin; need jq
	first=$(lines_in soak.out)
	for pause in 0.02 0.02 0.02 0.4; do
		sleep 0.02
		kill -STOP $SOAK
		sleep $pause
		kill -CONT $SOAK
	done
	wait_until counts -ge $((first + 7)) lines_in soak.out
	jq -es '[.[].seconds] as $s | [range($s | length)] | all(. as $k | ($s[:$k + 1] | add) > 0.1 * ($k + 1) - 0.001)' soak.out
	# One after a period that ended late may be short.
	jq -es '[.[] | select(.seconds < 0.05)] | length <= 1' soak.out
); ok
kill -TERM "$SOAK"
wait "$SOAK"
status=$?
it 'cyclesoak --json, SIGTERM: exit 0, no soaker left; each load is the mean of the CPUs, the closing object has that of all'; ( begin; need jq
	[ $status -eq 0 ]
	gone "$soaker"
	not grep -v "$of_others" soak.err
	jq -es --argjson cpus "$cpus" 'def near($a; $b; $t): ($a - $b) | . <= $t and . >= -$t;
		[.[:-1][] | select(.load_percent != null)] as $all | [$all[].load_percent] as $loads |
		(.[-1] | .periods == ($all | length) and near(.load_percent; $loads | add / length; 0.001) and
		    near(.load_min_percent; $loads | min; 0.001) and near(.load_max_percent; $loads | max; 0.001)) and
		($all | any([.load_uncertainty_percent, .slowed_percent, (.accounting_percent | .user, .system, .softirq, .idle)] | all(type == "number"))) and
		($all | all(.load_by_cpu | length == $cpus)) and
		($all | map(select(.load_by_cpu | all(.load_percent != null))) | length > 0 and
		    all(near(.load_by_cpu | map(.load_percent) | add / $cpus; .load_percent; .load_uncertainty_percent)))' soak.out
	jq -es '(.[0].start | (.environment.kernel | length > 0) and .timestamp.timesecs > 1600000000) and ([.[1:][] | has("start")] | any | not)' soak.out
); ok

check_usage 'cannot be used together' cyclesoak -C --json
check_usage "--verify: 'slow'" cyclesoak --verify=slow
check 'cyclesoak --verify takes no command' fails_with 125 "^cyclesoak: --verify and 'true' cannot be used together" "$cyclesoak" --verify true
finish
