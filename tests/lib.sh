# What the system tests share; tests/README has an example.  A test runs in an empty directory of its own.
#
#	$BIN, $HELPERS, $TOP    where the programs are, those of the tests, and the source tree
#	$zcc, $zcs, ...         the programs; tiny, a file of one byte
#	$SANITIZE       the sanitizers that the programs are built with, if they are
#	$LONG           not empty in `make check-long`
#	$LIMIT          the seconds after which this test is ended
#	$SLOW           by what to multiply limits and waits: 1 where the machine is not emulated
#	$SOAKS_ALONE    not empty where no other test soaks while this one runs: the group soaks or quiet
#	$ALONE          what to put before a program that is to have a /dev/zero, the lock of soakers and settings, to itself;
#	                where that cannot be, who changes settings waits for its turn
#	$OWN_NETWORK    not empty where the test has a network namespace to itself
#	$ON, $FROM      what to put before zcs and the tests' receiver, and before zcc, to run them on a host of tests/lab

count=0
failed=0
test_began=$(date +%s)
SLOW=${SLOW:-1} LIMIT=${LIMIT:-170}
OBJECTS=$PWD/objects.kept # the JSON objects of the tools, which tests/run validates
REPEATS=$PWD/repeats # a line for each time that the check at hand began anew
PS4='+: ' # before each command that a check runs
find_tools() { zcc=$BIN/zcc zcs=$BIN/zcs cyclesoak=$BIN/cyclesoak; }
find_tools
ALONE=${ALONE:-flock -F $PWD/turn}
run_rr=$BIN/run_rr
printf x >tiny

# it 'what must hold'; ( begin; need TOOL
#	command...
# ); ok
# A check: a subshell under set -e, whose output and commands are in check.log.  With exit status 77 it is
# skipped, for the reason that it printed last.  tests/run shows the title of a check that does not end.
it()
{
	what=$1
	echo "# check: $what" >&2
}
begin()
{
	[ -z "$TIMES" ] || check_from=$(date +%s.%N)
	mine=
	trap over EXIT
	set -e
	[ -z "$cell" ] || cd "$cell"
	[ -z "$ONLY" ] || echo "$what" | grep -Eq -e "$ONLY" || exit 78
	exec >check.log 2>&1
	[ "$SLOW" -gt 1 ] || set -x
}
# over: what each check does at its end
over()
{
	{ verdict=$?; set +x; } 2>/dev/null
	[ -z "$lab" ] || kill $lab || :
	end_remembered $mine
	[ -z "$TIMES" ] || echo "$check_from $(date +%s.%N) ${0##*/} $what" >>"$TIMES"
	[ -z "$cell" ] || echo $cells $verdict >&6
}
ok() { conclude $?; }

# beside 'what must hold'; ( begin; need TOOL
#	command...
# ) & later
# A check in a directory of its own, beside $most_beside - 1 others at most; `together` waits for all that are left.
most_beside=8 cells=0 cell='' running=0 check_log=check.log lab=''
[ -p .over ] || mkfifo .over
exec 6<>.over # the numbers of those that have ended, and how
beside()
{
	cells=$((cells + 1)) running=$((running + 1))
	cell=$PWD/cell.$cells what=$1
	mkdir "$cell"
	printf '%s\n' "$what" >"$cell/.title"
}
later()
{
	cell=
	conclude_until $((most_beside - 1))
}
together() { conclude_until 0; }
conclude_until() # so many are left
{
	while [ $running -gt "$1" ]; do
		read -r next verdict <&6
		read -r what <"cell.$next/.title"
		echo "# check: $what" >&2
		running=$((running - 1)) check_log=cell.$next/check.log
		conclude "$verdict"
		check_log=check.log
	done
}

# long 'what must hold' && ( begin ... ); ok: only where the full sizes are asked for
long() { [ -n "$LONG" ] && it "$1" || { what='' && false; }; }

