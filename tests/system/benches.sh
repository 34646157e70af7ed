#!/bin/sh
# The benches: each runs at its smallest size, prints its table and leaves nothing.  No figure is judged.
#
# group: quiet
# only: check-long
# limit: 600
. "$TOP/tests/lib.sh"
own_tmpdir
find_hastening

while read -r bench arguments; do
	read -r regex
	it "$bench $arguments: its table"; ( begin; need python3
		$hasten_by HASTEN_US=20000 HASTEN_UP_TO_US=260000 "$TOP/tests/bench/$bench" --wait 2 $arguments >out 2>err || {
			cat err
			! grep -q 'must be idle\|no time\|soaked already' err || skip_check 'the machine is busy'
			false
		}
		grep -Eq "$regex" out
		grep -q '^The hypervisor took' out
		nothing_left
	); ok
done <<'END'
accuracy -n 1 -t 0.1 -o rows
^all of them |^load not measured: |^In [0-9]|: the machine remained busy$
accuracy --from rows/accuracy-*.tsv
^Goals:$
END
finish
