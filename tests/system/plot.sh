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
	echo '[1]' >json
	fails 'json: not what zcc' python3 "$plot" json
	fails 'No such file' python3 "$plot" nowhere
	echo '{"intervals":[{"sum":{"start":0,"end":1,"bits_per_second":1}}]}' >json
	fails 'no gnuplot in PATH' env PATH=/nowhere "$(command -v python3)" "$plot" json
); ok
finish
