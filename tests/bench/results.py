"""The experiments of the documents that zc was designed from, on this machine: each of them becomes a
table of the shape of the original, so that the two can be laid side by side.

    tests/bench/results -o folder                     all, which takes about twelve minutes
    tests/bench/results -t 1 -r 5 -o folder sweep methods
    tests/bench/results -s receiver -o folder         to a zcs -c there, and a zcs --reply -c

    requests   connections a second, against the size of the reply
    writes     small writes: plain, with TCP_CORK, with TCP_NODELAY
    sweep      send(), against the size of the buffer
    methods    each way to send to each way to receive
    binding    both ends anywhere, on separate CPUs, on the same one
    splice     splice() against send(), in intervals
    traffic    other programs under cyclesoak: NFS, raw TCP, iperf3

For each the folder gets NAME.txt, the table; NAME.tsv and NAME.json, all figures; and NAME.svg, a plot,
of requests, sweep and methods, where gnuplot is installed.  A file is there when its experiment is
complete, or not at all.  Run by tests/lab, the receiver is on the one of its hosts and the sender on the
other.  The machine must be idle.  The status is 1 when a measurement failed; the others are there.
"""
import argparse
import functools
import json
import os
import platform
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import bench
import tables

NAMES = 'requests writes sweep methods binding splice traffic'.split()
COLUMNS = {'requests': ['bytes'], 'writes': ['option', 'bytes'], 'sweep': ['bytes'], 'methods': ['send', 'receive'],
           'binding': ['cpus', 'method'], 'splice': ['method'], 'traffic': ['traffic']}
METHODS = 'sendfile send write mmap splice zerocopy'.split()
OFFLOADS = {'TSO': 'tcp-segmentation-offload', 'GSO': 'generic-segmentation-offload',
            'GRO': 'generic-receive-offload', 'SG': 'scatter-gather', 'rx-checksums': 'rx-checksumming',
            'tx-checksums': 'tx-checksumming'}
# At most 100 MiB of the file are read in a pass, as in 2001.  The client's own cache is dropped before.
PASS = """case $1 in
nfs://*) exec nfs-cat "$1" ;;
*) dd if="$1" iflag=nocache count=0 2>/dev/null; exec dd if="$1" bs=64k count=1600 status=none ;;
esac"""
PASSES = f"""trap 'kill $pass; exit 143' TERM
for i in $(seq "$2"); do
	({PASS}) >/dev/null & pass=$!
	wait $pass || exit
done"""

opt = argparse.Namespace()
facts = {}   # of the machine
servers = {} # the ports of the receivers that were started, by their options
notes = []   # what an experiment omits, and what failed
failures = []


class Experiment:
    """The figures of one experiment: for each case the values of each figure."""

    def __init__(self, name):
        self.name, self.columns = name, COLUMNS[name]
        self.plans, self.rows, self.intervals, self.context = [], {}, [], {}

    def add(self, case, figures):
        row = self.rows.setdefault(case, {})
        for figure, value in figures.items():
            if value is not None:
                row.setdefault(figure, []).append(value)

    def medians(self):
        """A dictionary for each case: its columns, and of each figure the median, _min and _max."""
        for case, row in self.rows.items():
            found = dict(zip(self.columns, case))
            for figure, values in row.items():
                found[figure] = statistics.median(values)
                found[f'{figure}_min'], found[f'{figure}_max'] = min(values), max(values)
            yield found


class Plan:
    """Cases that are measured together: measure(cases) yields a case and its figures, again and again."""

    def __init__(self, cases, seconds, measure):
        self.cases, self.seconds, self.measure = cases, seconds, measure


def say(text):
    print(f'{bench.NAME}: {text}', file=sys.stderr, flush=True)


def omit(text):
    notes.append(f'omitted: {text}')


#
# Receivers.
#

