#!/bin/sh
# make demo: its table, and that an interrupt leaves nothing behind.
#
# group: quiet
# seconds: 6
. "$TOP/tests/lib.sh"

own_tmpdir
# Its calibration is not what is tested here.
mkdir bin
ln -s "$BIN/zcc" "$BIN/zcs" bin
find_hastening
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$hasten_by" "$BIN/cyclesoak" >bin/cyclesoak
chmod 755 bin/cyclesoak
[ -n "$LONG" ] || BIN=$PWD/bin

check 'the table: a row per method, seven columns' '
	SECONDS_EACH=$(scale 0.5 5) soaking "$TOP/tests/demo"
	grep -q "kbytes/sec *load *us/KiB *ints/s *rx pps *tx pps" out
	for m in sendfile send write; do
		grep -Eqx "$m\(\): +[1-9][0-9]* +[0-9.]+% +[0-9.]+ +[0-9]+ +[0-9]+ +[0-9]+" out
	done'
check 'nothing is left of it' '
	[ -z "$(workers)" ]
	[ -z "$(ls tmp)" ]'

[ -n "$LONG" ] || finish
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
		until_free
	done
	check "SIG$sig at '$when': it ends, and nothing is left of it" '
		[ -n "$(workers)" ]
		kill -$sig $demo
		ended $demo
		wait_until "[ -z \"\$(workers)\" ]"
		[ -z "$(ls tmp)" ]'
done

finish
