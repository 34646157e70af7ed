#!/usr/bin/env python3
"""Unit tests of zc-hosts: FILE, what is believed of a host's output, the figures of a round, the table."""

import contextlib
import copy
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import traceback

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "lib", "hosts"))
# pylint: disable=wrong-import-position,missing-function-docstring
import hosts_report
import hosts_run


class FakeRun:
    """A run of zcc or zcs on a host that measures its load, unless `load` names others."""

    def __init__(self, host, objects, load=None, err=()):
        self.host, self.objects, self.err = host, lambda: objects, list(err)
        self.plan = {"load": {host} if load is None else load, "instrument": "soak"}
        self.measures = host in self.plan["load"]
        self.lines, self.error, self.status = lambda _: self.err, lambda: host + " failed", lambda: 0
        self.fault = ""


def ran(host, printed, messages="", tool="zcc"):
    """A run that has printed these bytes and messages."""
    run = object.__new__(hosts_run.Run)
    run.host, run.tool, run.plan, run.measures = host, tool, {"load": {host}, "instrument": "soak"}, True
    run.found, run.fault, run.is_killed, run.files = None, "", False, []
    for text in (printed, messages.encode()):
        run.files.append(tempfile.TemporaryFile(buffering=0))
        run.files[-1].write(text)
    return run


def printed(*objects, status="0"):
    """What a host prints of these."""
    return ("zc-hosts: started\n%s\nzc-hosts: status %s\n" % ("\n".join(map(json.dumps, objects)), status)).encode()


def group(clients, moved, load=50.0):
    """An object that zcs prints for a group of clients."""
    received = {"bytes": moved, "seconds": 2, "bits_per_second": 4 * moved}
    return {"end": {"sum_received": received, "host": {"load_percent": load}, "clients": clients}}


def transfer(streams):
    """An object that zcc prints for a connection."""
    moved = {"bytes": 1000, "seconds": 2, "bits_per_second": 4000}
    return {"end": {"streams": [{}] * streams, "sum_sent": moved, "sum_received": moved, "host": {}}}


def read(text):
    """The plan that FILE has, which is standard input."""
    stdin = os.dup(0)
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        os.dup2(file.fileno(), 0)
    try:
        return hosts_run.read_plan("-")
    finally:
        os.dup2(stdin, 0)


def equal(got, want, what=""):
    assert got == want, "%s got %s, want %s" % (what, got, want)


def rejected(why, function, argument):
    """What is given to a function must be an error for that reason."""
    found = "accepted"
    try:
        function(argument)
    except hosts_run.UsageError as error:
        found = str(error)
    assert re.search(why, found), "%s: %s" % (argument, found)


def test_hosts():
    """hosts are ranges; an address may have a zone or brackets, and is by default the name without a user"""
    words = ["a=fe80::1%eth0.5", "b=[::1]", "me@d", "n[08-10]=[fd00::[1-3]]"]
    equal(
        hosts_run.parse_hosts(words),
        {"a": "fe80::1%eth0.5", "b": "::1", "me@d": "d", "n08": "fd00::1", "n09": "fd00::2", "n10": "fd00::3"},
    )
    for word in ("a=%eth0", "a=fe80::1%", "a=x;y", "a=[::1", "a=::1%a%b", "a=[]", "a=-x"):
        rejected("is not the name or the address", hosts_run.parse_hosts, [word])


def test_words():
    """FILE may begin with a byte order mark; a keyword takes the words that it can have, and once"""
    plan = read("\ufeffhosts a b\npattern pairs # first to second\n")
    equal((plan["hosts"], plan["load"], plan["instrument"]), ({"a": "a", "b": "b"}, {"a", "b"}, "soak"))
    plan = read("hosts a b\nhosts c\npattern incast\ninstrument idle\nload none\nport 9")
    equal([plan[key] for key in ("instrument", "load", "port")], ["idle", set(), 9])
    equal(list(plan["hosts"]), ["a", "b", "c"])
    for bad, why in (
        ("pattern star", "'pattern' must be one of incast, pairs, all-to-all"),
        ("pattern pairs\nhosts c", "needs an even number of hosts, not 3"),
        ("hosts b", "host 'b' is given twice"),
        ("hosts n[1-3]=10.0.0.[1-2]", "as many addresses as names"),
        ("load a z", "load: 'z' is not in 'hosts'"),
        ("port", "'port' needs an argument"),
        ("port 65536", "not a number from 1 to 65535"),
        ("port 1\nport 1", "'port' is given twice"),
        ("zcc 'x;reboot'", "zcc: 'x;reboot': only letters"),
        ("zcc --idle", "zcc: '--idle': zc-hosts sets"),
        ("zcs --port=5", "zcs: '--port=5': zc-hosts sets"),
        ("colour red", "^standard input:3: unknown keyword 'colour'"),
    ):
        pattern = "" if "pattern" in bad else "pattern incast\n"
        rejected(why, read, "hosts a b\n" + pattern + bad)


