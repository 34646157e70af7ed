#!/bin/sh
# Each method of zcc and of zcs, by each behaviour: what arrives, in pieces, corked, raw; files that shrink,
# servers that take nothing, signals; and by which calls.
#
# seconds: 25
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc zcs=$BIN/zcs
senders=$(senders)
receivers=$(receivers)

printf 'hello, world\n' >small
printf x >tiny
: >empty
head -c 65536 /dev/urandom >block
head -c 300000 /dev/urandom >file
head -c 5000001 /dev/urandom >larger # than a window, a ring or a pipe

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

#
# zcc
#
# sends OPTION...: zcc by $how to $PORT
sends()
{
	exits 0 timeout 60 "$zcc" -s 0 -p "$PORT" -m "$how" --congestion reno "$@"
}
# arrives PASSES 'options' FILE...: a peer gets that many passes of them; of several streams the last one is looked at
arrives()
{
	passes=$1 options=$2
	shift 2
	{
		u32 "$passes"
		for pass in $(seq "$passes"); do
			u32 $#
			for f; do u32 "$(wc -c <"$f")"; cat "$f"; done
		done
	} >want
	case $options in *-P\ 4*) start_peer -n 4 -w got ;; *) start_peer -w got ;; esac
	sends -n "$passes" $options "$@"
	ended "$PEER"
	cmp want got
}
# calls_of METHOD: those that it may send by, beside sendto(), which sends headers
calls_of()
{
	case $1 in
	send) echo pread64 ;;
	write) echo pread64 write ;;
	mmap) echo mmap munmap newfstatat fstat ;;
	zerocopy) echo pread64 poll recvmsg ;;
	uring*) echo io_uring_enter io_uring_register sched_getaffinity ;;
	*) echo "$1" ;;
	esac
}
# held_sender OPTION...: zcc by $how in the background, which sends to a peer that does not read yet; sets HELD
held_sender()
{
	start_peer -s
	env --default-signal=INT "$zcc" -s 0 -p "$PORT" -m "$how" -o 60000 "$@" >out 2>err &
	HELD=$!
	remember $HELD
	wait_until grep -q data peer.out
}

