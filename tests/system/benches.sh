#!/bin/sh
# The benches: each of their programs is built, and each bench runs with its smallest sizes, ends with 0,
# prints its table and leaves nothing.  What the figures are is not judged.  load.sh tests tests/bench/load.
#
# group: quiet
# only: check-long
# limit: 900
. "$TOP/tests/lib.sh"
own_tmpdir

benches=$TOP/tests/bench
cpus=$(getconf _NPROCESSORS_ONLN)

# needs_python 'what' function
needs_python()
{
	check_with python3 "$1" "$2"
}

#
# The programs.
#
compile()
{
	source=$benches/$1.c
	$CC -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DVERSION='""' -pthread -O2 -Wall -Wextra -Werror \
	    -I"$TOP" -o "$1" "$source" "$TOP/build/libzc.a" -lm
}
all_compile()
{
	for source in "$benches"/*.c; do
		name=${source##*/}
		compile "${name%.c}"
		echo "${name%.c}" >>built
	done
	[ "$(wc -l <built)" -ge 6 ]
}
if [ -e "$TOP/build/libzc.a" ]; then
	check 'each C file of tests/bench is a program that compiles without a warning' all_compile
else
	make -s -C "$TOP" build/libzc.a >make.log 2>&1
	check 'each C file of tests/bench is a program that compiles without a warning' all_compile
fi

generated()
{
	for how in '' '-w -p 1000' '-t' '-u' '-c 0 -S' '-l 0'; do
		exits 0 ./gen -s 0.1 -l 20 $how
		for key in share seconds wakes switches each cpus stat cpu; do
			grep -Eq "(^| )$key=" out
		done
		one_line out
	done
}
check 'gen: a line of key=value for each way to make a load' generated
awake_runs()
{
	exits 3 ./awake sh -c 'exit 3'
	not [ -s err ]
}
check 'awake: the status is that of its command' awake_runs
bare_rates()
{
	head -c 131072 /dev/zero >block
	for how in '' '-m trunc'; do
		exits 0 ./bare $how 0.1 0 $((cpus > 1)) block
		grep -Eqx '[1-9][0-9]*' out
	done
}
check 'bare: a rate, by read and by trunc' bare_rates
passes()
{
	exits 0 ./pingpong -s 0.1
	for via in unix tcp; do
		grep -Eqx "via=$via trips=[1-9][0-9]* per_second=[0-9.]+ mean_us=[0-9.]+ p50_us=[0-9.]+ p99_us=[0-9.]+ max_us=[0-9.]+" out
	done
}
if [ "$cpus" -ge 2 ]; then
	check 'pingpong: a line for each way' passes
else
	skip 'pingpong' 'one CPU'
fi
tiny_streams()
{
	start_zcs -I 0
	exits 0 ./tiny "$PORT" 100 1 10
	tail -n 1 out | grep -q '^.*100'
	stop_zcs
}
check 'tiny: 100 clients' tiny_streams

