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

# Five threads serve four senders at most: each waits for its receipt, and may be back before its thread is.
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
	[ $most -le 10 ]
	wait_until counts -eq 1 threads_of "$ZCS"
	stop_zcs
}
check '2,000 clients of four senders: threads are used again, and end when there is no client' threads_kept

traced()
{
	ON='strace -f -o trace -e trace=openat,socket,clone,clone3'
	start_zcs
	ON=
	clients 1000 1
	tracee=$(sed -n '1s/ .*//p' trace)
	kill -TERM "$tracee"
	wait "$ZCS" || true
	[ "$(grep -c '"/proc/stat"' trace)" -lt 300 ]
	[ "$(grep -c '"/proc/stat"' trace)" -gt 0 ]
	[ "$(grep -c 'AF_NETLINK' trace)" -lt 100 ]
	[ "$(grep -c 'clone' trace)" -lt 100 ]
}
check_traced '1,000 clients: under 300 readings of /proc/stat, 100 lookups of a route, 100 new threads' traced

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
