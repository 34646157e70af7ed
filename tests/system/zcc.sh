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
default_sendfile()
{
	grep -Eq "sendfile\([0-9]+, [0-9]+, \[0\](.*), 300000\)" plain
	not grep -E "sendto.*, 65536, " plain
}
check_traced 'default: sendfile, all of the file asked for at once' default_sendfile
headers_held_back()
{
	grep -Eq "sendto\(.*, 12, MSG_MORE" plain
}
check_traced 'the headers wait for the data (MSG_MORE)' headers_held_back
send_of_64k()
{
	trace sendfile,sendto,pread64 -S file
	grep -Eq "pread64\(.*, 65536, 0\) = 65536" trace
	[ "$(grep -Ec "sendto\(.*, 65536, 0, NULL, 0\)" trace)" -ge 4 ]
	not grep sendfile trace
}
check_traced '-S: send() of 64k' send_of_64k
send_s()
{
	trace sendfile,sendto --send file
	grep -Eq "sendto\(.*, 65536, 0, NULL, 0\)" trace
}
check_traced '--send is -S' send_s
write_of_64k()
{
	trace sendfile,sendto,write -S -w file
	[ "$(grep -Ec "write\(.*, 65536\)" trace)" -ge 4 ]
	not grep sendfile trace
	not grep -E "sendto.*, 65536" trace
}
check_traced '-S -w: write() of 64k' write_of_64k
write_holds()
{
	trace write $how file
	grep -Eq "write\(.*, 65536\)" trace
}
for how in -w --write '-m write' --method=write; do
	check_traced "$how: write()" write_holds
