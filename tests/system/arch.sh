#!/bin/sh
# Other architectures: the programs for arm64 and for s390x, which is big-endian, under QEMU's user mode.
# It needs Debian's cross compilers (gcc-aarch64-linux-gnu, gcc-s390x-linux-gnu) and qemu-user-static.
# only: check-long
# limit: 1800
. "$TOP/tests/lib.sh"

here=$PWD
# build ARCH: its programs are in ARCH/, scripts that run them in ARCH-bin.  QEMU knows neither
# SO_ZEROCOPY nor io_uring(7), nor, on a big-endian architecture, the name in TCP_CONGESTION.
build()
{
	make -s -C "$TOP" CC="$1-linux-gnu-gcc" AR="$1-linux-gnu-ar" SANITIZE= OBJ="$here/$1" BIN="$here/$1/" \
	    all unit
	mkdir "$1-bin"
	for tool in zcc zcs cyclesoak run_rr; do
		cat >"$1-bin/$tool" <<END
#!/bin/sh
for word in "\$@"; do
	shift
	case $1:\$word:\$before in
	s390x:--congestion:* | s390x:*:--congestion) ;;
	*) set -- "\$@" "\$word" ;;
	esac
	before=\$word
done
exec qemu-$1-static -L /usr/$1-linux-gnu "$here/$1/$tool" "\$@"
END
		chmod 755 "$1-bin/$tool"
	done
}

# transfer ZCC ZCS: the built-in files; the receiver's figures come to the sender in its receipt.
transfer()
{
	BIN=$2 start_zcs -1
	exits 0 "$1/zcc" -s 127.0.0.1 -p "$PORT" -n 1
	wait "$ZCS"
	cat zcs.out
	[ "$(bytes_of out)" = '22579200 22579200' ]
	grep -q "all bytes sent were received" out
	grep -q ' 22579200 bytes in ' zcs.out
	grep -q ' 63 files' zcs.out
}

# request ZCC ZCS: ten of each of three sizes
request()
{
	BIN=$2 start_zcs --reply
	exits 0 "$1/zcc" -s 127.0.0.1 -p "$PORT" --request 1,1000,100000 -n 10
	kill -TERM "$ZCS"
	wait "$ZCS"
}

for arch in aarch64 s390x; do
	why=
	for tool in $arch-linux-gnu-gcc qemu-$arch-static make; do
		command -v "$tool" >/dev/null 2>&1 || why="no $tool"
	done
	if [ -n "$why" ]; then
		skip "$arch" "$why"
		continue
	fi
	it "$arch: the programs and the unit tests compile without a warning"; ( begin
		build "$arch" >build.out 2>&1 || { cat build.out; false; }
		not grep -i warning build.out
	); ok
	it "$arch: all unit tests pass"; ( begin
		for source in "$TOP"/tests/unit/*.c; do
			unit=$(basename "$source" .c)
			qemu-"$arch"-static -L /usr/"$arch"-linux-gnu "$arch/tests/unit/$unit" >unit.out ||
				{ grep -A 2 "^not" unit.out; false; }
		done
	); ok
	it "$arch: of the tests of the wire only those of zerocopy and io_uring fail, which QEMU lacks"; ( begin
		LONG="" ONCE=1 BIN=$here/$arch-bin "$TOP/tests/run" wire >wire.out || :
		grep "^wire .* passed" wire.out
		grep "^not ok" wire.out >failed
		not grep -v -e zerocopy -e uring failed
	); ok
	check "zcc of $arch sends to zcs of this machine" transfer "$here/$arch-bin" "$BIN"
	check "zcc of this machine sends to zcs of $arch" transfer "$BIN" "$here/$arch-bin"
	check "zcc of $arch sends requests to zcs of this machine" request "$here/$arch-bin" "$BIN"
	check "zcc of this machine sends requests to zcs of $arch" request "$BIN" "$here/$arch-bin"
done
finish
