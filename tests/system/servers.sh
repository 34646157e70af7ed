#!/bin/sh
# Abusive servers against zcc: it ends in time, by the status that is right, with few lines, all of
# them text, and its JSON is JSON.  hostile.sh has the abusive clients.
#
# seconds: 6
. "$TOP/tests/lib.sh"

head -c 1000000 /dev/urandom >file
printf 'bytes=1000000 seconds=1 files=1 reads=1\n' >receipt
head -c 24 receipt >receipt.half
head -c 3000 /dev/zero | tr '\0' x >long
printf '\033[2J\033]0;title\007bytes=1 seconds=1\n' >escapes
printf 'refused=full\n' >refused
printf 'refused=abcdefghijklmno\n' >word
printf 12345678901 >eleven

# ends STATUS zcc-options...: zcc ends so, in time, with few lines, all of them text, and JSON is JSON; a failure
# names the server, or compares what it received
ends()
{
	wanted=$1
	shift
	# A busy server has time where zcc is to succeed.
	exits "$wanted" timeout 30 "$BIN/zcc" -s 127.0.0.1 -p "$PORT" --timeout $((wanted ? 0 : 1)).3 "$@"
	[ "$wanted" -eq 0 ] || grep -q "127\.0\.0\.1\(:\| port \)$PORT\|the server received" err
	[ "$(wc -l <err)" -le 2 ]
	[ "$(grep -vc "stopped or waited for a CPU" out)" -le 60 ]
	is_text out
	is_text err
	no_wider 200 err
	case "$*" in *--json*) one_line out && not grep -v '^{.*}$' out ;; esac
}

# Ways of zcc, and the exit statuses: RAW with --raw, which ignores answers (how long one that never ends, -, is not this
# test's), and TINY of sending a byte, of which a server that takes 100 kB has the end of stream.  In `make check` it is
# every third, from another one on for each server.
cat >files <<END
TINY;--json -P 2 tiny
1;-m zerocopy -n 30 file
RAW;--raw -n 30 file
1;-P 3 file
1;-m splice -n 30 file
1;--json -n 30 file
1;--warmup 0.1 -t 0.1 --json -I 0.05 file
END
for options in '-n 4 -P 4' '--json -n 2 -P 2' '-t 0.2'; do echo "1;--request 10 $options"; done >requests
turn=0
while IFS=';' read -r ways raw tiny what how; do
	turn=$((turn + 1))
	beside "zcc, by $ways, and a server that $what: exit status"; ( begin
		ln -s ../file ../tiny ../receipt* ../long ../escapes ../refused ../eleven .
		sed "s/RAW/$raw/; s/TINY/$tiny/; /^-/d" ../$ways | awk -v all="$LONG" -v turn=$turn 'all || (NR + turn) % 3 == 0' >ways
		while IFS=';' read -r status options; do
			start_peer answer $how
			ends "$status" $options
			kill $PEER || : # it may have ended
		done <ways
	) & later
done <<END
files;0;1;answers at random;noise
files;0;1;never ends its answer;endless -f long
files;-;1;says half a receipt and stays;linger -f receipt.half
files;0;1;answers with escape sequences;say -f escapes
files;1;1;resets at once;slam
files;1;0;takes 100 kB and closes;say -n 100000
files;-;1;takes 100 kB and stays;linger -n 100000
files;-;1;talks from the start and does not listen;talk -f long
files;0;1;refuses from the start, again and again;chat -f refused
requests;;;answers at random;noise -n 4
requests;;;never ends its answer;endless -n 4 -f long
requests;;;sends a byte more;say -n 4 -f eleven
requests;;;talks and does not listen;talk -f long
END

it 'a word of a refusal is repeated; an answer that is no receipt has what to do'; ( begin
	start_peer answer say -f word
	ends 1 --json -P 2 tiny
	one_line err
	grep -qx "zcc: 127.0.0.1:$PORT: rejected: abcdefghijklmno" err
	grep -q "\"error\":\"127.0.0.1:$PORT: rejected: abcdefghijklmno\"" out
	start_peer answer say -f escapes
	ends 1 tiny
	grep -q "^zcc: 127.0.0.1:$PORT: the server's answer is not a receipt, it .*: use --raw " err
); ok
together
finish
