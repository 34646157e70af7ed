#!/bin/sh
# zcc's options, seen from outside, and its errors.
#
# seconds: 8
. "$TOP/tests/lib.sh"

head -c 300000 /dev/urandom >file

options='SO_RCVBUF, .100000\|SO_SNDBUF, .200000\|TCP_MAXSEG, .1000\|TCP_NODELAY, .1\|SO_MAX_PACING_RATE\|TCP_CONGESTION'
beside '-P 3: each connection has -i, -o, --mss, --nodelay, --pace and --congestion before it is made, and -k and -B; or none'
( begin; need strace
	traced()
	{
		start_peer -n 3
		exits 0 strace -f -o trace -e trace=setsockopt,connect,sched_setaffinity "$zcc" -s 0 -p "$PORT" -P 3 "$@" ../file
	}
	traced -k -B 0 -i 100000 -o 200000 --mss 1000 --nodelay --pace 1g --congestion reno
	grep -o "connect(.*htons($PORT)\|$options" trace >order
	cat order
	awk '/connect/ { bad += n % 6 || n == 0; n = 0; connections++; next } { n++ } END { exit bad || n || connections != 3 }' order
	grep -Eq 'sched_setaffinity\(0, [0-9]+, \[0( \.\.\.)?\]\)' trace
	[ "$(grep -c 'TCP_CORK, .1' trace)" -eq 3 ]
	grep -q '^  to .*, reno, corked, nodelay, paced to ' out
	traced
	grep "connect(.*htons($PORT)" trace
	not grep 'RCVBUF\|SNDBUF\|MAXSEG\|NODELAY\|CORK\|PACING\|ZEROCOPY\|IP_TOS\|CONGESTION\|setaffinity\|SNDTIMEO' trace
) & later
it 'files without a byte, as those of /proc seem to be: a line'; ( begin
	start_peer
	exits 0 "$zcc" -q -s 0 -p "$PORT" /proc/version
	grep -qx 'zcc: the files have 0 bytes, as those of /proc seem to have: no data are sent' err
); ok
beside '--request --timeout: a server that takes longer in all, but never as long, is no time-out'; ( begin
	start_peer reply -f # 0.2 s each
	exits 0 "$zcc" -s 0 -p "$PORT" --timeout 1.5 --request 10 -n 9
	not grep failed: out
) & later
beside 'a stdout that is closed is an error, and not the socket'; ( begin
	start_peer
	status=0
	"$zcc" -s 0 -p "$PORT" ../tiny >&- 2>err || status=$?
	ended "$PEER"
	[ $status -eq 1 ]
	grep -qx 'bytes 13' peer.out
) & later
start_zcs
beside '-s: 0 is this host, of the family of -6; localhost and ::1, in brackets too, are connected to'; ( begin
	for host in '127.0.0.1 0' '127.0.0.1 localhost' '\[::1\] 0 -6' '\[::1\] ::1' '\[::1\] [::1]'; do
		[ -e /proc/net/if_inet6 ] || [ "${host#*::}" = "$host" ] || continue
		exits 0 "$zcc" -s ${host#* } -p "$PORT" ../tiny
		grep -q "to ${host%% *}:$PORT" out || [ "${host#* }" = localhost ]
	done
) & later
beside '--wait-server: the measurement of the idle host waits for zcs, too, as do requests; it fails after that time, and ends on a signal'; ( begin
	can_trace || skip_check 'needs strace'
	start_zcs
	stop_zcs
	fails "^zcc: cannot connect to localhost port $PORT within 0.3 s (--wait-server): Connection refused: is zcs running there?$" \
	    "$zcc" -s localhost -p "$PORT" --wait-server 0.3 ../tiny
	refused() { [ "$(grep -c 'connect.*REFUSED' trace)" -gt 3 ]; }
	waits_for()
	{
		: >trace
		start_zcc late --wait-server 86400 "$@"
		wait_until refused
	}
	find_hastening
	FROM="$hasten_by strace -D -f -o trace -e trace=connect,clock_nanosleep"
	serve() { launch zcs.out '*listening*' "$BIN/zcs" -p "$PORT" "$@" --bind 127.0.0.1; }
	waits_for -s localhost --idle -t 0.1
	serve -1
	zcc_ends late 0
	wait $launched
	sed '/clock_nanosleep/q' trace | grep 'connect.* = 0$' # before the idle host is measured
	waits_for --request 10 -n 3
	serve --reply
	zcc_ends late 0
	kill $launched
	wait $launched
	grep '^total: 3 replies, .* 0 broken$' zcs.out # whoever looks whether zcs listens is no client
	waits_for ../tiny
	zcc_ends late 130 INT
	not [ -s late.out ]
) & later
beside 'files that cannot be sent are named and skipped, the others are sent, exit 1; none left is an error'; ( begin
	cp ../file ../tiny .
	mkfifo fifo
	: >secret && chmod 0 secret
	exits 1 as_user "$zcc" -s 0 -p "$PORT" --congestion reno missing . fifo secret /dev/null file
	for f in missing . fifo secret /dev/null; do grep -q "zcc: $f: skipped" err; done
	[ "$(grep -vc 'took less than half a second' err)" -eq 6 ]
	[ "$(tail -n 1 err)" = 'zcc: skipped 5 of 6 files' ]
	grep -q '^  1 file of [0-9,]* bytes, 5 skipped, in 1 loop$' out
	grep -q 'all bytes sent were received' out
	exits 1 "$zcc" -s 0 -p "$PORT" missing .
	tail -n 1 err | grep -q 'none of the files can be sent'
) & later
beside '-t: at least that long; --bytes: all streams together send so many'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" -t 0.5 --pace 20m
	figures_of seconds out | awk '{ exit !($1 >= 0.5 && $2 > 0) }'
	exits 0 "$zcc" -s 0 -p "$PORT" --bytes 1000003 -P 3 --congestion reno
	[ "$(bytes_of out)" = '1000003 1000003' ]
	: >empty
	fails '--bytes: the files are empty' "$zcc" -s 0 -p "$PORT" --bytes 10 empty
) & later
beside 'zcc -d: the environment, the address and the interface on stderr; -dd: each file, too; zcs --debug: each client'; ( begin
	start_zcs --debug
	exits 0 "$zcc" -s 0 -p "$PORT" -d --debug -n 2 -P 2 ../tiny ../file
	grep -c '^zcc: environment: ' err
	[ "$(grep -cx "zcc: connected to 127.0.0.1:$PORT via lo" err)" -eq 1 ]
	for file in 'file: 300000 bytes' 'tiny: 1 bytes'; do [ "$(grep -cx "zcc: ../$file" err)" -eq 4 ]; done
	[ "$(grep -Ecx "zcs: 127\.0\.0\.1:[0-9]+: connected" zcs.err)" -eq 2 ]
) & later
# Errors.  json.sh has more of those before a connection is made.
# The options of the peer, those of zcc, its line.  tests/unit/stream.c has what else a server may do.  Of one that goes away
# slowly: at most what it read and its small buffer took.
while IFS=';' read -r how peer options title line; do
	beside "$title: one line that names it, exit 1; it $how"; ( begin
		start_peer $peer
		$how "^zcc: 127.0.0.1:$PORT: the server$line$" timeout 20 "$zcc" -s 0 -p "$PORT" $options ../file
	) & later
