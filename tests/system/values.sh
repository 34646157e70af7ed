#!/bin/sh
# The figures of the reports against each other, and against what ss(8) reads of the same connection.
# tests/unit/counters.c has the files of the kernel, figures.c the costs, loads.sh judges the loads.
#
# seconds: 3
. "$TOP/tests/lib.sh"

whole_test_needs jq 'figures that agree with each other, the kernel and the peer'
# need_lab: skips the check at hand where there cannot be two hosts
need_lab() { has_lab || skip_check 'needs root, ip(8) and network namespaces'; }

beside 'what one host of a link sends the other receives, of packets and interrupts; the shares of CPU time are 100 % in sum'; ( begin
	need_lab
	hosts
	start_zcs --json
	exits 0 $B "$zcc" -s "$A4" -p "$PORT" --json -P 2 -t 0.7
	wait_until [ -s zcs.out ]
	holds out '.end.sum_sent.seconds as $s | .end.sum_received.seconds as $r | .end | [.host, .remote] |
	    [.[0].packets_out_per_second * $s / .[1].packets_in_per_second / $r,
	     .[1].packets_out_per_second * $r / .[0].packets_in_per_second / $s | . > 0.8 and . < 1.25] == [true, true]' \
	    '.end.host | .packets_out_per_second > 2 * .packets_in_per_second' \
	    '[.end.host, .end.remote] | all(.interrupts_per_second > 0 and (.accounting_percent | add | . > 99.9 and . < 100.1))'
	holds zcs.out '.end.host | .packets_in_per_second > 2 * .packets_out_per_second'
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
		rtt $(has rtt | awk '{ print 1000 * $1 }') 0.6
		min_rtt $(has minrtt | awk '{ print 1000 * $1 }') 0.6
		snd_cwnd $(($(has cwnd) * $(has mss))) 0
		pmtu $(has pmtu) 0
		delivery_rate $(has delivery_rate) 0
		busy_time $((1000 * $(has busy) + 500 * passed_ms)) $((500 * passed_ms + 4000))
		rwnd_limited $((1000 * $(has rwnd_limited) + 500 * passed_ms)) $((500 * passed_ms + 4000))
	END
) & later

together
finish
