"""How results.py shows its figures: the tables, in the shape of the documents they are laid beside, the
tab-separated values and the plots.  A row is a dictionary of a case and of the medians of its figures."""
import os
import platform

INTERVAL_COLUMNS = 'method round start end bytes kbytes_per_sec load_percent cost_us_per_kib'.split()


def show(row, name, form, unit=''):
    return '-' if row.get(name) is None else f'{row[name]:{form}}{unit}'


def percent(row, name):
    return show(row, name, '.1f', '%')


def cost(row, to=''):
    return show(row, f'{to}cost_us_per_kib', '.3f')


def rate(row):
    return show(row, 'kbytes_per_sec', '.0f')


def load(row, to=''):
    """The columns of a load: itself, half of its interval, and the cost."""
    return (f'{percent(row, to + "load_percent"):>7} {percent(row, to + "load_uncertainty_percent"):>7} '
            f'{cost(row, to):>8}')


def heading(facts):
    mtu = 'not known' if facts['mtu'] is None else facts['mtu']
    taken = f'{facts["seconds"]:g} s each (splice: twice that).'
    if facts['repeats'] > 1:
        taken = f'Medians of {facts["repeats"]} runs, taken in turn, of {taken}'
    else:
        taken = f'One run of {taken}'
    return '\n'.join([f'{facts["kernel"]}, {facts["cpus"]} CPUs: {facts["cpu_model"]}',
                      f'{facts["date"]}: {facts["command"]}',
                      f'Interface {facts["interface"]}: driver {facts["driver"]}, MTU {mtu}, congestion control '
                      f'{facts["congestion_control"]}', f'Offloads: {facts["offloads"]}', f'{facts["ends"]}.', taken])


#
# Files.
#

def write_tsv(path, columns, rows):
    def text(value):
        return '' if value is None else f'{value:.10g}' if isinstance(value, (int, float)) else str(value)
    with open(path, 'w', encoding='utf-8') as f:
        for values in [columns, *([row.get(name) for name in columns] for row in rows)]:
            f.write('\t'.join(map(text, values)) + '\n')


def interval_rows(experiment):
    for method, number, interval in experiment.intervals:
        row = {'method': method, 'round': number, 'kbytes_per_sec': interval['bits_per_second'] / 8192}
        yield row | {name: interval[name] for name in INTERVAL_COLUMNS if name in interval}


#
# Tables: each yields lines.
#

def table_requests(rows, opt, facts, _experiment):
    yield f'server {facts["kernel"]}, {facts["cpus"]} CPUs: {facts["cpu_model"]}'
    yield ''
    yield opt.client
    for row in rows:
        yield f'{row["bytes"]} bytes {row["connections_per_sec"]:.2f} conn/s'
    yield ''
    yield 'As the client printed it'
    for row in rows:
        yield (f'{row["bytes"]:8d} bytes {row["seconds"]:10.2f}s {row["kbytes"]:12.2f}KiB '
               f'{row["connections_per_sec"]:12.2f}conn/s {row["kbytes_per_sec"]:13.2f}KiB/s')
    yield ''
    yield 'What a connection took, ms            p50        p90        p99        max'
    for row in rows:
        for what in 'connect', 'first_byte', 'total':
            size = f'{row["bytes"]:8d} bytes' if what == 'connect' else ''
            times = ' '.join(f'{show(row, f"{what}_{p}_ms", ".3f"):>10}' for p in ('p50', 'p90', 'p99', 'max'))
            yield f'{size:<14} {what.replace("_", " "):<14} {times}'
    yield ''
    yield '                   load      +-  us/conn  connections   stalled    failed'
    for row in rows:
        yield (f'{row["bytes"]:8d} bytes  {percent(row, "load_percent"):>7} '
               f'{percent(row, "load_uncertainty_percent"):>7} {show(row, "cost_us_per_connection", ".1f"):>8} '
               f'{row["connections"]:12.0f} {row["stalls"]:9.0f} {row["failed"]:9.0f}')
    yield ''
    system = facts.get('reply_congestion_control')
    yield f'zcs --reply sends by the congestion control of its system{f": {system}" if system else ""}.'


