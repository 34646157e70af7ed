"""Clients a second: zcs beside the least that can serve them.

Each round runs, in turn, zcs and a bare loop of one thread (tests/helpers/accepts.c: accept, read to the end of the
stream, write a line as long as a receipt, close), with 1, 2 and 4 senders of one file of 50 bytes each, over
loopback.  The ratios are within a round; the medians and the ranges of all rounds are printed."""
import argparse
import re
import statistics
import subprocess

import bench

GOALS = {1: 0.95, 2: 1.0, 4: 1.0}


def bare(directory):
    """Starts the bare loop; returns the process and the port."""
    process = bench.start([f'{directory}/accepts', 'serve'], stdout=subprocess.PIPE)
    found = re.match(r'port (\d+)', process.stdout.readline())
    if not found:
        raise bench.Failed('accepts did not start')
    return process, found.group(1)


def rate(directory, server, senders, seconds):
    """Clients a second of one server, which is started for this and ended after it."""
    process, port = server()
    try:
        return float(bench.run([f'{directory}/accepts', 'send', port, str(senders), str(seconds)],
                               seconds=seconds + 30)[0])
    finally:
        bench.stop(process)


def main(directory):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-r', '--rounds', type=int, default=9)
    parser.add_argument('-t', '--seconds', type=float, default=1, help='of each measurement (default %(default)s)')
    parser.add_argument('-n', '--senders', type=lambda s: [int(n) for n in s.split(',')], default=list(GOALS),
                        help='a list (default 1,2,4)')
    parser.add_argument('--bin', action='append', metavar='DIR', help='where zcs is (default: this source tree); '
                        'repeatable, to compare')
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
    bench.print_notes(noise)


if __name__ == '__main__':
    bench.main(main)
