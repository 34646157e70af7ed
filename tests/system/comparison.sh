#!/bin/sh
# Comparisons: lists, rounds, files of --save, and what ends a comparison.  records.sh has what is printed of files;
# tests/unit/{trials,rounds,plan,saved}.c have the runs, the order, the figures and the files.
#
# seconds: 9
# limit: 400
. "$TOP/tests/lib.sh"

head -c 300000 /dev/zero >file
start_zcs

compare() # options...
{
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno "$@"
}
ratio='[0-9.]+ \(([0-9.]+ to [0-9.e+]+|interval too wide)\)( =)?'

it '--save and --against: the rows of both, and how many times the old; a session is added to those of the file'; ( begin
	: >plan.tsv
	compare -m send,mmap -r 2 -T first --save plan.tsv file
	counts -eq 4 grep -c '	sent=' plan.tsv
	not grep 'this is session' out
	cp plan.tsv two.tsv
	compare -m send,mmap -r 3 --save two.tsv --against plan.tsv file
	grep -F "before: 2 rounds in plan.tsv: $(sed -n 's/.*#	machine: //p' plan.tsv)" out
	for run in '-m send' '-m mmap'; do
		grep -Ex -e "$run before +[0-9,]+ \+-[0-9,]+" out
		grep -Ex -e "$run now +[0-9,]+ \+-[0-9,]+ +$ratio" out
	done
	grep -x 'this is session 2 in two.tsv' out
	head -c "$(wc -c <plan.tsv)" two.tsv | cmp - plan.tsv
	# Sessions of the file that is added to are of this side, unless they are compared with.
	compare --json -m send,mmap -r 1 -n 1 --save two.tsv --against two.tsv file
	tail -n 1 out | grep '"sessions":1,"against":"zcc [^"]*","against_rounds":3,"against_sessions":2,'
	compare --json -m send,mmap -r 1 -n 1 --save two.tsv --against plan.tsv file
	tail -n 1 out | grep '"sessions":4,"against":"zcc [^"]*","against_rounds":2,"against_sessions":1,'
); ok
find_hastening
beside '--retry: a run that fails is repeated, in the end omitted, named and saved, also the first; the status is 1, or 3'; ( begin; need jq
	good=$PORT
	start_peer -n 2 -l 100000 -R # once
	exits 1 $hasten_by "$zcc" -s 0 -p 1 --congestion reno -t 0.2 -r 2 --retry 1 --vs "-p $PORT -P 2" \
	    --vs "-p $good" --save on.zc
	refused='cannot connect .*: Connection refused.*'
	for why in ".*-p 1: $refused" "-p $PORT -P 2: $refused"; do
		counts -eq 2 grep -c "^zcc: round [12], $why: the run is omitted\$" err
		counts -ge 1 grep -c "^zcc: round [12], $why: the run is repeated, 1 of 1\$" err
	done
	grep -E "the server (closed|reset) the connection .*: the run is repeated" err
	grep -E -e "-p $good +[0-9,]+ \+-[0-9,]+\$" out
	counts -eq 4 grep -c '	failed=round [12], ' on.zc
	sed -n '/^omitted/,$p' out >omitted
	exits 0 "$zcc" --compare on.zc
	sed -n '/^omitted/,$p' out | diff omitted -
	exits 3 $hasten_by "$zcc" -s 0 -p "$good" --congestion reno -t 0.1 -r 3 --retry 1 --vs '--pace 1m' --vs '-p 1' --fail-above 1 --json
	tail -n 1 out | jq -e '.comparison | (.failed_runs | length == 3) and .verdict.result == "failed"'
) & later
beside '--json of a comparison of servers: each object has the title, the last one what was compared'; ( begin; need jq
	first=$PORT
	start_zcs -m trunc
	compare --json -p "$first,$PORT" -r 1 -t 0.2 -T 'a label' ../file
	[ "$(grep -c '"title":"a label"' out)" -eq 3 ]
	# A ratio is that of the figures in the objects before.
	jq -es --arg p "$first" '[.[:2][].end.sum_sent.bits_per_second] as [$a, $b] | .[2].comparison | .rounds == 1 and
	    (.runs[1].throughput_ratio.ratio * $a / $b - 1 | fabs < 0.001) and
	    .connecting_to == {host: "0"} and .duration == 0.2 and .sender_tcp_congestion == "reno" and
	    .environment.link.interface == "lo" and .runs[0].port == $p and .runs[0].why.bytes_per_call > 0 and
	    (.runs | map(.unsafe_rounds, .receiver_method) == [0, "read", 0, "trunc"])' out
) & later
beside '--dry-run: the runs of a round, how many there are in all and how long they take; nothing is sent'; ( begin
	exits 0 "$zcc" --dry-run -s 0 -p 1 -c -m send,mmap -P 1,2 -t 8 --save none ../file
	printf '%s\n' '20 runs, about 3 minutes' '5 rounds of 4 runs' '-m send -P 1' '  zcc -t 8 -m send -s 0 -p 1 -c ../file' \
	    '-m send -P 2' '  zcc -t 8 -P 2 -m send -s 0 -p 1 -c ../file' '-m mmap -P 1' '  zcc -t 8 -m mmap -s 0 -p 1 -c ../file' \
	    '-m mmap -P 2' '  zcc -t 8 -P 2 -m mmap -s 0 -p 1 -c ../file' | diff - out
	not [ -e none ]
) & later
beside '--compare: two files give what --against does, without a transfer; what is no such file is named'; ( begin; need jq strace
	sed 's/\t#\tcongestion: .*/\t#\tcongestion: other/; s/\t#\tdate: .*/\t#\tdate: then/' ../plan.tsv >old.tsv
	compare -m send,mmap -r 4 -t 0.1 --save new.tsv --against old.tsv ../file
	shown() { sed -n '/^[a-z-]* differs/p; /^run /,/^one session/s/([0-9.]* to .*)//p' out; }
	shown >against
	exits 0 strace -f -o trace -e trace=socket "$zcc" --compare old.tsv new.tsv
	not grep AF_INET trace
	shown | diff against -
	exits 0 "$zcc" --json --compare old.tsv new.tsv
	jq -e '.comparison | .against_differs == ["time", "files", "congestion"] and .duration == 0.1 and
	    .connecting_to == {host: "0"} and (.machine | test("^zcc "))' out
	: >empty
	fails '^zcc: --compare: none: No such file or directory$' "$zcc" --compare none old.tsv
	fails '^zcc: --compare: empty has no session of --save$' "$zcc" --compare old.tsv empty
	rejects '--compare: more than two files' zcc --compare a b c
	fails_with 2 '--compare and -.* cannot be used together' "$zcc" --compare old.tsv -s 0 new.tsv
) & later
beside '--save: sessions of four zcc that run at a time are all kept, also where another user has locked the directory'; ( begin; need flock
	for i in 1 2 3 4; do
		flock . "$zcc" -q -s 0 -p "$PORT" -r 3 --save at-once.tsv -T $i ../file >out.$i 2>err.$i &
		"$zcc" -q -s 0 -p "$PORT" -r 3 --save at-once.tsv -T $i ../file >out.$i 2>err.$i &
	done
	wait
	compare -r 1 --against at-once.tsv ../file
	counts -eq 8 grep -c '^before: 3 rounds in at-once.tsv' out
) & later
beside '--save and --against: whatever file will not do is an error before anything is sent, and stays'; ( begin
	ln -s none dangling
	mkfifo fifo # nobody writes
	cp ../file ../plan.tsv .
	while IFS=';' read -r options message; do
		fails "^zcc: $message$" timeout 20 "$zcc" -s 0 -p "$PORT" ../file $options
		cmp plan.tsv ../plan.tsv
		not [ -e none ]
	done <<-'END'
		-m send,mmap --save file;--save: file was not written by --save
		-m send,splice --against plan.tsv;--against: plan.tsv has other runs: its run 2 is -m mmap, not -m splice
		-m send --save plan.tsv;--save: plan.tsv has other runs: 2 runs a round, not 1
		--against fifo;--against: fifo has no session of --save
		--save fifo;cannot write fifo: not a regular file
		--save dangling;cannot write dangling: No such file or directory
		-p 1 --save none;round 1: cannot connect to 0 port 1: Connection refused: is zcs running there?
	END
	cmp file ../file
	can_trace || exit 0
	exits 1 strace -f -o /dev/null -P plan.tsv -e trace=openat -e inject=openat:error=EMFILE:when=1 \
	    "$zcc" -s 0 -p "$PORT" -m send,mmap --save plan.tsv ../file
	grep -qx 'zcc: --save: plan.tsv: Too many open files' err
	cmp plan.tsv ../plan.tsv
) & later
beside '--compare of hostile files: nothing is printed that a terminal would obey'; ( begin
	evil=$(printf 'e\033[2J\\x1b]0;\303') # raw and escaped
	for id in 0 1; do # each of two runs, of which one failed
		{
			echo '#zc-save 2'
			printf "${id}123456789abcdef\t%s\n" '#	runs: 2' "#	machine: zcc $evil" "#	date: $evil" "#	title: $evil" \
			    "#	command: zcc $evil$id" "#	congestion: $evil$id" "#	mtu$evil: $id" "#	--t$evil: $id" \
			    "1	words=a$evil	setting=$evil	instrument=$evil	sent=bytes=9 seconds=1 load=.5" "1	words=b	failed=$evil"
		} >hostile.$id
	done
	for how in '' --brief -d -q '--fail-above 5'; do
		"$zcc" --compare hostile.0 hostile.1 $how >out 2>err || :
		[ -s out ]
		is_text out
		is_text err
	done
) & later
beside '--compare of a text without end, and of sessions that promise 1,024 runs: in 300 MB'; ( begin
	sanitized && skip_check 'a sanitizer takes more memory'
	# shellcheck disable=SC3045 # as in zcs.sh
	ulimit -v 300000
	yes | fails '^zcc: --compare: /dev/stdin was not written by --save' "$zcc" --compare /dev/stdin ../plan.tsv
	awk 'BEGIN { print "#zc-save 2"; for (; i < 5000; i++) printf "%016x\t#\truns: 1024\n%016x\t1\tsent=bytes=1 seconds=1\n", i, i }' >promised
	fails '^zcc: --compare: promised has no session of --save' "$zcc" --compare promised
) & later
beside 'a comparison that is interrupted: the complete rounds are reported and saved, not that of its last run'; ( begin
	start_zcc all -r 500 -t 0.05 --save rounds.tsv
	wait_until counts -ge 2 grep -c '	sent=' rounds.tsv
	zcc_ends all 130 INT
	grep "^$(grep -c '	sent=' rounds.tsv) rounds of 1 run;" all.out
	start_zcs
	start_zcc cut -m send,mmap -r 2 -t 60 --save cut.tsv
	wait_until counts -eq 2 threads_of $ZCS
	zcc_ends cut 130 INT
	not grep 'round' cut.out
	not [ -s cut.tsv ]
) & later
together
# Two programs: soakers disturb none of its loads, and the other uses less
it '--wait-idle: the busiest of other programs is named, without control characters'; ( begin
	busiest=$(printf 'a) R (b\033[1m')
	cp "$HELPERS/burn" zc-soaker
	cp "$HELPERS/burn" "$busiest"
	alone='unshare --mount --pid --fork --kill-child --mount-proc'
	$alone true || skip_check 'no privilege for namespaces'
	cat >busy.sh <<-'END'
		online=$(cat /sys/devices/system/cpu/online) other=$1
		shift
		./zc-soaker "$online" 60 50 >burnt &
		nice -n 10 "./$other" "$online" 60 30 >burnt &
		exec "$@"
	END
	names_it()
	{
		fails '^zcc: nothing was sent: --wait-idle 1: other programs took [0-9.]*% of .*; the busiest program was a) R (b?\[1m (pid [0-9]*), [0-9]*%' \
		    $alone sh busy.sh "$busiest" "$zcc" --idle --wait-idle 1 -s 0 -p 1 -t 0.1
	}
	names_it || names_it || names_it || { # a busy machine gives little to each
		[ "$(cut -d . -f 1 /proc/loadavg)" -lt $((4 * $(getconf _NPROCESSORS_ONLN))) ] || skip_check 'the machine is busy'
		false
	}
); ok
finish
