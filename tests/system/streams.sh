#!/bin/sh
# Several connections at a time, the warm-up, lines while it runs, and how it ends.
#
# group: waits
# seconds: 12
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc zcs=$BIN/zcs
head -c 300000 /dev/urandom >file
printf 'x' >tiny

# warmup_of FILE: the bytes of the warm-up that a report or summary leaves out
warmup_of()
{
	plain "$1" | sed -n 's/.*warm-up, \([0-9]*\) bytes$/\1/p; s/.*[,:] after \([0-9]*\) bytes of warm-up$/\1/p'
}
sum()
{
	awk '{ n += $1 } END { printf "%.0f\n", n }'
}
# summaries_of FILE: the bytes of each client
summaries_of()
{
	sed -n 's/^127.0.0.1:.*, \([0-9]*\) bytes in .*/\1/p' "$1"
}
# from_here, then later `new N 'pattern'`: what zcs has printed since then is in the file `new`,
# once N of the lines match.  All of it is awaited by the check that causes it.
from_here()
{
	seen=$(wc -l <zcs.out)
}
new()
{
	new_lines=$1 new_pattern=$2
	met()
	{
		[ "$(tail -n +$((seen + 1)) zcs.out | grep -c "$new_pattern")" -ge "$new_lines" ]
	}
	wait_until met
	tail -n +$((seen + 1)) zcs.out >new
	cat new
}

# Streams.
start_zcs
it '-P 5: five connections, each with the file set'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" -P 5 -n 3 file tiny
	grep -q "^  to .*, 5 streams$" out
	grep -qx "  2 files of 300,001 bytes, in 15 loops" out
	[ "$(bytes_of out)" = "4500015 4500015" ]
	grep -q "all bytes sent were received" out
	seen=0; new 1 ^total
	[ "$(summaries_of new | sort | uniq -c | tr -s " ")" = " 5 900003" ]
	[ "$(grep "^127" new | cut -d" " -f1 | sort -u | wc -l)" -eq 5 ]
	grep -Eqx "total of 5 clients: [0-9]+ kbytes/sec \([0-9.]+ Gbit/s\), 4500015 bytes in [0-9.]+ s" new
	one_line zcs.err
); ok
it '-P 5: a row for each of them'; ( begin
	plain out | sed -n '/^  streams /,$p' >rows
	for i in 1 2 3 4 5; do
		[ "$(grep -Ec "^ +$i +[1-9][0-9]* +[0-9]+ +[0-9.]+ +[0-9]+$" rows)" -eq 1 ]
	done
); ok
it '-P 2 --raw: no CPU in the rows, as no stream is bound'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --raw -P 2 tiny
	[ "$(plain out | grep -Ec "^ +[12] +[0-9]+ +[0-9]+ +[0-9.]+ +[0-9]+$")" -eq 2 ]
); ok
it 'one stream has no rows'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" tiny
	not grep "^  stream" out
); ok
case $(sed -n 's/^Cpus_allowed_list:	//p' /proc/self/status) in
0-[1-9]* | 0,1*)
	stop_zcs
	start_zcs -I 0.05
	"$zcc" -s 0 -p "$PORT" -P 4 -B 0,1 -t 60 --congestion reno --pace 20m >out 2>err &
	bound=$!
	remember $bound
	it '-B 0,1: one stream after the other is bound to them, and the report has their CPUs'; ( begin
		wait_until counts -eq 5 threads_of "$bound"
		# The main thread is on the first of them.
		met()
		{
			[ "$(cpus_of "$bound" | tr "\n" " ")" = "0 0 1 0 1 " ]
		}
		wait_until met
		wait_until grep -q "4 clients" zcs.out
		kill -TERM "$bound"
		ended "$bound"
		cat out
		for row in "1 +0" "2 +1" "3 +0" "4 +1"; do grep -Eq "^ +$row +[0-9,]+ " out; done
	); ok
	stop_zcs
	start_zcs -B 1,0 -I 0.05
	"$zcc" -s 0 -p "$PORT" -P 4 -t 60 --congestion reno --pace 20m >out 2>err &
	bound=$!
	remember $bound
	it 'zcs -B 1,0: its clients are bound in turn, and the report of zcc has their CPUs'; ( begin
		wait_until counts -eq 5 threads_of $ZCS
		met()
		{
			[ "$(cpus_of "$ZCS" | sort | tr "\n" " ")" = "0 0 1 1 1 " ]
		}
		wait_until met
		wait_until counts -ge 2 grep -c "4 clients" zcs.out
		kill -TERM "$bound"
		ended "$bound"
		cat out
		for row in "1 +- to 1" "2 +- to 0" "3 +- to 1" "4 +- to 0"; do grep -Eq "^ +$row " out; done
	); ok
	;;
