#!/bin/sh
# Warnings and errors of what the system lacks or limits, each provoked.  unsafe.sh has those that make a load
# unsafe, cyclesoak.sh those of quotas and affinity.
#
# group: soaks
# network: host
# seconds: 5
. "$TOP/tests/lib.sh"

limited=$BIN/zcs idle_cyclesoak=$BIN/cyclesoak
hasten_tools 20000 1000000
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec

# The kernel gives twice what it is asked for, up to twice its limit: half more than the limit looks like enough.
it 'zcc and zcs -i and -o with half more than the kernel gives: a line each, however many streams or clients'; ( begin
	limits=/proc/sys/net/core
	[ -r $limits/rmem_max ] || skip_check 'no limits in /proc/sys/net/core'
	set -- -i $(($(cat $limits/rmem_max) * 3 / 2)) -o $(($(cat $limits/wmem_max) * 3 / 2))
	start_zcs "$@"
	exits 0 "$zcc" -s 0 -p "$PORT" -P 3 "$@" tiny
	stop_zcs
	cat zcs.err
	for tool in zcc:err zcs:zcs.err; do for buffer in "receive $2 r" "send $4 w"; do
		asked=${buffer% *} gave=$(cat $limits/${buffer##* }mem_max) limit=net.core.${buffer##* }mem_max
		line="${tool%:*}: ${asked% *} buffer: asked for ${asked#* } bytes, the kernel gave $gave (see $limit)"
		[ "$(grep -cFx "$line" ${tool#*:})" -eq 1 ]
	done; done
	[ "$(grep -vc 'took less than half a second' err)-$(wc -l <zcs.err)" = 2-3 ]
); ok
# A user has at most one thread: that of the process is there already.
it 'zcs without a thread for a client (RLIMIT_NPROC): it is rejected, with one line'; ( begin; need prlimit
	! sanitized || skip_check 'sanitizers have threads of their own'
	[ "$(id -u)" -eq 0 ] && can_be_user && prlimit --nproc=10000 true || skip_check "${not_user:-no limit}"
	launch zcs.out '*listening*' setpriv --reuid 65534 --regid 65534 --clear-groups prlimit --nproc=1 "$limited" -p 0 -1
	read_port zcs.err
	exits 1 "$zcc" -s 127.0.0.1 -p "$PORT" tiny
	grep -qx "zcc: 127.0.0.1:$PORT: rejected: the server has reached its limit of clients (zcs --max-clients)" err
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
		[ "$(grep -c ', as in iperf3, is -' err)" -eq "$lines" ]
	done <<-END
		2 zcc -s 0 -p 1 -i 1 -b 100m
		1 zcc -s 0 -p 1 --request 10 -i 1023
		0 zcc -s 0 -p 1 -i 1k -b 95m
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

# --idle
it '--idle=clock: BPF programs count, and JSON and -d say so; or an error says what they need, as it does to a user'; ( begin; need jq
	none='cyclesoak: --idle=clock: \(bpf(2)\|/sys/kernel/btf/vmlinux\|it works on 64-bit\)'
	if "$cyclesoak" --idle=clock -d --json -n 2 -p 0.2 >out 2>err; then
		grep -x 'cyclesoak: idle time is counted by BPF programs' err
		jq -es '.[:2] | all(.[]; .idle_source == "clock" and .load_percent > 0)' out
	else
		grep "^$none" err
	fi
	user=
	[ "$(id -u)" -ne 0 ] || user='setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all'
	[ "$(id -u)" -ne 0 ] || need setpriv
	fails "--idle=clock: \(.*'setcap cap_bpf,cap_perfmon+ep /.*/cyclesoak'\|/sys\|it works\)" $user "$cyclesoak" --idle=clock -n 1
); ok
it 'root without capabilities, as in a container, is not told to become root: --idle=clock, --profile, soaking'; ( begin
	[ "$(id -u)" -eq 0 ] && setpriv --inh-caps=-all --bounding-set=-all true || skip_check 'not root, or no setpriv'
	for options in '--idle=clock' --profile; do
		BUSY_TURNS=0
		soaking setpriv --inh-caps=-all --bounding-set=-all "$cyclesoak" $options --json true || :
		[ $options != --profile ] || grep '"no_profile":"permission"' out
		grep 'bpf(2): forbidden by\|: the kernel needs\|it works on\|perf_event_paranoid' err
		not grep '\broot\b' err
	done
); ok
it 'zcc --idle where /proc/stat is empty: the load is not measured, and the reason: on stderr and in JSON'; ( begin; need jq
	unshare -m true 2>/dev/null || skip_check 'no privilege for namespaces'
	: >empty
	start_zcs
	exits 0 unshare -m sh -c "mount --bind empty /proc/stat && exec $zcc --json --idle -s 0 -p $PORT tiny"
	grep -q ': the load is not measured: --idle: /proc/stat cannot be read, or does not count CPU 0 ' err
	jq -e '.end.host | .no_load == "uncounted" and (.no_load_text | test(": try -c ")) and (has("unsafe") | not)' out
	exits 1 unshare -m sh -c "mount --bind empty /proc/stat && exec $zcc --idle --wait-idle 9 -s 0 -p 9"
	grep '^zcc: nothing was sent: --wait-idle: /proc/stat does not count what other programs take: omit it$' err
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
