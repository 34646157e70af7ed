#!/bin/sh
# Comparisons of commands by cyclesoak.  tests/unit/plan.c has the statistics; tests/system/settings.sh has --setting.
#
# seconds: 14
. "$TOP/tests/lib.sh"

without_loads
find_hastening
# compare [options...]
compare() { "$cyclesoak" --idle "$@"; }
log_has() { [ "$(paste -s -d ' ' log)" = "$1" ]; }

beside 'commands run once a round, every second round in reverse, with --prepare before and --conclude behind each; a row for each'; ( begin; need jq
	exits 0 compare -r 3 --vs 'echo b >>log; sleep 0.01' --prepare 'echo p >>log' --conclude 'echo c >>log' --save plan.tsv -- sh -c 'echo a >>log; sleep 0.01'
	log_has 'p a c p b c p b c p a c p a c p b c'
	grep -A 9 '^3 rounds of 2 runs' out >rows
	grep -E "^sh -c 'echo a >>log; sleep 0.01' +.*0\.[0-9]{3} \+-" rows
	grep -E '^echo b >>log; sleep 0.01 +.*0\.[0-9]{3} \+-' rows
	counts -eq 6 grep -c '	command=' plan.tsv
	grep '	#	--prepare: echo p >>log$' plan.tsv
) & later
beside '--json -B: an object for each run, then the comparison; the CPU seconds are load x CPUs x seconds'; ( begin; need jq
	exits 0 $hasten_by "$BIN/cyclesoak" --idle -B -r 2 --vs 'exit 0' --json -- sleep 0.01
	jq -s . out >all
	holds all '(map(.run) == [1, 2, 3, 4, null]) and (map(.command) | .[:4] == ["sleep 0.01", "exit 0", "exit 0", "sleep 0.01"])' \
	    'all(.[:4][]; .load_percent == null or (.load_by_cpu | length) == .cpus and
		(.cpu_seconds - .load_percent / 100 * .cpus * .seconds | . * . < 1e-12))' \
	    '.[4].comparison | .rounds == 2 and (.runs | map(.command) == ["sleep 0.01", "exit 0"]) and
		all(.runs[]; .seconds.mean > 0 and .seconds_ratio.ratio > 0) and .options.vs == ["exit 0"]'
) & later
beside 'the words of COMMAND arrive as they are, a single one is a line of sh, and what commands print is nowhere'; ( begin
	exits 0 compare -r 1 --vs 'echo hid""den; head -c 1m /dev/zero; echo hid""den >&2' -- printf '%s|' 'a  b' '' "x'y\$z" '*'
	not grep -aE 'hidden|a  b[|]' out err
	[ "$(tr -d '\000' <out | wc -c)" -eq "$(wc -c <out)" ]
	exits 0 compare -r 1 --show-output --vs 'echo "shown $((1 + 1))"' -- printf '%s|' 'a  b' '' "x'y\$z" '*'
	grep -xF "a  b||x'y\$z|*|shown 2" err
	not grep shown err.out out
) & later
beside 'standard input is empty, and signals are as they were: a command that reads it ends'; ( begin
	yes | exits 0 compare -r 1 --vs 'read line || [ $? -eq 1 ]' -- cat
	grep '^1 round of 2 runs' out
	exits 0 compare -r 1 -- grep -x 'SigBlk:.0*' /proc/self/status
) & later
beside 'a command that leaves a daemon ends without it, and the daemon lives on'; ( begin
	exits 0 compare -r 1 -- 'sleep 1000 >daemon.out & echo $! >daemon'
	remember "$(cat daemon)"
	kill -0 "$(cat daemon)"
	kill "$(cat daemon)"
) & later

beside '--save: a command that no line has room for is rejected before it runs; a long command line is cut'; ( begin
	exits 125 compare -r 1 --save long.zc -- "echo >>log; : $(printf '%09000d' 0)"
	grep 'run 1 has more than 8192 bytes' err
	not [ -e log ]
	not [ -e long.zc ]
	for session in 1 2; do
		exits 0 compare -r 1 --vs ": $(printf '%06000d' 1)" --vs ": $(printf '%06000d' 2)" --vs ": $(printf '%06000d' 3)" --save long.zc -- true
		not grep ignored err
	done
) & later

