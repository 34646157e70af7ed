#!/bin/sh
# The load of busy programs of known size, by cyclesoak.
#
# group: quiet
# seconds: 15
. "$TOP/tests/lib.sh"

cyclesoak=$BIN/cyclesoak
cpus=$(getconf _NPROCESSORS_ONLN)
use_calibration

# The load of a busy program on one of two CPUs, 40 to 60 %: the middle of three readings, since
# other programs of a shared machine come on top.
middle()
{
	for i in 1 2 3; do
		soaking "$cyclesoak" -1 "$@" >/dev/null || return 1
		tail -n 1 out
	done | sort -n | sed -n 2p
}
if [ "$cpus" -eq 2 ]; then
	check 'a busy program on one of two CPUs is 40 to 60 %' '
		load=$(middle "$HELPERS/burn" 1 1)
		echo "load $load"
		[ "${load%.*}" -ge 40 ] && [ "${load%.*}" -le 60 ]'
	check 'also in another session' '
		load=$(middle setsid -w "$HELPERS/burn" 0 1)
		echo "load $load"
		[ "${load%.*}" -ge 40 ] && [ "${load%.*}" -le 60 ]'
	check 'and it keeps that CPU: its share of it is above 90 %' '
		soaking "$cyclesoak" -1 setsid -w "$HELPERS/burn" 0 2
		share=$(head -n 1 out)
		echo "share $share"
		[ "$(printf "%.0f" "$(echo "$share" | sed "s/^0\.\(..\).*/\1/; s/^1.*/100/")")" -ge 90 ]'
	check 'two of them: above 85 %' '
		load=$(middle sh -c "\"$HELPERS/burn\" 0 1 >/dev/null & \"$HELPERS/burn\" 1 1; wait")
		echo "load $load"
		[ "${load%.*}" -ge 85 ]'
	# Not "an idle machine": whatever else runs here, the kernel sees it too, roughly.
	check 'where nothing is run, the load is what the kernel has seen, to 20 %' '
		soaking "$cyclesoak" -n 1 -d
		sed -i 1q out
		cat out
		awk -F "[:%,;]" "{ for (i = 1; i < NF; i++) if (split(\$i, w, \" \") == 2 &&
				w[1] ~ /^(user|system|irq|softirq|steal)$/) kernel += w[2]
			exit !(\$2 - kernel < 20 && kernel - \$2 < 20) }" out'
else
	skip 'a busy program on one of two CPUs' "$cpus CPUs here"
fi
finish
