#!/bin/sh
# --help and --version of the four programs, what the man pages and README have in common with it, the hints for those
# who know the options of iperf3, and options that would have no effect.
#
# seconds: 2
. "$TOP/tests/lib.sh"

tools='zcc zcs cyclesoak run_rr'

it '--version has the version of the Makefile; --help, in 79 columns, usage, options with texts, examples'; ( begin
	for tool in $tools; do
		exits 0 "$BIN/$tool" --version
		echo "$tool $(sed -n 's/^VERSION *= *//p' "$TOP/Makefile")" | diff - out
		exits 0 "$BIN/$tool" --help
		not [ -s err ]
		is_text out
		no_wider 79 out
		grep -q "^Usage: $tool \[OPTION...\]\|^Usage: $tool -C \[OPTION...\]" out
		grep -q '^Exit status: ' out
		[ "$(sed '1,/^Examples:$/d' out | grep -c "^  $tool .*    *[a-z]")" -ge 2 ]
		grep -q "^The manual is $tool(1)" out
		sed -n 's/^ \{2,6\}\(-.*\)/\1/p' out | not grep -vE '^(-[A-Za-z0-9], )*(-[A-Za-z0-9]|--[a-z-]+(=[A-Z=]+)?)  +[a-z]'
	done
); ok
it 'every option of --help has an entry in the man page, and the other way round; neither names one that does not exist'; ( begin
	for tool in $tools zc-hosts zc-plot; do
		case $tool in zc-*) command -v python3 || continue ;; esac
		"$BIN/$tool" --help >out </dev/null
		{
			sed -n 's/^ \{2,6\}\(-.*\)/\1/p' out | sed 's/  .*//; s/=.*//; s/, /\n/g' | sed 's/^/entry /'
			grep -o -e '--[a-z][a-z-]*' out
		} | LC_ALL=C sort -u >help
		{
			grep '^\.It Fl' "$TOP/man/$tool.1" | sed 's/^\.It //; s/ , /\n/g' |
			    sed 's/^Fl Fl /--/; s/^Fl /-/; s/[ =].*//; s/^/entry /'
			grep -oE "Fl (Fl |-)[a-z][a-z-]*" "$TOP/man/$tool.1" | sed "s/Fl Fl /--/; s/Fl -/--/"
		} | grep -vx -e '\(entry \)*--file' | LC_ALL=C sort -u >manual
		case $tool in zc-*) sed -i '/^entry /!d' help manual ;; esac # they name options of zcc, too
		diff help manual || { echo "$tool: < is in --help, > in its page"; exit 1; }
	done
); ok
it '--help has the methods that the program knows, the manual each of them, README their number'; ( begin
	for pair in zcc-send zcs-receive; do
		tool=${pair%-*}
		list=$(methods_of $tool | paste -sd , | sed 's/,/, /g')
		exits 2 "$BIN/$tool" -m foo
		grep -E "( of |\()$list\)?$" err
		for m in $(methods_of $tool); do
			grep -qx "\.It Cm $m" "$TOP/man/$tool.1"
		done
		grep -q "^ *${pair#*-} methods  .*  $(methods_of $tool | wc -l)$" "$TOP/README"
	done
); ok

it 'each option that is a number has its bounds'; ( begin
	for tool in $tools; do
		for option in $("$BIN/$tool" --help | sed -n 's/^ \{2,6\}\(-.*\)=[A-Z].*/\1/p' | sed 's/.*, //'); do
			timeout 20 "$BIN/$tool" $option 99999999999999999999 2>&1 </dev/null |
			    sed -n "s/.* is n[a-z]* \(0 nor \)*between \(.*\) and \([0-9]*\)%*\( seconds\)*$/$option \1\2 \3/p"
		done | paste -sd , | sed "s/^/$tool: /; s/ 0 nor / 0 or /g; s/,/, /g" | fold -s -w 120 | sed 's/ *$//'
	done >bounds
	diff - bounds <<-'END'
		zcc: --loops 1 4294966294, --time 0.001 1000000000, --bytes 1 1125899906842624, --warmup 0 100, --streams 1 1024,
		--request 0 4294967295, --buffer-size 1 1073741824, --runs 1 1000, --precision 0.0001 100, --fail-above 0.01 1000,
		--settle 0 86400, --port 1 65535, --rcvbuf 1 1073741824, --sndbuf 1 1073741824, --wait-server 0 86400, --cport 1 65535,
		--dscp 0 63, --mss 88 32767, --pace 1 1125899906842624, --timeout 0 or 0.001 86400, --cpus 1 8192, --wait 0 86400,
		--wait-idle 1 86400, --retry 0 1000, --interval 0 or 0.01 86400
		zcs: --buffer-size 1 1073741824, --max-reply 0 4294967296, --max-clients 1 1000000, --idle-timeout 0 86400, --port 0
		65535, --rcvbuf 1 1073741824, --sndbuf 1 1073741824, --cpus 1 8192, --interval 0 or 0.01 86400
		cyclesoak: --cpus 1 8192, --wait 0 86400, --wait-idle 1 86400, --period 0.01 1000000, --count 1 1000000000, --retry 0
		1000, --runs 1 1000, --precision 0.0001 100, --fail-above 0.01 1000, --settle 0 86400
		run_rr: --priority 1 99
	END
); ok

while IFS=';' read -r pattern args; do
	check_usage "$pattern" $args
done <<'END'
-s, --server: no server given: is it -s receiver? (try 'zcc --help');zcc -c receiver
unknown option '-R': there is no reverse mode: run zcs here and zcc there;zcc -s 0 -R
unknown option '-s': zcs is the server: run it without -s;zcs -s -p 0
-S, --send and -Z cannot be used together;zcc -s 0 -SZ
-N, --cpus: only with -c or --idle or -C;zcc -s 0 -N 1
-C, --calibrate and -B, --per-cpu cannot be used together;cyclesoak -CB
--precision.*not a percentage;zcc -s 0 --precision 3x
'file';zcc -s 0 --request 10 file
--reply and -1, --once cannot be used together;zcs --reply -1
--server.*has a port, which is -p;zcc -s 192.0.2.1:2222
--pace.*in bits.*12.5MB;zcc -s 0 --pace 100Mbit
--cpus: 8000 is more than the;zcc -s 0 -c -N 8000
--on-cpus: CPU 8191 is not online;cyclesoak --idle --on-cpus 0,8191
--loops.*not between;zcc -s 0 --warmup 1 -n 4294967290
--save: '' is not the name of a file;zcc -s 0 --save=
--allow: '127.0.0.2,127.0.0.1/40' is not address\[/bits\]\[,...\];zcs -p 0 --allow 127.0.0.2,127.0.0.1/40
'file';zcs file
END
finish