# ends WHY COMMAND...: the comparison ends by it in the second round, with the first in the report
ends()
{
	beside "a command that fails ends the comparison, which prints its complete rounds: $1"; ( begin
		why=$1
		shift
		exits 125 compare -r 5 "$@"
		tail -n 1 err | grep -xF "cyclesoak: $why"
		grep '^1 round of 2 runs' out
	) & later
}
beside 'a command that fails: the last line of its standard error is in the message, printable and cut, though a child has it open'; ( begin; need jq
	exits 125 compare -r 1 --conclude 'echo c >>log' --vs 'sleep 1000 & echo $! >child; printf "first\rla\033st \n\n" >&2; exit 5' -- true
	remember "$(cat child)"
	kill "$(cat child)"
	tail -n 1 err | grep ': its command ended with status 5: la?st$'
	log_has 'c c'
	exits 125 compare -r 1 --json -- 'head -c 2m /dev/zero >&2; printf %0300d 7 >&2; exit 5'
	tail -n 1 out | jq -e '.error | test(": its command ended with status 5: 0{199}7$")'
) & later
beside 'the CPU time of the processes of a command, also where the load is not measured: in text, JSON and --against'; ( begin; need jq
	spin='i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'
	exits 0 compare -- sh -c "$spin"
	paste -sd ' ' out | grep -E '; +took [0-9.]+ s, +user 0\.[0-9]+ s, +system [0-9.]+ s'
	exits 0 compare -r 2 --vs "$spin" --save own.zc --json -- :
	jq -s . out >all
	holds all 'all(.[:4][]; .user_system_seconds - .user_seconds - .system_seconds | fabs < 1e-9)' \
	    '.[4].comparison.runs | .[1].user_system_seconds.mean > 2 * .[0].user_system_seconds.mean and .[1].user_system_seconds_ratio.ratio > 2' \
	    'all(.[4].comparison.runs[].counts; .user_seconds.mean >= 0 and .system_seconds.mean >= 0)'
	exits 0 compare -r 1 --vs "$spin" --against own.zc -- :
	grep -E '^run.*  user\+system' out
) & later
beside '--no-shell: a command is split into words, which nothing expands'; ( begin
	exits 0 compare -r 1 --no-shell --show-output --vs "printf '%s|' 'a  b' \$HOME \"x'y\" *" -- printf '%s;' '$0' "a'b"
	grep -F "a  b|\$HOME|x'y|*|" err
	grep -F "\$0;a'b;" err
	exits 125 compare -r 1 --no-shell -- nosuch -x
	grep -x 'cyclesoak: round 1: cannot run nosuch: No such file or directory' err
) & later

hint=': --show-output prints what it says'
second='[ $(grep -c b log) -lt 2 ] ||'
ends "round 2, echo b >>log; $second exit 3: its command ended with status 3$hint" --vs "echo b >>log; $second exit 3" -- true
ends "round 2, echo b >>log; $second kill -9 \$\$: its command was ended by signal 9$hint" --vs "echo b >>log; $second kill -9 \$\$" -- true
ends "round 2, echo b >>log; $second no-such: its command ended with status 127" --show-output --vs "echo b >>log; $second no-such" -- true
ends 'round 2, exit 0: --prepare: its command ended with status 4' --prepare 'echo p >>log; [ $(grep -c p log) -lt 3 ] || exit 4' \
    --vs 'exit 0' -- true
ends 'round 2, exit 0: --conclude: its command ended with status 4' --conclude 'echo c >>log; [ $(grep -c c log) -lt 3 ] || exit 4' \
    --vs 'exit 0' -- true

