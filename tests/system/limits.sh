#!/bin/sh
# Which clients zcs accepts, how many, for how long, and how many lines it prints about them.
# user.sh tests the privileges of zcs itself.
#
# group: waits
# seconds: 15
. "$TOP/tests/lib.sh"

zcs=$BIN/zcs zcc=$BIN/zcc net=$HELPERS/net
head -c 3000000 /dev/urandom >file
printf x >tiny
{ u32 1 1 1; printf x; } >stream
u32 1 >asks
printf '\0\0' >half
u32 1 1 1000 >header
{ u32 1 1 1000; printf abc; } >body
[ -e /proc/net/if_inet6 ] && v6=yes

# served ADDRESS..., and turned_away ADDRESS...: what a client from there, or all of them, are told
served()
{
	for a in "$@"; do
		"$net" hold -n 1 -a "$a" -f stream "$PORT" >told
		echo "$a: $(tail -n 1 told)"
		grep -q '^said bytes=1 ' told
	done
}

turned_away()
{
	for a in "$@"; do
		"$net" hold -n 1 -a "$a" -f stream "$PORT" >told
		echo "$a: $(tail -n 1 told)"
		grep -qx 'said refused=address' told
	done
}

# The lines, first half: what comes later is asked for at the end of this test.
head -c 2000 file >2k
start_zcs
lines=$PORT lines_pid=$ZCS lines_start=$(date +%s)
it '100 bad clients cost 20 lines, and an honest one has its own'; ( begin
	"$net" ask-and-reset -a 127.0.0.2 -n 100 -f half "$PORT"
	"$zcc" -s 0 -p "$PORT" -q 2k
	met()
	{
		[ "$(threads_of "$ZCS")" -eq 1 ] && [ -s zcs.out ]
	}
	wait_until met
	cat zcs.err zcs.out
	echo $(($(date +%s) - lines_start)) seconds
	[ "$(grep -c "^zcs: 127\.0\.0\.2:[0-9]*: " zcs.err)" -le $((20 * (1 + ($(date +%s) - lines_start) / 10))) ]
	[ "$(grep -c "^zcs: 127\.0\.0\.2:[0-9]*: " zcs.err)" -ge 20 ]
	[ "$(grep -c "^127" zcs.out)" -eq 1 ]
	grep -q "^127\.0\.0\.1:.* 2000 bytes in" zcs.out
); ok
mv zcs.err lines.err

# beside 'what must hold' FUNCTION: a check that mostly waits: it goes on in a directory of its own while the
# others do, and ends_beside has its result
besides=0
beside()
{
	besides=$((besides + 1))
	mkdir beside.$besides
	for f in file tiny stream asks half header body; do ln -s ../$f beside.$besides; done
	echo "$1" >beside.$besides/what
	( cd beside.$besides || exit; set -e; "$2" ) >beside.$besides.log 2>&1 &
	eval "beside_$besides=$!"
}
ends_beside()
{
	for n in $(seq $besides); do
		status=0; eval "wait \$beside_$n" || status=$?
		it "$(cat beside.$n/what)"; ( begin
			cat beside.$n.log
			[ $status -eq 0 ]
		); ok
	done
}

