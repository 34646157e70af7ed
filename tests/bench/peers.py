"""zcc and zcs beside iperf3, nuttcp, iperf, netperf, neper and the programs of 2001, and beside bare loops.

A bare loop (bare.c) sends the same files by sendfile(2) and receives by blocking calls of one kind.  All
run over loopback in turn, sender and receiver each on a CPU of its own, with the same congestion control.
Each round runs each once; the ratios are within a round.  Printed are the medians and ranges of all rounds.
Where several are called the best, it is the one of the highest median.

As root it works in a network namespace of its own, where that congestion control is the default of all
programs; otherwise programs that cannot choose one are omitted.
"""
import argparse
import json
import re
import statistics
import sys

sys.dont_write_bytecode = True
import bench

SET, LARGE, BLOCK = '63 files', 'one file', '128 KiB'
KIB = {SET: 63 * 350, LARGE: 63 * 350, BLOCK: 128}
LOW_WATER = 256, 512, 1024 # KiB
MEMORY = 16384             # KiB that either end may have at most

PLAIN = ['iperf3', 'nuttcp', 'iperf', 'netperf', 'neper']
ZERO = ['iperf3 -Z', 'netperf TCP_SENDFILE']
SKIP = ['iperf3 -Z --skip-rx-copy']


def marks(method):
    return [f'bare: {method} from {n} KiB, {BLOCK}' for n in LOW_WATER]


# What is measured: the ratio of a contender to the best of others, and the least that it is to be.
GOALS = [
    (f'zc: --raw, {BLOCK}', ZERO, 1.05),
    (f'zc: --raw to trunc, {BLOCK}', SKIP, 1.15),
    (f'zc: --raw to trunc, {BLOCK}', marks('trunc'), 0.97),
    (f'zc: --raw to splice, {BLOCK}', marks('splice'), 0.97),
    (f'zc: --raw, {BLOCK}', [f'bare: read, {BLOCK}', f'bare: read from 64 KiB, {BLOCK}'], 0.97),
    (f'zc: --raw to recv, {BLOCK}', [f'bare: recv, {BLOCK}'], 0.97),
    (f'zc: {SET}', [f'bare: read, {SET}'], 0.97),
    (f'zc: {LARGE}', [f'bare: read, {LARGE}'], 0.97),
    (f'zc: to trunc, {SET}', [f'bare: trunc, {SET}'], 0.97),
    (f'zc: mmap, {BLOCK}', PLAIN, 1.0),
    (f'zc: send, {BLOCK}', PLAIN, None),
    ('zc: 8 streams', ['zc: 2 streams'], 0.95),
    *((f'zc as of 2001: {how}', [f'2001: {how}'], 1.0) for how in ('sendfile', '-S', '-S -w')),
]


def sizes(names):
    return [f'{opt.files}/{i}' for i in range(63)] if names == SET else [f'{opt.files}/{names}']


def number(pattern, text, what):
    found = re.search(pattern, text)
    if not found:
        raise bench.Failed(f'{what} gave no figure: {text}')
    return float(found.group(1))


def on(cpu, *command):
    return ['taskset', '-c', cpu, *command]


def bare(files, *options):
    out = bench.run([f'{opt.files}/bare', '-g', opt.congestion, *options, str(opt.seconds), opt.cpus[0], opt.cpus[1],
                     *sizes(files)])[0]
    return number(r'^(\d+)$', out.strip(), 'bare')


def zc(binaries, files, zcc=(), zcs=(), streams=1):
    cpus = [','.join(opt.cpus)] * 2 if streams > 1 else opt.cpus
    process, port = bench.serve(binaries, '-B', cpus[1], *zcs)
    try:
        out = bench.run([f'{binaries}/zcc', '-s', '127.0.0.1', '-p', port, '-B', cpus[0], '-t', str(opt.seconds),
                         '--congestion', opt.congestion, '-q', *zcc, *sizes(files)])[0]
    finally:
        bench.stop(process)
    return number(r'^([\d.]+)', out, 'zcc')


def listening(port):
    """Whether a socket listens on it; a connection made to see that would be the only one that some serve."""
    for name in '/proc/net/tcp', '/proc/net/tcp6':
        try:
            with open(name, encoding='ascii') as f:
                rows = [line.split() for line in f]
        except OSError:
            continue
        if any(row[1].endswith(f':{int(port):04X}') and row[3] == '0A' for row in rows):
            return True
    return False


