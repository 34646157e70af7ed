#!/bin/sh
# Output that nobody reads: it holds up nobody who accepts, ends or measures, and is there once it is read.
#
# seconds: 6
. "$TOP/tests/lib.sh"
whole_test_needs python3 'output that nobody reads'

# full.py KIND DIR command...: its stdout, with KIND+ its stderr, too, is a full pipe, terminal or socket, which is read
# from the time on when there is DIR/read; DIR/pid is the command's
cat >full.py <<'END'
import fcntl, os, pty, socket, subprocess, sys, termios, time
kind, dir, command = sys.argv[1], sys.argv[2], sys.argv[3:]
if kind.startswith('pty'):
    r, w = pty.openpty()
    mode = termios.tcgetattr(w)
    mode[1] &= ~termios.OPOST
    termios.tcsetattr(w, termios.TCSANOW, mode)
elif kind.startswith('socket'):
    r, w = [s.detach() for s in socket.socketpair()]
else:
    r, w = os.pipe()
    fcntl.fcntl(w, 1031, 4096)
os.set_blocking(w, False)
filled = refused = 0
while refused < 5: # the kernel may make room in a terminal a moment later
    try:
        filled += os.write(w, b'.' * 512)
        refused = 0
    except BlockingIOError:
        refused += 1
        time.sleep(0.02)
os.set_blocking(w, True)
p = subprocess.Popen(command, stdout=w, stderr=w if '+' in kind else None)
os.close(w)
open(dir + '/pid', 'w').write('%d\n' % p.pid)
while not os.path.exists(dir + '/read'):
    time.sleep(0.02)
if kind.endswith('gone'):
    os.close(r)
    sys.exit(p.wait())
got = b''
try:
    while more := os.read(r, 65536):
        got += more
except OSError:
    pass
sys.stdout.buffer.write(got[filled:])
status = p.wait()
sys.exit(status if status >= 0 else 128 - status)
END
# start_full NAME KIND command...: in the background, in the directory NAME; `full` is the pid of the command
start_full()
{
	name=$1 kind=$2
	shift 2
	mkdir "$name"
	python3 ../full.py $kind "$name" "$@" >"$name.out" 2>"$name.err" &
	reader=$!
	remember $reader
	wait_until test -s "$name/pid"
	read -r full <"$name/pid"
	remember "$full"
}
# read_full STATUS: the command's output is read now, and the command ends with the status
read_full()
{
	: >"$name/read"
	ended $reader
	got=0; wait $reader || got=$?
	tail -n 5 "$name.out" "$name.err" | cut -c 1-200
	[ $got -eq "$1" ]
}
# only_waits: nothing is left of it but that it waits for who reads its output
only_waits() { [ "$(entries_in "/proc/$full/fd")" -eq 3 ] && grep -q '^State:.S' "/proc/$full/status"; }

while read -r kind as; do
	beside "zcs: clients are served while nobody reads its $kind${as:+, which it may not open anew}; summaries are there afterwards"; ( begin
		[ -z "$as" ] || [ "$(id -u)" -eq 0 ] || skip_check 'not root'
		need ${as%% *}
		start_full zcs $kind sh -c 'echo $$ >zcs/pid; exec "$@" 2>zcs.log' sh $as "$BIN/zcs" -p 0 -I 0.01
		wait_until grep -q listening zcs.log
		read_port zcs.log
		for i in 1 2 3; do
			exits 0 timeout 20 "$BIN/zcc" -s 0 -p "$PORT" -t 0.3 --pace 20m --congestion reno
			grep -q 'all bytes sent were received' out
		done
		kill -TERM "$full"
		wait_until only_waits
		read_full 0
		[ "$(grep -c '^127.0.0.1' zcs.out)" -eq 3 ]
		counts -ge 10 grep -c ' [0-9.]*-[0-9.]*  *[0-9,]* ' zcs.out
	) & later
