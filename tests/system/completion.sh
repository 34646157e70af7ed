#!/bin/sh
# Completion for bash and zsh, which ask a program for its --help: real shells print the candidates.
#
# seconds: 2
. "$TOP/tests/lib.sh"

whole_test_needs bash 'completion in bash'
PATH=$BIN:$HELPERS/..:$PATH
mkdir dir
: >file

# candidates WORD...: what bash offers for the last word; the first is the program
candidates()
{
	bash --norc -c 'source "$TOP/man/completion.bash" && complete -p "$1" >registered || exit
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_zc "$1" "${!#}" "${@: -2:1}"
		((${#COMPREPLY[@]} == 0)) || printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | LC_ALL=C sort -u
}

it 'bash: each program is registered, and every option of its --help is offered and no other, with = before an argument'; ( begin
	for tool in zcc zcs cyclesoak run_rr zc-hosts zc-plot; do
		case $tool in zc-*) command -v python3 || continue ;; esac
		"$tool" --help >help </dev/null
		sed -n 's/^ \{2,6\}\(-.*\)/\1/p' help | sed 's/  .*//; s/, /\n/g' | sed 's/=.*/=/; s/^\(-[^-]\)=/\1/' | LC_ALL=C sort >wanted
		candidates $tool - | diff wanted -
		echo "complete -o default -F _zc $tool" | diff - registered
	done
	candidates zcc --re | xargs | grep -x -e '--request= --retry='
); ok
# A line is a command line, of which the last word is `''` if nothing of it is there, and behind `:` what is offered for
# it: only that, or with `+` that among others.  Where nothing is offered bash completes names of files.
it 'bash: methods, hosts and commands are offered where a program takes them, and else files'; ( begin
	while IFS=: read -r line wanted; do
		eval "candidates $line" >offered
		echo "$line: $(paste -s -d ' ' offered)"
		case $wanted in
		*+*) grep -qx -e "${wanted#*+}" offered ;;
		*) echo "$wanted" | tr ' ' '\n' | sed '/^$/d' | LC_ALL=C sort | diff - offered ;;
		esac
	done <<-END
		zcc -m '':$(methods_of zcc | xargs)
		zcs --method '':$(methods_of zcs | xargs)
		zcc -m sendfile,sp:sendfile,splice
		zcc --method = send,mma:send,mmap
		zcc -s 0 fil:
		cyclesoak -n 3 tru:+true
		run_rr -p 1 -- cho:+chown
		$(grep -qw localhost /etc/hosts && echo 'zcc -s localh:+localhost' || echo 'zcs -m send:')
		zcc -n 1:
		zcc '[' '':
	END
); ok
# zpty types the line and a TAB into a shell of its own, and reads until what is wanted appears.
it 'zsh: options, methods and files are offered'; ( begin; need zsh
	mkdir zsh
	cp "$TOP/man/completion.zsh" zsh/_zc
	while IFS=: read -r line wanted; do
		# shellcheck disable=SC2016 # zsh's own
		LINE=$line WANTED=$wanted timeout 60 zsh -f -c 'zmodload zsh/zpty
			zpty z "TERM=dumb zsh -f -i"
			zpty -w z "stty cols 200; fpath=(\$PWD/zsh \$fpath); autoload -U compinit; compinit -u -D; echo re\"\"ady"
			zpty -r z out "*ready*"
			zpty -n -w z "$LINE"$'"'\\t'"'
			zpty -r z out "*$WANTED*" && print -r -- "$LINE: $out"'
	done <<-END
		zcc --ret:--retry
		zcc --save=fil:--save=file
		cyclesoak chow:chown
	END
); ok
finish
