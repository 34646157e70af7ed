#!/bin/sh
# tests/lab, two hosts which are network namespaces: they are gone whatever happens.  link.sh has
# the addresses, the MTUs and the cable, and four labs at a time.
#
# only: check-long
# seconds: 50
. "$TOP/tests/lib.sh"

lab=$TOP/tests/lab
if ! "$lab" true 2>/dev/null; then
	skip 'two hosts' 'needs root, ip(8) and network namespaces'
	finish
fi

# there HOSTS: whether one of them is there.  Others' are no concern of ours.
there()
{
	for n in $1; do
		if ip netns list | grep -Eqx "$n( .*)?"; then
			return 0
		fi
	done
	return 1
}
# hold_lab 'script': a lab that has a zcs on each host, and a command that does this last.  Sets LAB, and
# HOSTS and PROGRAMS of it, the command among them.
cat >hold.sh <<'END'
	echo $$ >programs
	for host in "$A" "$B"; do
		$host "$BIN/zcs" -p 0 2>/dev/null &
		echo $! >>programs
	done
	echo "${A##* } ${B##* }" >"$1.new"
	mv "$1.new" "$1"
	eval "$2"
END
hold_lab()
{
	rm -f held
	# As from a terminal: a shell would start it in the background with SIGINT ignored.
	env --default-signal=INT "$lab" sh hold.sh held "$1" >/dev/null 2>&1 &
	LAB=$!
	remember $LAB
	wait_until [ -f held ]
	HOSTS=$(cat held)
	PROGRAMS=$(cat programs)
	for p in $PROGRAMS; do remember "$p"; done
	there "$HOSTS"
}
all_gone()
{
	for p in $PROGRAMS; do
		ended "$p"
	done
	not there "$HOSTS"
}

what_no_mtu()
{
	for arguments in "" "-m 1500" "-m 67 true" "-m 65536 true" "-m x true" "-m 99999999999999999999 true" \
	    "-x true"; do
		exits 2 "$lab" $arguments
		tail -n 1 err | grep -q "^usage: tests/lab \[-m mtu\] command"
	done
}
check 'an invalid MTU, option or command is a usage error' what_no_mtu
status_that_of_command()
{
	exits 7 "$lab" sh -c 'echo "$1"; exit 7' sh "a  b" -m
	[ "$(cat out)" = "a  b" ]
}
check 'the status is that of the command, whose arguments are its own' status_that_of_command
interrupted_by_sig_hosts()
{
	hold_lab '$B sleep 60'
	kill -"${signal%:*}" $LAB
	status=0; wait $LAB || status=$?
	[ $status -eq "${signal#*:}" ]
	all_gone
}
for signal in HUP:129 INT:130 TERM:143; do
	check "interrupted by SIG${signal%:*}: the hosts are gone, and what ran on them" interrupted_by_sig_hosts
done
command_ignores_sigterm()
{
	hold_lab 'trap "" TERM; exec sleep 60'
	kill -TERM $LAB
	status=0; wait $LAB || status=$?
	[ $status -eq 143 ]
	all_gone
}
check 'a command that ignores SIGTERM: SIGTERM to tests/lab still removes the hosts' command_ignores_sigterm
# shellcheck disable=SC2046 # several words: $(cat)
what_command_leaves_running()
{
	# The command ends once its sleep runs on the host.
	"$lab" sh -c '
		$A sleep 60 & echo $! >left
		for try in $(seq 1000); do ! grep -qx sleep /proc/$!/comm || break; done' >/dev/null
	ended $(cat left)
}
check 'processes that a command leaves running on the hosts end with it' what_command_leaves_running
killed_next_lab_removes()
{
	hold_lab '$B sleep 60'
	kill -KILL $LAB
	wait $LAB || :
	"$lab" true
	all_gone
}
check 'a lab that was killed: the next one removes its hosts and what runs on them' killed_next_lab_removes
other_lab_stays()
{
	hold_lab '$B sleep 60'
	"$lab" true
	there "$HOSTS"
	for p in $PROGRAMS; do not gone "$p"; done
	kill -TERM $LAB
	wait $LAB || :
	all_gone
}
check 'a lab that starts leaves the hosts of one that runs' other_lab_stays
# Beside other tests a calibration would be that of a busy machine, against which there is no load.
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
one_set_of_soakers()
{
	cat >script <<-"END"
		. "$TOP/tests/lib.sh"
		ON=$A
		start_zcs -c
		# Others may soak; it soaks for 10 seconds after its client.
		measured $B "$BIN/zcc" -s $A4 -p $PORT -t 0.2 --congestion reno
		exits 0 $B "$BIN/zcc" -c -s $A4 -p $PORT -n 1 --congestion reno || exit
		grep "soaked already, by zcs" err || exit
		exits 1 $B "$BIN/cyclesoak" -1 || exit
		grep "soaked already, by zcs" err || exit
		exits 0 $B "$BIN/zcc" -s $A4 -p $PORT -t 1 --congestion reno && stop_zcs
	END
	"$lab" sh script
	cat zcs.out
	grep -Eqx "  load +receiver" out
	figures_of load out | grep -Eqx -e "-?[0-9.]+%\??( \+-[0-9.]+%)?"
	grep -Eq "^ *192.0.2.2:.*[,:] load -?[0-9.]+" zcs.out
	no_wider 100 zcs.out
}
check 'one set of soakers on the machine, not one per network; its load is in both reports' one_set_of_soakers

finish
