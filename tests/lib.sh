# What the system tests share: assertions, waiting, and the programs under test.
# A test is a script that sources this file, calls `check` or `skip` for each assertion, and ends
# with `finish`.  Its output is TAP.  It runs in an empty directory of its own.
#
#	$BIN      where zcc, zcs, cyclesoak and run_rr are
#	$HELPERS  where the tests' own programs are
#	$TOP      the source tree
#	$SANITIZE the sanitizers that the programs are built with, if they are
#	$LONG     not empty where the full sizes are asked for: `make check-long`
#	$SLOW     by what to multiply limits and waits: 1 where the machine is not emulated
#	$SOAKS_ALONE not empty where no other test soaks while this one runs: the group soaks or quiet
#	$OWN_NETWORK not empty where the test has a network namespace to itself
#	$ON       what to put before zcs and the tests' receiver, to run them on a host of tests/lab

count=0
failed=0
PIDS=$PWD/pids
OBJECTS=$PWD/objects.kept # which tests/run validates
REPEATS=$PWD/repeats # a line for each time that the check at hand began anew
PS4='+: ' # before each command that a check runs
. "$TOP/tests/steal.sh"

# check 'what must hold' command [args...]: runs the command, most often a function of the test, in a
# subshell under set -e.  With exit status 77 it is skipped, for the reason that it printed last.
check()
{
	what=$1
	shift
	attempt "$@"
	conclude
}

# attempt command [args...]: its output and the commands that it runs are in check.log, its status in
# `verdict`.  tests/run shows the title of a check that does not end.
attempt()
{
	it "$what"
	# Not `if ( set -e; ... )`: a condition would switch set -e off, in functions too.
	( begin; [ $# -gt 0 ]; "$@" )
	verdict=$?
}

# it 'what must hold'; ( begin; need TOOL
#	command...
# ); ok
# A check of several commands: a subshell under set -e, whose output is in check.log.
it()
{
	what=$1
	echo "# check: $what" >&2
	read_uptime
	begun=$uptime
}
# long 'what must hold' && ( begin ... ); ok: only where the full sizes are asked for
long()
{
	what=
	[ -z "$LONG" ] || it "$1"
	[ -n "$what" ]
}
begin()
{
	set -e
	exec >check.log 2>&1
	[ "${SLOW:-1}" -gt 1 ] || set -x
}
ok()
{
	verdict=$?
	[ -z "$what" ] || conclude
}

# need TOOL...: skips the check at hand where one of them is missing, or strace may not trace
need()
{
	for tool in "$@"; do
		if [ "$tool" = strace ]; then
			can_trace || skip_check 'no strace, or it may not trace'
		else
			command -v "$tool" >/dev/null 2>&1 || skip_check "no $tool"
		fi
	done
}

# read_uptime: sets `uptime` to the seconds since the machine started
read_uptime()
{
	read -r uptime </proc/uptime
	uptime=${uptime%%.*}
}
read_uptime
test_began=$uptime

# may_repeat: whether the test is young enough to try again what others have kept from the CPUs: it is to
# end before its limit, on a machine that stays busy, too
may_repeat()
{
	read_uptime
	[ $((uptime - test_began)) -lt $((${SLOW:-1} * $(scale 60 1200))) ]
}

# conclude: the line of the check that was attempted.  Where it failed the last three of its commands follow
# its output, the one that failed last, or a function of this file and what it ended on.
conclude()
{
	read_uptime
	[ -n "$LONG" ] || [ $((uptime - begun)) -lt $((15 * ${SLOW:-1})) ] ||
		echo "# SLOW: $what: $((uptime - begun)) s"
	if [ -s "$REPEATS" ]; then
		echo "# REPEATED: $what: $(wc -l <"$REPEATS")"
		rm "$REPEATS"
	fi
	if [ $verdict -eq 77 ]; then
		skip "$what" "$(output_of_check | tail -n 1)"
		return
	fi
	count=$((count + 1))
	if [ $verdict -eq 0 ]; then
		echo "ok $count - $what"
	else
		failed=$((failed + 1))
		echo "not ok $count - $what"
		output_of_check | sed 's/^/# /'
		sed -n '/: untraced /d; s/^++*: /# failed at: /p' check.log | tail -n 3
	fi
}

# output_of_check: what the last check printed
output_of_check()
{
	sed '/^++*: /d' check.log
}

# repeating: notes that the check at hand begins anew
repeating()
{
	echo again >>"$REPEATS"
}

# skip_check 'why': ends the check at hand, which is skipped
skip_check()
{
	echo "$1"
	exit 77
}

# untraced command [args...]: without its commands in the trace of the check.  This is for functions that
# wait, and for those whose stderr is a file.
untraced()
{
	{ shell_options=$-; set +x; } 2>/dev/null
	case $shell_options in
	*x*) ;;
	*)
		"$@"
		return
		;;
	esac
	untraced_status=0
	"$@" || untraced_status=$?
	{ set -x; return $untraced_status; } 2>/dev/null
}

