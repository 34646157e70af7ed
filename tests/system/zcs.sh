#!/bin/sh
# zcs: many clients, bad clients, its options seen from outside, its errors.
#
# group: waits
# seconds: 12
. "$TOP/tests/lib.sh"

zcs=$BIN/zcs zcc=$BIN/zcc
head -c 100000 /dev/urandom >file
# What takes six seconds goes on meanwhile; its check is the last.
start_zcs
steady=$ZCS
mv zcs.out steady.out
mv zcs.err steady.err
"$zcc" -s 0 -p "$PORT" -t 6 --pace 10m --congestion reno >/dev/null 2>&1 &
remember $!
start_zcs

it 'a summary for the shortest run'; ( begin
	"$zcc" -s 0 -p "$PORT" file
	wait_until [ -s zcs.out ]
	grep -Eqx "127.0.0.1:[0-9]+: [0-9]+ kbytes/sec \([0-9.]+ Gbit/s\), 100000 bytes in [0-9.]+ s, 1 file, [0-9]+ reads?" zcs.out
); ok
wait_until counts -eq 1 threads_of $ZCS
fds=$(entries_in /proc/$ZCS/fd)

# Bad clients: each costs one line, and it serves on.
lines=1
one_line_more()
{
	wait_until counts -ge $lines lines_in zcs.err
	cat zcs.err
	[ "$(wc -l <zcs.err)" -eq $lines ]
	tail -n 1 zcs.err | grep -q -e "$1"
}
expect()
{
	lines=$((lines + 1))
	check "$1" one_line_more "$2"
}
: | "$HELPERS/net" send -c "$PORT"
expect 'a client that sends nothing' 'closed without sending anything'
printf 'ab' | "$HELPERS/net" send -c "$PORT"
expect 'half a header' 'closed in the middle of a header, after 0 bytes'
{ u32 1 1 1000; printf abc; } | "$HELPERS/net" send -c "$PORT"
expect 'a client that vanishes in the middle of a file' 'closed in the middle of a file, after 3 bytes'
u32 1 2 0 | "$HELPERS/net" send -c "$PORT"
expect 'a client that vanishes between two files' 'closed between two files, after 0 bytes'
u32 1 | "$HELPERS/net" send -c "$PORT"
expect 'a client that vanishes before its files' 'closed between two loops, after 0 bytes'
{ u32 1 1 1000; printf abc; } | "$HELPERS/net" send -R "$PORT"
expect 'a client that resets' 'after [03] bytes'
"$zcc" -s 0 -p "$PORT" -t 60 --pace 20m >/dev/null 2>&1 &
remember $!
victim=$!
wait_until counts -eq 2 threads_of $ZCS
kill -KILL $victim
it 'a client that did not send what it announced has no throughput'; ( begin
	wait_until grep -Eqx '127.0.0.1:[0-9]+: 3 bytes in [0-9.]+ s, 0 files, [1-9][0-9]* reads?' zcs.out
); ok
it 'zcs serves on after all of them'; ( begin
	wait_until counts -eq 1 threads_of $ZCS
	not gone $ZCS
	"$zcc" -s 0 -p "$PORT" file
); ok

it '100 clients at once: all received, a total'; ( begin
	n=$(wc -l <zcs.err)
	i=0
	while [ $i -lt 100 ]; do
		"$zcc" -s 0 -p "$PORT" -n 10 --pace 1m --congestion reno file >c.$i 2>&1 &
		i=$((i + 1))
	done
	wait
	grep -L "all bytes sent were received" c.* >wrong || :
	[ ! -s wrong ] || xargs cat <wrong
	not [ -s wrong ]
	wait_until grep -q "^total of [0-9]* clients: " zcs.out
	tail -n 1 zcs.out
	[ "$(wc -l <zcs.err)" -eq "$n" ]
); ok
it 'its threads and descriptors are as many as before'; ( begin
	wait_until counts -eq 1 threads_of $ZCS
	ls -l /proc/$ZCS/fd
	wait_until counts -eq "$fds" entries_in /proc/$ZCS/fd
); ok
stop_zcs

