#!/bin/sh
# The instrument that soaks nothing: --idle, in the three tools.  loads.sh has a load of known size.
#
# group: quiet
# seconds: 8
. "$TOP/tests/lib.sh"

whole_test_needs jq 'the instrument that soaks nothing'
real=$BIN/cyclesoak
hasten_tools 50000 1000000

# measurable: skips a check where the kernel measures no idle time, or other programs have a CPU
measurable()
{
	! grep -q 'never sleeps\|does not measure\|the load is not measured' err || skip_check "$(head -n 1 err)"
}

it 'cyclesoak --idle COMMAND: the idle machine before and after, the status, and all CPUs for the command'; ( begin
	exits 3 "$cyclesoak" --idle --json sh -c 'grep Cpus_allowed_list /proc/self/status; exit 3'
	grep Cpus_allowed_list /proc/self/status >own
	grep Cpus_allowed_list out | diff own -
	measurable
	grep '^{' out | jq -e '.instrument == "idle" and .baseline == "bracket"'
); ok
it 'cyclesoak --idle: a load without a calibration or child, in less than 1 ms a period; memory does not grow'; ( begin
	"$cyclesoak" --idle -p 0.05 -B --json >periods 2>err &
	idler=$!
	remember $idler
	wait_until or_gone $idler counts -ge 10 lines_in periods
	measurable
	cat "/proc/$idler/task"/*/children | not grep .
	grep VmRSS "/proc/$idler/status" >memory
	read -r before _ <"/proc/$idler/schedstat"
	lines=$(wc -l <periods)
	wait_until counts -ge 25 lines_in periods
	read -r after _ <"/proc/$idler/schedstat"
	[ $((after - before)) -lt $((($(wc -l <periods) - lines) * 1000000)) ]
	grep VmRSS "/proc/$idler/status" | diff memory -
	kill -TERM $idler
	ended $idler
	jq -es '.[:9] | all(.[]; .instrument == "idle" and .baseline == "none" and (.load_percent | type) == "number" and
		(.load_by_cpu | length) == .cpus and (has("tasks_percent") | not))' periods
	not grep -v "(steal)" err
); ok
# A transfer of which each end measures its own load; it is one host, which disturbs neither.
it 'zcc --idle and zcs --idle: both ends of one host, on all CPUs, with the instrument in both reports'; ( begin
	start_zcs --idle
	cpus_of "$ZCS" | sort -u >allowed
	sed -n 's/^Cpus_allowed_list:	//p' /proc/self/status | diff - allowed
	env --default-signal=INT "$zcc" --idle -s 0 -p "$PORT" -t 30 --congestion reno --json >out 2>err &
	client=$!
	remember $client
	wait_until counts -gt 1 threads_of "$ZCS"
	met() { cpus_of $client | sort -u | diff - allowed; } # a busy machine has its trial of them late
	wait_until or_gone $client met
	not gone $client
	kill -INT $client
	ended $client
	stop_zcs
	cat zcs.err >>err
	measurable
	jq -e '.end | .host, .remote | .instrument == "idle" and .load_percent > 0' out
); ok
it 'cyclesoak --idle: where it may not run on the first CPU the trial is made on the next'; ( begin
	preloaded fault && [ "$(getconf _NPROCESSORS_ONLN)" -gt 1 ] || skip_check 'one CPU, or no library can be preloaded'
	grep -q 'kcpustat_dyntick_start$' /proc/kallsyms && skip_check 'a kernel that does not measure idle time'
	status=0
	env LD_PRELOAD="$PWD/fault.so" FAULT=cyclesoak,sched_setaffinity,-,1,EINVAL FAULT_LOG=log \
	    "$real" --idle -n 1 -p 0.1 >out 2>err || status=$?
	cat out err
	grep -qx reached log
	[ $status -eq 0 ] || grep 'CPU [0-9]* never sleeps\|does not measure the idle time of CPU' err
); ok
it '--idle=clock: BPF programs count, and JSON and -d say so; or an error says what they need, as it does to a user'; ( begin
	none='cyclesoak: --idle=clock: \(bpf(2)\|/sys/kernel/btf/vmlinux\|it works on 64-bit\)'
	if "$cyclesoak" --idle=clock -d --json -n 2 -p 0.2 >out 2>err; then
		grep -x 'cyclesoak: idle time is counted by BPF programs' err
		jq -es '.[:2] | all(.[]; .idle_source == "clock" and .load_percent > 0)' out
	else
		grep "^$none" err
	fi
	user=
	[ "$(id -u)" -ne 0 ] || user='setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all'
	[ "$(id -u)" -ne 0 ] || need setpriv
	fails "--idle=clock: \(.*'setcap cap_bpf,cap_perfmon+ep /.*/cyclesoak'\|/sys\|it works\)" $user "$cyclesoak" --idle=clock -n 1
); ok
# Nobody measures a machine that does not sleep.
it '--idle where each CPU is busy: an error, or the command without a load'; ( begin
	"$HELPERS/burn" "$(cat /sys/devices/system/cpu/online)" 30 >burnt &
	burner=$!
	remember $burner
	idle() { awk '/^cpu / { print $5 }' /proc/stat; } # ticks, of 100 a second
	before=$(idle)
	sleep 0.5
	[ $(($(idle) - before)) -lt 10 ] || skip_check 'a CPU quota, or the host, keeps the CPUs from being busy'
	fails 'CPU [0-9]* never sleeps' "$cyclesoak" --idle -n 1
	exits 4 "$cyclesoak" --idle sh -c 'grep Cpus_allowed_list /proc/self/status; exit 4'
	grep Cpus_allowed_list out | diff own -
	grep 'the load is not measured: --idle: CPU [0-9]* never sleeps' err
	grep '^System load: -, unsafe: not_measured' out
	kill $burner
); ok
echo one >tiny
for kind in 'is empty' 'lacks a CPU' 'stands still'; do
	it "zcc --idle where /proc/stat $kind: the load is not measured, and the reason: on stderr, in the first line and in JSON"; ( begin
		unshare -m true 2>/dev/null || skip_check 'no privilege for namespaces'
		cp /proc/stat "$kind"
		[ "$kind" != 'is empty' ] || : >"$kind"
		[ "$kind" != 'lacks a CPU' ] || grep -v "^cpu$(($(getconf _NPROCESSORS_ONLN) - 1)) " /proc/stat >"$kind"
		start_zcs
		for format in -q --json; do
			exits 0 unshare -m sh -c "mount --bind '$kind' /proc/stat && exec $zcc $format --idle -s 0 -p $PORT tiny"
			grep -Eq ': the load is not measured: --idle: (Linux .* 7\.1|/proc/stat cannot be read, or does not count CPU [0-9]+ )' err
			grep -q ', load not measured: not_measured (try -c)$' out ||
				jq -e '.end.host | .no_load == "baseline" and .unsafe == ["not_measured"]' out
		done
		[ "$kind" != 'is empty' ] || exits 1 unshare -m sh -c "mount --bind '$kind' /proc/stat && exec $zcc --idle --wait-idle 9 -s 0 -p 9"
		[ "$kind" != 'is empty' ] || grep '^zcc: --wait-idle: /proc/stat does not count what other programs take: omit it$' err
	); ok
done
check_usage "--idle: 'kernel' is not 'clock'" zcs --idle=kernel
check_usage '-c, --cpu-load and --idle cannot be used together' zcs -c --idle
finish
