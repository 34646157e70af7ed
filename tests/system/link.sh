#!/bin/sh
# Where the packets go and what they carry (--bind, --bind-dev, --dscp, --mptcp), and zcc and zcs across a link
# between two hosts (tests/lab): MTUs, IPv4 and IPv6, a cable that is pulled, hosts out of reach.  tests/unit/socket.c has
# what the kernel is asked about a route.
#
# seconds: 8
# limit: 400
# shellcheck disable=SC2046 # the words of $(of) and others are to be split
. "$TOP/tests/lib.sh"

head -c 1000003 /dev/urandom >file

# Options of the path
it '--bind, --bind-dev and --dscp 46: each connection comes from there with four times 46 as IP_TOS; zcs listens there alone'; ( begin; need ss
	start_peer -s -n 2
	start_zcc held --bind 127.0.0.3 --dscp 46 -P 2 -t 60
	sockets() { ss -Htn --tos state established "dport = :$PORT" | grep -c '127\.0\.0\.3:[0-9]* *127\.0\.0\.1:.*tos:0xb8'; }
	wait_until counts -eq 2 sockets
	kill -KILL $held # else it would wait for the server
	kill -USR1 "$PEER"
	start_zcs --bind-dev lo
	ss -Htln "sport = :$PORT" | grep -q "%lo:$PORT"
	exits 0 "$BIN/zcc" -s 0 -p "$PORT" --bind-dev lo --bind ::1 tiny # the address of the server is of the same family
	grep -q '^  to \[::1\]:.* via lo,' out
	stop_zcs
); ok
while read -r line options; do
	check "$options: one line that names it, exit 1" fails "^zc[cs]: ${line%:} " "$BIN"/$options
done <<END
--bind.192.0.2.7:.Cannot.assign.requested: zcc -s 0 -p 9 --bind 192.0.2.7
cannot.listen.on.fe80::1.port.0:.a.link-local zcs --bind fe80::1 -p 0
--bind-dev.'noether':: zcc -s 0 -p 9 --bind-dev noether
END
check_usage "--bind-dev: '' does not have 1 to 15" zcc --bind-dev ''
# Two hosts, for each check its own: host A receives, host B sends.
if ! has_lab; then
	skip 'across a link' 'needs root, ip(8) and network namespaces'
	finish
fi
zcc() { $B "$BIN/zcc" -p "$PORT" --congestion reno "$@"; }
# of A V: the address of a host
of() { eval "echo \$$1$2"; }
# all_arrived FILE [N]: that many bytes, which both ends report
all_arrived()
{
	grep -q 'all bytes sent were received' "$1"
	[ "$(bytes_of "$1" | tr ' ' '\n' | uniq | grep -x "${2:-[1-9][0-9]*}")" ]
}
# last NUMBER '> 0': waits until so many of the last intervals of a.out (-I) are like that, in bytes per second
last()
{
	number=$1 is=$2
	met()
	{
		sed -nE 's/^ +[0-9.]+-[0-9.]+ +([0-9,]+) .*/\1/p' a.out | tr -d , |
			awk "{ n = \$1 $is ? n + 1 : 0 } END { exit n < $number }"
	}
	wait_until met
}

for mtu in 576 1500 $(scale '' '1280 9000 65535'); do
	beside "MTU $mtu: both ends agree, segments fit, and the packets of the link are counted"; ( begin; need jq
		hosts -m "$mtu"
		for v in 4 ${A6:+6}; do
			start_zcs --json
			exits 0 zcc --json -s $(of A $v) -P 2 -n 2 ../file
			wait_until [ -s zcs.out ]
			# IP and TCP have headers, and TCP time stamps.  No segment is larger than half of the largest window yet.
			most=$((mtu - 12 - (v == 4 ? 40 : 60)))
			jq -es --arg to $(of A $v) --arg from $(of B $v) --argjson mtu "$mtu" --argjson most $most \
			    --argjson least $((mtu < 65535 ? most : most / 4)) '(.[0] |
			    .start.interface == "eth0" and .end.both_ends_on_host and .start.environment.link.mtu == $mtu and
			    .end.host.packets_out_per_second > 20 and
			    (.start.connected | length == 2 and all(.remote_host == $to and .local_host == $from)) and
			    all(.end.streams[].sender; .pmtu == $mtu and .snd_mss >= $least and .snd_mss <= $most) and
			    .end.sum_sent.bytes == 4000012 and .end.sum_received.bytes == 4000012 and .end.bytes_agree) and
			    .[1].start.accepted_connection.host == $from' out zcs.out
			stop_zcs
		done
	) & later
