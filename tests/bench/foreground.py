"""What soaking leaves to the programs that are measured.  Each foreground runs alone, beside a spin of
the soakers' weight that does nothing else (awake.c), and under cyclesoak, in an order that rotates.

    tests/bench/foreground            every foreground, 5 rounds
    tests/bench/foreground -g pingpong,requests -r 20

    busy       a busy program on all CPUs, in the session of cyclesoak, in one of its own, and in a
               control group of its own: the share that it gets of the CPU on which it gets least
    pingpong   a byte goes to another CPU and back, by a Unix socket pair and by TCP (pingpong.c)
    requests   connections to a zcs --reply: zcc --request 1024
    paced      a transfer at a steady rate, zcc --pace: whether the rate is kept, and how often zcc slept
    transfer   a transfer as fast as it can be, zcs on the first CPU and zcc on the last

The figures are medians [least..greatest].  "kept" is what was left under cyclesoak, in percent of the
figure alone in the same round: 100 % means that soaking took nothing.  It may be more: CPUs that are
soaked do not sleep, and a sleeping CPU takes time to wake.  "awake" is the same for the spin: the part
that comes from CPUs that do not sleep, and from a program of the lowest weight that has to be displaced.
A transfer is best compared with that, as kept/awake.
"""
import argparse
import contextlib
import json
import os
import re
import statistics
import sys

sys.dont_write_bytecode = True
import bench

GROUPS = ['busy', 'pingpong', 'requests', 'paced', 'transfer']
WAYS = ['alone', 'awake', 'cyclesoak']
TRANSFER = 'transfer, MiB/s'
PACE = 50 << 20 # bytes/s
GOALS = {'busy': 98.5, 'ping-pong': 97, 'requests': 97} # percent kept, by how a row begins
COUNT_SLEEPS = """
import os, sys
status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)[1:]
print('sleeps=%d' % used.ru_nvcsw)
sys.exit(os.waitstatus_to_exitcode(status))"""

opt = argparse.Namespace()


def under(way, command):
    """Runs a command in one of the three ways."""
    if way == 'cyclesoak':
        command = [f'{opt.bin}/cyclesoak', '-f', 'counts', '--', *command]
    elif way == 'awake':
        command = ['./awake', *command]
    return bench.soaking(command, seconds=opt.seconds + 60)


def words(line):
    return dict(word.split('=') for word in line.split())


def busy(place, way):
    command = ['./gen', '-l', '100', '-s', f'{opt.seconds:g}', '-o', 'got']
    if place != 'same session':
        command.append('-S')
    if place == 'own group':
        command = ['sh', '-c', 'echo $$ >"$0/cgroup.procs" && exec "$@"', opt.cgroup, *command]
    under(way, command)
    with open('got', encoding='ascii') as f:
        yield f'busy, {place}: least share, %', 100 * min(map(float, words(f.read())['each'].split(',')))


def pingpong(way):
    out = under(way, ['./pingpong', '-c', f'{opt.cpus[0]},{opt.cpus[-1]}', '-s', f'{opt.seconds:g}'])
    for line in out.splitlines():
        if line.startswith('via='):
            said = words(line)
            yield f'ping-pong, {said["via"]}: round trips/s', float(said['per_second'])
            yield f'   {said["via"]}: p99, us', float(said['p99_us'])


def zcc(way, port, *options):
    """Runs zcc; returns its report, with the number of times that it slept."""
    command = [f'{opt.bin}/zcc', '-s', '0', '-p', port, '-t', f'{opt.seconds:g}', '--json', *options]
    out = under(way, [sys.executable, '-S', '-c', COUNT_SLEEPS, *command])
    lines = out.splitlines()
    sleeps = next(line for line in lines if line.startswith('sleeps='))
    return {**json.loads(next(line for line in lines if line.startswith('{'))), 'sleeps': int(sleeps[7:])}


def requests(way):
    report = zcc(way, opt.reply_port, '--request', '1024')['requests'][0]
    yield 'requests/s', report['connections_per_second']
    yield '   requests: p99, us', 1e6 * report['latency_seconds']['total']['p99']


def paced(way):
    report = zcc(way, opt.port, '--pace', str(PACE), '--congestion', 'reno')
    sent = report['end']['sum_received']
    yield 'paced: share of the pace, %', 100 * sent['bits_per_second'] / 8 / PACE
    yield '   paced: sleeps of zcc/s', report['sleeps'] / sent['seconds']


def transfer(way):
    report = zcc(way, opt.bound_port, '--congestion', 'reno', '-B', str(opt.cpus[-1]))
    yield TRANSFER, report['end']['sum_received']['bits_per_second'] / 8 / (1 << 20)


def make_cgroup():
    """A group of the cpu controller, version 1 or 2, or '' where none can be made."""
    for top in 'cpu', 'cpu,cpuacct', '.', 'unified':
        name = f'/sys/fs/cgroup/{top}/zc-bench-{os.getpid()}'
        with contextlib.suppress(OSError):
            os.mkdir(name)
            if os.path.exists(f'{name}/cpu.shares') or os.path.exists(f'{name}/cpu.weight'):
                return name
            os.rmdir(name)
    print('foreground: no control group can be made here, its case is omitted', file=sys.stderr)
    return ''


