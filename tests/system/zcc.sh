#!/bin/sh
# zcc's options, seen from outside, and its errors.
#
# group: waits
# seconds: 12
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

# A peer that does not read yet holds zcc in the middle of the transfer.
start_peer -s
"$zcc" -s 0 -p "$PORT" -B 0 -i 50000 -o 60000 -t 60 file >out 2>err &
remember $!
held=$!
check '-B 0: bound to CPU 0' wait_until grep -q "^Cpus_allowed_list:	0$" /proc/$held/status
wait_until grep -q data peer.out
it 'zcc that is interrupted reports what it has sent'; ( begin
	kill -TERM $held
	ended $held
	grep -q "kbytes/sec" out
); ok
wait $held
check 'zcc that is interrupted ends by that signal' [ $? -eq 143 ]
kill -USR1 "$PEER"

start_peer
it '-n: that many times'; ( begin
	"$zcc" -s 0 -p "$PORT" -n 7 file >report
	ended "$PEER"
	grep -qx "bytes $((4 + 7 * (300000 + 8)))" peer.out
	grep -q "in 7 loops" report
); ok
start_peer
it 'options may follow file names, "--" ends them'; ( begin
	"$zcc" -s 0 file -p "$PORT" tiny -n2 -- tiny >report
	ended "$PEER"
	grep -qx "bytes $((4 + 2 * (4 + 3 * 4 + 300002)))" peer.out
); ok
start_zcs
for host in 0 localhost 127.0.0.1; do
	check "-s $host" "$zcc" -s $host -p "$PORT" tiny
done
if [ -e /proc/net/if_inet6 ]; then
	for host in '0 -6' ::1 '[::1]'; do
		it "-s $host"; ( begin
			"$zcc" -s $host -p "$PORT" tiny >out
			grep -q "to \[::1\]:$PORT" out
		); ok
	done
	it '-4: no IPv4 address, no connection'; ( begin
		exits 1 "$zcc" -4 -s ::1 -p "$PORT" tiny
		one_line err
	); ok
else
	skip 'IPv6' 'no IPv6 here'