# check 'what must hold' command [args...]: a check of one command, most often a function of the test
check()
{
	it "$1"
	shift
	# Not `if ( set -e; ... )`: a condition would switch set -e off, in functions too.
	( begin; [ $# -gt 0 ]; "$@" )
	ok
}

# undisturbed 'what must hold'; while again; do ( begin ...; ); done
# A check of loads and delays, which mean nothing while the host of a virtual machine takes its CPUs (steal).  If it
# failed meanwhile it begins anew (the first $least_turns times in any case), and after five times it is skipped.
undisturbed()
{
	it "$1"
	turn=0 least_turns=1
}
again()
{
	verdict=$? # of the last turn
	if [ $turn -gt 0 ]; then
		stolen=$(steal_since "$from")
		if [ $turn -eq 5 ] && [ $verdict -ne 0 ] && [ "$stolen" -gt 2 ]; then
			echo "the hypervisor took $stolen % of its CPUs (steal)" >check.log
			verdict=77
		fi
		if [ $verdict -eq 0 ] || [ $verdict -ge 77 ] || { [ $turn -ge $least_turns ] && [ "$stolen" -le 2 ]; }; then
			conclude $verdict
			return 1
		fi
		repeating
		until_no_steal
	fi
	turn=$((turn + 1))
	from=$(cpu_ticks)
}

# cpu_ticks: of all CPUs since boot, and how many of them the hypervisor took
cpu_ticks() { awk '{ print $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9, $9; exit }' /proc/stat; }
# steal_since 'TICKS': how much of the CPUs' time the host has taken since cpu_ticks printed these, in percent
steal_since() { echo "$1 $(cpu_ticks)" | awk '{ print ($3 > $1 ? int(100 * ($4 - $2) / ($3 - $1) + 0.5) : 0) }'; }

# until_no_steal: waits until the host leaves the CPUs alone for half a second, 10 seconds at most
until_no_steal()
{
	for pause in $(seq 20); do
		from=$(cpu_ticks)
		sleep 0.5
		[ "$(steal_since "$from")" -gt 2 ] || return 0
	done
}

# repeating: notes that the check at hand begins anew
repeating() { echo again >>"$REPEATS"; }

# conclude STATUS: the line of the check that ended so.  Where it failed the last three of its commands follow
# its output, the one that failed last, or a function of this file and what it ended on.
conclude()
{
	verdict=$1
	[ -n "$what" ] && [ $verdict -ne 78 ] || return 0
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
		return
	fi
	failed=$((failed + 1))
	echo "not ok $count - $what"
	output_of_check | sed 's/^/# /'
	sed -n '/: untraced \|: over$/d; s/^++*: /# failed at: /p' $check_log | tail -n 3
}
# output_of_check: what the last check printed
output_of_check() { sed '/^++*: /d' $check_log; }

# skip 'what is not tested' 'why'
skip()
{
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}
# skip_check 'why': ends the check at hand, which is skipped
skip_check()
{
	echo "$1"
	exit 77
}

# need TOOL...: skips the check at hand where one of them is missing, or strace may not trace
need()
{
	for tool in "$@"; do
		command -v "$tool" >/dev/null 2>&1 || skip_check "no $tool"
		[ "$tool" != strace ] || can_trace || skip_check 'strace may not trace'
	done
}
# whole_test_needs TOOL 'what is not tested'
whole_test_needs()
{
	command -v "$1" >/dev/null 2>&1 && return
	skip "$2" "no $1"
	finish
}
can_trace() { strace -o /dev/null true 2>/dev/null; }

# finish: closes the test.  tests/run validates the JSON objects that the tools have printed into files here.
finish()
{
	find "${OBJECTS%/*}" -maxdepth 2 -type f ! -name "${OBJECTS##*/}" -size -8192k \
	    -exec grep -has '^{"schema":' {} + >>"$OBJECTS"
	echo "1..$count"
	exit $((failed > 0))
}

# untraced command [args...]: without its commands in the trace of the check, for functions that wait, or whose
# stderr is a file
untraced()
{
	{ shell_options=$-; set +x; } 2>/dev/null
	if [ "$shell_options" = "${shell_options#*x}" ]; then
		"$@"
		return
	fi
	untraced_status=0
	"$@" || untraced_status=$?
	{ set -x; return $untraced_status; } 2>/dev/null
}
# not command...: `! command` would fail nothing: set -e ignores it.
not() { ! untraced "$@"; }
# exits STATUS command...: runs it, keeps out and err, compares the status.
exits() { untraced run_and_compare "$@"; }
run_and_compare()
{
	want=$1
	shift
	got=0
	"$@" >out 2>err || got=$?
	[ ! -s out ] && [ ! -s err ] || cat out err
	case $* in *json*) grep -has '^{"schema":' out >>"$OBJECTS" || : ;; esac
	if [ $got -ne "$want" ]; then
		echo "exit status $got, not $want: $*"
		return 1
	fi
}
# fails 'pattern' command...: it exits with 1, prints nothing, and on stderr one line that matches
fails() { fails_with 1 "$@"; }
fails_with()
{
	want=$1 pattern=$2
	shift 2
	exits "$want" "$@"
	not [ -s out ]
	says "$pattern"
}
says()
{
	one_line err
	grep -q -e "$1" err || { echo "stderr does not match: $1"; return 1; }
}
# breaks 'pattern' zcc...: the same of a transfer that breaks, but for the report of what was sent
breaks()
{
	pattern=$1
	shift
	exits 1 "$@"
	head -n 1 out | grep -Eqx '[0-9]+ kbytes/sec \([0-9.]+ Gbit/s\)'
	bytes_of out | grep -qx '[1-9][0-9]*'
	grep -q "no receipt: the receiver's figures are not known" out
	says "$pattern"
}

# check_usage 'pattern' TOOL [arguments...]: the tool rejects them with exit status 2 and one line on
# stderr that matches the pattern.
check_usage() { check "usage: $(shift; echo "$*")" rejects "$@"; }
rejects()
{
	regex=$1 tool=$2
	shift 2
	fails_with 2 "$regex" timeout 20 "$BIN/$tool" "$@"
}

# counts OPERATOR N command...: the number that it prints compares so: -eq, -ge ...
counts() { test "$(shift 2; "$@")" "$1" "$2"; }
# prints 'text' command...: that is what it prints
prints() { [ "$(shift; "$@")" = "$1" ]; }
prints_nothing() { prints '' "$@"; }
# lines_in FILE, entries_in DIRECTORY: how many; those whose names begin with a dot do not count
lines_in() { wc -l <"$1"; }
entries_in() { find "$1" -mindepth 1 -maxdepth 1 ! -name '.*' | wc -l; }
# one_line FILE: it has just one line.  no_wider COLUMNS FILE: no line of it has more.
one_line() { { read -r first_line && ! read -r first_line; } <"$1"; }
no_wider() { awk -v most="$1" 'length > most { print length ": " $0; n++ } END { exit n > 0 }' "$2"; }
# is_text FILE: nothing in it that a terminal would obey
is_text() { not grep -n '[^ -~	]' "$1"; }

# no_warning FILE: has no line, other than that a transfer was short, as most of the tests' are
no_warning()
{
	not grep -v -e 'the transfer took less than half a second' -e 'paces the sender, over loopback' "$1"
}

# holds FILE 'expression'...: each is true of the one object in the file, for jq, where $jq_defs stands before it
holds() { untraced all_hold "$@"; }
all_hold()
{
	object=$1 all='length == 1'
	shift
	for expression; do all="$all and (.[0] | $expression)"; done
	jq -es "$jq_defs $all" "$object" >/dev/null && return
	for expression; do
		jq -es "$jq_defs .[0] | $expression" "$object" >/dev/null || echo "does not hold: $expression"
	done
	jq -c . "$object"
	return 1
}
jq_defs=

# plain FILE...: without the commas between the thousands of numbers
plain() { sed -E ':a; s/([0-9]),([0-9]{3})/\1\2/; ta' "$@"; }
# figures_of ROW FILE: of a report of zcc: those of sender and receiver, or of the one column there is
figures_of() { plain "$2" | sed -nE "s|^    $1 +||; T; s/ +/ /g; p"; }
bytes_of() { figures_of bytes "$1"; }
# summaries 'regexp': how many of zcs's summaries in zcs.out match.  They fold at 100 columns, behind an item that depends
# on how fast the machine is: here each is one line
summaries()
{
	sed -E ':a; /,$/ { N; s/\n  (total of [0-9]+ clients|[^ ]+): / /; ta; }' zcs.out | grep -Ec -e "$1" || :
}
# scale SHORT FULL: the size that is asked for, of `make check` or of `make check-long`
scale() { if [ -n "$LONG" ]; then echo "$2"; else echo "$1"; fi; }
# new_seed: of random cases: the same in each `make check`, another in each `make check-long`
new_seed() { scale 1 "$(date +%s)"; }
# sanitized [NAME]: whether the programs have sanitizers, or that one: they have memory, threads and calls of their own
sanitized() { [ "$SANITIZE" != "${SANITIZE%%${1:-?}*}" ]; }

# wait_until command [args...]: until it succeeds, up to 20 seconds, or $SLOW times that.  A condition of more
# than one command is a function, `met` where it has no better name.
wait_until() { untraced until_met "$@"; }
until_met()
{
	tries=0 pause=0.05
	until "$@"; do
		tries=$((tries + 1))
		if [ $tries -gt $((110 * SLOW)) ]; then
			echo "waited in vain for: $*"
			( PS4='> '; set -x; "$@" ) 2>&1 </dev/null | head -n 30
			tail -n 5 ./*.err ./*.out err 2>/dev/null
			return 1
		fi
		sleep $pause
		case $tries in 5) pause=0.1 ;; 20) pause=0.2 ;; esac
	done
}
# or_gone PID command...: it succeeds, or there is no such process
or_gone()
{
	or_gone=$1
	shift
	"$@" || gone "$or_gone"
}
# gone PID: no such process, or only its zombie.
gone()
{
	! read_stat "$1" 3 || [ "$stat" = Z ]
}
# ended PID: waits for the end of a process; it need not be this shell's child.
ended() { wait_until gone "$1"; }

# timeout [-k SECONDS | -s SIGNAL] SECONDS command [args...]: timeout(1), with $SLOW times the seconds
if [ "$SLOW" -gt 1 ]; then
	timeout()
	{
		slowed_signal=''
		case $1 in -[ks]) slowed_signal="$1 $2" && shift 2 ;; esac
		slowed_limit=$(($1 * SLOW))
		shift
		command timeout $slowed_signal "$slowed_limit" "$@"
	}
fi

# in_guest [option...]: the test is run by tests/vm, with these options, on $KERNEL or the latest kernel that it has, whose checks are
# the test's own; in the guest it goes on
in_guest()
{
	[ "$GUEST" != yes ] || return 0
	own_tmpdir
	kernel=${KERNEL:-$("$TOP/tests/vm" list | sed '/-rt/d; s/ .*//' | sort -V | tail -n 1)}
	"$TOP/tests/vm" "$@" "${kernel:-none}" -- \
	    sh -c 'cd /tmp && GUEST=yes SLOW=8 exec sh "$TOP/tests/system/$1.sh"' sh "$(basename "$0" .sh)" >out 2>err
	status=$?
	if [ $status -eq 77 ]; then
		skip 'a guest of tests/vm' "$(sed -n 's/.*skipped: //p' err)"
		finish
	fi
	sed -n '/^1\.\./!p' out
	count=$(grep -c '^ok\|^not ok' out)
	failed=$(grep -c '^not ok' out)
	it 'the guest ran all of its checks'; ( begin
		cat err
		grep -qx "1\.\.$count" out
		[ "$status" -eq $((failed > 0)) ]
	); ok
	finish
}

# remember PID: it is killed at the end of the check, or of the test outside of one, by its id and its start: the id may be
# another's by then
mine=
remember()
{
	read_stat "$1" 22 || return 0
	mine="$mine $1 $stat"
}
# end_remembered [PID START]...: kills these
end_remembered()
{
	while [ $# -gt 1 ]; do
		! read_stat "$1" 22 || [ "$stat" != "$2" ] || kill -KILL "$1" 2>/dev/null || :
		shift 2
	done
}
cleanup() { end_remembered $mine; }
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

# read_stat PID N: sets `stat` to field N of /proc/PID/stat.  The name, which may have spaces, is field 2:
# proc_pid_stat(5).  stat_field PID N: prints it, nothing if there is no such process
read_stat()
{
	field=$2
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return
	# shellcheck disable=SC2086 # the fields are words
	set -- ${stat##*) }
	shift $((field - 3))
	stat=$1
}
stat_field() { ! read_stat "$@" || echo "$stat"; }

# tasks_of PID: the ids of its threads, without that which ThreadSanitizer starts before the first.
tasks_of() { ls "/proc/$1/task" | if sanitized thread; then sort -n | sed 2d; else sort -n; fi; }
threads_of() { tasks_of "$1" | wc -l; }
# cpus_of PID: those that each of its threads may use, a line each
cpus_of() { tasks_of "$1" | sed "s|.*|/proc/$1/task/&/status|" | xargs sed -n 's/^Cpus_allowed_list:	//p'; }
# cpu_ns PID...: CPU time that they and their threads have used
cpu_ns() { eval cat "$(printf '/proc/%s/task/*/schedstat ' "$@")" | awk '{ sum += $1 } END { printf "%.0f\n", sum }'; }
# child_of PID NAME: the pid of its child of that name, empty if there is none.
child_of()
{
	for child in $([ -z "$1" ] || cat "/proc/$1/task"/*/children 2>/dev/null); do
		! grep -qsx -e "$2" "/proc/$child/comm" || echo "$child"
	done
}
# A program's soaker is the child of its keeper.
keeper_of() { child_of "$1" zc-keeper; }
soaker_of() { child_of "$(keeper_of "$1")" zc-soaker; }

# has_line PATTERN FILE: whether a whole line of it is like that pattern of the shell.  This starts no program, as it is called
# again and again.
has_line()
{
	while IFS= read -r its_line; do
		# shellcheck disable=SC2254 # it is a pattern
		case $its_line in
		$1) return 0 ;;
		esac
	done <"$2"
	return 1
}

# launch FILE 'pattern' command...: in the background, until its output, FILE, or FILE.err (X.err of X.out) has a line
# that has_line finds, or it has ended; sets `launched`.  What an earlier check has left writes to files of its own.
launch()
{
	launch_out=$1 launch_err=${1%.out}.err launch_until=$2
	shift 2
	[ ! -e "$launch_out" ] || rm "$launch_out"
	[ ! -e "$launch_err" ] || rm "$launch_err"
	: >"$launch_out"
	: >"$launch_err"
	"$@" >"$launch_out" 2>"$launch_err" &
	launched=$!
	remember $launched
	wait_until or_gone $launched has_begun
}
has_begun() { has_line "$launch_until" "$launch_out" || has_line "$launch_until" "$launch_err"; }
# read_port FILE: sets PORT to that which zcs or a peer has printed there
read_port()
{
	PORT=''
	while read -r port_line; do
		case $port_line in
		"port "*) PORT=${port_line#port } ;;
		*"listening on "*) PORT=${port_line##*:} ;;
		esac
	done <"$1"
	[ -n "$PORT" ]
}

# start_zcs [options]: sets ZCS (its pid) and PORT; its output is in zcs.out and zcs.err.
start_zcs()
{
	launch zcs.out '*listening*' ${ON-} "$BIN/zcs" -p 0 "$@"
	ZCS=$launched
	read_port zcs.err
}
stop_zcs()
{
	kill -TERM "$ZCS"
	wait "$ZCS"
}
# start_peer [answer | reply] options: the tests' own receiver, or one of these; sets PEER and PORT; its output is in peer.out
start_peer()
{
	case $1 in answer | reply) ;; *) set -- serve "$@" ;; esac
	launch peer.out 'port*' ${ON-} "$HELPERS/net" "$@"
	PEER=$launched
	read_port peer.out
}
# hold_clients FILE options...: clients that stay, by `net hold`; what they were told goes to the file; sets HOLD
hold_clients()
{
	told=$1
	shift
	launch "$told" 'held*' "$HELPERS/net" hold "$@" "$PORT"
	HOLD=$launched
}

# start_zcc NAME options: zcc to $PORT, in the background, as from a terminal, where SIGINT is not ignored.  Its output is
# in NAME.out and NAME.err, and the variable NAME has its pid.
start_zcc()
{
	zcc_name=$1
	shift
	${FROM-} env --default-signal=INT,QUIT "$BIN/zcc" -s 0 -p "$PORT" --congestion reno "$@" >"$zcc_name.out" 2>"$zcc_name.err" &
	eval "$zcc_name=$!"
	remember $!
}
# zcc_ends NAME STATUS [SIGNAL]: it ends with the status, of the signal
zcc_ends()
{
	eval "zcc_pid=\$$1"
	[ -z "$3" ] || kill -"$3" "$zcc_pid"
	ended "$zcc_pid"
	got=0; wait "$zcc_pid" || got=$?
	cat "$1.out" "$1.err"
	[ $got -eq "$2" ]
}

# hosts [-m MTU]: two hosts (tests/lab) that end with the check at hand: zcs and peers run on A, zcc on B
hosts()
{
	"$TOP/tests/lab" "$@" sh -c 'set | grep -E "^([AB][46]?|LINK)=" >setting; mv setting hosts; exec sleep infinity' &
	lab=$!
	wait_until or_gone $lab [ -s hosts ]
	. ./hosts
	ON=$A FROM=$B
}
has_lab() { "$TOP/tests/lab" true 2>/dev/null; }

# methods_of TOOL: those in the --help of zcc or zcs, a line each
methods_of()
{
	"$BIN/$1" --help | tr -s ' \n' ' ' | grep -oE 'method=METHOD one of [a-z-]+ \(default\)(, [a-z-]+)*' |
		sed 's/.* of //; s/ (default)//; s/, /\n/g'
}

# senders, receivers: the methods of zcc, and of zcs, that can be used here; system/methods.sh reports if some cannot
senders() { methods_of zcc | grep -v "^uring$(may_lock_much || echo '\|^zerocopy')" && uring_senders; }
receivers() { methods_of zcs | if can_uring; then cat; else grep -v '^uring'; fi; }
uring_senders()
{
	! can_uring || echo uring
	! can_uring zc || ! may_lock_much || echo uring-zc
}
# can_uring [zc]: whether this kernel lets the test use io_uring(7), with SEND_ZC
can_uring() { "$HELPERS/ring" "$@"; }
# may_lock_much: tests that run side by side share what their user may lock or pin, of which uring-zc takes 4 MiB a run
may_lock_much()
{
	[ "$(id -u)" -eq 0 ] || grep -Eq '^Max locked memory +(unlimited|[6-9][0-9]{7}|[0-9]{9})' /proc/self/limits
}

# preloaded NAME: whether NAME.so is here: tests/helpers/preload/NAME.c.  A sanitizer wants to be loaded first.
preloaded() { [ -e "$1.so" ] || { ! sanitized && cp "$HELPERS/$1.so" . 2>/dev/null; }; }

# find_hastening: sets `hasten_by`, to be put before a program: its sleeps are of 50 ms at most then, if possible
hasten_by=
find_hastening()
{
	[ -n "$hasten_by" ] || ! preloaded hasten || hasten_by="env LD_PRELOAD=$PWD/hasten.so HASTEN_US=50000"
	hasten_by=${hasten_by:-env}
}
# wrap DIRECTORY 'WORDS' TOOL...: makes programs there that begin each of these with the words
wrap()
{
	directory=$1 words=$2
	shift 2
	mkdir -p "$directory"
	for tool in "$@"; do
		printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$words" "$BIN/$tool" >"$directory/$tool"
		chmod +x "$directory/$tool"
	done
}
# hasten_tools [US [MOST_US]]: BIN has programs then whose own sleeps, of up to MOST_US (0.15 s), are of US (20 ms), so
# that soakers start at once
hasten_tools()
{
	find_hastening
	wrap hastened "$hasten_by HASTEN_US=${1:-20000} HASTEN_UP_TO_US=${2:-150000}" zcc zcs cyclesoak
	BIN=$PWD/hastened
	find_tools
}

# without_loads: $zcc and $cyclesoak can have no CPU for a trial of --idle, so that a load is not measured, at once.  Where
# the shell would change signals, $loadless is put before cyclesoak
loadless=
without_loads()
{
	preloaded fault || return 0
	for tool in zcc cyclesoak; do
		loadless="env LD_PRELOAD=$PWD/fault.so FAULT=0,EINVAL,$tool,sched_setaffinity,-"
		wrap unmeasured "$loadless" $tool
	done
	zcc=$PWD/unmeasured/zcc cyclesoak=$PWD/unmeasured/cyclesoak
}

# soaking command...: in its turn, as there is one set of soakers on a machine; other programs may have the CPUs
# all the same, or leave a soaker too little time: then again
soaking()
{
	[ -z "$SOAKS_ALONE" ] || { untraced patiently is_kept_off "$@"; return; }
	{
		flock -w 60 9 || skip_check 'other tests soaked the CPUs for a minute'
		untraced patiently is_kept_off "$@" 9<&-
	} 9<"${SOAK_LOCK:-/dev/urandom}"
}
# measured command...: a client of zcs -c, whose load is not measured while another program soaks
measured() { untraced patiently lacks_lock "$@"; }
lacks_lock() { ! has_lock "$ZCS"; }

# patiently CONDITION command...: runs it again while others keep it from the CPUs
patiently()
{
	is_kept=$1 turns=0 status=0
	shift
	"$@" >out 2>err || status=$?
	# Each turn ends before the limit of the test.
	while $is_kept && [ $(($(date +%s) - test_began)) -lt $((LIMIT / 3)) ]; do
		turns=$((turns + 1)) status=0
		repeating
		until_free
		"$@" >out 2>err || status=$?
	done
	cat out err
	return $status
}

# is_kept_off: whether others kept the last command from a load.  A test that needs none sets $BUSY_TURNS.
is_kept_off()
{
	grep -q 'soaked already' err || {
		grep -q 'was fully busy: stop\|the load is not measured: \(CPU [0-9]* was fully busy\|the machine is not idle\) ' err &&
			[ $turns -lt ${BUSY_TURNS:-20} ]
	}
}
# until_free: waits in line for the lock of whoever soaks: who only asks now and then hardly ever has it
until_free() { flock -w 20 /dev/zero true 2>/dev/null || sleep 0.05; }
# has_lock PID: whether it holds the lock of whoever soaks
has_lock() { grep -q "FLOCK .* $1 .*:$(stat -c %i /dev/zero) " /proc/locks; }

# until_holding [options]: starts cyclesoak; sets SOAK; its output is in soak.out and soak.err
until_holding()
{
	launch soak.out '?*' "$BIN/cyclesoak" "$@"
	SOAK=$launched
	met() { [ -n "$(soaker_of "$SOAK")" ] && [ -s soak.out ]; }
	wait_until or_gone $SOAK met
	not gone $SOAK || { cat soak.err; return 1; }
}

# soaker_groups: the soakers' control groups
# stale_group: one that outlived its soakers.  A soaker that starts or ends is not in its group for a moment.
soaker_groups() { find /sys/fs/cgroup -maxdepth 2 -name zc-soaker -type d 2>/dev/null || :; }
stale_group()
{
	group=$(soaker_groups | head -n 1)
	for i in $(seq 100); do
		[ -d "$group" ] && [ -z "$(cat "$group/cgroup.procs" 2>/dev/null)" ] || return 0
		sleep 0.05
	done
	echo "$group"
}

# raise_soaker PID: gives it the priority of other programs, where that is permitted.  Beside busy ones its threads
# would wait for seconds, each of them, until they get the CPU to end on.
raise_soaker()
{
	soaker_groups | while read -r group; do
		! grep -qx "$1" "$group/cgroup.procs" || echo "$1" >"${group%/*}/cgroup.procs"
	done || :
	[ ! -w "/proc/$1/autogroup" ] || echo 0 >"/proc/$1/autogroup" # its session's
	chrt -a -o -p 0 "$1" || :
	tasks_of "$1" | xargs renice -n 0 -p || :
} >/dev/null 2>&1

# machine_name: what a calibration that is made here has as its machine
machine_name() { echo "$(uname -nr) $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | grep -m 1 . || uname -m)"; }
# made_up_calibration [machine [rate]]: of all CPUs, which will do where loads are not judged.  The rate is the loops per
# second of each CPU.  fake_calibration [machine]: of CPU 0
made_up_calibration()
{
	online=${3:-$(cat /sys/devices/system/cpu/online)} rate=${2:-1000}
	cpu_ids=$(echo "$online" | tr , '\n' | while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done)
	printf '%s\nsoaker %s\nmachine %s\ncpus %s\nall 2 0 0\n' $(($(echo "$cpu_ids" | wc -l) * rate)) \
	    "$(sed -n 's/^#define SOAK_FORMAT *\([0-9]*\).*/\1/p' "$TOP/lib/load/soaker.h")" \
	    "${1:-$(machine_name)}" "$online"
	echo "$cpu_ids" | sed "s/.*/cpu & 0 0 1 0 $rate 0/"
}
fake_calibration() { made_up_calibration "${1:-$(machine_name)}" 1000000 0; }

# as_user command...: as an ordinary user, nobody where we are root.  as_id ID command...: as that one
as_user() { as_id 65534 "$@"; }
as_id()
{
	[ "$(id -u)" -eq 0 ] && set -- setpriv --regid 65534 --clear-groups --inh-caps=-all --reuid "$@" || shift
	"$@"
}

# can_be_user: whether that can be; $not_user is why not
can_be_user()
{
	not_user='no setpriv to become an ordinary user'
	[ "$(id -u)" -ne 0 ] || command -v setpriv >/dev/null 2>&1 || return
	not_user="other users may not read $BIN (see TMPDIR)"
	as_user sh -c 'test -x "$0"' "$BIN/zcc" || return
	not_user=
}

# own_tmpdir: an empty $TMPDIR; nothing_left: what had a directory there has ended and removed it
own_tmpdir()
{
	export TMPDIR="$PWD/tmp"
	mkdir tmp
}
nothing_left()
{
	wait_until prints_nothing find /proc/[0-9]*/cwd -maxdepth 0 -lname "$TMPDIR/zc-*"
	[ -z "$(ls tmp)" ]
}

# u32 N...: each as four bytes, most significant first.
u32() { env printf "$(printf '%08x' "$@" | sed 's/../\\x&/g')"; }