def await_port(process, log, pattern):
    while True:
        with open(log, encoding='utf-8', errors='replace') as f:
            text = f.read()
        if found := re.search(pattern, text, re.M):
            return found.group(1)
        if process.poll() is not None:
            raise bench.Failed(text.strip() or f'{process.args}: status {process.returncode}')
        time.sleep(0.02)


def receiver(options=''):
    """The port of a zcs with these options, which is started where no host was named."""
    if not opt.own:
        return opt.reply_port if '--reply' in options else opt.port
    if options not in servers:
        log = f'zcs{len(servers)}.err'
        with open(log, 'w', encoding='ascii') as f:
            process = bench.start([*opt.on_a, f'{opt.bin}/zcs', '-p', '0', '-I', '0', *options.split()],
                                  stdout=subprocess.DEVNULL, stderr=f)
        servers[options] = await_port(process, log, r'listening on .*:(\d+)$')
    return servers[options]


@functools.cache
def iperf3_port():
    """The port of an iperf3 -s, which has no port 0."""
    for port in range(20000 + os.getpid() % 20000, 60000):
        with open('iperf3.out', 'w', encoding='ascii') as f:
            process = bench.start([*opt.on_a, 'iperf3', '-s', '--forceflush', '-p', str(port)], stdout=f, stderr=f)
        try:
            return await_port(process, 'iperf3.out', r'^Server listening on (\d+)')
        except bench.Failed as e:
            if 'in use' not in str(e):
                raise
    raise bench.Failed('iperf3 -s: no free port')


#
# Measurements.
#

