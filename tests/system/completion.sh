#!/bin/sh
# The completion files for bash and zsh that the build makes from --help: a real bash calls the
# functions and prints the candidates.
#
# seconds: 2
. "$TOP/tests/lib.sh"

tools='zcc zcs cyclesoak run_rr zc-hosts'
files=$HELPERS/../completion

if ! command -v bash >/dev/null 2>&1; then
	skip 'completion in bash' 'no bash'
	finish
fi
mkdir dir
: >file

# help_of TOOL: its --help; of zc-hosts, which may lack its Python, the text in the source
help_of()
{
	case $1 in
	zc-hosts) sed -n '/^USAGE = """/,/^"""/p' "$TOP/lib/hosts/zc-hosts" ;;
	*) "$BIN/$1" --help ;;
	esac
}

# candidates WORD...: what bash offers for the last word; the first is the program
cat >candidates <<'END'
source "$FILES/$1" || exit
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"_$1" "$1" "${!#}" "${@: -2:1}"
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
END
candidates()
{
	FILES=$files bash --norc candidates "$@" | LC_ALL=C sort
}
# offers 'CANDIDATE...' WORD...: these are offered, and no other
offers()
{
	echo "$1" | tr ' ' '\n' | sed '/^$/d' | LC_ALL=C sort >wanted
	shift
	candidates "$@" >offered
	diff wanted offered
}
it 'bash: every option of --help is offered, and no other'; ( begin
	for tool in $tools; do
		help_of $tool | sed -n 's/^ \{2,6\}\(-.*\)/\1/p' | sed 's/  .*//' | tr -d ' ' | tr , '\n' |
		    sed 's/=.*/=/; s/^\(-[^-]\)=/\1/' | LC_ALL=C sort >wanted
		candidates $tool - >offered
		diff wanted offered
		candidates $tool -- >offered
		grep '^--' wanted | diff - offered
	done
); ok
it 'bash: each file registers its program'; ( begin
	for tool in $tools; do
		bash --norc -c 'source "$1" && complete -p "$2"' bash "$files/$tool" $tool >out
		echo "complete -F _$tool $tool" | diff - out
	done
); ok
methods()
{
	offers "$(methods_of zcc | xargs)" zcc -m ''
	offers 'sendfile send splice' zcc --method = s
	offers "$(methods_of zcc | xargs)" zcc -s 0 --method =
	offers '--method=send --method=sendfile' zcc --method=sen
	offers "$(methods_of zcs | xargs)" zcs --method ''
	offers 'recv' zcs -m rec
	offers '' zcs -m send
}
check 'bash: the methods of --help are offered, in each way to write an option' methods
it 'bash: behind a comma the methods that are not in the list are offered'; ( begin
	offers 'sendfile,send sendfile,splice' zcc -m sendfile,s
	offers 'send,mmap,sendfile send,mmap,splice' zcc --method = send,mmap,s
	offers '--method=write,mmap' zcc --method=write,m
	offers 'mmap,sendfile mmap,send mmap,write mmap,splice mmap,zerocopy mmap,uring mmap,uring-zc' zcc -m mmap,
	offers '' zcs -m recv,s
); ok
congestion()
{
	offers "$(cat /proc/sys/net/ipv4/tcp_available_congestion_control)" zcc --congestion ''
	offers reno zcc --congestion = ren
}
if grep -qw reno /proc/sys/net/ipv4/tcp_available_congestion_control; then
	check 'bash: the congestion controls of this kernel are offered' congestion
else
	skip 'bash: the congestion controls of this kernel are offered' 'the kernel has no reno'
fi
it 'bash: the CPUs are offered, behind a comma too'; ( begin
	candidates zcc -B '' >offered
	cat offered
	grep -qx "$(cat /sys/devices/system/cpu/online)" offered
	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		[ "$(cat "$cpu/online" 2>/dev/null)" = 0 ] || grep -qx "${cpu##*cpu}" offered
	done
	candidates zcs --bind-cpu 7,0 | grep -qx 7,0
); ok
it 'bash: files and commands are offered where the program takes them, and no options behind a command'; ( begin
	offers 'file' zcc -s 0 fil
	offers 'dir' zcc -c di
	offers 'file' zc-hosts -q fil
	offers '' zcs fil
	offers 'file' cyclesoak -f fil
	offers 'file' cyclesoak --calibration = fil
	offers 'file' cyclesoak -n 3 true fil
	offers 'file' run_rr -- true fil
	offers '' zcc -n 1
	candidates cyclesoak -p 1 cho | grep -qx chown
	candidates run_rr -p 1 -- cho | grep -qx chown
	offers '' cyclesoak -B cat -- --once
); ok
it 'bash: users and hosts are offered'; ( begin
	candidates zcs --user = roo | grep -qx root
	candidates zcs --user=roo | grep -qx -e --user=root
	! grep -qw localhost /etc/hosts || candidates zcc -s localh | grep -qx localhost
); ok
devices()
{
	[ -e /sys/class/net/lo ]
	for tool in zcc zcs; do
		candidates $tool --bind-dev '' | grep -qx lo
		offers lo $tool --bind-dev = lo
	done
}
check 'bash: the network interfaces are offered' devices
it 'zsh: the files are valid'; ( begin; need zsh
	for tool in $tools; do
		zsh -n "$files/_$tool"
	done
); ok
it 'zsh: the methods of zcc are a list, and zcs has one'; ( begin
	grep -F ':METHOD: _values -s , METHOD sendfile send write ' "$files/_zcc"
	grep -F ':METHOD:(read recv ' "$files/_zcs"
); ok
it 'zsh: every option of --help has its specification'; ( begin
	for tool in $tools; do
		[ "$(head -n 1 "$files/_$tool")" = "#compdef $tool" ]
		# With the braces of zsh expanded as bash expands them, each word is one option.
		sed -n '/^_arguments/,$p' "$files/_$tool" | sed '1s/^_arguments/printf "%s\\n"/' >arguments
		bash --norc arguments | sed -n 's/^\*\{0,1\}\(([^)]*)\)\{0,1\}\*\{0,1\}\(-[A-Za-z0-9-]*\).*\[.*/\2/p' |
		    LC_ALL=C sort >offered
		help_of $tool | sed -n 's/^ \{2,6\}\(-.*\)/\1/p' | sed 's/  .*//' | tr -d ' ' | tr , '\n' |
		    sed 's/=.*//' | LC_ALL=C sort >wanted
		diff wanted offered
	done
); ok

finish
