#!/bin/sh
# make demo: its table, and that an interrupt leaves nothing behind.
. "$TOP/tests/lib.sh"

TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp

# demo_pids: what still works for a demo of this test
demo_pids()
{
	for d in /proc/[0-9]*; do
		case $(readlink "$d/cwd" 2>/dev/null) in
		"$TMPDIR"/zc-demo.*) echo "${d#/proc/}" ;;
		esac
	done
}

check 'the table: a row per method, seven columns' '
	soaking "$TOP/tests/demo"
	grep -q "kbytes/sec *load *us/KiB *ints/s *rx pps *tx pps" out
	for m in sendfile send write; do
		grep -Eqx "$m\(\): +[1-9][0-9]* +[0-9.]+% +[0-9.]+ +[0-9]+ +[0-9]+ +[0-9]+" out
	done'
check 'nothing is left of it' '
	[ -z "$(demo_pids)" ]
	[ -z "$(ls tmp)" ]'

for case in 'INT sendfile():' 'TERM calibrating:'; do
	sig=${case% *} when=${case#* }
	turns=0
	while :; do
		# As from a terminal: a shell would start it in the background with SIGINT ignored.
		env --default-signal=INT "$TOP/tests/demo" >out 2>err &
		demo=$!
		remember $demo
		wait_until 'grep -q "^$when" out || gone $demo'
		gone $demo && grep -q 'soaked already' err && [ $turns -lt 60 ] || break
		turns=$((turns + 1))
		sleep 1
	done
	check "SIG$sig at '$when': it ends, and nothing is left of it" '
		[ -n "$(demo_pids)" ]
		kill -$sig $demo
		ended $demo
		wait_until "[ -z \"\$(demo_pids)\" ]"
		[ -z "$(ls tmp)" ]'
done

finish
