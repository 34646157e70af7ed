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
	it "$unit.service: systemd-analyze accepts it, and the exposure of zcs.service is at most 3"; ( begin; need systemd-analyze
		systemd-analyze verify "$PWD/$unit.service" >out 2>&1
		cat out
		not grep "$unit\.service" out
		[ $unit != zcs ] || systemd-analyze security --offline=yes --threshold=30 zcs.service
	); ok
done
it 'zcs.service: a system call that its filter lacks, as bpf(2) of --idle, fails and does not kill'; ( begin
	sed -n '/^SystemCallFilter=/,/^[^S]/p' zcs.service | grep -x SystemCallErrorNumber=EPERM
); ok
it 'units: a zcs whose --bind address comes late is started again without end, every two seconds, but not after a usage error'; ( begin
	fails 'Cannot assign requested address' "$BIN/zcs" -p 0 --bind 192.0.2.1
	fails_with 2 "option '--no-such'" "$BIN/zcs" --no-such
	for unit in zcs zcs-load; do
		sed -n '/^.Unit/,/^.Service/p' $unit.service | grep -x StartLimitIntervalSec=0
		grep -x Restart=on-failure $unit.service
		grep -x RestartSec=2 $unit.service
		grep -x RestartPreventExitStatus=2 $unit.service
	done
); ok
it 'zcs: the service manager is told that it is ready, by a path or an abstract name'; ( begin; need python3
	for name in "$PWD/notify" "@zc-$$"; do
		python3 - "$name" "$BIN/zcs" <<-'END'
			import os, socket, subprocess, sys
			name = sys.argv[1]
			s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
			s.bind(name.replace("@", "\0"))
			s.settimeout(20)
			unit = open("zcs.service").read().split("ExecStart=")[1].split("\n")[0].split()[1:]
			values = {"${ZCS_ALLOW}": ["127.0.0.0/8,::1"], "$ZCS_OPTIONS": ["-p", "0"]}
			options = sum([values.get(o, [o]) for o in unit], [])
			zcs = subprocess.Popen([sys.argv[2]] + options, env={**os.environ, "NOTIFY_SOCKET": name})
			assert s.recv(100) == b"READY=1"
			zcs.terminate()
			assert zcs.wait() == 0
		END
	done
); ok
it 'zcs: a service manager whose socket is full, or has too long a name, is named, and zcs serves on'; ( begin; need python3
	python3 - "$BIN/zcs" <<-'END'
		import os, select, socket, subprocess, sys
		full, s = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for i in range(2))
		full.bind("full")
		while s.connect_ex("full") == 0 and select.select([], [s], [], 0)[1]: s.send(b"x")
		def run(name, why):
		    zcs = subprocess.Popen([sys.argv[1], "-p", "0"], stderr=-1, text=True, env={**os.environ, "NOTIFY_SOCKET": name})
		    assert zcs.stderr.readline() == "zcs: NOTIFY_SOCKET %s: %s\n" % (name, why)
		    assert "listening on" in zcs.stderr.readline()
		    zcs.terminate()
		    assert zcs.wait() == 0
		run("full", "Resource temporarily unavailable")
		run(108 * "x", "File name too long")
	END
); ok
finish
