#!/bin/sh
# The JSON reports of both ends: one line that parses, and whose figures agree.  soaker.sh has those of a
# soaker that was killed, cyclesoak.sh and identities.sh those of loads.
#
# seconds: 10
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc zcs=$BIN/zcs
head -c 300000 /dev/urandom >file
printf 'x' >tiny

if command -v jq >/dev/null 2>&1; then
	parses()
	{
		jq . "$1" >/dev/null
	}
	# holds FILE 'expression' ...: each is true of the one object in the file
	holds()
	{
		object=$1 all=
		shift
		for expression; do
			all="$all and (.[0] | $expression)"
		done
		jq -es "length == 1 $all" "$object" >/dev/null && return
		for expression; do
			jq -es ".[0] | $expression" "$object" >/dev/null || echo "does not hold: $expression"
		done
		jq -c . "$object"
		return 1
	}
elif command -v python3 >/dev/null 2>&1; then
	parses()
	{
		python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <"$1"
	}
fi
# check_json 'what' command [args...]: what looks into the objects needs jq
check_json()
{
	check_with jq "$@"
}
if ! command -v parses >/dev/null 2>&1; then
	skip 'the JSON reports' 'no jq, no python3'
	finish
fi

start_zcs --json -I 0.05
it 'zcc --json: one line, which parses, and nothing on stderr'; ( begin
	exits 0 "$zcc" --json -s 0 -p "$PORT" -P 3 --warmup 0.3 -t 1 -I 0.05 --pace 50m --congestion reno file tiny
	one_line out
	parses out
	no_warning err
	mv out zcc.json
); ok
it 'zcs --json: one line for the group, once it has left'; ( begin
	wait_until [ -s zcs.out ]
	one_line zcs.out
	parses zcs.out
	one_line zcs.err
	cp zcs.out zcs.json
); ok
start_entry_for_each()
{
	holds zcc.json "(.start.connected | length) == 3" \
	    "([.start.connected[].local_port] | unique | length) == 3" \
	    ".start.connected | all(.remote_port == $PORT and .remote_host == \"127.0.0.1\")" \
	    "[.start.connected[].socket] == [1, 2, 3]" \
	    ".start.connecting_to == {host: \"0\", port: $PORT}" \
	    '.start.test_start | .num_streams == 3 and .method == "sendfile" and .omit == 0.3' \
	    ".start.test_start | .duration == 1 and .files == 2 and .file_bytes == 300001" \
	    '.start.version | startswith("zc ")' \
	    ".start.timestamp.timesecs > 1600000000" \
	    ".start.tcp_mss_default > 0"
}
check_json 'start: an entry for each stream, where it goes and how' start_entry_for_each
end_sums_those()
{
	holds zcc.json "(.end.streams | length) == 3" \
	    ".end.sum_sent.bytes == ([.end.streams[].sender.bytes] | add)" \
	    ".end.sum_sent.warmup_bytes == ([.end.streams[].sender.warmup_bytes] | add)" \
	    ".end.sum_sent.calls == ([.end.streams[].sender.calls] | add)" \
	    ".end.sum_sent.files == ([.end.streams[].sender.files] | add)" \
	    ".end.sum_sent.retransmits == ([.end.streams[].sender.retransmits] | add)" \
	    ".end.sum_received.bytes == ([.end.streams[].receiver.bytes] | add)" \
	    ".end.sum_sent | .bytes > 0 and .warmup_bytes > 0 and .sender == true" \
	    ".end.sum_received | .bytes > 0 and .warmup_bytes > 0 and .sender == false" \
	    ".end | .sum_sent.bytes + .sum_sent.warmup_bytes == .sum_received.bytes + .sum_received.warmup_bytes" \
	    ".end.streams | all(.sender.bytes + .sender.warmup_bytes == .receiver.bytes + .receiver.warmup_bytes)" \
	    ".end.bytes_agree == true" \
	    ".end.both_ends_on_host == true" \
	    '.end.sender_tcp_congestion == "reno"' \
	    "[.end.streams[].sender.socket] == [1, 2, 3]" \
	    '.end.streams | all(.sender.method == "sendfile" and .receiver.method == "read")' \
	    ".end.streams | all(.sender | .rtt > 0 and .snd_mss > 0 and .snd_cwnd > 0)" \
	    'has("error") | not'
}
check_json 'end: the sums are those of the streams, and the ends agree' end_sums_those
bits_per_second_bytes()
{
	near="def near(a; b): (a - b) * (a - b) <= 1e-12 * a * a;"
	holds zcc.json "$near [.end.sum_sent, .end.sum_received, .end.streams[][], .intervals[].sum] |
	    all(near(.bits_per_second; .bytes * 8 / .seconds) and near(.end; .start + .seconds))"
}
check_json 'bits_per_second is bytes over seconds' bits_per_second_bytes
intervals_each_sum()
{
	holds zcc.json "(.intervals | length) >= 2" \
	    ".intervals | all((.streams | length) == 3)" \
	    ".intervals | all(.sum.bytes == ([.streams[].bytes] | add))" \
	    ".intervals | all(.sum.retransmits == ([.streams[].retransmits] | add))" \
	    '.intervals | all(.sum.omitted as $o | all(.streams[]; .omitted == $o))' \
	    "[.intervals[].sum.omitted] | . == (sort | reverse) and first == true and last == false" \
	    '.intervals | . as $v | all(range(1; length); $v[.].sum.start - $v[. - 1].sum.end | . > -0.001 and . < 0.001)' \
	    ".intervals[0].sum.start * 1e3 | floor == 0" \
	    "([.intervals[].sum.bytes] | add) <= .end.sum_sent.bytes + .end.sum_sent.warmup_bytes"
}
check_json 'intervals: each is the sum of its streams, one follows the other, the warm-up omitted' intervals_each_sum
zcs_same_bytes()
{
	holds zcs.json "(.end.streams | length) == 3" \
	    ".end.clients == 3" \
	    ".end.sum_received.bytes == ([.end.streams[].receiver.bytes] | add)" \
	    ".end.streams | all(.local_port == $PORT and .receiver.method == \"read\" and .receiver.sender == false)" \
	    '.start.accepted_connection.host == "127.0.0.1"' \
	    '.start.test_start.method == "read"' \
	    'has("error") | not'
	receivers=$(jq -c "[.end.streams[].receiver.bytes] | sort" zcc.json)
	ports=$(jq -c "[.start.connected[].local_port] | sort" zcc.json)
	holds zcs.json "([.end.streams[].receiver.bytes] | sort) == $receivers" \
	    ".start.accepted_connection.port as \$p | $ports | index(\$p) != null"
}
check_json 'zcs: the same bytes as in the receipts, for each client and for all' zcs_same_bytes
zcs_which_client()
{
	ports=$(jq -c "[.start.connected[].local_port] | sort" zcc.json)
	holds zcs.json "([.end.streams[].remote_port] | sort) == $ports"
}
check_json 'zcs: which client it was of each stream' zcs_which_client
# There is none where nothing came.
zcs_intervals()
{
	holds zcs.json "(.intervals | length) >= 2" \
	    '.intervals | . as $v | all(range(1; length); $v[.].sum.start - $v[. - 1].sum.end > -0.001)' \
	    ".intervals[0].sum.start | . >= 0 and . < 1" \
	    ".intervals | all(.sum | .bytes > 0 and .clients >= 1 and .sender == false)" \
	    "[.intervals[].sum.omitted] | . == (sort | reverse) and first == true and last == false" \
	    "([.intervals[].sum.bytes] | add) <= .end.sum_received.bytes + .end.sum_received.warmup_bytes"
}
check_json 'zcs: intervals, one after the other, those of the warm-up omitted' zcs_intervals
zcs_object_for_each()
{
	n=$(wc -l <zcs.out)
	"$zcc" -s 0 -p "$PORT" -n 2 tiny >report
	wait_until counts -gt "$n" lines_in zcs.out
	"$zcc" -s 0 -p "$PORT" file >report
	wait_until counts -gt $((n + 1)) lines_in zcs.out
	jq -es "[.[].end.sum_received.bytes][-2:] == [2, 300000]" zcs.out
	tail -n 1 zcs.out >last
	holds last ".end | .clients == 1 and (.streams | length) == 1" \
	    ".end | .sum_received.seconds == .streams[0].receiver.seconds" \
	    ".end | .sum_received.files == 1 and .sum_received.calls == .streams[0].receiver.calls"
}
check_json 'zcs: an object for each group' zcs_object_for_each
zcs_client_that_sends()
{
	n=$(wc -l <zcs.out)
	"$HELPERS/net" send -c "$PORT" </dev/null
	wait_until counts -gt "$n" lines_in zcs.out
	tail -n 1 zcs.out >last
	holds last ".end.sum_received.bytes == 0" 'has("error") | not'
	grep -q "closed without sending anything" zcs.err
	{ u32 1 1 1000; printf abc; } | "$HELPERS/net" send -c "$PORT"
	wait_until counts -gt $((n + 1)) lines_in zcs.out
	tail -n 1 zcs.out >last
	holds last ".end.sum_received.bytes == 3" '.error | endswith(": closed in the middle of a file, after 3 bytes")'
	[ "zcs: $(jq -r .error last)" = "$(tail -n 1 zcs.err)" ]
	u32 1 1 1000 | "$HELPERS/net" send -c "$PORT"
	wait_until counts -gt $((n + 2)) lines_in zcs.out
	tail -n 1 zcs.out >last
	holds last ".end.sum_received.bytes == 0" '.error | endswith(": closed in the middle of a file, after 0 bytes")'
	exits 0 "$zcc" --json -s 0 -p "$PORT" tiny
	wait_until counts -gt $((n + 3)) lines_in zcs.out
	tail -n 1 zcs.out >last
	holds last ".end.sum_received.bytes == 1" 'has("error") | not'
}
check_json 'zcs: a client that sends nothing leaves an object, and one that is cut an error in it' zcs_client_that_sends
zcc_each_method()
{
	exits 0 "$zcc" --json -s 0 -p "$PORT" -m zerocopy -b 10000 -k --nodelay -n 2 file
	holds out '.start.test_start | .method == "zerocopy" and .blksize == 10000 and .cork and .nodelay' \
	    ".end.streams[0] | .zerocopy_sends == 60 and .zerocopy_incomplete == 0" \
	    ".end.streams[0] | .zerocopy_copied >= 0 and .zerocopy_copied <= 60" \
	    ".end.streams[0].sender | .bytes == 600000 and .files == 2 and .calls == 60"
	for m in sendfile send write mmap splice; do
		exits 0 "$zcc" --json -s 0 -p "$PORT" -m $m file
		holds out ".start.test_start.method == \"$m\" and .end.bytes_agree" \
		    '.end.streams[0] | has("zerocopy_sends") | not'
	done
}
check_json 'zcc: each method and what is peculiar to it' zcc_each_method
if [ -e /proc/net/if_inet6 ]; then
	zcc_what_it_connects()
	{
		exits 0 "$zcc" --json -s ::1 -p "$PORT" tiny
		holds out '.start.connected[0] | .remote_host == "::1" and .local_host == "::1"'
	}
	check_json 'zcc: the address that it connects to over IPv6' zcc_what_it_connects
