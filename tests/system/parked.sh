#!/bin/sh
# The soakers of zcs -c sleep while there is no client, and the load of a transfer is that of the part after
# they have settled.  baselines.sh has zcs -c without a calibration.
#
# group: soaks
# seconds: 4
. "$TOP/tests/lib.sh"

tcp='--congestion reno'
whole_test_needs jq 'soakers that sleep while there is no client'
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
touch -d '3 days ago' counts_per_sec # a file does not grow old
hasten_tools

# asleep: all soakers of zcs are, and zcs does not hold the lock
asleep()
{
	! has_lock "$ZCS" || return 1
	for t in /proc/$SOAKER/task/*; do
		[ "$(stat_field "$SOAKER/task/${t##*/}" 3)" = S ] || return 1
	done
}
# start_parked [options]: starts zcs -c; SOAKER is its soaker
start_parked()
{
	start_zcs -c "$@"
	wait_until not prints_nothing soaker_of "$ZCS" # it has its name late on a busy machine
	SOAKER=$(soaker_of "$ZCS")
}
# transfer options...: a client of zcs, with its JSON in out, once no other test soaks
transfer()
{
	has_lock "$ZCS" || until_free
	measured "$zcc" -s 0 -p "$PORT" $tcp --json "$@"
}

seconds=$(scale 0.5 10)
undisturbed "parked for $seconds s, zcs -c uses less than 0.1 % of a CPU, without the lock; SIGTERM then leaves nothing"
least_turns=3; while again; do ( begin
	[ -r /proc/self/schedstat ] || skip_check 'the kernel has no schedstat'
	start_parked -I 0.05
	wait_until asleep
	all="$ZCS $(keeper_of "$ZCS") $SOAKER"
	from=$(cpu_ns $all)
	sleep "$seconds"
	used=$(($(cpu_ns $all) - from))
	echo "$used ns"
	asleep
	stop_zcs
	wait_until gone "$SOAKER"
	wait_until prints_nothing stale_group
	[ $used -lt "$(awk -v s="$seconds" 'BEGIN { print s * 1000000 }')" ]
); done
undisturbed 'zcs -c --reply: the soakers wake up for requests, and the intervals after that have a load'
least_turns=3; while again; do ( begin
	start_parked --reply --json -I 0.1
	wait_until asleep
	# One that has come and gone between two looks
	"$HELPERS/net" ask "$PORT" 1 10
	wait_until has_lock "$ZCS"
	exits 0 "$zcc" -s 0 -p "$PORT" --request 100k -t 0.4
	has_lock "$ZCS" || skip_check 'another program soaks'
	wait_until asleep
	stop_zcs
	cat zcs.out
	tail -n 1 zcs.out | jq -e '(.host | has("load_percent") | not) and .replies > 0'
	sed '$d' zcs.out | jq -es 'any(.[]; .host | has("load_percent"))'
); done
user=
[ "$(id -u)" -ne 0 ] || ! id nobody >/dev/null 2>&1 || user='--user nobody'
undisturbed "zcs -c $user: clients wake the soakers, which are root's, or come while they are awake; SIGKILL leaves nothing"
least_turns=3; while again; do ( begin
	start_parked $user
	if [ -n "$user" ]; then
		grep -qx "Uid:\(	$(id -u nobody)\)*" /proc/"$ZCS"/status
		grep -qx 'CapPrm:	0*' /proc/"$ZCS"/status
		[ "$(sed -n 's/^Uid:	\([0-9]*\)	.*/\1/p' /proc/"$SOAKER"/status)" = 0 ]
	fi
	wait_until asleep >/dev/null || wait_until asleep
	transfer -t 0.5
	transfer -t 0.2 -P 2
	has_lock "$ZCS"
	jq -e '.end.remote | .load_percent != null and ((.unsafe // []) | index("baseline_old") == null)' out
	wait_until grep -Eq '^ *total of 2 clients: (.* )?load -?[0-9.]+%\?? \+-[0-9.]+% of [0-9.]+ CPUs?, cost ' zcs.out
	kill -KILL "$ZCS"
	ended "$SOAKER" || ended "$SOAKER"
	wait_until prints_nothing stale_group
); done
finish
