#!/bin/sh
# The JSON reports of both ends: one line that parses, and whose figures agree.  tests/run validates all that the
# tests print; soaker.sh has the reports of a soaker that was killed, cyclesoak.sh and values.sh those of loads.
#
# seconds: 5
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc
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
# after N: the next line of zcs.out, behind that many, in `last`
after()
{
	wait_until counts -gt "$1" lines_in zcs.out
	tail -n 1 zcs.out >last
}

# Three streams, two files and a warm-up
start_zcs --json -I 0.05
it 'zcc --json: one line, with an entry for each stream, where it goes and how'; ( begin
	exits 0 "$zcc" --json -s 0 -p "$PORT" -P 3 --warmup 0.2 -t 0.4 -I 0.05 --pace 50m --congestion reno file tiny
	one_line out
	no_warning err
	mv out zcc.json
	holds zcc.json "(.start.connected | length) == 3" \
	    "[.start.connected[].socket] == [1, 2, 3]" \
	    ".start.connected | (map(.local_port) | unique | length) == 3 and all(.remote_port == $PORT)" \
	    '.start.connected | all(.remote_host == "127.0.0.1")' \
	    ".start.connecting_to == {host: \"0\", port: $PORT}" \
	    '.start.test_start | .num_streams == 3 and .method == "sendfile" and .omit == 0.2' \
	    ".start.test_start | .duration == 0.4 and .files == 2 and .file_bytes == 300001" \
	    '.start.version | startswith("zc ")' \
	    ".start | .timestamp.timesecs > 1600000000 and .tcp_mss_default > 0"
); ok
it 'zcc --json, end: the sums are those of the streams, and the ends agree'; ( begin
	sums="def sum(f): [.end.streams[] | f] | add;"
	holds zcc.json '(.end.streams | length) == 3 and [.end.streams[].sender.socket] == [1, 2, 3]'
	for key in bytes warmup_bytes calls files retransmits; do
		jq -e "$sums .end.sum_sent.$key == sum(.sender.$key)" zcc.json
	done
	jq -e "$sums .end.sum_received.bytes == sum(.receiver.bytes)" zcc.json
	holds zcc.json ".end.sum_sent | .bytes > 0 and .warmup_bytes > 0 and .sender == true" \
	    ".end.sum_received | .bytes > 0 and .warmup_bytes > 0 and .sender == false" \
	    ".end | .sum_sent.bytes + .sum_sent.warmup_bytes == .sum_received.bytes + .sum_received.warmup_bytes" \
	    ".end.streams | all(.sender.bytes + .sender.warmup_bytes == .receiver.bytes + .receiver.warmup_bytes)" \
	    '.end | .bytes_agree == true and .both_ends_on_host == true and .sender_tcp_congestion == "reno"' \
	    '.end.streams | all(.sender.method == "sendfile" and .receiver.method == "read")' \
	    ".end.streams | all(.sender | .rtt > 0 and .snd_mss > 0 and .snd_cwnd > 0)" \
	    '(.end.streams[0] | has("zerocopy_sends") | not) and (has("error") | not)'
); ok
it 'zcc --json: bits_per_second is bytes over seconds'; ( begin
	near="def near(a; b): (a - b) * (a - b) <= 1e-12 * a * a;"
	jq -e "$near [.end.sum_sent, .end.sum_received, .end.streams[][], .intervals[].sum] |
	    all(near(.bits_per_second; .bytes * 8 / .seconds) and near(.end; .start + .seconds))" zcc.json
); ok
it 'zcc --json, intervals: each is the sum of its streams, one follows the other, the warm-up is omitted'; ( begin
	holds zcc.json "(.intervals | length) >= 2" \
	    ".intervals | all((.streams | length) == 3)" \
	    ".intervals | all(.sum.bytes == ([.streams[].bytes] | add))" \
	    ".intervals | all(.sum.retransmits == ([.streams[].retransmits] | add))" \
	    '.intervals | all(.sum.omitted as $o | all(.streams[]; .omitted == $o))' \
	    "[.intervals[].sum.omitted] | . == (sort | reverse) and first == true and last == false" \
	    '[.intervals[].sum] | all(range(1; length) as $i | .[$i].start - .[$i - 1].end; . > -0.001 and . < 0.001)' \
	    ".intervals[0].sum.start * 1e3 | floor == 0" \
	    "([.intervals[].sum.bytes] | add) <= .end.sum_sent.bytes + .end.sum_sent.warmup_bytes"
); ok
it 'zcs --json: one line for the group, with the bytes of the receipts, and which client it was'; ( begin
	wait_until [ -s zcs.out ]
	one_line zcs.err
	cp zcs.out zcs.json
	ports=$(jq -c "[.start.connected[].local_port] | sort" zcc.json)
	holds zcs.json "(.end.streams | length) == 3 and .end.clients == 3" \
	    ".end.sum_received.bytes == ([.end.streams[].receiver.bytes] | add)" \
	    ".end.streams | all(.local_port == $PORT and .receiver.method == \"read\" and .receiver.sender == false)" \
	    '.start.accepted_connection.host == "127.0.0.1" and .start.test_start.method == "read"' \
	    ".start.accepted_connection.port as \$p | $ports | index(\$p) != null" \
	    "([.end.streams[].receiver.bytes] | sort) == $(jq -c "[.end.streams[].receiver.bytes] | sort" zcc.json)" \
	    "([.end.streams[].remote_port] | sort) == $ports" \
	    'has("error") | not'
); ok
# There is none where nothing came.
it 'zcs --json: intervals, one after the other, those of the warm-up are omitted'; ( begin
	holds zcs.json "(.intervals | length) >= 2" \
	    '[.intervals[].sum] | all(range(1; length) as $i | .[$i].start - .[$i - 1].end; . > -0.001)' \
	    ".intervals[0].sum.start | . >= 0 and . < 1" \
	    ".intervals | all(.sum | .bytes > 0 and .clients >= 1 and .sender == false)" \
	    "[.intervals[].sum.omitted] | . == (sort | reverse) and first == true and last == false" \
	    "([.intervals[].sum.bytes] | add) <= .end.sum_received.bytes + .end.sum_received.warmup_bytes"
); ok
it 'zcs --json: an object for each group, one without bytes for a client that sends nothing'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" -n 2 tiny
	after 1
	exits 0 "$zcc" -s 0 -p "$PORT" file
	after 2
	holds last ".end | .clients == 1 and (.streams | length) == 1 and .sum_received.files == 1" \
	    ".end | .sum_received.seconds == .streams[0].receiver.seconds" \
	    ".end | .sum_received.calls == .streams[0].receiver.calls"
	"$HELPERS/net" send -c "$PORT" </dev/null
	after 3
	holds last 'has("error") | not'
	grep -q "closed without sending anything" zcs.err
	jq -es "[.[].end.sum_received.bytes][1:] == [2, 300000, 0]" zcs.out
); ok
it 'zcs --json: a client that is cut has an error in its object, and not in the next'; ( begin
	for bytes in 0 3; do
		n=$(lines_in zcs.out)
		{ u32 1 1 1000; head -c $bytes file; } | "$HELPERS/net" send -c "$PORT"
		after "$n"
		holds last ".end.sum_received.bytes == $bytes" \
		    ".error | endswith(\": closed in the middle of a file, after $bytes bytes\")"
		[ "zcs: $(jq -r .error last)" = "$(tail -n 1 zcs.err)" ]
	done
	exits 0 "$zcc" -s 0 -p "$PORT" tiny
	after $((n + 1))
	holds last ".end.sum_received.bytes == 1" 'has("error") | not'
); ok
it 'zcc --json: what is peculiar to zerocopy, and to IPv6'; ( begin
	exits 0 "$zcc" --json -s 0 -p "$PORT" -m zerocopy -b 10000 -k --nodelay -n 2 file
	holds out '.start.test_start | .method == "zerocopy" and .blksize == 10000 and .cork and .nodelay' \
	    ".end.streams[0] | .zerocopy_sends == 60 and .zerocopy_incomplete == 0" \
	    ".end.streams[0] | .zerocopy_copied >= 0 and .zerocopy_copied <= 60" \
	    ".end.streams[0].sender | .bytes == 600000 and .files == 2 and .calls == 60"
	[ -e /proc/net/if_inet6 ] || skip_check 'no IPv6 here'
	exits 0 "$zcc" --json -s ::1 -p "$PORT" tiny
	holds out '.start.connected[0] | .remote_host == "::1" and .local_host == "::1"'
); ok
# The wire can say no less than 0.1 s.
it '--warmup is rounded up to 0.1 s, and no further'; ( begin
	for pair in 0.01:0.1 0.11:0.2; do
		exits 0 "$zcc" --json -s 0 -p "$PORT" --warmup ${pair%:*} -t 0.1 --congestion reno --pace 20m file
		holds out ".start.test_start.omit == ${pair#*:} and .end.sum_received.bytes > 0"
	done
); ok