def at(value, *path):
    """What the keys lead to, or None."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def ratio(a, b, factor=1):
    return None if a is None or not b else factor * a / b


def host_figures(host, to=''):
    """The figures of a host.  `left` is what was idle, or the soakers had, which are nice."""
    names = {'load_percent': 'load_percent', 'load_uncertainty_percent': 'load_uncertainty_percent',
             'slowed_percent': 'slowed_percent', 'cost_us_per_kib': 'cost_us_per_kib',
             'interrupts_per_second': 'interrupts_per_sec', 'packets_in_per_second': 'rx_pps',
             'packets_out_per_second': 'tx_pps'}
    figures = {to + name: at(host, key) for key, name in names.items()}
    if spent := at(host, 'accounting_percent'):
        sums = {'user': ['user'], 'system': ['system'], 'softirq': ['irq', 'softirq'], 'steal': ['steal'],
                'left': ['idle', 'iowait', 'nice']}
        figures |= {f'{to}{name}_percent': sum(spent[key] for key in keys) for name, keys in sums.items()}
    return figures


def transfer_figures(end):
    sent, received, stream = at(end, 'sum_sent'), at(end, 'sum_received'), at(end, 'streams', 0)
    return {'kbytes_per_sec': ratio(at(sent, 'bits_per_second'), 8192),
            'calls_per_sec': ratio(at(sent, 'calls'), at(sent, 'seconds')),
            **host_figures(at(end, 'host')), 'retransmits': at(sent, 'retransmits'),
            'zerocopy_copied_percent': ratio(at(stream, 'zerocopy_copied'), at(stream, 'zerocopy_sends'), 100),
            'receiver_kbytes_per_sec': ratio(at(received, 'bits_per_second'), 8192),
            'receiver_calls_per_sec': ratio(at(received, 'calls'), at(received, 'seconds')),
            **host_figures(at(end, 'remote'), 'receiver_')}


def zcc(server, seconds, *options):
    """Yields the JSON objects of zcc -c.  Connections of --request may fail: that is in its object."""
    command = [*opt.on_b, f'{opt.bin}/zcc', '-c', '--json', '-s', opt.host, '-p', receiver(server), '-t',
               f'{seconds:g}', '--congestion', opt.cc, *options]
    try:
        out = bench.soaking(command, seconds=120 + 100 * opt.repeats * (seconds + 5))
    except bench.Failed as e:
        if '--request' not in options or '"requests"' not in e.out:
            raise
        out = e.out
    yield from map(json.loads, out.splitlines())


def transfers(experiment, cases, option, values, *options, server='', seconds=None):
    """A plan of zcc: a case for each value of a list that `option` takes."""
    seconds = seconds or opt.seconds
    value = dict(zip(cases, values))

    def measure(some):
        lists = [option, ','.join(str(value[case]) for case in some)] if option else []
        objects = zcc(server, seconds, *lists, *options, '-r', str(opt.repeats))
        for number, run in enumerate(x for x in objects if 'end' in x):
            case = some[number % len(some)]
            for interval in run['intervals']:
                experiment.intervals.append((case[0], number // len(some) + 1, interval['sum']))
            yield case, transfer_figures(run['end'])
    experiment.plans.append(Plan(cases, seconds, measure))


def request_figures(run):
    n, host = run['connections'], run['host']
    figures = {'connections_per_sec': run['connections_per_second'], 'kbytes_per_sec': run['bits_per_second'] / 8192,
               'seconds': run['seconds'], 'kbytes': run['bytes'] / 1024, 'connections': n}
    for what, latency in run['latency_seconds'].items():
        figures |= {f'{what}_{p}_ms': ratio(at(latency, p), 1, 1000) for p in ('p50', 'p90', 'p99', 'max')}
    cost = ratio(at(host, 'load_percent'), n, 1e4 * run['seconds'] * (at(host, 'cpus') or 0))
    return figures | {'stalls': run['stalls']['connections'],
                      'stalls_before_first_byte': run['stalls']['before_first_byte'],
                      'failed': sum(run['failed'].values()), 'cost_us_per_connection': cost, **host_figures(host)}


def measure_requests(cases):
    for _ in range(opt.repeats):
        objects = list(zcc('--reply', opt.seconds, '--request', ','.join(str(case[0]) for case in cases)))
        for run in objects[0].get('requests', []):
            if run['connections'] > 0:
                yield (run['request_bytes'],), request_figures(run)


def under(bytes_of, command):
    """The figures of a command under cyclesoak; bytes_of() is how many bytes what it printed was about."""
    script = 'exec "$@" >command.out 2>command.err'
    try:
        out = bench.soaking([f'{opt.bin}/cyclesoak', '--json', 'sh', '-c', script, 'sh', *command],
                            seconds=60 + 20 * opt.seconds)
        with open('command.out', encoding='utf-8') as f:
            size = bytes_of(f.read())
    except (bench.Failed, ValueError, KeyError) as e:
        with open('command.err', encoding='utf-8') as f:
            raise bench.Failed(f'{e}\n{f.read()}'.strip()) from None
    soak = json.loads(out.splitlines()[-1])
    seconds, kib = soak['seconds'], size / 1024
    return {'kbytes_per_sec': kib / seconds, 'mbytes_per_sec': kib / 1024 / seconds, **host_figures(soak),
            'cost_us_per_kib': ratio(at(soak, 'load_percent'), kib, soak['cpus'] * seconds * 1e4), 'bytes': size,
            'seconds': seconds}


def traffic(experiment, name, measure, seconds=None):
    def repeat(_cases):
        for _ in range(opt.repeats):
            yield (name,), measure()
    experiment.plans.append(Plan([(name,)], seconds or opt.seconds, repeat))


def raw(*options):
    return under(lambda out: json.loads(out)['end']['sum_sent']['bytes'],
                 [*opt.on_b, f'{opt.bin}/zcc', '--raw', '--json', '-s', opt.host, '-p', receiver('--raw'), '-t',
                  f'{opt.seconds:g}', '--congestion', opt.cc, *options])


def iperf3(*options):
    port = ['-p', iperf3_port()] if opt.own else []
    return under(lambda out: json.loads(out)['end']['sum_received']['bytes'],
                 [*opt.on_b, 'iperf3', '-c', '127.0.0.1' if opt.host == '0' else opt.host, *port, '-t',
                  str(whole_seconds()), '-C', opt.cc, '--json', *options])


def whole_seconds():
    return int(-(-opt.seconds // 1))


def nfs_read(experiment, path):
    """The first pass has the server read the file, and shows how many fill the time."""
    if 'passes' not in experiment.context:
        begun = time.monotonic()
        size = int(bench.run(['sh', '-c', f'({PASS}) | wc -c', 'sh', path], seconds=600)[0])
        if size == 0:
            raise bench.Failed(f'nothing can be read of {path}')
        passes = int(opt.seconds / max(0.01, time.monotonic() - begun)) + 1
        experiment.context.update(passes=passes, pass_bytes=size)
    passes, size = experiment.context['passes'], experiment.context['pass_bytes']
    return under(lambda _out: passes * size, ['sh', '-c', PASSES, 'sh', path, str(passes)])


#
# The experiments: each makes its plans.
#

def plan_requests(experiment):
    cases = [(n,) for n in (10, 723, 724, 1024, 65536, 1048576)]
    experiment.plans.append(Plan(cases, opt.seconds, measure_requests))


def plan_writes(experiment):
    sizes = [1, 10, 100, 1024, 2048, 4096]
    for option in 'none', 'cork', 'nodelay':
        transfers(experiment, [(option, n) for n in sizes], '-b', sizes, '-S',
                  *([] if option == 'none' else [f'--{option}']))


def plan_sweep(experiment):
    sizes = [256 << n for n in range(9)]
    transfers(experiment, [(n,) for n in sizes], '-b', sizes, '-S')


def plan_methods(experiment):
    ways = ['read', 'recv', 'trunc', 'splice']
    if not opt.own:
        ways = [opt.server_method]
        omit(f'other ways to receive: the zcs on {opt.host} receives by {opt.server_method}')
    for way in ways:
        transfers(experiment, [(method, way) for method in METHODS], '-m', METHODS,
                  server=f'-m {way}' if opt.own and way != 'read' else '')


def plan_binding(experiment):
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if not opt.own:
        omit('binding: both ends have to be on one machine')
    elif len(cpus) < 2:
        omit('binding: there is one CPU')
    else:
        first, second = map(str, cpus)
        for method, size in ('sendfile', []), ('send', ['-b', '8k']):
            for where, server, bind in (('none', '', []), ('separate', f'-B {second}', ['-B', first]),
                                        ('same', f'-B {second}', ['-B', second])):
                transfers(experiment, [(where, method)], '-m', [method], *size, *bind, server=server)


def plan_splice(experiment):
    transfers(experiment, [('send',), ('splice',)], '-m', ['send', 'splice'], '-I', f'{opt.seconds / 2:g}',
              seconds=2 * opt.seconds)


def nfs_file():
    """The file of -m to read, or None: the reason is then noted."""
    if not opt.nfs:
        return omit('NFS: that takes -m, a file on a mounted NFS (or a FUSE mount, or nfs:// and nfs-cat)')
    if opt.nfs.startswith('nfs://'):
        return opt.nfs if shutil.which('nfs-cat') else omit(f'NFS: no nfs-cat to read {opt.nfs}')
    if not os.path.isdir(opt.nfs):
        return opt.nfs
    for folder, _folders, files in os.walk(opt.nfs):
        for path in (os.path.join(folder, name) for name in files):
            if os.path.isfile(path) and os.path.getsize(path) >= 16 << 20:
                return path
    return omit(f'NFS: no file of 16 MiB or more was found in {opt.nfs}')


def plan_traffic(experiment):
    if path := nfs_file():
        experiment.context['nfs'] = path
        traffic(experiment, 'nfs', lambda: nfs_read(experiment, path))
    if opt.own:
        traffic(experiment, 'zcc_raw', raw)
        traffic(experiment, 'zcc_raw_send', lambda: raw('-m', 'send'))
    else:
        omit('zcc --raw: the zcs there would have to be zcs --raw')
    if not shutil.which('iperf3'):
        return omit('iperf3: it is not installed')
    if not opt.own:
        try:
            bench.run(['iperf3', '-c', opt.host, '--connect-timeout', '2000', '-n', '1k'])
        except bench.Failed:
            return omit(f'iperf3: no iperf3 -s on {opt.host}')
    traffic(experiment, 'iperf3', iperf3, whole_seconds())
    traffic(experiment, 'iperf3_Z', lambda: iperf3('-Z'), whole_seconds())
    return None


#
# What is known of the machine.
#

def probe(server, *options):
    """Sends to a receiver, or asks it, once; returns zcc's object."""
    what = f'ask the zcs --reply on {opt.host}' if server else f'send to the zcs on {opt.host}'
    try:
        return json.loads(bench.run([*opt.on_b, f'{opt.bin}/zcc', '--json', '-s', opt.host, '-p', receiver(server),
                                     '--congestion', opt.cc, '--timeout', '10', '-n', '1', *options])[0])
    except bench.Failed as e:
        say(f'cannot {what}, port {receiver(server)}')
        raise bench.Failed(str(e).splitlines()[-1]) from None