def peer(server, client, pattern, scale):
    """Runs a peer's server and its client, whose commands get the port; returns KiB/s."""
    opt.port += 2
    port = str(opt.port)
    process = bench.start(on(opt.cpus[1], *server(port)), stdout=bench.subprocess.DEVNULL,
                          stderr=bench.subprocess.DEVNULL)
    try:
        end = bench.time.monotonic() + 10
        while not listening(port):
            if bench.time.monotonic() > end or process.poll() is not None:
                raise bench.Failed(f'{bench.shlex.join(server(port))} does not listen')
            bench.time.sleep(0.02)
        out = bench.run(on(opt.cpus[0], *client(port)))[0]
    finally:
        bench.stop(process)
    return number(pattern, out, client(port)[0]) * scale


def iperf3(*options):
    return peer(lambda port: [opt.iperf3, '-s', '-1', '-p', port],
                lambda port: [opt.iperf3, '-c', '127.0.0.1', '-p', port, '-t', opt.whole, '-C', opt.congestion, '-J', *options],
                r'(?s)"sum_received".*?"bits_per_second":\s*([\d.e+]+)', 1 / 8192)


def nuttcp():
    return peer(lambda port: ['nuttcp', '-S', '-1', '--nofork', '-P', port],
                lambda port: ['nuttcp', '-t', '-T', opt.whole, '-fparse', '-P', port, '-p', str(int(port) + 1), '127.0.0.1'],
                r'rate_Mbps=([\d.]+)', 1e6 / 8192)


def iperf():
    return peer(lambda port: ['iperf', '-s', '-p', port],
                lambda port: ['iperf', '-c', '127.0.0.1', '-p', port, '-t', opt.whole, '-y', 'C'],
                r'^(?:[^,]*,){8}(\d+)', 1 / 8192)


def netperf(test, *options):
    return peer(lambda port: [f'{opt.netperf}/netserver', '-D', '-p', port],
                lambda port: [f'{opt.netperf}/netperf', '-H', '127.0.0.1', '-p', port, '-l', opt.whole, '-t', test, '-P', '0',
                              '-f', 'k', *options],
                r'^\s*(?:\S+\s+){4}([\d.]+)', 1000 / 8192)


def neper():
    return peer(lambda port: [f'{opt.neper}/tcp_stream', '-C', port, '-P', str(int(port) + 1), '-l', opt.whole],
                lambda port: [f'{opt.neper}/tcp_stream', '-c', '-H', '127.0.0.1', '-C', port, '-P', str(int(port) + 1),
                              '-l', opt.whole],
                r'(?m)^(?:remote_)?throughput=([\d.]+)', 1e6 / 8192)


def as_of_2001(binaries, *options):
    """Both kinds of program are run by the command line of 2001, for as many passes; the clock is the bench's."""
    loops = int(opt.seconds * 4e6 / KIB[SET]) + 1
    opt.port += 2
    port = str(opt.port)
    process = bench.start(on(opt.cpus[1], f'{binaries}/zcs', '-p', port), stdout=bench.subprocess.DEVNULL,
                          stderr=bench.subprocess.DEVNULL)
    try:
        while not listening(port):
            if process.poll() is not None:
                raise bench.Failed(f'{binaries}/zcs -p {port} ended')
            bench.time.sleep(0.02)
        start = bench.time.monotonic()
        bench.run(on(opt.cpus[0], f'{binaries}/zcc', '-s', '127.0.0.1', '-p', port, '-n', str(loops), *options, *sizes(SET)))
        return loops * KIB[SET] / (bench.time.monotonic() - start)
    finally:
        bench.stop(process)