*)
	skip '-B 0,1: streams and clients in turn' 'CPUs 0 and 1 are not both to be had'
	;;
esac
stop_zcs

start_peer -n 3 -l 100000 -R
it '-P 3: one of them loses its server: one line, exit 1, no report'; ( begin
	exits 1 "$zcc" -s 0 -p "$PORT" -P 3 -t 60 --congestion reno file
	one_line err
	grep -Eq "127.0.0.1:$PORT: the server (closed|reset) the connection after [0-9]* bytes" err
	not [ -s out ]
); ok
start_peer -n 2 -r 'bytes=1 seconds=2 load=0.5 cpus=2\n'
it '-P 2, one receipt of two: the report has its figures and a line, and zcc exits 1'; ( begin
	exits 1 "$zcc" -s 0 -p "$PORT" -P 2 tiny
	grep -qx "zcc: 1 of 2 streams has no receipt" err
	one_line err
	grep -q "^    1 of 2 streams has no receipt: " out
	not grep "all bytes sent were received" out
	grep -Eqx "  transfer +sender +receiver" out
	[ "$(bytes_of out)" = "2 1" ]
	figures_of seconds out | grep -Eqx "[0-9.]+ 2\.[0-9]*"
	[ "$(figures_of load out)" = 50.0% ]
); ok
start_peer -n 2 -r 'bytes=0 seconds=0.1\n'
it '-P 2, one receipt of two, and that is short: an error names its stream'; ( begin
	exits 1 "$zcc" --json -s 0 -p "$PORT" -P 2 tiny
	grep -q '"receipts":1}' out
	grep -Eq '"error":"stream [12]: the server received 0 bytes of the 1 sent"' out
); ok
start_zcs -1
it 'zcs -1: four that come together are all served, then it exits'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" -P 4 -n 5 file
	[ "$(bytes_of out)" = "6000000 6000000" ]
	ended $ZCS
	[ "$(grep -c "^127.0.0.1:" zcs.out)" -eq 4 ]
	grep -q "^total of 4 clients: .* 6000000 bytes" zcs.out
); ok
wait "$ZCS"
check 'zcs -1: exit status 0' [ $? -eq 0 ]
start_zcs -1
it '-P 100 -t 0.001: streams that start after -t send an empty transfer'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" -P 100 -t 0.001 --congestion reno
	grep -q "all bytes sent were received" out
	ended $ZCS
	not grep -v 'listening on\|lines\{0,1\} about clients w.* omitted$' zcs.err # of empty ones
); ok
# What is queued when -t is over is sent at the pace, too: the send buffer has seconds of it.
start_zcs
it '--pace: little is sent after -t, and --timeout takes no slow pace for a slow server'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" -P 2 -t 0.2 --pace 200k --timeout 0.2 --congestion reno
	grep -q "all bytes sent were received" out
	[ "$(plain out | sed -n "s/^ *bytes *\([0-9]*\) .*/\1/p")" -lt 3000000 ]
); ok
stop_zcs

