#!/bin/sh
# tests/vm, which runs a command on other kernels.  It needs QEMU, and kernels that `tests/vm fetch` got.
# only: check-long
# seconds: 500
# limit: 900
. "$TOP/tests/lib.sh"
own_tmpdir

vm=$TOP/tests/vm
what_tests_vm()
{
	for wrong in "" "7.2" "-- true" "7.2 --" "-c 9 7.2 -- true" "-c 0 7.2 -- true" "-g 3 7.2 -- true" \
	    "-p some 7.2 -- true" "-l 0 7.2 -- true" "-l 1x 7.2 -- true" "-x 7.2 -- true" "list all"; do
		exits 2 "$vm" $wrong
		grep -q "^usage: " err
	done
}
check 'an unknown argument of tests/vm is a usage error: exit status 2' what_tests_vm
kernel_or_qemu()
{
	exits 77 "$vm" none -- true
	one_line err
	exits 77 env PATH=/nonexistent /bin/sh "$vm" none -- true 2>err
	grep -q "skipped: no qemu" err
}
check 'a kernel or a QEMU that is missing is one line and exit status 77' kernel_or_qemu

kernel=$("$vm" list | sed '/-rt/d; s/ .*//' | sort -V | tail -n 1)
"$vm" -l 1 "${kernel:-none}" -- true >out 2>start.err
if grep -q skipped start.err; then
	skip 'programs on another kernel' "$(sed 's/.*skipped: //' start.err)"
	finish
fi

# No guest, and no directory of one
no_guest()
{
	nothing_left
	for d in /proc/[0-9]*; do
		not grep -q "initrd.$TMPDIR/" "$d/cmdline" 2>/dev/null
	done
}
at_its_limit_guest()
{
	exits 124 "$vm" -l 2 "$kernel" -- sleep 1000
	one_line err
	grep -q "$kernel: ended at the limit of 2 s" err
	no_guest
}
check 'at its limit a guest is ended, with one line and exit status 124' at_its_limit_guest
command_has_its_arguments()
{
	exits 3 "$vm" -c 1 "$kernel" -- sh -c 'nproc; uname -r; echo "$1"; exit 3' sh "it's  two"
	[ "$(sed -n 1p out)" -eq 1 ]
	sed -n 2p out | grep -q "^${kernel%-*}"
	[ "$(sed -n 3p out)" = "it's  two" ]
	no_guest
}
check 'a command has its arguments, its CPUs, its output and its status' command_has_its_arguments
zcc_and_zcs_transfer()
{
	cat >transfer.sh <<"END"
	. "$TOP/tests/lib.sh"
	start_zcs -1
	modprobe sch_netem
	tc qdisc add dev lo root netem delay 5ms
	tc qdisc show dev lo | grep -q netem
	zcc -s 127.0.0.1 -p $PORT -n 1
	wait $ZCS
END
	exits 0 "$vm" "$kernel" -- sh -ec "cd /tmp; $(cat transfer.sh)"
	grep -q "/sec\|bit/s" out
}
check 'zcc and zcs transfer in a guest, and netem is there' zcc_and_zcs_transfer
sigint_ends_guest()
{
	env --default-signal=INT "$vm" "$kernel" -- sh -c "echo begun; sleep 1000" >out 2>err &
	remember $!
	wait_until grep -q begun out || wait_until grep -q begun out
	kill -INT $!
	ended $!
	no_guest
}
check 'SIGINT ends the guest, and leaves nothing' sigint_ends_guest

# The kernel's own NFS: server and client in a guest that has the tools of this machine
rt=$("$vm" list | sed -n '/-rt/s/ .*//p' | sort -V | tail -n 1)
why=
[ -n "$rt" ] || why='no kernel with 9p, such as -rt'
for tool in rpc.nfsd rpc.mountd nfsdcld exportfs mount.nfs; do
	command -v $tool >/dev/null 2>&1 || why="no $tool"
done
kernel_nfs()
{
	cat >nfs.sh <<"END"
	. "$TOP/tests/lib.sh"
	mkdir export mnt
	mount -t tmpfs export export
	head -c 20000000 /dev/urandom >export/file
	made_up_calibration "$(machine_name)" 1500000 >counts_per_sec
	exec "$TOP/tests/helpers/nfs-kernel" /tmp/export mnt cyclesoak --json cmp mnt/file export/file
END
	exits 0 "$vm" -p full "$rt" -- sh -ec "cd /tmp; $(cat nfs.sh)"
	grep '"load_percent":' out >load.json
	one_line load.json
	valid_json load.json
}
if [ -n "$why" ]; then
	skip 'a file read by kernel NFS under cyclesoak' "$why"
else
	check 'cyclesoak measures cmp while it reads 20 MB by kernel NFS in a guest' kernel_nfs
fi
finish
