#!/bin/sh
# Abusive clients against zcs in every mode: it serves others meanwhile, and its threads, descriptors
# and memory return to where they started.  servers.sh has the abusive servers.
#
# group: waits
# seconds: 14
. "$TOP/tests/lib.sh"

zcs=$BIN/zcs zcc=$BIN/zcc net=$HELPERS/net
rounds=$(scale 1 2) # of the siege
head -c 1000000 /dev/urandom >file
printf x >tiny
printf '\0\0' >half
u32 1 1 1000000 >header
{ u32 1 1 1000000; head -c 600000 /dev/zero; } >most # of a file: more than zcs waits for
u32 10 >asks
u32 20000 >asks.20k
u32 16777216 >asks.16m
# A stream as zcc sends it: two loops of three files.
printf hello >a
: >b
head -c 60 /dev/urandom >c
start_peer -w stream
"$zcc" -s 0 -p "$PORT" -n 2 -q a b c >/dev/null 2>&1
ended "$PEER"

fds()
{
	ls "/proc/$1/fd" | wc -l
}

has_more_files() # PID N
{
	[ "$(fds "$1")" -gt "$2" ]
}

# CPU time of a process, in clock ticks.
ticks()
{
	echo $(($(stat_field "$1" 14) + $(stat_field "$1" 15)))
}

rss()
{
	sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$1/status"
}

# watch MODE...: the ticks that the server of each takes in half a second, to MODE/spent
watch()
{
	for mode; do ticks "$(cat "$mode/pid")" >"$mode/spent"; done
	sleep 0.5
	for mode; do
		after=$(ticks "$(cat "$mode/pid")")
		echo $((after - $(cat "$mode/spent"))) >"$mode/spent"
	done
}

# idle: the server of $mode did not spin meanwhile.  Others may have the CPUs, but one that spins gets a share.
idle()
{
	echo "$(cat "$mode/spent") ticks"
	[ "$(cat "$mode/spent")" -lt 10 ]
}

children_of() # PID
{
	cat /proc/[0-9]*/stat 2>/dev/null | sed -n "s/^\([0-9]*\) (.*) [A-Z] $1 .*/\1/p"
}

quiet() # PID N: whether the process has N threads again
{
	wait_until counts -eq $2 threads_of $1
}

# What zcs may say on stderr of bad clients, each of which is on 127.0.0.0/8.
broken='(Connection reset by peer|Broken pipe|Too many open files)'
cut='closed (in the middle of a (header|file)|between two (files|loops)|in its warm-up)'
full='rejected: (all places are taken|its network has three quarters of all places) \(--max-clients\)'
silent='silent for [0-9.]+ seconds \(--idle-timeout\)'
of_client="(closed without sending anything|closed before sending a request|sent more than it announced|$full"
of_client="$of_client|requested [0-9]+ bytes?, more than --max-reply(: is it a zcc without --request\\?)?|$broken|$silent"
of_client="$of_client|($cut|$broken|$silent), after [0-9]+ bytes?|interrupted after [0-9]+ bytes?)"
of_all='listening on .*|[0-9]+ lines? about clients w(as|ere) omitted'
of_all="$of_all|accept: Too many open files; new clients wait until others leave"

expected() # FILE
{
	not grep -Evx "zcs: ($of_all|127\.[0-9.]+:[0-9]+: $of_client)" "$1"
}

# limited FILE SECONDS: no more than 20 lines about clients in 10 seconds
limited()
{
	[ "$(grep -c "^zcs: 127\." "$1")" -le $((20 * ($2 / 10 + 1))) ]
}

# One that sends all and stays: zcs gives it ten seconds, after which this test comes back to it.
start_zcs
stays=$ZCS
mv zcs.err stays.err
mv zcs.out stays.out
"$net" deaf -n 1 -d 600000 -f stream "$PORT" &
stayer=$!
remember $stayer

# The siege.  The server of each mode has a directory, and lives from here to the end of it.
modes="$(methods_of zcs | grep -v '^uring') json raw reply"
! may_lock_much || ! can_uring || modes="$modes uring" # a hundred clients have 8 MiB
start_mode() # MODE options...
{
	mode=$1
	shift
	mkdir -p "$mode"
	case $mode in
	json | raw | reply) start_zcs --"$mode" "$@" ;;
	*) start_zcs -m "$mode" "$@" ;;
	esac
	mv zcs.out zcs.err "$mode"
	echo "$ZCS" >"$mode"/pid
	echo "$PORT" >"$mode"/port
}

