#!/bin/sh
# tests/run: which tests it runs, and how long it waits for them.
. "$TOP/tests/lib.sh"

mkdir -p tree/tests
cp "$TOP/tests/run" tree/tests/run
run=$PWD/tree/tests/run

# stub NAME [line...]: a test that passes, with these lines in its head
stub()
{
	name=$1
	shift
	{
		printf '#!/bin/sh\n# A stub.\n'
		[ $# -eq 0 ] || printf '# %s\n' "$@"
		printf 'echo "ok 1 - x"\necho "1..1"\n'
	} >"tree/tests/t-$name.sh"
}
stub plain
stub long 'only: check-long'

# What runs here is not part of what runs this: no LONG, no sanitizers.
check 'a test that is only for check-long is not among those of check' '
	LONG= SANITIZE= exits 0 sh "$run"
	grep -q "^plain .*1 passed" out
	not grep "^long" out'
check 'a test that is only for check-long runs where it is named' '
	LONG= SANITIZE= exits 0 sh "$run" long
	grep -q "^long .*1 passed" out'
check 'with LONG=1 all tests run' '
	LONG=1 SANITIZE= exits 0 sh "$run"
	grep -q "^plain .*1 passed" out
	grep -q "^long .*1 passed" out'
check 'a test is ended after the seconds of its line limit:, and that is a failure' '
	stub slow "limit: 1"
	sed -i "s/^echo \"ok/exec sleep 600; &/" tree/tests/t-slow.sh
	LONG= SANITIZE= exits 1 sh "$run" slow
	grep -q "^not ok - slow did not finish" out
	rm tree/tests/t-slow.sh'

finish
