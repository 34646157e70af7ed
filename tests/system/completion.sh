#!/bin/sh
# The completion files for bash and zsh that the build makes from --help: a real bash calls the
# functions and prints the candidates.
#
# seconds: 2
. "$TOP/tests/lib.sh"

tools='zcc zcs cyclesoak run_rr zc-hosts zc-plot'
files=$HELPERS/../completion
whole_test_needs bash 'completion in bash'
mkdir dir
: >file

# options_of TOOL: those of its --help, a line each, with `=` if they take an argument.  zc-hosts and zc-plot may lack
# their Python: their text is in the source.
options_of()
{
	case $1 in
	zc-*) sed -n '/^USAGE = """/,/^"""/p' "$TOP"/lib/*/"$1" ;;
	*) "$BIN/$1" --help ;;
	esac | sed -n 's/^ \{2,6\}\(-.*\)/\1/p' | sed 's/  .*//; s/, /\n/g' | sed 's/=.*/=/; s/^\(-[^-]\)=/\1/' | LC_ALL=C sort
}

# candidates WORD...: what bash offers for the last word; the first is the program
cat >candidates <<'END'
source "$FILES/$1" && complete -p "$1" >registered || exit
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"_$1" "$1" "${!#}" "${@: -2:1}"
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
END
candidates() { FILES=$files bash --norc candidates "$@" | LC_ALL=C sort; }

it 'bash: each file registers its program, and offers every option of --help and no other'; ( begin
	for tool in $tools; do
		options_of $tool >wanted
		candidates $tool - | diff wanted -
		echo "complete -F _$tool $tool" | diff - registered
		grep '^--' wanted >long
		candidates $tool -- | diff long -
	done
); ok
# A line is a command line, of which the last word is `''` if nothing of it is there, and behind `:` what is offered for
# it: only that, or with `+` that among others.  Behind a comma those not in the list are offered.
it 'bash: methods, CPUs, files, commands, users, hosts, interfaces and congestion controls are offered where a program takes them'
( begin
	controls=$(cat /proc/sys/net/ipv4/tcp_available_congestion_control)
	while IFS=: read -r line wanted; do
		eval "candidates $line" >offered
		echo "$line: $(paste -s -d ' ' offered)"
		case $wanted in
		*+*) grep -qx -e "${wanted#*+}" offered ;;
		*) echo "$wanted" | tr ' ' '\n' | sed '/^$/d' | LC_ALL=C sort | diff - offered ;;
		esac
	done <<-END
		zcc -m '':$(methods_of zcc | xargs)
		zcc --method=sen:--method=send --method=sendfile
		zcs --method '':$(methods_of zcs | xargs)
		zcs -m send:
		zcc -m sendfile,s:sendfile,send sendfile,splice
		zcc --method = send,mmap,s:send,mmap,sendfile send,mmap,splice
		zcc -m mmap,:$(methods_of zcc | sed '/mmap/d; s/^/mmap,/' | xargs)
		zcc -B '':+0
		zcc -B '':+$(cat /sys/devices/system/cpu/online)
		zcs --bind-cpu 7,0:+7,0
		zcc -s 0 fil:file
		zcc -c di:dir
		zcs fil:
		cyclesoak -f fil:file
		cyclesoak -n 3 true fil:file
		run_rr -- true fil:file
		$(grep -qw localhost /etc/hosts && echo 'zcc -s localh:+localhost' || echo 'zcs -m send:')
		zcc -n 1:
		run_rr -p 1 -- cho:+chown
		cyclesoak -B cat -- --once:
		zcs --user=roo:+--user=root
		zcs --bind-dev = lo:lo
		zcc --congestion '':$controls
		zcc --congestion = ${controls%"${controls#??}"}:+${controls%% *}
	END
); ok
it 'zsh: every option of --help has its specification; the methods of zcc are a list, and zcs has one'; ( begin
	for tool in $tools; do
		[ "$(head -n 1 "$files/_$tool")" = "#compdef $tool" ]
		# With the braces of zsh expanded as bash expands them, each word is one option.
		sed -n '/^_arguments/,$p' "$files/_$tool" | sed '1s/^_arguments/printf "%s\\n"/' >arguments
		bash --norc arguments | sed -n 's/^\*\{0,1\}\(([^)]*)\)\{0,1\}\*\{0,1\}\(-[A-Za-z0-9-]*\).*\[.*/\2/p' |
		    LC_ALL=C sort >offered
		options_of $tool | tr -d = | LC_ALL=C sort | diff - offered
	done
	grep -F ':METHOD: _values -s , METHOD sendfile send write ' "$files/_zcc"
	grep -F ':METHOD:(read recv ' "$files/_zcs"
); ok
it 'zsh: the files are valid'; ( begin; need zsh
	for tool in $tools; do zsh -n "$files/_$tool"; done
); ok
finish
