#!/bin/sh
# Several connections at a time, the warm-up, lines while it runs, and how it ends.
#
# group: sleeps
# seconds: 5
. "$TOP/tests/lib.sh"

head -c 300000 /dev/urandom >file
paced='--congestion reno --pace 20m'
rate='[0-9]+ kbytes/sec \([0-9.]+ Gbit/s\)'
row='[0-9.]+-[0-9.]+ +[0-9,]+ +[0-9.]+ [MG]bit/s( +[0-9,.-]+)*'

# summaries_of FILE: the bytes of each client
summaries_of() { sed -n 's/^ *127.0.0.1:.*[,:] \([0-9]*\) bytes in .*/\1/p' "$1"; }
beside '-P 5: five connections, each with the file set, a row for each, a total'; ( begin
	start_zcs
	exits 0 "$zcc" -s 0 -p "$PORT" -P 5 -n 3 ../file ../tiny
	[ "$(bytes_of out)" = '4500015 4500015' ]
	grep -q 'all bytes sent were received' out
	# Without a CPU
	prints '1 2 3 4 5' eval "plain out | sed -nE '/^  streams /,\$s/^ +([1-5]) +- +[1-9][0-9]* +[0-9]+ +[0-9.]+ +[0-9]+\$/\1/p' | xargs"
	wait_until counts -eq 1 summaries "^total of 5 clients: $rate, 4500015 bytes in [0-9.]+ s(,|$)"
	[ "$(summaries_of zcs.out | sort | uniq -c | tr -s ' ')" = ' 5 900003' ]
) & later
beside '-B of zcs and of zcc: threads are bound to these CPUs one after the other, and zcc reports both'; ( begin
	case $(sed -n 's/^Cpus_allowed_list:	//p' /proc/self/status) in
	0-[1-9]* | 0,1*) ;;
	*) skip_check 'CPUs 0 and 1 are not both to be had' ;;
	esac
	start_zcs -I 0.05 -B 1,0,1
	start_zcc held -t 60 --pace 20m -P 4 -B 0,1
	bound_to() { cpus_of "$1" | sort | paste -s -d ' '; }
	met() { [ "$(bound_to $ZCS)" = '0 1 1 1 1' ] && [ "$(bound_to $held)" = '0 0 0 1 1' ]; }
	wait_until met
	wait_until counts -ge 2 grep -c '4 clients' zcs.out
	zcc_ends held 143 TERM
	prints '1:0 to 1 2:1 to 0 3:0 to 1 4:1 to 1' eval "sed -nE 's/^ +([1-4]) +([0-9] to [0-9]) +[0-9,]+ .*/\\1:\\2/p' held.out | xargs"
) & later
beside 'zcs -1: all that come together are served, also 100 that -t lets send nothing, then exit 0'
( begin
	start_zcs -1
	exits 0 "$zcc" -s 0 -p "$PORT" -P 4 -n 5 ../file
	[ "$(bytes_of out)" = '6000000 6000000' ]
	wait "$ZCS"
	[ "$(grep -c '^127.0.0.1:' zcs.out)" -eq 4 ]
	[ "$(summaries '^total of 4 clients: .* 6000000 bytes')" -eq 1 ]
	start_zcs -1
	exits 0 "$zcc" -s 0 -p "$PORT" -P 100 -t 0.001 --congestion reno
	grep -q 'all bytes sent were received' out
	ended $ZCS
	not grep -v 'listening on\|lines\{0,1\} about clients w.* omitted$' zcs.err # of empty ones
) & later
# What is queued when -t is over is sent at the pace, too: the send buffer has seconds of it.
beside '--pace: little is sent after -t, and --timeout takes no slow pace for a slow server'; ( begin
	start_zcs
	exits 0 "$zcc" -s 0 -p "$PORT" -P 2 -t 1 --pace 200k --timeout 0.2 --congestion reno
	grep -q 'all bytes sent were received' out
	[ "$(bytes_of out | cut -d ' ' -f 1)" -lt 3000000 ]
) & later

beside '--warmup: if all is sent, or zcc interrupted, before it ends, nothing was measured: one line, a failure'; ( begin
	start_zcs
	fails 'everything was sent before the warm-up ended' "$zcc" -s 0 -p "$PORT" --warmup 60 -n 2 ../file
	wait_until grep -q '127.0.0.1:[0-9]*: closed in its warm-up, after 600000 bytes' zcs.err
	[ "$(wc -l <zcs.err)" -eq 2 ]
	wait_until counts -eq 1 summaries '^127.*: 0 bytes in .* after 600000 bytes of warm-up(,|$)'
	start_zcs
	start_zcc held --warmup 60 -t 60 --pace 20m
	wait_until counts -eq 2 threads_of $ZCS
	zcc_ends held 130 INT
	one_line held.err
	grep -qx 'zcc: interrupted before the warm-up ended: nothing was measured' held.err
) & later

# kinds_of FILE: of its lines, each but those that repeat the one before
kinds_of()
{
	sed -E "/^  (127|to )/,\$d; /^ +interval, s +KiB/d; s@^ +stream ([12]) .*@\\1@
		s@^ +$row  warm-up\$@warm@; s@^ +$row\$@line@; s@^$rate\$@report@; s@^127.*@summary@" "$1" | uniq
}
beside '-I -P 2: both ends print a row for each interval before the report, warm-up and streams marked, with --timestamps, too'; ( begin
	for t in 0.4 4; do # on a busy machine there may be no interval between the warm-up and the end of 0.4 s
		start_zcs -I 0.05 --timestamps
		exits 0 "$zcc" -s 0 -p "$PORT" -I 0.05 --warmup 0.4 -t $t -P 2 $paced
		wait_until grep -Eq '^[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{3} +[0-9.]+-.*  2 clients' zcs.out
		kinds_of out | paste -s -d ' ' >kinds
		! grep -Eqx '(warm 1 2 )+(line 1 2 )+report' kinds || break
	done
	cat kinds
	grep -Eqx '(warm 1 2 )+(line 1 2 )+report' kinds
	no_warning err
	exits 0 "$zcc" -q -s 0 -p "$PORT" -I 0.05 -t 0.3 -P 2 $paced
	prints 'line report' eval 'kinds_of out | xargs'
) & later
beside 'a line of progress is on a terminal alone, gone before the report, and not with -q, -I, --json or -d'; ( begin; need script
	start_zcs
	all="\"$zcc\" -s 0 -p $PORT -t 0.6 $paced"
	SHELL=/bin/sh && export SHELL
	script -qec "$all -q >r1 & $all -I 0.2 >r2 & $all --json >r3 & $all -d >r4 & wait" none </dev/null >said
	script -qec "\"$zcc\" -s 0 -p $PORT -t 1.2 $paced >report" typescript </dev/null >/dev/null
	cat -v none typescript report
	tr '\r' '\n' <none | not grep '^[0-9.]* s'
	cat r1 r2 r3 r4 report | not grep "$(printf '\r')"
	tr '\r' '\n' <typescript | grep -m 1 ' s of 1.2: ' | not grep waiting
	# The last that is written wipes it out.
	tr '\r' '\n' <typescript | grep -v '^Script ' | grep . | tail -n 1 | cat -v | grep -Fqx '^[[K'
	grep -Eqx "$rate" report
) & later

together
finish
