"""What zc-hosts runs: FILE, the rounds that follow from it, and programs on hosts, by pdsh or GNU parallel."""

import json
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

START_LIMIT = 30  # seconds that a host has to start a program, its baseline included
END_LIMIT = 15  # seconds that a program has to end once it was told to
MOST_OUTPUT = 16 << 20, 1 << 20  # bytes that a program on a host may print on stdout and on stderr
MOST_OBJECTS = 10000  # of JSON in it
MOST_LINE = 300  # characters that are shown of a message

# What a host can have measured: the least and the greatest value of each figure that is read.
FIGURES = {
    "bytes": (0, 1e18), "seconds": (0, 1e9), "bits_per_second": (0, 1e15), "retransmits": (0, 1e18),
    "load_percent": (-1000, 1000), "load_uncertainty_percent": (0, 1e15), "cost_us_per_kib": (-1e15, 1e15),
    "cpus": (1, 1e6), "clients": (1, 1e9),
}  # fmt: skip
BLANK = re.compile(r"\s*")
# Integers of millions of digits take hours; one of 19 is beyond all figures.
DECODER = json.JSONDecoder(parse_int=lambda text: int(text) if len(text) < 20 else float(text))

WORD = re.compile(r"[A-Za-z0-9_./,:=+@-]+$")
NAME = re.compile(r"[A-Za-z0-9_.@][A-Za-z0-9_.@-]*$")
ADDRESS = re.compile(r"[A-Za-z0-9_.:][A-Za-z0-9_.:-]*(%[A-Za-z0-9_.:@-]+)?$")  # an interface after %
RANGE = re.compile(r"(.*)\[([0-9]{1,4})-([0-9]{1,4})\](.*)$")

# Options that zc-hosts sets itself, or that change the report.
RESERVED = {
    "zcc": "-s --server -p --port -c --cpu-load --idle -J --json --raw --request -r --runs --precision --save "
    "--against -h --help -V --version -C --calibrate --json-stream --vs --setting --settle --brief --compare "
    "--dry-run --fail-above --retry".split(),
    "zcs": "-1 --once -p --port -c --cpu-load --idle -J --json --raw --reply -h --help -V --version "
    "--json-stream".split(),
}
FLAGS = "14678CJSVZcdhkqw"  # letters without an argument, which may stand in one word
PATTERNS = ("incast", "pairs", "all-to-all")
INSTRUMENTS = {"soak": "--cpu-load", "idle": "--idle"}  # how a host measures its load
# The keywords of FILE: those of lists take several words.
DEFAULTS = {
    "hosts": [], "pattern": "", "engine": [], "zcc": [], "zcs": [], "load": [], "instrument": "soak", "bin": "",
    "port": 2222, "limit": 120,
}  # fmt: skip
MOST = {"port": 65535, "limit": 86400}

# What runs on a host.  It has no % and no {}, which engines replace.  pdsh cuts lines after 128 KiB, so that
# long lines are folded.
RUN_SCRIPT = """d=${TMPDIR:-/tmp}/@TOKEN@
percent=$(printf '\\045')
umask 077
mkdir "$d" 2>/dev/null || { rmdir "$d" 2>/dev/null; echo "zc-hosts: cannot make $d" >&2; exit 125; }
trap 'rm -rf "$d"' EXIT
echo "zc-hosts: started"
timeout -k 5 @LIMIT@ @COMMAND@ >"$d/out" </dev/null &
p=$!
trap 'kill "$p"' HUP INT TERM
trap '' PIPE
echo "$p" >"$d/pid"
wait "$p"
s=$?
while kill -0 "$p" 2>/dev/null; do wait "$p"; s=$?; done
rm -f "$d/pid"
fold -b -w 8000 "$d/out"
echo
echo "zc-hosts: status $s"
"""

# Ends what RUN_SCRIPT has started.  If it may not have started yet, its directory keeps it from starting for 5 s.
STOP_SCRIPT = """d=${TMPDIR:-/tmp}/@TOKEN@
planted=
[ -n "@STARTED@" ] || { mkdir "$d" 2>/dev/null && planted=1; }
i=0
while [ -d "$d" ] && [ "$((i += 1))" -le 50 ]; do
	if [ -z "$planted" ] && [ -s "$d/pid" ]; then kill "$(cat "$d/pid")" 2>/dev/null; exit 0; fi
	sleep 0.1
done
[ -z "$planted" ] || rmdir "$d" 2>/dev/null
exit 0
"""


