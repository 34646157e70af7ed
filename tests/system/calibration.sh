#!/bin/sh
# The calibration of the machine: its rounds, its file, directories in which others may plant things, a
# machine that is not idle.  cyclesoak.sh and planted.sh have the files that are refused.
#
# In `make check` the windows of a baseline are short.
#
# group: quiet
# seconds: 3
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak zcc=$BIN/zcc
cpus=$(getconf _NPROCESSORS_ONLN)

# brief command...: with windows of 20 ms, which are longer than the burner is busy at a time
brief()
{
	if [ -n "$LONG" ]; then "$@"; else hastened env HASTEN_US=20000 "$@"; fi
}

it '-C: rounds, the result, the file'; ( begin
	( umask 027; soaking brief "$cyclesoak" -C --force )
	[ "$(grep -Ecx "calibrating: [0-9]+ loops/sec" out)" -ge 3 ]
	grep -Eqx "calibrated OK\.  [0-9]+ loops/sec" out
	[ "$(head -n 1 counts_per_sec)" = "$(sed -n "s/calibrated OK\.  \([0-9]*\) .*/\1/p" out)" ]
	# The machine as a whole, of four seconds at least.
	awk '$1 == "all" && $2 >= 16 && NF == 4 { n++ } END { exit n != 1 }' counts_per_sec
); ok
[ -s counts_per_sec ] || { echo 'Bail out! no calibration'; exit 1; }
it 'the calibration has the mode that umask leaves, and no other file is left'; ( begin
	[ "$(stat -c %a counts_per_sec)" = 640 ]
	ls -A
	[ "$(ls -A | grep -c "counts_per_sec")" -eq 1 ]
); ok
chmod 644 counts_per_sec
long '-C where the file cannot be written: exit 1, nothing left' && ( begin
	mkdir locked && chmod 555 locked
	status=0
	soaking as_user "$cyclesoak" -C --force -N 1 -f locked/counts || status=$?
	[ $status -eq 1 ]
	grep -q "cannot write locked/counts" err
	[ -z "$(ls -A locked)" ]
); ok

# More than 3 % of the machine, and less than the 30 % that leave no load.
"$HELPERS/burn" 0 60 $((cpus * 10 < 60 ? cpus * 10 : 60)) >/dev/null &
busy=$!
remember $busy
undisturbed '-C on a busy machine: prints how much of it after a few rounds, exits 1, writes nothing'; while again; do ( begin
	status=0
	soaking brief "$cyclesoak" -C -f busy || status=$?
	[ $status -eq 1 ]
	tail -n 1 err | grep -q "not idle: other programs took [0-9.]*% of it (see top(1)): stop them, " err
	not grep unsteady err
	[ "$(grep -c '^calibrating: ' out)" -lt 4 ]
	not [ -e busy ]
); done
long '-C --force on a busy machine: it is reported, and the file is written' && ( begin
	soaking "$cyclesoak" -C --force -f busy
	grep -q "not idle" err
	[ -s busy ]
); ok
undisturbed 'own baselines on a busy machine: the load is marked, and a line on stderr has the reason'; while again; do ( begin
	mkdir -p crowd
	cd crowd
	soaking brief "$cyclesoak" true
	# Others may be busy as well, and then there is no load.
	if grep -q '^System load: -, unsafe: [a-z_,]*baseline_busy' out; then
		grep -q 'not idle beside the command: \|no load is measured;' err
	else
		grep -q "not idle beside the command: other programs took [0-9].*: the load is unsafe" err
		grep -Eq '^System load: -?[0-9.]+%\? ' out
	fi
	soaking brief "$cyclesoak" --json true
	grep -q '"unsafe":\[[^]]*"baseline_busy"' out
); done
kill -KILL $busy

# A directory that all may write to: what others have put there is never written to.
if [ "$(id -u)" -eq 0 ] && can_be_user; then
	mkdir shared
	chmod 1777 shared
	echo precious >precious
	# By somebody else than nobody, as whom as_user runs things.
	for name in counts_per_sec counts_per_sec.tmp counts_per_sec.new counts_per_sec~ .counts_per_sec; do
		setpriv --reuid 65533 --regid 65533 --clear-groups ln -s ../precious shared/$name
	done
	it 'zcc -C in a directory with planted links: an error, and they are not followed'; ( begin
		cd shared
		not soaking "$zcc" -C --force -N 1
		grep -q "counts_per_sec: a symbolic link of another user" err
		[ "$(cat ../precious)" = precious ]
		ls -A
		[ "$(ls -A | grep -c counts_per_sec)" -eq 5 ]
	); ok
	rm -f shared/counts_per_sec
	ln precious shared/counts_per_sec
	long '-C as another user, where the file is somebody else'"'"'s: an error, and it stays' && ( begin
		cd shared
		status=0
		soaking as_user "$cyclesoak" -C --force -N 1 || status=$?
		[ $status -eq 1 ]
		tail -n 1 err | grep -q "cannot write \(\./\)\?counts_per_sec: Operation not permitted"
		[ "$(cat counts_per_sec ../precious)" = "$(printf "precious\nprecious")" ]
		[ "$(ls -A | grep -c counts_per_sec)" -eq 5 ]
	); ok
else
	skip 'links in a shared directory' 'needs root and setpriv'
fi

finish
