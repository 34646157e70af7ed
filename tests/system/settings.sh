#!/bin/sh
# --setting: commands between the runs, and the first of them again on each way out.  tests/unit/setting.c has the
# commands themselves.
#
# seconds: 8
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc
printf x >tiny
head -c 300000 /dev/zero >file
start_zcs

# settings [options...]: zcc with two settings, each of which writes its name to the file `now` and to `log`
a='a=echo a >now; echo a >>log' b='b=echo b >now; echo b >>log'
# One program at a time has settings; $turn has each of these wait for its turn.
turn="flock -F $PWD/turn"
settings() { $turn "$zcc" -s 0 -p "$PORT" --congestion reno --setting "$a" --setting "$b" "$@"; }
commands() { [ "$(paste -s -d ' ' log)" = "$1" ]; }
is_now() { [ "$(cat now)" = "$1" ]; }

beside 'each setting is entered before its runs and not twice, while no connection is open; then the first again'; ( begin; need ss jq
	start_zcs
	b="$b; ss -Htn state established '( dport = :$PORT )' >>open"
	# shellcheck disable=SC3045 # as in zcs.sh
	ulimit -Sn 200
	b="$b; ulimit -n >files"
	exits 0 settings -r 3 -m send,mmap -n 2 --json ../file
	commands 'a b a b a'
	[ "$(cat files)" -eq 200 ]
	prints_nothing cat open
	jq -es 'map(.comparison // empty) | .[0].runs | map(.setting + .method) == ["asend", "ammap", "bsend", "bmmap"]' out
) & later
beside 'names of any bytes, in text, in TSV and in JSON: they are cut nowhere, and control nothing'; ( begin; need jq
	long=$(printf '%0900d' 7)
	name=$(printf 'tab\tnewline\n\033[1m \303\251 %s' "$long")
	for format in '' --json; do
		exits 0 $turn "$zcc" -s 0 -p "$PORT" -r 1 -n 1 $format --setting "$name=:" --setting "$long=:" --save plan.tsv ../file
		[ -n "$format" ] || counts -ge 2 grep -c "$long" out
		not grep "$(printf '\033')" out err plan.tsv
	done
	jq -es "map(.comparison // empty) | .[0].runs | map(.setting | endswith(\"$long\")) == [true, true]" out
	[ "$(grep -v '^#' plan.tsv | grep -c "$long")" -eq 4 ]
) & later
beside '--save and --against tell runs of two settings apart, and reject those of others'; ( begin
	exits 0 settings -r 1 -n 1 --save plan.tsv ../file
	exits 0 settings -r 1 -n 1 --save plan.tsv --against plan.tsv ../file
	fails 'other runs' $turn "$zcc" -s 0 -p "$PORT" -n 1 -r 1 --setting c=: --setting b=: --against plan.tsv ../file
) & later

beside 'a command that fails ends the comparison, which prints its complete rounds'; ( begin
	exits 1 settings -n 1 -r 9 --setting 'c=echo c >>log; [ "$(grep -c c log)" -lt 2 ] || { echo why; exit 3; }' --save plan.tsv ../file
	tail -n 2 err >last
	printf '%s\n' why 'zcc: round 3, sendfile, c: --setting c: its command ended with status 3' | diff - last
	grep '^2 rounds of 3 runs' out
	counts -eq 7 grep -vc '^#' plan.tsv
	commands 'a b c b a b c a'
) & later
beside 'a first setting that cannot be restored is the last line, and the status'; ( begin
	exits 1 $turn "$zcc" -s 0 -p "$PORT" -n 1 -r 1 --setting 'a=[ ! -e now ]' --setting "$b" ../file
	tail -n 1 err | grep -x 'zcc: --setting a is not restored: its command ended with status 1'
) & later

# way TITLE STATUS options...: zcc ends with the status when `then_do` has been done in the second setting, and the first
# is restored
then_do=:
way()
{
	beside "the first setting is restored: $1"; ( begin
		status=$2
		shift 2
		start_zcs
		FROM=$turn
		start_zcc run --setting "$a" --setting "$b" "$@"
		wait_until [ -e now ]
		wait_until or_gone "$run" is_now b
		untraced $then_do
		zcc_ends run "$status"
		is_now a
		[ ! -e child ] || ended "$(cat child)"
	) & later
}
# delivered: no signal waits for zcc to take it
delivered() { grep -Eq '^ShdPnd:.0+$' "/proc/$run/status"; }
signals() { for sig in $signals; do kill -"$sig" "$run"; wait_until or_gone "$run" delivered; done; }
kill_server() { kill -KILL "$ZCS"; }
way 'the end of one round' 0 -n 1 -r 1 ../file
way 'rounds that are precise' 0 -n 1 --precision 100 ../file
then_do=kill_server
way 'a server that died' 1 -t 1
then_do=signals
signals=INT way SIGINT 130 -t 1
signals=TERM way SIGTERM 143 -t 1
signals=HUP way SIGHUP 129 -t 1
b="$b; sleep 20 & echo \$! >child; wait"
signals=INT way 'SIGINT while a command runs' 130 -t 0.2
signals=QUIT way 'SIGQUIT while a command runs' 131 -t 0.2
b="trap '' INT TERM HUP; $b"
signals=TERM way 'SIGTERM while a command runs that ignores it' 143 -t 0.2
together

it 'what the report has of the interface is that of each run'; ( begin; need ip jq
	[ -n "$OWN_NETWORK" ] || skip_check 'the network is not its own'
	mtu=$(cat /sys/class/net/lo/mtu)
	exits 0 $turn "$zcc" -s 0 -p "$PORT" --json -n 1 -r 2 --setting "large=ip link set lo mtu $mtu" --setting 'small=ip link set lo mtu 16384' file
	jq -es "map(.start.environment.link.mtu // empty) == [$mtu, 16384, 16384, $mtu]" out
	[ "$(cat /sys/class/net/lo/mtu)" = "$mtu" ]
); ok
it 'the first setting is restored: the report cannot be written'; ( begin
	got=0
	settings -n 1 -r 1 file >/dev/full 2>err || got=$?
	[ $got -eq 1 ]
	grep 'No space left' err
	[ ! -e now ] || is_now a
); ok
for usage in 'give a second one;--setting a=:' 'is given twice;--setting a=: --setting a=id' \
    'is not NAME=COMMAND;--setting a' 'cannot be used together;--setting a=: --setting b=: -c -f none'; do
	# shellcheck disable=SC2086 # the words
	check_usage "${usage%%;*}" zcc -s 0 ${usage#*;}
done
finish
