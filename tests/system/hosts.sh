#!/bin/sh
# zc-hosts on eight hosts, which are network namespaces on a bridge, one of them unplugged in between.
#
# seconds: 23
. "$TOP/tests/lib.sh"

zc_hosts=$TOP/lib/hosts/zc-hosts
if ! command -v python3 >/dev/null 2>&1; then
	skip 'zc-hosts' 'no python3'
	finish
fi

# file 'line'...: what zc-hosts reads, with hosts that are nowhere
file()
{
	printf '%s\n' 'hosts a b' "$@" >file
}
# is_rejected 'regex' 'line'...: a FILE with these lines is a usage error, named in one line.
is_rejected()
{
	regex=$1
	shift
	file "$@"
	exits 2 timeout 20 "$zc_hosts" file
	one_line err
	not [ -s out ]
	grep -q "^zc-hosts: .*$regex" err
}
it 'zc-hosts: what is wrong in FILE is named with its line'; ( begin
	exits 2 "$zc_hosts"
	one_line err
	exits 0 "$zc_hosts" --version
	grep -q '^zc-hosts ' out
	exits 0 "$zc_hosts" --help
	is_text out
	not grep -n '.\{80\}' out
	exits 2 "$zc_hosts" -x file
	grep -q "unknown option '-x'" err
	exits 2 "$zc_hosts" no-file
	grep -q '^zc-hosts: no-file: No such file' err
	is_rejected "file:2: unknown keyword 'colour'" 'colour red'
	is_rejected "'pattern' must be one of incast, pairs, all-to-all" 'pattern star'
	is_rejected "needs an even number of hosts, not 3" 'hosts c' 'pattern pairs'
	is_rejected "host 'b' is given twice" 'hosts b' 'pattern pairs'
	is_rejected 'as many addresses as names' 'hosts n[1-3]=10.0.0.[1-2]' 'pattern pairs'
	is_rejected "zcc: '-c': zc-hosts sets" 'pattern pairs' 'zcc -c'
	is_rejected "zcs: '--once': zc-hosts sets" 'pattern pairs' 'zcs --once'
	is_rejected "zcc: '--port.*': zc-hosts sets" 'pattern pairs' 'zcc --port=1'
	is_rejected 'zcc: .*only letters' 'pattern pairs' "zcc 'x;reboot'"
	is_rejected "load: 'z' is none of the hosts" 'pattern pairs' 'load a z'
	is_rejected 'not a number from 1 to 65535' 'pattern pairs' 'port 65536'
	is_rejected "'instrument' must be one of soak, idle" 'pattern pairs' 'instrument both'
	is_rejected "engine: 'rexec' is neither pdsh nor parallel" 'pattern pairs' 'engine rexec a'
); ok
it 'zc-hosts: the options of --help are those of the page'; ( begin
	"$zc_hosts" --help | sed -n 's/^  \(-.*\)/\1/p' | sed 's/  .*//' | sort >help
	[ -s help ]
	sed -n 's/^\.It Fl/Fl/p' "$TOP/man/zc-hosts.1" | sed 's/ ,/,/; s/Fl Fl /--/; s/Fl /-/' | sort | diff help -
); ok
it 'zc-hosts: without pdsh and parallel it reports that it lacks them'; ( begin
	mkdir -p none
	python=$(python3 -c 'import sys; print(sys.executable)')
	file 'pattern pairs'
	exits 2 env PATH="$PWD/none" "$python" "$zc_hosts" file
	grep -qx 'zc-hosts: neither pdsh nor GNU parallel is installed: install one of them' err
); ok

# Two hosts that answer with what no zcc prints: an engine that runs this instead of the script.
cat >odd <<'EOF'
printf 'zc-hosts: started\n%s\nzc-hosts: status %s\n' "$ANSWER" "$STATUS"
printf 'zcs: listening on x\nzcc: \033[31mred\n' >&2
EOF
it 'zc-hosts: hosts that print odd objects and escape sequences fail, no more'; ( begin; need pdsh
	export ANSWER STATUS
	for ANSWER in '[1]' '{"end":{"sum_sent":5}}' '{"end":{"sum_sent":{"bytes":"5"}}}' '{"end":{"host":{"unsafe":[1]}}}' \
	    "{\"end\":{\"sum_received\":{\"seconds\":1,\"bytes\":1$(printf '%0400d' 0)}}}" "$(printf '[%.0s' $(seq 2000))" status; do
		STATUS=0
		[ "$ANSWER" != status ] || STATUS=x
		file 'pattern pairs' "engine pdsh -R exec sh $PWD/odd %h"
		exits 1 timeout 60 "$zc_hosts" file
		grep -q '^zc-hosts: a to b failed: .*?\[31mred$' err
		not grep Traceback err
		is_text err
		is_text out
	done
); ok
it 'zc-hosts: SIGINT while it waits for FILE ends it without a traceback'; ( begin
	mkfifo fifo
	env --default-signal=INT "$zc_hosts" fifo >out 2>err &
	held=$!
	remember $held
	exec 8>fifo # which waits until it is open at the other end
	kill -INT $held
	ended $held
	cat err
	not [ -s err ]
); ok

