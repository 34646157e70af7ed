#!/bin/sh
# zcc's options, seen from outside, and its errors.
#
# group: waits
# seconds: 12
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc
head -c 300000 /dev/urandom >file
printf 'x' >tiny

# trace 'calls' zcc-options...: what zcc asks of the kernel, in the file `trace`
trace()
{
	calls=$1
	shift
	start_peer
	strace -f -o trace -e trace="$calls" "$zcc" -s 0 -p "$PORT" "$@" >out 2>err
}
# calls_between FILE: which system calls there are from the first header to the end
calls_between()
{
	tid=$(sed -n '/MSG_MORE/{s/ .*//p;q}' "$1")
	grep "^$tid " "$1" | sed -n '/MSG_MORE/,/shutdown/s/^[0-9 ]*\([a-z0-9_]*\)(.*/\1/p' | sort -u
}
# Some checks look at the same trace: that of a run without options.
if can_trace; then
	trace sendfile,sendto,write,setsockopt file
	mv trace plain
fi
it 'default: sendfile, all of the file asked for at once'; ( begin; need strace
	grep -Eq "sendfile\([0-9]+, [0-9]+, \[0\](.*), 300000\)" plain
	not grep -E "sendto.*, 65536, " plain
); ok
it 'the headers wait for the data (MSG_MORE)'; ( begin; need strace
	grep -Eq "sendto\(.*, 12, MSG_MORE" plain
); ok
it '-S: send() of 64k'; ( begin; need strace
	trace sendfile,sendto,pread64 -S file
	grep -Eq "pread64\(.*, 65536, 0\) = 65536" trace
	[ "$(grep -Ec "sendto\(.*, 65536, 0, NULL, 0\)" trace)" -ge 4 ]
	not grep sendfile trace
); ok
it '--send is -S'; ( begin; need strace
	trace sendfile,sendto --send file
	grep -Eq "sendto\(.*, 65536, 0, NULL, 0\)" trace
); ok
it '-S -w: write() of 64k'; ( begin; need strace
	trace sendfile,sendto,write -S -w file
	[ "$(grep -Ec "write\(.*, 65536\)" trace)" -ge 4 ]
	not grep sendfile trace
	not grep -E "sendto.*, 65536" trace
); ok
for how in -w --write '-m write' --method=write; do
	it "$how: write()"; ( begin; need strace
		trace write $how file
		grep -Eq "write\(.*, 65536\)" trace
	); ok
