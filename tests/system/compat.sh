#!/bin/sh
# The released 0.1.0, built from its commit, at one end and the new programs at the other: both ends
# report the same bytes, and zcc has zcs's figures.
# only: check-long
# group: soaks
# seconds: 250
# limit: 900
. "$TOP/tests/lib.sh"

# Few keys of the reports are read here: those that 0.1.0 has and the new programs keep.
release=38dddcc
head -c 300000 /dev/urandom >file
printf 'x' >tiny

give_up()
{
	skip 'the programs of 0.1.0 and the new ones' "$1"
	finish
}
command -v jq >/dev/null 2>&1 || give_up 'no jq'
git -C "$TOP" cat-file -e "$release^{commit}" 2>/dev/null || give_up "no git history with $release"
new=$BIN
old=$PWD/0.1.0
mkdir "$old"
git -C "$TOP" archive "$release" | tar -xC "$old"
# What `make check` sets is for the new programs.
if ! env -u MAKEFLAGS -u MAKELEVEL make -C "$old" CC="$CC" SANITIZE= OBJ=build BIN= >build.log 2>&1; then
	it 'the programs of 0.1.0 are built'; ( begin
		cat build.log
		false
	); ok
	finish
fi

# new_streams: how many clients zcs has reported since `seen` lines
new_streams()
{
	tail -n +$((seen + 1)) zcs.out | jq -s '[.[].end.streams[]] | length' 2>/dev/null
}
# send_streams N OPTION...: zcc with N streams; its report is in out, those of zcs in received
send_streams()
{
	streams=$1
	shift
	seen=$(wc -l <zcs.out)
	soaking "$zcc" --json -s 0 -p "$PORT" -P "$streams" --congestion reno "$@"
	wait_until counts -ge "$streams" new_streams
	tail -n +$((seen + 1)) zcs.out >received
}
# compared 'expression': it is true of $c, the end of zcc's report, and $s, the streams of zcs's
compared()
{
	jq -n --slurpfile zcc out --slurpfile zcs received --argjson n "$streams" '
		$zcc[0].end as $c | [$zcs[].end.streams[].receiver] as $s | '"$1" >holds
	if ! grep -qx true holds; then
		echo "does not hold: $1"
		jq -c . received
		return 1
	fi
}
# transfer N OPTION...: both ends have the same figures of N streams
transfer()
{
	send_streams "$@"
	compared '($zcc | length) == 1 and ($c.streams | length) == $n and ($s | length) == $n'
	compared '$c.bytes_agree and $c.sum_sent.bytes > 0'
	compared '[$c.sum_sent, $c.sum_received | .bytes + .warmup_bytes] | .[0] == .[1]'
	compared '[$c.streams[].receiver, $s] | flatten | all(.bytes > 0 and .seconds > 0)'
	compared '[[$c.streams[].receiver], $s] | map(map([.bytes, .warmup_bytes]) | sort) | .[0] == .[1]'
	# A receipt has microseconds.
	compared '[[$c.streams[].receiver], $s] | map(map(.seconds) | sort) | transpose |
		all(.[0] - .[1] | . < 1e-6 and . > -1e-6)'
}
# raw N OPTION...: both ends have the same bytes of N streams, and zcc has no receipt
raw()
{
	send_streams "$@"
	compared '$c | has("bytes_agree") or has("sum_received") | not'
	compared '([$s[].bytes] | add) == $c.sum_sent.bytes and $c.sum_sent.bytes > 0'
}
# requests N: 50 connections of each size, N at a time
requests()
{
	exits 0 "$zcc" --json -s 0 -p "$PORT" -P "$1" --request 10,1k,100k -n 50
	jq -es 'length == 1 and (.[0].requests |
		map([.request_bytes, .connections, .bytes]) ==
			[[10, 50, 500], [1024, 50, 51200], [102400, 50, 5120000]] and
		all(.failed | add == 0))' out
}
# has_load PATH: the object there has a load
has_load()
{
	jq -e "$1 | [.cpus, .load_percent, .load_uncertainty_percent] | all(type == \"number\")" out
}
# server OPTION...: a zcs, which waits while others soak
server()
{
	BIN=$server_bin
	turns=0
	until start_zcs --json -I 0 "$@"; do
		grep -q 'soaked already' zcs.err && [ $turns -lt 60 ] || return 1
		turns=$((turns + 1))
		sleep 1
	done
}
# server_ends: ends zcs, which has exit status 0
server_ends()
{
	status=0
	stop_zcs || status=$?
	it "$pair: zcs ends with status 0"; ( begin
		cat zcs.err
		[ $status -eq 0 ]
	); ok
}
# receipt FILE: a receipt of zcs, of a connection long enough for all figures, goes to FILE
receipt()
{
	{ u32 1 1 88; head -c 88 file; } | "$HELPERS/net" send -d 5 "$PORT" >"$1"
	[ -s "$1" ]
}
# keys_kept OLD NEW: a receipt has at least the keys that the other has
keys_kept()
{
	for r in "$1" "$2"; do
		tr ' ' '\n' <"$r" | sed 's/=.*//' | sort >"$r.keys"
	done
	comm -23 "$1.keys" "$2.keys" >lost
	cat lost
	[ -s "$1.keys" ]
	not [ -s lost ]
}
# No load is judged, so that nothing has to be calibrated; 0.1.0 reads version 3 of the file.
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec.new
sed 's/^soaker .*/soaker 3/' counts_per_sec.new >counts_per_sec.old
can_soak=
soaking "$new/cyclesoak" -n 1 -p 0.1 -f counts_per_sec.new >soak.log && can_soak=1