else
	skip 'zcc: the address that it connects to over IPv6' 'no IPv6 here'
fi
# To finish a group that is not there is to print nothing.
it 'zcs: interrupted without clients, no more'; ( begin
	n=$(wc -l <zcs.out)
	kill -TERM "$ZCS"
	ended "$ZCS"
	[ "$(wc -l <zcs.out)" -eq "$n" ]
	parses zcs.out
); ok

# Without a receipt.
start_peer
zcc_without_receipt()
{
	exits 0 "$zcc" --json -s 0 -p "$PORT" tiny
	one_line out
	holds out ".end.sum_sent.bytes == 1" '.end | has("sum_received") or has("bytes_agree") | not' \
	    '.end.streams[0] | has("receiver") | not'
}
check_json 'zcc: without a receipt there is no receiver, and no word of agreement' zcc_without_receipt
start_peer -r 'bytes=2 seconds=1\n'
zcc_bytes()
{
	exits 1 "$zcc" --json -s 0 -p "$PORT" tiny
	holds out ".end.bytes_agree == false" '.error == "the server received 2 bytes of the 1 sent"'
	one_line err
}
check_json 'zcc: bytes that do not agree' zcc_bytes
start_peer
zcc_raw()
{
	exits 0 "$zcc" --json -s 0 -p "$PORT" --raw tiny
	holds out '.start.test_start.protocol == "raw TCP" and .end.sum_sent.bytes == 1'
}
check_json 'zcc: raw' zcc_raw

