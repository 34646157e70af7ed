#!/bin/sh
# What goes over the wire, judged by a peer that shares no code with zcc and zcs.
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc

printf 'hello, world\n' >small
head -c 1000000 /dev/urandom >large
: >empty
head -c 65536 /dev/urandom >block

for how in '' -S '-S -w'; do
	start_peer -w got
	# Two loops of three files, one of them empty.
	{
		u32 2
		for loop in 1 2; do
			u32 3 13; cat small; u32 0; u32 1000000; cat large
		done
	} >want
	check "zcc $how: the bytes that arrive are the headers and the files" '
		"$zcc" -s 0 -p $PORT $how -n 2 small empty large
		ended $PEER
		cmp want got'
done

start_peer -w got
{ u32 1 1 65536; cat block; } >want
check 'zcc -S -b 7: odd pieces arrive whole' '
	"$zcc" -s 0 -p $PORT -S -b 7 block
	ended $PEER
	cmp want got'

start_peer -w got
{ u32 1 1 65536; cat block; } >want
check 'zcc -b 1000: sendfile in pieces arrives whole' '
	"$zcc" -s 0 -p $PORT -b 1000 block
	ended $PEER
	cmp want got'

start_peer -w got
{ u32 1 2 13; cat small; u32 65536; cat block; } >want
check 'zcc -k: corked, nothing is lost' '
	"$zcc" -s 0 -p $PORT -k small block
	ended $PEER
	cmp want got'

for how in '' -S -w; do
	start_peer -w got
	check "zcc $how: a small file and its headers are one segment" '
		"$zcc" -s 0 -p $PORT $how small
		ended $PEER
		grep -qx "segments 1" peer.out'
done

start_peer -w got
check 'the built-in file set: 63 files of 350 KiB' '
	"$zcc" -s 0 -p $PORT >report
	ended $PEER
	grep -qx "bytes $((8 + 63 * (4 + 350 * 1024)))" peer.out
	grep -q "63 files of 350 KiB, built in" report'

truncate -s 5G huge
start_peer -h
check 'a file of 5 GiB goes as two entries' '
	"$zcc" -s 0 -p $PORT huge --congestion reno
	ended $PEER
	grep -E "^(loops|files|length)" peer.out >got
	printf "loops 1\nfiles 2\nlength 4294963200\nlength 1073745920\n" >want
	diff want got
	grep -qx "bytes $((5 * 1024 * 1024 * 1024 + 16))" peer.out'

truncate -s 4294967295 huge
start_peer -h
check 'a file of 4 GiB - 1 goes as one' '
	"$zcc" -s 0 -p $PORT huge --congestion reno
	ended $PEER
	grep -qx "length 4294967295" peer.out
	[ $(grep -c "^length" peer.out) -eq 1 ]'

start_zcs
truncate -s 5G huge
check 'zcs takes 5 GiB and says so' '
	"$zcc" -s 0 -p $PORT --congestion reno huge >report
	grep -Eqx "  bytes +5368709120 +5368709120" report
	wait_until "grep -q \" 5368709120 bytes\" zcs.out"'
rm -f huge

start_peer -h
check 'zcc -t: the number of loops is 0xffffffff' '
	"$zcc" -s 0 -p $PORT -t 0.2 small >report
	ended $PEER
	head -n 2 peer.out | grep -qx "loops 4294967295"'

# Receipts.
start_peer -r 'bytes=13 seconds=0.5 reads=4 load=0.25 cpus=2 more=1\n'
check 'zcc reports what the receipt says' '
	"$zcc" -s 0 -p $PORT small >report 2>err
	cat report err
	grep -Eqx "  bytes +13 +13" report
	grep -Eqx "  seconds +[0-9.]+ +0.500000" report
	grep -Eqx "  load +- +25.0%" report
	grep -Eqx "  us/KiB +- +19692307.692" report
	grep -Eqx "  calls/s +[0-9]+ +8" report
	grep -q "all bytes sent were received" report
	! [ -s err ]'

start_peer
check 'zcc needs no receipt: a server of 2001 just closes' '
	exits 0 "$zcc" -s 0 -p $PORT small
	grep -q "sender *no receipt$" out'

for text in 'garbage\n' 'bytes=13 seconds=1' 'bytes=13 seconds=nan\n' 'bytes=13 seconds=1\n\n'; do
	start_peer -r "$text"
	check "zcc leaves out a bad receipt: $text" '
		exits 0 "$zcc" -s 0 -p $PORT small
		one_line err
		grep -q "receipt is left out" err
		grep -q "no receipt$" out'
done

start_peer -r "$(head -c 5000 /dev/zero | tr '\0' x)\n"
check 'zcc leaves out a receipt without end' '
	exits 0 "$zcc" -s 0 -p $PORT small
	grep -q "receipt is left out" err'

start_peer -r 'bytes=12 seconds=1\n'
check 'zcc exits 1 when the server has not received all' '
	exits 1 "$zcc" -s 0 -p $PORT small
	grep -q "received 12 bytes of the 13 sent" err'

# zcs against clients that are not zcc.
start_zcs
{ u32 1 2 13; cat small; u32 0; } >stream
check 'zcs answers a client that waits with a receipt, one line' '
	"$HELPERS/peer" send $PORT <stream >receipt
	cat receipt
	one_line receipt
	grep -Eq "^bytes=13 seconds=[0-9.]+ files=2 reads=[0-9]+ warmup=0 clients=1 method=read " receipt'
check 'zcs answers before the client closes its side' '
	"$HELPERS/peer" send -k $PORT <stream >receipt
	grep -q "^bytes=13 " receipt'
check 'zcs takes a header a byte at a time' '
	"$HELPERS/peer" send -d 5 $PORT <stream >receipt
	grep -q "^bytes=13 " receipt'
{ u32 4294967295 1 13; cat small; u32 1 100; printf abc; } >stream
check 'zcs: without end, the stream may end anywhere' '
	"$HELPERS/peer" send $PORT <stream >receipt
	grep -q "^bytes=16 " receipt'
check 'none of them cost a line on stderr' 'one_line zcs.err'
{ u32 1 1 13; cat small; } >stream
check 'zcs: a client of 2001, which closes at once, is no error' '
	n=$(wc -l <zcs.out)
	"$HELPERS/peer" send -c $PORT <stream
	wait_until "[ \$(wc -l <zcs.out) -gt $n ]"
	tail -n 1 zcs.out | grep -q " 13 bytes in .* 1 files"
	one_line zcs.err'
{ u32 1 1 13; cat small; printf extra; } >stream
check 'zcs: more than was announced costs one line' '
	"$HELPERS/peer" send $PORT <stream >receipt
	wait_until "grep -q \"sent more than it announced\" zcs.err"
	[ $(wc -l <zcs.err) -eq 2 ]'
stop_zcs

finish
