#!/bin/sh
# make demo: its table, and that an interrupt leaves nothing behind.
#
# group: quiet
# seconds: 3
. "$TOP/tests/lib.sh"

own_tmpdir
# Its baselines are not what is tested here.
mkdir bin
ln -s "$BIN/zcs" bin
find_hastening
printf '#!/bin/sh\nexec %s HASTEN_US=20000 "%s" "$@"\n' "$hasten_by" "$BIN/zcc" >bin/zcc
chmod 755 bin/zcc
[ -n "$LONG" ] || BIN=$PWD/bin

all=sendfile,send,write,mmap,splice,zerocopy
methods=$(scale sendfile,send $all)
table_row_per_method()
{
	METHODS=$methods SECONDS_EACH=$(scale 0.1 0.3) soaking "$TOP/tests/demo"
	for m in $(echo $methods | tr , ' '); do
		grep -Eq "^$m +[0-9]+[km] +[1-9][0-9,]* \+-[0-9,]+ +[0-9.]+%\?? \+-[0-9.]+% +[0-9.]+\?? \+-[0-9.]+$" out
		[ $m = sendfile ] || grep -Eq "^$m [0-9]+[km] costs [0-9.]+\?? \([0-9.]+ to [0-9.]+\) times as much as sendfile 1m(: no difference is shown)?$" out
	done
	grep -Eq "^    zcc -c -s 0 -t [0-9.]+ -r 3 -m $methods( --congestion [a-z]+)?$" out
}
check_undisturbed 'the command, a row for each method, and how many times the first it costs' table_row_per_method
demo_left_nothing()
{
	[ -z "$(workers)" ]
	[ -z "$(ls tmp)" ]
}
check 'tests/demo leaves no process and no file' demo_left_nothing
by_default()
{
	mkdir stub && ln -s "$BIN/zcs" stub
	printf '#!/bin/sh\necho us/KiB\necho "$*"\n' >stub/zcc && chmod 755 stub/zcc
	BIN=$PWD/stub exits 0 timeout 20 "$TOP/tests/demo"
	tail -n 1 out | grep -Eqx -e "-p [0-9]+ -c -s 0 -t 1 -r 3 -m $all( --congestion [a-z]+)?"
}
check 'by default each way to send is measured for a second' by_default

without_costs()
{
	mkdir idle && ln -s "$BIN/zcs" idle
	printf '#!/bin/sh\necho KiB/s\n' >idle/zcc && chmod 755 idle/zcc
	BIN=$PWD/idle exits 1 timeout 20 "$TOP/tests/demo"
	grep -q '^demo: no load could be measured' err
}
check 'a table without costs: a line with the reason, and exit status 1' without_costs

[ -n "$LONG" ] || finish
sig_at_it_ends()
{
	[ -n "$(workers)" ]
	kill -"$sig" "$demo"
	ended "$demo"
	wait_until prints_nothing workers
	[ -z "$(ls tmp)" ]
}
for case in 'INT   to ' 'TERM     zcc'; do
	sig=${case%% *} when=${case#* }
	# As from a terminal: a shell would start it in the background with SIGINT ignored.
	env --default-signal=INT "$TOP/tests/demo" >out 2>err &
	demo=$!
	remember $demo
	wait_until or_gone $demo grep -q "^$when" out
	check "SIG$sig at '$when': it ends, and nothing is left of it" sig_at_it_ends
done

finish