done <<'END'
fails;-l 100000 -R;-q -n 1000;-q: a server that goes away, and no rate for scripts; \(closed\|reset\) the connection after [0-9]* bytes.*
breaks;-d 1 -l 2000 -R;-o 200k -n 1000;a server that goes away slowly: the bytes are those acknowledged; .* the connection after [1-6]\?[0-9]\{1,4\} bytes: is it a zcs --reply?
END
beside 'zcs is killed in mid-transfer: JSON has the figures so far, and the load'
( begin; need ss jq
	start_zcs
	find_hastening
	FROM=$hasten_by
	start_zcc events --idle -t 60 --pace 20m -I 0.1 --json-stream
	acked() { grep -q '"event":"interval"' events.out && ss -tinH "dport = :$PORT" | grep -q 'bytes_acked:[1-9][0-9]\{5\}'; }
	wait_until acked
	kill -KILL $ZCS
	zcc_ends events 1
	jq -es 'map({key: .event, value: .data}) | .[-2:] | from_entries | (.end | .receipts == 0 and .sum_sent.bytes > 100000 and
	    (has("sum_received") or has("remote") | not) and (.host | has("load_percent") or has("no_load_text"))) and .error != null' events.out
) & later
# What a main thread does while it waits is in the load.  It looks at its streams 50 times a second, and 100 times for what
# a raw server sends.
while IFS=';' read -r peer options status looks; do
	beside "zcc $options: while the server takes nothing, the main thread just waits"; ( begin; need strace
		read -r began _ </proc/uptime
		start_peer $peer
		[ "$peer" != reply ] || kill -STOP "$PEER"
		FROM='strace -c -o trace -e trace=ppoll' start_zcc held $options # of the main thread alone
		sleep 2
		kill -USR1 "$PEER"
		zcc_ends held "$status"
		read -r now _ </proc/uptime
		# With what the start and the end may have
		awk -v most="$began $now $looks" 'BEGIN { split(most, m, " "); most = 100 + 1.2 * m[3] * (m[2] - m[1]) }
		    $NF == "ppoll" { n = $4 } END { print n " of " most; exit !(n > 0 && n < most) }' trace
	) & later
done <<END
-s;-t 0.2;0;50
-s;--raw -t 0.2;0;150
reply;--request 10 -t 2;1;50
END
together
finish
