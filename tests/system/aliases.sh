#!/bin/sh
# Options in combinations and spellings that no other test has: zcc --request with the options of a
# connection, what -d adds, -V, and every long name beside its letter.
#
# seconds: 6
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc zcs=$BIN/zcs
head -c 3000 /dev/zero >file
printf x >tiny

#
# zcc --request.
#
start_zcs --reply
it 'zcc --request with -B -i -o --mss --nodelay --pace: each connection has them before it connects'; ( begin; need strace
	exits 0 strace -f -o trace -e trace=setsockopt,connect,sched_setaffinity "$zcc" -s 0 -p "$PORT" --request 10 \
	    -n 3 -B 0 -i 100000 -o 200000 --mss 1000 --nodelay --pace 10m --congestion reno
	# What each connection has before it connects, in this order or another.
	sed -n "s/.*\(SO_RCVBUF, .100000.\|SO_SNDBUF, .200000.\|TCP_MAXSEG, .1000.\|TCP_NODELAY, .1.\|SO_MAX_PACING_RATE\|TCP_CONGESTION\).*/\1/p
	    s/.*connect(.*htons($PORT).*/connect/p" trace >order
	cat trace order
	[ "$(grep -c connect order)" -eq 3 ]
	[ "$(wc -l <order)" -eq 21 ]
	for n in 1 2 3; do
		[ "$(sed -n "$((7 * n - 6)),$((7 * n))p" order | sort -u | wc -l)" -eq 7 ]
		[ "$(sed -n "$((7 * n))p" order)" = connect ]
	done
	grep -Eq 'sched_setaffinity\(0, [0-9]+, \[0( \.\.\.)?\]\)' trace
); ok
it 'zcc --request without them: none is set'; ( begin; need strace
	exits 0 strace -f -o trace -e trace=setsockopt,connect,sched_setaffinity "$zcc" -s 0 -p "$PORT" --request 10 -n 2
	cat trace
	grep -q "htons($PORT)" trace
	not grep 'RCVBUF\|SNDBUF\|MAXSEG\|NODELAY\|PACING\|CONGESTION\|setaffinity' trace
); ok
stop_zcs

# What is bound is seen while a server keeps the requests waiting.
it 'zcc --request -B: the requests run on that CPU, and two threads on one CPU each'; ( begin
	for cpus in 0 0,1; do
		[ $cpus = 0 ] || [ "$(cpus_of $$)" = "$(cat /sys/devices/system/cpu/online)" ] &&
		    [ "$(getconf _NPROCESSORS_ONLN)" -ge 2 ] || break
		"$HELPERS/net" reply -q >server.out &
		remember $!
		wait_until grep -q ^port server.out
		"$zcc" -s 127.0.0.1 -p "$(sed -n 's/^port //p' server.out)" --request 10 -P $((1 + ${cpus#*,})) -B $cpus -t 60 >out 2>err &
		sender=$!
		remember $sender
		met()
		{
			[ "$(cpus_of "$sender" | tail -n +2 | paste -s -d ,)" = "$cpus" ]
		}
		wait_until met
		kill -TERM $sender
		ended $sender
	done
); ok
it 'zcc --request -4: by IPv4 alone, -6: by IPv6 alone'; ( begin
	[ -e /proc/net/if_inet6 ] || skip_check 'no IPv6 here'
	for pair in '-4 -6' '-6 -4'; do
		start_zcs --reply "${pair% *}"
		exits 0 "$zcc" -s 0 "${pair% *}" -p "$PORT" --request 10 -n 2
		not grep failed out
		exits 1 "$zcc" -s 0 "${pair#* }" -p "$PORT" --request 10 -n 2
		grep -qx '  failed: 2 refused' out
		stop_zcs
	done
); ok

#
# -d and -V.
#
zcc_debugs()
{
	exits 0 "$zcc" -s 0 -p "$PORT" "$@" -n 2 -P 2 file tiny
	grep -c '^zcc: environment: ' err
	grep -v 'took less than half a second\|^zcc: environment: ' err >debug.err
	mv debug.err err
}
start_zcs --debug
it 'zcc -d and --debug: the environment and a line that has the address and the interface, and no other'; ( begin
	for how in -d --debug; do
		zcc_debugs $how
		echo "zcc: connected to 127.0.0.1:$PORT via lo" | diff - err
	done
); ok
it 'zcc -dd: a line for each file that a stream has sent, besides'; ( begin
	for how in -dd "--debug --debug" "-d -d -d"; do
		zcc_debugs $how
		sort err >lines
		{
			echo "zcc: connected to 127.0.0.1:$PORT via lo"
			for n in 1 2 3 4; do echo "zcc: file: 3000 bytes"; done
			for n in 1 2 3 4; do echo "zcc: tiny: 1 bytes"; done
		} | diff - lines
	done
); ok
it 'zcs --debug: a line for each client that connects, and without it none'; ( begin
	cat zcs.err
	[ "$(grep -Ecx "zcs: 127\.0\.0\.1:[0-9]+: connected" zcs.err)" -eq 10 ]
	[ "$(wc -l <zcs.err)" -eq 11 ]
	start_zcs
	"$zcc" -s 0 -p "$PORT" tiny >out
	stop_zcs
	one_line zcs.err
); ok
stop_zcs
it '-V and --version: the name and the version in the Makefile, exit 0'; ( begin
	version=$(sed -n 's/^VERSION *= *//p' "$TOP/Makefile")
	for tool in zcc zcs cyclesoak run_rr; do
		for how in -V --version; do
			exits 0 "$BIN/$tool" $how
			not [ -s err ]
			echo "$tool $version" | diff - out
		done
	done
); ok

#
# Long names.
#

# with_arguments TOOL: `-x --long` of each option that has both and takes an argument
with_arguments()
{
	"$BIN/$1" --help | sed -n 's/^  \(-[A-Za-z0-9]\),\( -[a-z],\)* \(--[a-z-]*\)=[A-Z].*/\1 \3/p' |
	    while read -r letter long; do
		# An option that takes none does not lack it.
		! "$BIN/$1" "$letter" 2>&1 | grep -q 'requires an argument' || echo "$letter $long"
	done
}
it 'each long name with a bad argument has the error of its letter'; ( begin
	for tool in zcc zcs cyclesoak run_rr; do
		with_arguments $tool | grep -vwe --server -e --file -e --calibration -e --title >options # which take any text
		cat options
		[ -s options ]
		while read -r letter long; do
			exits 2 "$BIN/$tool" "$letter" 'x y'
			one_line err
			grep -q -e "$long" err
			mv err wanted
			for how in "$long=x y" "$letter""x y"; do
				exits 2 "$BIN/$tool" "$how"
				diff wanted err
			done
		done <options
	done
); ok
# same STATUS TOOL 'short' 'long' [argument...]: both end so, with the same on stdout and on stderr
same()
{
	status=$1 tool=$2 short=$3 long=$4
	shift 4
	exits "$status" "$BIN/$tool" $short "$@"
	cat out err >wanted
	[ -s wanted ]
	exits "$status" "$BIN/$tool" $long "$@"
	cat out err | diff wanted -
}
it 'flags: each long name does what its letter does'; ( begin
	mkdir -p nowhere
	cd nowhere || return
	same 1 zcc '-c -f missing' '--cpu-load --calibration=missing' -s 0 -p 1
	same 1 zcs '-c -f missing' '--cpu-load --calibration=missing' -p 0
	same 2 zcc -C --calibrate ../file
	same 2 cyclesoak -C --calibrate --json
	same 1 cyclesoak '-1 -f missing' '--once --file=missing'
	same 1 cyclesoak '-B -d' '--per-cpu --debug'
	for tool in zcc zcs cyclesoak run_rr; do
		same 0 $tool -h --help
	done
	start_zcs --once
	exits 0 "$zcc" --server=0 --port="$PORT" --quiet --loops=2 --cork ../tiny
	one_line out
	not [ -s err ]
	grep -Eqx '[0-9]+ kbytes/sec \([0-9.]+ Gbit/s\)' out
	wait "$ZCS"
	one_line zcs.out
); ok
finish