def table_writes(rows, opt, _facts, _experiment):
    headings = {'none': 'zcc -S', 'cork': 'zcc -S -k: TCP_CORK', 'nodelay': 'zcc -S --nodelay: TCP_NODELAY'}
    times = '     "idle"    user  system softirq'
    last = None
    for row in rows:
        if row['option'] != last:
            if last:
                yield ''
            last = row['option']
            yield headings[last]
            yield ' ' * 47 + '    SEND            % of total time   RECV            % of total time'
            yield f'buffer  kbytes/sec  writes/sec     load    us/KiB{times}{times}'
        slow = row['kbytes_per_sec'] < 100
        line = (f'{row["bytes"]:6d} {show(row, "kbytes_per_sec", ".2f" if slow else ".0f"):>11} '
                f'{row["calls_per_sec"]:11.0f} {percent(row, "load_percent"):>8} {cost(row):>9}')
        for to in '', 'receiver_':
            left, user, system, softirq = (percent(row, f'{to}{name}_percent')
                                           for name in ('left', 'user', 'system', 'softirq'))
            line += f'   {left:>8} {user:>7} {system:>7} {softirq:>7}'
        yield line
    yield ''
    yield 'The time by the accounting of the kernel; "idle" is what the soakers had, or nobody.'
    if opt.own:
        yield 'Both ends are on one machine, and it is shown twice: for the time of each end.'


def table_sweep(rows, opt, _facts, _experiment):
    yield 'send() results, against transfer buffer size'
    yield '============================================'
    yield ''
    yield f'{"":18}{platform.release()}'
    receiver = '' if opt.own else '    receiver CPU    us/KiB'
    yield f'{"":18}   CPU      +-     us/KiB   (least   greatest)    kbytes/sec{receiver}'
    yield ''
    for row in rows:
        line = (f'{row["bytes"]:<16d} {percent(row, "load_percent"):>7} {percent(row, "load_uncertainty_percent"):>7} '
                f'{cost(row):>10} {show(row, "cost_us_per_kib_min", ".3f"):>9} '
                f'{show(row, "cost_us_per_kib_max", ".3f"):>9} {rate(row):>14}')
        if not opt.own:
            line += f' {percent(row, "receiver_load_percent"):>15} {cost(row, "receiver_"):>9}'
        yield line


def table_methods(rows, _opt, _facts, _experiment):
    kernel, last, copied = platform.release(), None, None
    yield ' ' * (len(kernel) + 18) + '  kbytes/sec     CPU      +-   us/KiB      ints    rx pps    tx pps'
    for row in rows:
        if row['receive'] != last:
            if last:
                yield ''
            last = row['receive']
            yield 'to recv() with MSG_TRUNC:' if last == 'trunc' else f'to {last}():'
        method = 'zerocopy:' if row['send'] == 'zerocopy' else f'{row["send"]}():'
        yield f'    {kernel}, {method:<12} {rate(row):>11} {load(row)} {packets(row)}'
        if row.get('receiver_load_percent') is not None:
            yield (f'    {"":{len(kernel)}}  {"receiving:":<12} {"":11} {load(row, "receiver_")} '
                   f'{packets(row, "receiver_")}')
        copied = row.get('zerocopy_copied_percent', copied)
    yield ''
    yield 'The throughput differs: us/KiB says what is cheaper, the CPU column only how much was used.'
    if copied is not None:
        yield f'Of what zerocopy sent, the kernel copied {copied:.0f}% after all.'


def packets(row, to=''):
    return ' '.join(f'{show(row, to + name, ".0f"):>9}' for name in ('interrupts_per_sec', 'rx_pps', 'tx_pps'))


def table_binding(rows, _opt, _facts, _experiment):
    by = {(row['cpus'], row['method']): row for row in rows}
    yield 'Local networking'
    yield '================'
    yield ''
    yield f'{"":32}{"kbytes/sec":<33} {"CPU":<20} us/KiB'
    yield f'{"":32}sendfile()     send(8k)    sendfile()  send(8k)  sendfile()  send(8k)'
    for cpus, title in (('none', 'No binding'), ('separate', 'Sender and receiver bound to separate CPUs'),
                        ('same', 'Sender and receiver bound to the same CPU')):
        a, b = by.get((cpus, 'sendfile'), {}), by.get((cpus, 'send'), {})
        yield ''
        yield title
        yield (f'  {platform.release() + ":":<28} {rate(a):>11} {rate(b):>12} {percent(a, "load_percent"):>13} '
               f'{percent(b, "load_percent"):>9} {cost(a):>11} {cost(b):>9}')


