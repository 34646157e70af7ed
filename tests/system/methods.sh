#!/bin/sh
# The ways to send and to receive: what each asks of the kernel, what zcs waits for, files that
# shrink, and that both ends agree.  wire.sh has what arrives.
#
# seconds: 20
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc zcs=$BIN/zcs
senders=$(senders)
receivers=$(receivers)

printf 'hello, world\n' >small
head -c 300000 /dev/urandom >file

# A file of its own for each thread has no calls that are cut in two.
# trace_zcc 'calls' zcc-options...: what its one stream asks of the kernel, in the file `trace`
trace_zcc()
{
	calls=$1
	shift
	rm -f trace.*
	start_peer
	exits 0 strace -ff -o trace -e trace="$calls,shutdown" "$zcc" -s 0 -p "$PORT" "$@"
	ended "$PEER"
	mv "$(grep -l '^shutdown(' trace.*)" trace
	cat trace
}

# trace_zcs zcs-options: sets STRACE, PORT and ZCS; `traced_client` puts the calls of its one
# client into the file `trace`
trace_zcs()
{
	rm -f trace.*
	: >zcs.err
	strace -ff -o trace -e trace=read,recvfrom,recvmsg,splice,poll \
	    "$zcs" -1 -p 0 "$@" >zcs.out 2>zcs.err &
	STRACE=$!
	remember $STRACE
	await_zcs $STRACE
	ZCS=$(child_of $STRACE zcs)
	[ -n "$ZCS" ] && remember "$ZCS"
}

traced_client()
{
	ended "$STRACE"
	mv "$(grep -l '^poll(.*, 1, -*[1-9][0-9]*)' trace.* | grep -v "\.$ZCS\$")" trace
	cat trace
}

# client_sock: of that client
client_sock()
{
	sed -n 's/^poll(\[{fd=\([0-9]*\), .*, 1, -*[1-9][0-9]*).*/\1/p' trace | head -n 1
}

# Of zcs's calls for a stream of two files, 700001 and 300001 bytes: by which they came.
cat >who_receives <<'EOF'
	BEGIN { came["read"] = came["recv"] = came["trunc"] = came["splice"] = 0 }
	$NF !~ /^[0-9]+$/ { next }
	$1 == "read(" sock "," { came["read"] += $NF }
	$1 == "splice(" sock "," { came["splice"] += $NF }
	$1 == "recvfrom(" sock "," { came[/MSG_TRUNC/ ? "trunc" : "recv"] += $NF }
	END {
		headers = how == "trunc" || how == "splice" ? 16 : 0
		want[how] = 1000002 + 16 - headers
		want["recv"] += headers
		for (call in came) {
			print call, came[call], "want", want[call] + 0
			bad += came[call] != want[call]
		}
		exit bad > 0
	}
EOF

#
# What zcs is sent.
#
lines=1
# a_line_more 'text': it cost one line on stderr, which has the text
a_line_more()
{
	wait_until counts -ge $lines lines_in zcs.err
	cat zcs.err
	[ "$(wc -l <zcs.err)" -eq $lines ]
	tail -n 1 zcs.err | grep -q -e "$1"
}
{ u32 1 2 13; cat small; u32 0; } >two
{ u32 1 2 0 13; cat small; } >two_empty_first
{ u32 4294967295 1 13; cat small; u32 1 100; printf abc; } >forever
{ u32 1 1 13; cat small; printf extra; } >excess
{ u32 1 1 1000; printf abc; } >half_a_file
{ u32 1 2 13; cat small; printf ab; } >half_a_header
# taken BYTES: all that a client of $PORT sent has come, and zcs has left none of it in the kernel
taken()
{
	ss -Htin state established "sport = :$PORT" >streams
	awk -v want="$1" 'NR == 1 { unread = $1 } match($0, /bytes_received:[0-9]+/) {
		came = substr($0, RSTART + 15, RLENGTH - 15)
	} END { exit !(came == want && unread == "0") }' streams
}
# The client goes on to be connected, and sends no more.

