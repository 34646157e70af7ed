#!/bin/sh
# The soakers of zcs -c sleep while there is no client, and the load of a transfer is that of the part after
# they have settled.
#
# group: soaks
# seconds: 5
# limit: 500
. "$TOP/tests/lib.sh"

zcs=$BIN/zcs zcc=$BIN/zcc
tcp='--congestion reno'
if ! command -v jq >/dev/null 2>&1; then
	skip 'soakers that sleep while there is no client' 'no jq'
	finish
fi
printf x >tiny
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
touch -d '50 minutes ago' counts_per_sec # which is good for an hour

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
	SOAKER=$(soaker_of "$ZCS")
	[ -n "$SOAKER" ]
}

# wait_asleep: up to 40 seconds
wait_asleep()
{
	wait_until asleep >/dev/null || wait_until asleep
}

# transfer options...: a client of zcs, with its JSON in out, once no other test soaks
transfer()
{
	has_lock "$ZCS" || until_free
	measured "$zcc" -s 0 -p "$PORT" $tcp --json "$@"
}

# persistently FUNCTION: three times at most.  Another set of soakers may have had the lock for the first part of
# a transfer, or the host the CPUs; what is wrong with zcs fails each time.
persistently()
{
	for turn in 1 2 3; do
		set +e
		( set -e; "$1" )
		status=$?
		set -e
		[ $status -ne 0 ] && [ "$turn" -lt 3 ] || break
		repeating
		gone "$ZCS" || wait_asleep
	done
	return $status
}





sleeps_again()
{
	has_lock "$ZCS"
	wait_asleep
}

zcc_has_none()
{
	transfer tiny
	exits 0 "$zcc" -c --wait 0 -s 0 -p "$PORT" tiny
	grep -q "soaked already, by zcs (pid $ZCS): no load is measured: .* (on one host one -c has both ends)$" err
}

names_zcc()
{
	before=$(grep -c 'while zcc (pid' zcs.err) || :
	soaking "$zcc" -c -s 0 -p "$PORT" $tcp -t 1
	grep -Eqx '    load +-?[0-9.]+%\?? \+-[0-9.]+%' out
	cat zcs.err
	wait_until counts -eq $((before + 1)) grep -c 'while zcc (pid' zcs.err
	grep -q '^zcs: no load is measured while zcc (pid [0-9]*) soaks the CPUs: on one host one -c has both ends, start zcs without it$' zcs.err
}

names_once()
{
	wait_asleep
	until_free
	until_holding -p 0.2
	for i in 1 2 3; do
		exits 0 "$zcc" -s 0 -p "$PORT" $tcp -t 0.3 --json
		jq -e '.end.remote | has("load_percent") | not' out
	done
	cat zcs.err
	[ "$(grep -c "while cyclesoak (pid $SOAK)" zcs.err)" -eq 1 ]
	: >long
	"$zcc" -s 0 -p "$PORT" $tcp -t 6 --json >long 2>err &
	client=$!
	remember $client
	wait_until counts -gt 1 threads_of "$ZCS"
	kill -TERM "$SOAK"
	ended "$SOAK"
	wait $client
	cat long zcs.err
	jq -e '.end.remote.load_percent != null' long ||
		has_lock "$ZCS" || skip_check 'another program soaks'
}

notices_death()
{
	start_parked
	raise_soaker "$SOAKER"
	kill -KILL "$($1 "$ZCS")"
	wait_until gone "$SOAKER"
	"$zcc" -s 0 -p "$PORT" tiny >out 2>err || :
	ended "$ZCS"
	cat zcs.err
	grep -q "^zcs: the $2 was killed by signal 9$" zcs.err
	[ -z "$(stale_group)" ]
}
soaker_dies()
{
	notices_death soaker_of soaker
}


ends_settling()
{
	start_parked
	"$HELPERS/net" send -c "$PORT" </dev/null || :
	stop_zcs
	wait_until gone "$SOAKER"
}



