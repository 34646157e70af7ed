#!/bin/sh
# Calls that move less than they were asked to, and that are interrupted at every turn: not a byte
# gets lost, whichever way it goes.  tests/helpers/preload/fault.c does that to them.
#
# seconds: 5
. "$TOP/tests/lib.sh"

if [ -n "$SANITIZE" ] || ! preloaded fault; then
	skip 'short and interrupted calls' 'a sanitizer wants to be loaded first, or no library can be preloaded'
	finish
fi
zcc=$BIN/zcc
senders=$(methods_of zcc | grep -v '^uring')
if ! may_lock_much; then
	skip 'zerocopy by short and interrupted calls' 'other tests of this user may have pinned what it may pin'
	senders=$(echo "$senders" | grep -v zerocopy)
fi

files='f0 f1 f3 f65537 f300001'
for f in $files; do head -c "${f#f}" /dev/urandom >"$f"; done
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
cat f0 f1 f3 f65537 >want.raw

# short command...: disturbs it.  Each run has a seed of its own; SHORT_SEED repeats one.
seed=${SHORT_SEED:-$(new_seed)}
short()
{
	seed=$((seed + 1))
	env LD_PRELOAD="$PWD/fault.so" SHORT_SEED=$seed "$@"
}
# start_short_zcs [options]: start_zcs, disturbed
start_short_zcs()
{
	seed=$((seed + 20))
	ON="env LD_PRELOAD=$PWD/fault.so SHORT_SEED=$seed"
	start_zcs "$@"
	ON=
}
# ends_well: the server, which has printed nothing on stderr but where it listened
ends_well()
{
	cat zcs.out zcs.err
	kill -TERM "$ZCS"
	ended "$ZCS"
	wait "$ZCS"
	one_line zcs.err
}

for m in $senders; do
	it "zcc -m $m, disturbed: exactly the bytes, with headers, and by --raw -k -b 997 (seed $seed)"; ( begin
		for i in 1 $(scale '' '2 3 4'); do
			start_peer -w got
			exits 0 short "$zcc" -s 0 -p "$PORT" -m "$m" -n 3 $files
			ended "$PEER"
			cmp want got
		done
		start_peer -w got
		exits 0 short "$zcc" -s 0 -p "$PORT" --raw -m "$m" -k -b 997 --congestion reno f0 f1 f3 f65537
		ended "$PEER"
		cmp want.raw got
	); ok
	seed=$((seed + 5))
done
it "zcc, disturbed: the built-in set (seed $seed)"; ( begin
	start_peer
	exits 0 short "$zcc" -s 0 -p "$PORT" --congestion reno -n 1
	ended "$PEER"
	grep -q "^bytes $((63 * 350 * 1024 + 8 + 63 * 4))\$" peer.out
); ok

for to in $(methods_of zcs | grep -v '^uring'); do
	it "zcs -m $to and zcc by each method, both disturbed: they agree, with one stream and with -P 4 (seed $seed)"; ( begin
		start_short_zcs -m "$to"
		for m in $senders; do
			for streams in 1 4; do
				exits 0 short "$zcc" -s 0 -p "$PORT" -m "$m" -n 3 -P $streams $files
				[ "$(bytes_of out)" = "$((streams * bytes)) $((streams * bytes))" ]
				grep -q "all bytes sent were received" out
			done
		done
		wait_until grep -q " $bytes bytes in " zcs.out
		ends_well
	); ok
	seed=$((seed + 12))
done

it "zcs --reply and zcc --request, both disturbed: none fails (seed $seed)"; ( begin
	start_short_zcs --reply
	for sizes in 0 2 100 100000 2,3,4,5; do
		exits 0 short "$zcc" -s 0 -p "$PORT" --request $sizes -n 20 -P 4
		not grep failed out
	done
	ends_well
	grep -Eqx "total: 160 replies, $((20 * (0 + 2 + 100 + 100000 + 2 + 3 + 4 + 5))) bytes; 0 refused, 0 silent, 0 too large, 0 broken" zcs.out
); ok

finish
