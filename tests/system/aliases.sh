#!/bin/sh
# zcc --request with the options of a connection, and what -d adds.
#
# seconds: 3
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc

start_zcs --reply
it 'zcc --request: each connection has -i -o --mss --nodelay --pace before it connects, and runs on -B; without them none'; ( begin
	need strace
	options='SO_RCVBUF, .100000\|SO_SNDBUF, .200000\|TCP_MAXSEG, .1000\|TCP_NODELAY, .1\|SO_MAX_PACING_RATE\|TCP_CONGESTION'
	exits 0 strace -f -o trace -e trace=setsockopt,connect,sched_setaffinity "$zcc" -s 0 -p "$PORT" --request 10 -n 3 -B 0 \
	    -i 100000 -o 200000 --mss 1000 --nodelay --pace 10m --congestion reno
	sed -n "s/.*\($options\).*/\1/p; s/.*connect(.*htons($PORT).*/connect/p" trace >order
	cat trace order
	[ "$(wc -l <order)" -eq 21 ]
	for n in 7 14 21; do
		[ "$(sed -n "$((n - 6)),${n}p" order | sort -u | wc -l)" -eq 7 ]
		[ "$(sed -n "${n}p" order)" = connect ]
	done
	grep -Eq 'sched_setaffinity\(0, [0-9]+, \[0( \.\.\.)?\]\)' trace
	exits 0 strace -f -o trace -e trace=setsockopt,connect,sched_setaffinity "$zcc" -s 0 -p "$PORT" --request 10 -n 2
	grep -q "htons($PORT)" trace
	not grep 'RCVBUF\|SNDBUF\|MAXSEG\|NODELAY\|PACING\|CONGESTION\|setaffinity' trace
); ok
it 'zcc --request -4: by IPv4 alone, -6: by IPv6 alone'; ( begin
	[ -e /proc/net/if_inet6 ] || skip_check 'no IPv6 here'
	for pair in '-4 -6' '-6 -4'; do
		start_zcs --reply "${pair% *}"
		exits 0 "$zcc" -s 0 "${pair% *}" -p "$PORT" --request 10 -n 2
		not grep failed out
		exits 1 "$zcc" -s 0 "${pair#* }" -p "$PORT" --request 10 -n 2
		grep -qx '  failed: 2 refused' out
	done
); ok

head -c 3000 /dev/zero >file
printf x >tiny
start_zcs --debug
it 'zcc -d: the environment, the address and the interface on stderr; -dd: each file, too; zcs --debug: each client'; ( begin
	while read -r each how; do
		exits 0 "$zcc" -s 0 -p "$PORT" $how -n 2 -P 2 file tiny
		grep -c '^zcc: environment: ' err
		[ "$(grep -cx "zcc: connected to 127.0.0.1:$PORT via lo" err)" -eq 1 ]
		for file in 'file: 3000 bytes' 'tiny: 1 bytes'; do [ "$(grep -cx "zcc: $file" err)" -eq $each ]; done
	done <<-END
		0 --debug
		4 -d --debug
	END
	cat zcs.err
	[ "$(grep -Ecx "zcs: 127\.0\.0\.1:[0-9]+: connected" zcs.err)" -eq 4 ]
	[ "$(wc -l <zcs.err)" -eq 5 ]
); ok
finish