def output_of(*command):
    try:
        return bench.run([*opt.on_b, *command])[0]
    except (OSError, bench.Failed):
        return ''


def probe_interface(interface):
    mtu = output_of('cat', f'/sys/class/net/{interface}/mtu').strip()
    facts.update(interface=interface, mtu=int(mtu) if mtu else None)
    path = os.environ['PATH'] + ':/usr/sbin:/sbin'
    if not (ethtool := shutil.which('ethtool', path=path)):
        facts.update(driver='not known: no ethtool', offloads='not known: no ethtool')
        return
    driver = re.search(r'^driver: *(\S+)', output_of(ethtool, '-i', interface), re.M)
    known = dict(re.findall(r'^([\w-]+): *([a-z]+)', output_of(ethtool, '-k', interface), re.M))
    facts.update(driver=driver.group(1) if driver else 'none',
                 offloads=', '.join(f'{short} {known.get(name, "not known")}' for short, name in OFFLOADS.items()))


def probe_machine():
    with open('/proc/cpuinfo', encoding='utf-8') as f:
        model = re.search(r'^model name[^:]*: *(.*)', f.read(), re.M)
    facts['kernel'] = f'{platform.system()} {platform.release()}'
    if opt.own:
        command = [*opt.on_a, 'cat', '/proc/sys/net/ipv4/tcp_congestion_control']
        facts['reply_congestion_control'] = bench.run(command)[0].strip()
    facts.update(cpus=os.sysconf('SC_NPROCESSORS_ONLN'), cpu_model=model.group(1) if model else platform.machine(),
                 date=time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime()),
                 command=' '.join(['results', *sys.argv[1:]]))
    interface = ''
    if opt.own or opt.names != ['requests']:
        probed = probe('')
        opt.server_method = probed['end']['sum_received']['method']
        facts['congestion_control'] = probed['end']['sender_tcp_congestion']
        interface = probed['start']['interface']
    if 'requests' in opt.names:
        probe('--reply', '--request', '1')
    if not interface:
        facts['congestion_control'] = opt.cc
        address = socket.getaddrinfo(opt.host, None)[0][4][0]
        found = re.search(r' dev (\S+)', output_of('ip', '-o', 'route', 'get', address))
        interface = found.group(1) if found else 'not known'
    probe_interface(interface)
    if opt.on_a:
        ends = 'Sender and receiver in two networks of this machine: the load is that of both ends'
    elif interface == 'lo':
        opt.client = 'local client (loopback)'
        ends = 'Sender and receiver on this machine: the load is that of both ends'
    else:
        ends = f'Sender here, receiver on {opt.host}: the load is that of the sender'
    facts.update(ends=ends, seconds=opt.seconds, repeats=opt.repeats)