#
# The benches, with short windows of a baseline.
#
brief()
{
	hastened env HASTEN_US=20000 HASTEN_UP_TO_US=260000 "$@"
}
accuracy_runs()
{
	soaking brief "$benches/accuracy" -n 1 -s 0.1 --seed 1 --wait 0 --others 100 \
	    -g steady,bursty,wakes,network -o rows
	cat err
	grep -q '^seed 1, 0.1 s a case$' out
	for group in steady bursty wakes network; do
		grep -q "^ *$group" out
	done
	for way in file own idle; do
		grep -Eq "^all of them +$way |^[a-z]+ 0, $way: " out # a load, or why there is none
	done
	grep -q '^During the run: steal' out
	cp out accuracy.out
	set -- rows/accuracy-*.tsv
	[ $# -eq 1 ] && [ -s "$1" ]
	[ "$(grep -vc '^#' rows/*.tsv)" -ge 5 ]
	exits 0 "$benches/accuracy" --from rows/*.tsv
	grep -q steady out
	nothing_left
}
needs_python 'accuracy: a row for each group, and its rows are read again' accuracy_runs
same_resumes()
{
	soaking brief "$benches/same" -n 1 -r 2 -t 0.1 --wait 0 -o same.tsv idle server
	grep -Eq '^cost +idle +[01] of +[01] ' out
	grep -Eq '^throughput +server +[01] of +1 ' out
	cp same.tsv before
	exits 0 "$benches/same" -n 1 --wait 0 -o same.tsv idle server
	grep -Eq '^throughput +server +[01] of +1 ' out
	cmp before same.tsv
	nothing_left
}
needs_python 'same: a row for each ratio and setting; what a file has is not compared again' same_resumes
accuracy_compares()
{
	mkdir -p other
	for tool in zcc zcs cyclesoak; do cp "$BIN/$tool" other/; done
	exits 0 brief "$benches/accuracy" -g hidden,jitter-before -n 1 -s 0.1 --seed 1 --wait 0 --others 100 --against other
	grep -q hidden out
	nothing_left
}
needs_python 'accuracy --against: two builds' accuracy_compares
foreground_runs()
{
	exits 0 brief "$benches/foreground" -r 1 -s 0.1 --wait 0
	for row in ping-pong requests paced transfer; do
		grep -q "^$row" out
	done
	grep -q '^Medians \[least\.\.greatest\] of 1 rounds:$' out
	grep -q '^Goals:$' out
	nothing_left
}
claims_run()
{
	exits 0 brief "$benches/claims" -r 1 -t 1 --wait 0
	grep -Eq '^zcc  +[0-9.-]+ +[0-9.-]+ ' out
	nothing_left
}
hostile_runs()
{
	exits 0 "$benches/hostile" -r 1 -s 0.1
	for row in alone silent random reset all; do
		grep -Eq "^$row +[0-9]+ +[0-9.]+% +[0-9.]+% +[0-9.]+% +[0-9]+% +[0-9]+%$" out
	done
	grep -Eq '^alone +[0-9]+ +100\.0% ' out
	nothing_left
}
peers_run()
{
	exits 0 "$benches/peers" -r 1 -t 0.1 --memory --only '^(bare|zc)'
	for row in 'bare: read, 63 files' 'bare: trunc from 1024 KiB, 128 KiB' 'zc: 63 files' 'zc: 8 streams'; do
		grep -Eq "^$row +[1-9][0-9.]* \[" out
	done
	grep -Eq '^zc: --raw to trunc, 128 KiB / bare: trunc from [0-9]+ KiB, 128 KiB +[0-9.]+ \[.* 0\.97' out
	grep -Eq '^zc as of 2001: -S / 2001: -S .* 1\.00 +not measured$' out
	grep -Eq '^sendfile, 10,000 files +[0-9]+ +[0-9]+$' out
	nothing_left
}
if [ "$cpus" -ge 2 ]; then
	needs_python 'foreground: a row for each figure' foreground_runs
	needs_python 'claims: a row for each tool' claims_run
	check 'hostile: a row for each kind of clients' hostile_runs
	needs_python 'peers: rates, ratios with their goals, and memory' peers_run
else
	skip 'foreground, hostile and peers' 'one CPU'
fi
clients_run()
{
	exits 0 "$benches/clients" -r 1 -t 0.1 --streams 20 --clients 200
	grep -Eq '^bare +1 ' out
	grep -Eq 'clients/s of zcs / bare loop, 4 senders, at least 1.0: [0-9.]+ ' out
	grep -Eq 'beside 20 busy streams, at least 1.0: [0-9.]+ ' out
	grep -Eq 'zcs --reply / bare loop, at least 0.95: [0-9.]+ ' out
	grep -q 'not measured  requests/s of zcs --reply / netperf TCP_CRR' out
	grep -q '^200 clients, first and last tenth: ' out
	nothing_left
}
needs_python 'clients: a row and a ratio for each number of senders' clients_run
scale_runs()
{
	soaking brief "$benches/scale" -r 1 -t 0.1 -n 10 -o scaled
	for curve in streams files cpus clients; do
		grep -Eq "^$curve +1 +[0-9]+ " out
		grep -Eq "^$curve +ratio +[0-9.]+ " out
	done
	[ "$(grep -c '^files	' scaled/scale.tsv)" -eq 2 ]
	! command -v gnuplot >/dev/null || [ -s scaled/scale.svg ]
	nothing_left
}
needs_python 'scale: a row for each point, and a ratio for each curve' scale_runs
results_run()
{
	# results.sh has two more, requests and sweep.
	set -- writes methods binding splice traffic
	soaking brief "$benches/results" -t 0.1 -r 1 -o folder "$@"
	for name; do
		for kind in txt tsv json; do
			[ -s "folder/$name.$kind" ]
		done
	done
	nothing_left
}
needs_python 'results: the files of each experiment' results_run

# What a bench does not know is a usage error.
usage_errors()
{
	for bench in same foreground claims clients scale hostile load peers results accuracy; do
		exits 2 "$benches/$bench" --nosuch
		[ -s err ]
		not [ -s out ]
	done
	nothing_left
}
check_with python3 'an option that a bench does not know: a line, exit 2' usage_errors

finish
