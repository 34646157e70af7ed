#!/bin/sh
# Warnings and errors of what the system lacks or limits, each provoked.  unsafe.sh has those that make a load
# unsafe, cyclesoak.sh those of quotas and affinity.
#
# group: soaks
# network: host
# seconds: 5
. "$TOP/tests/lib.sh"

limited=$BIN/zcs run_rr=$BIN/run_rr
hasten_tools
zcc=$BIN/zcc cyclesoak=$BIN/cyclesoak
printf x >tiny
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec

it 'zcs -i and -o with more than the kernel gives: a line each, with what it gave, however many clients'; ( begin
	[ -r /proc/sys/net/core/rmem_max ] || skip_check 'no limits in /proc/sys/net/core'
	start_zcs -i 1g -o 1g
	"$zcc" -s 0 -p "$PORT" tiny >out
	"$zcc" -s 0 -p "$PORT" tiny >out
	stop_zcs
	cat zcs.err
	# The kernel counts twice what it was asked for; the limit is on what it was asked for.
	for buffer in 'receive r' 'send w'; do
		gave=$(cat /proc/sys/net/core/${buffer#* }mem_max) limit=net.core.${buffer#* }mem_max
		grep -qx "zcs: ${buffer% *} buffer: asked for 1073741824 bytes, the kernel gave $gave (see $limit)" zcs.err
	done
	[ "$(wc -l <zcs.err)" -eq 3 ]
); ok
# A user has at most one thread: that of the process is there already.
it 'zcs without a thread for a client (RLIMIT_NPROC): it is rejected, with one line'; ( begin; need prlimit
	! sanitized || skip_check 'sanitizers have threads of their own'
	[ "$(id -u)" -eq 0 ] && can_be_user && prlimit --nproc=10000 true || skip_check "${not_user:-no limit}"
	launch zcs.out listening setpriv --reuid 65534 --regid 65534 --clear-groups prlimit --nproc=1 "$limited" -p 0 -1
	read_port zcs.err
	exits 1 "$zcc" -s 127.0.0.1 -p "$PORT" tiny
	grep -qx "zcc: 127.0.0.1:$PORT: rejected: the server has reached its limit of clients, or three quarters of it for this host (zcs --max-clients)" err
	kill -TERM $launched
	got=0; wait $launched || got=$?
	cat zcs.err
	[ $got -eq 1 ] # with -1 a client that is not served is a failure
	[ "$(grep -Ecx 'zcs: 127\.0\.0\.1:[0-9]+: rejected: cannot start a thread' zcs.err)" -eq 1 ]
	[ "$(wc -l <zcs.err)" -eq 2 ]
); ok
it 'letters that mean something else to users of iperf3: a line each, for values that are no such thing'; ( begin
	while read -r lines tool options; do
		not timeout 10 "$BIN/$tool" $options 2>err
		[ "$(grep -c ', as of iperf3, is -' err)" -eq "$lines" ]
	done <<-END
		2 zcc -s 0 -p 1 -i 1 -b 100m
		1 zcc -s 0 -p 1 --request 10 -i 1023
		0 zcc -s 0 -p 1 -i 1k -b 95m
		0 zcc -s 0 -p 1 -b 64k,100m
		1 zcs -i 10 --bind 192.0.2.7
		0 zcs -i 1k --bind 192.0.2.7
	END
); ok
it 'run_rr of root without CAP_SYS_NICE: one line that names control groups, exit 125, or 1 without a command'; ( begin
	without='setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice'
	[ "$(id -u)" -eq 0 ] && $without true || skip_check 'needs root and setpriv'
	exits 125 $without "$run_rr" true
	one_line err
	grep -q '^run_rr: cannot set SCHED_RR: the control group has .*(cpu.rt_runtime_us), or CAP_SYS_NICE is missing: ' err
	exits 1 $without "$run_rr" </dev/null
	one_line err
); ok

short='the transfer took less than half a second, so that its figures mean little: send more (-n, -t)'
start_zcs
undisturbed 'zcc: less than half a second draws one line, with and without -c, for each size of --request, but not with -q'
while again; do ( begin
	to_zcs="-s 0 -p $PORT --congestion reno"
	# The time of the warm-up is not measured.
	while read -r lines options; do
		soaking "$zcc" $to_zcs $options
		[ "$(grep -cxF "zcc: $short" err)" -eq "$lines" ]
	done <<-END
		1 -c tiny
		0 -c -t 0.55 --pace 20m
		1 -c --warmup 0.3 -t 0.1 --pace 20m --json
		1 tiny
		1 -b 1k,2k tiny
		0 -q tiny
	END
	start_zcs --reply
	soaking "$zcc" -c -s 0 -p "$PORT" --request 10,20 -n 2
	[ "$(grep -cxF 'zcc: the load was measured over less than half a second: send more (-n, -t)' err)" -eq 2 ]
	stop_zcs
); done
stop_zcs
finish