#
# The run.
#

def fail_cases(experiment, cases, why):
    log = ' '.join(why.splitlines()[-1:])
    for case in cases:
        key = ' '.join(map(str, case))
        failures.append(key)
        say(f'{experiment.name}, {key}: failed: {log}')
        notes.append(f'failed: {key}: {log}')


def measure(experiment, plan, cases):
    """The cases of a plan; where they fail together, one by one."""
    found = []
    intervals = len(experiment.intervals)
    try:
        for case, figures in plan.measure(cases):
            found.append((case, figures))
    except bench.Failed as e:
        del experiment.intervals[intervals:]
        if len(cases) > 1 and not isinstance(e, bench.Busy):
            for case in cases:
                measure(experiment, plan, [case])
        else:
            fail_cases(experiment, cases, str(e))
        return
    for case, figures in found:
        experiment.add(case, figures)
    if missing := [case for case in cases if case not in experiment.rows]:
        fail_cases(experiment, missing, 'no connection was served')


def number(value):
    return float(f'{value:.10g}')


def object_of(experiment, warnings):
    """The experiment as it goes into the JSON file."""
    def figures(row):
        for name, values in row.items():
            middle = {'median': statistics.median(values), 'min': min(values), 'max': max(values)}
            yield name, {k: number(v) for k, v in middle.items()} | {'values': [number(v) for v in values]}
    cases = [dict(zip(experiment.columns, case)) | dict(figures(row)) for case, row in experiment.rows.items()]
    found = {'experiment': experiment.name, 'system': facts, 'cases': cases}
    if experiment.intervals:
        found['intervals'] = list(tables.interval_rows(experiment))
    return found | {'notes': notes, 'warnings': warnings}


