#!/bin/sh
# The instrument that soaks nothing: --idle, in the three tools.  loads.sh has a load of known size,
# tests/unit/{idle,idle_clock}.c what the kernel lacks.
#
# group: quiet
# seconds: 4
. "$TOP/tests/lib.sh"

whole_test_needs jq 'the instrument that soaks nothing'
hasten_tools 50000 1000000

# measurable: skips a check where the kernel measures no idle time, or other programs have a CPU
measurable()
{
	! grep -q 'never sleeps\|machine is busy\|does not measure\|the load is not measured' err || skip_check "$(head -n 1 err)"
}

it 'cyclesoak --idle COMMAND: the idle machine before and after, the status, and all CPUs for the command'; ( begin
	exits 3 "$cyclesoak" --idle --json sh -c 'grep Cpus_allowed_list /proc/self/status; exit 3'
	grep Cpus_allowed_list /proc/self/status >own
	grep Cpus_allowed_list out | diff own -
	measurable
	grep '^{' out | jq -e '.instrument == "idle" and .baseline == "bracket"'
); ok
it 'cyclesoak --idle: a load without a calibration or child, in less than 1 ms a period; memory does not grow'; ( begin
	"$cyclesoak" --idle -p 0.03 -B --json >periods 2>err &
	idler=$!
	remember $idler
	wait_until or_gone $idler counts -ge 10 lines_in periods
	measurable
	cat "/proc/$idler/task"/*/children | not grep .
	grep VmRSS "/proc/$idler/status" >memory
	read -r before _ <"/proc/$idler/schedstat"
	lines=$(wc -l <periods)
	wait_until counts -ge 20 lines_in periods
	read -r after _ <"/proc/$idler/schedstat"
	[ $((after - before)) -lt $((($(wc -l <periods) - lines) * 1000000)) ]
	sanitized || grep VmRSS "/proc/$idler/status" | diff memory -
	kill -TERM $idler
	ended $idler
	jq -es '.[:9] | all(.[]; .instrument == "idle" and .baseline == "none" and (.load_percent | type) == "number" and
		(.load_by_cpu | length) == .cpus and (has("tasks_percent") | not))' periods
); ok
# A transfer of which each end measures its own load; it is one host, which disturbs neither.  Both trials begin at once.
it 'zcc --idle and zcs --idle: both ends of one host, on all CPUs, with the instrument in both reports'; ( begin
	start_zcs --idle
	sed -n 's/^Cpus_allowed_list:	//p' /proc/self/status >allowed
	cpus_of "$ZCS" | sort -u | diff - allowed
	exits 0 "$zcc" --idle -s 0 -p "$PORT" -t 0.5 --congestion reno --json
	stop_zcs
	cat zcs.err >>err
	measurable
	jq -e '.end | .host, .remote | .instrument == "idle" and .load_percent > 0' out
); ok
finish
