#!/bin/sh
# What zcc --compare prints of two files of --save: the records of tests/helpers/comparisons, which tests/helpers/sessions
# turns into such files.
#
# seconds: 4
. "$TOP/tests/lib.sh"

all=$(seq "$(grep -c '^== ' "$TOP/tests/helpers/comparisons")")
mkdir records # whose JSON, that of files without all keys, finish() does not find
( cd records && mkdir $all )
awk -f "$TOP/tests/helpers/sessions" -v dir="$PWD/records" "$TOP/tests/helpers/comparisons"

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

finish
