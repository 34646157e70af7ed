#!/bin/sh
# --idle where the kernel does not measure idle time: by BPF programs, on a virtual machine of the latest kernel that
# `tests/vm fetch` got.
#
# only: check-long
# limit: 1800
. "$TOP/tests/lib.sh"
in_guest -s -l 1700

# programs: how many of the tools' BPF programs the kernel has
programs() { bpftool prog show >all && grep -c ' name zc_idle ' all; }
# quiet FILE...: whether neither trial nor baseline was disturbed
quiet() { ! grep -h 'busy machine\|machine is busy\|never sleeps\|is not idle' "$@"; }
# busy_host: skips the check at hand
busy_host() { skip_check 'the host of this machine is busy'; }
# starting 'pattern' command...: until a line of its output, or of its errors, matches, which is then the last of the
# file `said`; descriptor 3 has the rest.  It does not poll: that would disturb the trial.  Sets `launched`.
starting()
{
	until_line=$1
	shift
	rm -f pipe # of another check, or of another program
	mkfifo pipe
	exec 3<>pipe
	"$@" >pipe 2>&1 &
	launched=$!
	remember $launched
	sed -u "/$until_line/q" <&3 >said
	quiet said || busy_host
}
it 'cyclesoak --idle: 20 starts of 20 measure an idle machine by the clock, or say why not'; ( begin; need bpftool
	for start in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		if cyclesoak --idle --json -p 0.5 -n 1 >out 2>err; then
			head -n 1 out | jq -e '.idle_source == "clock" and .load_percent > 0 and .load_percent < 30'
		else
			grep 'BPF programs do not measure\|never sleeps\|machine is busy' err
		fi
	done
	prints 0 programs
); ok
it 'cyclesoak --idle: loads of known CPU time are right within 3 points'; ( begin
	for share in 10 30 60; do
		exits 0 cyclesoak --idle --json "$HELPERS/burn" 1 3 $share 30000
		quiet err || busy_host
		grep '^{' out | jq -e --argjson burnt "$(grep -x '[0-9]*\.[0-9]*' out)" \
		    '.load_percent - 50 * $burnt | fabs < 3'
	done
); ok
it 'cyclesoak --idle of a user who has CAP_BPF and CAP_PERFMON: BPF programs count'; ( begin
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all,+bpf,+perfmon --ambient-caps=-all,+bpf,+perfmon \
	    cyclesoak --idle -p 0.5 -n 1 -d >out 2>err || not quiet err
	grep -x 'cyclesoak: idle time is counted by BPF programs' err
); ok
it 'zcs --user --idle counts on as that user, cyclesoak counts at the same time; kill -9 leaves no program'; ( begin; need bpftool
	starting listening zcs -p 0 --user nobody --idle
	zcs=$launched
	read_port said
	zcc -s 0 -p "$PORT" -t 1 --congestion reno --json >report
	jq -e '.end.remote.idle_source == "clock"' report
	starting 'load_percent\|error' cyclesoak --idle --json -p 0.5
	prints 8 programs
	kill -KILL $launched $zcs
	wait_until prints 0 programs
); ok
it 'cyclesoak --idle: after kernel.ftrace_enabled was 0, also within a period, the load is not measured'; ( begin
	starting 'load_percent\|error' cyclesoak --idle=clock --json -p 2
	echo 0 >/proc/sys/kernel/ftrace_enabled
	echo 1 >/proc/sys/kernel/ftrace_enabled
	sed -u '/"seconds"/q' <&3 >silenced
	kill -TERM $launched
	grep 'the load is not measured: .*kernel.ftrace_enabled' silenced
	grep '^{' silenced | jq -e '.no_load == "uncounted" and (has("load_percent") | not)'
); ok
finish
