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
check 'each option that writes a file is found by --help' counts -ge 6 lines_in writers
while read -r option <&3; do
	[ "${option% *}" != zc-plot ] || command -v python3 >/dev/null || continue
	beside "$option: a FIFO, a directory and another user's link are refused; a second time the file keeps its mode, and nothing of what was longer"; ( begin
		mkfifo fifo
		mkdir directory
		refused fifo
		refused directory
		[ "$(echo *)" = 'check.log directory err fifo out' ]
		if [ "$(id -u)" -eq 0 ]; then
			echo precious >precious
			ln -s precious link
			chown -h 65534 link
			refused link
			[ "$(cat precious) $(readlink link)" = 'precious precious' ]
		fi
		case $option in *calibration) exit 0 ;; esac # these soak first: cyclesoak.sh has them
		rewritten
		chmod 640 f
		cp f first
		case $option in
		*--save) # a session is added to those that there are
			rewritten
			head -c "$(wc -c <first)" f | cmp - first
			counts -eq 2 grep -c '	#	runs: ' f
			;;
		*)
			yes stale | head -n 9999 >f
			rewritten
			not grep -q stale f
			;;
		esac
		[ "$(stat -c %a f)" = 640 ]
	) & later
done 3<writers
together
finish