# The hosts are NET-1 to NET-8, 192.0.2.1 to 192.0.2.8; the bridge is in NET-0.  What a test that was
# killed (SIGKILL) left behind, the next one removes.
NET=zch$$
remove_hosts()
{
	for host in $(ip netns list 2>/dev/null | sed -n "s/^\($1-[0-8]\)\( .*\)*$/\1/p"); do
		for p in $(ip netns pids "$host"); do
			kill -KILL "$p" 2>/dev/null
		done
		ip netns del "$host"
	done
}
make_hosts()
{
	for old in $(ip netns list | sed -n 's/^zch\([0-9][0-9]*\)-0\( .*\)*$/\1/p'); do
		[ -d "/proc/$old" ] || remove_hosts "zch$old"
	done
	ip netns add "$NET-0" && ip -n "$NET-0" link add br0 type bridge && ip -n "$NET-0" link set br0 up || return
	for i in 1 2 3 4 5 6 7 8; do
		ip netns add "$NET-$i" &&
			ip -n "$NET-$i" link add nh0 type veth peer name "port$i" netns "$NET-0" &&
			ip -n "$NET-0" link set "port$i" master br0 up &&
			ip -n "$NET-$i" addr add "192.0.2.$i/24" dev nh0 &&
			ip -n "$NET-$i" link set nh0 up || return
	done
}
trap 'cleanup; remove_hosts "$NET"' EXIT
if ! command -v pdsh >/dev/null 2>&1 || ! make_hosts 2>/dev/null; then
	skip 'zc-hosts: incast, pairs, all-to-all' 'needs pdsh, root, ip(8) and network namespaces'
	finish
fi
own_tmpdir

# hosts N 'line'...: FILE with that many of the hosts
hosts()
{
	printf '%s\n' "hosts $NET-[1-$1]=192.0.2.[1-$1]" "bin $BIN" \
	    'zcc --congestion reno --pace 5m --timeout 5' >file
	shift
	printf '%s\n' "$@" >>file
}
by_pdsh='engine pdsh -R exec ip netns exec %h'
# nothing_runs: on no host, and no directory is left
nothing_runs()
{
	for i in 1 2 3 4 5 6 7 8; do
		[ -z "$(ip netns pids "$NET-$i")" ] || return 1
	done
	[ -z "$(ls tmp)" ]
}
# row HOST ROLE: its line of the table
row()
{
	grep "^$1  *$2 " out
}
# connections FILTER: how many there are of which it holds
connections()
{
	grep '^{' out | jq -s "map(select($1)) | length"
}

made_up_calibration >counts_per_sec
# While others soak, zcs has no load: for a minute at most it is tried again.
incast()
{
	hosts 8 'pattern incast' "$by_pdsh" 'zcc -t 0.5' "load $NET-1"
	until=$(($(date +%s) + 60 * SLOW))
	while :; do
		status=0
		flock -o -w 60 -E 99 "$SOAK_LOCK" "$zc_hosts" file >out 2>err || status=$?
		[ $status -ne 99 ] || return 1
		grep -q 'no load is measured while .* soaks the CPUs' out || return 0
		[ "$(date +%s)" -lt $until ] || return 1
	done
}
if incast; then
	it 'incast: the receiver has a load, the table has the reason why the senders have none'; ( begin
		cat out err
		[ $status -eq 0 ]
		not [ -s err ]
		row "$NET-1" receives | grep -Eq '[0-9]%\??  *\+?-?[0-9.]+%  *[0-9]+  *[-0-9.]+'
		for i in 2 3 4 5 6 7 8; do
			row "$NET-$i" sends | grep -q " - .*no load: not asked for: 'load $NET-1'$"
		done
		grep -q '^7 connections in 1 round, 0 failed; [1-9][0-9]* bytes$' out
		grep -q "^slowest: $NET-[2-8] to $NET-1, [0-9.]* Gbit/s$" out
		nothing_runs
	); ok
	it 'incast: a JSON line for each connection'; ( begin; need jq
		[ "$(connections 'true')" -eq 7 ]
		[ "$(connections '.round == 1 and .bytes > 0 and .bits_per_second > 0')" -eq 7 ]
		[ "$(connections '.receiver_host.load_percent != null and .receiver_host.clients == 7')" -eq 7 ]
		[ "$(connections '.sender_host.load_percent != null')" -eq 0 ]
		[ "$(connections '.sender_host.no_load == "off" and (.sender_host.no_load_text | test("^not asked for: "))')" -eq 7 ]
		[ "$(connections '.receiver_host | has("no_load")')" -eq 0 ]
	); ok
