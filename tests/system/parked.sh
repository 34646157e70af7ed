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

# stop_parked: SIGTERM ends zcs, with status 0, and leaves neither soaker nor group
stop_parked()
{
	stop_zcs
	wait_until gone "$SOAKER"
	wait_until prints_nothing stale_group
}

# wait_asleep: up to 40 seconds
wait_asleep()
{
	wait_until asleep >/dev/null || wait_until asleep
}

# persistent 'what must hold'; while again; do ...: is tried three times: other programs may have soaked the CPUs
persistent()
{
	undisturbed "$1"
	least_turns=3
}

# fresh: a turn after the first begins with soakers that sleep
fresh()
{
	[ "$turn" -eq 1 ] || wait_asleep
}

# transfer options...: a client of zcs, with its JSON in out, once no other test soaks
transfer()
{
	has_lock "$ZCS" || until_free
	measured "$zcc" -s 0 -p "$PORT" $tcp --json "$@"
}

# is_unsafe_for REASON: the load of zcs, in the report of its client
is_unsafe_for()
{
	jq -e "(.end.remote.unsafe // []) | index(\"$1\") != null" out
}

# notices_death FUNCTION 'name': zcs does, at the next client
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

seconds=$(scale 1 10)
start_parked
if [ -r /proc/self/schedstat ]; then
	persistent "parked for $seconds s, zcs -c uses less than 0.1 % of a CPU, and does not hold the lock"; while again; do ( begin
		wait_until asleep
		all="$ZCS $(keeper_of "$ZCS") $SOAKER"
		from=$(cpu_ns $all)
		sleep "$seconds"
		used=$(($(cpu_ns $all) - from))
		echo "$used ns"
		asleep
		[ $used -lt $((seconds * 1000000)) ]
	); done
else
	skip 'zcs -c that is parked uses less than 0.1 % of a CPU' 'the kernel has no schedstat'
fi
persistent 'a client that has left before the soakers have settled has no load'; while again; do ( begin
	fresh
	before=$(lines_in zcs.out)
	transfer tiny
	jq -e '(.end.remote | has("load_percent") or has("cpus") | not) and .end.sum_received.bytes == 1' out
	wait_until counts -gt "$before" lines_in zcs.out
	tail -n "+$((before + 1))" zcs.out | not grep load
); done
long 'the soakers of zcs -c sleep again when no client has come for 10 seconds' && ( begin
	has_lock "$ZCS"
	wait_asleep
); ok
if [ -z "$LONG" ]; then
	stop_zcs
	start_parked
