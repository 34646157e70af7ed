#!/bin/sh
# The environment that reports have: it is that of this host and of the interface, and what a host does
# not show is omitted.
#
# seconds: 6
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc
printf x >tiny

# holds FILE 'expression': it is true of each object in the file
holds()
{
	jq -es "length > 0 and all(.[]; $2)" "$1" >/dev/null || {
		echo "does not hold: $2"
		jq -c . "$1"
		return 1
	}
}

start_zcs --json
it 'zcc --json: the kernel, the version and the number of CPUs are those of this host'; ( begin; need jq
	exits 0 "$zcc" --json -s 0 -p "$PORT" tiny
	cp out zcc.json
	holds zcc.json ".start.environment | .kernel == \"$(uname -r)\" and .version == \"$("$zcc" -V | sed 's/zcc/zc/')\""
	holds zcc.json ".start.environment.cpus_online == $(getconf _NPROCESSORS_ONLN)"
	holds zcc.json ".start.version == .start.environment.version"
); ok
# same_line FILE KEY: the report has what the file has, or neither has anything
same_line()
{
	jq -r ".start.environment.$2 // empty" zcc.json >key
	cat "$1" 2>/dev/null | diff - key
}
it 'zcc --json: clock source, CPU model, governor and vulnerabilities are those of /sys and /proc'; ( begin; need jq
	cpu=/sys/devices/system/cpu
	same_line /sys/devices/system/clocksource/clocksource0/current_clocksource clocksource
	model=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
	[ "$(jq -r '.start.environment.cpu_model // ""' zcc.json)" = "$model" ]
	same_line $cpu/cpu0/cpufreq/scaling_governor governor
	[ "$(jq -r .start.environment.kernel_version zcc.json)" = "$(uname -v)" ]
	for file in $cpu/vulnerabilities/*; do
		line=$(cat "$file" 2>/dev/null) && echo "${file##*/} $line"
	done | sort >want
	jq -r '.start.environment.vulnerabilities // {} | to_entries[] | "\(.key) \(.value)"' zcc.json | sort |
	    diff want -
); ok
it 'zcc --json: the MTU of lo'; ( begin; need jq
	[ -r /sys/class/net/lo/mtu ] || skip_check 'no /sys/class/net here'
	holds zcc.json ".start.environment.link | .interface == \"lo\" and .mtu == $(cat /sys/class/net/lo/mtu)"
); ok
it 'zcs --json: the same environment as zcc on the same host'; ( begin; need jq
	wait_until [ -s zcs.out ]
	[ "$(jq -c .start.environment zcs.out)" = "$(jq -c .start.environment zcc.json)" ]
); ok
it "zcc --json: the server's version and kernel, by its receipt"; ( begin; need jq
	holds zcc.json '.end.remote.environment == (.start.environment | {version, kernel})'
); ok
it 'zcc --json: the packets that softnet dropped and the polls that it cut short, at both ends'; ( begin; need jq
	[ -r /proc/net/softnet_stat ] || skip_check 'no /proc/net/softnet_stat here'
	exits 0 "$zcc" --json -s 0 -p "$PORT" -t 0.3 --congestion reno --pace 20m
	holds out '.end | [.host, .remote] | all(.softnet_dropped >= 0 and .softnet_squeezed >= 0)'
); ok
it 'zcc --json: each object of a comparison has the environment'; ( begin; need jq
	exits 0 "$zcc" --json -s 0 -p "$PORT" -r 1 -m send,write tiny
	[ "$(wc -l <out)" -eq 3 ]
	holds out "(.start // .comparison).environment.kernel == \"$(uname -r)\""
); ok
it 'zcc -d: the environment and the server on stderr, and without -d none'; ( begin
	exits 0 "$zcc" -d -s 0 -p "$PORT" tiny
	grep -qx "zcc: environment: kernel_version: $(uname -v)" err
	grep -q '^zcc: environment: cpus_online: [1-9]' err
	grep -q '^zcc: environment: interface lo: .*MTU [1-9]' err
	grep -q "^zcc: environment: the server has zc .*, kernel $(uname -r)$" err
	exits 0 "$zcc" -s 0 -p "$PORT" tiny
	not grep environment out err
); ok
stop_zcs

# The receipt of another version.
start_peer -r 'bytes=1 seconds=1\n'
it 'a receipt of 0.1 has no environment of the server, and one of a newer version has'; ( begin; need jq
	exits 0 "$zcc" -d --json -s 0 -p "$PORT" tiny
	holds out '.end.remote | has("environment") or has("softnet_dropped") | not'
	not grep 'the server has' err
	start_peer -r 'bytes=1 seconds=1 version=9.1 kernel=9.9.9-new+1_~x\n'
	exits 0 "$zcc" --json -s 0 -p "$PORT" tiny
	holds out '.end.remote.environment == {version: "zc 9.1", kernel: "9.9.9-new+1_~x"}'
); ok
# zcs --reply and cyclesoak print many objects, of which the first has the environment.
start_zcs --json --reply -I 0.05
it 'zcs --reply --json: the first object has the environment, the others have not'; ( begin; need jq
	exits 0 "$zcc" --json -s 0 -p "$PORT" --request 10 -t 0.3
	holds out ".start.environment.kernel == \"$(uname -r)\" and .start.environment.link.interface == \"lo\""
	kill -TERM "$ZCS"
	ended "$ZCS"
	[ "$(wc -l <zcs.out)" -ge 2 ]
	jq -es '(.[0] | has("start")) and ([.[1:][] | has("start")] | any | not)' zcs.out
	head -n 1 zcs.out >first
	holds first ".start.environment.kernel == \"$(uname -r)\""
); ok
it 'cyclesoak --json: the first object has the environment, the others have not'; ( begin; need jq
	made_up_calibration >made_up
	soaking "$BIN/cyclesoak" --json -f made_up -n 3 -p 0.05
	jq -es 'length == 4 and (.[0].start.environment.kernel | length > 0) and
		([.[1:][] | has("start")] | any | not)' out
); ok

