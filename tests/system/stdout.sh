#!/bin/sh
# zcs whose standard output cannot be written: a full disk, a write that fails once, a slow reader.
#
# group: waits
# seconds: 10
. "$TOP/tests/lib.sh"

zcs=$BIN/zcs zcc=$BIN/zcc
head -c 3000000 /dev/urandom >file

# serve_to FILE options...: zcs that prints there
serve_to()
{
	file=$1
	shift
	: >zcs.err
	"$@" >"$file" 2>zcs.err &
	ZCS=$!
	remember $ZCS
	await_zcs $ZCS
}
for how in '' --json --raw --reply; do
	it "a full disk${how:+ ($how)}: it is reported once, clients are served on, exit 1 at the end"; ( begin
		serve_to /dev/full "$zcs" -p 0 -I 0.05 $how
		for i in 1 2 3; do
			case "$how" in
			--reply) "$zcc" -s 0 -p "$PORT" --request 10k -t 0.2 ;;
			*) "$zcc" -s 0 -p "$PORT" $how -t 0.2 --congestion reno --pace 20m | grep -q bytes ;;
			esac
		done
		not gone $ZCS
		kill -TERM $ZCS
		status=0
		wait $ZCS || status=$?
		cat zcs.err
		[ $status -eq 1 ]
		# A client that runs for a time may leave a connection on which it has not asked yet.
		[ "$(grep -vc "closed before sending a request" zcs.err)" -eq 2 ]
		grep -qx "zcs: stdout: No space left on device: output that cannot be written is lost, zcs continues" zcs.err
	); ok
done
it 'a full disk and -1: exit 1, and one line'; ( begin
	serve_to /dev/full "$zcs" -p 0 -1
	"$zcc" -s 0 -p "$PORT" -q file >/dev/null
	status=0
	wait $ZCS || status=$?
	[ $status -eq 1 ]
	grep -qx 'zcs: stdout: No space left on device' zcs.err
); ok
it 'ulimit -f: zcs reports once that its output is too large, and serves clients on'; ( begin
	serve_to limited sh -c 'ulimit -f 1 && exec "$@"' sh "$zcs" -p 0 -I 0.01
	for i in 1 2 3; do
		"$zcc" -s 0 -p "$PORT" -q -t 0.3 --congestion reno --pace 20m >/dev/null
	done
	not gone $ZCS
	kill -TERM $ZCS
	status=0
	wait $ZCS || status=$?
	cat zcs.err
	[ $status -eq 1 ]
	[ "$(grep -c '' zcs.err)" -eq 2 ]
	grep -qx "zcs: stdout: File too large: output that cannot be written is lost, zcs continues" zcs.err
); ok
if can_trace; then
	for e in ENOSPC EIO EAGAIN; do
		it "stdout fails with $e: lines that can be written later are whole"; ( begin
			serve_to zcs.part strace -f -o /dev/null -P "$PWD/zcs.part" -e trace=write \
			    -e inject=write:error="$e":when=2..3 "$zcs" -p 0 -I 0.05
			"$zcc" -s 0 -p "$PORT" -q -t 1 --congestion reno --pace 20m >/dev/null
			wait_until grep -q "^127" zcs.part
			kill -TERM "$(child_of $ZCS zcs)"
			ended $ZCS
			cat zcs.part zcs.err
			counts -ge 4 lines_in zcs.part
			[ "$(grep -Ec "^[0-9]+ kbytes/sec \([0-9.]+ Gbit/s\), [0-9.]+-[0-9.]+ s$|^ *127.* (reads?|s)$" zcs.part)" -eq "$(grep -c . zcs.part)" ]
			[ "$(grep -c "^zcs: stdout: " zcs.err)" -eq 1 ]
		); ok
	done
	it 'stdout fails with EPIPE: exit 1, and one line'; ( begin
		serve_to zcs.part strace -f -o /dev/null -P "$PWD/zcs.part" -e trace=write \
		    -e inject=write:error=EPIPE:when=1 "$zcs" -p 0
		"$zcc" -s 0 -p "$PORT" -q file >/dev/null
		ended $ZCS
		cat zcs.err
		grep -qx "zcs: stdout: Broken pipe" zcs.err
	); ok
	it 'stdout fails within an object of --json: another is begun, which is whole'; ( begin; need jq
		serve_to zcs.part strace -f -o /dev/null -P "$PWD/zcs.part" -e trace=write \
		    -e inject=write:error=ENOSPC:when=2 "$zcs" -p 0 --json -I 0.05
		"$zcc" -s 0 -p "$PORT" -q -t 0.5 --congestion reno --pace 20m >/dev/null
		met()
		{
			[ "$(ls /proc/"$(child_of "$ZCS" zcs)"/task | wc -l)" -eq 1 ]
		}
		wait_until met
		"$zcc" -s 0 -p "$PORT" -q -t 0.5 --congestion reno --pace 20m >/dev/null
		kill -TERM "$(child_of $ZCS zcs)"
		ended $ZCS
		cat zcs.err zcs.part
		grep -q "^zcs: stdout: " zcs.err
		tail -n +2 zcs.part | jq -es "length == 2 and all(.[]; .end.sum_received.bytes > 0)"
	); ok
else
	skip 'stdout fails, by each error' 'no strace, or it may not trace'
fi
finish
