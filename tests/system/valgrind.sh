#!/bin/sh
# The programs under valgrind, in what they do every day and in their errors: no memory used that
# is not theirs or that was never written, none leaked, no descriptor left open at the end.  `make check`
# has a part of it.
#
# seconds: 12
. "$TOP/tests/lib.sh"

if sanitized; then
	skip 'the programs under valgrind' 'they have sanitizers'
	finish
fi
if ! prints "$("$BIN/zcc" --version)" valgrind -q "$BIN/zcc" --version 2>/dev/null; then
	skip 'the programs under valgrind' 'no valgrind, or it does not know this machine, or what the compiler writes for debuggers'
	finish
fi

# The functions of lib.sh start these.  The keeper and the soaker, which end by _exit(2) or SIGKILL
# with all that they have, are not looked at; sanitizers do.
plain=$BIN
BIN=$PWD/bin
mkdir bin logs
cat >known <<'END'
{
   with MSG_TRUNC the data are dropped: there is no buffer (tcp(7)), of which valgrind does not know
   Memcheck:Param
   socketcall.recvfrom(buf)
   ...
   fun:receive_trunc
}
{
   with MSG_TRUNC the data are dropped: there is no buffer (tcp(7)), of which valgrind does not know
   Memcheck:Param
   socketcall.recvfrom(buf)
   ...
   fun:stream_discard
}
END
for t in zcc zcs cyclesoak run_rr; do
	cat >bin/$t <<-END
		#!/bin/sh
		exec valgrind -q --leak-check=full --show-leak-kinds=definite,indirect,possible \\
		    --errors-for-leak-kinds=definite,indirect,possible --track-fds=yes --error-exitcode=99 --child-silent-after-fork=yes \\
		    --suppressions="$PWD/known" \\
		    --log-file="$PWD/logs/$t.%p" "$plain/$t" "\$@"
	END
	chmod 755 bin/$t
done
zcc=$BIN/zcc zcs=$BIN/zcs cyclesoak=$BIN/cyclesoak run_rr=$BIN/run_rr
head -c 300000 /dev/urandom >file
printf 'x' >tiny

# sound TOOL: it has run since the last time, and valgrind has said nothing but which descriptors
# were open at the end.
sound()
{
	cat logs/$1.* >log
	rm logs/$1.*
	cat log
	awk -v clean="$2" '{ sub(/^==[0-9]+== ?/, "") }
		/^FILE DESCRIPTORS: / { next }
		/^$/ { open = 0; next }
		/^Open / { open = 1; next }
		/<inherited from parent>$/ { open = 0; next }
		open && !clean { next }
		{ bad++ }
		END { exit bad > 0 }' log
}

# clean TOOL: the same, and all those descriptors were open at the beginning.  One that ends by an
# error leaves them to the kernel.
clean()
{
	sound "$1" 1
}

# zcc, with a zcs that is not watched.
BIN=$plain
start_zcs
zcc_m()
{
	exits 0 "$zcc" -s 0 -p "$PORT" -m $how -n 2 --congestion reno file tiny
	grep -q "all bytes sent were received" out
	clean zcc
}
for how in $(senders); do
	check_long "zcc -m $how" zcc_m
done
zcc_with()
{
	exits 0 "$zcc" -s 0 -p "$PORT" -P 4 -B 0 -b 10k -k --nodelay --pace 100m --warmup 0.2 -t 0.2 -I 0.1 --congestion reno \
	    file tiny
	grep -q "all bytes sent were received" out
	clean zcc
}
check 'zcc -P 4, with all that may be asked for' zcc_with
zcc_json_several_sizes()
{
	exits 0 "$zcc" -s 0 -p "$PORT" -P 2 -m send -b 1k,10k,100k --json file
	clean zcc
}
check_long 'zcc --json, several sizes' zcc_json_several_sizes
stop_zcs
start_zcs --reply
zcc_request()
{
	exits 0 "$zcc" -s 0 -p "$PORT" --request 10,100k -n 20 -P 4
	clean zcc
	[ -n "$LONG" ] || exit 0
	exits 0 "$zcc" -s 0 -p "$PORT" --request 10 -n 20 --json
	clean zcc
}
check 'zcc --request' zcc_request
stop_zcs
zcc_nobody_listens()
{
	exits 1 "$zcc" -s 0 -p "$PORT" -P 2 tiny
	sound zcc
}
check_long 'zcc: nobody listens' zcc_nobody_listens
start_peer -e -n 2
zcc_raw_server()
{
	exits 0 "$zcc" -s 0 -p "$PORT" --raw -P 2 file
	clean zcc
}
check_long 'zcc --raw, a server that echoes' zcc_raw_server

# zcs, with clients that are not.
zcc=$plain/zcc
BIN=$PWD/bin
zcs_1_m()
{
	exits 0 "$zcc" -s 0 -p "$PORT" --congestion reno file tiny
	ended "$ZCS"
	clean zcs
}
for how in $(scale '' "$(receivers)"); do
	start_zcs -1 -m $how
	check "zcs -1 -m $how" zcs_1_m
