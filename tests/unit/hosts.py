#!/usr/bin/env python3
"""Unit tests of zc-hosts: FILE, what is believed of a host's output, the figures of a round, the table."""

import os
import sys
import tempfile
import unittest

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "lib", "hosts"))
# pylint: disable=wrong-import-position,missing-function-docstring
import hosts_report
import hosts_run


class FakeRun:
    """A run of zcc or zcs on a host that measures its load, unless `load` names others."""

    def __init__(self, host, objects, load=None, err=()):
        self.host, self.shown, self.err = host, objects, list(err)
        self.plan = {"load": {host} if load is None else load, "instrument": "soak"}
        self.measures = host in self.plan["load"]

    def objects(self):
        return self.shown

    def lines(self, _):
        return self.err

    def error(self):
        return self.host + " failed"

    @staticmethod
    def status():
        return 0


def group(clients, moved, load=50.0):
    """An object that zcs prints for a group of clients."""
    received = {"bytes": moved, "seconds": 2, "bits_per_second": 4 * moved}
    return {"end": {"sum_received": received, "host": {"load_percent": load}, "clients": clients}}


def transfer(streams):
    """An object that zcc prints for a connection."""
    moved = {"bytes": 1000, "seconds": 2, "bits_per_second": 4000}
    return {"end": {"streams": [{}] * streams, "sum_sent": moved, "sum_received": moved, "host": {}}}


def result_of(sender, receiver):
    return hosts_report.connection_result(receiver, sender, sender.host if sender else "lost")


class FileTest(unittest.TestCase):
    def read(self, text):
        stdin = os.dup(0)
        with tempfile.TemporaryFile() as file:
            file.write(text)
            file.seek(0)
            os.dup2(file.fileno(), 0)
        try:
            return hosts_run.read_plan("-")
        finally:
            os.dup2(stdin, 0)
            os.close(stdin)

    def test_hosts(self):
        """hosts are ranges; an address may have a zone or brackets, and is by default the name without a user"""
        words = ["a=fe80::1%eth0.5", "b=[::1]", "me@d", "n[08-10]=[fd00::[1-3]]"]
        self.assertEqual(
            hosts_run.parse_hosts(words),
            {"a": "fe80::1%eth0.5", "b": "::1", "me@d": "d", "n08": "fd00::1", "n09": "fd00::2", "n10": "fd00::3"},
        )
        for word in ("a=%eth0", "a=fe80::1%", "a=x;y", "a=[::1", "a=::1%a%b", "a=[]", "a=-x"):
            with self.assertRaises(hosts_run.UsageError, msg=word):
                hosts_run.parse_hosts([word])

    def test_defaults(self):
        """FILE may begin with a byte order mark; all hosts measure their load unless it says otherwise"""
        plan = self.read(b"\xef\xbb\xbfhosts a b\npattern pairs # first to second\n")
        self.assertEqual((plan["hosts"], plan["load"], plan["instrument"]), ({"a": "a", "b": "b"}, {"a", "b"}, "soak"))
        self.assertEqual(self.read(b"hosts a b\npattern incast\nload none")["load"], set())

    def test_words(self):
        """a keyword takes the words that it can have, and once"""
        plan = self.read(b"hosts a b\nhosts c\npattern incast\ninstrument idle\nbin /x\nport 9")
        self.assertEqual([plan[key] for key in ("instrument", "bin", "port")], ["idle", "/x", 9])
        self.assertEqual(list(plan["hosts"]), ["a", "b", "c"])
        for bad, why in (
            ("instrument both", "'instrument' must be one of soak, idle"),
            ("pattern star", "'pattern' must be one of incast, pairs, all-to-all"),
            ("pattern pairs\nhosts c", "needs an even number of hosts, not 3"),
            ("hosts b", "host 'b' is given twice"),
            ("hosts n[1-3]=10.0.0.[1-2]", "as many addresses as names"),
            ("load a z", "load: 'z' is none of the hosts"),
            ("port", "'port' needs an argument"),
            ("port 0", "not a number from 1 to 65535"),
            ("port 65536", "not a number from 1 to 65535"),
            ("port 1 2", "'port' needs one argument only"),
            ("port 1\nport 1", "'port' is given twice"),
            ("bin x;y", "bin: 'x;y': only letters"),
            ("zcc 'x;reboot'", "zcc: 'x;reboot': only letters"),
            ("zcc --idle", "zcc: '--idle': zc-hosts sets"),
            ("zcs -1", "zcs: '-1': zc-hosts sets"),
            ("zcs --port=5", "zcs: '--port=5': zc-hosts sets"),
            ("colour red", "^standard input:3: unknown keyword 'colour'"),
        ):
            pattern = "" if "pattern" in bad else "pattern incast\n"
            with self.assertRaisesRegex(hosts_run.UsageError, why, msg=bad):
                self.read(("hosts a b\n" + pattern + bad).encode())

    def test_rounds(self):
        """all-to-all: each sends to each once, and no host is twice in a round"""
        for hosts in ("ab", "abc", "abcdefg", "abcdefgh"):
            rounds = hosts_run.rounds_of({"hosts": dict.fromkeys(hosts), "pattern": "all-to-all"})
            pairs = [pair for one in rounds for pair in one]
            self.assertEqual(set(pairs), {(a, b) for a in hosts for b in hosts if a != b})
            self.assertEqual(len(set(pairs)), len(pairs))
            self.assertTrue(all(len({name for pair in one for name in pair}) == 2 * len(one) for one in rounds))

    def test_left_out(self):
        """a host is omitted if it failed with two hosts that work, and not if its first two partners are dead"""
        for tried, out in (
            ("bd!", ""),
            ("ab bd! cd!", ""),
            ("ab bc bd! cd!", "d"),
            ("ab bc bd! dc! da", ""),
            ("ab cd ae! be! ef! fc! fd! gf! ge!", "ef"),
        ):
            results = [{"sender": one[0], "receiver": one[1]} for one in tried.split()]
            for result, one in zip(results, tried.split()):
                result.update({"error": ""} if "!" in one else {})
            self.assertEqual(hosts_report.left_out(results), set(out), tried)