done
it '-b 1k with -S'; ( begin; need strace
	trace sendto,pread64 -S -b 1k file
	grep -Eq "pread64\(.*, 1024, 0\) = 1024" trace
	[ "$(grep -Ec "sendto\(.*, 1024, 0, NULL, 0\)" trace)" -ge 292 ]
); ok
it '--buffer-size 100000 with sendfile'; ( begin; need strace
	trace sendfile --buffer-size=100000 file
	[ "$(grep -Ec "sendfile\(.*, 100000\)" trace)" -ge 3 ]
); ok
it '-k: TCP_CORK set before the data and taken off after'; ( begin; need strace
	trace setsockopt,sendfile,shutdown -k file
	grep -o "TCP_CORK, \[[01]\]\|sendfile\|shutdown" trace | uniq >order
	cat order
	printf "TCP_CORK, [1]\nsendfile\nTCP_CORK, [0]\nshutdown\n" | diff order -
); ok
it 'without -k no TCP_CORK'; ( begin; need strace
	[ -s plain ]
	not grep CORK plain
); ok
it '-i and -o: set before the connection'; ( begin; need strace
	trace setsockopt,connect -i 100000 -o 200000 file
	grep -o "SO_RCVBUF, \[100000\]\|SO_SNDBUF, \[200000\]\|connect" trace >order
	printf "SO_RCVBUF, [100000]\nSO_SNDBUF, [200000]\nconnect\n" | diff order -
); ok
it 'without -i and -o the buffers are the kernel'"'"'s'; ( begin; need strace
	[ -s plain ]
	not grep -E "SO_(RCV|SND)BUF" plain
); ok
it '--mss, --nodelay, --pace and --timeout: set before the connection'; ( begin; need strace
	trace setsockopt,connect --mss 1000 --nodelay --pace 1000000 --timeout 7.5 file
	cat trace
	grep "^[0-9]* *\(connect\|setsockopt\)(.*\(htons($PORT)\|TCP_MAXSEG\|TCP_NODELAY\|SNDTIMEO\|PACING\)" trace |
	    grep -o 'connect\|TCP_MAXSEG, \[1000\]\|TCP_NODELAY, \[1\]\|SO_SNDTIMEO[A-Z_]*, .*[{\]\|SO_MAX_PACING_RATE' |
	    sed "s/SO_SNDTIMEO.*/SO_SNDTIMEO/" | sort -u >order
	printf "SO_MAX_PACING_RATE\nSO_SNDTIMEO\nTCP_MAXSEG, [1000]\nTCP_NODELAY, [1]\nconnect\n" | diff - order
	sed -n "/htons($PORT)/,\$p" trace >after
	not grep "MAXSEG\|NODELAY\|PACING" after
	# The time-out of connect(2) is none of a send.
	grep "SNDTIMEO.*\"\(.0\)\{16\}\"" after
); ok
it 'without --mss, --nodelay, --pace and --timeout none of their options is set'; ( begin; need strace
	[ -s plain ]
	not grep "MAXSEG\|NODELAY\|SNDTIMEO\|PACING\|ZEROCOPY" plain
); ok
it '-P 3: each connection has its options'; ( begin; need strace
	start_peer -n 3
	strace -f -o trace -e trace=setsockopt,connect "$zcc" -s 0 -p "$PORT" -P 3 --mss 1000 --nodelay -k --pace 1g file >out 2>err
	cat trace
	[ "$(grep -c "connect(.*htons($PORT)" trace)" -eq 3 ]
	for o in TCP_MAXSEG TCP_NODELAY "TCP_CORK, .1" SO_MAX_PACING_RATE; do [ "$(grep -c "$o" trace)" -eq 3 ]; done
); ok
it '--congestion'; ( begin; need strace
	trace setsockopt --congestion reno file
	# Some versions of strace print its four bytes as a number, in either order.
	grep -q 'TCP_CONGESTION, \("reno"\|\[\(1869505906\|1919250031\)\]\)' trace
	grep -q "^  to .*, reno$" out
); ok
it '-S: nothing but reads and sends between headers'; ( begin; need strace
	trace all -S -n 3 file
	calls_between trace >calls
	cat calls
	printf "pread64\nsendto\nshutdown\n" | diff calls -
); ok
it 'sendfile: nothing but headers and sendfile'; ( begin; need strace
	trace all -n 3 file
	calls_between trace >calls
	cat calls
	printf "sendfile\nsendto\nshutdown\n" | diff calls -
); ok

# A peer that does not read yet holds zcc in the middle of the transfer.
start_peer -s
"$zcc" -s 0 -p "$PORT" -B 0 -i 50000 -o 60000 -t 60 file >out 2>err &
remember $!
held=$!
check '-B 0: bound to CPU 0' wait_until grep -q "^Cpus_allowed_list:	0$" /proc/$held/status
it '-i and -o as the socket has them'; ( begin; need ss
	met()
	{
		ss -tmn "dport = :$PORT" | grep -q skmem
	}
	wait_until met
	ss -tmn "dport = :$PORT"
	ss -tmn "dport = :$PORT" | grep -q "rb100000,.*tb120000"
); ok
wait_until grep -q data peer.out
start_peer -s
"$zcc" -s 0 -p "$PORT" --mss 1000 --pace 1000000 -t 60 file >out.mss 2>err.mss &
remember $!
it '--mss and --pace as the socket has them'; ( begin; need ss
	met()
	{
		ss -tin "dport = :$PORT" | grep -q bytes_sent
	}
	wait_until met
	ss -tin "dport = :$PORT" >sockets
	cat sockets
	# 12 bytes of it are for timestamps, where they are in use.
	grep -Eq " mss:(1000|988) " sockets
	grep -Eq " pacing_rate [0-9.]+[MKbps]*/(8000000|8M)bps" sockets
); ok
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
for how in $(senders) 'zerocopy -b 1000'; do
	start_peer -s
	it "-m $how --timeout: a server that reads nothing: one line that names it, exit 1"; ( begin
		fails "127.0.0.1:$PORT: the server accepted no data for 0.3 seconds (--timeout) after [0-9]* bytes" timeout 20 "$zcc" -s 0 -p "$PORT" -m $how --timeout 0.3 -t 60 file
	); ok
	kill -USR1 "$PEER"
done
start_peer -k
it '--timeout: a server that takes all and never answers: one line that names it, exit 1'; ( begin
	fails "127.0.0.1:$PORT: the server accepted no data for 0.3 seconds (--timeout) after 1 byte$" timeout 20 "$zcc" -s 0 -p "$PORT" --timeout 0.3 tiny
); ok
kill -USR1 "$PEER"
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
stop_zcs
start_peer -l 100000 -R
it 'a server that goes away: one line, exit 1, no report'; ( begin
	exits 1 "$zcc" -s 0 -p "$PORT" -n 1000 file
	one_line err
	grep -Eq "the server (closed|reset) the connection after [0-9]* bytes" err
	not [ -s out ]
); ok
start_peer -d 1 -l 2000 -R
it 'the bytes in that line are those that the server acknowledged, not those in the send buffer'; ( begin
	exits 1 "$zcc" -s 0 -p "$PORT" -o 200k -n 1000 file
	one_line err
	acked=$(sed -n "s/.*the server .* the connection after \([0-9]*\) bytes: is it a zcs --reply?$/\1/p" err)
	[ "$acked" -le 65536 ]
); ok

# What a server that is not zcs may do at the end.
start_peer -r 'HTTP/1.0 400 Bad Request\n'
it 'an answer that is not a receipt: one line that names it, exit 1, no report'; ( begin
	fails "^zcc: 127.0.0.1:$PORT: the server.s answer is not a receipt, it .*: use --raw if it is not zcs$" "$zcc" -s 0 -p "$PORT" tiny
); ok
start_peer -R
it 'a server that resets the connection when it has all: one line, exit 1, no report'; ( begin
	fails "^zcc: 127.0.0.1:$PORT: the server reset the connection after 1 byte: is it a zcs --reply?$" "$zcc" -s 0 -p "$PORT" tiny
); ok
start_peer -x -s
it 'a server that closes before it has acknowledged the last byte: one line, exit 1, no report'; ( begin
	exits 1 timeout 20 "$zcc" -s 0 -p "$PORT" -i 4k -o 200k file
	one_line err
	grep -Eqx "zcc: 127.0.0.1:$PORT: the server closed the connection before it had acknowledged the last [1-9][0-9]* bytes?" err
	not [ -s out ]
); ok
kill -USR1 "$PEER"
start_peer
it 'a server that closes in silence when it has all: a report, as of one of 2001'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" file
	no_warning err
	grep -q "no receipt" out
); ok

