#!/bin/sh
# Counters past their edges, long runs, many clients, stopped clocks: the figures stay exact and the
# memory flat.
#
# only: check-long
# seconds: 400
# limit: 3600
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc
senders=$(senders)
receivers=$(receivers)
loops=100000 files=70000 edge=4294967297 requests=20000 clients=5000 run_seconds=60
flat_kib=256 # by which a process may grow
printf '0123456789' >ten
printf '%2000s' '' >file

# send_by METHOD option...: zcc, with the report in `out`.  zerocopy waits for the completions of short
# sends that Nagle's algorithm holds back until a delayed acknowledgement, 44 ms for ten of them.
send_by()
{
	method=$1
	shift
	case $method in
	zerocopy) set -- --nodelay "$@" ;;
	esac
	exits 0 "$zcc" -s 0 -p "$PORT" -m "$method" --congestion cubic "$@"
}

# all_arrived BYTES LOOPS: both ends claim just these
all_arrived()
{
	[ "$(bytes_of out)" = "$1 $1" ]
	grep -q "all bytes sent were received" out
	[ "$2" -eq 1 ] || plain out | grep -q ", in $2 loops$"
}

# summed FILE: the bytes in the summaries of zcs
summed()
{
	sed -n 's/^127\.0\.0\.1:.*, \([0-9]*\) bytes in .*/\1/p' "$1" | awk '{ n += $1 } END { printf "%.0f\n", n }'
}

# memory PID KEY: VmRSS or VmHWM, in KiB
memory()
{
	sed -n "s/^$2:[ 	]*\([0-9]*\) kB$/\1/p" "/proc/$1/status" 2>/dev/null
}

# is_flat WHO BEFORE AFTER: in KiB.  Sanitizers have memory of their own.
is_flat()
{
	echo "$1: $2 KiB, then $3 KiB"
	[ "$2" -gt 0 ]
	sanitized || [ "$3" -le $(($2 + flat_kib)) ]
}

