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

echo 'ulimit -n 40; exec "$@"' >few

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

# only_expected: of bad clients, each of which is on 127.0.0.0/8, it has printed nothing else, and 20 lines in 10 seconds
of_client='closed |between |sent more than|requested |rejected: |silent for|no whole header|dropped |interrupted |Connection reset|Broken'
only_expected()
{
	not grep -Ev "^zcs: (listening on|[0-9]+ lines? about|accept: Too many open files|127\.[0-9.]+:[0-9]+: ($of_client))" zcs.err
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

# siege MODE: attacks, and honest clients as long as they go on; then those that stay
siege()
{
	start_mode "$1"
	case $mode in reply) asks=asks deaf=asks.16m ;; *) asks=stream deaf=stream ;; esac
	for attack in "random -n $(scale 40 1000) -s $(new_seed)" "deaf -n 40 -f $deaf" "offsets -f $asks"; do
		"$net" $attack "$PORT"
	done &
	attackers=$!
	while not gone $attackers; do
		honest
		sleep 0.3
	done
	wait $attackers
	# The C library keeps memory for as many threads as it has ever seen at the same time; a leak grows each time.
	for turn in 1 2 3 4 5; do
		least=$(rss)
		"$net" random -n "$(scale 200 2000)" -s 7 "$PORT"
		[ "$mode" != reply ] || exits 0 "$zcc" -q -s 0 -p "$PORT" --request 1 -n 5000
		wait_until counts -le "$files" fds
		! sanitized && [ "$(rss)" -gt $((least + 160)) ] || break
	done
	sanitized || [ "$(rss)" -le $((least + 160)) ]
	recovers
	for options in '-f half' '-f header' '-f most' ''; do
		hold_clients "held.$options" -n 40 $options
	done
	[ "$(cat held.* | grep -c ^held)" -eq 4 ]
	honest
	idle
	stop_zcs
	only_expected
	is_text zcs.out
}

most_beside=16 # which wait
modes="zerocopy json raw reply $(scale '' 'read splice')" # recv and trunc have raw and json
[ -z "$LONG" ] || ! may_lock_much || modes="$modes $(receivers | grep "^uring")" # a hundred clients have 8 MiB
for mode in $modes; do
	beside "$mode: attacks, and clients that stay: others are served, memory and descriptors are freed, and nothing spins"
	( begin; siege $mode ) & later
done
for mode in read reply; do
	beside "$mode: more silent clients than descriptors: they wait, zcs does nothing, and recovers"; ( begin
		ON='sh ../few'
		start_mode $mode --idle-timeout 0.5
		"$net" hold -n 80 "$PORT" >told &
		remember $!
		wait_until grep -q 'accept: Too many open files; new clients wait until others leave' zcs.err
		idle
		wait $!
		[ "$(grep -cx closed told)" -eq 80 ]
		recovers
		[ "$(grep -c 'new clients wait until others leave' zcs.err)" -le 3 ]
		stop_zcs
	) & later
done
beside 'zcs: urgent bytes are bytes of the stream'; ( begin; need python3
	start_zcs
	python3 -c 'import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(bytes([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 6]) + b"abc")
s.send(b"d", socket.MSG_OOB)
s.sendall(b"ef")
s.shutdown(socket.SHUT_WR)
print(s.recv(9999).decode())' "$PORT" >told
	grep '^bytes=6 ' told
) & later

beside 'reply: who asks for 16 MiB and takes nothing is let go; at most 128 KiB are kept unsent meanwhile'; ( begin; need ss
	start_mode reply --idle-timeout 3
	"$net" deaf -n 5 -f asks.16m -d 60000 "$PORT" &
	remember $!
	unsent() { ss -tinH "sport = :$PORT" | sed -n 's/.*notsent:\([0-9]*\).*/\1/p' >notsent && lines_in notsent; }
	wait_until counts -eq 5 unsent
	[ "$(sort -n notsent | tail -n 1)" -le 131072 ]
	wait_until counts -eq 5 grep -c 'silent for 3 seconds' zcs.err
	recovers
	stop_zcs
) & later
together
finish
