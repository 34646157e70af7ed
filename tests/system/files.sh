#!/bin/sh
# Every option that writes a file: what stands in its way, and what there was before.  The options are those of --help.
# tests/unit/files.c has links that are planted meanwhile, and a disk that is full in the middle.
#
# seconds: 4
. "$TOP/tests/lib.sh"

mkdir bin
printf '#!/bin/sh\ncat >/dev/null\necho "<svg></svg>"\n' >bin/gnuplot # a stand-in
chmod +x bin/*
PATH=$PWD/bin:$PATH
without_loads
start_zcs
grep -h '"comparison"' "$TOP/tests/helpers/plot.json" | head -n 1 >json

# writers: each option of --help that writes a file, behind its program
writers()
{
	for tool in zcc zcs cyclesoak run_rr zc-plot zc-hosts; do
		"$BIN/$tool" --help | awk -v tool=$tool '
			function end() { if (entry ~ /=FILE .*( to FILE|write it there)/) print tool, option }
			/^ *-/ { end(); entry = ""; match($0, /--[a-z-]+/); option = substr($0, RSTART, RLENGTH) }
			{ entry = entry " " $1; for (i = 2; i <= NF; i++) entry = entry " " $i }
			END { end() }'
	done
}
# writes TOOL OPTION FILE: makes the option write
writes()
{
	case "$1 $2" in
	'zcc --save') "$zcc" -q -s 0 -p "$PORT" --congestion reno -r 1 --save "$3" "$top/tiny" ;;
	'zcc --calibration') "$zcc" -C -N 1 -f "$3" ;;
	'cyclesoak --calibration') "$cyclesoak" -C --force -N 1 -f "$3" ;;
	'cyclesoak --save') "$cyclesoak" --idle -r 1 --save "$3" -- true ;;
	'cyclesoak --output') "$cyclesoak" --idle --output "$3" -- true ;;
	'zc-plot --output') "$BIN/zc-plot" -o "$3" "$top/json" ;;
	*) echo "say here how $1 $2 writes a file" >&2 && return 99 ;;
	esac
}
top=$PWD
# refused FILE: the option must fail, with a line that names the file; tests/run ends it if it waits for a FIFO
refused()
{
	got=0
	writes $option "$1" >out 2>err || got=$?
	cat out err
	[ $got -ne 0 ]
	[ $got -ne 99 ]
	grep "^${option% *}: .*$1" err
}
# rewritten: the option has written `f`
rewritten()
{
	writes $option f >out 2>err || { cat out err; return 1; }
	[ -s f ]
}

writers >writers
it 'each program that writes files is found by its --help'; ( begin
	for tool in zcc cyclesoak zc-plot; do grep -q "^$tool " writers; done
	grep -qx 'cyclesoak --output' writers
	[ "$(wc -l <writers)" -ge 6 ]
); ok
while read -r option <&3; do
	[ "${option% *}" != zc-plot ] || command -v python3 >/dev/null || continue
	beside "$option: a FIFO, a directory, a directory that is missing or a device is refused"; ( begin
		mkfifo fifo
		mkdir directory
		ln -s /dev/zero device
		for file in fifo directory none/file device; do
			refused $file
		done
		[ "$(echo *)" = 'check.log device directory err fifo out' ]
	) & later
	beside "$option: another user's link, to a file or a directory, is not followed"; ( begin
		[ "$(id -u)" -eq 0 ] || skip_check 'needs root'
		echo precious >precious
		mkdir there
		cp precious there/
		ln -s precious link
		ln -s there to
		chown -h 65534 link to
		refused link
		refused to/precious
		[ "$(cat precious there/precious)" = "$(printf 'precious\nprecious')" ]
		[ "$(readlink link)" = precious ]
	) & later
	case $option in *calibration) continue ;; esac # these soak first: cyclesoak.sh has them
	case $option in
	*--save)
		beside "$option: a second time it adds to the file, whose mode it keeps"; ( begin
			rewritten
			chmod 640 f
			cp f first
			rewritten
			[ "$(stat -c %a f)" = 640 ]
			head -c "$(wc -c <first)" f | cmp - first
			counts -eq 2 grep -c '	#	runs: ' f
		) & later
		;;
	*)
		beside "$option: a second time it leaves nothing of what was longer, and keeps the mode"; ( begin
			yes old | head -n 9999 >f
			chmod 640 f
			rewritten
			[ "$(stat -c %a f)" = 640 ]
			not grep -q old f
		) & later
		;;
	esac
done 3<writers
together
finish