# Interrupted.
start_zcs --json -I 0.05
"$zcc" --json -s 0 -p "$PORT" -I 0.05 -t 60 --congestion reno --pace 500m >out 2>err &
held=$!
remember $held
zcc_interrupted()
{
	wait_until counts -eq 2 threads_of "$ZCS"
	# Of the time that the kernel works for zcs, in ticks.
	wait_until counts -gt 2 stat_field "$ZCS" 15
	kill -TERM $held
	ended $held
	one_line out
	not [ -s err ]
	holds out '.error == "interrupted"' ".end.sum_sent.bytes > 0" ".end.bytes_agree"
	wait_until [ -s zcs.out ]
	holds zcs.out 'has("error") | not'
}
check_json 'zcc: interrupted, all there was, with an error' zcc_interrupted
"$zcc" -s 0 -p "$PORT" -P 2 -t 60 --congestion reno --pace 500m >zcc.out 2>zcc.err &
held=$!
remember $held
zcs_interrupted_all_there_with_error()
{
	wait_until counts -eq 3 threads_of "$ZCS"
	ticks=$(stat_field "$ZCS" 15)
	wait_until counts -gt $((ticks + 2)) stat_field "$ZCS" 15
	kill -TERM "$ZCS"
	ended "$ZCS"
	[ "$(wc -l <zcs.out)" -eq 2 ]
	tail -n 1 zcs.out >last
	holds last '.error == "interrupted"' ".end.sum_received.bytes > 0" "(.end.streams | length) == 2"
}
check_json 'zcs: interrupted, all there was, with an error' zcs_interrupted_all_there_with_error
wait "$ZCS"
check 'zcs --json: exit status 0 at the end' [ $? -eq 0 ]
ended $held

