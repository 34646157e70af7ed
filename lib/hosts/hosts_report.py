"""What zc-hosts reports: the figures of connections and hosts, and the table."""

FAILED_INCLUDED = "includes clients that failed"
THROUGHPUT = ("bytes", "seconds", "bits_per_second")
ROLES = {"sender": "sends", "receiver": "receives"}


def printable(text):
    """The text of a host or of FILE, without control characters."""
    return "".join(one if one.isprintable() else "?" for one in text)


def part(one, *keys):
    """The object within an object of a host; empty if there is none."""
    for key in keys:
        one = one.get(key, {})
    return one


def numbers(one, *keys):
    """The figures that an object has of these."""
    return {key: one[key] for key in keys if key in one}


def first_end(run):
    """The figures that zcc has printed; empty if it has printed none."""
    objects = run.objects() if run else []
    return part(objects[0], "end") if objects else {}


def not_asked_for(plan):
    return "not asked for: 'load %s'" % (shortened(sorted(plan["load"])) or "none")


def host_figures(run, end, key, reasons):
    """The throughput and the load of a host, from what zcc or zcs has printed; or why its load is not known."""
    host = part(end, "host")
    figures = numbers(part(end, key), *THROUGHPUT)
    figures.update(numbers(host, "cpus", "load_percent", "load_uncertainty_percent", "cost_us_per_kib"))
    if "load_percent" not in figures:
        named = [line for line in run.lines(1) if "load" in line or "short" in line]
        figures["no_load"] = host.get("no_load", "off").replace("off", "unknown")  # it was asked for, or see below
        figures["no_load_text"] = named[-1].partition("not measured: ")[2] or named[-1] if named else host.get("no_load_text", "its program does not say why")
        if not run.measures:
            figures["no_load"], figures["no_load_text"] = "off", not_asked_for(run.plan)
        return figures
    figures["instrument"] = run.plan["instrument"]
    unsafe = host.get("unsafe", [])
    if unsafe + reasons:
        figures["unsafe"] = unsafe + reasons
    return figures


def receiver_figures(run, streams):
    """The figures of a receiver, of all its clients together; `streams` of its clients did not fail."""
    ends = [one["end"] for one in run.objects() if part(one, "end", "sum_received")]
    if not ends:
        return {}
    best = max(ends, key=lambda end: end["sum_received"].get("bytes", 0))
    failed = sum(end.get("clients", 1) for end in ends) - streams
    reasons = ["clients_not_together"] * (len(ends) > 1) + ["client_failed"] * (failed > 0)
    figures = host_figures(run, best, "sum_received", reasons)
    figures["clients"] = best.get("clients", 1)
    if failed > 0:
        figures["failed_clients"] = failed
    return figures


def connection_result(receiver, sender, sender_name):
    """The figures of a connection, or which host failed and why."""
    result = {"schema": 1, "sender": sender_name, "receiver": receiver.host, "runs": (sender, receiver)}
    end = first_end(sender)
    moved = numbers(part(end, "sum_received"), *THROUGHPUT)
    if sender is not None and len(sender.objects()) > 1:
        error = "zcc printed more than one report: a list, as in -m send,write, is not possible here"
        return dict(result, failed_host=sender_name, error=error)
    receiver.objects()
    if sender is not None and sender.status() == 0 and "bytes" in moved and not receiver.fault:
        return dict(result, **moved, **numbers(part(end, "sum_sent"), "retransmits"))
    if sender is None or receiver.status() not in (0, None) or receiver.fault:
        return dict(result, failed_host=receiver.host, error=receiver.error())
    return dict(result, failed_host=sender_name, error=sender.error())


def add_hosts(results):
    """Adds the figures of both hosts to the results of a round."""
    streams = {}
    for one in results:
        if "error" not in one:
            number = len(first_end(one["runs"][0]).get("streams", [1]))
            streams[one["receiver"]] = streams.get(one["receiver"], 0) + number
    for one in results:
        sender, receiver = one.pop("runs")
        one["sender_host"] = {} if "error" in one else host_figures(sender, first_end(sender), "sum_sent", [])
        one["receiver_host"] = receiver_figures(receiver, streams.get(one["receiver"], 0))


def left_out(results):
    """The hosts that worked with none, and failed with two hosts that worked with others."""
    worked, failed = set(), {}
    for one in results:
        ends = one["sender"], one["receiver"]
        if "error" not in one:
            worked.update(ends)
            continue
        for host, other in (ends, ends[::-1]):
            failed.setdefault(host, set()).add(other)
    return {host for host, others in failed.items() if len(others & worked) > 1 and host not in worked}


def skipped(pair, out):
    """The result of a connection that is not tried because one of its hosts is omitted."""
    failed = {"failed_host": pair[0] if pair[0] in out else pair[1], "sender_host": {}, "receiver_host": {}}
    failed["error"] = "omitted: it failed with two hosts that work"
    return {"schema": 1, "sender": pair[0], "receiver": pair[1], **failed}


def failures(results):
    """The results that failed, by the host that reported it and its reason."""
    found = {}
    for one in results:
        if "error" in one:
            found.setdefault((one["failed_host"], one["error"]), []).append(one)
    return found


def shortened(names):
    """Three of the names at most, as a text."""
    return " ".join(names[:3]) + " ..." * (len(names) > 3)


