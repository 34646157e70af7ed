#!/bin/sh
# Baselines: the calibration of the machine, and its file; own baselines of the programs, without a calibration and with
# one that does not fit; make demo, which has such.  planted.sh has the files that are refused, tests/unit/files.c directories
# in which others may plant things.  The windows are short, except with LONG.
#
# group: quiet
# seconds: 4
. "$TOP/tests/lib.sh"

whole_test_needs jq 'baselines'
cpus=$(getconf _NPROCESSORS_ONLN) real_cyclesoak=$BIN/cyclesoak
find_hastening
[ -n "$LONG" ] || hasten_tools 20000 1000000
made_up_calibration >good
BUSY_TURNS=5
# busy 'pattern': skips a check that failed where err has the pattern
busy() { ! grep -q "$1" err || skip_check 'the machine is busy'; false; }

it '-C --on-cpus: the result, and a file of these CPUs, which has the mode that umask leaves'; ( begin
	( umask 027; soaking "$cyclesoak" -C --force --on-cpus 0 ) || busy 'was fully busy'
	[ "$(head -n 1 counts_per_sec)" = "$(sed -n "s/calibrated OK\.  \([0-9]*\) .*/\1/p" out)" ]
	grep -qx 'cpus 0' counts_per_sec
	[ "$(stat -c %a counts_per_sec)" = 640 ]
	rm counts_per_sec
); ok

# Own baselines.  Where others are busy for longer, the checks see why the load is not measured.
start_zcs
# own CMD...: with baselines of its own
own()
{
	soaking "$@" || return
	! grep -q 'the load is not measured\|: other programs took ' err || skip_check 'other programs take too much of the CPUs'
}
undisturbed 'zcc -c, a ./counts_per_sec that does not fit: it is named, own baselines are used, and there is a load'
while again; do ( begin
	fake_calibration 'elsewhere 1.0 CPU' >counts_per_sec # of CPU 0
	own "$zcc" -c -s 0 -p "$PORT" --congestion reno -t 0.1
	rm counts_per_sec
	grep -Eq "^[0-9]+ kbytes/sec .*, load -?[0-9.]+%\?? \+-[0-9.]+%\?? of $cpus CPU" out
	grep -Eqx '    idle machine before and after differs by -?[0-9.]+ points' out
	[ "$(grep -c "^zcc: ./counts_per_sec .*: run 'cyclesoak -C'.*; own baselines are used$" err)" -eq 1 ]
); done
rm -f counts_per_sec
it 'cyclesoak --setting, --prepare, --conclude: the soakers run beside COMMAND alone'; ( begin; need ps
	see='ps -o comm= --ppid $PPID' BUSY_TURNS=0 # what is measured does not matter
	cp good counts_per_sec # a setting has baselines of its own
	soaking "$cyclesoak" -r 1 --json --setting "a=$see >>others" --setting "b=$see >>others" \
	    --prepare "$see >>others" --conclude "$see >>others" -- "$see >>ran"
	rm counts_per_sec
	not grep '"baseline":"file"' out
	grep zc-keeper ran || skip_check 'the machine is busy'
	not grep zc-keeper others
); ok
undisturbed 'cyclesoak COMMAND without a calibration: own baselines, of which a signal ends the second; no file is left'
while again; do ( begin
	own "$cyclesoak" sh -c 'exit 0'
	grep -Eq "^(System load: |  )(.*; )?idle machine before and after differs by -?[0-9.]+ points$" out
	paste -sd ' ' out | grep -E "^System load: .*; +took [0-9.]+ s, .*; +-?[0-9.]+ s of CPU time"
	# It comes when cyclesoak has taken the status of the command.
	own $hasten_by HASTEN_US=100000 HASTEN_UP_TO_US=1000000 "$real_cyclesoak" \
	    sh -c '(while kill -0 $$; do :; done 2>/dev/null; kill -TERM $PPID) &'
	grep -q 'idle machine measured before only' out
	not [ -e counts_per_sec ]
); done
stop_zcs

own_tmpdir
undisturbed 'make demo: the command, a table of own baselines, a row for each method, how many times the first it costs'
while again; do ( begin
	METHODS=sendfile,send SECONDS_EACH=$(scale 0.1 0.3) soaking "$TOP/tests/demo" ||
		busy 'repeat it when the machine is idle'
	# The load of a run in which others became busy is not measured.
	! grep -q 'load not measured in .*: other programs kept the CPUs' out || skip_check 'the machine is busy'
	ratio=" +[0-9.]+\?? \(([0-9.]+ to [0-9.]+|interval too wide)\)( =)?"
	grep -Eq "^-m sendfile +[0-9.]+%\?? \+-[0-9.]+% +[0-9.]+\?? \+-[0-9.]+$" out
	grep -Eq "^-m send +[0-9.]+%\?? \+-[0-9.]+% +[0-9.]+\?? \+-[0-9.]+$ratio$" out
	grep -Eq "^    zcc --idle -s 0 -t [0-9.]+ -r 3 -m sendfile,send( --congestion [a-z]+)?$" out
	nothing_left
); done
finish
