#!/bin/sh
# Abusive clients against zcs in every mode: it serves others meanwhile, and its descriptors
# and memory return to where they started.  servers.sh has the abusive servers.
#
# group: sleeps
# seconds: 12
. "$TOP/tests/lib.sh"

net=$HELPERS/net
head -c 1000000 /dev/urandom >file
printf '\0\0' >half
u32 1 1 1000000 >header
{ u32 1 1 1000000; head -c 600000 /dev/zero; } >most # of a file: more than zcs waits for
u32 10 >asks
u32 16777216 >asks.16m
# A stream as zcc sends it: two loops of three files, 34 bytes.
{ u32 2; for loop in 1 2; do u32 3 5; printf hello; u32 0 12; printf 'hello, world'; done; } >stream
few=$PWD/few # where zcs may have few descriptors
mkdir few
printf '#!/bin/sh\nulimit -n 40\nexec "%s" "$@"\n' "$BIN/zcs" >few/zcs
chmod 755 few/zcs

# fds, rss: how many descriptors the server has, and KiB of memory
fds() { entries_in "/proc/$ZCS/fd"; }
rss() { sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$ZCS/status"; }

# idle: the server does not spin for half a second.  Others may have the CPUs, but one that spins gets a share.
idle()
{
	before=$(cpu_ns "$ZCS")
	sleep 0.5
	[ $(($(cpu_ns "$ZCS") - before)) -lt 20000000 ]
}

# What zcs may print of bad clients, each of which is on 127.0.0.0/8.
broken='(Connection reset by peer|Broken pipe|Too many open files)'
cut='closed (in the middle of a (header|file)|between two (files|loops)|in its warm-up)'
full='rejected: all places are taken \(--max-clients\)'
silent='(silent for|no whole header within) [0-9.]+ seconds \(--idle-timeout\)|dropped for a client of another address \(--max-clients\)'
of_client="(closed in the middle of its request|sent more than it announced|$full"
of_client="$of_client|requested [0-9]+ bytes?, more than --max-reply(: is it a zcc without --request\\?)?|$broken|$silent"
of_client="$of_client|($cut|$broken|$silent), after [0-9]+ bytes?|interrupted after [0-9]+ bytes?)"
of_all='listening on .*|[0-9]+ lines? about clients w(as|ere) omitted'
of_all="$of_all|accept: Too many open files; new clients wait until others leave"

# only_expected: on stderr there is nothing else, and no more than 20 lines about clients in 10 seconds
only_expected()
{
	not grep -Evx "zcs: ($of_all|127\.[0-9.]+:[0-9]+: $of_client)" zcs.err
	[ "$(grep -c "^zcs: 127\." zcs.err)" -le $((20 * (($(date +%s) - began) / 10 + 1))) ]
}

# start_mode MODE options...
start_mode()
{
	mode=$1 began=$(date +%s)
	shift
	ln -s ../file ../half ../header ../most ../asks* ../stream .
	case $mode in
	json) start_zcs --json -m trunc "$@" ;;
	raw) start_zcs --raw -m recv "$@" ;;
	reply) start_zcs --reply "$@" ;;
	*) start_zcs -m "$mode" "$@" ;;
	esac
	honest
	files=$(fds)
}
# honest: a transfer, or ten requests, are served in full
honest()
{
	case $mode in
	reply) "$zcc" -s 0 -p "$PORT" --request 10,100k -n 10 >out && not grep failed out ;;
	raw) "$zcc" -s 0 -p "$PORT" --raw file >out ;;
	*) "$zcc" -s 0 -p "$PORT" file >out && grep -q 'all bytes sent were received' out ;;
	esac
}
# recovers: it serves, and has the descriptors that it had at the start
recovers()
{
	wait_until counts -le "$files" fds
	honest
	only_expected
}

# attack ROUND: all there is, one after the other, each from an address of its own
attack()
{
	address=10
	for name in random deaf halves offsets ask-and-reset; do
		played=stream count=40
		[ $name != random ] || count=$(scale 40 1000)
		case $mode-$name in
		reply-deaf | reply-ask-*) played=asks.16m ;;
		reply-*) played=asks ;;
		esac
		"$net" $name -a 127.0.0.$address -f $played -n "$count" -s "$1" "$PORT"
		address=$((address + 1))
	done
}

