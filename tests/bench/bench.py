"""What the benches share: programs that do not outlive the bench, the description of the machine, figures."""
import argparse
import collections
import math
import os
import platform
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.abspath(os.environ.get('BIN') or TOP) # where zcc, zcs and cyclesoak are
BURN = f'{TOP}/build/tests/burn'
NAME = os.path.basename(sys.argv[0])
CPUS = os.cpu_count()
ALLOWED = sorted(os.sched_getaffinity(0))

running = set()                  # programs that were started and have not ended
counted = collections.Counter()  # what went otherwise than it should
began = argparse.Namespace()     # the ticks of /proc/stat when the bench began
opt = argparse.Namespace()       # the options


class Failed(Exception):
    """A program ended otherwise than it should."""


class Busy(Failed):
    """The machine was too busy for a measurement."""


def stop(process):
    """Ends a program: cyclesoak passes SIGTERM on to its command."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    running.discard(process)


def start(command, **how):
    process = subprocess.Popen(command, text=True, **how)
    running.add(process)
    return process


def run(command, seconds=60):
    """Runs a program to its end; returns its standard output and standard error."""
    process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f'{shlex.join(command)}: still running after {seconds:.0f} s') from None
    finally:
        stop(process)
    if process.returncode != 0:
        raise Failed((err or out).strip() or f'{shlex.join(command)}: status {process.returncode}')
    return out, err


def soaking(command, seconds=60):
    """Runs a program that measures a load; returns its output.  It may have to wait for another that soaks."""
    soaks = '--idle' not in command and (command[0].endswith('cyclesoak') or '-c' in command)
    try:
        out, err = run([command[0], *['--wait', f'{opt.wait:g}'] * soaks, *command[1:]], seconds + opt.wait)
    except Failed as e:
        raise (Busy if re.search('soaked already|must be idle|never sleeps', str(e)) else Failed)(str(e)) from None
    for line in err.splitlines():
        counted['on stderr: ' + re.sub(r'\d+(\.\d+)?', 'N', line)] += 1
    return out


def ticks():
    with open('/proc/stat', encoding='ascii') as f:
        return [int(x) for x in f.readline().split()[1:9]]


def wait_idle():
    """Waits until less than 5 % of the machine is in use; gives up after a time."""
    end = time.monotonic() + opt.wait
    while True:
        before = ticks()
        time.sleep(0.3)
        spent = [b - a for a, b in zip(before, ticks())]
        if spent[3] + spent[4] > 0.95 * sum(spent):
            return
        if time.monotonic() > end:
            counted['measurement begun on a busy machine'] += 1
            return


def serve(*options):
    """Starts a zcs on a free port; returns the process and the port."""
    process = start([f'{BIN}/zcs', '-p', '0', *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for line in process.stderr:
        if found := re.search(r'listening on .*:(\d+)$', line.rstrip()):
            return process, found.group(1)
    stop(process)
    raise Failed('zcs did not start')


def calibrate(name):
    soaking([f'{BIN}/cyclesoak', '-C', '--force', '-f', name], 120)


def words(line):
    return dict(word.split('=') for word in line.split())


def rms(errors):
    return math.sqrt(statistics.fmean(e * e for e in errors)) if errors else math.nan


def middle(values, form=None):
    """The median and the range, as text."""
    form = form or ('.0f' if max(values) >= 1000 else '.1f')
    return f'{statistics.median(values):{form}} [{min(values):{form}}..{max(values):{form}}]'


def verdict(goal, met, figure):
    """Prints a line about a goal; `met` is None if it was not measured."""
    print(f'{"not measured" if met is None else "met" if met else "MISSED":>12}  {goal}: {figure}')


def print_head():
    """Prints which program was measured, where and when."""
    with open('/proc/cpuinfo', encoding='utf-8') as f:
        model = re.search(r'^model name\s*: *(.*)', f.read(), re.M)
    print(f'{run([f"{BIN}/cyclesoak", "-V"])[0].strip()} of {BIN}\n{platform.system()} {platform.release()}, '
          f'{CPUS} CPUs: {model.group(1) if model else platform.machine()}\n'
          f'{time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())}: {NAME} {shlex.join(sys.argv[1:])}', flush=True)


def print_notes():
    spent = [b - a for a, b in zip(began.ticks, ticks())]
    print(f'\nThe hypervisor took {100 * spent[7] / max(1, sum(spent)):.2f} %; load average '
          f'{os.getloadavg()[1]:.2f}')
    for why, n in counted.most_common():
        print(f'{n} times: {why}')


def parser(text, **defaults):
    """A parser of options: --wait, and those among -n count, -r rounds and -t seconds that have a default."""
    p = argparse.ArgumentParser(prog=f'tests/bench/{NAME}', description=text,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--wait', type=float, default=60, metavar='SECS', help='for an idle machine, at most (default 60)')
    for name, (default, what) in defaults.items():
        p.add_argument({'count': '-n', 'rounds': '-r', 'seconds': '-t'}[name], f'--{name}', type=type(default), default=default,
                       metavar='N', help=f'{what} (default {default})')
    return p


def parse(p, kind, known):
    """Parses the command line, where opt.names are some of those known, or all."""
    p.add_argument('names', nargs='*', metavar=kind.upper(), help=f'{", ".join(known)} (default: all)')
    p.parse_args(namespace=opt)
    if wrong := set(opt.names) - set(known):
        p.error(f"unknown {kind} '{wrong.pop()}' ({', '.join(known)})")
    opt.names = opt.names or list(known)


def main(body):
    """Calls body() in a directory for its files, which is removed at the end."""
    def on_signal(number, _frame):
        signal.signal(number, signal.SIG_IGN)
        sys.exit(128 + number)
    for number in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:
        signal.signal(number, on_signal)
    os.environ['LC_ALL'] = 'C'
    began.ticks = ticks()
    with tempfile.TemporaryDirectory(prefix='zc-bench.') as directory:
        try:
            os.chdir(directory)
            run(['make', '-s', '-C', TOP, 'build/tests/burn'], 300)
            print_head()
            body()
        except (OSError, Failed) as e:
            sys.exit(f'{NAME}: {e}')
        finally:
            for process in list(running):
                stop(process)