def foregrounds():
    """The measurements: functions of the way, each of which yields names and figures."""
    for group in opt.groups:
        if group == 'busy':
            for place in ['same session', 'own session'] + (['own group'] if opt.cgroup else []):
                yield lambda way, place=place: busy(place, way)
        elif group in ('pingpong', 'transfer') and len(opt.cpus) < 2:
            print(f'foreground: {group} needs two CPUs, it is omitted', file=sys.stderr)
        else:
            yield globals()[group]


def rounds(measurements, noise):
    """Returns, for each name and each way, the figures of the rounds."""
    rows = {}
    for number in range(opt.rounds):
        for measurement in measurements:
            bench.wait_idle(0.05, opt.wait)
            first = number % len(WAYS)
            for way in WAYS[first:] + WAYS[:first]:
                for name, figure in measurement(way):
                    rows.setdefault(name, {w: [] for w in WAYS})[way].append(figure)
            noise.look()
    return rows


def table(rows):
    print(f'\nMedians [least..greatest] of {opt.rounds} rounds:')
    print(f'{"":32} {"alone":>25} {"under cyclesoak":>25} {"awake, %":>22} {"kept, %":>22}')
    kept = {}
    for name, by in rows.items():
        ratio = {way: [100 * b / a for a, b in zip(by['alone'], by[way]) if a > 0] for way in WAYS}
        kept[name] = ratio['cyclesoak']
        cells = [bench.middle(r) if r else '-' for r in (ratio['awake'], kept[name])]
        print(f'{name:32} {bench.middle(by["alone"]):>25} {bench.middle(by["cyclesoak"]):>25} '
              f'{cells[0]:>22} {cells[1]:>22}')
    if by := rows.get(TRANSFER):
        print(f'\nOf a transfer under awake, one under cyclesoak had '
              f'{bench.middle([100 * b / a for a, b in zip(by["awake"], by["cyclesoak"])])} %.')
    print('\n"kept": of the figure alone, in the same round; 100 % = nothing lost.  Of a p99 and of sleeps less is '
          'better.')
    return kept


def judge(kept):
    print('\nGoals:')
    for begin, least in GOALS.items():
        of = {name: r for name, r in kept.items() if name.startswith(begin)}
        if not of:
            bench.verdict(f'{begin}: at least {least:g} % kept', None, 'no case')
        for name, ratios in of.items():
            busy = ' on a busy machine' if bench.counted[bench.BUSY] else ''
            bench.verdict(f'{re.sub("[:/].*", "", name)}: at least {least:g} % kept',
                          statistics.median(ratios) >= least if ratios and not busy else None,
                          f'{bench.middle(ratios)} %{busy}' if ratios else 'it got nothing alone')


def body(directory):
    os.chdir(directory)
    bench.build('.', ['gen', 'awake', 'pingpong'])
    print('\n'.join(bench.head([opt.bin])), flush=True)
    noise = bench.Noise()
    opt.cgroup = make_cgroup() if 'busy' in opt.groups else ''
    try:
        bench.wait_idle(0.05, opt.wait)
        bench.soaking([f'{opt.bin}/cyclesoak', '-C', '--force', '-f', 'counts'])
        opt.reply_port = bench.serve(opt.bin, '--reply')[1]
        opt.port = bench.serve(opt.bin, '-I', '0')[1]
        opt.bound_port = bench.serve(opt.bin, '-I', '0', '-B', str(opt.cpus[0]))[1]
        judge(table(rounds(list(foregrounds()), noise)))
        bench.print_notes(noise)
    finally:
        for process in list(bench.running):
            bench.stop(process)
        if opt.cgroup:
            os.rmdir(opt.cgroup)


def parse():
    p = argparse.ArgumentParser(prog='tests/bench/foreground', description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('-g', '--groups', default=','.join(GROUPS), help=f'a list (default: {",".join(GROUPS)})')
    p.add_argument('-r', '--rounds', type=int, default=5, help='each takes every measurement once (default 5)')
    p.add_argument('-s', '--seconds', type=float, default=2, help='of each measurement (default 2)')
    p.add_argument('--wait', type=float, default=bench.BUSY_SECONDS, metavar='SECS',
                   help='at most, for an idle machine before each foreground (default 60)')
    p.add_argument('--bin', default=os.environ.get('BIN', bench.TOP), metavar='DIR',
                   help='of the programs (default: $BIN, else the source tree)')
    p.parse_args(namespace=opt)
    opt.groups = opt.groups.split(',')
    if wrong := [g for g in opt.groups if g not in GROUPS]:
        p.error(f"unknown group '{wrong[0]}' ({', '.join(GROUPS)})")
    if opt.rounds < 1 or not 0.01 <= opt.seconds <= 3600:
        p.error('-r: at least 1; -s: 0.01 to 3600')
    opt.bin, opt.cpus = bench.programs(opt.bin), sorted(os.sched_getaffinity(0))


if __name__ == '__main__':
    parse()
    bench.main(body)