# While zcs is stopped it reads nothing, and its clients can move nothing: that looks like silence.
stopped_is_no_silence()
{
	start_zcs --idle-timeout 2
	"$zcc" -s 0 -p "$PORT" -P 2 -t 60 --congestion reno --pace 20m >working.out 2>working.err &
	working=$!
	remember $working
	wait_until counts -eq 3 threads_of $ZCS
	kill -STOP $ZCS
	sleep 5.5
	kill -CONT $ZCS
	sleep 1
	cat zcs.err working.err
	not grep -q "silent" zcs.err
	not gone $working
	kill -INT $working
	kill -TERM $ZCS
	ended $ZCS
}
beside '--idle-timeout: clients at work are not dropped when zcs was stopped and continued' stopped_is_no_silence
client_that_has_sent()
{
	start_zcs
	long=$ZCS
	"$net" deaf -n 1 -d 60000 -f stream "$PORT" &
	remember $!
	wait_until [ -s zcs.out ]
	start_zcs --idle-timeout 0.5
	"$net" deaf -n 1 -d 60000 -f stream "$PORT" &
	remember $!
	wait_until [ -s zcs.out ]
	wait_until counts -eq 1 threads_of $ZCS
	wait_until counts -eq 2 threads_of $long
	stop_zcs || true
	kill $long
}
beside 'a client that has sent all and stays is let go after --idle-timeout, if that is under 10 s' client_that_has_sent
idle_timeout_each_method()
{
	start_zcs --idle-timeout 0.3 $how
	"$net" hold -n 2 -f body "$PORT" >held
	[ "$(grep -cx closed held)" -eq 2 ]
	wait_until counts -eq 2 grep -c ": silent for 0.3 seconds" zcs.err
	stop_zcs
	cat zcs.err
	[ "$(grep -c ": silent for 0.3 seconds (--idle-timeout), after " zcs.err)" -eq 2 ]
}
for how in "-m recv" "-m trunc" "-m splice" --raw; do
	beside "--idle-timeout with $how" idle_timeout_each_method
done

# --bind.
it '--bind: this address and no other, to which a name may lead'; ( begin
	for how in 127.0.0.5 "localhost -4" "127.0.0.5 --reply"; do
		start_zcs --bind $how
		case $how in localhost*) here=127.0.0.1 other=127.0.0.5 ;; *) here=127.0.0.5 other=127.0.0.1 ;; esac
		case $how in *reply) asked='--request 10' ;; *) asked=tiny ;; esac
		grep -qx "zcs: listening on $here:$PORT" zcs.err
		exits 0 "$zcc" -s $here -p "$PORT" $asked
		exits 1 "$zcc" -s $other -p "$PORT" $asked
		grep -q 'refused' out err
		stop_zcs
	done
); ok
it '--bind: IPv6'; ( begin
	[ -n "$v6" ] || skip_check 'no IPv6 here'
	start_zcs --bind ::1
	grep -qx "zcs: listening on \[::1\]:$PORT" zcs.err
	exits 0 "$zcc" -s ::1 -p "$PORT" tiny
	exits 1 "$zcc" -s 127.0.0.1 -p "$PORT" tiny
	stop_zcs
	fails '' timeout 20 "$zcs" -p 0 --bind ::1 -4
); ok
it '--bind with an address that is not here: one line that names it, exit 1'; ( begin
	for a in 192.0.2.1 no.such.host.invalid; do
		fails "^zcs: cannot listen on $a port 0: " timeout 20 "$zcs" -p 0 --bind "$a"
	done
); ok
# --allow.  tests/unit/guard.c has the lists.
while IFS=';' read -r options here not_here; do
	it "${options:-without --allow}: served: ${here:-none}; not: ${not_here:-none}"; ( begin
		start_zcs $options
		served $here
		turned_away $not_here
		[ "$(grep -c "rejected: not in --allow$" zcs.err)" -eq "$(echo $not_here | wc -w)" ]
		stop_zcs
	); ok
