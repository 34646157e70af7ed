#!/usr/bin/env python3
"""Unit tests of zc-hosts: FILE, what is believed of a host's output, the figures of a round, the table."""

import contextlib
import copy
import importlib.util
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import traceback
from importlib.machinery import SourceFileLoader

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "lib", "hosts"))
# pylint: disable=wrong-import-position,missing-function-docstring
import hosts_report
import hosts_run

loader = SourceFileLoader("zc_hosts", os.path.join(TOP, "lib", "hosts", "zc-hosts"))
zc_hosts = importlib.util.module_from_spec(importlib.util.spec_from_loader("zc_hosts", loader))
loader.exec_module(zc_hosts)


def ran(host, printed, messages="", tool="zcc", plan=None):
    """A run that has printed these bytes and messages."""
    run = object.__new__(hosts_run.Run)
    run.host, run.tool, run.plan = host, tool, plan or {"load": {host}, "instrument": "soak"}
    run.measures = host in run.plan["load"]
    run.found, run.fault, run.is_killed, run.files = None, "", False, []
    for text in (printed, messages.encode()):
        run.files.append(tempfile.TemporaryFile(buffering=0))
        run.files[-1].write(text)
    return run


def printed(*objects, status="0"):
    """What a host prints of these."""
    return ("zc-hosts: started\n%s\nzc-hosts: status %s\n" % ("\n".join(map(json.dumps, objects)), status)).encode()


def transfer(streams, moved=1000, seconds=2, **host):
    """An object that zcc prints for a connection, or zcs for a group of clients."""
    figures = {"bytes": moved, "seconds": seconds, "bits_per_second": 8 * moved / seconds}
    return {"end": {"streams": [{}] * streams, "clients": streams, "sum_sent": figures, "sum_received": figures, "host": host}}


