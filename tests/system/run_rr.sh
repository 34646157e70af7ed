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
it 'the command has its options, its exit status and its signals; 127: not found, 126: it cannot be run'; ( begin
	allowed
	[ "$("$run_rr" echo -p -h)" = "-p -h" ]
	exits 5 "$run_rr" sh -c 'exit 5'
	exits 141 "$run_rr" sh -c 'kill -PIPE $$'
	fails_with 125 'priority' "$run_rr" -p 0 true # a usage error
	fails_with 127 ./no/such/command "$run_rr" ./no/such/command
	fails_with 126 / "$run_rr" /
); ok
it 'no command: $SHELL; without it, or with an empty one, the shell of the password file, and else /bin/sh'; ( begin
	allowed
	printf "#!/bin/sh\necho this shell\n" >shell
	chmod +x shell
	[ "$(SHELL=./shell "$run_rr")" = "this shell" ]
	shell=$(getent passwd "$(id -u)" | cut -d: -f7)
	for how in "-u SHELL" SHELL=; do
		[ "$(echo "readlink /proc/\$\$/exe; $policy" | env $how "$run_rr")" = "$(readlink -f "${shell:-/bin/sh}"; echo '1 2')" ]
	done
	[ "$(id -u)" -ne 0 ] || ! can_be_user || [ "$(echo "$policy" | setpriv --reuid 54321 --clear-groups --inh-caps=+sys_nice --ambient-caps=+sys_nice \
	    env -u SHELL "$run_rr")" = '1 2' ]
); ok
it 'run_rr cyclesoak: the soakers are still SCHED_IDLE'; ( begin
	allowed
	made_up_calibration >counts_per_sec
	soaking "$run_rr" "$BIN/cyclesoak" -1 sh -c 'cat /proc/[0-9]*/task/*/stat 2>/dev/null | grep "(zc-soaker)"'
	sed -n 's/.*(zc-soaker) //p' out | cut -d' ' -f38,39 | sort -u >policies
	grep -qx '0 5' policies
	not grep ' 2' policies # SCHED_RR
); ok
it 'without the privilege: the three ways to get it, and what root lacks; exit 125'; ( begin
	can_be_user || skip_check "$not_user"
	! as_user "$run_rr" true || skip_check 'ordinary users have it here'
	fails_with 125 'root.*CAP_SYS_NICE.*RLIMIT_RTPRIO of at least 2' as_user "$run_rr" -p 2 true
	[ "$(id -u)" -ne 0 ] || fails_with 125 'no real-time budget.*CAP_SYS_NICE' setpriv --bounding-set -sys_nice --inh-caps=-all "$run_rr" true
); ok
finish