# What has come before the end of the warm-up of 3 s is not measured.  The other checks go on meanwhile, so
# that each step may be late by two seconds.
for how in $receivers; do for b in '' '-b 1k'; do
	start_zcs -m "$how" $b
	{
		# shellcheck disable=SC2046 # 30 numbers
		u32 4294967295 $(seq 30 | sed 's|.*|0|') 1 300000
		head -c 100000 /dev/zero
		sleep 0.1
		head -c 40000 /dev/zero
		sleep 5
		head -c 100000 /dev/zero
	} | "$HELPERS/net" send "$PORT" >"warm.$how$b" &
	remember $!
done; done

mkfifo pause
for how in $receivers; do
	start_zcs -m "$how"
	it "zcs -m $how: a stream of two files, one of them empty"; ( begin
		for s in two two_empty_first; do
			# The one before has gone: it would be among the clients.
			wait_until counts -eq 1 threads_of "$ZCS"
			"$HELPERS/net" send "$PORT" <$s >receipt
			cat receipt
			one_line receipt
			grep -Eq "^bytes=13 seconds=[0-9.]+ files=2 warmup=0 method=$how reads=[0-9]+ clients=1 " receipt
		done
	); ok
	it "zcs -m $how: a byte at a time"; ( begin
		"$HELPERS/net" send -d 1 "$PORT" <two >receipt
		grep -Eq "^bytes=13 seconds=[0-9.]+ files=2 " receipt
	); ok
	it "zcs -m $how: without end, the stream may end anywhere"; ( begin
		"$HELPERS/net" send "$PORT" <forever >receipt
		grep -Eq "^bytes=16 seconds=[0-9.]+ files=1 " receipt
		one_line zcs.err
	); ok
	lines=2
	it "zcs -m $how: more than was announced costs one line"; ( begin
		"$HELPERS/net" send "$PORT" <excess >receipt
		grep -q "^bytes=13 " receipt
		a_line_more "sent more than it announced"
	); ok
	lines=3
	it "zcs -m $how: an end in the middle of a file, no receipt"; ( begin
		"$HELPERS/net" send "$PORT" <half_a_file >receipt
		not [ -s receipt ]
		a_line_more "closed in the middle of a file, after 3 bytes"
	); ok
	lines=4
	it "zcs -m $how: an end in the middle of a header"; ( begin
		"$HELPERS/net" send "$PORT" <half_a_header >receipt
		not [ -s receipt ]
		a_line_more "closed in the middle of a header, after 13 bytes"
	); ok
	it "zcs -m $how: the built-in set, and both ends agree"; ( begin
		"$zcc" -s 0 -p "$PORT" --congestion reno -n 1 >report
		cat report
		[ "$(bytes_of report)" = "22579200 22579200" ]
		[ "$(figures_of method report)" = "sendfile $how" ]
		grep -q "all bytes sent were received" report
		wait_until grep -q " 63 files, " zcs.out
		grep -q " 22579200 bytes in [0-9.]* s" zcs.out
	); ok
	# The sender sends no more but waits for its receipt: a wait for more than the file would never end.
	it "zcs -m $how: bodies about as long as a call, and a client that keeps its side open"; ( begin
		for n in 1 65535 65536 65537 131073 262143 262144 262145 327681; do
			{ u32 1 2 $n; head -c $n /dev/zero; u32 1; printf x; } |
			    timeout 20 "$HELPERS/net" send -k "$PORT" >receipt
			grep -q "^bytes=$((n + 1)) " receipt
		done
	); ok
	stop_zcs
	check "zcs -m $how: SIGTERM ends it" gone "$ZCS"
	start_zcs -m "$how" -i 10000
	it "zcs -m $how -i 10000: it does not wait for more than the socket holds"; ( begin
		{ u32 1 1 300000; cat file; } | timeout 20 "$HELPERS/net" send -k "$PORT" >receipt
		grep -q "^bytes=300000 " receipt
	); ok
	stop_zcs

	for framing in headers --raw; do
		it "zcs -m $how, $framing: it takes what has come while the client pauses"; ( begin
			options=${framing#headers}
			# shellcheck disable=SC2086 # none, or one
			start_zcs -m "$how" $options
			for n in 1048576 4194304 3145828 6000001; do
				"$HELPERS/net" send "$PORT" <pause >receipt &
				client=$!
				remember $client
				{
					[ -n "$options" ] || u32 4294967295 1 8000000
					head -c $n /dev/zero
					wait_until taken $((n + (${#options} == 0 ? 12 : 0)))
				} >pause || { cat streams; exit 1; }
				wait $client
			done
			stop_zcs
		); ok
	done

	[ "$how" != uring ] || continue # uring.sh has its calls
	if can_trace; then
		trace_zcs -m "$how"
	fi
	it "zcs -m $how: that call alone receives bodies, whole"; ( begin; need strace
		# In two pieces, so that it has to wait in a file.
		{ u32 1 2 700001; head -c 400000 /dev/zero; sleep 0.2; head -c 300001 /dev/zero; u32 300001
		    head -c 300001 /dev/zero; } |
		    "$HELPERS/net" send "$PORT" >receipt
		cat receipt
		grep -q "^bytes=1000002 " receipt
		traced_client
		awk -v sock="$(client_sock)" -v how="$how" -f who_receives trace
	); ok
done

for how in $receivers; do for b in '' '-b 1k'; do
	it "zcs -m $how${b:+ $b}: what has come in the warm-up belongs to it"; ( begin
		wait_until [ -s "warm.$how$b" ]
		cat "warm.$how$b"
		grep -q '^bytes=100000 .* warmup=140000 ' "warm.$how$b"
	); ok
done; done

#
# What zcc asks of the kernel.
#
it 'mmap: files are mapped and sent, windows of them one after the other, and read by no call'; ( begin; need strace
	head -c 5000001 /dev/zero >larger
	trace_zcc mmap,munmap,pread64,read,sendto,sendfile -m mmap -n 2 --congestion reno file larger
	sed -n "/MSG_MORE/,/^shutdown/p" trace >sending
	grep -Eq "^mmap\(NULL, 300000, PROT_READ, MAP_SHARED, [0-9]+, 0\) = 0x" sending
	grep -Eq "^mmap\(NULL, 4194304, PROT_READ, MAP_SHARED, [0-9]+, 0\) = 0x" sending
	grep -Eq "^mmap\(NULL, 805697, PROT_READ, MAP_SHARED, [0-9]+, 0x400000\) = 0x" sending
	# At no time is there more than one.
	awk '{ split($1, call, "[(,]") }
		/^mmap\(.* MAP_SHARED, / { map[$NF]; n++ }
		/^munmap/ && call[2] in map { n-- }
		n > 1 { bad++ }
		END { exit bad > 0 }' sending
	grep -Eq "^sendto\(.*, 300000, 0, NULL, 0\)" sending
	not grep -E "^(pread64|read|sendfile)\(" sending
); ok
it 'mmap: more files than descriptors, which reuse each other'"'"'s'; ( begin
	mkdir many
	for i in $(seq 10 60); do echo "$i" >many/"$i"; done
	start_peer -w got
	# shellcheck disable=SC3045 # dash, bash and busybox have -n
	( ulimit -n 40; exits 0 "$zcc" -s 0 -p "$PORT" -m mmap many/* -n 2 )
	ended "$PEER"
	{ u32 2; for pass in 1 2; do u32 51; for f in many/*; do u32 3; cat "$f"; done; done; } >want
	cmp want got
); ok
it 'splice: from the file into a pipe and on to the socket, and no other call'; ( begin; need strace
	trace_zcc splice,pread64,read,sendto,sendfile -m splice file
	sed -n "/MSG_MORE/,/^shutdown/p" trace >sending
	sock=$(sed -n "s/^sendto(\([0-9]*\),.*/\1/p" sending | head -n 1)
	grep "^splice([0-9]*, \[[0-9]*\].*, [0-9]*, NULL, " sending | awk '{ n += $NF } END { exit n != 300000 }'
	grep "^splice([0-9]*, NULL, $sock, NULL, " sending | awk '{ n += $NF } END { exit n != 300000 }'
	[ "$(grep -c "^sendto(" sending)" -eq 1 ]
	not grep -E "^(pread64|read|sendfile)\(" sending
); ok
it 'zerocopy: SO_ZEROCOPY, MSG_ZEROCOPY and completions, and the report counts the sends'; ( begin; need strace
	trace_zcc setsockopt,sendto,recvmsg,pread64 -m zerocopy -n 3 file
	# The main thread opens it; its calls are in a file that is left.
	cat trace.* | grep -q "SO_ZEROCOPY, \[1\], 4) = 0"
	sends=$(grep -Ec "^sendto\(.*MSG_ZEROCOPY.* = [1-9][0-9]*$" trace)
	[ "$sends" -ge 15 ]
	grep -q "^recvmsg(.*MSG_ERRQUEUE.* = 0$" trace
	# Completions are of sends from ee_info to ee_data, and ee_code tells whether they were copied.
	copied=$(sed -n "s/.*ee_code=\([^,]*\), ee_info=\([0-9]*\), ee_data=\([0-9]*\).*/\1 \2 \3/p" trace |
	    awk '$1 != "0" { n += $3 - $2 + 1 } END { print n + 0 }')
	plain out | grep -Eqx "    zerocopy sends +$sends"
	plain out | grep -Eqx "      copied after all +$copied"
	grep -Eqx "      never completed +0" out
); ok
it 'zcc -m send does not ask for SO_ZEROCOPY'; ( begin; need strace
	trace_zcc setsockopt,sendto -m send file
	cat trace trace.* | not grep ZEROCOPY
	not grep zerocopy out
); ok

for how in $senders; do
	it "-m $how -k: corked before the first byte of each pass, released after its last"; ( begin; need strace
		trace_zcc setsockopt,sendfile,sendto,write,splice,io_uring_enter -m "$how" -k -n 2 file small
		sock=$(sed -n "s/^shutdown(\([0-9]*\),.*/\1/p" trace)
		sed -n "s/^setsockopt($sock, SOL_TCP, TCP_CORK, \[\([01]\)\], 4) = 0/cork \1/p
			/^\(sendfile\|sendto\|write\)($sock, .*/s//send/p
			/^splice([0-9]*, NULL, $sock, .*/s//send/p
			/^io_uring_enter([0-9]*, [1-9].*/s//send/p
			/^shutdown.*/s//shutdown/p" trace | uniq >order
		cat order
		for pass in 1 2; do printf "cork 1\nsend\ncork 0\n"; done >want
		echo shutdown >>want
		diff want order
	); ok
done

#
# Files that shrink: while the peer does not read, zcc is held in the middle of the file.
#
# shrink TO: runs zcc -m $how on a file of 3 MiB and 1000 bytes, which becomes as small as that
shrink()
{
	truncate -s 3146728 shrinks
	start_peer -s
	"$zcc" -s 0 -p "$PORT" -m "$how" -o 60000 -n 2 shrinks >out 2>err &
	p=$!
	remember $p
	wait_until grep -q data peer.out
	truncate -s "$1" shrinks
	kill -USR1 "$PEER"
	status=0; wait $p || status=$?
	cat out err
	[ $status -eq 1 ]
	one_line err
	grep -q "shrinks: shrank while it was being sent" err
	not [ -s out ]
	ended "$PEER"
}
for how in $senders; do
	check "-m $how: a file that shrinks is an error" shrink 1000000
	check "-m $how: a file that shrinks to 0 bytes is reported" shrink 0
	check "-m $how: a file that shrinks within its last page is reported" shrink 3146228
done
rm -f shrinks

#
# Both ends, each method with each; what may be pinned.
#
for to in $receivers; do
	start_zcs -m "$to"
	it "zcs -m $to agrees with zcc by every method, and odd sizes of buffers"; ( begin
		for how in $senders; do
			for size in 1 1000 65537; do
				what=small
				[ $size -eq 1 ] || what="file"
				exits 0 "$zcc" -s 0 -p "$PORT" -m "$how" -b $size -n 2 "$what" small
				grep -q "all bytes sent were received" out
			done
		done
		one_line zcs.err
	); ok
	stop_zcs
	start_zcs -m "$to" -b 999
	it "zcs -m $to -b 999: takes it in such pieces"; ( begin
		exits 0 "$zcc" -s 0 -p "$PORT" file small
		grep -q "all bytes sent were received" out
		wait_until grep -Eq " reads?" zcs.out
		least=301
		[ "$to" != uring ] || least=76 # four buffers by a call
		[ "$(sed -n "s/.* \([0-9]*\) reads*.*/\1/p" zcs.out)" -ge $least ]
	); ok
	stop_zcs
done
if can_be_user; then
	start_zcs
	it 'zerocopy with 4 KiB to pin, less than a buffer: one line names the limit to raise, exit status 1'; ( begin
		(
			# shellcheck disable=SC3045 # as above
			ulimit -l 4
			exits 1 as_user timeout 60 "$zcc" -s 0 -p "$PORT" -m zerocopy -b 64k -n 3 file
		)
		one_line err
		grep -q "no memory to pin: raise ulimit -l or net.core.optmem_max" err
	); ok
	# In pages of up to 64 KiB.
	# shellcheck disable=SC3045 # dash, bash and busybox have -l; where it is missing, this is false
	if ! may_lock_much; then
		skip 'zerocopy with 300 KiB to pin' 'other tests of this user may have pinned them'
	elif (ulimit -l 300) 2>/dev/null; then
		it 'zerocopy with 300 KiB to pin, less than it sends: it waits for completions, and all arrives'; ( begin
			(
				ulimit -l 300
				exits 0 as_user timeout 60 "$zcc" -s 0 -p "$PORT" -m zerocopy -b 16k -n 30 file
			)
			grep -q "all bytes sent were received" out
		); ok
	else
		skip 'zerocopy with 300 KiB to pin' 'the limit is lower (ulimit -H -l)'
	fi
	stop_zcs
else
	skip 'zerocopy with little memory to pin' "$not_user"
fi

if can_trace; then
	start_peer
	strace -f -o spins -e trace=poll,recvmsg -e inject=recvmsg:error=EAGAIN \
	    "$zcc" -s 0 -p "$PORT" -m zerocopy -t 60 file >out 2>err &
	traced=$!
	remember $traced
	it 'zerocopy: completions that do not come are not waited for by spinning'; ( begin
		met()
		{
			[ -n "$(child_of "$traced" zcc)" ] && grep -q MSG_ERRQUEUE spins
		}
		wait_until met
		kill -TERM "$(child_of "$traced" zcc)"
		ended "$traced"
		grep -c . spins
		grep -Eqx "      never completed +[1-9][0-9,]*" out
		[ "$(wc -l <spins)" -lt 2000 ]
	); ok
else
	skip 'zerocopy: completions that do not come' 'no strace, or it may not trace'
fi

#
# Raw streams have no headers, however many loops there are.
#
printf x >tiny
loops=$(scale 20000 100000) # more than a pipe, a ring or one call takes of them
for how in $senders; do
	start_peer
	it "zcc --raw -m $how: $loops loops are as many bytes"; ( begin
		exits 0 "$zcc" -s 0 -p "$PORT" --raw -m "$how" -n $loops tiny
		ended "$PEER"
		grep -qx "bytes $loops" peer.out
	); ok
done
for how in $senders; do
	start_zcs --raw
	it "zcc --raw -m $how -P 4: 3,000 loops in each of the streams"; ( begin
		exits 0 "$zcc" -s 0 -p "$PORT" --raw -m "$how" -P 4 -n 3000 tiny
		# A stream may end before the next is accepted: then they are more groups than one.
		wait_until counts -eq 4 grep -c "^127.*, 3000 bytes in " zcs.out
	); ok
	stop_zcs
	start_zcs --raw
	it "zcc --raw -m $how -t: zcs has the bytes that zcc claims"; ( begin
		# Not all loops were in the first call; on an emulated machine few sends of zero-copy fit.
		least=1003
		[ "$how" != uring-zc ] || least=3
		# A zcc that had no CPU for that long has one call.
		for t in 0.1 0.5 3; do
			exits 0 "$zcc" -s 0 -p "$PORT" --raw -m "$how" -t $t tiny
			bytes=$(bytes_of out)
			[ "$bytes" -le $least ] || break
		done
		[ "$bytes" -gt $least ]
		wait_until grep -q "^127.*, $bytes bytes in " zcs.out
		kill -TERM "$ZCS"
		ended "$ZCS"
	); ok
done

#
# A raw server may answer: it gets all the same, and is not reset.
#
head -c 3000000 /dev/urandom >large
for how in $senders; do
	start_peer -e
	it "zcc --raw -m $how: a server that echoes all of it has all of it"; ( begin
		exits 0 timeout 20 "$zcc" -s 0 -p "$PORT" --raw -m "$how" --timeout 5 -n 5 large
		ended "$PEER"
		grep -qx "bytes 15000000" peer.out
		[ "$(bytes_of out)" = 15000000 ]
	); ok
done
start_peer -e -n 4
it 'zcc --raw -P 4: a server that echoes four streams has all of the last'; ( begin
	exits 0 timeout 20 "$zcc" -s 0 -p "$PORT" --raw -P 4 --timeout 5 -n 5 large
	ended "$PEER"
	grep -qx "bytes 15000000" peer.out
	[ "$(bytes_of out)" = 60000000 ]
); ok
start_peer -g 100000 -s
"$zcc" -s 0 -p "$PORT" --raw large >out 2>err &
p=$!
remember $p
it 'zcc --raw: a server that greets with 100 kB and reads later has all of it'; ( begin
	wait_until grep -q data peer.out
	kill -USR1 "$PEER"
	ended $p
	ended "$PEER"
	cat out err peer.out
	grep -qx "bytes 3000000" peer.out
); ok
wait $p
status=$?
wait "$PEER"
last_status=$?
it 'zcc --raw: a server that greets and reads later: both ends exit 0'; ( begin
	[ $status -eq 0 ] && [ $last_status -eq 0 ]
); ok
start_peer -x
it 'zcc --raw: a server that has nothing to say closes its side first, and has all of it'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --raw large
	ended "$PEER"
	grep -qx "bytes 3000000" peer.out
	[ "$(bytes_of out)" = 3000000 ]
); ok
start_peer -k
it 'zcc --raw: a server that has all, is silent and stays: the report'; ( begin
	exits 0 timeout 20 "$zcc" -s 0 -p "$PORT" --raw large
	not gone "$PEER"
	[ "$(bytes_of out)" = 3000000 ]
); ok
kill -USR1 "$PEER"
start_peer -R
it 'zcc --raw: a server that has all and resets: one line, exit 1'; ( begin
	fails "^zcc: 127.0.0.1:$PORT: the server reset the connection after 1 byte$" "$zcc" -s 0 -p "$PORT" --raw tiny
); ok
start_peer -s
"$zcc" -s 0 -p "$PORT" --raw -o 100000 -t 60 large >out 2>err &
p=$!
remember $p
it 'zcc --raw, interrupted: it reports the bytes that the server acknowledged, not those that it sent'; ( begin; need ss
	# The server has what came in its socket.  Its window may take some more when all seems to be still.
	came()
	{
		ss -Htn "sport = :$PORT" | awk '{ print $2 }'
	}
	met()
	{
		had=$(came) waits=$(ss -Htn "dport = :$PORT" | awk '{ print $3 }')
		[ "${waits:-0}" -gt 50000 ] && sleep 0.3 && [ "$(came)" = "$had" ]
	}
	wait_until met
	kill -TERM $p
	ended $p
	cat out err
	bytes=$(bytes_of out) has=$(came)
	echo "$bytes bytes; the server had $had, and has $has; $waits waited"
	[ "$bytes" -ge "$had" ] && [ "$bytes" -le "$has" ] && [ "$bytes" -lt $((had + waits)) ]
); ok
kill -USR1 "$PEER"

# Without headers the end of a stream that flowed is taken, too, while its client stays.
it '--raw: all that a client sent is taken while it stays, by each method'; ( begin
	head -c 1000123 /dev/urandom >flow
	for method in read trunc splice; do
		start_zcs --raw -m $method
		"$HELPERS/net" hold -n 1 -f flow "$PORT" >held &
		remember $!
		all_taken()
		{
			awk -v port="$(printf ':%04X' "$PORT")" '
				index($2, port) == length($2) - 4 && $4 == "01" { n++; left += $5 !~ /:00000000$/ }
				END { exit !(n == 1 && left == 0) }' /proc/net/tcp /proc/net/tcp6
		}
		wait_until grep -qx 'held 1' held
		wait_until all_taken
		stop_zcs
		grep -q ' 1000123 bytes' zcs.out zcs.err
	done
); ok
# A file of sysfs has a size, and cannot be mapped.
if [ -s /sys/devices/system/cpu/online ]; then
	it 'zcc -m mmap: a file that cannot be mapped is an error that names the reason'; ( begin
		start_zcs
		fails '^zcc: /sys/devices/system/cpu/online: -m mmap cannot send it: No such device$' "$zcc" -s 0 -p "$PORT" -m mmap -n 1 /sys/devices/system/cpu/online
		stop_zcs
	); ok
fi
finish