loops=$(scale 20000 100000) # more than a pipe, a ring or one call takes of them
for how in $senders; do
	it "zcc -m $how: headers and files arrive, in two passes of four files"; ( begin
		arrives 2 '' small empty larger small
	); ok
	it "zcc -m $how -b 997: 5 MB arrive in as many calls as there are pieces"; ( begin
		arrives 1 '-b 997' larger small
		[ "$(figures_of calls out)" = 5017 ]
	); ok
	it "zcc -m $how -k: corked, nothing is lost"; ( begin
		arrives 2 -k small block empty
	); ok
	it "zcc -m $how -P 4: streams share the files, and the last has them all"; ( begin
		arrives 5 '-P 4' file tiny file
		[ "$(bytes_of out)" = 12000020 ]
	); ok
	it "zcc -m $how: a small file and its headers are one segment"; ( begin
		arrives 1 '' small
		grep -qx 'segments 1' peer.out
	); ok
	if can_trace; then
		rm -f trace.*
		start_peer
		strace -ff -o trace "$zcc" -s 0 -p "$PORT" -m "$how" -k -n 2 --congestion reno file small >out 2>err
		cat "$(grep -l MSG_MORE trace.* | head -n 1)" >sending
	fi
	it "zcc -m $how: between the headers are its calls and no others"; ( begin; need strace
		sed -n '/MSG_MORE/,/^shutdown/s/^\([a-z0-9_]*\)(.*/\1/p' sending | grep -v 'setsockopt\|shutdown' | sort -u >calls
		cat calls
		calls_of "$how" | tr ' ' '\n' >may
		echo sendto >>may
		not grep -vxf may calls
		grep -qx "$(calls_of "$how" | sed 's/ .*//')" calls
	); ok
	it "zcc -m $how -k: corked before the first byte of each pass, released after its last"; ( begin; need strace
		sed -n 's/^setsockopt(.*TCP_CORK, \[\([01]\)\], 4) = 0/cork \1/p
			/MSG_MORE/,/^shutdown/{
				/^\(sendfile\|sendto\|write\|splice\|io_uring_enter\)(.*/s//send/p
				/^shutdown.*/s//shutdown/p
			}' sending | uniq >order
		cat order
		printf 'cork 1\nsend\ncork 0\ncork 1\nsend\ncork 0\nshutdown\n' | diff - order
	); ok

	for size in 1000000 0 3146228; do
		it "zcc -m $how: a file of 3146728 bytes that shrinks to $size is an error, without a report"; ( begin
			truncate -s 3146728 shrinks
			held_sender -n 2 shrinks
			truncate -s $size shrinks
			kill -USR1 "$PEER"
			status=0; wait $HELD || status=$?
			cat out err
			[ $status -eq 1 ]
			one_line err
			grep -q 'shrinks: shrank while it was being sent' err
			not [ -s out ]
		); ok
	done
	for b in '' $([ "$how" != zerocopy ] || echo -b1000); do
		start_peer -s
		it "zcc -m $how $b --timeout: a server that reads nothing: one line that names it, exit 1"; ( begin
			fails "127.0.0.1:$PORT: the server accepted no data for 0.3 seconds (--timeout) after [0-9]* bytes" \
			    timeout 20 "$zcc" -s 0 -p "$PORT" -m "$how" $b --timeout 0.3 -t 60 file
		); ok
		kill -USR1 "$PEER"
	done
	it "zcc -m $how: SIGINT ends it with a report while the server takes nothing"; ( begin
		held_sender --raw -t 60 file
		kill -INT $HELD
		ended $HELD
		cat out err
		[ -n "$(bytes_of out)" ]
		kill -USR1 "$PEER"
		# The kernel also notifies of the sends behind, which it cancelled before they began.
		case $how in
		*z*c*) plain out | awk '/ zerocopy sends / { n++; sends = $3 } / copied after all / { bad += $4 > sends } END { exit n != 1 || bad }' ;;
		esac
	); ok
	it "zcc -m $how: SIGINT ends it with a report, and both ends agree"; ( begin
		# A second after the signal zcc waits no more: little is to be on its way then.
		start_zcs -1 -I 0.05
		env --default-signal=INT "$zcc" -s 0 -p "$PORT" -m "$how" -t 60 --congestion reno --pace 20m file >out 2>err &
		HELD=$!
		remember $HELD
		wait_until grep -q '^[1-9].* kbytes/sec' zcs.out
		kill -INT $HELD
		ended $HELD
		cat out err
		not [ -s err ]
		grep -q 'all bytes sent were received' out
		not grep 'never completed *[1-9]' out
	); ok

	# Without headers, however many loops there are.
	it "zcc --raw -m $how: $loops loops are as many bytes"; ( begin
		start_peer
		sends --raw -n $loops tiny
		ended "$PEER"
		grep -qx "bytes $loops" peer.out
	); ok
	it "zcc --raw -m $how: a server that echoes all of it has all of it"; ( begin
		start_peer -e
		sends --raw --timeout 5 -n 3 larger
		ended "$PEER"
		grep -qx 'bytes 15000003' peer.out
		[ "$(bytes_of out)" = 15000003 ]
	); ok
	start_zcs --raw
	it "zcc --raw -m $how -P 4 -n 3000, and -t: zcs has the bytes that zcc claims"; ( begin
		sends --raw -P 4 -n 3000 tiny
		# A stream may end before the next is accepted: then they are more groups than one.
		wait_until counts -eq 4 grep -c '^127.*, 3000 bytes in ' zcs.out
		# Not all loops were in the first call; on an emulated machine few sends of zero-copy fit.
		least=1003
		[ "$how" != uring-zc ] || least=3
		# A zcc that had no CPU for that long has one call.
		for t in 0.1 0.5 3; do
			sends --raw -t $t tiny
			bytes=$(bytes_of out)
			[ "$bytes" -le $least ] || break
		done
		[ "$bytes" -gt $least ]
		wait_until grep -q "^127.*, $bytes bytes in " zcs.out
	); ok
	stop_zcs
done

