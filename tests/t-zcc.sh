#!/bin/sh
# zcc's options, seen from outside, and its errors.
#
# seconds: 20
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
	strace -f -o trace -e trace="$calls" "$zcc" -s 0 -p $PORT "$@" >out 2>err
}
# calls_between FILE: which system calls there are from the first header to the end
calls_between()
{
	tid=$(sed -n '/MSG_MORE/{s/ .*//p;q}' "$1")
	grep "^$tid " "$1" | sed -n '/MSG_MORE/,/shutdown/s/^[0-9 ]*\([a-z0-9_]*\)(.*/\1/p' | sort -u
}
if ! strace -o /dev/null true 2>/dev/null; then
	strace_missing='no strace, or it may not trace'
fi
check_traced()
{
	if [ -n "$strace_missing" ]; then
		skip "$1" "$strace_missing"
	else
		check "$1" "$2"
	fi
}

check_traced 'default: sendfile, all of the file asked for at once' '
	trace sendfile,sendto,write file
	grep -Eq "sendfile\([0-9]+, [0-9]+, \[0\](.*), 300000\)" trace
	not grep -E "sendto.*, 65536, " trace'
check_traced 'the headers are held back for the data' '
	trace sendto file
	grep -Eq "sendto\(.*, 12, MSG_MORE" trace'
check_traced '-S: send() of 64k' '
	trace sendfile,sendto,pread64 -S file
	grep -Eq "pread64\(.*, 65536, 0\) = 65536" trace
	[ $(grep -Ec "sendto\(.*, 65536, 0, NULL, 0\)" trace) -ge 4 ]
	not grep sendfile trace'
check_traced '--send is -S' '
	trace sendfile,sendto --send file
	grep -Eq "sendto\(.*, 65536, 0, NULL, 0\)" trace'
check_traced '-S -w: write() of 64k' '
	trace sendfile,sendto,write -S -w file
	[ $(grep -Ec "write\(.*, 65536\)" trace) -ge 4 ]
	not grep sendfile trace
	not grep -E "sendto.*, 65536" trace'
for how in -w --write '-m write' --method=write; do
	check_traced "$how: write()" '
		trace write $how file
		grep -Eq "write\(.*, 65536\)" trace'
done
check_traced '-b 1k with -S' '
	trace sendto,pread64 -S -b 1k file
	grep -Eq "pread64\(.*, 1024, 0\) = 1024" trace
	[ $(grep -Ec "sendto\(.*, 1024, 0, NULL, 0\)" trace) -ge 292 ]'
check_traced '--buffer-size 100000 with sendfile' '
	trace sendfile --buffer-size=100000 file
	[ $(grep -Ec "sendfile\(.*, 100000\)" trace) -ge 3 ]'
check_traced '-k: TCP_CORK set before the data and taken off after' '
	trace setsockopt,sendfile,shutdown -k file
	grep -o "TCP_CORK, \[[01]\]\|sendfile\|shutdown" trace | uniq >order
	cat order
	printf "TCP_CORK, [1]\nsendfile\nTCP_CORK, [0]\nshutdown\n" | diff order -'
check_traced 'without -k no TCP_CORK' '
	trace setsockopt file
	not grep CORK trace'
check_traced '-i and -o: set before the connection' '
	trace setsockopt,connect -i 100000 -o 200000 file
	grep -o "SO_RCVBUF, \[100000\]\|SO_SNDBUF, \[200000\]\|connect" trace >order
	printf "SO_RCVBUF, [100000]\nSO_SNDBUF, [200000]\nconnect\n" | diff order -'
check_traced 'without -i and -o the buffers are the kernel'"'"'s' '
	trace setsockopt file
	not grep -E "SO_(RCV|SND)BUF" trace'
check_traced '--mss, --nodelay, --pace and --timeout: set before the connection' '
	trace setsockopt,connect --mss 1000 --nodelay --pace 1000000 --timeout 7.5 file
	cat trace
	grep "^[0-9]* *\(connect\|setsockopt\)(.*\(htons($PORT)\|TCP_MAXSEG\|TCP_NODELAY\|SNDTIMEO\|PACING\)" trace |
	    grep -o "connect\|TCP_MAXSEG, \[1000\]\|TCP_NODELAY, \[1\]\|SO_SNDTIMEO[A-Z_]*, .*[{\\]\|SO_MAX_PACING_RATE" |
	    sed "s/SO_SNDTIMEO.*/SO_SNDTIMEO/" | sort >order
	printf "SO_MAX_PACING_RATE\nSO_SNDTIMEO\nTCP_MAXSEG, [1000]\nTCP_NODELAY, [1]\nconnect\n" | diff - order
	sed -n "/htons($PORT)/,\$p" trace | not grep "MAXSEG\|NODELAY\|SNDTIMEO\|PACING"'
