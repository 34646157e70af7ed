# completion.awk: prints the completion of a program for bash or zsh, made from its table of options.
# Usage: awk -v shell=bash -f man/completion.awk zcs.c
#        awk -v shell=bash -f man/completion.awk zcc.c lib/send/options.c
#        awk -v shell=bash -f man/completion.awk lib/hosts/zc-hosts
#
# The first source is named as the program is; the table of lib/report/usage.h may be in any of them, or
# the text of --help in a script.  It is read there, so that a program for another machine need not run.  An option's placeholder tells what its argument is; a text
# that begins with `one of` lists the values, and a line such as `-m, -b and -P take lists` names the
# options that take several, with commas between them.

# read_help TEXT: a line of --help
function read_help(text,    indent, at)
{
	if (n == 0 && text ~ /\[FILE\.\.\.\]|\] FILE$/)
		operands = "files"
	if (n == 0 && text ~ /COMMAND/)
		operands = "command"
	if (text ~ / take lists/)
		read_lists(text)
	match(text, /^ */)
	indent = RLENGTH
	sub(/^ */, "", text)
	if (indent >= 2 && indent <= 6 && text ~ /^-/) {
		at = index(text, "  ")
		names[++n] = substr(text, 1, at - 1)
		about[n] = substr(text, at)
		sub(/^ */, "", about[n])
		at = index(names[n], "=")
		placeholder[n] = at > 0 ? substr(names[n], at + 1) : ""
		sub(/=.*/, "", names[n])
		in_option = 1
	} else if (indent > 6 && in_option) {
		about[n] = about[n] " " text
	} else {
		in_option = 0
	}
}

# field: takes the next member off the row; "" if it is NULL
function field(    text)
{
	if (match(row, /^"[^"]*"/))
		text = substr(row, 2, RLENGTH - 2)
	else
		match(row, /^[^,}]*/)
	row = substr(row, RSTART + RLENGTH)
	sub(/^, */, "", row)
	return text
}

