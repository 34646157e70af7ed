#!/bin/sh
# zcs: many clients, bad clients, its options seen from outside, its errors.
#
# group: sleeps
# seconds: 8
. "$TOP/tests/lib.sh"

head -c 100000 /dev/urandom >file

beside 'a row every 5 s while data flows'; ( begin
	start_zcs
	exits 0 "$zcc" -q -s 0 -p "$PORT" -t 6 --pace 2m --congestion reno
	wait_until grep -q '^127' zcs.out
	cat zcs.out
	grep -Eqx ' +0\.0-5\.[0-9] +[0-9,]+ +[0-9.]+ [MG]bit/s' zcs.out
	stop_zcs
) & later
beside 'a stall that begins in the warm-up counts from its end on'; ( begin
	start_zcs
	{ u32 4294967295 0 0 1 2000; head -c 1000 /dev/zero; } >first # they come at once
	{ cat first; sleep 1.2; head -c 1000 /dev/zero; } | "$HELPERS/net" send "$PORT"
	wait_until [ -s zcs.out ]
	cat zcs.out
	grep -q ' bytes of warm-up' zcs.out
	paste -sd ' ' zcs.out | grep -Eq 'the +first +at [01]\.[0-9]+ s'
	awk '{ for (i = 1; i < NF; i++) if ($i == "in") ok = $(i + 1) > 0.5 } END { exit !ok }' zcs.out
	stop_zcs
) & later
for how in '-t 60' '--raw -t 60'; do
	beside "zcs -1: zcc $how that is killed, or fails, is an error; that is interrupted once, it is none"; ( begin
		raw=$(echo "$how" | grep -o -e --raw || :)
		while read -r status zcc_status signal options; do
			start_zcs -1 -I 0.05 $raw
			start_zcc held $how $options
			wait_until [ -s zcs.out ]
			[ "$signal" = INT ] || kill -STOP $ZCS
			zcc_ends held $zcc_status ${signal#-}
			kill -CONT $ZCS 2>/dev/null || :
			ended $ZCS
			got=0; wait $ZCS || got=$?
			cat zcs.err
			[ $got -eq $status ]
		done <<-END
			1 137 KILL
			1 1 - --timeout 0.3
			0 130 INT
		END
	) & later
done
beside 'zcs that is stopped while a warm-up ends: what waits in its socket then is of the warm-up'; ( begin; need ss
	start_zcs
	u32 4294967295 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 51200 >first # 3 s
	# queue_has QUEUED RECEIVED: bytes of zcs's connection
	queue_has() { ss -Htni state established "sport = :$PORT" | tr -d '\n' | grep -q "^$1 .*bytes_received:$2 "; }
	sends()
	{
		cat first
		wait_until queue_has 0 132
		kill -STOP $ZCS
		head -c 51200 /dev/zero
		wait_until queue_has 51200 51332
		sleep 3.1
		kill -CONT $ZCS
	}
	all_warm() { sends | "$HELPERS/net" send "$PORT" | grep '^bytes=0 .* warmup=51200 '; }
	all_warm || all_warm || all_warm # it may take longer to stop zcs on a busy machine
	stop_zcs
) & later
while IFS=';' read -r what how bytes line; do
	beside "zcs -1: who $what is no client"; ( begin
		start_zcs -1 --json -d
		printf "$bytes" | "$HELPERS/net" send $how "$PORT"
		wait_until grep -q "$line$" zcs.err
		grep -Eq '^zcs: 127\.0\.0\.1:[0-9]+: connected$' zcs.err
		exits 0 "$zcc" -s 0 -p "$PORT" ../file
		exits 0 wait $ZCS
		one_line zcs.out
		not grep '"error"' zcs.out
	) & later
done <<'END'
only looks whether the port is open, and closes;-c;;closed without sending anything
only looks whether the port is open, and resets;-R;;closed without sending anything
sends half a header, as a port scan does;-c;\0\0\0;closed in the middle of a header, after 0 bytes
END
beside 'zcs -1: who says nothing is no client, nor keeps zcs from ending by a new connection each time'; ( begin
	start_zcs -1 --idle-timeout 1 -I 0.1
	hold_clients first -n 1
	wait_until grep -q ': silent for 1 second' zcs.err
	( while sleep 0.2; do "$HELPERS/net" hold -n 1 "$PORT" & done ) >holding 2>&1 &
	remember $!
	wait_until grep -q held holding
	exits 0 "$zcc" -s 0 -p "$PORT" ../file
	ended $ZCS
	exits 0 wait $ZCS
) & later
beside 'zcs -1: who sends empty loops without end does not keep zcs from ending, and who comes too late is refused'; ( begin
	u32 4294967295 >forever
	start_zcs -1 --idle-timeout 1
	hold_clients held -n 1 -f forever -d 300
	exits 0 "$zcc" -s 0 -p "$PORT" ../file
	ended $ZCS
	grep '^zcs: 127.*: no byte of a file within 1 seconds of the last client (-1, --idle-timeout), after 0 bytes$' zcs.err
	start_zcs -1
	hold_clients held -n 1
	exits 0 "$zcc" -s 0 -p "$PORT" ../file
	refused() { ! "$zcc" -s 0 -p "$PORT" ../file 2>err && grep -q 'Connection refused: is zcs running there?$' err; }
	wait_until refused
	not gone $ZCS
	stop_zcs
) & later
beside 'zcc --wait-server -r: its looks at zcs are no clients in JSON, nor in the log'; ( begin; need jq
	start_zcs --json
	exits 0 "$zcc" -q -s 0 -p "$PORT" -r 3 --wait-server 5 ../file
	stop_zcs
	[ "$(lines_in zcs.out)" -eq 3 ]
	jq -es 'all(.[].end; .clients == 1 and (.streams | length) == 1)' zcs.out
	not grep -v listening zcs.err
) & later
beside 'zcs that lacks the memory for its buffer: zcc is told, not that it may be a zcs --reply'; ( begin; need prlimit
	! sanitized || skip_check 'sanitizers take more'
	ON='prlimit --as=400000000' start_zcs -b 500m
	fails "rejected: the server lacks what its method needs (zcs -m, which says more there)$" \
	    "$zcc" -s 0 -p "$PORT" -n 1000 ../file
	grep '^zcs: 127.*: -m read: Cannot allocate memory, after 0 bytes$' zcs.err
	stop_zcs
) & later
status=0
"$zcs" -p 0 >&- 2>closed || status=$?
check 'zcs with a closed stdout: it does not start' test "$status$(cat closed)" = \
    '1zcs: stdout: it is closed, or open for reading: give it a file, or /dev/null'
# Races that are lost each time: tests/helpers/preload/late.c
beside 'a warm-up that ends only after the last byte has no time; replies faster than the main thread count'; ( begin
	preloaded late || skip_check 'no library can be preloaded'
	LATE=end LD_PRELOAD=$PWD/late.so start_zcs
	{ u32 4294967295 0 0 0 0 0 1 5; printf hello; } >first # they come at once
	"$HELPERS/net" send -c "$PORT" <first
	wait_until [ -s zcs.out ]
	cat zcs.out
	not grep -q 184467 zcs.out # 2^64 ns
	grep -q 'closed in its warm-up, after 5 bytes' zcs.err
	LATE=start LD_PRELOAD=$PWD/late.so start_zcs --reply
	exits 0 "$zcc" -s 0 -p "$PORT" --request 1k -n 3
	: >served
	stop_zcs
	grep -q '^total: 3 replies, 3072 bytes;' zcs.out
) & later

beside 'zcs: a bad client costs a line; then 100 at once are all received; threads and descriptors are as many as before'; ( begin
	start_zcs
	exits 0 "$zcc" -s 0 -p "$PORT" ../file
	wait_until counts -eq 1 summaries '^127.0.0.1:[0-9]+: [0-9]+ kbytes/sec \([0-9.]+ Gbit/s\), 100000 bytes in [0-9.]+ s, 1 file, [0-9]+ reads?(,|$)'
	wait_until counts -eq 1 threads_of $ZCS
	fds=$(entries_in /proc/$ZCS/fd)
	for words in '1 2 0' 1 '1 1 1000 7'; do u32 $words | "$HELPERS/net" send -c "$PORT"; done
	wait_until counts -eq 4 lines_in zcs.err
	sed -n 's/.*: closed //p' zcs.err | sort >closed
	diff closed - <<-'END'
		between two files, after 0 bytes
		between two loops, after 0 bytes
		in the middle of a file, after 4 bytes
	END
	# It did not send what it announced, and has no throughput.
	wait_until counts -ge 1 summaries '^127.0.0.1:[0-9]+: 4 bytes in [0-9.]+ s, 0 files, [1-9][0-9]* reads?(,|$)'
	exits 0 "$zcc" -s 0 -p "$PORT" -P 100 -n 10 --pace 2m --congestion reno ../file
	[ "$(bytes_of out)" = '100000000 100000000' ]
	wait_until counts -eq 1 summaries '^total of 100 clients: .* 100000000 bytes'
	wait_until counts -eq 1 threads_of $ZCS
	wait_until counts -eq "$fds" entries_in /proc/$ZCS/fd
	[ "$(wc -l <zcs.err)" -eq 4 ]
	stop_zcs
) & later

# It is a CPU that sched_setaffinity(2) does not accept any more.
beside '-B 0: if that CPU has gone, that costs a line, and the client is served'; ( begin; need strace
	start_zcs -B 0
	launch strace.out '*attached*' strace -f -o /dev/null -e trace=sched_setaffinity -e inject=sched_setaffinity:error=EINVAL -p "$ZCS"
	grep -q attached strace.err || skip_check 'strace may not attach'
	for n in 1 2; do
		exits 0 "$zcc" -s 0 -p "$PORT" ../file
		grep -q 'all bytes sent were received' out
	done
	cat zcs.err
	[ "$(grep -c '^zcs: 127\.0\.0\.1:[0-9]*: served on any CPU: cannot bind to CPU 0: Invalid argument$' zcs.err)" -eq 2 ]
	kill $launched
	stop_zcs
) & later
beside 'zcs -i and -o: the receive and the send buffer of connections'; ( begin; need ss
	start_zcs -i 70000 -o 80000
	hold_clients held -n 1
	met() { ss -tmn "sport = :$PORT" | grep -q 'rb140000,.*tb160000,'; }
	wait_until met
	stop_zcs
) & later
beside 'zcs --raw: any bytes are counted, a single one too, and nothing is answered'; ( begin
	start_zcs --raw
	{ u32 1 1 13; printf 'not what was announced'; } | "$HELPERS/net" send "$PORT" >receipt
	not [ -s receipt ]
	printf x | "$HELPERS/net" send -c "$PORT"
	printf abc | "$HELPERS/net" send -d 1 "$PORT"
	for what in ' 34 bytes in [0-9.]+ s, 0 files, [1-9][0-9]* reads?(,|$)' ' 1 byte in' ' 3 bytes in'; do
		wait_until counts -eq 1 summaries "^127.0.0.1:.*$what"
	done
	one_line zcs.err
	stop_zcs
) & later
beside 'zcs raises the limit of its descriptors as far as it may, and an ignored SIGHUP stays ignored (nohup)'; ( begin
	# shellcheck disable=SC3045 # every shell that is /bin/sh somewhere knows -S
	ulimit -Sn 64
	trap '' HUP
	start_zcs
	awk '/^Max open files/ { exit $4 != $5 }' /proc/$ZCS/limits
	kill -HUP $ZCS
	grep -q '^SigIgn:.*[13579bdf]$' /proc/$ZCS/status
	stop_zcs
) & later

together
it 'zcs listens on port 2222, with --reply on 7890, and zcc connects to it, with --request'; ( begin
	[ -n "$OWN_NETWORK" ] || skip_check 'needs root, ip(8) and network namespaces'
	launch zcs.out '*listening on *:2222' "$zcs"
	exits 0 "$zcc" -s 0 -n 1
	grep -Eq '^  to 127\.0\.0\.1:2222 via lo,' out
	kill $launched
	ended $launched
	fails "^zcc: cannot connect to 0 port 2222: Connection refused: is zcs running there?$" "$zcc" -s 0 -n 1
	launch zcs.out '*listening on *:7890' "$zcs" --reply
	exits 0 "$zcc" -s 0 --request 100 -n 3 --json
	grep -q '"connecting_to":{"host":"0","port":7890}' out
	kill $launched
	ended $launched
	grep -q '^total: 3 replies, 300 bytes;' zcs.out
); ok
# Another program may have the port meanwhile.
it 'zcs --timestamps: each summary begins with the date, the time and the zone, as rows have it'; ( begin
	export TZ=XYZ+12
	start_zcs -I 0.05 --timestamps
	exits 0 "$BIN/zcc" -q -s 0 -p "$PORT" --congestion reno -t 0.3
	wait_until grep -Eq '^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}-1200 127\.0\.0\.1:[0-9]+: [0-9]+ kbytes/sec' zcs.out
	stop_zcs
); ok
it 'zcs -q: the summary of the client alone, with --json the whole object, intervals too, and nothing on stderr'; ( begin
	for t in 0.3 3; do # on a busy machine all of 0.3 s may be in one interval
		for format in '' --json; do
			start_zcs
			stop_zcs
			"$zcs" -p "$PORT" -q -I 0.05 $format >zcs.out 2>zcs.err &
			ZCS=$!
			remember $ZCS
			wait_until exits 0 "$zcc" -s 0 -p "$PORT" -t $t --congestion reno
			stop_zcs
			not [ -s zcs.err ]
			[ "$(grep -c '^[^ ]' zcs.out)" -eq 1 ]
			[ -n "$format" ] || grep -Eq '^127\.0\.0\.1:[0-9]+: [0-9]+ kbytes/sec ' zcs.out
		done
		! grep -q '"intervals":\[{' zcs.out || break
	done
	bytes=$(bytes_of out)
	grep -q '"intervals":\[{"sum":' zcs.out
	grep -q "\"sum_received\":{[^}]*\"bytes\":${bytes% *}," zcs.out
); ok
finish
