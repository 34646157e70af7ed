#!/bin/sh
# What zcc --compare prints of two files of --save: the records of tests/helpers/comparisons, which tests/helpers/sessions
# turns into such files, and what must hold of any of them.
#
# seconds: 4
. "$TOP/tests/lib.sh"

all=$(seq "$(grep -c '^== ' "$TOP/tests/helpers/comparisons")")
sessions()
{
	mkdir "$1"
	( cd "$1" && mkdir $all )
	awk -f "$TOP/tests/helpers/sessions" -v dir="$PWD/$1" ${2:+-v change=$2} "$TOP/tests/helpers/comparisons"
}
sessions records

# run_commands FILE: prints each command of a record, and what it prints now
run_commands()
{
	files='old new'
	[ -e old ] || files=new
	while IFS= read -r line; do
		case $line in '$ '*) ;; *) continue ;; esac
		echo "$line"
		options=${line#\$} filter=cat status=0
		case $options in
		*' | .'*) filter="jq -c" ;;
		*' | '*) filter="grep -E" ;;
		esac
		pattern=${options#* | }
		# shellcheck disable=SC2086 # the words
		"$zcc" --compare $files ${options%% | *} >printed 2>&1 || status=$?
		case $filter in
		cat) cat printed ;;
		jq*) sed -n '/^{/p' printed | jq -c "def r: . * 1e4 | round / 1e4; $pattern" ;;
		*) grep -E -e "$pattern" printed || echo '(no line)' ;;
		esac
		[ $status -eq 0 ] || echo "! $status"
	done <"$1"
}
for record in $all; do
	read -r title <"records/$record/title"
	it "$title"; ( begin
		! grep -q ' | \.' "records/$record/want" || need jq
		cd "records/$record"
		untraced run_commands want >got
		diff want got
	); ok
done

it 'for any files: properties'; ( begin; need jq
	for change in '' reverse bytes rounds sessions unsafe; do
		sessions "any$change" $change
	done
	# compared DIRECTORY: the runs of all comparisons, a line for each
	compared()
	{
		for record in $all; do
			( cd "$1/$record" && "$zcc" --json --compare ${2-$([ ! -e old ] || echo old)} new 2>/dev/null ) || :
		done | jq -c '.comparison // {runs: []} | [(.sessions // 1) + (.against_sessions // 0), .rounds, .runs]'
	}
	compared any >any.json
	compared any new >self.json
	for change in reverse bytes rounds unsafe; do compared any$change >$change.json; done
	# hold FILE: the two files agree in what the expression has for each pair of lines
	hold()
	{
		jq -se --slurpfile other "$1.json" 'def close($a; $b): ($a - $b) | fabs <= 1e-4 * ($b | fabs) + 1e-9;
		    def ratios: ["throughput_ratio", "cost_ratio", "remote_cost_ratio"];
		    [., $other] | transpose | length > 25 and all(.[]; . as [$a, $b] | [$a[2], $b[2]] | transpose | all(.[]; . as [$x, $y] | '"$2"'))' any.json
	}
	# doubts DIRECTORY FACTOR: how many runs were unsafe or not measured, of how many, times a factor
	doubts()
	{
		for record in $all; do
			[ ! -e "$1/$record/old" ] || "$zcc" --compare "$1/$record/old" "$1/$record/new" 2>/dev/null || :
		done | sed -n 's/\(.*\) in \([0-9]*\) of \([0-9]*\) runs\{0,1\}:.*/\1 \2 \3/p' | awk -v by="$2" '{ $(NF - 1) *= by; $NF *= by } 1'
	}
	echo '# of each session twice, twice as many runs are unsafe or not measured'
	doubts any 2 >doubts
	counts -ge 8 lines_in doubts
	doubts anysessions 1 | diff doubts -
	echo '# a session compared with itself has 1 inside'
	hold self 'all(ratios[]; . as $key | $y[$key] | . == null or (close(.ratio; 1) and (.low == null or (.low <= 1.0001 and .high >= 0.9999))))'
	echo '# runs in another order have the same ratios'
	jq -c '.[2] |= reverse' reverse.json >forward.json
	hold forward 'all(ratios[]; . as $key | $x[$key] == null or close($x[$key].ratio; $y[$key].ratio))'
	echo '# twice the bytes are twice the throughput at the same load'
	hold bytes '$x.before == null or ($x.throughput_ratio == null or close(2 * $x.throughput_ratio.ratio; $y.throughput_ratio.ratio)) and
	    ($x.cost_ratio == null or close($x.cost_ratio.ratio; 2 * $y.cost_ratio.ratio)) and $x.load_percent == $y.load_percent'
	echo '# twice the rounds widen no interval'
	hold rounds '$a[0] > 2 or all(ratios[]; . as $key | $x[$key].low == null or
	    ($y[$key].low >= $x[$key].low * 0.9999 and $y[$key].high <= $x[$key].high * 1.0001))'
	echo '# an unsafe load changes no figure'
	hold unsafe '($x | del(.unsafe, .unsafe_rounds, .before)) == ($y | del(.unsafe, .unsafe_rounds, .before)) and ($y.load_percent == null or ($y.unsafe | index("steal")))'
); ok
finish
