#!/bin/sh
# What must hold between the figures of a report with -c, whatever the load: the cost is the
# load times the number of CPUs and the time, divided by the bytes moved; the CPUs' loads have the load as their mean; the receipt
# has what zcs reports.  loads.sh judges the loads themselves.
#
# group: soaks
# seconds: 8
. "$TOP/tests/lib.sh"

zcc=$BIN/zcc cyclesoak=$BIN/cyclesoak
cpus=$(getconf _NPROCESSORS_ONLN)
if ! command -v jq >/dev/null 2>&1; then
	skip 'identities of the figures of a report with -c' 'no jq'
	finish
fi
made_up_calibration "$(machine_name)" 1500000 >counts_per_sec

# measure command...: once nobody else soaks; `wall` has the seconds from before it to after it
measure()
{
	soaking wall_of "$@"
}
wall_of()
{
	begun=$(date +%s%N)
	"$@" || return
	echo "$begun $(date +%s%N)" | awk '{ print ($2 - $1) / 1e9 }' >wall
}
# holds FILE EXPRESSION...: each is true of the one object in the file.  cost_fits(HOST; BYTES; FROM; TO): the
# time that its cost stands for is from FROM to TO seconds.  nearly(SECONDS): at the end the soakers are read
# before the clock, on a busy CPU by some milliseconds
holds()
{
	object=$1
	shift
	all=true
	for expression; do
		all="$all and ($expression)"
	done
	is_so "$all" && return
	for expression; do
		is_so "$expression" || echo "does not hold: $expression"
	done
	jq -c 'del(.start)' "$object"
	return 1
}
is_so()
{
	jq -e --argjson cpus "$cpus" --argjson wall "$(cat wall)" "
		def near(\$a; \$b; \$t): (\$a - \$b) | . <= \$t and . >= -\$t;
		def nearly(\$s): 0.98 * \$s - 0.01;
		def cost_fits(\$h; \$bytes; \$from; \$to):
			(\$h.cost_us_per_kib * \$bytes / 1024 / (\$h.load_percent / 100 * (\$h.cpus // \$cpus) * 1e6)) |
			. >= 0.999 * \$from and . <= \$to;
		$1" "$object" >/dev/null
}

start_zcs
it 'zcc -c --json -B: load, uncertainty and cost agree, in sum, for each CPU and each interval'; ( begin
	measure "$zcc" -c --json -s 0 -p "$PORT" -t 0.6 -I 0.2 -B 0 --congestion reno
	holds out '.end | cost_fits(.host; .sum_sent.bytes; nearly(.sum_sent.seconds); $wall)' \
	    '.end.host | .cpus == $cpus and .load_percent > 0 and .load_uncertainty_percent > 0' \
	    '.end | .cpu_utilization_percent.host_total == .host.load_percent' \
	    '.end.load_by_cpu | length == $cpus and .[0].cpu == 0 and .[0].role == "sender"' \
	    '.end | (.load_by_cpu | map(.load_percent) | add / $cpus) as $mean |
		near($mean; .host.load_percent; .host.load_uncertainty_percent)' \
	    '.end as $all | .end.load_by_cpu | all((.load_percent < 1) or
		cost_fits(. + {cpus: 1}; $all.sum_sent.bytes; nearly($all.sum_sent.seconds); $wall))' \
	    '.end | (.load_by_cpu | map(.cost_us_per_kib) | add) as $sum |
		near($sum; .host.cost_us_per_kib; .host.cost_us_per_kib * .host.load_uncertainty_percent / .host.load_percent)' \
	    '.intervals | length >= 2 and
		all(.sum | cost_fits(.; .bytes; 0.7 * .seconds; 1.4 * .seconds))' \
	    '.end | has("sum_received") and (.remote | has("load_percent") | not)'
); ok
it 'zcc -c -B in text: the headline, the column and the rows of the CPUs agree'; ( begin
	measure "$zcc" -c -s 0 -p "$PORT" -t 0.3 -B 0 --congestion reno
	grep -Eq "^[0-9]+ kbytes/sec \([0-9.]+ Gbit/s\), load [0-9.]+%\?? \+-[0-9.]+% of $cpus CPUs, cost [0-9.]+\?? us/KiB" out
	[ "$(grep -Ec '^    cpu[0-9]+ +-?[0-9.]+%\?? \+-[0-9.]+% +-?[0-9.]+\??' out)" -eq "$cpus" ]
	# The headline, the column and the rows have one and the same load; what the host of a virtual machine takes
	# of each CPU is not known, which the interval has.
	awk -v cpus="$cpus" -v wall="$(cat wall)" '
		NR == 1 { rate = $1; sub(/.*, load /, ""); load = $1 + 0
			within = substr($2, 3) + 0; within = within > 1 ? within : 1; sub(/.*cost /, ""); cost = $1 + 0 }
		$1 == "seconds" { seconds = $2 }
		$1 == "load" && $2 ~ /%/ { column = $2 + 0 }
		$1 == "cost," { column_cost = $3 + 0 }
		$1 ~ /^cpu/ { sum += $2 / cpus; sum_cost += $4 }
		END {
			time = cost * rate * seconds / (load / 100 * cpus * 1e6)
			share = within / load > 0.05 ? within / load : 0.05
			print load, column, sum, cost, column_cost, sum_cost, seconds, time, wall
			exit !(load > 0 && column == load && sum - load < within && load - sum < within && column_cost == cost &&
			    sum_cost - cost < share * cost && cost - sum_cost < share * cost && time > 0.95 * seconds && time < wall)
		}' out
); ok
it 'zcc -c --json -b with a list: an object for each size, each with its own load and cost'; ( begin
	head -c 65536 /dev/zero >file
	measure "$zcc" -c --json -s 0 -p "$PORT" -S -b 512,16k -r 1 -t 0.2 --congestion reno file
	[ "$(wc -l <out)" -eq 3 ]
	for n in 1 2; do
		sed -n "${n}p" out >one
		holds one '.end | cost_fits(.host; .sum_sent.bytes; nearly(.sum_sent.seconds); $wall)' \
		    '.end.host | .load_percent > 0 and .load_uncertainty_percent > 0 and .cpus == $cpus' \
		    'near(.end.sum_sent.calls * .start.test_start.blksize; .end.sum_sent.bytes; 65536)'
	done
	[ "$(sed -n '1,2s/.*"blksize":\([0-9]*\).*/\1/p' out | paste -s -d ' ')" = '512 16384' ]
	# What a small buffer costs more.
	jq -es '.[0].end.host.cost_us_per_kib > .[1].end.host.cost_us_per_kib' out
); ok
it 'zcc -c -b with a list in text: throughput, load and cost of a row agree'; ( begin
	measure "$zcc" -c -s 0 -p "$PORT" -S -b 512,16k -r 1 -t 0.2 --congestion reno file
	sed -nE 's/^send +((512|16k) +[0-9,]+ )/\1/p' out >rows
	[ "$(wc -l <rows)" -eq 2 ]
	# Columns: bytes, KiB/s, load, us/KiB
	tr -d ',?' <rows | awk -v cpus="$cpus" -v wall="$(cat wall)" '{
		time = $4 * $2 * 0.2 / ($3 / 100 * cpus * 1e6)
		print time
		bad += !($3 > 0 && $4 > 0 && time > 0.185 && time < wall)
	} END { exit NR != 2 || bad > 0 }'
); ok
stop_zcs

start_zcs --reply
it 'zcc -c --request: load and cost of each size agree, in JSON and in text'; ( begin
	measure "$zcc" -c --json -s 0 -p "$PORT" --request 1000,100k -t 0.2 -P 2 --congestion reno
	holds out '.requests | length == 2 and all(cost_fits(.host; .bytes; nearly(.seconds); $wall))' \
	    '.requests | all(.host | .load_percent > 0 and .load_uncertainty_percent > 0 and .cpus == $cpus)' \
	    '.requests | all(.bytes == .request_bytes * .connections)' \
	    '.requests | all(near(.connections_per_second * .seconds; .connections; 0.01 * .connections))' \
	    '.requests[0].host.cost_us_per_kib > .requests[1].host.cost_us_per_kib'
	measure "$zcc" -c -s 0 -p "$PORT" --request 1000 -t 0.2 -q
	awk -v cpus="$cpus" -v wall="$(cat wall)" '{
		seconds = $3 + 0; rate = $6 + 0; sub(/.*, load /, ""); load = $1 + 0; sub(/.*cost /, ""); cost = $1
		time = cost * rate * seconds / (load / 100 * cpus * 1e6)
		print seconds, rate, load, cost, time
		exit !(time > 0.95 * seconds && time < wall)
	}' out
); ok
stop_zcs

it 'zcs -c --json: load and cost agree, and zcc --json has them in its receipt'; ( begin
	# On a busy machine a transfer may be over before the soakers have settled: then it has no load.
	for t in 0.6 1.2 2.4 4.8; do
		start_zcs -c --json -I 0.1
		measured "$zcc" --json -s 0 -p "$PORT" -t $t --congestion reno
		wait_until [ -s zcs.out ]
		! jq -e '[.intervals[].sum.load_percent | numbers] | length >= 2' zcs.out || break
		stop_zcs
	done
	tail -n 1 zcs.out >object
	echo 60 >wall
	holds object '.end | cost_fits(.host; .sum_received.bytes; 0.999 * .sum_received.seconds; 1.001 * .sum_received.seconds)' \
	    '.end.host | .load_percent > 0 and .load_uncertainty_percent > 0 and .cpus == $cpus' \
	    '.end | .cpu_utilization_percent.host_total == .host.load_percent' \
	    '[.intervals[].sum.load_percent | numbers] | length >= 2 and all(. > 0 and . <= 101)'
	holds out '.end | .cpu_utilization_percent.remote_total == .remote.load_percent' \
	    '.end | cost_fits(.remote; .sum_received.bytes; 0.999 * .sum_received.seconds; 1.001 * .sum_received.seconds)' \
	    '.end.host | has("load_percent") | not'
	# The receipt has six decimals of a share.
	jq -s '[.[0].end.host, .[1].end.remote]' object out >both
	for key in load_percent load_uncertainty_percent slowed_percent tasks_percent cpus cost_us_per_kib; do
		holds both "near(.[0].$key; .[1].$key; 0.001)"
	done
	stop_zcs
); ok

#
# -N: fewer CPUs than there are.
#
if [ "$cpus" -ge 2 ]; then
	fewer()
	{
		mkdir -p fewer
		cd fewer || return
		fake_calibration "$(machine_name)" >counts_per_sec
		start_zcs
		measure "$zcc" -c --cpus=1 --json -s 0 -p "$PORT" -t 0.2 -B 0 --congestion reno
		not grep counts_per_sec err
		holds out '.end.host.cpus == 1' '.end.load_by_cpu | length == 1 and .[0].cpu == 0' \
		    '.end | cost_fits(.host; .sum_sent.bytes; nearly(.sum_sent.seconds); $wall)' \
		    '.end | near(.load_by_cpu[0].load_percent; .host.load_percent; 0.001)'
		stop_zcs
		measure "$cyclesoak" --json -N 1 --count=1 --period=0.2 --file=counts_per_sec
		head -n 1 out >one
		holds one '.cpus == 1 and (.load_by_cpu | map(.cpu)) == [0]'
		start_zcs -c -N 1
		measured "$zcc" -s 0 -p "$PORT" -t 1 --json --congestion reno
		holds out '.end.remote.cpus == 1'
		[ "$(cpus_of "$(soaker_of "$ZCS")" | sort -u | grep -cx 0)" -eq 1 ]
		[ "$(threads_of "$(soaker_of "$ZCS")")" -le 2 ]
		stop_zcs
	}
	check '-c -N 1 of zcc, zcs and cyclesoak: CPU 0 alone is soaked and reported' fewer
	it '-N that is not the number of CPUs in the calibration: one line, exit 1'; ( begin
		for how in "zcc -c -f counts_per_sec -N 1 -s 0 -p 1" "zcs -c -f counts_per_sec -N 1 -p 0" \
		    "cyclesoak -N 1 -1"; do
			exits 1 timeout 20 "$BIN"/$how
			grep -v 'CPU quota' err >line
			one_line line
			grep -q 'counts_per_sec.*: run .cyclesoak -C' err
		done
	); ok
else
	skip '-c -N 1' 'one CPU'
fi

#
# cyclesoak.
#

# read_counts FILE: nanoseconds, interrupts and the columns of /proc/stat
read_counts()
{
	{
		date +%s%N
		awk '$1 == "intr" { print $2 }' /proc/stat
		awk '$1 == "cpu" { print $2, $3, $4, $5, $6, $7, $8, $9 }' /proc/stat
	} | paste -s -d ' ' >"$1"
}
# The periods are between `before` and `after`, and the second to the fifth go on from before `early` to after
# `late`, as `late` is read before the fifth is over.
periods()
{
	read_counts before
	"$cyclesoak" --json --per-cpu -n 5 -p 0.2 >out 2>err &
	soak=$!
	remember $soak
	wait_until or_gone $soak [ -s out ]
	read_counts early
	wait_until counts -ge 3 lines_in out
	read_counts late
	[ "$(wc -l <out)" -lt 5 ] || cp early late
	ended "$soak"
	read_counts after
	[ "$(wc -l <out)" -eq 6 ]
}
it 'cyclesoak --json: interrupts and the accounting of the periods are those of /proc/stat'; ( begin
	periods
	for key in interrupts_per_second accounting_percent.user accounting_percent.nice accounting_percent.system \
	    accounting_percent.idle accounting_percent.iowait accounting_percent.irq accounting_percent.softirq; do
		head -n 5 out | jq -r "\"\(.seconds) \(.$key)\""
		echo "$key"
	done >values
	cat before early late after values | awk -v cpus="$cpus" -v hz="$(getconf CLK_TCK)" '
		NR <= 4 { for (i = 1; i <= 10; i++) { n[NR, i] = $i; if (i > 2) all[NR] += $i } next }
		NF == 2 { count = $1 * $2; sum += count; if (periods++ > 0) most += count; next }
		{
			# A rate is of the time, a share of the ticks: `sum` is then in ticks, about.
			column = ++keys + 1
			unit = column == 2 ? 1 : 100 / (cpus * hz)
			if (column > 2)
				slack = (all[4] - all[1]) / 25 # the ticks of a CPU that sleeps come late
			low = (n[3, column] - n[2, column]) * unit
			high = (n[4, column] - n[1, column]) * unit
			print $1 ": " sum ", most of it " most ", between " low " and " high
			bad += sum < low - (column > 2 ? slack * unit : 1) || most > high + (column > 2 ? slack * unit : 1)
			sum = most = periods = 0
		}
		END { exit keys != 8 || bad > 0 }'
); ok
it 'cyclesoak --json: the load is the mean of the CPUs, and the closing line that of the periods'; ( begin
	jq -es 'def near($a; $b; $t): ($a - $b) | . <= $t and . >= -$t;
		.[:5] as $periods | .[5] | .periods == 5 and
		near(.load_percent; [$periods[].load_percent] | add / 5; 0.001) and
		near(.load_min_percent; [$periods[].load_percent] | min; 0.001) and
		near(.load_max_percent; [$periods[].load_percent] | max; 0.001) and
		.load_uncertainty_percent >= ([$periods[].load_uncertainty_percent] | max) - 0.001' out
	head -n 5 out | jq -es --argjson cpus "$cpus" 'def near($a; $b; $t): ($a - $b) | . <= $t and . >= -$t;
		all(.[]; (.load_by_cpu | length) == $cpus and
		near(.load_by_cpu | map(.load_percent) | add / $cpus; .load_percent; .load_uncertainty_percent))'
); ok

finish
