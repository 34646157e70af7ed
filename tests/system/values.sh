#!/bin/sh
# The figures of the reports against what the kernel and the peer counted over the same time: interrupts,
# packets, the accounting of CPU time, TCP_INFO, latencies.  zcs and the tests' own servers run on host
# A of tests/lab, zcc on host B, and nothing else uses the link between them.
#
# A figure is compared with two readings of the same counter that enclose the measured time, and two that
# the measured time encloses: it must be between the rates of these, whatever else the machine does.
#
# seconds: 12
if [ -z "$LINK" ]; then
	if "$TOP/tests/lab" true 2>/dev/null; then
		exec "$TOP/tests/lab" sh "$0"
	fi
	. "$TOP/tests/lib.sh"
	skip 'figures against the counts of the kernel and of the peer' 'needs root, ip(8) and network namespaces'
	finish
fi
. "$TOP/tests/lib.sh"
ON=$A
columns='user nice system idle iowait irq softirq steal'

zcc()
{
	$B "$BIN/zcc" -s "$A4" -p "$PORT" --congestion reno "$@"
}

# start_zcc options: in the background, until it is interrupted; sets `sender`
start_zcc()
{
	$B "$BIN/zcc" -s "$A4" -p "$PORT" --congestion reno -t 60 "$@" >zcc.out 2>zcc.err &
	sender=$!
	remember $sender
}

# read_counts FILE: `name value` of the moment, in seconds, of /proc/stat, and of both ends of the link
read_counts()
{
	{
		echo "moment $(cut -d ' ' -f 1 /proc/uptime)"
		echo "nanoseconds $(date +%s%N)"
		awk -v names="$columns" '
			$1 == "cpu" { n = split(names, name); for (i = 1; i <= n; i++) { print name[i], $(i + 1); all += $(i + 1) } }
			$1 == "cpu" { print "all", all }
			$1 == "intr" { print "interrupts", $2 }' /proc/stat
		for host in A B; do
			eval "on=\$$host"
			$on awk -v link="$LINK:" -v host=$host \
			    '$1 == link { print host "_in", $3; print host "_out", $11 }' /proc/net/dev
		done
	} >"$1"
}

