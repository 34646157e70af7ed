#!/bin/sh
# The environment that reports have: it is that of this host and of the interface, and what a host does
# not show is omitted.  tests/unit has what is read, cyclesoak.sh the environment of cyclesoak.
#
# seconds: 3
. "$TOP/tests/lib.sh"

whole_test_needs jq 'the environment that reports have'

start_zcs --json
it 'zcc --json, and -d on stderr: kernel, version, CPUs and MTU are those of this host'; ( begin
	exits 0 "$zcc" -d --json -s 0 -p "$PORT" tiny
	grep -qx "zcc: environment: kernel_version: $(uname -v)" err
	grep -qx 'zcc: environment: interface: lo' err
	grep -q '^zcc: environment: mtu: [1-9]' err
	grep -q "^zcc: environment: the server has zc .*, kernel $(uname -r)$" err
	cp out zcc.json
	{
		echo "kernel $(uname -r)"
		echo "kernel_version $(uname -v)"
		echo "version $("$zcc" -V | sed 's/zcc/zc/')"
		echo "cpus_online $(getconf _NPROCESSORS_ONLN)"
		sed -n '/^model name/{s/[^:]*: */cpu_model /p;q;}' /proc/cpuinfo
		echo 'interface lo'
		sed 's/^/mtu /' /sys/class/net/lo/mtu || echo 'mtu 65536'
	} 2>/dev/null | sort >want
	jq -r '.start.environment | {kernel, kernel_version, version, cpus_online, cpu_model} +
	    (.link | {interface, mtu}) | to_entries[] | select(.value) | "\(.key) \(.value)"' out |
	    sort | diff want -
	holds out '.start.version == .start.environment.version'
	for option in irq_time_accounting paravirt_time_accounting; do
		zcat /proc/config.gz 2>/dev/null | grep -qx "CONFIG_$(echo $option | tr a-z A-Z)=y" && set=y || set=n
		[ -r /proc/config.gz ] || set='\(y\|n\|unknown\)'
		grep -qx "zcc: environment: $option: $set" err
	done
); ok
it 'zcs --json has the environment that zcc has on this host, and zcc its version and kernel, and what softnet dropped'; ( begin
	wait_until [ -s zcs.out ]
	[ "$(jq -c .start.environment zcs.out)" = "$(jq -c .start.environment zcc.json)" ]
	holds zcc.json '.end.remote.environment == (.end.remote.environment + (.start.environment | {version, kernel, clocksource})) and
	    .end.remote.environment.mtu == .start.environment.link.mtu and
	    (.end.remote.environment | .offloads, .mitigations_hash, .cmdline_hash | length > 0)'
	[ ! -r /proc/net/softnet_stat ] || holds zcc.json '.end.host | .softnet_dropped >= 0 and .softnet_squeezed >= 0'
); ok
# A host that does not show what others do, such as a container, and a /sys of our own, with a line that has no end
in_mounts='unshare -m sh -c'
no_sys='mount -t tmpfs none /sys'
it 'the report has the clock, governor, boost, vulnerabilities and preemption of /sys, and nothing of what /sys and /proc lack'; ( begin
	$in_mounts "$no_sys" || skip_check 'no privilege for mounts'
	! sanitized address || skip_check 'LeakSanitizer needs /proc'
	exits 0 $in_mounts "$no_sys && mount -t tmpfs none /proc && exec \"$zcc\" -d --json -s 0 -p $PORT -n 2 tiny"
	holds out '.start.environment | has("kernel") and (has("cpu_model") or has("clocksource") or has("governor") or
		has("vulnerabilities") or has("cpufreq_boost") | not)'
	holds out '.start.environment.link | .interface == "lo" and .mtu > 0'
	holds out '.end.host | has("softnet_dropped") | not'
	not grep clocksource err
	of=/sys/devices/system
	exits 0 $in_mounts "$no_sys
		put() { mkdir -p \"\${2%/*}\"; echo \"\$1\" >\"\$2\"; }
		put sundial $of/clocksource/clocksource0/current_clocksource
		put powersave $of/cpu/cpu0/cpufreq/scaling_governor
		put 1 $of/cpu/cpufreq/boost
		put 0 $of/cpu/intel_pstate/no_turbo
		put 'Mitigation: a' $of/cpu/vulnerabilities/one
		printf 'Mitigation: no newline' >$of/cpu/vulnerabilities/four
		put 'none voluntary full (lazy)' /sys/kernel/debug/sched/preempt
		put 3 /sys/class/net/lo/queues/tx-0/xps_cpus
		put 3 /sys/class/net/lo/queues/rx-0/rps_cpus
		put 0 /sys/class/net/lo/queues/rx-1/rps_cpus
		exec \"$zcc\" --json -s 0 -p $PORT tiny"
	holds out '.start.environment | .clocksource == "sundial" and .governor == "powersave" and .cpufreq_boost == "1" and .no_turbo == "0" and
		.vulnerabilities == {one: "Mitigation: a"} and .preempt == "none voluntary full (lazy)" and
		.preempt_model == "lazy" and .link.rps == "3/0" and .link.xps == "3" and .link.qdisc != null'
); ok
stop_zcs

it 'across a veth pair: its driver, MTU and offloads; --against names what the receiver had otherwise'; ( begin
	has_lab || skip_check 'needs root, ip(8) and network namespaces'
	hosts -m 1400
	start_zcs --json
	link='.start.environment.link | .driver == "veth" and .mtu == 1400 and (.offloads | index("tso") != null)'
	exits 0 $B "$zcc" --json -s "$A4" -p "$PORT" tiny
	holds out "$link and .interface == \"$LINK\""
	wait_until [ -s zcs.out ]
	holds zcs.out "$link"
	$B "$zcc" -q -s "$A4" -p "$PORT" -r 1 --save saved.tsv tiny
	$A ip link set "$LINK" mtu 1300
	exits 0 $B "$zcc" -s "$A4" -p "$PORT" -r 1 --against saved.tsv tiny
	grep -x 'remote_mtu differs: 1400 before, 1300 now' out
	[ "$(grep -c differs out)" -eq 1 ]
); ok
finish