done <<'END'
;127.0.0.1 127.200.3.4;
--allow 127.0.16.0/20;127.0.16.1 127.0.31.254;127.0.15.254 127.0.32.1
--allow 127.0.0.2,127.0.0.4/30 --allow=127.0.0.9;127.0.0.2 127.0.0.4 127.0.0.7 127.0.0.9;127.0.0.1 127.0.0.3 127.0.0.8
--allow ::1,::/80;;127.0.0.1
END
it '--allow: IPv6'; ( begin
	[ -n "$v6" ] || skip_check 'no IPv6 here'
	for a in ::/127 2001:db8::,::1,127.0.0.2; do
		start_zcs --allow "$a"
		exits 0 "$zcc" -s ::1 -p "$PORT" tiny
		stop_zcs
	done
	for a in ::2 127.0.0.1 0.0.0.0/0; do
		start_zcs --allow "$a"
		fails "^zcc: \[::1\]:$PORT: rejected: " "$zcc" -s ::1 -p "$PORT" tiny
		stop_zcs
	done
); ok
# add_address ADDRESS...: to lo, of IPv6
add_address()
{
	for a in "$@"; do
		ip -6 address add "$a/128" dev lo nodad
		met()
		{
			ip -6 route show table local | grep -q "$a"
		}
		wait_until met
	done
}
if [ -n "$v6" ] && [ -n "$OWN_NETWORK" ]; then
	it '--allow: bits of IPv6 that are not whole bytes'; ( begin
		add_address 2001:db8:0:7f::1 2001:db8:0:80::1 2001:db8:0:ff::1 2001:db8:0:100::1
		start_zcs --allow 2001:db8:0:80::/57
		for a in 80::1 ff::1; do
			exits 0 "$zcc" -s 2001:db8:0:$a -p "$PORT" -q tiny
		done
		for a in 7f::1 100::1; do
			exits 1 "$zcc" -s 2001:db8:0:$a -p "$PORT" -q tiny
		done
		stop_zcs
	); ok
else
	skip '--allow: bits of IPv6 that are not whole bytes' 'needs root, ip(8), network namespaces and IPv6'
fi
check_usage "--allow: '127.0.0.2,127.0.0.1/40' is not address\[/bits\]\[,...\]" zcs -p 0 --allow 127.0.0.2,127.0.0.1/40
check_usage "--allow: 'fe80::1%lo' is not .* without a %ZONE" zcs -p 0 --allow fe80::1%lo
# The error that a rejected client reports.
start_zcs --allow 127.0.0.2
fds=$(ls /proc/"$ZCS"/fd | wc -l)
it 'zcc that is not in --allow, by each method and option: it prints why, exit 1'; ( begin
	# shellcheck disable=SC2046 # several words
	for how in $(senders | sed 's/.*/-m & -n 5 tiny;-m & -n 5/' | tr ' ;' '_\n') -P_3 --warmup_1_-t_5 -k -q; do
		fails "^zcc: 127.0.0.1:$PORT: rejected: the server does not serve this address (zcs --allow)$" \
		    "$zcc" -s 0 -p "$PORT" $(echo $how | tr _ ' ') file
	done
); ok
it 'zcc --json: that it was rejected is the error in the object'; ( begin
	for f in file tiny; do
		exits 1 "$zcc" -s 0 -p "$PORT" --json -P 2 $f
		one_line out
		grep -Eq "\"error\":\"127\.0\.0\.1:$PORT: rejected: the server does not serve this address \(zcs --allow\)\"\}$" out
	done
); ok
it 'rejected clients (--allow) leave no line on stdout, no thread and no descriptor'; ( begin
	cat zcs.out
	not [ -s zcs.out ]
	wait_until counts -eq 1 threads_of $ZCS
	wait_until counts -eq "$fds" entries_in /proc/$ZCS/fd
); ok
stop_zcs
start_zcs --allow 127.0.0.2 --raw
it '--allow --raw: a rejected client is reset'; ( begin
	"$net" hold -n 1 -f stream "$PORT" | tail -n 1 | grep -qx closed
	exits 1 "$zcc" -s 0 -p "$PORT" --raw -n 100 file
	one_line err
	grep -Eq "the server (closed|reset) the connection" err
	# Behind an orderly end a client that has sent little would take it for received.
	! can_trace || { strace -o trace -e trace=sendto,recvfrom "$net" hold -n 1 -f stream "$PORT"; grep ECONNRESET trace; }
); ok
stop_zcs
start_zcs --allow 127.0.0.2 --reply
it '--allow --reply: a rejected client receives no reason, and is counted'; ( begin
	"$net" hold -n 1 -f asks "$PORT" | tail -n 1 | grep -qx closed
	"$net" hold -n 1 -a 127.0.0.2 -f asks "$PORT" | tail -n 1 | grep -qx "said "
	exits 1 "$zcc" -s 0 -p "$PORT" --request 10 -n 3
	kill -TERM $ZCS
	ended $ZCS
	cat zcs.err zcs.out
	grep -q "rejected: not in --allow" zcs.err
	grep -Eq "^total: 1 reply, 1 byte; 4 refused, 0 silent, 0 too large, 0 broken$" zcs.out
); ok

