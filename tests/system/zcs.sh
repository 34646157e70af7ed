#!/bin/sh
# zcs: many clients, bad clients, its options seen from outside, its errors.
#
# group: sleeps
# seconds: 5
. "$TOP/tests/lib.sh"

head -c 100000 /dev/urandom >file

beside 'a stall that begins in the warm-up counts from its end on'; ( begin
	start_zcs
	u32 4294967295 0 0 1 2000 >first
	{ cat first; head -c 1000 /dev/zero; sleep 1.2; head -c 1000 /dev/zero; } | "$HELPERS/net" send "$PORT"
	wait_until grep -q ' bytes of warm-up' zcs.out
	paste -sd ' ' zcs.out | grep -Eq 'the +first +at [01]\.[0-9]+ s'
	stop_zcs
) & later
beside 'zcs -1: zcc that is killed, or fails, also with --raw, is an error; that is interrupted once, it is none'; ( begin
	while read -r raw status zcc_status signal options; do
		start_zcs -1 -I 0.05 $raw
		start_zcc held -t 60 $raw $options
		wait_until [ -s zcs.out ]
		[ "$signal" = INT ] || kill -STOP $ZCS
		zcc_ends held $zcc_status ${signal#-}
		kill -CONT $ZCS 2>/dev/null || :
		ended $ZCS
		exits $status wait $ZCS
	done <<-END
		--raw 1 137 KILL
		-d 1 1 - --timeout 0.3
		-d 0 130 INT
	END
) & later
beside 'zcs that is stopped while a warm-up ends: what waits in its socket then is of the warm-up'; ( begin; need ss
	start_zcs -b 1000
	u32 4294967295 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 51200 >first # 3 s
	# queue_has QUEUED RECEIVED: bytes of zcs's connection
	queue_has() { ss -Htni state established "sport = :$PORT" | tr -d '\n' | grep -q "^$1 .*bytes_received:$2 "; }
	sends()
	{
		cat first
		wait_until queue_has 0 132
		kill -STOP $ZCS
		head -c 51200 /dev/zero
		wait_until queue_has 51200 51332
		sleep 3.1
		kill -CONT $ZCS
	}
	all_warm() { sends | "$HELPERS/net" send "$PORT" | grep '^bytes=0 .* warmup=51200 '; }
	all_warm || all_warm || all_warm # it may take longer to stop zcs on a busy machine
	stop_zcs
) & later
# What a client sends to zcs, which prints no interval, and how it ends; then another comes.  What is left of a rate is its name.
beside 'clients that send nothing, a part, something else or all: zcs prints what came, with -1 ends at the first that began'; ( begin
	while IFS=';' read -r options how bytes; do
		printf '== zcs %s, net send %s: %s\n' "$options" "$how" "$bytes"
		start_zcs -d -I 0 $options
		printf "$bytes" | "$HELPERS/net" send $how "$PORT" >receipt || :
		wait_until grep -q ': connected$' zcs.err
		met() { gone $ZCS || counts -eq 1 threads_of $ZCS; }
		wait_until met
		"$zcc" -s 0 -p "$PORT" ${options%-1} ../tiny >out 2>&1 || echo 'zcc fails'
		case $options in *-1) ended $ZCS && wait $ZCS ;; *) stop_zcs ;; esac || echo "exit $?"
		sed -E -e '/: connected$|^zcs: listening/d; s/127\.0\.0\.1:[0-9]+/IT/; s|[0-9]+ kbytes/sec .* Gbit/s\)|RATE|' \
		    -e 's/ in [0-9.]+ s/ in T/; s/[0-9]+ reads?/READS/; s/ seconds=.*( files.* method=[a-z]*) .*/\1/' zcs.err zcs.out receipt
	done >got <<-'END'
		-1;-c;
		-1;-R;
		-1;-c;\0\0\0
		-1;-c;\0\0\0\1\0\0\0\1\0\0\3\350abc
		;-c;\0\0\0\1\0\0\0\2\0\0\0\0
		;-c;\0\0\0\1
		;;\377\377\377\377\0\0\0\0\0\0\0\1\0\0\0\5hello
		;;\0\0\0\1\0\0\0\1\0\0\0\1xy
		;;\0\0\0\1\0\0\0\2\0\0\0\1x\0\0\0\0
		--raw;;\0\0\0\1\0\0\0\1\0\0\0\15not what was announced
	END
	diff - got <<-'END'
		== zcs -1, net send -c: 
		zcs: IT: closed without sending anything
		IT: RATE, 1 byte in T, 1 file, READS
		== zcs -1, net send -R: 
		zcs: IT: closed without sending anything
		IT: RATE, 1 byte in T, 1 file, READS
		== zcs -1, net send -c: \0\0\0
		zcs: IT: closed in the middle of a header, after 0 bytes
		IT: RATE, 1 byte in T, 1 file, READS
		== zcs -1, net send -c: \0\0\0\1\0\0\0\1\0\0\3\350abc
		zcc fails
		exit 1
		zcs: IT: closed in the middle of a file, after 3 bytes
		IT: 3 bytes in T, 0 files, READS
		== zcs , net send -c: \0\0\0\1\0\0\0\2\0\0\0\0
		zcs: IT: closed between two files, after 0 bytes
		IT: RATE, 1 byte in T, 1 file, READS
		== zcs , net send -c: \0\0\0\1
		zcs: IT: closed between two loops, after 0 bytes
		IT: RATE, 1 byte in T, 1 file, READS
		== zcs , net send : \377\377\377\377\0\0\0\0\0\0\0\1\0\0\0\5hello
		zcs: IT: closed in its warm-up, after 5 bytes
		IT: 0 bytes in T, 0 files, READS, after 5 bytes of warm-up
		IT: RATE, 1 byte in T, 1 file, READS
		== zcs , net send : \0\0\0\1\0\0\0\1\0\0\0\1xy
		zcs: IT: sent more than it announced
		IT: 1 byte in T, 1 file, READS
		IT: RATE, 1 byte in T, 1 file, READS
		bytes=1 files=1 warmup=0 method=read
		== zcs , net send : \0\0\0\1\0\0\0\2\0\0\0\1x\0\0\0\0
		IT: RATE, 1 byte in T, 2 files, READS
		IT: RATE, 1 byte in T, 1 file, READS
		bytes=1 files=2 warmup=0 method=read
		== zcs --raw, net send : \0\0\0\1\0\0\0\1\0\0\0\15not what was announced
		IT: RATE, 34 bytes in T, 0 files, READS
		IT: RATE, 1 byte in T, 0 files, READS
	END
) & later
beside 'zcs -1: who sends empty loops without end does not keep zcs from ending, and who comes too late is refused'; ( begin
	u32 4294967295 >forever
	start_zcs -1 --idle-timeout 1
	hold_clients held -n 1 -f forever -d 300
	exits 0 "$zcc" -s 0 -p "$PORT" ../file
	refused() { ! "$zcc" -s 0 -p "$PORT" ../file 2>err && grep -q 'Connection refused: is zcs running there?$' err; }
	wait_until refused
	ended $ZCS
	grep '^zcs: 127.*: no byte of a file within 1 seconds of the last client (-1, --idle-timeout), after 0 bytes$' zcs.err
) & later
beside 'zcs that lacks the memory for its buffer: zcc is told, not that it may be a zcs --reply'; ( begin; need prlimit
	! sanitized || skip_check 'sanitizers take more'
	ON='prlimit --as=400000000' start_zcs -b 500m
	fails "rejected: the server lacks what its method needs (zcs -m, which says more there)$" \
	    "$zcc" -s 0 -p "$PORT" -n 1000 ../file
	grep '^zcs: 127.*: -m read: Cannot allocate memory, after 0 bytes$' zcs.err
	stop_zcs
) & later
status=0
"$zcs" -p 0 >&- 2>closed || status=$?
check 'zcs with a closed stdout: it does not start' test "$status$(cat closed)" = \
    '1zcs: stdout: it is closed, or open for reading: give it a file, or /dev/null'

