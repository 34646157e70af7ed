#!/bin/sh
# zcc's options, seen from outside, and its errors.
#
# seconds: 6
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc
head -c 300000 /dev/urandom >file
printf 'x' >tiny

options='SO_RCVBUF, .100000\|SO_SNDBUF, .200000\|TCP_MAXSEG, .1000\|TCP_NODELAY, .1\|SO_MAX_PACING_RATE\|TCP_CONGESTION'
it '-P 3: each connection has -i, -o, --mss, --nodelay, --pace and --congestion before it is made, and -k'; ( begin; need strace
	start_peer -n 3
	exits 0 strace -f -o trace -e trace=setsockopt,connect "$zcc" -s 0 -p "$PORT" -P 3 -i 100000 -o 200000 --mss 1000 \
	    --nodelay --pace 1g --congestion reno -k file
	grep -o "connect(.*htons($PORT)\|$options" trace >order
	cat order
	awk '/connect/ { bad += n != 6; n = 0; connections++; next } { n++ } END { exit bad || n || connections != 3 }' order
	[ "$(grep -c 'TCP_CORK, .1' trace)" -eq 3 ]
	grep -q '^  to .*, reno, corked, nodelay, paced to ' out
); ok
it 'without options the socket has none of them'; ( begin; need strace
	start_peer
	exits 0 strace -f -o trace -e trace=setsockopt,connect "$zcc" -s 0 -p "$PORT" file
	grep connect trace
	not grep 'SO_RCVBUF\|SO_SNDBUF\|MAXSEG\|NODELAY\|CORK\|PACING\|SNDTIMEO\|ZEROCOPY\|IP_TOS' trace
); ok
it 'options may follow file names, "--" ends them'; ( begin
	start_peer
	exits 0 "$zcc" -s 0 file -p "$PORT" tiny -n2 -- tiny
	ended "$PEER"
	grep -qx "bytes $((4 + 2 * (4 + 3 * 4 + 300002)))" peer.out
); ok
start_zcs
for host in '127.0.0.1 0' '127.0.0.1 localhost' '127.0.0.1 127.0.0.1' '\[::1\] 0 -6' '\[::1\] ::1' '\[::1\] [::1]'; do
	it "-s ${host#* }: it connects to ${host%% *}"; ( begin
		[ -e /proc/net/if_inet6 ] || [ "${host#*::}" = "$host" ] || skip_check 'no IPv6 here'
		exits 0 "$zcc" -s ${host#* } -p "$PORT" tiny
		grep -q "to ${host%% *}:$PORT" out || [ "${host#* }" = localhost ]
	); ok
done
it 'files that cannot be sent are named and skipped, the others are sent, exit 1; none left is an error'; ( begin
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
); ok
it 'a file whose size cannot be had is skipped, and closed'; ( begin; need strace
	exits 1 strace -o trace -P "$PWD/file" -e trace=openat,fstat,newfstatat,close \
	    -e inject=fstat,newfstatat:error=EIO "$zcc" -s 0 -p "$PORT" file tiny
	cat trace
	grep -qx 'zcc: file: skipped: Input/output error' err
	grep -q '^close(' trace
); ok
it '-t: at least that long, and both ends agree'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" -t 0.5 --pace 20m
	figures_of seconds out | awk '{ exit !($1 >= 0.5 && $2 > 0) }'
	grep -q 'all bytes sent were received' out
); ok
# A file system with files of 2^63 bytes, of which two have more entries than a loop may.
shm=$(mktemp -d /dev/shm/zc-check.XXXXXX 2>/dev/null)
it 'more entries than 32 bits, or with --raw more bytes than 64 bits can say: one line that names the file; -t sends it'; ( begin
	huge=$shm/huge
	truncate -s 9223372036854775807 "$huge" || skip_check 'no /dev/shm with files of 2^63 bytes'
	fails "^zcc: $huge: too much for one loop, with the files before it: " timeout 20 "$zcc" -s 0 -p "$PORT" "$huge" "$huge"
	fails "^zcc: $huge: too much for one loop" timeout 20 "$zcc" -s 0 -p "$PORT" --raw "$huge" "$huge" "$huge"
	exits 0 timeout 20 "$zcc" -s 0 -p "$PORT" -t 0.1 "$huge"
); ok
[ -z "$shm" ] || rm -rf "$shm"
stop_zcs

#
# Errors
#
while read -r line how; do
	check "$how: one line, exit 1" fails "$line" timeout 20 "$zcc" $how tiny
done <<END
cannot.connect.to.0.port.$PORT:.Connection.refused -s 0 -p $PORT
Network.is.unreachable -s 255.255.255.255 -p 9
no.such.host.invalid -s no.such.host.invalid
. -4 -s ::1 -p 9
CPU.8000 -s 0 -p 1 -B 8000
nosuch -s 0 -p 1 --congestion nosuch
END
# server_fails 'a server that ...' 'line' 'options of zcc' options of the peer...
server_fails()
{
	title=$1 line=$2 options=$3
	shift 3
	start_peer "$@"
	it "$title: one line that names it, exit 1, no report"; ( begin
		fails "^zcc: $line$" timeout 20 "$zcc" -s 0 -p "$PORT" $options
	); ok
	kill -USR1 "$PEER" 2>/dev/null
}
server_fails '--timeout: a server that takes no connection' 'cannot connect to 0 port [0-9]*: Connection timed out' '--timeout 0.2 file' -f
server='127.0.0.1:[0-9]*: the server'
server_fails 'a server that goes away' "$server \(closed\|reset\) the connection after [0-9]* bytes.*" '-n 1000 file' -l 100000 -R
server_fails '-P 3: a server that goes away from one of them' "$server \(closed\|reset\) the connection after [0-9]* bytes.*" \
    '-P 3 -t 60 file' -n 3 -l 100000 -R
