# What the tests of faults share: a run under tests/helpers/preload/fault.c shows which calls a program makes of
# the C library, and then one of them fails in each run: the first of its kind, the second, and so on
# until it is not reached any more.  To be sourced after lib.sh.
#
# A scenario is a function `scenario` that runs the program behind $UNDER and leaves its exit status
# in `status`, its output in `out` and `err`, and a function `right`, which says whether a report
# with status 0 is right.
#
#	FAULTS_OF	only those scenarios whose name begins so
#	FAULT		only this fault, as a failed check prints it

# What each call fails with, and what must come of it:
#
#	recovered  status 0, a right report, and no line on stderr that a run without a fault lacks
#	reported   status 1 and one such line.  A scenario that counts failures may count it instead.
#	either     a right report, or status 1 and a line, for the reason behind `#`
#
# EINTR of every call that can return it is recovered, and so is EAGAIN of a descriptor that does
# not block, and SHORT: one byte has been moved.  EAGAIN keeps its meaning elsewhere: of
# pthread_create(3) there can be no more threads, of flock(2) another has the lock, of a socket with a
# time-out that is over.  close(2) is never repeated: the descriptor is closed even if it returns
# EINTR, and may be another thread's by then.
#
# The first column is a regular expression for the call, or for program:call; the second one for what
# the call is about: a path, a socket's protocol or option.  The first line that fits a call decides.
cat >errors <<'EOT'
open64 /proc|/sys EINTR - EACCES		# what cannot be read is in no report, nor stops it
open64 cal/|/dev/zero EINTR ENOENT,EMFILE -
open64 . EINTR - ENOENT,EMFILE			# zcc skips a file and names it; no root's lock; a closed stdin
fstat64|stat64|lstat64 . - - EIO		# zcc skips a file and names it
access|eaccess . - - EACCES			# nothing in /sys, or a command that cannot be run
read TCP EINTR,SHORT - ECONNRESET,EAGAIN	# it matters while data come, and not after the last byte
read|pread64 cal/|^(file|byte|empty)$ EINTR,SHORT EIO -
read . EINTR,SHORT - EIO			# what cannot be read is in no report, nor stops it
eventfd_read . EINTR - -
write TCP EINTR,SHORT EPIPE,ECONNRESET,ENOMEM,EAGAIN -
write /proc|/sys EINTR - ENOSPC,EIO		# the soakers have no group of their own, and a line says so if it matters
write . EINTR,SHORT ENOSPC,EIO -
zcs:send TCP EINTR,SHORT - EPIPE,ECONNRESET,ENOBUFS,ENOMEM	# one client has no receipt, and the others are served
send TCP EINTR,SHORT EPIPE,ECONNRESET,ENOMEM,EAGAIN ENOBUFS	# zerocopy sends again when others are complete
zcs:recv TCP EINTR,SHORT - ECONNRESET,EAGAIN	# it matters while data come, and not after the receipt
recv TCP:MSG_DONTWAIT EINTR,EAGAIN,SHORT ECONNRESET -
recv TCP EINTR,SHORT ECONNRESET,EAGAIN -
recvmsg TCP EINTR,EAGAIN - ENOBUFS		# completions of zerocopy are asked for again
send|recv . EINTR - ENOBUFS			# the report does without the interface's name
zcs:splice TCP EINTR,EAGAIN,SHORT EIO,ENOMEM,EPIPE -
sendfile64|splice TCP EINTR,SHORT EIO,ENOMEM,EPIPE,EAGAIN -
splice . EINTR,SHORT EIO,ENOMEM,EPIPE -
mmap64 ^(file|byte)$ - ENODEV,ENOMEM -
mmap64 . - - ENOMEM				# how many bytes a program may lock is not known
malloc|calloc|realloc . - - ENOMEM		# the C library does without, or a figure is in no report
memfd_create|epoll_create1|pipe2 . - EMFILE,ENOMEM -
eventfd . - EMFILE,ENOMEM -
zcs:socket AF_INET - - EMFILE,ENOBUFS,EAFNOSUPPORT	# it asks for IPv6 first
socket AF_INET$ - EMFILE,ENOBUFS,EAFNOSUPPORT -
socket . - - EMFILE,ENOBUFS,EAFNOSUPPORT	# IPv4 without IPv6, no name of the interface, or not its MTU and driver
connect TCP EINTR ECONNREFUSED,ETIMEDOUT,EADDRNOTAVAIL -
bind . - - EADDRINUSE,EACCES			# zcs takes IPv4 where it cannot have IPv6
listen . - EADDRINUSE -
accept4 . EINTR,EAGAIN,ECONNABORTED - EMFILE,ENOMEM	# clients wait, and a line says so
setsockopt SO_|TCP_KEEP|IPV6 - - ENOBUFS,EPERM		# nobody asked for it
setsockopt . - ENOBUFS,EPERM -
getsockopt . - - ENOBUFS			# a figure that is not known is in no report
shutdown . - - ENOTCONN				# what the other end says decides
fcntl64 . - - EINVAL,EPERM,ENOMEM		# a pipe keeps its size; a descriptor is taken for one that blocks
ppoll ^-$ - - -					# spared: only time is awaited
poll|ppoll|epoll_wait . EINTR - ENOMEM		# asked again
epoll_ctl . - ENOMEM,ENOSPC -
pthread_create|fork . - EAGAIN,ENOMEM -
execvp . - ENOENT,EACCES,ENOMEM -
getrlimit64|setrlimit64 . - - EPERM		# the limit stays
flock . EINTR ENOLCK EAGAIN			# another holds it: asked again for a while
fchmod . - EPERM -
fsync . EINTR EIO,ENOSPC -
rename|unlink . - EACCES,ENOSPC -
mkdir . - - EACCES,ENOSPC			# the soakers have no group of their own, and a line says so if it matters
opendir|readdir64 . - - EIO,ENOMEM		# the soakers keep more descriptors open
dup2 . EINTR - EBUSY				# standard output of the soakers stays open
sched_setaffinity . - EINVAL -
sched_getaffinity . - - EINVAL			# asked only where /sys does not say which CPUs there are
run_rr:sched_setscheduler . - EPERM,EINVAL -
sched_setscheduler|setpriority . - - EPERM,EINVAL	# the group, or the autogroup, keeps the soakers back
zcs:getaddrinfo . - - ENOMEM			# it asks for IPv6 first
getaddrinfo . - ENOMEM -
zcs:getnameinfo . - - -				# spared: without its line nobody knows the port
getnameinfo|if_indextoname . - - ENOMEM		# the report does without the name
nanosleep|sigtimedwait|sigwaitinfo|waitpid . EINTR - -
close . EINTR - EIO				# of no file that was written
EOT