# --max-clients.
start_zcs --max-clients 2
hold_clients held.1 -n 1 -a 127.0.0.1
one=$HOLD
hold_clients held.2 -n 4 -a 127.0.0.3
it '--max-clients 2: two clients are accepted, and each rejected one has a line'; ( begin
	wait_until counts -eq 3 grep -cx "said refused=full" held.2
	wait_until counts -ge 4 lines_in zcs.err
	cat zcs.err
	[ "$(grep -c "^zcs: 127\.0\.0\.3:[0-9]*: rejected: all places are taken (--max-clients)$" zcs.err)" -eq 3 ]
	wait_until counts -eq 3 threads_of $ZCS
	not grep "^said\|^closed" held.1
); ok
it '--max-clients: zcc prints why it was rejected, exit 1'; ( begin
	for f in file tiny; do
		fails "^zcc: 127.0.0.1:$PORT: rejected: the server has reached its limit of clients (zcs --max-clients)$" "$zcc" -s 0 -p "$PORT" $f
	done
); ok
it '--max-clients: the place of a client that leaves is free'; ( begin
	kill $one
	met()
	{
		"$zcc" -s 0 -p "$PORT" tiny >out 2>err || ! grep -q "reached its limit of clients" err
	}
	wait_until met
	cat out err
	grep -q "all bytes sent were received" out
); ok
kill $HOLD
stop_zcs
it '--max-clients --reply'; ( begin
	start_zcs --reply --max-clients 3
	hold_clients held -n 5
	wait_until counts -eq 3 grep -cx closed held
	exits 1 "$zcc" -s 0 -p "$PORT" --request 10 -n 2
	kill $HOLD
	met()
	{
		"$net" hold -n 1 -f asks "$PORT" | grep -q said
	}
	wait_until met
	kill -TERM $ZCS
	ended $ZCS
	cat zcs.err zcs.out
	grep -Eq "^total: 1 reply, 1 byte; [1-9][0-9]* refused, 0 silent, 0 too large, 2 broken$" zcs.out
	[ "$(grep -c "rejected: its network has three quarters of all places (--max-clients)$" zcs.err)" -ge 5 ]
); ok

# One address has three quarters of the places at most.
for how in '' '-m splice' --json --raw --reply; do
	it "--max-clients 4${how:+ $how}: an address has three places, and another the fourth"; ( begin
		start_zcs --max-clients 4 --idle-timeout 0 $how
		hold_clients held -n 4 -a 127.0.0.2 -f half
		old=$HOLD
		wait_until counts -eq 1 grep -c "^said refused=full\|^closed" held
		wait_until counts -eq 1 grep -c "^zcs: 127\.0\.0\.2:[0-9]*: rejected: its network has three quarters of all places (--max-clients)$" zcs.err
		hold_clients held.new -n 2 -a 127.0.0.3 -f half
		wait_until counts -eq 1 grep -c "^zcs: 127\.0\.0\.3:[0-9]*: rejected: all places are taken (--max-clients)$" zcs.err
		cat zcs.err
		[ "$(grep -c "^said\|^closed" held)" -eq 1 ]
		[ "$(grep -c "^said\|^closed" held.new)" -eq 1 ]
		kill $old $HOLD
		kill -TERM $ZCS
		ended $ZCS
	); ok