# 100,000 loops, a million with --raw: each method with one stream, and the first with four, too.
printf '%s 1\n' $senders >runs
echo 'sendfile 4' >>runs
for framing in headers --raw; do
	while read -r method streams; do
		n=$((loops * streams))
		it "$framing -m $method -P $streams: $loops loops"; ( begin
			raw=${framing#headers}
			start_zcs -I 0 $raw
			send_by "$method" $raw -P "$streams" -n $loops ten
			plain out | grep -q ", in $n loops$"
			[ -n "$raw" ] || all_arrived $((n * 10)) $n
			bytes_of out | grep -Eq "^$((n * 10))( |$)"
			wait_until prints $((n * 10)) summed zcs.out
			stop_zcs
		); ok
	done <runs
done
it '--raw -t: loops by the hundred thousand in 5 seconds'; ( begin
	start_zcs --raw -I 0
	send_by sendfile --raw -t 5 ten
	claimed=$(bytes_of out)
	wait_until prints "$claimed" summed zcs.out
	stop_zcs
); ok

# 70,000 files of a byte, most of them without a descriptor that stays open.
mkdir many
(cd many && head -c $files /dev/zero | split -b 1 -a 4 -)
start_zcs -I 0
while read -r method streams; do
	it "-m $method -P $streams: $files files of a byte, twice"; ( begin
		cd many || exit
		send_by "$method" -P "$streams" -n 2 ./*
		all_arrived $((2 * files * streams)) $((2 * streams))
		plain out | grep -q "^  $files files of $files bytes"
		rm -f out err
	); ok
done <runs
rm -r many

# A file of 2^32 + 1 bytes, which has two entries.
truncate -s $edge edge
while read -r method streams; do
	it "-m $method -P $streams: a file of $edge bytes"; ( begin
		send_by "$method" -P "$streams" edge
		all_arrived $((streams * edge)) "$streams"
	); ok
done <runs
stop_zcs
for method in $receivers; do for framing in headers --raw; do
	it "zcs -m $method, $framing: a file of $edge bytes"; ( begin
		start_zcs ${framing#headers} -m "$method" -I 0
		send_by sendfile ${framing#headers} edge
		bytes_of out | grep -Eq "^$edge( |$)"
		wait_until prints $edge summed zcs.out
		stop_zcs
	); ok
done; done
rm edge

# 20,000 requests a size.
sizes=10,1k,64k
asked=$((requests * (10 + 1024 + 65536)))
it "--request $sizes -n $requests: no request fails, and both ends count the same bytes"; ( begin
	start_zcs --reply --json
	# What the first ones need stays allocated.
	exits 0 "$zcc" -s 0 -p "$PORT" --request $sizes -n 1000 -P 8 --json
	before=$(memory "$ZCS" VmHWM)
	exits 0 "$zcc" -s 0 -p "$PORT" --request $sizes -n $requests -P 8 --json
	is_flat "zcs --reply" "$before" "$(memory "$ZCS" VmHWM)"
	for size in 10 1024 65536; do
		grep -q "\"request_bytes\":$size,[^}]*\"bytes\":$((size * requests)),[^}]*\"connections\":$requests," out
	done
	none='"refused":0,"reset":0,"no_ports":0,"timeout":0,"wrong_length":0,"other":0'
	[ "$(grep -o "$none" out | wc -l)" -eq 3 ]
	stop_zcs
	cat zcs.out zcs.err
	grep -q "\"bytes\":$((asked + asked / requests * 1000)),.*\"replies\":$((3 * (requests + 1000)))," zcs.out
	grep -q '"refused":0,"silent":0,"too_large":0,"broken":0' zcs.out
); ok

# 5,000 clients one after the other.
# send_often N: N runs of zcc, each of which sends 2000 bytes and knows that they arrived
send_often()
{
	i=0
	while [ $i -lt $1 ]; do
		"$zcc" -s 0 -p "$PORT" file >out 2>err || { cat err; return 1; }
		[ "$(bytes_of out)" = "2000 2000" ] || { cat out; return 1; }
		i=$((i + 1))
	done
}
it "zcs: $clients clients one after the other"; ( begin
	start_zcs -I 0
	send_often 1000
	before=$(memory "$ZCS" VmRSS)
	descriptors=$(ls /proc/"$ZCS"/fd | wc -l)
	send_often $((clients - 1000))
	wait_until counts -eq $clients grep -c ^127 zcs.out
	is_flat zcs "$before" "$(memory "$ZCS" VmRSS)"
	wait_until counts -eq "$descriptors" entries_in /proc/"$ZCS"/fd
	wait_until counts -eq 1 threads_of "$ZCS"
	cat zcs.err
	# On a busy machine the next client comes before the last one is gone, and zcs sums both up.
	grep -v "^total of " zcs.out >summaries
	not grep -v "^127\.0\.0\.1:.*, 2000 bytes in " summaries
	[ "$(wc -l <summaries)" -eq $clients ]
	one_line zcs.err
	stop_zcs
); ok
# A minute of intervals.
# The objects of both ends are $zcc and $zcs.  Each end has the same bytes, with those of a warm-up,
# whose end each judges by its own clock; streams add up to the whole; intervals are in order and have
# no more than the whole, since zcc reports none for what is under way at the end.
agree='
	def whole: .bytes + .warmup_bytes;
	($zcc[0].end.sum_sent | whole) as $all |
	($zcc[0].end.sum_received | whole) == $all and
	($zcs[0].end.sum_received | whole) == $all and
	$zcc[0].end.bytes_agree and
	([$zcc[0].end.streams[].sender.bytes] | add == $zcc[0].end.sum_sent.bytes) and
	([$zcs[0].end.streams[].receiver.bytes] | add == $zcs[0].end.sum_received.bytes) and
	([$zcc, $zcs | .[0].intervals | map(.sum)] | all(
		. as $i | all(range(1; length); $i[.].start >= $i[. - 1].start and
		    $i[.].end > $i[. - 1].end and $i[.].seconds > 0))) and
	($zcc[0].intervals | all([.streams[].bytes] as $b | .sum.bytes == ($b | add))) and
	([$zcc[0].intervals[].sum | select(.omitted | not).bytes] | add <= $zcc[0].end.sum_sent.bytes) and
	([$zcs[0].intervals[].sum | select(.omitted | not).bytes] | add <= $zcs[0].end.sum_received.bytes)'
# both_agree [CONDITION]: of zcc.json and zcs.json
both_agree()
{
	jq -en --slurpfile zcc zcc.json --slurpfile zcs zcs.json "$agree and (${1-true})"
}
it "-t $run_seconds -I 0.1 --json: both ends' figures agree and their memory is flat"; ( begin; need jq
	start_zcs -I 0.1 --json
	"$zcc" -s 0 -p "$PORT" -P 2 -t $run_seconds -I 0.1 --json --congestion cubic --pace 80m >zcc.json 2>err &
	sender=$!
	remember $sender
	wait_until counts -eq 3 threads_of "$ZCS"
	# What there is once some intervals are over, against the most there ever is.
	met()
	{
		[ "$(wc -c <zcc.json)" -gt 9000 ] && [ "$(wc -c <zcs.out)" -gt 9000 ]
	}
	wait_until met
	sender_before=$(memory $sender VmRSS) zcs_before=$(memory "$ZCS" VmRSS)
	sender_after=0
	until gone $sender; do
		last=$(memory $sender VmHWM)
		sender_after=${last:-$sender_after}
		sleep 0.5
	done
	wait $sender
	not [ -s err ]
	is_flat zcc "$sender_before" "$sender_after"
	is_flat zcs "$zcs_before" "$(memory "$ZCS" VmHWM)"
	stop_zcs
	cp zcs.out zcs.json
	both_agree '$zcc[0].end.sum_sent.files == $zcs[0].end.sum_received.files'
	# A busy machine may miss some; what a socket still holds after the time may take another.
	jq -e ".intervals | length > 300 and length <= 610" zcc.json
); ok

# Stopped clocks: SIGSTOP for 2 seconds amid a run with intervals of 0.2 s.
# stop_amid WHO [zcc option...]: WHO is what is stopped, of $ZCS and $sender; sets zcc.json and zcs.json
stop_amid()
{
	who=$1
	shift
	"$zcc" -s 0 -p "$PORT" -I 0.2 --json --congestion cubic "$@" >zcc.json 2>err &
	sender=$!
	remember $sender
	wait_until counts -gt 1 threads_of "$ZCS"
	sleep 0.5
	eval "kill -STOP $who"
	sleep 2
	eval "kill -CONT $who"
	status=0
	wait $sender || status=$?
	cat err
	[ $status -eq 0 ]
	not [ -s err ]
	stop_zcs
	cat zcs.err
	one_line zcs.err
	cp zcs.out zcs.json
}
# One interval has the whole stop, and none makes up for those that were missed: there are no more
# than fit into the rest.
one_spans='def one_spans: map(.sum) | (map(.seconds) | max) as $longest |
	$longest >= 2 and length <= (last.end - $longest) / 0.2 + 3;'
if command -v jq >/dev/null 2>&1; then
	# stopped 'title' WHO 'file whose intervals are looked at'... 'condition' 'options of zcs' 'options of zcc'
	stopped()
	{
		it "$1"; ( begin
			start_zcs --json -I 0.2 $5
			stop_amid "$2" $6
			both_agree "$4"
			for end in $3; do
				jq -c '.intervals[].sum' "$end"
				jq -e "$one_spans .intervals | one_spans" "$end"
			done
		); ok
	}
	stopped 'zcc stopped for 2 s: one interval has the stop, and both ends agree' '$sender' zcc.json true '' '-t 4 -P 2'
	stopped 'zcs stopped for 2 s: one interval has the stop, and both ends agree' '$ZCS' zcs.json true '' '-t 4 -P 2'
	stopped 'zcc and zcs stopped for 2 s: neither takes the other to be silent for a second' '$ZCS $sender' \
	    'zcc.json zcs.json' true '--idle-timeout 1' '-t 4 --timeout 1'
	stopped 'zcc stopped beyond the end of its warm-up: both ends agree on all bytes' '$sender' '' \
	    '$zcc[0].end.sum_sent | .bytes > 0 and .warmup_bytes > 0' '' '-t 2 --warmup 2'
	stopped 'zcc stopped beyond the end of -t: both ends agree, and the time is what passed' '$sender' '' \
	    '$zcc[0].end.sum_sent.seconds >= 2' '' '-t 1'
else
	skip 'stopped clocks' 'no jq'
fi
# ask_amid WHO [zcc option...]: the same with requests, and with four stops at different moments
ask_amid()
{
	who=$1
	shift
	"$zcc" -s 0 -p "$PORT" --request 1k -t 10 -P 4 "$@" >out 2>err &
	sender=$!
	remember $sender
	wait_until counts -gt 4 threads_of $sender
	for pause in 0.37 0.11 0.23 0.05; do
		sleep $pause
		eval "kill -STOP $who"
		sleep 2
		eval "kill -CONT $who"
	done
	status=0
	wait $sender || status=$?
	cat out err
	[ $status -eq 0 ]
	not grep failed out
	not [ -s err ]
	stop_zcs
	cat zcs.out
}
it '--request: zcc stopped for 2 s, four times: no request times out after a second'; ( begin
	start_zcs --reply --idle-timeout 5
	ask_amid '$sender' --timeout 1
); ok
it 'zcs --reply stopped for 2 s, four times: it drops no client as silent for a second'; ( begin
	start_zcs --reply --idle-timeout 1
	ask_amid '$ZCS' --timeout 10
	grep -q " 0 silent," zcs.out
); ok
# now: seconds since some time
now()
{
	cut -d" " -f1 /proc/uptime
}
# soak_amid: cyclesoak stopped for 2 s; the time it ran for is in $ran
soak_amid()
{
	begun=$(now)
	"$BIN/cyclesoak" -p 0.2 -f calibration >out 2>err &
	soaker=$!
	remember $soaker
	wait_until or_gone $soaker counts -ge 2 lines_in out
	not gone $soaker || { wait $soaker; return; }
	kill -STOP $soaker
	sleep 2
	kill -CONT $soaker
	lines=$(wc -l <out)
	met()
	{
		[ "$(wc -l <out)" -ge $((lines + 4)) ]
	}
	wait_until met
	kill -TERM $soaker
	ended $soaker
	ran=$(echo "$begun $(now)" | awk '{ print $2 - $1 }')
}
it 'cyclesoak stopped for 2 s: one period has the stop'; ( begin
	made_up_calibration >calibration
	soaking soak_amid
	grep -c "^System load" out | awk -v ran="$ran" '{ print $1, ran; exit $1 > (ran - 2) / 0.2 + 3 }'
); ok

finish
