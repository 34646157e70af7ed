#!/bin/sh
# Options in combinations that no other test has: zcc --request with the options of a
# connection, and what -d adds.
#
# seconds: 3
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc
head -c 3000 /dev/zero >file
printf x >tiny

start_zcs --reply
it 'zcc --request: each connection has -i -o --mss --nodelay --pace before it connects, and without them none'; ( begin; need strace
	options='SO_RCVBUF, .100000\|SO_SNDBUF, .200000\|TCP_MAXSEG, .1000\|TCP_NODELAY, .1\|SO_MAX_PACING_RATE\|TCP_CONGESTION'
	exits 0 strace -f -o trace -e trace=setsockopt,connect "$zcc" -s 0 -p "$PORT" --request 10 -n 3 -i 100000 -o 200000 \
	    --mss 1000 --nodelay --pace 10m --congestion reno
	sed -n "s/.*\($options\).*/\1/p; s/.*connect(.*htons($PORT).*/connect/p" trace >order
	cat trace order
	[ "$(wc -l <order)" -eq 21 ]
	for n in 7 14 21; do
		[ "$(sed -n "$((n - 6)),${n}p" order | sort -u | wc -l)" -eq 7 ]
		[ "$(sed -n "${n}p" order)" = connect ]
	done
	exits 0 strace -f -o trace -e trace=setsockopt,connect,sched_setaffinity "$zcc" -s 0 -p "$PORT" --request 10 -n 2
	grep -q "htons($PORT)" trace
	not grep 'RCVBUF\|SNDBUF\|MAXSEG\|NODELAY\|PACING\|CONGESTION\|setaffinity' trace
); ok
stop_zcs

# What is bound is seen while a server keeps the requests waiting.
it 'zcc --request -B: the requests run on that CPU, and two threads on one CPU each'; ( begin
	for cpus in 0 0,1; do
		[ $cpus = 0 ] || [ "$(cpus_of $$)" = 0-1 ] || break
		"$HELPERS/net" reply -q >server.out &
		remember $!
		wait_until grep -q ^port server.out
		"$zcc" -s 127.0.0.1 -p "$(sed -n 's/^port //p' server.out)" --request 10 -P $((1 + ${cpus#*,})) -B $cpus -t 60 >out 2>err &
		sender=$!
		remember $sender
		met()
		{
			[ "$(cpus_of "$sender" | tail -n +2 | paste -s -d ,)" = "$cpus" ]
		}
		wait_until met
		kill -TERM $sender
		ended $sender
	done
); ok
it 'zcc --request -4: by IPv4 alone, -6: by IPv6 alone'; ( begin
	[ -e /proc/net/if_inet6 ] || skip_check 'no IPv6 here'
	for pair in '-4 -6' '-6 -4'; do
		start_zcs --reply "${pair% *}"
		exits 0 "$zcc" -s 0 "${pair% *}" -p "$PORT" --request 10 -n 2
		not grep failed out
		exits 1 "$zcc" -s 0 "${pair#* }" -p "$PORT" --request 10 -n 2
		grep -qx '  failed: 2 refused' out
		stop_zcs
	done
); ok

start_zcs --debug
it 'zcc -d: the environment, the address and the interface on stderr; -dd: each file that a stream has sent'; ( begin
	while read -r each how; do
		exits 0 "$zcc" -s 0 -p "$PORT" $how -n 2 -P 2 file tiny
		grep -c '^zcc: environment: ' err
		grep -v 'took less than half a second\|^zcc: environment: ' err | sort >lines
		{
			echo "zcc: connected to 127.0.0.1:$PORT via lo"
			for n in $(seq "$each"); do echo 'zcc: file: 3000 bytes'; done
			for n in $(seq "$each"); do echo 'zcc: tiny: 1 bytes'; done
		} | diff - lines
	done <<-END
		0 -d
		0 --debug
		4 -dd
		4 --debug --debug
		4 -d -d -d
	END
); ok
it 'zcs --debug: a line for each client that connects, and without it none'; ( begin
	cat zcs.err
	[ "$(grep -Ecx "zcs: 127\.0\.0\.1:[0-9]+: connected" zcs.err)" -eq 10 ]
	[ "$(wc -l <zcs.err)" -eq 11 ]
	start_zcs --once
	exits 0 "$zcc" -s 0 -p "$PORT" tiny
	wait "$ZCS"
	one_line zcs.err
); ok
stop_zcs
finish
