#!/bin/sh
# Short clients of zcs, many of them: few readings of the host's counters, and threads that end.
#
# seconds: 3
. "$TOP/tests/lib.sh"

# clients COUNT SENDERS: that many clients of each sender
clients() { timeout 60 "$HELPERS/net" clients "$PORT" "$2" "$1"; }

it '1,200 clients, and 20 that say half a header: nobody waits for them, and no other thread is left'; ( begin
	start_zcs
	clients 100 4 >rate
	printf '\0\0' >half
	hold_clients held -n 20 -f half
	clients 200 4 >rate
	wait_until counts -eq 21 threads_of "$ZCS"
	stop_zcs
); ok
# With 256 CPUs a reading of /proc/stat takes longer than a client does: it is shared for 100 ms, so that the
# time limits how many there are, and not the clients.
it '300 clients: /proc/stat is read each 100 ms at most'; ( begin; need strace
	ON='strace -f -ttt -o trace -e trace=openat'
	start_zcs
	clients 150 2 >rate
	kill -TERM "$(sed -n '1s/ .*//p' trace)"
	wait "$ZCS" || true
	awk '/"\/proc\/stat"/ { if (n++ == 0) first = $2; last = $2 }
		END { print n, "readings in", last - first, "s"; exit !(n > 0 && n <= (last - first) / 0.1 + 2) }' trace
); ok
# Connections that wait to be accepted belong to the group of those that are served meanwhile; a server that has had
# no CPU since it closed the last client would take the next into its group.
it 'tiny transfers of four streams, one after another: each is a group'; ( begin
	start_zcs
	printf x >tiny
	for i in 1 2 3; do
		exits 0 "$BIN/zcc" -s 0 -p "$PORT" -P 4 tiny
		wait_until counts -eq $i grep -c '^total of 4 clients' zcs.out
	done
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
