#!/bin/sh
# zc-plot: it draws what each program prints with --json: tests/helpers/plot.json has reports of each kind, with gaps.
#
# seconds: 5
. "$TOP/tests/lib.sh"
plot=$BIN/zc-plot reports=$TOP/tests/helpers/plot.json

# A stand-in for gnuplot, which keeps what it reads
bin=$PWD/bin
mkdir bin
printf '#!/bin/sh\ncat >script\necho "<svg></svg>"\n' >bin/gnuplot
chmod +x bin/gnuplot
# drawn: of each graph its title, the labels of its x axis, its rows, where - is one without a figure, and the curves' names
drawn()
{
	printf '%b\n' "$(sed -n 's/^set title "\(.*\)"$/= \1/p; s/^set xtics [a-z]* (\(.*\))$/= \1/p
		/^\$data/,/^EOD/{/^\$data\|^EOD/!{s/^$/-/;p}}; /^plot.* title "/{s/[^"]*"\([^"]*\)"[^"]*/= \1\n/g;p}' "${1:-script}")" | digits
}
digits() { awk 'NF && !/^[=-]/ { for (i = 1; i <= NF; i++) $i = sprintf("%.6g", $i) } NF'; }
# The same by jq.  row() takes x, an object with mean, low and high, a factor to its unit, and whether it is unsafe.
jq_defs='def row($x; $v; $f; $unsafe): if $v.mean then [$x, $f * $v.mean, $f * ($v.low // $v.mean), $f * ($v.high // $v.mean),
	(if $unsafe then 1 else 0 end)] | join(" ") else "-" end;
def figure($tics; $key; $title; $f): select(any(.[]; .[$key])) | "= " + $title, "= " + $tics,
	(to_entries[] | row(.key; .value[$key]; $f; .value.unsafe and $key != "bits_per_second"));
def runs($tics): last.comparison.runs | figure($tics; "bits_per_second"; "throughput, Gbit/s"; 1e-9),
	figure($tics; "cost_us_per_kib"; "cost, us/KiB (lower is better)"; 1),
	figure($tics; "remote_cost_us_per_kib"; "receiver\u0027s cost, us/KiB (lower is better)"; 1);
def curve($key; $value): last.comparison.runs | map(select(.[$key] == $value)) | sort_by(.blksize)[] |
	row(.blksize; .bits_per_second; 1e-9; false);
