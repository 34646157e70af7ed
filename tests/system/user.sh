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
nothing_but_run_rr()
{
	as_user sh -c "\"$zcs\" -p 0 --idle-timeout 20 >u.out 2>u.err & echo \$! >u.pid"
	remember $(cat u.pid)
	wait_until grep -q listening u.err
	exits 0 as_user "$zcc" -s 0 -p $(sed "s/.*://" u.err) -P 2 file
	no_warning err
	kill $(cat u.pid)
	exits 0 as_user "$zcc" -s 0 -p "$PORT" -t 0.1
	exits 0 as_user "$BIN/cyclesoak" -V
}
if can_be_user; then
	check 'nothing but run_rr needs root: each end as an ordinary user' nothing_but_run_rr
else
	skip 'each end as an ordinary user' "$not_user"
fi
stop_zcs
user_unknown()
{
	exits 1 timeout 20 "$zcs" -p 0 --user no-such-user
	one_line err
	grep -qx "zcs: --user 'no-such-user': no such user" err
	not [ -s out ]
}
check '--user: an unknown one: one line, exit 1' user_unknown
user_with_group()
{
	exits 1 timeout 20 "$zcs" -p 0 --user nobody:nogroup
	one_line err
	grep -qx "zcs: --user 'nobody:nogroup': no such user: give the user alone, whose groups zcs takes" err
}
check '--user: a user and a group: one line that says to give the user alone' user_with_group
if can_be_user && getent passwd nobody root >/dev/null 2>&1; then
	user_ordinary_user_cannot()
	{
		exits 1 as_user timeout 20 "$zcs" -p 0 --user root
		one_line err
		grep -qx "zcs: --user 'root': only root can become another user" err
	}
	check '--user: an ordinary user cannot become another: one line, exit 1' user_ordinary_user_cannot
else
	skip '--user, as an ordinary user' "${not_user:-no getent, or no user nobody}"
fi

if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1; then
	rights_of_nobody >want
	start_zcs --user nobody
	hold_clients held -n 3
	user_ids_groups()
	{
		wait_until counts -eq 4 threads_of $ZCS
		rights $ZCS | diff want -
	}
	check '--user: ids, groups and capabilities are that user'"'"'s, of all threads, for good' user_ids_groups
	kill $HOLD
	serves_as_that_user()
	{
		exits 0 "$zcc" -s 0 -p "$PORT" file
		grep -q "all bytes sent were received" out
		kill -TERM $ZCS
		ended $ZCS
	}
	check '--user: zcs serves as that user' serves_as_that_user
	wait $ZCS
	check '--user: exit status 0 at the end' [ $? -eq 0 ]
	start_zcs --user "$(id -u nobody)"
	user_by_number()
	{
		wait_until grep -q listening zcs.err
		rights $ZCS | diff want -
	}
	check '--user: a number is that user' user_by_number
	stop_zcs
	start_zcs --reply --user nobody
	user_reply()
	{
		wait_until counts -gt 1 threads_of $ZCS
		rights $ZCS | diff want -
		exits 0 "$zcc" -s 0 -p "$PORT" --request 10
	}
	check '--user --reply' user_reply
	stop_zcs
	user_groups_and_ambient()
	{
		setpriv --groups 0,4,27 --inh-caps +net_admin --ambient-caps +net_admin "$zcs" -p 0 --user nobody >o 2>e &
		p=$!
		remember $p
		wait_until grep -q listening e
		rights $p | diff want -
		kill $p
	}
	check_with setpriv '--user: earlier groups and ambient capabilities are gone' user_groups_and_ambient
	user_where_kernel_would()
	{
		setpriv --securebits +no_setuid_fixup "$zcs" -p 0 --user nobody >o 2>e &
		p=$!
		remember $p
		wait_until grep -q listening e
		rights $p | diff want -
		kill $p
	}
	check_with setpriv '--user: where the kernel would leave root its capabilities they are gone' user_where_kernel_would
	user_right_user()
	{
		exits 1 setpriv --reuid nobody timeout 20 "$zcs" -p 0 --user nobody
		one_line err
		grep -qx "zcs: --user .nobody.: only root can become another user" err
	}
	check_with setpriv '--user: the right user in a wrong group: exit 1' user_right_user
	user_that_user_already()
	{
		: >e
		setpriv --reuid nobody --regid "$(id -g nobody)" --init-groups --inh-caps +net_admin \
		    --ambient-caps +net_admin "$zcs" -p 0 --user nobody >o 2>e &
		p=$!
		remember $p
		wait_until or_gone $p grep -q listening e
		cat e
		rights $p | diff want -
		kill $p
	}
	check_with setpriv '--user: that user already, but with capabilities: they are gone' user_that_user_already
	if can_be_user; then
		# shellcheck disable=SC2046 # several words: $(cat)
		user_who_that_user()
		{
			rm -f u.err u.pid
			as_user sh -c "\"$zcs\" -p 0 --user nobody >u.out 2>u.err & echo \$! >u.pid"
			remember $(cat u.pid)
			wait_until grep -q listening u.err
			kill $(cat u.pid)
		}
		check '--user: who is that user already may name it' user_who_that_user
	fi
else
	skip '--user' 'needs root, and a user nobody'
fi
if [ -n "$OWN_NETWORK" ] && id nobody >/dev/null 2>&1 && can_be_user; then
	user_port_below_bound()
	{
		start_zcs -p 80 --user nobody
		[ "$PORT" -eq 80 ]
		grep -qxF "$(grep '^Uid:' "/proc/$ZCS/status")" want
		exits 0 "$zcc" -s 127.0.0.1 -p 80 -q tiny
		stop_zcs
		exits 1 as_user "$zcs" -p 80
		grep -qx "zcs: cannot listen on port 80: Permission denied" err
	}
	check '--user: a port below 1024 is bound before' user_port_below_bound
else
	skip '--user: a port below 1024' 'needs root, ip(8), network namespaces and a user nobody'
fi
finish
