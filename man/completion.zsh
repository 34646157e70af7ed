#compdef zcc zcs cyclesoak run_rr zc-hosts zc-plot
# zsh completion of zc's programs: the options of their --help, and what these take
_zc_methods()
{
	_values -s , METHOD ${(f)"$(_call_program options $words[1] --help 2>/dev/null |
		sed -n '/-m, --method/,/^ *-[^m]/s/^.*one of \|^  *\([a-z]\)/\1/p' |
		sed '/;/q' | sed 's/;.*//; s/ ([^)]*)//g; s/, */\n/g' | sed '/^$/d; / /d; /^-/d')"}
}
local files='*:file:_files'
[[ $service != (cyclesoak|run_rr) ]] || files='*::command: _normal'
_arguments -s -S $files -- '*=METHOD*:method:_zc_methods' '*=FILE*:file:_files' '*=HOST*:host:_hosts' \
	'*=DEVICE*:interface:_net_interfaces' '*=USER*:user:_users'
