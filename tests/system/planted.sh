#!/bin/sh
# Calibration files that somebody else has made.  cyclesoak.sh has more files that cannot be read,
# calibration.sh directories in which others may plant things.
#
# seconds: 15
. "$TOP/tests/lib.sh"

zcs=$BIN/zcs zcc=$BIN/zcc cyclesoak=$BIN/cyclesoak
printf x >tiny
echo secret-of-another >secret
mkdir read_here
# What all of the programs do with such a file: refuse it in one line, at once.
calibration_is_refused()
{
	cd read_here || return
	fails "counts_per_sec.*: run .cyclesoak -C." timeout 20 "$cyclesoak" -1 -N 1 -p 0.1 -f counts_per_sec
	fails "cyclesoak -C" timeout 20 "$zcs" -p 0 -c -N 1
	fails "cyclesoak -C" timeout 20 "$zcc" -s 0 -p 1 -c -N 1 ../tiny
	not grep secret out err
	is_text err
}
# file_of command...: the calibration is what it prints
file_of()
{
	"$@" >counts_per_sec
}
edited()
{
	fake_calibration | sed "$1" >counts_per_sec
}
# not_taken 'what it is' command...: the command makes such a calibration
not_taken()
{
	what=$1
	shift
	( cd read_here && "$@" )
	check "a calibration that is $what: refused by cyclesoak, zcs -c and zcc -c" calibration_is_refused
	rm -rf read_here/counts_per_sec*
}
not_taken '5 GiB of nothing' truncate -s 5G counts_per_sec
not_taken 'a device' ln -s /dev/zero counts_per_sec
not_taken 'a socket' "$HELPERS/net" socket counts_per_sec
not_taken 'a FIFO' mkfifo counts_per_sec
not_taken 'a directory' mkdir counts_per_sec
not_taken 'a dangling link' ln -s nowhere counts_per_sec
not_taken 'a link to itself' ln -s counts_per_sec counts_per_sec
not_taken 'a file in /proc' ln -s /proc/self/environ counts_per_sec
not_taken "another's file" ln -s ../secret counts_per_sec
not_taken 'binary' file_of head -c 100000 /dev/urandom
not_taken 'negative' edited '1s/^/-/'
not_taken 'not a number' edited 's/ 1000000 / nan /'
not_taken 'larger than a double' edited '1s/.*/1e999/'
not_taken 'listing 2^32 CPUs' edited 's/^cpus .*/cpus 0-4294967295/'
not_taken 'full of escape sequences' file_of printf '\033[2J\033[31m 1\n'
it 'a calibration whose machine has control characters in its name: refused, and not printed'; ( begin
	fake_calibration "$(printf "\033[31mred \302\233")" >named
	fails "^cyclesoak: named was made on another machine or kernel: " "$cyclesoak" -1 -N 1 -p 0.1 -f named
	is_text err
); ok

finish
