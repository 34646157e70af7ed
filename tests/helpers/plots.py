#!/usr/bin/env python3
"""Usage: plots.py ZC-PLOT REPORTS SEED NUMBER >SCRIPT

Gives zc-plot so many reports with values of all kinds in the place of others, and prints what it gives gnuplot, in which each
number of a data block must be one."""

import contextlib
import copy
import importlib.machinery
import importlib.util
import io
import json
import math
import os
import random
import re
import sys
from types import SimpleNamespace

path, reports, seed, count = sys.argv[1:]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("zc_plot", path)
plot = importlib.util.module_from_spec(importlib.util.spec_from_loader("zc_plot", loader))
loader.exec_module(plot)

COMMANDS = ["system('touch made')", "!touch made", "`touch made`", "plot '<touch made'", "set output 'made'", "set print 'made'"]
VALUES = [*(f"1\nEOD\n{c}\n$x << EOD\n1 2 3" for c in COMMANDS), *(f"x'\n{c}\n'" for c in COMMANDS), *(f"'.({c}).'" for c in COMMANDS),
          *COMMANDS, "it's", "'", "\\", '"', "\n", "%d%n%s", "@x", "", "\x1b[31m", "\u202e\ud800", 10**400, 1e300, math.inf, math.nan, -1,
          0, 1, 1e-300, True, None, [], {}, [[]], [1], {"mean": "1\nEOD\n!touch made"}]  # fmt: skip


def places(value):
    """Each container within a value, with a key of it."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


scripts = []
seen = lambda command, input, **_: scripts.append(input.decode()) or SimpleNamespace(returncode=0, stdout=b"</svg>\x89PNG", stderr=b"")
plot.subprocess.run = seen
plot.shutil.which = lambda name: name
plot.write_picture = lambda path, picture: None
rng, failed = random.Random(int(seed)), 0
with open(reports, encoding="utf-8") as file:
    good = [json.loads(line) for line in file]
for i in range(int(count)):
    first = rng.randrange(len(good))
    objects = copy.deepcopy(good[first : first + 4] if "seconds" in good[first] else [good[first]])
    for _ in range(rng.randint(1, 3)):
        where, key = rng.choice(list(places(objects)))
        where[key] = copy.deepcopy(rng.choice(VALUES))
        if isinstance(where, dict) and rng.random() < 0.1:
            where[rng.choice([v for v in VALUES if isinstance(v, str)])] = where.pop(key)
    text = "\n".join(map(json.dumps, objects))
    with open("report", "w", encoding="utf-8") as file:
        file.write(text)
    sys.argv, err = ["zc-plot", "-o", "made", "report"], io.StringIO()
    plot.dropped.clear()
    with contextlib.redirect_stderr(err):
        status = plot.main()
    lines = err.getvalue().count("\n")
    assert status in (0, 1) and lines <= 1 and (status == 0 or lines == 1), (status, err.getvalue(), text)
    failed += status
os.remove("report")
for script in scripts:
    for block in re.findall(r"^\$\w+ << EOD\n((?:.*\n)*?)EOD$", script, re.M):
        assert all(math.isfinite(float(word)) for word in block.split()), block
    print(script.replace("set terminal svg", "set terminal dumb #") + "reset session")
print(f"{len(scripts)} of {count} were drawn", file=sys.stderr)
assert len(scripts) + failed == int(count) and len(scripts) > int(count) / 3
