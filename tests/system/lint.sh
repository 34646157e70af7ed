#!/bin/sh
# tests/lint on made-up trees.  `make lint` runs all checkers; those here are the quick ones.
#
# seconds: 2
. "$TOP/tests/lib.sh"

for tool in mandoc clang-format walls version sections render-mandoc render-groff; do
	case $tool in
	walls) needs='tsort' ;;
	version | sections) needs='sed' ;;
	render-*) needs=${tool#render-} ;;
	*) needs=$tool ;;
	esac
	check_with "$needs" "$tool finds nothing" "$TOP/tests/lint" "$tool"
done
what_not_installed_skipped()
{
	LINT_FLAGS=x PATH=/nonexistent /bin/sh "$TOP/tests/lint" >out
	[ "$(grep -c "^[a-z-]*: skipped, not installed$" out)" -eq 12 ]
}
check 'each checker that is not installed is skipped with a line' what_not_installed_skipped

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
	gcc_fanalyzer_leak()
	{
		exits 1 lint_planted gcc-fanalyzer
		grep -q "^gcc-fanalyzer: found$" out
		grep -q "leak.c:.*-Wanalyzer-malloc-leak" out
		grep -q "null.c:.*-Wanalyzer-null-dereference" out
	}
	check 'gcc-fanalyzer: a leak and a NULL that is dereferenced fail the check' gcc_fanalyzer_leak
	gcc_fanalyzer_what_another()
	{
		mkdir other
		printf '#!/bin/sh\n[ "$1" != -dumpversion ] || exec echo 99\nexec %s "$@"\n' "$(command -v gcc)" >other/gcc
		chmod +x other/gcc
		PATH=$PWD/other:$PATH exits 0 lint_planted gcc-fanalyzer
		grep -q "^gcc-fanalyzer: found, by a version that fails nothing$" out
		grep -q "leak.c:.*-Wanalyzer-malloc-leak" out
	}
	check 'gcc-fanalyzer: findings of another version of gcc are printed and fail nothing' gcc_fanalyzer_what_another
else
	skip 'gcc-fanalyzer: planted defects' 'no gcc 12'
fi
if [ -z "$LONG" ]; then
	: # scan-build is slow
elif command -v scan-build >/dev/null 2>&1 && [ "$clang_major" = 14 ]; then
	scan_build_leak()
	{
		exits 1 lint_planted scan-build
		grep -q "^scan-build: found$" out
		grep -q "leak.c:.*unix.Malloc" out
		grep -q "null.c:.*core.NullDereference" out
	}
	check 'scan-build: a leak and a NULL that is dereferenced fail the check' scan_build_leak
	scan_build_nolintnextline()
	{
		sed -i "s@^.*return 1;@		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a test. */\n&@" planted/leak.c
		exits 1 lint_planted scan-build
		not grep "leak.c" out
		grep -q "null.c:.*core.NullDereference" out
		rm planted/null.c
		exits 0 lint_planted scan-build
		grep -qx "scan-build: clean" out
	}
	check 'scan-build: NOLINTNEXTLINE answers the warning of the next line, and no other' scan_build_nolintnextline
else
	skip 'scan-build: planted defects' 'no scan-build of clang 14'