def write_files(experiment, directory):
    """Makes the files in the directory; returns the text of the table."""
    warnings = [(f'{n} times: ' if n > 1 else '') + bench.examples[kind] for kind, n in bench.warnings.items()]
    base = f'{directory}/{experiment.name}'
    with open(f'{base}.json', 'w', encoding='utf-8') as f:
        json.dump(object_of(experiment, warnings), f, indent=0, separators=(',', ':'))
        f.write('\n')
    names = list(dict.fromkeys(name for row in experiment.rows.values() for name in row))
    tables.write_tsv(f'{base}.tsv', experiment.columns + [n + end for n in names for end in ('', '_min', '_max')],
                     experiment.medians())
    if experiment.intervals:
        tables.write_tsv(f'{base}-intervals.tsv', tables.INTERVAL_COLUMNS, tables.interval_rows(experiment))
    body = '\n'.join(tables.TABLES[experiment.name](list(experiment.medians()), opt, facts, experiment))
    body += ''.join(f'\n{line}' for line in ([''] if notes or warnings else []) + notes + warnings)
    with open(f'{base}.txt', 'w', encoding='utf-8') as f:
        f.write(f'{tables.heading(facts)}\n\n{body}\n')
    if experiment.name in tables.PLOTS and shutil.which('gnuplot'):
        with open('script', 'w', encoding='utf-8') as f:
            f.write(tables.plot(experiment.name, list(experiment.medians()), opt, facts, f'{base}.svg'))
        try:
            bench.run(['gnuplot', 'script'])
        except bench.Failed:
            failures.append(experiment.name)
            say(f'{experiment.name}: gnuplot cannot plot it')
            os.unlink(f'{base}.svg')
    return body


def run_experiment(name, new):
    notes.clear()
    bench.warnings.clear()
    bench.examples.clear()
    experiment = Experiment(name)
    globals()[f'plan_{name}'](experiment)
    count = sum(len(plan.cases) for plan in experiment.plans)
    seconds = sum(len(plan.cases) * (plan.seconds + 2) for plan in experiment.plans) * opt.repeats
    say(f'{name}: {count}{f" x {opt.repeats}" if opt.repeats > 1 else ""} measurements, about {seconds:.0f} s')
    for plan in experiment.plans:
        measure(experiment, plan, plan.cases)
    if not experiment.rows:
        say(f'{name}: nothing was measured')
        for note in notes:
            say(f'{name}: {note}')
        return
    body = write_files(experiment, new)
    if os.path.exists(f'{opt.out}/{name}.svg'):
        os.unlink(f'{opt.out}/{name}.svg')
    for file in os.listdir(new):
        os.replace(f'{new}/{file}', f'{opt.out}/{file}')
    print(f'\n{name}\n\n{body}', flush=True)