faults_missing=
if [ -n "$SANITIZE" ]; then
	faults_missing='a sanitizer wants to be loaded first'
elif ! $CC -std=gnu11 -D_GNU_SOURCE -O2 -fPIC -shared -o fault.so "$TOP/tests/helpers/preload/fault.c" -ldl 2>cc.err; then
	faults_missing="no shared library can be made here: $(head -n 1 cc.err)"
fi
# In `make check-long` each call of a kind that no earlier scenario of the program had fails, with each error; in
# `make check` the first of each kind does, with the first error of each outcome.  Of the rest it is every
# $every_fault-th, other ones in the next check-long.  Programs that have the same $tried_as count as one, and have
# only the first error of a kind.  So do all programs in what they read of /proc and /sys, which the same functions
# of the library read for each of them.  What must be recovered from fails in one run then, all of it, and one
# after the other only if that run is not right.
every_fault=$(scale 40 5)
one_fault=${FAULT:-}
unset FAULT
tried_as=
: >tried
hasten=  # the longest sleep in ns: a setting of fault.c
only=.   # of the calls, those that fit this regular expression
excuse=  # of a run whose stderr fits this nothing is asked
besides= # what must hold in any case: a command, which says what is wrong
noise=   # lines on stderr that have other causes than the fault
counted=false # whether a report with status 0 counts the failure: a command