else
	skip 'incast: the load of the receiver' "others soak the CPUs: $(grep -m 1 'no load is measured' out)"
fi

# What another program has here is the soakers' lock alone, as a file of a mount namespace: nothing is soaked.
cat >held.sh <<'END'
mkdir netns && mount --rbind /run/netns netns && mount -t tmpfs none /run && mkdir /run/netns &&
	mount --rbind netns /run/netns && : >lock && mount --bind lock /dev/zero || exit 99
flock -F /dev/zero sh -c 'echo $$ >holder; exec sleep 60' &
while [ ! -s holder ]; do sleep 0.01; done
"$@"
status=$?
kill "$(cat holder)"
exit $status
END
title='another program soaks on a host: the throughput is measured, and the table has the reason for no load'
if flock -F /dev/null true 2>/dev/null; then
	it "$title"; ( begin; need jq
		hosts 2 'pattern pairs' "$by_pdsh" 'zcc -t 0.1 --wait 0'
		exits 0 unshare -m sh held.sh "$zc_hosts" file
		not [ -s err ]
		row "$NET-1" sends | grep -q ' - .*  no load: zcc: CPUs are being soaked already, by sleep '
		row "$NET-2" receives | grep -q ' - .*  no load: zcs: no load is measured while sleep '
		[ "$(connections '.bytes > 0 and .sender_host.no_load == "held" and .receiver_host.no_load == "held"')" -eq 1 ]
		nothing_runs
	); ok
else
	skip "$title" 'no flock -F'
fi

# A CPU that another program holds leaves no idle time to be measured.
it 'instrument idle: the load is that of --idle, in the table and in JSON'; ( begin; need jq
	hosts 2 'pattern pairs' "$by_pdsh" 'zcc -t 0.5' "load $NET-2" 'instrument idle'
	soaking "$zc_hosts" file
	not [ -s err ]
	! grep 'CPU [0-9]* never sleeps' out || skip_check 'another program holds a CPU'
	grep -q '^host .* unsoaked load ' out
	[ "$(connections '.receiver_host | .instrument == "idle" and .load_percent != null')" -eq 1 ]
	[ "$(connections '.sender_host | has("instrument")')" -eq 0 ]
); ok

has_sent()
{
	[ "$(ip netns exec "$NET-5" cat /sys/class/net/nh0/statistics/tx_bytes)" -gt $((sent + 100000)) ]
}
it 'incast: a sender that is unplugged in the middle is named, the rest goes on'; ( begin
	hosts 8 'pattern incast' "$by_pdsh" 'zcc -t 3 --timeout 2' 'load none'
	sent=$(ip netns exec "$NET-5" cat /sys/class/net/nh0/statistics/tx_bytes)
	"$zc_hosts" file >out 2>err &
	run=$!
	remember $run
	wait_until has_sent
	ip -n "$NET-0" link set port5 down
	status=0; wait $run || status=$?
	ip -n "$NET-0" link set port5 up
	cat out err
	[ $status -eq 1 ]
	one_line err
	grep -q "^zc-hosts: $NET-5 to $NET-1 failed: $NET-5: zcc: " err
	row "$NET-5" sends | grep -q "failed with $NET-1: zcc: "
	row "$NET-1" receives | grep -q "; includes clients that failed$"
	row total receives | grep -q "  includes clients that failed$"
	row total sends | not grep -q "includes"
	for i in 2 3 4 6 7 8; do row "$NET-$i" sends | grep -q "^$NET-$i  *sends  *0\.[0-9]* "; done
	grep -q '^7 connections in 1 round, 1 failed; ' out
	nothing_runs
); ok

