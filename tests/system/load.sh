#!/bin/sh
# tests/bench/load, shortened, and that it notices what it is there for.
#
# only: check-long
. "$TOP/tests/lib.sh"

load=$TOP/tests/bench/load
# The memory that a sanitizer holds back, or keeps books in, is no leak.
growth=4096
! sanitized || growth=16384
ASAN_OPTIONS=$ASAN_OPTIONS${ASAN_OPTIONS:+:}quarantine_size_mb=0:thread_local_quarantine_size_kb=0
export ASAN_OPTIONS
own_tmpdir

streams_short_streams()
{
	exits 0 "$load" -t 1 -n 1000 -s 50 -g $growth
	not [ -s err ]
	nothing_left
}
check 'streams, short streams and requests: no error' streams_short_streams
mv out table
both_ends_have_same()
{
	awk '
	$1 == "streams" && NF == 3 { ok += $2 == 50 && $3 == 50 }
	/^short streams/ && NF == 5 { ok += $3 > 50 && $3 <= 1000 && $4 == $3 && $5 == $3; n = $3 }
	$1 == "requests" && NF == 3 { ok += $2 == 1000 && $3 == 1000 }
	/^  bytes  / && ++bytes == 1 { ok += $2 > 1000000 && $3 == $2 && $4 == $2 }
	/^  bytes  / && bytes == 2 { ok += $2 > n && $3 == $2 && $4 == $2 }
	/^  bytes of replies/ { ok += $4 == 10000 && $5 == 10000 }
	END { exit ok != 6 }' table
}
check 'both ends have the same counts, and not none' both_ends_have_same
what_zcs_had()
{
	awk '
	$1 == "threads" && ++seen == 1 { ok += $3 >= $2 + 50 && $5 >= $2 + 50 && $6 == $2 && $7 >= $3 }
	$1 == "descriptors" && seen == 1 { ok += $3 >= $2 + 50 && $6 == $2 && $7 >= $3 }
	$1 == "resident" { ok += $3 > 0 && $8 >= $6 }
	END { exit ok != 4 }' table
}
check 'what zcs had: before, meanwhile, afterwards, at most' what_zcs_had

# another NAME 'how': in the directory bin there is another zcs, or zcc
mkdir bin
for t in zcs zcc cyclesoak; do
	ln -s "$BIN/$t" bin/
done
another()
{
	rm "bin/$1"
	printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
	chmod +x "bin/$1"
}
streams_that_end_too()
{
	another zcc "case \$* in *request*) exec \"$BIN/zcc\" \"\$@\" -n 9 ;; esac
		exec \"$BIN/zcc\" \"\$@\" -t 1 --pace 1m"
	another zcs "echo trouble >&2; exec \"$BIN/zcs\" \"\$@\""
	BIN=$PWD/bin exits 1 "$load" -t 2 -n 300 -s 20
	grep -qx "load: the streams ended before the short ones did" err
	grep -qx "load: requests, wanted and served: 300 and 9" err
	[ "$(grep -cE "^load: (streams|requests): zcs said 1 lines, the first of them: trouble$" err)" -eq 2 ]
	nothing_left
}
check 'streams that end too early, requests that are fewer, a zcs that says something' streams_that_end_too

finish