def test_options():
    """the options of zcc that zc-hosts sets itself exist, and are rejected, also abbreviated or in a bundle"""
    zcc = os.path.join(os.environ.get("BIN", TOP), "zcc")
    options = subprocess.run([zcc, "--help"], check=True, capture_output=True, text=True).stdout
    rows = re.findall(r"^ {2,6}(?:-., )*--([a-z-]+)", options, re.M)
    reserved = [word[2:] for word in hosts_run.RESERVED["zcc"] if word.startswith("--")]
    equal([word for word in reserved if word not in rows], [])
    for word in ("--req=1k", "--vs=-S", "--json-s", "-qc", "-dkJ", "-qs0", "-r3"):
        rejected("zc-hosts sets", lambda one: hosts_run.check_options("zcc", [one]), word)
    hosts_run.check_options("zcc", "-t 10 -b64k -Bc -dq -m send --warmup=1 --quiet".split())


def test_rounds():
    """all-to-all: each sends to each once, and no host is twice in a round"""
    for hosts in ("ab", "abc", "abcdefg", "abcdefgh"):
        rounds = hosts_run.rounds_of({"hosts": dict.fromkeys(hosts), "pattern": "all-to-all"})
        pairs = [pair for one in rounds for pair in one]
        equal(set(pairs), {(a, b) for a in hosts for b in hosts if a != b})
        equal(len(set(pairs)), len(pairs))
        assert all(len({name for pair in one for name in pair}) == 2 * len(one) for one in rounds)


def test_left_out():
    """a host is omitted if it failed with two hosts that work, and not if its first two partners are dead"""
    for tried, out in (
        ("bd!", ""),
        ("ab bd! cd!", ""),
        ("ab bc bd! cd!", "d"),
        ("ab cd ae! be! ef! fc! fd! gf! ge!", "ef"),
    ):
        results = [{"sender": one[0], "receiver": one[1]} for one in tried.split()]
        for result, one in zip(results, tried.split()):
            result.update({"error": ""} if "!" in one else {})
        equal(hosts_report.left_out(results), set(out), tried)


def test_figures():
    """a figure is a number that can have been measured, and each member of a report is what zcc and zcs print"""
    for good in (0, 0.5, 10**17):
        equal(hosts_run.odd_member({"end": {"sum_sent": {"bytes": good}, "host": {"load_percent": -good % 9}}}), None)
    for bad in (-1, 10**19, 10**400, 1e400, float("nan"), True, "1", None, [1]):
        equal(hosts_run.odd_member({"end": {"sum_received": {"bytes": bad}}}), "end.sum_received.bytes", bad)
    places = ("end", 3), ("end.host", [1]), ("end.streams", 3), ("end.clients", 0), ("end.host.unsafe", "x")
    for place, odd in (*places, ("end.host.unsafe", [1]), ("end.host.unsafe", ["x"] * 999), ("end.host.no_load", {})):
        for key in reversed(place.split(".")):
            odd = {key: odd}
        equal(hosts_run.odd_member(odd), place)