while IFS=';' read -r what status receipt options expression; do
	it "zcc --json, $what"; ( begin
		start_peer ${receipt:+-r "$receipt"}
		exits $status "$zcc" --json -s 0 -p "$PORT" $options tiny
		holds out "$expression"
		[ $status -eq 0 ] || one_line err
	); ok
done <<'END'
no receipt: no receiver;0;;;.end | .sum_sent.bytes == 1 and (has("sum_received") or has("bytes_agree") | not)
no receipt: the stream has no receiver;0;;;.end.streams[0] | has("receiver") | not
a receipt of other bytes: an error;1;bytes=2 seconds=1\n;;.error == "the server received 2 bytes of the 1 sent"
a receipt of other bytes: they do not agree;1;bytes=2 seconds=1\n;;.end | .sum_sent.bytes == 1 and (.bytes_agree | not)
--raw: the protocol is raw TCP;0;;--raw;.start.test_start.protocol == "raw TCP" and .end.sum_sent.bytes == 1
END

# Interrupted: the first time zcc, the second zcs
start_zcs --json -I 0.05
it 'zcc --json and zcs --json, interrupted: all there was, and an error in the object of the one'; ( begin
	for who in zcc zcs; do
		"$zcc" --json -s 0 -p "$PORT" -P 2 -I 0.05 -t 60 --congestion reno --pace 500m >out 2>err &
		sender=$!
		remember $sender
		wait_until counts -eq 3 threads_of "$ZCS"
		# Of the time that the kernel works for zcs, in ticks.
		ticks=$(stat_field "$ZCS" 15)
		wait_until counts -gt $((ticks + 2)) stat_field "$ZCS" 15
		[ $who = zcs ] || kill -TERM $sender
		[ $who = zcc ] || kill -TERM "$ZCS"
		ended $sender
		wait_until [ -s zcs.out ]
		[ $who = zcs ] || holds out '.error == "interrupted"' ".end.sum_sent.bytes > 0" ".end.bytes_agree"
		[ $who = zcs ] || not [ -s err ]
	done
	ended "$ZCS"
	jq -es 'length == 2 and .[1].error == "interrupted" and (.[0] | has("error") | not) and
	    all(.end.sum_received.bytes > 0 and (.end.streams | length) == 2)' zcs.out
); ok