done
# zcs_serves: several clients, good and bad, and SIGTERM while there are two
zcs_serves()
{
	exits 0 "$zcc" -s 0 -p "$PORT" -P 4 --warmup 0.1 -t 0.8 --congestion reno
	{ u32 1 1 1000; printf abc; } | "$HELPERS/net" send -c "$PORT"
	{ u32 1 1 1; printf excess; } | "$HELPERS/net" send "$PORT"
	u32 1 1 1000 | "$HELPERS/net" send -R "$PORT"
	: | "$HELPERS/net" send -c "$PORT"
	head -c 4096 /dev/urandom | "$HELPERS/net" send "$PORT"
	exits 0 "$zcc" -s 0 -p "$PORT" tiny
	"$zcc" -s 0 -p "$PORT" -P 2 -t 60 --congestion reno --pace 20m >out 2>err &
	p=$!
	remember $p
	met()
	{
		tail -n 1 zcs.out | grep -q '"clients":2,' || tail -n 3 zcs.out | grep -q ' 2 clients$'
	}
	wait_until met
	kill -TERM "$ZCS"
	ended "$ZCS"
	ended $p
	clean zcs
}
for how in --json $(scale '' -4); do
	start_zcs -I 0.05 $how
	check "zcs $how: several clients, good and bad, then SIGTERM while there are clients" zcs_serves
done
[ -z "$LONG" ] || start_zcs -1 --json -I 0.05
zcs_json()
{
	exits 0 "$zcc" -s 0 -p "$PORT" -P 3 -t 0.3 --congestion reno
	ended "$ZCS"
	clean zcs
}
check_long 'zcs --json' zcs_json
start_zcs --reply --max-reply 100000 --max-clients 3 --idle-timeout 1 -I 0.1
zcs_reply_clients_good()
{
	exits 0 "$zcc" -s 0 -p "$PORT" --request 10,50k -n 20 -P 2
	u32 100001 | "$HELPERS/net" send -k "$PORT"
	printf ab | "$HELPERS/net" send "$PORT"
	u32 100000 | "$HELPERS/net" send -R "$PORT"
	"$HELPERS/net" hold -n 3 "$PORT" >held &
	remember $!
	wait_until grep -q held held
	"$HELPERS/net" ask "$PORT" 1 10 || :
	wait_until grep -q closed held
	kill -TERM "$ZCS"
	ended "$ZCS"
	clean zcs
}
check 'zcs --reply: clients, good and bad, then SIGTERM' zcs_reply_clients_good

# cyclesoak, whose figures are of no interest here.  Where others soak, that it says so is no try.
try()
{
	rm -f logs/cyclesoak.*
	"$cyclesoak" "$@"
}
fake_calibration >calibration
cyclesoak_1()
{
	soaking try -1 -p 0.2 -f calibration -N 1
	clean cyclesoak
}
check_long 'cyclesoak -1' cyclesoak_1
cyclesoak_json()
{
	soaking try -n 2 -p 0.2 --json -B -f calibration -N 1
	clean cyclesoak
}
check_long 'cyclesoak -n 2 --json -B' cyclesoak_json
cyclesoak_with_command()
{
	soaking try -f calibration -N 1 true
	clean cyclesoak
}
check_long 'cyclesoak with a command' cyclesoak_with_command
cyclesoak_c()
{
	# Other programs may have left it no time at all.
	soaking try -C --force -N 1 -f again || grep "left its soaker no time" err
	sound cyclesoak
}
check_long 'cyclesoak -C' cyclesoak_c
cyclesoak_calibrations()
{
	head -c 4096 /dev/urandom >binary
	head -n 3 calibration >part
	sed "1s/.*/nan/" calibration >nan
	for f in missing . binary part nan; do
		exits 1 "$cyclesoak" -1 -f $f
		sound cyclesoak
	done
}
check_long 'cyclesoak: calibrations that will not do' cyclesoak_calibrations

run_rr()
{
	exits 0 "$run_rr" --help
	clean run_rr
	exits 125 "$run_rr" -p 100 true
	clean run_rr
}
check_long 'run_rr' run_rr
zcc=$PWD/bin/zcc
usage_errors_and_help()
{
	for t in zcc zcs cyclesoak; do
		exits 2 "$PWD/bin/$t" -N 8000
		exits 0 "$PWD/bin/$t" -h
		clean $t
	done
	exits 2 "$zcc" -s 0 -b 1,2,x file
	exits 2 "$zcc" -s 0 -B 0-3,9999999
	exits 1 "$zcc" -s no.such.host.invalid
	exits 1 "$zcc" -s 0 missing .
	sound zcc
}
check_long 'usage errors and --help' usage_errors_and_help

finish
