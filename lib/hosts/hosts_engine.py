"""How zc-hosts runs programs on hosts: by pdsh or GNU parallel.

Each program is started by an engine call of its own, so that its output and its failure belong to one host.
"""

import json
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import threading
import time

from hosts_plan import UsageError

START_LIMIT = 30  # seconds that a host has to start a program, its baseline included
END_LIMIT = 15  # seconds that a program has to end once it was told to

# The figures of a report that are used here.
FIGURES = (
    "bytes", "seconds", "bits_per_second", "retransmits",
    "cpus", "load_percent", "load_uncertainty_percent", "cost_us_per_kib",
)  # fmt: skip

# What runs on a host.  It has no % and no {}, which engines replace.  pdsh loses what is beyond 128 KiB of a
# line, so that long lines are folded.
RUN_SCRIPT = """d=${TMPDIR:-/tmp}/@TOKEN@
percent=$(printf '\\045')
umask 077
mkdir "$d" 2>/dev/null || { rmdir "$d" 2>/dev/null; echo "zc-hosts: cannot make $d" >&2; exit 125; }
trap 'rm -rf "$d"' EXIT
timeout -k 5 @LIMIT@ @COMMAND@ >"$d/out" </dev/null &
p=$!
trap 'kill "$p"' HUP INT TERM
trap '' PIPE
echo "$p" >"$d/pid"
echo "zc-hosts: started"
wait "$p"
s=$?
while kill -0 "$p" 2>/dev/null; do wait "$p"; s=$?; done
rm -f "$d/pid"
fold -b -w 8000 "$d/out"
echo
echo "zc-hosts: status $s"
"""

# Ends what RUN_SCRIPT has started.
STOP_SCRIPT = """d=${TMPDIR:-/tmp}/@TOKEN@
p=$(cat "$d/pid" 2>/dev/null) && kill "$p" 2>/dev/null
exit 0
"""

# Ends what RUN_SCRIPT starts, or may be about to start: then the directory keeps it from that.
PREVENT_SCRIPT = """d=${TMPDIR:-/tmp}/@TOKEN@
planted=
mkdir "$d" 2>/dev/null && planted=1
for i in 1 2 3 4 5; do
	if [ -z "$planted" ] && [ -s "$d/pid" ]; then kill "$(cat "$d/pid")" 2>/dev/null; exit 0; fi
	[ -d "$d" ] || exit 0
	sleep 1
done
rmdir "$d" 2>/dev/null
exit 0
"""


class Interrupted(Exception):
    """A signal asks zc-hosts to end."""


# A signal handler only adds to it, and wait_for raises: so each program that was started is in the list of runs.
signals = []


