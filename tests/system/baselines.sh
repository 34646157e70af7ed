#!/bin/sh
# Own baselines: zcc -c and zcs -c without a calibration, with one that does not fit, and with -f.
# command.sh has those of cyclesoak.
#
# group: quiet
# seconds: 5
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc zcs=$BIN/zcs
made_up_calibration >good
made_up_calibration 'elsewhere 1.0 CPU' >other
sed 's/^soaker .*/soaker 999/' good >old
sed 's/^cpus .*/cpus 5000/; s/^cpu 0 /cpu 5000 /; /^cpu [0-9]\{1,3\} /d; 1s/.*/1000/' good >others
misfits='other old others'
printf x >tiny

# Where others are busy for longer, the checks see why there is no load.
BUSY_TURNS=2

start_zcs
# brief command...: with windows of 20 ms in place of 250
brief()
{
	hastened env HASTEN_US=20000 "$@"
}
# own OPTION...: zcc -c against that zcs, in the directory own
own()
(
	mkdir -p own && cd own || return
	soaking brief "$zcc" -c -s 0 -p "$PORT" --congestion reno "$@" || return
	cp out err ..
	! too_busy || skip_check 'other programs take too much of the CPUs for a load'
)
# Whether other programs took so much of the machine that there is no load: the report has the reason.
too_busy()
{
	grep -Eq 'no load is reported$|left its soaker no time' err && grep -q baseline_busy out
}
undisturbed 'zcc -c without a calibration: a load, and a line about own baselines'; while again; do ( begin
	own -t 0.1
	not [ -e own/counts_per_sec ]
	grep -Eq '^[0-9]+ kbytes/sec .*, load -?[0-9.]+%\?? \+-' out
	grep -Eqx '    own baselines, drift -?[0-9.]+ points of load' out
); done
undisturbed 'zcc -c --json without a calibration: baseline and drift_percent, and each CPU'\''s load'; while again; do ( begin; need jq
	own -t 0.1 --json -B 0
	jq -e '.end.host | .baseline == "bracket" and (.drift_percent | type) == "number" and
		(.load_percent | type) == "number"' out
	jq -e '.end.load_by_cpu | length > 0' out
); done
undisturbed 'zcc -c -b with a list and no calibration: the head of the table has own baselines'; while again; do ( begin
	own -t 0.1 -m send -b 4k,64k -r 1
	[ "$(grep -c '; own baselines$' out)" -eq 1 ]
	grep -Eq '^send +64k +[0-9,]+ +-?[0-9.]+%' out
); done
stop_zcs
start_zcs --reply
undisturbed 'zcc -c --request without a calibration: own baselines for each size'; while again; do ( begin
	own --request 10,20 -n 20
	[ "$(grep -Ecx '  own baselines, drift -?[0-9.]+ points of load' out)" -eq 2 ]
); done
stop_zcs

start_zcs
it 'zcc -c: a ./counts_per_sec that does not fit is named, and own baselines are used'; ( begin; need jq
	for f in $(scale other "$misfits"); do
		cp $f counts_per_sec
		soaking brief "$zcc" -c -s 0 -p "$PORT" --congestion reno -t 0.1 --json
		too_busy || jq -e '.end.host.baseline == "bracket"' out
		[ "$(grep -c "^zcc: ./counts_per_sec .*: run 'cyclesoak -C'.*; own baselines are used$" err)" -eq 1 ]
	done
	rm counts_per_sec
); ok
it 'zcc -c -f FILE: that calibration is used, and the baseline is a file'; ( begin
	soaking "$zcc" -c -f good -s 0 -p "$PORT" --congestion reno -t 0.1
	not grep 'own baselines' out err
	soaking "$zcc" -c --calibration=good -s 0 -p "$PORT" --congestion reno -t 0.1 --json
	grep -q '"baseline":"file"' out
	not grep drift_percent out
); ok
it 'zcc -c: an interrupt in the first baseline ends it before it connects, and nothing is left'; ( begin
	env --default-signal=INT "$zcc" -c --wait 60 -s 0 -p "$PORT" tiny >out 2>err &
	p=$!
	remember $p
	wait_until or_gone $p has_lock $p
	kill -INT $p
	ended $p
	wait $p || status=$?
	cat out err
	not [ -s out ]
	not grep tiny zcs.out
	until_free
); ok
# Whether a soaker is left no time at all or too little depends on the kernel.
no_baseline='left its soaker no time before the [a-z]*: no load is measured\(; the busiest program was .* (pid [0-9]*), [0-9]*% of a CPU\)*$\|no load is reported$'
# Programs that take all CPUs would disturb other tests, and make each of these runs take long.
[ -z "$LONG" ] || for cpu in $(seq 0 $(($(getconf _NPROCESSORS_ONLN) - 1))); do
	"$HELPERS/burn" $cpu 300 >/dev/null &
	remember $!
	burners="$burners $!"
