#!/bin/sh
# Each system call fails once, or moves less than it was asked to: what zcc and zcs make of it.  A run under
# tests/helpers/preload/fault.c shows which calls a program makes of the C library, and then one of them fails in each
# run.  tests/unit/{soaker,keeper,spin}.c have those of the soakers.
#
# A scenario is a function `scenario` that runs the program behind $UNDER and leaves its exit status
# in `status`, its output in `out` and `err`, and a function `right`, which says whether a report
# with status 0 is right.
#
# group: sleeps
# seconds: 9
# limit: 400
. "$TOP/tests/lib.sh"

# What each call fails with, and what must come of it:
#
#	recovered  status 0, a right report, and no line on stderr that a run without a fault lacks
#	reported   status 1 and one such line.  A scenario that counts failures may count it instead.
#	either     a right report, or status 1 and a line
#
# The first expression that fits PROGRAM,CALL,OBJECT decides.  EAGAIN means of pthread_create(3) that there can be no
# more threads, of a socket that its time-out is over.  EINTR and short calls are all recovered from.
cat >rules <<'EOT'
,(read|pread64),.*/(file|byte|empty)$ - EIO -
,write,TCP - EPIPE,ECONNRESET,ENOMEM,EAGAIN -
,write,.*/err$ - - -
,write, - ENOSPC,EIO -
zcs,(send|recv),TCP - - ECONNRESET,EAGAIN,ENOBUFS
,send,TCP - EPIPE,ECONNRESET,ENOMEM,EAGAIN ENOBUFS
,recv,TCP:MSG_DONTWAIT - ECONNRESET -
,recv,TCP - ECONNRESET,EAGAIN -
zcs,read,TCP - - ECONNRESET,EAGAIN
zcs,splice,TCP - EIO,ENOMEM,EPIPE -
,(sendfile64|splice),TCP - EIO,ENOMEM,EPIPE,EAGAIN -
,splice, - EIO,ENOMEM,EPIPE -
,mmap64,.*/(file|byte)$ - ENODEV,ENOMEM -
,(memfd_create|epoll_create1|pipe2|eventfd), - EMFILE,ENOMEM -
zcs,socket,2: - - EMFILE,EAFNOSUPPORT
,socket,2:1 - EMFILE,EAFNOSUPPORT -
,connect,TCP - ECONNREFUSED,ETIMEDOUT -
,listen, - EADDRINUSE -
,accept4, ECONNABORTED - EMFILE,ENOMEM
,setsockopt,(1:|6:(4|5|6)$|41:) - - ENOBUFS
,setsockopt, - ENOBUFS,EPERM -
,ppoll,-$ - - -
,epoll_ctl, - ENOMEM,ENOSPC -
,pthread_create, - EAGAIN,ENOMEM -
,(malloc|calloc|realloc), - - ENOMEM
,(fchmod|renameat|unlinkat), - EPERM,EACCES -
,fsync, - EIO,ENOSPC -
zcs,getaddrinfo, - - ENOMEM
,getaddrinfo, - ENOMEM -
zcs,getnameinfo, - - -
,(nanosleep|close), - - -
. - - EIO
EOT

faults_missing=
preloaded fault || faults_missing='no library can be preloaded'
[ -z "$SANITIZE" ] || faults_missing='a sanitizer wants to be loaded first'
besides=true  # what must hold in any case: a command, which says what is wrong
counted=false # whether a report with status 0 counts the failure: a command
: >planned

# Reads the log of a run, and prints `OUTCOME FAULT` for what can be made to fail and has not been planned before:
# in `make check-long` each call of a kind, with each error; in `make check` the first, with the first of each outcome.
cat >faults.awk <<'EOT'
	FILENAME == "rules" { rule[++rules] = $0; next }
	FILENAME == "planned" { planned[$0]; next }
	split($0, part, ",") != 3 || $0 !~ "^zc" || ++count[$0] > (long ? 20 : 1) { next }
	{
		i = 0
		do
			split(rule[++i], column, " ")
		while ($0 !~ column[1])
		for (o = split("recovered reported either", outcome, " "); o > 0; o--) {
			n = split(column[o + 1], error, ",")
			for (k = 1; k <= (long ? n : 1); k++) {
				fault = outcome[o] " FAULT=" count[$0] "," error[k] "," $0
				if (error[k] != "-" && !(fault in planned))
					print fault
			}
		}
	}
EOT

# new_lines: how many on stderr the run without a fault had none like, whatever their numbers are
new_lines() { sed 's/[0-9][0-9.]*/N/g' err | grep -cvxF -f usual || :; }