soaks_as_nobody()
{
	start_parked --user nobody
	trap 'gone "$ZCS" || kill "$ZCS"' EXIT # the next try starts its own
	wait_asleep
	transfer -t 0.4
	has_lock "$ZCS"
	jq -e '.end.remote.load_percent != null' out
	wait_until grep -q ' load ' zcs.out
	stop_zcs
}

old_is_unsafe()
{
	touch -d '61 minutes ago' counts_per_sec
	start_parked
	transfer -t 0.5
	jq -e '.end.remote.unsafe | index("baseline_old") != null' out
	transfer -t 0.5
	wait_asleep
	transfer -t 0.5
	cat zcs.err zcs.out
	[ "$(grep -c '^zcs: the baseline is more than an hour old: the load is unsafe' zcs.err)" -eq 1 ]
	grep -Eq 'load -?[0-9.]+%\? ' zcs.out
	stop_zcs
}


# begins_measuring: a thread of zcs measures the baseline, a second after a client's end.  Other soakers may have the
# lock then, for which zcs asks now and then.
begins_measuring()
{
	for client in $(seq 20); do
		has_lock "$ZCS" || until_free
		"$zcc" -s 0 -p "$PORT" $tcp -q tiny
		wait_until counts -eq 1 threads_of "$ZCS"
		for i in $(seq 30); do
			[ "$(threads_of "$ZCS")" -eq 1 ] || return 0
			sleep 0.1
		done
	done
	return 1
}
ends_measuring()
{
	rm -f counts_per_sec
	start_zcs -c
	SOAKER=$(soaker_of "$ZCS")
	[ -n "$SOAKER" ]
	begins_measuring
	stop_zcs
	wait_until gone "$SOAKER"
	[ -z "$(stale_group)" ]
}

seconds=$(scale 1 10)
start_parked
if [ -r /proc/self/schedstat ]; then
	it "parked for $seconds s, zcs -c uses less than 0.1 % of a CPU, and does not hold the lock" persistently; ( begin
		wait_until asleep
		all="$ZCS $(keeper_of "$ZCS") $SOAKER"
		from=$(cpu_ns $all)
		sleep "$seconds"
		used=$(($(cpu_ns $all) - from))
		echo "$used ns"
		asleep
		[ $used -lt $((seconds * 1000000)) ]
	); ok
else
	skip 'zcs -c that is parked uses less than 0.1 % of a CPU' 'the kernel has no schedstat'
fi
it 'a client that has left before the soakers have settled has no load' persistently; ( begin
	before=$(lines_in zcs.out)
	transfer tiny
	jq -e '(.end.remote | has("load_percent") or has("cpus") | not) and .end.sum_received.bytes == 1' out
	wait_until counts -gt "$before" lines_in zcs.out
	cat zcs.out
	tail -n "+$((before + 1))" zcs.out | not grep load
); ok
check_long 'they sleep again when no client has come for 10 seconds' sleeps_again
if [ -z "$LONG" ]; then
	stop_zcs
	start_parked
