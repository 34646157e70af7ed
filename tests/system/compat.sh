#!/bin/sh
# The released 0.1.0, built from its commit, at one end and the new programs at the other: both ends
# report the same bytes, and zcc has zcs's figures.  Few keys of the reports are read here: those that
# 0.1.0 has and the new programs keep.
# only: check-long
# group: soaks
# seconds: 40
# limit: 900
. "$TOP/tests/lib.sh"

release=38dddcc
head -c 300000 /dev/urandom >file
printf 'x' >tiny
old=$PWD/0.1.0
it 'the programs of 0.1.0 are built'; ( begin; need jq git
	git -C "$TOP" cat-file -e "$release^{commit}" || skip_check "no git history with $release"
	mkdir "$old"
	git -C "$TOP" archive "$release" | tar -xC "$old"
	# What `make check` sets is for the new programs.
	env -u MAKEFLAGS -u MAKELEVEL make -C "$old" CC="$CC" SANITIZE= OBJ=build BIN=
); ok
[ -x "$old/zcc" ] || finish

# Loads are not judged, so that nothing has to be calibrated; 0.1.0 reads version 3 of the file.
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec.new
sed 's/^soaker .*/soaker 3/' counts_per_sec.new >counts_per_sec.old

# both_ways CLIENT CLIENT_BIN SERVER SERVER_BIN
both_ways()
{
	zcc=$2/zcc server_bin=$4 pair="zcc $1, zcs $3"
	server() { BIN=$server_bin start_zcs --json -I 0 "$@"; }
	sends() { exits 0 "$zcc" --json -s 0 -p "$PORT" --congestion reno -P 4 "$@"; }
	are_reported() { jq -es '[.[].end.streams[]] | length == 4' zcs.out; }
	while IFS='|' read -r method options; do
		it "$pair: zcs $method, zcc $options: four streams have the same figures at both ends"; ( begin
			server $method
			sends $options
			wait_until are_reported
			# A receipt has microseconds.
			jq -ne --slurpfile zcc out --slurpfile zcs zcs.out '
				$zcc[0].end as $c | [$c.streams[].receiver] as $r | [$zcs[].end.streams[].receiver] as $s |
				($zcc | length) == 1 and $c.bytes_agree and $c.sum_sent.bytes > 0 and ($r + $s | all(.bytes > 0 and .seconds > 0)) and
				([$c.sum_sent, $c.sum_received | .bytes + .warmup_bytes] | .[0] == .[1]) and
				([$r, $s] | map(map([.bytes, .warmup_bytes]) | sort) | .[0] == .[1]) and
				([$r, $s] | map(map(.seconds) | sort) | transpose | all(.[0] - .[1] | fabs < 1e-6))'
			case $options in *--warmup*) jq -e '.end.sum_received.warmup_bytes > 0' out ;; esac
			stop_zcs
		); ok
	done <<-END
		-m read|-m sendfile -n 3 file tiny
		-m read|-m zerocopy -n 3 file tiny
		-m trunc|-t 0.5 --warmup 0.2 file
		-m splice|-m send -b 1000 -k -n 3 file tiny
	END
	it "$pair: --request: all requests are served, and zcs has the same connections and bytes"; ( begin
		server --reply
		sends --request 10,1k,100k -n 50
		jq -es 'length == 1 and (.[0].requests | map([.request_bytes, .connections, .bytes, (.failed | add)]) ==
			[[10, 50, 500, 0], [1024, 50, 51200, 0], [102400, 50, 5120000, 0]])' out
		stop_zcs
		tail -n 1 zcs.out | jq -e '.replies == 150 and .bytes == 500 + 51200 + 5120000'
	); ok
	it "$pair: zcs -c: zcc has the load of the server's host"; ( begin
		cp "counts_per_sec.$3" counts_per_sec
		server -c
		has_load() { jq -e '.end.remote | [.cpus, .load_percent, .load_uncertainty_percent] | all(type == "number")' out; }
		met() { sends -t 0.5 --warmup 0.2 file && has_load; }
		wait_until met
		stop_zcs
	); ok
}
both_ways old "$old" new "$BIN"
both_ways new "$BIN" old "$old"
finish
