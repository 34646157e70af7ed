#!/bin/sh
# Each method of zcc and of zcs by each behaviour: what arrives, in pieces, corked, raw; peers that take or send nothing,
# signals; by which calls; and what is printed where io_uring(7) may not be used, or the kernel has no TLS (tls.sh is about one
# that has).  tests/unit/sender.c has each size of a file and of a call, stream.c what is sent, faults.sh each call that fails.
#
# seconds: 5
# limit: 400
. "$TOP/tests/lib.sh"

senders=$(senders)
receivers=$(receivers)
may_lock_much || skip 'zcc -m zerocopy, zcc -m uring-zc' 'tests side by side would pin more than the user may (ulimit -l)'
can_uring || skip 'zcc -m uring, zcs -m uring' 'no io_uring of Linux 6.1 or later here'
printf 'hello, world\n' >small
: >empty
head -c 300000 /dev/urandom >file
head -c 1300001 /dev/urandom >larger # than a window, a ring or a pipe of four streams
{ u32 1 2 13; cat small; u32 0; } >two
{ u32 1 1 1000; printf abc; } >half_a_file

#
# zcs
#
for how in $receivers; do
	beside "zcs -m $how: that call alone receives bodies, whole"; ( begin; need strace
		[ "$how" != zerocopy ] || exit 0 # what it maps is no bytes of a call
		launch zcs.out '*listening*' strace -y -ff -o trace -e trace=read,recvfrom,splice,io_uring_enter "$zcs" -1 -p 0 -m "$how"
		read_port zcs.err
		# In two pieces, so that it has to wait in a file.
		{ u32 1 1 700001; head -c 400000 /dev/zero; sleep 0.2; head -c 300001 /dev/zero; } | "$HELPERS/net" send "$PORT" >receipt
		grep -q '^bytes=700001 ' receipt
		ended "$launched"
		not grep 'io_uring_enter.* = -1 EEXIST' trace.* # as if another thread closed the ring
		case $how in
		recv) call='recvfrom(.*, 0, NULL' ;;
		trunc) call='recvfrom(.*MSG_TRUNC' ;;
		*) call=$how'(' ;; # those of a ring are not seen
		esac
		grep -hv nlmsg trace.* | sed -n 's/^\([a-z]*([0-9]*<socket:.*\) = \([0-9]*\)$/\2 \1/p' >came
		grep -e " $call" came | cat came - | awk -v none="$([ "$how" != uring ] || echo 1)" '
			{ n += $1 } END { print n + 0; exit !(none ? n == 0 : n == 2 * 700013 || n == 700013 + 700001) }'
	) & later
	beside "zcs -m $how: a stream in single bytes has a receipt; it gives all back; SIGTERM ends it in a file"; ( begin
		start_zcs -m "$how" --idle-timeout 0 -I 0.05
		fds=$(entries_in "/proc/$ZCS/fd")
		"$HELPERS/net" send -d 1 "$PORT" <../two >receipt
		grep -Eq "^bytes=13 seconds=[0-9.]+ files=2 warmup=0 method=$how reads=[0-9]+ " receipt
		[ "$how" != zerocopy ] || grep ' mapped=0.000000 ' receipt
		wait_until counts -eq "$fds" entries_in "/proc/$ZCS/fd"
		rows=$(lines_in zcs.out)
		"$HELPERS/net" send -k "$PORT" <../half_a_file >receipt & # -k keeps it open
		remember $!
		wait_until counts -gt "$rows" lines_in zcs.out # the row of an interval: its bytes have come
		kill -TERM "$ZCS"
		ended "$ZCS"
		grep -q 'interrupted after [0-9]* bytes' zcs.err
	) & later
done

