#!/bin/sh
# The unit tests: each program of tests/unit, whose checks count as one series.  tests/unit/unit.h says
# how to write one in C; hosts.py is that of zc-hosts.
#
# seconds: 12
. "$TOP/tests/lib.sh"

# A program reads its options once, and has them to its end; a test reads many.
printf 'leak:%s\n' options_parse _IO_mem_finish >kept
export LSAN_OPTIONS="print_suppressions=0:suppressions=$PWD/kept"
leaks='' names=''
if [ -z "$SANITIZE" ]; then # LeakSanitizer alone needs no build of its own
	leaks=$("$CC" -print-file-name=liblsan.so 2>/dev/null)
	[ -e "$leaks" ] || { leaks= && skip 'what the unit programs allocate is freed' 'no LeakSanitizer'; }
	LSAN_OPTIONS=$LSAN_OPTIONS:exitcode=0:fast_unwind_on_malloc=0
fi

# run_unit NAME CMD...: a program beside others, as one check more
run_unit()
{
	beside "$1: the program ran all its checks and did not crash, and freed what it allocated"
	names="$names $1"
	shift
	( begin
		LSAN_OPTIONS=$LSAN_OPTIONS:log_path=$PWD/leaks status=0
		# shellcheck disable=SC2016 # the inner shell's
		sh -c 'echo $$ >pid; exec "$@"' - ${leaks:+env LD_PRELOAD="$leaks"} "$@" >../unit.$cells || status=$?
		[ -s ../unit.$cells ]
		grep -qx "1\.\.$(grep -c '^ok \|^not ok ' ../unit.$cells)" ../unit.$cells
		[ "$status" -le 1 ]
		not grep -s -A 20 'detected memory leaks' "leaks.$(cat pid)"
	) & later
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
together
cells=0
for name in $names; do
	cells=$((cells + 1))
	awk -v n="$count" -v name="$name: " '/^(not )?ok /{ sub(/[0-9]+ - /, ++n " - " name) } !/^1\.\./' unit.$cells
	count=$((count + $(grep -c '^ok \|^not ok ' unit.$cells)))
	failed=$((failed + $(grep -c '^not ok ' unit.$cells)))
done
finish
