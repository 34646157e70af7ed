#!/bin/sh
# What a short client costs zcs: few threads, few readings of the host's counters, no lookup of its route.
#
# seconds: 6
. "$TOP/tests/lib.sh"

accepts=$HELPERS/accepts

clients() # COUNT SENDERS: that many clients of each sender
{
	timeout 60 "$accepts" send "$PORT" "$2" 60 "$1"
}

# Five threads serve four senders at most: each waits for its receipt, and may be back before its thread is, which
# on a busy machine happens several times.
threads_kept()
{
	start_zcs
	clients 500 4 >rate &
	sends=$!
	remember $sends
	most=0
	while ! gone $sends; do
		n=$(threads_of "$ZCS")
		[ "$n" -le $most ] || most=$n
	done
	wait $sends
	echo "$most threads at most"
	[ $most -le 20 ]
	wait_until counts -eq 1 threads_of "$ZCS"
	stop_zcs
}
check '2,000 clients of four senders: threads are used again, and end when there is no client' threads_kept

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
# With 256 CPUs a reading of /proc/stat takes longer than a client does: it is shared for 10 ms, so that the
# time limits how many there are, and not the clients.
traced()
{
	serves_traced openat,socket,clone,clone3 300 2
	awk '/"\/proc\/stat"/ { if (n++ == 0) first = $2; last = $2 }
		END { print n, "readings in", last - first, "s"; exit !(n > 0 && n <= (last - first) / 0.01 + 10) }' trace
	[ "$(grep -c 'AF_NETLINK' trace)" -lt 60 ]
	[ "$(grep -c 'clone' trace)" -lt 60 ]
}
check_traced '600 clients: /proc/stat is read each 10 ms at most, and there are under 60 lookups of a route, 60 new threads' traced

# The thread of a client that was served accepts the next one, and is free again if that one sends nothing.
silent_keep_nobody()
{
	start_zcs
	clients 100 2 >rate
	"$HELPERS/hostile" hold -n 20 -f half "$PORT" >held &
	remember $!
	clients 100 2 >rate
	wait_until grep -qx 'held 20' held
	clients 100 2 >rate
	[ "$(threads_of "$ZCS")" -ge 21 ]
	stop_zcs
}
printf '\0\0' >half
check 'clients that say nothing, or half a header, come between others: nobody waits for them' silent_keep_nobody

# Connections that are open at the same time are a group, though one thread serves them in turn.
one_group()
{
	start_zcs
	printf x >tiny
	# A server that has had no CPU since it closed the last client would take the next into its group.
	for i in 1 2 3 4 5; do
		exits 0 "$BIN/zcc" -s 0 -p "$PORT" -P 4 tiny
		wait_until counts -eq $i grep -c '^total of 4 clients' zcs.out
	done
	stop_zcs
}
check 'tiny transfers of four streams, one after another: each is a group' one_group

# Both clients have the same first reading, and the second of them rates all the same.
rates_known()
{
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
}
check_with jq 'two clients that begin at once: each receipt has the rates of its own time' rates_known
finish
