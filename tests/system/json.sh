#!/bin/sh
# The JSON reports of both ends: one line that parses, and whose figures agree.  soaker.sh has those of a
# soaker that was killed, cyclesoak.sh and identities.sh those of loads.
#
# seconds: 10
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc zcs=$BIN/zcs
head -c 300000 /dev/urandom >file
printf 'x' >tiny

if ! command -v jq >/dev/null 2>&1; then
	skip 'the JSON reports' 'no jq'
	finish
fi
# holds FILE 'expression' ...: each is true of the one object in the file
holds()
{
	object=$1 all='.[0].schema == 1'
	shift
	for expression; do
		all="$all and (.[0] | $expression)"
	done
	jq -es "length == 1 and $all" "$object" >/dev/null && return
	for expression; do
		jq -es ".[0] | $expression" "$object" >/dev/null || echo "does not hold: $expression"
	done
	jq -c . "$object"
	return 1
}
# are_objects FILE N: so many, of this version of the schema
are_objects()
{
	[ "$(wc -l <"$1")" -eq "$2" ]
	jq -es "length == $2 and all(.schema == 1)" "$1"
}
# after N: the next line of zcs.out, behind that many, in `last`
after()
{
	wait_until counts -gt "$1" lines_in zcs.out
	tail -n 1 zcs.out >last
}
start_zcs --json -I 0.05
it 'zcc --json: one line, which parses, and nothing on stderr'; ( begin
	exits 0 "$zcc" --json -s 0 -p "$PORT" -P 3 --warmup 0.3 -t 1 -I 0.05 --pace 50m --congestion reno file tiny
	one_line out
	no_warning err
	mv out zcc.json
); ok
it 'zcs --json: one line for the group, once it has left'; ( begin
	wait_until [ -s zcs.out ]
	one_line zcs.out
	one_line zcs.err
	cp zcs.out zcs.json
); ok
it 'start: an entry for each stream, where it goes and how'; ( begin
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
); ok
it 'end: the sums are those of the streams, and the ends agree'; ( begin
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
); ok
it 'bits_per_second is bytes over seconds'; ( begin
	near="def near(a; b): (a - b) * (a - b) <= 1e-12 * a * a;"
	holds zcc.json "$near [.end.sum_sent, .end.sum_received, .end.streams[][], .intervals[].sum] |
	    all(near(.bits_per_second; .bytes * 8 / .seconds) and near(.end; .start + .seconds))"
); ok
it 'intervals: each is the sum of its streams, one follows the other, the warm-up omitted'; ( begin
	holds zcc.json "(.intervals | length) >= 2" \
	    ".intervals | all((.streams | length) == 3)" \
	    ".intervals | all(.sum.bytes == ([.streams[].bytes] | add))" \
	    ".intervals | all(.sum.retransmits == ([.streams[].retransmits] | add))" \
	    '.intervals | all(.sum.omitted as $o | all(.streams[]; .omitted == $o))' \
	    "[.intervals[].sum.omitted] | . == (sort | reverse) and first == true and last == false" \
	    '.intervals | . as $v | all(range(1; length); $v[.].sum.start - $v[. - 1].sum.end | . > -0.001 and . < 0.001)' \
	    ".intervals[0].sum.start * 1e3 | floor == 0" \
	    "([.intervals[].sum.bytes] | add) <= .end.sum_sent.bytes + .end.sum_sent.warmup_bytes"
); ok
it 'zcs: the same bytes as in the receipts, for each client and for all'; ( begin
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
); ok
it 'zcs: which client it was of each stream'; ( begin
	ports=$(jq -c "[.start.connected[].local_port] | sort" zcc.json)
	holds zcs.json "([.end.streams[].remote_port] | sort) == $ports"
); ok
# There is none where nothing came.
it 'zcs: intervals, one after the other, those of the warm-up omitted'; ( begin
	holds zcs.json "(.intervals | length) >= 2" \
	    '.intervals | . as $v | all(range(1; length); $v[.].sum.start - $v[. - 1].sum.end > -0.001)' \
	    ".intervals[0].sum.start | . >= 0 and . < 1" \
	    ".intervals | all(.sum | .bytes > 0 and .clients >= 1 and .sender == false)" \
	    "[.intervals[].sum.omitted] | . == (sort | reverse) and first == true and last == false" \
	    "([.intervals[].sum.bytes] | add) <= .end.sum_received.bytes + .end.sum_received.warmup_bytes"
); ok
it 'zcs: an object for each group'; ( begin
	n=$(wc -l <zcs.out)
	"$zcc" -s 0 -p "$PORT" -n 2 tiny >report
	after "$n"
	"$zcc" -s 0 -p "$PORT" file >report
	after $((n + 1))
	jq -es "[.[].end.sum_received.bytes][-2:] == [2, 300000]" zcs.out
	holds last ".end | .clients == 1 and (.streams | length) == 1" \
	    ".end | .sum_received.seconds == .streams[0].receiver.seconds" \
	    ".end | .sum_received.files == 1 and .sum_received.calls == .streams[0].receiver.calls"
); ok
it 'zcs: a client that sends nothing leaves an object, and one that is cut an error in it'; ( begin
	n=$(wc -l <zcs.out)
	"$HELPERS/net" send -c "$PORT" </dev/null
	after "$n"
	holds last ".end.sum_received.bytes == 0" 'has("error") | not'
	grep -q "closed without sending anything" zcs.err
	{ u32 1 1 1000; printf abc; } | "$HELPERS/net" send -c "$PORT"
	after $((n + 1))
	holds last ".end.sum_received.bytes == 3" '.error | endswith(": closed in the middle of a file, after 3 bytes")'
	[ "zcs: $(jq -r .error last)" = "$(tail -n 1 zcs.err)" ]
	u32 1 1 1000 | "$HELPERS/net" send -c "$PORT"
	after $((n + 2))
	holds last ".end.sum_received.bytes == 0" '.error | endswith(": closed in the middle of a file, after 0 bytes")'
	exits 0 "$zcc" --json -s 0 -p "$PORT" tiny
	after $((n + 3))
	holds last ".end.sum_received.bytes == 1" 'has("error") | not'
); ok
it 'zcc: each method and what is peculiar to it'; ( begin
	exits 0 "$zcc" --json -s 0 -p "$PORT" -m zerocopy -b 10000 -k --nodelay -n 2 file
	holds out '.start.test_start | .method == "zerocopy" and .blksize == 10000 and .cork and .nodelay' \
	    ".end.streams[0] | .zerocopy_sends == 60 and .zerocopy_incomplete == 0" \
	    ".end.streams[0] | .zerocopy_copied >= 0 and .zerocopy_copied <= 60" \
	    ".end.streams[0].sender | .bytes == 600000 and .files == 2 and .calls == 60"
	for m in $(senders | grep -vx 'zerocopy\|uring-zc'); do
		exits 0 "$zcc" --json -s 0 -p "$PORT" -m $m file
		holds out ".start.test_start.method == \"$m\" and .end.bytes_agree" \
		    '.end.streams[0] | has("zerocopy_sends") | not'
	done
); ok
it 'zcc: the address that it connects to over IPv6'; ( begin
	[ -e /proc/net/if_inet6 ] || skip_check 'no IPv6 here'
	exits 0 "$zcc" --json -s ::1 -p "$PORT" tiny
	holds out '.start.connected[0] | .remote_host == "::1" and .local_host == "::1"'
); ok
# To finish a group that is not there is to print nothing.
it 'zcs: interrupted without clients, no more'; ( begin
	n=$(wc -l <zcs.out)
	kill -TERM "$ZCS"
	ended "$ZCS"
	are_objects zcs.out "$n"
); ok