def body(directory):
    made = not os.path.isdir(opt.out)
    os.makedirs(opt.out, exist_ok=True)
    os.chdir(directory)
    try:
        with tempfile.TemporaryDirectory(prefix='.new.', dir=opt.out) as new:
            probe_machine()
            if not shutil.which('gnuplot'):
                say('no gnuplot: no plots')
            print(tables.heading(facts), flush=True)
            for name in opt.names:
                run_experiment(name, new)
    finally:
        if made and not os.listdir(opt.out):
            os.rmdir(opt.out)
    print(f'\nAll figures are in {opt.out}.')
    if failures:
        sys.exit(1)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"results: {message} (try 'tests/bench/results --help')\n")


def parse():
    p = Parser(prog='tests/bench/results', description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('names', nargs='*', metavar='EXPERIMENT', help='(default: all)')
    p.add_argument('-o', dest='out', required=True, metavar='DIR', help='where the results go')
    p.add_argument('-s', dest='host', metavar='HOST', help='the host of a zcs, and for requests of a zcs --reply '
                   '(default: they are started here)')
    p.add_argument('-p', dest='port', metavar='PORT', help='of that zcs (default 2222)')
    p.add_argument('-P', dest='reply_port', metavar='PORT', help='of that zcs --reply (default 7890)')
    p.add_argument('-r', dest='repeats', type=int, default=3, metavar='N', help='runs of each case (default 3)')
    p.add_argument('-t', dest='seconds', type=float, default=2, metavar='SECS', help='of each run (default 2)')
    p.add_argument('-g', dest='cc', metavar='ALGORITHM', help='congestion control (default: cubic, else reno)')
    p.add_argument('-m', dest='nfs', metavar='FILE', help='for traffic: a file on a mounted NFS, a directory of '
                   'one, or nfs://host/path, read by nfs-cat')
    p.parse_args(namespace=opt)
    opt.names = opt.names or NAMES
    if wrong := [name for name in opt.names if name not in NAMES]:
        p.error(f"unknown experiment '{wrong[0]}' ({', '.join(NAMES)})")
    if opt.repeats < 1 or not 0.1 <= opt.seconds <= 600:
        p.error('-r: at least 1; -t: 0.1 to 600')
    if not opt.host and (opt.port or opt.reply_port):
        p.error('-p and -P need -s')
    if opt.nfs and not opt.nfs.startswith('nfs://'):
        opt.nfs = os.path.abspath(opt.nfs)
        if not os.access(opt.nfs, os.R_OK):
            p.error(f'-m {opt.nfs}: cannot be read')
    opt.out, opt.bin = os.path.abspath(opt.out), bench.programs(os.environ.get('BIN') or bench.TOP)
    place(os.environ)


def place(environment):
    """Where the ends are: on this host, on those of tests/lab, or the receiver on that of -s."""
    opt.own, opt.on_a, opt.on_b = not opt.host, [], []
    opt.client = f'remote client of {opt.host}'
    if opt.own:
        opt.host = '0'
        if all(environment.get(name) for name in ('A', 'B', 'A4')):
            opt.on_a, opt.on_b, opt.host = environment['A'].split(), environment['B'].split(), environment['A4']
            opt.client = 'client in another network namespace of this machine'
    opt.port, opt.reply_port = opt.port or '2222', opt.reply_port or '7890'
    if not opt.cc:
        with open('/proc/sys/net/ipv4/tcp_allowed_congestion_control', encoding='ascii') as f:
            opt.cc = 'cubic' if 'cubic' in f.read().split() else 'reno'


if __name__ == '__main__':
    parse()
    bench.main(body)
