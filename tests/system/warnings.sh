#!/bin/sh
# Warnings and errors of what the system lacks or limits, each provoked.  unsafe.sh has those that make a load
# unsafe, cyclesoak.sh those of quotas and affinity.
#
# group: soaks
# network: host
# seconds: 5
. "$TOP/tests/lib.sh"

hasten_tools 20000 1000000
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec

# The kernel gives twice what it is asked for, up to twice its limit: half more than the limit looks like enough.
it 'zcc and zcs -i and -o with half more than the kernel gives: a line each, however many streams or clients'; ( begin
	limits=/proc/sys/net/core
	[ -r $limits/rmem_max ] || skip_check 'no limits in /proc/sys/net/core'
	receive=$(cat $limits/rmem_max) send=$(cat $limits/wmem_max)
	set -- -i $((receive * 3 / 2)) -o $((send * 3 / 2))
	start_zcs "$@"
	exits 0 "$zcc" -s 0 -p "$PORT" -P 3 "$@" tiny
	stop_zcs
	for tool in zcc zcs; do
		echo "$tool: receive buffer: asked for $2 bytes, the kernel gave $receive (see net.core.rmem_max)"
		echo "$tool: send buffer: asked for $4 bytes, the kernel gave $send (see net.core.wmem_max)"
	done >want
	sort err zcs.err | grep ' buffer: ' | diff want -
); ok
it 'letters that mean something else to users of iperf3: a line each, for values that are no such thing'; ( begin
	while read -r lines tool options; do
		not timeout 10 "$BIN/$tool" $options 2>err
		[ "$(grep -c ', as in iperf3, is -' err)" -eq "$lines" ]
	done <<-END
		2 zcc -s 0 -p 1 -i 1023 -b 100m
		0 zcc -s 0 -p 1 -i 1k -b 95m
		1 zcs -i 10 --bind 192.0.2.7
	END
); ok
it 'run_rr of root without CAP_SYS_NICE: one line that names control groups, and exit 125'; ( begin
	without='setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice'
	[ "$(id -u)" -eq 0 ] && $without true || skip_check 'needs root and setpriv'
	fails_with 125 '^run_rr: cannot set SCHED_RR: the control group has .*(cpu.rt_runtime_us), or CAP_SYS_NICE is missing: ' \
	    $without "$run_rr" true
); ok
check_usage "--idle: 'kernel' is not 'clock'" zcs --idle=kernel
check_usage '-c, --cpu-load and --idle cannot be used together' zcs -c --idle

short='the transfer took less than half a second, so that its figures mean little: send more (-n, -t)'
start_zcs
undisturbed 'zcc: less than half a second draws one line, and one for each size of --request, but not with -q'
while again; do ( begin
	to_zcs="-s 0 -p $PORT --congestion reno"
	# The time of the warm-up is not measured.
	while read -r lines options; do
		soaking "$zcc" $to_zcs $options
		[ "$(grep -cxF "zcc: $short" err)" -eq "$lines" ]
	done <<-END
		0 -t 0.55 --pace 20m
		1 -c --warmup 0.3 -t 0.1 --pace 20m --json
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
