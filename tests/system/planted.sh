#!/bin/sh
# Calibration files that will not do, some of which somebody else has planted.  tests/unit has what is in them, and
# directories in which others may plant things.
#
# seconds: 2
. "$TOP/tests/lib.sh"

echo secret-of-another >secret
mkdir read_here
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
a device|ln -s /dev/zero f
a FIFO|mkfifo f
another's file|ln -s ../secret f
of a machine with escape sequences in its name|fake_calibration "$(printf '\033[31mred \302\233')" >f
END
it 'a calibration that the user may not read: refused in one line'; ( begin
	can_be_user || skip_check "$not_user"
	fake_calibration >f
	chmod 0 f
	fails 'f: Permission denied: run .cyclesoak -C.' as_user "$BIN/cyclesoak" -1 -N 1 -f f
); ok
it './counts_per_sec is no calibration: refused, and no own baseline stands in for it'; ( begin
	echo x >counts_per_sec
	fails "^zcc: ./counts_per_sec is not a calibration file: run 'cyclesoak -C'$" "$BIN/zcc" -s 0 -p 1 -c -N 1 tiny
); ok
finish
