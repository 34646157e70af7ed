#!/bin/sh
# Kernel TLS (--tls), on a virtual machine of the latest kernel that `tests/vm fetch` got: the kernel of this machine may lack
# it.  The messages on such a kernel are in the test methods.
#
# only: check-long
# limit: 1800
. "$TOP/tests/lib.sh"
in_guest -s -l 1700

for module in tls gcm ctr ghash-generic aesni-intel chacha20poly1305 tcp_diag; do modprobe $module 2>/dev/null; done
head -c 700000 /dev/urandom >file
: >empty
printf x >one
start_zcs --tls
# zcc_tls ARGUMENT...: a transfer by TLS to the last zcs or peer
zcc_tls() { "$BIN/zcc" -q --tls -s 0 -p "$PORT" --congestion reno "$@"; }
# The answer of a zcs --tls: `tls=aes-128-gcm`, encrypted by the published key as record 0.
ANSWER='\027\003\003\000\041\243\241\162\372\007\326\330\330\201\073\274\300\230\202'
ANSWER=$ANSWER'\122\101\164\302\012\360\033\165\127\320\073\273\235\065\324\060\223\361\231'
# capture FILE...: what zcc sends to a server that has that answer is in `came`
capture()
{
	printf "$ANSWER" >answer
	start_peer -w came -f answer
	zcc_tls "$@" >out 2>err || :
	wait_until ended $PEER
}
# decrypt FILE: the data of records to the server.  AES-GCM encrypts by AES in counter mode: the counter begins with the
# initial vector, which is the number of the record, and 2.
decrypt()
{
	at=0 record=0 size=$(wc -c <"$1")
	while [ $at -lt "$size" ]; do
		length=$(od -An -tu1 -j $((at + 3)) -N 2 "$1" | awk '{ print $1 * 256 + $2 }')
		tail -c +$((at + 6)) "$1" | head -c $((length - 17)) |
		    openssl enc -d -aes-128-ctr -K "$(printf 'zcc to zcs: know' | od -An -tx1 | tr -d ' \n')" \
			-iv "$(printf '%024x%08x' $record 2)"
		at=$((at + 5 + length)) record=$((record + 1))
	done
}

for methods in sendfile:read send:recv write:splice mmap:uring splice:read; do
	it "zcc --tls -m ${methods%:*}, zcs -m ${methods#*:}: files of each size, streams, warm-up, --bytes and a stop arrive whole"; ( begin
		start_zcs --tls -m ${methods#*:}
		for arguments in '-n 3 file' one empty '-n 2 file one empty file one' '-P 3 -n 2 file' \
		    '-t .5' '-t .3 -O .2' '--bytes 1m' '-P 2 -t .5 -b 5k'; do
			exits 0 zcc_tls -m ${methods%:*} $arguments
			not grep 'received .* bytes of' err
		done
		exits 0 zcc_tls --json -m ${methods%:*} -n 3 file
		jq -e '.end | .bytes_agree and .sum_sent.tls_cipher == "aes-128-gcm" and .sum_sent.bytes == 2100000 and
		    (.sum_sent.tls_records == .sum_received.tls_records) and .sum_sent.tls_records >= 129 and
		    .sum_sent.tls_by == "software" and .sum_received.tls_by == "software" and .sum_received.tls_decrypt_errors == 0' out
		exits 0 "$BIN/zcc" -q -s 0 -p "$PORT" --congestion reno file one # without TLS
		stop_zcs
	); ok
done
it 'zcc --tls: what leaves it is ciphertext, which the published key decrypts to the bytes of the wire'; ( begin; need openssl
	awk 'BEGIN { for (i = 0; i < 5000; i++) print "plain text of a file" }' >text
	capture text
	not grep -q 'plain text' came
	[ "$(od -An -tx1 -N5 came | xargs)" = '17 03 03 00 15' ]
	{ printf '\0\0\0\1\0\0\0\1\0\1\232\050'; cat text; } >wire # 1 loop, 1 file, 105,000 bytes
	decrypt came >plain
	cmp wire plain
); ok
it 'zcs --tls: a flipped bit, a hello or a record that ends early, and a reset count as nothing received, with a line each'; ( begin
	capture one
	size=$(wc -c <came)
	start_zcs --tls
	{ head -c $((size - 1)) came; tail -c 1 came | tr '\0-\377' '\1-\377\0'; } >flipped
	"$HELPERS/net" send -k "$PORT" <flipped >got || :
	wait_until grep 'sent a TLS record that cannot be decrypted, after 0 bytes' zcs.err
	lines=1
	for size in 3 15 $((size - 1)); do # the last is whole but for a byte of its second record
		lines=$((lines + 1))
		head -c $size came | "$HELPERS/net" send "$PORT" >got || :
		wait_until prints $lines grep -c ', after 0 bytes' zcs.err
	done
	"$HELPERS/net" send -R "$PORT" <came >got || :
	exits 0 zcc_tls one
	stop_zcs
	[ "$(grep -c ' 1 byte in ' zcs.out)" -eq 1 ]
); ok
it 'zcc --tls: a stop ends it, and loses no record, where the server reads slowly or not at all'; ( begin
	start_zcs --tls
	exits 0 zcc_tls --pace 10k -t 1 file
	not grep 'received .* bytes of' err
	printf "$ANSWER" >answer
	start_peer -f answer -s
	"$BIN/zcc" --tls -s 0 -p "$PORT" --congestion reno -t 1 --timeout 3 file >out 2>err || :
	grep "127.0.0.1:$PORT: .*--timeout" err
); ok
finish