start_zcs -I 0.05
"$zcc" -s 0 -p "$PORT" -t 60 --pace 20m >zcc.out 2>zcc.err &
remember $!
it 'interrupted: a summary of the bytes received so far, exit 0, the port free'; ( begin
	wait_until grep -q "^[1-9].* kbytes/sec" zcs.out
	kill -TERM $ZCS
	ended $ZCS
	cat zcs.out zcs.err
	grep -q "^127.0.0.1:.* kbytes/sec" zcs.out
	tail -n 1 zcs.err | grep -q "interrupted after"
	exits 1 "$zcc" -s 0 -p "$PORT" file
	grep -q "Connection refused" err
); ok
wait "$ZCS"
check 'zcs that is interrupted with clients: exit status 0' [ $? -eq 0 ]

# Options.
start_zcs -B 0
"$HELPERS/net" send -k "$PORT" </dev/null >/dev/null &
remember $!
it '-B 0: all its threads are on CPU 0'; ( begin
	wait_until counts -eq 2 threads_of $ZCS
	met()
	{
		[ "$(cpus_of "$ZCS" | grep -cx 0)" -eq 2 ]
	}
	wait_until met
); ok
stop_zcs
it '-i and -o: the receive and the send buffer of connections'; ( begin; need ss
	start_zcs -i 70000 -o 80000
	"$HELPERS/net" send -k "$PORT" </dev/null >/dev/null &
	remember $!
	met()
	{
		ss -tmn "sport = :$PORT" | grep -q "rb140000,.*tb160000,"
	}
	wait_until met
	stop_zcs
); ok
it '-b 10k: reads of that size, and -1 ends it'; ( begin; need strace
	: >zcs.err
	strace -f -o trace -e trace=read,recvfrom,accept4 "$zcs" -1 -p 0 -b 10k >zcs.out 2>zcs.err &
	traced=$!
	remember $traced
	await_zcs $traced
	"$zcc" -s 0 -p "$PORT" file
	ended "$traced"
	[ "$(grep -Ec "read(\([0-9]+,| resumed>).*, 10240\)" trace)" -ge 10 ]
	[ "$(grep -c 'accept4(' trace)" -eq 1 ]
); ok
it '-1: one client, then exit 0, or 1 if that client failed'; ( begin
	start_zcs -1
	"$zcc" -s 0 -p "$PORT" file
	wait "$ZCS"
	one_line zcs.out
	start_zcs -1
	printf x | "$HELPERS/net" send -c "$PORT"
	status=0; wait "$ZCS" || status=$?
	[ $status -eq 1 ]
); ok

# Streams of any kind.
start_zcs --raw
it '--raw: any bytes are counted, nothing is answered'; ( begin
	{ u32 1 1 13; printf "not what was announced"; } | "$HELPERS/net" send "$PORT" >receipt
	not [ -s receipt ]
	wait_until [ -s zcs.out ]
	cat zcs.out
	grep -Eq "^127.0.0.1:.* 34 bytes in [0-9.]+ s, 0 files, [1-9][0-9]* reads?$" zcs.out
); ok
it '--raw: one byte is a stream, and so are three bytes one at a time'; ( begin
	printf x | "$HELPERS/net" send -c "$PORT"
	wait_until grep -q " 1 byte in" zcs.out
	printf abc | "$HELPERS/net" send -d 1 "$PORT"
	wait_until grep -q " 3 bytes in" zcs.out
	one_line zcs.err
	: | "$HELPERS/net" send -c "$PORT"
	wait_until grep -q "closed without sending anything" zcs.err
); ok
it '--raw: zcc --raw, and nobody misses a receipt'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --raw -P 3 -n 10 file
	no_warning err
	grep -q "^    no receipt: " out
	wait_until grep -q "^total of 3 clients: .* 3000000 bytes in" zcs.out
); ok
stop_zcs
it '--raw, by each method: all that comes, whatever it is'; ( begin
	for how in $(receivers); do
		start_zcs --raw -m $how
		{ cat file; printf tail; } | "$HELPERS/net" send "$PORT"
		wait_until grep -q " 100004 bytes in" zcs.out
		one_line zcs.err
		stop_zcs
	done
); ok
it '-4: no IPv6; -6: no IPv4; --bind: an address in brackets'; ( begin
	[ -e /proc/net/if_inet6 ] || skip_check 'no IPv6 here'
	while read -r how here other; do
		start_zcs $how
		exits 1 "$zcc" -s $other -p "$PORT" file
		exits 0 "$zcc" -s $here -p "$PORT" file
		stop_zcs
	done <<-END
		-4 127.0.0.1 ::1
		-6 ::1 127.0.0.1
		--bind=[::1]:1 ::1 127.0.0.1
	END
	grep -qF "listening on [::1]:$PORT" zcs.err # -p goes before the port of --bind
); ok
# Races that are lost each time: tests/helpers/preload/late.c
late= # the library
if preloaded late; then
	late=$PWD/late.so