# wrong: what is wrong with the run, whichever call failed
wrong()
{
	case $status in
	0)
		right || echo 'neither an error nor a right report'
		case $outcome in
		recovered) [ "$(new_lines)" -eq 0 ] || echo 'recovered, but not without a word' ;;
		reported) $counted || echo 'not reported' ;;
		esac
		;;
	1)
		[ $outcome != recovered ] || echo 'not recovered from'
		has_line "$program: ?*" err || echo 'nothing on stderr that says what failed'
		[ $outcome != reported ] || [ "$(new_lines)" -eq 1 ] || echo 'not just one line'
		;;
	124 | 137) echo 'it hung' ;;
	*) echo 'another exit status than that of a failure, or a signal' ;;
	esac
	! has_line 'closed twice' log || echo 'closed twice'
	$besides
}

# run_with OUTCOME SETTING: the scenario
run_with()
{
	outcome=$1 fault=$2
	UNDER="command timeout -k 5 $((40 * SLOW)) env LD_PRELOAD=./fault.so FAULT_LOG=log $fault"
	: >log
	scenario
	[ "$fault" = "${fault#FAULT=}" ] || has_line reached log || return 0
	wrong >complaints
	[ -s complaints ] || return 0
	{
		echo "$outcome $fault: exit status $status"
		cat complaints
		head -n 5 out err
	} >>bad
}

# faults 'name' program: makes the scenario's calls fail, one after the other
faults()
{
	name=$1 program=$2
	if [ -n "$faults_missing" ]; then
		skip "$name: faults" "$faults_missing"
		return
	fi
	: >bad
	echo - >usual
	run_with either ''
	sed 's/[0-9][0-9.]*/N/g' err >>usual
	cp log calls
	for n in $(seq "$(scale 2 15)"); do
		run_with recovered "SHORT_SEED=$(($(new_seed) + n))"
	done
	check "$name: calls that are interrupted, or move less, change nothing" none_bad
	: >bad
	awk -v long="$LONG" -f faults.awk rules planned calls >plan
	[ -s plan ] || return 0
	cat plan >>planned
	while read -r outcome fault <&4; do
		run_with "$outcome" "$fault"
	done 4<plan
	check "$name: $(wc -l <plan) calls fail, one a run: each is reported, or the report is right" none_bad
}
none_bad()
{
	cat bad
	not [ -s bad ]
}

#
# Scenarios
#
head -c 70000 /dev/urandom >file
: >empty
printf a >byte

# json_line FILE: one object
json_line() { one_line "$1" && has_line '{*}' "$1"; }

# sent: how many bytes of the files zcc must have sent, each twice; those that it skips, which it names, are not among
# them
sent()
{
	sent=70001
	for f in file byte; do
		[ "$outcome" = recovered ] || ! has_line "zcc: $f: skipped: ?*" err || sent=$((sent - $(wc -c <$f)))
	done
	echo $((sent * 2))
}

# zcc, against a server that is well: both ends agree, even if there is no receipt; bytes that could not be read are
# not counted; and no rate is of all the time since the machine was booted.  A failure is an error in its JSON, too, once
# the options are read, unless that cannot be written.
scenario()
{
	status=0
	[ ! -e before ] || cp before saved
	# shellcheck disable=SC2086
	$UNDER "$zcc" -s 0 -p $PORT $args >out 2>err || status=$?
}
right()
{
	json_line out && grep -q "\"sum_sent\":{\"start\":0,[^}]*\"bytes\":$(sent)," out || return 1
	! grep -Eq '(interrupts|packets_in|packets_out)_per_second":[0-9]{9}|"[a-z]*_mss":0[,}]' out || return 1
	grep -q '"bytes_agree":true' out || { ! grep -q sum_received out && wait_until met; }
}
met() { tail -n 1 zcs.out | grep -q "\b$(sent) bytes in "; }
besides=json_error
json_error()
{
	[ "$status" -eq 0 ] || grep -Eq ': (stdout|output|options): ' err || { json_line out && grep -q '"error":"' out; } ||
		echo 'JSON that does not say what went wrong'
}
{ u32 2; for pass in 1 2; do u32 3 70000; cat file; u32 0 1; cat byte; done; } >stream
start_zcs
for m in sendfile 'send -b 9k' 'write -b 9k' splice 'zerocopy -b 9k' mmap; do
	args="-m $m file empty byte -n 2 --json"
	faults "zcc -m $m" zcc
	beside "zcc -m $m, interrupted: exactly the bytes, with headers, and by --raw -k -b 997"; ( begin
		cp ../file ../empty ../byte .
		[ -z "$faults_missing" ] || skip_check "$faults_missing"
		for seed in $(seq "$(scale 2 9)"); do
			disturbed="env LD_PRELOAD=../fault.so SHORT_SEED=$(($(new_seed) + seed))"
			start_peer -w got
			exits 0 $disturbed "$zcc" -s 0 -p "$PORT" -m $m -n 2 file empty byte
			ended "$PEER"
			cmp ../stream got
			start_peer -w got
			exits 0 $disturbed "$zcc" -s 0 -p "$PORT" --raw -m ${m%% *} -k -b 997 --congestion reno file empty byte
			ended "$PEER"
			cat file byte | cmp - got
		done
	) & later