done <<END
pipe
pipe setpriv --reuid=65534 --clear-groups
pty
socket
END
beside 'zcs: lines about clients on the full pipe of its stdout hold up nobody'; ( begin
	start_full zcs pipe+ "$BIN/zcs" -p "$((20000 + $$ % 10000))" -d
	PORT=$((20000 + $$ % 10000))
	for i in 1 2 3; do
		exits 0 timeout 20 "$BIN/zcc" -s 0 -p "$PORT" --wait-server 10 -t 0.1 --congestion reno
	done
	kill -TERM "$full"
	read_full 0
	counts -ge 3 grep -c 'zcs: .*: connected' zcs.out
) & later
beside 'zcc --json: the report is whole once it is read, though a second signal ended zcc while nobody read'; ( begin; need jq
	start_zcs -I 0.05
	start_full zcc pipe "$BIN/zcc" --json -s 0 -p "$PORT" -t 60 -I 0.01 -P 8 --pace 20m --congestion reno
	wait_until grep -q '[0-9]' zcs.out
	kill -TERM "$full"
	wait_until only_waits
	kill -HUP "$full" # the same signal would be the same request
	ended "$full"
	read_full 129 >/dev/null
	stop_zcs
	jq -es 'length == 1 and .[0].end.sum_sent.bytes > 0' zcc.out
) & later
beside 'zcc --json in a send that blocks: a second signal ends it at once, and closes what is begun, for who reads it'; ( begin; need jq
	start_peer -s
	mkfifo held.out
	cat held.out >got &
	start_zcc held --json -t 60 -I 0.05
	wait_until grep -q omitted got
	for signal in STOP INT TERM CONT; do kill -$signal $held; done # both signals are there at once
	ended $held
	wait_until jq -es 'length == 1 and (.[0] | .error == "interrupted" and .end == null)' got
	kill -USR1 "$PEER"
) & later
for mode in --json ''; do
	beside "zcc${mode:+ $mode}: rows for which there is no room are dropped as a whole, and counted"; ( begin; need jq
		start_zcs
		start_full zcc pipe "$BIN/zcc" $mode -s 0 -p "$PORT" -t 4 -I 0.01 -P 64 --pace 1m --congestion reno
		wait_until grep -q '^total of 64 clients' zcs.out
		wait_until only_waits
		read_full 0 >/dev/null
		case $mode in
		--json) jq -es 'length == 1 and (.[0] | .dropped > 0 and .end.sum_sent.bytes > 0 and (.intervals | length) > 0)' zcc.out ;;
		*) grep '^  dropped here, as nobody read it in time: [0-9]* lines$' zcc.out; grep -q 'all bytes sent were received' zcc.out ;;
		esac
	) & later
done
beside 'cyclesoak: periods are measured, and its end comes, while nobody reads'; ( begin
	made_up_calibration >counts
	soaks() { start_full soak pipe "$cyclesoak" -f counts -p 0.05 -n 30; wait_until or_gone "$full" only_waits; }
	soaking soaks
	[ -z "$(keeper_of "$full")" ]
	read_full 0
	[ "$(grep -c '^System load' soak.out)" -eq 30 ]
) & later
beside '--setting: the first is restored while nobody reads the report'; ( begin
	start_zcs
	start_full zcc pipe "$BIN/zcc" -s 0 -p "$PORT" -t 0.1 -r 1 --setting 'a=echo a >>state' --setting 'b=echo b >>state' --congestion reno
	restored() { [ "$(tr '\n' ' ' <state)" = 'a b a ' ]; }
	wait_until restored
	wait_until only_waits
	read_full 0
	grep -q '^run' zcc.out
) & later
beside 'zcc: a reader that goes is an error of output, reported once'; ( begin
	start_zcs
	start_full zcc pipe-gone "$BIN/zcc" -s 0 -p "$PORT" -t 0.1 --congestion reno
	wait_until only_waits
	read_full 1
	grep -qx 'zcc: stdout: Broken pipe' zcc.err
	one_line zcc.err || grep -q 'half a second' zcc.err
) & later
together
it 'a message on a terminal breaks between words, and elsewhere is one line'; ( begin; need script
	long=$(printf '%0150d' 0 | sed 's/000000/ 1234/g')
	exits 2 script -qec "stty cols 40; '$BIN/zcc' -s 0 -m '$long'" typescript
	tr -d '\r' <out >lines
	[ "$(awk 'length > 40' lines | wc -l)" -eq 0 ]
	exits 2 "$BIN/zcc" -s 0 -m "$long"
	one_line err
	tr '\n' ' ' <err >want
	tr '\n' ' ' <lines | diff - want
); ok
finish
