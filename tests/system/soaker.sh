#!/bin/sh
# The soakers' lock, who keeps whom from soaking, and what is left where one of the processes is killed.
# cyclesoak.sh has what the soakers are to the kernel.
#
# group: soaks
# seconds: 8
# limit: 500
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak
find_hastening
made_up_calibration >counts_per_sec

if unshare -m true 2>/dev/null; then
	it 'one set even if /proc and the network are others, and SIGTERM removes its control group'; ( begin
		until_holding -p 0.2
		echo "$SOAK"
		status=0
		$at_once unshare -m -n sh -c "mount -t proc proc /proc && exec \"$cyclesoak\" -1" 2>err || status=$?
		kill -TERM "$SOAK"
		cat err
		[ $status -eq 1 ]
		grep -q "soaked already" err
		ended "$SOAK"
		[ -z "$(stale_group)" ]
	); ok
else
	skip 'one set even if /proc and the network are others' 'no privilege for namespaces'
fi

# hold_lock 'script' [as_user]: a process takes the lock on /dev/zero and goes on with that script
hold_lock()
{
	: >held
	chmod 666 held
	echo 'echo $$ >held' "; $1" >holds
	$2 flock -F /dev/zero sh holds &
	wait_until [ -s held ] || wait_until [ -s held ]
	HOLDER=$(cat held)
	remember "$HOLDER"
}

if ! can_be_user || ! flock -F /dev/null true 2>/dev/null; then
	skip 'a lock on /dev/zero that somebody holds' "no flock -F, or $not_user"
else
	cp "$(command -v sleep)" cyclesoak
	hold_lock 'exec ./cyclesoak 60' as_user
	it 'nobody soaks beside a holder of /dev/zero'; ( begin
		exits 1 $at_once "$cyclesoak" -1 -p 0.1
		grep -q "soaked already, by cyclesoak (pid $HOLDER)" err
	); ok
	kill -KILL "$HOLDER"
fi

until_holding -p 0.2
soaker=$(soaker_of "$SOAK")
keeper=$(keeper_of "$SOAK")
raise_soaker "$soaker"
kill -KILL "$keeper"
wait "$SOAK"
status=$?
it 'a keeper that is killed is an error that names it, and leaves neither soaker nor group'; ( begin
	cat soak.err
	[ $status -eq 1 ]
	tail -n 1 soak.err | grep -qx "cyclesoak: the keeper of the soakers was killed by signal 9"
	ended "$soaker"
	[ -z "$(stale_group)" ]
); ok

until_holding -p 0.2
soaker=$(soaker_of "$SOAK")
kill -KILL "$SOAK"
it 'killed with SIGKILL: no soaker left, nor its group'; ( begin
	ended "$soaker"
	wait_until prints_nothing stale_group
); ok

# Soakers that die: an error, not a load, and the last object of the report has it.
# soaker_killed PID TOOL: the tool, whose output is in soak.out and soak.err
soaker_killed()
{
	soaker=$(soaker_of "$1")
	raise_soaker "$soaker"
	kill -KILL "$soaker"
	ended "$1"
	cat soak.out soak.err
	[ "$(tail -n 1 soak.err)" = "$2: the soaker was killed by signal 9" ]
	not grep -v '^{"schema":1,.*}$' soak.out
	tail -n 1 soak.out | grep -q '"error":"the soaker was killed by signal 9"}$'
}
until_holding --json -p 0.1
check 'cyclesoak --json: a soaker that was killed is an error' soaker_killed "$SOAK" cyclesoak
wait "$SOAK"
check 'cyclesoak --json: a soaker that was killed: exit status 1' [ $? -eq 1 ]
it 'zcc -c --json: a soaker that was killed is an error, in the middle of a transfer'; ( begin
	start_zcs
	"$BIN/zcc" -c --json -s 0 -p "$PORT" -t 60 -I 0.2 --congestion reno --pace 20m >soak.out 2>soak.err &
	p=$!
	remember $p
	wait_until or_gone $p not prints_nothing soaker_of $p
	wait_until counts -eq 2 threads_of "$ZCS"
	soaker_killed $p zcc
	one_line soak.out
	stop_zcs
); ok
for how in '' --reply; do
	start_zcs -c --json -I 0.02 $how
	ln -f zcs.out soak.out
	ln -f zcs.err soak.err
	if [ -n "$how" ]; then set -- --request 100; else set -- -P 4 --congestion reno --pace 20m; fi
	"$BIN/zcc" -s 0 -p "$PORT" -t 30 "$@" >zcc.out 2>zcc.err &
	remember $!
	wait_until counts -gt 1 threads_of "$ZCS"
	check "zcs --json -c $how: a soaker that was killed ends it, in the middle of a transfer" soaker_killed "$ZCS" zcs
	wait "$ZCS"
	check "zcs --json -c $how: a soaker that was killed: exit status 1" [ $? -eq 1 ]
done

if unshare -m true 2>/dev/null; then
	# Of a machine with 4,000 CPUs of which every second is online: a list of more than 4,095 bytes.
	it 'a long list of CPUs that are online is read to its end'; ( begin
		seq 0 2 3998 | paste -sd , >online
		exits 2 unshare -m sh -c "mount --bind online /sys/devices/system/cpu/online && exec \"$cyclesoak\" -N 5000"
		grep -q "5000 is more than the 2000 CPUs that are online" err
	); ok
	# Of the machine CPU 1 alone is online, so that the first soaked CPU is not CPU 0.
	if [ "$(cat /sys/devices/system/cpu/online)" = 0 ]; then
		skip 'soaking CPU 1 alone' 'one CPU'
	else
		it 'of a machine where CPU 1 alone is online that CPU is soaked, and reported'; ( begin; need jq
			echo 1 >second
			{ echo 1000; echo "soaker $(soak_format)"; echo "machine $(machine_name)"; printf 'cpus 1\nall 2 0 0\n'
			    echo 'cpu 1 0 0 1 0 1000 0'; } >of_second
			mkdir one
			echo "exec unshare -m sh -c 'mount --bind second /sys/devices/system/cpu/online && exec $cyclesoak \"\$@\"' sh \"\$@\"" >one/cyclesoak
			sed -i '1i #!/bin/sh' one/cyclesoak
			chmod +x one/cyclesoak
			BIN=$PWD/one
			until_holding --json -p 0.1 -f of_second
			soaker=$(soaker_of "$SOAK")
			grep -hx 'Cpus_allowed_list:	1' /proc/"$soaker"/task/*/status
			kill -TERM "$SOAK"
			ended "$SOAK"
			head -n 1 soak.out
			head -n 1 soak.out | jq -e '.load_by_cpu | length == 1 and .[0].cpu == 1'
		); ok
	fi
else
	skip 'a machine where CPU 1 alone is online' 'no privilege for namespaces'
fi

finish
