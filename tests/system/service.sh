#!/bin/sh
# The systemd units that are installed: systemd-analyze accepts them, and zcs their options; zcs tells the service
# manager when it is ready.
#
# seconds: 1
. "$TOP/tests/lib.sh"

for unit in zcs zcs-load; do
	# The programs and pages need not be installed where they are tested.
	sed "s,^ExecStart=/usr/local/bin/,ExecStart=$BIN/,; /^Documentation=/d" "$TOP/lib/receive/$unit.service" >$unit.service
	# Of the other units of the machine it prints what it pleases, below their paths.
	it "$unit.service: systemd-analyze accepts it, the exposure of zcs.service is at most 3, and zcs starts again, unless misused"; ( begin
		[ "$(grep -cxE 'StartLimitIntervalSec=0|Restart=on-failure|RestartSec=2|RestartPreventExitStatus=2' $unit.service)" -eq 4 ]
		need systemd-analyze
		systemd-analyze verify "$PWD/$unit.service" >out 2>&1
		cat out
		not grep "$unit\.service" out
		[ $unit != zcs ] || systemd-analyze security --offline=yes --threshold=30 zcs.service
	); ok
done
it 'zcs: the service manager is told that it is ready, by a path or an abstract name; one that cannot be told is named'; ( begin; need python3
	python3 - "$BIN/zcs" "@zc-$$" <<-'END'
		import os, select, socket, subprocess, sys
		unit = open("zcs.service").read().split("ExecStart=")[1].split("\n")[0].split()[1:]
		values = {"${ZCS_ALLOW}": ["127.0.0.0/8,::1"], "$ZCS_OPTIONS": ["-p", "0"]}
		options = sum([values.get(o, [o]) for o in unit], [])
		def run(name, why=None):
		    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		    s.settimeout(20)
		    if why is None: s.bind(name.replace("@", "\0"))
		    zcs = subprocess.Popen([sys.argv[1]] + options, stderr=-1, text=True, env={**os.environ, "NOTIFY_SOCKET": name})
		    if why is None: assert s.recv(100) == b"READY=1"
		    else: assert zcs.stderr.readline() == "zcs: NOTIFY_SOCKET %s: %s\n" % (name, why)
		    zcs.terminate()
		    assert zcs.wait() == 0
		full, s = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for i in range(2))
		full.bind("full")
		while s.connect_ex("full") == 0 and select.select([], [s], [], 0)[1]: s.send(b"x")
		run(os.getcwd() + "/notify")
		run(sys.argv[2])
		run("full", "Resource temporarily unavailable")
		run(108 * "x", "File name too long")
	END
); ok
finish