def contenders():
    """Names and functions, in the order of the table."""
    yield f'bare: read, {SET}', lambda: bare(SET)
    yield f'bare: read, {LARGE}', lambda: bare(LARGE)
    yield f'bare: trunc, {SET}', lambda: bare(SET, '-m', 'trunc', '-l', '524288')
    yield f'bare: read, {BLOCK}', lambda: bare(BLOCK)
    yield f'bare: read from 64 KiB, {BLOCK}', lambda: bare(BLOCK, '-l', '65536')
    yield f'bare: recv, {BLOCK}', lambda: bare(BLOCK, '-m', 'recv')
    for method in 'trunc', 'splice':
        for name, low in zip(marks(method), LOW_WATER):
            yield name, lambda m=method, n=low: bare(BLOCK, '-m', m, '-l', str(n * 1024))
    for prefix, b in [('before', opt.before)] * bool(opt.before) + [('zc', opt.bin)]:
        yield f'{prefix}: {SET}', lambda b=b: zc(b, SET)
        yield f'{prefix}: {LARGE}', lambda b=b: zc(b, LARGE)
        yield f'{prefix}: to trunc, {SET}', lambda b=b: zc(b, SET, (), ('-m', 'trunc'))
        yield f'{prefix}: --raw, {BLOCK}', lambda b=b: zc(b, BLOCK, ['--raw'], ['--raw'])
        for method in 'recv', 'trunc', 'splice':
            yield (f'{prefix}: --raw to {method}, {BLOCK}',
                   lambda b=b, m=method: zc(b, BLOCK, ['--raw'], ['--raw', '-m', m]))
        yield f'{prefix}: send, {BLOCK}', lambda b=b: zc(b, BLOCK, ('-S', '-b', '128k'))
        yield f'{prefix}: mmap, {BLOCK}', lambda b=b: zc(b, BLOCK, ('-m', 'mmap'))
        for n in 2, 8:
            yield f'{prefix}: {n} streams', lambda b=b, n=n: zc(b, SET, ['-P', str(n)], streams=n)
    if opt.progs2001:
        for how in 'sendfile', '-S', '-S -w':
            options = how.split() * (how != 'sendfile')
            yield f'2001: {how}', lambda o=options: as_of_2001(opt.progs2001, *o)
            yield f'zc as of 2001: {how}', lambda o=options: as_of_2001(opt.bin, *o)
    if bench.shutil.which(opt.iperf3):
        yield 'iperf3', iperf3
        yield 'iperf3 -Z', lambda: iperf3('-Z')
        if '--skip-rx-copy' in ''.join(bench.run([opt.iperf3, '--help'])):
            yield 'iperf3 -Z --skip-rx-copy', lambda: iperf3('-Z', '--skip-rx-copy')
    if bench.first_line('/proc/sys/net/ipv4/tcp_congestion_control') != opt.congestion:
        print(f'The default congestion control is not {opt.congestion}: programs that cannot choose one are omitted')
        return
    if bench.shutil.which('nuttcp'):
        yield 'nuttcp', nuttcp
    if bench.shutil.which('iperf'):
        yield 'iperf', iperf
    if opt.netperf:
        yield 'netperf', lambda: netperf('TCP_STREAM')
        yield 'netperf TCP_SENDFILE', lambda: netperf('TCP_SENDFILE', '-F', f'{opt.files}/{BLOCK}')
    if opt.neper:
        yield 'neper', neper


def measure():
    """A dictionary of the rates in KiB/s, by name and in the order of the rounds."""
    wanted = {name: function for name, function in contenders() if re.search(opt.only, name)}
    rates = {name: [] for name in wanted}
    if opt.rows and bench.os.path.exists(opt.rows):
        with open(opt.rows, encoding='utf-8') as f:
            for row in map(json.loads, f):
                for name, rate in row.items():
                    rates.setdefault(name, []).append(rate)
    names = list(wanted)
    for turn in range(opt.rounds):
        row = {name: wanted[name]() for name in names[turn % len(names):] + names[:turn % len(names)]}
        for name, rate in row.items():
            rates[name].append(rate)
        if opt.rows:
            with open(opt.rows, 'a', encoding='utf-8') as f:
                f.write(json.dumps(row) + '\n')
    return rates


def print_ratio(rates, name, others, goal):
    have = [other for other in others if rates.get(other)]
    best = max(have, key=lambda other: statistics.median(rates[other]), default=None)
    what = f'{name} / {best or others[0] + ", ..." * (len(others) > 1)}'
    least = '' if goal is None else f'{goal:.2f}'
    if best is None or not rates.get(name):
        print(f'{what:68} {"":22} {least:5} not measured')
        return
    ratios = [a / b for a, b in zip(rates[name], rates[best])]
    figure = f'{statistics.median(ratios):.3f} [{min(ratios):.3f}..{max(ratios):.3f}]'
    missed = goal is not None and statistics.median(ratios) < goal
    print(f'{what:68} {figure:22} {least:5} {"missed" if missed else ""}'.rstrip())


def peak(binaries, files, zcc, zcs):
    """The most that zcc and zcs had resident, in KiB, with 64 streams."""
    def read(process):
        found = re.search(r'VmHWM:\s*(\d+)', open(f'/proc/{process.pid}/status', encoding='ascii').read())
        return int(found.group(1)) if found else 0
    server, port = bench.serve(binaries, *zcs)
    client = bench.start([f'{binaries}/zcc', '-s', '127.0.0.1', '-p', port, '--congestion', opt.congestion, '-t',
                          str(opt.seconds), '-P', '64', '-q', *zcc, *files], stdout=bench.subprocess.DEVNULL)
    most = 0
    while client.poll() is None:
        most = max(most, read(client))
        bench.time.sleep(0.02)
    last = read(server)
    bench.stop(client)
    bench.stop(server)
    return most, last


