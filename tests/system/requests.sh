#!/bin/sh
# Requests: zcc --request and zcs --reply, each against the other and against the protocol of 1999.
#
# group: waits
# seconds: 12
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc zcs=$BIN/zcs

# start_server [-2 | -d | -f | -h | -R | -q]: the tests' own; sets PORT
start_server()
{
	: >server.out
	"$HELPERS/net" reply "$@" >server.out 2>&1 &
	remember $!
	wait_until grep -q "^port" server.out
	PORT=$(sed -n 's/^port //p' server.out)
}

# The first line of a size: bytes, seconds, kilobytes, connections and kilobytes a second.
line='bytes +[0-9.]+s +[0-9.]+KiB +[0-9.]+conn/s +[0-9.]+KiB/s$'

start_zcs --reply
it 'a client of 1999 gets what it asks for'; ( begin
	"$HELPERS/net" ask "$PORT" 50 723 >out
	"$HELPERS/net" ask "$PORT" 3 1000000 >>out
	"$HELPERS/net" ask "$PORT" 5 0 >>out
	cat out
	printf "bytes 36150\nbytes 3000000\nbytes 0\n" | diff - out
); ok
it 'a request that comes a byte at a time is served, and one for nothing'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --request 0 -n 5
	grep -Eq "^0 $line" out
	u32 100 | "$HELPERS/net" send -d 5 -k "$PORT" >got
	[ "$(wc -c <got)" -eq 100 ]
); ok
it 'zcc: a line for each size as in 1999, and the latencies'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --request 10,1k,100k -n 50
	grep -Ec "^(10|1024|102400) $line" out | grep -qx 3
	grep -Eq "^1024 bytes .* 50\.00KiB " out
	for what in connect "first byte" total; do
		[ "$(grep -Ec "^    $what, ms( +[0-9.]+){5}$" out)" -eq 3 ]
	done
	[ "$(grep -c "^requests of  *seconds  *received  *connections  *throughput$" out)" -eq 1 ]
	no_wider 80 out
); ok
# The classes of the histogram are 1/32 wide, and a column has three decimals.
it 'zcc: one request has one latency, which is each percentile and the maximum'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --request 10 -n 1
	awk '/^    (connect|first byte|total), ms / {
			off = $NF - $(NF - 1)
			bad += $(NF - 4) != $(NF - 1) || $(NF - 3) != $(NF - 1) || $(NF - 2) != $(NF - 1) || off < -0.001 || off > $NF / 50 + 0.001
			n++
		} END { exit n != 3 || bad }' out
); ok
it 'zcc -P: many at a time are as many in all'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --request 1000 -n 200 -P 8
	grep -q " 195\.31KiB " out
); ok
it 'zcc -t: for that long'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --request 10 -t 0.3 -q
	# A busy machine may stall by itself.
	grep -v "^  STALLED: \|^  open at the end, " out >line
	one_line line
); ok
served=$((58 + 1 + 150 + 200 + 5))
# One that the end of -t cuts off is a broken one.
it 'zcs reports what it served when it ends, exit 0'; ( begin
	kill -TERM "$ZCS"
	ended "$ZCS"
	cat zcs.out
	n=$(sed -n "s/^total: \([0-9]*\) replies, .*; 0 refused, 0 silent, 0 too large, [0-9]* broken$/\1/p" zcs.out)
	[ "$n" -gt $served ]
); ok
wait "$ZCS"
check 'zcs --reply: exit status 0 at the end' [ $? -eq 0 ]

start_server
it 'zcc with a server of 1999'; ( begin
	exits 0 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10,723,724,1024 -n 100
	[ "$(grep -Ec "$line" out)" -eq 4 ]
	grep -Eq "^1024 bytes .* 100\.00KiB " out
	not grep failed out
); ok

