"""How cost and memory grow: zcc and zcs over loopback against the number of

    streams    1 to 1,000, of the built-in set
    files      1 to 100,000, which have 64 MiB together, whatever their number
    cpus       1 to all: as many streams as CPUs, both ends bound to these (-B)
    clients    1 to 10,000 of 50 bytes each, one after another; one more is served before them

The cost is that of both ends: of the whole machine, by zcc -c, in us/KiB; of clients, the CPU time of zcs
in us for each of them.  The memory is VmHWM, in KiB.  Each point has a zcs of its own, and is measured in
each round; the table has the medians, and below each curve the ratio of its last point to its first, which
is 1 where the curve is flat.  The folder gets scale.tsv, and scale.svg where gnuplot is installed.  The
machine must be idle."""
import argparse
import collections
import json
import os
import re
import shutil
import statistics
import sys
import threading
import time

sys.dont_write_bytecode = True
import bench

CURVES = 'streams files cpus clients'.split()
COLUMNS = 'KiB/s cost zcc zcs'.split()
BYTES = 64 << 20 # of all files
TRIES = 5        # for a transfer that has a load
peaks = collections.defaultdict(int) # VmHWM in KiB, by process id


def peak(pid):
    try:
        with open(f'/proc/{pid}/status', encoding='ascii') as f:
            found = re.search(r'^VmHWM:\s*(\d+)', f.read(), re.M)
    except OSError:
        return 0
    return int(found.group(1)) if found else 0


def watch_zcc(ended):
    """Looks at the memory of zcc until it has ended."""
    while not ended.wait(0.02):
        for process in list(bench.running):
            if process.args[0].endswith('/zcc'):
                peaks[process.pid] = max(peaks[process.pid], peak(process.pid))


