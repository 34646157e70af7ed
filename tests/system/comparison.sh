#!/bin/sh
# Comparisons: lists of methods, sizes and streams, rounds, and plans that were saved.
#
# seconds: 6
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc
tcp='--congestion reno'
printf x >tiny
head -c 300000 /dev/zero >file
start_zcs

compare() # options...
{
	exits 0 "$zcc" -s 0 -p "$PORT" $tcp "$@"
}

it 'zcc -m send,sendfile: three rounds, the second in reverse order'; ( begin; need strace
	strace -f -o trace -e trace=connect,sendfile,sendto \
	    "$zcc" -s 0 -p "$PORT" $tcp -r 3 -m send,sendfile -n 1 file >out 2>err
	sed -n 's/^[0-9]* *\(connect\|sendfile\)(.*/\1/p; s/^[0-9]* *sendto(.*, 65536, .*/send/p' trace | uniq >order
	cat order
	# Each connection has one method, in turn.
	[ "$(grep -v connect order | uniq | paste -s -d ' ')" = 'send sendfile send sendfile' ]
	[ "$(grep -c connect order)" -eq 6 ]
); ok

it '--json: an object for each run, and one with the means and ratios of these'; ( begin; need jq
	compare --json -m send,mmap -P 1,2 -r 2 -n 3 file
	[ "$(wc -l <out)" -eq 9 ]
	jq -es '[.[:8][].start.test_start | "\(.method) \(.num_streams)"] ==
	    (["send 1", "send 2", "mmap 1", "mmap 2"] | . + reverse)' out
	# The second round has them in reverse order.
	jq -es '([.[:4][]] + ([.[4:8][]] | reverse) | [.[].end.sum_sent.bits_per_second]) as $x | .[8].comparison | .rounds == 2 and
	    ([.runs[].bits_per_second.mean] | to_entries | all(. as $r |
	     (($x[$r.key] + $x[$r.key + 4]) / 2 / $r.value | . > 0.999 and . < 1.001)))' out
	# The geometric mean of the two rounds, and their spread
	jq -es '([.[:4][]] + ([.[4:8][]] | reverse) | [.[].end.sum_sent.bits_per_second]) as $x | .[8].comparison.runs[2].throughput_ratio |
	    (($x[2] / $x[0] * $x[6] / $x[4] | sqrt) / .ratio | . > 0.999 and . < 1.001) and
	    .low <= .ratio and .high >= .ratio' out
); ok
# joined FILE: with the lines that break in front of a clause in one
joined()
{
	awk '/^  [a-z]/ && !/^  to / { sub(/^ /, ""); printf "%s", $0; next } { printf "%s%s", (NR > 1 ? "\n" : ""), $0 } END { print "" }' "$1"
}

it '-T with --request: the title is in the text'; ( begin
	start_zcs --reply
	exits 0 "$BIN/zcc" -s 0 -p "$PORT" --request 10 -n 3 -T 'a label'
	[ "$(grep -c '^  title: a label$' out)" -eq 1 ]
	stop_zcs
); ok
it '-T: one line above the table, a title in each object, and nothing with -q'; ( begin
	compare -m send,sendfile -r 1 -T "$(printf 'a \033label')" file
	[ "$(grep -c '^  title: a .label$' out)" -eq 1 ]
	not grep "$(printf '\033')" out
	compare --json -m send,sendfile -r 1 -T 'a label' file
	[ "$(grep -c '"title":"a label"' out)" -eq 3 ]
	compare -q -m send,sendfile -r 1 -T label file
	not grep label out
); ok

it '--json: the comparison has the server, the duration, congestion control and the link'; ( begin; need jq
	compare --json -m send,sendfile -r 2 -t 0.1 file
	tail -n 1 out | jq -e '.comparison | .connecting_to.host == "0" and .duration == 0.1 and
	    (.sender_tcp_congestion | length > 0) and .environment.link.interface == "lo" and
	    (.runs | map(.unsafe_rounds) == [0, 0])'
); ok