def table_splice(rows, _opt, _facts, experiment):
    """The intervals are those of the round whose throughput is nearest to the median."""
    for row in rows:
        rates = experiment.rows[row['method'],]['kbytes_per_sec']
        shown = min(range(len(rates)), key=lambda i, row=row, rates=rates: abs(rates[i] - row['kbytes_per_sec'])) + 1
        yield f'zcc -m {row["method"]}'
        for i in interval_rows(experiment):
            if (i['method'], i['round']) == (row['method'], shown):
                yield (f'[{i["start"]:4.1f}-{i["end"]:4.1f} sec] {i["bytes"] / (1 << 30):7.2f} GBytes '
                       f'{i["kbytes_per_sec"] * 8192 / 1e9:8.2f} Gbits/sec  load {percent(i, "load_percent"):>6}  '
                       f'{cost(i)} us/KiB')
        yield ''
    yield 'all of it      Gbits/sec   (least  greatest)    load      +-   us/KiB'
    for row in rows:
        middle, least, greatest = (row[f'kbytes_per_sec{end}'] * 8192 / 1e9 for end in ('', '_min', '_max'))
        yield f'{row["method"]:<14} {middle:9.2f} {least:8.2f} {greatest:10.2f} {load(row)}'


def mount_of(path):
    """The kind of the file system, rsize and wsize, by /proc/self/mounts."""
    if path.startswith('nfs://'):
        return 'nfs-cat', '-', '-'
    while not os.path.ismount(path):
        path = os.path.dirname(path)
    found = '?', '-', '-'
    with open('/proc/self/mounts', encoding='utf-8') as f:
        for _device, where, kind, options, *_ in map(str.split, f):
            if where.encode().decode('unicode_escape') == path:
                sizes = dict(word.split('=', 1) for word in options.split(',') if '=' in word)
                found = kind, sizes.get('rsize', '-'), sizes.get('wsize', '-')
    return found


def nfs_lines(row, context):
    kind, rsize, wsize = mount_of(context['nfs'])
    form = '  {:<20} {:>7} {:>7} {:>11} {:>9} {:>7} {:>8}'
    yield 'NFS client results'
    yield '=================='
    yield ''
    yield f'Reading {context["pass_bytes"] >> 20} MiB of a file, {context["passes"]} times; {kind}.'
    if not kind.startswith(('nfs', 'fuse')):
        yield f'This is no NFS: the file system is {kind}.'
    yield ''
    yield form.format('Kernel', 'rsize', 'wsize', 'mbyte/sec', 'CPU', '+-', 'us/KiB')
    yield ''
    yield form.format(platform.release(), rsize, wsize, show(row, 'mbytes_per_sec', '.1f'),
                      percent(row, 'load_percent'), percent(row, 'load_uncertainty_percent'), cost(row))
    yield ''
    yield 'For the load of the server, run cyclesoak there meanwhile.'
    yield ''


def table_traffic(rows, _opt, _facts, experiment):
    names = {'zcc_raw': 'zcc --raw', 'zcc_raw_send': 'zcc --raw -S', 'iperf3': 'iperf3', 'iperf3_Z': 'iperf3 -Z'}
    kernel = platform.release()
    for row in rows:
        if row['traffic'] == 'nfs':
            yield from nfs_lines(row, experiment.context)
    if others := [row for row in rows if row['traffic'] != 'nfs']:
        yield ' ' * (len(kernel) + 34) + '  kbytes/sec     CPU      +-   us/KiB'
        for row in others:
            yield f'    {kernel}, sending with {names[row["traffic"]] + ":":<14} {rate(row):>11} {load(row)}'
        yield ''
        yield 'Over the whole run of the program, its start and end included.'


