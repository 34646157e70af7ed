#!/bin/sh
# The JSON reports of both ends: one line that parses, and whose figures agree.  tests/run validates all that the
# tests print; soaker.sh has the reports of a soaker that was killed, cyclesoak.sh and values.sh those of loads.
#
# seconds: 4
. "$TOP/tests/lib.sh"

head -c 300000 /dev/urandom >file

whole_test_needs jq 'the JSON reports'
# after N: the next line of zcs.out, behind that many, in `last`
after()
{
	wait_until counts -gt "$1" lines_in zcs.out
	tail -n 1 zcs.out >last
}

beside 'zcc --json and zcs --json, three streams: an entry for each, in each interval too; the sums and both ends agree'; ( begin
	start_zcs --json -I 0.05
	exits 0 "$zcc" --json -s 0 -p "$PORT" -P 3 --warmup 0.11 -t 0.8 -I 0.06 --pace 50m --congestion reno ../file ../tiny
	no_warning err
	mv out zcc.json
	wait_until [ -s zcs.out ]
	one_line zcs.err
	continuous='[.intervals[].sum] | length >= 2 and all(range(1; length) as $i | .[$i].start - .[$i - 1].end; . > -0.001 and . < 0.001)'
	# The wire can say no less than 0.1 s of a warm-up.
	holds zcc.json ".start.connected | (map(.local_port) | unique | length) == 3 and all(.remote_port == $PORT)" \
	    '.start.test_start | .omit == 0.2 and .duration == 0.8 and .files == 2 and .file_bytes == 300001' \
	    '.end as $e | all("bytes", "warmup_bytes", "calls", "files", "retransmits"; . as $k |
		$e.sum_sent[$k] == ([$e.streams[].sender[$k]] | add))' \
	    '.end | .sum_sent.sender and (.sum_received.sender | not) and .bytes_agree and .both_ends_on_host' \
	    '.end.streams | all(.sender.bytes + .sender.warmup_bytes == .receiver.bytes + .receiver.warmup_bytes)' \
	    '.intervals | all((.streams | length) == 3 and .sum.bytes == ([.streams[].bytes] | add) and
		.sum.retransmits == ([.streams[].retransmits] | add))' \
	    "$continuous" '.intervals[0].sum.start < 0.001' \
	    '([.intervals[].sum | select(.omitted | not).bytes] | add) == .end.sum_sent.bytes'
	holds zcs.out '(.end.streams | length) == 3 and .end.clients == 3 and (has("error") | not)' "${continuous%and . <*})" \
	    '.end.sum_received.bytes == ([.end.streams[].receiver.bytes] | add)' \
	    '([.intervals[].sum.bytes] | add) <= .end.sum_received.bytes + .end.sum_received.warmup_bytes'
	for f in zcc.json zcs.out; do
		holds $f '[.intervals[].sum.omitted] | . == (sort | reverse) and first == true and last == false'
	done
	# Each figure of zcs is what its receipt has.
	jq -es '.[0] as $c | [.[1].end.streams[] | {key: "\(.remote_port)", value: .receiver}] | from_entries as $zcs |
	    [$c.start.connected, $c.end.streams] | transpose | length == 3 and all($zcs["\(.[0].local_port)"] as $r |
	    .[1].receiver as $c | ($r | keys) == ($c | keys) and ($r | del(.socket) | to_entries |
	    all($c[.key] == .value or ($c[.key] - .value | fabs) <= 0.01 * (.value | fabs) + 1e-6)))' zcc.json zcs.out
) & later
beside 'zcs --json: an object for each group, whose error is that of its client; of zerocopy zcc has its own figures'; ( begin
	start_zcs --json
	exits 0 "$zcc" --json -s 0 -p "$PORT" -m zerocopy -b 10000 -k --nodelay -n 2 ../file
	holds out '.start.test_start | .method == "zerocopy" and .blksize == 10000 and .cork and .nodelay' \
	    '.end.streams[0] | .zerocopy_sends == 60 and .zerocopy_incomplete == 0 and .zerocopy_copied <= 60 and .sender.calls == 60'
	after 0
	holds last '.end | .clients == 1 and (.streams | length) == 1 and .sum_received.files == 2'
	{ u32 1 1 1000; head -c 3 ../file; } | "$HELPERS/net" send -c "$PORT"
	after 1
	holds last '.end.sum_received.bytes == 3' '.error | endswith(": closed in the middle of a file, after 3 bytes")'
	[ "zcs: $(jq -r .error last)" = "$(tail -n 1 zcs.err)" ]
) & later
beside 'zcs --json, interrupted: its object has all there was, and the error; then the port is free'; ( begin
	start_zcs --json -I 0.05
	start_zcc sender -P 2 -t 60 --pace 500m
	wait_until counts -eq 3 threads_of "$ZCS"
	# Of the time that the kernel works for zcs, in ticks.
	ticks=$(stat_field "$ZCS" 15)
	wait_until counts -gt $((ticks + 2)) stat_field "$ZCS" 15
	stop_zcs
	zcc_ends sender 1
	holds zcs.out '.error == "interrupted" and .end.sum_received.bytes > 0 and (.end.streams | length) == 2'
	fails 'Connection refused' "$zcc" -s 0 -p "$PORT" ../tiny
) & later
beside '--json-stream: each line is there when its event is, and its data are a member of the object of --json'; ( begin
	start_zcs --json-stream -I 0.05
	start_zcc sender -T title --json-stream -I 0.05 -t 60 --pace 20m
	events() { jq -nr 'inputs.event' $1 | uniq -c | tr -s '\n ' ' '; }
	met() { [ "$(jq -s 'map(select(.event == "interval").data.sum.end) | length' "$1")" -gt 2 ]; }
	for f in sender.out zcs.out; do wait_until met $f; done
	zcc_ends sender 143 TERM
	wait_until grep -q '"end"' zcs.out
	events sender.out | grep -qx ' 1 title 1 start [0-9]* interval 1 end 1 error '
	events zcs.out | grep -qx ' 1 start [0-9]* interval 1 end '
	jq -es '.[-2].data.bytes_agree and .[-1].data == "interrupted"' sender.out
	exits 0 "$zcc" -s 0 -p "$PORT" -m send,sendfile -r 1 --json-stream ../file
	events out | grep -qx ' 1 run 1 start 1 end 1 run 1 start 1 end 1 comparison '
	start_zcs --reply --json-stream
	exits 0 "$zcc" -s 0 -p "$PORT" --request 1,2 -n 9 -I 9 --json-stream
	events out | grep -qx ' 1 start 1 interval 1 request 1 interval 1 request '
	stop_zcs
	jq -es '.[0].event == "start" and (.[-1] | .event == "end" and .data.replies == 18)' zcs.out
	cat zcs.out >>"$OBJECTS"
) & later

