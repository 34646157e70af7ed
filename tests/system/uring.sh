#!/bin/sh
# io_uring(7): what zcc -m uring, -m uring-zc and zcs -m uring ask of the kernel, and what they print where
# they may not.  methods.sh and others have what they share with the other methods.
#
# group: waits
# seconds: 10
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc zcs=$BIN/zcs ring=$BIN/ring
printf 'hello, world\n' >small
head -c 3000000 /dev/urandom >file

#
# What they may not do.
#
ends_with() # STATUS 'pattern' command...
{
	pattern=$2
	want_status=$1
	shift 2
	exits "$want_status" "$@"
	one_line err
	not [ -s out ]
	grep -q "$pattern" err
}
seccomp='io_uring: a seccomp filter forbids it: containers need a profile that allows io_uring_setup$'
none='io_uring: this kernel has none, or a seccomp filter hides it$'
disabled=$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null || echo 0)
if "$ring" forbid EPERM true 2>/dev/null; then
	for how in uring uring-zc; do
		start_peer
		if [ "$disabled" -eq 0 ]; then
			check "zcc -m $how under a seccomp filter with EPERM: one line names it, exit 1" \
			    ends_with 1 "^zcc: -m $how: $seccomp" timeout 20 "$ring" forbid EPERM "$zcc" -s 0 -p "$PORT" -m $how small
		fi
		start_peer
		check "zcc -m $how where there is no io_uring: one line, exit 1" \
		    ends_with 1 "^zcc: -m $how: $none" timeout 20 "$ring" forbid ENOSYS "$zcc" -s 0 -p "$PORT" -m $how small
	done
	if [ "$disabled" -eq 0 ]; then
		check 'zcs -m uring under a seccomp filter with EPERM: one line names it before it listens, exit 1' \
		    ends_with 1 "^zcs: -m uring: $seccomp" timeout 20 "$ring" forbid EPERM "$zcs" -p 0 -m uring
	fi
	check 'zcs -m uring where there is no io_uring: one line, exit 1' \
	    ends_with 1 "^zcs: -m uring: $none" timeout 20 "$ring" forbid ENOSYS "$zcs" -p 0 -m uring
	it 'zcs -m recv and zcc work where io_uring is forbidden'; ( begin
		"$ring" forbid EPERM "$zcs" -1 -p 0 -m recv >zcs.out 2>zcs.err &
		ZCS=$!
		remember $ZCS
		await_zcs $ZCS
		exits 0 "$ring" forbid EPERM "$zcc" -s 0 -p "$PORT" --congestion reno small
		ended $ZCS
	); ok
else
	skip 'zcc and zcs where io_uring is forbidden' 'no seccomp filter can be set'
fi

if ! can_uring; then
	skip 'zcc -m uring, zcs -m uring' 'no io_uring of Linux 6.1 or later here'
	finish
fi

# In a network namespace of its own nothing else would change, but the sysctl is the whole system's.
restore()
{
	echo "$disabled" >/proc/sys/kernel/io_uring_disabled
}
if [ -n "$LONG" ] && [ -w /proc/sys/kernel/io_uring_disabled ]; then
	start_peer
	it 'kernel.io_uring_disabled is 2: zcc and zcs name it, exit 1'; ( begin
		trap restore EXIT
		echo 2 >/proc/sys/kernel/io_uring_disabled
		ends_with 1 '^zcc: -m uring: io_uring: kernel.io_uring_disabled forbids it: set that sysctl to 0$' \
		    "$zcc" -s 0 -p "$PORT" -m uring small
		ends_with 1 '^zcs: -m uring: io_uring: kernel.io_uring_disabled forbids it: set that sysctl to 0$' \
		    "$zcs" -p 0 -m uring
	); ok
else
	skip 'kernel.io_uring_disabled' 'it would disturb other tests: only make check-long, as root'
fi