it 'zcc -m mmap: more files than descriptors, which reuse each other'\''s'; ( begin
	how=mmap
	mkdir many
	for i in $(seq 10 60); do echo "$i" >many/"$i"; done
	# shellcheck disable=SC3045 # dash, bash and busybox have -n
	ulimit -n 40
	arrives 2 '' many/*
); ok
it 'zcc -m mmap: of a large file one window at a time is mapped'; ( begin; need strace
	start_peer
	exits 0 strace -ff -o mapped -e trace=mmap,munmap,sendto "$zcc" -s 0 -p "$PORT" -m mmap -n 2 --congestion reno file larger
	cat "$(grep -l MSG_MORE mapped.*)" | sed -n '/MSG_MORE/,$p' >sending
	awk '{ split($1, call, "[(,]") }
		/^mmap\(.* MAP_SHARED, / { map[$NF]; n++; all++ }
		/^munmap/ && call[2] in map { n-- }
		n > 1 { bad++ }
		END { exit bad > 0 || all < 3 }' sending
); ok
# A file of sysfs has a size, and cannot be mapped.
if [ -s /sys/devices/system/cpu/online ]; then
	start_zcs
	it 'zcc -m mmap: a file that cannot be mapped is an error that names the reason'; ( begin
		fails '^zcc: /sys/devices/system/cpu/online: -m mmap cannot send it: No such device$' "$zcc" -s 0 -p "$PORT" -m mmap -n 1 /sys/devices/system/cpu/online
	); ok
	stop_zcs
fi
it 'zcc -m zerocopy: the report counts the sends, and those that the kernel copied'; ( begin; need strace
	start_peer
	exits 0 strace -ff -o counted -e trace=sendto,recvmsg "$zcc" -s 0 -p "$PORT" -m zerocopy -n 3 file
	cat counted.* >trace
	sends=$(grep -Ec '^sendto\(.*MSG_ZEROCOPY.* = [1-9][0-9]*$' trace)
	[ "$sends" -ge 15 ]
	# Completions are of sends from ee_info to ee_data, and ee_code tells whether they were copied.
	copied=$(sed -n 's/.*ee_code=\([^,]*\), ee_info=\([0-9]*\), ee_data=\([0-9]*\).*/\1 \2 \3/p' trace |
	    awk '$1 != "0" { n += $3 - $2 + 1 } END { print n + 0 }')
	plain out | grep -Eqx "    zerocopy sends +$sends"
	plain out | grep -Eqx "      copied after all +$copied"
	grep -Eqx '      never completed +0' out
); ok
it 'zcc -m zerocopy: completions that do not come are not waited for by spinning'; ( begin; need strace
	start_peer
	strace -f -o spins -e trace=poll,recvmsg -e inject=recvmsg:error=EAGAIN \
	    "$zcc" -s 0 -p "$PORT" -m zerocopy -t 60 file >out 2>err &
	traced=$!
	remember $traced
	met()
	{
		[ -n "$(child_of "$traced" zcc)" ] && grep -q MSG_ERRQUEUE spins
	}
	wait_until met
	kill -TERM "$(child_of "$traced" zcc)"
	ended "$traced"
	grep -Eqx '      never completed +[1-9][0-9,]*' out
	counts -lt 2000 lines_in spins
); ok
if can_be_user; then
	start_zcs
	it 'zcc -m zerocopy with 4 KiB to pin, less than a buffer: one line names the limit to raise, exit 1'; ( begin
		# shellcheck disable=SC3045 # as above
		ulimit -l 4
		fails 'no memory to pin: raise ulimit -l or net.core.optmem_max' \
		    as_lone_user timeout 60 "$zcc" -s 0 -p "$PORT" -m zerocopy -b 64k -n 3 file
	); ok
	it 'zcc -m zerocopy with 300 KiB to pin, less than it sends: it waits for completions, and all arrives'; ( begin
		may_lock_much || skip_check 'other tests of this user may have pinned them'
		# In pages of up to 64 KiB.
		# shellcheck disable=SC3045 # as above
		ulimit -l 300 2>/dev/null || skip_check 'the limit is lower (ulimit -H -l)'
		exits 0 as_lone_user timeout 60 "$zcc" -s 0 -p "$PORT" -m zerocopy -b 16k -n 30 file
		grep -q 'all bytes sent were received' out
	); ok
	stop_zcs
else
	skip 'zcc -m zerocopy with little memory to pin' "$not_user"
fi

#
# zcs
#
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
# Of zcs's calls for a stream of two files, 700001 and 300001 bytes: by which they came.  Those of a ring are
# not seen.
cat >who_receives <<'EOF2'
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
EOF2

