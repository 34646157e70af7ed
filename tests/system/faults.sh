#!/bin/sh
# Each system call fails once, or moves less than it was asked to: what zcc and zcs make of it.  The soakers
# are soakfaults.sh's.
#
# group: sleeps
# seconds: 9
# limit: 400
. "$TOP/tests/lib.sh"
. "$TOP/tests/faults.sh"

head -c 70000 /dev/urandom >file
: >empty
printf a >byte

# json_line FILE: one object
json_line() { one_line "$1" && has_line '{*}' "$1"; }

# sent: how many bytes of the files zcc must have sent, each $times times; those that it skips, which
# it names, are not among them
sent()
{
	sent=70001
	for f in file byte; do
		[ "$outcome" = recovered ] || ! has_line "zcc: $f: skipped: ?*" err || sent=$((sent - $(wc -c <$f)))
	done
	echo $((sent * times))
}

# zcc, against a server that is well: both ends agree, even if there is no receipt; bytes that could not be read are
# not counted; and no rate is of all the time since the machine was booted
zcc_scenario()
{
	status=0
	# shellcheck disable=SC2086
	$UNDER "$zcc" -s 0 -p $PORT $args >out 2>err || status=$?
}
scenario() { zcc_scenario; }
right()
{
	! has_line '*no receipt*' out || wait_until met || return 1
	awk -v want="$(sent)" '
		NR == 1 { bad += !/^[0-9]+ kbytes\/sec \(.*\)$/ }
		{ gsub(",", "") }
		$1 == "bytes" { n++; bad += $2 != want || (NF > 2 && $3 != want) }
		/no receipt/ { bare = 1 }
		/all bytes sent were received/ { all = 1 }
		$1 ~ /^(interrupts|packets).s/ && $NF > 1e8 || /nan/ || /^ *(MSS bytes|window KiB) +0$/ { bad++ }
		END { exit n != 1 || bad || bare == all }' out
}
met() { tail -n 1 zcs.out | grep -q " $(sent) bytes in "; }
{ u32 2; for pass in 1 2; do u32 3 70000; cat file; u32 0 1; cat byte; done; } >stream
start_zcs
times=2
for m in sendfile 'send -b 9k' 'write -b 9k' splice 'zerocopy -b 9k' mmap; do
	args="-m $m file empty byte -n $times"
	faults "zcc -m $m" zcc
	beside "zcc -m $m, interrupted: exactly the bytes, with headers, and by --raw -k -b 997"; ( begin
		cp ../file ../empty ../byte .
		[ -z "$faults_missing" ] || skip_check "$faults_missing"
		for seed in $(seq "$(scale 2 9)"); do
			disturbed="env LD_PRELOAD=../fault.so SHORT_SEED=$(($(new_seed) + seed))"
			start_peer -w got
			exits 0 $disturbed "$zcc" -s 0 -p "$PORT" -m $m -n 2 file empty byte
			ended "$PEER"
			cmp ../stream got
			start_peer -w got
			exits 0 $disturbed "$zcc" -s 0 -p "$PORT" --raw -m ${m%% *} -k -b 997 --congestion reno file empty byte
			ended "$PEER"
			cat file byte | cmp - got
		done
	) & later
done

# What --save keeps is the old file, or a new one that is whole.
scenario()
{
	status=0
	cp before saved
	# shellcheck disable=SC2086
	$UNDER "$zcc" -s 0 -p $PORT -q -n 1 -r 2 --save saved file >out 2>err || status=$?
}
right() { [ "$(grep -c . saved)" -gt "$(grep -c . before)" ]; }
besides=whole
whole()
{
	[ "$status" -eq 0 ] || cmp before saved
	for f in saved?*; do [ ! -e "$f" ] || echo "left: $f"; done
	rm -f saved?*
}
"$zcc" -s 0 -p $PORT -q -n 1 -r 2 --save before file >/dev/null 2>&1
only='saved|fsync|fchmod|renameat'
faults 'zcc --save' zcc
only=.

# A failure of zcc is an error in its JSON, too.
scenario() { zcc_scenario; }
besides=json_error
json_error()
{
	[ "$status" -eq 0 ] || grep -q ': stdout: ' err || { json_line out && grep -q '"error":"' out; } ||
		echo 'JSON that does not say what went wrong'
}
right()
{
	json_line out && grep -q "\"sum_sent\":{\"start\":0,[^}]*\"bytes\":$(sent)," out || return 1
	grep -q '"bytes_agree":true' out || not grep -q sum_received out
}
args='-P 2 --json -k -B 0 --nodelay --timeout 5 -o 100k --mss 1000 --pace 100m file empty byte'
faults 'zcc -P 2 --json, and options of sockets' zcc
stop_zcs

# Of three requests those that went wrong are counted.
right()
{
	json_line out && awk -F '[:,{}"]+' '{ for (i = 1; i < NF; i++) {
			if ($i == "connections" && !n) n = $(i + 1)
			if ($i == "bytes") bytes = $(i + 1)
			if ($i ~ /^(refused|reset|no_ports|timeout|closed|wrong_length|other)$/) failed += $(i + 1)
		} }
		END { exit n < 1 || n + failed != 3 || bytes != 100 * n || (outcome == "recovered" && n != 3) }
		' outcome="$outcome" out
}
counted=failure_in_json
failure_in_json() { grep -Eq '"(refused|reset|no_ports|timeout|closed|wrong_length|other)":[1-9]' out; }
start_zcs --reply
args='--request 100 -n 3 -P 2 --json'
faults 'zcc --request' zcc
stop_zcs
counted=false besides=true

# zcs, with a client that is well.  A client that it rejects leaves its place to the next.
zcs_start()
{
	: >err
	: >client
	# shellcheck disable=SC2086
	$UNDER "$zcs" -p 0 $args >out 2>err &
	p=$!
	until has_line '*listening*:[0-9]*' err || ! kill -0 $p 2>/dev/null; do
		sleep 0.01
	done
	PORT=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' err)
}
scenario()
{
	zcs_start
	while [ -n "$PORT" ] && kill -0 "$p" 2>/dev/null; do
		! timeout 10 "$zcc" -s 0 -p "$PORT" file empty byte >client 2>&1 || break
	done
	status=0
	wait "$p" || status=$?
}
right()
{
	grep -q ' 70001 bytes in ' out && grep -q ' 3 files' out && grep -q 'all bytes sent were received\|no receipt' client
}
for m in $(methods_of zcs | grep -v '^uring'); do
	args="-1 -m $m"
	faults "zcs -1 -m $m" zcs
done

scenario()
{
	zcs_start
	[ -z "$PORT" ] || timeout 10 "$zcc" -s 0 -p "$PORT" --request 100 -n 3 --timeout 1 >client 2>&1 || :
	# Until its fork(2) returns timeout(1) ends by a signal without passing it on.
	while [ "$(stat_field "$p" 3 2>/dev/null)" = R ]; do :; done
	kill -TERM $p 2>/dev/null
	status=0
	wait $p || status=$?
}
# It prints how many it served, and what became of the others.
right()
{
	awk '/^total:/ { n = $2; bytes = $4; bad = $6 + $8 + $10 + $13 }
		END { exit !(bytes == 100 * n && (n == 3 || n + bad >= 3) && (outcome != "recovered" || n == 3)) }
		' outcome="$outcome" out
}
counted=failure_in_total
failure_in_total() { ! grep -q '^total: .*; 0 rejected, 0 silent, 0 too large, 0 broken$' out; }
args='--reply'
faults 'zcs --reply' zcs

together
finish