# check_long 'what must hold' command [args...]: only where the full sizes are asked for
check_long()
{
	[ -z "$LONG" ] || check "$@"
}

# not command...: in a check, where `! command` would fail nothing: set -e ignores it.
not()
{
	! untraced "$@"
}

# skip 'what is not tested' 'why'
skip()
{
	rm -f "$REPEATS"
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

# check_with 'tool' 'what' command [args...]: skipped where the tool is missing.
check_with()
{
	if command -v "$1" >/dev/null 2>&1; then
		shift
		check "$@"
	else
		skip "$2" "no $1"
	fi
}

# can_trace: whether strace(1) is there and may trace, which is tried once
tracing=
can_trace()
{
	if [ -z "$tracing" ]; then
		tracing=no
		! strace -o /dev/null true 2>/dev/null || tracing=yes
	fi
	[ $tracing = yes ]
}

# check_traced 'what' command [args...]: skipped where nothing may be traced
check_traced()
{
	if can_trace; then
		check "$@"
	else
		skip "$1" 'no strace, or it may not trace'
	fi
}

# can_uring [zc]: whether this kernel lets the test use io_uring(7), with SEND_ZC
can_uring()
{
	"$HELPERS/ring" try "$@"
}

# Tests that run side by side share what their user may lock, of which uring-zc takes 4 MiB a run.
may_lock_much()
{
	[ "$(id -u)" -eq 0 ] ||
		awk '/^Max locked memory/ { ok = $4 == "unlimited" || $4 >= 2 ^ 26 } END { exit !ok }' /proc/self/limits
}

# uring_senders, uring_receivers: the methods of zcc, and of zcs, that take io_uring(7), where it can be
# used.  system/uring.sh has a line for it where it cannot.
uring_senders()
{
	if can_uring; then echo uring; fi
	if can_uring zc && may_lock_much; then echo uring-zc; fi
}

uring_receivers()
{
	if can_uring; then echo uring; fi
}

# methods_of TOOL: those in the --help of zcc or zcs, a line each
methods_of()
{
	"$BIN/$1" --help | sed -zE '
		s/.*--method=METHOD +one of ([a-z-]+ \(default\)(,\s+[a-z-]+)*).*/\1\n/
		s/ \(default\)//
		s/,\s+/\n/g'
}

# senders, receivers: the methods of zcc, and of zcs, that can be used here
senders()
{
	methods_of zcc | grep -v '^uring'
	uring_senders
}

receivers()
{
	methods_of zcs | grep -v '^uring'
	uring_receivers
}

# sanitized [NAME]: whether the programs have sanitizers, or that one.  They see what others do not,
# and have memory, threads and system calls of their own.
sanitized()
{
	case $SANITIZE in
	*"$1"*) [ -n "$SANITIZE" ] ;;
	*) false ;;
	esac
}

# scale SHORT FULL: the size that is asked for, of `make check` or of `make check-long`
scale()
{
	if [ -n "$LONG" ]; then echo "$2"; else echo "$1"; fi
}

# new_seed: of random cases: always the same in `make check`, another each time in `make check-long`.  The
# test prints it, and takes one by hand.
new_seed()
{
	scale 1 "$(date +%s)"
}

# keep_json FILE...: keeps the JSON objects that the tools have printed there.  tests/run validates those of
# all tests in one process.  `exits` calls this; finish keeps those of the files in the test's directory.
keep_json()
{
	grep -has '^{"schema":' "$@" >>"$OBJECTS" || :
}