# transfer zcc-options...: one that is interrupted, with counts from before it to after it in the files
# `before`, `early`, `late` and `after`.  Both ends measure from before `early` to after `late`.
transfer()
{
	start_zcs -I 0.05 $zcs_options
	read_counts before
	start_zcc "$@"
	# zcs has read some data, or more than both sockets hold has been sent.
	sent=$($B cat "/sys/class/net/$LINK/statistics/tx_bytes")
	met()
	{
		[ "$($B cat /sys/class/net/"$LINK"/statistics/tx_bytes)" -gt $((sent + 16000000)) ]
	}
	wait_until met
	read_counts early
	ticks=$(sed -n 's/^all //p' early)
	met()
	{
		read_counts late; [ "$(sed -n "s/^all //p" late)" -ge $((ticks + $(getconf CLK_TCK) * $(getconf _NPROCESSORS_ONLN) / 2)) ]
	}
	wait_until met
	kill -TERM $sender
	wait $sender || :
	read_counts after
	cat zcc.out zcc.err
}

# is_between KIND NAME VALUE [ROUNDING]: the value is a rate per second of the counter of that name, or the
# share of the counter in `all` in percent, as far as the readings and the rounding tell
is_between()
{
	cat before early late after | awk -v kind="$1" -v name="$2" -v value="$3" -v rounding="${4:-0.5}" '
		$1 == name { n[++counts] = $2 }
		$1 == "nanoseconds" { t[++moments] = $2 / 1e9 }
		$1 == "all" { all[++alls] = $2 }
		END {
			inner = kind == "rate" ? t[3] - t[2] : (all[3] - all[2]) / 100
			outer = kind == "rate" ? t[4] - t[1] : (all[4] - all[1]) / 100
			low = (n[3] - n[2]) / outer - rounding
			high = (n[4] - n[1]) / inner + rounding
			printf "%s %s: %s, between %.4f and %.4f\n", kind, name, value, low, high
			exit !(counts == 4 && value != "" && value != "-" && value >= low && value <= high)
		}'
}

# figure ROW COLUMN: of the report in zcc.out, without its unit; a row that is missing is next to nothing
figure()
{
	awk -v row="$1" -v column="$2" '
		{ gsub(",", "") }
		index($0, "    " row " ") == 1 { $0 = substr($0, length(row) + 5); print $column + 0; found = 1; exit }
		END { if (!found) print 0 }' zcc.out
}

it 'interrupts/s and packets/s of both ends are those of /proc/stat and /proc/net/dev'; ( begin
	transfer
	grep -q 'all bytes sent were received' zcc.out
	for end in 1 2; do
		is_between rate interrupts "$(figure interrupts/s $end)"
	done
	is_between rate B_in "$(figure 'packets/s in' 1)"
	is_between rate B_out "$(figure 'packets/s out' 1)"
	is_between rate A_in "$(figure 'packets/s in' 2)"
	is_between rate A_out "$(figure 'packets/s out' 2)"
	# The directions differ, or the test would not tell one from the other.
	[ "$(figure 'packets/s out' 1)" -gt "$((2 * $(figure 'packets/s in' 1)))" ]
	stop_zcs
); ok

# host_is_right FILE OBJECT IN OUT: of the one object in the file, a host's member
host_is_right()
{
	jq -r "$2 | .interrupts_per_second, .packets_in_per_second, .packets_out_per_second,
	    (.accounting_percent | .user, .nice, .system, .idle, .iowait, .irq, .softirq, .steal)" "$1" >values
	{
		for name in interrupts "$3" "$4"; do
			read -r value
			is_between rate "$name" "$value" 0.001
		done
		for column in $columns; do
			read -r value
			is_between share "$column" "$value" 0.001
		done
	} <values
	jq -e "$2.accounting_percent | add | . > 99.99 and . < 100.01" "$1"
}
it 'with --json they are the same of both ends, for each stream once'; ( begin; need jq
	zcs_options=--json
	transfer --json -P 2 --pace 20m
	host_is_right zcc.out .end.host B_in B_out
	host_is_right zcc.out .end.remote A_in A_out
	wait_until [ -s zcs.out ]
	host_is_right zcs.out .end.host A_in A_out
	jq -e '.end | .cpu_utilization_percent.host_user == .host.accounting_percent.user and
	    .cpu_utilization_percent.host_system == .host.accounting_percent.system and
	    .cpu_utilization_percent.remote_user == .remote.accounting_percent.user and
	    .cpu_utilization_percent.remote_system == .remote.accounting_percent.system' zcc.out
	stop_zcs
); ok

#
# TCP_INFO.  A receiver that reads nothing closes its window, and what the kernel knows of the connection
# then stays as it is: ss(8) and zcc read the same, but for the times that go on.
#

# socket_figure NAME: what the last reading of ss has as NAME:VALUE, or as `NAME VALUE`
socket_figure()
{
	sed -n "s/.* $1[: ]\([0-9.]*\).*/\1/p" socket
}
read_socket()
{
	$B ss -Htin "dport = :$PORT" | tail -n 1 >socket
}
# is_still: whether the receiver's window is closed, and nothing has changed since the last call
is_still()
{
	read_socket
	before=$last
	last=$(sed 's/.*\( rtt:.*\)/\1/; s/ \(segs_[inout]*\|last[a-z]*\|busy\|rwnd_limited\):[^ ]*//g' socket)
	grep -q ' rwnd_limited:' socket && not grep -q ' unacked:' socket && [ "$before" = "$last" ]
}
# stall zcc-options...: until the connection is the same in two readings; zcc is interrupted after them
stall()
{
	start_peer -a -s
	start_zcc "$@"
	last=
	for equal in 1 2 3 4; do
		wait_until is_still
	done
	read_ns=$(date +%s%N)
	read_socket
	kill -TERM $sender
	wait $sender || :
	passed_ms=$((($(date +%s%N) - read_ns) / 1000000 + 1))
	cat socket zcc.out zcc.err
}
# is_near VALUE WANTED TOLERANCE
is_near()
{
	echo "$1 is to be $2, within $3"
	awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a - b; exit !(a != "" && b != "" && d <= t && -d <= t) }'
}
# limit_is NAME PERCENT: the share of the busy time is that of ss.  Both go on for up to `passed_ms`.
limit_is()
{
	awk -v busy="$(socket_figure busy)" -v part="$(socket_figure "$1")" -v passed="$passed_ms" -v value="$2" '
		BEGIN {
			low = 100 * (part - 4) / busy - 0.1 # the kernel counts in jiffies
			high = 100 * (part + passed + 4) / (busy + passed) + 0.1
			printf "%s, between %.2f and %.2f\n", value, low, high
			exit !(value != "" && value >= low && value <= high)
		}'
}
json_of_socket_is_right()
{
	need jq
	stall --json -o 5k
	sender_has()
	{
		jq -r ".end.streams[0].sender.$1" zcc.out
	}
	is_near "$(sender_has retransmits)" "$(sed -n 's,.* retrans:[0-9]*/\([0-9]*\).*,\1,p' socket | grep . || echo 0)" 0
	is_near "$(sender_has rtt)" "$(awk -v ms="$(socket_figure rtt)" 'BEGIN { print 1000 * ms }')" 0.6
	is_near "$(sender_has rttvar)" "$(sed -n 's,.* rtt:[0-9.]*/\([0-9.]*\).*,\1,p' socket | awk '{ print 1000 * $1 }')" 0.6
	is_near "$(sender_has min_rtt)" "$(awk -v ms="$(socket_figure minrtt)" 'BEGIN { print 1000 * ms }')" 0.6
	is_near "$(sender_has snd_cwnd)" "$(($(socket_figure cwnd) * $(socket_figure mss)))" 0
	is_near "$(sender_has snd_mss)" "$(socket_figure mss)" 0
	is_near "$(sender_has pmtu)" "$(socket_figure pmtu)" 0
	# ss has it in bit/s, of whole bytes.
	is_near "$(sender_has delivery_rate)" "$(socket_figure delivery_rate)" 0
	for name in busy_time:busy rwnd_limited:rwnd_limited; do
		ms=$(socket_figure ${name#*:})
		is_near "$(sender_has ${name%:*})" "$((1000 * ms + 500 * passed_ms))" "$((500 * passed_ms + 4000))"
	done
	is_near "$(sender_has sndbuf_limited)" "$((1000 * $(socket_figure sndbuf_limited | grep . || echo 0)))" 1000
}
if command -v ss >/dev/null 2>&1; then
	it 'the TCP figures in text are those of ss(8): RTT, window, MSS, retransmits, what limits'; ( begin
		stall
		is_near "$(figures_of retransmits zcc.out)" "$(sed -n 's,.* retrans:[0-9]*/\([0-9]*\).*,\1,p' socket | grep . || echo 0)" 0
		is_near "$(figures_of "RTT, ms" zcc.out)" "$(socket_figure rtt)" 0.0006
		is_near "$(figures_of "  minimum, ms" zcc.out)" "$(socket_figure minrtt)" 0.0006
		is_near "$(figures_of "MSS, bytes" zcc.out)" "$(socket_figure mss)" 0
		is_near "$(figures_of "window, KiB" zcc.out)" "$(($(socket_figure cwnd) * $(socket_figure mss) / 1024))" 1
		limit_is rwnd_limited "$(sed -n "s/.*receiver's window \([0-9.]*\)%.*/\1/p" zcc.out)"
	); ok
	check 'the TCP figures in JSON are those of ss(8), and the times in which something limits go on' json_of_socket_is_right
else
	skip 'the TCP figures' 'no ss'
fi

#
# --pace.  The rate is that of the bytes that the peer got over its own time, and no more than was asked for
# over the whole run: a bucket that is full at the start, and rounding, are allowed for.  A busy zcs begins
# late, and has what waits for it in less time: one of five runs is to do.
#
both_are_paced()
{
	sed -n 's/.*, \([0-9]*\) bytes in \([0-9.]*\) s, .*/\1 \2/p' zcs.out | tail -n 1 |
	    awk -v pace=$pace '{ print $1 / $2 " bytes/s"; seen = $1 / $2 < 1.25 * pace } END { exit !seen }' &&
		plain out | awk -v pace=$pace '/^    bytes / { bytes = $2 } /^    seconds / { print bytes / $2 " bytes/s"
		    seen = bytes / $2 < 1.25 * pace } END { exit !seen }'
}
head -c 1000000 /dev/zero >file
it '--pace: no more bytes per second than that at either end, where more would go'; ( begin
	for pace in 1000000 4000000; do
		for attempt in 1 2 3 4 5; do
			start_zcs
			exits 0 zcc -n 1 --pace $pace file
			wait_until grep -Eq " reads?" zcs.out
			cat zcs.out
			plain out >out.plain
			grep -q ", paced to $(awk -v p=$pace 'BEGIN { printf "%.0f", p / 1024 }') KiB/s$" out.plain
			stop_zcs
			! both_are_paced || break
		done
		both_are_paced
	done
	# It is the pace that made it so: without it the rate is many times as large.
	start_zcs
	exits 0 zcc -n 20 file
	plain out | awk '/^    bytes / { bytes = $2 } /^    seconds / { exit !(bytes / $2 > 8000000) }'
	stop_zcs
); ok

#
# Latencies.  The server notes when it accepted each client, when it sent the first byte and when it had
# sent all.  A request took at least from the first of these to the last; and at most from the end of the
# client before it to the start of the one after it.
#

# ask_pausing zcc-options...: 40 requests, one before them and one after them
ask_pausing()
{
	: >server.out
	"$HELPERS/net" reply -p >server.out 2>&1 &
	server=$!
	remember $server
	wait_until grep -q "^port" server.out
	port=$(sed -n 's/^port //p' server.out)
	"$HELPERS/net" ask "$port" 1 10
	"$BIN/zcc" -s 127.0.0.1 -p "$port" --request 10 -n 40 "$@" >zcc.out 2>zcc.err
	"$HELPERS/net" ask "$port" 1 10
	wait_until counts -eq 42 grep -c ^served server.out
	kill $server
	cat zcc.out
	awk '$1 == "served" { accepted[++n] = $2; first[n] = $3; closed[n] = $4 }
		END { for (i = 2; i < n; i++) printf "%.6f %.6f %.6f\n", (first[i] - accepted[i]) / 1e6,
		    (closed[i] - accepted[i]) / 1e6, (accepted[i + 1] - closed[i - 1]) / 1e6 }' server.out >bounds
	for column in 1 2 3; do
		cut -d ' ' -f $column bounds | sort -n >bounds.$column
	done
}
# percentiles_are 'P50 P90 P99 MAX' LOWER UPPER: in ms, each between those of the files, of which it is of
# the same rank.  The classes of the histogram are 1/32 wide.
percentiles_are()
{
	echo "$1"
	paste "$2" "$3" | awk -v percentiles="$1" '
		BEGIN { ranks = split("20 36 40 40", rank); n = split(percentiles, value) }
		{ low[NR] = $1; high[NR] = $2 }
		END {
			for (i = 1; i <= ranks; i++) {
				r = rank[i]
				print value[i], "between", low[r], "and", high[r]
				bad += value[i] < low[r] * 31 / 32 - 0.0006 || value[i] > high[r] * 33 / 32 + 0.0006
			}
			exit n != 4 || NR != 40 || bad
		}'
}
# latencies_of NAME: p50, p90, p99 and max in the text
latencies_of()
{
	sed -n "s/^    $1, ms //p" zcc.out | awk 'NF == 5 { print $1, $2, $3, $5 }'
}
it 'the percentiles of the latencies are those of the times that the server noted'; ( begin
	printf '0\n%.0s' $(seq 40) >zeros
	ask_pausing
	percentiles_are "$(latencies_of 'total')" bounds.2 bounds.3
	percentiles_are "$(latencies_of 'first byte')" bounds.1 bounds.3
	percentiles_are "$(latencies_of 'connect')" zeros bounds.3
	# The line below the headings: seconds, KiB, connections and KiB a second.
	awk 'NR == 2 { s = $3 + 0; bad = s == 0 || $4 != "0.39KiB" || $5 * s < 39 || $5 * s > 41 || $6 * s < 0.37 || $6 * s > 0.41 }
		END { exit bad }' zcc.out
	# The server pauses as long after the first byte as before it.
	awk '/^    first byte, ms / { p50 = $4; max = $8 } /^    total, ms / { exit !($3 > p50 && $7 > max) }' zcc.out
); ok
it 'with --json they are the same, in seconds'; ( begin; need jq
	printf '0\n%.0s' $(seq 40) >zeros
	ask_pausing --json
	for what in connect:zeros first_byte:bounds.1 total:bounds.2; do
		percentiles_are "$(jq -r ".requests[0].latency_seconds.${what%:*} | [.p50, .p90, .p99, .max] | map(1000 * . | tostring) | join(\" \")" zcc.out)" "${what#*:}" bounds.3
	done
); ok

finish
