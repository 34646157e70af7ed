#!/bin/sh
# --vs: runs with other options, which each connection has.  tests/unit/trials.c has which runs there are, options.c
# what is rejected.
#
# seconds: 4
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc
head -c 300000 /dev/zero >file
start_zcs
# vs [options...]: zcc with three more runs
vs() { "$zcc" -s 0 -p "$PORT" -r 1 -n 1 --vs '--nodelay --sndbuf "100k"' --vs '-S --congestion reno' --vs '-S --preload' "$@"; }

# of_run N: the options of the N-th connection, and the calls that its file is read or sent by
of_run() { awk -v n="$1" '/ connect\(.*AF_INET/ { at++ } / setsockopt\(/ && at == n - 1 || / (sendfile|pread64|sendto)\(/ && at == n' trace; }
beside 'zcc --vs: each connection has the options of its run alone, and is sent by its method'; ( begin; need strace
	exits 0 strace -f -o trace -e trace=setsockopt,connect,sendfile,sendto,pread64 \
		"$zcc" -s 0 -p "$PORT" -r 2 -n 1 --vs '--nodelay --sndbuf "100k"' --vs '-S --congestion reno' --vs '-S --preload' ../file
	# of_run 1 has those that were tried, too
	for run in 1 2 7 8; do of_run $run | grep 'sendfile('; done
	for run in 3 4 5 6; do of_run $run | not grep 'sendfile('; done
	for run in 2 7; do
		of_run $run | grep 'SO_SNDBUF, \[102400\]'
		of_run $run | grep TCP_NODELAY
	done
	for run in 3 6; do
		of_run $run | grep TCP_CONGESTION
		of_run $run | grep 'pread64(.*= 65536$'
	done
	for run in 4 5; do of_run $run | not grep pread64; done
	for run in 3 4 5 6 8; do of_run $run | not grep 'SO_SNDBUF\|TCP_NODELAY'; done
	for run in 2 4 5 7 8; do of_run $run | not grep TCP_CONGESTION; done
) & later
beside 'zcc --vs: in text, --save, --against and JSON the text is the name of its run'; ( begin; need jq
	exits 0 vs --save plan.tsv ../file
	sed -n '/^run /,/^-S --preload/s/  .*//p' out >names
	printf '%s\n' run '-m sendfile' '--nodelay --sndbuf 100k' '-S --congestion reno' '-S --preload' | diff names -
	exits 0 vs --json --save plan.tsv --against plan.tsv ../file
	jq -es 'map(.comparison // empty) | .[0] | (.runs | map(.vs)) == [null, .options.vs[]] and
	    (.runs | map(.words // .name)) == ["-m sendfile", "--nodelay --sndbuf 100k", "-S --congestion reno", "-S --preload"]' out
) & later
together

it 'zcc --vs: what the kernel lacks is an error before the first round, and of --dry-run'; ( begin
	for bad in '--congestion nosuch' '--bind-dev nosuch0'; do
		for dry in '' --dry-run; do
			fails_with 2 "^zcc: --vs '$bad': .*${bad#* }" "$zcc" -s 0 -p "$PORT" -n 1 $dry --vs -S --vs "$bad" file
		done
	done
); ok
check_usage "--vs '-S' is given twice" zcc -s 0 --vs -S --vs ' -S'
check_usage "--vs '-b 1k' is given twice" zcc -s 0 -b 4k,1k --vs '-b 1k'
check_usage "--vs '': there is no option" zcc -s 0 --vs ''
finish
