#!/bin/sh
# Calls that move less than they were asked to, and that are interrupted at every turn: not a byte
# gets lost, whichever way it goes.  tests/helpers/preload/fault.c does that to them.
#
# group: waits
# seconds: 10
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc
senders=$(methods_of zcc | grep -v '^uring\|^zerocopy$')
receivers=$(methods_of zcs | grep -v '^uring')

if [ -n "$SANITIZE" ]; then
	skip 'short and interrupted calls' 'a sanitizer wants to be loaded first'
	finish
fi
if ! preloaded fault; then
	skip 'short and interrupted calls' "no library can be preloaded"
	finish
fi

if may_lock_much; then
	senders="$senders zerocopy"
else
	skip 'zerocopy by short and interrupted calls' 'other tests of this user may have pinned what it may pin'
fi

: >f0
printf a >f1
printf abc >f3
head -c 65537 /dev/urandom >f65537
head -c 300001 /dev/urandom >f300001
files='f0 f1 f3 f65537 f300001'
bytes=$((3 * 365542))
{
	u32 3
	for pass in 1 2 3; do
		u32 5
		for f in $files; do
			u32 "${f#f}"
			cat "$f"
		done
	done
} >want

# Each run has a seed of its own; SHORT_SEED repeats one.
seed=${SHORT_SEED:-$(new_seed)}

# short LOG command...: disturbs it, and adds to the log what was
short()
{
	log=$1
	shift
	seed=$((seed + 1))
	env LD_PRELOAD="$PWD/fault.so" SHORT_SEED=$seed SHORT_LOG="$PWD/$log" "$@"
}
mkdir disturbed
cat >disturbed/zcs <<'END'
#!/bin/sh
LD_PRELOAD="$PWD/fault.so"
SHORT_LOG="$PWD/zcs.log"
export LD_PRELOAD SHORT_LOG
exec "$REAL/zcs" "$@"
END
chmod +x disturbed/zcs
REAL=$BIN
export REAL SHORT_SEED

# start_short_zcs [options]: start_zcs, under the library
start_short_zcs()
{
	seed=$((seed + 1))
	SHORT_SEED=$seed BIN=$PWD/disturbed
	start_zcs "$@"
	BIN=$REAL SHORT_SEED=
}

# were_disturbed LOG call...: each of them at least once, as the log has it
were_disturbed()
{
	log=$1
	shift
	for call in "$@"; do
		awk -v call=$call '$1 == call { n += $2; all += $3 }
			END { print call, n + 0, "of", all + 0; exit n == 0 }' "$log"
	done
}

# calls_of METHOD: what it sends by, beside headers
calls_of()
{
	case $1 in
	send | write) echo pread64 $1 ;;
	mmap) echo send ;;
	zerocopy) echo pread64 send recvmsg ;;
	sendfile) echo sendfile64 ;;
	*) echo $1 ;;
	esac
}
# shellcheck disable=SC2046 # several words: $(calls_of)
for m in $senders; do
	it "zcc -m $m sends exactly the bytes, with headers and --raw -k -b 997 (seed $seed)"; ( begin
		for i in 1 $(scale '' '2 3 4'); do
			start_peer -w got
			exits 0 short "$m".log "$zcc" -s 0 -p "$PORT" -m "$m" -n 3 $files
			ended "$PEER"
			cmp want got
		done
		start_peer -w got
		exits 0 short "$m".log "$zcc" -s 0 -p "$PORT" --raw -m "$m" -k -b 997 --congestion reno f0 f1 f3 f65537
		ended "$PEER"
		for f in f0 f1 f3 f65537; do cat "$f"; done | cmp - got
		were_disturbed "$m".log send $(calls_of "$m")
	); ok
	seed=$((seed + 5))
	cat "$m".log >>zcc.log
done
it "the built-in set (seed $seed)"; ( begin
	start_peer
	exits 0 short builtin.log "$zcc" -s 0 -p "$PORT" --congestion reno -n 1
	ended "$PEER"
	grep -q "^bytes $((63 * 350 * 1024 + 8 + 63 * 4))\$" peer.out
	were_disturbed builtin.log write sendfile64
); ok
cat builtin.log >>zcc.log
check 'zcc: the calls that wait for the server are interrupted too' were_disturbed zcc.log recv poll

# agree: what zcc printed and what zcs did
agree()
{
	[ "$(bytes_of out)" = "$1 $1" ]
	grep -q "all bytes sent were received" out
	wait_until last_client_has " $1 bytes in "
}
last_client_has()
{
	last=$(tail -n 1 zcs.out | sed 's/^ *\([^ ]*\): .*/\1/')
	grep "^ *$last: " zcs.out | grep -q "$1"
}
for to in $receivers; do
	start_short_zcs -m "$to"
	it "zcs -m $to takes in exactly the bytes (seed $seed)"; ( begin
		for m in $senders; do
			exits 0 "$zcc" -s 0 -p "$PORT" -m "$m" -n 3 $files
			agree $bytes
		done
		exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno -P 4 -n 1
		grep -q "all bytes sent were received" out
	); ok
	it "zcs -m $to and zcc, with one stream and with -P 4, both disturbed (seed $seed)"; ( begin
		for m in $senders; do
			exits 0 short both.log "$zcc" -s 0 -p "$PORT" -m "$m" -n 3 $files
			agree $bytes
			exits 0 short both.log "$zcc" -s 0 -p "$PORT" -m "$m" -n 3 -P 4 $files
			[ "$(bytes_of out)" = "$((4 * bytes)) $((4 * bytes))" ]
			grep -q "all bytes sent were received" out
		done
	); ok
	seed=$((seed + 12))
	stop_zcs
	status=$?
	it "zcs -m $to: it prints nothing, and ends as it should"; ( begin
		cat zcs.err
		[ $status -eq 0 ]
		one_line zcs.err
		case $to in trunc) call=recv ;; splice) call="recv splice" ;; *) call=$to ;; esac
		were_disturbed zcs.log $call send poll accept4
	); ok
	rm -f zcs.log
done

start_short_zcs --reply
it "requests, one end or both (seed $seed)"; ( begin
	for sizes in 0 2 100 100000 2,3,4,5; do
		exits 0 "$zcc" -s 0 -p "$PORT" --request $sizes -n 20 -P 4
		not grep failed out
		exits 0 short request.log "$zcc" -s 0 -p "$PORT" --request $sizes -n 20 -P 4
		not grep failed out
	done
	were_disturbed request.log send recv poll
); ok
stop_zcs
status=$?
it 'zcs --reply: it served them all, and ends as it should'; ( begin
	[ $status -eq 0 ]
	cat zcs.err zcs.out
	one_line zcs.err
	grep -Eqx "total: 320 replies, $((40 * (0 + 2 + 100 + 100000 + 2 + 3 + 4 + 5))) bytes; 0 refused, 0 silent, 0 too large, 0 broken" zcs.out
	were_disturbed zcs.log send recv accept4 epoll_wait
); ok

finish