class UsageError(Exception):
    """FILE or the command line is wrong."""


class Interrupted(Exception):
    """A signal asks zc-hosts to end."""


# A signal handler only adds to it, and wait_for raises: so each started program gets into the list of runs.
signals = []


def expand(word):
    """n[1-3] is n1, n2, n3."""
    found = RANGE.match(word)
    if not found:
        return [word]
    before, first, last, after = found.groups()
    return [before + str(n).zfill(len(first)) + after for n in range(int(first), int(last) + 1)]


def parse_hosts(words):
    """A dictionary of the addresses that others use, by the names that the engine uses."""
    hosts = {}
    for word in words:
        name, _, address = word.partition("=")
        names, addresses = expand(name), expand(address or name.rpartition("@")[2])
        if len(names) != len(addresses):
            raise UsageError("'%s': as many addresses as names are needed" % word)
        for one, its_address in zip(names, addresses):
            its_address = re.sub(r"^\[(.*)\]$", r"\1", its_address)
            if not NAME.match(one) or not ADDRESS.match(its_address):
                raise UsageError("'%s' is not the name or the address of a host" % word)
            if one in hosts:
                raise UsageError("host '%s' is given twice" % one)
            hosts[one] = its_address
    return hosts


def check_options(tool, words):
    for word in words:
        if not WORD.match(word):
            raise UsageError("%s: '%s': only letters, digits and _./,:=+@- are possible here" % (tool, word))
        name = word.partition("=")[0]
        if word.startswith("--"):
            names = [one for one in RESERVED[tool] if one.startswith(name)]  # it may be abbreviated
        else:
            end = len(word[1:]) - len(word[1:].lstrip(FLAGS)) + 2  # behind them an option has its argument
            names = ["-" + letter for letter in word[1:end] if word[0] == "-" and "-" + letter in RESERVED[tool]]
        if names:
            raise UsageError("%s: '%s': zc-hosts sets this option itself, or cannot use its report" % (tool, word))


def parse_line(plan, given, key, words):
    """Sets in the plan what a line of FILE gives; `given` has the keywords of earlier lines."""
    if key not in DEFAULTS:
        raise UsageError("unknown keyword '%s' (%s)" % (key, ", ".join(DEFAULTS)))
    if key in given and key not in ("hosts", "zcc", "zcs"):
        raise UsageError("'%s' is given twice" % key)
    given.add(key)
    is_list = isinstance(DEFAULTS[key], list)
    if not words or (not is_list and len(words) > 1):
        raise UsageError("'%s' needs %s" % (key, "an argument" if not words else "one argument only"))
    if key in RESERVED:
        check_options(key, words)
    if key not in MOST:
        plan[key] = plan[key] + words if is_list else words[0]
    elif re.fullmatch("[0-9]{1,9}", words[0]) and 1 <= int(words[0]) <= MOST[key]:
        plan[key] = int(words[0])
    else:
        raise UsageError("'%s' is not a number from 1 to %d" % (words[0], MOST[key]))


def check_plan(plan):
    """Checks the lines together."""
    plan["hosts"] = parse_hosts(plan["hosts"])
    number = len(plan["hosts"])
    for key, choice in (("pattern", PATTERNS), ("instrument", tuple(INSTRUMENTS))):
        if plan[key] not in choice:
            raise UsageError("'%s' must be one of %s" % (key, ", ".join(choice)))
    if number < 2:
        raise UsageError("'hosts' must name two hosts or more")
    if plan["pattern"] == "pairs" and number % 2:
        raise UsageError("pattern 'pairs' needs an even number of hosts, not %d" % number)
    named = {one for word in plan["load"] or plan["hosts"] for one in expand(word)}
    plan["load"] = set() if plan["load"] == ["none"] else named
    for name in sorted(plan["load"] - set(plan["hosts"])):
        raise UsageError("load: '%s' is not in 'hosts'" % name)
    if not WORD.match(plan["bin"] or "/"):
        raise UsageError("bin: '%s': only letters, digits and _./,:=+@- are possible here" % plan["bin"])


def read_plan(path):
    """The keywords of FILE with their arguments; `-` is standard input."""
    plan, given = dict(DEFAULTS), set()
    where = name = "standard input" if path == "-" else path
    try:
        with open(0 if path == "-" else path, encoding="utf-8-sig", closefd=path != "-") as file:
            lines = file.read().splitlines()
        for number, line in enumerate(lines, 1):
            where = "%s:%d" % (name, number)
            words = shlex.split(line, comments=True)
            if words:
                parse_line(plan, given, words[0], words[1:])
        where = name
        check_plan(plan)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("%s: %s" % (name, getattr(error, "strerror", None) or "is not text")) from error
    except (ValueError, UsageError) as error:
        raise UsageError("%s: %s" % (where, error)) from error
    return plan


