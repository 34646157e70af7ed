#!/bin/sh
# Checkers, each where it is installed, and what only a test can compare.
. "$TOP/tests/lib.sh"
work=$PWD

# What `make lint` does, but for clang-tidy, which takes half a minute.
for tool in cppcheck shellcheck mandoc clang-format; do
	check_with $tool "$tool finds nothing" '"$TOP/tests/lint" $tool'
done
check 'what is not installed is skipped with a line each' '
	LINT_FLAGS=x PATH=/nonexistent /bin/sh "$TOP/tests/lint" >out
	[ "$(grep -c "^[a-z-]*: skipped, not installed$" out)" -eq 5 ]'
check 'every option of --help is in the man page, and the other way round' '
	cd "$TOP"
	for t in zcc zcs cyclesoak run_rr; do
		"$BIN/$t" -h | grep -o -e "--[a-z][a-z-]*" | sort -u >"$work/help"
		grep -oE "Fl (Fl |-)[a-z][a-z-]*" "man/$t.1" | sed "s/Fl Fl /--/; s/Fl -/--/" | sort -u >"$work/man"
		diff "$work/help" "$work/man"
	done'

finish
