# What the tests of faults share: which system calls a run makes, and to have one of them fail, by
# strace's injection.  To be sourced after lib.sh.
#
# A scenario is a function `scenario` that runs the program behind $TRACE and leaves its exit status
# in `status`, its output in `out` and `err`, and a function `right`, which says whether a report
# with status 0 is right.
#
#	FAULTS_MOST	how many faults of each scenario are tried (default 80, in `make check-long` all)
#	FAULTS_OF	those only whose name begins so

# What each call fails with here, and what must come of it:
#
#	recovered  status 0, a right report, and no line on stderr that a run without a fault lacks
#	reported   status 1 and one such line.  A scenario that counts failures may count it instead.
#	either     a right report, or status 1 and a line, for the reason behind `#`
#
# EINTR of every call that can return it is recovered, and so is EAGAIN of a descriptor that does
# not block.  EAGAIN keeps its meaning elsewhere: of clone(2) there can be no more threads, of
# flock(2) another has the lock, of a socket with a time-out that is over.  close(2) is never
# repeated: the descriptor is closed even if it returns EINTR, and may be another thread's by then.
#
# The first column is a regular expression for the call, or for program:call; the second one for what
# the call is about (the kind of a descriptor, a path, an option).  The first line that fits a call
# decides; the lines with the same two columns belong to it.
cat >errors <<'EOT'
openat /proc|/sys recovered EINTR
openat /proc|/sys either EACCES	# what cannot be read is in no report, nor stops it
openat cal/counts recovered EINTR
openat cal/counts reported ENOENT EMFILE
openat /dev/zero recovered EINTR
openat /dev/zero reported ENOENT EMFILE
openat /etc/ either ENOENT EMFILE EINTR	# the C library does without the time zone
openat . recovered EINTR
openat . either ENOENT EMFILE	# zcc skips a file and names it; a closed stdin is made good if it can be
newfstatat|fstat|stat|lstat . either EIO	# stdio guesses a buffer size; zcc skips a file and names it
access|faccessat2? . either EACCES	# of the C library
read TCP recovered EINTR EAGAIN
read TCP either ECONNRESET	# it matters while data come, and not after the last byte
read eventfd recovered EINTR
read|pread64 cal/counts|/(file|byte|empty)$ recovered EINTR
read|pread64 cal/counts|/(file|byte|empty)$ reported EIO
read /usr/share/zoneinfo either EIO EINTR	# the C library does without the time zone
read|readv|pread64|getdents64 . recovered EINTR
read|readv|pread64|getdents64 . either EIO	# what cannot be read is in no report, nor stops it
write TCP recovered EINTR
write TCP reported EPIPE ECONNRESET ENOMEM EAGAIN
write /proc|/sys recovered EINTR
write /proc|/sys either ENOSPC EIO	# the soakers have no group of their own, and a line says so if it matters
write|writev . recovered EINTR
write|writev . reported ENOSPC EIO
zcs:sendto TCP recovered EINTR
zcs:sendto TCP either EPIPE ECONNRESET ENOBUFS ENOMEM	# one client has no receipt, and the others are served
sendto TCP recovered EINTR
sendto TCP reported EPIPE ECONNRESET ENOMEM EAGAIN
sendto TCP either ENOBUFS	# zerocopy sends again when others are complete
sendto|sendmsg . recovered EINTR
sendto|sendmsg . either ENOBUFS	# of the C library, which may find the interface's address without
zcs:recvfrom TCP recovered EINTR EAGAIN
zcs:recvfrom TCP either ECONNRESET	# it matters while data come, and not after the receipt
recvfrom TCP:MSG_DONTWAIT recovered EINTR EAGAIN
recvfrom TCP:MSG_DONTWAIT reported ECONNRESET
recvfrom TCP recovered EINTR
recvfrom TCP reported ECONNRESET EAGAIN
recvmsg TCP recovered EINTR EAGAIN
recvmsg TCP either ENOBUFS	# completions of zerocopy are asked for again
recvfrom|recvmsg . recovered EINTR
recvfrom|recvmsg . either ENOBUFS	# of the C library, which may find the interface's address without
zcs:splice TCP recovered EINTR EAGAIN
zcs:splice TCP reported EIO ENOMEM EPIPE
sendfile|splice TCP recovered EINTR
sendfile|splice TCP reported EIO ENOMEM EPIPE EAGAIN
sendfile|splice . recovered EINTR
sendfile|splice . reported EIO ENOMEM EPIPE
mmap /(file|byte)$ reported ENODEV ENOMEM
mmap|mprotect|mremap . either ENOMEM	# malloc(3) gets memory elsewhere, and stdio does without
cyclesoak:eventfd2 . either EMFILE ENOMEM	# how long wake-ups take is not known then
memfd_create|eventfd2|epoll_create1|pipe2 . reported EMFILE ENOMEM
zcs:socket AF_INET either EMFILE ENOBUFS EAFNOSUPPORT	# it asks for IPv6 first
socket AF_INET$ reported EMFILE ENOBUFS EAFNOSUPPORT
socket . either EMFILE ENOBUFS EAFNOSUPPORT	# IPv4 without IPv6, no name of the interface
connect TCP recovered EINTR
connect TCP reported ECONNREFUSED ETIMEDOUT EADDRNOTAVAIL
bind TCP either EADDRINUSE EACCES	# zcs takes IPv4 where it cannot have IPv6
bind . either EADDRINUSE EACCES	# of the C library
listen . reported EADDRINUSE
accept4 . recovered EINTR EAGAIN ECONNABORTED
accept4 . either EMFILE ENOMEM	# clients wait, and a line says so
setsockopt SO_KEEPALIVE|TCP_KEEP|SO_OOBINLINE|SO_RCVLOWAT|SO_REUSEADDR|IPV6_V6ONLY either ENOBUFS EPERM	# nobody asked for it
setsockopt . reported ENOBUFS EPERM
getsockopt . either ENOBUFS	# a figure that is not known is in no report; buffers cannot be compared
shutdown . either ENOTCONN	# what the other end says decides
ioctl . either ENODEV	# stdio, and the name of the interface
fcntl . either EINVAL EPERM ENOMEM	# a pipe keeps its size; stdio asks for the mode
poll|ppoll|epoll_wait|epoll_pwait . recovered EINTR
poll|ppoll|epoll_wait|epoll_pwait . either ENOMEM	# asked again
epoll_ctl . reported ENOMEM ENOSPC
clone|clone3|fork|vfork . reported EAGAIN ENOMEM
execve . reported ENOENT EACCES ENOMEM
prlimit64|getrlimit|setrlimit . either EPERM	# the limit stays
flock . recovered EINTR
flock . reported ENOLCK
flock . either EAGAIN	# another holds it: asked again for a while
fchmod . reported EPERM
fsync . recovered EINTR
fsync . reported EIO ENOSPC
rename|renameat2?|linkat|unlink . reported EACCES ENOSPC
mkdir|mkdirat . either EACCES ENOSPC	# the soakers have no group of their own, and a line says so if it matters
dup2|dup3 . recovered EINTR
dup2|dup3 . either EBUSY	# standard output of the soakers stays open
sched_setaffinity . reported EINVAL
sched_getaffinity . either EINVAL	# asked only where /sys does not say which CPUs there are
run_rr:sched_setscheduler . reported EPERM EINVAL
sched_setscheduler|setpriority . either EPERM EINVAL EACCES	# the group, or the autogroup, keeps the soakers back
clock_nanosleep|nanosleep|rt_sigtimedwait|wait4|waitid . recovered EINTR
close_range . either ENOSYS	# the soakers keep more descriptors open
close . recovered EINTR
close . either EIO	# of no file that was written
EOT

