#!/bin/sh
# Checkers, each where it is installed.
. "$TOP/tests/lib.sh"
work=$PWD

check_with mandoc 'mandoc: the man pages' '
	cd "$TOP/man"
	for m in *; do mandoc -T lint -W warning $m; done'
check_with cppcheck 'cppcheck: the sources' '
	cd "$TOP"
	cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr \
	    -DVERSION="\"\"" --suppress=missingIncludeSystem ./*.c tests/*.c tests/bench/*.c'
check_with shellcheck 'shellcheck: the scripts' '
	cd "$TOP"
	shellcheck -S warning -s sh tests/run tests/lib.sh tests/demo tests/t-*.sh tests/lab tests/nfs .ci/run \
	    tests/bench/accuracy tests/bench/foreground tests/bench/peers tests/bench/results \
	    tests/bench/lib.sh'
check 'every option of --help is in the man page, and the other way round' '
	cd "$TOP"
	for t in zcc zcs cyclesoak run_rr; do
		"$BIN/$t" -h | grep -o -e "--[a-z][a-z-]*" | sort -u >"$work/help"
		grep -oE "Fl (Fl |-)[a-z][a-z-]*" "man/$t.1" | sed "s/Fl Fl /--/; s/Fl -/--/" | sort -u >"$work/man"
		diff "$work/help" "$work/man"
	done'

finish
