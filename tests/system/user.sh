#!/bin/sh
# What zcs may do itself: as an ordinary user, and with --user.  parked.sh has zcs -c --user.
#
# seconds: 3
. "$TOP/tests/lib.sh"

only_root='only root can become another user, or leave groups'

# rights PID: what /proc has of a process and all of its threads; those of nobody are in the file want
rights()
{
	cat /proc/"$1"/status /proc/"$1"/task/*/status | grep -E '^(Uid|Gid|Groups|CapPrm|CapEff|CapAmb):' |
		sed 's/[[:space:]]*$//' | sort -u
}
if id nobody >/dev/null 2>&1; then
	u=$(id -u nobody) g=$(id -g nobody)
	printf 'Cap%s:\t0000000000000000\n' Amb Eff Prm >want
	printf 'Gid:\t%s\t%s\t%s\t%s\nGroups:\t%s\nUid:\t%s\t%s\t%s\t%s\n' "$g" "$g" "$g" "$g" \
	    "$(id -G nobody | tr ' ' '\n' | sort -n | paste -sd ' ')" "$u" "$u" "$u" "$u" >>want
fi
is_root() { [ "$(id -u)" -eq 0 ] && [ -s want ] || skip_check 'needs root, and a user nobody'; }
is_user() { can_be_user && [ -s want ] || skip_check "${not_user:-no user nobody}"; }
it 'nothing but run_rr needs root: each end as an ordinary user, who may name himself with --user'; ( begin
	is_user
	[ "$(id -u)" -ne 0 ] || ON='setpriv --reuid nobody --regid 65534 --clear-groups --inh-caps=-all'
	start_zcs --user nobody
	exits 0 as_user "$zcc" -s 0 -p "$PORT" -P 2 -n 1
	no_warning err
	exits 0 as_user "$BIN/cyclesoak" -V
	stop_zcs
); ok
it '--user: an unknown user, another user than oneself: one line that has what to do, exit 1'; ( begin
	fails "^zcs: --user 'no-such-user': no such user$" timeout 20 "$zcs" -p 0 --user no-such-user
	fails "^zcs: --user 'nobody:nogroup': no such user: give the user alone, zcs takes the user's groups$" \
	    timeout 20 "$zcs" -p 0 --user nobody:nogroup
	is_user
	fails "^zcs: --user 'root': $only_root$" as_user timeout 20 "$zcs" -p 0 --user root
	is_root
	fails "^zcs: --user .nobody.: $only_root$" setpriv --reuid nobody timeout 20 "$zcs" -p 0 --user nobody
); ok
it '--user: ids, groups and capabilities of all threads are that user'"'"'s, also where setpriv gave others; zcs serves'; ( begin
	is_root; need setpriv
	unshare -m true || skip_check 'no privilege for mounts'
	{ cat /etc/group; echo zc-test:x:4294967000:nobody; } >group
	echo 'mount --bind group /etc/group && exec "$@"' >with_group
	sed -i '/^Groups:/s/$/ 4294967000/' want
	for how in '' '--securebits +no_setuid_fixup' \
	    "--reuid nobody --regid $g --init-groups --inh-caps +net_admin --ambient-caps +net_admin"; do
		ON="unshare -m sh with_group ${how:+setpriv $how}"
		start_zcs --user nobody
		hold_clients held -n 3
		wait_until counts -eq 4 threads_of $ZCS
		rights $ZCS | diff want -
		kill $HOLD
		exits 0 "$zcc" -s 0 -p "$PORT" tiny
		stop_zcs
	done
	ON='' start_zcs --user "$u"
	rights $ZCS | grep -c "^Uid:	$u"
	stop_zcs
); ok
it '--user: a port below 1024 is bound before'; ( begin
	is_root
	[ -n "$OWN_NETWORK" ] && can_be_user || skip_check "${not_user:-no network namespace}"
	start_zcs -p 80 --user nobody
	[ "$PORT" -eq 80 ]
	exits 0 "$zcc" -s 127.0.0.1 -p 80 -q tiny
	stop_zcs
	exits 1 as_user "$zcs" -p 80
	grep -qx "zcs: cannot listen on port 80: Permission denied" err
); ok
finish