# What is not made to fail, each with the reason.
cat >spared <<'EOT'
exit exit_group rt_sigreturn munmap madvise	nothing comes back, or nothing is asked for
rseq set_robust_list set_tid_address arch_prctl getrandom	glibc's own, at the start of threads and of malloc(3)
brk	has no errors: it returns the old end, and malloc(3) goes to mmap(2)
futex	glibc deals with the two errors that it can have
rt_sigaction rt_sigprocmask sigaltstack umask uname	fail for bad arguments only
getpid gettid getppid getuid geteuid getgid getegid getpgrp getpgid	never fail
prctl setsid	fail for bad arguments, or a session leader, which it is not
kill tgkill	of children and threads of its own
rmdir	what is not removed stays
clock_gettime gettimeofday sysinfo getsockname	fail for bad arguments only
restart_syscall pause lseek	not the program's: pipes and clocks go on, or stdio asks what a descriptor is
close:pipe	made to fail it stays open here, and its other end waits for its end
ioctl:TIOCOUTQ	fails for listening sockets only
write:eventfd	the kernel takes all that eventfd_write(3) has
write:err	standard error, where there is no more to be said
EOT

if ! strace -f -o /dev/null -e trace=close -e inject=close:error=EIO:when=30000 true 2>/dev/null; then
	strace_missing='no strace, or it may not trace, or it has no injection'
