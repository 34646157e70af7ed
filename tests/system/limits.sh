#!/bin/sh
# Which clients zcs accepts, how many, for how long, and how many lines it prints about them.
# tests/unit/guard.c has the lists of --allow and the places; user.sh tests the privileges of zcs itself.
#
# group: sleeps
# seconds: 4
. "$TOP/tests/lib.sh"

net=$HELPERS/net
head -c 3000000 /dev/urandom >file
head -c 2000 file >2k
{ u32 1 1 1; printf x; } >stream
u32 1 >asks
u32 0 >zero # no loops: a whole stream
: >nothing
printf '\0\0' >half
u32 1 1 1000 >header
{ u32 1 1 1000; printf abc; } >body
ipv6=$(head -n 1 /proc/net/if_inet6 2>/dev/null)

# told ADDRESS FILE: what the server tells a client from there that sends this
told() { "$net" hold -n 1 -a "$1" -f "$2" "$PORT" | tail -n 1; }

# Lines about clients are limited, and so are the summaries, or objects, of those that move less than 1 KiB.
beside '200 clients that send half a header, or next to nothing: a line for 20 in ten seconds, the others are counted'; ( begin
	began=$(date +%s)
	start_zcs
	"$net" ask-and-reset -a 127.0.0.2 -n 10 -f ../half "$PORT"
	wait_until counts -eq 11 lines_in zcs.err
	"$net" hold -n 100 -a 127.0.0.2 -f ../zero "$PORT" >told
	[ "$(grep -c "^said bytes=0 " told)" -eq 100 ]
	"$net" ask-and-reset -a 127.0.0.2 -n 90 -f ../half "$PORT"
	# One that moves more has its line, wherever it comes from.
	for i in 1 2 3; do "$zcc" -s 0 -p "$PORT" -q ../2k >/dev/null; done
	wait_until counts -eq 1 threads_of $ZCS
	stop_zcs || :
	cat zcs.err zcs.out
	lines=$(cat zcs.err zcs.out | grep -c "^\(zcs: \)*127\.0\.0\.2:")
	[ "$lines" -ge 20 ]
	[ "$lines" -le $((20 * (1 + ($(date +%s) - began) / 10))) ]
	# Each number of omitted lines
	omitted=$(sed -n "s/^zcs: \([0-9]*\) lines* about clients w.* omitted$/\1/p" zcs.err | paste -s -d +)
	[ $((lines + ${omitted:-0})) -eq 200 ] # it may be a sum
	[ "$(summaries '^127\.0\.0\.1:.* 2000 bytes in')" -eq 3 ]
) & later

while IFS=';' read -r how here other asked; do
	beside "zcs $how: zcc $asked -s $here reaches it, and -s $other does not"; ( begin
		case $here,$other in *::* | *-6*) [ -n "$ipv6" ] || skip_check 'no IPv6 here' ;; esac
		case $here in *::*) at="[$here]" ;; *) at=$here ;; esac
		reached() { exits 0 "$zcc" -s $here -p "$PORT" $asked && exits 1 "$zcc" -s $other -p "$PORT" $asked && grep refused out err; }
		start_zcs $how
		# Another server of these tests may have that port of the other address.
		reached || { start_zcs $how && reached; }
		case $how in --bind*) grep -qxF "zcs: listening on $at:$PORT" zcs.err ;; esac # -p goes before a port of --bind
	) & later
done <<'END'
--bind 127.0.0.5;127.0.0.5;127.0.0.1;../tiny
--bind=[::1]:1 --allow 2001:db8::,::1,127.0.0.2;::1;127.0.0.1;../tiny
-4;127.0.0.1;::1;../tiny
-6 --reply;0 -6;0 -4;--request 10
END
while IFS=';' read -r how why; do
	check "zcs --bind $how: one line with the reason, exit 1" fails "^zcs: cannot listen on ${how% -4} port 0: .*$why" timeout 20 "$zcs" -p 0 --bind $how
done <<'END'
192.0.2.1;Cannot assign requested address
no.such.host.invalid; name
::1 -4;Address family
END
# --allow.
beside '--allow: its clients are served; zcc on another address prints why, by each method and option, and zcs a line'; ( begin
	start_zcs --allow 127.0.0.2 --allow=127.0.16.0/20
	told 127.0.16.1 ../stream | grep '^said bytes=1 '
	wait_until counts -eq 1 grep -c '^127' zcs.out
	told 127.0.0.1 ../stream | grep -x 'said refused=address'
	grep 'rejected: not in --allow$' zcs.err
	fds=$(entries_in /proc/$ZCS/fd)
	why="127.0.0.1:$PORT: rejected: the server does not serve this address (zcs --allow)"
	# shellcheck disable=SC2046 # several words
	for how in $(senders | sed 's|.*|-m & -n 5 ../tiny;-m & -n 5|' | tr ' ;' '_\n') -P_3 --warmup_1_-t_5 -k -q; do
		fails "^zcc: $why$" "$zcc" -s 0 -p "$PORT" $(echo $how | tr _ ' ') ../file
	done
	exits 1 "$zcc" -s 0 -p "$PORT" --json -P 2 ../tiny
	grep -q "\"error\":\"$why\"}$" out
	counts -eq 1 grep -c '^127' zcs.out
	wait_until counts -eq 1 threads_of $ZCS
	wait_until counts -eq "$fds" entries_in /proc/$ZCS/fd
) & later
beside '--allow with --raw and --reply: a rejected client is reset, or told nothing, and counted'; ( begin
	start_zcs --allow 127.0.0.2 --reply
	told 127.0.0.1 ../asks | grep -qx closed
	told 127.0.0.2 ../asks | grep -qx "said "
	exits 1 "$zcc" -s 0 -p "$PORT" --request 10 -n 3
	stop_zcs
	cat zcs.err zcs.out
	grep -q "rejected: not in --allow" zcs.err
	grep -Eq "^total: 1 reply, 1 byte; 4 rejected, 0 silent, 0 too large, 0 broken$" zcs.out
	start_zcs --allow 127.0.0.2 --raw
	told 127.0.0.1 ../stream | grep -qx closed
	# Behind an orderly end a client that has sent little would take it for received.
	exits 1 "$zcc" -s 0 -p "$PORT" --raw ../tiny
	says 'the server reset the connection'
) & later

