#!/bin/sh
# Where the packets go and what they carry (--bind, --bind-dev, --dscp, --mptcp), and zcc and zcs across a link
# between two hosts (tests/lab): MTUs of 576 to 65535, IPv4 and IPv6, a cable that is pulled, addresses and links that go
# away, hosts out of reach.
#
# seconds: 8
# limit: 400
# shellcheck disable=SC2046 # the words of $(of) and others are to be split
. "$TOP/tests/lib.sh"

head -c 1000003 /dev/urandom >file

# Options of the path
it '--bind and --dscp 46: each connection comes from that address, and has four times that as IP_TOS'; ( begin; need ss
	start_peer -s -n 2
	start_zcc held --bind 127.0.0.3 --dscp 46 -P 2 -t 60
	sockets() { ss -Htn --tos state established "dport = :$PORT" | grep -c '127\.0\.0\.3:[0-9]* *127\.0\.0\.1:.*tos:0xb8'; }
	wait_until counts -eq 2 sockets
	kill -KILL $held # else it would wait for the server
	kill -USR1 "$PEER"
); ok
start_zcs
it '--bind: the server'\''s address is of the same family; --dscp over IPv6 is the traffic class'; ( begin
	exits 0 "$BIN/zcc" -s 0 -p "$PORT" --bind 127.0.0.4 tiny
	grep -q '^  to 127\.0\.0\.1:' out
	wait_until grep -q '^127\.0\.0\.4:' zcs.out
	need strace
	exits 0 strace -f -e trace=setsockopt -o trace "$BIN/zcc" -s 0 -p "$PORT" --bind ::1 --dscp 10 tiny
	grep -q '^  to \[::1\]:' out
	grep -q 'IPV6_TCLASS, \[40\], 4) = 0' trace
); ok
while read -r line options; do
	check "$options: one line that names it, exit 1" fails "^zc[cs]: ${line%:} " "$BIN"/$options
done <<END
--bind.192.0.2.7:.Cannot.assign.requested: zcc -s 0 -p $PORT --bind 192.0.2.7
--bind.::1:.*.IPv4,.which.-4.asks zcc -s 0 -p $PORT --bind ::1 -4
::1:.*.IPv4,.which.--bind.127.0.0.1.asks zcc -s ::1 -p $PORT --bind 127.0.0.1
--bind.fe80::1:.a.link-local zcc -s ::1 -p $PORT --bind fe80::1
cannot.listen.on.fe80::1.port.0:.a.link-local zcs --bind fe80::1 -p 0
--bind-dev.'noether':: zcc -s 0 -p $PORT --bind-dev noether
--bind-dev.'noether':: zcs -p 0 --bind-dev noether
END
stop_zcs
check_usage "--bind-dev: '' does not have 1 to 15" zcc --bind-dev ''
it '--bind-dev lo: the server listens there, and zcc names it'; ( begin; need ss
	start_zcs --bind-dev lo
	ss -Htln "sport = :$PORT" | grep -q "%lo:$PORT"
	exits 0 "$BIN/zcc" -s 0 -p "$PORT" --bind-dev lo tiny
	grep -q ' via lo,' out
	stop_zcs
); ok
it 'the built-in set: its files differ and do not compress'; ( begin
	start_peer -w bytes
	exits 0 "$BIN/zcc" -s 0 -p "$PORT" --raw -n 1
	ended "$PEER"
	[ "$(head -c 1000000 bytes | gzip -1 | wc -c)" -gt 990000 ]
	split -a 3 -b 51200 bytes part.
	[ "$(md5sum part.* | cut -d ' ' -f 1 | sort -u | wc -l)" -eq $((63 * 7)) ] # no part is there twice
); ok

# Two hosts, for each check its own: host A receives, host B sends.
if ! has_lab; then
	skip 'across a link' 'needs root, ip(8) and network namespaces'
	finish
fi
tc=yes
"$TOP/tests/lab" sh -c '$B tc qdisc add dev $LINK root tbf rate 8mbit burst 16k limit 32k' 2>/dev/null || tc=

