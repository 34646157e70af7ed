# bash completion of zc's programs: the options of their --help, and what these take
_zc()
{
	local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} prefix='' options takes='' words=''

	# `--option=value` is three words if COMP_WORDBREAKS contains `=`.
	[[ $cur != '=' ]] || cur=''
	[[ $option != '=' ]] || option=${COMP_WORDS[COMP_CWORD - 2]}
	[[ $cur != --*=* ]] || option=${cur%%=*} prefix=${cur%%=*}= cur=${cur#*=}
	# A line for each option: its names, and behind a TAB what it does.
	options=$("$1" --help 2>/dev/null | sed -n '/^ \{2,6\}-/,/^$/p' |
		sed -e ':a' -e 'N;$!ba' -e 's/\n \{7,\}/ /g' | sed -n 's/^ *\(-[^ ]*\(, -[^ ]*\)*\) */\1\t/p')
	[[ $option != -* ]] || takes=$(grep -E -e "(^|, )$option(,|=|	)" <<<"$options")
	if [[ $cur == -* && -z $prefix ]]; then
		words=$(cut -f 1 <<<"$options" | sed 's/, /\n/g' | sed 's/=.*/=/; s/^\(-[^-]\)=/\1/')
	elif [[ $takes == *=METHOD* || $takes == *'	one of '* ]]; then
		[[ $cur != *,* ]] || prefix+=${cur%,*}, cur=${cur##*,}
		words=$(sed 's/.*	one of //; s/;.*//; s/ ([^)]*)//g; s/,//g' <<<"$takes")
	elif [[ $takes == *=HOST* ]]; then
		words=$(compgen -A hostname)
	elif [[ $takes != *=* && $1 =~ (cyclesoak|run_rr)$ ]]; then
		words=$(compgen -c -- "$cur")
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -P "$prefix" -- "$cur")
	[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}
complete -o default -F _zc zcc zcs cyclesoak run_rr zc-hosts zc-plot