beside '--retry: a command that fails is run again; in the end it is omitted, and the others go on'; ( begin; need jq
	exits 0 compare -r 2 --retry 1 --vs 'echo x >>log; [ $(grep -c x log) -ne 1 ]' -- true
	counts -eq 1 grep -c 'its command ended with status 1: .*: the run is repeated, 1 of 1$' err
	not grep omitted out
	log_has 'x x x'
	exits 1 compare -r 2 --retry 1 --vs 'exit 3' --json -- true
	counts -eq 2 grep -c 'round [12], exit 3: its command ended with status 3.*: the run is omitted$' err
	jq -es '.[-1].comparison | .rounds == 2 and (.failed_runs | length == 2) and .runs[0].seconds.mean > 0 and .runs[1].seconds == null' out
	exits 1 compare -r 1 --retry 1 --vs true --json -- false
	jq -es '.[0].command == "true" and (.[0].start | has("environment"))' out
	exits 125 compare -r 2 --retry 1 -- false
	tail -n 1 err | grep -x 'cyclesoak: all runs of round 1 failed'
) & later

# interrupted TITLE STATUS SIGNAL... COMMAND: they end the command of the second round, with all that it has started
interrupted()
{
	beside "$1: the command and what it has started end, complete rounds are printed, the first setting is restored"; ( begin
		status=$2 signals=$3 command=$4
		: >log
		echo a >now
		set -- --setting 'a=echo a >now' --setting 'b=echo b >now'
		[ "$status" -ne 131 ] || set -- --vs ':; echo x >>log'
		$ALONE env --default-signal=INT,QUIT "$cyclesoak" --idle -r 5 "$@" -- \
		    "[ \$(grep -c x log) -lt 2 ] || { $command; }; echo x >>log" >out 2>err &
		run=$!
		remember $run
		wait_until or_gone $run [ -s child ]
		remember "$(cat child)"
		for sig in $signals; do
			kill -"$sig" $run
			wait_until or_gone $run delivered
		done
		ended $run
		got=0; wait $run || got=$?
		[ $got -eq "$status" ]
		wait_until gone "$(cat child)"
		[ "$status" -eq 131 ] || grep '^1 round of 2 runs' out
		[ "$(cat now)" = a ]
		[ -z "$trapped" ] || [ -e trapped ] # SIGTERM came first
	) & later
}
trapped=
# delivered: no signal waits for cyclesoak to take it
delivered() { grep -Eq '^S(hd|ig)Pnd:.*[^0	]' "/proc/$run/status" && return 1; :; }
child='sleep 1000 & echo $! >child; wait'
interrupted SIGINT 130 INT "$child"
trapped=yes
interrupted 'SIGINT, which a child of its shell takes' 130 INT \
    "sh -c 'trap \": >trapped; exit\" TERM; echo \$\$; while :; do sleep 0.05; done' >child & wait"
trapped=
interrupted SIGTERM 143 TERM "$child"
interrupted 'SIGQUIT, but it prints nothing, and there is no setting' 131 QUIT "$child"
interrupted 'SIGTERM, which what it has started ignores' 143 TERM "(trap '' TERM INT; sleep 1000) & echo \$! >child; wait"
interrupted 'two signals, of which the command ignores the first' 143 'INT TERM' "trap '' INT TERM; $child; sleep 1000"

