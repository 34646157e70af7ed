#!/bin/sh
# Calibration files that will not do, some of which somebody else has planted.  tests/unit has what is in them,
# calibration.sh directories in which others may plant things.
#
# seconds: 4
. "$TOP/tests/lib.sh"

printf x >tiny
echo secret-of-another >secret
mkdir read_here
# fake EDIT: a calibration that sed(1) has edited
fake()
{
	fake_calibration | sed "$1"
}
while IFS='|' read -r what command; do
	it "a calibration that is $what: refused in one line by cyclesoak, zcs -c and zcc -c"; ( begin
		cd read_here
		rm -rf f
		eval "$command"
		fails '^cyclesoak: .*f.*: run .cyclesoak -C.' timeout 20 "$BIN/cyclesoak" -1 -N 1 -p 0.1 -f f
		fails '^zcs: .*cyclesoak -C' timeout 20 "$BIN/zcs" -p 0 -c -N 1 -f f
		fails '^zcc: .*cyclesoak -C' timeout 20 "$BIN/zcc" -s 0 -p 1 -c -N 1 -f f ../tiny
		not grep secret out err
		is_text err
	); ok
done <<'END'
missing|:
empty|: >f
5 GiB of zeros|truncate -s 5G f
a device|ln -s /dev/zero f
a socket|"$HELPERS/net" socket f
a FIFO|mkfifo f
a directory|mkdir f
a link to itself|ln -s f f
a file in /proc|ln -s /proc/self/environ f
another's file|ln -s ../secret f
binary|head -c 100000 /dev/urandom >f
not a number|fake 's/ 1000000 / nan /' >f
for 2^32 CPUs|fake 's/^cpus .*/cpus 0-4294967295/' >f
of another version|fake 's/^soaker .*/soaker 999/' >f
full of escape sequences|printf '\033[2J\033[31m 1\n' >f
of a machine with escape sequences in its name|fake_calibration "$(printf '\033[31mred \302\233')" >f
END
if can_be_user; then
	it 'a calibration that the user may not read: refused in one line'; ( begin
		fake_calibration >f
		chmod 0 f
		fails 'f: Permission denied: run .cyclesoak -C.' as_user "$BIN/cyclesoak" -1 -N 1 -f f
	); ok
else
	skip 'a calibration that the user may not read' "$not_user"
fi

finish