class OutputTest(unittest.TestCase):
    def test_figures(self):
        """a figure is a finite number below 1e18, and what is not an object of zcc or zcs has none"""
        for good in (0, -1, 0.5, 10**17):
            self.assertEqual(hosts_report.numbers({"bytes": good}, "bytes", "seconds"), {"bytes": good})
        for bad in (10**18, 10**400, 1e400, float("nan"), True, False, "1", None, [1]):
            self.assertEqual(hosts_report.numbers({"bytes": bad}, "bytes"), {}, bad)
        for value in ({"end": 5}, {"end": {"sum_sent": 5}}, {"end": {"sum_sent": [1]}}, {}):
            self.assertEqual(hosts_report.part(value, "end", "sum_sent"), {}, value)

    def test_percent(self):
        """what runs on a host has no %, which engines replace, and gets it all the same"""
        self.assertNotIn("%", hosts_run.RUN_SCRIPT + hosts_run.quoted("fe80::1%hsi0"))
        self.assertEqual(hosts_run.quoted("fe80::1%hsi0"), 'fe80::1"$percent"hsi0')


class RoundTest(unittest.TestCase):
    def receiver(self, groups, streams):
        return hosts_report.receiver_figures(FakeRun("r", groups), streams)

    def test_largest_group(self):
        """a receiver whose clients did not all overlap has the figures of the largest group"""
        for groups in ([group(1, 10, 1.0), group(2, 30, 3.0)], [group(2, 30, 3.0), group(1, 10, 1.0)]):
            figures = self.receiver(groups, 3)
            self.assertEqual((figures["bytes"], figures["load_percent"], figures["clients"]), (30, 3.0, 2))
            self.assertEqual(figures["unsafe"], ["clients_not_together"])
            self.assertNotIn("failed_clients", figures)

    def test_failed_clients(self):
        """a receiver counts the clients that failed, but not a sender that never began"""
        receiver = FakeRun("r", [group(5, 5000)])
        killed, lost = FakeRun("k", []), None
        senders = [FakeRun("a", [transfer(3)]), FakeRun("b", [transfer(1)]), lost]
        for last, failed in ((killed, 1), (lost, 0)):
            receiver.shown = [group(4 + failed, 5000)]
            results = [result_of(sender, receiver) for sender in senders[:2] + [last]]
            hosts_report.add_hosts(results)
            self.assertEqual(["error" in one for one in results], [False, False, True])
            for one in results:
                self.assertEqual(one["receiver_host"].get("failed_clients", 0), failed)
                self.assertEqual(one["receiver_host"].get("unsafe", []), ["client_failed"] * failed)

    def test_no_load(self):
        """the reason why a host has no load tells whether one was asked for"""
        one = transfer(1)
        for word, load, err, reason in (
            ("off", {"x"}, [], "not asked for: 'load x'"),
            ("off", {"e", "d", "b", "c"}, [], "not asked for: 'load b c d ...'"),
            ("off", set(), [], "not asked for: 'load none'"),
            ("held", None, ["zcc: no load is measured: x", "bye"], "zcc: no load is measured: x"),
            ("", None, ["bye"], "its program printed no load"),
        ):
            one["end"]["host"]["no_load"] = word
            figures = hosts_report.host_figures(FakeRun("a", [one], load, err), one["end"], "sum_sent", [])
            self.assertEqual((figures["no_load"], figures["no_load_text"]), (word or "unknown", reason))
        self.assertNotIn("no_load", self.receiver([group(1, 10)], 1))


