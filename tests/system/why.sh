#!/bin/sh
# What zcc and zcs say of stalls and of what TCP waited for, across a path whose delays, losses and freezes are known
# (net relay).
#
# group: sleeps
# seconds: 6
. "$TOP/tests/lib.sh"

if [ -z "$IN_LAB" ]; then
	if ! [ -n "$OWN_NETWORK" ] || ! command -v jq >/dev/null || ! command -v nsenter >/dev/null; then
		skip 'stalls and waits across a path that freezes' 'needs root, jq and network namespaces'
		finish
	fi
	IN_LAB=yes exec "$TOP/tests/lab" -r sh "$0"
fi

# relay DELAY_US DROP FREEZE_MS EVERY_MS: starts it; its freezes are in relay.out
relay()
{
	launch relay.out '*relay*' $R "$HELPERS/net" relay a b "$@"
}
# agree LIST: there are stalls of 0.3 s or more in it, and two thirds of them at least, on a busy machine, began within
# 0.3 s of a freeze
agree()
{
	sed -n 's/^frozen //p' relay.out | jq -s . >freezes
	jq -e --slurpfile freezes freezes '
		map(select(.seconds >= 0.3)) | length as $n | map(select(
			((.time | sub("\\.(?<ms>[0-9]+)Z$"; "Z") | fromdate) + (.time | capture("\\.(?<ms>[0-9]+)Z").ms | tonumber / 1000)) as $at
			| any($freezes[0][]; $at - . > -0.3 and $at - . < 0.3))) | length > 0 and 3 * length >= 2 * $n' "$1"
}

zcs() { ON=$B start_zcs "$@"; }
zcc() { $A "$BIN/zcc" -s "$B4" -p "$PORT" "$@"; }

relay 5000 0 400 1000
it 'a path that freezes for 0.4 s each second: both ends report the stalls, when they were and how long'; ( begin
	zcs
	zcs --json
	sent()
	{
		zcc -t 2.5 --congestion cubic --pace 5m --json >json &&
			jq -e '.end | [.sum_sent, .sum_received] |
			    all(.stalls >= 1 and .stalls <= 3 and .longest_stall > 300000 and .longest_stall < 800000)' json &&
			jq -c .end.first_stalls json >sent && agree sent
	}
	sent || sent || sent # whoever has too little of a CPU stalls, too
	wait_until [ -s zcs.out ]
	tail -n 1 zcs.out | jq -c .end.first_stalls >received
	agree received
); ok
kill $launched
wait_until gone $launched
relay 5000 300 0 0
it 'a path that loses one packet in 300: TCP waits for the congestion window, retransmits are a share of the segments; --pace limits'
( begin
	zcs
	lossy() # unless the relay waits for a CPU
	{
		zcc -t 1.5 --congestion reno --json >json && jq -c .end.sum_sent json &&
			jq -e '.end.sum_sent | .cwnd_limited > 0.5 * .busy_time and .retransmits > 3 and
			    .segments > 20 * .retransmits and .min_rtt > 9000 and .mean_rtt >= .min_rtt and
			    .max_rtt >= .mean_rtt and .max_snd_cwnd >= .mean_snd_cwnd' json
	}
	lossy || lossy || lossy
	jq -e '.end.sum_received.rcv_ooopack > 0' json
	paced() { zcc -t 1 --congestion reno --pace 500k --json | jq -e '.end.sum_sent | .pacing_limited > 0.5 * .busy_time'; }
	wait_until paced # for the first time, unless the relay is without a CPU
); ok
finish