it 'text: a row for each combination, and the ratio to the first in words'; ( begin
	compare -m send,sendfile -b 1k,64k -P 1,2 -r 2 -n 2 file
	no_wider 80 out
	joined out >lines
	[ "$(wc -l <lines)" -eq 20 ]
	grep -x '95% is for each interval by itself: of 20 equal runs, one differs by chance' lines
	grep -x '2 rounds of 8 runs; means and 95% intervals' out
	grep -Ex 'run +KiB/s' out
	for row in 'send 1k, 1 stream' 'send 64k, 2 streams' 'sendfile 1k, 1 stream' 'sendfile 64k, 2 streams'; do
		grep -Ex "$row +[0-9,]+ \+-[0-9,]+" out
	done
	grep -Ex 'sendfile 64k, 2 streams has [0-9.]+ \([0-9.]+ to [0-9.e+]+\) times the throughput of send 1k, 1 stream(: no difference is shown)?' lines
); ok
it '-r 1: no interval, and a line with the reason'; ( begin
	compare -m send,sendfile -r 1 file
	grep -Ex 'send +64k +[0-9,]+' out
	grep -Ex 'sendfile 1m has [0-9.]+ times the throughput of send 64k' out
	grep -x 'each run: 1 stream' out
	compare -m send,sendfile -r 1 -b 64k file
	grep -x 'each run: 64k a call, 1 stream' out
	grep -Ex 'sendfile has [0-9.]+ times the throughput of send' out
); ok
it '-r 4 without a list: the mean of four runs'; ( begin
	compare -r 4 file
	grep -x '4 rounds of 1 run; means and 95% intervals' out
	grep -Ex 'sendfile +[0-9,]+ \+-[0-9,]+' out
	not grep times out
); ok
it '--precision: until the interval is narrow enough, or for the rounds of -r'; ( begin
	compare --precision 100% -t 0.05 -r 20
	sed -n 's/ rounds of 1 run;.*//p' out >rounds
	[ "$(cat rounds)" -ge 5 ] && [ "$(cat rounds)" -le 20 ]
	compare --precision 0.0001 -r 4 tiny
	grep '^4 rounds of 1 run;' out
); ok