fi
# The version, in a tree that has nothing else.
versioned()
{
	rm -rf versions
	mkdir -p versions/tests versions/man
	cp "$TOP/tests/lint" versions/tests/lint
	echo 'VERSION  = 1.2.0' >versions/Makefile
	printf '1.9 GHz\n\nChanges\n\n1.2.0  more\n1.1.0  less\n' >versions/README
	printf '.Dt A 1\n.Os Linux\n' >versions/man/a.1
}
lint_versions()
{
	LINT_FLAGS=x sh versions/tests/lint version
}
version_agrees()
{
	versioned
	exits 0 lint_versions
}
check 'version: README names that of the Makefile first' version_agrees
version_behind()
{
	versioned
	echo 'VERSION  = 1.3.0' >versions/Makefile
	exits 1 lint_versions
	grep -qx "README: Changes begins with '1.2.0'; the Makefile has 1.3.0" out
}
check 'version: README that does not know that of the Makefile fails' version_behind
version_of_a_page()
{
	versioned
	echo '.Os zc 1.1.0' >versions/man/b.7
	exits 1 lint_versions
	grep -qx "man/b.7: needs one line '.Os Linux', where make puts the version" out
}
check 'version: a manual page with a version of its own fails' version_of_a_page
# The sections, of a page that mandoc accepts.
heading_lost()
{
	rm -rf sections
	mkdir -p sections/tests sections/man
	cp "$TOP/tests/lint" sections/tests/lint
	cp "$TOP/man/zcc.1" sections/man
	exits 0 env LINT_FLAGS=x sh sections/tests/lint sections
	sed 's/^\.Sh EXAMPLES$/.Sh 103554 kbytes/' "$TOP/man/zcc.1" >sections/man/zcc.1
	exits 1 env LINT_FLAGS=x sh sections/tests/lint sections
	grep -qx 'man/zcc.1: lacks the section EXAMPLES' out
	grep -qx 'man/zcc.1: no name of a section: 103554 kbytes' out
}
check 'sections: a page whose heading EXAMPLES is lost fails' heading_lost
# The headings and items, of a page that mandoc accepts: In, At and No are macros of mdoc(7), too.
# rendered_by RENDERER: prints what the check finds in the page that it reads
rendered_by()
{
	mkdir -p render/tests render/man
	cp "$TOP/tests/lint" render/tests/lint
	cat >render/man/a.1
	LINT_FLAGS=x sh render/tests/lint "render-$1"
}
page_with_macros()
{
	# $1 is put before each word that may be a macro.
	printf '.Dd May 1, 2026\n.Dt A 1\n.Os Linux\n.Sh NAME\n.Nm a\n.Nd b\n.Sh DESCRIPTION\n'
	printf '.Ss 1. %sIn a box\nText.\n.Bl -tag -width Ds\n' "$1"
	printf '.It Fl a Ar n , Fl Fl all Ns = Ns Ar n\nText.\n.It Ql %sAt once\nText.\n' "$1"
	printf '.It %sNo receiver\nText.\n.It failed: Ar N No of all\n' "$1"
	if [ -n "$1" ]; then
		printf '.Ql TCP\nor\n.Ql raw .\n.El\n'
	else
		printf '.Ql TCP No or Ql raw .\n.El\n'
	fi
}
misrendered_by()
{
	page_with_macros '\&' | exits 0 rendered_by "$1"
	page_with_macros '' | exits 1 rendered_by "$1"
	cat >want <<-'END'
	man/a.1: a quotation inside another: TCP or 'raw
	man/a.1:8: is not printed as it reads: .Ss 1. In a box
	man/a.1:13: is not printed as it reads: .It Ql At once
	man/a.1:15: is not printed as it reads: .It No receiver
	END
	sed 1d out | diff want -
}
for renderer in mandoc groff; do
	check_with $renderer "render-$renderer: a heading or item with a word that mdoc takes for a macro fails" \
		misrendered_by $renderer
