#!/bin/sh
# Requests: zcc --request and zcs --reply, each against the other and against the protocol of 1999.
#
# group: sleeps
# seconds: 5
. "$TOP/tests/lib.sh"

# asks STATUS options...: zcc, of $PORT
asks()
{
	want=$1
	shift
	exits "$want" command timeout -k 2 $((20 * ${SLOW:-1})) "$zcc" -s 127.0.0.1 -p "$PORT" --congestion reno "$@"
}

beside 'zcs --reply: a client of 1999 gets what it asks for; -I has zeros while one waits; interrupted, zcs exits with 0'; ( begin
	start_zcs --reply -I 0.02
	hold_clients held -n 1
	wait_until grep -Eqx ' +[0-9.]+-[0-9.]+ +0 +0\.00 Mbit/s +0' zcs.out
	kill $HOLD
	"$HELPERS/net" ask "$PORT" 50 723 >got
	"$HELPERS/net" ask "$PORT" 3 1000000 >>got
	"$HELPERS/net" ask "$PORT" 5 0 >>got
	printf "bytes 36150\nbytes 3000000\nbytes 0\n" | diff - got
	u32 100 | "$HELPERS/net" send -d 5 -k "$PORT" >got
	[ "$(wc -c <got)" -eq 100 ]
	stop_zcs
	grep -x 'total: 59 replies, 3036250 bytes; 0 rejected, 0 silent, 0 too large, [0-9]* broken' zcs.out
) & later
beside 'zcc --request: a line for each size and its latencies, the title; with -q the line alone; a server of 1999 is one'; ( begin
	start_zcs --reply
	asks 0 --request 0,10,1k,100k -n 50 -T 'a label'
	no_wider 80 out
	grep -qx '  title: a label' out
	grep -Ec "^(0|10|1024|102400) bytes +[0-9.]+ s +[0-9.]+ KiB +[0-9.]+ conn/s +[0-9.]+ KiB/s$" out | grep -qx 4
	for what in connect total; do [ "$(grep -Ec "^    $what, ms( +[0-9.]+){5}$" out)" -eq 4 ]; done
	asks 0 --request 10 -t 0.2 -q
	# A busy machine may stall by itself.
	grep -v "^  STALLED: \|^  open at the end, " out >lines
	one_line lines
	start_peer reply
	asks 0 --request 10,723,724,1024 -n 100
	grep -Eq "^1024 bytes .* 100\.00 KiB " out
	not grep failed out
) & later
# While the accept queue is full the kernel drops SYNs, which are sent again a second later.
beside 'a connection whose SYN is dropped has stalled while connecting, and zcs --reply reports the host'; ( begin
	start_zcs --reply
	start_peer reply -f
	asks 0 --request 10 -n 6 -P 6
	grep -Eqx "  STALLED: [1-6] of 6 connections, [0-9.]+%" out
	grep -Eqx "    connecting: [1-6], .* ms" out
	grep -Eqx "    before the first byte: [1-6], .* ms" out
	sent_again="this host retransmitted [1-9][0-9]* segments, of which SYNs: [1-9][0-9]*"
	grep -Eqx "    $sent_again" out
	stop_zcs
	grep -Eqx "$sent_again; accept queue full: [1-9][0-9]*" zcs.out
) & later
beside 'zcc --request -t ends though the server never answers, and counts what is open'; ( begin; need jq
	start_peer reply
	kill -STOP $PEER
	asks 1 --request 0 -t 0.3 -P 2 --timeout 0
	grep -Eqx "  open at the end, not counted: 2, the oldest for [0-9.]+ ms, stalled: 2" out
	asks 1 --request 10 -t 0.3 -P 2 --timeout 0 --json
	grep -q "none of the connections succeeded: is there a zcs --reply?$" err
	grep -q '"open_at_end":2,"open_at_end_stalled":2,"open_at_end_seconds":' out
) & later
beside 'zcc --request --json: a pause of zcc itself is counted, each interval has its own longest; zcs --reply --json: its replies are'; ( begin; need jq
	start_zcs --reply --json
	start_zcc held --request 10 -t 60 --json -I 0.01
	wait_until counts -gt 1 threads_of $held
	sleep 0.1
	kill -STOP $held
	wait_until prints T stat_field $held 3
	sleep 0.2
	used=$(cpu_ns $held)
	kill -CONT $held
	wait_until counts -gt $((used + 20000000)) cpu_ns $held
	zcc_ends held 143 TERM
	stop_zcs
	grep -Eq '"pauses":\{"count":[1-9][0-9]*,"max":[0-9]+\.[0-9]+\}' held.out
	jq -e '[.. | .longest_seconds? // empty] | length > 2 and . != sort' held.out
	jq -e '.requests[0] | ([.intervals[].connections] | add) == .connections' held.out
	grep -Eq '"bytes":[0-9]*0,.*"replies":[1-9][0-9]*,.*"silent":0' zcs.out
) & later
beside 'zcc --request: a port that nobody listens at, and a zcs without --reply: ends after few failures, which have a line'; ( begin
	start_zcs
	asks 1 --request 10 -n 20
	grep -qx '  failed: 1 with a length other than requested' out
	stop_zcs
	asks 1 --request 10,20 -n 500 -P 8 # some fail at the same time
	grep -Eqx '  failed: [1-8] refused' out
	one_line err
	grep -q "^zcc: 127.0.0.1 port $PORT: the first connections failed, refused: is there a zcs --reply?$" err
) & later
# zcs --reply: bounds.
beside 'zcs --reply serves 16 MiB, more with --max-reply alone, and names --request; failures after a success are counted'; ( begin
	start_zcs --reply
	asks 1 -t 5 # without --request
	grep -Eqx "zcc: .*: the server (closed|reset) the connection after [0-9]+ bytes?: is it a zcs --reply\?" err
	wait_until grep -q "more than --max-reply: is it a zcc without --request?$" zcs.err
	asks 0 --request 16m -n 1
	asks 1 --request 16777217 -n 1
	wait_until grep -q "requested 16777217 bytes, more than --max-reply" zcs.err
	stop_zcs
	grep -q '^total: 1 reply, 16777216 bytes; 0 rejected, 0 silent, 2 too large, ' zcs.out
	start_zcs --reply --max-reply 4g
	asks 0 --request 16777217 -n 1
	start_zcs --reply --max-reply 1000
	asks 0 --request 10,2000,20 -n 20
	[ "$(grep -c "^  failed: 20 " out)" -eq 1 ]
) & later
beside 'zcc --request: zcs at its limit of clients is not taken for another server'; ( begin
	start_zcs --reply --max-clients 1
	hold_clients held -n 1
	asks 1 --request 10 -n 20
	grep -q ': the first connections failed, closed without a reply: is zcs at its --max-clients, or --allow?$' err
) & later
beside '--request --keep: requests of a thread share a connection; a part of a request and a silent client are counted'; ( begin; need jq strace
	start_zcs --reply --keep
	exits 0 strace -f -e trace=connect -o trace "$BIN/zcc" -s 0 -p "$PORT" --request 1,100k --keep -n 50 -P 2 --json
	jq -e '.requests | length == 2 and all(.[]; .connections == 50 and .latency_seconds.connect == {} and .latency_seconds.total.max > 0)' out
	[ "$(grep -c 'connect(.*AF_INET' trace)" -le 5 ]
	{ u32 10; printf xx; } | "$HELPERS/net" send "$PORT" >reply # a request, and a part of one
	wait_until grep -q 'closed in the middle of its request' zcs.err
	stop_zcs
	grep ', 1 broken$' zcs.out
	u32 0 >ask
	start_zcs --reply --keep --idle-timeout 0.3
	hold_clients held -n 1 -f ask
	wait_until grep -q closed held
	stop_zcs
	grep -q '; 0 rejected, 1 silent, ' zcs.out
) & later
beside 'zcc --request -r, --vs, --save: a row for each size and other run, with ratios, from --compare, too'; ( begin; need jq
	start_zcs --reply
	other=$PORT
	start_zcs --reply --keep
	asks 0 --request 10,1k -p "$other" -n 40 -r 2 --vs "--request 10 --keep -p $PORT" --save saved --json
	tail -n 1 out >last
	jq -es 'map(.error) == [range(7) | null] and (.[0:6] | map(.requests | length) == [range(6) | 1])' out
	jq -e '.comparison | .options.request == [10, 1024] and
	    (.runs | map([.words, .request_bytes]) == [["--request 10", 10], ["--request 1k", 1024], ["--request 10 --keep -p '"$PORT"'", 10]] and
	    all(.connections_per_second.mean > 0 and .latency_p50_us.mean > 0 and .stalled_percent.mean >= 0 and .p99_ratio.ratio > 0 and (has("bits_per_second") | not)) and
	    (.[2].rate_ratio.ratio | . > 0 and . != 1))' last
	not grep '	#	congestion: ' saved # it is not known
	# The server may count the last reply of a run just after the receipt.
	[ "$(grep -Ec " requests=40\.0* .*	received=.* reads=(39|4[01]) .*	local=1$" saved)" -eq 6 ]
	exits 0 "$BIN/zcc" --compare saved
	grep -Eq '^run +requests/s +ratio to the first' out
	grep -Eq ' p99\.9, us +ratio to the first( |$)' out
) & later
together

