#!/bin/sh
# io_uring(7): what zcc and zcs print where they may not use it.  methods.sh has what they share with the
# other methods.
#
# group: waits
# seconds: 5
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc zcs=$BIN/zcs ring=$BIN/ring
printf 'hello, world\n' >small
head -c 3000000 /dev/urandom >file

seccomp='io_uring: a seccomp filter forbids it: containers need a profile that allows io_uring_setup$'
none='io_uring: this kernel has none, or a seccomp filter hides it$'
disabled=$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null || echo 0)
if "$ring" forbid EPERM true 2>/dev/null; then
	while read -r tool how error; do
		case $error in
		EPERM) [ "$disabled" -eq 0 ] || continue; line=$seccomp ;;
		*) line=$none ;;
		esac
		it "$tool -m $how where io_uring ends with $error: one line names the reason, exit 1"; ( begin
			start_peer
			case $tool in
			zcc) set -- -s 0 -p "$PORT" small ;;
			zcs) set -- -p 0 ;;
			esac
			fails "^$tool: -m $how: $line" timeout 20 "$ring" forbid $error "$BIN/$tool" -m $how "$@"
		); ok
	done <<-END
		zcc uring EPERM
		zcc uring ENOSYS
		zcc uring-zc EPERM
		zcc uring-zc ENOSYS
		zcs uring EPERM
		zcs uring ENOSYS
	END
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
		fails '^zcc: -m uring: io_uring: kernel.io_uring_disabled forbids it: set that sysctl to 0$' \
		    "$zcc" -s 0 -p "$PORT" -m uring small
		fails '^zcs: -m uring: io_uring: kernel.io_uring_disabled forbids it: set that sysctl to 0$' \
		    "$zcs" -p 0 -m uring
	); ok
else
	skip 'kernel.io_uring_disabled' 'it would disturb other tests: only make check-long, as root'
fi

if can_be_user; then
	start_zcs
	for how in $(uring_senders); do
		it "zcc -m $how with 4 KiB to lock: one line names ulimit -l, exit 1"; ( begin
			fails "^zcc: -m $how: .*io_uring: no memory to lock: raise ulimit -l, or use fewer streams$" \
			    as_lone_user timeout 20 "$ring" lock 4096 "$zcc" -s 0 -p "$PORT" -m "$how" small
		); ok
	done
	stop_zcs
	start_zcs
	it 'zcc -m uring -P 100 with 4 MB to lock, less than its buffers: one line, exit 1'; ( begin
		fails '^zcc: -m uring: .*io_uring: no memory to lock: raise ulimit -l, or use fewer streams$' \
		    as_lone_user timeout 20 "$ring" lock 4000000 "$zcc" -s 0 -p "$PORT" -m uring -P 100 -t 1 small
	); ok
	it 'zcc -m uring -P 100 -b 4k with 4 MB to lock sends'; ( begin
		exits 0 as_lone_user timeout 60 "$ring" lock 4000000 "$zcc" -s 0 -p "$PORT" -m uring -b 4k -P 100 \
		    --congestion reno small
		grep -q "all bytes sent were received" out
	); ok
	stop_zcs
else
	skip 'zcc with little memory to lock' "$not_user"
fi

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