#
# zcc
#
# sends OPTION...: by $how to $PORT
tracer=
sends() { exits 0 timeout 60 $tracer "$zcc" -s 0 -p "$PORT" -m "$how" --congestion reno "$@"; }
# arrives PASSES 'options' FILE...: a peer gets that many passes of them; of several streams the last one is looked at
arrives()
{
	passes=$1 options=$2
	shift 2
	for pass in $(seq "$passes"); do
		u32 $#
		for f; do u32 "$(wc -c <"$f")"; cat "$f"; done
	done >want
	case $options in *-P\ 4*) start_peer -n 4 -w got ;; *) start_peer -w got ;; esac
	sends -n "$passes" $options "$@"
	ended "$PEER"
	{ u32 "$passes"; cat want; } | cmp - got
	rm want got
}
# held OPTION...: by $how in the background, to a peer that does not read
held()
{
	start_peer -s
	start_zcc held -m "$how" -o 60000 "$@"
	wait_until grep -q data peer.out
}
loops=$(scale 3000 50000) # more than a pipe, a ring or one call takes of them
for how in $senders; do
	beside "zcc -m $how: four streams each pass files of any size in pieces of -b; a small file is one segment"; ( begin
		arrives 2 '-P 4 -b 997' ../larger ../empty ../small
		arrives 1 '' ../small
		grep -qx 'segments 1' peer.out
	) & later
	beside "zcc -m $how -k: corked before the first byte of each pass, released after its last; its calls alone send"; ( begin; need strace
		tracer='strace -ff -o trace'
		arrives 2 -k ../file ../small
		cat "$(grep -l MSG_MORE trace.* | head -n 1)" >sending
		# The first of its calls sends, but for headers, which are sent by sendto().
		case $how in
		send) calls=pread64 ;;
		write) calls='pread64 write' ;;
		mmap) calls='mmap munmap newfstatat fstat' ;;
		zerocopy) calls='pread64 poll recvmsg' ;;
		uring*) calls='io_uring_enter io_uring_register sched_getaffinity' ;;
		*) calls=$how ;;
		esac
		sed -n '/MSG_MORE/,/^shutdown/s/^\([a-z0-9_]*\)(.*/\1/p' sending | sort -u >made
		grep -qx "${calls%% *}" made
		not grep -vxE "sendto|setsockopt|shutdown|${SANITIZE:+madvise|}$(echo $calls | tr ' ' '|')" made
		sed -n 's/^setsockopt(.*TCP_CORK, \[\([01]\)\], 4) = 0/cork \1/p
			/MSG_MORE/,/^shutdown/{
				/^\(sendfile\|sendto\|write\|splice\|io_uring_enter\)(.*/s//send/p
				/^shutdown.*/s//shutdown/p
			}' sending | uniq >order
		printf 'cork 1\nsend\ncork 0\ncork 1\nsend\ncork 0\nshutdown\n' | diff - order
	) & later
	beside "zcc -m $how and a server that reads nothing: --timeout ends it with one line, SIGINT with a report"; ( begin
		for b in 64k $([ "$how" != zerocopy ] || echo 1000); do
			start_peer -s
			breaks "127.0.0.1:$PORT: the server accepted no data for 0.3 seconds (--timeout) after [0-9]* bytes" \
			    timeout 20 "$zcc" -s 0 -p "$PORT" -m "$how" -b $b --timeout 0.3 -t 60 ../file
			kill -USR1 "$PEER"
		done
		held --raw -t 60 ../file
		zcc_ends held 130 INT
		[ -n "$(bytes_of held.out)" ]
		kill -USR1 "$PEER"
		# The kernel also notifies of the sends behind, which it cancelled before they began.
		case $how in
		*z*c*) plain held.out | awk '/ zerocopy sends / { n++; sends = $3 } / copied by the kernel / { bad += $5 > sends } END { exit n != 1 || bad }' ;;
		esac
	) & later
done

#
# What one method has
#
for how in sendfile $(echo "$senders" | grep 'z.*c'); do
	beside "zcc --raw -m $how: as many bytes as loops, with -P: both ends agree; a server that echoes all has all"; ( begin
		start_zcs --raw
		sends --raw -P 4 -n $loops ../tiny
		# A stream may end before the next is accepted: then they are more groups than one.
		wait_until counts -eq 4 summaries "^127.*, $loops bytes in "
		[ "$how" = sendfile ] || for row in ' zerocopy sends' '   copied by the kernel'; do
			plain out | grep -Ex "   $row +$((4 * loops))"
		done
		start_peer -e
		sends --raw --timeout 5 -n 2 ../larger
		ended "$PEER"
		grep -qx 'bytes 2600002' peer.out
		[ "$(bytes_of out)" = 2600002 ]
	) & later
done
how=send
beside 'zcc --preload: what arrives is as without, and each file is read once'; ( begin; need strace
	tracer='strace -f -e trace=pread64 -o trace'
	arrives 3 --preload ../file ../small ../tiny
	[ "$(grep -c pread64 trace)" -le 6 ] # the loader has some
) & later
beside '-m uring at both ends: calls that the kernel cannot serve for a moment are repeated'; ( begin; need strace
	can_uring || skip_check 'no io_uring here'
	for e in EAGAIN EBUSY EINTR; do
		inject="-e trace=io_uring_enter -e inject=io_uring_enter:error=$e:when=3+7"
		launch zcs.out '*listening*' strace -f -o received $inject "$zcs" -1 -p 0 -m uring
		read_port zcs.err
		exits 0 strace -f -o sent $inject "$zcc" -s 0 -p "$PORT" -m uring --congestion reno -n 20 ../file
		grep -q 'all bytes sent were received' out
		ended "$launched"
		grep -c "$e.*INJECTED" received sent
	done
) & later
beside 'zcc with all methods, and --request, -r 30, in 100 MB and with 40 descriptors: each run gives back what it took'; ( begin
	! sanitized || skip_check 'a sanitizer has more memory than that'
	start_zcs
	# shellcheck disable=SC3045 # dash, bash and busybox have these
	ulimit -n 40
	# shellcheck disable=SC3045
	ulimit -v 100000
	exits 0 timeout 60 "$zcc" -s 0 -p "$PORT" -q --congestion reno -m "$(echo "$senders" | paste -sd ,)" -r 30 ../tiny
	wait_until counts -eq 1 threads_of "$ZCS"
	start_zcs --reply
	exits 0 timeout 60 "$zcc" -s 0 -p "$PORT" -q --congestion reno --request 10 -n 1 -r 50
) & later