# --max-clients.
beside '--max-clients 2: each client after the second has a line and the reason, until one of the two leaves'; ( begin
	start_zcs --max-clients 2
	hold_clients held.1 -n 1
	one=$HOLD
	hold_clients held.2 -n 4
	wait_until counts -eq 3 grep -cx "said refused=full" held.2
	wait_until counts -eq 3 grep -c "^zcs: 127\.0\.0\.1:[0-9]*: rejected: all places are taken (--max-clients)$" zcs.err
	wait_until counts -eq 3 threads_of $ZCS
	not grep "^said\|^closed" held.1
	fails ': the server has reached its limit of clients (zcs --max-clients)$' "$zcc" -s 0 -p "$PORT" ../tiny
	kill $one
	met() { "$zcc" -s 0 -p "$PORT" ../tiny >out 2>err || ! grep -q "reached its limit of clients" err; }
	wait_until met
	cat out err
	grep -q "all bytes sent were received" out
) & later
beside 'zcc --retry: a run that zcs rejects is repeated, and the comparison goes on'; ( begin
	start_zcs --max-clients 1 --idle-timeout 0
	hold_clients held -n 1 -a 127.0.0.1
	start_zcc run -r 2 -n 1 --retry 999 ../tiny
	wait_until or_gone "$run" grep -q 'rejected: the server has reached its limit of clients .*: the run is repeated, 2 of 999$' run.err
	kill "$HOLD"
	zcc_ends run 0
	grep '^2 rounds of 1 run' run.out
	port=$PORT
	start_zcs
	exits 1 "$zcc" -s 0 -p "$PORT" --cport "$port" -r 1 --retry 1 ../tiny
	grep "cport: port $port: Address already in use: the run is repeated, 1 of 1$" err
) & later
# --idle-timeout.
for how in $(receivers | sed 's/^/-m/') --raw; do
	beside "zcs $how --idle-timeout: silent from the start, in a header, after one, in a file: dropped with a line each"; ( begin
		start_zcs --idle-timeout 0.3 $how
		for f in nothing half header body; do
			"$net" hold -n 1 -f ../$f "$PORT" >held.$f &
			remember $!
		done
		for f in nothing half header body; do wait_until grep -qx closed held.$f; done
		wait_until counts -eq 4 grep -cE ": (silent for|no whole header within) 0.3 seconds \(--idle-timeout\), after [0-9]* byte" zcs.err
		[ "$(wc -l <zcs.err)" -eq 5 ]
		[ $how = --raw ] || [ "$(grep -c ", after 3 bytes$" zcs.err)" -eq 1 ]
	) & later
done
beside '--idle-timeout: a byte now and then keeps a client; with 0 keepalive alone, which --reply has, too'; ( begin; need ss
	met() { ss -tonH "sport = :$PORT" | grep -q keepalive; }
	for how in --reply '-m read'; do
		start_zcs --idle-timeout 0 $how
		hold_clients held.0 -n 1
		wait_until met
	done
	eternal=$ZCS
	start_zcs --idle-timeout 1
	hold_clients held.talks -n 1 -f ../header -d 100
	talks=$HOLD
	for i in 1 2; do
		hold_clients held -n 1
		wait_until grep -qx closed held
	done
	not gone $talks
	not grep closed held.talks held.0
	wait_until counts -eq 2 threads_of $ZCS
	wait_until counts -eq 2 threads_of $eternal
) & later
beside '--idle-timeout: clients at work are not dropped when zcs was stopped and continued'; ( begin
	start_zcs --idle-timeout 0.5 -I 0.05
	start_zcc working -P 2 -t 60 --pace 20m
	wait_until counts -eq 3 threads_of $ZCS
	kill -STOP $ZCS
	sleep 1.2
	kill -CONT $ZCS
	# The next looks at them have been.
	lines=$(lines_in zcs.out)
	wait_until counts -ge $((lines + 10)) lines_in zcs.out
	cat zcs.err working.err
	not grep "silent" zcs.err
	not gone $working
) & later
beside 'a client that has sent all and stays is let go after --idle-timeout, if that is under 10 s'; ( begin
	start_zcs --idle-timeout 0.3
	"$net" deaf -n 1 -d 60000 -f ../stream "$PORT" &
	remember $!
	wait_until [ -s zcs.out ]
	wait_until counts -eq 1 threads_of $ZCS
) & later
together
finish