# honest MODE: whether a transfer, or a request, is served in full
honest()
{
	port=$(cat "$1/port")
	case $1 in
	reply) what_it_sends='--request 10,100k -n 10' ;;
	raw) what_it_sends='--raw file' ;;
	*) what_it_sends="file" ;;
	esac
	"$zcc" -s 0 -p "$port" $what_it_sends >"$1/honest" 2>"$1/honest.err" && case $1 in
	reply) not grep failed "$1/honest" ;;
	raw) no_warning "$1/honest.err" ;;
	*) grep -q 'all bytes sent were received' "$1/honest" ;;
	esac || { cat "$1/honest" "$1/honest.err"; return 1; }
}

# count_at_rest: sets $threads and $fds to those of a server of $mode that has begun to serve
count_at_rest()
{
	honest "$mode"
	[ "$mode" = reply ] || quiet "$ZCS" 1
	threads=$(threads_of "$ZCS") fds=$(fds "$ZCS")
}

# attack MODE ROUND: all there is, one after the other, each from an address of its own
attack()
{
	address=10
	for name in random limits empty drip deaf narrow halves urgent offsets ask-and-reset flood; do
		played=stream count=100
		case $name in
		random | flood) count=$(scale 100 1000) ;;
		empty) count=$(scale 15000 100000) ;;
		narrow) count=20 ;;
		esac
		case $1-$name in
		reply-deaf | reply-ask-*) played=asks.16m ;;
		reply-narrow) played=asks.20k ;;
		reply-*) played=asks ;;
		esac
		"$net" $name -a 127.0.0.$address -f $played -n "$count" -s $2 "$(cat "$1/port")" || return 1
		address=$((address + 1))
	done
}

# besiege MODE ROUND: the attacks, and honest clients as long as they go on
besiege()
{
	attack "$1" "$2" >"$1/attacks" 2>&1 &
	attackers=$!
	served=0
	while kill -0 $attackers 2>/dev/null; do
		honest "$1" || return 1
		served=$((served + 1))
		sleep 0.2
	done
	echo "$served honest clients meanwhile"
	wait $attackers || { cat "$1/attacks"; return 1; }
}

# calm MODE COUNT: connections one by one, after which its memory is noted
calm()
{
	"$net" random -a 127.0.0.21 -n $2 -s 7 "$(cat "$1/port")" &&
		quiet "$(cat "$1/pid")" "$(cat "$1/threads")" && rss "$(cat "$1/pid")" >>"$1/rss"
}

# settle MODE COUNT: calm ones until its memory has grown by 400 KiB at most.  The C library keeps memory for
# as many threads as it has ever seen at the same time; a leak grows each time.
settle()
{
	calm "$1" "$2"
	! sanitized || return 0
	for turn in 1 2 3 4 5; do
		calm "$1" "$2"
		! tail -n 2 "$1/rss" | awk 'NR == 1 { least = $1 } END { exit $1 > least + 400 }' || return 0
	done
	return 1
}

# in_all_modes COMMAND ARG: at the same time; what failed leaves MODE/failed
in_all_modes()
{
	for mode in $modes; do
		( "$1" "$mode" $2 || echo "$1 $2 failed" >>"$mode"/failed ) >>"$mode"/log 2>&1 &
		echo $! >"$mode"/job
	done
	for mode in $modes; do wait "$(cat "$mode"/job)"; done
}

began=$(date +%s)
for mode in $modes; do
	start_mode "$mode"
	count_at_rest
	echo "$threads" >"$mode"/threads
	echo "$fds" >"$mode"/fds
done
for round in $(seq "$rounds"); do
	in_all_modes besiege "$round"
done
# shellcheck disable=SC2046 # several words: $(scale)
in_all_modes settle $(scale 500 3000)

# All end what they do before they are watched.
for mode in $modes; do
	# shellcheck disable=SC2046 # several words: $(cat)
	quiet $(cat "$mode"/pid "$mode"/threads) || true
done
watch $modes
for mode in $modes; do
	pid=$(cat "$mode"/pid)
	it "$mode: $rounds rounds of attacks, and honest clients are served meanwhile"; ( begin
		cat "$mode"/log
		not [ -e "$mode"/failed ]
		[ "$(grep -c "^[1-9][0-9]* honest clients meanwhile$" "$mode"/log)" -eq "$rounds" ]
	); ok
	it "$mode: afterwards it serves, with threads and descriptors as at the start, no child, and does nothing"; ( begin
		not gone "$pid"
		honest "$mode"
		# shellcheck disable=SC2046 # several words
		quiet "$pid" $(cat "$mode"/threads)
		ls -l /proc/"$pid"/fd
		[ "$(fds "$pid")" -eq "$(cat "$mode"/fds)" ]
		[ -z "$(children_of "$pid")" ]
		idle
	); ok
	it "$mode: its memory does not grow with each connection, nor by all of them"; ( begin
		! sanitized || skip_check 'a sanitizer has memory of its own'
		cat "$mode"/rss
		grep "^Vm[HR]" /proc/"$pid"/status
		not grep "settle.*failed" "$mode"/failed
		[ "$(tail -n 1 "$mode"/rss)" -le 30000 ]
	); ok
	it "$mode: stderr has only documented messages, at most 20 about clients in 10 s"; ( begin
		expected "$mode"/zcs.err
		limited "$mode"/zcs.err $(($(date +%s) - began))
		is_text "$mode"/zcs.out
	); ok
