#!/bin/sh
# tests/mutate: a draw from the sources, and mutants of a made-up tree that its tests catch, miss, and
# never end on.
#
# only: check-long
# seconds: 100
# limit: 600
. "$TOP/tests/lib.sh"
if ! command -v python3 >/dev/null 2>&1; then
	skip 'mutants' 'no python3'
	finish
fi
own_tmpdir

# The made-up tree: twice(), which its test calls with 3, and once(), which no test calls.
mkdir -p tree/tests tree/build
cp "$TOP/tests/mutate" tree/tests/mutate
cat >tree/common.c <<'X'
int once(int n);
int twice(int n);

int once(int n)
{
	return n + 1; /* not tested */
}

int twice(int n)
{
	return n > 0 ? 2 * n : 0;
}
X
cat >tree/main.c <<'X'
int twice(int n);

int main(void)
{
	return twice(3);
}
X
cat >tree/Makefile <<'X'
all: program
program: build/common.o build/main.o
	gcc -o $@ $^
build/%.o: %.c
	@mkdir -p build
	gcc -Wall -g -O1 -c -o $@ $<
check: all
	@./program; status=$$?; echo "math 0 passed, 0 failed, 0 skipped (0 s)"; \
		[ $$status -eq 6 ] || { echo "not ok 1 - twice 3 is 6"; $(if $(HANG),$(HANG);) exit 1; }
X

# mutates STATUS [argument...]
mutates()
{
	want=$1
	shift
	exits "$want" python3 tree/tests/mutate "$@"
	[ -z "$(ls "$TMPDIR")" ]
}
same_seed_gives_same()
{
	exits 0 "$TOP/tests/mutate" --list 1 5
	[ "$(grep -c "^ *[1-5]  .*  ->  " out)" -eq 5 ]
	mv out first
	exits 0 "$TOP/tests/mutate" --list 1 5
	diff first out
}
check 'the same seed gives the same mutants of the sources' same_seed_gives_same
mutant_that_test_catches()
{
	mutates 0 --command "make check" --save table 1 6
	grep "caught by math (twice 3 is 6)" out | grep -q '2 \* n'
	grep "SURVIVED" out | grep -q "return n"
	[ "$(wc -l <table)" -eq 7 ]
	caught=$(grep -c "	caught	math	twice 3 is 6	" table)
	survived=$(grep -c "	survived	" table)
	[ $((caught + survived)) -eq 6 ]
	tail -n 1 out | grep -Eqx "all +$caught +$survived +0 +0"
}
check 'a mutant that the test catches, and one that it does not; the table has a row of each' mutant_that_test_catches
only_some()
{
	mutates 0 --only 4,6 --command "make check" --save one 1 6
	sed "1d; s/[^	]*$//" one >now
	sed -n "5s/[^	]*$//p; 7s/[^	]*$//p" table | diff - now
}
check '--only: some of them again, as they were' only_some
confirm_test_that_fails()
{
	mutates 0 --confirm --command "make check" 1 6
	tail -n 1 out | grep -Eqx "all +[1-6] +[0-6] +0 +0"
}
check '--confirm: a test that fails again has caught the mutant' confirm_test_that_fails
what_listed_as_equivalent()
{
	awk -F"	" 'NR > 1 { sub(/:.*/, "", $3); print $3, $2, $4, $5, "made up" }' OFS="	" table >tree/tests/mutate.equivalents
	mutates 0 --list 1 2
	grep -e "  ->  " out >drawn
	[ "$(wc -l <drawn)" -eq 2 ]
	cut -f 4,5 table | sed "1d; s/	/  ->  /" | not grep -Ff - drawn
	rm tree/tests/mutate.equivalents
}
check 'mutants that are listed as equivalent are not drawn' what_listed_as_equivalent
first_failure_ends_run()
{
	mutates 0 --limit 60 --command 'make check HANG="sleep 600"' 1 6
	grep -q "caught by math" out
}
check 'the first failure ends a run that would hang' first_failure_ends_run
tests_that_run()
{
	mutates 0 --limit 2 --command "make check >log || sleep 600" 1 6
	grep -q "TIMED OUT (the limit of 2 s)" out
	mutates 0 --command "make check >log || exit 124" 1 6
	grep -q "TIMED OUT (the limit of the command)" out
}
check 'tests that run into --limit leave the mutant undecided' tests_that_run
interrupted_no_directory()
{
	(exec env --default-signal=INT python3 tree/tests/mutate --command "echo \$\$ >$PWD/begun; sleep 600" 1 2 >log 2>&1) &
	pid=$!
	remember $pid
	wait_until [ -s begun ]
	kill -INT $pid
	status=0
	wait $pid || status=$?
	[ $status -eq 130 ]
	[ -z "$(ls "$TMPDIR")" ]
	gone "$(cat begun)"
}
check 'interrupted: no directory and no process is left' interrupted_no_directory
tests_that_fail()
{
	mutates 1 --command 'echo "not ok 1 - x"' 1 2
	grep -q "^mutate: the tests fail without a mutation: : x: " err
}
check 'tests that fail without a mutation are an error' tests_that_fail
usage_no_mutants()
{
	mutates 2 1 0
	mutates 2 --only 3 1 2
}
check 'usage: no mutants, or none of that number' usage_no_mutants
against_tests_and_makefile()
{
	mkdir -p other/tests
	sed "s/twice 3 is 6/some number/" tree/Makefile >other/Makefile
	mutates 0 --against other --command "make check" 1 6
	grep "caught by math (some number)" out
	not grep "twice 3" out
}
check '--against: the tests and the Makefile are those of the other tree' against_tests_and_makefile
save_to_folder()
{
	mutates 1 --save missing/table 1 6
	one_line err
}
check '--save to a folder that does not exist: one line, status 1' save_to_folder

finish