# Whatever ends a program: stdout has one whole object, whose error is the line on stderr.
start_zcs
while IFS=';' read -r error tool options; do
	beside "$tool --json $options: the line on stderr is the error of the one object, and all there is on a full disk"; ( begin
		echo no calibration >counts_per_sec
		cp ../tiny .
		options=$(echo "$options" | sed "s/LISTENING/$PORT/")
		exits 1 timeout 20 "$BIN/$tool" --json $options
		one_line out
		holds out ".error | test(\"$error\")"
		[ "$tool: $(jq -r .error out)" = "$(tail -n 1 err)" ]
		got=0
		timeout 20 "$BIN/$tool" --json $options >/dev/full 2>err || got=$?
		[ $got -eq 1 ]
		grep -v ": skipped" err >line
		one_line line
	) & later
done <<'END'
missing: No such file;zcc;-s 0 -p 1 -c -f missing tiny
first connections failed, refused;zcc;-s 0 -p 1 --request 10,20 -n 9
^no.such.host.invalid: ;zcc;-s no"such\host.invalid tiny
everything was sent before the warm-up ended;zcc;-s 0 -p LISTENING --warmup 60 tiny
cannot listen on port [0-9]+: Address already in use: .* local port;zcs;-p LISTENING
counts_per_sec;cyclesoak;-1
END
# What was sent has its figures; of a comparison the last object has the error.
beside 'zcc --json: a file that is missing is the error, and the others are sent'; ( begin
	exits 1 "$zcc" --json -s 0 -p "$PORT" ../tiny missing
	holds out '(.error == "skipped 1 of 2 files") and .end.bytes_agree'
	exits 1 "$zcc" --json -s 0 -p "$PORT" -r 2 ../tiny missing
	[ "$(grep -c '"error"' out)" -eq 1 ]
	tail -n 1 out >last
	holds last '(.error == "skipped 1 of 2 files") and .comparison.rounds == 2'
) & later
together

# The schema allows no other keys.
schema=$TOP/man/zc-json.schema.json
it 'each key of the schema is in zc-json(5) or zc-hosts(1), each number and text is described'; ( begin
	# Of the three keys of each part of a profile zc-json(5) has the first.
	jq -r '."$defs".profile.properties |= with_entries(.key |= sub("_(uncertainty_percent|us_per_kib)$"; "_percent")) |
		.. | .properties? // empty | keys[]' "$schema" | sort -u >keys
	[ "$(wc -l <keys)" -gt 100 ]
	cat "$TOP/man/zc-json.5" "$TOP/man/zc-hosts.1" | tr -cs 'a-z0-9_' '\n' | sort -u | comm -23 keys - >missing
	diff /dev/null missing
	jq -e '[.. | .properties? // empty | to_entries[] | select(.value | has("$ref") or has("description") or
		has("const") or .type == "object" | not) | .key] == []' "$schema"
); ok
finish
