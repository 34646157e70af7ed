#!/bin/sh
# Standard output: a line at a time; zcs when it cannot be written: a full disk, a write that fails once.
#
# seconds: 3
. "$TOP/tests/lib.sh"

echo 'out=$1; shift; exec "$@" >$out' >to
# lasting TIME: a client of which there are intervals
lasting() { "$BIN/zcc" -s 0 -p "$PORT" -q -t "$1" --congestion reno --pace 20m >/dev/null; }

it 'zcc: who reads a report from a pipe gets whole lines, and each by one write at most'; ( begin; need strace
	start_zcs
	strace -f -y -s 500 -o trace -e trace=write "$BIN/zcc" -s 0 -p "$PORT" -n 1 --congestion reno | cat >report
	grep -c . report
	grep ' write([0-9]*<pipe:' trace >writes
	[ "$(lines_in writes)" -le "$(lines_in report)" ]
	not grep -v '\\n", [0-9]*[) ]' writes
	stop_zcs
); ok
beside 'zcs --reply on a full disk: it is reported once, clients are served on, exit 1 at the end'; ( begin
	ON='sh ../to /dev/full' start_zcs -I 0.01 --reply
	for i in 1 2; do "$BIN/zcc" -s 0 -p "$PORT" --request 10k -n 3; done
	not gone $ZCS
	exits 1 stop_zcs
	cat zcs.err
	[ "$(grep -c . zcs.err)" -eq 2 ]
	grep -qx 'zcs: stdout: No space left on device: output that cannot be written is lost, zcs continues' zcs.err
) & later
# serve_failing ERROR WHEN options...: these writes to zcs.part fail
serve_failing()
{
	ON="sh ../to zcs.part strace -f -o /dev/null -P $PWD/zcs.part -e trace=write -e inject=write:error=$1:when=$2"
	shift 2
	start_zcs "$@"
}
# ends_traced: zcs, which strace runs
ends_traced()
{
	kill -TERM "$(child_of $ZCS zcs)"
	ended $ZCS
	cat zcs.part zcs.err
}
interval=' +interval, s +KiB/s +rate| +[0-9.]+-[0-9.]+ +[0-9,]+ +[0-9.]+ [MG]bit/s'
beside 'stdout fails with EIO, then EAGAIN: lines that can be written later are whole'; ( begin; need strace
	for e in EIO EAGAIN; do
		serve_failing "$e" 2..3 -I 0.05
		met() { lasting 0.4; grep -q "^127" zcs.part && counts -ge 4 lines_in zcs.part; }
		wait_until met
		ends_traced
		not grep -Evx "|$interval| *127.*( reads?,?| s|\))" zcs.part
		[ "$(grep -c "^zcs: stdout: " zcs.err)" -eq 1 ]
	done
) & later
beside 'stdout fails within an object of --json: another is begun, which is whole'; ( begin; need strace jq
	serve_failing ENOSPC 2 --json -I 0.05
	start_zcc first -q -t 60 --pace 20m
	met() { tail -n +2 zcs.part | grep -q intervals; }
	wait_until met
	kill -INT $first
	wait_until grep -q '"end":{' zcs.part
	lasting 0.3
	ends_traced
	grep -q "^zcs: stdout: " zcs.err
	tail -n +2 zcs.part | jq -es "length == 2 and all(.[]; .end.sum_received.bytes > 0)"
) & later
together
finish