fi
persistent 'a client that wakes the soakers of zcs -c has a load, and the cost that follows from it'; while again; do ( begin
	fresh
	if [ $turn -eq 1 ]; then t=0.8; else t=2; fi # zcs tries every half second to have the lock
	transfer -t $t
	jq -e '.end.remote.load_percent != null' out
	# The load of the part is that of all.
	jq -e '.end | .sum_received.seconds * .remote.load_percent / 100 * .remote.cpus * 1e6 /
	    (.sum_received.bytes / 1024) / .remote.cost_us_per_kib | . > 0.99 and . < 1.01' out
	jq -e '.end.sum_received.bytes == .end.sum_sent.bytes' out
); done
persistent 'clients that come while the soakers of zcs -c are awake have a load, too'; while again; do ( begin
	fresh
	transfer -t 0.3 -P 2
	jq -e '.end.remote.load_percent != null' out
	not is_unsafe_for baseline_old
	wait_until grep -Eq '^total of 2 clients: .* load -?[0-9.]+%\?? \+-[0-9.]+%, cost ' zcs.out
); done
long 'zcc -c beside zcs -c has no load meanwhile, and the message names the end that measures both' && ( begin
	transfer tiny
	exits 0 "$zcc" -c --wait 0 -s 0 -p "$PORT" tiny
	grep -q "soaked already, by zcs (pid $ZCS): no load is measured: .* (on one host one -c has both ends)$" err
); ok
[ -z "$LONG" ] || wait_asleep
long 'beside zcc -c zcs -c serves, reports no load, and one line names zcc' && ( begin
	before=$(grep -c 'while zcc (pid' zcs.err) || :
	soaking "$zcc" -c -s 0 -p "$PORT" $tcp -t 1
	grep -Eqx '    load +-?[0-9.]+%\?? \+-[0-9.]+%' out
	wait_until counts -eq $((before + 1)) grep -c 'while zcc (pid' zcs.err
	grep -q '^zcs: no load is measured while zcc (pid [0-9]*) soaks the CPUs: on one host one -c has both ends, start zcs without it$' zcs.err
); ok
long 'zcs -c names each program that soaks once; when it ends, the rest of a transfer is measured' && ( begin
	wait_asleep
	until_free
	until_holding -p 0.2
	for i in 1 2 3; do
		exits 0 "$zcc" -s 0 -p "$PORT" $tcp -t 0.3 --json
		jq -e '.end.remote | has("load_percent") | not' out
	done
	cat zcs.err
	[ "$(grep -c "while cyclesoak (pid $SOAK)" zcs.err)" -eq 1 ]
	"$zcc" -s 0 -p "$PORT" $tcp -t 6 --json >out 2>err &
	client=$!
	remember $client
	wait_until counts -gt 1 threads_of "$ZCS"
	kill -TERM "$SOAK"
	ended "$SOAK"
	wait $client
	cat out zcs.err
	jq -e '.end.remote.load_percent != null' out || has_lock "$ZCS" || skip_check 'another program soaks'
); ok
stop_zcs
it 'a keeper that was killed while the soakers sleep is noticed at the next client'; ( begin
	notices_death keeper_of 'keeper of the soakers'
); ok
long 'soakers that were killed while they sleep are noticed at the next client' && ( begin
	notices_death soaker_of soaker
); ok
it 'SIGTERM while the soakers of zcs -c sleep: exit 0, and nothing is left'; ( begin
	start_parked
	wait_until asleep
	stop_parked
); ok
long 'SIGTERM while the soakers of zcs -c settle: exit 0, and nothing is left' && ( begin
	start_parked
	"$HELPERS/net" send -c "$PORT" </dev/null || :
	stop_parked
); ok
it 'zcs -c -1 exits with its client: the soakers do not stay awake for 10 seconds'; ( begin
	start_parked -1
	"$zcc" -s 0 -p "$PORT" $tcp tiny >out 2>err
	wait "$ZCS"
	wait_until gone "$SOAKER"
); ok
persistent 'zcs -c --reply: the soakers wake up for requests, and the intervals after that have a load'; while again; do ( begin
	start_parked --reply --json -I 0.1
	wait_until asleep
	exits 0 "$zcc" -s 0 -p "$PORT" --request 100k -t 0.5
	has_lock "$ZCS" || skip_check 'another program soaks'
	stop_zcs
	cat zcs.out
	tail -n 1 zcs.out | jq -e '(.host | has("load_percent") | not) and .replies > 0'
	sed '$d' zcs.out | jq -es 'map(select(.host | has("load_percent") and has("cost_us_per_kib"))) |
	    length > 0 and all(.[]; .host.load_percent / 100 * .host.cpus * .seconds * 1e6 / (.bytes / 1024) /
	    .host.cost_us_per_kib | . > 0.99 and . < 1.01)'
); done
if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1; then
	it 'zcs -c --user: zcs has no privileges, its soaker has, and nothing is left'; ( begin
		start_parked --user nobody
		grep -qx "Uid:\(	$(id -u nobody)\)*" /proc/"$ZCS"/status
		grep -qx 'CapPrm:	0*' /proc/"$ZCS"/status
		[ "$(sed -n 's/^Uid:	\([0-9]*\)	.*/\1/p' /proc/"$SOAKER"/status)" = 0 ]
		stop_parked
	); ok
	persistent 'zcs -c --user: the soakers wake up for a client'; while again; do ( begin
		start_parked --user nobody
		trap 'gone "$ZCS" || kill "$ZCS"' EXIT # the next turn starts its own
		wait_asleep
		transfer -t 0.4
		has_lock "$ZCS"
		jq -e '.end.remote.load_percent != null' out
		wait_until grep -q ' load ' zcs.out
		stop_zcs
	); done
	it 'zcs -c --user that SIGKILL ends leaves no soaker, nor its group'; ( begin
		start_parked --user nobody
		kill -KILL "$ZCS"
		ended "$SOAKER" || ended "$SOAKER"
		wait_until prints_nothing stale_group
	); ok
else
	skip 'zcs -c --user: zcs without privileges' 'needs root and the user nobody'
fi
[ -z "$LONG" ] || persistent 'a calibration of more than an hour ago: the load is unsafe, with one line for all clients'
while [ -n "$LONG" ] && again; do ( begin
	touch -d '61 minutes ago' counts_per_sec
	start_parked
	for client in 1 2; do
		transfer -t 0.5
		is_unsafe_for baseline_old
		wait_asleep
	done
	[ "$(grep -c '^zcs: the baseline is more than an hour old: the load is unsafe' zcs.err)" -eq 1 ]
	grep -Eq 'load -?[0-9.]+%\? ' zcs.out
	stop_zcs
); done
persistent 'a calibration of a busy machine: the load is unsafe'; while again; do ( begin
	made_up_calibration "$(machine_name)" 1500000 | awk '
		/^cpu / { $3 = 0.1 }
		{ line[NR] = $0 }
		/^cpu / { sum += (1 - $3) * $5 * $7 }
		END { line[1] = sprintf("%.0f", sum); for (i = 1; i <= NR; i++) print line[i] }' >counts_per_sec
	start_parked
	transfer -t 0.3
	is_unsafe_for baseline_busy
	grep -q '^zcs: the baseline was measured on a busy machine: the load is unsafe; start again, or run .cyclesoak -C., on the idle system$' zcs.err
	stop_zcs
); done
it 'zcs -c without a calibration measures the baseline again in each pause; SIGTERM meanwhile leaves nothing'; ( begin
	rm -f counts_per_sec
	start_parked
	begins_measuring
	wait_until counts -eq 1 threads_of "$ZCS"
	begins_measuring
	stop_parked
); ok
finish