# The warm-up.
start_zcs
for streams in 1 3; do
	it "--warmup -P $streams: neither end has it in its figures, and both know of all bytes"; ( begin
		from_here
		exits 0 "$zcc" -s 0 -p "$PORT" --warmup 0.24 -t 0.3 -P "$streams" --congestion reno --pace 20m
		grep -q '^  after 0\.3 s of warm-up, ' out # the wire has tenths of a second
		grep -q "all bytes sent were received" out
		new 1 "^$([ "$streams" -eq 1 ] && echo 127 || echo total)"
		warm=$(warmup_of out) warm_zcs=$(warmup_of new | sum)
		# shellcheck disable=SC2046 # two numbers
		set -- $(bytes_of out)
		for n in $warm $warm_zcs $1 $2; do [ "$n" -gt 0 ]; done
		[ "$(summaries_of new | sum)" -eq $2 ]
		[ $((warm + $1)) -eq $((warm_zcs + $2)) ]
		[ "$streams" -eq 1 ] || grep -q "^total of $streams clients: .* $2 bytes in " new
	); ok
done
it '--warmup: paced and with an end, the parts are the whole'; ( begin
	from_here
	exits 0 "$zcc" -s 0 -p "$PORT" --warmup 0.2 --pace 10m -n 20 --congestion reno file
	# shellcheck disable=SC2046 # two numbers
	set -- $(bytes_of out)
	[ $(($(warmup_of out) + $1)) -eq 6000000 ]
	new 1 ^127
	[ $(($(warmup_of new) + $2)) -eq 6000000 ]
	grep -q "in 20 loops" out
); ok
it '--warmup: all is sent before it ends: one line, exit 1, and zcs reports it too'; ( begin
	fails "everything was sent before the warm-up ended" "$zcc" -s 0 -p "$PORT" --warmup 60 -n 2 file
	wait_until grep -q "127.0.0.1:[0-9]*: closed in its warm-up, after 600000 bytes" zcs.err
	[ "$(wc -l <zcs.err)" -eq 2 ]
	tail -n 1 zcs.out | grep '^127.*: 0 bytes in .* after 600000 bytes of warm-up$'
); ok
it '--warmup: interrupted during it, zcc reports that, and not that all was sent, and ends by that signal'; ( begin
	env --default-signal=INT "$zcc" -s 0 -p "$PORT" --warmup 60 -t 60 --congestion reno --pace 20m >out 2>err &
	held=$!
	remember $held
	met()
	{
		readlink /proc/$held/fd/* | grep -q socket
	}
	wait_until met
	wait_until counts -eq 2 threads_of $held
	kill -INT $held
	ended $held
	cat out err
	not grep "all was sent" err
	grep -qx "zcc: interrupted before the warm-up ended: nothing was measured" err
	status=0; wait $held || status=$?
	[ $status -eq 130 ]
); ok
stop_zcs

# Lines while it runs.
rate='[0-9]+ kbytes/sec \([0-9.]+ Gbit/s\)'
time='[0-9.]+-[0-9.]+ s'
start_zcs -I 0.05
it '-I: lines that start "N kbytes/sec" before the report, those of the warm-up marked'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" -I 0.05 --warmup 0.4 -t 0.4 --congestion reno --pace 20m
	no_warning err
	sed '/^  to /,$d' out >lines
	line="$rate, $time, [0-9]+ retransmits?, window [0-9]+ KiB, RTT [0-9.]+ ms"
	sed -E "s@^$line, warm-up\$@warm@; s@^$line\$@line@; s@^$rate\$@report@" lines | uniq >kinds
	printf "warm\nline\nreport\n" | diff - kinds
); ok
# Both end at the same time: the interval is reported first.
it 'zcs -I: lines that start "N kbytes/sec" before the report'; ( begin
	wait_until grep -q ^127 zcs.out
	cat zcs.out
	sed -E "/^  127/d; s@^$rate, $time, warm-up\$@warm@; s@^$rate, $time\$@line@; s@^127.*@summary@" zcs.out | uniq >kinds
	# An interval that ends with the last client may have its line behind it.
	[ "$(tail -n 1 kinds)" != line ] || sed -i '$d' kinds
	printf "warm\nline\nsummary\n" | diff - kinds
); ok
it '--warmup as long as -I: the first line, and no other, is of the warm-up'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" -I 0.2 --warmup 0.2 -t 0.5 --congestion reno --pace 20m
	sed '/^  to /,$d' out | grep ', window ' >lines
	head -n 1 lines | grep ', warm-up$'
	tail -n +2 lines | not grep warm-up
	exits 0 "$zcc" -s 0 -p "$PORT" -I 0.2 --warmup 0.2 -t 0.5 --congestion reno --pace 20m --json
	grep -o '"omitted":[a-z]*' out | uniq >omitted # of the stream and of the sum, in each interval
	printf '"omitted":true\n"omitted":false\n' | diff - omitted
); ok
it '-I -P 2: the sum of the streams, and zcs counts its clients'; ( begin
	from_here
	exits 0 "$zcc" -s 0 -p "$PORT" --interval=0.05 -t 0.4 -P 2 --congestion reno --pace 20m
	sed '/^  to /,$d' out >lines
	sed -E "s@^$rate, $time, [0-9]+ retransmits?\$@line@; s@^$rate\$@report@; /^  stream /d" lines | uniq >kinds
	printf "line\nreport\n" | diff - kinds
	new 1 ^total
	grep -Eqx "$rate, $time, 2 clients" new
); ok
# They are of the times of the check before, and have what the lines of one stream have.
it '-I -P 2: a line for each stream under that of the sum'; ( begin
	line="$rate, $time, [0-9]+ retransmits?, window [0-9]+ KiB, RTT [0-9.]+ ms"
	sed '$d' lines | sed -E "s@^  stream ([12]): $line\$@\1@; s@^$rate, .*@sum@" >kinds
	cat lines
	[ "$(wc -l <kinds)" -ge 3 ]
	paste -s -d ' ' kinds | grep -Eqx 'sum 1 2( sum 1 2)*'
); ok
it '-q -I -P 2: only lines of the sum'; ( begin
	exits 0 "$zcc" -q -s 0 -p "$PORT" -I 0.05 -t 0.5 -P 2 --congestion reno --pace 20m
	not grep -v '^[0-9]' out
	[ "$(wc -l <out)" -ge 2 ]
); ok
rm out # which the shell of zcc may be late to empty
"$zcc" -s 0 -p "$PORT" -I 0.1 -t 60 --congestion reno --pace 20m >out 2>err &
held=$!
remember $held
it '-I: stopped and continued, it does not make up the intervals that it missed'; ( begin
	wait_until [ -s out ]
	kill -STOP $held
	sleep 1
	n=$(wc -l <out)
	kill -CONT $held
	wait_until counts -gt $((n + 2)) lines_in out
	# The first has how little went in its long time.  Those of a burst would have how nothing did in no
	# time, as one has that a busy machine leaves no time.
	kill -TERM $held
	ended $held
	sed -n "$((n + 1)),\$p" out | grep -c "^0 kbytes/sec" >zeros || :
	cat out err
	[ "$(cat zeros)" -le 4 ]
); ok
stop_zcs

# -q: which port zcs has is known from the kernel alone.
"$zcs" -q -I 0.05 -p 0 >zcs.out 2>zcs.err &
ZCS=$!
remember $ZCS
# listening_port PID: of the one socket that it listens on
listening_port()
{
	inode=$(ls -l /proc/"$1"/fd 2>/dev/null | sed -n 's/.*socket:\[\([0-9]*\)\]$/\1/p')
	[ -n "$inode" ] || return 0
	hex=$(awk -v inode="$inode" '$4 == "0A" && $10 == inode { sub(/.*:/, "", $2); print $2 }' \
	    /proc/net/tcp /proc/net/tcp6 2>/dev/null)
	[ -z "$hex" ] || printf '%d\n' "0x$hex"
}
wait_until or_gone $ZCS not prints_nothing listening_port $ZCS
PORT=$(listening_port $ZCS)
it '-q: zcc prints one line, zcs its summaries'; ( begin
	exits 0 "$zcc" -q -s 0 -p "$PORT" -t 0.4 -P 2 --congestion reno --pace 20m
	one_line out
	grep -Eqx "$rate" out
	not [ -s err ]
	wait_until grep -q ^total zcs.out
	cat zcs.out zcs.err
	not [ -s zcs.err ]
	[ "$(grep -c "^[^ ]" zcs.out)" -eq 3 ]
	[ "$(grep -c "^127.0.0.1:" zcs.out)" -eq 2 ]
	no_wider 100 zcs.out
); ok
stop_zcs

# Progress, on a terminal.
if command -v script >/dev/null 2>&1; then
	SHELL=/bin/sh
	export SHELL
	cr=$(printf '\r')
	start_zcs
	it 'on a terminal, a line of progress on stderr, which is gone before the report'; ( begin
		script -qec "\"$zcc\" -s 0 -p $PORT -t 1.2 --congestion reno --pace 20m >report" typescript </dev/null >/dev/null
		cat -v typescript report
		grep -q "${cr}[0-9.]* s of 1.2.*$(printf "\033")\[K" typescript
		grep -q "${cr}[0-9.]* s of 1.2: [0-9]* KiB/s" typescript
		# The last that is written wipes it out.
		tr "\r" "\n" <typescript | grep -v "^Script " | grep . | tail -n 1 | cat -v | grep -Fqx "^[[K"
		not grep "$cr" report
		grep -Eqx "$rate" report
	); ok
	it 'no line of progress with -q, -I, --json or -d, or where stderr is no terminal'; ( begin
		all="-s 0 -p $PORT -t 0.8 --congestion reno --pace 20m"
		script -qec "
			\"$zcc\" $all -q >r1 & \"$zcc\" $all -I 0.2 >r2 & \"$zcc\" $all --json >r3 &
			\"$zcc\" $all -d >r4 & \"$zcc\" $all >r5 2>e5 & wait" typescript </dev/null >/dev/null
		cat -v typescript
		tr "\r" "\n" <typescript | not grep "^[0-9.]* s"
		for i in 1 2 3 4 5; do
			grep -q . r$i
			not grep "$cr" r$i
		done
		not [ -s e5 ]
	); ok
	stop_zcs
else
	skip 'the line of progress' 'no script (util-linux)'
fi

# How it ends.
it 'SIGINT: the report covers the bytes sent so far, both ends agree, and zcc ends by that signal'; ( begin
	start_zcs -I 0.05
	env --default-signal=INT "$zcc" -s 0 -p "$PORT" -P 2 -t 60 --congestion reno --pace 20m >out 2>err &
	held=$!
	remember $held
	wait_until counts -eq 3 threads_of $ZCS
	wait_until grep -q kbytes zcs.out
	kill -INT $held
	status=0; wait $held || status=$?
	cat out err
	[ $status -eq 130 ]
	not [ -s err ]
	head -n 1 out | grep -Eqx "$rate"
	grep -q "all bytes sent were received" out
	wait_until grep -q ^total zcs.out
	stop_zcs
); ok
it 'SIGINT of zcs: summaries and the total of the bytes received so far, exit 0; zcc prints one line, exit 1'; ( begin
	: >zcs.err
	env --default-signal=INT "$zcs" -I 0.05 -p 0 >zcs.out 2>zcs.err &
	ZCS=$!
	remember $ZCS
	await_zcs "$ZCS"
	"$zcc" -s 0 -p "$PORT" -P 2 -t 60 --congestion reno --pace 20m >out 2>err &
	held=$!
	remember $held
	wait_until counts -eq 3 threads_of $ZCS
	wait_until grep -q kbytes zcs.out
	kill -INT $ZCS
	wait $ZCS
	cat zcs.out zcs.err
	[ "$(grep -c "^127.0.0.1:.* kbytes/sec" zcs.out)" -eq 2 ]
	grep -q "^total of 2 clients" zcs.out
	[ "$(grep -c "interrupted after [0-9]* bytes" zcs.err)" -eq 2 ]
	status=0; wait $held || status=$?
	cat out err
	[ $status -eq 1 ]
	one_line err
); ok

finish