# both_ways CLIENT CLIENT_BIN SERVER SERVER_BIN
both_ways()
{
	zcc=$2/zcc server_bin=$4
	pair="zcc $1, zcs $3"

	server
	while read -r options; do
		for n in 1 4; do
			it "$pair: $options -P $n has the same figures at both ends"; ( begin
				transfer "$n" $options
				case $options in *--warmup*) compared '$c.sum_received.warmup_bytes > 0' ;; esac
			); ok
		done
	done <<-END
		-m sendfile -n 3 file tiny
		-m send -n 3 file tiny
		-m write -n 3 file tiny
		-m mmap -n 3 file tiny
		-m splice -n 3 file tiny
		-m zerocopy -n 3 file tiny
		-n 1
		-t 0.3 file tiny
		-t 0.5 --warmup 0.2 file
		-n 400 --warmup 0.1 --pace 100m file
		-m send -b 1000 -k -n 3 file tiny
	END
	check "$pair: a receipt" receipt receipt.$3
	server_ends

	for m in recv trunc splice; do
		server -m $m
		for n in 1 4; do
			it "$pair: zcs -m $m, -P $n has the same figures at both ends"; ( begin
				transfer "$n" -n 3 file tiny
				transfer "$n" -t 0.5 --warmup 0.2 file
			); ok
		done
		server_ends
	done

	server --raw
	for n in 1 4; do
		check "$pair: --raw -P $n has the same bytes at both ends" raw $n --raw -n 3 file tiny
		# 0.1.0's overruns its stack there.
		if [ "$1" = old ]; then
			skip "$pair: --raw -t -P $n" 'zcc of 0.1.0 crashes'
		else
			check "$pair: --raw -t -P $n has the same bytes at both ends" raw $n --raw -t 0.3 file
		fi
	done
	server_ends

	server --reply
	for n in 1 4; do
		check "$pair: --request -P $n: all requests are served" requests $n
	done
	server_ends
	it "$pair: --request: zcs has the same connections and bytes"; ( begin
		tail -n 1 zcs.out | jq -e ".replies == 300 and .bytes == 2 * (500 + 51200 + 5120000)"
	); ok

	if [ -z "$can_soak" ]; then
		skip "$pair: -c at either end" "$(tail -n 1 soak.log)"
		return
	fi
	cp "counts_per_sec.$3" counts_per_sec
	if server -c; then
		for n in 1 4; do
			it "$pair: zcs -c, -P $n: zcc has the load of the server's host"; ( begin
				until transfer "$n" -t 0.5 --warmup 0.2 file; has_lock "$ZCS" || [ $((turns += 1)) -ge 60 ]; do sleep 1; done
				has_load .end.remote
			); ok
		done
		check "$pair: a receipt with -c" receipt receipt.$3.load
		server_ends
	else
		it "$pair: zcs -c starts"; ( begin
			cat zcs.err
			false
		); ok
	fi
	server
	cp "counts_per_sec.$1" counts_per_sec
	for n in 1 4; do
		it "$pair: zcc -c, -P $n has the same figures at both ends, and its load"; ( begin
			transfer "$n" -c -t 0.5 --warmup 0.2 file
			has_load .end.host
		); ok
	done
	server_ends
}
both_ways old "$old" new "$new"
both_ways new "$new" old "$old"
check 'a receipt has every key that those of 0.1.0 have' keys_kept receipt.old receipt.new
if [ -s receipt.old.load ]; then
	it 'a receipt with -c has every key that those of 0.1.0 have'; ( begin
		grep -q "load=" receipt.old.load
		keys_kept receipt.old.load receipt.new.load
	); ok
fi

finish
