#!/bin/sh
# zcc and zcs across a link between two hosts (tests/lab): MTUs of 576 to 65535, IPv4 and IPv6, a
# cable that is pulled, addresses and links that go away, hosts out of reach.
#
# seconds: 20
# shellcheck disable=SC2046 # the words of $(of) and others are to be split
. "$TOP/tests/lib.sh"

# What a scenario on two hosts may call: host A receives, host B sends.
zcc()
{
	$B "$BIN/zcc" -p "$PORT" --congestion reno "$@"
}
# start_zcc NAME options: in the background, as from a terminal, where SIGINT is not ignored.  Its
# output is in NAME.out and NAME.err, and NAME is the variable of its id.
start_zcc()
{
	name=$1
	shift
	: >"$name.out"
	$B env --default-signal=INT "$BIN/zcc" -p "$PORT" --congestion reno "$@" \
	    >"$name.out" 2>"$name.err" &
	eval "$name=$!"
	remember $!
}
# client_ends NAME STATUS: waits for it to end so
client_ends()
{
	eval "ended_id=\$$1"
	ended "$ended_id"
	got=0; wait "$ended_id" || got=$?
	grep -Ev "^(  stream [0-9]*: )?[0-9]* kbytes.* retransmits?" "$1.out" || :
	cat "$1.err"
	[ $got -eq "$2" ]
}
# of A V: the address of a host
of()
{
	eval "echo \$$1$2"
}
# bytes_are N FILE: of both ends, in a report
bytes_are()
{
	[ "$(bytes_of "$2")" = "$1 $1" ] && grep -q "all bytes sent were received" "$2"
}
# sums NAME: its lines without those of single streams
sums()
{
	grep -v "^  stream [0-9]*:" "$1.out" || :
}
# flow NAME...: the last three of its intervals (-I) have something in them
flow()
{
	for name; do
		met()
		{
			awk '!/^  stream [0-9]*:/ { good = /^[1-9].* retransmits?/ ? good + 1 : 0 } END { exit good < 3 }' "$name.out"
		}
		wait_until met
	done
}
# silent NAME...: the last ten have nothing, which is a second
silent()
{
	for name; do
		met()
		{
			awk '!/^  stream [0-9]*:/ { none = /^0 kbytes\/sec/ ? none + 1 : 0 } END { exit none < 10 }' "$name.out"
		}
		wait_until met
	done
}
# gives_up NAME: by --timeout 2, with one line and without a report.  Its intervals, of a tenth of a
# second, say how long it waited: zcc looks once in each --timeout, so that twice that is possible.
gives_up()
{
	client_ends "$1" 1
	one_line "$1.err"
	grep -q "^zcc: .*:$PORT: the server accepted no data for 2[0-9.]* seconds (--timeout[^)]*) after [1-9]" "$1.err"
	waited=$(sums "$1" | awk '/^0 kbytes.* retransmits?/ { n++; next } { n = 0 } END { print n + 0 }')
	echo "$1 waited for $waited intervals"
	[ "$waited" -ge 10 ] && [ "$waited" -le 45 ]
}
# pull HOST and put_back HOST: that end of the cable
pull()
{
	$1 ip link set "$LINK" down
}
put_back()
{
	$1 ip link set "$LINK" up
}
# queues: as a card has them.  Without, TCP knows of each packet that the link drops, and what it
# sends again is no retransmission to it.
queues()
{
	$A tc qdisc add dev "$LINK" root pfifo && $B tc qdisc add dev "$LINK" root pfifo
}
# mss FILE: of a report
mss()
{
	figures_of "MSS, bytes" "$1"
}
# retransmits FILE: of a report
retransmits()
{
	figures_of retransmits "$1"
}
# retransmitted HOST: segments, of all its connections (/proc/net/snmp)
retransmitted()
{
	$1 awk '$1 == "Tcp:" && n { print $n; exit }
		$1 == "Tcp:" { for (i = 2; i <= NF; i++) if ($i == "RetransSegs") n = i }' /proc/net/snmp
}
# host_of A|B: what runs a command there
host_of()
{
	if [ "$1" = A ]; then echo "$A"; else echo "$B"; fi
}