zcc() { $B "$BIN/zcc" -p "$PORT" --congestion reno "$@"; }
# of A V: the address of a host
of() { eval "echo \$$1$2"; }
# all_arrived FILE [N]: that many bytes, which both ends report
all_arrived()
{
	grep -q 'all bytes sent were received' "$1"
	[ "$(bytes_of "$1" | tr ' ' '\n' | uniq | grep -x "${2:-[1-9][0-9]*}")" ]
}
# intervals NAME: the bytes per second of its lines (-I), without those of streams
intervals() { sed -nE 's/^ +[0-9.]+-[0-9.]+ +([0-9,]+) .*/\1/p' "$1.out" | tr -d ,; }
# flow NAME...: the last three of its intervals have something in them; silent NAME...: the last five have nothing
flow() { last 3 '>' "$@"; }
silent() { last 5 '==' "$@"; }
last()
{
	number=$1 than=$2
	shift 2
	for name; do
		met() { intervals "$name" | awk "{ n = \$1 $than 0 ? n + 1 : 0 } END { exit n < $number }"; }
		wait_until met
	done
}
# gives_up NAME: by --timeout 1, with one line and a report of what was sent, after five silent intervals of 0.1 s or more
gives_up()
{
	zcc_ends "$1" 1
	one_line "$1.err"
	grep -q "^zcc: .*:$PORT: the server accepted no data for 1[0-9.]* seconds (--timeout[^)]*) after [1-9]" "$1.err"
	[ "$(bytes_of "$1.out")" -gt 0 ]
	grep -q '^    no receipt: ' "$1.out"
	intervals "$1" | tail -n 5 | prints_nothing grep -v '^0$'
}
# pull HOST: that end of the cable
pull() { $1 ip link set "$LINK" down; }
sent_of() { figures_of "$1" "$2" | cut -d ' ' -f 1; }
mss() { sent_of 'MSS, bytes' "$1"; }
# retransmitted HOST: segments, of all its connections
retransmitted() { $1 sed -n '/^Tcp: [0-9]/p' /proc/net/snmp | cut -d ' ' -f 13; }
# has_socket PATTERN [state]: ss at B has a socket like that
has_socket() { $B ss -tni ${2:+state "$2"} | grep -q -e "$1"; }
# families: of the link
families() { echo 4 ${A6:+6}; }

for mtu in 576 1500 65535 $(scale '' '1280 9000'); do
	beside "MTU $mtu: by every method both ends agree, segments fit, requests are answered in full"; ( begin; need jq
		hosts -m "$mtu"
		pairs='sendfile:read send:trunc zerocopy:splice'
		if [ "$mtu" -eq 1500 ]; then # each method
			pairs=$(senders | paste -d : - "$(receivers >r; cat r r >rr; echo rr)" | grep -v '^:\|:$')
		fi
		for pair in $pairs; do for v in $(families); do
			start_zcs --json -m "${pair#*:}"
			exits 0 zcc --json -s $(of A $v) -m "${pair%:*}" -P 2 -n 2 ../file
			wait_until [ -s zcs.out ]
			# IP and TCP have headers, and TCP time stamps.  No segment is larger than half of the largest window yet.
			most=$((mtu - 12 - (v == 4 ? 40 : 60)))
			jq -es --arg to $(of A $v) --arg from $(of B $v) --argjson mtu "$mtu" --argjson most $most \
			    --argjson least $((mtu < 65535 ? most : most / 4)) '(.[0] |
			    .start.interface == "eth0" and .end.both_ends_on_host and
			    (.start.connected | length == 2 and all(.remote_host == $to and .local_host == $from)) and
			    all(.end.streams[].sender; .pmtu == $mtu and .snd_mss >= $least and .snd_mss <= $most) and
			    .end.sum_sent.bytes == 4000012 and .end.sum_received.bytes == 4000012 and .end.bytes_agree) and (.[1] |
			    .start.accepted_connection.host == $from and .end.sum_received.bytes == 4000012 and
			    (.end.streams | length == 2 and all(.receiver.bytes == 2000006)))' out zcs.out
			stop_zcs
		done; done
		start_zcs --reply
		for v in $(families); do
			exits 0 zcc -s $(of A $v) --request 0,1,723,100000 -n 40 -P 4
			grep -Eq '^100000 bytes .* 3906\.25 KiB ' out
			not grep -q failed out
		done
		stop_zcs
		grep -Eq '^total: (160|320) replies, .*; 0 rejected, 0 silent, 0 too large, 0 broken$' zcs.out
	) & later