# The greeting has to come before the request goes out: then the client delays acknowledgements.
start_server -2
late="strace -f -o /dev/null -e trace=sendto -e inject=sendto:delay_enter=5000"
it 'a stall of delayed acknowledgements shows at a glance'; ( begin; need strace
	exits 0 $late "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -n 10
	no_wider 80 out
	grep -Eqx "  STALLED: [1-9][0-9]* of 10 connections, [0-9.]+%" out
	grep -Eqx "    after the first byte: ([2-9]|10), median [0-9.]+ ms, maximum [0-9.]+ ms" out
	grep -Eqx "    40 to 60 ms .*: a delayed acknowledgement.*" out
	not grep "^  no connection of" out
	exits 0 $late "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -n 10 -q
	[ "$(grep -c "^  STALLED: " out)" -eq 1 ]
	[ "$(wc -l <out)" -eq 2 ]
	exits 0 $late "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -n 10 --json
	grep -Eq '"stalls":\{"connections":[1-9]' out
	grep -Eq '"data":\{"connections":[1-9]' out
); ok
# While the accept queue is full the kernel drops SYNs, which are sent again a second later.
start_server -f
busy=$PORT
start_zcs --reply
PORT=$busy
it 'a connection whose SYN is dropped has stalled while connecting'; ( begin
	exits 0 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -n 6 -P 6
	no_wider 80 out
	grep -Eqx "  STALLED: [1-6] of 6 connections, [0-9.]+%" out
	grep -Eqx "    connecting: [1-6], .* ms" out
	grep -Eqx "    before the first byte: [1-6], .* ms" out
	grep -Eqx "    1 s or more \([1-6]\): a lost SYN, .*" out
	grep -Eqx "    this host retransmitted [1-9][0-9]* segments, of which SYNs: [1-9][0-9]*" out
	exits 0 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -n 6 -P 6 --json
	grep -Eq '"connecting":\{"connections":[1-6],"seconds":\{"p50":' out
	grep -Eq '"host_tcp":\{"retransmits":[1-9][0-9]*,"syn_retransmits":[1-9]' out
); ok
it 'zcs --reply reports at the end that the host sent SYNs again, and why'; ( begin
	kill -TERM "$ZCS"
	ended "$ZCS"
	cat zcs.out
	grep -Eqx "this host retransmitted [1-9][0-9]* segments, of which SYNs: [1-9][0-9]*; accept queue full: [1-9][0-9]*" zcs.out
); ok
# The server is busy with aborted connections for a while: each run has its own.
start_server -f
it 'zcc -t: connections that are open at the end have a line, or keys'; ( begin
	exits 0 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -t 0.7 -P 6
	grep -Eqx "  open at the end, not counted: [1-6], the oldest for [0-9.]+ ms, stalled: [0-6]" out
	start_server -f
	exits 0 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -t 0.7 -P 6 --json
	grep -Eq '"open_at_end":[1-6],"open_at_end_stalled":[0-6],"open_at_end_seconds":' out
); ok
start_server -q
it 'zcc -q: connections that have stalled until the end have a line'; ( begin
	exits 1 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -t 0.3 -q
	grep -Eqx "  open at the end, not counted: 1, the oldest for [0-9.]+ ms, stalled: 1" out
	grep -q "none of the connections succeeded: is there a zcs --reply?$" err
); ok
start_server
# The main thread, which sees pauses, wakes twice.
main_wakes()
{
	slept=$(times_slept)
	wait_until counts -gt $((slept + 1)) times_slept
}
times_slept()
{
	sed -n 's/^voluntary_ctxt_switches:.//p' "/proc/$p/task/$p/status"
}
it 'zcc --json: a pause of zcc itself is counted'; ( begin
	"$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -t 60 --json >out &
	p=$!
	remember $p
	wait_until or_gone $p counts -gt 1 threads_of $p
	main_wakes
	kill -STOP $p
	wait_until prints T stat_field $p 3
	sleep 0.1
	kill -CONT $p
	main_wakes
	kill -TERM $p
	wait $p || true
	cat out
	grep -Eq '"pauses":\{"count":[1-9][0-9]*,"max":0\.[0-9]+\}' out
); ok