#
# What a user may pin or lock: each line has a user of its own
#
start_zcs
n=0
can_be_user || skip 'zcc with little memory to pin or to lock' "$not_user"
[ -n "$not_user" ] || while read -r kib verdict options; do
	n=$((n + 1))
	beside "zcc $options with $kib KiB to pin or to lock: $([ $verdict = all ] && echo all arrives || echo "one line has 'no memory to $verdict', exit 1")"; ( begin
		case $options in *uring*) can_uring || skip_check 'no io_uring here' ;; esac
		set -- as_id $(((100000 + $$) * 10 + n)) timeout 60 prlimit --memlock=$((kib * 1024)) "$zcc" -s 0 -p "$PORT" --congestion reno $options
		if [ $verdict != all ]; then
			fails "no memory to $verdict: raise ulimit -l" "$@"
		else
			may_lock_much || skip_check 'other tests of this user may have pinned them'
			exits 0 "$@"
			grep -q 'all bytes sent were received' out
		fi
	) & later
	[ "$(id -u)" -eq 0 ] || together # one user for all of them
done <<END
4 pin -m zerocopy -b 64k ../file
300 all -m zerocopy -b 16k -n 30 ../file
$(uring_senders | sed 's|.*|4 lock -m & ../small|')
END

#
# io_uring(7) is forbidden
#
echo 'mount --bind "$1" /proc/sys/kernel/io_uring_disabled && shift && exec "$@"' >with_sysctl
while IFS=';' read -r sysctl error line command; do
	beside "${command%% *} -m uring where io_uring ends with $error, and io_uring_disabled is $sysctl: one line, exit 1"; ( begin; need strace
		echo "$sysctl" >sysctl
		unshare -m sh ../with_sysctl sysctl true || skip_check 'no mount namespace, or no such sysctl'
		fails "^${command%% *}: -m uring\(-zc\)\?: io_uring: $line" timeout 20 unshare -m sh ../with_sysctl sysctl \
		    strace -f -o trace -e trace=io_uring_setup -e inject=io_uring_setup:error=$error "$BIN"/$command
	) & later
done <<END
0;EPERM;a seccomp filter forbids it: containers need a profile that allows io_uring_setup$;zcs -m uring -p 0
2;EPERM;kernel.io_uring_disabled forbids it: set that sysctl to 0$;zcc -m uring -s 0 -p $PORT ../small
0;ENOSYS;this kernel has none, or a seccomp filter hides it$;zcc -m uring-zc -s 0 -p $PORT ../small
0;EINVAL;this kernel is too old: Linux 6.1 or later is needed$;zcc -m uring -s 0 -p $PORT ../small
END
together
it '--tls on a kernel without TLS: zcc and zcs say at the start what is missing, and the way out'; ( begin; need strace
	for how in 'zcs -p 0 --tls' "zcc -s 0 -p $PORT --tls=aes-256-gcm small"; do
		fails "^${how%% *}: .*--tls: this kernel has no TLS, or its module is not loaded: try 'modprobe tls'$" \
		    strace -f -o /dev/null -e trace=setsockopt -e inject=setsockopt:error=ENOENT "$BIN"/$how
	done
); ok
it 'zcs without --tls: a client that says hello gets no answer, and a line has a hint'; ( begin
	start_zcs
	printf '\27\3\3\0\25\1\2\3\4\5' | "$HELPERS/net" send "$PORT" >got || :
	[ ! -s got ]
	wait_until grep 'is it zcc --tls? then this zcs needs --tls, too: ended, after 0 bytes' zcs.err
	stop_zcs
); ok
for option in --raw --mptcp --reply; do
	check_usage "--tls and $option cannot be used together" zcs --tls $option
done
for method in trunc zerocopy; do
	check_usage "-m $method and --tls cannot be used together: kernel TLS lacks it" zcs --tls -m $method
done
check_usage '-m zerocopy needs TCP: it cannot be combined with --mptcp' zcs -m zerocopy --mptcp
finish
