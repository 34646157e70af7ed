#!/bin/sh
# run_rr: the policy that the command gets, which command, and its exit statuses.
#
# group: soaks
# seconds: 2
. "$TOP/tests/lib.sh"

policy='sed "s/^.*) //" /proc/self/stat | cut -d" " -f38,39' # rt_priority, policy (2: SCHED_RR)
allowed() { "$run_rr" true || skip_check 'SCHED_RR is not allowed here'; }

it 'the command has SCHED_RR at priority 1 or that of -p, and its children inherit it'; ( begin
	allowed
	[ "$("$run_rr" -p 7 sh -c "$policy")" = "7 2" ]
	[ "$("$run_rr" --priority=99 sh -c "$policy")" = "99 2" ]
	echo "$policy" >policy
	[ "$("$run_rr" sh -c "sh ./policy; :")" = "1 2" ]
); ok
it 'options of the command are its own, and so is its exit status; 127: not found, 126: it cannot be run'; ( begin
	allowed
	[ "$("$run_rr" echo -p -h)" = "-p -h" ]
	exits 5 "$run_rr" sh -c 'exit 5'
	exits 125 "$run_rr" -p 0 true # a usage error
	one_line err
	for pair in 127=./no/such/command 126=/; do
		exits ${pair%%=*} "$run_rr" ${pair#*=}
		one_line err
		grep -q ${pair#*=} err
	done
); ok
it 'no command: $SHELL, and without it, or with an empty one, the shell of the password file'; ( begin
	allowed
	printf "#!/bin/sh\necho this shell\n" >shell
	chmod +x shell
	[ "$(SHELL=./shell "$run_rr")" = "this shell" ]
	[ "$(echo "$policy" | env -u SHELL "$run_rr")" = "1 2" ]
	shell=$(getent passwd "$(id -u)" | cut -d: -f7)
	[ -z "$shell" ] || for how in "-u SHELL" SHELL=; do
		[ "$(echo 'readlink /proc/$$/exe' | env $how "$run_rr")" = "$(readlink -f "$shell")" ]
	done
); ok
it 'run_rr cyclesoak: the soakers are still SCHED_IDLE'; ( begin
	allowed
	made_up_calibration >counts_per_sec
	soaking "$run_rr" "$BIN/cyclesoak" -1 sh -c 'cat /proc/[0-9]*/task/*/stat 2>/dev/null | grep "(zc-soaker)"'
	sed -n 's/.*(zc-soaker) //p' out | cut -d' ' -f38,39 | sort -u >policies
	grep -qx '0 5' policies
	not grep ' 2' policies # SCHED_RR
); ok
it 'without the privilege: the three ways to get it, exit 125'; ( begin
	can_be_user || skip_check "$not_user"
	! as_user "$run_rr" true || skip_check 'ordinary users have it here'
	exits 125 as_user "$run_rr" true
	one_line err
	grep -q "root.*CAP_SYS_NICE.*RLIMIT_RTPRIO of at least 1" err
); ok
check_usage '--priority' run_rr -p 100
finish
