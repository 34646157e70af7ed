#!/bin/sh
# Comparisons of commands by cyclesoak.  tests/unit/{commands,shell,program}.c have how commands start, fail and end,
# tests/unit/plan.c has the statistics, tests/system/settings.sh has --setting.
#
# seconds: 7
. "$TOP/tests/lib.sh"

without_loads
find_hastening
# compare [options...]
compare() { "$cyclesoak" --idle "$@"; }
log_has() { [ "$(paste -s -d ' ' log)" = "$1" ]; }

beside 'commands run once a round, every second round in reverse, with --prepare before and --conclude behind each; a row for each'; ( begin
	exits 0 compare -r 2 --vs 'echo b >>log; sleep 0.01' --prepare 'echo p >>log' --conclude 'echo c >>log' --save plan.tsv -- sh -c 'echo a >>log; sleep 0.01'
	grep '	command: .*cyclesoak.* -r 2 --vs .*--save plan.tsv' plan.tsv
	log_has 'p a c p b c p b c p a c'
	grep -E "^sh -c 'echo a >>log; sleep 0.01' +.*0\.[0-9]{3} \+-" out
	counts -eq 4 grep -c '	command=' plan.tsv
	grep '	#	--prepare: echo p >>log$' plan.tsv
) & later
beside '--json -B: an object for each run, then the comparison; CPU seconds are load x CPUs x seconds, user and system those of all processes'
( begin; need jq
	exits 0 $hasten_by "$BIN/cyclesoak" --idle -B -r 1 --vs 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done' --json -- sh -c :
	jq -s . out >all
	holds all 'map(.run) == [1, 2, null] and .[0].command == "sh -c :"' \
	    'all(.[:2][]; .load_percent == null or (.load_by_cpu | length) == .cpus and
		(.cpu_seconds - .load_percent / 100 * .cpus * .seconds | . * . < 1e-12))' \
	    'all(.[:2][]; .user_system_seconds - .user_seconds - .system_seconds | fabs < 1e-9)' \
	    '.[2].comparison | .rounds == 1 and .runs[1].user_system_seconds_ratio.ratio > 2 and
		all(.runs[]; .seconds.mean > 0 and .seconds_ratio.ratio > 0 and .counts.system_seconds.mean >= 0)'
) & later
beside 'the words of COMMAND arrive as they are, a single one is a line of sh, or split by --no-shell; standard input is empty'; ( begin
	yes | exits 0 compare -r 1 --show-output --vs 'cat; echo "shown $((1 + 1))"' -- printf '%s|' 'a  b' '' "x'y\$z" '*'
	grep -xF "a  b||x'y\$z|*|shown 2" err
	not grep shown err.out out
	exits 0 compare -r 1 --no-shell --show-output --vs "printf '%s|' 'a  b' \$HOME \"x'y\" *" -- printf '%s;' '$0' "a'b"
	grep -F "a  b|\$HOME|x'y|*|" err
	grep -F "\$0;a'b;" err
) & later
beside 'a command that fails ends the comparison, which prints its complete rounds; a child that has its standard error lives on'; ( begin
	exits 125 compare -r 5 --conclude 'echo c >>log' --vs '[ -e run ] || { touch run; exit 0; }
		sleep 1000 & echo $! >child; echo last >&2; exit 5' -- true
	remember "$(cat child)"
	kill "$(cat child)"
	tail -n 1 err | grep '^cyclesoak: round 2, .*: its command ended with status 5: last$'
	grep '^1 round of 2 runs' out
	log_has 'c c c'
) & later
beside '--retry: a command that fails is run again; in the end it is omitted, and the others go on'; ( begin; need jq
	exits 1 compare -r 1 --retry 1 --vs 'echo x >>log; [ $(grep -c x log) -ne 1 ]' --json -- 'exit 3'
	counts -eq 1 grep -c 'echo x .*: its command ended with status 1: .*: the run is repeated, 1 of 1$' err
	log_has 'x x'
	jq -es '.[-1].comparison | .rounds == 1 and (.failed_runs | length == 1) and .runs[1].seconds.mean > 0 and .runs[0].seconds == null' out
	jq -es '.[0].run == 2 and (.[0].start | has("environment"))' out # the first that did not fail
) & later
beside 'an interrupted comparison: the command and what it has started end, complete rounds are printed, the first setting is restored'
( begin
	for signal in 2 15; do
		: >log
		rm -f child
		$ALONE env --default-signal=INT "$cyclesoak" --idle -r 5 --setting 'a=echo a >now' --setting 'b=echo b >now' -- \
		    '[ $(grep -c x log) -lt 2 ] || { (trap "" TERM INT; sleep 1000) & echo $! >child; wait; }; echo x >>log' >out 2>err &
		run=$!
		remember $run
		wait_until or_gone $run [ -s child ]
		remember "$(cat child)"
		kill -$signal $run
		ended $run
		got=0; wait $run || got=$?
		[ $got -eq $((128 + signal)) ]
		wait_until gone "$(cat child)"
		grep '^1 round of 2 runs' out
		[ "$(cat now)" = a ]
	done
) & later
beside 'a first setting that cannot be restored: the status is 125'; ( begin
	exits 125 $ALONE "$cyclesoak" --idle -r 1 --setting 'a=[ ! -e flag ]' --setting 'b=touch flag' -- true
	tail -n 1 err | grep -x 'cyclesoak: --setting a is not restored: its command ended with status 1'
) & later
beside '-d: the accounting of the kernel, of each run'; ( begin
	exits 0 compare -B -d -r 1 --vs 'sleep 0.2' -- true
	sed -n '/^round 1, sleep 0.2:$/,/steal/p' out | paste -sd ' ' | grep -E '^[^:]*: System load.*took (0\.[2-9]|[1-9]).*; kernel: user [0-9.]*%.* steal'
) & later

together
it 'cyclesoak: a comparison that cannot be, and options that none can have'; ( begin
	rejects '-C, --calibrate and .* cannot be used together' cyclesoak -C --vs=x
	rejects '--verify and .* cannot be used together' cyclesoak --verify --save=x
	fails_with 125 '--setting.*one setting compares nothing' "$cyclesoak" --setting a=: -- true
	fails_with 125 '--prepare: only with -r or --vs' "$cyclesoak" --prepare true -- true
); ok
finish
