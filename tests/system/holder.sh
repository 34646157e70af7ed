#!/bin/sh
# A holder of the soakers' lock that is none of them, but takes the CPUs as if it were.
#
# group: quiet
# seconds: 2
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak
made_up_calibration >counts_per_sec

if [ "$(id -u)" -ne 0 ] || [ ! -w /run ] || ! flock -F /dev/null true 2>/dev/null; then
	skip 'a lock on /dev/zero that a busy program holds' 'needs root, a /run that it can write to, and flock -F'
	finish
fi
# Real-time, so that it takes more than a CPU whatever else this machine does, but leaves some for the test.
cpus=$(getconf _NPROCESSORS_ONLN)
share=70
[ "$cpus" -gt 1 ] || share=100
rr=
! "$BIN/run_rr" true 2>/dev/null || rr=$BIN/run_rr
: >held
echo "echo \$\$ >held; $rr $HELPERS/burn $(cat /sys/devices/system/cpu/online) 150 $share & echo \$! >burning; wait" >holds
flock -F /dev/zero sh holds &
met()
{
	[ -s held ] && [ -s burning ]
}
wait_until met || wait_until [ -s held ]
HOLDER=$(cat held)
remember "$HOLDER"
remember "$(cat burning)"
# It does not wait 2 s for the lock, but watches its holder for as long as ever.
find_at_once
root_does_not_soak()
{
	# shellcheck disable=SC2086 # words
	exits 1 $at_once HASTEN_UP_TO_US=10000 "$cyclesoak" -1 -p 0.1
	grep -q "soaked already, by sh (pid $HOLDER)" err
}
check_undisturbed 'root does not soak beside a holder of which the children take a CPU' root_does_not_soak
kill -KILL "$HOLDER" "$(cat burning)"
finish
