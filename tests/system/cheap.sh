#!/bin/sh
# Short clients of zcs, many of them: few readings of the host's counters, and threads that end.
#
# seconds: 6
. "$TOP/tests/lib.sh"

net=$HELPERS/net

clients() # COUNT SENDERS: that many clients of each sender
{
	timeout 60 "$net" clients "$PORT" "$2" "$1"
}

it '2,000 clients of four senders: no thread is left of them'; ( begin
	start_zcs
	clients 500 4 >rate
	wait_until counts -eq 1 threads_of "$ZCS"
	stop_zcs
); ok

# serves_traced CALLS N SENDERS: N clients of a server under strace; its calls are in the file trace
serves_traced()
{
	ON="strace -f -ttt -o trace -e trace=$1"
	start_zcs
	ON=
	clients "$2" "$3"
	tracee=$(sed -n '1s/ .*//p' trace)
	kill -TERM "$tracee"
	wait "$ZCS" || true
}
# With 256 CPUs a reading of /proc/stat takes longer than a client does: it is shared for 100 ms, so that the
# time limits how many there are, and not the clients.
it '600 clients: /proc/stat is read each 100 ms at most'; ( begin; need strace
	serves_traced openat 300 2
	awk '/"\/proc\/stat"/ { if (n++ == 0) first = $2; last = $2 }
		END { print n, "readings in", last - first, "s"; exit !(n > 0 && n <= (last - first) / 0.1 + 2) }' trace
); ok

printf '\0\0' >half
it 'clients that say nothing, or half a header, come between others: nobody waits for them'; ( begin
	start_zcs
	clients 100 2 >rate
	"$HELPERS/net" hold -n 20 -f half "$PORT" >held &
	remember $!
	clients 100 2 >rate
	wait_until grep -qx 'held 20' held
	clients 100 2 >rate
	[ "$(threads_of "$ZCS")" -ge 21 ]
	stop_zcs
); ok

# Connections that wait to be accepted belong to the group of those that are served meanwhile.
it 'tiny transfers of four streams, one after another: each is a group'; ( begin
	start_zcs
	printf x >tiny
	# A server that has had no CPU since it closed the last client would take the next into its group.
	for i in 1 2 3 4 5; do
		exits 0 "$BIN/zcc" -s 0 -p "$PORT" -P 4 tiny
		wait_until counts -eq $i grep -c '^total of 4 clients' zcs.out
	done
	stop_zcs
); ok

# Both clients have the same first reading, and the second of them rates all the same.
it 'two clients that begin at once: each receipt has the rates of its own time'; ( begin; need jq
	start_zcs
	head -c 100000 /dev/urandom >file
	for i in 1 2; do
		"$BIN/zcc" -s 0 -p "$PORT" --json -t 0.5 file >out.$i 2>err.$i &
		eval "p$i=$!"
		remember $!
	done
	wait $p1
	wait $p2
	cat out.1 out.2 err.1 err.2
	for i in 1 2; do
		jq -e '.end.remote | .interrupts_per_second > 0 and .packets_in_per_second > 0' out.$i
	done
	stop_zcs
); ok
finish