start_peer -s
"$zcc" -s 0 -p "$PORT" -t 60 file >out 2>err &
held=$!
remember $held
it 'it can be interrupted in a send that blocks'; ( begin
	wait_until grep -q data peer.out
	kill -TERM $held
	ended $held
	cat out err
	grep -q "kbytes/sec" out
); ok
kill -USR1 "$PEER"
it 'ulimit -f: zcc reports that the built-in set is too large'; ( begin
	# The limit is not of pipes.
	sh -c 'ulimit -f 0; "$@" 2>&1; echo "exit status $?"' sh "$zcc" -s 0 -p 1 -t 0.1 | cat >got
	cat got
	printf 'zcc: built-in file set: File too large\nexit status 1\n' | diff - got
); ok
check_usage '--server' zcc file
check_usage "^zcc: unknown option '-x' (try 'zcc --help')$" zcc -x
check_usage 'nosuch' zcc --nosuch
check_usage 'requires an argument' zcc -s
check_usage '--loops.*0.*not between' zcc -s 0 -n 0
check_usage "--loops.*'x'" zcc -s 0 -n x
check_usage "--loops.*'3x'" zcc -s 0 -n 3x
check_usage '--loops.*not between' zcc -s 0 -n 4294967295
check_usage '--port.*not between' zcc -s 0 -p 65536
check_usage "--port.*'http'" zcc -s 0 -p http
check_usage '--pace.*not bits' zcc -s 0 --pace 100Mbit
check_usage '--buffer-size.*not a size' zcc -s 0 -b 1q
check_usage '--buffer-size.*not between' zcc -s 0 -b 0
check_usage '--buffer-size.*not between' zcc -s 0 -b 2g
check_usage '--rcvbuf' zcc -s 0 -i -1
check_usage '--sndbuf' zcc -s 0 -o 99999999999999999999
check_usage '--bind-cpu' zcc -s 0 -B 1-
check_usage '--method' zcc -s 0 -m carrier-pigeon
check_usage '--cpus.*0.*not between' zcc -s 0 -N 0
check_usage '--cpus.*more than' zcc -s 0 -c -N 8000
check_usage '--time' zcc -s 0 -t 0
check_usage 'cannot be used together' zcc -s 0 -t 1 -n 1
check_usage 'cannot be used together' zcc -s 0 -4 -6
check_usage "-m, --method and -S, --send cannot be used together" zcc -s 0 -S -m send
check_usage '--calibrate' zcc -C file
check_usage "--method.*'carrier-pigeon'.*sendfile, send, write, mmap, splice, zerocopy, uring, uring-zc" zcc -s 0 -m carrier-pigeon
check_usage "-m, --method and -w, --write cannot be used together" zcc -s 0 -w -m write
check_usage '--streams.*0.*not between' zcc -s 0 -P 0
check_usage "--streams.*'x'" zcc -s 0 -P x
check_usage '--streams.*not between' zcc -s 0 -P 1025
check_usage '--interval.*not between 0.01' zcc -s 0 -I 0.001
check_usage "--interval.*'-1'" zcc -s 0 -I -1
check_usage "--warmup.*'-1'" zcc -s 0 --warmup -1
check_usage '--warmup.*1000.*not between' zcc -s 0 --warmup 1000
check_usage '--loops.*not between' zcc -s 0 --warmup 1 -n 4294967290
check_usage '--pace.*0.*not between' zcc -s 0 --pace 0
check_usage "--pace.*'fast'" zcc -s 0 --pace fast
check_usage '--mss.*10.*not between' zcc -s 0 --mss 10
check_usage '--mss.*not between' zcc -s 0 --mss 64k
check_usage '--timeout.*not between 0.001' zcc -s 0 --timeout 0.0001
check_usage '--timeout' zcc -s 0 --timeout x
check_usage '--raw.*cannot be used together' zcc -s 0 --raw --warmup 1
check_usage '--calibrate and -J, --json' zcc -C --json

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
start_peer
it 'a smaller buffer than asked for is reported'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno -o 1g tiny
	[ "$(grep -vc "took less than half a second" err)" -eq 1 ]
	grep -q "send buffer: asked for 1073741824 bytes, the kernel gave [0-9]*" err
); ok
start_peer -n 3
it 'a smaller buffer than asked for is reported once, not for each stream'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno -P 3 -i 1g -o 1g tiny
	[ "$(grep -c "^zcc: receive buffer: asked for" err)" -eq 1 ]
	[ "$(grep -c "^zcc: send buffer: asked for" err)" -eq 1 ]
	[ "$(grep -vc "took less than half a second" err)" -eq 2 ]
); ok
it '-h: help on stdout, exit 0'; ( begin
	exits 0 "$zcc" -h
	not [ -s err ]
	for o in -s -p -n -t -m -S -w -b -k -i -o -B -c -C -N -d -h; do grep -q -e " $o," out; done
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
