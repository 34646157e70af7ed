#!/bin/sh
# Abusive servers against zcc: it ends in time, by the status that is right, with few lines, all of
# them text, and its JSON is JSON.  hostile.sh has the abusive clients.
#
# group: waits
# seconds: 12
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc net=$HELPERS/net
head -c 1000000 /dev/urandom >file
printf x >tiny

start_bad() # NAME options...: the server; sets PORT
{
	: >bad.out
	"$net" answer "$@" >bad.out 2>&1 &
	BAD=$!
	remember $BAD
	wait_until grep -q ^port bad.out
	PORT=$(sed -n 's/^port //p' bad.out)
}

# zcc_ends zcc-options...: zcc ends with 0 or 1, in time, with few lines, all of them text, and JSON is JSON
patience=0.3
zcc_ends()
{
	status=0
	timeout 30 "$zcc" -s 127.0.0.1 -p "$PORT" --timeout $patience "$@" >out 2>err || status=$?
	echo "status $status: $*"
	cat -v out err
	[ $status -le 1 ]
	[ $status -eq 0 ] || [ -s err ]
	[ "$(wc -l <err)" -le 2 ]
	[ "$(wc -l <out)" -le 40 ]
	is_text out
	is_text err
	awk 'length > 200 { exit 1 }' err
	case "$*" in
	*--json*)
		one_line out
		valid_json out
		;;
	esac
}
[ -z "$no_json" ] || skip 'what zcc --json prints of bad servers is JSON' "$no_json"

# ends_with STATUS zcc-options...: with that status; a failure names the server, or compares what it
# received
ends_with()
{
	wanted=$1
	shift
	# A busy server has time where zcc is to succeed.
	if [ "$wanted" -eq 0 ]; then patience=1; else patience=0.3; fi
	zcc_ends "$@"
	echo "to be $wanted"
	[ $status -eq "$wanted" ] || return 1
	[ $status -eq 0 ] || grep -q "127\.0\.0\.1\(:\| port \)$PORT\|the server received" err
}

# bad_server RAW TINY 'what' NAME options...: zcc in its many ways against that server; fewer where it has to
# wait, and in `make check` every third, from another one on for each server.  RAW and TINY are the statuses with --raw, which ignores answers, and of sending a byte, of which
# a server that takes 100 kB has the end of stream; else it is 1.
zcc_and_server()
{
	set -- "1 -n 30 file" "$tiny --json -P 2 tiny" "1 -m zerocopy -n 30 file"
	[ -z "$some" ] || set -- "$@" "1 file" "$tiny tiny" "1 -P 3 file" "1 --json -n 30 file" \
	    "$raw --raw -n 30 file" "1 -m splice -n 30 file" "1 -t 0.2 -I 0.05 file" \
	    "1 --warmup 0.1 -t 0.1 --json -I 0.05 file"
	for o; do
		! is_next || ends_with $o
	done
}
# is_next: whether it is the turn of this one: of every third, or of each where the full sizes are asked for
turn=0
is_next()
{
	turn=$(((turn + 1) % 3))
	[ -n "$LONG" ] || [ $turn -eq 0 ]
}
bad_server()
{
	raw=$1 tiny=$2 what=$3
	shift 3
	start_bad "$@"
	case $1 in
	linger | bytes | talk) some= ;;
	*) some=yes ;;
	esac
	turn=$(((turn + 1) % 3))
	check "zcc and a server that $what: exit status" zcc_and_server
	kill $BAD
}

printf 'bytes=1000000 seconds=1 files=1 reads=1\n' >receipt
head -c 24 receipt >receipt.half
head -c 3000 /dev/zero | tr '\0' x >long
head -c 1000000 /dev/urandom >garbage
printf '\033[2J\033]0;title\007bytes=1 seconds=1\n' >escapes
printf 'refused=full\n' >refused
# How long a raw sender ignores an answer that never ends is not this test's.
while IFS=';' read -r raw tiny what how; do
	bad_server $raw $tiny "$what" $how
