"""One round of zc-hosts: its programs, and the figures that they print.

In a round no host both sends and receives, so that each runs one program and soaks once.
"""

import json

from hosts_engine import END_LIMIT, START_LIMIT, Run, all_done, stop_runs, wait_for
from hosts_table import shortened


def start_receiver(plan, host):
    options = ["-p", str(plan["port"]), "-I", "0"] + plan["zcs"]
    return Run(plan, "zcs", host, options, plan["limit"] + 2 * START_LIMIT)


def start_sender(plan, sender, receiver):
    options = ["-s", plan["hosts"][receiver], "-p", str(plan["port"]), "--timeout", "10"] + plan["zcc"]
    return Run(plan, "zcc", sender, options, plan["limit"])


def run_round(plan, pairs, runs):
    """Runs all connections of a round at once; returns their results.  What it starts is put in runs."""
    receivers = {}
    for host in dict.fromkeys(receiver for _, receiver in pairs):
        receivers[host] = start_receiver(plan, host)
        runs.append(receivers[host])
    programs = [run.program for run in receivers.values()]
    wait_for(lambda: all(program.is_listening() or program.is_done for program in programs), START_LIMIT)
    senders = {}
    for sender, receiver in pairs:
        program = receivers[receiver].program
        if program.is_listening() and not program.is_done:
            senders[sender] = start_sender(plan, sender, receiver)
            runs.append(senders[sender])
    wait_for(lambda: all_done([run.program for run in senders.values()]), plan["limit"] + END_LIMIT)
    stop_runs(runs)
    return [connection_result(receivers[receiver], senders.get(sender), sender) for sender, receiver in pairs]


def first_object(run):
    objects = run.program.objects() if run else []
    return objects[0] if objects else {}


def groups(run):
    """Returns the objects that zcs printed for groups of clients that moved data."""
    return [one for one in run.program.objects() if "sum_received" in one.get("end", {})]


def host_figures(run, one, end, reasons):
    """The throughput and the load of a host, from an object of zcc or zcs; or why it has no load."""
    host = one.get("end", {}).get("host", {})
    total = one.get("end", {}).get(end, {})
    figures = {key: total[key] for key in ("seconds", "bytes", "bits_per_second") if key in total}
    for key in ("cpus", "load_percent", "load_uncertainty_percent", "cost_us_per_kib"):
        if key in host:
            figures[key] = host[key]
    unsafe = host.get("unsafe", []) + reasons
    if unsafe and "load_percent" in host:
        figures["unsafe"] = unsafe
    if "load_percent" not in figures:
        figures["no_load"] = host.get("no_load", "") or "unknown"
        figures["no_load_text"] = no_load_text(run)
    return figures


def no_load_text(run):
    """Returns why a host whose program has printed no load has none, for people."""
    if not run.measures:
        names = sorted(run.plan["load"])
        return "not asked for: 'load %s'" % (shortened(names) if names else "none")
    named = [line for line in run.program.err if "load" in line or "short" in line]
    return named[-1] if named else "its program printed no load"


def receiver_figures(run, streams):
    """The figures of a receiver, which are of all its clients together; `streams` of these did not fail."""
    found = groups(run)
    if not found:
        return {}
    best = max(found, key=lambda one: one["end"]["sum_received"].get("bytes", 0))
    clients = sum(one["end"].get("clients", 1) for one in found)
    reasons = ["clients_not_together"] * (len(found) > 1) + ["client_failed"] * (clients > streams)
    figures = host_figures(run, best, "sum_received", reasons)
    figures["clients"] = best["end"].get("clients", 1)
    if clients > streams:
        figures["failed_clients"] = clients - streams
    return figures


def connection_error(receiver, sender, sender_name):
    """Returns (host, reason) if the connection failed, else None."""
    if sender is None:
        return receiver.host, receiver.program.error("zcs")
    one = first_object(sender)
    if len(sender.program.objects()) > 1:
        return sender_name, "zcc printed more than one report: a list, as in -m send,write, is not possible here"
    if sender.program.status() == 0 and "sum_received" in one.get("end", {}):
        return None
    if receiver.program.status() not in (0, None):
        return receiver.host, receiver.program.error("zcs")
    return sender_name, sender.program.error("zcc")


def connection_result(receiver, sender, sender_name):
    result = {"sender": sender_name, "receiver": receiver.host, "runs": (sender, receiver)}
    failure = connection_error(receiver, sender, sender_name)
    if failure:
        result["failed_host"], result["error"] = failure
    end = first_object(sender).get("end", {})
    for key in ("bytes", "seconds", "bits_per_second"):
        if not failure and key in end["sum_received"]:
            result[key] = end["sum_received"][key]
    if not failure and "retransmits" in end.get("sum_sent", {}):
        result["retransmits"] = end["sum_sent"]["retransmits"]
    return result


def add_hosts(results):
    """Adds the figures of both hosts to the results of a round."""
    streams = {}
    for one in results:
        sender = first_object(one["runs"][0])
        if "error" not in one:
            streams[one["receiver"]] = streams.get(one["receiver"], 0) + len(sender["end"].get("streams", [1]))
    for one in results:
        sender, receiver = one["runs"]
        one["sender_host"] = {} if "error" in one else host_figures(sender, first_object(sender), "sum_sent", [])
        one["receiver_host"] = receiver_figures(receiver, streams.get(one["receiver"], 0))


def json_line(number, one):
    shown = {"schema": 1, "round": number, "sender": one["sender"], "receiver": one["receiver"]}
    for key in ("error", "failed_host", "bytes", "seconds", "bits_per_second", "retransmits"):
        if key in one:
            shown[key] = one[key]
    shown["sender_host"], shown["receiver_host"] = one["sender_host"], one["receiver_host"]
    return json.dumps(shown, separators=(",", ":"))


def left_out(results):
    """The hosts that failed with two hosts which worked with others, and worked with none."""
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
    """The result of a connection that is not tried, since one of its hosts is omitted."""
    host = pair[0] if pair[0] in out else pair[1]
    reason = "omitted: it failed with two hosts that work"
    return {
        "sender": pair[0], "receiver": pair[1], "failed_host": host, "error": reason, "runs": (None, None),
        "sender_host": {}, "receiver_host": {},
    }  # fmt: skip
