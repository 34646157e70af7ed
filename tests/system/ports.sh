#!/bin/sh
# What takes a network namespace of its own: the ports that the programs have by default, and a zcs that does not
# print its port.
#
# seconds: 2
# An ordinary user may make one as the root of a user namespace.
if [ -z "$OWN_NETWORK" ] && unshare -rn ip link set lo up 2>/dev/null; then
	exec unshare -rn sh -c 'ip link set lo up && OWN_NETWORK=yes exec env sh "$0"' "$0"
fi
. "$TOP/tests/lib.sh"
if [ -z "$OWN_NETWORK" ]; then
	skip 'default ports, zcs -q --json' 'no ip(8), or no network namespace can be made'
	finish
fi

# listening PORT: whether someone does
listening() { grep -qs ":$(printf %04X "$1") [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6; }
# start PORT zcs-options...: a zcs that listens there in the end; sets ZCS
start()
{
	port=$1
	shift
	"$BIN/zcs" "$@" >zcs.out 2>zcs.err &
	ZCS=$!
	remember $ZCS
	wait_until or_gone $ZCS listening "$port"
	not gone $ZCS
}

it 'zcs listens on port 2222, with --reply on 7890, and zcc connects to it, with --request'; ( begin
	start 2222
	wait_until grep -Eqx "zcs: listening on (\[::\]|0\.0\.0\.0):2222" zcs.err
	exits 0 "$BIN/zcc" -s 0 -n 1
	grep -Eq '^  to 127\.0\.0\.1:2222 via lo,' out
	stop_zcs
	fails "^zcc: cannot connect to 0 port 2222: Connection refused: is zcs running there?$" "$BIN/zcc" -s 0 -n 1
	start 7890 --reply
	exits 0 "$BIN/zcc" -s 0 --request 100 -n 3 --json
	grep -q '"connecting_to":{"host":"0","port":7890}' out
	stop_zcs
	grep -q '^total: 3 replies, 300 bytes;' zcs.out
); ok
it 'zcs -q: the summary of the client alone, with --json the whole object, intervals too, and nothing on stderr'; ( begin
	for t in 0.3 3; do # on a busy machine all of 0.3 s may be in one interval
		for format in '' --json; do
			start 2222 -q -I 0.05 $format
			exits 0 "$BIN/zcc" -s 0 -t $t --congestion reno
			stop_zcs
			not [ -s zcs.err ]
			[ "$(grep -c '^[^ ]' zcs.out)" -eq 1 ]
			[ -n "$format" ] || grep -Eq '^127\.0\.0\.1:[0-9]+: [0-9]+ kbytes/sec ' zcs.out
		done
		! grep -q '"intervals":\[{' zcs.out || break
	done
	bytes=$(bytes_of out)
	grep -q '"intervals":\[{"sum":' zcs.out
	grep -q "\"sum_received\":{[^}]*\"bytes\":${bytes% *}," zcs.out
); ok
finish
