#!/bin/sh
# make demo: its table.
#
# group: quiet
# seconds: 3
. "$TOP/tests/lib.sh"

own_tmpdir
# Its baselines are not what is tested here.
[ -n "$LONG" ] || hasten_tools 20000 1000000
all=sendfile,send,write,mmap,splice,zerocopy
methods=$(scale sendfile,send $all)
undisturbed 'the command, a row for each method, and how many times the first it costs'; while again; do ( begin
	METHODS=$methods SECONDS_EACH=$(scale 0.1 0.3) soaking "$TOP/tests/demo" || {
		! grep -q 'repeat it when the machine is idle' err || skip_check 'the machine is busy'
		false
	}
	for m in $(echo $methods | tr , ' '); do
		grep -Eq "^$m +[0-9]+[km] +[1-9][0-9,]* \+-[0-9,]+ +[0-9.]+%\?? \+-[0-9.]+% +[0-9.]+\?? \+-[0-9.]+$" out
		[ $m = sendfile ] || grep -Eq "^$m [0-9]+[km] costs [0-9.]+\?? \([0-9.]+ to [0-9.]+\) times as much as sendfile 1m(: no difference is shown)?$" out
	done
	grep -Eq "^    zcc -c -s 0 -t [0-9.]+ -r 3 -m $methods( --congestion [a-z]+)?$" out
	nothing_left
); done
finish