done
args='-P 2 --json -k -B 0 --nodelay --timeout 5 -o 100k --mss 1000 --pace 100m file empty byte'
faults 'zcc -P 2, and options of sockets' zcc

# What --save keeps is the old file, or a new one that is whole.
right() { [ "$(grep -c . saved)" -gt "$(grep -c . before)" ]; }
besides=whole
whole()
{
	[ "$status" -eq 0 ] || cmp before saved
	for f in saved?*; do [ ! -e "$f" ] || echo "left: $f"; done
	rm -f saved?*
}
"$zcc" -s 0 -p $PORT -q -n 1 -r 2 --save before file >/dev/null 2>&1
args='-q -n 1 -r 2 --save saved file'
faults 'zcc --save' zcc
stop_zcs

# Of three requests those that went wrong are counted.
right()
{
	json_line out && awk -F '[:,{}"]+' '{ for (i = 1; i < NF; i++) {
			if ($i == "connections" && !n) n = $(i + 1)
			if ($i == "bytes") bytes = $(i + 1)
			if ($i ~ /^(refused|reset|no_ports|timeout|closed|wrong_length|other)$/) failed += $(i + 1)
		} }
		END { exit n < 1 || n + failed != 3 || bytes != 100 * n || (outcome == "recovered" && n != 3) }
		' outcome="$outcome" out
}
besides=json_error counted=failure_in_json
failure_in_json() { grep -Eq '"(refused|reset|no_ports|timeout|closed|wrong_length|other)":[1-9]' out; }
start_zcs --reply
args='--request 100 -n 3 -P 2 --json'
faults 'zcc --request' zcc
stop_zcs
counted=false besides=true

# zcs, with a client that is well.  A client that it rejects leaves its place to the next.
zcs_start()
{
	: >err
	: >client
	# shellcheck disable=SC2086
	$UNDER "$zcs" -p 0 $args >out 2>err &
	p=$!
	until has_line '*listening*:[0-9]*' err || ! kill -0 $p 2>/dev/null; do
		sleep 0.01
	done
	PORT=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' err)
}
scenario()
{
	zcs_start
	while [ -n "$PORT" ] && kill -0 "$p" 2>/dev/null; do
		! timeout 10 "$zcc" -s 0 -p "$PORT" file empty byte >client 2>&1 || break
	done
	status=0
	wait "$p" || status=$?
}
right()
{
	grep -q ' 70001 bytes in ' out && grep -q ' 3 files' out && grep -q 'all bytes sent were received\|no receipt' client
}
for m in $(methods_of zcs | grep -v '^uring'); do
	args="-1 -m $m"
	faults "zcs -1 -m $m" zcs
done

scenario()
{
	zcs_start
	[ -z "$PORT" ] || timeout 10 "$zcc" -s 0 -p "$PORT" --request 100 -n 3 --timeout 1 >client 2>&1 || :
	# Until its fork(2) returns timeout(1) ends by a signal without passing it on.
	while [ "$(stat_field "$p" 3 2>/dev/null)" = R ]; do :; done
	kill -TERM $p 2>/dev/null
	status=0
	wait $p || status=$?
}
# It prints how many it served, and what became of the others.
right()
{
	awk '/^total:/ { n = $2; bytes = $4; bad = $6 + $8 + $10 + $13 }
		END { exit !(bytes == 100 * n && (n == 3 || n + bad >= 3) && (outcome != "recovered" || n == 3)) }
		' outcome="$outcome" out
}
counted=failure_in_total
failure_in_total() { ! grep -q '^total: .*; 0 rejected, 0 silent, 0 too large, 0 broken$' out; }
args='--reply'
faults 'zcs --reply' zcs

together
finish
