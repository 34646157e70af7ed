#!/bin/sh
# zc-hosts on four hosts, which are network namespaces on a bridge, one of them unplugged in between.
# tests/unit/hosts.py has what FILE may say, what is believed of a host, and the table.
#
# seconds: 10
# limit: 400
. "$TOP/tests/lib.sh"

zc_hosts=$BIN/zc-hosts
whole_test_needs python3 'zc-hosts'
python=$(python3 -c 'import sys; print(sys.executable)')

while IFS=';' read -r regex path arguments line; do
	it "zc-hosts $arguments${line:+ ($line)}: one line, '$regex', exit 2"; ( begin
		printf '%s\n' 'hosts a b' 'pattern pairs' "$line" >file
		fails_with 2 "^zc-hosts: $regex" timeout 20 env PATH="${path:-$PATH}" "$python" "$zc_hosts" $arguments
	); ok
done <<'END'
one FILE is needed;;;
unknown option '-x';;-x file;
file:3: zcc: '--port=1': zc-hosts sets;;file;zcc --port=1
neither pdsh nor GNU parallel is installed: install one of them$;/nowhere;file;load none
END
printf 'printf "zcs: \\033[31mred\\n" >&2\n' >odd
it 'zc-hosts: what an engine that starts nothing prints is the reason, on one line, of which a terminal obeys nothing'; ( begin; need pdsh
	printf '%s\n' 'hosts a b' 'pattern pairs' "engine pdsh -R exec sh $PWD/odd %h" >file
	exits 1 timeout 25 "$python" "$zc_hosts" file
	grep -qx 'zc-hosts: a to b failed: b: zcs: ?\[31mred' err
	one_line err
	is_text err
	is_text out
); ok

