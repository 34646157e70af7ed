#!/bin/sh
# The load that the programs report of loads of known size: tests/helpers/burn makes them, and its own CPU
# clock says how large they were.  A report may be off by its own interval and 1.5 points; the interval
# may be 3 points, and 5 in `make check`, where the windows of a baseline are short.
#
# group: quiet
# seconds: 10
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak zcc=$BIN/zcc burn=$HELPERS/burn
cpus=$(getconf _NPROCESSORS_ONLN)
# The CPUs that are online, one a line.
tr , '\n' </sys/devices/system/cpu/online | while IFS=- read -r first last; do
	seq "$first" "${last:-$first}"
done >online
all=$(paste -s -d , online)
one=$(tail -n 1 online)
seconds=$(scale 0.7 3)
# brief command...: with windows of 60 ms in place of 250
brief()
{
	if [ -n "$LONG" ]; then "$@"; else hastened env HASTEN_US=60000 "$@"; fi
}

# A calibration that was forced will do if it is steady, in the mean of the CPUs.
is_steady()
{
	[ -s counts_per_sec ] &&
		awk '/^cpu / { n++; tasks += $3; tasks_sd += $4; spin_sd += $6 }
			END { exit !n || tasks > 0.03 * n || tasks_sd > 0.03 * n || spin_sd > 0.01 * n }' counts_per_sec
}
for try in 1 2 3 4 5; do
	from=$(cpu_ticks)
	soaking brief "$cyclesoak" -C --force >calibration.log 2>&1 || rm -f counts_per_sec
	! is_steady || break
	stolen=$(steal_since "$from")
	until_no_steal
done
if ! is_steady; then
	skip 'loads of known size' "no calibration: $(grep -m 1 'not idle\|unsteady\|no time\|soaked already' err || echo 'the machine is unsteady'), with $stolen % of steal"
	finish
fi

# others: the ticks of programs other than the soakers, whose nice value gives them a column of their own
others()
{
	awk '{ print $2 + $4 + $7 + $8; exit }' /proc/stat
}

# disturbance 'TICKS' OTHERS TRUTH: who else took more than 1 % of the CPUs' time since cpu_ticks and others printed
# these.  The known load took its CPU time all the while, or for as many ticks as `own_ticks` has.
disturbance()
{
	echo "$1 $(cpu_ticks) $2 $(others)" | awk -v truth="$3" -v own="$(cat own_ticks 2>/dev/null)" '{
		stolen = 100 * ($4 - $2) / ($3 - $1)
		others = 100 * ($6 - $5 - own) / ($3 - $1) - (own == "" ? truth : 0)
		if (stolen > 1)
			printf "the host of this virtual machine took %.1f %% of its CPUs (steal)\n", stolen
		else if (others > 1)
			printf "the machine is busy: other programs took %.1f %% of its CPUs\n", others
	}'
}

# is_right: the file `measured` has `load interval truth`, of one load a line, in percent
is_right()
{
	[ -s measured ] && awk -v most="$(scale 5 3)" '{ off = $1 - $3; if (off < 0) off = -off }
		NF != 3 || $2 > most || off > $2 + 1.5 { bad = 1 }
		END { exit bad }' measured
}

# check_load 'what' command [args...]: the command measures a load of known size and writes `measured`.  It is run
# again where the result is wrong and others took CPU time, and skipped where that stays so.
check_load()
{
	what="$1, within the stated interval and 1.5 points"
	shift
	for try in 1 2 3 4 5; do
		rm -f measured own_ticks
		from=$(cpu_ticks) others=$(others)
		( set -e; "$@" ) >measuring.log 2>&1 || rm -f measured
		why=
		! is_right && [ -s measured ] || break
		why=$(disturbance "$from" "$others" "$(awk '{ print $3; exit }' measured)")
		cat measured
		# Noise does not take a figure away.
		awk 'NF != 3 { exit 1 }' measured || why=
		[ -n "$why" ] || break
		repeating
		until_no_steal
	done >tries.log
	if [ -n "$why" ]; then
		skip "$what" "$why"
	else
		it "$what"; ( begin
			cat tries.log measuring.log
			[ -s measured ]
			cat measured
			is_right
		); ok
	fi
}

# percent N: of all CPUs, of N that are busy
percent()
{
	awk -v n="$1" -v cpus="$cpus" 'BEGIN { print 100 * n / cpus }'
}