server_fails 'a server that resets the connection when it has all' \
    "$server reset the connection after 1 byte: is it a zcs --reply?" tiny -R
server_fails '--raw: a server that resets the connection when it has all' "$server reset the connection after 1 byte" '--raw tiny' -R
server_fails 'a server that closes before it has acknowledged the last byte' \
    "$server closed the connection before it had acknowledged the last [1-9][0-9]* bytes\?" '-i 4k -o 200k file' -x -s
server_fails '--timeout: a server that takes all and never answers' \
    "$server accepted no data for 0.3 seconds (--timeout) after 1 byte" '--timeout 0.3 tiny' -k
# At most what it read and its small buffer took.
server_fails 'a server that goes away slowly: the bytes that it acknowledged, not those in the send buffer' \
    "$server .* the connection after [1-6]\?[0-9]\{1,4\} bytes: is it a zcs --reply?" '-o 200k -n 1000 file' -d 1 -l 2000 -R
it 'a second signal, another one, ends zcc in a send that blocks at once, without a report'; ( begin
	start_peer -s
	env --default-signal=INT "$zcc" -s 0 -p "$PORT" -t 60 file >out 2>err &
	held=$!
	remember $held
	wait_until grep -q data peer.out
	kill -STOP $held # so that both signals are there at once
	kill -INT $held
	kill -TERM $held
	kill -CONT $held
	ended $held
	cat out err
	not [ -s out ]
	kill -USR1 "$PEER"
); ok
it 'a smaller buffer than asked for is reported once, not for each stream'; ( begin
	start_peer -n 3
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno -P 3 -i 1g -o 1g tiny
	[ "$(grep -c '^zcc: receive buffer: asked for' err)" -eq 1 ]
	[ "$(grep -c '^zcc: send buffer: asked for 1073741824 bytes, the kernel gave [0-9]' err)" -eq 1 ]
	[ "$(grep -vc 'took less than half a second' err)" -eq 2 ]
); ok
it 'stdout closed: the socket is not taken for it'; ( begin
	start_peer
	status=0
	"$zcc" -s 0 -p "$PORT" tiny >&- 2>err || status=$?
	ended "$PEER"
	[ $status -eq 1 ]
	grep -qx 'bytes 13' peer.out
); ok
it 'zcc and zcs end on SIGTERM although nobody reads their reports'; ( begin
	mkfifo unread unread.zcs
	exec 7<>unread 8<>unread.zcs
	: >zcs.err
	"$BIN/zcs" -p 0 -I 0.01 --json >unread.zcs 2>zcs.err &
	ZCS=$!
	remember $ZCS
	wait_until or_gone $ZCS grep -q listening zcs.err
	read_port zcs.err
	"$zcc" --json -I 0.01 -P 8 -t 60 -s 0 -p "$PORT" --congestion reno --pace 2m >unread 2>zcc.err &
	held=$!
	remember $held
	# What room is left in its last page is for some intervals.
	is_full() { not dd if=/dev/zero of="$1" bs=4096 count=1 oflag=nonblock 2>/dev/null; }
	wait_until is_full unread
	kill -TERM $held
	ended $held
	grep -q '^zcc: stdout: ' zcc.err
	"$zcc" -s 0 -p "$PORT" -t 60 -q --congestion reno --pace 20m >/dev/null 2>&1 &
	remember $!
	wait_until is_full unread.zcs
	sleep 0.5
	kill -TERM $ZCS
	ended $ZCS
	grep -q '^zcs: stdout: ' zcs.err
); ok

#
# Usage.  tests/unit/usage.c has the forms of values.
#
while read -r line how; do
	check_usage "$line" zcc $how
done <<'END'
--server file
unknown.option.'-x'.*zcc.--help -x
requires.an.argument -s
--loops:.'0'.is.not.between -s 0 --loops 0
--port.*not.a.whole.number -s 0 --port 22.0
--bind:.*has.a.port -s 0 --bind 192.0.2.1:2222
--server.*has.a.port,.which.is.-p -s 192.0.2.1:2222
--pace.*in.bits.*12.5MB -s 0 --pace 100Mbit
--interval.*not.0,.nor.between.0.01 -s 0 --interval 0.001
--bind-cpu.*'1-' -s 0 --bind-cpu 1-
'carrier-pigeon'.*sendfile,.send,.write,.mmap,.splice,.zerocopy,.uring,.uring-zc -s 0 --method carrier-pigeon
--cpus.*more.than -s 0 -c -N 8000
--calibrate -C file
--calibrate.and.-J,.--json -C --json
--loops.*not.between -s 0 --warmup 1 -n 4294967290
cannot.be.used.together -s 0 -t 1 -n 1
cannot.be.used.together -s 0 -4 -6
cannot.be.used.together -s 0 -S -m send
cannot.be.used.together -s 0 -w -m write
cannot.be.used.together -s 0 --raw --warmup 1
END
start_zcs
it '--bytes: all streams together send so many, of whatever files, and both ends count them'; ( begin; need jq
	for n in 3 5 300001 1000003; do
		exits 0 "$BIN/zcc" -s 0 -p "$PORT" --bytes $n -P 3 --json --congestion reno
		jq -e ".end | .sum_sent.bytes == $n and .sum_received.bytes == $n and .bytes_agree" out
	done
	: >empty
	fails '--bytes: the files are empty' "$BIN/zcc" -s 0 -p "$PORT" --bytes 10 empty
); ok
stop_zcs
check_usage '--bytes.*--time' zcc -s 0 --bytes 1m -t 1
finish
