"""How far off is the load that cyclesoak reports?  It measures loads of known size, which judge
themselves by their own CPU clock (gen.c), in three ways: by soaking against a calibration file ("file"),
by soaking against its own baselines before and after the command ("own"), and by the CPUs' idle time
against its own baselines ("idle").  A soaker as of 2001 (soak2001.c) and /proc/stat by top's formula
measure some of the loads as well.

    tests/bench/accuracy -n 30 -o results             an hour's cases, kept in results/accuracy-*.tsv
    tests/bench/accuracy --from results/*.tsv         the tables and the verdict over several runs
    tests/bench/accuracy -g steady,bursty --against ../old    both builds, alternately

The machine must be idle but for this.  Loads and errors are percent, and percentage points, of all
CPUs.  The bias is the mean of the errors, the scatter their standard deviation.  The truth is the CPU clock
of the load's own threads, which has no interrupts and no wake-ups: both instruments count these, so that
their error has a part in proportion to the wake-ups.  The groups of cases:

    steady             5 to 90 % of one or of all CPUs, in periods of 0.5 to 8 ms
    bursty             bursts of 10 to 300 ms
    jitter-before      calibrated while 5 to 15 % of the windows have a burst of 3 to 40 ms, of work or
                       of interrupts; measured without them
    jitter-throughout  the bursts go on while the load is measured; they are part of the baseline
    wakes              1,000 to 50,000 wake-ups a second, with and without work
    network            a paced transfer with a burner, less the same transfer without: the burner is
                       the truth; errors and intervals of two measurements
    hidden             loads that sleep over each timer tick, which deceives /proc/stat; no goal
"""
import argparse
import collections
import contextlib
import csv
import glob
import json
import math
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import bench

CPUS = bench.CPUS
GROUPS = ['steady', 'bursty', 'jitter-before', 'jitter-throughout', 'wakes', 'network']
COMPARED = ['steady', 'bursty'] # with /proc/stat and soak2001, and with goals for the error
WAYS = ['file', 'own', 'idle'] # to measure: two of soaking, one of idle time
RATES = ['25m', '50m', '100m', '200m']
METHODS = ['sendfile', 'send']
WINDOW = 0.25       # seconds: cyclesoak calibrates in windows of this length
GROUP_CASES = 60    # the least number of cases from which a group is judged
ALL_CASES = 400     # the same for all groups together
FIELDS = ('run group case build way turn parameters truth load half error inside stat_error error_2001 '
          'wakes others tasks slowed drift steal load_average unsafe').split()
NUMBERS = 'truth load half error stat_error error_2001 wakes others'.split()

opt = argparse.Namespace()
disturbed = {} # percent of the machine that others took during a calibration, by its file


def log_uniform(r, low, high):
    return math.exp(r.uniform(math.log(low), math.log(high)))


