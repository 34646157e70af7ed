#!/bin/sh
# What goes over the wire, judged by a peer that shares no code with zcc and zcs.  tests/unit/stream.c has what a stream sends.
#
# seconds: 3
. "$TOP/tests/lib.sh"

printf 'hello, world\n' >small

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
