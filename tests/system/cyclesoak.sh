#!/bin/sh
# cyclesoak: what it prints, with and without a command, and what the soakers are to the kernel.  Loads are not judged:
# planted.sh has the calibrations that are refused, loads.sh loads of known size, soaker.sh what is left of soakers.
#
# group: soaks
# seconds: 12
# limit: 500
. "$TOP/tests/lib.sh"

cpus=$(getconf _NPROCESSORS_ONLN) real=$BIN/cyclesoak
without_loads
unmeasured=$cyclesoak
hasten_tools
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
fake_calibration "$(machine_name)" >moded

# Lines on what other programs, the host of a virtual machine, or a container do
of_others='the clock or a system call is slow\|CPU quota\|(steal)\|was fully busy\|is not idle\|the load is below 0'
of_others="$of_others\|the soakers do not yield\|the soakers delay wake-ups\|the load is not measured: --idle: "
# one_error: err has one line, beside such
one_error()
{
	grep -v "$of_others" err >errors || :
	one_line errors
}
it 'cyclesoak: -N that contradicts the calibration, and one of fewer CPUs without -N, are refused'; ( begin
	[ "$cpus" -gt 1 ] || skip_check 'one CPU'
	for args in '-N 1' '-f moded'; do
		exits 1 "$cyclesoak" -1 $args
		one_error
	done
); ok
# Periods
it 'cyclesoak -n -B -d: a line a period, a closing one, also if a child that it inherited by exec ends'; ( begin
	soaking sh -c "sleep 0.2 & exec \"$cyclesoak\" -n 3 -p 0.1 -B"
	load='-?[0-9.]+%\?? \+-([1-9]|0\.[1-9])[0-9.]*%'
	[ "$(grep -Ec "^System load: $load, slowed -?[0-9.]+%, cpu0 -?[0-9.]+%" out)" -eq 3 ]
	[ "$(head -n 1 out | grep -o "cpu[0-9]* -\{0,1\}[0-9]" | wc -l)" -eq "$cpus" ]
	tail -n 1 out | grep -Eqx "mean of 3: -?[0-9.]+%\?? \+-[0-9.]+%, minimum -?[0-9.]+%, maximum -?[0-9.]+%"
	# The mean's uncertainty has that of the periods in it.
	sed 's/.* +-\([0-9.]*\)%.*/\1/' out >uncertain
	[ "$(sort -n uncertain | tail -n 1)" = "$(tail -n 1 uncertain)" ]
	soaking "$cyclesoak" -n 1 -p 0.2 -d
	no_wider 80 out
	paste -sd ' ' out | grep -Eq "[; ] kernel: user [0-9.]+%, nice [0-9.]+%[, ]+.*steal [0-9.]+% mean"
); ok
it 'cyclesoak -1: one bare figure, and a line where it may not use all CPUs'; ( begin
	soaking taskset -c 0 "$cyclesoak" -1 -p 0.1
	grep -Eqx -e "-?[0-9]+\.[0-9]" out
	one_line out
	[ "$cpus" -eq 1 ] || { one_error && grep -q "may run on 1 of the $cpus CPUs" errors; }
); ok
it 'cyclesoak --json: an object a period, whose load is the mean of the CPUs, and a closing one of all'; ( begin; need jq
	soaking "$cyclesoak" -n 2 -p 0.2 -B --json
	jq -es 'length == 3 and all(.[:2][]; [.load_percent, .load_uncertainty_percent, .slowed_percent,
		(.accounting_percent | .user, .system, .softirq, .idle)] | all(type == "number"))' out
	jq -es --argjson cpus "$cpus" 'def near($a; $b; $t): ($a - $b) | . <= $t and . >= -$t;
		[.[:2][].load_percent] as $loads | (.[2] | .periods == 2 and near(.load_percent; $loads | add / 2; 0.001) and
		    near(.load_min_percent; $loads | min; 0.001) and near(.load_max_percent; $loads | max; 0.001)) and
		all(.[:2][]; (.load_by_cpu | length == $cpus and all(.load_percent != null and .load_percent != 0)) and
		    near(.load_by_cpu | map(.load_percent) | add / $cpus; .load_percent; .load_uncertainty_percent))' out
	jq -es '(.[0].start | (.environment.kernel | length > 0) and .timestamp.timesecs > 1600000000) and ([.[1:][] | has("start")] | any | not)' out
); ok
it 'cyclesoak that is stopped and continued: no period ends before its time, and none is made up'; ( begin; need jq
	until_holding --json -n 7 -p 0.1
	for pause in 0.02 0.02 0.02 0.4; do
		sleep 0.02
		kill -STOP $SOAK
		sleep $pause
		kill -CONT $SOAK
	done
	ended $SOAK
	jq -es '[.[:6][].seconds] as $s | [range(6)] | all(. as $k | ($s[:$k + 1] | add) > 0.1 * ($k + 1) - 0.001)' soak.out
	# One after a period that ended late may be short.
	jq -es '[.[:6][] | select(.seconds < 0.05)] | length <= 1' soak.out
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
it 'cyclesoak, stdout closed: an error'; ( begin
	{ status=0; "$cyclesoak" -p 0.1 2>err || status=$?; echo $status >status; } | head -n 1 >out
	cat err
	[ "$(cat status)" = 1 ]
	grep -q "stdout: Broken pipe" err
); ok
cg=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\bcpu\b.*/\1/p' /proc/self/mounts | head -n 1)
it 'a CPU quota on the control group is reported, with -c, with --idle and where the load is not measured'; ( begin
	[ -n "$cg" ] && mkdir "$cg/zc-test-$$" || skip_check 'no control group of version 1 can be made here'
	echo 150000 >"$cg/zc-test-$$/cpu.cfs_quota_us"
	for command in "$cyclesoak -1 -p 0.1" "$unmeasured --idle true" "$BIN/zcc -s 0 -p 1 -r 2 -m send,mmap"; do
		soaking sh -c "echo \$\$ >\"$cg/zc-test-$$/cgroup.procs\"; exec $command" || :
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
it 'cyclesoak COMMAND: its exit status, also of the second of that name in PATH, its options, and a load'; ( begin
	while IFS='|' read -r want command; do
		eval "set -- $command"
		status=0
		soaking env PATH="first:second:$PATH" "$@" || status=$?
		[ $status -eq "$want" ]
		grep -Eqx -e "System load: .*|-?[0-9.]+" out
	done <<-'END'
		137|"$unmeasured" --idle sh -c 'kill -9 $$'
		3|"$unmeasured" --idle found
		0|"$cyclesoak" -1 ls -1 -d .
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
127|No such file or directory||
127|No such file or directory||./orphan
126|Permission denied|first:/no/such/directory|found
END
it 'cyclesoak COMMAND: a failure of its own is 125, usage errors included'; ( begin
	for args in -Z -C "-n 2" "-f ./no/such/calibration"; do
		fails_with 125 '^cyclesoak: ' "$cyclesoak" $args true
	done
); ok
it 'cyclesoak --json COMMAND: one object; the command does not inherit SIGPIPE ignored, nor blocked signals'; ( begin
	soaking "$cyclesoak" --json -- grep -E "^Sig(Ign|Blk):" /proc/self/status
	[ "$(grep -c '^{"schema":1,.*}$' out)" -eq 1 ]
	grep -q "^SigBlk:.*0000000000000000" out
	not grep -E "^SigIgn:.*[13579bdf]...$" out
); ok
it 'cyclesoak COMMAND: it inherits SIGPIPE ignored where cyclesoak did, but not SIGXFSZ'; ( begin
	exits 0 env --ignore-signal=PIPE $loadless "$real" --idle grep '^SigIgn:.*[13579bdf]...$' /proc/self/status
	exits 153 "$unmeasured" --idle sh -c 'ulimit -f 1; exec head -c 1m /dev/zero >big'
); ok
it 'cyclesoak COMMAND: a signal after the command ends the baseline that is measured then'; ( begin
	mkdir own && cd own # there is no calibration
	for turn in 1 2; do # on a busy machine the baseline may be over, or the command may get the signal
		rm -f ended
		soaking true # one after the other
		"$real" sh -c ': >ended' >out 2>err &
		SOAK=$!
		remember $SOAK
		wait_until or_gone $SOAK [ -e ended ]
		sleep 0.1
		kill -TERM $SOAK || :
		ended $SOAK
		! grep -q 'idle machine measured before only' out err || break
	done
	cat out err
	grep -q 'idle machine measured before only' out || ! grep -q 'the load is not measured\|is not idle' err || skip_check 'the machine is busy'
	grep -q 'idle machine measured before only' out
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
it 'cyclesoak COMMAND passes every signal that would end it to the command, and has its status'; ( begin
	signals='HUP QUIT USR1 USR2 ALRM XCPU VTALRM PROF IO PWR RTMIN RTMAX'
	for sig in $signals; do echo "trap ': >got.$sig' $sig"; done >traps
	echo 'trap "exit 9" TERM; : >ready; while :; do sleep 0.05; done' >>traps
	env --default-signal=QUIT "$unmeasured" --idle bash ./traps >out 2>err &
	SOAK=$!
	remember $SOAK
	wait_until or_gone $SOAK [ -e ready ]
	for sig in $signals; do
		bash -c "kill -$sig $SOAK"
		wait_until or_gone $SOAK [ -e "got.$sig" ]
	done
	kill -TERM $SOAK
	ended $SOAK
	got=0; wait $SOAK || got=$?
	[ $got -eq 9 ]
); ok
# On a terminal: a command counts the SIGINT of one Ctrl-C, which cyclesoak gets late.
cat >terminal.py <<'END'
import os, pty, signal, sys
COUNT = (r'trap "n=\$((n + 1)); echo got \$n." INT; trap "echo all \$n.; exit 9" TERM; '
         'echo ready; while :; do sleep 0.1; done')
pid, terminal = pty.fork()
if pid == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL) # a shell ignores it in what it starts by &
    os.execv(sys.argv[1], [sys.argv[1], 'sh', '-c', COUNT])
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
	soaking python3 terminal.py "$cyclesoak"
); ok

# The soakers
until_holding -p 0.1
soaker=$(soaker_of "$SOAK")
keeper=$(keeper_of "$SOAK")
it 'a soaker for each CPU, bound to it: SCHED_IDLE, nice 19, in a session of its own'; ( begin
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
it 'a second cyclesoak, of another user too, and zcc -C fail, and name the process that soaks'; ( begin
	for program in 'cyclesoak -1' 'zcc -C' 'cyclesoak -1 -f counts_per_sec'; do
		as=
		[ "${program%_per_sec}" = "$program" ] || ! can_be_user || as=as_user
		exits 1 $as "$BIN/"$program --wait 0
		one_error
		grep -q "by cyclesoak (pid $SOAK)" errors
	done
); ok
it 'no signal but SIGKILL ends the soaker'; ( begin
	for signal in TERM INT HUP; do kill -$signal "$soaker" "$keeper"; done
	n=$(wc -l <soak.out)
	wait_until counts -gt $((n + 1)) lines_in soak.out
	not gone "$soaker"
); ok
kill -TERM "$SOAK"
wait "$SOAK"
status=$?
it 'cyclesoak, SIGTERM: exit 0, a closing line after those of the loads, no soaker left'; ( begin
	cat soak.out soak.err
	[ $status -eq 0 ]
	gone "$soaker"
	tail -n 1 soak.out | grep -q '^mean of '
	sed '$d' soak.out | not grep -Evx "System load: -?[0-9]+\.[0-9]%.*"
	not grep -v "$of_others" soak.err
); ok

it '--on-cpus: cyclesoak -C calibrates these, and zcs -c soaks these, but may itself use all'; ( begin
	BUSY_TURNS=5
	soaking $hasten_by HASTEN_US=20000 HASTEN_UP_TO_US=1000000 "$real" -C --force --on-cpus 0 -f of_one || skip_check 'the machine is busy'
	grep -qx 'cpus 0' of_one
	start_zcs -c --on-cpus 0 -f of_one
	met() { cpus_of "$(soaker_of "$ZCS")" | grep -x 0; }
	wait_until met
	hold_clients told -n 1
	cpus_of "$ZCS" | sort -u >allowed
	sed -n 's/^Cpus_allowed_list:	//p' /proc/self/status | diff - allowed
	stop_zcs
); ok

check_usage 'cannot be used together' cyclesoak -C --json
finish