fi
it 'files that cannot be sent are named and skipped, the others are sent, exit 1'; ( begin
	mkfifo fifo
	: >secret && chmod 0 secret
	exits 1 as_user "$zcc" -s 0 -p "$PORT" --congestion reno missing . fifo secret /dev/null file
	for f in missing . fifo secret /dev/null; do grep -q "zcc: $f: skipped" err; done
	[ "$(grep -vc "took less than half a second" err)" -eq 6 ]
	[ "$(tail -n 1 err)" = "zcc: skipped 5 of 6 files" ]
	grep -q "^  1 file of [0-9,]* bytes, 5 skipped, in 1 loop$" out
	grep -q "all bytes sent were received" out
); ok
it 'it is an error if none of the files can be sent'; ( begin
	exits 1 "$zcc" -s 0 -p "$PORT" missing .
	tail -n 1 err | grep -q "none of the files can be sent"
); ok
it 'more files than descriptors'; ( begin
	mkdir many
	for i in $(seq 200); do echo "$i" >many/"$i"; done
	# shellcheck disable=SC3045 # dash, bash and busybox have -n
	( ulimit -n 100; exits 0 "$zcc" -s 0 -p "$PORT" many/* -n 3 )
	grep -q "^  200 files of $((9 * 2 + 90 * 3 + 101 * 4)) bytes, in 3 loops" out
	[ "$(bytes_of out)" = "$((3 * (9 * 2 + 90 * 3 + 101 * 4))) $((3 * (9 * 2 + 90 * 3 + 101 * 4)))" ]
); ok
it '-t: about that long, and both ends agree'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" -t 0.5 --pace 20m
	# A busy zcs begins late.
	figures_of seconds out | awk '{ ok = $1 >= 0.5 && $2 >= 0.1 && $1 + $2 < 20 } END { exit !ok }'
	grep -q "all bytes sent were received" out
); ok
it 'a file that shrinks is an error'; ( begin
	truncate -s 3G shrinks
	rm out # which the shell of zcc may be late to empty
	"$zcc" -s 0 -p "$PORT" -n 100 -I 0.05 shrinks >out 2>err &
	p=$!
	remember $p
	wait_until grep -q '^[1-9]' out
	truncate -s 1M shrinks
	ended $p
	status=0; wait $p || status=$?
	cat err
	[ $status -eq 1 ]
	grep -q "shrinks: shrank while it was being sent" err
); ok
rm -f shrinks
stop_zcs
check 'the interrupted and the broken left zcs running' gone "$ZCS"

# Errors.
it 'connection refused: one line, exit 1'; ( begin
	fails "cannot connect to 0 port $PORT: Connection refused" "$zcc" -s 0 -p "$PORT" tiny
); ok
it 'a server that cannot be reached: one line, exit 1'; ( begin
	fails "^zcc: cannot connect to 255.255.255.255 port 9: Network is unreachable$" "$zcc" -s 255.255.255.255 -p 9 tiny
); ok
check 'an unknown host: one line, exit 1' fails "no.such.host.invalid" "$zcc" -s no.such.host.invalid tiny
start_peer -f
it '--timeout: a server that takes no connection'; ( begin
	fails "cannot connect to 0 port $PORT: Connection timed out" timeout 20 "$zcc" -s 0 -p "$PORT" --timeout 0.2 file
); ok
kill -USR1 "$PEER"
start_zcs
it '--timeout: nothing of it where all is well'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --timeout 20 -n 3 file
	grep -q "all bytes sent were received" out
	no_warning err
); ok
printf x >tiny
it '-b: 21 sizes with 20 descriptors: each run closes what it has opened'; ( begin
	# shellcheck disable=SC2016 # of the inner shell
	exits 0 sh -c 'ulimit -n 20 && exec "$0" -s 0 -p "$1" -q -S -b "$(seq -s , 1000 1020)" tiny' "$zcc" "$PORT"
	[ "$(wc -l <out)" -eq 21 ]
); ok
it '-m with all methods, -r 30, in 100 MB: each run gives back the memory that it took'; ( begin
	! sanitized || skip_check 'a sanitizer has more memory than that'
	# shellcheck disable=SC3045 # dash, bash and busybox have -v
	ulimit -v 100000
	exits 0 timeout 60 "$zcc" -s 0 -p "$PORT" -q -m "$(senders | paste -sd ,)" -r 30 tiny
); ok
stop_zcs
start_peer -d 1 -l 2000 -R
it 'the bytes in that line are those that the server acknowledged, not those in the send buffer'; ( begin
	exits 1 "$zcc" -s 0 -p "$PORT" -o 200k -n 1000 file
	one_line err
	acked=$(sed -n "s/.*the server .* the connection after \([0-9]*\) bytes: is it a zcs --reply?$/\1/p" err)
	[ "$acked" -le 65536 ]
); ok


# server_fails 'a server that ...' 'line' 'options of zcc' options of the peer...
server_fails()
{
	title=$1 line=$2 options=$3
	shift 3
	start_peer "$@"
	it "$title: one line that names it, exit 1, no report"; ( begin
		fails "^zcc: 127.0.0.1:$PORT: the server$line$" timeout 20 "$zcc" -s 0 -p "$PORT" $options
	); ok
	kill -USR1 "$PEER" 2>/dev/null
}
server_fails 'a server that goes away' ' \(closed\|reset\) the connection after [0-9]* bytes.*' '-n 1000 file' -l 100000 -R
server_fails 'a server that resets the connection when it has all' \
    ' reset the connection after 1 byte: is it a zcs --reply?' tiny -R
server_fails '--raw: a server that resets the connection when it has all' ' reset the connection after 1 byte' '--raw tiny' -R
server_fails 'a server that closes before it has acknowledged the last byte' \
    ' closed the connection before it had acknowledged the last [1-9][0-9]* bytes\?' '-i 4k -o 200k file' -x -s
server_fails '--timeout: a server that takes all and never answers' \
    ' accepted no data for 0.3 seconds (--timeout) after 1 byte' '--timeout 0.3 tiny' -k
for text in 'HTTP/1.0 400 Bad Request\n' 'bytes=1 seconds=1' 'bytes=1 seconds=1\n\n' "$(head -c 5000 /dev/zero | tr '\0' x)\n"; do
	server_fails "a server whose answer is not a receipt ($(printf %.30s "$text"))" \
	    ".s answer is not a receipt, it .*: use --raw if it is not zcs" tiny -r "$text"
done
start_peer -s
env --default-signal=INT "$zcc" -s 0 -p "$PORT" -t 60 file >out 2>err &
held=$!
remember $held
it 'a second signal, another one, ends zcc in a send that blocks at once, without a report'; ( begin
	wait_until grep -q data peer.out
	kill -STOP $held # so that both signals are there at once
	kill -INT $held
	kill -TERM $held
	kill -CONT $held
	ended $held
	cat out err
	not [ -s out ]
); ok
kill -USR1 "$PEER"
it 'ulimit -f: zcc reports that the built-in set is too large'; ( begin
	# The limit is not of pipes.
	sh -c 'ulimit -f 0; "$@" 2>&1; echo "exit status $?"' sh "$zcc" -s 0 -p 1 -t 0.1 | cat >got
	cat got
	printf 'zcc: built-in file set: File too large\nexit status 1\n' | diff - got
); ok
# An option, a value that it rejects, and what the line has.  tests/unit/usage.c has the forms of values.
while read -r option value line; do
	check_usage "$option: .*$line" zcc -s 0 $option "$value"
done <<'END'
--loops 0 '0' is not between
--loops 4294967295 not between
--port 65536 not between
--port 22.0 not a whole number
--bind 192.0.2.1:2222 has a port
--server 192.0.2.1:2222 has a port, which is -p, --port
--buffer-size 0 not between
--buffer-size 2g not between
--streams 0 not between
--streams 1025 not between
--interval 0.001 not 0, nor between 0.01
--warmup 1000 not between
--pace 0 not between
--pace 100Mbit in bits.*12.5MB
--mss 10 not between
--mss 64k not
--timeout 0.0001 not 0, nor between 0.001
--cpus 0 not between
--bind-cpu 1- '1-'
--rcvbuf -1 '-1'
--sndbuf 99999999999999999999 not between
--time 0 not between
--method carrier-pigeon 'carrier-pigeon'.*sendfile, send, write, mmap, splice, zerocopy, uring, uring-zc
END
check_usage '--server' zcc file
check_usage "^zcc: unknown option '-x' (try 'zcc --help')$" zcc -x
check_usage 'requires an argument' zcc -s
check_usage '--cpus.*more than' zcc -s 0 -c -N 8000
check_usage '--calibrate' zcc -C file
check_usage '--calibrate and -J, --json' zcc -C --json
check_usage '--loops.*not between' zcc -s 0 --warmup 1 -n 4294967290
for pair in '-t 1 -n 1' '-4 -6' '-S -m send' '-w -m write' '--raw --warmup 1'; do
	check_usage 'cannot be used together' zcc -s 0 $pair
done

# A file system with files of 2^63 bytes, of which two have more entries than a loop may.
if shm=$(mktemp -d /dev/shm/zc-check.XXXXXX 2>/dev/null) && truncate -s 9223372036854775807 "$shm/huge" 2>/dev/null; then
	start_zcs
	it 'more entries than 32 bits can say: one line that names the file, exit 1'; ( begin
		fails "^zcc: $shm/huge: too much for one loop, with the files before it: " timeout 20 "$zcc" -s 0 -p "$PORT" "$shm/huge" "$shm/huge"
	); ok
	it '--raw: more bytes than 64 bits can say: one line that names the file, exit 1'; ( begin
		fails "^zcc: $shm/huge: too much for one loop" timeout 20 "$zcc" -s 0 -p "$PORT" --raw "$shm/huge" "$shm/huge" "$shm/huge"
	); ok
	check '-t: a file of 2^63 bytes can be sent for a while' exits 0 timeout 20 "$zcc" -s 0 -p "$PORT" -t 0.2 "$shm/huge"
	stop_zcs
else
	skip 'more entries than 32 bits can say' 'no /dev/shm with files of 2^63 bytes'
fi
[ -z "$shm" ] || rm -rf "$shm"
it 'a file whose size cannot be had is skipped, and closed'; ( begin; need strace
	start_peer
	exits 1 strace -o trace -P "$PWD/file" -e trace=openat,fstat,newfstatat,close \
	    -e inject=fstat,newfstatat:error=EIO "$zcc" -s 0 -p "$PORT" file tiny
	cat trace err
	grep -qx "zcc: file: skipped: Input/output error" err
	grep -q "^close(" trace
); ok
check 'a CPU that is not there: exit 1' fails "CPU 8000" "$zcc" -s 0 -p 1 -B 8000 tiny
check 'an unknown congestion control: exit 1' fails nosuch "$zcc" -s 0 -p 1 --congestion nosuch tiny
start_peer -n 3
it 'a smaller buffer than asked for is reported once, not for each stream'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno -P 3 -i 1g -o 1g tiny
	[ "$(grep -c "^zcc: receive buffer: asked for" err)" -eq 1 ]
	[ "$(grep -c "^zcc: send buffer: asked for 1073741824 bytes, the kernel gave [0-9]" err)" -eq 1 ]
	[ "$(grep -vc "took less than half a second" err)" -eq 2 ]
); ok
if [ -c /dev/full ]; then
	start_peer
	it 'a report that cannot be written: exit 1'; ( begin
		status=0
		"$zcc" -s 0 -p "$PORT" tiny >/dev/full 2>err || status=$?
		[ $status -eq 1 ]
		grep -q "stdout: No space left" err
	); ok
fi
start_peer
it 'stdout closed: the socket is not taken for it'; ( begin
	status=0
	"$zcc" -s 0 -p "$PORT" tiny >&- 2>err || status=$?
	ended "$PEER"
	[ $status -eq 1 ]
	grep -qx "bytes 13" peer.out
); ok

# A reader of stdout that reads nothing must not keep a program that is told to stop.
mkfifo unread
exec 7<>unread
start_zcs
"$zcc" --json -I 0.01 -P 8 -t 60 -s 0 -p "$PORT" --congestion reno --pace 2m >unread 2>stuck.err &
STUCK=$!
remember $STUCK
it 'zcc ends on SIGTERM although nobody reads its report'; ( begin
	wait_until pipe_is_full unread
	kill -TERM $STUCK
	ended $STUCK
	grep -q "^zcc: stdout: " stuck.err
); ok
stop_zcs
exec 7<&-

finish
