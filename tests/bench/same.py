"""Do zcc's intervals hold what they claim?  It compares a run with itself many times: calls of 1 MiB and of
1,048,575 bytes, which are the same calls on files of 350 KiB.  Both ratios are 1 in truth, so that 19 of 20
of their 95 % intervals must contain 1.  The settings:

    own      zcc -c, with its own baselines before and after each run
    file     zcc -c, with a calibration file, which is made anew every ten comparisons
    idle     zcc --idle, with its own baselines
    server   zcs --idle, with the baselines that zcs measures between its clients

    tests/bench/same -o same.tsv          160 comparisons, half an hour; the same again resumes it
    tests/bench/same -n 5 own idle        five comparisons in each of two settings

An interrupted bench prints what it has.
"""
import argparse
import csv
import json
import math
import os
import statistics
import sys

sys.dont_write_bytecode = True
import bench

SETTINGS = {'own': ['-c'], 'file': ['-c', '-f', 'calibration'], 'idle': ['--idle'], 'server': []}
RATIOS = {'cost': ['cost_ratio', 'remote_cost_ratio'], 'throughput': ['throughput_ratio']}
ENDS = ['ratio', 'low', 'high']
FIELDS = ['setting', 'number', *(f'{name}_{end}' for name in RATIOS for end in ENDS), 'unsafe_runs', 'unsafe']


def compare(setting, number):
    """Compares a run with itself; returns a row."""
    if setting == 'file' and (number % 10 == 0 or not os.path.exists('calibration')):
        bench.soaking([f'{opt.bin}/cyclesoak', '-C', '--force', '-f', 'calibration'], seconds=120)
    server, port = bench.serve(opt.bin, *(['--idle'] if setting == 'server' else []))
    command = [f'{opt.bin}/zcc', '-s', '0', '-p', port, '--congestion', 'reno', '--json', '-m', 'sendfile',
               '-b', '1m,1048575', '-r', str(opt.rounds), '-t', f'{opt.seconds:g}', *SETTINGS[setting]]
    out = bench.soaking(command, seconds=120 + 20 * opt.rounds * opt.seconds)
    bench.stop(server)
    run = json.loads(out.splitlines()[-1])['comparison']['runs'][1]
    row = {'setting': setting, 'number': number, 'unsafe_runs': run['unsafe_rounds'],
           'unsafe': ','.join(run.get('unsafe', []))}
    for name, keys in RATIOS.items():
        ratio = next((run[k] for k in keys if k in run), {})
        row.update({f'{name}_{end}': ratio.get(end, '') for end in ENDS})
    return row


def report(rows):
    """Prints a row for each ratio and setting, and the goals."""
    print(f'\n{"":20}1 inside   mean  +-mean  no ratio  unsafe')
    score = {name: [] for name in RATIOS}
    for name in RATIOS:
        for setting in SETTINGS:
            of = [r for r in rows if r['setting'] == setting]
            known = [r for r in of if r[f'{name}_low'] != '']
            if not of:
                continue
            ratio, low, high = (statistics.fmean(float(r[f'{name}_{end}']) for r in known) if known else math.nan
                                for end in ENDS)
            hit = sum(float(r[f'{name}_low']) <= 1 <= float(r[f'{name}_high']) for r in known)
            score[name].append((setting, hit, len(known)))
            print(f'{name:11}{setting:9}{hit:3} of {len(known):2}{ratio:7.3f}{(high - low) / 2:8.3f}'
                  f'{len(of) - len(known):10}{sum(int(r["unsafe_runs"]) > 0 for r in of):8}')
    print('\nGoals, 1 inside (intervals that are right miss one in 60 times):')
    for name, of in score.items():
        for setting, hit, n in of:
            bench.verdict(f'{name}, {setting}: at least 35 of 40', hit >= 35 if n == 40 else None, f'{hit} of {n}')
        hit, n = sum(s[1] for s in of), sum(s[2] for s in of)
        bench.verdict(f'{name}: 146 to 158 of 160', 146 <= hit <= 158 if n == 160 else None, f'{hit} of {n}')


def read_rows():
    if not opt.tsv or not os.path.exists(opt.tsv):
        return []
    with open(opt.tsv, encoding='utf-8') as f:
        return list(csv.DictReader(f, delimiter='\t'))


def body(directory):
    os.chdir(directory)
    print('\n'.join(bench.head([opt.bin])), flush=True)
    noise, rows = bench.Noise(), read_rows()
    done = {(r['setting'], int(r['number'])) for r in rows}
    with open(opt.tsv or os.devnull, 'a', encoding='utf-8', newline='') as f:
        out = csv.DictWriter(f, FIELDS, delimiter='\t', lineterminator='\n')
        if not rows:
            out.writeheader()
        try:
            for number, setting in ((n, s) for n in range(opt.n) for s in opt.settings):
                if (setting, number) not in done:
                    bench.wait_idle(0.05, opt.wait)
                    rows.append(compare(setting, number))
                    out.writerow(rows[-1])
                    f.flush()
                    noise.look()
        finally:
            report(rows)
            bench.print_notes(noise)


parser = argparse.ArgumentParser(prog='tests/bench/same', description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('-n', type=int, default=40, help='comparisons in each setting (default 40)')
parser.add_argument('-r', '--rounds', type=int, default=5, help='of a comparison (default 5)')
parser.add_argument('-t', '--seconds', type=float, default=0.5, help='of a run (default 0.5)')
parser.add_argument('-o', '--output', dest='tsv', metavar='FILE', help='a line for each comparison; is read first')
parser.add_argument('--wait', type=float, default=bench.BUSY_SECONDS, metavar='SECS',
                    help='at most, for an idle machine before each (default %(default)g)')
parser.add_argument('--bin', default=os.environ.get('BIN', bench.TOP), metavar='DIR',
                    help='of the programs (default: $BIN, else the source tree)')
parser.add_argument('settings', nargs='*', metavar='SETTING', help='own, file, idle, server (default: all)')
opt = parser.parse_args()
if unknown := set(opt.settings) - set(SETTINGS):
    parser.error(f'unknown setting: {", ".join(unknown)}')
opt.settings = opt.settings or list(SETTINGS)
opt.bin, opt.tsv = bench.programs(opt.bin), opt.tsv and os.path.abspath(opt.tsv)
bench.main(body)