fi
it '--reply -I 60: no line of an interval in less than a minute'; ( begin
	start_zcs --reply -I 60
	exits 0 "$zcc" -s 0 -p "$PORT" --request 10 -t 0.3
	stop_zcs
	cat zcs.out
	grep -q '^total: ' zcs.out
	# What this host retransmitted meanwhile may be other tests' doing.
	not grep -qvE '^(total|this host retransmitted)' zcs.out
); ok
if [ -n "$late" ]; then
	it 'a client whose warm-up is over only after its last byte: no time, and not 2^64 ns'; ( begin
		LATE=end LD_PRELOAD=$late start_zcs
		{ u32 4294967295 0 0 1 5; printf hello; } | "$HELPERS/net" send -c "$PORT"
		wait_until [ -s zcs.out ]
		stop_zcs || true
		cat zcs.err zcs.out
		not grep -q 184467 zcs.out
		grep -q "closed in its warm-up, after 5 bytes" zcs.err
	); ok
	it '--reply: replies of workers that are faster than the main thread are in the total'; ( begin
		rm -f served
		LATE=start LD_PRELOAD=$late start_zcs --reply
		exits 0 "$zcc" -s 0 -p "$PORT" --request 1k -n 3
		: >served
		stop_zcs
		cat zcs.out
		grep -q '^total: 3 replies, 3072 bytes;' zcs.out
	); ok
	fake_calibration >counts_per_sec
	mkfifo full
	exec 8<>full
	# The client has its line to write to a full pipe when the soakers end, and goes on after that.
	start_blocked()
	{
		rm -f unmapped
		LATE=unmap LD_PRELOAD=$late "$zcs" -p 0 -c -N 1 >zcs.out 2>full &
		ZCS=$!
		remember $ZCS
		while read -r line <&8; do
			echo "# $line"
			case $line in
			*listening*)
				PORT=${line##*:}
				return 0
				;;
			esac
		done
	}
	client_comes()
	{
		[ "$(threads_of $ZCS)" -eq 2 ] || grep -q pipe_write "/proc/$ZCS/wchan"
	}
	# Where others soak the main thread has a line about them to write, and starts no thread for the client.
	exec 9<"$SOAK_LOCK"
	flock -w 60 9 || :
	for turn in $(seq 30); do
		start_blocked
		dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>/dev/null
		"$HELPERS/net" send -c "$PORT" </dev/null
		wait_until client_comes
		threads=$(threads_of $ZCS)
		kill -TERM $ZCS
		[ "$threads" -ne 2 ] || wait_until or_gone $ZCS [ -e unmapped ]
		cat <&8 >late.err &
		reader=$!
		remember $reader
		wait $ZCS
		status=$?
		kill $reader
		[ "$threads" -ne 2 ] || break
	done
	exec 9<&-
	it 'a client that is late when -c ends: exit 0, nothing is used after it was freed'; ( begin
		echo "status $status, $threads threads"
		[ "$status" -eq 0 ] && [ "$threads" -eq 2 ]
	); ok
	exec 8<&-
	rm counts_per_sec
else
	skip 'races' 'no library can be preloaded'
fi

