"""What the benches in Python share: building the bench's programs, running programs so
that none of them outlives the bench, the description of the machine, and a little statistics."""
import collections
import glob
import gzip
import math
import os
import platform
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAME = os.path.basename(sys.argv[0]).removesuffix('.py')
CPUS = os.cpu_count()
SOAK_SECONDS = 120 # to repeat a measurement while it is not possible
BUSY_SECONDS = 60  # to wait for an idle machine
BUSY = 'case begun on a busy machine'

running = set()                   # programs that were started and have not ended
warnings = collections.Counter()  # what the programs printed on stderr, numbers replaced
examples = {}                     # the first line of each of these
counted = collections.Counter()   # what went otherwise than it should


class Failed(Exception):
    """A program that ended otherwise than it should; `out` is its standard output."""

    def __init__(self, why, out=''):
        super().__init__(why)
        self.out = out


class Busy(Failed):
    """The machine was too busy for a measurement."""


def fail(text):
    sys.exit(f'{NAME}: {text}')


def on_signal(number, _frame):
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


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


def run(command, seconds=60, **how):
    """Runs a program to its end; returns its standard output and standard error."""
    process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f'{shlex.join(command)}: still running after {seconds} s') from None
    finally:
        stop(process)
    if process.returncode != 0:
        raise Failed((err or out).strip() or f'{shlex.join(command)}: status {process.returncode}', out)
    return out, err


def soaking(command, **how):
    """Runs a program that measures a load.  It is repeated while another set of soakers exists, which only
    one program at a time may have and beside which no CPU is idle, and while the machine is so busy that a
    soaker gets no time."""
    end = time.monotonic() + SOAK_SECONDS
    while True:
        try:
            out, err = run(command, **how)
            if not re.search('soaked already|never sleeps', err):
                break
            raise Failed(err.strip()) # it went on without a load
        except Failed as e:
            why = re.search('soaked already|must be idle|never sleeps', str(e))
            if not why:
                raise
            if time.monotonic() > end:
                raise Busy(str(e)) from None
            counted[f'measurement repeated: {why.group()}'] += 1
            time.sleep(1)
    for line in err.splitlines():
        kind = re.sub(r'\d+(\.\d+)?', 'N', line)
        warnings[kind] += 1
        examples.setdefault(kind, line)
    return out


def busy_share(seconds=0.3):
    """The share of the machine that is in use, by /proc/stat."""
    def read():
        with open('/proc/stat', encoding='ascii') as f:
            return [int(x) for x in f.readline().split()[1:9]]
    before = read()
    time.sleep(seconds)
    spent = [b - a for a, b in zip(before, read())]
    return 1 - (spent[3] + spent[4]) / max(1, sum(spent))


def wait_idle(limit, seconds=BUSY_SECONDS):
    """Waits until less than `limit` of the machine is in use; gives up after a time."""
    end = time.monotonic() + seconds
    while busy_share() > limit:
        if time.monotonic() > end:
            counted[BUSY] += 1
            return
        time.sleep(0.5)


def build(directory, names):
    """Compiles programs of the bench into the directory."""
    library = f'{TOP}/build/libzc.a'
    if not os.path.exists(library):
        fail(f'no {library}: run make first')
    for name in names:
        source = f'{TOP}/tests/bench/{name}.c'
        if not os.path.exists(source):
            source = f'{TOP}/tests/helpers/{name}.c'
        command = [*shlex.split(os.environ.get('CC', 'gcc')), *'-std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 '
                   '-DVERSION="" -pthread -O2'.split(), f'-I{TOP}', '-o', f'{directory}/{name}',
                   source, library, '-lm']
        try:
            run(command, seconds=300)
        except (OSError, Failed) as e:
            fail(f'cannot compile {name}.c: {e}')


def programs(directory):
    """The absolute name of a directory that has zc's programs."""
    directory = os.path.abspath(directory)
    for name in 'cyclesoak', 'zcc', 'zcs':
        if not os.access(f'{directory}/{name}', os.X_OK):
            fail(f'no {directory}/{name}: run make first')
    return directory