it 'incast: a receiver without zcs is named once for all senders'; ( begin
	hosts 5 'pattern incast' "$by_pdsh" 'load none'
	sed -i 's,^bin .*,bin /nowhere,' file
	exits 1 "$zc_hosts" file
	one_line err
	grep -q "^zc-hosts: $NET-2 $NET-3 $NET-4 ... to $NET-1 failed: $NET-1: .*/nowhere/zcs" err
	row "$NET-1" receives | grep -q "  failed with $NET-2 $NET-3 $NET-4 ...: .*/nowhere/zcs"
	nothing_runs
); ok
# One of the senders is not there, so that none of its bytes are in what the receiver got.
it 'incast: what a sender that never started did not send is not in the figures of the receiver'; ( begin
	hosts 3 'pattern incast' "$by_pdsh" 'zcc -t 0.5' 'load none' "hosts $NET-9=192.0.2.9"
	exits 1 "$zc_hosts" file
	one_line err
	row "$NET-9" sends | grep -q "failed with $NET-1: "
	not grep -q 'includes clients that failed' out
	nothing_runs
); ok

it 'all-to-all: each sends to each once, no host twice in a round'; ( begin; need jq
	hosts 4 'pattern all-to-all' "$by_pdsh" 'zcc -n 1' 'load none'
	printf x >tiny
	echo "zcc $PWD/tiny" >>file
	exits 0 "$zc_hosts" --json file
	not grep -v '^{' out
	[ "$(jq -s 'map(.sender + " " + .receiver) | unique | length' out)" -eq 12 ]
	[ "$(jq -s 'group_by(.round) | map([.[] | .sender, .receiver] | length == (unique | length)) | all' out)" = true ]
	[ "$(jq -s 'map(.round) | max' out)" -eq 6 ]
	nothing_runs
); ok
it 'all-to-all: a host that is not there is named and omitted, the rest goes on'; ( begin
	hosts 4 'pattern all-to-all' "$by_pdsh" 'zcc -n 1' 'load none' "hosts $NET-9=192.0.2.9"
	echo "zcc $PWD/tiny" >>file
	exits 1 "$zc_hosts" --quiet file
	grep -q "^zc-hosts: .*$NET-9: Cannot open network namespace" err
	grep -q "$NET-9: omitted: it failed with two hosts that work" err
	[ "$(grep -c "$NET-9" err)" -eq 8 ]
	grep -q '^20 connections in 10 rounds, 8 failed; 12 bytes$' out
	nothing_runs
); ok
it 'pairs, by GNU parallel'; ( begin; need parallel
	hosts 4 'pattern pairs' 'engine parallel ip netns exec {}' 'zcc -n 1' 'load none'
	echo "zcc $PWD/tiny" >>file
	exits 0 "$zc_hosts" file
	not [ -s err ]
	grep -q '^2 connections in 1 round, 0 failed; 2 bytes$' out
	row "$NET-3" sends
	row "$NET-4" receives
	nothing_runs
); ok

# From standard input; an engine replaces %n elsewhere.
title='IPv6 addresses with the interface that they are of'
if ip -n "$NET-1" -6 addr add fe80::1/64 dev nh0 nodad 2>/dev/null &&
    ip -n "$NET-2" -6 addr add fe80::2/64 dev nh0 nodad 2>/dev/null; then
	it "$title"; ( begin
		hosts 2 'pattern all-to-all' "$by_pdsh" 'zcc -n 1' 'load none'
		sed -i "1s/.*/hosts $NET-1=[fe80::1%nh0] $NET-2=fe80::2%nh0/" file
		echo "zcc $PWD/tiny" >>file
		exits 0 "$zc_hosts" - <file
		grep -q '^2 connections in 2 rounds, 0 failed; 2 bytes$' out
		nothing_runs
	); ok
else
	skip "$title" 'no IPv6'
fi

# interrupted_by SIGNAL LOAD: the soakers of the receiver are among what runs on its host.
interrupted_by()
{
	hosts 5 'pattern incast' "$by_pdsh" 'zcc -t 60' "load $2"
	sent=$(ip netns exec "$NET-5" cat /sys/class/net/nh0/statistics/tx_bytes)
	env --default-signal=INT "$zc_hosts" file >out 2>err &
	run=$!
	remember $run
	wait_until has_sent
	kill -"$1" $run
	status=0; wait $run || status=$?
	cat out err
	[ $status -eq 1 ]
	grep -q "^zc-hosts: SIG$1: ending zcc and zcs on all hosts$" err
	wait_until nothing_runs
}
check 'SIGINT: nothing is left on any host' interrupted_by INT "$NET-1"
check 'SIGTERM: nothing is left on any host' interrupted_by TERM none
it 'SIGINT when the first program starts: nothing is left'; ( begin
	env --default-signal=INT "$zc_hosts" file >out 2>err &
	run=$!
	remember $run
	met() { [ -n "$(ls tmp)" ] || gone $run; }
	wait_until met
	kill -INT $run
	status=0; wait $run || status=$?
	[ $status -eq 1 ]
	wait_until nothing_runs
); ok
finish
