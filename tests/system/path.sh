#!/bin/sh
# Where the packets go and what they carry: --bind, --bind-dev, --dscp, --mptcp, --content.
#
# seconds: 3
. "$TOP/tests/lib.sh"
zcc=$BIN/zcc
printf x >tiny

start_peer -s -n 2
"$zcc" -s 0 -p "$PORT" --bind 127.0.0.3 --dscp 46 -P 2 -t 60 >held.out 2>held.err &
HELD=$!
remember $HELD
connections()
{
	ss -Htn state established "dport = :$PORT" | grep -c .
}
it '--bind: each connection comes from that address'; ( begin; need ss
	wait_until counts -ge 2 connections
	ss -Htn state established "dport = :$PORT" >sockets
	cat sockets
	not grep -v '127\.0\.0\.3:[0-9]* *127\.0\.0\.1:' sockets
); ok
it '--dscp 46: IP_TOS is four times that'; ( begin; need ss
	ss -Htn --tos state established "dport = :$PORT" >sockets
	cat sockets
	[ "$(grep -c 'tos:0xb8' sockets)" -eq 2 ]
); ok
kill -KILL $HELD # else it would wait for the server
ended $HELD
kill -USR1 "$PEER"

start_zcs
it '--dscp over IPv6: the traffic class'; ( begin; need strace
	exits 0 strace -f -e trace=setsockopt -o trace "$zcc" -6 -s ::1 -p "$PORT" --dscp 10 tiny
	grep -q 'IPV6_TCLASS, \[40\], 4) = 0' trace
); ok
it '--bind: the server'\''s address is of the same family'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --bind ::1 -n 1
	grep -q '^  to \[::1\]:' out
	exits 0 "$zcc" -s 0 -p "$PORT" --bind 127.0.0.4 -n 1
	grep -q '^  to 127\.0\.0\.1:' out
	wait_until grep -q '^127\.0\.0\.4:' zcs.out
); ok
it '--bind: an address that is not of this host, or not of the family'; ( begin
	fails '^zcc: --bind 192.0.2.7: Cannot assign requested address$' "$zcc" -s 0 -p "$PORT" --bind 192.0.2.7
	fails '^zcc: --bind ::1: ' "$zcc" -s 0 -p "$PORT" --bind ::1 -4
); ok
it '--bind-dev: no such interface'; ( begin
	fails "^zcc: --bind-dev 'noether': " "$zcc" -s 0 -p "$PORT" --bind-dev noether
	fails "^zcs: --bind-dev 'noether': " "$BIN/zcs" -p 0 --bind-dev noether
); ok
for tool in zcc zcs; do
	check_usage "--bind-dev: '' has not 1 to 15" $tool --bind-dev ''
	check_usage "--bind-dev: 'lo345678901234567' has not" $tool --bind-dev lo345678901234567
done
stop_zcs

start_zcs --bind-dev lo
# Both ends are in a network namespace, whose interface has an address of this host.
cat >own_address <<-'EOF'
	mkdir -p apart && cd apart || exit # whose processes end with it, and no others
	. "$TOP/tests/lib.sh"
	ip link set lo up && ip link add eth type veth peer name peer && ip link set eth up && ip link set peer up &&
	    ip addr add 192.0.2.1/24 dev eth && start_zcs || exit 1
	"$BIN/zcc" -s 192.0.2.1 -p "$PORT" --bind-dev eth --congestion reno -n 1 --json
EOF
it '--bind-dev, to an address of this host: both ends are on this host'; ( begin
	unshare -rn ip link add eth type veth peer name peer 2>/dev/null || skip_check 'no network namespace with a veth here'
	exits 0 unshare -rn sh ./own_address
	grep -q '"both_ends_on_host":true' out
); ok
it '--bind-dev lo: the server listens there, and zcc names it'; ( begin; need ss
	ss -Htln "sport = :$PORT" | grep -q "%lo:$PORT"
	exits 0 "$zcc" -s 0 -p "$PORT" --bind-dev lo -n 1
	grep -q ' via lo,' out
); ok
stop_zcs