beside '100 clients at once are all received; threads and descriptors are as many as before'; ( begin
	start_zcs
	fds=$(entries_in /proc/$ZCS/fd)
	exits 0 "$zcc" -s 0 -p "$PORT" -P 100 -n 10 --pace 2m --congestion reno ../file
	[ "$(bytes_of out)" = '100000000 100000000' ]
	wait_until counts -eq 1 summaries '^total of 100 clients: .* 100000000 bytes'
	wait_until counts -eq 1 threads_of $ZCS
	wait_until counts -eq "$fds" entries_in /proc/$ZCS/fd
	one_line zcs.err
	stop_zcs
) & later

# It is a CPU that sched_setaffinity(2) does not accept any more.
beside '-B 0: if that CPU has gone, that costs a line, and the client is served'; ( begin; need strace
	start_zcs -B 0
	launch strace.out '*attached*' strace -f -o /dev/null -e trace=sched_setaffinity -e inject=sched_setaffinity:error=EINVAL -p "$ZCS"
	grep -q attached strace.err || skip_check 'strace may not attach'
	exits 0 "$zcc" -s 0 -p "$PORT" ../file
	grep -q 'all bytes sent were received' out
	grep '^zcs: 127\.0\.0\.1:[0-9]*: served on any CPU: cannot bind to CPU 0: Invalid argument$' zcs.err
	kill $launched
	stop_zcs
) & later
beside 'zcs -i and -o: the receive and the send buffer of connections'; ( begin; need ss
	start_zcs -i 70000 -o 80000
	hold_clients held -n 1
	met() { ss -tmn "sport = :$PORT" | grep -q 'rb140000,.*tb160000,'; }
	wait_until met
	stop_zcs
) & later
beside 'zcs raises the limit of its descriptors as far as it may, and an ignored SIGHUP stays ignored (nohup)'; ( begin
	# shellcheck disable=SC3045 # every shell that is /bin/sh somewhere knows -S
	ulimit -Sn 64
	trap '' HUP
	start_zcs
	awk '/^Max open files/ { exit $4 != $5 }' /proc/$ZCS/limits
	kill -HUP $ZCS
	grep -q '^SigIgn:.*[13579bdf]$' /proc/$ZCS/status
	stop_zcs
) & later