done
# The walls, in a tree that has nothing but includes.
# includes FILE TARGET...: FILE has these includes and nothing else
includes()
{
	mkdir -p "$(dirname "house/$1")"
	path=house/$1
	shift
	for target; do
		printf '#include "%s"\n' "$target"
	done >"$path"
}
house()
{
	rm -rf house
	mkdir -p house/tests
	cp "$TOP/tests/lint" house/tests/lint
	includes common.h
	includes common.c common.h
	includes lib/net/wire.h common.h
	includes lib/net/wire.c lib/net/wire.h
	includes lib/load/cgroup.h
	includes lib/load/cgroup.c common.h lib/load/cgroup.h
	includes lib/load/soaker.h common.h
	includes lib/load/soaker.c soaker.h cgroup.h lib/net/wire.h
	includes lib/report/json.h
	includes lib/report/json.c lib/report/json.h lib/load/soaker.h
	includes lib/send/stream.h lib/net/wire.h
	includes lib/send/stream.c lib/send/stream.h lib/report/json.h
	includes lib/receive/reply.h lib/net/wire.h
	includes lib/receive/reply.c lib/receive/reply.h
	includes zcc.c common.h lib/send/stream.h lib/report/json.h
	includes zcs.h lib/receive/reply.h
	includes zcs.c zcs.h common.h
	includes cyclesoak.c lib/load/soaker.h
	includes run_rr.c common.h
	includes tests/unit/wire.c lib/send/stream.h zcs.h
}
lint_house()
{
	LINT_FLAGS=x sh house/tests/lint "$@"
}
# forbidden FILE TARGET: the only include that the check rejects, once FILE is in the tree
forbidden()
{
	house
	includes "$1" "$2"
	exits 1 lint_house walls
	[ "$(grep includes out)" = "$1:1: includes $2, which is neither in its part nor on a lower floor" ]
}
# circle NAME...: the files of the one circle that the check finds
circle()
{
	exits 1 lint_house walls
	sed "1,2d; s/^	//" out | sort >found
	printf "%s\n" "$@" | sort | diff - found
}
if command -v tsort >/dev/null 2>&1; then
	walls_includes_of_own()
	{
		house
		exits 0 lint_house walls
		grep -qx "walls: clean" out
	}
	check 'walls: includes of the own part and of lower floors pass' walls_includes_of_own
	walls_include_that_goes()
	{
		forbidden lib/net/socket.c lib/load/soaker.h
		forbidden lib/load/load.c lib/report/json.h
		forbidden lib/report/units.c lib/send/stream.h
		forbidden lib/report/units.h lib/receive/reply.h
		forbidden common.h lib/net/wire.h
	}
	check 'walls: an include that goes up a floor fails' walls_include_that_goes
	walls_one_wing()
	{
		forbidden lib/send/plan.c lib/receive/reply.h
		forbidden lib/receive/guard.h lib/send/stream.h
	}
	check 'walls: one wing that includes the other fails' walls_one_wing
	walls_include_of_tool()
	{
		forbidden lib/receive/guard.c zcs.h
		forbidden lib/net/socket.c zcs.c
		forbidden common.c zcs.h
		forbidden zcc.c zcs.h
	}
	check 'walls: an include of a tool fails, from wherever it is' walls_include_of_tool
	walls_include_of_tests()
	{
		house
		includes tests/peer.h
		includes lib/send/plan.c tests/peer.h
		exits 1 lint_house walls
		grep -q "^lib/send/plan.c:1: includes tests/peer.h," out
	}
	check 'walls: an include of the tests fails' walls_include_of_tests
	walls_upward_include()
	{
		house
		echo "  #  include <lib/send/stream.h>" >house/lib/net/socket.c
		echo '#include	"lib/send/stream.h" /* it sends */' >house/lib/load/load.c
		echo "#include <sys/queue.h>" >house/lib/load/limits.c
		exits 1 lint_house walls
		[ "$(grep -c "includes lib/send/stream.h, which" out)" -eq 2 ]
		[ "$(sed 1d out | wc -l)" -eq 2 ]
	}
	check 'walls: an upward include in angle brackets, or with blanks and a comment, fails' walls_upward_include
	walls_file()
	{
		house
		includes lib/misc.c
		includes lib/util/list.h
		includes zcx.c common.h
		exits 1 lint_house walls
		sed 1d out | sort >found
		for f in lib/misc.c lib/util/list.h zcx.c; do
			echo "$f: is on none of the floors in tests/lint"
		done | sort | diff - found
	}
	check 'walls: a file that is on no floor fails' walls_file
	walls_two_files()
	{
		house
		includes lib/load/cgroup.c cgroup.h soaker.h
		circle lib/load/cgroup lib/load/soaker
	}
	check 'walls: two files of a part that include each other fail' walls_two_files
	walls_circle_of_three()
	{
		house
		includes lib/net/a.h lib/net/b.h
		includes lib/net/b.c b.h
		includes lib/net/b.h lib/net/c.h
		includes lib/net/c.h
		includes lib/net/c.c c.h a.h
		circle lib/net/a lib/net/b lib/net/c
	}
	check 'walls: a circle of three files fails' walls_circle_of_three
else
	skip 'walls: made-up trees' 'no tsort'
fi
finish
