#!/bin/sh
# Checkers, each where it is installed, and what only a test can compare.
. "$TOP/tests/lib.sh"
work=$PWD

# What `make lint` does; the slow ones, half a minute each, at full size only.
for tool in cppcheck shellcheck mandoc clang-format $(scale '' 'clang-tidy gcc-fanalyzer scan-build'); do
	case $tool in
	gcc-fanalyzer) needs=gcc ;;
	*) needs=$tool ;;
	esac
	check_with $needs "$tool finds nothing" '"$TOP/tests/lint" $tool'
done
check 'what is not installed is skipped with a line each' '
	LINT_FLAGS=x PATH=/nonexistent /bin/sh "$TOP/tests/lint" >out
	[ "$(grep -c "^[a-z-]*: skipped, not installed$" out)" -eq 7 ]'

# The analyzers, on sources with a defect: these are a tree of their own.
mkdir -p planted/tests
cp "$TOP/tests/lint" planted/tests/lint
cat >planted/leak.c <<'END'
#include <stdlib.h>

int leak(int n)
{
	char *p = malloc(10);

	if (p == NULL)
		return 0;
	p[0] = (char)n;
	if (n > 0)
		return 1;
	free(p);
	return 2;
}
END
cat >planted/null.c <<'END'
#include <stddef.h>

int null(int n)
{
	int *p = n > 0 ? &n : NULL;

	if (n <= 0)
		return *p;
	return 0;
}
END
# lint_planted TOOL: what it finds in them
lint_planted()
{
	LINT_FLAGS=-std=gnu11 sh planted/tests/lint "$1"
}
gcc_major=$(gcc -dumpversion 2>/dev/null | cut -d. -f1)
clang_major=$(clang --version 2>/dev/null | sed -n 's/.*clang version \([0-9]*\).*/\1/p')
if [ "$gcc_major" = 12 ]; then
	check 'gcc-fanalyzer: a leak and a NULL that is dereferenced fail the check' '
		exits 1 lint_planted gcc-fanalyzer
		grep -q "^gcc-fanalyzer: found$" out
		grep -q "leak.c:.*-Wanalyzer-malloc-leak" out
		grep -q "null.c:.*-Wanalyzer-null-dereference" out'
	check 'gcc-fanalyzer: what another version of gcc finds is printed and fails nothing' '
		mkdir other
		printf "#!/bin/sh\n[ \"\$1\" != -dumpversion ] || exec echo 99\nexec %s \"\$@\"\n" "$(command -v gcc)" >other/gcc
		chmod +x other/gcc
		PATH=$PWD/other:$PATH exits 0 lint_planted gcc-fanalyzer
		grep -q "^gcc-fanalyzer: found, by a version that fails nothing$" out
		grep -q "leak.c:.*-Wanalyzer-malloc-leak" out'
else
	skip 'gcc-fanalyzer: planted defects' 'no gcc 12'
fi
if command -v scan-build >/dev/null 2>&1 && [ "$clang_major" = 14 ]; then
	check 'scan-build: a leak and a NULL that is dereferenced fail the check' '
		exits 1 lint_planted scan-build
		grep -q "^scan-build: found$" out
		grep -q "leak.c:.*unix.Malloc" out
		grep -q "null.c:.*core.NullDereference" out'
	check 'scan-build: NOLINTNEXTLINE answers the warning of the next line, and no other' '
		sed -i "s@^.*return 1;@		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a test. */\n&@" planted/leak.c
		exits 1 lint_planted scan-build
		not grep "leak.c" out
		grep -q "null.c:.*core.NullDereference" out
		rm planted/null.c
		exits 0 lint_planted scan-build
		grep -qx "scan-build: clean" out'
else
	skip 'scan-build: planted defects' 'no scan-build of clang 14'
fi
check 'every option of --help is in the man page, and the other way round' '
	cd "$TOP"
	for t in zcc zcs cyclesoak run_rr; do
		"$BIN/$t" -h | grep -o -e "--[a-z][a-z-]*" | sort -u >"$work/help"
		grep -oE "Fl (Fl |-)[a-z][a-z-]*" "man/$t.1" | sed "s/Fl Fl /--/; s/Fl -/--/" | sort -u >"$work/man"
		diff "$work/help" "$work/man"
	done'

finish
