#!/bin/sh
# Who keeps whom from soaking, which CPUs are soaked, and what is left where one of the processes is killed.
# cyclesoak.sh has what the soakers are to the kernel.
#
# group: soaks
# seconds: 4
# limit: 400
. "$TOP/tests/lib.sh"

hasten_tools 20000 1000000
made_up_calibration >counts_per_sec
in_mounts='unshare -m true'

it 'one set even if /proc and the network are others, and SIGTERM removes its control group'; ( begin
	$in_mounts || skip_check 'no privilege for namespaces'
	until_holding -p 0.1
	exits 1 unshare -m -n sh -c "mount -t proc proc /proc && exec \"$cyclesoak\" -1 --wait 0"
	grep -q "soaked already" err
	kill -TERM "$SOAK"
	ended "$SOAK"
	[ -z "$(stale_group)" ]
); ok
it 'a program is killed while its keeper is stopped: the soakers end, and their group with the keeper'; ( begin
	until_holding -p 0.1
	soaker=$(soaker_of "$SOAK") keeper=$(keeper_of "$SOAK")
	remember "$keeper"
	raise_soaker "$soaker"
	kill -STOP "$keeper"
	kill -KILL "$SOAK"
	ended "$soaker"
	kill -CONT "$keeper"
	ended "$keeper"
	[ -z "$(stale_group)" ]
); ok
# killed PID TOOL PART: its soaker, or the keeper, is killed: the tool, whose output is in soak.out and soak.err, ends with
# status 1, and neither soaker nor group is left.
killed()
{
	wait_until not prints_nothing soaker_of "$1" # it has its name late on a busy machine
	soaker=$(soaker_of "$1") why="the $3 was killed by signal 9" status=0
	raise_soaker "$soaker"
	kill -KILL "$(case $3 in soaker) echo "$soaker" ;; *) keeper_of "$1" ;; esac)"
	ended "$1"
	wait "$1" || status=$?
	cat soak.out soak.err
	[ $status -eq 1 ]
	[ "$(tail -n 1 soak.err)" = "$2: $why" ]
	ended "$soaker"
	[ -z "$(stale_group)" ]
	not grep -v '^{"schema":1,.*}$' soak.out
	tail -n 1 soak.out | grep -q "\"error\":\"$why\"}$"
}
it 'cyclesoak --json: a keeper of the soakers that is killed is an error, not a load'; ( begin
	until_holding --json -p 0.1
	killed "$SOAK" cyclesoak 'keeper of the soakers'
); ok
it 'zcs --json -c: a soaker that is killed ends it, in the middle of a transfer'; ( begin
	start_zcs -c --json -I 0.02
	ln -f zcs.out soak.out
	ln -f zcs.err soak.err
	start_zcc zcc -t 30 -P 4 --pace 20m
	wait_until counts -gt 1 threads_of "$ZCS"
	killed "$ZCS" zcs soaker
); ok

# Of a machine with 4,000 CPUs of which every second is online: a list of more than 4,095 bytes.
it 'a long list of CPUs that are online is read to its end'; ( begin
	$in_mounts || skip_check 'no privilege for namespaces'
	seq 0 2 3998 | paste -sd , >online
	exits 2 unshare -m sh -c "mount --bind online /sys/devices/system/cpu/online && exec \"$cyclesoak\" -N 5000"
	grep -q "5000 is more than the 2000 CPUs that are online" err
); ok
it 'zcc -c -N 1 and zcs -c --on-cpus 0: that CPU alone is soaked and reported, and zcs may use all'; ( begin; need jq
	[ "$(getconf _NPROCESSORS_ONLN)" -gt 1 ] || skip_check 'one CPU'
	fake_calibration >of_one
	start_zcs
	soaking "$BIN/zcc" -c -N 1 -B 0 -f of_one --json -s 0 -p "$PORT" -t 0.2 --congestion reno
	not grep 'own baselines' err
	jq -e '.end | .host.cpus == 1 and (.load_by_cpu | map(.cpu)) == [0]' out
	start_zcs -c --on-cpus 0 -f of_one
	met() { cpus_of "$(soaker_of "$ZCS")" | grep -x 0; }
	wait_until met
	hold_clients told -n 1
	cpus_of "$ZCS" | sort -u >allowed
	sed -n 's/^Cpus_allowed_list:	//p' /proc/self/status | diff - allowed
); ok
finish