def rounds_of(plan):
    """A list of rounds, which are lists of (sender, receiver); no host both sends and receives in one."""
    hosts = list(plan["hosts"])
    if plan["pattern"] == "incast":
        return [[(sender, hosts[0]) for sender in hosts[1:]]]
    if plan["pattern"] == "pairs":
        return [list(zip(hosts[::2], hosts[1::2]))]
    rounds, circle = [], hosts + [None] * (len(hosts) % 2)  # each pair of hosts once: the circle method
    for _ in circle[1:]:
        both = zip(circle[: len(circle) // 2], reversed(circle))
        pairs = [(a, b) for a, b in both if a is not None and b is not None]
        rounds += [pairs, [(b, a) for a, b in pairs]]
        circle = circle[:1] + circle[-1:] + circle[1:-1]
    return rounds


def find_engine(plan):
    """Sets the engine's default, and makes ssh ask nobody for a password."""
    options = "-oBatchMode=yes -oConnectTimeout=10 -oServerAliveInterval=10"  # ends ssh if the host is lost
    os.environ.setdefault("PDSH_SSH_ARGS_APPEND", options)
    os.environ.setdefault("PARALLEL_SSH", "ssh " + options)
    installed = [command for command in (["pdsh", "-R", "ssh"], ["parallel"]) if shutil.which(command[0])]
    plan["engine"] = plan["engine"] or next(iter(installed), [])
    if not plan["engine"]:
        raise UsageError("neither pdsh nor GNU parallel is installed: install one of them")
    program = plan["engine"][0]
    if os.path.basename(program) not in ("pdsh", "parallel"):
        raise UsageError("engine: '%s' is neither pdsh nor parallel" % program)
    if not shutil.which(program):
        raise UsageError("engine: '%s' is not installed" % program)


def engine_command(plan, host, script):
    """The local command that runs a script on a host."""
    program, *arguments = plan["engine"]
    if os.path.basename(program) == "pdsh":
        is_local = re.search(r"(^| )-R ?exec( |$)", " ".join(arguments))  # no shell gets the arguments
        last = script if is_local else shlex.quote(script)
        return [program, "-N", "-S", "-b", "-w", host] + arguments + ["sh", "-c", last]
    command = "sh -c " + shlex.quote(script)
    if any("{}" in word for word in arguments):
        return [program, "--will-cite", "-u", "-j1", " ".join(arguments) + " " + command, ":::", host]
    return [program, "--will-cite", "-u", "-j1"] + arguments + ["--nonall", "-S", host, command]


def odd_member(report):
    """The name of a member that no zcc or zcs prints so; None if there is none."""
    end = report.get("end", {})
    parts = {"end": end}
    if isinstance(end, dict):
        parts.update({"end." + key: end.get(key, {}) for key in ("sum_sent", "sum_received", "host")})
    for place, part in parts.items():
        if not isinstance(part, dict):
            return place
        for key, (least, most) in FIGURES.items():
            value = part.get(key, least)
            if type(value) not in (int, float) or not least <= value <= most:
                return "%s.%s" % (place, key)
    host = parts["end.host"]
    unsafe = host.get("unsafe", [])
    if not isinstance(unsafe, list) or not all(isinstance(word, str) for word in unsafe) or len(str(unsafe)) > 999:
        return "end.host.unsafe"
    if not isinstance(host.get("no_load", ""), str) or len(host.get("no_load", "")) > MOST_LINE:
        return "end.host.no_load"
    return None if isinstance(end.get("streams", []), list) else "end.streams"


class Program:
    """A script on a host, started by its own call of the engine."""

    def __init__(self, plan, host, script):
        self.is_killed = False
        self.files = out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        command = engine_command(plan, host, script)
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )

    def lines(self, i):
        """What it has printed on stdout (0) or stderr (1)."""
        text = os.pread(self.files[i].fileno(), MOST_OUTPUT[i], 0).decode("utf-8", "replace")
        return [line.rstrip("\r") if i == 0 else line[:MOST_LINE].rstrip("\r") for line in text.split("\n")]

    def is_too_long(self):
        return any(os.fstat(file.fileno()).st_size > most for file, most in zip(self.files, MOST_OUTPUT))

    def is_done(self):
        if self.is_too_long():
            self.process.kill()
        return self.process.poll() is not None

    def kill(self):
        """Ends the engine's call, not what runs on another host."""
        if not self.is_done():
            self.is_killed = True
            self.process.kill()


def wait_for(condition, seconds, may_be_interrupted=True):
    """Waits until the condition is true, for `seconds` at most."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        if may_be_interrupted and signals:
            raise Interrupted(signal.Signals(signals[0]).name)
        time.sleep(0.05)


def quoted(word):
    """A word of a command for RUN_SCRIPT, which has no %."""
    return '"$percent"'.join(map(shlex.quote, word.split("%")))


class Run(Program):
    """One run of zcc or zcs on a host in a round."""

    def __init__(self, plan, tool, host, options, limit):
        self.plan, self.host, self.tool = plan, host, tool
        self.measures = host in plan["load"]
        self.token = "zc-hosts." + secrets.token_hex(8)
        self.found, self.fault = None, ""  # the objects that it printed, and what is wrong with them
        load = [INSTRUMENTS[plan["instrument"]]] * self.measures
        command = [os.path.join(plan["bin"], tool), "--json"] + load + options
        script = RUN_SCRIPT.replace("@TOKEN@", self.token).replace("@LIMIT@", str(limit))
        super().__init__(plan, host, script.replace("@COMMAND@", " ".join(map(quoted, command))))

    def stop(self):
        """Starts the script that ends it on its host."""
        started = "1" if "zc-hosts: started" in self.lines(0) else ""
        script = STOP_SCRIPT.replace("@TOKEN@", self.token).replace("@STARTED@", started)
        return Program(self.plan, self.host, script)

    def is_listening(self):
        return any("listening on" in line for line in self.lines(1))

    def status(self):
        """The program's exit status on its host; None if it is not known."""
        for line in reversed(self.lines(0)):
            if re.fullmatch("zc-hosts: status [0-9]{1,3}", line):
                return int(line.split()[-1])
        return None

    def objects(self):
        """The JSON objects that it printed; none if it printed anything else.  To be called when it has ended."""
        if self.found is None:
            self.found, self.fault = [], ""
            self.fault = self.read()
        return [] if self.fault else self.found

    def read(self):
        """Reads the objects, whose lines have been folded; returns what is wrong with them, or an empty text."""
        if self.is_too_long():
            return "printed more than 16 MiB, or messages of more than 1 MiB"
        text = "".join(line for line in self.lines(0) if not line.startswith("zc-hosts: "))
        at = BLANK.match(text).end()
        while at < len(text):
            try:
                value, at = DECODER.raw_decode(text, at)
            except (ValueError, RecursionError):
                value = None
            if not isinstance(value, dict) or len(self.found) == MOST_OBJECTS:
                return "printed what is not JSON of %s" % self.tool
            odd = odd_member(value)
            if odd:
                return "printed an impossible '%s'" % odd
            self.found.append(value)
            at = BLANK.match(text, at).end()
        return ""

    def error(self):
        """The reason of its failure: its own message if there is one, else one of the engine."""
        lines = [line for line in self.lines(1) if line.strip() and "listening on" not in line]
        own = [line for line in lines if line.startswith(self.tool + ": ")]
        others = [line for line in lines if not line.startswith("pdsh@")]
        status = self.status()
        is_started = "zc-hosts: started" in self.lines(0)
        if status == 124:
            return "%s was ended: it ran longer than 'limit'" % self.tool
        if self.fault and not (own and status):
            return "%s %s" % (self.tool, self.fault)
        if status == 0 and not self.objects():
            return "%s printed no report" % self.tool
        if lines:
            return (own or others or lines[:1])[-1]
        if not is_started:
            what = "did not answer in time" if self.is_killed else "did not start it"
            return "%s: the host %s: check the host and 'engine'" % (self.tool, what)
        if self.is_killed:
            return "%s: the host did not answer in time" % self.tool
        return "%s failed: exit status %s" % (self.tool, "unknown" if status is None else status)


def stop_runs(runs):
    """Ends the programs on their hosts, and after END_LIMIT the engine's calls."""
    runs = [run for run in runs if not (run.is_done() or run.is_killed)]
    programs = runs + [run.stop() for run in runs]
    wait_for(lambda: all(program.is_done() for program in programs), END_LIMIT, False)
    for program in programs:
        program.kill()