range=/proc/sys/net/ipv4/ip_local_port_range
# with_ports 'FIRST LAST' command...: local ports are these meanwhile; its exit status does not matter
with_ports()
{
	were=$(cat $range)
	echo "$1" >$range
	shift
	"$@" || :
	echo "$were" >$range
}
it 'a connection to itself, as TCP makes of a local port that nobody listens at, is no server'; ( begin
	[ -n "$OWN_NETWORK" ] || skip_check 'needs root, ip(8) and network namespaces'
	with_ports '40000 40003' "$zcc" -s 127.0.0.1 -p 40000 --request 4 --keep -n 20 >out
	cat out
	grep -Eqx '  failed: 3 refused' out
); ok
it 'zcc --request: local ports that run out, a server that has gone: failures are counted, few are made'; ( begin
	[ -n "$OWN_NETWORK" ] || skip_check 'needs root, ip(8) and network namespaces'
	# tried N: so many connections have been tried since `tries` was read
	tries() { awk '/^Tcp: [0-9]/ { print $6 }' /proc/net/snmp; }
	tried() { [ $(($(tries) - opened)) -gt "$1" ]; }
	start_peer answer linger -n 4
	with_ports '40000 40001' timeout 20 "$zcc" -s 127.0.0.1 -p "$PORT" --request 10 -P 8 -n 8 --timeout 0.5 >out
	grep -Eqx "  failed: [1-8] for lack of local ports" out
	start_zcs --reply
	opened=$(tries)
	start_zcc client --request 10 -t 60 -P 3 --json
	wait_until tried 10
	fds=$(entries_in /proc/$client/fd)
	with_ports '40000 40001' sleep 0.3
	stop_zcs
	opened=$(tries)
	wait_until tried 300
	[ "$(entries_in /proc/$client/fd)" -le $((fds + 6)) ]
	zcc_ends client 143 TERM
	grep -Eq '"refused":[1-9].*"no_ports":[1-9][0-9]{0,2},.*"failed_last":[1-9]' client.out
); ok
finish
