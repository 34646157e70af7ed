#!/bin/sh
# The unit tests: each program of tests/unit, whose checks count as one series.  tests/unit/unit.h says
# how to write one in C; hosts.py is that of zc-hosts.
#
# group: sleeps
# seconds: 7
. "$TOP/tests/lib.sh"

# run_unit NAME CMD...: the checks of a program, with NAME before their titles
run_unit()
{
	name=$1 status=0
	shift
	"$@" >unit.out 2>unit.err || status=$?
	awk -v n="$count" -v name="$name: " '/^(not )?ok /{ sub(/[0-9]+ - /, ++n " - " name) } !/^1\.\./' unit.out
	checks=$(grep -c '^ok \|^not ok ' unit.out)
	count=$((count + checks))
	failed=$((failed + $(grep -c '^not ok ' unit.out)))
	check "$name: the program ran all its checks and did not crash" has_ended
}

# has_ended: its plan is there, and its status is that of success or of a failed check
has_ended()
{
	cat unit.err
	[ "$checks" -gt 0 ]
	grep -qx "1\.\.$checks" unit.out
	[ "$status" -le 1 ]
}

for source in "$TOP"/tests/unit/*.c; do
	source=${source##*/}
	run_unit "${source%.c}" "$HELPERS/unit/${source%.c}"
done
if command -v python3 >/dev/null 2>&1; then
	run_unit hosts python3 "$TOP/tests/unit/hosts.py"
else
	skip 'hosts: the parts of zc-hosts' 'no python3'
fi
finish
