"""What a transfer costs, and what the tool that makes it says of that.

iperf3's and netperf's figures are those of the kernel's accounting, iperf3's only of its own processes.
Here each runs as the command of cyclesoak, over loopback, so that its true cost is known:

    cost = load x CPUs x seconds of the transfer / KiB

    tests/bench/claims                     5 rounds of 2 s, in an order that rotates
    tests/bench/claims --netperf DIR       netperf and netserver of DIR, too

"says" is the tool's own figure in the same unit, of both ends: iperf3's host_total and remote_total, and
netperf's service demand (-c -C) of both.  "error" is how far that is from the cost, medians
[least..greatest] of the rounds.  zcc -c says what it measured itself.
"""
import argparse
import json
import socket
import statistics
import sys

sys.dont_write_bytecode = True
import bench

IPERF3 = {'iperf3': [], 'iperf3 -Z': ['-Z'], 'iperf3, 2 Gbit/s': ['-b', '2g'], 'iperf3 -Z, 2 Gbit/s': ['-Z', '-b', '2g']}
ZCC = {'zcc': [], 'zcc, 2 Gbit/s': ['--pace', '250000000']}


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return str(s.getsockname()[1])


def wait_for(port):
    for _ in range(100):
        with socket.socket() as s:
            if s.connect_ex(('127.0.0.1', int(port))) == 0:
                return
        bench.time.sleep(0.05)
    raise bench.Failed(f'no server on port {port}')


def loaded(command):
    """Runs a command under cyclesoak.  Returns its output, and the CPU time in us that the machine spent."""
    out = bench.soaking([f'{opt.bin}/cyclesoak', '--json', '-f', 'calibration', '--', *command], seconds=60 + opt.seconds)
    lines = out.rstrip('\n').split('\n')
    report = json.loads(lines[-1])
    return '\n'.join(lines[:-1]), report['load_percent'] / 100 * report['cpus'] * report['seconds'] * 1e6


def iperf3(options):
    """The cost in us/KiB, and what iperf3 says it is."""
    port = free_port()
    server = bench.start(['iperf3', '-s', '-1', '-p', port], stdout=bench.subprocess.DEVNULL)
    for _ in range(100): # a connection made to look would be the one that -1 serves
        if bench.run(['ss', '-Htln', f'sport = :{port}'])[0]:
            break
        bench.time.sleep(0.05)
    out, us = loaded(['iperf3', '-c', '127.0.0.1', '-p', port, '-t', str(opt.seconds), '-C', 'reno', '-J', *options])
    bench.stop(server)
    end = json.loads(out)['end']
    kib = end['sum_received']['bytes'] / 1024
    share = end['cpu_utilization_percent']
    said = (share['host_total'] + share['remote_total']) / 100 * end['sum_sent']['seconds'] * 1e6
    return us / kib, said / kib


def zcc(options):
    """The same of zcc, whose own load is measured at another time: two sets of soakers cannot be."""
    command = [f'{opt.bin}/zcc', '-s', '127.0.0.1', '-p', opt.port, '-t', str(opt.seconds), '--congestion', 'reno', '--json',
               *options]
    out, us = loaded(command)
    kib = json.loads(out)['end']['sum_received']['bytes'] / 1024
    own = json.loads(bench.soaking([*command, '-c', '-f', 'calibration'], seconds=60 + opt.seconds))
    return us / kib, own['end']['host']['cost_us_per_kib']


def netperf(test):
    out, us = loaded([f'{opt.netperf}/netperf', '-H', '127.0.0.1', '-p', opt.netserver, '-t', test, '-l', str(opt.seconds),
                      '-c', '-C', '-P', '0', '-f', 'K', '--', '-o',
                      'THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,LOCAL_SD,REMOTE_SD'])
    rate, _, seconds, local, remote = out.strip().split('\n')[-1].split(',')
    kib = float(rate) * float(seconds)
    return us / kib, float(local) + float(remote)


def ways():
    found = {}
    if bench.shutil.which('iperf3') and bench.shutil.which('ss'):
        found.update({name: (iperf3, options) for name, options in IPERF3.items()})
    else:
        print('iperf3: not measured: iperf3 or ss is not installed')
    if opt.netperf:
        found.update({'netperf TCP_STREAM': (netperf, 'TCP_STREAM'), 'netperf TCP_SENDFILE': (netperf, 'TCP_SENDFILE')})
    else:
        print('netperf: not measured: --netperf')
    found.update({name: (zcc, options) for name, options in ZCC.items()})
    return found


def body(directory):
    bench.os.chdir(directory)
    print('\n'.join(bench.head([opt.bin])))
    noise = bench.Noise()
    measured = ways()
    opt.port = bench.serve(opt.bin)[1]
    if opt.netperf:
        opt.netserver = free_port()
        bench.start([f'{opt.netperf}/netserver', '-D', '-L', '127.0.0.1', '-p', opt.netserver],
                    stdout=bench.subprocess.DEVNULL)
        wait_for(opt.netserver)
    bench.wait_idle(0.05, opt.wait)
    bench.soaking([f'{opt.bin}/cyclesoak', '-C', '--force', '-f', 'calibration'], seconds=120)
    seen = {name: [] for name in measured}
    names = list(measured)
    for turn in range(opt.rounds):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            bench.wait_idle(0.05, opt.wait)
            function, options = measured[name]
            seen[name].append(function(options))
            noise.look()
    print(f'\nus/KiB of both ends, medians of {opt.rounds} rounds')
    print(f'{"":24}{"cost":>8}{"says":>8}  {"error, %":>24}')
    for name, pairs in seen.items():
        cost, said = (statistics.median(p[i] for p in pairs) for i in (0, 1))
        print(f'{name:24}{cost:8.3f}{said:8.3f}  {bench.middle([100 * (s / c - 1) for c, s in pairs]):>24}')
    bench.print_notes(noise)


parser = argparse.ArgumentParser(prog='tests/bench/claims', description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('-r', '--rounds', type=int, default=5, help='each takes every measurement once (default 5)')
parser.add_argument('-t', '--seconds', type=int, default=2, help='of a transfer, a whole number (default 2)')
parser.add_argument('--netperf', metavar='DIR', help='where netperf and netserver are')
parser.add_argument('--wait', type=float, default=bench.BUSY_SECONDS, metavar='SECS',
                    help='at most, for an idle machine (default %(default)g)')
parser.add_argument('--bin', default=bench.os.environ.get('BIN', bench.TOP), metavar='DIR',
                    help='of the programs (default: $BIN, else the source tree)')
opt = parser.parse_args()
opt.bin = bench.os.path.abspath(opt.bin)
bench.main(body)
