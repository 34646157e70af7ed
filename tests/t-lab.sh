#!/bin/sh
# zcc and zcs on two hosts, which are network namespaces.
. "$TOP/tests/lib.sh"

if ! "$TOP/tests/lab" true 2>/dev/null; then
	skip 'two hosts' 'needs root, ip(8) and network namespaces'
	finish
fi
for v in 4 6; do
	check "IPv$v across the link: both ends agree, packets are counted on it" '
		cat >script <<-"END"
			. "$TOP/tests/lib.sh"
			: >zcs.err
			$A "$BIN/zcs" -p 0 >zcs.out 2>zcs.err &
			wait_until "grep -q listening zcs.err"
			port=$(sed -n "s/.*:\([0-9]*\)$/\1/p" zcs.err)
			[ $1 = 4 ] && host=$A4 || host=$A6
			$B "$BIN/zcc" -s $host -p $port -n 5
			wait_until "[ -s zcs.out ]"
		END
		"$TOP/tests/lab" sh script '$v' >out 2>err
		cat out err zcs.out
		grep -Eqx "  bytes +112896000 +112896000" out
		grep -Eq "packets/s in +[1-9][0-9]* +[1-9]" out
		grep -Eq "packets/s out +[1-9][0-9]* +[1-9]" out
		grep -q "by eth0, " out'
done
check 'one set of soakers on the machine, not one per network' '
	cat >script <<-"END"
		. "$TOP/tests/lib.sh"
		while :; do
			$A "$BIN/cyclesoak" sh -c "echo soaks; exec sleep 60" >a.out 2>a.err &
			p=$!
			wait_until "[ -s a.out ] || gone $p"
			grep -q "soaked already" a.err || break
			sleep 1
		done
		$B "$BIN/cyclesoak" true
		echo status $?
	END
	"$TOP/tests/lab" sh script >out 2>err
	cat out err a.err
	grep -q "status 1" out
	grep -q "soaked already, by cyclesoak" err'
check 'nothing is left of the two hosts' '
	ip netns list | not grep "^zc-"'

finish