TABLES = {name.removeprefix('table_'): table for name, table in list(globals().items()) if name.startswith('table_')}


#
# Plots: gnuplot's commands, with the data inside.
#

def figure(row, name):
    return ' '.join(f'{row[name + end]:.10g}' if name in row else '?' for end in ('', '_min', '_max'))


def plot_requests(rows):
    data = [f'{row["bytes"]} {figure(row, "connections_per_sec")}' for row in rows]
    return 'Connections per second against reply size', data, '''set logscale x 10
set xrange [5:2e6]
set xlabel "bytes asked for"
set ylabel "connections/s"
set xtics ("10" 10, "100" 100, "1000" 1000, "10 000" 1e4, "100 000" 1e5, "1 000 000" 1e6)
set yrange [0:*]
set format y "%.0f"
plot $data using 1:2 with lines ls 1 notitle, $data using 1:2:3:4 with yerrorbars ls 1 notitle'''


def plot_sweep(rows):
    data = [f'{row["bytes"]} {figure(row, "load_percent")} {figure(row, "cost_us_per_kib")}' for row in rows]
    return 'read() and send(): load and cost against buffer size', data, '''set logscale x 2
set xrange [200:85000]
set xlabel "size of the buffer, bytes"
set ylabel "load, percent of all CPUs"
set y2label "cost, microseconds of CPU per KiB"
set xtics (256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
set yrange [0:*]
set y2range [0:*]
set y2tics nomirror out
set format y2 "%.1f"
set border 11
set bmargin 6
set key at screen 0.5, screen 0.03 center horizontal
plot $data using 1:2 with lines ls 1 notitle, $data using 1:2:3:4 with yerrorbars ls 1 title "load (left)", \\
    $data using 1:5 axes x1y2 with lines ls 2 notitle, \\
    $data using 1:5:6:7 axes x1y2 with yerrorbars ls 2 title "cost (right)"'''


def plot_methods(rows):
    send, receive = (list(dict.fromkeys(row[end] for row in rows)) for end in ('send', 'receive'))
    by = {(row['send'], row['receive']): figure(row, 'cost_us_per_kib') for row in rows}
    data = [' '.join([s] + [by.get((s, r), '? ? ?') for r in receive]) for s in send]
    colors = '#0072b2 #d55e00 #009e73 #cc79a7'.split()
    bars = ', '.join(f'$data using {3 * j + 2}:{3 * j + 3}:{3 * j + 4}:xtic(1) title "to {r}" lc rgb "{colors[j]}"'
                     for j, r in enumerate(receive))
    return 'What each way to send costs, to each way to receive', data, f'''set style data histograms
set style histogram errorbars gap 1 lw 1
set style fill solid 0.8 border -1
set boxwidth 0.9
set yrange [0:*]
set xlabel "way to send"
set ylabel "microseconds of CPU per KiB"
set bmargin 6
set key at screen 0.5, screen 0.03 center horizontal
plot {bars}'''


PLOTS = {'requests': plot_requests, 'sweep': plot_sweep, 'methods': plot_methods}


def plot(name, rows, opt, facts, path):
    title, data, commands = PLOTS[name](rows)
    control = facts['congestion_control']
    if name == 'requests':
        control = facts.get('reply_congestion_control', 'not known')
    points = f'medians of {opt.repeats}, bars from the least to the greatest' if opt.repeats > 1 else 'one run'
    where = f'{facts["kernel"]}, {facts["interface"]}, {control}; {points}'.replace('"', "'").replace('\\', "'")
    quoted = path.replace("'", "''")
    return '\n'.join(['set terminal svg noenhanced size 900,560 font "Helvetica,14" background rgb "white"',
                      f"set output '{quoted}'", 'set datafile missing "?"',
                      'set grid ytics lc rgb "#dddddd"; set border 3; set tics nomirror out',
                      'set style line 1 lc rgb "#0072b2" lw 2 pt 7 ps 0.8',
                      'set style line 2 lc rgb "#d55e00" lw 2 pt 5 ps 0.8',
                      f'set title "{title}\\n{where}" font ",15"', '$data << END', *data, 'END', commands, ''])
