# What the tests of faults share: a run under tests/helpers/preload/fault.c shows which calls a program makes of
# the C library, and then one of them fails in each run.  To be sourced after lib.sh.
#
# A scenario is a function `scenario` that runs the program behind $UNDER and leaves its exit status
# in `status`, its output in `out` and `err`, and a function `right`, which says whether a report
# with status 0 is right.  FAULT='OUTCOME FAULT' in the environment, as a failed check prints it, is the only fault then.

# What each call fails with, and what must come of it:
#
#	recovered  status 0, a right report, and no line on stderr that a run without a fault lacks
#	reported   status 1 and one such line.  A scenario that counts failures may count it instead.
#	either     a right report, or status 1 and a line
#
# The first expression that fits PROGRAM,CALL,OBJECT decides.  EAGAIN means of pthread_create(3) that there can be no
# more threads, of a socket that its time-out is over.  EINTR and short calls are all recovered from.
cat >rules <<'EOT'
,open64,(.*cal/counts|/dev/zero)$ - EMFILE,ENOENT -
,(read|pread64),.*/(counts|file|byte|empty)$ - EIO -
,write,TCP - EPIPE,ECONNRESET,ENOMEM,EAGAIN -
,write,(/proc|/sys) - - ENOSPC
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
,(pthread_create|fork), - EAGAIN,ENOMEM -
,(malloc|calloc|realloc), - - ENOMEM
,flock, - ENOLCK -
,(fchmod|renameat|unlink|unlinkat), - EPERM,EACCES -
,fsync, - EIO,ENOSPC -
,sched_setaffinity, - EINVAL -
zcs,getaddrinfo, - - ENOMEM
,getaddrinfo, - ENOMEM -
zcs,getnameinfo, - - -
,(nanosleep|sigtimedwait|sigwaitinfo|waitpid|close), - - -
. - - EIO
EOT

faults_missing=
preloaded fault || faults_missing='no library can be preloaded'
[ -z "$SANITIZE" ] || faults_missing='a sanitizer wants to be loaded first'
one_fault=${FAULT:-}
unset FAULT
hasten=       # settings of hasten.c, which is preloaded, too
only=.        # of the calls, those that fit this regular expression
noise='^$'    # lines on stderr that have other causes than the fault: an extended regular expression
vain=         # a run with such a line is not judged, if it is not empty
besides=true  # what must hold in any case: a command, which says what is wrong
counted=false # whether a report with status 0 counts the failure: a command
: >planned

# Reads the log of a run, and prints `OUTCOME FAULT` for what can be made to fail and has not been planned before:
# in `make check-long` each call of a kind, with each error; in `make check` the first, with the first of each outcome.
cat >faults.awk <<'EOT'
	BEGIN { outcomes = split("recovered reported either", outcome, " ") }
	FILENAME == "rules" {
		rule[++rules] = $1
		errors[rules, "recovered"] = $2
		errors[rules, "reported"] = $3
		errors[rules, "either"] = $4
		next
	}
	FILENAME == "planned" { planned[$0]; next }
	split($0, part, ",") != 3 || $0 !~ "^(zc|cyclesoak)" || $0 !~ only { next }
	++count[$0] > (long ? 20 : 1) { next }
	{
		for (i = 1; $0 !~ rule[i]; i++)
			;
		for (o = 1; o <= outcomes; o++) {
			n = split(errors[i, outcome[o]], error, ",")
			for (k = 1; k <= (long ? n : 1); k++) {
				fault = outcome[o] " " $0 "," count[$0] "," error[k]
				if (error[k] != "-" && !(fault in planned))
					print fault
			}
		}
	}
EOT

# new_lines: how many on stderr the run without a fault had none like, whatever their numbers are
new_lines()
{
	awk -v noise="$noise" '{ gsub(/[0-9][0-9.]*/, "N") } FILENAME == "usual" { usual[$0]; next }
		!($0 in usual) && $0 !~ noise { n++ } END { print n + 0 }' usual err
}

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
	UNDER="command timeout -k 5 $((40 * SLOW)) env LD_PRELOAD=./fault.so${hasten:+:./hasten.so $hasten} FAULT_LOG=log $fault"
	: >log
	scenario
	[ "$fault" = "${fault#FAULT=}" ] || has_line reached log || return 0
	[ -z "$vain" ] || ! grep -q "$vain" err || return 0
	wrong >complaints
	[ -s complaints ] || return 0
	{
		echo "$outcome $fault: exit status $status"
		cat complaints
		head -n 5 out err
	} >>bad
}

none_bad()
{
	cat bad
	not [ -s bad ]
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
	: >usual
	run_with either ''
	sed 's/[0-9][0-9.]*/N/g' err >usual
	cp log calls
	for n in $(seq "$(scale 2 15)"); do
		run_with recovered "SHORT_SEED=$(($(new_seed) + n))"
	done
	check "$name: calls that are interrupted, or move less, change nothing" none_bad
	: >bad
	awk -v only="$only" -v long="$LONG" -f faults.awk rules planned calls >plan
	[ -z "$one_fault" ] || echo "$one_fault" >plan
	[ -s plan ] || return 0
	cat plan >>planned
	while read -r outcome fault <&4; do
		run_with "$outcome" "FAULT=$fault"
	done 4<plan
	check "$name: $(wc -l <plan) calls fail, one a run: each is reported, or the report is right" none_bad
}
