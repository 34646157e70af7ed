# What the tests of faults share: which system calls a run makes, and to have one of them fail, by
# strace's injection.  To be sourced after lib.sh.
#
# A scenario is a function `scenario` that runs the program behind $TRACE and leaves its exit status
# in `status`, its output in `out` and `err`, and a function `right`, which says whether a report
# with status 0 is right.  `scenarios` is how many the test has.
#
#	FAULTS_SECONDS	how long they may take together (default 110)
#	FAULTS_OF	those only whose name begins so

# What each call may fail with, by what it is about (a regular expression: the kind of a
# descriptor, a path, an option); the first that fits.
cat >errors <<'EOT'
openat /proc|/sys EACCES EINTR
openat . ENOENT EMFILE EINTR
newfstatat|fstat|stat|lstat . EIO
access|faccessat2? . EACCES
read TCP ECONNRESET EINTR EAGAIN
read eventfd EINTR
read|readv|pread64|getdents64 . EIO EINTR
write TCP EPIPE ECONNRESET EINTR ENOMEM
write|writev . ENOSPC EIO EINTR
sendto TCP EPIPE ECONNRESET EINTR ENOBUFS ENOMEM
sendto|sendmsg . ENOBUFS EINTR
recvfrom TCP ECONNRESET EINTR EAGAIN
recvfrom|recvmsg . ENOBUFS EINTR
sendfile|splice . EINTR EIO ENOMEM EPIPE
mmap|mprotect|mremap . ENOMEM
mmap / ENODEV ENOMEM
memfd_create|eventfd2|epoll_create1|pipe2 . EMFILE ENOMEM
socket . EMFILE ENOBUFS EAFNOSUPPORT
connect . ECONNREFUSED ETIMEDOUT EINTR EADDRNOTAVAIL
bind . EADDRINUSE EACCES
listen . EADDRINUSE
accept4 . EMFILE ECONNABORTED EINTR ENOMEM
setsockopt . ENOBUFS EPERM
getsockopt . ENOBUFS
shutdown . ENOTCONN
ioctl . ENODEV
fcntl SETPIPE EPERM ENOMEM
fcntl . EINVAL
poll|ppoll|epoll_wait|epoll_pwait . EINTR ENOMEM
epoll_ctl . ENOMEM ENOSPC
clone|clone3|fork|vfork . EAGAIN ENOMEM
execve . ENOENT EACCES ENOMEM
prlimit64|getrlimit|setrlimit . EPERM
flock . EINTR ENOLCK
fchmod . EPERM
fsync . EIO ENOSPC
rename|renameat2?|linkat|unlink . EACCES ENOSPC
mkdir|mkdirat . EACCES ENOSPC
dup2|dup3 . EBUSY
sched_setaffinity|sched_getaffinity . EINVAL
sched_setscheduler . EPERM EINVAL
setpriority . EACCES
clock_nanosleep|nanosleep|rt_sigtimedwait|wait4|waitid . EINTR
close_range . ENOSYS
close . EIO EINTR
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
close:pipe	closes it whatever it returns, and its other end waits for that
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
# Each of the scenarios that are left has an equal share of the time; the commoner errors come first.
deadline=$(($(date +%s) + ${FAULTS_SECONDS:-110}))
follow=  # an option of strace: -b execve leaves the commands of a program alone
hasten=  # an injection that makes the program sleep less
only=    # of the targets, those that fit this regular expression
excuse=  # of a run whose stderr fits this nothing is asked
besides= # what must hold in any case: a command, which says what is wrong

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
		gsub(/\/proc\/[0-9]+/, "/proc/PID", s)
		sub(/\.[A-Za-z0-9]{6}$/, ".XXXXXX", s)
		gsub(/[ \t]/, "_", s)
		return s == "" ? "-" : s
	}
	function errors_of(call, what,    i)
	{
		for (i = 1; i <= rules; i++)
			if (call ~ "^(" rule_call[i] ")$" && what ~ rule_what[i])
				return rule_errors[i]
		return ""
	}
	FILENAME == "errors" {
		rule_call[++rules] = $1
		rule_what[rules] = $2
		$1 = $2 = ""
		rule_errors[rules] = $0
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
				for (k = 1; k <= errors; k++)
					print i + k, key, target_of[key, pick[i]], error[k]
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
		echo "$call $what, number $n${path:+ of $path}, $error: $1 (exit status $status)"
		sed 's/^/	out: /' out | head -n 5
		sed 's/^/	err: /' err | head -n 5
	} >>bad
}

# What must hold of a run, whichever call failed.
judge()
{
	case $status in
	0)
		right || bad 'neither an error nor a right report'
		;;
	1 | 2 | 12[67])
		if [ $status -ne 1 ] && [ "$program" != run_rr ]; then
			bad 'another exit status than 1'
		elif ! grep -q "^$program: ." err; then
			bad 'nothing on stderr that says what failed'
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
	$besides >besides || bad "$(cat besides)"
}

# try 'call' 'what' n path error: one run
try()
{
	call=$1 what=$2 n=$3 path=$4 error=$5
	[ "$path" != - ] || path=
	TRACE="strace -f $strace_options -y $follow -o log ${path:+-P $path} -e trace=$call"
	TRACE="$TRACE -e inject=$call:error=$error:when=$n"
	if [ -n "$hasten" ] && [ "$call" != clock_nanosleep ]; then
		TRACE="$TRACE -e trace=$call,clock_nanosleep -e inject=$hasten"
	fi
	: >log
	scenario
	grep -q "\b$call\b.*INJECTED" log && ! excused || return 0
	faults=$((faults + 1))
	judge
}

excused()
{
	[ -n "$excuse" ] && grep -q -e "$excuse" err
}

# faults 'name' program: makes the scenario's calls fail, one after the other
faults()
{
	name=$1 program=$2
	scenarios=$((scenarios - 1))
	case $name in ${FAULTS_OF:-}*) ;; *) return ;; esac
	if [ -n "$strace_missing" ]; then
		skip "$name: faults" "$strace_missing"
		return
	fi
	faults=0 failures=0
	now=$(date +%s)
	until=$((now + (deadline - now) / (scenarios + 1)))
	rm -f learn.* bad
	: >bad
	TRACE="strace -ff -q -yy $follow -o learn ${hasten:+-e inject=$hasten}"
	call='' what='' n=0 path='' error=none
	scenario
	if excused; then
		skip "$name: faults" "$(grep -e "$excuse" err | head -n 1)"
		return
	fi
	[ $status -eq 0 ] && right || bad 'without a fault'
	awk -f targets.awk errors spared learn.* >targets
	grep '^#' targets
	left=0
	grep -v '^#' targets | grep -E -e "${only:-.}" | sort -n >sorted
	while read -r rank call what n path error; do
		if [ "$(date +%s)" -lt $until ]; then
			try "$call" "$what" "$n" "$path" "$error"
		else
			left=$((left + 1))
		fi
	done <sorted
	[ $left -eq 0 ] || echo "# $left more were left out for lack of time"
	if [ $faults -eq 0 ] && [ $left -gt 0 ] && ! [ -s bad ]; then
		skip "$name: faults" 'no time: this machine is slow, or others soak it'
		return
	fi
	check "$name: $faults faults, of which $failures were reported and the others recovered from" '
		cat bad
		not [ -s bad ]
		[ $faults -gt 0 ]'
}