done
beside 'a link-local address with its scope, of the other host and of the own one, by --bind-dev too'; ( begin
	hosts
	start_zcs
	link_local=$($A ip -6 -o addr show dev "$LINK" scope link | sed "s/.*inet6 \([^/]*\).*/\1/")
	exits 0 zcc -s "$link_local%$LINK" ../file
	all_arrived out 1000003
	grep -q "^  to \[$link_local%$LINK\]:$PORT via $LINK, " out
	wait_until grep -q "^ *\[fe80::[0-9a-f:]*%$LINK\]:[0-9]*:.* 1000003 bytes" zcs.out
	fails "^zcc: $link_local: a link-local address needs its interface: $link_local%INTERFACE$" zcc -s "$link_local" ../file
	for how in "-s $link_local%$LINK" "-s $A4 --bind-dev $LINK"; do
		exits 0 $A "$BIN/zcc" -p "$PORT" --congestion reno $how --json ../file
		grep '"both_ends_on_host":true' out
	done
) & later
beside '--cport: each run has the ports behind those of the run before, with IPv6 and --request, too'; ( begin; need jq strace
	hosts
	start_zcs
	exits 0 zcc -s $A6 --bind $B6 --cport 5000 -P 2 -r 3 -n 1 --json ../file
	jq -es '[.[].start.connected // [] | .[].local_port] == [range(5000; 5006)]' out
	start_zcs --reply
	exits 0 $B strace -f -o trace -e trace=bind "$BIN/zcc" -s "$A4" -p "$PORT" --cport 6000 -P 2 --request 10,20 -n 10
	prints '6000 6001 6002 6003' eval "sed -n 's/^.*bind(.*htons(\(6[0-9]*\)).*/\1/p' trace | sort -u | xargs"
	fails '^zcc: --cport: port '"$PORT"': Address already in use$' $A "$BIN/zcc" -s "$A4" -p 9 --cport "$PORT" ../file
) & later
beside '--mptcp: over two subflows both are counted; TCP at the other end is reported, or served'; ( begin; need jq
	[ "$(cat /proc/sys/net/mptcp/enabled 2>/dev/null)" = 1 ] || skip_check 'the kernel has no Multipath TCP'
	hosts
	start_zcs --mptcp
	$B ip addr add 192.0.2.3/24 dev "$LINK"
	$A ip mptcp limits set subflow 2 add_addr_accepted 2
	$B ip mptcp limits set subflow 2 2>/dev/null || skip_check 'no ip mptcp'
	$B ip mptcp endpoint add 192.0.2.3 dev "$LINK" subflow
	by_two()
	{
		exits 0 zcc -s "$A4" --mptcp --json -n 30 ../file && jq -e '.end | .bytes_agree and .sum_sent.bytes == 30000090 and
		    (.streams[0].sender, .sum_sent | has("retransmits") or has("rtt") or has("cwnd_limited") or has("pacing_limited") | not) and
		    (.host, .remote | has("packets_out_per_second") or has("packets_in_per_second") | not)' out &&
		    exits 0 zcc -s "$A4" --mptcp -n 30 ../file && grep ', MPTCP$' out && not grep 'via \|packets/s\|TCP waited\|RTT\|cwnd' out
	}
	by_two || by_two || by_two # the second subflow comes when the kernel has time
	start_zcs --reply
	exits 0 zcc -s "$A4" --mptcp --request 10,20 -n 30 -P 3
	[ "$(grep -c "^zcc: --mptcp: $A4:$PORT has only TCP" err)" -eq 1 ]
) & later
beside 'the cable is pulled at host A, and put back: all arrives, with the retransmits of the kernel'; ( begin
	hosts
	# With queues, as a card has them.  Without, TCP knows of each packet that the link drops.
	tc=yes
	for host in "$A" "$B"; do $host tc qdisc add dev "$LINK" root pfifo || tc=; done
	start_zcs -I 0.1
	start_zcc a -s "$A4" -t 60 --pace 16m -I 0.1 ../file
	last 3 '> 0'
	$A ip link set "$LINK" down
	last 5 '== 0'
	$A ip link set "$LINK" up
	last 3 '> 0'
	zcc_ends a 130 INT
	all_arrived a.out
	retransmits=$(figures_of retransmits a.out | cut -d ' ' -f 1)
	[ "$retransmits" -eq "$($B sed -n '/^Tcp: [0-9]/p' /proc/net/snmp | cut -d ' ' -f 13)" ] # of all its connections
	[ -z "$tc" ] || [ "$retransmits" -gt 0 ]
	one_line zcs.err
) & later
beside 'refused, or no answer: one line that names the host, exit 1; a signal ends the wait'; ( begin
	hosts
	$B ip neigh add 192.0.2.66 lladdr "$($A cat "/sys/class/net/$LINK/address")" dev "$LINK"
	PORT=9
	for host in "$A4" "$A6"; do
		fails "^zcc: cannot connect to $host port 9: Connection refused: is zcs running there?$" zcc -s $host --timeout 4 ../file
	done
	fails "^zcc: cannot connect to 192.0.2.66 port 9: Connection timed out$" zcc -s 192.0.2.66 --timeout 0.2 ../file
	start_zcc a -s 192.0.2.66 ../file
	met() { $B ss -tn state syn-sent | grep -q 192.0.2.66; }
	wait_until met
	zcc_ends a 143 TERM
	not [ -s a.out ]
	not [ -s a.err ]
) & later
together
finish
