#!/bin/sh
# Checkers, each where it is installed.
. "$TOP/tests/lib.sh"
cd "$TOP" || exit 1
log=$OLDPWD/check.log

check_with mandoc 'mandoc: the man pages' '
	for m in man/*; do mandoc -T lint -W warning $m; done'
check_with cppcheck 'cppcheck: the sources' '
	cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr \
	    -DVERSION="\"\"" --suppress=missingIncludeSystem ./*.c tests/*.c'
check_with shellcheck 'shellcheck: the scripts' '
	shellcheck -S warning -s sh -e SC2034,SC2016,SC1091,SC2154 tests/run tests/lib.sh tests/demo tests/t-*.sh .ci/run'
check 'every option of --help is in the man page, and the other way round' '
	for t in zcc zcs cyclesoak run_rr; do
		"$BIN/$t" -h | grep -o -e "--[a-z][a-z-]*" | sort -u >"$work/help"
		grep -o "Fl Fl* *-\{0,1\}[a-z][a-z-]*" man/$t.1 | sed -n "s/.*Fl \(-[a-z][a-z-]*\)$/-\1/p" | sort -u >"$work/man"
		diff "$work/help" "$work/man"
	done'

finish