it '--save and --against: the rows of both, and how many times the old'; ( begin
	compare -m send,mmap -r 2 --save plan.tsv file
	[ "$(grep -c '^[12]	' plan.tsv)" -eq 4 ]
	sed -n 's/^# //p' plan.tsv | grep "^zcc .*$(uname -r)"
	compare -m send,mmap -r 3 --against plan.tsv file
	grep -F "before: 2 rounds in plan.tsv: $(sed -n 's/^# //p' plan.tsv)" out
	[ "$(grep -Ec '^(send +64k|mmap +4m) +(before|now) +[0-9,]+ \+-[0-9,]+$' out)" -eq 4 ]
	joined out >lines
	[ "$(grep -Ec '^(send 64k|mmap 4m) now has [0-9.]+ \([0-9.]+ to [0-9.e+]+\) times the throughput of (send 64k|mmap 4m) before(: no difference is shown)?$' lines)" -eq 2 ]
	# The mean of the saved rounds
	awk -F '\t' '$2 == "send" { sum += $6 } END { printf "%.0f\n", sum / 2 }' plan.tsv >mean
	grep '^send .* before ' out | tr -d , | grep " $(cat mean) "
); ok
it '--save: a session is added to those of the file, and sessions are compared'; ( begin
	compare -m send,mmap -r 2 -n 1 -T first --save two.tsv file
	not grep 'this is session' out
	cp two.tsv one.tsv
	compare -m send,mmap -r 1 -n 1 -T second --save two.tsv file
	grep -x 'this is session 2 in two.tsv' out
	not grep differs out
	head -c "$(wc -c <one.tsv)" two.tsv | cmp - one.tsv
	[ "$(grep -c '^# zcc ' two.tsv)" -eq 2 ]
	[ "$(grep -c '^round	' two.tsv)" -eq 1 ]
	compare -m send,mmap -r 2 -n 1 --against two.tsv file
	grep -Ex '  of [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z: first' out
	not grep '^one session each: ' out
	# The sessions of the file that is added to are those of this side.
	compare -m send,mmap -r 2 -n 1 --save two.tsv --against one.tsv file
	grep -x 'this is session 3 in two.tsv' out
	compare --json -m send,mmap -r 2 -n 1 --save one.tsv --against one.tsv file
	tail -n 1 out | grep '"sessions":1,"against":"zcc [^"]*","against_rounds":2,"against_sessions":1,'
	[ "$(grep -c '^# zcc ' one.tsv)" -eq 2 ]
); ok
it '--save to a file of another plan, or of none: an error before anything is sent, and the file stays'; ( begin
	echo 'a letter' >letter
	cp letter kept
	exits 1 "$zcc" -s 0 -p "$PORT" -m send,mmap --save letter file
	grep -x 'zcc: --save: letter was not written by --save of this version' err
	cmp letter kept
	cp plan.tsv kept
	exits 1 "$zcc" -s 0 -p "$PORT" -m send,splice --save plan.tsv file
	grep -x 'zcc: --save: plan.tsv is of another plan: its run 2 is mmap 4m, 1 stream, not splice 1m, 1 stream' err
	cmp plan.tsv kept
	[ ! -s out ]
); ok
it '--against: another server, -t and warm-up have a line each'; ( begin
	compare -m send -r 1 -t 0.1 --save conditions.tsv
	exits 0 "$zcc" -s 127.0.0.1 -p "$PORT" $tcp -m send -r 1 -t 0.2 --warmup 0.1 --against conditions.tsv
	grep -x 'server differs: 0 then, 127.0.0.1 now' out
	grep -x -- '-t differs: 0.1 then, 0.2 now (seconds)' out
	grep -x 'warm-up differs: 0 then, 0.1 now (seconds)' out
	grep '^one session each: ' out
); ok
it '--against: a ratio to an unsafe load is marked, one of throughputs is not'; ( begin
	awk -F '\t' -v OFS='\t' 'NR > 2 { $7 = "50"; $8 = "1"; $9 = "0.5"; $10 = "baseline_busy" } { print }' plan.tsv >unsafe.tsv
	# With soakers that count next to nothing of what they might, each load is near to 100 %.
	made_up_calibration "$(machine_name)" 1000000000000 >all_busy
	soaking "$zcc" -c -f all_busy -s 0 -p "$PORT" --congestion reno -n 1 -m send,mmap -r 2 --against unsafe.tsv file
	grep -Eq '^send 64k now costs [0-9.]+\? ' out
	grep -Eq '^send 64k now has [0-9.]+ ' out
); ok
it '-c with --idle: each run by either instrument, in turn'; ( begin
	find_hastening
	BUSY_TURNS=0 soaking $hasten_by "$zcc" -c --idle -s 0 -p "$PORT" $tcp -n 1 -m send,mmap -r 2 --save either.tsv file
	grep -x '2 rounds of 4 runs; means and 95% intervals' out
	for row in 'send 64k, unsoaked' 'send 64k, soaked' 'mmap 4m, unsoaked' 'mmap 4m, soaked'; do
		grep -Eq "^$row +[0-9,]+ \+-" out
	done
	joined out >lines
	grep -Eq '^send 64k, soaked has [0-9.]+ \([0-9.]+ to [0-9.e+]+\) times the throughput of send 64k, unsoaked(: no difference is shown)?$' lines
	grep -Eq '^mmap 4m, soaked has [0-9.]+ \([0-9.]+ to [0-9.e+]+\) times the throughput of send 64k, soaked(: no difference is shown)?$' lines
	# If others soaked, the command was repeated, and there is a session of each.
	[ "$(sed '1,2d; 11,$d' either.tsv | cut -f 2,20 | paste -s -d ' ' | tr '\t' ' ')" = \
	    'send idle send soak mmap idle mmap soak send idle send soak mmap idle mmap soak' ]
	BUSY_TURNS=0 soaking $hasten_by "$zcc" -c --idle -s 0 -p "$PORT" $tcp -n 1 -m send,mmap -r 1 --json --against either.tsv file
	tail -n 1 out | grep -o '"instrument":"[a-z]*"' | paste -s -d ' ' >instruments
	grep -x '"instrument":"idle" "instrument":"soak" "instrument":"idle" "instrument":"soak"' instruments
); ok
it '--precision that was not reached: a line reports it'; ( begin
	compare -m send,mmap -r 3 -n 1 --precision 0.001 file
	grep -qx -- '--precision 0.001% was not reached in 3 rounds' out
	compare -r 1 -n 1 --precision 0.001 file
	grep -qx -- '--precision 0.001% was not reached in 1 round' out
); ok
it '--against in JSON: the reasons that made the saved load unsafe'; ( begin
	awk -F '\t' -v OFS='\t' 'NR > 2 { $10 = "baseline_busy" } { print }' plan.tsv >unsafe.tsv
	compare --json -m send,mmap -r 1 --against unsafe.tsv file
	tail -n 1 out | grep '"before":{[^]]*"unsafe":\["baseline_busy"\]}'
); ok
it '--against: a line for each setting that differs'; ( begin
	other=$(tr ' ' '\n' </proc/sys/net/ipv4/tcp_allowed_congestion_control | grep -vx reno | head -n 1)
	[ -n "$other" ] || skip_check 'no other congestion control is allowed'
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion "$other" --pace 1g -m send,mmap -r 1 --against plan.tsv file
	grep -x "congestion differs: reno then, $other now" out
	grep -x 'pace differs: 0 then, 1073741824 now (bytes/s; 0: no limit)' out
	not grep 'offloads differs' out
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion "$other" --json -m send,mmap -r 1 --against plan.tsv file
	tail -n 1 out | grep '"against_differs":\["congestion"\]'
); ok
it '--against a file of another plan, or of none: an error that names it, before anything is sent'; ( begin
	fails '^zcc: --against: plan.tsv is of another plan: its run 2 is mmap 4m, 1 stream, not splice 1m, 1 stream$' "$zcc" -s 0 -p "$PORT" -m send,splice --against plan.tsv file
	# The same methods, by their default sizes and by another
	exits 1 "$zcc" -s 0 -p "$PORT" -m send,mmap -b 4k --against plan.tsv file
	grep 'its run 1 is send 64k, 1 stream, not send 4k, 1 stream' err
	compare -m send -b 4k -r 1 --save small.tsv file
	exits 1 "$zcc" -s 0 -p "$PORT" -m send --against small.tsv file
	grep 'its run 1 is send 4k, 1 stream, not send 64k, 1 stream' err
	# splice asks for no more than its pipe holds.
	compare -m splice -b 64m -r 1 --save spliced.tsv file
	compare -m splice -b 64m -r 1 --against spliced.tsv file
	exits 1 "$zcc" -s 0 -p "$PORT" --against tiny file
	grep -x 'zcc: --against: tiny was not written by --save of this version' err
	exits 1 "$zcc" -s 0 -p "$PORT" --against none file
	grep -x 'zcc: --against: none has no session of --save' err
	exits 1 "$zcc" -s 0 -p "$PORT" --against . file
	grep 'zcc: --against: .: Is a directory' err
	[ ! -s out ]
); ok
it '--save where nothing can be written: an error before anything is sent'; ( begin
	exits 1 "$zcc" -s 0 -p "$PORT" --save none/plan.tsv file
	grep -x 'zcc: cannot write none/plan.tsv: No such file or directory' err
	exits 1 "$zcc" -s 0 -p "$PORT" --save /dev/null file
	grep -x 'zcc: cannot write /dev/null: not a regular file' err
	ln -s none dangling
	exits 1 "$zcc" -s 0 -p "$PORT" --save dangling file
	grep -x 'zcc: cannot write dangling: not a regular file' err
	exits 1 "$zcc" -s 0 -p 1 --save fresh.tsv file
	not [ -e fresh.tsv ]
	[ ! -s out ]
); ok
it '--save to a file that cannot be read: an error, and its sessions stay'; ( begin; need strace
	cp plan.tsv kept
	exits 1 strace -f -o /dev/null -P plan.tsv -e trace=openat -e inject=openat:error=EMFILE:when=1 \
	    "$zcc" -s 0 -p "$PORT" -m send,mmap --save plan.tsv file
	grep -qx 'zcc: --save: plan.tsv: Too many open files' err
	cmp plan.tsv kept
); ok
it '-m with -b and -P lists of different lengths: each combination once'; ( begin; need jq
	compare --json -b 1k,2k,4k -P 1,2 -m send,mmap -r 1 -n 1 file
	jq -r '.start.test_start // empty | "\(.method) \(.blksize) \(.num_streams)"' out | sort >runs
	for m in mmap send; do for b in 1024 2048 4096; do echo "$m $b 1"; echo "$m $b 2"; done; done | diff - runs
); ok

