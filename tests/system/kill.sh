#!/bin/sh
# SIGKILL at random moments, 16 or in `make check-long` 200: nothing is left of any of the programs, and
# the port is free.
#
# group: soaks
# seconds: 6
. "$TOP/tests/lib.sh"

zcs=$BIN/zcs zcc=$BIN/zcc cyclesoak=$BIN/cyclesoak
rounds=$(scale 2 25)
seed=${SEED:-$(new_seed)}
head -c 100000 /dev/urandom >file

# What a program starts inherits its mark, even if it has lost its parent.  That processes end
# while grep reads is an error to it, even if it has found something.
ZC_KILLED=$$.
export ZC_KILLED
left()
{
	grep -lsF "ZC_KILLED=$ZC_KILLED$1." /proc/[0-9]*/environ | grep .
}

# moments N: as many random times up to 0.3 seconds.
moments()
{
	seed=$((seed + 1))
	awk -v seed=$seed -v n="$1" 'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.3f\n", rand() * 0.3 }'
}

now_ms()
{
	echo $(($(date +%s%N) / 1000000))
}

# What is left must not be left by this test, either.
give_up()
{
	cat left.out
	sed 's,^/proc/\(.*\)/environ$,\1,' left.out | xargs kill -KILL
	exit 1
}

# killed NAME command...: kills it at those moments; `ready` is run before, `after` behind each.
# Where other tests soak the CPUs, a round waits for its turn.
killed()
{
	name=$1
	shift
	longest=0 alive=0 i=0
	moments "$rounds" >moments
	while read -r moment; do
		i=$((i + 1))
		ready
		env ZC_KILLED="$ZC_KILLED$name.$i." "$@" >kill.out 2>kill.err &
		pid=$!
		remember $pid
		sleep "$moment"
		if kill -KILL $pid 2>/dev/null; then
			alive=$((alive + 1))
		else
			cat kill.err
		fi
		start=$(now_ms)
		wait $pid || true
		met()
		{
			! left "$name.$i" >left.out
		}
		wait_until met || give_up
		took=$(($(now_ms) - start))
		[ $took -le $longest ] || longest=$took
		[ -z "$(stale_group)" ]
		after
	done <moments
	echo "seed $seed: $alive of $i were killed, gone after $longest ms at most"
	[ $alive -eq "$rounds" ]
}

ready()
{
	:
}

after()
{
	:
}

# A port that is free, and which only one server in a row gets.
free_port()
{
	start_zcs "$@"
	stop_zcs
}

# can_be_had: by a server that starts at once.
can_be_had()
{
	: >again.err
	"$zcs" -p "$PORT" "$@" >again.out 2>again.err &
	again=$!
	remember $again
	wait_until or_gone $again grep -q listening again.err
	cat again.err
	grep -q listening again.err
	kill -TERM $again
	wait $again
}

echo "# seed $seed"
free_port
it "zcs while it receives, $rounds times"; ( begin
	after()
	{
		can_be_had
	}
	( while "$zcc" -s 0 -p "$PORT" -t 1 >/dev/null 2>&1 || [ -e going ]; do :; done ) &
	feeder=$!
	remember $feeder
	: >going
	killed receives "$zcs" -p "$PORT"
	rm going
	wait $feeder || true
); ok
free_port --reply
it "zcs --reply while it answers, $rounds times"; ( begin
	after()
	{
		can_be_had --reply
	}
	: >going
	( while [ -e going ]; do "$zcc" -s 0 -p "$PORT" --request 10 -n 50 --timeout 1 >/dev/null 2>&1; done ) &
	feeder=$!
	remember $feeder
	killed replies "$zcs" -p "$PORT" --reply
	rm going
	wait $feeder || true
); ok

start_zcs
fds=$(ls /proc/"$ZCS"/fd | wc -l)
it "zcc with four streams, $rounds times: its server keeps no thread or descriptor"; ( begin
	killed sends "$zcc" -s 0 -p "$PORT" -P 4 -t 30
	wait_until counts -eq 1 threads_of "$ZCS"
	[ "$(ls /proc/"$ZCS"/fd | wc -l)" -eq "$fds" ]
	"$zcc" -s 0 -p "$PORT" file
); ok
stop_zcs
start_zcs --reply
it "zcc --request, $rounds times: its server keeps no descriptor"; ( begin
	fds=$(ls /proc/"$ZCS"/fd | wc -l)
	killed requests "$zcc" -s 0 -p "$PORT" --request 100k -n 1000000 -P 4
	wait_until counts -eq "$fds" entries_in /proc/"$ZCS"/fd
	"$zcc" -s 0 -p "$PORT" --request 10 -n 1
); ok
stop_zcs

# Programs that soak.
made_up_calibration >counts_per_sec
cp counts_per_sec calibration
check "cyclesoak, $rounds times: no soaker" killed monitor "$cyclesoak" -B -p 1
it "cyclesoak -C, $rounds times: no soaker, no half of a file"; ( begin
	mkdir -p shared
	after()
	{
		[ "$(ls -A shared)" = calibration ]
		cmp calibration shared/calibration
	}
	cp calibration shared
	killed calibrates "$cyclesoak" -C -f shared/calibration
); ok
it "zcs -c, $rounds times: no soaker"; ( begin
	free_port
	killed measures "$zcs" -c -p "$PORT"
	can_be_had
); ok
start_zcs
it "zcc -c, $rounds times: no soaker"; ( begin
	killed loads "$zcc" -c -s 0 -p "$PORT" -t 30
	"$zcc" -s 0 -p "$PORT" file
); ok
stop_zcs

finish
