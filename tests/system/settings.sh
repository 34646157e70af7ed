#!/bin/sh
# --setting: commands between the runs, and the first of them again on each way out.  tests/unit/setting.c has the
# commands themselves.
#
# seconds: 5
. "$TOP/tests/lib.sh"

head -c 300000 /dev/zero >file
start_zcs

# settings [options...]: zcc with two settings, each of which writes its name to the file `now` and to `log`
a='a=echo a >now; echo a >>log' b='b=echo b >now; echo b >>log'
settings() { $ALONE "$zcc" -s 0 -p "$PORT" --congestion reno --setting "$a" --setting "$b" "$@"; }
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
beside 'a command that fails ends the comparison, which prints its complete rounds'; ( begin; need jq
	exits 1 settings --json -n 1 -r 9 --setting 'c=[ "$(grep -c b log)" -lt 3 ] || { echo why; exit 3; }' ../file
	error='round 3, -m sendfile, c: --setting c: its command ended with status 3'
	[ "$(tail -n 2 err | paste -s)" = "why	zcc: $error" ]
	tail -n 2 out | jq -es --arg error "$error" '.[0].error == $error and (.[1] | .comparison.rounds == 2 and .error == $error)'
	is_now a
) & later

beside 'the first setting is restored after every signal that can be caught'; ( begin
	! sanitized || skip_check 'sanitizers catch some'
	FROM=$ALONE
	start_zcc run -n 1 --setting "$a" --setting 'b=echo b >now; exec sleep 20'
	wait_until or_gone "$run" grep -qx b now
	# 34 to 64, and of 1 to 31 all but KILL, PIPE, XFSZ and those that do not end a program
	caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$run/status")
	[ $((0x${caught%????????} & 0xfffffffe)) -eq $((0xfffffffe)) ]
	[ $((0x${caught#????????} & 0x7680eeff)) -eq $((0x7680eeff)) ]
	kill -64 "$run"
	ended "$run"
	is_now a
	grep "^zcc: ending; restoring 'a', for 30 s at most$" run.err
) & later
beside 'the first setting is restored: a server that died, SIGINT in a transfer, a report that cannot be written'; ( begin
	FROM=$ALONE
	for status in 1 130; do
		start_zcs
		rm -f now
		start_zcc run --setting "$a" --setting "$b" -t 1
		wait_until or_gone "$run" grep -qx b now
		if [ $status -eq 1 ]; then kill -KILL "$ZCS"; else kill -INT "$run"; fi
		zcc_ends run $status
		is_now a
	done
	start_zcs
	: >now
	got=0
	settings -n 1 -r 1 ../file >/dev/full 2>err || got=$?
	[ $got -eq 1 ]
	grep 'No space left' err
	is_now a
) & later
beside 'a second signal waits until the first setting is restored; a thread that faults restores it'; ( begin
	! sanitized || skip_check 'sanitizers catch some'
	start_zcs
	FROM=$ALONE
	start_zcc run -n 1 --setting 'a=[ ! -e now ] || { touch begun; until [ -e go ]; do sleep 0.05; done; }; echo a >now' \
	    --setting "b=kill -STOP $ZCS; echo b >now" ../file
	wait_until or_gone "$run" grep -qx b now
	wait_until counts -eq 2 threads_of "$run"
	# A fault whose signal is blocked kills at once: no thread blocks ILL, BUS, FPE or SEGV.
	counts -eq 2 sh -c 'cat "$0"/task/*/status | grep -Ec "^SigBlk:.*[0-38-b][0-3][0-7]$"' "/proc/$run"
	kill -XCPU "$run"
	wait_until [ -e begun ]
	kill -XCPU "$run"
	wait_until or_gone "$run" grep -Eq '^ShdPnd:.*[89a-f].....$' "/proc/$run/status"
	touch go
	zcc_ends run 152
	is_now a
	kill -KILL "$ZCS"
) & later
beside 'zcc is killed: the command that runs is ended, but not one that makes the first setting'; ( begin
	FROM=$ALONE
	start_zcc run -n 1 --setting a=: --setting 'b=echo b >now; sleep 20 & echo $! >child; wait; echo late >now'
	wait_until [ -s child ]
	kill -KILL "$run"
	ended "$(cat child)"
	is_now b
	rm child
	start_zcc run -t 9 --setting 'a=echo $$ >child; until [ -e go ]; do sleep 0.05; done; echo a >now' --setting b=:
	wait_until [ -s child ]
	kill -KILL "$run"
	ended "$run"
	touch go
	wait_until is_now a
) & later
without_loads
beside 'a program that ignores SIGCHLD starts zcc: a first setting that cannot be restored is the last line, and the status'; ( begin
	exits 1 $ALONE env --ignore-signal=CHLD "$zcc" -s 0 -p "$PORT" --congestion reno -n 1 -r 1 --setting 'a=[ ! -e made ]' --setting 'b=touch made' ../tiny
	tail -n 1 err | grep -x 'zcc: --setting a is not restored: its command ended with status 1'
) & later
beside 'blocked and ignored signals are passed on to the command of cyclesoak as they were'; ( begin
	exits 0 env --default-signal --ignore-signal=CHLD,HUP --block-signal=TERM,CHLD $loadless "$BIN/cyclesoak" --idle \
	    grep -E '^Sig(Ign|Blk)' /proc/self/status
	grep -E '^SigBlk:.*14000$' out
	grep -E '^SigIgn:.*10001$' out
) & later
beside 'what the report has of the interface is that of each run'; ( begin; need ip jq
	[ -n "$OWN_NETWORK" ] || skip_check 'the network is not its own'
	mtu=$(cat /sys/class/net/lo/mtu)
	exits 0 $ALONE "$zcc" -s 0 -p "$PORT" --json -n 1 -r 2 --setting "large=ip link set lo mtu $mtu" --setting 'small=ip link set lo mtu 16384' ../file
	jq -es "map(.start.environment.link.mtu // empty) == [$mtu, 16384, 16384, $mtu]" out
	[ "$(cat /sys/class/net/lo/mtu)" = "$mtu" ]
) & later
together
check_usage 'is given twice' zcc -s 0 --setting a=: --setting a=id
check_usage 'cannot be used together' zcc -s 0 --setting a=: --setting b=: -c -f none
finish
