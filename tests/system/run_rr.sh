#!/bin/sh
# run_rr: the policy that the command gets, which command, and its exit statuses.
#
# group: soaks
# seconds: 2
. "$TOP/tests/lib.sh"

run_rr=$BIN/run_rr
policy='sed "s/^.*) //" /proc/self/stat | cut -d" " -f38,39' # rt_priority, policy (2: SCHED_RR)

if "$run_rr" true 2>/dev/null; then
	it 'the command has SCHED_RR at priority 1 or that of -p, and its children inherit it'; ( begin
		[ "$("$run_rr" -p 7 sh -c "$policy")" = "7 2" ]
		[ "$("$run_rr" --priority=99 sh -c "$policy")" = "99 2" ]
		echo "$policy" >policy
		[ "$("$run_rr" sh -c "sh ./policy; :")" = "1 2" ]
	); ok
	check 'options of the command are its own' [ "$("$run_rr" echo -p -h)" = "-p -h" ]
	check 'the exit status is the command'"'"'s' exits 5 "$run_rr" sh -c "exit 5"
	it 'a command that is not found: 127, one that cannot be run: 126'; ( begin
		for pair in 127=./no/such/command 126=/; do
			exits ${pair%%=*} "$run_rr" ${pair#*=}
			one_line err
			grep -q ${pair#*=} err
		done
	); ok
	it 'no command: $SHELL'; ( begin
		printf "#!/bin/sh\necho this shell\n" >shell
		chmod +x shell
		[ "$(SHELL=./shell "$run_rr")" = "this shell" ]
	); ok
	it 'without a command and $SHELL, or with an empty one, run_rr starts the shell of the password file'; ( begin
		[ "$(echo "$policy" | env -u SHELL "$run_rr")" = "1 2" ]
		shell=$(getent passwd "$(id -u)" | cut -d: -f7)
		[ -z "$shell" ] || for how in "-u SHELL" SHELL=; do
			[ "$(echo 'readlink /proc/$$/exe' | env $how "$run_rr")" = "$(readlink -f "$shell")" ]
		done
	); ok
	it 'run_rr zcc -c: the soakers are still SCHED_IDLE'; ( begin
		cat >policies <<-"END"
			. "$TOP/tests/lib.sh"
			for s in /proc/[0-9]*; do
				[ "$(cat $s/comm 2>/dev/null)" = zc-soaker ] || continue
				for t in $(tasks_of ${s#/proc/}); do
					sed "s/^.*) //" $s/task/$t/stat | cut -d" " -f38,39
				done
			done
		END
		made_up_calibration >counts_per_sec
		soaking "$run_rr" "$BIN/cyclesoak" -1 sh policies
		grep -qx "0 5" out
		not grep -qx ". 2" out
	); ok
else
	skip 'the policy' 'SCHED_RR is not allowed here'
fi
if can_be_user && ! as_user "$run_rr" true 2>/dev/null; then
	it 'without the privilege: the three ways to get it, exit 125'; ( begin
		exits 125 as_user "$run_rr" true
		one_line err
		grep -q "root.*CAP_SYS_NICE.*RLIMIT_RTPRIO of at least 1" err
	); ok
else
	skip 'without the privilege' "${not_user:-ordinary users have it here}"
fi
it 'usage errors of run_rr: exit 2, with a command 125'; ( begin
	for args in '-p 0' '-p 100' '-p x' -Z --nosuch; do
		exits 2 "$run_rr" $args
		one_line err
		exits 125 "$run_rr" $args true
		one_line err
	done
); ok
finish