it 'interrupted: the rounds that are complete are reported and saved'; ( begin
	env --default-signal=INT "$zcc" -s 0 -p "$PORT" $tcp -r 500 -t 0.05 --save kept.tsv >out 2>err &
	p=$!
	remember $p
	wait_until [ -s kept.tsv ]
	wait_until counts -ge 4 lines_in kept.tsv
	kill -INT $p
	ended $p
	cat out err kept.tsv
	rounds=$(sed -n 's/ rounds of 1 run;.*//p' out)
	[ "$rounds" -ge 2 ] && [ "$rounds" -lt 500 ]
	[ "$(grep -c '^[0-9]' kept.tsv)" -eq "$rounds" ]
); ok
it 'interrupted in the middle of a round, or in its last run: that round is not reported and not saved'; ( begin
	for how in send send,mmap; do
		rm -f cut.tsv
		start_zcs
		env --default-signal=INT "$zcc" -s 0 -p "$PORT" $tcp -m $how -r 2 -t 60 --save cut.tsv >out 2>err &
		p=$!
		remember $p
		wait_until counts -eq 2 threads_of $ZCS
		kill -INT $p
		ended $p
		cat out err
		not grep '^[12]	' cut.tsv
		not grep 'round' out
		not [ -s cut.tsv ]
	done
); ok
it 'interrupted while a later run connects, or between two runs: the complete rounds, no error, nothing more is sent'; ( begin; need strace
	for format in '' --json; do
		strace -f -o trace -e trace=socket "$zcc" -s 0 -p "$PORT" $tcp $format -m send -r 2 file >out 2>err
		sockets=$(grep -c 'socket(' trace)
		for when in connect:error=EINTR:signal=INT:when=3 socket:signal=INT:when=$((sockets + 1)); do
			got=0
			strace -f -o trace -e trace=socket,connect -e inject=$when \
			    env --default-signal=INT "$zcc" -s 0 -p "$PORT" $tcp $format -m send -r 9 file >out 2>err || got=$?
			cat trace out err
			[ $got -eq 130 ]
			if [ -n "$format" ]; then
				[ "$(wc -l <out)" -eq 3 ]
				sed -n 3p out | grep '"error":"interrupted"'
			else
				grep '^2 rounds of 1 run;' out
			fi
			# The last of them ended it.
			[ "$(grep -c -e '--- SIGINT' trace)" -eq 2 ]
			[ ! -s err ] || one_line err
		done
	done
); ok
it 'a server that goes after the first round: an error, and the rounds that are complete'; ( begin
	start_peer -n 2
	exits 1 "$zcc" -s 0 -p "$PORT" -m send,mmap file
	grep 'zcc: cannot connect to' err
	grep -x '1 round of 2 runs; means and 95% intervals' out
	grep -Ex 'mmap +4m +[0-9,]+' out
	start_peer -n 1
	exits 1 "$zcc" -s 0 -p "$PORT" -m send,mmap file
	not grep round out
); ok
it 'a server that goes, and a full disk: two errors, and zcc ends'; ( begin
	start_peer -n 2
	got=0
	timeout 20 "$zcc" -q -s 0 -p "$PORT" -m send,mmap file >/dev/full 2>err || got=$?
	cat err
	[ $got -eq 1 ]
	grep 'zcc: cannot connect to' err
	grep 'zcc: stdout: No space left' err
); ok

while IFS=';' read -r pattern args; do
	check_usage "$pattern" zcc -s 0 $args
done <<'END'
--method: 'none' is none of;-m send,none
^zcc: -m, --method: 'send' is given twice: -r, --runs repeats all runs;-m send,mmap,send
--buffer-size: '4096' is given twice;-b 4k,4096
--streams: '1' is given twice;-P 1,2,1
--streams.*not between;-P 1,0
--precision.*not a percentage;--precision 3x
--request and -r, --runs cannot be used together;--request 10 -r 3
--request cannot be combined with a list of -P;--request 10 -P 1,2
END
stop_zcs
finish
