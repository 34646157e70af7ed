#!/bin/sh
# The benches: each runs at its smallest size, prints its table and leaves nothing.  No figure is judged.
#
# group: quiet
# only: check-long
# limit: 600
. "$TOP/tests/lib.sh"
own_tmpdir
benches=$TOP/tests/bench

# it_runs NAME REGEX ARG...: the bench's output has a line that matches; a busy machine has no loads
it_runs()
{
	bench=$1 line=$2
	shift 2
	hastened env HASTEN_US=20000 HASTEN_UP_TO_US=260000 "$benches/$bench" --wait 2 "$@" >out 2>err || {
		cat err
		! grep -q 'must be idle\|no time\|soaked already' err || skip_check 'the machine is busy'
		return 1
	}
	grep -Eq "$line" out
	grep -q '^The host of a virtual machine took' out
	nothing_left
}
check_with python3 'accuracy: a row for each group, or why there is none' \
    it_runs accuracy '^all of them |^no load: ' -n 1 -t 0.1 --others 100 -o rows
check_with python3 'accuracy --from: the rows are read again' it_runs accuracy '^Goals:$' --from rows/accuracy-*.tsv
check_with python3 'foreground: a row for each figure' it_runs foreground '^requests/s +[0-9]' -r 1 -t 0.1
check_with python3 'same: a row for each ratio and setting' it_runs same '^throughput +server +[01] of +1 ' -n 1 -r 2 -t 0.1
check_with python3 'peers: rates, and ratios with their goals' it_runs peers \
    '^zc: --raw to trunc, 128 KiB / bare: trunc of 2048 KiB, 128 KiB +[0-9.]+ \[.* 0\.97' -r 1 -t 0.1 --only '^(bare|zc)'
check_with python3 'results: a table of each experiment' it_runs results '^ *splice +zerocopy ' -r 1 -t 0.1 -o folder
it 'results: the files of each experiment'; ( begin; need python3
	for name in requests writes sweep methods binding traffic; do
		for kind in txt tsv json; do
			[ -s "folder/$name.$kind" ]
		done
	done
); ok
finish
