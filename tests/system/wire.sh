#!/bin/sh
# What goes over the wire, judged by a peer that shares no code with zcc and zcs.
#
# group: waits
# seconds: 8
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc

printf 'hello, world\n' >small
: >empty
head -c 65536 /dev/urandom >block
head -c 5000001 /dev/urandom >larger

start_peer -w got
{ u32 1 1 65536; cat block; } >want
it 'zcc -S -b 7: odd pieces arrive whole'; ( begin
	"$zcc" -s 0 -p "$PORT" -S -b 7 block
	ended "$PEER"
	cmp want got
); ok

# Without the headers.
start_peer -w got -r 'an answer\n'
cat larger empty small larger empty small >want
it 'zcc --raw: the bytes of the files and nothing else, and what is answered is no receipt'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --raw -n 2 larger empty small
	ended "$PEER"
	cmp want got
	no_warning err
	grep -q "^  to .*, raw$" out
	grep -q "^  3 files" out
	grep -q "^    no receipt: " out
); ok
start_peer -e -n 4
it 'zcc --raw -P 4: a server that echoes four streams has all of the last'; ( begin
	exits 0 timeout 20 "$zcc" -s 0 -p "$PORT" --raw -P 4 --timeout 5 larger
	ended "$PEER"
	grep -qx "bytes 5000001" peer.out
	[ "$(bytes_of out)" = 20000004 ]
); ok
start_peer -g 100000 -s
"$zcc" -s 0 -p "$PORT" --raw larger >out 2>err &
p=$!
remember $p
it 'zcc --raw: a server that greets with 100 kB and reads later has all of it'; ( begin
	wait_until grep -q data peer.out
	kill -USR1 "$PEER"
	ended $p
	ended "$PEER"
	cat out err peer.out
	grep -qx "bytes 5000001" peer.out
); ok
wait $p
status=$?
wait "$PEER"
last_status=$?
it 'zcc --raw: a server that greets and reads later: both ends exit 0'; ( begin
	[ $status -eq 0 ] && [ $last_status -eq 0 ]
); ok
start_peer -x
it 'zcc --raw: a server that has nothing to say closes its side first, and has all of it'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" --raw larger
	ended "$PEER"
	grep -qx "bytes 5000001" peer.out
	[ "$(bytes_of out)" = 5000001 ]
); ok
start_peer -k
it 'zcc --raw: a server that has all, is silent and stays: the report'; ( begin
	exits 0 timeout 20 "$zcc" -s 0 -p "$PORT" --raw larger
	not gone "$PEER"
	[ "$(bytes_of out)" = 5000001 ]
); ok
kill -USR1 "$PEER"
start_peer -s
"$zcc" -s 0 -p "$PORT" --raw -o 100000 -t 60 larger >out 2>err &
p=$!
remember $p
it 'zcc --raw, interrupted: it reports the bytes that the server acknowledged, not those that it sent'; ( begin; need ss
	# The server has what came in its socket.  Its window may take some more when all seems to be still.
	came()
	{
		ss -Htn "sport = :$PORT" | awk '{ print $2 }'
	}
	met()
	{
		had=$(came) waits=$(ss -Htn "dport = :$PORT" | awk '{ print $3 }')
		[ "${waits:-0}" -gt 50000 ] && sleep 0.3 && [ "$(came)" = "$had" ]
	}
	wait_until met
	kill -TERM $p
	ended $p
	cat out err
	bytes=$(bytes_of out) has=$(came)
	echo "$bytes bytes; the server had $had, and has $has; $waits waited"
	[ "$bytes" -ge "$had" ] && [ "$bytes" -le "$has" ] && [ "$bytes" -lt $((had + waits)) ]
); ok
kill -USR1 "$PEER"

# Without headers the end of a stream that flowed is taken, too, while its client stays.
it '--raw: all that a client sent is taken while it stays, by each method'; ( begin
	head -c 1000123 /dev/urandom >flow
	for method in read trunc splice; do
		start_zcs --raw -m $method
		"$HELPERS/net" hold -n 1 -f flow "$PORT" >held &
		remember $!
		all_taken()
		{
			awk -v port="$(printf ':%04X' "$PORT")" '
				index($2, port) == length($2) - 4 && $4 == "01" { n++; left += $5 !~ /:00000000$/ }
				END { exit !(n == 1 && left == 0) }' /proc/net/tcp /proc/net/tcp6
		}
		wait_until grep -qx 'held 1' held
		wait_until all_taken
		stop_zcs
		grep -q ' 1000123 bytes' zcs.out zcs.err
	done
); ok
start_peer -w got
it 'the built-in file set: 63 files of 350 KiB'; ( begin
	"$zcc" -s 0 -p "$PORT" -n 1 >report
	ended "$PEER"
	grep -qx "bytes $((8 + 63 * (4 + 350 * 1024)))" peer.out
	grep -q "63 files of 350 KiB, built in" report
); ok

# A file that is a hole.  To read it takes no memory on a tmpfs, and on other file systems as much as
# it is long.  Without a name it ends with the test.
shm=$(mktemp -p /dev/shm 2>/dev/null) || shm=hole
exec 9<>"$shm"
rm "$shm"
ln -s /dev/fd/9 huge
huge=$(scale $((4097 << 20)) $((5 << 30)))
truncate -s "$huge" huge
# make check-long also sends it by the other methods that need the length of a file in their calls.
for how in sendfile $(scale '' 'mmap splice'); do
	start_peer -h
	it "-m $how: a file of $huge bytes goes as two entries"; ( begin
		"$zcc" -s 0 -p "$PORT" -m $how huge --congestion reno
		ended "$PEER"
		grep -E "^(loops|files|length)" peer.out >got
		printf "loops 1\nfiles 2\nlength 4294963200\nlength $((huge - 4294963200))\n" >want
		diff want got
		grep -qx "bytes $((huge + 16))" peer.out
	); ok
