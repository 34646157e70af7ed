#!/bin/sh
# cyclesoak with a command: its load, its exit status, and those of cyclesoak itself.
#
# group: quiet
# seconds: 2
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak
made_up_calibration >counts_per_sec

undisturbed 'with a command: its load, and its exit status'; while again; do ( begin
	status=0
	soaking "$cyclesoak" sh -c "sleep 0.3; exit 7" || status=$?
	[ $status -eq 7 ]
	grep -Eq "^System load: -?[0-9.]+%" out
); done
undisturbed 'with a command and no calibration: its own baselines'; while again; do ( begin
	mkdir -p own
	cd own
	soaking hastened env HASTEN_US=20000 "$cyclesoak" sleep 0.2
	grep -Eq "^(System load: .*; |  )own baselines, drift -?[0-9.]+ points of load$" out
	grep -Eq "^System load: .*; took [0-9.]+ s, -?[0-9.]+ s of CPU time" out
	not [ -e counts_per_sec ]
); done
it 'options of the command are its own'; ( begin
	soaking "$cyclesoak" -1 ls -1 -d .
	grep -qx "\." out
); ok
it 'a command killed by a signal: 128 and its number'; ( begin
	status=0
	soaking "$cyclesoak" sh -c 'kill -9 $$' || status=$?
	[ $status -eq 137 ]
); ok
# refused_command STATUS COMMAND [env ...]: it has no load
refused_command()
{
	want=$1 name=$2
	shift 2
	status=0
	soaking "$@" "$cyclesoak" "$name" || status=$?
	[ $status -eq "$want" ]
	one_line err
	grep -q "^cyclesoak: cannot run $name: " err
	not [ -s out ]
}
printf 'exit 0\n' >plain
printf '#!/no/such/interpreter\n' >orphan
chmod +x orphan
it 'a command that is not there: 127, and no load'; ( begin
	refused_command 127 ./no/such/command
	refused_command 127 no-such-command env PATH=/usr/bin:/bin
	refused_command 127 ""
	refused_command 127 ls env PATH=/no/such/directory
); ok
it 'a command that is not executable: 126, and no load'; ( begin
	refused_command 126 /
	refused_command 126 ./plain
	refused_command 126 plain env PATH="$PWD:/no/such/directory"
	status=0
	soaking "$cyclesoak" --json ./plain || status=$?
	[ $status -eq 126 ]
	one_line out
	grep -q '^{"schema":1,"error":"cannot run ./plain: Permission denied"}$' out
); ok
it 'a command that cannot be run after all: 127, and no load'; ( begin
	status=0
	soaking "$cyclesoak" ./orphan || status=$?
	[ $status -eq 127 ]
	[ "$(grep -c "^cyclesoak: cannot run ./orphan: No such file or directory$" err)" -eq 1 ]
	not [ -s out ]
); ok
it 'PATH is searched as execvp(3) does: a file that is not executable is skipped'; ( begin
	mkdir first second
	echo >first/found
	printf "#!/bin/sh\nexit 3\n" >second/found
	chmod +x second/found
	status=0
	soaking env PATH="first:second:$PATH" "$cyclesoak" found || status=$?
	[ $status -eq 3 ]
); ok
it 'with a command a failure of its own is 125, usage errors included'; ( begin
	for args in "-p 0" "-N 8000" -Z --nosuch "-1 -n 2" -C "-n 2" "-p 2"; do
		exits 125 "$cyclesoak" $args true
		one_line err
		not [ -s out ]
	done
	exits 125 "$cyclesoak" -f ./no/such/calibration true
	grep -v 'CPU quota' err >line
	one_line line
); ok
it 'a signal to cyclesoak goes on to the command'; ( begin
	"$cyclesoak" sh -c 'trap "exit 9" TERM; echo ready; while :; do sleep 0.1; done' >o 2>e &
	p=$!
	remember $p
	wait_until or_gone $p grep -q ready o
	kill -TERM "$p"
	status=0
	wait "$p" || status=$?
	[ $status -eq 9 ]
); ok
cat >terminal.py <<'END'
"""On a terminal: a command under cyclesoak counts the SIGINT of one Ctrl-C, which cyclesoak gets late."""
import os
import pty
import signal
import sys

COUNT = (r'trap "n=\$((n + 1)); echo got \$n." INT; trap "echo all \$n.; exit 0" TERM; '
         'echo ready; while :; do sleep 0.1; done')
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], 'sh', '-c', COUNT])


def read_until(words):
    text = b''
    while words not in text:
        try:
            text += os.read(terminal, 1000)
        except OSError: # the command has ended
            sys.exit(f'{text!r} before {words!r}')
    return text


read_until(b'ready')
os.kill(pid, signal.SIGSTOP)
os.waitpid(pid, os.WUNTRACED)
os.write(terminal, b'\x03')
read_until(b'got 1.')
os.kill(pid, signal.SIGTERM)
os.kill(pid, signal.SIGCONT)
read_until(b'all 1.')
END
it 'Ctrl-C of a terminal reaches the command once'; ( begin; need python3
	soaking python3 terminal.py "$cyclesoak"
); ok
it 'the command does not inherit SIGPIPE ignored, nor blocked signals'; ( begin
	soaking "$cyclesoak" grep -E "^Sig(Ign|Blk):" /proc/self/status
	grep -q "^SigBlk:.*0000000000000000" out
	not grep -E "^SigIgn:.*[13579bdf]...$" out
); ok

finish