def is_gnu_parallel():
    if not shutil.which("parallel"):
        return False
    shown = subprocess.run(
        ["parallel", "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return "GNU parallel" in shown.stdout


def find_engine(plan):
    """Sets the engine's default, and makes ssh ask nobody for a password."""
    os.environ.setdefault("PDSH_SSH_ARGS_APPEND", "-oBatchMode=yes -oConnectTimeout=10")
    os.environ.setdefault("PARALLEL_SSH", "ssh -oBatchMode=yes -oConnectTimeout=10")
    if "engine" not in plan:
        if shutil.which("pdsh"):
            plan["engine"] = ["pdsh", "-R", "ssh"]
        elif is_gnu_parallel():
            plan["engine"] = ["parallel"]
        else:
            raise UsageError("neither pdsh nor GNU parallel is installed: install one of them")
    name = os.path.basename(plan["engine"][0])
    if name not in ("pdsh", "parallel"):
        raise UsageError("engine: '%s' is neither pdsh nor parallel" % plan["engine"][0])
    if not shutil.which(plan["engine"][0]):
        raise UsageError("engine: '%s' is not installed" % plan["engine"][0])
    if name == "parallel" and not is_gnu_parallel():
        raise UsageError("engine: this parallel is not GNU parallel")


def is_exec(arguments):
    """Whether pdsh starts a local command, whose arguments it does not give to a shell."""
    given = " ".join(arguments)
    return bool(re.search(r"(^| )-R ?exec( |$)", given)) or (
        "-R" not in given and os.environ.get("PDSH_RCMD_TYPE") == "exec"
    )


def engine_command(plan, host, script):
    """The local command that runs a script on a host."""
    program, *arguments = plan["engine"]
    if os.path.basename(program) == "pdsh":
        last = script if is_exec(arguments) else shlex.quote(script)
        return [program, "-N", "-S", "-b", "-w", host] + arguments + ["sh", "-c", last]
    command = "sh -c " + shlex.quote(script)
    if any("{}" in word for word in arguments):
        return [program, "--will-cite", "-u", "-j1", " ".join(arguments) + " " + command, ":::", host]
    return [program, "--will-cite", "-u", "-j1"] + arguments + ["--nonall", "-S", host, command]


def is_figure(key, value):
    """Whether it is a number that such a figure can have; only a load may be below 0."""
    least = -1e18 if key == "load_percent" else 0
    return type(value) in (int, float) and least <= value < 1e18


def is_report(value):
    """Whether what a host printed is an object of zcc or zcs, as far as it is used here."""
    end = value.get("end", {}) if isinstance(value, dict) else None
    if not isinstance(end, dict) or not is_figure("clients", end.get("clients", 1)):
        return False
    if not isinstance(end.get("streams", []), list):
        return False
    parts = [end.get(key, {}) for key in ("sum_sent", "sum_received", "host")]
    if not all(isinstance(part, dict) for part in parts):
        return False
    unsafe = parts[2].get("unsafe", [])
    if not isinstance(parts[2].get("no_load", ""), str):
        return False
    if not isinstance(unsafe, list) or not all(isinstance(reason, str) for reason in unsafe):
        return False
    return all(is_figure(key, part[key]) for part in parts for key in FIGURES if key in part)


def descendants(pid):
    """The processes that a process has started here; pdsh gives each of its own a session."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found[1:]


class Program:
    """A script on a host, started by a call of the engine: its output, and whether it goes on."""

    changed = threading.Condition()

    def __init__(self, plan, host, script):
        self.host = host
        self.out, self.err = [], []
        self.is_done = self.is_killed = False
        self.process = subprocess.Popen(
            engine_command(plan, host, script),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        readers = [
            threading.Thread(target=self.collect, args=(stream, lines), daemon=True)
            for stream, lines in ((self.process.stdout, self.out), (self.process.stderr, self.err))
        ]
        for reader in readers:
            reader.start()
        threading.Thread(target=self.await_end, args=(readers,), daemon=True).start()

    def collect(self, stream, lines):
        with stream:
            for line in stream:
                with self.changed:
                    lines.append(line.decode("utf-8", "replace").rstrip("\r\n"))
                    self.changed.notify_all()

    def await_end(self, readers):
        self.process.wait()
        for reader in readers:
            reader.join(END_LIMIT)
        with self.changed:
            self.is_done = True
            self.changed.notify_all()

    def kill(self):
        """Ends the engine's call, not what runs on another host."""
        if self.is_done:
            return
        self.is_killed = True
        for pid in descendants(self.process.pid) + [self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def is_listening(self):
        return any("listening on" in line for line in self.err)

    def status(self):
        """The program's exit status on its host; None if it is not known."""
        for line in reversed(self.out):
            if re.fullmatch("zc-hosts: status [0-9]{1,3}", line):
                return int(line.split()[-1])
        return None

    def objects(self):
        """The JSON objects that it printed, whose lines have been folded."""
        text = "".join(line for line in self.out if not line.startswith("zc-hosts: "))
        found, decoder = [], json.JSONDecoder()
        while text.strip():
            try:
                value, end = decoder.raw_decode(text.strip())
            except (ValueError, RecursionError):
                return found
            if is_report(value):
                found.append(value)
            text = text.strip()[end:]
        return found

    def error(self, tool):
        """The reason of its failure: its own message if there is one."""
        lines = [line for line in self.err if line.strip() and not line.startswith("pdsh@")]
        own = [line for line in lines if line.startswith(tool + ": ") and "listening on" not in line]
        if self.status() == 124:
            return "%s was ended after 'limit' seconds" % tool
        if own:
            return own[-1]
        if lines and "listening on" not in lines[-1]:
            return lines[-1]
        if self.is_killed:
            return "%s: the host did not answer in time" % tool
        status = self.status()
        return "%s failed: exit status %s" % (tool, "unknown" if status is None else status)


def wait_for(condition, seconds, may_be_interrupted=True):
    """Waits until it is true, `seconds` at most."""
    end = time.monotonic() + seconds
    with Program.changed:
        while not condition() and time.monotonic() < end:
            if may_be_interrupted and signals:
                raise Interrupted(signal.Signals(signals[0]).name)
            Program.changed.wait(0.2)


def all_done(programs):
    return all(program.is_done for program in programs)


def quoted(word):
    """A word of a command for RUN_SCRIPT, which has no %."""
    return '"$percent"'.join(map(shlex.quote, word.split("%")))


class Run:
    """One run of zcc or zcs on a host in a round."""

    def __init__(self, plan, tool, host, options, limit):
        self.plan, self.tool, self.host = plan, tool, host
        self.measures = host in plan["load"]
        self.token = "zc-hosts." + secrets.token_hex(8)
        program = os.path.join(plan.get("bin", ""), tool)
        command = [program, "--json"] + ["-c"] * self.measures + options
        script = RUN_SCRIPT.replace("@TOKEN@", self.token).replace("@LIMIT@", str(limit))
        script = script.replace("@COMMAND@", " ".join(quoted(word) for word in command))
        self.program = Program(plan, host, script)

    def stop(self):
        script = STOP_SCRIPT if "zc-hosts: started" in self.program.out else PREVENT_SCRIPT
        return Program(self.plan, self.host, script.replace("@TOKEN@", self.token))


def stop_runs(runs):
    """Ends the programs on their hosts; in the end, at the latest, the engine's calls."""
    runs = [run for run in runs if not (run.program.is_done or run.program.is_killed)]
    stops = [run.stop() for run in runs]
    wait_for(lambda: all_done(stops + [run.program for run in runs]), END_LIMIT, False)
    for program in stops + [run.program for run in runs]:
        program.kill()