# What fails has one line on stderr, and the same in the object.
start_peer -n 3 -l 10000000 -R
zcc_server_that_goes()
{
	exits 1 "$zcc" --json -s 0 -p "$PORT" -t 60 -I 0.01 -P 3 --congestion reno file
	one_line err
	one_line out
	holds out '(.error | test("the server (closed|reset) the connection after [0-9]+ bytes"))' \
	    "(.start.connected | length) == 3" 'has("end") | not'
}
check_json 'zcc: a server that goes away, in the midst of intervals' zcc_server_that_goes

# Whatever ends it: stdout has one whole object, whose error is the line on stderr.
# one_error FILE ERR TOOL: they have both
one_error()
{
	cat "$1" "$2"
	one_line "$1"
	holds "$1" '.error | length > 0'
	[ "$3: $(jq -r .error "$1")" = "$(tail -n 1 "$2")" ]
}
# fails TOOL options...: it ends with 1, and so
fails()
{
	tool=$1
	shift
	exits 1 timeout 20 "$BIN/$tool" "$@"
	one_error out err "$tool"
}
zcc_what_fails()
{
	for how in "--congestion nosuch tiny" "-B 8000 tiny" "missing" "-c -f missing tiny" \
	    "--request 10 -c -f missing" "--request 10 -B 8000"; do
		fails zcc --json -s 0 -p 1 $how
	done
}
check_json 'zcc: an error before it connects is reported in an object' zcc_what_fails
zcs_what_fails()
{
	echo no calibration >counts_per_sec
	for how in "-B 8000" -c "--bind 192.0.2.1" "--user no-such-user"; do
		fails zcs --json -p 0 $how
	done
	rm counts_per_sec
}
check_json 'zcs: an error before it listens is reported in an object' zcs_what_fails
cyclesoak_what_fails()
{
	for how in "-1" "-f missing"; do fails cyclesoak --json $how; done
}
check_json 'cyclesoak: an error before it soaks is reported in an object' cyclesoak_what_fails
start_peer
zcc_second_run()
{
	exits 1 "$zcc" --json -s 0 -p "$PORT" -b 1k,2k tiny
	[ "$(wc -l <out)" -eq 2 ]
	parses out
	head -n 1 out >first
	holds first ".end.sum_sent.bytes == 1" 'has("error") | not'
	tail -n 1 out >second
	one_error second err zcc
}
check_json 'zcc: a second run that fails is an object of its own' zcc_second_run
start_zcs
stop_zcs
zcc_requests_none()
{
	fails zcc --json -s 0 -p "$PORT" --request 10 -n 2
	holds out "(.requests | length) == 1" ".requests[0].failed.refused == 2"
	fails zcc --json -s 0 -p "$PORT" --request 10,20 -n 9
	holds out "(.requests | length) == 1" ".requests[0].failed.refused == 3"
}
check_json 'zcc: if no request succeeds, the report has the error' zcc_requests_none
if [ -c /dev/full ]; then
	it 'stdout that cannot be written: one line, exit 1'; ( begin
		start_peer
		for how in "zcc --json -s 0 -p $PORT -q tiny" "zcc --json -s 0 -p 1 missing" \
		    "zcc --json -s 0 -p 1 --request 10 -n 1" "zcs --json -p 0 -B 8000" "cyclesoak --json -1"; do
			status=0
			timeout 20 "$BIN"/$how >/dev/full 2>err || status=$?
			echo "$status: $how"
			cat err
			[ $status -eq 1 ]
			[ "$(grep -vc "^zcc: missing: skipped" err)" -eq 1 ]
		done
	); ok
