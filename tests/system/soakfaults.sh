#!/bin/sh
# Each system call fails once: what cyclesoak makes of it, and zcc and zcs with -c.  No soaker is left,
# nor its group, nor a calibration file that is not whole.
#
# group: quiet
# seconds: 7
# limit: 500
. "$TOP/tests/lib.sh"
. "$TOP/tests/faults.sh"

cyclesoak=$BIN/cyclesoak zcc=$BIN/zcc zcs=$BIN/zcs
every_fault=100
tried_as=soakers # what else zcc and zcs call is faults.sh's
# If it cannot be tried whether soakers yield, nothing is printed about it.
sed -i '1i (cyclesoak|zc[cs]):(eventfd|pthread_create|sched_setaffinity) . - - EMFILE,EAGAIN,EINVAL' errors

# The windows of a baseline are of 5 ms in place of 250.
hasten=FAULT_SLEEP=5000000

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
	left=$(ours)
	for i in $left; do
		ended "$i" || :
	done
	for pid in ${left:+$(ours)}; do
		echo "left running: $pid, $(cat /proc/"$pid"/comm)"
		kill -KILL "$pid"
		return 1
	done
	group=$(stale_group "$groups")
	if [ -n "$group" ]; then
		echo "left: $group"
		rmdir "$group"
		# A group that could not be left is left behind.
		case $fault in *cgroup.procs*) ;; *) return 1 ;; esac
	fi
	if [ "$(ls -A cal)" != counts ]; then
		echo "other files: $(ls -A cal)"
		rm -f cal/counts.*
		return 1
	fi
}
besides=nothing_left

# Others may soak this machine for a while: so often is that waited for in the whole test.
waits_left=20
vain='soaked already\|no load is measured'

# is_free: whether the run that is over was no vain one; else it waits
is_free()
{
	[ -s err ] && grep -q "$vain" err && [ $waits_left -gt 0 ] || return 0
	waits_left=$((waits_left - 1))
	until_free
	return 1
}

# once_free command...
once_free()
{
	groups=$(soaker_groups)
	while :; do
		status=0
		"$@" >out 2>err || status=$?
		! is_free || return 0
	done
}
excuse='soaked already'
# What other programs on this machine, or its host, do to the soakers.
noise='left its soaker no time\|the machine is unsteady\|the machine is not idle\|(steal)\|the load is below 0'
noise="$noise\|soaks nothing\|the soakers do not yield\|the soakers delay wake-ups"

made_up_calibration >counts_per_sec
mkdir cal
cp counts_per_sec cal/counts

right()
{
	one_line out && grep -Eqx -e '-?[0-9]{1,3}\.[0-9]' out
}
scenario()
{
	once_free $UNDER "$cyclesoak" -1 -p 0.02 -f cal/counts
}
faults 'cyclesoak -1' cyclesoak

scenario()
{
	once_free $UNDER "$cyclesoak" -n 2 -p 0.1 -B -d --json -f cal/counts
}
right()
{
	[ "$(grep -c '^{.*}$' out)" -eq 3 ] && [ "$(wc -l <out)" -eq 3 ] || return 1
	not grep -E ':-?(nan|inf)|"interrupts_per_second":([0-9]{9}|0[,}])|"(user|idle)":-' out
}
[ -z "$LONG" ] || faults 'cyclesoak -n --json' cyclesoak

# The command is left alone, and the exit status is its own: cyclesoak's failures have 125, and 126 or
# 127 if the command cannot be executed.
scenario()
{
	once_free $UNDER "$cyclesoak" -f cal/counts /bin/sh -c 'exit 7'
	case $status in
	7) status=0 ;;
	12[567]) status=1 ;;
	*) status=99 ;;
	esac
}
right()
{
	head -n 1 out |
		grep -Eqx 'System load: -?[0-9]+\.[0-9]%\?? \+-[0-9]+\.[0-9]%, slowed -?[0-9]+\.[0-9]%; took [0-9.]+ s' &&
		grep -Eqx '  -?[0-9.]+ s of CPU time' out
}
[ -z "$LONG" ] || faults 'cyclesoak with a command' cyclesoak

head -c 70000 /dev/urandom >file
unset ZC_FAULT
start_zcs
export ZC_FAULT="$PWD"
scenario()
{
	once_free $UNDER "$zcc" -c -s 0 -p "$PORT" file
}
right()
{
	grep -q 'all bytes sent were received\|no receipt' out || return 1
	grep -Eq '^[0-9]+ kbytes/sec .*, load -?[0-9]+\.[0-9]%\?? \+-[0-9]+\.[0-9]% of ' out
}
[ -z "$LONG" ] || faults 'zcc -c' zcc
stop_zcs

scenario()
{
	groups=$(soaker_groups)
	while :; do
		: >err
		# shellcheck disable=SC2086
		$UNDER "$zcs" -c -1 -p 0 >out 2>err &
		p=$!
		until grep -q 'listening.*:[0-9]' err || ! kill -0 "$p" 2>/dev/null; do
			sleep 0.01
		done
		PORT=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' err)
		while [ -n "$PORT" ] && kill -0 "$p" 2>/dev/null; do
			# Long enough for the soakers to settle
			! timeout 10 "$zcc" -s 0 -p "$PORT" -n 12 --pace 2m file >client 2>&1 || break
		done
		status=0
		wait "$p" || status=$?
		! is_free || return 0
	done
}
right()
{
	grep -Eq '[,:] load -?[0-9]+\.[0-9]%\?? ' out && grep -q '[,:] 840000 bytes in' out || return 1
	grep -q 'all bytes sent were received' client || grep -q 'no receipt' client
}
# What zcs makes of its sockets before it serves is in faults.sh.
only=$(scale '^zcs,(accept4|recv|send|poll|ppoll|read|open64|close|lstat64|fstat64|listen|[a-z_]*create|eventfd.*),' .)
faults 'zcs -c -1' zcs

# A calibration that is whole: the old one, or a new one.
scenario()
{
	cp counts_per_sec cal/counts
	once_free $UNDER "$cyclesoak" -C --force -N 1 -f cal/counts
}
right()
{
	grep -q 'calibrated OK' out || return 1
	[ "$(head -n 1 cal/counts)" = "$(sed -n 's/calibrated OK\.  \([0-9]*\) .*/\1/p' out)" ] || return 1
	[ "$(grep -c '^cpu ' cal/counts)" -eq 1 ]
}
whole()
{
	nothing_left && { [ "$status" -eq 0 ] || cmp counts_per_sec cal/counts; }
}
besides=whole
# How the soakers are started is the same as above.
only='cal/|rename'
excuse='the system must be idle\|soaked already'
vain=$excuse
faults 'cyclesoak -C' cyclesoak

# One that is killed as it writes leaves a file beside it, which has another name.
for call in $(scale '' 'fsync,cal/counts.N') rename,-; do
	title="cyclesoak -C killed at ${call%,*}: the old file is whole"
	[ -n "$faults_missing" ] || run_with "cyclesoak,$call,1,KILL" 2>/dev/null
	if [ -n "$faults_missing" ]; then
		skip "$title" "$faults_missing"
	elif excused; then
		skip "$title" "$(grep -e "$excuse" err | head -n 1)"
	else
		it "$title"; ( begin
			grep '^reached' log
			[ "$status" -eq 137 ]
			rm -f cal/counts.[0-9]*
			whole
		); ok
	fi
done

finish
