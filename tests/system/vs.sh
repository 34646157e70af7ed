#!/bin/sh
# --vs: runs with other options, which each connection has.  tests/unit/trials.c has which runs there are, options.c
# what is rejected.
#
# seconds: 4
. "$TOP/tests/lib.sh"

head -c 300000 /dev/zero >file
start_zcs

# of_run N: the options of the N-th connection, and the calls that its file is read or sent by
of_run() { awk -v n="$1" '/ connect\(.*AF_INET/ { at++ } / setsockopt\(/ && at == n - 1 || / (sendfile|pread64|sendto)\(/ && at == n' trace; }
it 'zcc --vs: each connection has the options of its run alone, and is sent by its method'; ( begin; need strace jq
	exits 0 strace -f -o trace -e trace=setsockopt,connect,sendfile,sendto,pread64 \
		"$zcc" -s 0 -p "$PORT" -r 2 -n 1 --vs '--nodelay --sndbuf "100k"' --vs '-S --congestion reno' --vs '-S --preload' file
	# The marks of each run; of_run 1 has the options that were tried, too
	for run in 1 2 3 4 5 6 7 8; do
		of_run $run | grep -oE 'sendfile\(|SO_SNDBUF, \[102400\]|TCP_NODELAY|TCP_CONGESTION|pread64\(.*= 65536$' |
		    sed 's/[(,].*//' | sort -u | paste -sd ' '
	done | sed 1d >got
	printf '%s\n' 'SO_SNDBUF TCP_NODELAY sendfile' 'TCP_CONGESTION pread64' '' '' 'TCP_CONGESTION pread64' \
	    'SO_SNDBUF TCP_NODELAY sendfile' sendfile | diff - got
	of_run 1 | grep 'sendfile('
	exits 0 "$zcc" --json -s 0 -p "$PORT" -n 1 -r 1 --vs '--nodelay --sndbuf "100k"' file
	jq -es '.[2].comparison | .runs[1].vs == .options.vs[0] and .runs[1].words == "--nodelay --sndbuf 100k"' out
); ok
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
