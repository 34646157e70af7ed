#!/bin/sh
# The load that the programs report of loads of known size: tests/helpers/burn makes them, and its own CPU
# clock says how large they were.  A report may be off by its own interval and 1.5 points; the interval
# may be 3 points, and 5 in `make check`, where the windows of a baseline are short.
#
# group: quiet
# seconds: 4
. "$TOP/tests/lib.sh"

whole_test_needs jq 'loads of known size'
cpus=$(getconf _NPROCESSORS_ONLN)
all=$(cat /sys/devices/system/cpu/online)
one=${all##*[,-]}
seconds=$(scale 0.5 3)
idle_cyclesoak=$BIN/cyclesoak
[ -n "$LONG" ] || hasten_tools 60000 1000000
burn=$HELPERS/burn

# ticks: of all CPUs, of those what the hypervisor took, and programs other than the soakers, which have a column of their own
ticks() { awk '{ print $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9, $9, $2 + $4 + $7 + $8; exit }' /proc/stat; }

# disturbance 'TICKS' OWN: who else took more than 2 % of the CPUs' time since ticks printed these, beside the known
# load, which took so many seconds of CPU time
disturbance()
{
	echo "$1 $(ticks) $2" | awk -v hz="$(getconf CLK_TCK)" '{
		stolen = 100 * ($5 - $2) / ($4 - $1)
		others = 100 * ($6 - $3 - hz * $7) / ($4 - $1)
		if (stolen > 2)
			printf "the hypervisor took %.1f %% of its CPUs (steal)\n", stolen
		else if (others > 2)
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

# check_load 'what' command [args...]: the command measures a load of known size, and writes `measured` and its seconds
# of CPU time, `own`.  It is run again where the result is wrong and others took CPU time, and skipped if that stays so.
check_load()
{
	it "$1, within the stated interval and 1.5 points"
	shift
	for try in 1 2 3 4 5; do
		rm -f measured own
		before=$(ticks)
		( begin; "$@" )
		verdict=$?
		! is_right && [ $verdict -ne 77 ] || break
		why=$(disturbance "$before" "$(cat own 2>/dev/null)")
		{ cat measured; echo "$why"; } >>check.log 2>&1
		verdict=1
		# Noise does not take a figure away.
		[ -n "$why" ] && awk 'NF != 3 { exit 1 }' measured || break
		verdict=77
		repeating
		until_no_steal
	done
	conclude $verdict
}

# json_load FILTER: load and interval of the objects that the filter takes from out
json_load() { grep '^{' out | jq -r "$1 | \"\(.load_percent) \(.load_uncertainty_percent)\""; }
# burnt: the line of burn, which it printed as the command of cyclesoak: how many CPUs it had
burnt() { grep -x '[0-9]*\.[0-9][0-9][0-9][0-9]' out; }
# of_command CYCLESOAK... BURN...: the load of burn, its command
BUSY_TURNS=2
of_command()
{
	soaking "$@" || return 0
	! grep -q 'never sleeps\|machine is busy\|was fully busy\|the load is not measured' err || skip_check "$(tail -n 1 err)"
	echo "$(json_load .) $(burnt | awk -v cpus="$cpus" '{ print 100 * $1 / cpus }')" >measured
	burnt | awk -v s="$seconds" '{ print $1 * s }' >own
}
of_each_cpu()
{
	of_command "$cyclesoak" --json -B -- "$burn" "$one" "$seconds"
	# The interval of one CPU is wider: the machine's error is the mean of all CPUs' errors.
	json_load '.load_uncertainty_percent as $u | .load_by_cpu[] | .load_uncertainty_percent = $u' |
	    paste -d ' ' - expected >>measured
}
made_up_calibration | awk -v one="$one" '$1 == "cpu" { print $2 == one ? 100 : 0 }' >expected
check_load 'cyclesoak with a command that takes all CPUs in part: own baselines' \
    of_command "$cyclesoak" --json "$burn" "$all" "$seconds" 30
check_load 'cyclesoak -B --json: one CPU has all of its load, and the others have none' of_each_cpu
check_load 'cyclesoak --idle: a command that takes all CPUs in part' \
    of_command "$idle_cyclesoak" --json --idle "$burn" "$all" "$(scale 1 3)" 30

for share in $(scale '' '5 60 90 100'); do
	check_load "cyclesoak with a command of another session: $share % of all CPUs" \
	    of_command "$cyclesoak" --json setsid -w "$burn" "$all" "$seconds" $share
done
finish
