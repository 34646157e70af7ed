#!/bin/sh
# Each system call fails once: what cyclesoak makes of it.  No soaker is left,
# nor its group.  baselines.sh kills one that calibrates.
#
# group: quiet
# seconds: 3
# limit: 500
. "$TOP/tests/lib.sh"
. "$TOP/tests/faults.sh"

# If it cannot be tried whether soakers yield, nothing is printed about it.
sed -i '1i ^(cyclesoak|zc[cs]),(eventfd|pthread_create|sched_setaffinity), - - EMFILE,EAGAIN,EINVAL' rules

# The windows of a baseline are of 2 ms in place of 250.  What other programs on this machine, or its host, do to
# the soakers is no matter.
hasten=HASTEN_US=2000
preloaded hasten || faults_missing='no library can be preloaded'
noise='the clock or a system call is slow|was fully busy|the machine is not idle|[(]steal[)]|the load is below 0'
noise="$noise|soaks nothing|the soakers do not yield|the soakers delay wake-ups|^$"

# Processes of a scenario are known by their environment.
ZC_FAULT=$PWD
export ZC_FAULT
ours()
{
	for d in /proc/[0-9]*; do
		{ read -r comm <"$d/comm"; } 2>/dev/null || continue
		case $comm in
		zc-* | cyclesoak* | zc[cs]) ! grep -qsz "^ZC_FAULT=$PWD\$" "$d/environ" || echo "${d#/proc/}" ;;
		esac
	done
}
nothing_left()
{
	for pid in $(ours); do
		ended "$pid" || kill -KILL "$pid"
	done
	group=$(stale_group "$groups")
	if [ -n "$group" ]; then
		rmdir "$group"
		# A group that could not be left is left behind.
		case $fault in *cgroup.procs*) ;; *) echo "left: $group" ;; esac
	fi
	[ "$(ls -A cal)" = counts ] || echo "other files: $(ls -A cal)"
	rm -f cal/counts.*
}
besides=nothing_left

vain='soaked already\|the load is not measured\|stop what has the CPU'
# once_free command...: again while another program soaks this machine
once_free()
{
	groups=$(soaker_groups)
	for turn in 1 2 3 4 5 6 7 8 9 10; do
		status=0
		"$@" >out 2>err || status=$?
		[ -s err ] && grep -q "$vain" err || return 0
		until_free
	done
}

fake_calibration >counts_per_sec
mkdir cal
cp counts_per_sec cal/counts

right()
{
	one_line out && grep -Eqx -e '-?[0-9]{1,3}\.[0-9]' out
}
scenario()
{
	once_free $UNDER "$cyclesoak" -1 -p 0.01 -N 1 -f cal/counts
}
soakers='^cyclesoak,(pipe2|fork|flock|pthread_create|sched_setaffinity),|^zc-keeper,(fork|mkdir|dup2|setpriority|write,/sys)'
only=$(scale "$soakers|^zc-soaker,(pthread_create|sched_set|calloc)" .)
faults 'cyclesoak -1' cyclesoak

finish
