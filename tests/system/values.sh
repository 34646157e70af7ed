#!/bin/sh
# The figures of the reports: against each other, as the cost is the load times the number of CPUs and the time, divided
# by the bytes moved; and against what the kernel and the peer counted over the same time.  loads.sh judges the loads.
#
# group: soaks
# seconds: 6
. "$TOP/tests/lib.sh"

cpus=$(getconf _NPROCESSORS_ONLN)
whole_test_needs jq 'figures that agree with each other, the kernel and the peer'
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
head -c 65536 /dev/zero >file

#
# A figure is compared with two readings of the same counter that enclose the measured time, and two that the measured
# time encloses: it must be between the rates of these, whatever else the machine does.
#
# reading FILE: `name value` of the moment, of /proc/stat, and of both ends of a link
reading()
{
	date '+nanoseconds %s%N' >"$1"
	awk '$1 == "cpu" {
			n = split("user nice system idle iowait irq softirq steal", name)
			for (i = 1; i <= n; i++) { print name[i], $(i + 1); all += $(i + 1) }
			print "all", all
		}
		$1 == "intr" { print "interrupts", $2 }' /proc/stat >>"$1"
	for host in A B; do
		eval "on=\$$host"
		$on sed -n "s/:/ /; s/^ *$LINK/$host/p" /proc/net/dev | awk '{ print $1 "_in", $3; print $1 "_out", $11 }' >>"$1"
	done
}
# host_is_right FILE OBJECT IN OUT: of the one object in the file, a host's member has the rates per second and the shares
# in percent of the time between the readings `before`, `early`, `late` and `after`
host_is_right()
{
	jq -r "$2 | .accounting_percent + {interrupts: .interrupts_per_second,
	    $3: .packets_in_per_second, $4: .packets_out_per_second} | to_entries[] | \"\(.key) \(.value)\"" "$1" >figures
	cat before early late after figures | awk '
		$1 == "nanoseconds" { moments++ }
		NR == FNR && moments <= 4 && !($1 in figure) && n[moments, $1] == "" { n[moments, $1] = $2; next }
		{
			share = $1 != "interrupts" && $1 !~ /_/
			unit = share ? 100 : 1e9
			of = share ? "all" : "nanoseconds"
			low = unit * (n[3, $1] - n[2, $1]) / (n[4, of] - n[1, of]) - 0.001
			high = unit * (n[4, $1] - n[1, $1]) / (n[3, of] - n[2, of]) + 0.001
			printf "%s: %s, between %.4f and %.4f\n", $1, $2, low, high
			bad += $2 == "null" || $2 < low || $2 > high
			sum += share ? $2 : 0
			figures++
		}
		END { exit bad > 0 || figures != 11 || sum < 99.99 || sum > 100.01 }'
}
#
# Over a link between two hosts, beside what soaks below.
#
# need_lab: skips the check at hand where there cannot be two hosts
need_lab() { has_lab || skip_check 'needs root, ip(8) and network namespaces'; }
beside 'interrupts, packets and the accounting of both ends are those of /proc, for each stream once'; ( begin
	need_lab
	hosts
	$B ip link add "${LINK}1" type veth peer name other # a name that begins with that of the interface
	start_zcs -I 0.05 --json
	reading before
	start_zcc zcc -s "$A4" --json -P 2 -t 60
	sent() { $B cat "/sys/class/net/$LINK/statistics/tx_bytes"; }
	wait_until counts -gt 16000000 sent # more than both sockets hold: zcs has read some
	reading early
	ticks=$(sed -n 's/^all //p' early)
	met() { reading late; [ "$(sed -n 's/^all //p' late)" -ge $((ticks + $(getconf CLK_TCK) * cpus / 4)) ]; }
	wait_until met
	zcc_ends zcc 143 TERM
	reading after
	host_is_right zcc.out .end.host B_in B_out
	host_is_right zcc.out .end.remote A_in A_out
	wait_until [ -s zcs.out ]
	host_is_right zcs.out .end.host A_in A_out
	jq -e '.end | .host.packets_out_per_second > 2 * .host.packets_in_per_second' zcc.out
) & later