elif [ -n "$SANITIZE" ]; then
	strace_missing='a sanitizer has calls of its own, which must not fail'
fi
strace_options='-q --seccomp-bpf'
strace -f $strace_options -o /dev/null -e trace=close true 2>/dev/null || strace_options=-q
# In `make check` a call fails only when it is made first for a purpose, with its first error, and in
# the first scenario of the program that has such a call: those are the faults of rank 2 and new.
# Programs that have the same $tried_as count as one.
ranks=$(scale 2 1000)
tried_as=
: >tried
most_faults=${FAULTS_MOST:-$(scale 80 1000000)}
follow=  # an option of strace: -b execve leaves the commands of a program alone
hasten=  # an injection that makes the program sleep less
only=    # of the targets, those that fit this regular expression
excuse=  # of a run whose stderr fits this nothing is asked
besides= # what must hold in any case: a command, which says what is wrong
noise=   # lines on stderr that have other causes than the fault
counted=false # whether a report with status 0 counts the failure: a command

# Reads the traces of each thread, and prints `rank call what n path error` for what can be made to
# fail: the first, a middle and the last one that it makes for a purpose.  A thread's calls are
# counted from its start, and each thread's n-th fails.  What the dynamic loader does before main
# opens /dev/null is not the program's: a thread's call with no higher number than a loader's can
# be told apart by the path alone, and not at all without one.
cat >targets.awk <<'EOT'
	function kind(line,    s)
	{
		if (match(line, /<(TCP|UDP|UNIX|NETLINK)/))
			s = substr(line, RSTART + 1, RLENGTH - 1)
		else if (match(line, /anon_inode:\[[a-z]*/))
			s = substr(line, RSTART + 12, RLENGTH - 12)
		else if (match(line, /<pipe:/))
			s = "pipe"
		else if (match(line, /"[^"]*"/) && line ~ /^(open|access|faccess|execve|mkdir|rename|unlink|link|newfstatat\(AT_FDCWD)/)
			s = substr(line, RSTART + 1, RLENGTH - 2)
		else if (match(line, /[0-9]<\/[^>]*>/))
			s = substr(line, RSTART + 2, RLENGTH - 3)
		sub(/<.*/, "", s)
		# The option or request, or the family.
		if (line ~ /^[gs]etsockopt\(/ && match(line, /(SO|TCP|IPV6)_[A-Z0-9_]*, \[|(SO|TCP|IPV6)_[A-Z0-9_]*, ["{~]/))
			s = s ":" substr(line, RSTART, RLENGTH - 3)
		else if (line ~ /^(ioctl|fcntl)\(/ && match(line, /, [A-Z][A-Z0-9_]*/))
			s = s ":" substr(line, RSTART + 2, RLENGTH - 2)
		else if (match(line, /^socket\([A-Z_0-9]*/))
			s = substr(line, 8, RLENGTH - 7)
		if (line ~ /^(recv|send)/ && line ~ /MSG_DONTWAIT/)
			s = s ":MSG_DONTWAIT"
		gsub(/\/proc\/[0-9]+/, "/proc/PID", s)
		sub(/\.[A-Za-z0-9]{6}$/, ".XXXXXX", s)
		gsub(/[ \t]/, "_", s)
		return s == "" ? "-" : s
	}
	# error=outcome of each error of the rule that fits first
	function errors_of(call, what,    i)
	{
		for (i = 1; i <= rules; i++)
			if ((call ~ "^(" rule_call[i] ")$" || program ":" call ~ "^(" rule_call[i] ")$") &&
			    what ~ rule_what[i])
				return rule_errors[i]
		return ""
	}
	FILENAME == "errors" {
		sub(/\t.*/, "")
		if ($1 != rule_call[rules] || $2 != rule_what[rules])
			rules++
		rule_call[rules] = $1
		rule_what[rules] = $2
		for (i = 4; i <= NF; i++)
			rule_errors[rules] = rule_errors[rules] " " $i "=" $3
		next
	}
	FILENAME == "spared" {
		sub(/\t.*/, "")
		for (i = 1; i <= NF; i++)
			spared[$i] = 1
		next
	}
	FNR == 1 {
		tracee++
		loading = /^execve\(/
		elsewhere = 0
	}
	!match($0, /^[a-z0-9_]+\(/) || elsewhere { next }
	{
		call = substr($0, 1, RLENGTH - 1)
		n = ++count[tracee, call]
		what = kind($0)
		if (call == "execve" && FNR > 1 && / = 0$/) # what follows is the command's
			elsewhere = 1
		if (loading) {
			loader[call] = n
			if (/^openat\(.*"\/dev\/null", O_RDONLY\)/)
				loading = 0
			else
				next
		}
		tail = what
		sub(/.*[:\/]/, "", tail)
		if (call in spared || (call ":" tail) in spared) {
			never[call, n] = 1
			next
		}
		if (errors_of(call, what) == "") {
			unknown[call] = 1
			next
		}
		calls++
		made_call[calls] = call
		made_what[calls] = what
		made_n[calls] = n
		made_path[calls] = what ~ /^\// && what !~ /PID|XXXXXX/ ? what : ""
		made_path_n[calls] = ++count_path[tracee, call, what]
	}
	END {
		for (i = 1; i <= calls; i++) {
			call = made_call[i]
			key = call " " made_what[i]
			n = made_n[i]
			if (n > loader[call] && !((call, n) in never))
				target = n " -"
			else if (made_path[i] != "")
				target = made_path_n[i] " " made_path[i]
			else {
				missed[key] = 1
				continue
			}
			if (!((key, target) in had)) {
				had[key, target] = 1
				target_of[key, ++targets[key]] = target
			}
		}
		for (key in targets) {
			split(key, part, " ")
			m = targets[key]
			split("", done)
			split("1 " int((m + 1) / 2) " " m, pick, " ")
			for (i = 1; i <= 3; i++) {
				if (pick[i] in done)
					continue
				done[pick[i]] = 1
				errors = split(errors_of(part[1], part[2]), error, " ")
				for (k = 1; k <= errors; k++) {
					sub(/=/, " ", error[k])
					print i + k, key, target_of[key, pick[i]], error[k]
				}
			}
		}
		for (call in unknown)
			print "# no errors are known of", call
		for (key in missed)
			if (!(key in targets))
				print "# out of reach behind the loader:", key
	}
EOT

# bad 'what is wrong': of the run with the fault at hand
bad()
{
	{
		echo "$call $what, number $n${path:+ of $path}, $error: $1 (exit status $status, to be $outcome)"
		sed 's/^/	out: /' out | head -n 5
		sed 's/^/	err: /' err | head -n 5
	} >>bad
}

# What a line on stderr is whatever its numbers are.
lines_like()
{
	sed 's/[0-9][0-9.]*/N/g' "$1"
}

# Lines on stderr that the run without a fault had none like.
new_lines()
{
	lines_like err | grep -v -e '^strace: ' ${noise:+-e "$noise"} | grep -vxF -f usual
}

# closed_twice: a close(2) that failed, tried again by the same thread.  The descriptor is still open
# here, so that no other has its number.
closed_twice()
{
	awk 'match($0, /close\([0-9]+</) {
			found += failed[$1] == substr($0, RSTART, RLENGTH)
			last[$1] = substr($0, RSTART, RLENGTH)
		}
		/close.*INJECTED/ { failed[$1] = last[$1] }
		END { exit !found }' log
}

# 125 is run_rr's own failure, 126 and 127 say that the command cannot be executed.
failure_status()
{
	case $program-$call-$status in
	run_rr-execve-12[67]) ;;
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
		elif ! grep -q "^$program: ." err; then
			bad 'nothing on stderr that says what failed'
		elif [ "$outcome" = reported ] && [ "$(new_lines | wc -l)" -ne 1 ]; then
			bad 'not just one line'
		fi
		failures=$((failures + 1))
		;;
	124 | 137)
		bad 'it hung'
		;;
	*)
		bad 'killed by a signal'
		;;
	esac
	[ $call != close ] || ! closed_twice || bad 'closed twice'
	$besides >besides || bad "$(cat besides)"
}

# try 'call' 'what' n path error outcome: one run
try()
{
	call=$1 what=$2 n=$3 path=$4 error=$5 outcome=$6
	[ "$path" != - ] || path=
	TRACE="strace -f $strace_options -y $follow -o log ${path:+-P $path} -e trace=$call"
	TRACE="$TRACE -e inject=$call:error=$error:when=$n"
	if [ -n "$hasten" ] && [ "$call" != clock_nanosleep ]; then
		TRACE="$TRACE -e trace=$call,clock_nanosleep -e inject=$hasten"
	fi
	: >log
	scenario
	grep -q "\b$call\b.*INJECTED" log || return 0
	if excused; then
		excuses=$((excuses + 1))
		return
	fi
	# Threads differ from run to run: it may have hit a pipe, whose close is spared.
	! grep -q 'close([0-9]*<pipe:.*INJECTED' log || return 0
	faults=$((faults + 1))
	judge
}

excused()
{
	[ -n "$excuse" ] && grep -q -e "$excuse" err
}

# faults 'name' program: makes the scenario's calls fail, one after the other
faults_of_which_reported()
{
	cat bad
	not [ -s bad ]
	[ "$faults" -gt 0 ] || not [ -s sorted ]
}
faults()
{
	name=$1 program=$2
	case $name in ${FAULTS_OF:-}*) ;; *) return ;; esac
	if [ -n "$strace_missing" ]; then
		skip "$name: faults" "$strace_missing"
		return
	fi
	faults=0 failures=0 excuses=0
	rm -f learn.* bad
	: >bad
	TRACE="strace -ff -q -yy $follow -o learn ${hasten:+-e inject=$hasten}"
	call='' what='' n=0 path='' error=none outcome=recovered
	scenario
	if excused; then
		skip "$name: faults" "$(grep -e "$excuse" err | head -n 1)"
		return
	fi
	[ "$status" -eq 0 ] && right || bad 'without a fault'
	lines_like err >usual
	awk -v program="$program" -f targets.awk errors spared learn.* >targets
	grep '^#' targets
	left=0
	grep -v '^#' targets | grep -E -e "${only:-.}" | sort -n |
		awk -v program="${tried_as:-$program}" -v most="$ranks" -v all="$LONG" '
			FILENAME == "tried" { tried[$0]; next }
			$1 <= most && (all || !((program " " $2 " " $3) in tried))' tried - >sorted
	awk -v program="${tried_as:-$program}" '{ print program, $2, $3 }' sorted >>tried
	while read -r rank call what n path error outcome; do
		# Where others soak the machine, it is not asked a hundred times.
		if [ $excuses -ge 10 ] || [ $((faults + left)) -lt "$most_faults" ]; then
			try "$call" "$what" "$n" "$path" "$error" "$outcome"
		else
			left=$((left + 1))
		fi
	done <sorted
	if [ $excuses -gt 0 ]; then
		echo "# DROPPED: $((left + excuses)) faults of $name: $(grep -m 1 -e "$excuse" err)"
	elif [ $left -gt 0 ]; then
		echo "# DROPPED: $left faults of $name: FAULTS_MOST is $most_faults"
	fi
	if [ $faults -eq 0 ] && [ $excuses -gt 0 ] && ! [ -s bad ]; then
		skip "$name: faults" 'others soak this machine'
		return
	fi
	check "$name: $faults faults, of which $failures were reported and the others recovered from" faults_of_which_reported
}