done
# busily command...: as soaking, on a machine that is to be busy
busily()
{
	status=0
	"$@" >out 2>err || status=$?
	cat out err
	return $status
}
long 'zcc -c on CPUs that others have whole: the transfer is reported, without a load, with the reason' && ( begin
	busily "$zcc" -c -s 0 -p "$PORT" --congestion reno -t 0.1
	grep -Eq '^[0-9]+ kbytes/sec \([0-9.]+ Gbit/s\)$' out
	grep -q '^  all bytes sent were received$' out
	grep -Eq '^    load +-$' out
	grep -Eq '^    unsafe: why +baseline_busy$' out
	not grep 'cost' out
	grep -q "$no_baseline" err
); ok
long 'zcc -c --json there: unsafe has the reason, and there is no load, no cost and no error' && ( begin
	busily "$zcc" -c -s 0 -p "$PORT" --congestion reno -t 0.1 --json
	jq -e '.end.host | .unsafe == ["baseline_busy"] and (has("load_percent") or has("cost_us_per_kib") | not)' out
	jq -e '.end.sum_sent.bytes > 0 and (has("error") | not)' out
); ok
long 'cyclesoak COMMAND there: the time is printed, without a load, and the status is the command'\''s' && ( begin
	status=0
	busily "$BIN/cyclesoak" sh -c 'exit 3' || status=$?
	[ $status -eq 3 ]
	grep -Eq '^System load: -, unsafe: baseline_busy; took [0-9.]+ s(; own baselines.*)?$' out
	grep -q "$no_baseline" err
); ok
stop_zcs
start_zcs --reply
long 'zcc -c --request there: the latencies are printed, and why there is no load' && ( begin
	busily "$zcc" -c -s 0 -p "$PORT" --request 10 -n 20
	grep -q '^  latency ' out
	grep -q '^  no load: baseline_busy$' out
	not grep 'cost' out
); ok
stop_zcs
# shellcheck disable=SC2086 # pids
[ -z "$burners" ] || kill -KILL $burners
it 'zcs -c: a ./counts_per_sec that does not fit is named, and it listens'; ( begin
	cp other counts_per_sec
	find_hastening
	ON="$hasten_by HASTEN_US=20000"
	start_zcs -c
	rm counts_per_sec
	[ "$(grep -c '^zcs: ./counts_per_sec was made on another machine .*; own baselines are used$' zcs.err)" -eq 1 ]
	stop_zcs
); ok
# measures_baseline: within 5 seconds of a client's end a thread of zcs measures the baseline
measures_baseline()
{
	"$zcc" -s 0 -p "$PORT" -q tiny
	wait_until counts -eq 1 threads_of "$ZCS"
	wait_until counts -gt 1 threads_of "$ZCS"
	wait_until counts -eq 1 threads_of "$ZCS"
}
undisturbed 'zcs -c without a calibration measures the baseline at the start, and again without clients'; while again; do ( begin; need jq
	rm -f counts_per_sec
	find_hastening
	ON="$hasten_by HASTEN_US=60000"
	start_zcs -c
	cat zcs.err
	not grep 'no load is measured' zcs.err
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno -t 0.4 --json
	jq -e '.end.remote.load_percent != null' out
	measures_baseline
	stop_zcs
); done
# Without a baseline there is no load until there is one.
[ -z "$LONG" ] || undisturbed 'another program soaks at the start, and there is no file: no CPU is used, and the baseline is measured when it ends'
while [ -n "$LONG" ] && again; do ( begin; need jq
	rm -f counts_per_sec
	ON=
	until_holding -f good -p 0.2
	start_zcs -c
	cat zcs.err
	grep -q "no load is measured while cyclesoak (pid $SOAK)" zcs.err
	sleep 4 | "$HELPERS/net" send -c "$PORT" &
	remember $!
	wait_until counts -gt 1 threads_of "$ZCS"
	sleep 1
	from=$(cpu_ns "$ZCS")
	sleep 2
	used=$(($(cpu_ns "$ZCS") - from))
	echo "$used ns"
	[ $used -lt 500000000 ]
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno tiny --json
	jq -e '.end.remote | has("load_percent") | not' out
	kill -TERM "$SOAK"
	ended "$SOAK"
	# The machine may be too busy for the first baseline.
	for try in 1 2 3; do
		wait_until has_lock "$ZCS"
		wait_until not has_lock "$ZCS"
		exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno -t 0.8 --json
		! jq -e '.end.remote | has("load_percent")' out || break
	done
	jq -e '.end.remote | has("load_percent")' out
	stop_zcs
); done
check_usage '--calibration.*only with -c or -C' zcc -s 0 -f good
check_usage '--calibration.*only with -c' zcs -p 0 -f good
finish
