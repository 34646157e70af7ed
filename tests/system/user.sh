#!/bin/sh
# What zcs may do itself: as an ordinary user, and with --user.  parked.sh has zcs -c --user.
#
# seconds: 3
. "$TOP/tests/lib.sh"

zcs=$BIN/zcs zcc=$BIN/zcc
head -c 3000000 /dev/urandom >file
printf x >tiny

start_zcs
# shellcheck disable=SC2046 # several words: $(cat), $(sed)
if can_be_user; then
	it 'nothing but run_rr needs root: each end as an ordinary user'; ( begin
		as_user sh -c "\"$zcs\" -p 0 --idle-timeout 20 >u.out 2>u.err & echo \$! >u.pid"
		remember "$(cat u.pid)"
		wait_until grep -q listening u.err
		exits 0 as_user "$zcc" -s 0 -p $(sed "s/.*://" u.err) -P 2 file
		no_warning err
		kill "$(cat u.pid)"
		exits 0 as_user "$zcc" -s 0 -p "$PORT" -t 0.1
		exits 0 as_user "$BIN/cyclesoak" -V
	); ok
else
	skip 'each end as an ordinary user' "$not_user"
fi
stop_zcs
it '--user: an unknown one, or a user and a group: one line that says to give the user alone, exit 1'; ( begin
	fails "^zcs: --user 'no-such-user': no such user$" timeout 20 "$zcs" -p 0 --user no-such-user
	fails "^zcs: --user 'nobody:nogroup': no such user: give the user alone, whose groups zcs takes$" \
	    timeout 20 "$zcs" -p 0 --user nobody:nogroup
); ok
if can_be_user && getent passwd nobody root >/dev/null 2>&1; then
	it '--user: an ordinary user cannot become another: one line, exit 1'; ( begin
		fails "^zcs: --user 'root': only root can become another user, or leave groups$" as_user timeout 20 "$zcs" -p 0 --user root
	); ok
else
	skip '--user, as an ordinary user' "${not_user:-no getent, or no user nobody}"
fi

if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1; then
	{
		u=$(id -u nobody) g=$(id -g nobody)
		printf 'Cap%s:\t0000000000000000\n' Amb Eff Prm
		printf 'Gid:\t%s\t%s\t%s\t%s\n' "$g" "$g" "$g" "$g"
		printf 'Groups:\t%s\n' "$(id -G nobody | tr ' ' '\n' | sort -n | paste -sd ' ')"
		printf 'Uid:\t%s\t%s\t%s\t%s\n' "$u" "$u" "$u" "$u"
	} >want
	# rights PID: the same of a process and all of its threads
	rights()
	{
		cat /proc/"$1"/status /proc/"$1"/task/*/status | grep -E '^(Uid|Gid|Groups|CapPrm|CapEff|CapAmb):' |
			sed 's/[[:space:]]*$//' | sort -u
	}
	start_zcs --user nobody
	hold_clients held -n 3
	it '--user: ids, groups and capabilities are that user'"'"'s, of all threads, for good'; ( begin
		wait_until counts -eq 4 threads_of $ZCS
		rights $ZCS | diff want -
	); ok
	kill $HOLD
	it '--user: zcs serves as that user'; ( begin
		exits 0 "$zcc" -s 0 -p "$PORT" file
		grep -q "all bytes sent were received" out
		kill -TERM $ZCS
		ended $ZCS
	); ok
	wait $ZCS
	check '--user: exit status 0 at the end' [ $? -eq 0 ]
	start_zcs --reply --user "$(id -u nobody)"
	it '--user with a number, and --reply'; ( begin
		wait_until counts -gt 1 threads_of $ZCS
		rights $ZCS | diff want -
		exits 0 "$zcc" -s 0 -p "$PORT" --request 10
	); ok
	stop_zcs
	it '--user: what setpriv gave is gone: groups, capabilities, also where the kernel would leave root its own'; ( begin; need setpriv
		for how in '--groups 0,4,27 --inh-caps +net_admin --ambient-caps +net_admin' '--securebits +no_setuid_fixup' \
		    "--reuid nobody --regid $(id -g nobody) --init-groups --inh-caps +net_admin --ambient-caps +net_admin"; do
			: >e
			setpriv $how "$zcs" -p 0 --user nobody >o 2>e &
			p=$!
			remember $p
			wait_until or_gone $p grep -q listening e
			cat e
			rights $p | diff want -
			kill $p
		done
	); ok
	it '--user: the right user in a wrong group: exit 1'; ( begin; need setpriv
		fails "^zcs: --user .nobody.: only root can become another user, or leave groups$" setpriv --reuid nobody timeout 20 "$zcs" -p 0 --user nobody
	); ok
	if can_be_user; then
		it '--user: who is that user already may name it'; ( begin
			rm -f u.err u.pid
			as_user sh -c "\"$zcs\" -p 0 --user nobody >u.out 2>u.err & echo \$! >u.pid"
			remember "$(cat u.pid)"
			wait_until grep -q listening u.err
			kill "$(cat u.pid)"
		); ok
	fi
else
	skip '--user' 'needs root, and a user nobody'
fi
if [ -n "$OWN_NETWORK" ] && id nobody >/dev/null 2>&1 && can_be_user; then
	it '--user: a port below 1024 is bound before'; ( begin
		start_zcs -p 80 --user nobody
		[ "$PORT" -eq 80 ]
		grep -qxF "$(grep '^Uid:' "/proc/$ZCS/status")" want
		exits 0 "$zcc" -s 127.0.0.1 -p 80 -q tiny
		stop_zcs
		exits 1 as_user "$zcs" -p 80
		grep -qx "zcs: cannot listen on port 80: Permission denied" err
	); ok
else
	skip '--user: a port below 1024' 'needs root, ip(8), network namespaces and a user nobody'
fi
finish
