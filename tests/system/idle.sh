#!/bin/sh
# The instrument that soaks nothing: --idle, in the three tools; and --on-cpus, which both instruments have.
#
# group: quiet
# seconds: 8
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak zcc=$BIN/zcc burn=$HELPERS/burn
all=$(cat /sys/devices/system/cpu/online)
one=${all##*[,-]}

# measurable: skips a check where the kernel measures no idle time, or other programs have a CPU
measurable()
{
	! grep -q 'never sleeps\|does not measure\|no load is measured' err || skip_check "$(head -n 1 err)"
}

it 'cyclesoak --idle: periods without a calibration, of which nothing is subtracted'; ( begin; need jq
	"$cyclesoak" --idle -p 0.2 -n 2 -B --json >out 2>err || :
	measurable
	jq -es '.[:2] | all(.[]; .instrument == "idle" and .baseline == "none" and (.load_percent | type) == "number")' out
	jq -es '.[:2] | all(.[]; (.load_by_cpu | length) == .cpus and (has("tasks_percent") | not))' out
	not grep . err
); ok
it 'cyclesoak --idle: no process beside its own'; ( begin
	"$cyclesoak" --idle -p 60 >out 2>err &
	remember $!
	sleeps()
	{
		grep -q '^State:.S' "/proc/$!/status"
	}
	wait_until sleeps
	cat "/proc/$!/task"/*/children >children
	kill -INT $!
	not grep . children
); ok
it 'cyclesoak --idle COMMAND: the idle machine before and after, and the status'; ( begin; need jq
	exits 3 "$cyclesoak" --idle --json sh -c 'sleep 0.6; exit 3'
	measurable
	jq -e '.instrument == "idle" and .baseline == "bracket" and .seconds >= 0.6' out
); ok
it 'cyclesoak --idle COMMAND: the command may run on the CPUs that cyclesoak may'; ( begin
	exits 0 "$cyclesoak" --idle grep Cpus_allowed_list /proc/self/status
	grep Cpus_allowed_list /proc/self/status >own
	grep Cpus_allowed_list out | diff own -
); ok

# The CPU clock of the burner says how large its load was; a busy machine spoils a load, and marks it.
it 'cyclesoak --idle: a load of known size, within its interval and 1.5 points'; ( begin; need jq
	for try in 1 2 3 4 5; do
		exits 0 "$cyclesoak" --idle --json "$burn" "$all" 1 30
		measurable
		grep -q '"unsafe"' out || break
	done
	! grep -q '"unsafe"' out || skip_check "the machine is busy: $(head -n 1 err)"
	truth=$(grep -x '[0-9]*\.[0-9][0-9][0-9][0-9]' out)
	grep '^{' out >load
	cat out
	jq -e --argjson t "$truth" '(.load_percent - 100 * $t / .cpus | fabs) <= .load_uncertainty_percent + 1.5' load
	jq -e '.load_uncertainty_percent <= 5' load
); ok

# A transfer of which each end measures its own load; it is one host, which disturbs neither.
it 'zcc --idle and zcs --idle: both ends of one host, with the instrument in both reports'; ( begin; need jq
	start_zcs --idle
	exits 0 "$zcc" --idle -s 0 -p "$PORT" -t 0.6 --congestion reno --json
	stop_zcs
	measurable
	cp out report.json
	cp zcs.err err
	measurable
	jq -e '.end.host.instrument == "idle" and .end.remote.instrument == "idle"' report.json
	jq -e '.end.host.load_percent > 0 and .end.remote.load_percent > 0' report.json
	start_zcs
	exits 0 "$zcc" --idle -s 0 -p "$PORT" -t 0.6 --congestion reno
	stop_zcs
	head -n 1 out | grep 'kbytes/sec (.*), unsoaked load [0-9.]*%?* +-'
	grep -x '    measured by  *idle time' out
	not grep 'of it, tasks\|idle work' out
); ok

# Nobody measures a machine that does not sleep.
it '--idle where each CPU is busy: an error, or the command without a load'; ( begin
	"$burn" "$all" 30 >burnt &
	remember $!
	status=0
	"$cyclesoak" --idle -n 1 >out 2>err || status=$?
	[ $status -eq 1 ]
	grep 'CPU [0-9]* never sleeps' err
	exits 4 "$cyclesoak" --idle sh -c 'exit 4'
	grep 'never sleeps.*no load is measured' err
	grep '^System load: -, unsafe: not_measured' out
); ok

made_up_calibration | awk -v one="$one" '
	/^cpus / { $2 = one } /^all/ || !/^cpu / || $2 == one { line[++n] = $0 } /^cpu / && $2 == one { rate = $7 }
	END { line[1] = rate; for (i = 1; i <= n; i++) print line[i] }' >of_one
it 'cyclesoak --on-cpus: one soaker, on that CPU'; ( begin
	until_holding --on-cpus "$one" -p 0.1 -f of_one
	only()
	{
		cpus_of "$(soaker_of "$SOAK")" >bound
		[ "$(grep -cx "$one" bound)" -eq 1 ]
	}
	wait_until only
	cat bound
	kill -TERM "$SOAK"
	ended "$SOAK"
); ok
check_usage '--on-cpus: CPU 8191 is not online' cyclesoak --idle --on-cpus 8191
check_usage '-N, --cpus and --on-cpus cannot be used together' cyclesoak -N 1 --on-cpus 0
check_usage '--idle and -C, --calibrate cannot be used together' cyclesoak --idle -C
check_usage '--idle and -f, --calibration cannot be used together' cyclesoak --idle -f x
check_usage '-c, --cpu-load and --idle cannot be used together' zcs -c --idle
check_usage '-f, --calibration: only with -c' zcs --idle -f x
check_usage '--wait: only with -c' zcc --idle --wait 1 -s 0
finish
