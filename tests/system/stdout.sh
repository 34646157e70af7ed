#!/bin/sh
# Standard output: a line at a time; zcs when it cannot be written: a full disk, a write that fails once.
# tests/unit/receive_report.c has each error, and the objects of --json.
#
# seconds: 3
. "$TOP/tests/lib.sh"

echo 'out=$1; shift; exec "$@" >$out' >to

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
interval=' +interval, s +KiB/s +rate| +[0-9.]+-[0-9.]+ +[0-9,]+ +[0-9.]+ [MG]bit/s'
beside 'stdout fails with EIO twice: lines that can be written later are whole'; ( begin; need strace
	ON="sh ../to zcs.part strace -f -o /dev/null -P $PWD/zcs.part -e trace=write -e inject=write:error=EIO:when=2..3" start_zcs -I 0.05
	met()
	{
		"$BIN/zcc" -s 0 -p "$PORT" -q -t 0.4 --congestion reno --pace 20m
		grep -q "^127" zcs.part && counts -ge 4 lines_in zcs.part
	}
	wait_until met
	kill -TERM "$(child_of $ZCS zcs)"
	ended $ZCS
	cat zcs.part zcs.err
	not grep -Evx "|$interval| *127.*( reads?,?| s|\))" zcs.part
	[ "$(grep -c "^zcs: stdout: " zcs.err)" -eq 1 ]
) & later
together
finish