# What fails is counted.
start_server -R
it 'zcc --request ends after three failures before any success'; ( begin
	for how in "--request 10 -n 50" "--request 10,20,30 -n 1" "--request 10,20 -t 60"; do
		exits 1 timeout 20 "$zcc" -s 127.0.0.1 -p "$PORT" $how
		not grep "^  no connection of" out
		sed -n "s/^  failed: \([0-9]*\) reset by the server$/\1/p" out | awk '{ n += $1 } END { exit n != 3 }'
		one_line err
		grep -qx "zcc: 127.0.0.1 port $PORT: the first connections failed, reset by the server: is there a zcs --reply?" err
	done
); ok
start_server -q
it 'zcc --request -P 8 ends after three failures and does not wait for the others'; ( begin
	exits 1 timeout 20 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10,20 -n 500 -P 8 --timeout 0.3
	n=$(sed -n "s/^  failed: \([0-9]*\) timed out$/\1/p" out)
	[ "$n" -ge 3 ] && [ "$n" -le 10 ]
	one_line err
); ok
start_zcs
it 'zcs without --reply is not asked a hundred times'; ( begin
	exits 1 timeout 20 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 --timeout 0.3
	grep -Eq "^  failed: (1 timed out|3 )" out
	grep -q "is there a zcs --reply?$" err
); ok
stop_zcs
start_zcs --reply
it 'zcc without --request: both ends name --reply and --request'; ( begin
	exits 1 timeout 20 "$zcc" -s 127.0.0.1 -p "$PORT" -t 5 --congestion reno
	grep -Eqx "zcc: 127.0.0.1:$PORT: the server (closed|reset) the connection after [0-9]+ bytes?: is it a zcs --reply\?" err
	wait_until grep -q "more than --max-reply: is it a zcc without --request?$" zcs.err
); ok
stop_zcs
start_zcs --reply --max-reply 1000
it 'failures after a success are counted until the end'; ( begin
	exits 0 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10,2000,10 -n 20
	[ "$(grep -c "^  failed: 20 " out)" -eq 1 ]
	[ "$(grep -Ec "$line" out)" -eq 3 ]
); ok
stop_zcs
start_server -h
it 'zcc --request: a reply of half the length is counted as a failure'; ( begin
	exits 1 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -n 5
	grep -qx "  failed: 3 with a length other than requested" out
); ok
start_server -q
it '--timeout: a server that sends nothing'; ( begin
	exits 1 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -n 2 --timeout 0.1
	grep -qx "  failed: 1 timed out" out
); ok
start_server -p # up to 11.7 ms before the first byte
it 'zcc --request: where some connections timed out, no line says that none stalled'; ( begin
	exits 0 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -n 80 --timeout 0.005
	grep -Eq '^  failed: [1-9][0-9]* timed out' out
	not grep 'no connection of' out
); ok
start_zcs
stop_zcs
it 'zcc --request: connections that are refused are counted as that'; ( begin
	exits 1 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10,20 -n 5
	[ "$(grep -cx "  failed: 3 refused" out)" -eq 1 ]
); ok
title='local ports that run out, before or after a success: each failure is counted, and few are made'
if [ -n "$OWN_NETWORK" ]; then
	it "$title"; ( begin
		range=/proc/sys/net/ipv4/ip_local_port_range
		were=$(cat $range)
		start_server -q
		echo 40000 40001 >$range
		timeout 20 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -n 8 -P 8 --timeout 0.5 >out 2>&1 || :
		cat out
		echo "$were" >$range
		grep -Eq "^  failed: [1-8] for lack of local ports$" out
		start_server
		echo 40000 40001 >$range
		timeout 20 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -t 0.5 -P 8 >out 2>&1 || :
		cat out
		echo "$were" >$range
		failures=$(sed -n 's/^  failed: \([0-9]*\) for lack of local ports$/\1/p' out)
		[ "$failures" -ge 1 ]
		[ "$failures" -le 1000 ]
	); ok
else
	skip "$title" 'needs root, ip(8) and network namespaces'
fi

# A server that has gone, after a first success
if [ -n "$OWN_NETWORK" ]; then
	it 'zcc --request: connections that cannot be made keep no descriptor'; ( begin
		start_zcs --reply
		"$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -t 60 --json >out 2>err &
		client=$!
		remember $client
		wait_until counts -gt 1 threads_of $client
		fds=$(entries_in /proc/$client/fd)
		tries()
		{
			sed -n '/^Tcp:/{n;s/^Tcp: [0-9-]* [0-9-]* [0-9-]* [0-9-]* \([0-9]*\) .*/\1/p;q}' /proc/net/snmp
		}
		sleep 0.1
		stop_zcs
		opened=$(tries)
		wait_until counts -gt $((opened + 300)) tries
		ls -l /proc/$client/fd
		[ "$(entries_in /proc/$client/fd)" -le $((fds + 2)) ]
		kill -TERM $client
		ended $client
		grep -q '"refused":[1-9]' out
	); ok