done <<'END'
0;1;answers at random;noise
0;1;answers with a megabyte;say -f garbage
0;1;never ends its answer;endless -f long
0;1;never ends the receipt that it repeats;endless -f receipt
-;1;says nothing and stays;linger
-;1;says half a receipt and stays;linger -f receipt.half
-;1;drips words that are no receipt;bytes -f long
0;1;answers with escape sequences;say -f escapes
0;1;refuses at the end;say -f refused
1;1;resets at once;slam
1;1;takes a byte and closes;say -n 1
1;0;takes 100 kB and closes;say -n 100000
1;1;takes 100 kB and answers;say -n 100000 -f receipt
-;1;takes 100 kB and stays;linger -n 100000
-;1;talks from the start and does not listen;talk -f long
0;1;talks from the start and listens;chat -f long
0;1;refuses from the start, again and again;chat -f refused
END
it 'zcc and a server that closes before it has accepted: exit status 1'; ( begin
	for o in tiny file '--json file' '-P 2 file' '--raw file' '--request 10 -n 2'; do
		start_bad leave
		zcc_ends $o
		[ $status -eq 1 ]
	done
); ok
start_bad bytes -f receipt
it 'a receipt in single bytes is one'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" file
	no_warning err
	grep -q "all bytes sent were received" out
); ok
kill $BAD

# Answers that are text, but no receipts: tests/unit/receipt.c has more of them.  A word of a refusal is
# repeated, another is not.
patience=20
for line in '' 'bytes=1' 'bytes=1 seconds=nan' 'bytes=1 bytes=1 seconds=1' 'bytes=1  seconds=1' \
    'bytes=18446744073709551616 seconds=1' 'refused=No' 'refused=abcdefghijklmnop'; do
	printf '%s\n' "$line" >line
	start_bad say -f line
	it "an answer that is not a receipt is a failure: '$line'"; ( begin
		for how in tiny "-P 2 tiny" "--json tiny"; do
			zcc_ends $how
			[ $status -eq 1 ]
			one_line err
			grep -Eqx "zcc: 127.0.0.1:$PORT: the server.s answer is not a receipt, it .*: use --raw .*" err
			[ "$how" != "--json tiny" ] ||
				grep -q "\"error\":\"127.0.0.1:$PORT: the server.s answer is not a receipt" out
		done
	); ok
	kill $BAD
done
for line in 'bytes=1 seconds=1000000000 load=100 cpus=8192 uncertainty=100 slowed=-100' \
    'bytes=1 seconds=1 another=key that=is_not known=1'; do
	printf '%s\n' "$line" >line
	start_bad say -f line
	it "a receipt of '$line' is valid"; ( begin
		zcc_ends tiny
		[ $status -eq 0 ]
	); ok
	kill $BAD
done
printf 'refused=abcdefghijklmno\n' >line
start_bad say -f line
it 'a rejection for an unknown reason is reported with its own word'; ( begin
	zcc_ends tiny
	[ $status -eq 1 ]
	grep -qx "zcc: 127.0.0.1:$PORT: rejected: abcdefghijklmno" err
); ok
kill $BAD

# Requests.
patience=0.3
printf 12345678901 >eleven
for what in 'answers at random|noise -n 4' 'never ends its answer|endless -n 4 -f long' 'sends a byte more|say -n 4 -f eleven' \
    'talks and does not listen|talk -f long' 'talks and listens|chat -f long' 'says nothing and stays|linger -n 4' \
    'resets at once|slam' 'takes a byte and closes|say -n 1' 'sends nothing|say -n 4' \
    'stays when it has answered|linger -n 4 -f eleven'; do
	turn=$(((turn + 1) % 3))
	start_bad ${what#*|}
	it "zcc --request and a server that ${what%|*}: none succeeds"; ( begin
		for o in "-n 2" "-n 4 -P 4" "--json -n 2 -P 2" "-t 0.2"; do
			is_next || continue
			zcc_ends --request 10 $o
			[ $status -eq 1 ]
		done
	); ok
	kill $BAD
done

finish