if can_be_user; then
	start_zcs
	for how in $(uring_senders); do
		it "zcc -m $how with 4 KiB to lock: one line names ulimit -l, exit 1"; ( begin
			ends_with 1 "^zcc: -m $how: .*io_uring: no memory to lock: raise ulimit -l, or use fewer streams$" \
			    as_user timeout 20 "$ring" lock 4096 "$zcc" -s 0 -p "$PORT" -m "$how" small
		); ok
	done
	stop_zcs
	start_zcs
	it 'zcc -m uring -P 100 with 4 MB to lock, less than its buffers: one line, exit 1'; ( begin
		ends_with 1 '^zcc: -m uring: .*io_uring: no memory to lock: raise ulimit -l, or use fewer streams$' \
		    as_user timeout 20 "$ring" lock 4000000 "$zcc" -s 0 -p "$PORT" -m uring -P 100 -t 1 small
	); ok
	it 'zcc -m uring -P 100 -b 4k with 4 MB to lock sends'; ( begin
		exits 0 as_user timeout 60 "$ring" lock 4000000 "$zcc" -s 0 -p "$PORT" -m uring -b 4k -P 100 \
		    --congestion reno small
		grep -q "all bytes sent were received" out
	); ok
	stop_zcs
else
	skip 'zcc with little memory to lock' "$not_user"
fi

#
# What they ask of the kernel.
#
for how in $(uring_senders); do
	it "zcc -m $how: io_uring_enter alone reads and sends, the headers excepted, and all arrives in order"; ( begin; need strace
		rm -f trace.*
		start_peer -w got
		exits 0 strace -ff -o trace -e trace=io_uring_enter,sendto,sendmsg,sendfile,write,read,pread64,shutdown \
		    "$zcc" -s 0 -p "$PORT" -m "$how" -n 2 --congestion reno file small
		ended "$PEER"
		{ u32 2; for pass in 1 2; do u32 2 3000000; cat file; u32 13; cat small; done; } | cmp - got
		mv "$(grep -l '^shutdown(' trace.*)" trace
		sed -n '/MSG_MORE/,/^shutdown/p' trace >sending
		cat sending
		[ "$(grep -c '^sendto(.*MSG_MORE' sending)" -eq 4 ]
		[ "$(grep -c '^sendto(' sending)" -eq 4 ]
		not grep -E '^(sendmsg|sendfile|write|read|pread64)\(' sending
		# 46 parts of 64 KiB are six chains of eight.
		enters=$(grep -c '^io_uring_enter(' sending)
		[ "$enters" -ge 14 ]
		[ "$how" = uring-zc ] || [ "$enters" -le 40 ]
		[ "$(figures_of calls out)" = 94 ]
	); ok
done
it 'zcc -m uring does not report copies'; ( begin
	start_zcs -1
	exits 0 "$zcc" -s 0 -p "$PORT" -m uring file --congestion reno
	ended $ZCS
	not grep zerocopy out
); ok
if can_uring zc; then
	it 'zcc -m uring-zc: on loopback the kernel copies all sends, and the report counts them'; ( begin
		start_zcs -1
		exits 0 "$zcc" -s 0 -p "$PORT" -m uring-zc -n 3 --congestion reno --json file
		ended $ZCS
		grep -Eq '"zerocopy_sends":138,"zerocopy_copied":138,"zerocopy_incomplete":0' out
		start_zcs -1
		exits 0 "$zcc" -s 0 -p "$PORT" -m uring-zc -P 2 -t 0.2 --congestion reno file
		ended $ZCS
		sends=$(plain out | sed -n 's/^    zerocopy sends *//p')
		[ "$sends" -ge 10 ]
		plain out | grep -Eqx "      copied after all +$sends"
		grep -Eqx "      never completed +0" out
	); ok
else
	skip 'zcc -m uring-zc' 'no SEND_ZC that reports copies: Linux 6.2'
fi