fi

start_zcs
zcc_all_sent()
{
	exits 1 "$zcc" --json -s 0 -p "$PORT" --warmup 60 tiny
	one_line err
	one_line out
	holds out '(.error | test("everything was sent before the warm-up ended"))'
}
check_json 'zcc: all sent before the warm-up is over' zcc_all_sent
zcc_unknown_host()
{
	exits 1 "$zcc" --json -s 'no"such\host.invalid' tiny
	one_line err
	holds out '(.error | startswith("no\"such\\host.invalid: "))'
}
check_json 'zcc: an unknown host, with a name that has to be escaped' zcc_unknown_host
# What was sent has its figures; of a comparison the last object has the error.
zcc_file_missing()
{
	exits 1 "$zcc" --json -s 0 -p "$PORT" tiny missing
	one_line out
	holds out '(.error == "skipped 1 of 2 files") and .end.bytes_agree'
	exits 1 "$zcc" --json -s 0 -p "$PORT" -r 2 tiny missing
	[ "$(grep -c '"error"' out)" -eq 1 ]
	tail -n 1 out >last
	holds last '(.error == "skipped 1 of 2 files") and .comparison.rounds == 2'
}
check_json 'zcc: a file that is missing is in error, and the others are sent' zcc_file_missing
zcc_file_that_shrinks()
{
	name=$(printf 'a"b\\c\377\nd')
	truncate -s 3146728 "$name"
	start_peer -s
	"$zcc" --json -s 0 -p "$PORT" -o 60000 "$name" >out 2>err &
	p=$!
	remember $p
	wait_until grep -q data peer.out
	truncate -s 0 "$name"
	kill -USR1 "$PEER"
	ended $p
	one_line out
	holds out '(.error == "a\"b\\c\ufffd\nd: shrank while it was being sent")'
}
check_json 'zcc: a file that shrinks, with a name that is no text' zcc_file_that_shrinks
stop_zcs
zcc_nobody_listens()
{
	exits 1 "$zcc" --json -s 0 -p "$PORT" tiny
	one_line err
	holds out "(.error | test(\"cannot connect to 0 port $PORT: Connection refused\"))"
}
check_json 'zcc: nobody listens' zcc_nobody_listens
if [ -c /dev/full ]; then
	start_peer
	it 'a report that cannot be written: exit 1'; ( begin
		status=0
		"$zcc" --json -q -s 0 -p "$PORT" tiny >/dev/full 2>err || status=$?
		[ $status -eq 1 ]
		one_line err
		grep -q "stdout: No space left" err
	); ok
fi

# Whatever fails, the output of zcs is complete objects, and the last of them names what failed.
# says_why FILE: the last object has `error`, and all of them parse
says_why()
{
	parses "$1"
	tail -n 1 "$1" | grep -Eq '"error":"[^"]+"}$'
}
start_zcs
taken=$PORT
zcs_json_one_object()
{
	mkdir -p nowhere
	cd nowhere || return
	echo no calibration >counts_per_sec
	exits 1 timeout 20 "$zcs" --json $how
	one_line out
	one_line err
	says_why out
}
for how in "-p $taken" '-p 0 -B 8000' '-p 0 -c' '-p 0 --user no-such-user' '-p 0 --bind 192.0.2.1' \
    '-p 0 --bind no.such.host.invalid' "-p $taken --reply" '-p 0 -B 8000 --reply'; do
	check "zcs --json $how: one object, with the error" zcs_json_one_object
