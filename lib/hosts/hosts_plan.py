"""What zc-hosts is to do: FILE, and the rounds that follow from it."""

import re
import shlex

WORD = re.compile(r"[A-Za-z0-9_./,:=+@-]+$")
NAME = re.compile(r"[A-Za-z0-9_.@][A-Za-z0-9_.@-]*$")
ADDRESS = re.compile(r"[A-Za-z0-9_.:][A-Za-z0-9_.:-]*(%[A-Za-z0-9_.:@-]+)?$")  # an interface after %
RANGE = re.compile(r"(.*)\[([0-9]{1,9})-([0-9]{1,9})\](.*)$")

# Options that zc-hosts sets itself, or whose report is another one: short ones, which may follow others that
# have no argument, and long ones.
RESERVED = {
    "zcc": (
        r"-[SwZ46kqd]*[spcJhVCr]",
        "server port cpu-load json raw request runs precision save against help version calibrate".split(),
    ),
    "zcs": (r"-[46qd]*[1pcJhV]", "once port cpu-load json raw reply help version".split()),
}


class UsageError(Exception):
    """FILE or the command line is wrong."""


def expand(word):
    """n[1-3] is n1, n2, n3."""
    found = RANGE.match(word)
    if not found:
        return [word]
    before, first, last, after = found.groups()
    if int(last) < int(first) or int(last) - int(first) > 9999:
        raise UsageError("'%s': not a range of 1 to 10000 hosts" % word)
    return [before + str(n).zfill(len(first)) + after for n in range(int(first), int(last) + 1)]


def parse_hosts(words):
    """A dictionary of the addresses that others use, by the names that the engine uses."""
    hosts = {}
    for word in words:
        name, _, address = word.partition("=")
        names, addresses = expand(name), expand(address or name)
        if len(names) != len(addresses):
            raise UsageError("'%s': as many addresses as names are needed" % word)
        for one, its_address in zip(names, addresses):
            if not NAME.match(one):
                raise UsageError("'%s' is not the name of a host" % one)
            if not address:
                its_address = one.rpartition("@")[2]
            if its_address.startswith("[") and its_address.endswith("]"):
                its_address = its_address[1:-1]
            if not ADDRESS.match(its_address):
                raise UsageError("'%s' is not the address of a host" % its_address)
            if one in hosts:
                raise UsageError("host '%s' is given twice" % one)
            hosts[one] = its_address
    return hosts


def parse_number(words, least, most):
    if len(words) != 1 or not re.fullmatch("[0-9]{1,9}", words[0]) or not least <= int(words[0]) <= most:
        raise UsageError("'%s' is not a number from %d to %d" % (" ".join(words), least, most))
    return int(words[0])


def is_reserved(tool, word):
    short, long = RESERVED[tool]
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        return any(one.startswith(name) for one in long)
    return bool(re.match(short, word))


def check_options(tool, words):
    for word in words:
        if not WORD.match(word):
            raise UsageError("%s: '%s': only letters, digits and _./,:=+@- are possible here" % (tool, word))
        if is_reserved(tool, word):
            raise UsageError("%s: '%s': zc-hosts sets this option itself, or cannot use its report" % (tool, word))
    return words


def parse_line(plan, key, words):
    if key in plan and key not in ("hosts", "zcc", "zcs"):
        raise UsageError("'%s' is given twice" % key)
    if key == "hosts":
        plan[key] = plan.get(key, []) + words
    elif key in RESERVED:
        plan[key] = plan.get(key, []) + check_options(key, words)
    elif key in ("port", "limit"):
        plan[key] = parse_number(words, 1, 65535 if key == "port" else 86400)
    elif key in ("pattern", "bin") and len(words) == 1:
        plan[key] = words[0]
    elif key in ("engine", "load") and words:
        plan[key] = words
    elif key in ("pattern", "bin", "engine", "load"):
        raise UsageError("'%s' needs %s" % (key, "an argument" if not words else "one argument only"))
    else:
        raise UsageError("unknown keyword '%s' (hosts, pattern, engine, zcc, zcs, load, bin, port, limit)" % key)


def check_plan(plan):
    plan["hosts"] = parse_hosts(plan.get("hosts", []))
    number = len(plan["hosts"])
    if plan.get("pattern") not in ("incast", "pairs", "all-to-all"):
        raise UsageError("'pattern' must be one of incast, pairs, all-to-all")
    if number < 2:
        raise UsageError("'hosts' must name two hosts or more")
    if plan["pattern"] == "pairs" and number % 2:
        raise UsageError("pattern 'pairs' needs an even number of hosts, not %d" % number)
    load = plan.get("load", list(plan["hosts"]))
    plan["load"] = set() if load == ["none"] else {one for word in load for one in expand(word)}
    for name in sorted(plan["load"] - set(plan["hosts"])):
        raise UsageError("load: '%s' is none of the hosts" % name)
    if not WORD.match(plan.get("bin", "/")):
        raise UsageError("bin: '%s': only letters, digits and _./,:=+@- are possible here" % plan["bin"])
    for key, default in (("zcc", []), ("zcs", []), ("port", 2222), ("limit", 120)):
        plan.setdefault(key, default)


def read_plan(path):
    """The keywords of FILE with their arguments; `-` is standard input."""
    plan = {}
    is_stdin = path == "-"
    path = "standard input" if is_stdin else path
    try:
        with open(0 if is_stdin else path, encoding="utf-8-sig", closefd=not is_stdin) as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("%s: %s" % (path, getattr(error, "strerror", None) or "is not text")) from error
    where = path
    try:
        for number, line in enumerate(lines, 1):
            where = "%s:%d" % (path, number)
            words = shlex.split(line, comments=True)
            if words:
                parse_line(plan, words[0], words[1:])
        where = path
        check_plan(plan)
    except (ValueError, UsageError) as error:
        raise UsageError("%s: %s" % (where, error)) from error
    return plan


def matchings(hosts):
    """Each two of the hosts once, in rounds in which a host is in one pair at most: the circle method."""
    circle = hosts + [None] * (len(hosts) % 2)
    half = len(circle) // 2
    for _ in range(len(circle) - 1):
        yield [
            (a, b) for a, b in zip(circle[:half], reversed(circle[half:])) if a is not None and b is not None
        ]
        circle = circle[:1] + circle[-1:] + circle[1:-1]


def rounds_of(plan):
    """A list of rounds, which are lists of (sender, receiver)."""
    hosts = list(plan["hosts"])
    if plan["pattern"] == "incast":
        return [[(sender, hosts[0]) for sender in hosts[1:]]]
    if plan["pattern"] == "pairs":
        return [list(zip(hosts[::2], hosts[1::2]))]
    rounds = []
    for pairs in matchings(hosts):
        rounds += [pairs, [(b, a) for a, b in pairs]]
    return rounds