fi
# Bounds.
start_zcs --reply
it 'zcs --reply: a request for 16 MiB is served, and one for a byte more is not'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno --request 16m -n 1
	exits 1 "$zcc" -s 0 -p "$PORT" --congestion reno --request 16777217 -n 1
	wait_until grep -q "requested 16777217 bytes, more than --max-reply" zcs.err
	start_zcs --reply --max-reply 4g
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno --request 16777217 -n 1
	stop_zcs
); ok
stop_zcs
began=$(date +%s)
start_zcs --reply --max-reply 1000 --max-clients 3 --idle-timeout "${SLOW:-1}"
it 'zcs --max-reply: a request for more has no reply, and a line on stderr'; ( begin
	"$HELPERS/net" ask "$PORT" 1 1000 | grep -qx "bytes 1000"
	"$HELPERS/net" ask "$PORT" 1 1001 | grep -qx "bytes 0"
	wait_until grep -q "requested 1001 bytes, more than --max-reply" zcs.err
); ok
"$HELPERS/net" hold -n 2 "$PORT" >held.out &
remember $!
it 'zcs --reply --idle-timeout: silent clients are dropped, and others served again'; ( begin
	wait_until grep -q closed held.out
	met()
	{
		"$HELPERS/net" ask "$PORT" 1 10 2>/dev/null | grep -qx "bytes 10"
	}
	wait_until met
); ok
it 'zcs --reply: 50 bad clients: at most 20 lines in ten seconds, and all of them are counted'; ( begin
	"$HELPERS/net" ask "$PORT" 50 1001
	stop_zcs || true
	cat zcs.err zcs.out
	[ "$(grep -c "^zcs: 127" zcs.err)" -ge 20 ]
	[ "$(grep -c "^zcs: 127" zcs.err)" -le $((20 * (($(date +%s) - began) / 10 + 1))) ]
	grep -Eq "^total: .*; [0-9]+ refused, 2 silent, [1-9][0-9]* too large, [0-9]+ broken$" zcs.out
	# On a busy machine the next client may come before both places are free again: it is refused.
	[ "$(sed -n 's/^total: .*; \([0-9]*\) refused, .* \([0-9]*\) too large, .*/\1 + \2/p' zcs.out | xargs expr)" -ge 51 ]
); ok
start_zcs --reply -I 0.02
it 'zcs --reply -I: nothing before the first client, and zeros while one waits'; ( begin
	sleep 0.1
	not [ -s zcs.out ]
	hold_clients held -n 1
	wait_until grep -Eqx '0 kbytes/sec \(0\.000 Gbit/s\), [0-9.]+-[0-9.]+ s, 0 replies/s' zcs.out
	kill "$HOLD"
); ok
long 'zcs --reply -I: the zeros end some seconds after the last client' && ( begin
	prints_no_more()
	{
		n=$(lines_in zcs.out)
		sleep 0.3
		[ "$(lines_in zcs.out)" -eq "$n" ]
	}
	wait_until prints_no_more
); ok
stop_zcs
start_zcs --reply --json
it 'zcs --json: counts'; ( begin
	"$HELPERS/net" ask "$PORT" 7 10
	kill -TERM "$ZCS"
	ended "$ZCS"
	grep -q '"bytes":70,.*"replies":7,.*"silent":0' zcs.out
); ok

# Lists of sizes.
head -c 1000 /dev/zero >thousand
start_zcs
it '-b with a list: a run of each size, with buffers of it, in a table'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" -S -b 1,10,1k -r 1 thousand
	[ "$(grep -Ec "^send +(1|10|1k) +[0-9,]+$" out)" -eq 3 ]
	# Where the machine is slow, intervals have lines besides.
	wait_until counts -eq 3 grep -c ^127 zcs.out
	exits 0 "$zcc" -s 0 -p "$PORT" -S -b 1,10,1k -r 1 thousand --json
	sed '/"comparison"/d; s/.*"sum_sent"[^}]*"calls":\([0-9]*\),.*/\1/' out >calls
	printf "1000\n100\n1\n" | diff - calls
); ok
stop_zcs

it 'zcc --request: an error has the % of an address with a zone'; ( begin
	exits 1 "$zcc" -s 'fe80::1%lo' -p 9 --request 10 -n 1
	grep -q '^zcc: fe80::1%lo port 9: ' err
); ok
it 'zcc --request on a terminal: a line of progress counts the connections'; ( begin; need script
	start_zcs --reply
	SHELL=/bin/sh script -qec "\"$zcc\" -s 0 -p $PORT --request 10 -t 1 >report" typescript </dev/null >/dev/null
	stop_zcs
	cat -v typescript
	tr '\r' '\n' <typescript | grep -q '^10 bytes: [1-9][0-9]* connections'
); ok
while IFS=';' read -r pattern args; do
	check_usage "$pattern" $args
done <<'END'
'file';zcc -s 0 --request 10 file
--request: no value;zcc -s 0 --request ,,
--request.*not between;zcc -s 0 --request 4g
--request and --raw cannot be used together;zcc -s 0 --request 10 --raw
--request and -b, -l, --buffer-size cannot;zcc -s 0 --request 10 -b 10
--reply and -1, --once cannot be used together;zcs --reply -1
END
finish