def row(role, *rounds):
    made = hosts_report.Row("n1", role)
    for figures in rounds:
        made.add(figures)
    return made


class TableTest(unittest.TestCase):
    def test_means(self):
        """several rounds: the load is weighted by time, the cost by bytes"""
        first = {"bytes": 3000, "seconds": 1, "load_percent": 10, "cost_us_per_kib": 1, "cpus": 2}
        second = {"bytes": 1000, "seconds": 3, "load_percent": 50, "cost_us_per_kib": 5, "cpus": 2}
        cells = row("sends", first, second).cells()
        self.assertEqual(cells[3:6], ["40.0% +-0.0%", "2", "2.000"])
        self.assertEqual(cells[2], "%.3f" % (8 * 4000 / 4 / 1e9))

    def test_mark(self):
        """one unsafe round marks the load and the cost, and is named"""
        figures = {"bytes": 1024, "seconds": 1, "load_percent": 1, "cost_us_per_kib": 1}
        cells = row("sends", figures, dict(figures, unsafe=["steal"])).cells()
        self.assertEqual((cells[3], cells[5], cells[6]), ("1.0%? +-0.0%", "1.000?", "unsafe: steal"))

    def test_failures(self):
        """a failure has one note for all hosts that it concerns; the total tells what it includes"""
        runs = [FakeRun("a", []), FakeRun("r", [])]
        figures = {"bytes": 9, "seconds": 1, "bits_per_second": 72, "failed_clients": 1}
        results = [
            {"sender": name, "receiver": "r", "round": 1, "runs": runs, "sender_host": {}, "receiver_host": figures,
             "failed_host": "r", "error": "zcs: no such file"}
            for name in "abcde"
        ]  # fmt: skip
        plan = {"hosts": dict.fromkeys("rabcde")}
        rows = hosts_report.host_rows(plan, results)
        self.assertEqual(rows[0].notes, ["failed with a b c ...: zcs: no such file", "includes clients that failed"])
        self.assertEqual([one.notes for one in rows[1:]], [[]] * 5)
        total = hosts_report.total_cells(results, rows, "receiver")
        self.assertEqual(total[-1], "includes clients that failed")
        self.assertEqual(hosts_report.total_cells(results, rows, "sender")[-1], "")


class TapResult(unittest.TestResult):
    """Prints a line for each test, as tests/run counts them."""

    def conclude(self, test, problem=""):
        for line in problem.splitlines():
            print("# " + line)
        print("%sok %d - %s" % ("not " * bool(problem), self.testsRun, test.shortDescription()))

    def addSuccess(self, test):
        self.conclude(test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.conclude(test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.conclude(test, self.errors[-1][1])


if __name__ == "__main__":
    RESULT = TapResult()
    unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]).run(RESULT)
    print("1..%d" % RESULT.testsRun)
    sys.exit(not RESULT.wasSuccessful())