fi
it 'a client that wakes them has a load, and the cost that follows from it' persistently; ( begin
	if [ $turn -eq 1 ]; then t=0.8; else t=2; fi # zcs tries every half second to have the lock
	transfer -t $t
	jq -e '.end.remote.load_percent != null' out
	# The load of the part is that of all.
	jq -e '.end | .sum_received.seconds * .remote.load_percent / 100 * .remote.cpus * 1e6 /
	    (.sum_received.bytes / 1024) / .remote.cost_us_per_kib | . > 0.99 and . < 1.01' out
	jq -e '.end.sum_received.bytes == .end.sum_sent.bytes' out
); ok
it 'clients that come while they are awake have one, too' persistently; ( begin
	transfer -t 0.3 -P 2
	jq -e '.end.remote.load_percent != null' out
	jq -e '(.end.remote.unsafe // []) | index("baseline_old") == null' out
	wait_until grep -Eq '^total of 2 clients: .* load -?[0-9.]+%\?? \+-[0-9.]+%, cost ' zcs.out
); ok
check_long 'zcc -c beside it has no load meanwhile, and the message names the end that measures both' zcc_has_none
[ -z "$LONG" ] || wait_asleep
check_long 'beside zcc -c it serves, reports no load, and one line names zcc' names_zcc
check_long 'each program that soaks is named once; when it ends, the rest of a transfer is measured' names_once
stop_zcs
it 'a keeper that was killed while they sleep is noticed at the next client'; ( begin
	notices_death keeper_of 'keeper of the soakers'
); ok
check_long 'soakers that were killed while they sleep are noticed at the next client' soaker_dies
it 'SIGTERM while they sleep: exit 0, and nothing is left'; ( begin
	start_parked
	wait_until asleep
	stop_zcs
	wait_until gone "$SOAKER"
	[ -z "$(stale_group)" ]
); ok
check_long 'SIGTERM while they settle: exit 0, and nothing is left' ends_settling
it '-1 exits with its client: they do not stay awake for 10 seconds' persistently; ( begin
	start_parked -1
	"$zcc" -s 0 -p "$PORT" $tcp tiny >out 2>err
	wait "$ZCS"
	wait_until gone "$SOAKER"
); ok
it '--reply: they wake up for requests, and the intervals after that have a load' persistently; ( begin
	start_parked --reply --json -I 0.1
	wait_until asleep
	exits 0 "$zcc" -s 0 -p "$PORT" --request 100k -t 0.5
	has_lock "$ZCS" || skip_check 'another program soaks'
	stop_zcs
	cat zcs.out
	tail -n 1 zcs.out | jq -e '(.host | has("load_percent") | not) and .replies > 0'
	sed '$d' zcs.out | jq -es 'any(.[]; .host | has("load_percent"))'
	sed '$d' zcs.out | jq -es 'map(select(.host | has("load_percent") and has("cost_us_per_kib"))) |
	    length > 0 and all(.[]; .host.load_percent / 100 * .host.cpus * .seconds * 1e6 / (.bytes / 1024) /
	    .host.cost_us_per_kib | . > 0.99 and . < 1.01)'
); ok
if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1; then
	rights_of_nobody >rights_of_nobody
	it '--user: zcs has no privileges, its soaker has, and nothing is left'; ( begin
		start_parked --user nobody
		rights "$ZCS" | diff rights_of_nobody -
		[ "$(sed -n 's/^Uid:	\([0-9]*\)	.*/\1/p' /proc/"$SOAKER"/status)" = 0 ]
		stop_zcs
		wait_until gone "$SOAKER"
		wait_until prints_nothing stale_group
	); ok
	check_undisturbed '--user: the soakers wake up for a client' persistently soaks_as_nobody
	it '--user: SIGKILL: no soaker left, nor its group'; ( begin
		start_parked --user nobody
		kill -KILL "$ZCS"
		ended "$SOAKER" || ended "$SOAKER"
		wait_until prints_nothing stale_group
	); ok
else
	skip '--user: zcs -c without privileges' 'needs root and the user nobody'
fi
check_long 'a calibration of more than an hour ago: the load is unsafe, with one line for all clients' persistently old_is_unsafe
it 'a calibration of a busy machine: the load is unsafe' persistently; ( begin
	made_up_calibration "$(machine_name)" 1500000 | awk '
		/^cpu / { $3 = 0.1 }
		{ line[NR] = $0 }
		/^cpu / { sum += (1 - $3) * $5 * $7 }
		END { line[1] = sprintf("%.0f", sum); for (i = 1; i <= NR; i++) print line[i] }' >counts_per_sec
	start_parked
	transfer -t 0.3
	jq -e '.end.remote.unsafe | index("baseline_busy") != null' out
	grep -q '^zcs: the baseline was measured on a busy machine: the load is unsafe; start again, or run .cyclesoak -C., on the idle system$' zcs.err
	stop_zcs
); ok
check_long 'SIGTERM while the baseline is measured again: exit 0, and nothing is left' ends_measuring
finish