done
it 'urgent data are data: the streams that had them are complete'; ( begin
	for mode in $(methods_of zcs); do
		[ -d $mode ] || continue
		start_zcs -m $mode
		"$net" urgent -a 127.0.0.17 -f stream -n 20 "$PORT"
		wait_until counts -ge 20 grep -Ec "^127\.0\.0\.17:[0-9]+: .* 130 bytes in" zcs.out
		one_line zcs.err
		stop_zcs
	done
); ok

# Those that stay must not make it spin, and are no obstacle to its end.
held=
stay() # options...: clients of $mode that stay until they are killed
{
	"$net" hold "$@" "$(cat "$mode"/port)" >"$mode/held.$*" 2>&1 &
	held="$held $!"
	remember $!
}
all_stay()
{
	[ "$(cat "$mode"/held.* | grep -c ^held)" -eq 9 ]
}

for mode in $modes; do
	for f in half header most; do
		stay -n 20 -f $f
	done
	stay -n 100
	stay -n 4 -f half -u 0
	stay -n 4 -f header -u 11
	for at in 12 13 400000; do
		stay -n 2 -f most -u $at
	done
done
for mode in $modes; do
	wait_until all_stay
done
watch $modes
for mode in $modes; do
	pid=$(cat "$mode"/pid)
	it "$mode: clients that stay, with urgent bytes or without, do not make it spin"; ( begin
		cat "$mode"/held.*
		all_stay
		honest "$mode"
		idle
	); ok
	kill -TERM "$pid"
done
for mode in $modes; do
	pid=$(cat "$mode"/pid)
	it "$mode: SIGTERM ends it all the same"; ( begin
		ended "$pid"
		expected "$mode"/zcs.err
	); ok
	wait "$pid"
	check "$mode: exit status 0" [ $? -eq 0 ]
done
kill $held
it 'json: what zcs --json prints of attacks and at its end is JSON'; ( begin
	[ -z "$no_json" ] || skip_check "$no_json"
	[ -s json/zcs.out ]
	valid_json json/zcs.out
); ok

# These mostly wait: each has a server and a directory of its own, and goes on beside the others.
# aside DIRECTORY COMMAND...: in the background, to DIRECTORY/log; its exit status goes to DIRECTORY/status
aside()
{
	mkdir "$1"
	(
		cd "$1" || exit
		ln -s ../file ../asks.16m .
		shift
		( set -e; "$@" ) >log 2>&1
		echo $? >status
	) &
	asides="$asides $!"
}
asides=
# came_well DIRECTORY: what was started there
came_well()
{
	cat "$1/log"
	[ "$(cat "$1/status")" -eq 0 ]
}

