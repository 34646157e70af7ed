#!/bin/sh
# Warnings and errors of what the system lacks or limits, each provoked.  unsafe.sh has those that make a load
# unsafe, cyclesoak.sh those of quotas and affinity.
#
# group: soaks
# network: host
# seconds: 4
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc zcs=$BIN/zcs cyclesoak=$BIN/cyclesoak run_rr=$BIN/run_rr
printf x >tiny
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec

if [ -r /proc/sys/net/core/rmem_max ]; then
	it 'zcs -i and -o with more than the kernel gives: a line each, with what it gave, however many clients'; ( begin
		start_zcs -i 1g -o 1g
		for n in 1 2; do
			"$zcc" -s 0 -p "$PORT" tiny >out
		done
		stop_zcs
		cat zcs.err
		# The kernel counts twice what it was asked for; the limit is on what it was asked for.
		r=$(cat /proc/sys/net/core/rmem_max) w=$(cat /proc/sys/net/core/wmem_max)
		grep -qx "zcs: receive buffer: asked for 1073741824 bytes, the kernel gave $r (see net.core.rmem_max)" zcs.err
		grep -qx "zcs: send buffer: asked for 1073741824 bytes, the kernel gave $w (see net.core.wmem_max)" zcs.err
		[ "$(wc -l <zcs.err)" -eq 3 ]
	); ok
else
	skip 'zcs -i and -o with more than the kernel gives' 'no limits in /proc/sys/net/core'
fi

# A user has at most one thread: that of the process is there already.
if sanitized; then
	skip 'zcs without a thread for a client' 'sanitizers have threads of their own'
elif can_be_user && prlimit --nproc=10000 true 2>/dev/null; then
	it 'zcs without a thread for a client (RLIMIT_NPROC): it is rejected, with one line'; ( begin
		: >zcs.err
		untraced as_user sh -c 'echo $$ >limited && exec prlimit --nproc=1 "$0" -p 0 -1' "$zcs" >zcs.out 2>zcs.err &
		started=$!
		remember $started
		wait_until [ -s limited ]
		ZCS=$(cat limited)
		remember "$ZCS"
		wait_until or_gone "$ZCS" grep -q listening zcs.err
		PORT=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' zcs.err)
		exits 1 "$zcc" -s 127.0.0.1 -p "$PORT" tiny
		grep -qx "zcc: 127.0.0.1:$PORT: rejected: the server has reached its limit of clients (zcs --max-clients)" err
		kill -TERM "$ZCS"
		got=0; wait $started || got=$?
		cat zcs.err
		[ $got -eq 1 ] # with -1 a client that is not served is a failure
		[ "$(grep -Ecx 'zcs: 127\.0\.0\.1:[0-9]+: rejected: cannot start a thread' zcs.err)" -eq 1 ]
		[ "$(wc -l <zcs.err)" -eq 2 ]
	); ok
else
	skip 'zcs without a thread for a client' "${not_user:-no prlimit}"
fi

if [ "$(id -u)" -eq 0 ] && setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice true 2>/dev/null; then
	it 'run_rr of root without CAP_SYS_NICE: one line that names control groups, exit 125'; ( begin
		exits 125 setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice "$run_rr" true
		one_line err
		grep -q '^run_rr: cannot set SCHED_RR: the control group has .*(cpu.rt_runtime_us), or CAP_SYS_NICE is missing: ' err
		# Without a command, too, nothing is run; its statuses are its own then.
		exits 1 setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice "$run_rr" </dev/null
		one_line err
	); ok
else
	skip 'run_rr of root without CAP_SYS_NICE' 'needs root and setpriv'
fi

half='zcc: the transfer took less than half a second, so that its figures mean little: send more (-n, -t)'
start_zcs
# one_line_of_short options...: it is the only line.  On a busy machine a byte may take half a second.
one_line_of_short()
{
	for attempt in 1 2 3 4 5; do
		"$zcc" -s 0 -p "$PORT" "$@" --congestion reno tiny >out 2>err
		! [ -s err ] || break
	done
	printf '%s\n' "$half" | diff - err
}
undisturbed 'zcc: a transfer of less than half a second draws one line, with and without -c, but not with -q'; while again; do ( begin
	soaking "$zcc" -c -s 0 -p "$PORT" tiny
	[ "$(grep -cxF "$half" err)" -eq 1 ]
	soaking "$zcc" -c -s 0 -p "$PORT" -t 0.55 --congestion reno --pace 20m
	not grep -xF "$half" err
	# The time of the warm-up is not measured.
	soaking "$zcc" -c -s 0 -p "$PORT" --warmup 0.5 -t 0.1 --congestion reno --pace 20m --json
	[ "$(grep -cxF "$half" err)" -eq 1 ]
	one_line_of_short
	one_line_of_short -b 1k,2k
	"$zcc" -q -s 0 -p "$PORT" tiny >out 2>err
	not [ -s err ]
); done
it 'zcc without files, -n and -t: the built-in set for 10 seconds; with one of them no limit of time'; ( begin
	env --default-signal=INT "$zcc" -s 0 -p "$PORT" --json >out 2>err &
	p=$!
	remember $p
	wait_until or_gone $p counts -gt 1 threads_of $p
	kill -INT $p
	ended $p
	grep -q '"duration":10,' out
	"$zcc" -s 0 -p "$PORT" -n 2 >out 2>err
	grep -q '63 files of 350 KiB, built in, in 2 loops' out
	"$zcc" -s 0 -p "$PORT" --json tiny >out 2>err
	grep -q '"duration":0,' out
); ok
stop_zcs
start_zcs --reply
half='zcc: the load was measured over less than half a second: send more (-n, -t)'
it 'zcc -c --request: less than half a second is warned of, for each size'; ( begin
	soaking "$zcc" -c -s 0 -p "$PORT" --request 10,20 -n 2
	[ "$(grep -cxF "$half" err)" -eq 2 ]
); ok
stop_zcs

if ! sanitized && strace -f -o /dev/null -e trace=sched_setaffinity -e inject=sched_setaffinity:error=EPERM true 2>/dev/null; then
	it 'a soaker that cannot be bound to its CPU: one line that names it, exit 1'; ( begin
		status=0
		soaking strace -f -o trace -e trace=sched_setaffinity -e inject=sched_setaffinity:error=EPERM \
		    "$cyclesoak" -p 0.2 -n 1 || status=$?
		[ $status -eq 1 ]
		sed -i '/^strace: /d; /this control group has a CPU quota/d' err
		one_line err
		grep -Eqx 'cyclesoak: cannot soak CPU [0-9]+: Operation not permitted' err
		not [ -s out ]
	); ok
else
	skip 'a soaker that cannot be bound to its CPU' 'no strace, or it may not trace'
fi

long '-C --force on a machine whose load changes all the time: unsteady, and by how much' && ( begin
	(
		while :; do
			"$HELPERS/burn" 0 0.9 90
			"$HELPERS/burn" 0 1.3 20
		done
	) >burnt &
	changing=$!
	remember $changing
	soaking "$cyclesoak" -C --force -N 1 -f unsteady
	kill -KILL $changing
	grep -Eqx 'cyclesoak: the machine is unsteady: the last rounds differ by [0-9]+\.[0-9] points of load' err
	grep -q 'the machine is not idle: other programs took' err
	[ -s unsteady ]
); ok

finish
