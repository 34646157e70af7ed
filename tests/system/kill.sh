#!/bin/sh
# SIGKILL at random moments, 5 or in `make check-long` 101: nothing is left of any of the programs, and
# the port is free.
#
# group: soaks
# seconds: 3
. "$TOP/tests/lib.sh"

rounds=$(scale 1 25)
seed=${SEED:-$(new_seed)}
echo "# seed $seed"
head -c 100000 /dev/urandom >file
made_up_calibration >counts_per_sec
mkdir shared
# What a program starts inherits this mark, even if it has lost its parent.
ZC_KILLED=$$-$(date +%s)

# marked command... &: it, and what it starts, has the mark of this round
marked() { exec env ZC_KILLED="$ZC_KILLED.$round." "$@"; }
none_left() { ! grep -lsF "ZC_KILLED=$ZC_KILLED.$round." /proc/[0-9]*/environ >left.out; }
# kill_one PID: within 0.3 seconds; nothing of it stays, and nothing must be left by this test, either
kill_one()
{
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	sleep "$(printf 0.%03d $((seed / 65536 % 300)))"
	kill -KILL "$1"
	wait "$1" || :
	wait_until none_left || {
		cut -d / -f 3 left.out | xargs kill -KILL
		exit 1
	}
	[ -z "$(stale_group)" ]
}

it "zcs -c, killed once and $rounds times while it serves: nothing is left, and the port can be had at once"; ( begin
	PORT=0
	for round in $(seq 0 "$rounds"); do
		launch zcs.out '*listening*' marked "$BIN/zcs" -p "$PORT" -c
		read_port zcs.err
		start_zcc sender -t 5
		kill_one "$launched"
		kill -KILL $sender || :
	done
); ok
while IFS=';' read -r server options after; do
	it "zcc $options, killed $rounds times: nothing is left, and its server keeps no descriptor"; ( begin
		start_zcs $server
		fds=$(entries_in "/proc/$ZCS/fd")
		for round in $(seq "$rounds"); do
			marked "$BIN/zcc" -s 0 -p "$PORT" $options >kill.out 2>&1 &
			remember $!
			kill_one $!
			wait_until counts -eq "$fds" entries_in "/proc/$ZCS/fd"
			exits 0 "$BIN/zcc" -s 0 -p "$PORT" $after
		done
	); ok
done <<END
--reply;--request 100k -n 1000000 -P 4;--request 10 -n 1
;-c -t 30;file
END
it "cyclesoak -C, killed $rounds times: no soaker is left, and no half of a file"; ( begin
	for round in $(seq "$rounds"); do
		cp counts_per_sec shared/calibration
		marked "$BIN/cyclesoak" -C -f shared/calibration >kill.out 2>&1 &
		remember $!
		wait_until or_gone $! not prints_nothing soaker_of $!
		kill_one $!
		[ "$(ls -A shared)" = calibration ]
		cmp counts_per_sec shared/calibration
	done
); ok
finish