def cpu_seconds(pid):
    """The CPU time of a process: its clock, clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


def transfer(*arguments, **how):
    """One transfer: KiB/s, us/KiB, and the memory of both ends.  Beside programs that take the CPUs there is no cost."""
    for _ in range(TRIES):
        figures = measure(*arguments, **how)
        if figures[1] is not None:
            return figures
    bench.fail(f'the machine is not idle: {TRIES} transfers in turn have no load')


def measure(opt, receiver, *arguments, **how):
    zcs, port = bench.serve(opt.bin, '-I', '0', '--max-clients', '2000', *receiver)
    ended = threading.Event()
    watcher = threading.Thread(target=watch_zcc, args=[ended])
    peaks.clear()
    watcher.start()
    try:
        out = bench.soaking([f'{opt.bin}/zcc', '-s', '0', '-p', port, '-c', '--json', '-t', str(opt.seconds),
                             '--congestion', 'reno', *arguments], seconds=opt.seconds + opt.limit, **how)
        end = json.loads(out)['end']
        return (end['sum_sent']['bits_per_second'] / 8192, end['host'].get('cost_us_per_kib'),
                max(peaks.values(), default=0), peak(zcs.pid))
    finally:
        ended.set()
        watcher.join()
        bench.stop(zcs)


def point_streams(opt, _directory, n):
    return transfer(opt, [], '-P', str(n))


def point_files(opt, directory, n):
    folder = f'{directory}/{n}'
    names = [str(i) for i in range(n)]
    if not os.path.isdir(folder):
        os.mkdir(folder)
        data = os.urandom(min(BYTES // n, 1 << 20))
        for name in names:
            with open(f'{folder}/{name}', 'wb') as f:
                for _ in range(BYTES // n // len(data)):
                    f.write(data)
    return transfer(opt, [], *names, cwd=folder)


def point_cpus(opt, _directory, n):
    cpus = ','.join(map(str, sorted(os.sched_getaffinity(0))[:n]))
    return transfer(opt, ['-B', cpus], '-P', str(n), '-B', cpus)


def point_clients(opt, directory, n):
    zcs, port = bench.serve(opt.bin, '-I', '0')
    try:
        send = [f'{directory}/accepts', 'send', port, '1', '600']
        bench.run([*send, '1'], seconds=opt.limit)
        before = cpu_seconds(zcs.pid)
        rate = float(bench.run([*send, str(n)], seconds=opt.limit)[0])
        return rate, (cpu_seconds(zcs.pid) - before) * 1e6 / n, 0, peak(zcs.pid)
    finally:
        bench.stop(zcs)


def numbers(curve, most):
    """Where a curve is measured: powers of ten, or of two, up to the most and that itself."""
    if curve == 'cpus':
        cpus = len(os.sched_getaffinity(0))
        return sorted({1, cpus} | {1 << i for i in range(12) if 1 << i < cpus})
    last = {'streams': 1000, 'files': 100000, 'clients': 10000}[curve]
    return [10 ** i for i in range(6) if 10 ** i <= min(last, most or last)]


def plot(rows, curves, svg):
    """A gnuplot script: the cost of each curve against that of its first point."""
    yield f"set terminal svg size 800,500; set output '{svg}'; set logscale x; set key left top"
    yield "set xlabel 'number'; set ylabel 'cost, of that of the first point'; set yrange [0:*]"
    for curve in curves:
        yield f'${curve} << EOD'
        first = rows[curve, numbers_of(rows, curve)[0]][1]
        yield from (f'{n} {rows[curve, n][1] / first}' for n in numbers_of(rows, curve))
        yield 'EOD'
    yield 'plot ' + ', '.join(f"${c} using 1:2 with linespoints title '{c}'" for c in curves)


def numbers_of(rows, curve):
    return sorted(n for c, n in rows if c == curve)


def write_files(opt, directory, rows):
    os.makedirs(opt.out, exist_ok=True)
    with open(f'{opt.out}/scale.tsv', 'w', encoding='ascii') as f:
        print('curve', 'number', *COLUMNS, sep='\t', file=f)
        for (curve, n), values in rows.items():
            print(curve, n, *(f'{v:.6g}' for v in values), sep='\t', file=f)
    if not shutil.which('gnuplot'):
        print('no gnuplot: no plot')
        return
    with open(f'{directory}/script', 'w', encoding='ascii') as f:
        f.write('\n'.join(plot(rows, opt.curves, os.path.abspath(f'{opt.out}/scale.svg'))) + '\n')
    bench.run(['gnuplot', f'{directory}/script'])


def show(opt, rows):
    print(f'\n{"":8} {"number":>8} {"KiB/s":>10} {"cost":>9} {"zcc KiB":>9} {"zcs KiB":>9}')
    for curve in opt.curves:
        all_of = [rows[curve, n] for n in numbers_of(rows, curve)]
        for n, (rate, cost, zcc, zcs) in zip(numbers_of(rows, curve), all_of):
            print(f'{curve:8} {n:8} {rate:10.0f} {cost:9.3f} {zcc or "-":>9} {zcs:9.0f}')
        ratios = [f'{b / a:.2f}' if a else '-' for a, b in zip(all_of[0], all_of[-1])]
        print(f'{curve:8} {"ratio":>8} ' + ' '.join(f'{r:>{w}}' for r, w in zip(ratios, (10, 9, 9, 9))))
    if 'clients' in opt.curves:
        print('Of clients, "KiB/s" is clients/s, and the cost is us for each client.')


def main(directory):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-r', '--rounds', type=int, default=3)
    parser.add_argument('-t', '--seconds', type=float, default=1, help='of each transfer (default %(default)s)')
    parser.add_argument('-n', '--most', type=int, help='of streams, files and clients (default: see above)')
    parser.add_argument('-o', '--out', metavar='FOLDER', required=True)
    parser.add_argument('--limit', type=float, default=120, help='seconds for each program to end')
    parser.add_argument('--bin', metavar='DIR', default=bench.TOP, help='where zcc and zcs are')
    parser.add_argument('curves', nargs='*', metavar='CURVE', help=f'of {", ".join(CURVES)} (default: all)')
    opt = parser.parse_args()
    if unknown := set(opt.curves) - set(CURVES):
        parser.error(f"unknown curve '{unknown.pop()}' ({', '.join(CURVES)})")
    opt.curves = [c for c in CURVES if c in opt.curves or not opt.curves]
    opt.bin = bench.programs(opt.bin)
    bench.build(directory, ['accepts'])
    for line in bench.head([opt.bin]):
        print(line, flush=True)
    noise = bench.Noise()
    found = collections.defaultdict(list)
    for _ in range(opt.rounds):
        for curve in opt.curves:
            for n in numbers(curve, opt.most):
                found[curve, n].append(globals()[f'point_{curve}'](opt, directory, n))
    rows = {k: tuple(statistics.median(c) for c in zip(*v)) for k, v in found.items()}
    show(opt, rows)
    write_files(opt, directory, rows)
    bench.print_notes(noise)


if __name__ == '__main__':
    bench.main(main)
