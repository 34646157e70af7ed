# What lib.sh has about steal: the CPU time that the host of a virtual machine takes.

# check_undisturbed 'what must hold' command [args...]: of loads and delays, which mean nothing while the host of
# a virtual machine takes its CPUs (steal).  A check that failed meanwhile is repeated, so that its command
# has to begin anew, and skipped where the host took them five times.
check_undisturbed()
{
	what=$1
	shift
	for try in 1 2 3 4 5; do
		from=$(cpu_ticks)
		attempt "$@"
		stolen=$(steal_since "$from")
		[ $verdict -ne 0 ] && [ "$stolen" -gt 2 ] || { conclude; return; }
		repeating
		until_no_steal
	done
	skip "$what" "the host of this virtual machine took $stolen % of its CPUs (steal)"
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
