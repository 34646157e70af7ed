#!/bin/sh
# Short clients of zcs, many of them: readings of the host's counters that they share, and threads that end.
#
# seconds: 3
. "$TOP/tests/lib.sh"

# clients COUNT: that many clients of each of four senders, which have addresses and so ports of their own
clients() { seq 4 | timeout 60 xargs -P 4 -I N "$HELPERS/net" visit -a 127.0.0.N -f tiny -n "$1" "$PORT"; }
{ u32 1 1 50; head -c 50 /dev/zero; } >tiny

it '1,200 clients, and 20 that say half a header: nobody waits for them, and no other thread is left'; ( begin
	start_zcs
	clients 100
	printf '\0\0' >half
	hold_clients held -n 20 -f half
	clients 200
	wait_until counts -eq 21 threads_of "$ZCS"
	stop_zcs
); ok
# Both clients have the same first reading, and the second of them rates all the same.
it 'two clients that begin at once: each receipt has the rates of its own time'; ( begin; need jq
	start_zcs
	"$BIN/zcc" -s 0 -p "$PORT" --json -t 0.4 >out.1 2>err &
	remember $!
	exits 0 "$BIN/zcc" -s 0 -p "$PORT" --json -t 0.4
	wait $!
	jq -es 'length == 2 and all(.[].end.remote; .interrupts_per_second > 0 and .packets_in_per_second > 0)' out.1 out
	stop_zcs
); ok
finish
