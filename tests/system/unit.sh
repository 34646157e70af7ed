#!/bin/sh
# The unit tests: each program of tests/unit, whose checks count as one series.  tests/unit/unit.h says
# how to write one in C; hosts.py is that of zc-hosts.
#
# group: sleeps
# seconds: 7
. "$TOP/tests/lib.sh"

# A program reads its options once, and has them to its end; a test reads many.
printf 'leak:%s\n' options_parse _IO_mem_finish >kept
export LSAN_OPTIONS="print_suppressions=0:suppressions=$PWD/kept"
leaks=
if [ -z "$SANITIZE" ]; then # LeakSanitizer alone needs no build of its own
	leaks=$("$CC" -print-file-name=liblsan.so 2>/dev/null)
	[ -e "$leaks" ] || { leaks= && skip 'what the unit programs allocate is freed' 'no LeakSanitizer'; }
	LSAN_OPTIONS=$LSAN_OPTIONS:exitcode=0:fast_unwind_on_malloc=0:log_path=$PWD/leaks
fi

# run_unit NAME CMD...: the checks of a program, with NAME before their titles
run_unit()
{
	name=$1 status=0
	shift
	# shellcheck disable=SC2016 # the inner shell's
	sh -c 'echo $$ >unit.pid; exec "$@"' - ${leaks:+env LD_PRELOAD="$leaks"} "$@" >unit.out 2>unit.err || status=$?
	awk -v n="$count" -v name="$name: " '/^(not )?ok /{ sub(/[0-9]+ - /, ++n " - " name) } !/^1\.\./' unit.out
	checks=$(grep -c '^ok \|^not ok ' unit.out)
	count=$((count + checks))
	failed=$((failed + $(grep -c '^not ok ' unit.out)))
	check "$name: the program ran all its checks and did not crash, and freed what it allocated" has_ended
}

# has_ended: its plan is there, its status is that of success or of a failed check, and nothing leaks
has_ended()
{
	cat unit.err
	[ "$checks" -gt 0 ]
	grep -qx "1\.\.$checks" unit.out
	[ "$status" -le 1 ]
	! grep -s -A 20 'detected memory leaks' "leaks.$(cat unit.pid)"
}

for source in "$TOP"/tests/unit/*.c; do
	source=${source##*/}
	run_unit "${source%.c}" "$HELPERS/unit/${source%.c}"
done
if command -v python3 >/dev/null 2>&1; then
	leaks=
	run_unit hosts python3 "$TOP/tests/unit/hosts.py"
else
	skip 'hosts: the parts of zc-hosts' 'no python3'
fi
finish