done
stop_zcs
it 'zcs --json: a usage error prints nothing on stdout'; ( begin
	exits 2 timeout 20 "$zcs" --json -p 70000
	not [ -s out ]
); ok
it 'zcs --json, interrupted with clients: the object reports it'; ( begin
	start_zcs --json
	"$zcc" -s 0 -p "$PORT" -t 30 --congestion reno --pace 50m >zcc.out 2>zcc.err &
	remember $!
	wait_until counts -gt 1 threads_of "$ZCS"
	kill -TERM "$ZCS"
	ended "$ZCS"
	one_line zcs.out
	says_why zcs.out
); ok
# The version of the schema, in an object of each kind.
# versioned FILE OBJECTS: the file has that many lines, each an object that begins with the version
versioned()
{
	cat "$1"
	[ "$(wc -l <"$1")" -eq "$2" ]
	[ "$(grep -c "^{\"schema\":1,.*}$" "$1")" -eq "$2" ]
	parses "$1"
}
start_zcs --json
it 'schema: in the object of zcc and in that of zcs'; ( begin
	exits 0 "$zcc" --json -s 0 -p "$PORT" -P 2 file
	versioned out 1
	wait_until [ -s zcs.out ]
	tail -n 1 zcs.out >last
	versioned last 1
); ok
it 'schema: in each object of zcc with a list of sizes'; ( begin
	exits 0 "$zcc" --json -s 0 -p "$PORT" -S -b 1000,2k,3k -r 1 tiny
	versioned out 4
); ok
it 'schema: in the object of a client of zcs that sends nothing'; ( begin
	n=$(wc -l <zcs.out)
	"$HELPERS/net" send -c "$PORT" </dev/null
	wait_until counts -gt "$n" lines_in zcs.out
	tail -n 1 zcs.out >last
	versioned last 1
); ok
stop_zcs
start_peer -n 3 -l 10000000 -R
it 'schema: in the object of a zcc that fails while it sends'; ( begin
	exits 1 "$zcc" --json -s 0 -p "$PORT" -t 60 -P 3 --congestion reno file
	versioned out 1
); ok
it 'schema: in that which has nothing else but the error, of each program'; ( begin
	ended "$PEER"
	exits 1 "$zcc" --json -s 0 -p "$PORT" tiny
	versioned out 1
	exits 1 "$zcs" --json -p 0 --bind 192.0.2.77
	versioned out 1
	exits 1 "$BIN/cyclesoak" --json -1 -f missing
	versioned out 1
); ok
start_zcs --reply --json -I 0.05
it 'schema: in the object of requests, and in those of zcs --reply'; ( begin
	exits 0 "$zcc" --json -s 0 -p "$PORT" --request 10,1k -t 0.3
	versioned out 1
	kill -TERM "$ZCS"
	ended "$ZCS"
	[ "$(wc -l <zcs.out)" -ge 2 ]
	versioned zcs.out "$(wc -l <zcs.out)"
); ok
start_zcs -1 --json
it 'a --warmup of 0.01 s is one of 0.1 s at both ends, which the wire can say'; ( begin; need jq
	exits 0 "$zcc" --json -s 0 -p "$PORT" --warmup 0.01 -t 0.2 --congestion reno --pace 20m file
	jq -e ".start.test_start.omit == 0.1 and .end.sum_received.bytes > 0" out
); ok
start_zcs -1 --json
it 'a --warmup of 1.1 s is not rounded up to 1.2 s'; ( begin; need jq
	exits 0 "$zcc" --json -s 0 -p "$PORT" --warmup 1.1 -t 0.1 --congestion reno --pace 20m file
	jq -e ".start.test_start.omit == 1.1" out
); ok

# The schema, the programs and the manual page have the same keys.
schema=$TOP/man/zc-json.schema.json
it 'each key of the schema is in zc-json(5) or zc-hosts(1)'; ( begin; need jq
	jq -r '.. | .properties? // empty | keys[]' "$schema" | sort -u >keys
	[ "$(wc -l <keys)" -gt 100 ]
	cat "$TOP/man/zc-json.5" "$TOP/man/zc-hosts.1" | tr -cs 'a-z0-9_' '\n' | sort -u | comm -23 keys - >missing
	diff /dev/null missing
); ok
it 'each key that the sources name is in the schema'; ( begin; need jq
	jq -r '.. | .properties? // empty | keys[]' "$schema" | sort -u >keys
	cat "$TOP"/*.c "$TOP"/lib/*/*.c | tr -d '\n' | grep -oE 'json_[a-z_]+\([^"();]*, "[a-z0-9_]+"' |
		sed 's/.*"\(.*\)"/\1/' | sort -u >printed
	[ "$(wc -l <printed)" -gt 80 ]
	comm -13 keys printed >missing
	diff /dev/null missing
); ok
it 'each number and text of the schema is described'; ( begin; need jq
	jq -e '[.. | .properties? // empty | to_entries[] | select(.value | has("$ref") or has("description") or
		has("const") or .type == "object" | not) | .key] == []' "$schema"
); ok

finish