def print_memory():
    bench.os.truncate(bench.os.open(f'{opt.files}/sparse', bench.os.O_CREAT | bench.os.O_WRONLY), 8 << 30)
    many = [f'{opt.files}/many{i}' for i in range(10000)]
    for name in many:
        with open(name, 'w', encoding='ascii') as f:
            f.write(name)
    print(f'\npeak resident memory, 64 streams, KiB (at most {MEMORY})\n{"":36} {"zcc":>8} {"zcs":>8}')
    cases = [(f'{m}, a sparse file of 8 GiB', ['sparse'], ['-m', m], []) for m in 'sendfile send mmap splice zerocopy'.split()]
    cases += [(f'to {m}, the same', ['sparse'], [], ['-m', m]) for m in 'recv trunc splice'.split()]
    for what, names, zcc, zcs in cases + [('sendfile, 10,000 files', many, [], [])]:
        most = peak(opt.bin, [bench.os.path.join(opt.files, name) for name in names], zcc, zcs)
        print(f'{what:36} {most[0]:8} {most[1]:8}{"  missed" if max(most) > MEMORY else ""}')


def body(directory):
    opt.files = bench.os.environ['TMPDIR'] = directory # iperf3's file is to be of the same kind
    bench.build(directory, ['bare'])
    with open(f'{directory}/{LARGE}', 'wb') as large:
        for i in range(63):
            content = bench.os.urandom(350 * 1024)
            large.write(content)
            with open(f'{directory}/{i}', 'wb') as f:
                f.write(content)
    with open(f'{directory}/{BLOCK}', 'wb') as f:
        f.write(content[:128 * 1024])
    print('\n'.join(bench.head([opt.bin] + [opt.before] * bool(opt.before))))
    print(f'loopback, {opt.congestion}, sender on CPU {opt.cpus[0]}, receiver on CPU {opt.cpus[1]}')
    noise = bench.Noise()
    rates = measure()
    print(f'\n{"KiB/s":44}median [range] of {max(map(len, rates.values()))} rounds')
    for name, values in rates.items():
        print(f'{name:44}{bench.middle(values)}')
    print(f'\n{"ratio":68} {"median [range]":22} goal')
    for name, others, goal in GOALS:
        print_ratio(rates, name, others, goal)
    for name in rates:
        if name.startswith('before: '):
            print_ratio(rates, name.replace('before', 'zc', 1), [name], None)
    bench.print_notes(noise)
    if opt.memory:
        print_memory()


def parse():
    parser = argparse.ArgumentParser(prog='tests/bench/peers', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-r', '--rounds', type=int, default=9, help='default %(default)s')
    parser.add_argument('-t', '--seconds', type=float, default=1, help='of each transfer (default %(default)s); peers '
                        'that know whole seconds only round it up')
    parser.add_argument('-g', '--congestion', help='congestion control (default: cubic, else reno)')
    parser.add_argument('-B', '--cpus', default='0,1', help='of sender and receiver (default %(default)s)')
    parser.add_argument('--only', default='', metavar='REGEX', help='contenders whose names match')
    parser.add_argument('--rows', metavar='FILE', help='add the rounds to those of FILE, and print the figures of all')
    parser.add_argument('--memory', action='store_true', help='print the peak resident memory, too')
    parser.add_argument('--before', metavar='DIR', help='of another zcc and zcs, to compare')
    parser.add_argument('--iperf3', default='iperf3', metavar='FILE', help='the program (default: that of PATH)')
    parser.add_argument('--netperf', metavar='DIR', help='where netperf and netserver are')
    parser.add_argument('--neper', metavar='DIR', help='where tcp_stream is')
    parser.add_argument('--progs2001', metavar='DIR', help='where the zcc and zcs of 2001 are')
    parser.add_argument('--bin', default=bench.os.environ.get('BIN', bench.TOP), metavar='DIR',
                        help='of the programs (default: $BIN, else the source tree)')
    found = parser.parse_args()
    found.cpus = found.cpus.split(',')
    if not found.congestion:
        allowed = bench.first_line('/proc/sys/net/ipv4/tcp_allowed_congestion_control').split()
        found.congestion = 'cubic' if 'cubic' in allowed else 'reno'
    found.whole = str(max(1, -int(-found.seconds // 1)))
    found.port = 20000 + bench.os.getpid() % 10000 # below those that clients get
    found.bin = bench.programs(found.bin)
    found.before = found.before and bench.programs(found.before)
    return found


def enter_namespace():
    """Starts the bench again in a network namespace of its own, if that is possible."""
    if bench.os.environ.get('ZC_PEERS_NETNS'):
        bench.run(['ip', 'link', 'set', 'lo', 'up'])
        with open('/proc/sys/net/ipv4/tcp_congestion_control', 'w', encoding='ascii') as f:
            f.write(opt.congestion)
        return
    try:
        bench.run(['unshare', '--net', 'ip', 'link', 'set', 'lo', 'up'])
    except (OSError, bench.Failed):
        return
    bench.os.environ['ZC_PEERS_NETNS'] = '1'
    bench.os.execvp('unshare', ['unshare', '--net', '--', sys.executable, *sys.argv])


opt = parse()
enter_namespace()
bench.main(body)