def serve(binaries, *options):
    """Starts a zcs on a free port; returns the process and the port."""
    process = start([f'{binaries}/zcs', '-p', '0', *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for line in process.stderr:
        if found := re.search(r'listening on .*:(\d+)$', line.rstrip()):
            return process, found.group(1)
    stop(process)
    raise Failed('zcs did not start')


def first_line(*patterns):
    for name in (name for pattern in patterns for name in sorted(glob.glob(pattern))):
        try:
            with open(name, encoding='ascii') as f:
                return f.readline().strip()
        except (OSError, ValueError):
            pass
    return ''


def kernel_config():
    """The kernel's configuration as a set of lines, empty where it is not known."""
    try:
        with gzip.open('/proc/config.gz', 'rt') as f:
            return set(f.read().splitlines())
    except OSError:
        try:
            with open(f'/boot/config-{platform.release()}', encoding='ascii') as f:
                return set(f.read().splitlines())
        except OSError:
            return set()


def preemption():
    """How the kernel preempts: as it says itself, or was told when it was booted, or was built."""
    if now := first_line('/sys/kernel/debug/sched/preempt'):
        return now
    if told := re.search(r'\bpreempt=(\w+)', first_line('/proc/cmdline')):
        return told.group(1)
    config = kernel_config()
    for kind in 'RT', 'LAZY', 'VOLUNTARY', 'NONE':
        if f'CONFIG_PREEMPT_{kind}=y' in config:
            return kind.lower()
    return 'full' if 'CONFIG_PREEMPT=y' in config else 'unknown'


def accounting():
    """How the kernel counts CPU time for /proc/stat."""
    config = kernel_config()
    for line, text in (('CONFIG_TICK_CPU_ACCOUNTING=y', 'sampled at the tick'),
                       ('CONFIG_VIRT_CPU_ACCOUNTING_GEN=y', 'vtime on nohz_full CPUs, else sampled at the tick'),
                       ('CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y', 'vtime')):
        if line in config:
            hz = [line[10:] for line in config if re.fullmatch(r'CONFIG_HZ=\d+', line)]
            irq = ', irq time apart' if 'CONFIG_IRQ_TIME_ACCOUNTING=y' in config else ''
            return f'{text}{irq}, HZ={"".join(hz)}'
    return 'unknown'


def head(binaries):
    """Lines that say which program was measured, where and when."""
    with open('/proc/cpuinfo', encoding='utf-8') as f:
        cpuinfo = f.read()
    model = re.search(r'^model name\s*: *(.*)', cpuinfo, re.M)
    hypervisor = first_line('/sys/hypervisor/type', '/sys/class/dmi/id/sys_vendor')
    if not hypervisor:
        hypervisor = 'yes, of unknown kind' if re.search(r'^flags.*\bhypervisor\b', cpuinfo, re.M) else 'none seen'
    commit = subprocess.run(['git', '-C', TOP, 'describe', '--always', '--dirty'], text=True, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) if shutil.which('git') else None
    for directory in binaries:
        yield f'{directory}: {run([f"{directory}/cyclesoak", "-V"])[0].strip()}'
    yield f'source: {(commit.stdout.strip() if commit else "") or "unknown"}'
    yield f'kernel: {platform.system()} {platform.release()} {platform.version()}'
    yield f'preemption: {preemption()}'
    yield f'CPUs: {CPUS}, {model.group(1) if model else platform.machine()}'
    clocks = '/sys/devices/system/clocksource/clocksource0/current_clocksource'
    yield f'clocksource: {first_line(clocks) or "unknown"}; hypervisor: {hypervisor}'
    yield f'accounting of CPU time: {accounting()}'
    yield f'{time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())}: {NAME} {shlex.join(sys.argv[1:])}'.rstrip()


class Noise:
    """Steal and the load average while the bench ran."""

    def __init__(self):
        self.before, self.loads = self.ticks(), [os.getloadavg()[0]]

    @staticmethod
    def ticks():
        spent = [int(x) for x in first_line('/proc/stat').split()[1:9]]
        return spent[7], sum(spent)

    def look(self):
        self.loads.append(os.getloadavg()[0])

    def steal(self):
        steal, total = (b - a for a, b in zip(self.before, self.ticks()))
        return 100 * steal / max(1, total)

    def __str__(self):
        return (f'During the run: steal {self.steal():.2f} %, load average {min(self.loads):.2f} to '
                f'{max(self.loads):.2f}')


def rms(errors):
    return math.sqrt(statistics.fmean(e * e for e in errors)) if errors else math.nan


def middle(values):
    """The median and the range, as text."""
    form = '.0f' if max(values) >= 1000 else '.1f'
    return f'{statistics.median(values):{form}} [{min(values):{form}}..{max(values):{form}}]'


def verdict(goal, met, figure):
    """A line about a goal; `met` is None where it was not measured."""
    print(f'{"not measured" if met is None else "met" if met else "MISSED":>12}  {goal}: {figure}')


def print_notes(noise):
    print(f'\n{noise}')
    for why, n in counted.items():
        print(f'{n} times: {why}')
    for line, n in warnings.most_common():
        print(f'{n} times on stderr: {line}')


def main(body):
    """Calls body(directory) with a directory for its files, which is removed at the end."""
    for number in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:
        signal.signal(number, on_signal)
    os.environ['LC_ALL'] = 'C'
    with tempfile.TemporaryDirectory(prefix='zc-bench.') as directory:
        try:
            body(directory)
        except (OSError, Failed) as e:
            fail(e)
        finally:
            for process in list(running):
                stop(process)