it 'zcs -m uring: io_uring_enter alone receives'; ( begin; need strace
	rm -f trace.*
	: >zcs.err
	strace -ff -o trace -e trace=read,recvfrom,recvmsg,poll,io_uring_enter,io_uring_setup "$zcs" -1 -p 0 -m uring \
	    >zcs.out 2>zcs.err &
	traced=$!
	remember $traced
	await_zcs $traced
	remember "$(child_of $traced zcs)"
	# In two pieces, so that it has to wait in a file.
	{ u32 1 2 700001; head -c 400000 /dev/zero; sleep 0.5; head -c 300001 /dev/zero; u32 300001
	    head -c 300001 /dev/zero; } | timeout 20 "$HELPERS/net" send -k "$PORT" >receipt
	cat receipt
	grep -q "^bytes=1000002 .* method=uring " receipt
	ended $traced
	# The main thread tries a ring of its own.
	client=$(grep -l '^poll(.*, 1, -1) ' trace.*)
	cat "$client"
	grep -q '^io_uring_enter(' "$client"
	sock=$(sed -n 's/^poll(\[{fd=\([0-9]*\), .*, 1, -1) .*/\1/p' "$client" | head -n 1)
	# After its receipt zcs looks for one byte more.
	not grep -E "^(read|recvmsg)\\($sock, " "$client"
	not grep -E "^recvfrom\\($sock, .*, ([2-9]|[0-9]{2,}), [A-Z0]" "$client"
); ok

#
# Ends: signals, and many of them.
#
interrupted()
{
	# A second after the signal zcc waits no more: little is to be on its way then.
	start_zcs -1 -I 0.05
	env --default-signal=INT "$zcc" -s 0 -p "$PORT" -m "$how" -t 60 --congestion reno --pace 20m file >out 2>err &
	held=$!
	remember $held
	wait_until grep -q '^[1-9].* kbytes/sec' zcs.out
	kill -INT $held
	ended $held
	cat out err
	not [ -s err ]
	grep -q "all bytes sent were received" out
	not grep "never completed *[1-9]" out
}
for how in $(uring_senders); do
	check "zcc -m $how: SIGINT ends it with a report, and both ends agree" interrupted
	it "zcc -m $how: SIGINT ends it when the server takes nothing"; ( begin
		start_peer -s
		env --default-signal=INT "$zcc" -s 0 -p "$PORT" -m "$how" --raw -o 60000 -t 60 file >out 2>err &
		held=$!
		remember $held
		wait_until grep -q data peer.out
		kill -INT $held
		ended $held
		cat out err
		[ -n "$(bytes_of out)" ]
		kill -USR1 "$PEER"
		# The kernel also notifies of the sends behind, which it cancelled before they began.
		[ "$how" != uring-zc ] || plain out |
		    awk '/ zerocopy sends / { n++; sends = $3 } / copied after all / { bad += $4 > sends } END { exit n != 1 || bad }'
	); ok
done
{ u32 1 1 1000000; cat small; } >half
it 'zcs -m uring: SIGTERM ends it while a client is silent'; ( begin
	start_zcs -m uring
	"$HELPERS/net" send -k "$PORT" <half >receipt &
	held=$!
	remember $held
	wait_until counts -eq 2 threads_of "$ZCS"
	kill -TERM "$ZCS"
	ended "$ZCS"
	cat zcs.err
	grep -q "interrupted after [0-9]* bytes" zcs.err
); ok
it 'zcs -m uring --idle-timeout: a client that is silent is dropped'; ( begin
	start_zcs -m uring --idle-timeout 0.5
	timeout 20 "$HELPERS/net" send -k "$PORT" <half >receipt
	not [ -s receipt ]
	cat zcs.err
	wait_until grep -q ": .*silent.*, after 13 bytes" zcs.err
	stop_zcs
); ok
it "zcs -m uring: $(scale 200 1000) clients of zcc -m uring, and no descriptor is left"; ( begin
	start_zcs -m uring
	fds=$(ls /proc/"$ZCS"/fd | wc -l)
	exits 0 timeout 60 "$zcc" -s 0 -p "$PORT" -m uring -b 4k -P "$(scale 200 1000)" --congestion reno small
	grep -q "all bytes sent were received" out
	wait_until counts -eq 1 threads_of "$ZCS"
	wait_until counts -eq "$fds" entries_in /proc/"$ZCS"/fd
	stop_zcs
); ok

finish