done
beside '--mss: no larger segment is sent or asked for'; ( begin
	hosts
	start_zcs
	for v in $(families); do
		start_zcc a -s $(of A $v) --mss 600 -t 60 --pace 2m -I 0.1
		flow a
		met() { $A ss -tni state established "sport = :$PORT" | grep -q ' rcvmss:588 '; }
		wait_until met
		has_socket ' mss:588 .* advmss:588 '
		zcc_ends a 143 TERM
		[ "$(mss a.out)" -eq 588 ]
	done
) & later
beside 'the MTU of the route or of the link falls in mid-transfer: it goes on, and segments fit'; ( begin
	hosts
	start_zcs
	start_zcc a -s "$A4" -t 60 --pace 10m -I 0.1 ../file
	start_zcc b -s "$A6" -t 60 --pace 10m -I 0.1 ../file
	flow a b
	has_socket ' mss:1448 pmtu:1500 '
	has_socket ' mss:1428 pmtu:1500 '
	$B ip route add "$A4" dev "$LINK" mtu 700
	for host in "$A" "$B"; do $host ip link set "$LINK" mtu 1280; done
	wait_until has_socket ' mss:648 pmtu:700 '
	wait_until has_socket ' mss:1208 pmtu:1280 '
	flow a b
	for name in a b; do
		zcc_ends $name 130 INT
		all_arrived $name.out
	done
	[ "$(mss a.out)" -eq 648 ]
	[ "$(mss b.out)" -eq 1208 ]
) & later
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
beside 'two links, and rules by source address and port: each end names the link by which its packets leave, and counts its packets'; ( begin; need jq
	hosts
	$B ip link add eth1 mtu 1400 type veth peer name eth1 mtu 1400 netns "${A##* }"
	for host in "$A 1" "$B 2"; do
		on=${host% *}
		$on ip addr add 198.51.100.${host##* }/24 dev eth1
		$on ip link set eth1 up
		$on sh -c 'for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >$f; done'
	done
	$B ip rule add from 198.51.100.2 dport 1024-65534 lookup 100
	$B ip route add 192.0.2.0/24 dev eth1 table 100
	$A ip rule add from 192.0.2.1 dport 1024-65534 lookup 100
	$A ip route add 198.51.100.0/24 dev "$LINK" table 100
	start_zcs --json
	exits 0 zcc -s "$A4" --bind 198.51.100.2 -t 0.5 --json
	jq -e '.start.interface == "eth1" and .start.environment.link.mtu == 1400 and .end.host.packets_out_per_second > 20' out
	wait_until [ -s zcs.out ]
	jq -e --arg link "$LINK" '.start.environment.link.interface == $link and .end.host.packets_out_per_second > 20' zcs.out
	start_zcs --reply
	exits 0 zcc -s "$A4" --bind 198.51.100.2 --request 10 --json
	jq -e '.start.environment.link.mtu == 1400' out
) & later
beside '--cport: the streams have this port and the next ones, and each run those behind it, with --bind, IPv6 and --request'; ( begin; need jq strace
	hosts
	start_zcs
	from=5000
	for how in "-s $A4" "-s $A4 --bind $B4" "-s $A6 --bind $B6"; do
		exits 0 zcc $how --cport $from -P 2 -r 3 -n 1 --json ../file
		jq -es --argjson from $from '[.[].start.connected // [] | .[].local_port] == [range($from; $from + 6)]' out
		from=$((from + 6))
	done
	start_zcs --reply
	exits 0 $B strace -f -o trace -e trace=bind "$BIN/zcc" -s "$A4" -p "$PORT" --cport 6000 -P 2 --request 10,20 -n 10
	for port in 6000 6001 6002 6003; do grep -q "bind(.*htons($port)" trace; done
	not grep 'htons(600[4-9])' trace
	fails '^zcc: --cport: port '"$PORT"': Address already in use$' $A "$BIN/zcc" -s "$A4" -p 9 --cport "$PORT" ../file
) & later
beside '--mptcp: over two subflows both are counted, the first may die; TCP at either end is reported, or served'; ( begin; need jq
	[ "$(cat /proc/sys/net/mptcp/enabled 2>/dev/null)" = 1 ] || skip_check 'the kernel has no Multipath TCP'
	hosts
	start_zcs --mptcp
	exits 0 zcc -s "$A4" --mptcp ../file
	all_arrived out 1000003
	grep -q ', MPTCP$' out
	no_warning err
	$B ip addr add 192.0.2.3/24 dev "$LINK"
	$A ip mptcp limits set subflow 2 add_addr_accepted 2
	$B ip mptcp limits set subflow 2 2>/dev/null || skip_check 'no ip mptcp'
	$B ip mptcp endpoint add 192.0.2.3 dev "$LINK" subflow
	by_two()
	{
		exits 0 zcc -s "$A4" --mptcp --json -n 30 ../file && jq -e '.end | .bytes_agree and .sum_sent.bytes == 30000090 and
		    (.streams[0].sender, .sum_sent | has("retransmits") or has("rtt") or has("cwnd_limited") or has("pacing_limited") | not) and
		    (.host, .remote | has("packets_out_per_second") or has("packets_in_per_second") | not)' out &&
		    exits 0 zcc -s "$A4" --mptcp -n 30 ../file && not grep 'via \|packets/s\|TCP waited\|RTT\|cwnd' out
	}
	by_two || by_two || by_two # the second subflow comes when the kernel has time
	start_zcs --mptcp --idle-timeout 2
	start_zcc a -s "$A4" --mptcp -t 60 -I 0.1 ../file
	subflows() { $B ss -Htn state established "dport = :$PORT" | wc -l; }
	wait_until counts -eq 2 subflows
	$B ip rule add from "$B4" blackhole
	flow a
	seen=$(lines_in a.out) # zcs would drop it after 2.5 s
	met() { [ "$(lines_in a.out)" -ge $((seen + 35)) ]; }
	wait_until met
	zcc_ends a 130 INT
	all_arrived a.out
	$B ip rule del from "$B4" blackhole
	stop_zcs
	start_zcs
	exits 0 zcc -s "$A4" --mptcp --json ../file
	grep -q '"mptcp":false' out
	start_zcs --reply
	exits 0 zcc -s "$A4" --mptcp --request 10,20 -n 30 -P 3
	[ "$(grep -c "^zcc: --mptcp: $A4:$PORT has only TCP" err)" -eq 1 ]
) & later
# More is sent than the link takes in a second.
beside 'a slow link that drops packets: intervals have what it takes, retransmits are right'; ( begin
	[ -n "$tc" ] || skip_check 'no tc with tbf'
	hosts
	$B tc qdisc add dev "$LINK" root tbf rate 8mbit burst 16k limit 32k
	start_zcs
	spread()
	{
		were=$(retransmitted "$B")
		exits 0 zcc -s "$A4" -I 0.1 ../file && all_arrived out 1000003 && sent=$(sent_of retransmits out) && [ "$sent" -gt 0 ] &&
		    [ "$sent" -eq $(($(retransmitted "$B") - were)) ] || : >wrong
		sed -nE 's/^ +([0-9.]+)-([0-9.]+) +([0-9,]+) .*/\1 \2 \3/p' out | tr -d , |
			awk '{ kib = $3 * ($2 - $1) } kib > 700 { bad++ } kib > 0 { good++ } END { exit bad > 0 || good < 4 }'
	}
	spread || spread || spread # who has no CPU for a second sees all that came meanwhile at once
	not [ -e wrong ]
) & later
for end in B A; do
	beside "the cable is pulled at host $end, and put back: all arrives"; ( begin
		hosts
		# With queues, as a card has them.  Without, TCP knows of each packet that the link drops.
		[ -z "$tc" ] || for host in "$A" "$B"; do $host tc qdisc add dev "$LINK" root pfifo; done
		start_zcs -I 0.1
		start_zcc a -s "$A4" -t 60 --pace 16m -I 0.1 ../file
		start_zcc b -s "$A6" -m zerocopy -t 60 --pace 16m -I 0.1 ../file
		flow a b
		pull "$(of $end '')"
		silent a b
		seen=$(lines_in zcs.out)
		$(of $end '') ip link set "$LINK" up
		flow a b
		for name in a b; do
			zcc_ends $name 130 INT
			all_arrived $name.out
		done
		sum=$(($(sent_of retransmits a.out) + $(sent_of retransmits b.out)))
		[ $sum -eq "$(retransmitted "$B")" ]
		# At B, the kernel has no route to send anything again by.
		[ -z "$tc" ] || [ "$end" = B ] || [ $sum -gt 0 ]
		wait_until grep -q ^total zcs.out
		one_line zcs.err
		[ "$(grep -Ec '^ +[0-9.]+-[0-9.]+ .*2 clients$' zcs.out)" -gt "$seen" ]
	) & later
done
while IFS=: read -r what all how; do
	beside "the $what: zcc --timeout gives up, zcs --idle-timeout lets go and serves on"; ( begin
		hosts
		start_zcs --idle-timeout 1 -I 0.1
		descriptors=$(entries_in "/proc/$ZCS/fd")
		all=${all:-$(methods_of zcc | grep -v uring)}
		for method in $all; do
			start_zcc $method -s "$A4" -m $method --timeout 1 -t 60 --pace 2m -I 0.1 ../file
		done
		start_zcc six -s "$A6" -P 2 --timeout 1 -t 60 --pace 2m -I 0.1 ../file
		flow $all six
		eval "$how"
		for name in $all six; do
			gives_up $name
		done
		n=$(($(echo "$all" | wc -l) + 2))
		wait_until counts -eq $n grep -Ec '^zcs: .*: silent for 1 seconds? \(--idle-timeout\), after [1-9][0-9]* bytes$' zcs.err
		wait_until grep -q "^total of $n clients" zcs.out
		wait_until counts -eq "$descriptors" entries_in "/proc/$ZCS/fd"
		exits 0 $A "$BIN/zcc" -s 0 -p "$PORT" ../file
		[ "$how" = 'pull "$A"' ] || exit 0
		$A ip link set "$LINK" up
		# Its address, too, the kernel has given up for a while.
		wait_until exits 0 zcc -s "$A4" ../file
		all_arrived out 1000003
	) & later
done <<'END'
cable is pulled for good::pull "$A"
addresses of the sender go:sendfile:$B ip addr flush dev $LINK scope global
link is gone:sendfile:$A ip link del $LINK
END
beside 'the cable is pulled when all is in the socket: --timeout'; ( begin
	[ -n "$tc" ] || skip_check 'no tc with tbf'
	hosts
	# With --pace little would be in the socket: here the link is slow, and zcc has sent all.
	$B tc qdisc add dev "$LINK" root tbf rate 200kbit burst 16k limit 300k
	head -c 100000 ../file >small
	start_zcs
	start_zcc a -s "$A4" -o 200k --timeout 1 -I 0.1 small
	wait_until has_socket 'bytes_acked:[1-9][0-9][0-9]' fin-wait-1
	pull "$A"
	gives_up a
) & later
beside 'refused, no such host, no route, no answer: one line that names the host, exit 1'; ( begin
	hosts
	for family in ipv4 ipv6; do
		$B sh -c "echo 100 >/proc/sys/net/$family/neigh/$LINK/retrans_time_ms"
	done
	$B ip neigh add 192.0.2.66 lladdr "$($A cat "/sys/class/net/$LINK/address")" dev "$LINK"
	$B ip route add prohibit 198.51.100.0/24
	PORT=9
	exits 1 zcc -s 192.0.2.77 --timeout 4 --request 10 -n 2
	one_line err
	grep -qx "zcc: 192.0.2.77 port 9: the first connections failed, .*: is there a zcs --reply?" err
	grep -q '^  failed: 2 ' out
	while read -r host why; do
		fails "^zcc: cannot connect to $host port 9: $why\(: is zcs running there?\)\?$" zcc -s $host --timeout 4 ../file
	done <<-END
		$A4 Connection refused
		$A6 Connection refused
		192.0.2.77 No route to host
		2001:db8:1::1 Network is unreachable
		198.51.100.1 Permission denied
	END
	for host in 192.0.2.66 "fe80::77%$LINK"; do
		fails "^zcc: cannot connect to $host port 9: Connection timed out$" zcc -s "$host" --timeout 0.2 ../file
	done
	fails "^zcc: cannot connect to 192.0.2.66 port 9 within 0.4 s (--wait-server): Connection timed out$" \
	    zcc -s 192.0.2.66 --wait-server 0.4 ../file
	for signal in INT:130 TERM:143 HUP:129; do # while it connects
		start_zcc a -s 192.0.2.66 ../file
		wait_until has_socket 192.0.2.66 syn-sent
		zcc_ends a ${signal#*:} ${signal%:*}
		not [ -s a.out ]
		not [ -s a.err ]
	done
) & later
together
finish