# Without a receipt.
start_peer
it 'zcc: without a receipt there is no receiver, and no word of agreement'; ( begin
	exits 0 "$zcc" --json -s 0 -p "$PORT" tiny
	one_line out
	holds out ".end.sum_sent.bytes == 1" '.end | has("sum_received") or has("bytes_agree") | not' \
	    '.end.streams[0] | has("receiver") | not'
); ok
start_peer -r 'bytes=2 seconds=1\n'
it 'zcc: bytes that do not agree'; ( begin
	exits 1 "$zcc" --json -s 0 -p "$PORT" tiny
	holds out ".end.bytes_agree == false" '.error == "the server received 2 bytes of the 1 sent"'
	one_line err
); ok
start_peer
it 'zcc: raw'; ( begin
	exits 0 "$zcc" --json -s 0 -p "$PORT" --raw tiny
	holds out '.start.test_start.protocol == "raw TCP" and .end.sum_sent.bytes == 1'
); ok

# Interrupted.
start_zcs --json -I 0.05
"$zcc" --json -s 0 -p "$PORT" -I 0.05 -t 60 --congestion reno --pace 500m >out 2>err &
held=$!
remember $held
it 'zcc: interrupted, all there was, with an error'; ( begin
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
); ok
"$zcc" -s 0 -p "$PORT" -P 2 -t 60 --congestion reno --pace 500m >zcc.out 2>zcc.err &
held=$!
remember $held
it 'zcs: interrupted, all there was, with an error'; ( begin
	wait_until counts -eq 3 threads_of "$ZCS"
	ticks=$(stat_field "$ZCS" 15)
	wait_until counts -gt $((ticks + 2)) stat_field "$ZCS" 15
	kill -TERM "$ZCS"
	ended "$ZCS"
	[ "$(wc -l <zcs.out)" -eq 2 ]
	tail -n 1 zcs.out >last
	holds last '.error == "interrupted"' ".end.sum_received.bytes > 0" "(.end.streams | length) == 2"
); ok
wait "$ZCS"
check 'zcs --json: exit status 0 at the end' [ $? -eq 0 ]
ended $held