# A receiver that reads nothing closes its window, and what the kernel knows of the connection then stays as it is: ss(8)
# and zcc read the same, but for the times that go on.
read_socket() { $B ss -Htin "dport = :$PORT" | tail -n 1 >socket; }
# has NAME: what ss has as NAME:VALUE, or as `NAME VALUE`, or 0
has() { sed -n "s,.* $1[: ]\([0-9.]*\).*,\1,p" socket | grep . || echo 0; }
is_still()
{
	read_socket
	before=$last
	last=$(sed 's/.*\( rtt:.*\)/\1/; s/ \(segs_[inout]*\|last[a-z]*\|busy\|rwnd_limited\):[^ ]*//g' socket)
	grep -q ' rwnd_limited:' socket && not grep -q ' unacked:' socket && [ "$before" = "$last" ]
}
beside 'the TCP figures and --pace are those of ss(8), and the times in which something limits go on'; ( begin; need ss
	need_lab
	hosts
	start_peer -a -s
	start_zcc zcc -s "$A4" --json -o 5k --pace 1000000 -t 60
	last=
	for equal in 1 2 3 4; do # the server's window is probed more and more seldom
		wait_until is_still
		sleep 0.1
	done
	read_ns=$(date +%s%N)
	read_socket
	zcc_ends zcc 143 TERM
	passed_ms=$((($(date +%s%N) - read_ns) / 1000000 + 1))
	cat socket zcc.out zcc.err
	grep -Eq ' pacing_rate [^ ]*/8(Mbps|000000bps) ' socket
	while read -r key wanted tolerance; do
		jq -e --argjson is "$wanted" --argjson within "$tolerance" \
		    ".end.streams[0].sender.$key - \$is | . <= \$within and . >= -\$within" zcc.out
	done <<-END
		retransmits $(sed -n 's,.* retrans:[0-9]*/\([0-9]*\).*,\1,p' socket | grep . || echo 0) 0
		rtt $(has rtt | awk '{ print 1000 * $1 }') 0.6
		rttvar $(sed -n 's,.* rtt:[0-9.]*/\([0-9.]*\).*,\1,p' socket | awk '{ print 1000 * $1 }') 0.6
		min_rtt $(has minrtt | awk '{ print 1000 * $1 }') 0.6
		snd_cwnd $(($(has cwnd) * $(has mss))) 0
		snd_mss $(has mss) 0
		pmtu $(has pmtu) 0
		delivery_rate $(has delivery_rate) 0
		busy_time $((1000 * $(has busy) + 500 * passed_ms)) $((500 * passed_ms + 4000))
		rwnd_limited $((1000 * $(has rwnd_limited) + 500 * passed_ms)) $((500 * passed_ms + 4000))
		sndbuf_limited $((1000 * $(has sndbuf_limited))) 1000
	END
) & later

# The server notes when it accepted each client, when it sent the first byte and when it had sent all.  A request took at
# least from the first of these to the last; and at most from the end of the client before it to the start of the one
# after it.  A percentile is between those of these times of the same rank; the classes of the histogram are 1/32 wide.
beside 'the percentiles of the latencies are those of the times that the server noted'; ( begin
	start_peer reply -p
	"$HELPERS/net" ask "$PORT" 1 10
	exits 0 "$BIN/zcc" -s 127.0.0.1 -p "$PORT" --request 10 -n 40 --json
	"$HELPERS/net" ask "$PORT" 1 10
	wait_until counts -eq 42 grep -c ^served peer.out
	awk '$1 == "served" { accepted[++n] = $2; first[n] = $3; closed[n] = $4 }
		END { for (i = 2; i < n; i++) printf "0 %.6f %.6f %.6f\n", (first[i] - accepted[i]) / 1e6,
		    (closed[i] - accepted[i]) / 1e6, (accepted[i + 1] - closed[i - 1]) / 1e6 }' peer.out >bounds
	column=0
	for what in connect first_byte total; do
		column=$((column + 1))
		cut -d ' ' -f $column bounds | sort -n >lower
		cut -d ' ' -f 4 bounds | sort -n | paste lower - >both
		jq -r ".requests[0].latency_seconds.$what | [.p50, .p90, .p99, .max] | map(1000 * .) | @tsv" out | cat - both |
		    awk 'NR == 1 { n = split($0, value); split("20 36 40 40", rank); next }
			{ low[NR - 1] = $1; high[NR - 1] = $2 }
			END {
				for (i = 1; i <= n; i++) {
					print value[i], "between", low[rank[i]], "and", high[rank[i]]
					bad += value[i] < low[rank[i]] * 31 / 32 - 0.0006 || value[i] > high[rank[i]] * 33 / 32 + 0.0006
				}
				exit n != 4 || NR != 41 || bad
			}'
	done
) & later

