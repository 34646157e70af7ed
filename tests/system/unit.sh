#!/bin/sh
# The unit tests: each program of tests/unit, whose checks count as one series.  tests/unit/unit.h says
# how to write one in C; hosts.py is that of zc-hosts.
#
# seconds: 12
. "$TOP/tests/lib.sh"

[ -n "$SANITIZE" ] || [ -e "$("$CC" -print-file-name=liblsan.so 2>/dev/null)" ] ||
	skip 'what the unit programs allocate is freed' 'no LeakSanitizer'

# run_unit NAME CMD...: a program beside others, as one check more
run_unit()
{
	beside "$1: the program ran all its checks and did not crash, and freed what it allocated"
	shift
	( begin
		"$TOP/tests/helpers/unit" "$@" >tap || [ $? -eq 1 ]
	) & later
}

for source in "$TOP"/tests/unit/*.c; do
	source=${source##*/}
	case ${source%.c} in
	program | shell | commands)
		! sanitized thread || {
			skip "${source%.c}: the program" 'ThreadSanitizer makes vfork(2) fork(2), and signals come late'
			continue
		}
		;;
	esac
	run_unit "${source%.c}" "$HELPERS/unit/${source%.c}"
done
if command -v python3 >/dev/null 2>&1; then
	run_unit hosts env LD_PRELOAD= python3 "$TOP/tests/unit/hosts.py"
else
	skip 'hosts: the parts of zc-hosts' 'no python3'
fi
together
for tap in cell.*/tap; do
	[ -e "$tap" ] || continue # ONLY names none
	read -r title <"${tap%tap}.title"
	awk -v n="$count" -v name="${title%%:*}: " '/^(not )?ok /{ sub(/[0-9]+ - /, ++n " - " name) } !/^1\.\./' "$tap"
	count=$((count + $(grep -c '^ok \|^not ok ' "$tap")))
	failed=$((failed + $(grep -c '^not ok ' "$tap")))
done
finish