check_traced 'without them, none is set' '
	trace setsockopt file
	not grep "MAXSEG\|NODELAY\|SNDTIMEO\|PACING\|ZEROCOPY" trace'
check_traced '-P 3: each connection has its options' '
	start_peer -n 3
	strace -f -o trace -e trace=setsockopt,connect "$zcc" -s 0 -p $PORT -P 3 --mss 1000 --nodelay -k file >out 2>err
	cat trace
	[ $(grep -c "connect(.*htons($PORT)" trace) -eq 3 ]
	for o in TCP_MAXSEG TCP_NODELAY "TCP_CORK, .1"; do [ $(grep -c "$o" trace) -eq 3 ]; done'
check_traced '--congestion' '
	trace setsockopt --congestion reno file
	# Some versions of strace print its four bytes as a number, in either order.
	grep -q "TCP_CONGESTION, \(\"reno\"\|\[\(1869505906\|1919250031\)\]\)" trace
	grep -q ", reno; " out'
check_traced '-S: nothing but reads and sends between headers' '
	trace all -S -n 3 file
	calls_between trace >calls
	cat calls
	printf "pread64\nsendto\nshutdown\n" | diff calls -'
check_traced 'sendfile: nothing but headers and sendfile' '
	trace all -n 3 file
	calls_between trace >calls
	cat calls
	printf "sendfile\nsendto\nshutdown\n" | diff calls -'

# A peer that does not read yet holds zcc in the middle of the transfer.
start_peer -s
"$zcc" -s 0 -p $PORT -B 0 -i 50000 -o 60000 -t 60 file >out 2>err &
remember $!
held=$!
check '-B 0: bound to CPU 0' '
	wait_until "grep -q \"^Cpus_allowed_list:	0$\" /proc/$held/status"'
check_with ss '-i and -o as the socket has them' '
	wait_until "ss -tmn \"dport = :$PORT\" | grep -q skmem"
	ss -tmn "dport = :$PORT"
	ss -tmn "dport = :$PORT" | grep -q "rb100000,.*tb120000"'
start_peer -s
"$zcc" -s 0 -p $PORT --mss 1000 --pace 1000000 -t 60 file >out.mss 2>err.mss &
remember $!
check_with ss '--mss and --pace as the socket has them' '
	wait_until "ss -tin \"dport = :$PORT\" | grep -q bytes_sent"
	ss -tin "dport = :$PORT" >sockets
	cat sockets
	# 12 bytes of it are for timestamps, where they are in use.
	grep -Eq " mss:(1000|988) " sockets
	grep -Eq " pacing_rate [0-9.]+[MKbps]*/(8000000|8M)bps" sockets'
check 'interrupted, it reports what there was' '
	kill -TERM $held
	ended $held
	grep -q "kbytes/sec" out'
wait $held
check 'and ends by that signal' "[ $? -eq 143 ]"
kill -USR1 $PEER

start_peer
check '-n: that many times' '
	"$zcc" -s 0 -p $PORT -n 7 file >report
	ended $PEER
	grep -qx "bytes $((4 + 7 * (300000 + 8)))" peer.out
	grep -q "in 7 loops" report'
start_peer
check 'options may follow file names, "--" ends them' '
	"$zcc" -s 0 file -p $PORT tiny -n2 -- tiny >report
	ended $PEER
	grep -qx "bytes $((4 + 2 * (4 + 3 * 4 + 300002)))" peer.out'
start_zcs
for host in 0 localhost 127.0.0.1; do
	check "-s $host" '"$zcc" -s $host -p $PORT tiny'
done
if [ -e /proc/net/if_inet6 ]; then
	for host in '0 -6' ::1; do
		check "-s $host" '
			"$zcc" -s $host -p $PORT tiny >out
			grep -q "to \[::1\]:$PORT" out'
	done
	check '-4: no IPv4 address, no connection' 'exits 1 "$zcc" -4 -s ::1 -p $PORT tiny; one_line err'
else
	skip 'IPv6' 'no IPv6 here'