finish()
{
	find "${OBJECTS%/*}" -maxdepth 1 -type f ! -name "${OBJECTS##*/}" -size -8192k \
	    -exec grep -has '^{"schema":' {} + >>"$OBJECTS"
	echo "1..$count"
	exit $((failed > 0))
}

# Kills what the test started in the background, by its id, and by when it started: where threads
# come and go by the thousand, an id belongs to another process, or thread, within seconds.
cleanup()
{
	[ -f "$PIDS" ] || return
	while read -r p started; do
		[ -z "$started" ] || [ "$(stat_field "$p" 22 2>/dev/null)" != "$started" ] ||
			kill -KILL "$p" 2>/dev/null
	done <"$PIDS"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

remember()
{
	echo "$1 $(stat_field "$1" 22 2>/dev/null)" >>"$PIDS"
}

# wait_until command [args...]: until it succeeds, up to 20 seconds, or $SLOW times that: every 50 ms, and
# every 100 ms once it has taken half a second.  A condition of more than one command is a function, `met`
# where it has no better name.
wait_until()
{
	untraced until_met "$@"
}
until_met()
{
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		if [ $tries -gt $((205 * ${SLOW:-1})) ]; then
			echo "waited in vain for: $*"
			show_condition "$@"
			return 1
		elif [ $tries -le 10 ]; then
			sleep 0.05
		else
			sleep 0.1
		fi
	done
}

# show_condition command [args...]: what it runs and prints, and the ends of the files here that it names
show_condition()
{
	( PS4='> '; set -x; "$@" ) 2>&1 </dev/null | head -n 30 >condition
	cat condition
	tr -cs '[:alnum:]._-' '\n' <condition | sort -u | while read -r word; do
		[ "$word" = condition ] || ! [ -f "$word" ] || tail -n 5 "$word" | sed "s/^/$word: /"
	done
}

# timeout SECONDS command [args...]: timeout(1), with $SLOW times the seconds
if [ "${SLOW:-1}" -gt 1 ]; then
	timeout()
	{
		slowed_limit=$(($1 * SLOW))
		shift
		command timeout "$slowed_limit" "$@"
	}
fi

# or_gone PID command [args...]: it succeeds, or there is no such process that it could wait for.
or_gone()
{
	or_gone=$1
	shift
	"$@" || gone "$or_gone"
}

# counts OPERATOR N command [args...]: the number that it prints compares so, as by test(1): -eq, -ge ...
counts()
{
	operator=$1 number=$2
	shift 2
	test "$("$@")" "$operator" "$number"
}

# prints 'text' command [args...]: that is what it prints.
prints()
{
	text=$1
	shift
	[ "$("$@")" = "$text" ]
}

prints_nothing()
{
	prints '' "$@"
}

# lines_in FILE, entries_in DIRECTORY: how many
lines_in()
{
	wc -l <"$1"
}

entries_in()
{
	find "$1" -mindepth 1 -maxdepth 1 | wc -l
}

# pipe_is_full FIFO: its writers wait; else this fills it some more.
pipe_is_full()
{
	not dd if=/dev/zero of="$1" bs=4096 count=1 oflag=nonblock 2>/dev/null
}

# gone PID: no such process, or only its zombie.
gone()
{
	{ read -r gone_stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	case ${gone_stat##*) } in
	Z*) ;;
	*) return 1 ;;
	esac
}

# ended PID: waits for the end of a process; it need not be this shell's child.
ended()
{
	wait_until gone "$1"
}

# exits STATUS command...: runs it, keeps out and err, compares the status.
exits()
{
	untraced run_and_compare "$@"
}
run_and_compare()
{
	want=$1
	shift
	got=0
	"$@" >out 2>err || got=$?
	cat out err
	[ ! -s out ] || keep_json out
	if [ $got -ne "$want" ]; then
		echo "exit status $got, not $want: $*"
		return 1
	fi
}

# fails 'pattern' command...: it exits with 1, prints nothing, and on stderr one line that matches
fails()
{
	pattern=$1
	shift
	exits 1 "$@"
	one_line err
	not [ -s out ]
	grep -q -e "$pattern" err
}

# check_usage 'pattern' TOOL [arguments...]: the tool rejects them with exit status 2 and one line on
# stderr that matches the pattern.
check_usage()
{
	check "usage: $(shift; echo "$*")" rejects "$@"
}

rejects()
{
	pattern=$1 tool=$2
	shift 2
	exits 2 timeout 20 "$BIN/$tool" "$@"
	one_line err
	not [ -s out ]
	grep -q -e "$pattern" err
}

# no_warning FILE: has no line, other than that a transfer was short, as most of the tests' are
no_warning()
{
	not grep -v -e 'the transfer took less than half a second' -e 'paces the sender, over loopback' "$1"
}

# plain FILE...: without the commas between the thousands of numbers
plain()
{
	sed -E ':a; s/([0-9]),([0-9]{3})/\1\2/; ta' "$@"
}

# figures_of ROW FILE: of a report of zcc: those of sender and receiver, or of the one column there is
figures_of()
{
	plain "$2" | sed -n "s|^    $1  *||p" | tr -s ' '
}

# bytes_of FILE: the same of the row `bytes`
bytes_of()
{
	figures_of bytes "$1"
}

# no_wider COLUMNS FILE: no line of it has more
no_wider()
{
	awk -v most="$1" 'length > most { print length ": " $0; n++ } END { exit n > 0 }' "$2"
}

# one_line FILE: it has just one line.
one_line()
{
	{ read -r first_line && ! read -r first_line; } <"$1"
}

# is_text FILE: nothing in it that a terminal would obey
is_text()
{
	not grep -n '[^ -~	]' "$1"
}

# valid_json FILE: each of its lines is a JSON value.  $no_json is why that cannot be told here.
no_json=
if command -v jq >/dev/null 2>&1; then
	valid_json() # FILE
	{
		jq . <"$1" >/dev/null
	}
elif command -v python3 >/dev/null 2>&1; then
	valid_json()
	{
		python3 -c "import json, sys
for line in sys.stdin: json.loads(line)" <"$1"
	}
else
	no_json='no jq, no python3'
	valid_json()
	{
		: # who calls it looks at $no_json first, and skips what is not tested
	}
fi

# await_zcs PID [FILE]: waits until this zcs, whose stderr is in the file (zcs.err), listens; sets PORT.
# It fails where zcs has ended.
await_zcs()
{
	wait_until or_gone "$1" grep -q listening "${2:-zcs.err}"
	PORT=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' "${2:-zcs.err}")
	[ -n "$PORT" ]
}

# start_zcs [options]: sets ZCS (its pid) and PORT; its output is in zcs.out and zcs.err.
start_zcs()
{
	# A server that an earlier check has left goes on writing to files of its own.
	rm -f zcs.out zcs.err
	: >zcs.err
	${ON-} "$BIN/zcs" -p 0 "$@" >zcs.out 2>zcs.err &
	ZCS=$!
	remember $ZCS
	await_zcs $ZCS
}

# hold_clients FILE options...: clients of $PORT that stay, by `net hold`; what they were told goes to
# the file, HOLD is the pid.
hold_clients()
{
	told=$1
	shift
	: >"$told"
	"$HELPERS/net" hold "$@" "$PORT" >"$told" 2>hold.err &
	HOLD=$!
	remember $HOLD
	wait_until or_gone $HOLD grep -q ^held "$told"
}

stop_zcs()
{
	kill -TERM "$ZCS"
	wait "$ZCS"
}

# start_peer options: the tests' own receiver; sets PEER and PORT.
start_peer()
{
	: >peer.out
	${ON-} "$HELPERS/net" serve "$@" >peer.out 2>peer.err &
	PEER=$!
	remember $PEER
	wait_until or_gone $PEER grep -q "^port" peer.out
	PORT=$(sed -n 's/^port //p' peer.out)
	[ -n "$PORT" ]
}

# until_free: waits in line for the lock of whoever soaks: who only asks now and then hardly ever has it
until_free()
{
	flock -w 20 /dev/zero true 2>/dev/null || sleep 0.05
}

# preloaded NAME: compiles tests/helpers/preload/NAME.c into NAME.so here, once, or takes that of a guest of
# tests/vm; fails where that cannot be done
preloaded()
{
	[ -e "$1.so" ] || { ! sanitized && {
		cp "$HELPERS/$1.so" . 2>/dev/null ||
			"$CC" -std=gnu11 -D_GNU_SOURCE -O2 -fPIC -shared -o "$1.so" \
			    "$TOP/tests/helpers/preload/$1.c" -ldl 2>"$1.err"
	}; }
}

# hastened command...: its sleeps, such as the windows of a baseline, are of 50 ms at most, where a library
# can be preloaded.  The figures are worth less.
hastened()
{
	find_hastening
	$hasten_by "$@"
}
hasten_by=
find_hastening()
{
	[ -n "$hasten_by" ] || ! preloaded hasten ||
		hasten_by="env LD_PRELOAD=$PWD/hasten.so HASTEN_US=50000"
	hasten_by=${hasten_by:-env}
}

# at_once: to be put before a program that is to be refused since others soak: it waits 2 s for them
at_once=
find_at_once()
{
	find_hastening
	at_once=$(echo "$hasten_by" | sed 's/=50000/=0/')
}

# is_too_busy: whether other programs kept the last command from a load, and it is to be tried again: a
# test that needs no load sets $BUSY_TURNS
is_too_busy()
{
	grep -q 'left its soaker no time before .*: no load is measured\|no load is reported$' err &&
		[ $turns -lt ${BUSY_TURNS:-20} ]
}

# soaking command...: there is one set of soakers on a machine.  A test that soaks now and then takes its turn
# here; a program that is no test may have the CPUs all the same, or leave a soaker too little time in one of
# the windows of a baseline.
soaking()
{
	if [ -n "$SOAKS_ALONE" ]; then
		untraced soak_with_patience "$@"
	else
		{
			flock -w 60 9 || skip_check 'other tests soaked the CPUs for a minute'
			untraced soak_with_patience "$@" 9<&-
		} 9<"${SOAK_LOCK:-/dev/full}"
	fi
}
soak_with_patience()
{
	turns=0
	while :; do
		status=0
		"$@" >out 2>err || status=$?
		if ! grep -q 'soaked already\|no time: the system must be idle' err && ! is_too_busy || ! may_repeat; then
			cat out err
			return $status
		fi
		turns=$((turns + 1))
		repeating
		until_free
	done
}

# until_holding [options]: starts cyclesoak in the background.  SOAK is its pid; its output is in soak.out
# and soak.err.
until_holding()
{
	"$BIN/cyclesoak" "$@" >soak.out 2>soak.err &
	SOAK=$!
	remember $SOAK
	met()
	{
		[ -n "$(soaker_of "$SOAK")" ] && [ -s soak.out ] || gone "$SOAK"
	}
	wait_until met
	PERIOD=
	not gone $SOAK || { cat soak.err; return 1; }
}

# has_lock PID: whether it holds the lock of whoever soaks
has_lock()
{
	grep -q "FLOCK .* $1 .*:$(stat -c %i /dev/zero) " /proc/locks
}

# measured command...: a client of zcs -c, which has no load while another program soaks
measured()
{
	untraced measure_with_patience "$@"
}
measure_with_patience()
{
	while :; do
		status=0
		"$@" >out 2>err || status=$?
		if has_lock $ZCS || ! may_repeat; then
			cat out err
			return $status
		fi
		repeating
		until_free
	done
}

# The periods of a cyclesoak --json that until_holding has started, and what makes them unsafe.
# is_unsafe N REASON: whether the N-th period of soak.out is unsafe for that reason
is_unsafe()
{
	sed -n "$1p" soak.out | jq -e "(.unsafe // []) | index(\"$2\") != null" >/dev/null
}
# next_period: waits until one more is over, or that after PERIOD; PERIOD is its number
next_period()
{
	PERIOD=$((${PERIOD:-$(lines_in soak.out)} + 1))
	wait_until counts -ge $PERIOD lines_in soak.out
}
# until_period 'filter': waits for a period after PERIOD of which it holds; PERIOD is its number
until_period()
{
	from=$((${PERIOD:-$(lines_in soak.out)} + 1)) filter=$1
	wait_until period_found || { tail -n 5 soak.out; return 1; }
	PERIOD=$((from + $(cat period)))
}
period_found()
{
	tail -n "+$from" soak.out | jq -en "[inputs | $filter] | index(true)" >period 2>/dev/null
}
# begins REASON, ends REASON: it is in one of the next periods, or in none after one of the next
begins()
{
	until_period "(.unsafe // []) | index(\"$1\") != null"
}
ends()
{
	until_period "(.unsafe // []) | index(\"$1\") == null"
	next_period
	not is_unsafe $PERIOD "$1"
}
# lasts REASON 'line' 'begin' 'end': each period between these two commands is unsafe, with one line on stderr
lasts()
{
	next_period
	not is_unsafe $PERIOD "$1"
	eval "$3"
	begins "$1"
	next_period
	is_unsafe $PERIOD "$1"
	eval "$4"
	ends "$1"
	lines 1 "^cyclesoak: $2"
}
# lines N 'pattern': soak.err has that many
lines()
{
	cat soak.err
	[ "$(grep -c -e "$2" soak.err)" -eq "$1" ]
}

# soak_format: the version of a calibration's format, SOAK_FORMAT
soak_format()
{
	sed -n 's/^#define SOAK_FORMAT *\([0-9]*\).*/\1/p' "$TOP/lib/load/soaker.h"
}

# fake_calibration [machine]: a calibration of CPU 0 that nobody measured
fake_calibration()
{
	printf '1000000\nsoaker %s\nmachine %s\ncpus 0\nall 2 0.001 0.001\n' "$(soak_format)" "${1:-$(machine_name)}"
	echo 'cpu 0 0 0.001 1 0.001 1000000 1000'
}

# stat_field PID N: field N of /proc/PID/stat.  The name, which may have spaces, is field 2: proc_pid_stat(5).
# Nothing is printed if there is no such process.  This starts no program, since it is called often.
stat_field()
{
	field=$2
	read -r stat <"/proc/$1/stat" || return 0
	# shellcheck disable=SC2086 # the fields are words
	set -- ${stat##*) }
	shift $((field - 3))
	echo "$1"
}

# cpu_ns PID...: CPU time that they and their threads have used
cpu_ns()
{
	for p in "$@"; do
		cat /proc/"$p"/task/*/schedstat
	done | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# tasks_of PID: the ids of its threads, without that which ThreadSanitizer starts before the first.
tasks_of()
{
	if sanitized thread; then
		ls "/proc/$1/task" | sort -n | sed 2d
	else
		ls "/proc/$1/task" | sort -n
	fi
}

# threads_of PID: how many it has
threads_of()
{
	tasks_of "$1" | wc -l
}

# cpus_of PID: those that each of its threads may use, a line each
cpus_of()
{
	for t in $(tasks_of "$1"); do
		sed -n 's/^Cpus_allowed_list:	//p' "/proc/$1/task/$t/status"
	done
}

# child_of PID NAME: the pid of its child of that name, empty if there is none.
child_of()
{
	[ -n "$1" ] || return 0
	for d in /proc/[0-9]*; do
		if { read -r comm <"$d/comm"; } 2>/dev/null && [ "$comm" = "$2" ] &&
		    [ "$(stat_field "${d#/proc/}" 4 2>/dev/null)" = "$1" ]; then
			echo "${d#/proc/}"
		fi
	done
}

# keeper_of and soaker_of PID: a program's soaker is the child of its keeper.
keeper_of()
{
	child_of "$1" zc-keeper
}

soaker_of()
{
	child_of "$(keeper_of "$1")" zc-soaker
}

# raise_soaker PID: gives it the priority of other programs, where that is permitted.  Beside busy ones its threads
# would wait for seconds, each of them, until they get the CPU to end on.
raise_soaker()
{
	soaker_groups | cut -d' ' -f2- | while read -r group; do
		! grep -qx "$1" "$group/cgroup.procs" || echo "$1" >"${group%/*}/cgroup.procs"
	done 2>/dev/null
	! [ -w "/proc/$1/autogroup" ] || echo 0 >"/proc/$1/autogroup" # its session's
	for t in "/proc/$1/task"/*; do
		chrt -o -p 0 "${t##*/}" && renice -n 0 -p "${t##*/}"
	done >/dev/null 2>&1 || :
}

# rights PID: what /proc has of a process and all of its threads: ids, groups, capabilities
rights()
{
	cat /proc/"$1"/status /proc/"$1"/task/*/status | grep -E '^(Uid|Gid|Groups|CapPrm|CapEff|CapAmb):' |
		sed 's/[[:space:]]*$//' | sort -u
}

# rights_of_nobody: the same as it has to be of the user nobody, in whatever group that is
rights_of_nobody()
{
	u=$(id -u nobody) g=$(id -g nobody)
	printf 'CapAmb:\t0000000000000000\nCapEff:\t0000000000000000\nCapPrm:\t0000000000000000\n'
	printf 'Gid:\t%s\t%s\t%s\t%s\n' "$g" "$g" "$g" "$g"
	printf 'Groups:\t%s\n' "$(id -G nobody | tr ' ' '\n' | sort -n | paste -sd ' ')"
	printf 'Uid:\t%s\t%s\t%s\t%s\n' "$u" "$u" "$u" "$u"
}

# A script that makes temporary directories of its own is given an empty $TMPDIR for them.
own_tmpdir()
{
	TMPDIR=$PWD/tmp
	export TMPDIR
	mkdir tmp
}

# workers: what still works in one of them
workers()
{
	find /proc/[0-9]*/cwd -maxdepth 0 -lname "$TMPDIR/zc-*" 2>/dev/null | cut -d/ -f3
}

nothing_left()
{
	wait_until prints_nothing workers
	[ -z "$(ls tmp)" ]
}

# as_user command...: as an ordinary user.  Where we are root that is nobody.
as_user()
{
	if [ "$(id -u)" -ne 0 ]; then
		"$@"
	else
		setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"
	fi
}

# as_lone_user command...: as a user who has no other process, and so nothing locked or pinned yet
as_lone_user()
{
	if [ "$(id -u)" -ne 0 ]; then
		"$@"
	else
		setpriv --reuid $((100000 + $$)) --regid 65534 --clear-groups --inh-caps=-all "$@"
	fi
}

# can_be_user: $not_user is why not.  A process loses its capabilities when it executes another program: it is
# that one which must be able to reach ours.
can_be_user()
{
	not_user=
	[ "$(id -u)" -ne 0 ] || {
		not_user='no setpriv to become an ordinary user'
		command -v setpriv >/dev/null 2>&1
	} && {
		not_user="other users may not read $BIN (see TMPDIR)"
		as_user sh -c 'test -x "$0"' "$BIN/zcc"
	}
}

# u32 N...: each as four bytes, most significant first.
u32()
{
	for n in "$@"; do
		printf "$(printf '\\%03o\\%03o\\%03o\\%03o' $((n >> 24 & 255)) $((n >> 16 & 255)) \
		    $((n >> 8 & 255)) $((n & 255)))"
	done
}

# soaker_groups: the soakers' control groups, `inode path` of each; whose they are is another question.
soaker_groups()
{
	find /sys/fs/cgroup -maxdepth 2 -name zc-soaker -type d -printf '%i %p\n' 2>/dev/null || :
}

# stale_group [`inode path`...]: the soakers' control group if it outlived them, but none of those that
# were there before.  One that starts or ends soaking is not in its group for a moment.
stale_group()
{
	group=$(soaker_groups | grep -vxF -e "${1:-none}" | head -n 1)
	for i in $(seq 100); do
		[ -d "${group#* }" ] && [ -z "$(cat "${group#* }/cgroup.procs" 2>/dev/null)" ] || return 0
		sleep 0.05
	done
	echo "${group#* }"
}

# machine_name: what a calibration that is made here has as its machine
machine_name()
{
	model=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
	echo "$(uname -n) $(uname -r) ${model:-$(uname -m)}"
}

# made_up_calibration [machine [rate]]: a calibration that will do where no load is judged, whatever the
# machine is busy with.  The rate is the loops per second of each CPU.
made_up_calibration()
{
	cpus=$(getconf _NPROCESSORS_ONLN)
	online=$(cat /sys/devices/system/cpu/online)
	rate=${2:-1000}
	printf '%s\nsoaker %s\nmachine %s\ncpus %s\nall 2 0 0\n' $((cpus * rate)) "$(soak_format)" "${1:-$(machine_name)}" "$online"
	echo "$online" | tr , '\n' | while IFS=- read -r first last; do
		seq "$first" "${last:-$first}" | sed "s/.*/cpu & 0 0 1 0 $rate 0/"
	done
}