done

truncate -s 4294967295 huge
[ -z "$LONG" ] || start_peer -h
long 'a file of 4 GiB - 1 goes as one' && ( begin
	"$zcc" -s 0 -p "$PORT" huge --congestion reno
	ended "$PEER"
	grep -qx "length 4294967295" peer.out
	[ "$(grep -c "^length" peer.out)" -eq 1 ]
); ok

start_zcs -m "$(scale trunc read)"
truncate -s "$huge" huge
it "zcs takes a file of $huge bytes and reports them"; ( begin
	"$zcc" -s 0 -p "$PORT" --congestion reno huge >report
	[ "$(bytes_of report)" = "$huge $huge" ]
	wait_until grep -q " $huge bytes" zcs.out
); ok
exec 9<&-

start_peer -h
it 'zcc -t: the number of loops is 0xffffffff'; ( begin
	"$zcc" -s 0 -p "$PORT" -t 0.2 small >report
	ended "$PEER"
	head -n 2 peer.out | grep -qx "loops 4294967295"
); ok

# A warm-up is announced by loops without a file.
start_peer -h
it 'zcc --warmup 0.3: three loops without files come first'; ( begin
	"$zcc" -s 0 -p "$PORT" --warmup 0.3 -t 0.2 --congestion reno --pace 20m block >report
	ended "$PEER"
	grep -E "^(loops|files|length)" peer.out | head -n 6 >got
	printf "loops 4294967295\nfiles 0\nfiles 0\nfiles 0\nfiles 1\nlength 65536\n" | diff - got
); ok
start_peer -s -h
"$zcc" -s 0 -p "$PORT" --warmup 0.21 -I 0.05 -n 2 larger >report 2>err &
held=$!
remember $held
it 'zcc --warmup -n: the loops announced are those and the -n, and no more come'; ( begin
	# The peer does not read, so that no more than the buffers is sent before the warm-up is over.
	wait_until grep -q "RTT [0-9.]* ms$" report
	kill -USR1 "$PEER"
	ended "$PEER"
	ended $held
	cat report err peer.out
	grep -E "^(loops|files|length)" peer.out >got
	printf "loops 5\nfiles 0\nfiles 0\nfiles 0\n" >want
	printf "files 1\nlength 5000001\nfiles 1\nlength 5000001\n" >>want
	diff want got
	grep -q "in 2 loops" report
); ok
# Receipts.
start_peer -r 'bytes=13 seconds=0.5 reads=4 load=0.25 cpus=2 more=1\n'
it 'zcc reports the figures of the receipt'; ( begin
	"$zcc" -s 0 -p "$PORT" small >report 2>err
	cat report err
	[ "$(bytes_of report)" = "13 13" ]
	figures_of seconds report | grep -Eqx "[0-9.]+ 0.500"
	[ "$(figures_of load report)" = 25.0% ]
	[ "$(figures_of "cost, us/KiB" report)" = 19692307.692 ]
	figures_of calls/s report | grep -Eqx "[0-9]+ 8"
	grep -q "all bytes sent were received" report
	no_warning err
); ok

start_peer
it 'zcc needs no receipt: a server of 2001 just closes'; ( begin
	exits 0 "$zcc" -s 0 -p "$PORT" small
	grep -qx "  transfer  *sender" out
	grep -q "^    no receipt: " out
	not grep 'load\|us/KiB\|all bytes sent were received' out
	no_warning err
); ok

start_peer -r 'bytes=12 seconds=1\n'
it 'zcc exits 1 when the server has not received all'; ( begin
	exits 1 "$zcc" -s 0 -p "$PORT" small
	grep -q "received 12 bytes of the 13 sent" err
); ok

# zcs against clients that are not zcc.
start_zcs
{ u32 1 1 13; cat small; } >stream
it 'zcs: a client of 2001, which closes at once, is no error'; ( begin
	n=$(wc -l <zcs.out)
	"$HELPERS/net" send -c "$PORT" <stream
	wait_until counts -gt "$n" lines_in zcs.out
	tail -n 1 zcs.out | grep -q " 13 bytes in .* 1 file, [0-9]* read"
	one_line zcs.err
); ok
stop_zcs
start_zcs --idle-timeout 0
{ u32 1 2 13; cat small; u32 0; } >stream
# In state 5 a socket has closed its sending side; it has an inode as long as a program has it open.
it 'zcs --idle-timeout 0 ends its answer before the client ends the connection, and reports what else it sends'; ( begin
	mkfifo endless
	"$HELPERS/net" send "$PORT" -k <endless >receipt &
	KEEPS=$!
	remember $KEEPS
	exec 9>endless
	cat stream >&9
	has_ended_answer()
	{
		cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port="$(printf ':%04X' "$PORT")" '
			index($2, port) == length($2) - 4 && $4 == "05" && $10 != 0 { n++ }
			END { exit !n }'
	}
	wait_until has_ended_answer
	printf extra >&9
	wait_until grep -q "sent more than it announced" zcs.err
	kill $KEEPS
); ok
stop_zcs

finish