def over_time($key; $title; $f): select(any(.[]; .[$key])) | "= " + $title,
	(.[] | (if $key == "load_percent" then .load_uncertainty_percent // 0 else 0 end) as $half | .[$key] as $v |
	row(.start / 2 + .end / 2; {mean: $v, low: (($v // 0) - $half), high: (($v // 0) + $half)}; $f; .unsafe and $key == "load_percent"));
def times: over_time("bits_per_second"; "throughput, Gbit/s"; 1e-9), over_time("replies_per_second"; "replies/s"; 1),
	(([.[].cpus] | unique | if length == 1 and .[0] then " of \(.[0]) CPUs" else "" end) as $of |
	over_time("load_percent"; "load, %\($of) (lower is better)"; 1));
def periods: map(select(.seconds and .refused == null)) | reduce .[] as $p ([]; (.[-1].end // 0) as $t |
	. + [($p.host // {}) + $p + {start: $t, end: ($t + $p.seconds)}]);
def latencies($names): last.requests as $r | ("connect", "first_byte", "total") as $p |
	"= \($p | sub("_"; " ")), ms (lower is better)", "= \"50 %%\" 0, \"90 %%\" 1, \"99 %%\" 2, \"99.9 %%\" 3, \"all\" 4",
	($r[].latency_seconds[$p] | select(.p50) | [.p50, .p90, .p99, .p999, .max] | to_entries[] |
	row(.key; {mean: .value}; 1000; false)), ($r | to_entries[] | select(.value.latency_seconds[$p].p50) | "= " + $names[.key]);'

it 'the reports of this test have keys of the schema'; ( begin; need jq
	sed 11d "$reports" | jq -r '.. | objects | keys[]' | sort -u >keys
	jq -r '.. | objects | keys[]' "$TOP/man/zc-json.schema.json" | sort -u | comm -23 keys - >unknown
	not [ -s unknown ]
); ok

launch reply.out '*listening*' "$BIN/zcs" -p 0 --reply --json -I 0.1
read_port reply.err
reply=$PORT replying=$launched
start_zcs -I 0.1 --json
zcc="$BIN/zcc -s 0 -p $PORT --congestion reno --json"
# What is drawn, by which command, and what must be in the graphs
graphs=0 made=''
while IFS='|' read -r kind command figures; do
	graphs=$((graphs + 1))
	mkdir graph.$graphs
	echo "$kind" >graph.$graphs/kind
	case $kind in clients* | replies*) wait $made ;; esac # they need what the others have sent
	(
		cd graph.$graphs || exit
		eval "$command" >json
		jq -rs "$jq_defs $figures" json | digits >want
		PATH=$bin:$PATH python3 "$plot" json
	) </dev/null >graph.$graphs/log 2>&1 &
	made="$made $!"
done <<END
methods and missing loads|sed -n 1p $reports|runs("\"sendfile\" 0, \"send\" 1, \"write\" 2")
servers, in one round|sed -n 2p $reports|runs("\"to read\" 0, \"to trunc\" 1")
sizes|sed -n 3p $reports|"= throughput, Gbit/s", "= \"4k\" 4096.0, \"64k\" 65536.0", curve("method"; "send"), curve("method"; "write"), "= send", "= write"
intervals with a gap|sed -n 4p $reports|last.intervals | map(.sum) | times
the periods of the last run, with a gap|sed -n 5,8p $reports; sed -n 5,9p $reports|.[4:] | periods | times
requests of which one had no connect time|sed -n 10p $reports|latencies(["10 bytes", "64k bytes"])
other options|\$zcc -n 1 -r 2 --vs '-m write' --vs '-P 4 -b 4k'|runs("\"sendfile, 1m a call, 1 stream\" 0, \"-m write\" 1, \"-P 4 -b 4k\" 2")
settings, of which one has a long name|\$zcc -n 1 -r 1 --setting "\$(printf 'a\\tb\\nc')=:" --setting ü%$(printf %040d 0)=:|runs("\"a?b?c\" 0, \"ü%%$(printf %027d 0)...\" 1")
other options, and sizes|\$zcc -m send -b 4k,64k -t 0.1 -r 2 --vs -k|"= throughput, Gbit/s", "= \"4k\" 4096.0, \"64k\" 65536.0", curve("vs"; null), curve("vs"; "-k"), "= send", "= -k"
sizes and streams|\$zcc -m send -b 4k,64k,256k -P 1,2 -t 0.1 -r 2|"= throughput, Gbit/s", "= \"4k\" 4096.0, \"64k\" 65536.0, \"256k\" 262144.0", curve("num_streams"; 1, 2), "= 1 stream", "= 2 streams"
a comparison by --json-stream|\$zcc-stream -m send,write -n 1 -r 2|[{comparison: last.data}] | runs("\"send\" 0, \"write\" 1")
requests by --json-stream|$BIN/zcc -s 0 -p $reply --request 10,1k -n 9 --json-stream|[{requests: map(select(.event == "request").data)}] | latencies(["10 bytes", "1k bytes"])
a transfer by --json-stream|\$zcc-stream -t 0.4 -I 0.1|map(select(.event == "interval").data.sum) | times
a transfer over time|\$zcc -t 0.4 -I 0.1|last.intervals | map(.sum) | times
clients of zcs over time|sed -n '/"intervals":\[{/h; \${x; p;}' ../zcs.out|last.intervals | map(.sum) | times
requests|$BIN/zcc -s 0 -p $reply --request 10,1k -t 0.3 --json|latencies(["10 bytes", "1k bytes"])
replies over time, in several lines|kill $replying; wait_until gone \$replying; jq . ../reply.out|periods | times
END
wait $made
for graph in $(seq $graphs); do
	read -r kind <graph.$graph/kind
	it "zc-plot: of $kind, each figure is in its place"; ( begin; need python3 jq
		cat graph.$graph/log
		[ -s graph.$graph/want ]
		drawn graph.$graph/script | diff graph.$graph/want -
		case $kind in *json-stream) grep 'title "server' graph.$graph/script ;; esac # it has what is above the picture, too
	); ok
done
beside 'zc-plot: what was measured is above the picture, which has all of an interval; a point is hollow if it is unsafe'; ( begin; need python3
	sed -n 1p "$reports" | exits 0 env PATH="$bin:$PATH" python3 "$plot"
	printf '%b' "$(sed -n '/^set multiplot/p' script)" | grep '"server 10.0.0.2, port 2222, interface eth0, 3 rounds of 2 s, instrument: soak"'
	grep -x 'set yrange \[0.0:1.08\]' script # of which the longest ends at 1
	counts -eq 3 grep -c '^plot \$data0 using 1:2:3:4 with yerrorbars .*, \$data0 using 1:(\$5 > 0 ? \$2 : NaN) with points .*#ffffff' script
) & later
beside 'zc-plot: runs are named by whatever differs, twice with --against'; ( begin; need python3
	sed -n 11p "$reports" | exits 0 env PATH="$bin:$PATH" python3 "$plot" -t "it's <100 %"
	drawn >figures
	diff - figures <<-'END'
		= load, % (lower is better)
		= "cat x, gro off" 0, "cat x, 100 %%" 1, "wc, 100 %%, before" 2, "wc, 100 %%, now" 3
		0 -1 -2 0.5 0
		1 5 5 5 0
		2 8 6 10 1
		3 6 6 6 0
		= cpu seconds
		= "cat x, gro off" 0, "cat x, 100 %%" 1, "wc, 100 %%, before" 2, "wc, 100 %%, now" 3
		0 4 4 4 0
		-
		-
		3 2 2 2 0
	END
	printf '%b' "$(sed -n 's/^set multiplot .* title//p' script | sed 's/"."\\n"."/|/g')" >title
	prints ' "it'\''s <100 %|1 round|bars: 95 % confidence intervals; hollow: unsafe (?); no point: not measured"' cat title
	grep -q '^set yrange \[-1.0:' script
) & later
beside 'zc-plot: the groups of a profile stand on each other, the greatest of both ends lowest, the least together'; ( begin; need python3
	sed -n 12p "$reports" | exits 0 env PATH="$bin:$PATH" python3 "$plot"
	drawn >figures
	awk '/^= cost by/ { on = 1; next } /^= receiver/ { exit } on && /^(0|= [a-z])/ { printf "%s|", $1 == "=" ? substr($0, 3) : $2 }' figures >tops
	prints '1.125|1.09375|1.0625|1|0.9375|0.875|0.75|0.25|all others|locks|files|memory|device|tcp ip|skb|data copy|' cat tops
	counts -eq 8 grep -cx '2 0.25 0.25 0.25 0' figures # of the receiver
) & later
beside 'zc-plot -o: SVG or PNG, in the place of the old file, whose mode is kept, and through no link'; ( begin; need python3 gnuplot
	sed -n 1p "$reports" >json
	: >picture.png && chmod 600 picture.png
	for name in picture.svg picture.png; do
		exits 0 python3 "$plot" -o $name json
		not [ -s out ]
	done
	grep -q '</svg>' picture.svg
	[ "$(head -c 4 picture.png | tail -c 3)" = PNG ]
	[ "$(stat -c %a picture.png)" = 600 ]
	mkdir -p real/deep && ln -s "$PWD/real" dir && ln -s deep real/link
	exits 0 python3 "$plot" -o "$PWD/dir/link/picture.svg" json
	[ -s real/deep/picture.svg ]
	ln -s victim link.svg
	fails 'zc-plot: link.svg: not a regular file' python3 "$plot" -o link.svg json
	fails 'zc-plot: nowhere/x.svg: No such file' python3 "$plot" -o nowhere/x.svg json
	not [ -e victim ]
	[ "$(echo picture* link*)" = 'picture.png picture.svg link.svg' ]
) & later
beside 'zc-plot: what cannot be drawn is one line'; ( begin; need python3
	sed -n 1p "$reports" >good
	for text in '{"schema":1,"error":"no"}|nothing to draw' '[1]|not what zcc' "$(printf '[%.0s' $(seq 5000))|not what zcc" \
	    "$(printf '9%.0s' $(seq 5000))|not what zcc" 'send 64k|not what zcc' '#zc-save 2|a file of --save'; do
		printf '%s' "${text%|*}" >json
		fails "^zc-plot: json: ${text##*|}" python3 "$plot" json
	done
	fails '^zc-plot: nowhere: No such file or directory$' python3 "$plot" nowhere
	fails 'no gnuplot in PATH' env PATH=/nowhere "$(command -v python3)" "$plot" good
	fails_with 2 "^zc-plot: unknown option '-x' (try" python3 "$plot" -x
	fails_with 2 "^zc-plot: --title requires an argument (try" python3 "$plot" --title
	fails_with 2 "^zc-plot: standard output is a terminal: use -o FILE" \
	    python3 -c 'import os, pty, sys; m, s = pty.openpty(); os.set_inheritable(m, True); os.dup2(s, 1); os.execv(sys.argv[1], sys.argv[1:])' "$plot" good
) & later
beside "zc-plot: of $(scale 150 1500) mutated reports none makes gnuplot start a process or open a file to write"; ( begin; need python3 gnuplot strace
	python3 "$TOP/tests/helpers/plots.py" "$plot" "$reports" "$(new_seed)" "$(scale 150 1500)" >script
	printf '%s\n' 'system("true")' 'set print "/dev/full"' >>script # the trace has what is looked for
	# shellcheck disable=SC2046
	strace $(strace --seccomp-bpf -f true 2>/dev/null && echo --seccomp-bpf) -f -e signal=none -e trace=execve,fork,vfork,clone,clone3,open,openat,creat -o trace gnuplot script >/dev/null
	grep -v 'O_RDONLY\|exited' trace >found
	[ "$(grep -c 'O_WRONLY\|O_RDWR' found)" -eq 1 ]
	grep -q '"/dev/full", O_WRONLY' found
	[ "$(grep -c ' execve(' found)" -eq 2 ]
	grep -q ' execve(.*"sh", "-c".*"true"' found
	not [ -e made ]
) & later
beside 'zc-plot: text in the place of figures is dropped, with a line; a title is itself, whatever the locale'; ( begin; need python3 gnuplot
	printf '%s' '{"intervals":[{"sum":{"start":0,"end":1,"bits_per_second":1e9,"load_percent":"1\nEOD\n!touch made\n$x << EOD\n1"}}]}' >json
	exits 0 env LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 python3 "$plot" -t "'/.(Ü\`touch made\`).'0" json
	grep -q 'json: figures that are not numbers are not drawn: 1$' err
	one_line err
	sed "s/&apos;/'/g" out | grep -q ">'/.(Ü\`touch made\`).'0<"
	not [ -e made ]
) & later
together
finish