def read(text):
    """The plan that FILE has."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return hosts_run.read_plan(file.name)


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
        ("colour red", ":3: unknown keyword 'colour'"),
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
        (ran("a", b"", "pdsh@x: execvp no failed: No such file\npdsh@x: a: no exited"), "pdsh@x: execvp no failed: No such file"),
    ):
        result = hosts_report.connection_result(ran("r", printed(transfer(1, 9)), tool="zcs"), run, "a")
        equal((result.get("failed_host"), result.get("error")), ("a", error))
    run = ran("a", printed(transfer(2), transfer(1)).replace(b"\n", b"\r\n"))
    equal((len(run.objects()), run.error()), (2, "zcc failed: exit status 0"))
    equal([len(ran("a", printed(*[{}] * n)).objects()) for n in (10000, 10001)], [10000, 0])


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
        sender, receiver = ran("a", printed(reports[0])), ran("r", printed(reports[1], transfer(1, 5)), tool="zcs")
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


def test_engines():
    """an engine that does not start a program, or does not end, is ended, and that is the failure"""
    with tempfile.TemporaryDirectory() as directory:
        plan = {"hosts": {"a": "a", "b": "b"}, "engine": [directory + "/engine"], "zcc": [], "zcs": [], "load": set(), "bin": ""}
        plan.update(instrument="soak", port=9, limit=0.2)
        for limit, script, failed, is_killed, error in (
            (60, "exit 1", "b", False, "zcs: the host did not start it: check the host and 'engine'"),
            (60, "exec yes", "b", False, "zcs printed more than 16 MiB, or messages of more than 1 MiB"),
            (0.2, "exec sleep 99", "b", True, "zcs: the host did not answer in time: check the host and 'engine'"),
            (1, "echo zc-hosts: started; exec sleep 99", "b", True, "zcs: the host did not answer in time"),
            (60, "echo zcs: listening on x >&2; exec sleep 99", "a", True, "zcc: the host did not answer in time: check the host and 'engine'"),
        ):
            with open(plan["engine"][0], "w", encoding="ascii") as file:
                os.fchmod(file.fileno(), 0o755)
                file.write("#!/bin/sh\n" + script)
            zc_hosts.START_LIMIT, zc_hosts.END_LIMIT, hosts_run.END_LIMIT, runs = limit, 0.2, 0.2, []
            result = zc_hosts.run_round(plan, [("a", "b")], runs)[0]
            equal((result["failed_host"], result["error"], runs[-1].is_killed), (failed, error, is_killed))
            for run in runs:
                run.process.wait(20)


def test_table():
    """the table of three rounds: means by time and bytes, the largest group, why a load is not measured, who failed with whom"""
    plan = {"hosts": dict.fromkeys("rabcd"), "load": {"r", "a", "b"}, "instrument": "soak"}
    run = lambda *arguments, **more: ran(*arguments, plan=plan, **more)
    cost = {"cpus": 2, "load_percent": 10, "cost_us_per_kib": 1}
    unsafe = {"cpus": 2, "load_percent": 50, "cost_us_per_kib": 5, "unsafe": ["steal"]}
    senders = [
        [run("a", printed(transfer(1, 3 * GB, 1, **cost))),
         run("b", printed(transfer(2, GB, no_load="held")), "zcc: the load is not measured: x: y\nbye"),
         run("c", printed(transfer(1, GB, no_load="off"))), run("d", printed(status="1"), "zcc: why")],
        [run("a", printed(transfer(1, GB, 3, **unsafe))), run("b", printed(transfer(1, GB, no_load="off")))],
        [None] * 4,
    ]  # fmt: skip
    receivers = [
        run("r", printed(transfer(1, 10), transfer(4, 6 * GB, load_percent=30, load_uncertainty_percent=2, cost_us_per_kib=1)), tool="zcs"),
        run("r", printed(transfer(2, 3 * GB, load_percent=60, cost_us_per_kib=3)), tool="zcs"),
        run("r", b"", "zcs: no such\033 file", tool="zcs"),
    ]
    results = []
    for number, (receiver, all_senders) in enumerate(zip(receivers, senders), 1):
        found = [hosts_report.connection_result(receiver, sender, name) for sender, name in zip(all_senders, "abcd")]
        hosts_report.add_hosts(found)
        results += [dict(one, round=number) for one in found]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        hosts_report.print_table(plan, results)
    equal(out.getvalue(), TABLE)
    best = results[0]["receiver_host"]
    equal([best[key] for key in ("bytes", "clients", "failed_clients")], [6 * GB, 4, 1])
    equal(results[5]["sender_host"]["no_load_text"], "its program does not say why")
    equal(hosts_report.not_asked_for({"load": set()}), "not asked for: 'load none'")


GB = 10**9
TABLE = """\
host   role      Gbit/s           load  CPUs  us/KiB
r      receives  18.000  45.0%? +-2.0%     -  1.667?  failed with a b c ...: zcs: no such? file; unsafe: clients_not_together, client_failed; includes clients that failed
a      sends      8.000  40.0%? +-0.0%     2  2.000?  unsafe: steal
b      sends      4.000              -     -       -  load not measured: x: y; load not measured: its program does not say why
c      sends      4.000              -     -       -
d      sends          -              -     -       -  failed with r: zcc: why
total  sends     19.333              -     -       -  mean of 2 rounds
total  receives  18.000              -     -  1.667?  mean of 2 rounds; includes clients that failed
load of c: not asked for: 'load a b r'
10 connections in 3 rounds, 5 failed; 7000000000 bytes
slowest: a to r, 2.667 Gbit/s at the receiver
"""


TESTS = [one for name, one in list(globals().items()) if name.startswith("test_")]
for number, one in enumerate(TESTS, 1):
    try:
        one()
        print("ok %d - %s" % (number, one.__doc__))
    except Exception:  # pylint: disable=broad-except
        print("not ok %d - %s\n# %s" % (number, one.__doc__, traceback.format_exc().replace("\n", "\n# ")))
        failed = True
print("1..%d" % len(TESTS))
sys.exit("failed" in globals())