# The test starts itself again in a lab for each scenario, `link.sh scenario N`, which goes over the same lines
# and does what the N-th `across` has.
scenario='' number=0 queue=''
[ "$1" != scenario ] || scenario=$2
scenario_ends()
{
	set +e # the trap may end with a status of its own
	exit 0
}
# across 'options of lab' 'what must hold': a check on two hosts and in a directory of its own.  It mostly
# waits: six run at a time, and their results come in order.
across()
{
	number=$((number + 1))
	if [ -n "$scenario" ]; then
		[ $number -le "$scenario" ] || scenario_ends
		[ $number -eq "$scenario" ] || return
		ON=$A
		set -e
		return
	fi
	mkdir across.$number
	ln -s ../file ../large across.$number
	echo "$2" >across.$number/what
	# shellcheck disable=SC2086 # the options are words
	(cd across.$number && exec "$TOP/tests/lab" $1 sh "$TOP/tests/system/link.sh" scenario $number) >across.$number/log 2>&1 &
	set -- $queue $number:$!
	queue=$*
	[ $# -lt 6 ] || collect
	return 1
}
collect()
{
	set -- $queue
	first=$1
	shift
	queue=$*
	status=0; wait "${first#*:}" || status=$?
	it "$(cat "across.${first%:*}/what")"; ( begin
		cat across."${first%:*}"/log
		[ "$status" -eq 0 ]
	); ok
}
leave()
{
	for q in $queue; do kill "${q#*:}"; done
	cleanup
}
if [ -z "$scenario" ]; then
	trap leave EXIT
	if ! "$TOP/tests/lab" true 2>/dev/null; then
		skip 'across a link' 'needs root, ip(8) and network namespaces'
		finish
	fi
	head -c 1000003 /dev/urandom >file
	head -c 3000000 /dev/urandom >large
	tc=yes
	"$TOP/tests/lab" sh -c '$B tc qdisc add dev $LINK root tbf rate 8mbit burst 16k limit 32k' 2>err || tc=
	export tc
fi

#
# MTUs.
#
for mtu in 576 1500 65535 $(scale '' '1280 9000'); do
	for v in 4 6; do
		[ "$mtu" -ge 1280 ] || [ $v -eq 4 ] || continue
		senders='sendfile send zerocopy' receivers='read trunc splice'
		if [ "$mtu" -eq 1500 ] && [ $v -eq "$(scale 4 $v)" ]; then
			senders=$(senders)
			receivers=$(receivers)
		fi
		# IP and TCP have headers, and TCP time stamps.  No segment is larger than half of the
		# largest window yet.
		mss=$((mtu - 12 - (v == 4 ? 40 : 60))) least=$mss
		[ "$mtu" -lt 65535 ] || least=$((mss / 4))
		if across "-m $mtu" "MTU $mtu, IPv$v: bytes agree by every method, segments fit"; then
			for to in $receivers; do
				start_zcs -m "$to"
				for how in $senders; do
					exits 0 zcc -s $(of A "$v") -m $how -n 2 file
					bytes_are 2000006 out
					[ "$(mss out)" -ge "$least" ] && [ "$(mss out)" -le "$mss" ]
				done
				exits 0 zcc --json -s $(of A "$v") file
				grep -Eq "\"pmtu\": ?${mtu}[,}]" out
				grep -Eq '"bytes_agree": ?true' out
				stop_zcs
			done
		fi
	done
done

if across '' '--mss: no larger segment is sent or asked for, on either host'; then
	start_zcs -I 0.1
	for v in 4 6; do
		start_zcc a -s $(of A $v) --mss 600 -t 60 --pace 2m -I 0.1
		flow a
		$A ss -tni state established "sport = :$PORT" >receiver
		$B ss -tni state established "dport = :$PORT" >sender
		cat receiver sender
		grep -q " rcvmss:588 .*" receiver
		grep -Eq " mss:5[0-9][0-9] " receiver
		grep -q " mss:588 .* advmss:588 " sender
		kill -TERM "$a"
		client_ends a 143
		[ "$(mss a.out)" -eq 588 ]
	done
fi
for end in A B; do
	[ $end = A ] && other=B whose=receiver || other=A whose=sender
	# The receiver asks for no larger segments than its route takes, but the path MTU is the sender's.
	if across '' "a route of a smaller MTU at the $whose: the report has the segments that fit it"; then
		$(host_of "$end") ip route add "$(of "$other" 4)" dev "$LINK" mtu 700
		$(host_of "$end") ip route add "$(of "$other" 6)" dev "$LINK" mtu 1300
		start_zcs
		for to in "$A4 700 648" "$A6 1300 1228"; do
			set -- $to
			exits 0 zcc -s $1 -n 2 file
			bytes_are 2000006 out
			[ "$(mss out)" -eq $3 ]
			exits 0 zcc -s $1 --json file
			[ $end = A ] || grep -Eq "\"pmtu\": ?$2[,}]" out
		done
	fi
done
if across '' 'the MTU falls in mid-transfer, of the route or of the link: it goes on'; then
	start_zcs -I 0.1
	start_zcc a -s "$A4" -n 40 --pace 10m -I 0.1 file
	start_zcc b -s "$A6" -n 40 --pace 10m -I 0.1 file
	flow a b
	$B ss -tni | grep -q " mss:1448 pmtu:1500 "
	$B ss -tni | grep -q " mss:1428 pmtu:1500 "
	$B ip route add "$A4" dev "$LINK" mtu 700
	for host in "$A" "$B"; do $host ip link set "$LINK" mtu 1280; done
	met()
	{
		$B ss -tni | grep -q " mss:648 pmtu:700 "
	}
	wait_until met
	met()
	{
		$B ss -tni | grep -q " mss:1208 pmtu:1280 "
	}
	wait_until met
	client_ends a 0
	client_ends b 0
	bytes_are 40000120 a.out
	bytes_are 40000120 b.out
	[ "$(mss a.out)" -eq 648 ]
	[ "$(mss b.out)" -eq 1208 ]
fi

#
# Streams, requests and reports.
#
for mtu in 576 1500 65535; do
	if across "-m $mtu" "MTU $mtu: requests are answered in full"; then
		start_zcs --reply
		for to in $A4 $A6; do
			exits 0 zcc -s "$to" --request 0,1,723,100000 -n 40 -P 4
			[ "$(grep -c "^[0-9]* bytes\? " out)" -eq 4 ]
			grep -Eq "^100000 bytes .* 3906\.25KiB " out
			not grep -q failed out
		done
		stop_zcs
		grep -Eq "^total: (160|320) replies, .*; 0 refused, 0 silent, 0 too large, 0 broken$" zcs.out
	fi
done
if command -v jq >/dev/null 2>&1; then
	if across '' '--json at both ends: who they are, and that they agree'; then
		start_zcs --json
		groups=0
		for to in "$A4 $B4" "$A6 $B6"; do
			set -- $to
			exits 0 zcc --json -s $1 -P 2 -n 20 file
			no_warning err
			groups=$((groups + 1))
			wait_until counts -eq $groups lines_in zcs.out
			cat zcs.out
			tail -n 1 zcs.out >last
			jq -es --arg to $1 --arg from $2 '.[0] |
			    .start.interface == "eth0" and .end.both_ends_on_host == false and
			    (.start.connected | length == 2 and all(.remote_host == $to and .local_host == $from)) and
			    .end.sum_sent.bytes == 40000120 and .end.sum_received.bytes == 40000120 and
			    .end.bytes_agree == true' out
			jq -es --arg from $2 '.[0] |
			    .start.accepted_connection.host == $from and .end.sum_received.bytes == 40000120 and
			    (.end.streams | length == 2 and all(.receiver.bytes == 20000060))' last
		done
	fi
else
	skip '--json at both ends' 'no jq'
fi
if across '' 'a link-local address with its scope, of the other host and of the own one'; then
	start_zcs
	link_local=$($A ip -6 -o addr show dev "$LINK" scope link | sed "s/.*inet6 \([^/]*\).*/\1/")
	exits 0 zcc -s "$link_local"%"$LINK" file
	bytes_are 1000003 out
	grep -q "^  to \[$link_local%$LINK\]:$PORT via $LINK, " out
	wait_until grep -q "^ *\[fe80::[0-9a-f:]*%$LINK\]:[0-9]*:.* 1000003 bytes" zcs.out
	fails "^zcc: cannot connect to $link_local port $PORT: Invalid argument$" zcc -s "$link_local" file
	exits 0 $A "$BIN/zcc" -p "$PORT" --congestion reno -s "$link_local"%"$LINK" --json file
	grep '"both_ends_on_host":true' out
fi

#
# A link that loses packets: more is sent to it than it takes.
#
if [ -n "$tc" ]; then
	if across '' 'a slow link that drops packets: intervals have what it takes, retransmits are right'; then
		$B tc qdisc add dev "$LINK" root tbf rate 8mbit burst 16k limit 32k
		start_zcs
		exits 0 zcc -s "$A4" -I 0.1 file
		bytes_are 1000003 out
		[ "$(retransmits out)" -gt 0 ]
		[ "$(retransmits out)" -eq "$(retransmitted "$B")" ]
		grep " retransmits, window " out >intervals
		# 8 Mbit/s are 977 kbytes/sec.  After a zcc that had no CPU an interval is short, in which a packet is much.
		awk '{ split($5, at, "[- ]") }
			$1 > 4000 && at[2] - at[1] > 0.05 { bad++ } $1 > 0 { good++ } END { exit bad > 0 || good < NR / 2 }' intervals
	fi
else
	skip 'a slow link that drops packets' "no tc with tbf"
fi

#
# The cable is pulled and put back.
#
for end in B A; do
	if across '' "the cable is pulled at host $end, and put back after a second: all arrives"; then
		[ -z "$tc" ] || queues
		start_zcs -I 0.1
		start_zcc a -s "$A4" -n 40 --pace 16m -I 0.1 file
		start_zcc b -s "$A6" -m zerocopy -n 40 --pace 16m -I 0.1 file
		flow a b
		pull "$(host_of "$end")"
		silent a b
		seen=$(wc -l <zcs.out)
		put_back "$(host_of "$end")"
		flow a b
		client_ends a 0
		client_ends b 0
		bytes_are 40000120 a.out
		bytes_are 40000120 b.out
		sum=$(($(retransmits a.out) + $(retransmits b.out)))
		echo "$sum retransmits"
		[ $sum -eq "$(retransmitted "$B")" ]
		# At B, the kernel has no route to send anything again by.
		[ -z "$tc" ] || [ "$end" = B ] || [ $sum -gt 0 ]
		wait_until grep -q ^total zcs.out
		cat zcs.out zcs.err
		one_line zcs.err
		[ "$(grep -Ec "^[0-9]+ kbytes/sec .*2 clients$" zcs.out)" -gt "$seen" ]
		[ "$(grep -c "^[1[].*:.* 40000120 bytes in" zcs.out)" -eq 2 ]
	fi
done
if across '' 'requests: those that the cable cuts off fail in time, and others follow'; then
	start_zcs --reply
	# heard N: whether N packets have come from there
	heard()
	{
		[ "$($A cat /sys/class/net/"$LINK"/statistics/rx_packets)" -ge $1 ]
	}
	asking()
	{
		$B ss -tn state syn-sent | sed -n "s/.*$B4:\([0-9]*\) .*/\1/p" | sort
	}
	start_zcc a -s "$A4" --request 1000 -t 60 -P 4 --timeout 1
	wait_until heard 1000
	pull "$A"
	wait_until not prints_nothing asking
	first=$(asking | head -n 1)
	met()
	{
		asking | not grep -qx "$first"
	}
	wait_until met
	more=$(($($A cat /sys/class/net/"$LINK"/statistics/rx_packets) + 1000))
	put_back "$A"
	wait_until heard $more
	kill -TERM "$a"
	client_ends a 143
	grep -q "^1000 bytes " a.out
	grep -Eq "^  failed: [1-9][0-9]* timed out$" a.out
fi

#
# The cable is pulled for good.
#
if across '' 'pulled for good: zcc --timeout gives up by every method, zcs --idle-timeout lets go'; then
	start_zcs --idle-timeout 2 -I 0.1
	descriptors=$(ls /proc/"$ZCS"/fd | wc -l)
	all=$(methods_of zcc | grep -v uring)
	for how in $all; do
		start_zcc $how -s "$A4" -m $how --timeout 2 -t 60 --pace 2m -I 0.1 file
	done
	start_zcc six -s "$A6" -P 2 --timeout 2 -t 60 --pace 2m -I 0.1 file
	flow $all six
	pull "$A"
	for how in $all six; do
		gives_up $how
	done
	wait_until counts -ge 9 lines_in zcs.err
	cat zcs.err
	[ "$(grep -Ec "^zcs: .*: silent for 2 seconds \(--idle-timeout\), after [1-9][0-9]* bytes$" zcs.err)" -eq 8 ]
	wait_until grep -q "^total of 8 clients" zcs.out
	wait_until counts -eq "$descriptors" entries_in /proc/"$ZCS"/fd
	exits 0 $A "$BIN/zcc" -s 0 -p "$PORT" file
	put_back "$A"
	# Its address, too, the kernel has given up for a while.
	met()
	{
		zcc -s "$A4" file >out 2>err
	}
	wait_until met
	bytes_are 1000003 out
fi
for v in 4 6; do
	if [ -n "$tc" ]; then
		# With --pace little would be in the socket: here the link is slow, and zcc has sent all
		if across '' "pulled when all is in the socket, IPv$v: --timeout"; then
			$B tc qdisc add dev "$LINK" root tbf rate 500kbit burst 16k limit 300k
			head -c 150000 file >small
			start_zcs
			# shellcheck disable=SC2046 # several words: $(of)
			start_zcc a -s $(of A "$v") -o 200k --timeout 2 -I 0.1 small
			met()
			{
				$B ss -tin state fin-wait-1 | grep -q 'bytes_acked:[1-9][0-9][0-9]'
			}
			wait_until met
			pull "$A"
			gives_up a
		fi
	else
		skip "pulled when all is in the socket, IPv$v: --timeout" "no tc with tbf"
	fi
done
if across '' 'pulled for good, no --timeout: SIGINT, SIGTERM and SIGHUP end it with a report'; then
	start_zcs -I 0.1
	start_zcc a -s "$A4" -t 60 --pace 2m -I 0.1 file
	start_zcc b -s "$A6" -m zerocopy -t 60 --pace 2m -I 0.1 file
	start_zcc c -s "$A4" -P 2 -m splice -n 100 --pace 2m -I 0.1 file
	start_zcc d -s "$A4" --json -n 100 --pace 2m -I 0.1 file
	flow a b c
	pull "$A"
	silent a b c
	kill -INT "$a"
	kill -TERM "$b"
	kill -HUP "$c"
	kill -INT "$d"
	client_ends a 130
	client_ends b 143
	client_ends c 129
	client_ends d 130
	for name in a b c; do
		not [ -s $name.err ]
		grep "^[0-9]* kbytes.* retransmits" $name.out | tail -n 1 | grep -q "^0 kbytes"
		grep -Eqx "[1-9][0-9]* kbytes/sec \([0-9.]+ Gbit/s\)" $name.out
		bytes_of $name.out | grep -Eqx "[1-9][0-9]+"
	done
	not [ -s d.err ]
	one_line d.out
	grep -Eq '"error": ?"interrupted"' d.out
	# The clients are gone, and zcs cannot know.
	exits 0 $A "$BIN/zcc" -s 0 -p "$PORT" file
	kill -TERM "$ZCS"
	got=0; wait "$ZCS" || got=$?
	[ $got -eq 0 ]
	cat zcs.err
	[ "$(grep -Ec "interrupted after [1-9][0-9]* bytes$" zcs.err)" -eq 5 ]
	grep -q "^total of [0-9]* clients: " zcs.out
fi

#
# Addresses and links go away.
#
for end in A B; do
	[ $end = A ] && whose=receiver || whose=sender
	if across '' "the addresses of the $whose go away for good: one line, exit 1, and zcs serves on"; then
		start_zcs --idle-timeout 2 -I 0.1
		for v in 4 6; do
			start_zcc a$v -s $(of A $v) --timeout 2 -t 60 --pace 2m -I 0.1 file
		done
		flow a4 a6
		$(host_of "$end") ip addr flush dev "$LINK" scope global
		gives_up a4
		gives_up a6
		wait_until counts -eq 2 grep -c "silent for 2 seconds" zcs.err
		exits 0 $A "$BIN/zcc" -s 0 -p "$PORT" file
		$(host_of "$end") ip addr add $(of "$end" 4)/24 dev "$LINK"
		exits 0 zcc -s "$A4" file
		stop_zcs
	fi
done
if across '' 'the link is gone: one line, exit 1; interrupted, a report; zcs serves on'; then
	start_zcs --idle-timeout 2 -I 0.1
	for v in 4 6; do
		start_zcc a$v -s $(of A $v) --timeout 2 -t 60 --pace 2m -I 0.1 file
		start_zcc b$v -s $(of A $v) -t 60 --pace 2m -I 0.1 file
	done
	flow a4 a6 b4 b6
	$A ip link del "$LINK"
	not $B ip link show "$LINK"
	gives_up a4
	gives_up a6
	for v in 4 6; do
		eval "kill -TERM \$b$v"
		client_ends b$v 143
		not [ -s b$v.err ]
		bytes_of b$v.out | grep -Eqx "[1-9][0-9]+"
	done
	wait_until counts -eq 4 grep -c "silent for 2 seconds" zcs.err
	exits 0 $A "$BIN/zcc" -s 0 -p "$PORT" file
	stop_zcs
fi

#
# Hosts out of reach.
#
if across '' 'refused, no such host, no route, no answer: one line that names the host, exit 1'; then
	for family in ipv4 ipv6; do
		$B sh -c "echo 100 >/proc/sys/net/$family/neigh/$LINK/retrans_time_ms"
	done
	$B ip neigh add 192.0.2.66 lladdr $($A cat /sys/class/net/"$LINK"/address) dev "$LINK"
	$B ip neigh add 2001:db8::66 lladdr $($A cat /sys/class/net/"$LINK"/address) dev "$LINK"
	$B ip route add prohibit 198.51.100.0/24
	PORT=9
	while read -r host why; do
		exits 1 zcc -s $host --timeout 4 file
		one_line err
		grep -Eqx "zcc: cannot connect to $host port 9: $why(: is zcs running there\?)?" err
		not [ -s out ]
		exits 1 zcc -s $host --timeout 4 --request 10 -n 2
		one_line err
		grep -qx "zcc: $host port 9: the first connections failed, .*: is there a zcs --reply?" err
		grep -q "^  failed: 2 " out
	done <<-END
		$A4 Connection refused
		$A6 Connection refused
		192.0.2.77 No route to host
		2001:db8::77 No route to host
		203.0.113.1 Network is unreachable
		2001:db8:1::1 Network is unreachable
		198.51.100.1 Permission denied
		fe80::77 Invalid argument
	END
	for host in 192.0.2.66 2001:db8::66 fe80::77%$LINK; do
		fails "^zcc: cannot connect to $host port 9: Connection timed out$" zcc -s $host --timeout 1 file
	done
fi
if across '' 'a signal ends it while it connects'; then
	$B ip neigh add 192.0.2.66 lladdr $($A cat /sys/class/net/"$LINK"/address) dev "$LINK"
	PORT=9
	for signal in INT:130 TERM:143 HUP:129; do
		start_zcc a -s 192.0.2.66 file
		met()
		{
			$B ss -tn state syn-sent | grep -q 192.0.2.66
		}
		wait_until met
		kill -${signal%:*} "$a"
		client_ends a ${signal#*:}
		not [ -s a.out ]
		not [ -s a.err ]
	done
fi

[ -z "$scenario" ] || scenario_ends
while [ -n "$queue" ]; do
	collect
done
finish