# The kernel may lack Multipath TCP.
if [ "$(cat /proc/sys/net/mptcp/enabled 2>/dev/null)" = 1 ]; then
	start_zcs --mptcp
	"$zcc" -s 0 -p "$PORT" --mptcp --congestion reno -t 60 >mptcp.out 2>mptcp.err &
	MPTCP=$!
	remember $MPTCP
	is_mptcp()
	{
		ss -HnM state established "dport = :$PORT" | grep -q ":$PORT" &&
			ss -Htin "dport = :$PORT" | grep -q "bytes_acked:[0-9]\{6\}"
	}
	it '--mptcp at both ends: a connection of Multipath TCP'; ( begin; need ss
		wait_until is_mptcp
		kill -TERM $MPTCP
		ended $MPTCP
		cat mptcp.out
		grep -q ', MPTCP$' mptcp.out
		grep -q 'all bytes sent were received' mptcp.out
		[ ! -s mptcp.err ]
	); ok
	it 'zcs --mptcp serves a client of TCP'; ( begin
		exits 0 "$zcc" -s 0 -p "$PORT" -n 1
		grep -q 'all bytes sent were received' out
	); ok
	stop_zcs
	start_zcs
	it '--mptcp to a server of TCP: a line reports it'; ( begin
		exits 0 "$zcc" -s 0 -p "$PORT" --mptcp --json -n 1
		grep -q "^zcc: --mptcp: 127.0.0.1:$PORT has only TCP" err
		valid_json out
		grep -q '"mptcp": *false' out
	); ok
	stop_zcs
	start_zcs --reply
	it '--request --mptcp to a server of TCP: one line reports it'; ( begin
		exits 0 "$zcc" -s 0 -p "$PORT" --mptcp --request 10,20 -n 30 -P 3
		[ "$(grep -c "^zcc: --mptcp: 127.0.0.1:$PORT has only TCP" err)" -eq 1 ]
	); ok
	stop_zcs
	# Both ends are in a network namespace, where a second address of lo has a subflow of its own.
	cat >two_subflows <<-'EOF'
		mkdir -p apart && cd apart || exit
		. "$TOP/tests/lib.sh"
		ip link set lo up && ip mptcp limits set subflow 2 &&
		    ip mptcp endpoint add 127.0.0.2 dev lo subflow && start_zcs --mptcp || exit 1
		status=0
		"$BIN/zcc" -s 127.0.0.1 -p "$PORT" --mptcp --congestion reno --json "$@" || status=$?
		stop_zcs
		exit $status
	EOF
	it '--mptcp over two subflows: zcc counts the bytes of both, and has no figures of one'; ( begin; need jq
		unshare -rn ip mptcp limits set subflow 2 2>/dev/null || skip_check 'no network namespace with Multipath TCP here'
		exits 0 unshare -rn sh ./two_subflows -n 20 -I 0.1
		jq -e '.end | .bytes_agree and .sum_sent.bytes == 20 * 63 * 350 * 1024' out
		jq -e '.end.streams[0].sender | has("retransmits") or has("rtt") | not' out
	); ok
else
	skip '--mptcp' 'the kernel has no Multipath TCP'
fi

while read -r what options; do
	it "--content $what: ${options:-by default,} the built-in set has such bytes, which compress or not"; ( begin
		start_peer -w received
		exits 0 "$zcc" -s 0 -p "$PORT" --raw -n 1 $options
		ended "$PEER"
		[ "$(wc -c <received)" -eq $((63 * 350 * 1024)) ]
		case $what in
		zeros) head -c $((63 * 350 * 1024)) /dev/zero | cmp - received ;;
		random) [ "$(head -c $((3 * 350 * 1024)) received | gzip -1 | wc -c)" -gt $((3 * 350 * 1020)) ] ;;
		esac
	); ok
done <<'END'
zeros --content zeros
random --content random
random
END
check_usage "--content: 'x' is none of random, zeros" zcc -s 0 --content x
check_usage '--content is of the built-in set' zcc -s 0 --content zeros tiny
check_usage '--dscp.*not between' zcc -s 0 --dscp 64
finish