def test_output():
    """a report is read in linear time, up to a size that is named; what is wrong with it, or its engine, is the failure"""
    text, good = printed(transfer(1)), printed(transfer(1), status="1")
    for run, error in (
        (ran("a", b"{} " * 2000000), "zcc printed what is not JSON of zcc"),
        (ran("a", text.replace(b"{", b"9" * 3000000, 1)), "zcc printed what is not JSON of zcc"),
        (ran("a", text + b"[" * 5000), "zcc printed what is not JSON of zcc"),
        (ran("a", text + b" " * (1 << 24)), "zcc printed more than 16 MiB, or messages of more than 1 MiB"),
        (ran("a", text, "x" * (1 << 20) + "yz"), "zcc printed more than 16 MiB, or messages of more than 1 MiB"),
        (ran("a", text.replace(b'"bytes": 1000', b'"bytes": -1')), "zcc printed an impossible 'end.sum_sent.bytes'"),
        (ran("a", printed()), "zcc printed no report"),
        (ran("a", printed(status="124")), "zcc was ended: it ran longer than 'limit'"),
        (ran("a", b"zc-hosts: started\n"), "zcc failed: exit status unknown"),
        (ran("a", good + b"[", "zcc: why\nbye\npdsh@x: a: ssh exited"), "zcc: why"),
        (ran("a", good, "zcc: " + "y" * 999), "zcc: " + "y" * 295),
        (ran("a", b""), "zcc: the host did not start it: check the host and 'engine'"),
        (ran("a", b"", "pdsh@x: execvp no failed: No such file\npdsh@x: a: no exited"), "pdsh@x: execvp no failed: No such file"),
    ):
        result = hosts_report.connection_result(ran("r", printed(group(1, 9)), tool="zcs"), run, "a")
        equal((result.get("failed_host"), result.get("error")), ("a", error))
    run = ran("a", printed(transfer(2), transfer(1)).replace(b"\n", b"\r\n"))
    equal((len(run.objects()), run.error()), (2, "zcc failed: exit status 0"))


def test_mutated():
    """whatever value is in the place of another, the round is reported, and a host with an odd report has failed"""
    rng, odd = random.Random(1), 0
    values = (0, -1, 3, 1e300, 10**400, float("nan"), True, None, "x", "\ud800", [], [1], ["steal"], [[]], {}, {"bytes": "x"})
    for _ in range(500):
        end = dict(transfer(2)["end"], clients=2, host={"load_percent": 5, "unsafe": ["steal"], "cpus": 2, "cost_us_per_kib": 1})
        reports = [{"end": copy.deepcopy(end)}, {"end": copy.deepcopy(end)}]
        part = rng.choice(reports)
        while part and (part is reports[0] or part is reports[1] or rng.random() < 0.7):
            where, key = part, rng.choice(list(part))
            part = part[key] if isinstance(part[key], dict) else None
        where[key] = rng.choice(values)
        sender, receiver = ran("a", printed(reports[0])), ran("r", printed(reports[1], group(1, 5)), tool="zcs")
        results = [dict(hosts_report.connection_result(receiver, sender, "a"), round=1)]
        hosts_report.add_hosts(results)
        if sender.fault or receiver.fault:
            equal(results[0]["failed_host"], "a" if sender.fault and not receiver.fault else "r")
            odd += 1
        with contextlib.redirect_stdout(io.StringIO()):
            hosts_report.print_table({"hosts": {"a": "", "r": ""}, "instrument": "soak"}, results)
            print(json.dumps(results))
    assert 100 < odd < 490, odd


def test_scripts():
    """what runs on a host has no %, which engines replace; what ends it does not wait for it if it had started"""
    assert "%" not in hosts_run.RUN_SCRIPT + hosts_run.quoted("fe80::1%hsi0")
    script = hosts_run.STOP_SCRIPT.replace("@TOKEN@", "zc-hosts.none").replace("@STARTED@", "1")
    subprocess.run(["sh", "-c", script], timeout=3, check=True)


def test_largest_group():
    """a receiver whose clients did not all overlap has the figures of the largest group"""
    for groups in ([group(1, 10, 1.0), group(2, 30, 3.0)], [group(2, 30, 3.0), group(1, 10, 1.0)]):
        figures = hosts_report.receiver_figures(FakeRun("r", groups), 3)
        equal([figures[key] for key in ("bytes", "load_percent", "clients")], [30, 3.0, 2])
        equal(figures["unsafe"], ["clients_not_together"])
        assert "failed_clients" not in figures and "no_load" not in figures
        equal(hosts_report.receiver_figures(FakeRun("r", groups), 2)["failed_clients"], 1)


def test_failed_clients():
    """a receiver counts the clients that failed, but not a sender that never began"""
    senders = [FakeRun("a", [transfer(3)]), FakeRun("b", [transfer(1)])]
    for last, failed in ((FakeRun("killed", []), 1), (None, 0)):
        receiver = FakeRun("r", [group(4 + failed, 5000)])
        results = [hosts_report.connection_result(receiver, one, "s") for one in senders + [last]]
        hosts_report.add_hosts(results)
        equal(["error" in one for one in results], [False, False, True])
        for one in results:
            equal(one["receiver_host"].get("failed_clients", 0), failed)
            equal(one["receiver_host"].get("unsafe", []), ["client_failed"] * failed)


