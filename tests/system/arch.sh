#!/bin/sh
# Other architectures: the programs for arm64, armhf, i686 and s390x, which is big-endian, under QEMU's user mode.
# It needs Debian's cross compilers (gcc-aarch64-linux-gnu, gcc-arm-linux-gnueabihf ...) and qemu-user-static.
# only: check-long
# limit: 1800
. "$TOP/tests/lib.sh"

# on_arch PROGRAM [ARGUMENT...]: runs it, by the dynamic linker: with -L QEMU would look for / there, too, and QEMU 7.2
# hangs in a new thread of i686
on_arch() { "$qemu" /usr/"$abi"/lib/ld*.so.[123] --library-path "/usr/$abi/lib" "$@"; }
# build: the programs for $arch are in $arch/, scripts that run them in $arch-bin
build()
{
	make -s -C "$TOP" CC="$abi-gcc" AR="$abi-ar" SANITIZE= OBJ="$PWD/$arch" BIN="$PWD/$arch/" all unit
	mkdir "$arch-bin"
	for tool in zcc zcs; do
		echo "exec $qemu $(echo /usr/"$abi"/lib/ld*.so.[123]) --library-path /usr/$abi/lib '$PWD/$arch/$tool' \"\$@\"" |
			sed '1i #!/bin/sh' >"$arch-bin/$tool"
		chmod 755 "$arch-bin/$tool"
	done
}

# moves ZCC ZCS: the built-in files, whose figures come to the sender in the receipt, and ten requests of three sizes
moves()
{
	BIN=$2 start_zcs -1
	exits 0 "$1/zcc" -s 127.0.0.1 -p "$PORT" -n 1
	wait "$ZCS"
	cat zcs.out
	[ "$(bytes_of out)" = '22579200 22579200' ]
	grep -q "all bytes sent were received" out
	grep -q ' 22579200 bytes in ' zcs.out
	grep -q ' 63 files' zcs.out
	BIN=$2 start_zcs --reply
	exits 0 "$1/zcc" -s 127.0.0.1 -p "$PORT" --request 1,1000,100000 -n 10
	stop_zcs
}

for arch in aarch64 arm i686 s390x; do
	abi=$arch-linux-gnu qemu=qemu-$arch-static
	case $arch in arm) abi=arm-linux-gnueabihf ;; i686) qemu='qemu-i386-static' ;; esac
	it "$arch: the programs and the unit tests compile without a warning"; ( begin; need "$abi-gcc" "$qemu"
		build >build.out 2>&1 || { cat build.out; false; }
		not grep -i warning build.out
	); ok
	[ -d $arch-bin ] || continue
	it "$arch: all unit tests pass, but for zerocopy, which QEMU lacks"; ( begin
		for source in "$TOP"/tests/unit/*.c; do
			unit=$(basename "$source" .c)
			[ "$unit" != run ] || continue
			on_arch $arch/tests/unit/$unit >unit.out 2>unit.err || :
			grep '^1\.\.' unit.out
			grep -A 2 '^not ok' unit.out || continue
			grep '^not ok' unit.out | not grep -v -e '-m zerocopy'
		done
	); ok
	check "zcc of $arch sends to zcs of this machine" moves "$PWD/$arch-bin" "$BIN"
	check "zcc of this machine sends to zcs of $arch" moves "$BIN" "$PWD/$arch-bin"
done
finish
