"""Clients a second: zcs beside the least that can serve them.

Each round runs, in turn, zcs and a bare loop of one thread (tests/helpers/accepts.c: accept, read to the end of the
stream, write a line as long as a receipt, close), with 1, 2 and 4 senders of one file of 50 bytes each, over
loopback.  The ratios are within a round; the medians and the ranges of all rounds are printed.

Then the same with one sender beside busy streams, which go to the zcs that is measured, or beside the bare
loop to a zcs of their own; requests of one byte by zcc --request, to zcs --reply and to a bare loop, and
TCP_CRR of netperf and tcp_crr of neper where they are; and many clients, by their tenths."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import bench

GOALS = {1: 0.95, 2: 1.0, 4: 1.0}


def bare(directory, what='serve'):
    """Starts the bare loop; returns the process and the port."""
    process = bench.start([f'{directory}/accepts', what], stdout=subprocess.PIPE)
    found = re.match(r'port (\d+)', process.stdout.readline())
    if not found:
        raise bench.Failed('accepts did not start')
    return process, found.group(1)


def rate(directory, server, senders, seconds):
    """Clients a second of one server, which is started for this and ended after it."""
    process, port = server()
    try:
        return send(directory, port, senders, seconds)
    finally:
        bench.stop(process)


def status(pid, key):
    """A number of /proc/PID/status."""
    with open(f'/proc/{pid}/status', encoding='ascii') as f:
        return int(re.search(rf'^{key}:\s*(\d+)', f.read(), re.M).group(1))


def send(directory, port, senders, seconds, *count):
    return float(bench.run([f'{directory}/accepts', 'send', port, str(senders), str(seconds), *map(str, count)],
                           seconds=seconds + 30)[0])


def beside(directory, binaries, own, opt):
    """Clients a second of zcs, or of the bare loop unless `own`, beside busy streams to zcs."""
    zcs, busy = bench.serve(binaries, '-I', '0', '--max-clients', str(2 * opt.streams + 100))
    server, port = (zcs, busy) if own else bare(directory)
    zcc = bench.start([f'{binaries}/zcc', '-s', '0', '-p', busy, '-P', str(opt.streams), '-t', '600',
                       '--congestion', 'reno'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while status(zcs.pid, 'Threads') < opt.streams:
            if time.monotonic() > end or zcc.poll() is not None:
                raise bench.Failed('the busy streams did not start')
            time.sleep(0.1)
        return send(directory, port, 1, opt.seconds)
    finally:
        for process in zcc, zcs, server:
            bench.stop(process)


def replies(directory, binaries, own, opt):
    """Requests a second of zcs --reply, or of the bare loop."""
    server, port = bench.serve(binaries, '--reply') if own else bare(directory, 'reply')
    try:
        out = bench.run([f'{binaries}/zcc', '-s', '127.0.0.1', '-p', port, '--request', '1', '-P', '1', '-t',
                         str(opt.seconds), '--json'], seconds=opt.seconds + 30)[0]
        return json.loads(out)['requests'][0]['connections_per_second']
    finally:
        bench.stop(server)


def netperf(folder, seconds):
    server = bench.start([f'{folder}/netserver', '-D', '-p', '12866'], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        return float(bench.run([f'{folder}/netperf', '-H', '127.0.0.1', '-p', '12866', '-P', '0', '-v', '0', '-t',
                                'TCP_CRR', '-l', str(seconds), '--', '-r', '4,1'], seconds=seconds + 30)[0])
    finally:
        bench.stop(server)


def neper(folder, seconds):
    arguments = ['-Q', '4', '-R', '1', '-l', str(seconds)]
    server = bench.start([f'{folder}/tcp_crr', *arguments], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        out = bench.run([f'{folder}/tcp_crr', '-c', '-H', '127.0.0.1', *arguments], seconds=seconds + 30)[0]
        return float(re.search(r'^throughput=([0-9.]+)', out, re.M).group(1))
    finally:
        bench.stop(server)


def compare(what, goal, ours, theirs):
    """Prints the ratios of two lists of a round's figures each; nothing is measured where one is empty."""
    if not ours or not theirs:
        bench.verdict(f'{what}, at least {goal}', None, 'not given by a path')
        return
    ratios = [a / b for a, b in zip(ours, theirs)]
    print(f'{what}: {bench.middle(ours)}, {bench.middle(theirs)} a second')
    bench.verdict(f'{what}, at least {goal}', statistics.median(ratios) >= goal,
                  f'{statistics.median(ratios):.3f} [{min(ratios):.3f}..{max(ratios):.3f}]')


