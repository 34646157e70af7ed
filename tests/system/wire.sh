#!/bin/sh
# What goes over the wire, judged by a peer that shares no code with zcc and zcs.
#
# seconds: 3
. "$TOP/tests/lib.sh"

printf 'hello, world\n' >small
: >empty
head -c 65536 /dev/urandom >block
head -c 5000001 /dev/urandom >larger

# --raw: no headers.
it 'zcc --raw: the bytes of the files and nothing else, and what is answered is no receipt'; ( begin
	start_peer -w got -r 'an answer\n'
	cat larger empty small larger empty small >want
	exits 0 "$zcc" -s 0 -p "$PORT" --raw -n 2 larger empty small
	ended "$PEER"
	cmp want got
	no_warning err
	grep -q '^  to .*, raw$' out
	grep -q '^  3 files' out
	grep -q '^    no receipt: ' out
	# Servers that close their side first, or are silent and stay
	for how in -x -k; do
		start_peer $how
		exits 0 timeout 20 "$zcc" -s 0 -p "$PORT" --raw --timeout 5 larger
		[ "$(bytes_of out)" = 5000001 ]
		kill -USR1 "$PEER" 2>/dev/null || :
		ended "$PEER"
		grep -qx 'bytes 5000001' peer.out
	done
); ok
beside 'zcc --raw, interrupted: it reports the bytes that the server acknowledged, not those that it sent'; ( begin; need ss
	start_peer -s
	start_zcc held --raw -o 100000 -t 60 ../larger
	# The server has what came in its socket.  Its window may take some more when all seems to be still.
	came() { ss -Htn "sport = :$PORT" | awk '{ print $2 }'; }
	met()
	{
		had=$(came) waits=$(ss -Htn "dport = :$PORT" | awk '{ print $3 }')
		[ "${waits:-0}" -gt 50000 ] && sleep 0.3 && [ "$(came)" = "$had" ]
	}
	wait_until met
	zcc_ends held 143 TERM
	bytes=$(bytes_of held.out) has=$(came)
	echo "$bytes bytes; the server had $had, and has $has; $waits waited"
	[ "$bytes" -ge "$had" ] && [ "$bytes" -le "$has" ] && [ "$bytes" -lt $((had + waits)) ]
	kill -USR1 "$PEER"
) & later

# has_headers WORD...: what came begins with these, four bytes each
has_headers() { prints "$*" eval "od -An -v -tu4 --endian=big -N $(($# * 4)) got | xargs"; }
beside 'zcc -t announces 0xffffffff loops, and -n its own, behind a loop without files for each 0.1 s of --warmup'; ( begin
	start_peer -w got
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno --warmup 0.3 -t 0.1 --pace 20m ../block
	ended "$PEER"
	has_headers 4294967295 0 0 0 1 65536
	# The peer does not read, so that no more than the buffers is sent before the warm-up is over.
	start_peer -s -w got
	start_zcc a --warmup 0.21 -I 0.05 -n 2 ../larger
	wait_until grep -Eq '^ +[0-9.]+-[0-9.]+ +[0-9,]+ .*[0-9]$' a.out
	kill -USR1 "$PEER"
	zcc_ends a 0
	ended "$PEER"
	has_headers 5 0 0 0 1 5000001
	{ u32 5 0 0 0; for loop in 1 2; do u32 1 5000001; cat ../larger; done; } | cmp got
	grep -q 'in 2 loops' a.out
) & later
# A file that is a hole.  To read it takes no memory on a tmpfs, and on other file systems as much as it is long.  Without
# a name it ends with the test.
shm=$(mktemp -p /dev/shm 2>/dev/null) || shm=hole
exec 9<>"$shm"
rm "$shm"
ln -s /dev/fd/9 huge
huge=$((4097 << 20))
truncate -s "$huge" huge
it "zcc and zcs: a file of $huge bytes, more than 32 bits can say, is sent and received"; ( begin
	start_zcs -m trunc
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno huge
	[ "$(bytes_of out)" = "$huge $huge" ]
	wait_until grep -q ': 2 files, ' zcs.out
	grep -q " $huge bytes in " zcs.out
	stop_zcs
); ok
exec 9<&-

it 'a receipt counts the clients since the first that is still there, also those that have left'; ( begin
	start_zcs
	u32 1 >begun
	hold_clients held -n 1 -f begun
	for clients in 2 3; do { u32 1 1 13; cat small; } | "$HELPERS/net" send "$PORT" | grep -w "clients=$clients"; done
	stop_zcs
); ok
it 'a server of 2001 just closes, and zcc needs no receipt; a client of 2001 closes at once, and is no error for zcs'; ( begin
	start_peer
	exits 0 "$zcc" -s 0 -p "$PORT" small
	grep -q '^    no receipt: ' out
	no_warning err
	start_zcs
	{ u32 1 1 13; cat small; } | "$HELPERS/net" send -c "$PORT"
	wait_until counts -eq 1 summaries ' 13 bytes in .* 1 file, [0-9]+ read'
	one_line zcs.err
	stop_zcs
); ok
together
finish