# Reads the log of a run, and prints `program,call,object number error outcome last` for what can be made
# to fail; last is 1 at the last call of its kind, and 0 before.
cat >faults.awk <<'EOT'
	function add(outcome, errors,    error, n, i)
	{
		n = errors == "-" ? 0 : split(errors, error, ",")
		for (i = 1; i <= n; i++)
			rule_errors[rules] = rule_errors[rules] " " error[i] "=" outcome
	}
	FILENAME == "errors" {
		rule_call[++rules] = $1
		rule_what[rules] = $2
		add("recovered", $3)
		add("reported", $4)
		add("either", $5)
		next
	}
	FILENAME == "tried" { tried[$0]; next }
	split($0, part, ",") == 3 && part[1] ~ /^(zc|cyclesoak|run_rr)/ && $0 ~ only && !count[$0]++ {
		keys[++kinds] = $0
	}
	function errors_of(key,    i, part)
	{
		split(key, part, ",")
		for (i = 1; i <= rules; i++)
			if ((part[2] ~ "^(" rule_call[i] ")$" ||
			     part[1] ":" part[2] ~ "^(" rule_call[i] ")$") && part[3] ~ rule_what[i])
				return rule_errors[i]
		print "# no errors are known of", key
	}
	function chosen(fault, is_first, is_new)
	{
		if (one != "")
			return index(fault, one " ") == 1
		return is_new && (is_first || all) || ++others % every == 0
	}
	END {
		for (k = 1; k <= kinds; k++) {
			# How often these wait, the machine's speed decides.
			waits = keys[k] ~ /,(nanosleep|waitpid),/
			if (waits && count[keys[k]] > 5)
				count[keys[k]] = 5
			same = keys[k]
			if (same !~ /^zc-/ && same ~ /,\/(proc|sys)/)
				sub(/^[^,]*/, "any", same)
			else if (tried_as != "" && same !~ /^zc-/)
				sub(/^[^,]*/, tried_as, same)
			n = split(errors_of(keys[k]), error, " ")
			before = ""
			for (i = 1; i <= n; i++) {
				sub(/=/, " ", error[i])
				split(error[i], part, " ")
				kind = part[1] == "SHORT" ? "SHORT" : part[2]
				is_first = kind != before && (i == 1 || tried_as == "")
				before = kind
				for (m = 1; m <= count[keys[k]]; m++)
					if (chosen(keys[k] "," m "," error[i], is_first && m == 1, !(same in tried)))
						print keys[k], m, error[i], !waits && m == count[keys[k]]
			}
			print same >"tried.new"
		}
	}
EOT

# has_line PATTERN FILE: whether it fits a line.  This starts no program, since it is called for every run.
has_line()
{
	while IFS= read -r line || [ -n "$line" ]; do
		# shellcheck disable=SC2254 # it is a pattern
		case $line in
		$1) return 0 ;;
		esac
	done <"$2"
	return 1
}

# bad 'what is wrong': of the run with the fault at hand
bad()
{
	{
		echo "$1 (exit status $status, to be $outcome): FAULT=$fault"
		sed 's/^/	out: /' out | head -n 5
		sed 's/^/	err: /' err | head -n 5
	} >>"bad.$outcome"
}

# What a line on stderr is whatever its numbers are.
lines_like()
{
	sed 's/[0-9][0-9.]*/N/g' "$1"
}

# Lines on stderr that the run without a fault had none like.
new_lines()
{
	[ ! -s err ] || lines_like err | grep -v -e '^$' ${noise:+-e "$noise"} | grep -vxF -f usual
}

# 125 is run_rr's own failure, 126 and 127 say that the command cannot be executed.
failure_status()
{
	case $program-$call-$status in
	run_rr-execvp-12[67]) ;;
	run_rr-*) [ "$status" -eq 125 ] ;;
	*) [ "$status" -eq 1 ] ;;
	esac
}

# What must hold of a run, whichever call failed.
judge()
{
	case $status in
	0)
		right || bad 'neither an error nor a right report'
		if [ "$outcome" = recovered ]; then
			[ -z "$(new_lines)" ] || bad 'recovered, but not without a word'
		elif [ "$outcome" = reported ] && ! $counted; then
			bad 'not reported'
		fi
		;;
	1 | 2 | 12[567])
		if ! failure_status; then
			bad 'another exit status than that of a failure'
		elif [ "$outcome" = recovered ]; then
			bad 'not recovered from'
		elif ! has_line "$program: ?*" err; then
			bad 'nothing on stderr that says what failed'
		elif [ "$outcome" = reported ] && [ "$(new_lines | wc -l)" -ne 1 ]; then
			bad 'not just one line'
		fi
		;;
	124 | 137)
		bad 'it hung'
		;;
	*)
		bad 'killed by a signal'
		;;
	esac
	! has_line 'closed twice*' log || bad 'closed twice'
	$besides >besides || bad "$(cat besides)"
}