together
it 'zcs listens on port 2222, with --reply on 7890, and zcc connects to it, with --request'; ( begin
	[ -n "$OWN_NETWORK" ] || skip_check 'needs root, ip(8) and network namespaces'
	while read -r port zcs_options zcc_options; do
		launch zcs.out "*listening on *:$port" "$zcs" $zcs_options
		exits 0 "$zcc" -s 0 $zcc_options --json
		grep -q '"connecting_to":{"host":"0","port":'$port'}' out
		kill $launched
		ended $launched
	done <<-END
		2222 -d -n 1
		7890 --reply --request 100 -n 3
	END
); ok
# Another program may have the port meanwhile.
it 'zcs --timestamps: each summary begins with the date, the time and the zone, as rows have it'; ( begin
	export TZ=XYZ+12
	start_zcs -I 0.05 --timestamps
	exits 0 "$BIN/zcc" -q -s 0 -p "$PORT" --congestion reno -t 0.3
	wait_until grep -Eq '^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}-1200 127\.0\.0\.1:[0-9]+: [0-9]+ kbytes/sec' zcs.out
	stop_zcs
); ok
it 'zcs -q: nothing is printed on stderr, and of a client its summary alone'; ( begin
	start_zcs
	stop_zcs
	"$zcs" -p "$PORT" -q -I 0.05 >zcs.out 2>zcs.err &
	ZCS=$!
	remember $ZCS
	wait_until exits 0 "$zcc" -s 0 -p "$PORT" -t 0.3 --congestion reno
	stop_zcs
	not [ -s zcs.err ]
	grep -Eq '^127\.0\.0\.1:[0-9]+: [0-9]+ kbytes/sec ' zcs.out
	[ "$(grep -c '^[^ ]' zcs.out)" -eq 1 ]
); ok
finish
