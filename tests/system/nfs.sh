#!/bin/sh
# cyclesoak beside a server that is not ours: the load of reading a file by NFS, both ends in user
# space on this host.
. "$TOP/tests/lib.sh"

why=
unshare --net --mount true 2>/dev/null || why='no privilege for namespaces'
[ "$(id -u)" -eq 0 ] || why='not root'
for tool in nfs-ls nfs-cat ganesha.nfsd; do
	command -v $tool >/dev/null 2>&1 || why="no $tool"
done
mkdir export
head -c 20000000 /dev/urandom >export/file
if [ -z "$why" ] && ! "$TOP/tests/helpers/nfs" export true 2>start.err; then
	if grep -q 'Could not get handle .*Operation not supported' start.err; then
		why='the file system here has no file handles'
	elif grep -q 'Could not dlopen module' start.err; then
		why='no nfs-ganesha-vfs'
	fi
fi
if [ -n "$why" ]; then
	skip 'a real NFS server' "$why"
	finish
fi

# in_network FILE: which processes are in the network that it names by its inode.
in_network()
{
	find /proc/[0-9]*/ns/net -prune -lname "net:?$(cat "$1")?" 2>/dev/null
}
nothing_in()
{
	[ -s "$1" ] && [ -z "$(in_network "$1")" ]
}

it 'a file of 20 MB comes as it is'; ( begin
	"$TOP/tests/helpers/nfs" export sh -c 'nfs-cat "$NFS_URL/file?version=4"' >copy
	cmp copy export/file
); ok

# For a while, not for milliseconds.
cat >reads <<'END'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	nfs-cat "$NFS_URL/file?version=4" || exit
done >/dev/null
END
# number NAME: the first of that name in the report
number()
{
	sed -n "s/^{\([^{]*,\)\{0,1\}\"$1\":\([-0-9.e+]*\)[,}].*/\2/p" out
}
reading()
{
	soaking "$TOP/tests/helpers/nfs" export "$BIN/cyclesoak" --json sh reads &&
	    one_line out &&
	    awk -v load="$(number load_percent)" -v seconds="$(number seconds)" 'BEGIN {
		exit !(load > 0 && load < 100 && seconds > 0) }'
}
# The machine has other users: a reading that they have spoilt, as cyclesoak says, is taken again.
it 'the load of reading it is above 0 and below 100 %'; ( begin
	turns=0
	until reading; do
		turns=$((turns + 1))
		[ $turns -lt 8 ]
		grep -Eq "(not|must be) idle" err
	done
); ok

it 'the status is that of the command, and what it started ends with it'; ( begin
	exits 7 "$TOP/tests/helpers/nfs" export sh -c "
		stat -L -c %i /proc/self/ns/net >ended
		sleep 60 & exit 7"
	nothing_in ended
); ok
# until_up FILE: in the background, with the network's name in the file; NFS is its pid.
until_up()
{
	"$TOP/tests/helpers/nfs" export sh -c 'stat -L -c %i /proc/self/ns/net >"$1"; exec sleep 60' \
	    sh "$1" &
	NFS=$!
	remember $NFS
	wait_until or_gone $NFS [ -s $1 ]
	[ "$(in_network "$1" | wc -l)" -ge 3 ] # this one, the server, the command
}
it 'stopped half-way: nothing is left running'; ( begin
	until_up stopped
	kill -TERM $NFS
	status=0
	wait $NFS || status=$?
	[ $status -eq 143 ]
	nothing_in stopped
); ok
it 'killed: nothing is left running'; ( begin
	until_up killed
	kill -KILL $NFS
	wait_until nothing_in killed
); ok
it 'tests/helpers/nfs leaves no files'; ( begin
	rm -f check.log copy ended err out pids reads start.err stopped killed
	[ "$(ls -A . export | tr "\n" " ")" = ".: export  export: file " ]
); ok

finish
