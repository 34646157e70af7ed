#!/bin/sh
# Counters past their edges, long runs, stopped clocks: the figures stay exact and the memory flat.
# tests/system/hostile.sh has thousands of clients, cyclesoak.sh and unsafe.sh soakers that were stopped.
#
# only: check-long
# seconds: 150
# limit: 3600
. "$TOP/tests/lib.sh"

loops=100000 files=70000 edge=4294967297 requests=20000 run_seconds=30
# zcc opens all files, with at most half of the descriptors
# shellcheck disable=SC3045 # dash, bash and busybox have these
ulimit -n 200000 2>/dev/null || files=$(($(ulimit -Hn) / 2 - 20))
flat_kib=256 # by which a process may grow
printf '0123456789' >ten

# arrives BYTES METHOD option...: zcc sends them, and both ends claim just these
arrives()
{
	bytes=$1
	shift
	[ "$1" != zerocopy ] || set -- "$@" --nodelay # it waits for completions that Nagle's algorithm delays
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion cubic -m "$@"
	bytes_of out | grep -Eqx "$bytes( $bytes)?"
	wait_until prints "$bytes" summed
}
# summed: the bytes in the summaries of zcs
summed() { sed -n 's/^ *127\.0\.0\.1:.*[,:] \([0-9]*\) bytes in .*/\1/p' zcs.out | awk '{ n += $1 } END { printf "%.0f\n", n }'; }

# memory PID KEY: VmRSS or VmHWM, in KiB.  is_flat BEFORE AFTER.  Sanitizers have memory of their own.
memory() { sed -n "s/^$2:[ 	]*\([0-9]*\) kB$/\1/p" "/proc/$1/status" 2>/dev/null; }
is_flat() { [ "$1" -gt 0 ] && { sanitized || [ "$2" -le $(($1 + flat_kib)) ]; }; }

mkdir many
( cd many && head -c $files /dev/zero | split -b 1 -a 4 - )
# In memory a hole takes no page.  Without a name the file ends with the test.
shm=$(mktemp -p /dev/shm 2>/dev/null) || shm=hole
exec 9<>"$shm"
rm "$shm"
ln -s /dev/fd/9 edge
truncate -s $edge edge
for method in $(senders); do
	it "-m $method: $loops loops, $files files and one of $edge bytes arrive, and are counted"; ( begin
		for raw in '' --raw; do
			start_zcs -I 0 $raw
			arrives $((loops * 10)) "$method" $raw -n $loops ten
			plain out | grep -q ", in $loops loops$"
		done
		# Most of them have no descriptor that stays open.
		start_zcs -I 0
		arrives $((2 * files)) "$method" -P 2 many/x*
		plain out | grep -q "^  $files files of $files bytes"
		# It has two entries.
		start_zcs -I 0
		arrives $edge "$method" edge
	); ok
done
rm -r many
for method in $(receivers); do
	it "zcs -m $method, with headers and --raw: a file of $edge bytes"; ( begin
		for raw in '' --raw; do
			start_zcs $raw -m "$method" -I 0
			arrives $edge sendfile $raw edge
		done
	); ok
done
exec 9<&-

sizes=10,1k,64k
it "--request $sizes -n $requests: no request fails, and both ends count the same bytes"; ( begin
	start_zcs --reply --json
	# What the first ones need stays allocated.
	exits 0 "$zcc" -s 0 -p "$PORT" --request $sizes -n 1000 -P 8 --json
	before=$(memory "$ZCS" VmHWM)
	exits 0 "$zcc" -s 0 -p "$PORT" --request $sizes -n $requests -P 8 --json
	is_flat "$before" "$(memory "$ZCS" VmHWM)"
	for size in 10 1024 65536; do
		grep -q "\"request_bytes\":$size,[^}]*\"bytes\":$((size * requests)),[^}]*\"connections\":$requests" out
	done
	stop_zcs
	grep "\"bytes\":$(((requests + 1000) * (10 + 1024 + 65536))),.*\"replies\":$((3 * (requests + 1000)))," zcs.out |
		grep -q '"refused":0,"silent":0,"too_large":0,"broken":0'
); ok

# both_agree: the objects of sender.out and zcs.out have the same bytes and files, and their intervals an order
both_agree()
{
	jq -es '.[0].end.sum_sent as $all | .[0].end.bytes_agree and
		([.[].end.sum_received] | all(.bytes == $all.bytes and .files == $all.files)) and
		([.[].intervals | map(.sum)] | all(
		    . as $i | all(range(1; length); $i[.].start >= $i[. - 1].start and $i[.].end > $i[. - 1].end)))' sender.out zcs.out
}
it "-t $run_seconds -I 0.05 --json: both ends' figures agree and their memory is flat"; ( begin; need jq
	start_zcs -I 0.05 --json
	start_zcc sender -P 2 -t $run_seconds -I 0.05 --json --congestion cubic --pace 80m
	# What there is once some intervals are over, against what there is at the end.
	met() { [ "$(cat sender.out | wc -c)" -gt 9000 ] && [ "$(cat zcs.out | wc -c)" -gt 9000 ]; }
	wait_until met
	sender_before=$(memory $sender VmRSS) zcs_before=$(memory "$ZCS" VmRSS)
	until gone $sender; do
		last=$(memory $sender VmRSS)
		sender_after=${last:-$sender_after}
		sleep 0.5
	done
	zcc_ends sender 0
	not [ -s sender.err ]
	is_flat "$sender_before" "$sender_after"
	is_flat "$zcs_before" "$(memory "$ZCS" VmRSS)"
	stop_zcs
	both_agree
	# A busy machine may miss some; what a socket still holds after the time may take another.
	jq -e ".intervals | length > 300 and length <= 610" sender.out
); ok

# A SIGSTOP of 2 seconds, with intervals of 0.2 s: one has the whole stop, and none makes up for those that were missed.
it 'zcc and zcs, each with a time-out of a second, stopped for 2 s: both ends agree, and one interval has the stop'; ( begin; need jq
	start_zcs --json -I 0.2 --idle-timeout 1
	start_zcc sender -I 0.2 --json --congestion cubic -t 4 -P 2 --timeout 1
	wait_until counts -gt 1 threads_of "$ZCS"
	sleep 0.5
	kill -STOP "$ZCS" $sender
	sleep 2
	kill -CONT $sender "$ZCS"
	zcc_ends sender 0
	not [ -s sender.err ]
	stop_zcs
	one_line zcs.err
	both_agree
	for end in sender.out zcs.out; do
		jq -e '.intervals | map(.sum) | (map(.seconds) | max) as $longest |
		    $longest >= 2 and length <= (last.end - $longest) / 0.2 + 3' $end
	done
); ok
finish