# measure command...: once nobody else soaks; `wall` has the seconds from before it to after it
measure() { soaking wall_of "$@" && define; }
wall_of()
{
	begun=$(date +%s%N)
	"$@" || return
	echo "$begun $(date +%s%N)" | awk '{ print ($2 - $1) / 1e9 }' >wall
}
# define: for holds(), cost_fits(HOST; BYTES; FROM; TO): the time that its cost stands for is from FROM to TO seconds;
# nearly(SECONDS): at the end the soakers are read before the clock, on a busy CPU by some milliseconds
define()
{
	jq_defs="$cpus as \$cpus | $(cat wall) as \$wall |"'
		def near($a; $b; $t): ($a - $b) | . <= $t and . >= -$t;
		def nearly($s): 0.98 * $s - 0.01;
		def cost_fits($h; $bytes; $from; $to):
			($h.cost_us_per_kib * $bytes / 1024 / ($h.load_percent / 100 * ($h.cpus // $cpus) * 1e6)) |
			. >= 0.999 * $from and . <= $to;'
}
is_load='.load_percent > 0 and .load_uncertainty_percent > 0 and .cpus == $cpus'

start_zcs
it 'zcc -c -B -b with a list: load, uncertainty and cost agree, in sum, for each CPU and each interval, for each size'; ( begin
	measure "$BIN/zcc" -c --json -s 0 -p "$PORT" -S -b 64,16k -r 1 -t 0.5 -I 0.2 -B 0 --congestion reno file
	[ "$(wc -l <out)" -eq 3 ]
	for n in 1 2; do
		sed -n "${n}p" out >one
		holds one '.end | cost_fits(.host; .sum_sent.bytes; nearly(.sum_sent.seconds); $wall)' ".end.host | $is_load" \
		    '.end.load_by_cpu | length == $cpus and .[0].cpu == 0 and .[0].role == "sender"' \
		    '.end | (.load_by_cpu | map(.load_percent) | add / $cpus) as $mean |
			near($mean; .host.load_percent; .host.load_uncertainty_percent)' \
		    '.end as $all | .end.load_by_cpu | all((.load_percent < 1) or
			cost_fits(. + {cpus: 1}; $all.sum_sent.bytes; nearly($all.sum_sent.seconds); $wall))' \
		    '.end | (.load_by_cpu | map(.cost_us_per_kib) | add) as $sum |
			near($sum; .host.cost_us_per_kib; .host.cost_us_per_kib * .host.load_uncertainty_percent / .host.load_percent)' \
		    '.intervals | length >= 1 and all(.sum | cost_fits(.; .bytes; 0.7 * .seconds; 1.4 * .seconds))' \
		    '.end | has("sum_received") and (.remote | has("load_percent") | not)' \
		    'near(.end.sum_sent.calls * .start.test_start.blksize; .end.sum_sent.bytes; 65536)'
	done
	[ "$(sed -n '1,2s/.*"blksize":\([0-9]*\).*/\1/p' out | paste -s -d ' ')" = '64 16384' ]
	jq -es '.[0].end.host.cost_us_per_kib > .[1].end.host.cost_us_per_kib' out # what a small buffer costs more
); ok
stop_zcs
start_zcs --reply
it 'zcc -c --request: load and cost of each size agree'; ( begin
	measure "$BIN/zcc" -c --json -s 0 -p "$PORT" --request 1000,100k -t 0.2 -P 2 --congestion reno
	holds out '.requests | length == 2 and all(cost_fits(.host; .bytes; nearly(.seconds); $wall))' \
	    ".requests | all(.host | $is_load)" '.requests | all(.bytes == .request_bytes * .connections)' \
	    '.requests | all(near(.connections_per_second * .seconds; .connections; 0.01 * .connections))' \
	    '.requests[0].host.cost_us_per_kib > .requests[1].host.cost_us_per_kib'
); ok
stop_zcs
it 'zcs -c --json: load and cost agree, and zcc --json has them in its receipt'; ( begin
	# On a busy machine a transfer may be over before the soakers have settled: then it lacks a load.
	for t in 0.6 1.2 2.4 4.8; do
		start_zcs -c --json -I 0.1
		measured "$BIN/zcc" --json -s 0 -p "$PORT" -t $t --congestion reno
		wait_until [ -s zcs.out ]
		! jq -e '[.intervals[].sum.load_percent | numbers] | length >= 2' zcs.out || break
		stop_zcs
	done
	tail -n 1 zcs.out >object
	echo 60 >wall
	define
	holds object '.end | cost_fits(.host; .sum_received.bytes; 0.999 * .sum_received.seconds; 1.001 * .sum_received.seconds)' \
	    ".end.host | $is_load" \
	    '[.intervals[].sum.load_percent | numbers] | length >= 2 and all(. > 0 and . <= 101)'
	holds out '.end | cost_fits(.remote; .sum_received.bytes; 0.999 * .sum_received.seconds; 1.001 * .sum_received.seconds)' \
	    '.end.host | has("load_percent") | not'
	# The receipt has six decimals of a share.
	jq -s '[.[0].end.host, .[1].end.remote]' object out >both
	for key in load_percent load_uncertainty_percent slowed_percent tasks_percent cpus cost_us_per_kib; do
		holds both "near(.[0].$key; .[1].$key; 0.001)"
	done
	stop_zcs
); ok
together
finish