fi
check 'files that cannot be sent are named and skipped' '
	mkfifo fifo
	: >secret && chmod 0 secret
	exits 0 as_user "$zcc" -s 0 -p $PORT missing . fifo secret /dev/null "$TOP/Makefile"
	for f in missing . fifo secret /dev/null; do grep -q "zcc: $f: skipped" err; done
	[ $(wc -l <err) -eq 5 ]
	grep -q "; 1 files of [0-9]* bytes," out'
check 'none left is an error' '
	exits 1 "$zcc" -s 0 -p $PORT missing .
	tail -n 1 err | grep -q "none of the files can be sent"'
check 'more files than descriptors' '
	mkdir many
	for i in $(seq 200); do echo $i >many/$i; done
	( ulimit -n 100; exits 0 "$zcc" -s 0 -p $PORT many/* -n 3 )
	grep -q "; 200 files of $((9 * 2 + 90 * 3 + 101 * 4)) bytes, in 3 loops" out
	grep -Eqx "  bytes +$((3 * (9 * 2 + 90 * 3 + 101 * 4))) +$((3 * (9 * 2 + 90 * 3 + 101 * 4)))" out'
check '-t: about that long, and both ends agree' '
	exits 0 "$zcc" -s 0 -p $PORT -t 0.5
	grep -Eqx "  seconds +0\.[5-9][0-9]* +0\.[4-9][0-9]*" out
	grep -q "all bytes sent were received" out'
check 'a file that shrinks is an error' '
	truncate -s 3G shrinks
	"$zcc" -s 0 -p $PORT -n 100 shrinks >out 2>err &
	p=$!
	wait_until "grep -q \"^pos\" /proc/$p/fdinfo/3"
	sleep 0.2; truncate -s 1M shrinks
	status=0; wait $p || status=$?
	cat err
	[ $status -eq 1 ]
	grep -q "shrinks: shrank while it was being sent" err'
rm -f shrinks
stop_zcs
check 'the interrupted and the broken left zcs running' 'gone $ZCS'

# Errors.
check 'connection refused: one line, exit 1' '
	exits 1 "$zcc" -s 0 -p $PORT tiny
	one_line err
	grep -q "cannot connect to 0 port $PORT: Connection refused" err'
check 'an unknown host: one line, exit 1' '
	exits 1 "$zcc" -s no.such.host.invalid tiny
	one_line err
	grep -q "no.such.host.invalid" err'
for how in sendfile send write mmap splice zerocopy 'zerocopy -b 1000'; do
	start_peer -s
	check "-m $how --timeout: a server that reads nothing: one line that names it, exit 1" '
		exits 1 timeout 10 "$zcc" -s 0 -p $PORT -m $how --timeout 0.1 -t 60 file
		one_line err
		grep -q "127.0.0.1:$PORT: the server took nothing for 0.1 seconds (--timeout) after [0-9]* bytes" err
		not [ -s out ]'
	kill -USR1 $PEER
done
start_peer -k
check '--timeout: a server that takes all and never answers: the same' '
	exits 1 timeout 10 "$zcc" -s 0 -p $PORT --timeout 0.1 file
	one_line err
	grep -q "127.0.0.1:$PORT: the server took nothing for 0.1 seconds (--timeout) after 300000 bytes" err
	not [ -s out ]'
kill -USR1 $PEER
start_peer -f
check '--timeout: a server that takes no connection' '
	exits 1 timeout 10 "$zcc" -s 0 -p $PORT --timeout 0.2 file
	one_line err
	grep -q "cannot connect to 0 port $PORT: Connection timed out" err'
kill -USR1 $PEER
start_zcs
check '--timeout: nothing of it where all is well' '
	exits 0 "$zcc" -s 0 -p $PORT --timeout 20 -n 3 file
	grep -q "all bytes sent were received" out
	not [ -s err ]'
stop_zcs
start_peer -l 100000 -R
check 'a server that goes away: one line, exit 1, no report' '
	exits 1 "$zcc" -s 0 -p $PORT -n 1000 file
	one_line err
	grep -Eq "the server (closed|reset) the connection after [0-9]* bytes" err
	not [ -s out ]'
start_peer -d 1 -l 2000 -R
check 'the bytes in that line are those that the server acknowledged, not those in the send buffer' '
	exits 1 "$zcc" -s 0 -p $PORT -o 200k -n 1000 file
	one_line err
	acked=$(sed -n "s/.*the server .* the connection after \([0-9]*\) bytes$/\1/p" err)
	[ "$acked" -le 65536 ]'

# What a server that is not zcs may do at the end.
start_peer -r 'HTTP/1.0 400 Bad Request\n'
check 'an answer that is not a receipt: one line that names it, exit 1, no report' '
	exits 1 "$zcc" -s 0 -p $PORT tiny
	one_line err
	grep -Eq "^zcc: 127.0.0.1:$PORT: the server.s answer is not a receipt, it .*: use --raw if it is not zcs$" err
	not [ -s out ]'
start_peer -R
check 'a server that resets the connection when it has all: the same' '
	exits 1 "$zcc" -s 0 -p $PORT tiny
	one_line err
	grep -qx "zcc: 127.0.0.1:$PORT: the server reset the connection after 1 bytes" err
	not [ -s out ]'
start_peer -x -s
check 'a server that closes before it has acknowledged the last byte: the same' '
	exits 1 timeout 20 "$zcc" -s 0 -p $PORT -i 4k -o 200k file
	one_line err
	grep -Eqx "zcc: 127.0.0.1:$PORT: the server closed the connection before it had acknowledged the last [1-9][0-9]* bytes" err
	not [ -s out ]'
kill -USR1 $PEER
start_peer
check 'a server that closes in silence when it has all: a report, as of one of 2001' '
	exits 0 "$zcc" -s 0 -p $PORT file
	not [ -s err ]
	grep -q "no receipt" out'

# --timeout does not let a server be slow without end.
start_peer -d 50
check '--timeout: a server that drains the last bytes by and by is not waited for without end' '
	exits 1 timeout 60 "$zcc" -s 0 -p $PORT --mss 500 -o 200k -t 0.5 --timeout 2 file
	one_line err
	grep -q "^zcc: 127.0.0.1:$PORT: the server took less than 64 KiB in 2 seconds (--timeout), and was waited for" err
	not [ -s out ]'

start_peer -s
env --block-signal=ALRM "$zcc" -s 0 -p $PORT -t 60 file >out 2>err &
held=$!
remember $held
check 'SIGALRM blocked by who starts it: it can be interrupted in a send' '
	wait_until "grep -q data peer.out"
	kill -TERM $held
	ended $held
	cat out err
	grep -q "kbytes/sec" out'
kill -USR1 $PEER
bad()
{
	text=$1
	shift
	check "usage: zcc $*" '
		exits 2 "$zcc" "$@"
		one_line err
		not [ -s out ]
		grep -q -e "$text" err' "$@"
}
bad '--server' file
bad 'Z' -Z
bad 'nosuch' --nosuch
bad 'requires an argument' -s
bad '--loops.*0.*not between' -s 0 -n 0
bad "--loops.*'x'" -s 0 -n x
bad "--loops.*'3x'" -s 0 -n 3x
bad '--loops.*not between' -s 0 -n 4294967295
bad '--port.*not between' -s 0 -p 65536
bad "--port.*'http'" -s 0 -p http
bad '--buffer-size.*not a size' -s 0 -b 1q
bad '--buffer-size.*not between' -s 0 -b 0
bad '--buffer-size.*not between' -s 0 -b 2g
bad '--rcvbuf' -s 0 -i -1
bad '--sndbuf' -s 0 -o 99999999999999999999
bad '--bind-cpu' -s 0 -B 1-
bad '--method' -s 0 -m carrier-pigeon
bad '--cpus.*0.*not between' -s 0 -N 0
bad '--cpus.*more than' -s 0 -N 8000
bad '--time' -s 0 -t 0
bad 'exclude' -s 0 -t 1 -n 1
bad 'exclude' -s 0 -4 -6
bad 'exclude' -s 0 -S -m send
bad '--calibrate' -C file
bad "--method.*'carrier-pigeon'.*sendfile, send, write, mmap, splice, zerocopy" -s 0 -m carrier-pigeon
bad 'exclude' -s 0 -w -m write
bad '--streams.*0.*not between' -s 0 -P 0
bad "--streams.*'x'" -s 0 -P x
bad '--streams.*not between' -s 0 -P 1025
bad '--interval.*0.*not between' -s 0 -I 0
bad "--interval.*'-1'" -s 0 -I -1
bad "--warmup.*'-1'" -s 0 --warmup -1
bad '--warmup.*1000.*not between' -s 0 --warmup 1000
bad '--loops.*--warmup' -s 0 --warmup 1 -n 4294967290
bad '--pace.*0.*not between' -s 0 --pace 0
bad "--pace.*'fast'" -s 0 --pace fast
bad '--mss.*10.*not between' -s 0 --mss 10
bad '--mss.*not between' -s 0 --mss 64k
bad '--timeout.*0.*not between' -s 0 --timeout 0
bad '--timeout' -s 0 --timeout x
bad '--raw.*exclude' -s 0 --raw --warmup 1
bad '--calibrate and --json' -C --json

# A file system with files of 2^63 bytes, of which two have more entries than a loop may.
if shm=$(mktemp -d /dev/shm/zc-check.XXXXXX 2>/dev/null) && truncate -s 9223372036854775807 "$shm/huge" 2>/dev/null; then
	start_zcs
	check 'more entries than 32 bits can say: one line that names the file, exit 1' '
		exits 1 timeout 20 "$zcc" -s 0 -p $PORT "$shm/huge" "$shm/huge"
		one_line err
		grep -q "^zcc: $shm/huge: too much for one loop, with the files before it: " err'
	check '--raw: more bytes than 64 bits can say: the same' '
		exits 1 timeout 20 "$zcc" -s 0 -p $PORT --raw "$shm/huge" "$shm/huge" "$shm/huge"
		one_line err
		grep -q "^zcc: $shm/huge: too much for one loop" err'
	check 'one of them can be sent, for a while' '
		exits 0 timeout 20 "$zcc" -s 0 -p $PORT -t 0.2 "$shm/huge"'
	stop_zcs
else
	skip 'more entries than 32 bits can say' 'no /dev/shm with files of 2^63 bytes'
fi
[ -z "$shm" ] || rm -rf "$shm"
check_traced 'a file whose size cannot be had is skipped, and closed' '
	start_peer
	strace -o trace -P "$PWD/file" -e trace=openat,fstat,newfstatat,close \
	    -e inject=fstat,newfstatat:error=EIO "$zcc" -s 0 -p $PORT file tiny >out 2>err
	cat trace err
	grep -qx "zcc: file: skipped: Input/output error" err
	grep -q "^close(" trace'
check 'a CPU that is not there: exit 1' '
	exits 1 "$zcc" -s 0 -p 1 -B 8000 tiny
	one_line err
	grep -q "CPU 8000" err'
check 'an unknown congestion control: exit 1' '
	exits 1 "$zcc" -s 0 -p 1 --congestion nosuch tiny
	one_line err
	grep -q nosuch err'
start_peer
check 'a smaller buffer than asked for is said' '
	exits 0 "$zcc" -s 0 -p $PORT -o 1g tiny
	one_line err
	grep -q "send buffer: asked for 1073741824 bytes, the kernel gave [0-9]*" err'
start_peer -n 3
check 'a smaller buffer than asked for is said once, not of each stream' '
	exits 0 "$zcc" -s 0 -p $PORT -P 3 -i 1g -o 1g tiny
	[ $(grep -c "^zcc: receive buffer: asked for" err) -eq 1 ]
	[ $(grep -c "^zcc: send buffer: asked for" err) -eq 1 ]
	[ $(wc -l <err) -eq 2 ]'
check '-h: help on stdout, exit 0' '
	exits 0 "$zcc" -h
	not [ -s err ]
	for o in -s -p -n -t -m -S -w -b -k -i -o -B -c -C -N -d -h; do grep -q -e " $o," out; done'
if [ -c /dev/full ]; then
	start_peer
	check 'a report that cannot be written: exit 1' '
		status=0
		"$zcc" -s 0 -p $PORT tiny >/dev/full 2>err || status=$?
		[ $status -eq 1 ]
		grep -q "stdout: No space left" err'
fi
start_peer
check 'stdout closed: the socket is not taken for it' '
	status=0
	"$zcc" -s 0 -p $PORT tiny >&- 2>err || status=$?
	ended $PEER
	[ $status -eq 1 ]
	grep -qx "bytes 13" peer.out'

# A reader of stdout that reads nothing must not keep a program that is told to stop.
mkfifo unread
exec 7<>unread
start_zcs
"$zcc" --json -I 0.01 -P 8 -t 60 -s 0 -p $PORT --congestion reno >unread 2>stuck.err &
STUCK=$!
remember $STUCK
check 'zcc ends on SIGTERM although nobody reads its report' '
	wait_until "pipe_is_full unread"
	kill -TERM $STUCK
	ended $STUCK
	grep -q "^zcc: stdout: " stuck.err'
stop_zcs
exec 7<&-

finish
