#!/bin/sh
# tests/bench/results: its files, its usage, and that an interrupt leaves nothing behind.
#
# group: quiet
# only: check-long
. "$TOP/tests/lib.sh"

if ! command -v python3 >/dev/null 2>&1; then
	skip 'tests/bench/results' 'no python3'
	finish
fi
results=$TOP/tests/bench/results
own_tmpdir

# column FILE NAME: its values
column()
{
	awk -F '\t' -v name="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
		NR > 1 { printf "%s ", $c }' "$1"
}

# parses FILE CASES: whether FILE is one object with CASES cases
json=python3
parses()
{
	python3 -c 'import json, sys; assert len(json.load(sys.stdin)["cases"]) == '"$2" <"$1"
}
if command -v jq >/dev/null 2>&1; then
	json=jq
	parses()
	{
		jq -es "length == 1 and (.[0] | .system.cpus > 0 and (.cases | length) == $2)" "$1"
	}
fi

two_experiments_table_figures()
{
	soaking "$results" -t 0.3 -r 1 -o folder requests sweep
	plots=
	not command -v gnuplot || plots="requests.svg sweep.svg"
	for f in requests.json requests.tsv requests.txt sweep.json sweep.tsv sweep.txt $plots; do
		[ -s "folder/$f" ]
		echo "$f"
	done | sort >files
	ls -A folder | sort | diff files -
	nothing_left
}
check 'two experiments: a table, figures and a plot of each, and no other file' two_experiments_table_figures
requests_lines()
{
	grep -Eqx "10 bytes [1-9][0-9.]* conn/s" folder/requests.txt
	[ "$(column folder/requests.tsv bytes)" = "10 723 724 1024 65536 1048576 " ]
	for n in $(column folder/requests.tsv connections_per_sec); do
		awk -v n="$n" "BEGIN { exit !(n > 0) }"
	done
}
check 'requests: the lines of 1999, and a row for each size' requests_lines
sweep_table()
{
	[ "$(grep -Ecx "[0-9]+ +-?[0-9.]+% +[0-9.]+%( +-?[0-9.]+){3} +[1-9][0-9]*" folder/sweep.txt)" -eq 9 ]
	[ "$(column folder/sweep.tsv bytes)" = "256 512 1024 2048 4096 8192 16384 32768 65536 " ]
	for name in kbytes_per_sec load_percent cost_us_per_kib; do
		[ "$(column folder/sweep.tsv $name | wc -w)" -eq 9 ]
	done
}
check 'sweep: the table of 2001, and a row for each size' sweep_table
head_kernel_cpus_interface()
{
	head -n 6 folder/sweep.txt >heading
	grep -qF "$(uname -sr), $(getconf _NPROCESSORS_ONLN) CPUs" heading
	grep -q "^Interface lo: driver .*, MTU [0-9]*, congestion control [a-z]" heading
	grep -q "^Offloads: " heading
}
check 'the head: kernel, CPUs, interface, offloads' head_kernel_cpus_interface
json_parses()
{
	parses folder/requests.json 6
	parses folder/sweep.json 9
}
check_with $json 'the JSON parses, and has a case for each row' json_parses

usage_results()
{
	exits 2 "$results" $arguments
	one_line err
	not [ -e x ]
	nothing_left
}
for arguments in '' 'sweep' '-o x nonsense' '-o x -r 0' '-o x -t soon' '-o x -z' '-o x -p 1' '-o'; do
	check "usage: results $arguments" usage_results
done
host_without_zcs()
{
	exits 1 "$results" -s 127.0.0.1 -p 1 -o x sweep
	grep -q "results: cannot send to the zcs on 127.0.0.1, port 1" err
	not [ -e x ]
	nothing_left
}
check 'a host without zcs: what failed, and no folder' host_without_zcs

# until_there FOLDER command...: a run in the background, until the command succeeds; RESULTS is its pid.
# It waits itself, for a minute, where others soak.
until_there()
{
	folder=$1
	shift
	# As from a terminal: a shell would start it in the background with SIGINT ignored.
	env --default-signal=INT "$results" -t 0.9 -r 9 -o "$folder" sweep >out 2>err &
	RESULTS=$!
	remember $RESULTS
	for minute in 20 40 60; do
		! wait_until or_gone $RESULTS "$@" || return 0
	done
	echo "not within $minute s"
	kill -TERM $RESULTS
	ended $RESULTS
	return 1
}
sigint_while_it_measures()
{
	cp -R folder before
	until_there folder grep -q sweep: err
	wait_until not prints_nothing workers
	kill -INT $RESULTS
	ended $RESULTS
	nothing_left
	diff -r before folder
}
check 'SIGINT while it measures: it ends, nothing runs, and the folder is as it was' sigint_while_it_measures
sigterm_before_it_measures()
{
	until_there y not prints_nothing workers
	kill -TERM $RESULTS
	ended $RESULTS
	nothing_left
	not [ -e y ]
}
check 'SIGTERM before the first table: it ends, nothing runs, and there is no folder' sigterm_before_it_measures

if "$TOP/tests/lab" true 2>/dev/null; then
	on_two_hosts()
	{
		soaking "$TOP/tests/lab" "$results" -t 0.1 -r 1 -o lab sweep
		grep -q "^Interface eth0: driver veth, MTU 1500" lab/sweep.txt ||
			not command -v ethtool
		grep -q "^Interface eth0: driver .*, MTU 1500" lab/sweep.txt
		[ "$(wc -l <lab/sweep.tsv)" -eq 10 ]
		nothing_left
	}
	check 'on two hosts, which are network namespaces' on_two_hosts
else
	skip 'on two hosts' 'needs root, ip(8) and network namespaces'
fi

finish