# A host that does not show what others do, such as a container.
if unshare -m sh -c 'mount -t tmpfs none /sys' 2>/dev/null; then
	start_zcs --json
	it 'without /sys: the report lacks what it would have from there, and nothing fails'; ( begin; need jq
		exits 0 unshare -m sh -c "mount -t tmpfs none /sys && exec \"$zcc\" -d --json -s 0 -p $PORT tiny"
		holds out '.start.environment | has("kernel") and (has("clocksource") or has("governor") or
			has("vulnerabilities") or has("cpufreq_boost") | not)'
		holds out '.start.environment.link | .interface == "lo" and .mtu > 0'
		not grep clocksource err
	); ok
	it 'without /sys and /proc: the report lacks what it would have from there'; ( begin; need jq
		exits 0 unshare -m sh -c "mount -t tmpfs none /sys && mount -t tmpfs none /proc &&
			exec \"$zcc\" -d --json -s 0 -p $PORT -n 2 tiny"
		holds out '.start.environment | has("kernel") and (has("cpu_model") | not)'
		holds out '.end.host | has("softnet_dropped") | not'
	); ok
	# A /sys of our own, with a line that has no end.
	cat >fake.sh <<'END'
		mount -t tmpfs none /sys
		cpu=/sys/devices/system/cpu
		mkdir -p $cpu/cpu0/cpufreq $cpu/cpufreq $cpu/intel_pstate $cpu/vulnerabilities /sys/kernel/debug/sched
		echo powersave >$cpu/cpu0/cpufreq/scaling_governor
		echo 1 >$cpu/cpufreq/boost
		echo 0 >$cpu/intel_pstate/no_turbo
		echo 'Mitigation: a' >$cpu/vulnerabilities/one
		echo 'Not affected' >$cpu/vulnerabilities/three
		printf 'Mitigation: no newline' >$cpu/vulnerabilities/four
		echo 'none voluntary full (lazy)' >/sys/kernel/debug/sched/preempt
		exec "$@"
END
	it 'governor, boost, vulnerabilities and preemption are the lines of /sys'; ( begin; need jq
		exits 0 unshare -m sh fake.sh "$zcc" --json -s 0 -p "$PORT" tiny
		holds out '.start.environment | .governor == "powersave" and .cpufreq_boost == "1" and .no_turbo == "0" and
			.vulnerabilities == {one: "Mitigation: a", three: "Not affected"} and
			.preempt == "none voluntary full (lazy)"'
	); ok
	stop_zcs
else
	skip 'a host without /sys' 'no privilege for mounts'
fi

# An interface that is not lo.
if "$TOP/tests/lab" true 2>/dev/null; then
	cat >veth.sh <<'END'
		$A "$BIN/zcs" -p 0 --json >zcs.out 2>zcs.err &
		zcs=$!
		for i in $(seq 200); do
			port=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' zcs.err)
			[ -z "$port" ] || break
			sleep 0.05
		done
		! command -v ethtool >/dev/null || $B ethtool -K "$LINK" tso off gso off
		$B "$BIN/zcc" --json -s "$A4" -p "$port" tiny >veth.out
		! command -v ethtool >/dev/null || $B ethtool -k "$LINK" >features
		$B cat /sys/class/net/"$LINK"/mtu >mtu
		echo "$LINK" >name
		kill $zcs
		wait $zcs
END
	: >zcs.err
	it 'across a veth pair: its driver, MTU and offloads'; ( begin; need jq
		"$TOP/tests/lab" -m 1400 sh veth.sh
		holds veth.out ".start.environment.link | .interface == \"$(cat name)\" and .driver == \"veth\" and
			.mtu == 1400 and .mtu == $(cat mtu)"
		holds zcs.out '.start.environment.link | .driver == "veth" and .mtu == 1400'
		[ -s features ] || exit 0
		for pair in tcp-segmentation-offload:tso generic-segmentation-offload:gso \
		    generic-receive-offload:gro large-receive-offload:lro; do
			grep "^${pair%:*}: on" features >/dev/null && on=true || on=false
			holds veth.out ".start.environment.link.offloads | (index(\"${pair#*:}\") != null) == $on"
		done
	); ok
else
	skip 'across a veth pair: its driver, MTU and offloads' 'needs root, ip(8) and network namespaces'
fi

finish