def gbits(bits_per_second):
    return "-" if bits_per_second is None else "%.3f" % (bits_per_second / 1e9)


class Row:
    """A host's figures in one role, over all rounds."""

    def __init__(self, host, role):
        self.host, self.role = host, role
        self.rounds, self.notes = [], []

    def note(self, text):
        text = printable(text)
        if text not in self.notes:
            self.notes.append(text)

    def add(self, figures):
        self.rounds.append(figures)
        if "unsafe" in figures:
            self.note("unsafe: " + ", ".join(figures["unsafe"]))
        if figures.get("no_load", "off") != "off":
            self.note("load not measured: " + figures["no_load_text"])
        if "failed_clients" in figures:
            self.note(FAILED_INCLUDED)

    def sum(self, key):
        return sum(one.get(key, 0) for one in self.rounds)

    def mean(self, key, weight):
        """The mean of a figure over the rounds that have it, weighted by another figure; None if no round has it."""
        having = [one for one in self.rounds if key in one]
        whole = sum(one.get(weight, 0) for one in having)
        if not having or not whole:
            return having[0][key] if having else None
        return sum(one.get(weight, 0) * one[key] for one in having) / whole

    def cells(self):
        load, cost = self.mean("load_percent", "seconds"), self.mean("cost_us_per_kib", "bytes")
        half = self.mean("load_uncertainty_percent", "seconds") or 0
        cpus = [one["cpus"] for one in self.rounds if "cpus" in one and "load_percent" in one]
        seconds = self.sum("seconds")
        mark = "?" * any("unsafe" in one for one in self.rounds)
        return [
            self.host,
            self.role,
            gbits(8 * self.sum("bytes") / seconds if seconds else None),
            "-" if load is None else "%.1f%%%s +-%.1f%%" % (load, mark, half),
            "%g" % cpus[-1] if cpus else "-",
            "-" if cost is None else "%.3f%s" % (cost, mark),
            "; ".join(self.notes),
        ]


def host_ends(results):
    """The figures of each host by (round, host, end), of those that ran."""
    found = {(one["round"], one[end], end): one[end + "_host"] for one in results for end in ROLES}
    return {key: figures for key, figures in found.items() if figures}


def host_rows(plan, results):
    """A row for each host and role."""
    rows = {}
    for one in results:
        for end, role in ROLES.items():
            rows.setdefault((one[end], end), Row(one[end], role))
    for (host, error), failed in failures(results).items():
        for end, other in (("sender", "receiver"), ("receiver", "sender")):
            others = [one[other] for one in failed if one[end] == host]
            if others:
                rows[host, end].note("failed with %s: %s" % (shortened(others), error))
    for (_, host, end), figures in host_ends(results).items():
        rows[host, end].add(figures)
    order = list(plan["hosts"])
    return sorted(rows.values(), key=lambda row: (order.index(row.host), row.role == "receives"))


def total_cells(results, rows, end):
    """The throughput of all hosts of a role, as the mean of the rounds; their cost, if each has one."""
    sums = {}
    for (number, _, its_end), figures in host_ends(results).items():
        if its_end == end:
            sums[number] = sums.get(number, 0) + figures.get("bits_per_second", 0)
    rows = [row for row in rows if row.role == ROLES[end]]
    whole = Row("total", ROLES[end])
    whole.rounds = [one for row in rows for one in row.rounds if one.get("bytes")]
    has_cost = all("cost_us_per_kib" in one for one in whole.rounds)
    whole.notes = ["mean of %d rounds" % len(sums)] * (len(sums) > 1)
    whole.notes += [FAILED_INCLUDED] * any(FAILED_INCLUDED in row.notes for row in rows)
    cells = whole.cells()
    mean = sum(sums.values()) / len(sums) if sums else None
    return cells[:2] + [gbits(mean), "-", "-", cells[5] if has_cost else "-", cells[6]]


def print_table(plan, results):
    rows = host_rows(plan, results)
    load = "load" if plan["instrument"] == "soak" else "unsoaked load"
    lines = [["host", "role", "Gbit/s", load, "CPUs", "us/KiB", ""]] + [row.cells() for row in rows]
    lines += [total_cells(results, rows, end) for end in ROLES]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]) - 1)]
    for line in lines:
        cells = [line[i].ljust(widths[i]) if i < 2 else line[i].rjust(widths[i]) for i in range(len(widths))]
        print(("  ".join(cells) + "  " + line[-1]).rstrip())
    off = {host for (_, host, _), figures in host_ends(results).items() if figures.get("no_load") == "off"}
    if off:
        print("load of %s: %s" % (shortened([host for host in plan["hosts"] if host in off]), not_asked_for(plan)))
    done = [one for one in results if "error" not in one and "bits_per_second" in one]
    number, rounds = len(results), len({one["round"] for one in results})
    shown = (number, "s" * (number != 1), rounds, "s" * (rounds != 1), number - len(done))
    moved = sum(one.get("bytes", 0) for one in done)
    print("%d connection%s in %d round%s, %d failed; %d byte%s" % (*shown, moved, "s" * (moved != 1)))
    if done:
        slow = min(done, key=lambda one: one["bits_per_second"])
        print("slowest: %s to %s, %s Gbit/s at the receiver" % (slow["sender"], slow["receiver"], gbits(slow["bits_per_second"])))
