#!/bin/sh
# zcc -c and cyclesoak while another program has the soakers' lock: they go on, and the load is not measured, or they fail.
# Nothing is soaked: the lock is of a mount namespace, and a process there holds it.
#
# seconds: 2
. "$TOP/tests/lib.sh"

made_up_calibration >counts_per_sec
# The lock is a file of this namespace.
cat >held.sh <<'END2'
rm -f holder
: >lock && mount --bind lock /dev/zero || exit 99
flock -F /dev/zero sh -c 'echo $$ >holder; exec sleep 60' &
while [ ! -s holder ]; do sleep 0.01; done
"$@"
status=$?
kill "$(cat holder)"
exit $status
END2
# held STATUS COMMAND...: runs it while the lock is held; its output is in out and err
held()
{
	want=$1
	shift
	exits $want unshare -m sh held.sh "$@"
	[ "$(grep -c "^[a-z]*: \(the load is not measured: \)\?CPUs are being soaked already, by sleep (pid $(cat holder)): .*(--wait SECS)" err)" -eq 1 ]
}
if ! unshare -m sh -c ': >lock && mount --bind lock /dev/zero' 2>/dev/null ||
    ! flock -F /dev/null true 2>/dev/null || ! command -v jq >/dev/null 2>&1; then
	skip 'what goes on while another program soaks' 'no privilege for namespaces, no flock -F, or no jq'
	finish
fi

it 'cyclesoak COMMAND while another program soaks: it runs, the status is its own, and the line has the reason'; ( begin
	held 7 "$cyclesoak" --wait 0 sh -c 'echo ran; exit 7'
	grep -qx ran out
	grep -q ': the load is not measured: ' err
	xargs <out | grep -E 'System load: not measured: another program soaks the CPUs: stop it, or wait for it .*; took [0-9.]+ s(,|$)'
); ok
it 'cyclesoak without a command, and -C, fail after --wait SECS while another program soaks'; ( begin
	for command in 'cyclesoak -1 --wait 0.1' 'zcc -C --wait 0.1' 'cyclesoak -C --wait 0'; do
		held 1 "$BIN"/$command
		not grep 'the load is not measured' err
	done
); ok
it 'zcc -c while another program soaks: the transfer, or the latencies, are reported, with the reason why the load is not measured'; ( begin
	start_zcs
	held 0 "$zcc" -c --wait 0 -s 0 -p "$PORT" --congestion reno -n 1 --json
	jq -e '.end | .host.no_load == "held" and .remote.no_load == "off" and .bytes_agree' out
	start_zcs --reply
	held 0 "$zcc" -c --wait 0 -s 0 -p "$PORT" --request 10 -n 5
	grep '^  load not measured: another program soaks the CPUs: stop it, or wait ' out
); ok
finish
