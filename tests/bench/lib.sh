# What the benches share: building their programs, running them, and leaving nothing behind.  A
# bench sources this file, `build`s, which takes it to a directory that is gone when it ends, and
# starts what it measures with `run`.
#
#	$TOP	the source tree
#	$BIN	where zcc, zcs and cyclesoak are

TOP=$(cd "$(dirname "$0")/../.." && pwd)
BIN=$(cd "${BIN:-$TOP}" && pwd)
LC_ALL=C
export LC_ALL

child=      # what `run` runs
background= # what `behind` runs
work=$(mktemp -d "${TMPDIR:-/tmp}/zc-bench.XXXXXX") || exit 1

# SIGTERM: cyclesoak passes it on to its command, and what the others run dies with them.
leave()
{
	status=$?
	trap '' HUP INT TERM
	for p in $child $background; do
		kill "$p" 2>/dev/null
		wait "$p" 2>/dev/null
	done
	tidy
	rm -rf "$work"
	exit $status
}
trap leave EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# What else a bench has to undo.
tidy()
{
	:
}

# fail 'what': with what the last program said, if it said anything.
fail()
{
	[ ! -s "$work/err" ] || cat "$work/err" >&2
	echo "${0##*/}: $1" >&2
	exit 1
}

# run command...: in the background, so that a signal to the bench is acted on at once.
run()
{
	"$@" &
	child=$!
	wait $child
	status=$?
	child=
	return $status
}

# behind command...: runs until `end_behind`.
behind()
{
	"$@" &
	background=$!
}

end_behind()
{
	kill $background
	wait $background
	background=
}

# soaking command...: run, with its output in the files out and err; there is one set of soakers on
# a machine, so where another has it, this waits for up to a minute.
soaking()
{
	turns=0
	until run "$@" >out 2>err && ! grep -q 'soaked already' err; do
		grep -q 'soaked already' err || return 1
		turns=$((turns + 1))
		[ $turns -lt 20 ] || return 1
		run sleep 1
	done
}

# build name...: the programs of this directory, or of the tests, into the one where the bench works
# from then on.
build()
{
	[ -f "$TOP/build/libzc.a" ] || fail "no $TOP/build/libzc.a: make it first"
	for name; do
		source=$TOP/tests/bench/$name.c
		[ -f "$source" ] || source=$TOP/tests/helpers/$name.c
		${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DVERSION='""' -pthread \
		    -O2 -I"$TOP" -c -o "$work/$name.o" "$source" || fail "cannot compile $name.c"
		${CC:-gcc} -pthread -o "$work/$name" "$work/$name.o" "$TOP/build/libzc.a" -lm ||
			fail "cannot link $name"
	done
	[ -x "$BIN/cyclesoak" ] || fail "no $BIN/cyclesoak: make it first"
	cd "$work" || exit 1
}

# The machine and the command line: what figures are worthless without.
header()
{
	echo "$(uname -sr), $(getconf _NPROCESSORS_ONLN) CPUs:$(sed -n \
	    's/^model name[^:]*://p; T; q' /proc/cpuinfo)"
	echo "$(date -u '+%Y-%m-%d %H:%M:%S UTC'): ${0##*/}${1:+ $1}"
}
