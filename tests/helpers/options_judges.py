"""The judges of tests/helpers/options: each yields a sentence for whatever is wrong with a program or a case.

A program p has what its command line was made of (name, values, command, bad) and what it did (status,
out, err, seconds); a case has its sender, and maybe a receiver.
"""
import collections
import json
import math
import re

STDERR_LINES = 6 # the most without -d; zcs may have 20 more in each 10 s, about its clients, and zcc one a run


def judge_status(p):
    allowed = {0, 1, 2}
    if p.command is not None:
        allowed = {125, p.command} | ({128 - p.command} if p.name == 'run_rr' and p.command > 128 else set())
    elif p.name == 'run_rr':
        allowed |= {125, 126, 127} # of the shell
    if p.bad:
        allowed = {2 if p.command is None else 125}
    if p.status not in allowed | ({0} if is_informed(p) else set()):
        yield f'exit status {p.status}, not one of {sorted(allowed)}'


def judge_stderr(p):
    lines = p.err.splitlines()
    each = 20 * (1 + p.seconds // 10) if p.name == 'zcs' else runs(p)
    if len(lines) > STDERR_LINES + each and not p.has('--debug'):
        yield f'{len(lines)} lines on stderr'
    if p.status in (1, 2, 125) and p.status != p.command and not lines:
        yield 'a failure without a line on stderr'
    if is_usage_error(p) and (len(lines) != 1 or p.out):
        yield f'{len(lines)} lines on stderr for a usage error, and {len(p.out)} bytes on stdout'
    for line in p.err.split('\n')[:-1] + p.err.splitlines()[-1:]:
        if not line.startswith(f'{p.name}: ') or re.search('[\x00-\x1f\x7f]', line) or p.err[-1] != '\n':
            yield f'a line on stderr without name or end, or with control characters: {line[:200]!r}'


def judge_figures(p):
    """No figure is NAN, infinite or an unsigned difference below 0; none is of a command that did not run."""
    found = re.search(r'(?i)(?<![a-z])-?(nan|inf)(?![a-z])|1844674407\d+', p.out)
    if found and not is_informed(p):
        yield f'a figure is {found.group()}'
    if p.name == 'cyclesoak' and p.command in (126, 127) and re.search('load|percent', p.out) and not is_informed(p):
        yield 'it prints a load of a command that never ran'


def judge_json(p):
    if not p.has('--json') or p.status is None or is_informed(p) or is_usage_error(p):
        return
    try:
        objects = parse_json(p.out)
    except ValueError as e:
        yield f'stdout is not JSON: {e}'
        return
    failed = p.status != 0 if p.command is None else p.status == 125 or p.command in (126, 127)
    if failed and not (objects and objects[-1].get('error')) and (objects or p.status != 125):
        yield 'it failed, and its last object has no error'
    if p.name != 'zcs' and any('error' in o for o in (objects[:-1] if failed else objects)): # zcs serves the next
        yield 'an object other than the last of a run that failed has an error'
    if p.name != 'zcc' or p.has('--calibrate'):
        return
    wanted = runs(p) + is_comparison(p)
    if len(objects) > wanted or not failed and len(objects) < wanted:
        yield f'{len(objects)} objects for {runs(p)} runs'
    if not failed and not p.has('--request'):
        starts = [o['start']['test_start'] for o in objects[:runs(p)]]
        found = collections.Counter((s['method'], s['blksize'], s['num_streams']) for s in starts)
        if len(found) != math.prod(map(len, lists(p))) or len(set(found.values())) > 1:
            yield f'the runs are not each combination of the lists, equally often: {dict(found)}'


def judge_bytes(case):
    """Status 0: what zcc claims is what was to be sent, and what came to the other end, which may count headers, too."""
    p, zcs, claimed, received = case.sender, case.receiver, claimed_bytes(case.sender), None
    if None not in (case.expected, claimed) and claimed != case.expected:
        yield f'zcc claims {claimed} bytes, {case.expected} were to be sent'
    claimed = claimed if case.expected is None else case.expected
    if zcs is None:
        yield 'status 0, and nobody was listening'
    elif zcs.has('--raw') or not case.raw and not zcs.has('--reply'):
        received = received_bytes(zcs)
    if None not in (claimed, received):
        headers = 0 if case.raw or not zcs.has('--raw') else case.headers
        if received < claimed + (headers or 0) or headers is not None and received > claimed + headers:
            yield f'zcc claims {claimed} bytes, and {headers} of headers; {received} were received'


def judge_requests(case):
    """Status 0: zcs sent what zcc claims, and more only where connections failed or were cut off."""
    p, zcs = case.sender, case.receiver
    replies = zcs is not None and zcs.has('--reply')
    if zcs is None or not replies and p.values['--request'] != '0': # any end of stream answers that
        yield 'status 0, and nobody replies'
    elif replies and p.has('--json') and zcs.status == 0:
        sizes = parse_json(p.out)[0]['requests']
        claimed = sum(size['bytes'] for size in sizes)
        served = parse_json(zcs.out)[-1]['bytes'] if zcs.has('--json') else int(re.search(r'(\d+) bytes?', zcs.out)[1])
        exact = not p.has('--time') and not any(sum(size['failed'].values()) for size in sizes)
        if served < claimed or exact and served > claimed:
            yield f'zcc claims {claimed} bytes of replies, zcs sent {served}'


OF_PROGRAMS = (judge_status, judge_stderr, judge_figures, judge_json)


def is_informed(p):
    """Whether it prints its help or version, whatever else is asked of it."""
    return p.has('--help') or p.has('--version')


def is_usage_error(p):
    return p.status == 2 or p.bad and p.status not in (0, None)


def lists(p):
    """The methods, buffer sizes and streams of which each combination is a run, by each instrument."""
    return [p.values.get(option, '1').split(',') for option in ('--method', '--buffer-size', '--streams')]


def instruments(p):
    return 2 if p.has('--cpu-load') and p.has('--idle') else 1


def is_comparison(p):
    return not p.has('--request') and (any(len(values) > 1 for values in lists(p)) or instruments(p) > 1 or
                                       any(map(p.has, ('--runs', '--save', '--against'))))


def runs(p):
    """How many transfers, or all requests, have an object each."""
    return instruments(p) * math.prod(map(len, lists(p))) * int(p.values.get('--runs', 5)) if is_comparison(p) else 1


def all_bytes(p, key, pattern):
    """The bytes in the reports of a program, with those of warm-ups."""
    if p.has('--json'):
        sums = [o['end'][key] for o in parse_json(p.out) if 'comparison' not in o]
        return sum(s['bytes'] + s.get('warmup_bytes', 0) for s in sums)
    found = re.findall(f'(?m){pattern}|warm-up, ([\\d,]+) bytes?|after (\\d+) bytes? of warm-up', p.out)
    return sum(int(''.join(n).replace(',', '')) for n in found)


def claimed_bytes(p):
    """None where zcc prints none."""
    is_short = not p.has('--json') and (p.has('--quiet') or is_comparison(p))
    return None if is_short else all_bytes(p, 'sum_sent', r'^ +bytes +([\d,]+)')


def received_bytes(zcs):
    """None where zcs counts small clients together, or omits some."""
    omits = re.search(r'(?m)^(?!total).*\bclients\b', zcs.out) or 'about clients were omitted' in zcs.err
    return None if omits and not zcs.has('--json') else all_bytes(zcs, 'sum_received', r'^(?!total).* (\d+) bytes? in ')


def parse_json(text):
    """The objects of a text that is nothing else, a line each; ValueError says what it is."""
    def unique(pairs):
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError('a member is there twice')
        return dict(pairs)

    # int() is a ValueError of NaN and Infinity, which are not JSON.
    objects = [json.loads(line, object_pairs_hook=unique, parse_constant=int) for line in text.split('\n')[:-1]]
    if not all(isinstance(o, dict) for o in objects) or text[-1:] not in ('', '\n'):
        raise ValueError('not an object on each line')
    return objects
