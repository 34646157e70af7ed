"""The table of zc-hosts, for people."""


FAILED_INCLUDED = "includes clients that failed"


def printable(text):
    """The text of a host or of FILE without what a terminal would obey."""
    return "".join(one if one.isprintable() else "?" for one in text)


class Row:
    """A host's figures in one role, over all rounds."""

    def __init__(self, host, role):
        self.host, self.role = host, role
        self.bytes = self.seconds = 0
        self.loads, self.costs = [], []
        self.unsafe = False
        self.notes = []
        self.cpus = None

    def note(self, text):
        text = printable(text)
        if text and text not in self.notes:
            self.notes.append(text)

    def add(self, figures):
        self.bytes += figures.get("bytes", 0)
        self.seconds += figures.get("seconds", 0)
        if "load_percent" in figures:
            seconds, uncertainty = figures.get("seconds", 0), figures.get("load_uncertainty_percent", 0)
            self.loads.append((seconds, figures["load_percent"], uncertainty))
            self.cpus = figures.get("cpus", self.cpus)
        if "cost_us_per_kib" in figures:
            self.costs.append((figures.get("bytes", 0), figures["cost_us_per_kib"]))
        if "unsafe" in figures:
            self.unsafe = True
            self.note("unsafe: " + ", ".join(figures["unsafe"]))
        if "no_load_text" in figures:
            self.note("no load: " + figures["no_load_text"])
        if "failed_clients" in figures:
            self.note(FAILED_INCLUDED)

    def bits_per_second(self):
        return 8 * self.bytes / self.seconds if self.seconds else None

    def cost(self):
        """The mean cost, weighted by the bytes of each round."""
        return weighted_mean(self.costs) if self.costs else None

    def cells(self):
        mark = "?" if self.unsafe else ""
        load = cost = "-"
        if self.loads:
            mean = weighted_mean([(seconds, value) for seconds, value, _ in self.loads])
            half = weighted_mean([(seconds, value) for seconds, _, value in self.loads])
            load = "%.1f%%%s +-%.1f%%" % (mean, mark, half)
        if self.costs:
            cost = "%.3f%s" % (self.cost(), mark)
        cpus = "-" if self.cpus is None else "%g" % self.cpus
        return [self.host, self.role, gbits(self.bits_per_second()), load, cpus, cost, "; ".join(self.notes)]


def weighted_mean(pairs):
    """The mean of values, from pairs (weight, value)."""
    whole = sum(weight for weight, _ in pairs)
    return sum(weight * value for weight, value in pairs) / whole if whole else pairs[0][1]


def gbits(bits_per_second):
    return "-" if bits_per_second is None else "%.3f" % (bits_per_second / 1e9)


def host_ends(results):
    """Yields (result, end, figures) for each host that ran in a round; a receiver comes once."""
    seen = set()
    for one in results:
        for end in ("sender", "receiver"):
            run = one["runs"][end == "receiver"]
            if one[end + "_host"] and id(run) not in seen:
                seen.add(id(run))
                yield one, end, one[end + "_host"]


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


def host_rows(plan, results):
    """A row for each host and role."""
    rows, role = {}, {"sender": "sends", "receiver": "receives"}
    for one in results:
        for end in role:
            rows.setdefault((one[end], end), Row(one[end], role[end]))
    for (host, error), failed in failures(results).items():
        for end, other in (("sender", "receiver"), ("receiver", "sender")):
            others = [one[other] for one in failed if one[end] == host]
            if others:
                rows[host, end].note("failed with %s: %s" % (shortened(others), error))
    for one, end, figures in host_ends(results):
        rows[one[end], end].add(figures)
    order = {host: number for number, host in enumerate(plan["hosts"])}
    return sorted(rows.values(), key=lambda row: (order[row.host], row.role == "receives"))


def total_cells(results, rows, end, role):
    """The throughput of all hosts of a role, the mean of the rounds; their cost, if each has one."""
    sums = {}
    for one, its_end, figures in host_ends(results):
        if its_end == end:
            sums[one["round"]] = sums.get(one["round"], 0) + figures.get("bits_per_second", 0)
    mean = sum(sums.values()) / len(sums) if sums else None
    rows = [row for row in rows if row.role == role and row.bytes]
    costs = [(row.bytes, row.cost()) for row in rows if row.costs]
    cost = "-"
    if costs and len(costs) == len(rows):
        cost = "%.3f%s" % (weighted_mean(costs), "?" if any(row.unsafe for row in rows) else "")
    notes = ["mean of %d rounds" % len(sums)] * (len(sums) > 1)
    notes += [FAILED_INCLUDED] * any(FAILED_INCLUDED in row.notes for row in rows)
    return ["total", role, gbits(mean), "-", "-", cost, "; ".join(notes)]


def print_columns(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]) - 1)]
    for line in lines:
        cells = [line[i].ljust(widths[i]) if i < 2 else line[i].rjust(widths[i]) for i in range(len(widths))]
        print(("  ".join(cells) + "  " + line[-1]).rstrip())


def count(number, what):
    return "%d %s%s" % (number, what, "" if number == 1 else "s")


def print_table(plan, results):
    if not results:
        return
    rows = host_rows(plan, results)
    lines = [["host", "role", "Gbit/s", "load", "CPUs", "us/KiB", ""]] + [row.cells() for row in rows]
    lines.append(total_cells(results, rows, "sender", "sends"))
    lines.append(total_cells(results, rows, "receiver", "receives"))
    print_columns(lines)
    done = [one for one in results if "error" not in one and "bits_per_second" in one]
    rounds = count(len({one["round"] for one in results}), "round")
    number = sum(one.get("bytes", 0) for one in done)
    failed = len(results) - len(done)
    print("%s in %s, %d failed; %d bytes" % (count(len(results), "connection"), rounds, failed, number))
    if done:
        slow = min(done, key=lambda one: one["bits_per_second"])
        print("slowest: %s to %s, %s Gbit/s" % (slow["sender"], slow["receiver"], gbits(slow["bits_per_second"])))
