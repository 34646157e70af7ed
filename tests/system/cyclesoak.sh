#!/bin/sh
# cyclesoak: what it prints, with and without a command, and what the soakers are to the kernel.  Loads are not judged:
# planted.sh has the calibrations that are refused, loads.sh loads of known size, soaker.sh what is left of soakers,
# waits.sh a second program that soaks, settings.sh the signals of commands.
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
	[ "$cpus" -eq 1 ] || grep -q "may run on 1 of the $cpus CPUs" err
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
it 'a CPU quota on the control group is reported once'; ( begin
	[ -n "$cg" ] && mkdir "$cg/zc-test-$$" || skip_check 'no control group of version 1 can be made here'
	echo 150000 >"$cg/zc-test-$$/cpu.cfs_quota_us"
	sh -c "echo \$\$ >\"$cg/zc-test-$$/cgroup.procs\"; exec $unmeasured --idle true" 2>err || :
	[ "$(grep -c "CPU quota.*(150000)" err)" -eq 1 ]
	wait_until rmdir "$cg/zc-test-$$"
); ok

# A command
printf '#!/no/such/interpreter\n' >orphan
mkdir first
echo >first/found
chmod +x orphan
it 'cyclesoak COMMAND: the status is that of the command, or of why it cannot run; a failure of its own is 125'; ( begin
	while IFS='|' read -r want line command; do
		eval "set -- $command"
		exits "$want" env PATH="first:/no/such/directory:$PATH" "$unmeasured" "$@"
		grep -x "$line" out err
	done <<-'END'
		137|System load: .*|--idle sh -c 'kill -9 $$'
		127|cyclesoak: cannot run ./orphan: No such file or directory|--idle ./orphan
		126|cyclesoak: cannot run found: Permission denied|--idle found
		125|cyclesoak: .*|-Z true
		125|cyclesoak: .*|-f ./no/such/calibration true
		125|cyclesoak: .*CPU 8191 is not online|--on-cpus 8191 -r 1 --dry-run true
		125|cyclesoak: -1, --once: there is no figure to print|--idle -1 true
	END
); ok
it 'cyclesoak --json COMMAND: one object; the command does not inherit SIGPIPE ignored, nor blocked signals'; ( begin
	exits 0 "$unmeasured" --idle --json -- grep -E "^Sig(Ign|Blk):" /proc/self/status
	[ "$(grep -c '^{"schema":1,.*}$' out)" -eq 1 ]
	grep -q "^SigBlk:.*0000000000000000" out
	not grep -E "^SigIgn:.*[13579bdf]...$" out
); ok
for options in '' '-r 1'; do
	it "Ctrl-C while cyclesoak $options waits for an idle machine: it ends, and the command does not run"; ( begin
		"$HELPERS/burn" 0 60 >burnt &
		burner=$!
		remember $burner
		env --default-signal=INT "$real" --idle --wait-idle 60 $options touch ran >out 2>err &
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
done
it 'cyclesoak --output FILE: the report goes there, the command keeps stdout; no FILE, no command'; ( begin
	exits 3 "$unmeasured" --idle --output text -- sh -c 'echo of the command; exit 3'
	grep -qx 'of the command' out
	one_line out
	xargs <text | grep '^System load: .* took '
	fails_with 125 '^cyclesoak: cannot write no/file: No such file or directory$' "$unmeasured" --idle --output no/file touch ran
	not [ -e ran ]
); ok
it 'cyclesoak COMMAND passes SIGUSR1, which would end it, to the command, and has its status, also if SIGCHLD is ignored'; ( begin
	exits 9 timeout -k 5 60 env --ignore-signal=CHLD $loadless "$real" --idle sh -c \
	    'trap "exit 9" USR1; kill -USR1 $PPID; while :; do sleep 0.05; done'
); ok
cat >count.sh <<'END'
trap 'n=$((n + 1)); echo got $n.' INT
trap 'echo all $n.; exit 9' TERM
echo ready $PPID.
while :; do sleep 0.1; done
END
it 'Ctrl-C of a terminal reaches the command once, also if cyclesoak gets it late; SIGTERM goes on to it'; ( begin; need script
	mkfifo keys
	exec 3<>keys
	env --default-signal=INT script -qec "trap : INT; '$unmeasured' --idle sh count.sh; exit \$?" /dev/null <keys >seen &
	terminal=$!
	remember $terminal
	wait_until grep ready seen
	reader=$(sed -n 's/.*ready \([0-9]*\)\..*/\1/p' seen)
	kill -STOP "$reader"
	printf '\003' >&3
	wait_until grep 'got 1\.' seen
	kill -TERM "$reader"
	kill -CONT "$reader"
	ended $terminal
	got=0; wait $terminal || got=$?
	cat seen
	[ $got -eq 9 ]
	grep 'all 1\.' seen
	grep 'System load' seen
); ok

# The soakers
until_holding -p 0.1 -B --json
soaker=$(soaker_of "$SOAK")
keeper=$(keeper_of "$SOAK")
it "a soaker for each CPU, bound to it, SCHED_IDLE, nice 19, in an idle group and session; it has the keeper's pipe alone"; ( begin
	# One that has had no time yet is not bound yet, nor has it its policy.
	met() { [ "$(cpus_of "$soaker" | grep -x "[0-9]*" | sort -u | wc -l)" -eq "$cpus" ]; }
	wait_until met
	[ "$(stat_field "$soaker" 6)" = "$keeper" ]
	not [ -e /proc/"$soaker"/autogroup ] || grep -q " nice 19$" /proc/"$soaker"/autogroup
	for t in $(tasks_of "$soaker"); do
		[ "$(stat_field "$soaker"/task/"$t" 41)" = 5 ]
		[ "$(stat_field "$soaker"/task/"$t" 19)" = 19 ]
	done
	ls -l /proc/"$soaker"/fd >files
	[ "$(grep -vc "/dev/null\|/dev/zero\|total" files)" -eq 1 ]
	grep -q " 0 -> pipe:" files
	grep -q '^[0-9]*:\(cpu\|cpu,cpuacct\|\):\(.*zc-soaker\)$' /proc/"$soaker"/cgroup || skip_check 'no control groups here'
	# shellcheck disable=SC2046 # several words: $(find)
	cat $(find /sys/fs/cgroup -maxdepth 2 -name zc-soaker)/cpu.idle | grep -qx 1
); ok
it 'a second cyclesoak, of another user too, fails, and names the process that soaks'; ( begin
	! can_be_user || as=as_user
	exits 1 ${as-} "$BIN/cyclesoak" -C --wait 0
	grep -q "by cyclesoak (pid $SOAK)" err
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
	jq -es --argjson cpus "$cpus" 'def near($a; $b; $t): ($a - $b) | . <= $t and . >= -$t;
		[.[:-1][] | select(.load_percent != null)] as $all | [$all[].load_percent] as $loads |
		(.[-1] | .periods == ($loads | length) and near(.load_percent; $loads | add / length; 0.001)) and
		($all | all(.load_by_cpu | length == $cpus) and any(.accounting_percent.user | type == "number")) and
		($all | map(select(.load_by_cpu | all(.load_percent != null))) | length > 0 and
		    all(near(.load_by_cpu | map(.load_percent) | add / $cpus; .load_percent; .load_uncertainty_percent)))' soak.out
	jq -es '(.[0].start.environment.kernel | length > 0) and ([.[1:][] | has("start")] | any | not)' soak.out
); ok
finish