# What fails has one line on stderr, and the same in the object.
start_peer -n 3 -l 10000000 -R
it 'zcc: a server that goes away, in the midst of intervals'; ( begin
	exits 1 "$zcc" --json -s 0 -p "$PORT" -t 60 -I 0.01 -P 3 --congestion reno file
	one_line err
	one_line out
	holds out '(.error | test("the server (closed|reset) the connection after [0-9]+ bytes"))' \
	    "(.start.connected | length) == 3" 'has("end") | not'
); ok

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
it 'zcc: an error before it connects is reported in an object'; ( begin
	for how in "--congestion nosuch tiny" "-B 8000 tiny" "missing" "-c -f missing tiny" \
	    "--request 10 -c -f missing" "--request 10 -B 8000"; do
		fails zcc --json -s 0 -p 1 $how
	done
); ok
it 'zcs: an error before it listens is reported in an object'; ( begin
	start_zcs
	echo no calibration >counts_per_sec
	for how in "-p $PORT" "-p $PORT --reply" "-B 8000" "-B 8000 --reply" -c "--bind 192.0.2.1" \
	    "--bind no.such.host.invalid" "--user no-such-user"; do
		fails zcs --json -p 0 $how
		one_line err
	done
	rm counts_per_sec
	exits 2 timeout 20 "$zcs" --json -p 70000
	not [ -s out ]
	stop_zcs
); ok
it 'cyclesoak: an error before it soaks is reported in an object'; ( begin
	for how in "-1" "-f missing"; do fails cyclesoak --json $how; done
); ok
start_peer
it 'zcc: a second run that fails is an object of its own'; ( begin
	exits 1 "$zcc" --json -s 0 -p "$PORT" -b 1k,2k tiny
	are_objects out 2
	head -n 1 out >first
	holds first ".end.sum_sent.bytes == 1" 'has("error") | not'
	tail -n 1 out >second
	one_error second err zcc
); ok
start_zcs
stop_zcs
it 'zcc: if no request succeeds, the report has the error'; ( begin
	fails zcc --json -s 0 -p "$PORT" --request 10 -n 2
	holds out "(.requests | length) == 1" ".requests[0].failed.refused == 2"
	fails zcc --json -s 0 -p "$PORT" --request 10,20 -n 9
	holds out "(.requests | length) == 1" ".requests[0].failed.refused == 3"
); ok
it 'stdout that cannot be written: one line, exit 1'; ( begin
	start_peer
	for how in "zcc --json -s 0 -p $PORT -q tiny" "zcc --json -s 0 -p 1 missing" \
	    "zcc --json -s 0 -p 1 --request 10 -n 1" "zcs --json -p 0 -B 8000" "cyclesoak --json -1"; do
		status=0
		timeout 20 "$BIN"/$how >/dev/full 2>err || status=$?
		echo "$status: $how"
		cat err
		[ $status -eq 1 ]
		grep -v "^zcc: missing: skipped" err >line
		one_line line
	done
); ok
start_zcs
it 'zcc: all sent before the warm-up is over'; ( begin
	exits 1 "$zcc" --json -s 0 -p "$PORT" --warmup 60 tiny
	one_line err
	one_line out
	holds out '(.error | test("everything was sent before the warm-up ended"))'
); ok
it 'zcc: an unknown host, with a name that has to be escaped'; ( begin
	exits 1 "$zcc" --json -s 'no"such\host.invalid' tiny
	one_line err
	holds out '(.error | startswith("no\"such\\host.invalid: "))'
); ok
# What was sent has its figures; of a comparison the last object has the error.
it 'zcc: a file that is missing is in error, and the others are sent'; ( begin
	exits 1 "$zcc" --json -s 0 -p "$PORT" tiny missing
	one_line out
	holds out '(.error == "skipped 1 of 2 files") and .end.bytes_agree'
	exits 1 "$zcc" --json -s 0 -p "$PORT" -r 2 tiny missing
	[ "$(grep -c '"error"' out)" -eq 1 ]
	tail -n 1 out >last
	holds last '(.error == "skipped 1 of 2 files") and .comparison.rounds == 2'
); ok
it 'zcc: a file that shrinks, with a name that is no text'; ( begin
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
); ok
stop_zcs
it 'zcc: nobody listens'; ( begin
	exits 1 "$zcc" --json -s 0 -p "$PORT" tiny
	one_line err
	holds out "(.error | test(\"cannot connect to 0 port $PORT: Connection refused\"))"
); ok
it 'zcs --json, interrupted with clients: the object reports it'; ( begin
	start_zcs --json
	"$zcc" -s 0 -p "$PORT" -t 30 --congestion reno --pace 50m >zcc.out 2>zcc.err &
	remember $!
	wait_until counts -gt 1 threads_of "$ZCS"
	kill -TERM "$ZCS"
	ended "$ZCS"
	one_line zcs.out
	holds zcs.out '.error == "interrupted"'
); ok
it 'zcc with a list of sizes, and zcs --reply: the version of the schema is in each object'; ( begin
	start_zcs
	exits 0 "$zcc" --json -s 0 -p "$PORT" -S -b 1000,2k,3k -r 1 tiny
	are_objects out 4
	stop_zcs
	start_zcs --reply --json -I 0.05
	exits 0 "$zcc" --json -s 0 -p "$PORT" --request 10,1k -t 0.3
	are_objects out 1
	kill -TERM "$ZCS"
	ended "$ZCS"
	[ "$(wc -l <zcs.out)" -ge 2 ]
	are_objects zcs.out "$(wc -l <zcs.out)"
); ok
it '--warmup is rounded up to 0.1 s, which the wire can say, and no further'; ( begin
	for pair in 0.01:0.1 0.34:0.4 1.1:1.1; do
		start_zcs -1 --json
		exits 0 "$zcc" --json -s 0 -p "$PORT" --warmup ${pair%:*} -t 0.2 --congestion reno --pace 20m file
		holds out ".start.test_start.omit == ${pair#*:} and .end.sum_received.bytes > 0"
	done
); ok
# The schema, the programs and the manual page have the same keys.
schema=$TOP/man/zc-json.schema.json
it 'each key of the schema is in zc-json(5) or zc-hosts(1)'; ( begin
	jq -r '.. | .properties? // empty | keys[]' "$schema" | sort -u >keys
	[ "$(wc -l <keys)" -gt 100 ]
	cat "$TOP/man/zc-json.5" "$TOP/man/zc-hosts.1" | tr -cs 'a-z0-9_' '\n' | sort -u | comm -23 keys - >missing
	diff /dev/null missing
); ok
it 'each key that the sources name is in the schema'; ( begin
	jq -r '.. | .properties? // empty | keys[]' "$schema" | sort -u >keys
	cat "$TOP"/*.c "$TOP"/lib/*/*.c | tr -d '\n' | grep -oE 'json_[a-z_]+\([^"();]*, "[a-z0-9_]+"' |
		sed 's/.*"\(.*\)"/\1/' | sort -u >printed
	[ "$(wc -l <printed)" -gt 80 ]
	comm -13 keys printed >missing
	diff /dev/null missing
); ok
it 'each number and text of the schema is described'; ( begin
	jq -e '[.. | .properties? // empty | to_entries[] | select(.value | has("$ref") or has("description") or
		has("const") or .type == "object" | not) | .key] == []' "$schema"
); ok

finish
