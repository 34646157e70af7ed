#!/bin/sh
# The soakers' locks, who keeps whom from soaking, and what is left where one of the processes is killed.
# cyclesoak.sh has what the soakers are to the kernel, holder.sh a holder of the lock that takes the CPUs.
#
# group: soaks
# seconds: 30
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak
find_at_once
made_up_calibration >counts_per_sec

if unshare -m true 2>/dev/null; then
	one_set_also()
	{
		until_holding -p 0.2
		echo "$SOAK"
		status=0
		$at_once unshare -m -n sh -c "mount -t proc proc /proc && exec \"$cyclesoak\" -1" 2>err || status=$?
		kill -TERM "$SOAK"
		cat err
		[ $status -eq 1 ]
		grep -q "soaked already" err
	}
	check 'one set also where /proc and the network are others' one_set_also
else
	skip 'one set also where /proc and the network are others' 'no privilege for namespaces'
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
	skip 'a lock on /dev/zero that somebody holds' 'no flock -F, or no setpriv'
elif [ "$(id -u)" -ne 0 ] || [ ! -w /run ]; then
	skip 'a lock on /dev/zero that somebody holds' 'needs root, and a /run that it can write to'
else
	cp "$(command -v sleep)" cyclesoak
	hold_lock 'exec ./cyclesoak 60' as_user
	root_soaks_beside_holder()
	{
		soaking "$cyclesoak" -1 -p 0.1
		grep -qx "cyclesoak: cyclesoak (pid $HOLDER) holds the lock on /dev/zero and soaks nothing: going on without it" err
		[ "$(stat -c "%u %a" /run/zc-soaker.lock)" = "0 600" ]
	}
	check 'root soaks beside a holder of /dev/zero that does not, whatever its name, with a line' root_soaks_beside_holder
	ordinary_user()
	{
		exits 1 as_user $at_once "$cyclesoak" -1 -p 0.1
		grep -q "soaked already, by cyclesoak (pid $HOLDER)" err
	}
	check 'an ordinary user does not soak beside a holder of /dev/zero' ordinary_user
	there_one_set()
	{
		until_holding -p 0.2
		exits 1 $at_once "$cyclesoak" -1 -p 0.1
		kill -TERM "$SOAK"
		grep -q "soaked already, by cyclesoak (pid $SOAK)" err
	}
	check 'beside a holder of /dev/zero root still has one set of soakers' there_one_set
	if unshare -m true 2>/dev/null; then
		symbolic_link_in_place()
		{
			exits 1 unshare -m sh -c "mount -t tmpfs none /run && ln -s $PWD/victim /run/zc-soaker.lock &&
				exec \"$cyclesoak\" -1 -p 0.1"
			grep -q "soaked already" err
			not [ -e victim ]
		}
		check 'a symbolic link in the place of the lock of root is not followed' symbolic_link_in_place
	else
		skip 'a symbolic link in the place of the lock of root' 'no privilege for namespaces'
	fi
	kill -KILL "$HOLDER"
fi

until_holding -p 0.2
soaker=$(soaker_of "$SOAK")
kill -KILL "$soaker"
wait "$SOAK"
status=$?
soaker_that_killed_error()
{
	[ $status -eq 1 ]
	grep -q "soaker was killed by signal 9" soak.err
}
check 'a soaker that is killed is an error, not a load' soaker_that_killed_error
until_holding -p 0.2
soaker=$(soaker_of "$SOAK")
keeper=$(keeper_of "$SOAK")
kill -KILL "$keeper"
wait "$SOAK"
status=$?
keeper_that_killed_error()
{
	cat soak.err
	[ $status -eq 1 ]
	tail -n 1 soak.err | grep -qx "cyclesoak: the keeper of the soakers was killed by signal 9"
	ended "$soaker"
	[ -z "$(stale_group)" ]
}
check 'a keeper that is killed is an error that names it, and leaves neither soaker nor group' keeper_that_killed_error

until_holding -p 0.2
kill -TERM "$SOAK"
wait "$SOAK"
sigterm_control_group()
{
	[ -z "$(stale_group)" ]
}
check 'SIGTERM: the control group of the soakers is removed' sigterm_control_group
until_holding -p 0.2
soaker=$(soaker_of "$SOAK")
kill -KILL "$SOAK"
killed_with_sigkill()
{
	ended "$soaker"
	wait_until prints_nothing stale_group
	soaking "$cyclesoak" -1 -p 0.1
}
check 'killed with SIGKILL: no soaker left, nor its group, the next can run' killed_with_sigkill

if unshare -m true 2>/dev/null; then
	# Of a machine with 4,000 CPUs of which every second is online: a list of more than 4,095 bytes.
	seq 0 2 3998 | paste -sd , >online
	{ seq 0 2 3996; echo 3999; } | paste -sd , >others
	{ echo 2000000; echo "soaker $(soak_format)"; echo machine made up; echo "cpus $(cat others)"
	    tr , "\n" <others | sed "s/.*/cpu & 0 0 1 0 1000 0/"; } >large
	# large_machine options...: cyclesoak there
	large_machine()
	{
		exits "$1" unshare -m sh -c "mount --bind online /sys/devices/system/cpu/online && exec \"$cyclesoak\" $2"
	}
	long_list_of_cpus()
	{
		large_machine 2 "-N 5000"
		grep -q "5000 is more than the 2000 CPUs that are online" err
	}
	check 'a long list of CPUs that are online is read to its end' long_list_of_cpus
	calibration_of_which_only()
	{
		large_machine 1 "-1 -f large"
		tail -n 1 err | grep -q "^cyclesoak: large is for CPUs 0,2,4,.*\.\.\., not for 0,2,4,.*\.\.\.: run .cyclesoak -C." err
	}
	check 'a calibration of which only the last CPU differs from those online is refused' calibration_of_which_only
	cpu_without_model_name()
	{
		printf "processor : 0\nmodel name\t:\n" >cpuinfo
		soaking unshare -m sh -c "mount --bind cpuinfo /proc/cpuinfo && exec \"$cyclesoak\" -C --force -N 1 -f calibrated"
		grep -qx "machine .* $(uname -m)" calibrated
	}
	check_long 'a CPU without a model name: the calibration has its architecture' cpu_without_model_name
else
	skip 'long lists of CPUs, a CPU without a name' 'no privilege for namespaces'
fi

finish