def growth(directory, binaries, count):
    """Serves many clients; prints clients/s and the memory of the first and the last tenth."""
    zcs, port = bench.serve(binaries, '-I', '0')
    found = []
    try:
        for _ in range(10):
            found.append((send(directory, port, 2, 3600, max(1, count // 20)), status(zcs.pid, 'VmRSS')))
    finally:
        bench.stop(zcs)
    (rate, memory), (last_rate, last_memory) = found[0], found[-1]
    print(f'{count} clients, first and last tenth: {rate:.0f} and {last_rate:.0f} clients/s, '
          f'{memory} and {last_memory} KiB resident')
    bench.verdict('no growth of memory, 256 KiB at most', last_memory - memory <= 256, f'{last_memory - memory} KiB')


def more(directory, opt, binaries):
    """The rows beside those of the clients alone."""
    rounds = range(opt.rounds)
    if opt.streams > 0:
        pairs = [(beside(directory, binaries, True, opt), beside(directory, binaries, False, opt)) for _ in rounds]
        compare(f'clients/s of zcs / bare loop, beside {opt.streams} busy streams', 1.0, *zip(*pairs))
    pairs = [(replies(directory, binaries, True, opt), replies(directory, binaries, False, opt)) for _ in rounds]
    compare('requests/s of zcs --reply / bare loop', 0.95, *zip(*pairs))
    whole = max(1, round(opt.seconds))
    for name, run, goal, folder in (('netperf TCP_CRR', netperf, 1.5, opt.netperf),
                                    ('neper tcp_crr', neper, 1.1, opt.neper)):
        theirs = [run(os.path.abspath(folder), whole) for _ in rounds] if folder else []
        compare(f'requests/s of zcs --reply / {name}', goal, [a for a, _ in pairs], theirs)
    if opt.clients > 0:
        growth(directory, binaries, opt.clients)


def main(directory):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-r', '--rounds', type=int, default=9)
    parser.add_argument('-t', '--seconds', type=float, default=1, help='of each measurement (default %(default)s)')
    parser.add_argument('-n', '--senders', type=lambda s: [int(n) for n in s.split(',')], default=list(GOALS),
                        help='a list (default 1,2,4)')
    parser.add_argument('--bin', action='append', metavar='DIR', help='where zcs is (default: this source tree); '
                        'repeatable, to compare')
    parser.add_argument('--streams', type=int, default=1000, help='busy streams (default %(default)s; 0: none)')
    parser.add_argument('--clients', type=int, default=20000, help='for the growth (default %(default)s; 0: none)')
    parser.add_argument('--netperf', metavar='DIR', help='where netperf and netserver are')
    parser.add_argument('--neper', metavar='DIR', help="where neper's tcp_crr is")
    opt = parser.parse_args()
    binaries = [bench.programs(d) for d in opt.bin or [bench.TOP]]
    bench.build(directory, ['accepts'])
    for line in bench.head(binaries):
        print(line)
    noise = bench.Noise()
    servers = {'bare': lambda: bare(directory)}
    servers |= {f'zcs {b}': lambda b=b: bench.serve(b) for b in binaries}
    rates = {(name, n): [] for n in opt.senders for name in servers}
    for _ in range(opt.rounds):
        for n in opt.senders:
            for name, server in servers.items():
                rates[name, n].append(rate(directory, server, n, opt.seconds))
    print(f'\n{"clients/s":40} {"senders":>7}  median [range]')
    for (name, n), values in rates.items():
        print(f'{name:40} {n:7}  {bench.middle(values)}')
    print()
    for b in binaries:
        for n in opt.senders:
            ratios = [a / b for a, b in zip(rates[f'zcs {b}', n], rates['bare', n])]
            median, goal = statistics.median(ratios), GOALS.get(n)
            what = f'{b}: clients/s of zcs / bare loop, {n} senders' + (f', at least {goal}' if goal else '')
            bench.verdict(what, None if goal is None else median >= goal,
                          f'{median:.3f} [{min(ratios):.3f}..{max(ratios):.3f}]')
    for b in binaries:
        print(f'\n{b}:')
        more(directory, opt, b)
    bench.print_notes(noise)


if __name__ == '__main__':
    bench.main(main)