# text_load FILE: the load and its interval, in a report of any of the programs
text_load()
{
	sed -n 's/.*load:\{0,1\} \(-\{0,1\}[0-9.]*\)%[?]\{0,1\} +-\([0-9.]*\)%.*/\1 \2/pi; /^ *load  /s/.* \(-\{0,1\}[0-9.]*\)%[?]\{0,1\} +-\([0-9.]*\)%$/\1 \2/p' "$1" |
		head -n 1
}

# json_load FILE: the same, of the first object with a load
json_load()
{
	for key in load_percent load_uncertainty_percent; do
		grep -o "\"$key\":[^,}]*" "$1" | sed 's/.*://' | head -n 1
	done | paste -s -d ' '
}

# ran: for how many ns the burner has had a CPU
ran()
{
	cat "/proc/$burner/task"/*/schedstat | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# beside LIST command...: on a machine of which these CPUs are busy; $truth is the load that they make
beside()
{
	"$burn" "$1" 600 >burnt &
	burner=$!
	remember $burner
	shift
	wait_until counts -ge 50000000 ran
	used=$(ran) began=$(date +%s%N)
	status=0
	soaking "$@" || status=$?
	truth=$(awk -v used=$(($(ran) - used)) -v ns=$(($(date +%s%N) - began)) 'BEGIN { print used / ns }')
	truth=$(percent "$truth")
	kill -KILL $burner
	return $status
}

# the line of burn, which it printed as the command of cyclesoak: how many CPUs it had
burnt()
{
	percent "$(grep -x '[0-9]*\.[0-9][0-9][0-9][0-9]' out)"
}

# Whatever else runs here, cyclesoak and the kernel see it alike.
cyclesoak_load_of_idle()
{
	soaking "$cyclesoak" -n 1 -p "$seconds"
	echo "$(text_load out) 0" >measured
}
check_load 'cyclesoak: the load of the idle machine' cyclesoak_load_of_idle
cyclesoak_json_that_cpu()
{
	beside "$one" "$cyclesoak" -n 1 -p "$seconds" -B --json
	interval=$(json_load out | sed "s/.* //")
	echo "$(json_load out) $truth" >loads
	# The interval of one CPU is wider: the machine's error is the mean of all CPUs' errors.
	while read -r cpu; do
		[ "$cpu" -eq "$one" ] && share=$(awk -v t="$truth" -v n="$cpus" "BEGIN { print t * n }") || share=0
		echo "$(sed -n "1s/.*{\"cpu\":$cpu,\"load_percent\":\([^,}]*\).*/\1/p" out) $interval $share"
	done <online >>loads
	mv loads measured
}
check_load 'cyclesoak -B --json: that CPU has all of its load, and the others have none' cyclesoak_json_that_cpu
cyclesoak_with_command()
{
	mkdir -p own && cd own
	soaking brief "$cyclesoak" "$burn" "$all" "$seconds" 30
	echo "$(text_load out) $(burnt)" >../measured
	sed -n 's/.* took [0-9.]* s, \([0-9.]*\) s of CPU time.*/\1/p' out |
		awk -v hz="$(getconf CLK_TCK)" '{ print $1 * hz }' >../own_ticks
}
check_load 'cyclesoak with a command that takes all CPUs in part: own baselines' cyclesoak_with_command
cyclesoak_json_with_command()
{
	soaking "$cyclesoak" --json -f counts_per_sec setsid -w "$burn" "$all" "$seconds"
	echo "$(json_load out) $(percent "$cpus")" >measured
}
check_load 'cyclesoak --json with a command in another session that takes all CPUs: 100 %' cyclesoak_json_with_command
start_zcs
zcc_load_of_another()
{
	beside "$one" "$zcc" -c -s 0 -p "$PORT" -t "$seconds" --pace 2m -o 50k
	echo "$(text_load out) $truth" >measured
}
check_load 'zcc -c: the load of another program beside a transfer that takes next to nothing' zcc_load_of_another
stop_zcs
start_zcs -c
zcs_same()
{
	: >zcs.out
	beside "$one" "$zcc" -s 0 -p "$PORT" -t "$seconds" --pace 2m -o 50k
	wait_until [ -s zcs.out ]
	{
		echo "$(text_load zcs.out) $truth"
		echo "$(text_load out) $truth"
	} >measured
}
check_load 'zcs -c: the load of its transfer, on its own line and in the receipt' zcs_same
stop_zcs
finish