def test_no_load():
    """the reason why a host's load is not measured tells whether one was asked for"""
    one = transfer(1)
    for word, load, err, reason in (
        ("off", {"e", "d", "b", "c"}, [], "not asked for: 'load b c d ...'"),
        ("off", set(), [], "not asked for: 'load none'"),
        ("held", None, ["zcc: the load is not measured: x: y", "bye"], "x: y"),
    ):
        one["end"]["host"]["no_load"] = word
        figures = hosts_report.host_figures(FakeRun("a", [one], load, err), one["end"], "sum_sent", [])
        equal((figures["no_load"], figures["no_load_text"]), (word, reason))
    one["end"]["host"]["no_load"] = "off"
    figures = hosts_report.host_figures(FakeRun("a", [one]), one["end"], "sum_sent", [])
    equal((figures["no_load"], figures["no_load_text"]), ("unknown", "its program does not say why"))


def test_long():
    """what a program prints is read whole"""
    program = object.__new__(hosts_run.Program)
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(b"x" * 1000000)
        program.files = [file]
        equal(len(program.lines(0)[0]), 1000000)


def cells(*rounds):
    row = hosts_report.Row("n1", "sends")
    for figures in rounds:
        row.add(figures)
    return row.cells()


def test_means():
    """several rounds: the load is weighted by time, the cost by bytes; one that is unsafe marks both"""
    first = {"bytes": 3000, "seconds": 1, "load_percent": 10, "cost_us_per_kib": 1, "cpus": 2}
    second = {"bytes": 1000, "seconds": 3, "load_percent": 50, "cost_us_per_kib": 5, "cpus": 2}
    throughput = "%.3f" % (8 * 4000 / 4 / 1e9)
    equal(cells(first, second)[2:], [throughput, "40.0% +-0.0%", "2", "2.000", ""])
    second["unsafe"] = ["steal"]
    equal(cells(first, second)[2:], [throughput, "40.0%? +-0.0%", "2", "2.000?", "unsafe: steal"])
    rows = [hosts_report.Row(name, "sends") for name in ("n1", "n2")]
    rows[0].add(first)
    equal(hosts_report.total_cells([], rows, "sender")[5], "1.000")
    rows[1].add({"bytes": 1000, "seconds": 1})
    equal(hosts_report.total_cells([], rows, "sender")[5], "-")


def test_failures():
    """a failure has one note for all hosts that it concerns; the total tells what it includes"""
    figures = {"bytes": 9, "seconds": 1, "bits_per_second": 72, "failed_clients": 1}
    one = {"receiver": "r", "round": 1, "runs": [FakeRun("a", []), FakeRun("r", [])], "sender_host": {}}
    one.update({"receiver_host": figures, "failed_host": "r", "error": "zcs: no such file"})
    results = [dict(one, sender=name) for name in "abcde"]
    rows = hosts_report.host_rows({"hosts": dict.fromkeys("rabcde")}, results)
    equal(rows[0].notes, ["failed with a b c ...: zcs: no such file", "includes clients that failed"])
    equal([one.notes for one in rows[1:]], [[]] * 5)
    total = hosts_report.total_cells(results, rows, "receiver")
    equal(total[-1], "includes clients that failed")
    equal(hosts_report.total_cells(results, rows, "sender")[-1], "")


def test_slowest():
    """the slowest connection is named, and the bytes of all are added"""
    one = {"receiver": "r", "round": 1, "sender_host": {}, "receiver_host": {}, "bytes": 2}
    results = [dict(one, sender=name, bits_per_second=rate) for name, rate in (("a", 3e9), ("b", 1e9), ("c", 2e9))]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        hosts_report.print_table({"hosts": dict.fromkeys("rabc"), "instrument": "soak"}, results)
    equal(out.getvalue().splitlines()[-2:], ["3 connections in 1 round, 0 failed; 6 bytes",
                                             "slowest: b to r, 1.000 Gbit/s at the receiver"])


TESTS = [one for name, one in list(globals().items()) if name.startswith("test_")]
FAILED = 0
for number, one in enumerate(TESTS, 1):
    problem = ""
    try:
        one()
    except Exception:  # pylint: disable=broad-except
        problem = "not "
        FAILED += 1
        print("# " + traceback.format_exc().replace("\n", "\n# "))
    print("%sok %d - %s" % (problem, number, one.__doc__))
print("1..%d" % len(TESTS))
sys.exit(FAILED > 0)
