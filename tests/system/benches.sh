#!/bin/sh
# The bench: it runs at its smallest size, prints its table and leaves nothing.  No figure is judged.
#
# group: quiet
# only: check-long
# limit: 600
. "$TOP/tests/lib.sh"
own_tmpdir
find_hastening

it 'tests/bench/accuracy: its table'; ( begin; need python3
	$hasten_by HASTEN_US=20000 HASTEN_UP_TO_US=260000 "$TOP/tests/bench/accuracy" --wait 2 -n 1 -t 0.1 -o rows >out 2>err || {
		cat err
		! grep -q 'must be idle\|no time\|soaked already' err || skip_check 'the machine is busy'
		false
	}
	grep -Eq '^all of them |^load not measured: |^In [0-9]|: the machine remained busy$' out
	grep -q '^The hypervisor took' out
	nothing_left
); ok
finish