done
it 'all places taken: a client at work keeps its place, and the newcomer is rejected'; ( begin
	start_zcs --max-clients 1 -I 0.1
	"$zcc" -s 0 -p "$PORT" -t 60 --congestion reno --pace 20m >worker 2>&1 &
	worker=$!
	remember $worker
	wait_until counts -ge 3 grep -c "^[1-9][0-9]* kbytes/sec" zcs.out
	for i in 1 2 3 4 5; do
		timeout 20 "$net" hold -n 1 -a 127.0.0.3 "$PORT" | tail -n 1 | grep -qx "said refused=full"
	done
	kill -TERM $worker
	ended $worker
	cat worker zcs.err
	grep -q "all bytes sent were received" worker
	stop_zcs || true
); ok
if [ -n "$v6" ] && [ -n "$OWN_NETWORK" ]; then
	network_of_ipv6()
	{
		add_address 2001:db8:0:1::1 2001:db8:0:1::2 2001:db8:0:2::1
		start_zcs --max-clients 2
		"$zcc" -s 2001:db8:0:1::1 -p "$PORT" --pace 1k -t 60 file >/dev/null 2>&1 &
		remember $!
		wait_until counts -eq 2 threads_of "$ZCS"
		exits 1 "$zcc" -s 2001:db8:0:1::2 -p "$PORT" -q tiny
		exits 0 "$zcc" -s 2001:db8:0:2::1 -p "$PORT" -q tiny
		stop_zcs || true
	}
	beside '--max-clients: the addresses of an IPv6 network of 64 bits are one' network_of_ipv6
else
	skip '--max-clients: networks of IPv6' 'needs root, ip(8), network namespaces and IPv6'
fi

# Summaries on stdout: those of clients that move less than 1 KiB are limited, too.
u32 0 >zero # no loops: a whole stream
it '100 clients that send next to nothing: a line for 20 in ten seconds, and the others counted'; ( begin
	began=$(date +%s)
	start_zcs
	"$net" hold -n 100 -a 127.0.0.2 -f zero "$PORT" >told
	[ "$(grep -c "^said bytes=0 " told)" -eq 100 ]
	# One that moves more has its line, wherever it comes from.
	for i in 1 2 3; do "$zcc" -s 0 -p "$PORT" -q 2k >/dev/null; done
	wait_until counts -eq 1 threads_of $ZCS
	kill -TERM $ZCS
	ended $ZCS
	cat zcs.err zcs.out
	lines=$(grep -c "^127\.0\.0\.2:" zcs.out)
	[ "$lines" -ge 20 ]
	[ "$lines" -le $((20 * (1 + ($(date +%s) - began) / 10))) ]
	[ "$(grep -c "^127\.0\.0\.1:.* 2000 bytes in" zcs.out)" -eq 3 ]
	more=$(sed -n "s/^zcs: \([0-9]*\) lines about clients were omitted$/\1/p" zcs.err | awk '{ n += $1 } END { print n + 0 }')
	[ $((lines + more)) -eq 100 ]
); ok
it '--json: 60 clients that send next to nothing: an object for 20 in ten seconds'; ( begin; need jq
	began=$(date +%s)
	start_zcs --json
	i=0
	while [ $i -lt 60 ]; do
		"$net" hold -n 1 -a 127.0.0.2 -f stream "$PORT" >told
		i=$((i + 1))
	done
	wait_until counts -eq 1 threads_of $ZCS
	"$zcc" -s 0 -p "$PORT" -q 2k >/dev/null
	for i in 1 2 3; do "$net" hold -n 1 -a 127.0.0.2 -f stream "$PORT" >told; done
	wait_until counts -eq 1 threads_of $ZCS
	kill -TERM $ZCS
	ended $ZCS
	cat zcs.err zcs.out
	[ "$(grep -c '^{.*"sum_received"' zcs.out)" -le $((1 + 20 * (1 + ($(date +%s) - began) / 10))) ]
	jq -se 'map(.end.streams | length) | add >= 21' zcs.out
	jq -se 'map(.end.sum_received.bytes == 2000) | any' zcs.out
	grep -q '^zcs: [0-9]* lines about clients were omitted$' zcs.err
); ok