# run_with [FAULT]: the scenario
run_with()
{
	fault=$1
	UNDER="timeout -k 5 40 env LD_PRELOAD=./fault.so FAULT_LOG=log FAULT=$fault $hasten"
	: >log
	scenario
}

# try KEY N ERROR OUTCOME: one run.  Returns whether the call was reached.
try()
{
	outcome=$4
	call=${1#*,} what=${1##*,}
	call=${call%%,*}
	run_with "$1,$2,$3"
	has_line 'reached*' log || return 1
	if excused; then
		excuses=$((excuses + 1))
	else
		echo >>"tried.$outcome"
		judge
	fi
}

# together: the faults of the plan that must be recovered from, in one run each time, until none of them is
# reached any more.  Those that were reached are no longer in the plan.
together()
{
	outcome=recovered call='' what=''
	while :; do
		# Of the same call one error at a time.
		awk '$4 == "recovered" && !seen[$1, $2]++ && n++ < 200 { print $1 "," $2 "," $3 }' plan >batched
		[ -s batched ] && run_with "$(paste -s -d ';' batched)" && ! excused && has_line 'reached*' log || return 0
		judge
		if [ -s bad.recovered ]; then
			echo "# $name: faults that must be recovered from, one after the other"
			: >bad.recovered
			return
		fi
		sed -n 's/^reached //p' log >reached
		cat reached >>tried.recovered
		awk 'FILENAME == "reached" { reached[$1]; next }
			!($1 "," $2 "," $3 in reached)' reached plan >left
		mv left plan
	done
}

excused()
{
	[ -n "$excuse" ] && [ -s err ] && grep -q -e "$excuse" err
}

# The check of the faults whose outcome is at hand.
as_expected()
{
	cat "bad.$outcome"
	not [ -s "bad.$outcome" ]
}

# faults 'name' program: makes the scenario's calls fail, one after the other
faults()
{
	name=$1 program=$2
	case $name in ${FAULTS_OF:-}*) ;; *) return ;; esac
	if [ -n "$faults_missing" ]; then
		skip "$name: faults" "$faults_missing"
		return
	fi
	excuses=0
	rm -f bad.* tried.*
	touch bad.none bad.recovered bad.reported bad.either tried.new
	call='' what='' outcome=none
	for tries in 1 2 3; do
		run_with ''
		excused || break
	done
	if excused; then
		skip "$name: faults" "$(grep -e "$excuse" err | head -n 1)"
		return
	fi
	[ "$status" -eq 0 ] && right || bad 'without a fault'
	lines_like err >usual
	awk -v tried_as="$tried_as" -v every="$every_fault" -v others="$(scale 0 $(($(date +%s) % every_fault)))" \
	    -v only="$only" -v one="$one_fault" -v all="$LONG" -f faults.awk errors tried log >plan ||
		bad 'no plan'
	cat tried.new >>tried
	! grep '^#' plan >>bad.none || :
	outcome=none
	check "$name: a right report without a fault, and for each call it is known what must come of a fault" as_expected
	[ -n "$LONG$one_fault" ] || together
	while read -r key n error outcome last <&4; do
		if [ $excuses -gt 10 ] || ! try "$key" "$n" "$error" "$outcome" || [ "$last$LONG" != 11 ]; then
			continue
		fi
		# There may be more of them now.
		while n=$((n + 1)); try "$key" $n "$error" "$outcome"; do :; done
	done 4<plan
	[ $excuses -eq 0 ] || echo "# DROPPED: $excuses faults of $name: $excuse"
	for outcome in recovered reported either; do
		[ -f tried.$outcome ] || continue
		case $outcome in
		recovered) must='are recovered from' ;;
		reported) must='are reported in one line' ;;
		either) must='are recovered from or reported' ;;
		esac
		check "$name: $(wc -l <tried.$outcome) faults $must" as_expected
	done
}
