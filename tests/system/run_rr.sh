#!/bin/sh
# run_rr: the policy that the command gets, which command, and its exit statuses.
#
# group: soaks
# seconds: 2
. "$TOP/tests/lib.sh"

run_rr=$BIN/run_rr
policy='sed "s/^.*) //" /proc/self/stat | cut -d" " -f38,39' # rt_priority, policy (2: SCHED_RR)

if "$run_rr" true 2>/dev/null; then
	check 'SCHED_RR at priority 1' [ "$("$run_rr" sh -c "$policy")" = "1 2" ]
	check '-p 7' [ "$("$run_rr" -p 7 sh -c "$policy")" = "7 2" ]
	check '--priority=99' [ "$("$run_rr" --priority=99 sh -c "$policy")" = "99 2" ]
	it 'children inherit it'; ( begin
		echo "$policy" >policy
		[ "$("$run_rr" sh -c "sh ./policy; :")" = "1 2" ]
	); ok
	check 'options of the command are its own' [ "$("$run_rr" echo -p -h)" = "-p -h" ]
	check 'the exit status is the command'"'"'s' exits 5 "$run_rr" sh -c "exit 5"
	it '127: not found'; ( begin
		exits 127 "$run_rr" ./no/such/command
		one_line err
		grep -q no/such err
	); ok
	it '126: found, but cannot be run'; ( begin
		exits 126 "$run_rr" /
		one_line err
	); ok
	it 'no command: $SHELL'; ( begin
		printf "#!/bin/sh\necho this shell\n" >shell
		chmod +x shell
		[ "$(SHELL=./shell "$run_rr")" = "this shell" ]
	); ok
	it 'without a command and $SHELL run_rr starts /bin/sh'; ( begin
		[ "$(echo "$policy" | env -u SHELL "$run_rr")" = "1 2" ]
	); ok
	soakers_sched_idle()
	{
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
	}
	check 'run_rr zcc -c: the soakers are still SCHED_IDLE' soakers_sched_idle
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
for args in '-p 0' '-p 100' '-p x' -Z --nosuch; do
	it "usage: run_rr $args: exit 2, with a command 125"; ( begin
		exits 2 "$run_rr" $args
		one_line err
		exits 125 "$run_rr" $args true
		one_line err
	); ok
done
it '-h: help on stdout, exit 0'; ( begin
	exits 0 "$run_rr" -h
	not [ -s err ]
	for o in -p -h -V; do grep -q -e " $o," out; done
); ok

finish