# The hosts are NET-1 to NET-4, 192.0.2.1 to 192.0.2.4; the bridge is in NET-0.  What a test that was
# killed (SIGKILL) left behind, the next one removes.
NET=zch$$
remove_hosts()
{
	for host in $(ip netns list 2>/dev/null | sed -n "s/^\($1-[0-4]\)\( .*\)*$/\1/p"); do
		ip netns pids "$host" | xargs -r kill -KILL
		ip netns del "$host"
	done
}
make_hosts()
{
	for old in $(ip netns list | sed -n 's/^zch\([0-9][0-9]*\)-0\( .*\)*$/\1/p'); do
		[ -d "/proc/$old" ] || remove_hosts "zch$old"
	done
	ip netns add "$NET-0" && ip -n "$NET-0" link add br0 type bridge && ip -n "$NET-0" link set br0 up || return
	for i in 1 2 3 4; do
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
by_pdsh='engine pdsh -R exec ip netns exec %h'

# hosts N 'line'...: FILE with that many of the hosts
hosts()
{
	printf '%s\n' "hosts $NET-[1-$1]=192.0.2.[1-$1]" "bin $BIN" 'zcc --congestion reno' >file
	shift
	printf '%s\n' "$@" >>file
}
# measures STATUS [option...]: zc-hosts exits with it, and nothing is left on any host
measures() { exits "$1" "$python" "$zc_hosts" $2 file && wait_until nothing_runs; }
nothing_runs() { [ -z "$(for i in 1 2 3 4; do ip netns pids "$NET-$i"; done; ls tmp)" ]; }
# row HOST ROLE: its line of the table
row() { grep "^$1  *$2 " out; }
# all N FILTER: there are so many connections, and it holds of each
all() { grep '^{' out | jq -es "length == $1 and all($2)"; }

made_up_calibration >counts_per_sec
it 'incast: the receiver has a load, and the senders the reason why they have none'; ( begin; need jq
	exec 9<"$SOAK_LOCK"
	flock -w 60 9 || skip_check 'other tests soaked the CPUs for a minute'
	for t in 0.5 5; do # beside busy programs some start late
		hosts 4 'pattern incast' "$by_pdsh" "zcc -t $t --pace 5m" "load $NET-1"
		measures 0 9<&-
		grep 'unsafe: .*clients_not_together' out || break
	done
	not [ -s err ]
	not grep 'load not measured: .* soaks the CPUs' out || skip_check 'another program soaks'
	row "$NET-1" receives | grep -Eq '[0-9]%\??  *\+?-?[0-9.]+%  *[0-9]+  *[-0-9.]+'
	for i in 2 3 4; do row "$NET-$i" sends | grep -q ' -$'; done
	grep -q '^3 connections in 1 round, 0 failed; [1-9][0-9]* bytes$' out
	all 3 '.receiver_host | .load_percent != null and .clients == 3 and (has("no_load") | not)'
	all 3 '.sender_host | .no_load == "off" and (.no_load_text | test("^not asked for: "))'
); ok
# has_sent: the host NET-4
has_sent() { [ "$(ip netns exec "$NET-4" cat /sys/class/net/nh0/statistics/tx_bytes)" -gt $((sent + 100000)) ]; }
# starts [command...]: zc-hosts, whose pid is `run`
starts()
{
	sent=$(ip netns exec "$NET-4" cat /sys/class/net/nh0/statistics/tx_bytes)
	"$@" "$python" "$zc_hosts" file >out 2>err &
	run=$!
	remember $run
}
# exits_1: it has failed
exits_1()
{
	status=0
	wait $run || status=$?
	cat out err
	[ $status -eq 1 ]
	wait_until nothing_runs
}
it 'incast: a sender that is unplugged in the middle is named after the --timeout of FILE, the rest goes on'; ( begin
	hosts 4 'pattern incast' "$by_pdsh" 'zcc -t 2 --pace 5m --timeout 1' 'load none'
	starts
	wait_until has_sent
	ip -n "$NET-0" link set port4 down
	exits_1
	ip -n "$NET-0" link set port4 up
	one_line err
	grep -q "^zc-hosts: $NET-4 to $NET-1 failed: $NET-4: zcc: .* 1[.0-9]* seconds (--timeout" err
	row "$NET-1" receives | grep -q "  includes clients that failed$"
	for i in 2 3; do row "$NET-$i" sends | grep -q "^$NET-$i  *sends  *0\.[0-9]* "; done
	grep -q '^3 connections in 1 round, 1 failed; ' out
); ok
it 'all-to-all: a host that is not there is named and omitted, and in no figure of the others'; ( begin
	hosts 3 'pattern all-to-all' "$by_pdsh" "zcc -n 1 $PWD/tiny" 'load none' "hosts $NET-9=192.0.2.9"
	measures 1 --quiet
	not grep '^{' out
	grep -q "^zc-hosts: .*$NET-9: Cannot open network namespace" err
	grep -q "$NET-9: omitted: it failed with two hosts that work" err
	not grep 'includes clients that failed' out
	grep -q '^12 connections in 6 rounds, 6 failed; 6 bytes$' out
); ok
it 'pairs, by GNU parallel: all rounds are printed as JSON, and nothing else'; ( begin; need parallel jq
	hosts 4 'pattern pairs' 'engine parallel ip netns exec {}' "zcc -n 1 $PWD/tiny" 'load none'
	measures 0 --json
	not grep -v '^{' out
	not [ -s err ]
	all 2 '.bytes == 1'
	jq -r '.sender + " " + .receiver' out | sort >pairs
	printf '%s %s\n' "$NET-1" "$NET-2" "$NET-3" "$NET-4" | diff pairs -
); ok
# An engine replaces %n elsewhere.
it 'zc-hosts -, instrument idle: FILE is standard input, IPv6 addresses have their interface, and the load is that of --idle'; ( begin; need jq
	for i in 1 2; do
		ip -n "$NET-$i" -6 addr add fe80::$i/64 dev nh0 nodad 2>/dev/null || skip_check 'no IPv6'
	done
	hosts 2 'pattern pairs' "$by_pdsh" 'zcc -t 0.3' "load $NET-2" 'instrument idle'
	sed -i "1s/.*/hosts $NET-1=[fe80::1%nh0] $NET-2=fe80::2%nh0/" file
	exits 0 "$zc_hosts" - <file
	grep -q '^1 connection in 1 round, 0 failed; ' out
	grep -q '^host .* unsoaked load ' out
	# A busy machine leaves no idle time to be measured, of which zcs has the reason.
	all 1 '.receiver_host | (.instrument == "idle" and .load_percent != null) or (.no_load_text | test("^--idle: "))' ||
	    { grep -q 'other programs kept the CPUs busy' out; skip_check 'the machine is busy'; }
	all 1 '.sender_host | has("instrument") | not'
); ok

starts_one() { [ -n "$(ls tmp)" ] || gone $run; }
while read -r signal condition when; do
	it "zc-hosts: SIG$signal $when ends all programs on all hosts"; ( begin
		hosts 4 'pattern incast' "$by_pdsh" 'zcc -t 60 --pace 5m' 'load none'
		starts env --default-signal=INT
		wait_until $condition
		kill -$signal $run
		exits_1
		[ $signal = INT ] || grep -q "^zc-hosts: SIGTERM: ending zcc and zcs on all hosts$" err
	); ok
done <<END
TERM has_sent in the middle
INT starts_one when the first program starts
END
finish