# read_row: the row of a table, which is a text, an option, or one that the program lacks
function read_row(    letters, name, i, count, line)
{
	sub(/^\{/, "", row)
	if (row ~ /\.instead = /)
		return
	if (sub(/^\.help = /, "", row)) {
		count = split(field(), line, /\\n/)
		for (i = 1; i <= count; i++)
			read_help(line[i])
		return
	}
	letters = field()
	name = field()
	placeholder[n + 1] = field()
	about[n + 1] = field()
	if (about[n + 1] == "") # --help does not show it
		return
	if (row ~ /\.optional = true/)
		placeholder[n + 1] = ""
	names[++n] = ""
	for (i = 1; i <= length(letters); i++)
		names[n] = names[n] (i > 1 ? ", " : "") "-" substr(letters, i, 1)
	if (name != "")
		names[n] = names[n] (letters != "" ? ", " : "") "--" name
}

# read_lists TEXT: a line that names options, by their letters, whose arguments are lists
function read_lists(text)
{
	sub(/ take lists.*/, "", text)
	while (match(text, /-[A-Za-z]/)) {
		takes_list[substr(text, RSTART, RLENGTH)] = 1
		text = substr(text, RSTART + RLENGTH)
	}
}

# is_list I: whether the argument of the I-th option is a list of the values that its text has
function is_list(i)
{
	return values_of(i) != "" && substr(names[i], 1, 2) in takes_list
}

# has_list: whether an option is so
function has_list(    i)
{
	for (i = 1; i <= n; i++)
		if (is_list(i))
			return 1
	return 0
}

# values_of I: the values that the I-th option lists, with spaces between them
function values_of(i,    list)
{
	if (about[i] !~ /^one of /)
		return ""
	list = substr(about[i], length("one of ") + 1)
	sub(/;.*/, "", list)
	gsub(/ \(default\)|,/, "", list)
	return list
}

# takes KIND: whether an option has that placeholder
function takes(kind,    i)
{
	for (i = 1; i <= n; i++)
		if (placeholder[i] == kind)
			return 1
	return 0
}

# joined TEXT, WITH: the names in TEXT with that between them
function joined(text, with)
{
	gsub(/, /, with, text)
	return text
}

#
# bash
#

# bash_options: all names, the long ones that take an argument with `=`
function bash_options(    i, k, count, name, all)
{
	for (i = 1; i <= n; i++) {
		count = split(names[i], name, ", ")
		for (k = 1; k <= count; k++)
			all = all " " name[k] (placeholder[i] != "" && name[k] ~ /^--/ ? "=" : "")
	}
	return substr(all, 2)
}

# bash_argument I: the commands that set what the argument of the I-th option may be
function bash_argument(i)
{
	if (values_of(i) != "")
		return "words='" values_of(i) "'" (is_list(i) ? "; _" tool "_list" : "")
	if (placeholder[i] == "ALGORITHM")
		return "{ read -r words </proc/sys/net/ipv4/tcp_available_congestion_control; } 2>/dev/null"
	if (placeholder[i] == "CPUS")
		return "_" tool "_cpus"
	if (placeholder[i] == "DEVICE")
		return "words=$(cd /sys/class/net 2>/dev/null && printf '%s\\n' *)"
	if (placeholder[i] == "HOST")
		return "words=$(compgen -A hostname)"
	if (placeholder[i] == "USER")
		return "words=$(compgen -u)"
	if (placeholder[i] == "FILE")
		return "files=yes"
	return "return"
}

# print_bash_cpus: a function that completes lists of CPUs
function print_bash_cpus()
{
	print "_" tool "_cpus()"
	print "{"
	print "	local online range cpu"
	print "	{ read -r online </sys/devices/system/cpu/online; } 2>/dev/null"
	print "	words=$online"
	print "	for range in ${online//,/ }; do"
	print "		for ((cpu = ${range%-*}; cpu <= ${range#*-}; cpu++)); do"
	print "			words+=\" $cpu\""
	print "		done"
	print "	done"
	print "	# A list is completed after its last comma."
	print "	[[ $cur != *,* ]] || prefix+=${cur%,*},"
	print "	cur=${cur##*,}"
	print "}"
	print ""
}

# print_bash_list: a function that completes lists of different words
function print_bash_list()
{
	print "_" tool "_list()"
	print "{"
	print "	local all=$words word"
	print "	[[ $cur == *,* ]] || return"
	print "	words=''"
	print "	for word in $all; do"
	print "		[[ ,${cur%,*}, == *,$word,* ]] || words+=\" $word\""
	print "	done"
	print "	# A list is completed after its last comma."
	print "	prefix+=${cur%,*},"
	print "	cur=${cur##*,}"
	print "}"
	print ""
}

function print_bash(    i, taking)
{
	print "# bash completion of " tool ", made from its --help"
	if (takes("CPUS"))
		print_bash_cpus()
	if (has_list())
		print_bash_list()
	print "_" tool "()"
	print "{"
	print "	local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}"
	print "	local words='' files='' prefix=''" (operands == "command" ? " i" : "")
	print ""
	print "	COMPREPLY=()"
	if (operands == "command") {
		for (i = 1; i <= n; i++)
			if (placeholder[i] != "")
				taking = taking (taking != "" ? " | " : "") joined(names[i], " | ")
		print "	# The options end at the command."
		print "	for ((i = 1; i < COMP_CWORD; i++)); do"
		print "		case ${COMP_WORDS[i]} in"
		print "		--) ((i++)); break ;;"
		print "		" taking ") [[ ${COMP_WORDS[i + 1]} == '=' ]] || ((i++)) ;;"
		print "		=) ((i++)) ;;"
		print "		-*) ;;"
		print "		*) break ;;"
		print "		esac"
		print "	done"
		print "	if ((i < COMP_CWORD)); then"
		print "		if declare -F _command_offset >/dev/null; then"
		print "			_command_offset $i"
		print "		else"
		print "			compopt -o filenames 2>/dev/null"
		print "			mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")"
		print "		fi"
		print "		return"
		print "	fi"
	}
	print "	# `--option=value` is three words if COMP_WORDBREAKS contains `=`, otherwise one."
	print "	if [[ $cur == '=' ]]; then"
	print "		cur=''"
	print "	elif [[ $option == '=' ]]; then"
	print "		option=${COMP_WORDS[COMP_CWORD - 2]}"
	print "	elif [[ $cur == --*=* ]]; then"
	print "		option=${cur%%=*} prefix=${cur%%=*}= cur=${cur#*=}"
	print "	fi"
	print "	case $option in"
	for (i = 1; i <= n; i++)
		if (placeholder[i] != "")
			print "	" joined(names[i], " | ") ") " bash_argument(i) " ;;"
	print "	*)"
	print "		if [[ $cur == -* ]]; then"
	print "			words='" bash_options() "'"
	if (operands == "command") {
		print "		else"
		print "			mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")"
		print "			return"
	} else if (operands == "files") {
		print "		else"
		print "			files=yes"
	}
	print "		fi"
	print "		;;"
	print "	esac"
	print "	if [[ $files ]]; then"
	print "		compopt -o filenames 2>/dev/null"
	print "		mapfile -t COMPREPLY < <(compgen -f -P \"$prefix\" -- \"$cur\")"
	print "	else"
	print "		mapfile -t COMPREPLY < <(compgen -W \"$words\" -P \"$prefix\" -- \"$cur\")"
	print "	fi"
	print "	[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null"
	print "}"
	print "complete -F _" tool " " tool
}