class Case:
    """A load, drawn from the seed, its group and its number."""

    def __init__(self, group, number):
        self.group, self.number = group, number
        self.r = r = random.Random(f'{opt.seed} {group} {number}')
        self.policy = r.choice(opt.policies)
        self.cpus = r.choice(['one', 'all'] if CPUS > 1 else ['all'])
        self.place = r.choice(['pinned', 'free'])
        self.load = r.uniform(5, 90)
        self.period = log_uniform(r, 500, 8000)
        self.extra = {}
        self.flags = []
        getattr(self, 'draw_' + group.partition('-')[0])(r)
        self.period = max(10, round(self.period))

    def draw_steady(self, _r):
        pass

    def draw_bursty(self, r):
        burst = log_uniform(r, 10e3, 300e3)
        self.load = r.uniform(10, 80)
        self.period = min(100 * burst / self.load, opt.seconds * 1e6)

    def draw_jitter(self, r):
        self.extra['windows'] = round(r.uniform(0.05, 0.15), 3)

    def draw_wakes(self, r):
        rate = log_uniform(r, 1000, 50000)
        self.period = 1e6 * (CPUS if self.cpus == 'all' else 1) / rate
        self.load = r.choice([0, r.uniform(5, 40)])
        if self.load == 0:
            self.flags = ['-w']
        self.extra['rate'] = round(rate)

    def draw_network(self, r):
        self.load = r.uniform(5, 35)
        self.policy, self.cpus = 'other', 'all'
        self.extra['pace'] = RATES[self.number % len(RATES)]
        self.extra['method'] = METHODS[self.number // len(RATES) % len(METHODS)]

    def draw_hidden(self, _r):
        self.load, self.cpus, self.place, self.flags = 100, 'all', 'pinned', ['-t']

    def command(self, load=None):
        """The generator's command line, which writes what it took into the file truth."""
        command = ['./gen', '-o', 'truth', '-s', f'{opt.seconds:g}', '-p', str(self.period),
                   '-l', f'{self.load if load is None else load:.2f}', *self.flags]
        command += {'fifo': ['-P', 'fifo'], 'session': ['-S'], 'other': []}[self.policy]
        command += ['-c', str(max(os.sched_getaffinity(0)))] if self.cpus == 'one' else []
        return command + (['-u'] if self.place == 'free' else [])

    def parameters(self):
        named = {'policy': self.policy, 'cpus': self.cpus, 'place': self.place, 'load': f'{self.load:.1f}',
                 'period_us': self.period, **self.extra}
        return ' '.join(f'{k}={v}' for k, v in named.items())


def jitter_loop(r, windows):
    """Disturbs the machine for a short time in that share of the windows, until it is killed."""
    parent, window = os.getppid(), time.monotonic()
    while os.getppid() == parent:
        if r.random() < windows:
            length = log_uniform(r, 0.003, 0.04)
            time.sleep(r.uniform(0, WINDOW - length))
            kind = r.choice([['-l', '100'], ['-w', '-p', '20']])
            subprocess.run(['./gen', *kind, '-s', f'{length:.4f}', '-c', str(r.randrange(CPUS)), '-o', 'burst'],
                           check=False)
        window += WINDOW
        time.sleep(max(0, window - time.monotonic()))


@contextlib.contextmanager
def jitter(case):
    """Makes the machine jittery; yields the process group that does it."""
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.setpgid(0, 0)
            jitter_loop(case.r, case.extra['windows'])
        os._exit(0)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
    try:
        yield pid
    finally:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def others():
    """The CPU seconds of all processes but the kernel's and the bench's own, reaped children included."""
    parent, spent = {}, {}
    for name in glob.glob('/proc/[0-9]*/stat'):
        with contextlib.suppress(OSError):
            with open(name, encoding='ascii', errors='replace') as f:
                words = f.read().rpartition(')')[2].split()
            pid = int(name.split('/')[2])
            parent[pid], spent[pid] = int(words[1]), sum(int(x) for x in words[11:15])
    ours = {os.getpid(), 2}
    while more := {p for p in parent if parent[p] in ours} - ours:
        ours |= more
    return sum(t for p, t in spent.items() if p not in ours) / os.sysconf('SC_CLK_TCK')


@contextlib.contextmanager
def watch_others():
    """Its `share` becomes the percentage of the machine that other processes took inside.  The sum can
    fall, when a process is reaped that nobody waits for: that is a sign of others, too."""
    before, began, seen = others(), time.monotonic(), argparse.Namespace(share=0.0)
    yield seen
    seen.share = 100 * abs(others() - before) / ((time.monotonic() - began) * CPUS)


def truth_of(seconds):
    """What the generator says of itself, and its true load over the time that was measured."""
    with open('truth', encoding='ascii') as f:
        said = dict(word.split('=') for word in f.read().split())
    return said, 100 * float(said['cpu']) / (seconds * CPUS)


def cyclesoak(build, instrument, command):
    """Returns cyclesoak's report on a command, and what others took of the machine meanwhile or during
    the calibration.  `instrument` is its options, the calibration last."""
    with watch_others() as seen:
        out = bench.soaking([f'{build}/cyclesoak', '--json', *instrument, '--', *command],
                            seconds=opt.seconds + 60)
    return json.loads(out.splitlines()[-1]), max(seen.share, *(disturbed.get(o, 0) for o in ['', *instrument]))


def row_of(report, truth, share):
    # 0.1.0 and 0.1.1 have other keys for the same figures.
    load = report.get('load_percent', report.get('cpu_utilization_percent'))
    half = report.get('load_uncertainty_percent', report.get('uncertainty_percent'))
    error = None if load is None else load - truth
    return {'truth': truth, 'load': load, 'half': half, 'error': error, 'others': share,
            'tasks': report.get('tasks_percent'), 'slowed': report.get('slowed_percent'),
            'drift': report.get('drift_percent'), 'unsafe': ','.join(map(str, report.get('unsafe') or []))}


def measure_command(build, instrument, command):
    report, share = cyclesoak(build, instrument, command)
    said, truth = truth_of(report['seconds'])
    return {**row_of(report, truth, share), 'stat_error': 100 * (float(said['stat']) - float(said['share'])),
            'wakes': float(said['wakes']) / report['seconds']}


def measure_network(case, build, instrument):
    """The load of a transfer with the burner, less that of the same transfer without."""
    transfer = [f'{opt.bin}/zcc', '-s', '0', '-p', opt.port, '-t', f'{opt.seconds:g}', '--json', '--congestion',
                'reno', '--pace', case.extra['pace'], '-m', case.extra['method']]
    got, sent = {}, {}
    for burner in [True, False] if case.r.random() < 0.5 else [False, True]:
        script = '"$@" >zcc.out & zcc=$!\n' + ' '.join(case.command(None if burner else 0)) + ' && wait $zcc'
        report, share = cyclesoak(build, instrument, ['sh', '-c', script, 'sh', *transfer])
        got[burner] = row_of(report, truth_of(report['seconds'])[1], share)
        with open('zcc.out', encoding='utf-8') as f:
            sent[burner] = json.load(f)['end']['sum_received']['bits_per_second']
    row = dict(got[True])
    if got[False]['load'] is None:
        row.update(load=None, unsafe=got[False]['unsafe'])
    if row['load'] is not None:
        row.update({k: got[True][k] - got[False][k] for k in ('truth', 'load', 'error')},
                   half=math.hypot(got[True]['half'], got[False]['half']))
    row['others'] = max(got[True]['others'], got[False]['others'])
    case.extra['sent'] = f'{sent[True] / sent[False]:.3f}' # the rate with the burner, of that without
    return row


def measure_2001(command):
    bench.run(['./soak2001', '-f', 'counts_2001', '-o', 'load_2001', *command], seconds=opt.seconds + 60)
    with open('load_2001', encoding='ascii') as f:
        said = dict(word.split('=') for word in f.read().split())
    return 100 * float(said['load']) - truth_of(float(said['seconds']))[1]


def measure(case, build, instrument, group):
    """One row; `group` is the process group of the jitter, or 0."""
    command = case.command()
    if case.group == 'network':
        return measure_network(case, build, instrument)
    if case.group != 'jitter-before':
        return measure_command(build, instrument, command)
    if '-f' not in instrument: # The jitter rests while the command runs: the shell's own time is 0.1 ms.
        script = f'kill -STOP -{group}; "$@"; status=$?; kill -CONT -{group}; exit $status'
        return measure_command(build, instrument, ['sh', '-c', script, 'sh', *command])
    os.killpg(group, signal.SIGSTOP)
    row = measure_command(build, instrument, command)
    os.killpg(group, signal.SIGCONT)
    return row


def calibrate(name):
    """Calibrates each build, into files that cyclesoak does not find by itself."""
    for number, build in enumerate(opt.builds):
        with watch_others() as seen:
            bench.soaking([f'{build}/cyclesoak', '-C', '--force', '-f', f'{name}-{number}'], seconds=120)
        disturbed[f'{name}-{number}'] = seen.share


def measure_case(case, noise):
    """Measures a case by each build in each way, in an order that rotates; returns rows."""
    with jitter(case) if case.group.startswith('jitter') else contextlib.nullcontext(0) as group:
        name = 'jitter' if group else 'quiet'
        if group:
            calibrate(name)
        ways = [(n, way) for way in WAYS for n, known in enumerate(opt.ways) if way in known]
        if case.group in COMPARED:
            ways.append((None, '2001'))
        first, rows, error_2001 = case.number % len(ways), [], None
        for turn, (n, way) in enumerate(ways[first:] + ways[:first]):
            if n is None:
                error_2001 = measure_2001(case.command())
                continue
            instrument = {'file': ['-f', f'{name}-{n}'], 'own': [], 'idle': ['--idle']}[way]
            row = measure(case, opt.builds[n], instrument, group)
            noise.look()
            rows.append({**row, 'build': opt.builds[n], 'way': way, 'turn': turn})
    for row in rows:
        row.update(run=opt.run, group=case.group, case=case.number, parameters=case.parameters(),
                   error_2001=error_2001, inside=int(row['load'] is not None and abs(row['error']) <= row['half']),
                   steal=f'{noise.steal():.2f}', load_average=f'{noise.loads[-1]:.2f}')
    return rows


def write_row(out, row):
    text = {k: '' if row.get(k) is None else f'{row[k]:.4f}' if isinstance(row[k], float) else row[k]
            for k in FIELDS}
    out.writerow(text)
    if sys.stderr.isatty():
        error = 'no load' if row['load'] is None else f'{row["error"]:+.2f} +-{row["half"]:.2f}'
        sys.stderr.write(f'\r\033[K{row["group"]} {row["case"]}, {row["way"]}: {error} ')


def read_rows(names):
    for name in names:
        with open(name, encoding='utf-8') as f:
            for row in csv.DictReader((line for line in f if not line.startswith('#')), delimiter='\t'):
                yield {**row, 'inside': int(row['inside']), **{k: float(row[k]) if row[k] else None for k in NUMBERS}}


def spread(errors):
    """What errors have in common, how they differ, and both together."""
    scatter = statistics.stdev(errors) if len(errors) > 1 else math.nan
    return argparse.Namespace(n=len(errors), bias=statistics.fmean(errors), scatter=scatter, rms=bench.rms(errors),
                              worst=max(errors, key=abs))


def figures(rows):
    f = spread([r['error'] for r in rows])
    f.coverage = 100 * sum(r['inside'] for r in rows) / f.n
    f.half = statistics.fmean(r['half'] for r in rows)
    f.wide = f.half / f.rms if f.rms > 0 else math.nan
    by_case = {load_of(r): r['error_2001'] for r in rows if r['error_2001'] is not None}
    f.rms_2001 = bench.rms(list(by_case.values()))
    return f


def load_of(row):
    return row['run'], row['group'], row['case']


def straight_line(x, y):
    """The offset and the slope of the line through points."""
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    square = sum((a - mean_x) ** 2 for a in x)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / square if square > 0 else math.nan
    return mean_y - slope * mean_x, slope


def print_wakes(rows, way):
    """What each wake-up took beyond the tasks' clock: what the bias consists of."""
    for groups, text in ((['wakes'], 'wakes'), (COMPARED, ' and '.join(COMPARED))):
        of = [r for r in rows if r['way'] == way and r['group'] in groups and r['wakes']]
        if len(of) > 1:
            offset, slope = straight_line([r['wakes'] for r in of], [r['error'] for r in of])
            print(f'{text}, {way}: beyond the tasks\' clock {offset:+.2f} points, and {slope * CPUS * 1e4:+.2f} us for '
                  'each wake-up')
            for group in COMPARED if groups == COMPARED else []:
                errors = [(r['error'] - slope * r['wakes'], r['half']) for r in of if r['group'] == group]
                if len(errors) > 1:
                    f = spread([e for e, _ in errors])
                    half = statistics.fmean(h for _, h in errors)
                    print(f'    {group}, with its wake-ups in the truth: bias {f.bias:+.2f}, scatter {f.scatter:.2f}, '
                          f'{100 * sum(abs(e) <= h for e, h in errors) / f.n:.1f} % covered, '
                          f'+-{half:.2f} is {half / f.rms:.1f} of the RMS')


def table(rows, title):
    print(f'\n{title}')
    print('group             way      cases   bias scatter    RMS   worst  covered  +-mean  of RMS  RMS of 2001\'s')
    by = collections.defaultdict(list)
    for row in rows:
        for group in row['group'], '' if row['group'] == 'hidden' else 'all of them':
            by[group, row['way'], 'all'].append(row)
            if not row['unsafe']:
                by[group, row['way'], 'unmarked'].append(row)
    for group, way in ((g, w) for g in [*GROUPS, 'all of them', 'hidden'] for w in WAYS):
        for kind in 'all', 'unmarked':
            of = by[group, way, kind]
            if not of or kind == 'unmarked' and len(of) == len(by[group, way, 'all']):
                continue
            f = figures(of)
            ratio = f'{f.rms / f.rms_2001:12.2f}' if group in COMPARED and f.rms_2001 > 0 else ''
            name = f'{group:17} {way:8}' if kind == 'all' else f'{"":17} unmarked'
            print(f'{name} {f.n:5} {f.bias:+6.2f} {f.scatter:7.2f} {f.rms:6.2f} {f.worst:+7.2f} {f.coverage:6.1f} % '
                  f'{f.half:7.2f} {f.wide:7.1f}{ratio}')
    for groups, name, key in ((COMPARED, '/proc/stat', 'stat_error'), (COMPARED, 'soak2001', 'error_2001'),
                              (['hidden'], '/proc/stat', 'stat_error')):
        once = {load_of(r): r[key] for r in rows if r['group'] in groups and r[key] is not None}
        if once:
            f = spread(list(once.values()))
            print(f'{name:26} {f.n:5} {f.bias:+6.2f} {f.scatter:7.2f} {f.rms:6.2f} {f.worst:+7.2f}   '
                  f'({" and ".join(groups)})')
    for way in WAYS:
        print_wakes(rows, way)


def judge(rows):
    print('\nGoals:')
    for way in WAYS:
        judged = [r for r in rows if r['group'] in GROUPS and r['way'] == way]
        if not judged:
            bench.verdict(f'{way}: 93 to 98 % of all cases inside the interval', None, 'no case')
            continue
        covered, runs = figures(judged).coverage, len({r['run'] for r in judged})
        bench.verdict(f'{way}: 93 to 98 % of all cases ({ALL_CASES} or more, of several hours) inside the interval',
                      93 <= covered <= 98 if len(judged) >= ALL_CASES and runs > 1 else None,
                      f'{covered:.1f} % of {len(judged)} cases, {runs} runs')
        for group in GROUPS:
            if of := [r for r in judged if r['group'] == group]:
                judge_group(f'{way}, {group}', group, figures(of))


def judge_group(name, group, f):
    if f.n < GROUP_CASES:
        bench.verdict(name, None, f'{f.n} cases, {GROUP_CASES} are needed')
        return

    def goal(text, met, figure):
        bench.verdict(f'{name}: {text}', met, figure)
    if group not in COMPARED:
        goal('at least 88 % inside', f.coverage >= 88, f'{f.coverage:.1f} %')
        return
    goal('scatter at most 0.3', f.scatter <= 0.3, f'{f.scatter:.2f}')
    goal('bias within 0.15', abs(f.bias) <= 0.15, f'{f.bias:+.2f}')
    goal('worst at most 1.5', abs(f.worst) <= 1.5, f'{f.worst:+.2f}')
    goal('93 to 98 % inside', 93 <= f.coverage <= 98, f'{f.coverage:.1f} %')
    goal('half width at most 2.5 times the RMS', f.wide <= 2.5, f'{f.half:.2f}, {f.wide:.1f} times')
    goal("at most half of soak2001's RMS", f.rms <= f.rms_2001 / 2, f'{f.rms:.2f} of {f.rms_2001:.2f}')


def print_refused(rows, total):
    """Names the cases of which cyclesoak printed no load."""
    if rows:
        print(f'\nIn {len(rows)} of {total} cases cyclesoak refused to print a load:')
        for row in rows:
            print(f'{row["group"]} {row["case"]}, {row["way"]}: {row["unsafe"] or "no reason"}')


def report(rows):
    """The tables and the verdict.  A case in which other processes ran has no known truth."""
    builds = list(dict.fromkeys(r['build'] for r in rows))
    shared = {}
    for build in builds:
        own = [r for r in rows if r['build'] == build]
        known = [r for r in own if r['load'] is not None]
        idle = [r for r in known if r['others'] <= opt.others]
        unsafe = sum(bool(r['unsafe']) for r in idle)
        print_refused([r for r in own if r['load'] is None], len(own))
        if len(idle) < len(known):
            print(f'\nIn {len(known) - len(idle)} of {len(own)} cases other processes took more than '
                  f'{opt.others:g} % of the machine:\nthese are not counted below.  '
                  f'RMS error with them: {figures(known).rms:.2f}.')
        if unsafe:
            print(f'cyclesoak marked {unsafe} cases as unsafe; these are counted.')
        if not idle:
            print('\nNo case is left.')
            continue
        table(idle, f'{build}: {len(idle)} cases of {len(set(map(load_of, idle)))} loads, errors in percentage points '
                    'of the whole machine')
        judge(idle)
        shared[build] = {(*load_of(r), r['way']): r['error'] for r in idle if r['group'] in COMPARED}
    if len(builds) == 2 and len(shared) == 2:
        new, old = (shared[b] for b in builds)
        both = list(new.keys() & old.keys())
        a, b = bench.rms([new[k] for k in both]), bench.rms([old[k] for k in both])
        bench.verdict(f'RMS error at most 1.05 times that of {builds[1]}',
                      a <= 1.05 * b if len(both) >= GROUP_CASES else None, f'{a:.3f}, {b:.3f} ({len(both)} cases)')


def ways_of(build):
    """The ways in which a cyclesoak can measure: 0.3.0 had no --idle."""
    with contextlib.suppress(bench.Failed):
        bench.run([f'{build}/cyclesoak', '--idle', '-V'])
        return WAYS
    return [w for w in WAYS if w != 'idle']


def cases(directory):
    """Runs the cases; returns their rows."""
    os.chdir(directory)
    bench.build('.', ['gen', 'soak2001'])
    with contextlib.suppress(bench.Failed):
        bench.run('./gen -P fifo -l 0 -s 0.01'.split())
        opt.policies.append('fifo')
    head = list(bench.head(opt.builds)) + [f'seed {opt.seed}, {opt.seconds:g} s a case']
    print('\n'.join(head), flush=True)
    noise = bench.Noise()
    if 'network' in opt.groups:
        opt.port = bench.serve(opt.bin, '-I', '0')[1]
    calibrated, rows = -math.inf, []
    with open(opt.tsv or os.devnull, 'w', encoding='utf-8', newline='') as f:
        f.writelines(f'# {line}\n' for line in head)
        out = csv.DictWriter(f, FIELDS, delimiter='\t', lineterminator='\n')
        out.writeheader()
        f.flush()
        for number in range(opt.loads):
            for group in opt.groups:
                if time.monotonic() - calibrated > opt.calibrate:
                    bench.wait_idle(0.05, opt.wait)
                    calibrate('quiet')
                    bench.run('./soak2001 -C counts_2001'.split())
                    calibrated = time.monotonic()
                bench.wait_idle(0.05, opt.wait)
                try:
                    measured = measure_case(Case(group, number), noise)
                except bench.Busy:
                    bench.counted['case omitted: the machine remained busy'] += 1
                    continue
                for row in measured:
                    write_row(out, row)
                rows += measured
            f.flush()
        f.write(f'# {noise}\n')
    if sys.stderr.isatty():
        sys.stderr.write('\r\033[K')
    return rows, noise


def body(directory):
    if opt.old:
        report(list(read_rows(opt.old)))
        return
    rows, noise = cases(directory)
    report(rows)
    bench.print_notes(noise)
    if opt.tsv:
        print(f'The rows are in {opt.tsv}')


def parse():
    p = argparse.ArgumentParser(prog='tests/bench/accuracy', description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('-g', '--groups', default=','.join(GROUPS), help='a list (default: all but hidden)')
    p.add_argument('-n', '--loads', type=int, default=10, metavar='N',
                   help='a group; each is measured in every way (default 10)')
    p.add_argument('-s', '--seconds', type=float, default=2, help='of a load (default 2)')
    p.add_argument('--seed', default=time.strftime('%Y%m%d%H%M'), help='of the cases (default: the time)')
    p.add_argument('-o', '--output', metavar='DIR', help='keeps a line for each case in DIR/accuracy-RUN.tsv')
    p.add_argument('--against', metavar='DIR', help='measures each case also with the cyclesoak of DIR')
    p.add_argument('--bin', default=os.environ.get('BIN', bench.TOP), metavar='DIR',
                   help='of the programs (default: $BIN, else the source tree)')
    p.add_argument('--calibrate', type=float, default=600, metavar='SECS', help='calibrate anew this often')
    p.add_argument('--wait', type=float, default=bench.BUSY_SECONDS, metavar='SECS',
                   help='at most, for an idle machine before each case (default 60)')
    p.add_argument('--others', type=float, default=0.5, metavar='PERCENT',
                   help='of the machine that other processes may take in a case that counts (default 0.5)')
    p.add_argument('--from', dest='old', nargs='+', metavar='FILE', help='reports on the cases in these files')
    p.parse_args(namespace=opt)
    opt.groups = opt.groups.split(',')
    if wrong := [g for g in opt.groups if g not in [*GROUPS, 'hidden']]:
        p.error(f"unknown group '{wrong[0]}' ({', '.join(GROUPS)}, hidden)")
    if opt.loads < 1 or not 0.01 <= opt.seconds <= 3600:
        p.error('-n: at least 1; -s: 0.01 to 3600')
    if not re.fullmatch(r'\S+', opt.seed):
        p.error('--seed: without blanks')
    if opt.old:
        return
    opt.run, opt.policies = time.strftime('%Y%m%d-%H%M%S', time.gmtime()), ['other', 'session']
    opt.bin = bench.programs(opt.bin)
    opt.builds = [opt.bin] + ([bench.programs(opt.against)] if opt.against else [])
    opt.ways = [ways_of(build) for build in opt.builds]
    if len(set(opt.builds)) < len(opt.builds):
        p.error('--against: this is the directory of the programs themselves')
    opt.tsv = None
    if opt.output:
        os.makedirs(opt.output, exist_ok=True)
        opt.tsv = os.path.abspath(f'{opt.output}/accuracy-{opt.run}.tsv')


if __name__ == '__main__':
    parse()
    bench.main(body)