# --idle-timeout: one that speaks now and then outstays those that are silent, as all do where it is 0.
start_zcs --idle-timeout 0
eternal=$ZCS
hold_clients held.0 -n 1 -f body
eternal_hold=$HOLD
mv zcs.err eternal.err
start_zcs --idle-timeout 2
hold_clients held.talks -n 1 -f header -d 100
talks=$HOLD
hold_clients held.nothing -n 1
hold_clients held.half -n 1 -f half
hold_clients held.header -n 1 -f header
hold_clients held.body -n 1 -f body
it '--idle-timeout: silent from the start, in a header, after one, in a file: one line each'; ( begin
	for f in nothing half header body; do wait_until grep -qx closed held.$f; done
	wait_until counts -eq 5 lines_in zcs.err
	cat zcs.err
	[ "$(grep -c ": silent for 2 seconds (--idle-timeout), after [03] bytes$" zcs.err)" -eq 4 ]
	[ "$(grep -c ", after 3 bytes$" zcs.err)" -eq 1 ]
); ok
hold_clients held -n 1
it '--idle-timeout: a client that sends a byte now and then is not dropped'; ( begin
	wait_until grep -qx closed held
	not gone $talks
	not grep -q closed held.talks
	wait_until counts -eq 2 threads_of $ZCS
); ok
it '--idle-timeout 0: nobody is disconnected'; ( begin
	not gone $eternal_hold
	not grep -q closed held.0
	wait_until counts -eq 2 threads_of $eternal
); ok
kill $talks $eternal_hold $eternal
it '--idle-timeout: the client that was not dropped is served to its end'; ( begin
	wait_until grep -q "closed in the middle of a file, after" zcs.err
	wait_until counts -eq 1 threads_of $ZCS
	cat zcs.err
	[ "$(wc -l <zcs.err)" -eq 7 ]
); ok
stop_zcs
it '--idle-timeout 0: what a client sends beyond what it announced has a line, and it gets its receipt'; ( begin
	start_zcs --idle-timeout 0 -1
	{ cat stream; wait_until [ -s zcs.out ] >&2; sleep 0.2; printf more; } | "$net" send "$PORT" >receipt
	ended $ZCS
	cat zcs.err receipt
	grep -q '^bytes=1 ' receipt
	grep -q ': sent more than it announced' zcs.err
); ok
it '--idle-timeout 0: a client that vanishes is noticed by keepalive, with --reply too'; ( begin; need ss
	for how in "-m read" --reply; do
		start_zcs --idle-timeout 0 $how
		hold_clients held -n 1
		met()
		{
			ss -tonH "sport = :$PORT" | grep -q keepalive
		}
		wait_until met
		kill $HOLD
		stop_zcs || true
	done
); ok

ends_beside

# The lines, second half: ten seconds later.
while [ $(($(date +%s) - lines_start)) -lt 12 ]; do sleep 0.2; done
it 'omitted lines are counted at the next line and at the end'; ( begin
	cat lines.err
	PORT=$lines
	said=$(grep -c "^zcs: 127\.0\.0\.2:[0-9]*: " lines.err)
	"$net" ask-and-reset -a 127.0.0.2 -n 21 -f half "$PORT"
	wait_until counts -eq $((said + 20)) grep -c "^zcs: 127\.0\.0\.2:[0-9]*: " lines.err
	grep -qx "zcs: $((100 - said)) lines about clients were omitted" lines.err
	wait_until counts -eq 1 threads_of "$lines_pid"
	kill -TERM "$lines_pid"
	ended "$lines_pid"
	tail -n 1 lines.err | grep -qx "zcs: 1 line about clients was omitted"
); ok
finish