done
n1k_with()
{
	trace sendto,pread64 -S -b 1k file
	grep -Eq "pread64\(.*, 1024, 0\) = 1024" trace
	[ "$(grep -Ec "sendto\(.*, 1024, 0, NULL, 0\)" trace)" -ge 292 ]
}
check_traced '-b 1k with -S' n1k_with
buffer_size_with_sendfile()
{
	trace sendfile --buffer-size=100000 file
	[ "$(grep -Ec "sendfile\(.*, 100000\)" trace)" -ge 3 ]
}
check_traced '--buffer-size 100000 with sendfile' buffer_size_with_sendfile
tcp_cork_set()
{
	trace setsockopt,sendfile,shutdown -k file
	grep -o "TCP_CORK, \[[01]\]\|sendfile\|shutdown" trace | uniq >order
	cat order
	printf "TCP_CORK, [1]\nsendfile\nTCP_CORK, [0]\nshutdown\n" | diff order -
}
check_traced '-k: TCP_CORK set before the data and taken off after' tcp_cork_set
without_no_tcp_cork()
{
	[ -s plain ]
	not grep CORK plain
}
check_traced 'without -k no TCP_CORK' without_no_tcp_cork
and_set_before_connection()
{
	trace setsockopt,connect -i 100000 -o 200000 file
	grep -o "SO_RCVBUF, \[100000\]\|SO_SNDBUF, \[200000\]\|connect" trace >order
	printf "SO_RCVBUF, [100000]\nSO_SNDBUF, [200000]\nconnect\n" | diff order -
}
check_traced '-i and -o: set before the connection' and_set_before_connection
without_and_buffers_kernel()
{
	[ -s plain ]
	not grep -E "SO_(RCV|SND)BUF" plain
}
check_traced 'without -i and -o the buffers are the kernel'"'"'s' without_and_buffers_kernel
mss_nodelay_pace()
{
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
}
check_traced '--mss, --nodelay, --pace and --timeout: set before the connection' mss_nodelay_pace
without_them_none_set()
{
	[ -s plain ]
	not grep "MAXSEG\|NODELAY\|SNDTIMEO\|PACING\|ZEROCOPY" plain
}
check_traced 'without --mss, --nodelay, --pace and --timeout none of their options is set' without_them_none_set
each_connection()
{
	start_peer -n 3
	strace -f -o trace -e trace=setsockopt,connect "$zcc" -s 0 -p "$PORT" -P 3 --mss 1000 --nodelay -k --pace 1g file >out 2>err
	cat trace
	[ "$(grep -c "connect(.*htons($PORT)" trace)" -eq 3 ]
	for o in TCP_MAXSEG TCP_NODELAY "TCP_CORK, .1" SO_MAX_PACING_RATE; do [ "$(grep -c "$o" trace)" -eq 3 ]; done
}
check_traced '-P 3: each connection has its options' each_connection
congestion_holds()
{
	trace setsockopt --congestion reno file
	# Some versions of strace print its four bytes as a number, in either order.
	grep -q 'TCP_CONGESTION, \("reno"\|\[\(1869505906\|1919250031\)\]\)' trace
	grep -q "^  to .*, reno$" out
}
check_traced '--congestion' congestion_holds
nothing_but_reads()
{
	trace all -S -n 3 file
	calls_between trace >calls
	cat calls
	printf "pread64\nsendto\nshutdown\n" | diff calls -
}
check_traced '-S: nothing but reads and sends between headers' nothing_but_reads
sendfile_nothing_but_headers()
{
	trace all -n 3 file
	calls_between trace >calls
	cat calls
	printf "sendfile\nsendto\nshutdown\n" | diff calls -
}
check_traced 'sendfile: nothing but headers and sendfile' sendfile_nothing_but_headers

# A peer that does not read yet holds zcc in the middle of the transfer.
start_peer -s
"$zcc" -s 0 -p "$PORT" -B 0 -i 50000 -o 60000 -t 60 file >out 2>err &
remember $!
held=$!
check '-B 0: bound to CPU 0' wait_until grep -q "^Cpus_allowed_list:	0$" /proc/$held/status
and_as_socket()
{
	met()
	{
		ss -tmn "dport = :$PORT" | grep -q skmem
	}
	wait_until met
	ss -tmn "dport = :$PORT"
	ss -tmn "dport = :$PORT" | grep -q "rb100000,.*tb120000"
}
check_with ss '-i and -o as the socket has them' and_as_socket
wait_until grep -q data peer.out
start_peer -s
"$zcc" -s 0 -p "$PORT" --mss 1000 --pace 1000000 -t 60 file >out.mss 2>err.mss &
remember $!
mss_and_pace()
{
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
}
check_with ss '--mss and --pace as the socket has them' mss_and_pace
interrupted_it_reports()
{
	kill -TERM $held
	ended $held
	grep -q "kbytes/sec" out
}
check 'zcc that is interrupted reports what it has sent' interrupted_it_reports
wait $held
check 'zcc that is interrupted ends by that signal' [ $? -eq 143 ]
kill -USR1 "$PEER"

start_peer
that_many_times()
{
	"$zcc" -s 0 -p "$PORT" -n 7 file >report
	ended "$PEER"
	grep -qx "bytes $((4 + 7 * (300000 + 8)))" peer.out
	grep -q "in 7 loops" report
}
check '-n: that many times' that_many_times
start_peer
options_may_follow_file()
{
	"$zcc" -s 0 file -p "$PORT" tiny -n2 -- tiny >report
	ended "$PEER"
	grep -qx "bytes $((4 + 2 * (4 + 3 * 4 + 300002)))" peer.out
}
check 'options may follow file names, "--" ends them' options_may_follow_file
start_zcs
for host in 0 localhost 127.0.0.1; do
	check "-s $host" "$zcc" -s $host -p "$PORT" tiny
done
if [ -e /proc/net/if_inet6 ]; then
	s_holds()
	{
		"$zcc" -s $host -p "$PORT" tiny >out
		grep -q "to \[::1\]:$PORT" out
	}
	for host in '0 -6' ::1 '[::1]'; do
		check "-s $host" s_holds
	done
	no_ipv4_address()
	{
		exits 1 "$zcc" -4 -s ::1 -p "$PORT" tiny
		one_line err
	}
	check '-4: no IPv4 address, no connection' no_ipv4_address
else
	skip 'IPv6' 'no IPv6 here'
fi
files_that_cannot_sent()
{
	mkfifo fifo
	: >secret && chmod 0 secret
	exits 1 as_user "$zcc" -s 0 -p "$PORT" --congestion reno missing . fifo secret /dev/null file
	for f in missing . fifo secret /dev/null; do grep -q "zcc: $f: skipped" err; done
	[ "$(grep -vc "took less than half a second" err)" -eq 6 ]
	[ "$(tail -n 1 err)" = "zcc: skipped 5 of 6 files" ]
	grep -q "^  1 file of [0-9,]* bytes, 5 skipped, in 1 loop$" out
	grep -q "all bytes sent were received" out
}
check 'files that cannot be sent are named and skipped, the others are sent, exit 1' files_that_cannot_sent
none_left_error()
{
	exits 1 "$zcc" -s 0 -p "$PORT" missing .
	tail -n 1 err | grep -q "none of the files can be sent"
}
check 'it is an error if none of the files can be sent' none_left_error
more_files_than_descriptors()
{
	mkdir many
	for i in $(seq 200); do echo "$i" >many/"$i"; done
	# shellcheck disable=SC3045 # dash, bash and busybox have -n
	( ulimit -n 100; exits 0 "$zcc" -s 0 -p "$PORT" many/* -n 3 )
	grep -q "^  200 files of $((9 * 2 + 90 * 3 + 101 * 4)) bytes, in 3 loops" out
	[ "$(bytes_of out)" = "$((3 * (9 * 2 + 90 * 3 + 101 * 4))) $((3 * (9 * 2 + 90 * 3 + 101 * 4)))" ]
}
check 'more files than descriptors' more_files_than_descriptors
about_that_long()
{
	exits 0 "$zcc" -s 0 -p "$PORT" -t 0.5 --pace 20m
	# A busy zcs begins late.
	figures_of seconds out | awk '{ ok = $1 >= 0.5 && $2 >= 0.1 && $1 + $2 < 20 } END { exit !ok }'
	grep -q "all bytes sent were received" out
}
check '-t: about that long, and both ends agree' about_that_long
file_that_shrinks_error()
{
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
}
check 'a file that shrinks is an error' file_that_shrinks_error
rm -f shrinks
stop_zcs
check 'the interrupted and the broken left zcs running' gone "$ZCS"

# Errors.
connection_refused_one_line()
{
	exits 1 "$zcc" -s 0 -p "$PORT" tiny
	one_line err
	grep -q "cannot connect to 0 port $PORT: Connection refused" err
}
check 'connection refused: one line, exit 1' connection_refused_one_line
no_route()
{
	exits 1 "$zcc" -s 255.255.255.255 -p 9 tiny
	one_line err
	grep -qx "zcc: cannot connect to 255.255.255.255 port 9: Network is unreachable" err
}
check 'a server that cannot be reached: one line, exit 1' no_route
unknown_host_one_line()
{
	exits 1 "$zcc" -s no.such.host.invalid tiny
	one_line err
	grep -q "no.such.host.invalid" err
}
check 'an unknown host: one line, exit 1' unknown_host_one_line
timeout_server_that_reads()
{
	exits 1 timeout 20 "$zcc" -s 0 -p "$PORT" -m $how --timeout 0.3 -t 60 file
	one_line err
	grep -q "127.0.0.1:$PORT: the server accepted no data for 0.3 seconds (--timeout) after [0-9]* bytes" err
	not [ -s out ]
}
for how in $(senders) 'zerocopy -b 1000'; do
	start_peer -s
	check "-m $how --timeout: a server that reads nothing: one line that names it, exit 1" timeout_server_that_reads
	kill -USR1 "$PEER"
done
start_peer -k
timeout_server_that_takes()
{
	exits 1 timeout 20 "$zcc" -s 0 -p "$PORT" --timeout 0.3 tiny
	one_line err
	grep -q "127.0.0.1:$PORT: the server accepted no data for 0.3 seconds (--timeout) after 1 byte$" err
	not [ -s out ]
}
check '--timeout: a server that takes all and never answers: one line that names it, exit 1' timeout_server_that_takes
kill -USR1 "$PEER"
start_peer -f
timeout_server_that_takes_no_connection()
{
	exits 1 timeout 20 "$zcc" -s 0 -p "$PORT" --timeout 0.2 file
	one_line err
	grep -q "cannot connect to 0 port $PORT: Connection timed out" err
}
check '--timeout: a server that takes no connection' timeout_server_that_takes_no_connection
kill -USR1 "$PEER"
start_zcs
timeout_nothing()
{
	exits 0 "$zcc" -s 0 -p "$PORT" --timeout 20 -n 3 file
	grep -q "all bytes sent were received" out
	no_warning err
}
check '--timeout: nothing of it where all is well' timeout_nothing
few_descriptors()
{
	# shellcheck disable=SC2016 # of the inner shell
	exits 0 sh -c 'ulimit -n 20 && exec "$0" -s 0 -p "$1" -q -S -b "$(seq -s , 1000 1020)" tiny' "$zcc" "$PORT"
	[ "$(wc -l <out)" -eq 21 ]
}
printf x >tiny
check '-b: 21 sizes with 20 descriptors: each run closes what it has opened' few_descriptors
stop_zcs
start_peer -l 100000 -R
server_that_goes_away()
{
	exits 1 "$zcc" -s 0 -p "$PORT" -n 1000 file
	one_line err
	grep -Eq "the server (closed|reset) the connection after [0-9]* bytes" err
	not [ -s out ]
}
check 'a server that goes away: one line, exit 1, no report' server_that_goes_away
start_peer -d 1 -l 2000 -R
bytes_in_that_line()
{
	exits 1 "$zcc" -s 0 -p "$PORT" -o 200k -n 1000 file
	one_line err
	acked=$(sed -n "s/.*the server .* the connection after \([0-9]*\) bytes: is it a zcs --reply?$/\1/p" err)
	[ "$acked" -le 65536 ]
}
check 'the bytes in that line are those that the server acknowledged, not those in the send buffer' bytes_in_that_line

# What a server that is not zcs may do at the end.
start_peer -r 'HTTP/1.0 400 Bad Request\n'
answer_that_not_receipt()
{
	exits 1 "$zcc" -s 0 -p "$PORT" tiny
	one_line err
	grep -Eq "^zcc: 127.0.0.1:$PORT: the server.s answer is not a receipt, it .*: use --raw if it is not zcs$" err
	not [ -s out ]
}
check 'an answer that is not a receipt: one line that names it, exit 1, no report' answer_that_not_receipt
start_peer -R
server_that_resets_connection()
{
	exits 1 "$zcc" -s 0 -p "$PORT" tiny
	one_line err
	grep -qx "zcc: 127.0.0.1:$PORT: the server reset the connection after 1 byte: is it a zcs --reply?" err
	not [ -s out ]
}
check 'a server that resets the connection when it has all: one line, exit 1, no report' server_that_resets_connection
start_peer -x -s
server_that_closes()
{
	exits 1 timeout 20 "$zcc" -s 0 -p "$PORT" -i 4k -o 200k file
	one_line err
	grep -Eqx "zcc: 127.0.0.1:$PORT: the server closed the connection before it had acknowledged the last [1-9][0-9]* bytes?" err
	not [ -s out ]
}
check 'a server that closes before it has acknowledged the last byte: one line, exit 1, no report' server_that_closes
kill -USR1 "$PEER"
start_peer
server_that_closes_in_silence()
{
	exits 0 "$zcc" -s 0 -p "$PORT" file
	no_warning err
	grep -q "no receipt" out
}
check 'a server that closes in silence when it has all: a report, as of one of 2001' server_that_closes_in_silence

start_peer -s
"$zcc" -s 0 -p "$PORT" -t 60 file >out 2>err &
held=$!
remember $held
interrupted_in_send()
{
	wait_until grep -q data peer.out
	kill -TERM $held
	ended $held
	cat out err
	grep -q "kbytes/sec" out
}
check 'it can be interrupted in a send that blocks' interrupted_in_send
kill -USR1 "$PEER"
limit_of_file_size()
{
	# The limit is not of pipes.
	sh -c 'ulimit -f 0; "$@" 2>&1; echo "exit status $?"' sh "$zcc" -s 0 -p 1 -t 0.1 | cat >got
	cat got
	printf 'zcc: built-in file set: File too large\nexit status 1\n' | diff - got
}
check 'ulimit -f: zcc reports that the built-in set is too large' limit_of_file_size
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
	more_entries_than_bits()
	{
		exits 1 timeout 20 "$zcc" -s 0 -p "$PORT" "$shm/huge" "$shm/huge"
		one_line err
		grep -q "^zcc: $shm/huge: too much for one loop, with the files before it: " err
	}
	check 'more entries than 32 bits can say: one line that names the file, exit 1' more_entries_than_bits
	raw_more_bytes()
	{
		exits 1 timeout 20 "$zcc" -s 0 -p "$PORT" --raw "$shm/huge" "$shm/huge" "$shm/huge"
		one_line err
		grep -q "^zcc: $shm/huge: too much for one loop" err
	}
	check '--raw: more bytes than 64 bits can say: one line that names the file, exit 1' raw_more_bytes
	check '-t: a file of 2^63 bytes can be sent for a while' exits 0 timeout 20 "$zcc" -s 0 -p "$PORT" -t 0.2 "$shm/huge"
	stop_zcs
else
	skip 'more entries than 32 bits can say' 'no /dev/shm with files of 2^63 bytes'
fi
[ -z "$shm" ] || rm -rf "$shm"
file_whose_size_cannot()
{
	start_peer
	exits 1 strace -o trace -P "$PWD/file" -e trace=openat,fstat,newfstatat,close \
	    -e inject=fstat,newfstatat:error=EIO "$zcc" -s 0 -p "$PORT" file tiny
	cat trace err
	grep -qx "zcc: file: skipped: Input/output error" err
	grep -q "^close(" trace
}
check_traced 'a file whose size cannot be had is skipped, and closed' file_whose_size_cannot
cpu_that()
{
	exits 1 "$zcc" -s 0 -p 1 -B 8000 tiny
	one_line err
	grep -q "CPU 8000" err
}
check 'a CPU that is not there: exit 1' cpu_that
unknown_congestion_control()
{
	exits 1 "$zcc" -s 0 -p 1 --congestion nosuch tiny
	one_line err
	grep -q nosuch err
}
check 'an unknown congestion control: exit 1' unknown_congestion_control
start_peer
smaller_buffer_than_asked()
{
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno -o 1g tiny
	[ "$(grep -vc "took less than half a second" err)" -eq 1 ]
	grep -q "send buffer: asked for 1073741824 bytes, the kernel gave [0-9]*" err
}
check 'a smaller buffer than asked for is reported' smaller_buffer_than_asked
start_peer -n 3
smaller_buffer_than_asked_for()
{
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno -P 3 -i 1g -o 1g tiny
	[ "$(grep -c "^zcc: receive buffer: asked for" err)" -eq 1 ]
	[ "$(grep -c "^zcc: send buffer: asked for" err)" -eq 1 ]
	[ "$(grep -vc "took less than half a second" err)" -eq 2 ]
}
check 'a smaller buffer than asked for is reported once, not for each stream' smaller_buffer_than_asked_for
help_on_stdout_exit()
{
	exits 0 "$zcc" -h
	not [ -s err ]
	for o in -s -p -n -t -m -S -w -b -k -i -o -B -c -C -N -d -h; do grep -q -e " $o," out; done
}
check '-h: help on stdout, exit 0' help_on_stdout_exit
if [ -c /dev/full ]; then
	start_peer
	report_that_cannot_written()
	{
		status=0
		"$zcc" -s 0 -p "$PORT" tiny >/dev/full 2>err || status=$?
		[ $status -eq 1 ]
		grep -q "stdout: No space left" err
	}
	check 'a report that cannot be written: exit 1' report_that_cannot_written
fi
start_peer
stdout_closed_socket()
{
	status=0
	"$zcc" -s 0 -p "$PORT" tiny >&- 2>err || status=$?
	ended "$PEER"
	[ $status -eq 1 ]
	grep -qx "bytes 13" peer.out
}
check 'stdout closed: the socket is not taken for it' stdout_closed_socket

# A reader of stdout that reads nothing must not keep a program that is told to stop.
mkfifo unread
exec 7<>unread
start_zcs
"$zcc" --json -I 0.01 -P 8 -t 60 -s 0 -p "$PORT" --congestion reno --pace 2m >unread 2>stuck.err &
STUCK=$!
remember $STUCK
zcc_ends_on_sigterm()
{
	wait_until pipe_is_full unread
	kill -TERM $STUCK
	ended $STUCK
	grep -q "^zcc: stdout: " stuck.err
}
check 'zcc ends on SIGTERM although nobody reads its report' zcc_ends_on_sigterm
stop_zcs
exec 7<&-

finish