# siege MODE: attacks, and honest clients as long as they go on; then those that stay
siege()
{
	start_mode "$1"
	for round in $(seq "$(scale 1 2)"); do
		attack "$round" &
		attackers=$!
		while not gone $attackers; do
			honest
			sleep 0.3
		done
		wait $attackers
	done
	# The C library keeps memory for as many threads as it has ever seen at the same time; a leak grows each time.
	for turn in 1 2 3 4 5; do
		least=$(rss)
		"$net" random -a 127.0.0.21 -n "$(scale 200 2000)" -s 7 "$PORT"
		[ "$mode" != reply ] || exits 0 "$zcc" -q -s 0 -p "$PORT" --request 1 -n 5000
		wait_until counts -le "$files" fds
		! sanitized && [ "$(rss)" -gt $((least + 160)) ] || break
	done
	sanitized || [ "$(rss)" -le $((least + 160)) ]
	sanitized || [ "$(rss)" -le 30000 ]
	recovers
	[ -z "$(cat "/proc/$ZCS/task"/*/children)" ]
	idle
	while read -r options; do
		hold_clients "held.$options" $options
	done <<-END
		-n 20 -f half
		-n 20 -f header
		-n 20 -f most
		-n 100
		-n 4 -f half -u 0
		-n 4 -f header -u 11
		-n 2 -f most -u 12
		-n 2 -f most -u 400000
	END
	[ "$(cat held.* | grep -c ^held)" -eq 8 ]
	honest
	idle
	stop_zcs
	only_expected
	is_text zcs.out
	[ "$mode" != json ] || ! command -v jq || jq . <zcs.out >/dev/null
}
unsent()
{
	ss -tinH "sport = :$PORT" | sed -n 's/.*notsent:\([0-9]*\).*/\1/p' >notsent
	lines_in notsent
}
# One that sends all and stays: zcs gives it ten seconds, after which this test comes back to it.
start_zcs
stays=$ZCS files=$(fds)
"$net" deaf -n 1 -d 600000 -f stream "$PORT" &
stayer=$!
remember $stayer

most_beside=16 # which wait
# A server with so many places, all of them taken from 127.0.0.1 by clients that send a byte now and then
while IFS=';' read -r places server client; do
	beside "zcs $server with $places clients that dribble: a client of another address is served"; ( begin
		start_zcs $server --max-clients "$places"
		hold_clients held -n "$places" -a 127.0.0.1 -f ../half -d 12000
		served() { timeout 20 "$zcc" -q -s 127.0.0.1 -p "$PORT" --bind 127.0.0.2 $client >out 2>err; }
		wait_until served
		[ -s out ]
		wait_until grep -q '^closed\|^said refused=full$' held # one of them has yielded
		kill "$HOLD" || : # it may have ended with its only client
		stop_zcs
	) & later
done <<'END'
1000;;-n 3 ../file
1;;-n 3 ../file
3;--reply --keep;--request 1000 -n 3 --keep
END
modes="zerocopy json raw reply $(scale '' 'read splice')" # recv and trunc have raw and json
[ -z "$LONG" ] || ! may_lock_much || modes="$modes $(receivers | grep "^uring")" # a hundred clients have 8 MiB
for mode in $modes; do
	beside "$mode: attacks, and clients that stay: others are served, memory and descriptors are freed, and nothing spins"
	( begin; siege $mode ) & later
done
beside 'more silent clients than descriptors: they wait, zcs does nothing, and recovers'; ( begin
	BIN=$few
	start_mode read --idle-timeout 0.5
	"$net" hold -n 80 -a 127.0.0.10 "$PORT" >told &
	remember $!
	wait_until grep -q 'accept: Too many open files; new clients wait until others leave' zcs.err
	idle
	wait $!
	[ "$(grep -cx closed told)" -eq 80 ]
	recovers
	[ "$(grep -c 'new clients wait until others leave' zcs.err)" -le 3 ]
	stop_zcs
) & later
beside 'reply: clients that are served do not wait where there are no descriptors for more'; ( begin
	BIN=$few
	start_mode reply --idle-timeout 0
	u32 16777216 | "$net" send "$PORT" | { wait_until grep -q 'new clients wait' zcs.err; wc -c >got; } &
	wait_until counts -gt "$files" fds
	"$net" hold -n 80 -a 127.0.0.10 "$PORT" >told &
	remember $!
	wait_until grep -qx 16777216 got
	not grep '^closed\|^said' told
	kill $!
	stop_zcs
) & later
beside 'reply: who asks for 16 MiB and takes nothing is let go; at most 128 KiB are kept unsent meanwhile'; ( begin; need ss
	start_mode reply --idle-timeout 3
	"$net" deaf -n 5 -f asks.16m -d 60000 "$PORT" &
	remember $!
	wait_until counts -eq 5 unsent
	[ "$(sort -n notsent | tail -n 1)" -le 131072 ]
	wait_until counts -eq 5 grep -c 'silent for 3 seconds' zcs.err
	recovers
	stop_zcs
) & later
together
it 'who does not read the receipt and stays is let go after ten seconds'; ( begin
	ZCS=$stays
	wait_until counts -le "$files" fds
	not gone $stayer
	[ "$(summaries '^127.* 34 bytes in')" -eq 1 ]
	one_line zcs.err
	kill "$ZCS"
); ok

finish