#
# zsh
#

# zsh_argument I: the message and the action for the argument of the I-th option
function zsh_argument(i,    action)
{
	action = " "
	if (is_list(i))
		action = " _values -s , " placeholder[i] " " values_of(i)
	else if (values_of(i) != "")
		action = "(" values_of(i) ")"
	else if (placeholder[i] == "ALGORITHM")
		action = "_" tool "_algorithms"
	else if (placeholder[i] == "CPUS")
		action = "_" tool "_cpus"
	else if (placeholder[i] == "DEVICE")
		action = "_net_interfaces"
	else if (placeholder[i] == "HOST")
		action = "_hosts"
	else if (placeholder[i] == "USER")
		action = "_users"
	else if (placeholder[i] == "FILE")
		action = "_files"
	return ":" placeholder[i] ":" action
}

# zsh_spec I: the specification of the I-th option for _arguments
function zsh_spec(i,    text, all, quote)
{
	quote = "'\\''"
	text = about[i]
	sub(/;.*/, "", text)
	sub(/ \([^)]*$/, "", text) # which ended behind the semicolon
	gsub(/'/, quote, text)
	gsub(/[][]/, "\\\\&", text)
	all = names[i]
	if (placeholder[i] != "") {
		gsub(/--[a-z-]+/, "&=", all)
		all = zsh_letters(all)
	}
	text = "[" text "]" (placeholder[i] != "" ? zsh_argument(i) : "") "'"
	if (all !~ /, /)
		return "'" (is_repeatable(i) ? "*" : "") all text
	return (is_repeatable(i) ? "'*'" : "'(" joined(names[i], " ") ")'") "{" joined(all, ",") "}'" text
}

function is_repeatable(i)
{
	return about[i] ~ /given twice|repeatable/
}

# zsh_letters NAMES: each letter with the `+` of an argument in the same word or the next
function zsh_letters(all,    count, name, i, with)
{
	count = split(all, name, ", ")
	for (i = 1; i <= count; i++)
		with = with (i > 1 ? ", " : "") name[i] (name[i] ~ /^--/ ? "" : "+")
	return with
}

function print_zsh(    i)
{
	print "#compdef " tool
	print "# zsh completion of " tool ", made from its --help"
	if (takes("ALGORITHM")) {
		print "_" tool "_algorithms()"
		print "{"
		print "	compadd \"$@\" -- $(</proc/sys/net/ipv4/tcp_available_congestion_control)"
		print "}"
	}
	if (takes("CPUS")) {
		print "_" tool "_cpus()"
		print "{"
		print "	compadd \"$@\" -- $(</sys/devices/system/cpu/online) {0..$(($(getconf _NPROCESSORS_ONLN) - 1))}"
		print "}"
	}
	print "_arguments -s -S" (operands == "command" ? " -A '-*'" : "") " \\"
	for (i = 1; i <= n; i++)
		print "	" zsh_spec(i) (i < n || operands != "" ? " \\" : "")
	if (operands == "files")
		print "	'*:FILE:_files'"
	if (operands == "command") {
		print "	'(-)1:COMMAND: _command_names -e' \\"
		print "	'*::ARG: _normal'"
	}
}

NR == 1 {
	tool = FILENAME
	sub(/.*\//, "", tool)
	sub(/\.c$/, "", tool)
}
# The text of a Python script has no quotes.
in_text && /^"""$/ {
	in_text = 0
}
in_text || sub(/^USAGE = """/, "") {
	in_text = 1
	read_help($0)
	next
}
/^static const struct option_row / {
	in_rows = 1
	next
}
/^};$/ {
	in_rows = 0
}
in_rows {
	sub(/^\t+ */, "")
	row = row $0
	gsub(/""/, "", row) # where a string goes on in the next line, but not an empty one
	if ($0 ~ /^\{/)
		row = $0
	if ($0 ~ /\},( \/\*.*)?$/)
		read_row()
}
END {
	if (n == 0) {
		print FILENAME ": no table of options, or no option in it" >"/dev/stderr"
		exit 1
	}
	if (shell == "bash")
		print_bash()
	else
		print_zsh()
}
