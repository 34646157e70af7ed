#!/bin/sh
# --profile: the figures.  tests/unit/{symbols,profile}.c have the groups, the events, and what there is without
# the privilege.
#
# group: quiet
# seconds: 4
. "$TOP/tests/lib.sh"

whole_test_needs jq 'profiles'
hasten_tools 20000 1000000
BUSY_TURNS=2
start_zcs
head -c 1000000 /dev/zero >file

profile() # options...
{
	soaking "$zcc" -c --profile -s 0 -p "$PORT" --congestion reno "$@"
}
# profiled OBJECT: the check at hand needs a profile, and a machine that is idle enough for a load
profiled()
{
	jq -e "$1 | .no_profile == null" out >/dev/null || skip_check "no profile: $(grep -e --profile: err)"
	jq -e "$1 | .load_percent != null" out >/dev/null || skip_check 'the machine is busy'
}

it 'zcc --profile: the groups are the load, and most of the samples are in one of them'; ( begin
	profile -t 0.4 --json
	profiled .end.host
	holds out '.end.host | .load_percent as $load | .cost_us_per_kib as $cost | .profile |
		(.sampled_by | . == "timer" or . == "cycles") and .samples > 0 and
		([to_entries[] | select(.key | test("^(data_copy|tcp_ip|crypto|skb|device|memory|files|locks|scheduler|interrupts|entry|io_uring|filters|user|other)_percent$")) | .value]
		| length == 15 and (add - $load | fabs < 0.001)) and
		([to_entries[] | select(.key | endswith("_us_per_kib")) | .value] | add - $cost | fabs < 0.001)'
); ok
it 'cyclesoak --profile of two commands: the groups are the CPU seconds of each, mostly of the user who computes'; ( begin
	# shellcheck disable=SC3045 # as in zcs.sh
	ulimit -Sn 200 # the command's, which has no descriptor of a CPU
	made_up_calibration >counts_per_sec # a profile is relative to the idle host before it
	# A command that ends before a sample is taken has no groups.
	soaking "$cyclesoak" --profile -r 1 --json --vs "$HELPERS/burn 0 0.2" "ulimit -n >allowed; $HELPERS/burn 0 0.4"
	rm counts_per_sec
	grep -x 200 allowed
	not grep '"baseline":"file"' out
	tail -n 1 out | jq -e '.comparison.runs[0].cpu_seconds != null and .comparison.runs[1].cpu_seconds != null' >/dev/null || skip_check 'the machine is busy, or there is no profile'
	sed -i '$!d' out
	holds out '[.comparison.runs[] | (.cpu_seconds.mean - ([.groups[].mean] | add) | fabs < 0.001)] | all' \
	    '.comparison.runs[0] | .cpu_seconds.mean as $all | .groups | length == 15 and .user_cpu_seconds.mean > 0.5 * $all'
); ok
it 'zcs --profile as another user: the receipt has its groups; by a clock that is an hour ahead, the baseline is not old'; ( begin
	[ "$(id -u)" -eq 0 ] || skip_check 'not root'
	! unshare --time --boottime 3601 true || ON='unshare --time --boottime 3601'
	start_zcs -c --profile --user nobody
	! grep -q 'the load is not measured' zcs.err || skip_check 'the machine is busy'
	measured "$zcc" -s 0 -p "$PORT" --congestion reno --json -t 0.5
	jq -e '.end.remote | .no_profile == null' out >/dev/null || skip_check "no profile: $(grep -e --profile: zcs.err)"
	jq -e '.end.remote.load_percent != null' out >/dev/null || skip_check 'the machine is busy'
	holds out '.end.remote.profile | .samples > 0 and .data_copy_us_per_kib != null' \
	    '.end.remote | (.unsafe // []) | index("baseline_old") == null'
); ok
it '--against a session with a profile: not without one'; ( begin
	exits 0 "$zcc" -q -s 0 -p "$PORT" --congestion reno -r 1 --save without file
	sed 's/^\([0-9a-f]*\t#\t\)--server: .*/&\n\1--profile: given/' without >with
	exits 1 "$zcc" -s 0 -p "$PORT" --against with file
	grep -x 'zcc: --against: with was measured with --profile, which disturbs what it measures: give it' err
); ok
finish