mkfifo pause
for how in $receivers; do
	start_zcs -m "$how"
	# A stream, the milliseconds between its bytes, what the receipt begins with (- for no receipt), what zcs prints on stderr.
	lines=1
	while read -r stream pause receipt line; do
		it "zcs -m $how: a stream $stream, $pause ms between bytes: receipt $receipt, message ${line:-none}"; ( begin
			if [ $pause = 0 ]; then set --; else set -- -d $pause; fi
			"$HELPERS/net" send "$@" "$PORT" <"$stream" >receipt
			cat receipt
			if [ "$receipt" = - ]; then
				not [ -s receipt ]
			else
				one_line receipt
				grep -Eq "^bytes=${receipt%,*} seconds=[0-9.]+ files=${receipt#*,} warmup=0 method=$how reads=[0-9]+ " receipt
			fi
			[ -z "$line" ] || lines=$((lines + 1))
			wait_until counts -ge $lines lines_in zcs.err
			cat zcs.err
			counts -eq $lines lines_in zcs.err
			[ -z "$line" ] || tail -n 1 zcs.err | grep -q "$line"
		); ok
		[ -z "$line" ] || lines=$((lines + 1))
	done <<-END
		two 0 13,2
		two_empty_first 0 13,2
		two 1 13,2
		forever 0 16,1
		excess 0 13,1 sent more than it announced
		half_a_file 0 - closed in the middle of a file, after 3 bytes
		half_a_header 0 - closed in the middle of a header, after 13 bytes
	END
	it "zcs -m $how: the built-in set, and both ends agree"; ( begin
		"$zcc" -s 0 -p "$PORT" --congestion reno -n 1 >report
		cat report
		[ "$(bytes_of report)" = '22579200 22579200' ]
		[ "$(figures_of method report)" = "sendfile $how" ]
		grep -q 'all bytes sent were received' report
		wait_until grep -q ' 63 files, ' zcs.out
		grep -q ' 22579200 bytes in [0-9.]* s' zcs.out
	); ok
	# The sender sends no more but waits for its receipt: a wait for more than the file would never end.
	it "zcs -m $how: bodies about as long as a call, and a client that keeps its side open"; ( begin
		for n in 1 65535 65536 65537 131073 262143 262144 262145 327681; do
			{ u32 1 2 $n; head -c $n /dev/zero; u32 1; printf x; } |
			    timeout 20 "$HELPERS/net" send -k "$PORT" >receipt
			grep -q "^bytes=$((n + 1)) " receipt
		done
	); ok
	it "zcs -m $how: it agrees with zcc by every method, and odd sizes of buffers"; ( begin
		for method in $senders; do
			for size in 1 1000 65537; do
				what=small
				[ $size -eq 1 ] || what="file"
				exits 0 "$zcc" -s 0 -p "$PORT" -m "$method" -b $size -n 2 $what small
				grep -q 'all bytes sent were received' out
			done
		done
	); ok
	it "zcs -m $how: SIGTERM ends it while a client is silent in a file"; ( begin
		"$HELPERS/net" send -k "$PORT" <half_a_file >receipt & # -k keeps it open
		remember $!
		wait_until counts -eq 2 threads_of "$ZCS"
		kill -TERM "$ZCS"
		ended "$ZCS"
		cat zcs.err
		grep -q 'interrupted after [0-9]* bytes' zcs.err
	); ok
	it "zcs -m $how --idle-timeout: a client that is silent in a file is dropped"; ( begin
		start_zcs -m "$how" --idle-timeout 0.5
		timeout 20 "$HELPERS/net" send -k "$PORT" <half_a_file >receipt
		not [ -s receipt ]
		wait_until grep -q ': .*silent.*, after 3 bytes' zcs.err
		stop_zcs
	); ok
	it "zcs -m $how -i 10000: it does not wait for more than the socket holds"; ( begin
		start_zcs -m "$how" -i 10000
		{ u32 1 1 300000; cat file; } | timeout 20 "$HELPERS/net" send -k "$PORT" >receipt
		grep -q '^bytes=300000 ' receipt
		stop_zcs
	); ok
	it "zcs -m $how -b 999: it takes a file in such pieces"; ( begin
		start_zcs -m "$how" -b 999
		exits 0 "$zcc" -s 0 -p "$PORT" file small
		grep -q 'all bytes sent were received' out
		wait_until grep -Eq ' reads?' zcs.out
		least=301
		[ "$how" != uring ] || least=76 # four buffers by a call
		[ "$(sed -n 's/.* \([0-9]*\) reads*.*/\1/p' zcs.out)" -ge $least ]
		stop_zcs
	); ok
	for framing in headers --raw; do
		it "zcs -m $how, $framing: it takes what has come while the client pauses"; ( begin; need ss
			options=${framing#headers}
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
	it "zcs -m $how: that call alone receives bodies, whole"; ( begin; need strace
		rm -f trace.*
		: >zcs.err
		strace -ff -o trace -e trace=read,recvfrom,recvmsg,splice,poll "$zcs" -1 -p 0 -m "$how" >zcs.out 2>zcs.err &
		STRACE=$!
		remember $STRACE
		await_zcs $STRACE
		ZCS=$(child_of $STRACE zcs)
		remember "$ZCS"
		# In two pieces, so that it has to wait in a file.
		{ u32 1 2 700001; head -c 400000 /dev/zero; sleep 0.2; head -c 300001 /dev/zero; u32 300001
		    head -c 300001 /dev/zero; } |
		    "$HELPERS/net" send "$PORT" >receipt
		cat receipt
		grep -q '^bytes=1000002 ' receipt
		ended "$STRACE"
		mv "$(grep -l '^poll(.*, 1, -*[1-9][0-9]*)' trace.* | grep -v "\.$ZCS\$")" trace
		cat trace
		sock=$(sed -n 's/^poll(\[{fd=\([0-9]*\), .*, 1, -*[1-9][0-9]*).*/\1/p' trace | head -n 1)
		awk -v sock="$sock" -v how="$how" -f who_receives trace
	); ok
done
for how in $receivers; do for b in '' '-b 1k'; do
	it "zcs -m $how${b:+ $b}: what has come in the warm-up belongs to it"; ( begin
		wait_until [ -s "warm.$how$b" ]
		cat "warm.$how$b"
		grep -q '^bytes=100000 .* warmup=140000 ' "warm.$how$b"
	); ok
done; done
finish