# It is one that sched_setaffinity(2) does not accept any more.
it '-B: a CPU that has gone costs a line, and the client is served'; ( begin; need strace
	start_zcs -B 0
	strace -f -o /dev/null -e trace=sched_setaffinity -e inject=sched_setaffinity:error=EINVAL -p "$ZCS" 2>strace.err &
	tracer=$!
	remember $tracer
	wait_until or_gone $tracer grep -q attached strace.err
	grep -q attached strace.err || skip_check 'strace may not attach'
	for n in 1 2; do
		exits 0 "$zcc" -s 0 -p "$PORT" file
		grep -q "all bytes sent were received" out
	done
	cat zcs.err
	[ "$(grep -c "^zcs: 127\.0\.0\.1:[0-9]*: served on any CPU: cannot bind to CPU 0: Invalid argument$" zcs.err)" -eq 2 ]
	kill $tracer
	stop_zcs
); ok
# Errors.
start_zcs
it 'a port in use: one line that names it, exit 1'; ( begin
	fails "cannot listen on port $PORT: Address already in use: .* local port" "$zcs" -p "$PORT"
); ok
stop_zcs
it 'zcs raises the limit of its descriptors as far as it may'; ( begin
	# shellcheck disable=SC3045 # every shell that is /bin/sh somewhere knows -S
	ulimit -Sn 64
	start_zcs
	grep '^Max open files' /proc/$ZCS/limits >limit
	cat limit
	awk '{ exit $4 != $5 }' limit
	stop_zcs
); ok
it 'the port can be bound again as soon as zcs has exited'; ( begin
	"$zcs" -p "$PORT" -1 >out 2>err &
	p=$!
	wait_until grep -q listening err
	kill -TERM $p
	wait $p
); ok
check_usage "'file'" zcs file
check_usage "--method.*'sendfile'.*$(methods_of zcs | xargs | sed 's/ /, /g')" zcs -m sendfile
check_usage 'cannot be used together' zcs -4 -6
check 'a CPU that is not there: exit 1' fails "CPU 8000" "$zcs" -p 0 -B 0,8000
it 'nohup is respected: an ignored SIGHUP stays ignored'; ( begin
	( trap "" HUP; exec "$zcs" -p 0 >out 2>err ) &
	p=$!
	wait_until grep -q listening err
	kill -HUP $p
	grep -q "^SigIgn:.*[13579bdf]$" /proc/$p/status
	kill -TERM $p
	wait $p
); ok

start_zcs
it 'a stall that begins in the warm-up counts from its end on'; ( begin
	{ u32 4294967295 0 0 1 2000; head -c 1000 /dev/zero; sleep 1; head -c 1000 /dev/zero; } |
		"$HELPERS/net" send "$PORT"
	wait_until [ -s zcs.out ]
	cat zcs.out
	grep -q " bytes of warm-up" zcs.out
	awk '{ for (i = 1; i < NF; i++) if ($i == "in") ok = $(i + 1) > 0.5 } END { exit !ok }' zcs.out
); ok
stop_zcs

mkfifo unread
exec 7<>unread
: >zcs.err
"$zcs" -p 0 -I 0.01 --json >unread 2>zcs.err &
ZCS=$!
remember $ZCS
await_zcs $ZCS
"$BIN/zcc" -s 0 -p "$PORT" -t 60 -q --congestion reno --pace 20m >/dev/null 2>&1 &
CLIENT=$!
remember $CLIENT
it 'zcs ends on SIGTERM although nobody reads its report'; ( begin
	wait_until pipe_is_full unread
	sleep 1 # what room is left in its last page is for some intervals
	kill -TERM $ZCS
	ended $ZCS
	grep -q "^zcs: stdout: " zcs.err
); ok
kill $CLIENT
exec 7<&-

it 'a line that starts "N kbytes/sec" every 5 s while data flows'; ( begin
	wait_until grep -q "^127" steady.out
	cat steady.out
	grep -Eqx "[0-9]+ kbytes/sec \([0-9.]+ Gbit/s\), [0-9.]+-[0-9.]+ s" steady.out
); ok
kill "$steady"

finish
