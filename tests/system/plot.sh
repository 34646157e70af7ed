#!/bin/sh
# zc-plot: it draws what each program prints with --json.
#
# seconds: 2
. "$TOP/tests/lib.sh"
plot=$TOP/lib/report/zc-plot

start_zcs
zcc="$BIN/zcc -s 0 -p $PORT --congestion reno --json"
# The words of the picture, and the command
while IFS='|' read -r words command; do
	name=${command%% --title*}
	it "zc-plot: ${name#?} is drawn, with its title"; ( begin; need python3 gnuplot
		eval "$command" >json
		python3 "$plot" <json >svg
		python3 - $words <<-'END'
			import sys, xml.etree.ElementTree as tree
			texts = {t.strip() for t in tree.parse("svg").getroot().itertext()}
			missing = {"it's a title", *(w.replace("_", " ") for w in sys.argv[1:])} - texts
			assert not missing, (missing, texts)
		END
	); ok
done <<END
send sendfile Gbit/s|\$zcc -m send,sendfile -t 0.2 -I 0.1 -r 2 --title "it's a title"
send sendfile 4k 64k bytes_of_a_call|\$zcc -m send,sendfile -b 4k,64k -n 1 -r 2 --title "it's a title"
Gbit/s seconds|\$zcc -t 0.3 -I 0.1 --title "it's a title"
END
stop_zcs
start_zcs --reply
it 'zc-plot: latencies of requests are drawn'; ( begin; need python3 gnuplot
	"$BIN/zcc" -s 0 -p "$PORT" --request 10,1k -n 5 --json | python3 "$plot" -t latencies >svg
	grep -q latencies svg
	grep -q 'first byte, ms' svg
); ok
stop_zcs
it 'zc-plot: what cannot be drawn is one line, and exit 1'; ( begin; need python3
	echo '{"schema":1,"error":"no"}' >json
	fails 'json: nothing to draw' python3 "$plot" json
	for text in '[1]' "$(printf '[%.0s' $(seq 5000))" "$(printf '9%.0s' $(seq 5000))" 'send 64k'; do
		printf '%s' "$text" >json
		fails 'json: not what zcc' python3 "$plot" json
		one_line err
	done
	fails 'No such file' python3 "$plot" nowhere
	echo '{"intervals":[{"sum":{"start":0,"end":1,"bits_per_second":1}}]}' >json
	fails 'no gnuplot in PATH' env PATH=/nowhere "$(command -v python3)" "$plot" json
); ok
it 'zc-plot: of 500 mutated reports none makes gnuplot start a process or open a file to write'; ( begin; need python3 gnuplot strace
	cd "$(mktemp -d ./XXXXXX)"
	python3 "$TOP/tests/helpers/plot_fuzz.py" "$plot" "$TOP/tests/helpers/plot.json" "$(new_seed)" 500 >script
	printf '%s\n' 'system("true")' 'set print "/dev/full"' >>script # the trace has what is looked for
	exits 0 strace -f -e signal=none -e trace=execve,fork,vfork,clone,clone3,open,openat,creat -o trace gnuplot script
	grep -v 'O_RDONLY\|exited' trace >found
	[ "$(grep -c 'O_WRONLY\|O_RDWR' found)" -eq 1 ]
	grep -q '"/dev/full", O_WRONLY' found
	[ "$(grep -c ' execve(' found)" -eq 2 ]
	grep -q ' execve(.*"sh", "-c".*"true"' found
	[ "$(ls)" = "$(printf '%s\n' err found out script trace)" ]
); ok
it 'zc-plot: text in the place of figures is dropped, with a line; a title is itself, whatever the locale'; ( begin; need python3 gnuplot
	printf '%s' '{"intervals":[{"sum":{"start":0,"end":1,"bits_per_second":1e9,"load_percent":"1\nEOD\n!touch made\n$x << EOD\n1"}}]}' >json
	exits 0 env LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 python3 "$plot" -t "'/.(Ü\`touch made\`).'" json
	grep -q 'json: 1 figure' err
	one_line err
	grep -q '>&apos;/.(Ü`touch made`).&apos;<\|>'"'/.(Ü\`touch made\`).'<" out
	not [ -e made ]
); ok
finish