beside '--fail-above: fewer than three sessions with a load are not judged, in text and JSON; the status is 1'; ( begin; need jq
	compare -r 1 --vs 'exit 0' --save one -- true
	exits 1 compare -r 1 --vs 'exit 0' --against one --fail-above 5 -- true
	judged='^cyclesoak: not judged: true and 1 more: too few sessions: 1 now and 1 before: 3 a side are needed$'
	grep "$judged" err
	exits 1 compare -r 1 --vs 'exit 0' --against one --fail-above 5 --json -- true
	grep "$judged" err
	there='--fail-above 5%: 1 save session before, and 1 now with this one; 3 a side are needed: not judged yet'
	grep -xF "cyclesoak: $there" err
	jq -es '.[-1].comparison.verdict.result == "not_judged"' out
	exits 0 compare --dry-run --vs 'exit 0' --against one --fail-above 5 -- true
	grep -xF -e "$there" out
) & later
beside 'files of --save: of zcc, and of other commands, are rejected with a reason'; ( begin
	exits 0 compare -r 1 --vs 'exit 0' --save plan.tsv -- true
	exits 125 compare -r 1 --vs 'exit 1' --against plan.tsv -- true
	one_line err
	grep 'plan.tsv has other runs: its run 2 is exit 0, not exit 1' err
	sed 's/machine: cyclesoak/machine: zcc/' plan.tsv >zcc.tsv
	exits 125 compare -r 1 --vs 'exit 0' --save zcc.tsv -- touch ran
	one_line err
	grep '^cyclesoak: --save: zcc.tsv' err
	[ ! -e ran ]
) & later
beside 'commands of any bytes, in text, in --save and in JSON: they are cut nowhere, and control nothing'; ( begin; need jq
	name=$(printf ': tab\tnewline\n: \033[1m \303\251 %0300d' 7)
	for format in '' --json; do
		exits 0 compare -r 1 $format --save plan.tsv --vs "$name" -- true
		not grep -h "$(printf '\033')" out err plan.tsv
	done
	jq -es '.[-1].comparison.runs[1].command | endswith("0007")' out
	counts -eq 2 grep -c '	command=: tab\\tnewline\\n: \\x1b.*0007	' plan.tsv
) & later
beside '--dry-run prints the runs of a round in each setting, and runs nothing'; ( begin
	exits 0 compare -r 2 --dry-run --setting 'a=touch ran' --setting 'b=touch ran' --prepare 'touch ran' --vs 'touch ran' -- echo 'a b'
	printf '%s\n' '8 runs' '2 rounds of 4 runs' "echo 'a b', a" 'touch ran, a' "echo 'a b', b" 'touch ran, b' | diff - out
	[ ! -e ran ]
) & later

beside 'a first setting that fails, or cannot be restored: the status is 125, also after a signal'; ( begin
	exits 125 $ALONE "$cyclesoak" --idle -r 1 --setting 'a=exit 7' --setting b=: -- true
	for command in true '[ ! -e flag ] || { kill $PPID; sleep 1000; }'; do
		rm -f flag
		exits 125 $ALONE "$cyclesoak" --idle -r 1 --setting 'a=[ ! -e flag ]' --setting 'b=touch flag' -- "$command"
		tail -n 1 err | grep -x 'cyclesoak: --setting a is not restored: its command ended with status 1'
	done
) & later
beside '-d: the accounting of the kernel, of each run'; ( begin
	exits 0 compare -B -d -r 2 --vs 'sleep 0.2' -- sleep 0.3
	sed -n '/^round 1, sleep 0.2:$/,/steal/p' out | paste -sd ' ' | grep -E '^[^:]*: System load.*took (0\.[2-9]|[1-9]).*; kernel: user [0-9.]*%.* steal'
) & later

together
check_usage 'a comparison needs a COMMAND' cyclesoak -r 2
for option in -r1 --vs=x --setting=a=: --save=x --against=x --precision=1 --fail-above=5; do
	check_usage '-C, --calibrate and .* cannot be used together' cyclesoak -C "$option"
	check_usage '--verify and .* cannot be used together' cyclesoak --verify "$option"
done
it 'usage: options that cannot be'; ( begin
	while IFS=';' read -r message words; do
		eval "fails_with 125 '^cyclesoak: $message' '$cyclesoak' $words"
	done <<-'END'
		--vs: the command is empty$;--vs " " true
		the COMMAND is empty$;-r 2 "	 "
		--vs .true.: the same command as without --vs: -r, --runs repeats;--vs true -- true
		--vs .a b.: the same command as another --vs: -r, --runs repeats;--vs "a b" --vs "a b" true
		--setting.*one setting compares nothing;--setting a=: -- true
		--prepare: only with -r or --vs;--prepare true -- true
		--no-shell: .a "b.: a quote has no end$;--no-shell --vs 'a "b' -- true
		--fail-above: 3 rounds at least are needed;-r 2 --vs "exit 0" --fail-above 5 -- true
		--fail-above: there is nothing to compare with;--fail-above 5 -- true
	END
); ok
finish