# Whatever ends a program: stdout has one whole object, whose error is the line on stderr.
start_zcs
listening=$PORT
start_peer
echo no calibration >counts_per_sec
while IFS=';' read -r error tool options; do
	it "$tool --json $options: the line on stderr is the error of the one object"; ( begin
		options=$(echo "$options" | sed "s/LISTENING/$listening/; s/PEER/$PORT/")
		exits 1 timeout 20 "$BIN/$tool" --json $options
		one_line out
		holds out ".error | test(\"$error\")"
		[ "$tool: $(jq -r .error out)" = "$(tail -n 1 err)" ]
		# For want of space the line alone is left.
		got=0
		timeout 20 "$BIN/$tool" --json $options >/dev/full 2>err || got=$?
		[ $got -eq 1 ]
		grep -v ": skipped" err >line
		one_line line
	); ok
done <<'END'
nosuch;zcc;-s 0 -p 1 --congestion nosuch tiny
CPU 8000;zcc;-s 0 -p 1 -B 8000 tiny
none of the files;zcc;-s 0 -p 1 missing
missing: No such file;zcc;-s 0 -p 1 -c -f missing tiny
first connections failed, refused;zcc;-s 0 -p 1 --request 10,20 -n 9
cannot connect to 0 port 1: Connection refused;zcc;-s 0 -p 1 tiny
^no.such.host.invalid: ;zcc;-s no"such\host.invalid tiny
everything was sent before the warm-up ended;zcc;-s 0 -p LISTENING --warmup 60 tiny
in use;zcs;-p LISTENING
CPU 8000;zcs;-p 0 -B 8000
counts_per_sec;zcs;-p 0 -c
cannot listen;zcs;-p 0 --bind 192.0.2.1
counts_per_sec;cyclesoak;-1
END
rm counts_per_sec
it 'zcc --json: a server that goes away in the midst of intervals'; ( begin
	start_peer -n 3 -l 10000000 -R
	exits 1 "$zcc" --json -s 0 -p "$PORT" -t 60 -I 0.01 -P 3 --congestion reno file
	one_line err
	holds out '(.error | test("the server (closed|reset) the connection after [0-9]+ bytes"))' \
	    "(.start.connected | length) == 3" 'has("end") | not'
); ok
it 'zcc --json: a second run that fails is an object of its own'; ( begin
	start_peer
	exits 1 "$zcc" --json -s 0 -p "$PORT" -b 1k,2k tiny
	jq -es 'length == 2 and (.[0] | .end.sum_sent.bytes == 1 and (has("error") | not)) and .[1].error != null' out
	[ "zcc: $(tail -n 1 out | jq -r .error)" = "$(tail -n 1 err)" ]
); ok
# What was sent has its figures; of a comparison the last object has the error.
it 'zcc --json: a file that is missing is the error, and the others are sent'; ( begin
	exits 1 "$zcc" --json -s 0 -p "$listening" tiny missing
	holds out '(.error == "skipped 1 of 2 files") and .end.bytes_agree'
	exits 1 "$zcc" --json -s 0 -p "$listening" -r 2 tiny missing
	[ "$(grep -c '"error"' out)" -eq 1 ]
	tail -n 1 out >last
	holds last '(.error == "skipped 1 of 2 files") and .comparison.rounds == 2'
); ok
stop_zcs

# The schema allows no other keys.
schema=$TOP/man/zc-json.schema.json
it 'each key of the schema is in zc-json(5) or zc-hosts(1)'; ( begin
	jq -r '.. | .properties? // empty | keys[]' "$schema" | sort -u >keys
	[ "$(wc -l <keys)" -gt 100 ]
	cat "$TOP/man/zc-json.5" "$TOP/man/zc-hosts.1" | tr -cs 'a-z0-9_' '\n' | sort -u | comm -23 keys - >missing
	diff /dev/null missing
); ok
it 'each number and text of the schema is described'; ( begin
	jq -e '[.. | .properties? // empty | to_entries[] | select(.value | has("$ref") or has("description") or
		has("const") or .type == "object" | not) | .key] == []' "$schema"
); ok
finish