# Thousands that say nothing: beyond --max-clients, beyond the descriptors, and gone by --idle-timeout.
silent_ones=$(scale 600 2000)
silent_clients_where_may()
{
	start_mode "$1" --max-clients 400 --idle-timeout 1
	count_at_rest
	"$net" hold -n "$silent_ones" -a 127.0.0.10 "$PORT" >told &
	holder=$!
	remember $holder
	all_places=0
	wait_until or_gone $holder has_more_files "$ZCS" $((fds + 299)) && not gone $holder || all_places=$?
	ended $holder
	sort told | uniq -c
	[ "$(grep -c "^closed\|^said refused=full$" told)" -eq "$silent_ones" ]
	# A server that was stopped calls silent clients slow, and reports that it is full.
	[ $all_places -eq 0 ] || [ "$(grep -c "^closed" told)" -ge 300 ]
	wait_until counts -le "$fds" fds "$ZCS"
	wait_until counts -le "$threads" threads_of "$ZCS"
	honest "$mode"
	expected "$mode"/zcs.err
	# Where it takes seconds to connect them all, the lines may have gone on the silent ones.
	grep -q "rejected: " "$mode"/zcs.err || [ "$(grep -c "silent for " "$mode"/zcs.err)" -ge 20 ]
	stop_zcs
}
mkdir few
printf '#!/bin/sh\nulimit -n 40\nexec "%s" "$@"\n' "$zcs" >few/zcs
chmod 755 few/zcs
few=$PWD/few
more_silent_clients()
{
	BIN=$few
	start_mode "$1" --idle-timeout 0.5
	"$net" hold -n 80 -a 127.0.0.10 "$PORT" >held.out 2>&1 &
	holder=$!
	remember $holder
	wait_until grep -q "accept: Too many open files; new clients wait until others leave" "$mode"/zcs.err
	watch "$mode"
	idle
	ended $holder
	sort held.out | uniq -c
	[ "$(grep -cx closed held.out)" -eq 80 ]
	honest "$mode"
	cat "$mode"/zcs.err
	expected "$mode"/zcs.err
	[ "$(grep -c "new clients wait until others leave" "$mode"/zcs.err)" -le 3 ]
	stop_zcs
}
reply_who_asks()
{
	start_mode reply --idle-timeout 1
	count_at_rest
	"$net" deaf -n 20 -f asks.16m -d 60000 "$PORT" &
	remember $!
	wait_until counts -eq 20 grep -c "silent for 1 seconds" reply/zcs.err
	wait_until counts -le "$fds" fds "$ZCS"
	honest reply
	stop_zcs
}
reply_of_what_client()
{
	start_mode reply
	"$net" deaf -n 5 -f asks.16m -d 60000 "$PORT" &
	remember $!
	met()
	{
		ss -tinH "sport = :$PORT" >sockets
		[ "$(grep -c notsent: sockets)" -eq 5 ]
	}
	wait_until met
	sed -n "s/.*notsent:\([0-9]*\).*/\1/p" sockets >unsent
	cat unsent
	[ "$(sort -n unsent | tail -n 1)" -le 131072 ]
	kill $!
	stop_zcs
}
# It takes 2.5 seconds.
reply_client_that_takes()
{
	start_mode reply --idle-timeout 2
	"$net" sip -n 3 -a 127.0.0.10 -f asks.16m "$PORT"
	not grep "silent" reply/zcs.err
	stop_zcs
}
reply_clients_that_served()
{
	BIN=$few
	start_mode reply --max-reply 400m --idle-timeout 0
	# Each of its threads has opened an epoll instance before it starts.
	wait_until counts -gt "$(getconf _NPROCESSORS_ONLN)" threads_of "$ZCS"
	files=$(fds "$ZCS")
	# The client is stopped while the others take all descriptors, for it must be served meanwhile: at once,
	# since its 400 MiB may take no more than 50 ms.  Where this shell had no CPU for that long, another
	# client is started.
	for try in 1 2 3 4 5 6 7 8 9 10; do
		wait_until counts -eq "$files" fds "$ZCS"
		"$zcc" -s 0 -p "$PORT" --request 400m -n 1 --congestion reno >out 2>err &
		client=$!
		remember $client
		until gone $client || has_more_files "$ZCS" "$files"; do :; done
		kill -STOP $client || true
		gone $client || break
	done
	not gone $client
	"$net" hold -n 80 -a 127.0.0.10 "$PORT" >held.out 2>&1 &
	holder=$!
	remember $holder
	wait_until grep "new clients wait" reply/zcs.err
	kill -CONT $client
	ended $client
	cat out err reply/zcs.err
	grep -q "^419430400 bytes" out
	kill $holder
	stop_zcs || true
}
for mode in splice json reply; do aside silent-$mode silent_clients_where_may $mode; done
aside refuses reply_who_asks
aside takes reply_client_that_takes
aside served reply_clients_that_served
! command -v ss >/dev/null || aside unsent reply_of_what_client
for p in $asides; do wait "$p"; done
asides=
# One that spins is to be seen: nothing else is done beside these.
for mode in read splice reply; do aside more-$mode more_silent_clients $mode; done
for p in $asides; do wait "$p"; done
for mode in splice json reply; do
	check "$mode: $silent_ones silent clients where 300 may be: told so or let go, each of them" came_well silent-$mode
done
for mode in read splice reply; do
	check "$mode: more silent clients than descriptors: they wait, it does nothing, and recovers" came_well more-$mode
done
check 'reply: who asks for 16 MiB and takes nothing is let go' came_well refuses
it 'reply: of what a client does not take, at most 128 KiB are kept unsent'; ( begin; need ss
	came_well unsent
); ok
check 'reply: a client that takes 4 kB/s of 16 MiB is not silent' came_well takes
check 'reply: clients that are served do not wait where there are no descriptors for more' came_well served
it 'who does not read the receipt and stays is let go after ten seconds'; ( begin
	quiet "$stays" 1
	not gone $stayer
	grep -q "^127.* 130 bytes in" stays.out
	one_line stays.err
); ok
kill "$stays"

finish
