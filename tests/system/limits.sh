#!/bin/sh
# Which clients zcs accepts, how many, for how long, and how many lines it prints about them.
# tests/unit/guard.c has the lists of --allow, the places and the times; user.sh tests the privileges of zcs itself.
#
# group: sleeps
# seconds: 4
. "$TOP/tests/lib.sh"

net=$HELPERS/net
head -c 3000000 /dev/urandom >file
head -c 2000 file >2k
{ u32 1 1 1; printf x; } >stream
u32 0 >zero # no loops: a whole stream
{ u32 1 1 1000; printf abc; } >body
ipv6=$(head -n 1 /proc/net/if_inet6 2>/dev/null)

# Lines about clients are limited, and so are the summaries, or objects, of those that move less than 1 KiB.
beside '100 clients that send next to nothing: a line for 20 in ten seconds, the others are counted; one of 2 kB has its own'; ( begin
	began=$(date +%s)
	start_zcs
	"$net" hold -n 100 -a 127.0.0.2 -f ../zero "$PORT" >told
	[ "$(grep -c "^said bytes=0 " told)" -eq 100 ]
	exits 0 "$zcc" -s 0 -p "$PORT" -q ../2k
	wait_until counts -eq 1 threads_of $ZCS
	stop_zcs
	cat zcs.err zcs.out
	lines=$(cat zcs.err zcs.out | grep -c "^\(zcs: \)*127\.0\.0\.2:")
	[ "$lines" -ge 20 ]
	[ "$lines" -le $((20 * (1 + ($(date +%s) - began) / 10))) ]
	# Each number of omitted lines
	omitted=$(sed -n "s/^zcs: \([0-9]*\) lines* about clients w.* omitted$/\1/p" zcs.err | paste -s -d +)
	[ $((lines + ${omitted:-0})) -eq 100 ] # it may be a sum
	[ "$(summaries '^127\.0\.0\.1:.* 2000 bytes in')" -eq 1 ]
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
beside '--allow: zcc on another address prints why, in JSON, too, where zcs can tell it; requests are counted as rejected'; ( begin
	start_zcs --allow 127.0.0.2 --allow=127.0.16.0/20
	exits 0 "$zcc" -s 127.0.0.1 -p "$PORT" --bind 127.0.16.1 ../tiny
	fds=$(entries_in /proc/$ZCS/fd)
	why="127.0.0.1:$PORT: rejected: the server does not serve this address (zcs --allow)"
	for how in '-P 3' '--warmup 1 -t 5' '-n 5 ../tiny'; do fails "^zcc: $why$" "$zcc" -s 0 -p "$PORT" $how ../file; done
	exits 1 "$zcc" -s 0 -p "$PORT" --json -P 2 ../tiny
	grep -q "\"error\":\"$why\"}$" out
	wait_until counts -eq 1 threads_of $ZCS
	wait_until counts -eq "$fds" entries_in /proc/$ZCS/fd
	start_zcs --allow 127.0.0.2 --raw
	exits 1 "$zcc" -s 0 -p "$PORT" --raw ../tiny
	says 'the server reset the connection'
	start_zcs --allow 127.0.0.2 --reply
	exits 1 "$zcc" -s 0 -p "$PORT" --request 10 -n 3
	stop_zcs
	grep -x "total: 0 replies, 0 bytes; 3 rejected, 0 silent, 0 too large, 0 broken" zcs.out
) & later
beside '--max-clients 2: a client after the second has the reason, until one of the two leaves'; ( begin
	start_zcs --max-clients 2
	hold_clients held.1 -n 1
	hold_clients held.2 -n 4
	wait_until counts -eq 3 grep -cx "said refused=full" held.2
	fails ': the server has reached its limit of clients (zcs --max-clients)$' "$zcc" -s 0 -p "$PORT" ../tiny
	not grep "^said\|^closed" held.1
	kill $HOLD
	wait_until exits 0 "$zcc" -s 0 -p "$PORT" ../tiny
) & later
beside '--idle-timeout: a byte now and then keeps a client; with 0 keepalive alone, which --reply has, too'; ( begin; need ss
	met() { ss -tonH "sport = :$PORT" | grep -q keepalive; }
	for how in --reply '-m read'; do
		start_zcs --idle-timeout 0 $how
		hold_clients held.0 -n 1
		wait_until met
	done
	start_zcs --idle-timeout 1
	hold_clients held.talks -n 1 -f ../body -d 100
	for i in 1 2; do
		hold_clients held -n 1
		wait_until grep -qx closed held
	done
	wait_until counts -eq 2 grep -c ': silent for 1 seconds (--idle-timeout), after 0 bytes$' zcs.err
	not grep closed held.talks held.0
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
