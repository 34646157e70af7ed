# What lib.sh has about checks that begin anew, and about steal: the CPU time that the host of a virtual machine takes.

# undisturbed 'what must hold'; while again; do ( begin; need TOOL
#	command...
# ); done
# A check of loads and delays, which mean nothing while the host of a virtual machine takes its CPUs (steal).  A check
# that failed meanwhile begins anew, and is skipped where the host took them five times.  `turn` is 1, 2 ...
undisturbed()
{
	it "$1"
	turn=0 least_turns=1
}

# persistent 'what must hold'; while again; do ...: the same, which begins anew twice whatever it failed of: other
# programs may have soaked the CPUs.  What is wrong with zc fails each time.
persistent()
{
	undisturbed "$1"
	least_turns=3
}
again()
{
	verdict=$? # of the last turn
	if [ $turn -gt 0 ]; then
		stolen=$(steal_since "$from")
		if [ $verdict -eq 0 ] || [ $verdict -eq 77 ] || { [ $turn -ge $least_turns ] && [ "$stolen" -le 2 ]; }; then
			conclude
			return 1
		elif [ $turn -ge 5 ]; then
			skip "$what" "the host of this virtual machine took $stolen % of its CPUs (steal)"
			return 1
		fi
		repeating
		until_no_steal
	fi
	turn=$((turn + 1))
	from=$(cpu_ticks)
}

# check_undisturbed 'what must hold' command [args...]
check_undisturbed()
{
	undisturbed "$1"
	shift
	while again; do ( begin; "$@" ); done
}

# cpu_ticks: of all CPUs since boot: all of them, and those that the host took
cpu_ticks()
{
	awk '{ print $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9, $9; exit }' /proc/stat
}

# steal_since 'TICKS': how much of the CPUs' time the host has taken since cpu_ticks printed these, in percent
steal_since()
{
	echo "$1 $(cpu_ticks)" | awk '{ print ($3 > $1 ? int(100 * ($4 - $2) / ($3 - $1) + 0.5) : 0) }'
}

# until_no_steal: waits until the host leaves the CPUs alone for half a second, 10 seconds at most
until_no_steal()
{
	for pause in $(seq 20); do
		from=$(cpu_ticks)
		sleep 0.5
		[ "$(steal_since "$from")" -gt 2 ] || return 0
	done
}
