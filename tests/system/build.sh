#!/bin/sh
# The build, in a copy of the tree: nothing among the sources, install and back, what the programs need.  `make check`
# looks at what it has built; `make check-long` builds by gcc and clang, for 32 bits, where it runs tests of the
# programs, too, and from the tarball of make dist.
#
# seconds: 5
. "$TOP/tests/lib.sh"

if sanitized; then
	skip 'the build' 'it is that without sanitizers'
	finish
fi
tools='zcc zcs cyclesoak run_rr'
mkdir -p src/build
cp -a "$TOP"/*.[ch] "$TOP/README" "$TOP/NEWS" "$TOP/LICENSE" "$TOP/lib" "$TOP/Makefile" "$TOP/man" "$TOP/tests" src
cd src || exit 1
[ -n "$LONG" ] || cp -a "$TOP"/build/*.[oda] "$TOP/build/lib" build
[ -n "$LONG" ] || for t in $tools; do cp -a "$BIN/$t" .; done

# all_are_built CC [ARGUMENT...]: make builds all programs, without a warning; its output is in ../log
all_are_built()
{
	make clean
	cc=$1
	shift
	make CC="$cc" "$@" >../log 2>&1 || { cat ../log; return 1; }
	not grep -i warning ../log
	for t in $tools; do ./$t --version; done
}
version=$(sed -n 's/^VERSION *= *//p' Makefile)
built=$(scale "$BIN" "$PWD") # the programs, with the flags that are the default
for cc in $(scale '' 'gcc clang'); do
	it "$cc: builds without a warning"; ( begin; need "$cc"
		all_are_built "$cc"
	); ok
done
it 'an option whose kind does not fit its member is not compiled'; ( begin
	compiles() { ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -DVERSION='"1"' -I. -w -fsyntax-only -x c -; }
	compiles <lib/send/options.c
	sed 's/AT(SECONDS, seconds)/AT(INT, seconds)/' lib/send/options.c | not compiles
); ok
it 'make install, -strip into a path with a space: programs, pages with the version, completion; uninstall leaves no file'; ( begin; need strip
	make CC="$CC" install PREFIX=/usr DESTDIR="$PWD/root"
	for t in $tools zc-hosts zc-plot; do
		printf '%s\n' bin/$t share/bash-completion/completions/$t
		case $t in zc-*) command -v python3 >/dev/null || continue ;; esac
		[ "$(root/usr/bin/$t --version)" = "$t $version" ]
	done >files
	# shellcheck disable=SC2046 # the names have no spaces
	printf 'share/%s\n' zsh/site-functions/_zc doc/zc/README doc/zc/NEWS doc/zc/LICENSE zc/zcs.service zc/zcs-load.service \
	    $(ls man/*.json lib/hosts/*.py | sed 's|.*/|zc/|') $(ls man/*.[157] | sed -E 's|(.*)(.)$|man/man\2/\1\2|; s|man/([^/]*)$|\1|') >>files
	(cd root/usr && find . -type f -size +0) | sed 's|^\./||' | sort >installed
	sort files | diff - installed
	prints_nothing grep -rLx "\.Os zc $version" root/usr/share/man
	grep -q '^ExecStart=/usr/bin/zcs ' root/usr/share/zc/zcs.service
	set -- bindir=/usr/libexec/zc/bin sharedir=/opt/zc unitdir=/usr/lib/systemd/system PREFIX=/usr
	make CC="$CC" install-strip "$@" DESTDIR="$PWD/a space" INSTALL='install -p'
	for t in $tools; do nm "a space/usr/libexec/zc/bin/$t" 2>&1 | grep 'no symbols'; done
	not [ 'a space/usr/share/doc/zc/README' -nt README ]
	grep -q '^ExecStart=/usr/libexec/zc/bin/zcs ' 'a space/usr/lib/systemd/system/zcs.service'
	! command -v python3 || for hosts in build/zc-hosts 'a space/usr/libexec/zc/bin/zc-hosts'; do "$hosts" --version; done
	make uninstall PREFIX=/usr DESTDIR="$PWD/root"
	make uninstall "$@" DESTDIR="$PWD/a space"
	find root 'a space' -type f -o -type l -o -name zc -not -path '*libexec*' | not grep .
); ok
it 'CFLAGS, CPPFLAGS and LDFLAGS of the command line or the environment replace those of the Makefile'; ( begin
	set -- CPPFLAGS='-DOF_CPP -D_FORTIFY_SOURCE=3' CFLAGS='-O1 -DOF_C' LDFLAGS=-Wl,--as-needed
	make -nB all CC="$CC" "$@" >commands
	env "$@" make -nB all CC="$CC" | diff commands -
	grep -e ' -c ' commands | not grep -v -e '-DOF_CPP .*-O1 -DOF_C '
	grep -e '-o zcc ' commands | grep -e '-O1 .*-Wl,--as-needed'
	not grep FORTIFY_SOURCE=2 commands
); ok
it 'a second make builds nothing, and objects are out of the way; after a change of common.h make builds anew'; ( begin
	make CC="$CC"
	make -q CC="$CC"
	not ls "$TOP"/*.o ./*.o 2>/dev/null
	touch common.h
	not make -q CC="$CC"
); ok
it 'the programs need glibc alone, are hardened (PIE, RELRO, stack protector, fortified) and not set-user-ID'; ( begin; need ldd readelf
	(cd "$built" && ldd ./zcc ./zcs ./cyclesoak ./run_rr) >needed
	[ "$(grep -c "libc\.so.*=>" needed)" -eq 4 ]
	grep "=>" needed | not grep -v "lib[cm]\.so\|libpthread"
	find . -perm /6000 | not grep .
	for t in $tools; do
		readelf -hldW --dyn-syms "$built/$t" >$t.elf
		for what in 'Type: +DYN ' GNU_RELRO 'GNU_STACK .* RW ' 'BIND_NOW|FLAGS.* NOW' __stack_chk_fail \
		    '__[a-z]*(printf|cpy|read|recv)_chk'; do
			grep -Eq "$what" $t.elf
		done
	done
); ok
# A symbol that glibc gave a newer version, as it did when it took in libpthread or when exp(3) no longer set errno, is not a newer function.
it 'they call no function that is newer than glibc 2.27'; ( begin; need readelf
	for t in $tools; do
		readelf -W --dyn-syms "$built/$t" | sed -n "s/.* UND \([a-z_0-9]*\)@GLIBC_2\.\([0-9]*\).*/\2 \1/p"
	done | sort -u >functions
	grep -q " flock" functions
	awk '$1 > 27 && $2 !~ /^(__libc_start_main|__isoc23_.*|__[a-z_]*_chk|pthread_.*|[fl]?stat64|fcntl64|exp|log|pow|hypot|fmod)$/' functions | not grep .
); ok
# The kernel's headers are the same for 32 bits, but gcc looks for them elsewhere unless all that it needs for
# 32 bits is installed.
m32="gcc -m32 -idirafter /usr/include/$(gcc -print-multiarch 2>/dev/null)"
long '32 bits: no number is cut off (-Wconversion), the unit tests and wire pass, -n accepts 4294966294' && ( begin
	printf '#include <%s>\n' errno.h stdio.h linux/io_uring.h linux/tcp.h >probe.c
	echo 'int main(void) { return 0; }' >>probe.c
	$m32 -o probe probe.c || skip_check 'gcc has no libraries or headers for 32 bits'
	./probe || skip_check 'this kernel runs no programs of 32 bits'
	all_are_built "$m32" CPPFLAGS='-Wconversion -Wno-sign-conversion' all
	make CC="$m32" test-programs
	env -u LONG -u ONLY BIN="$PWD" HELPERS="$PWD/build/tests" CC="$m32" ONCE=1 tests/run unit wire >log || { cat log; false; }
	exits 2 ./zcc -s 0 -n 4294967295
	grep -q "is not between 1 and 4294966294" err
	exits 1 ./zcc -s 0 -p 1 -n 4294966294
	grep -q "Connection refused" err
	# There are no 64-bit atomics.
	not $m32 -march=i386 -std=gnu11 -D_GNU_SOURCE -I. -c -o soaker.o lib/load/soaker.c 2>../log
	grep "zc needs a CPU with 64-bit atomics" ../log
); ok
it 'make clean removes what was built, and no source'; ( begin
	make clean && [ -s zcc.c ] && not ls -d build $tools
); ok

# dist DIRECTORY: its tarball is here then, made without what `make check` sets for this test
dist() { env -u MAKEFLAGS -u MAKELEVEL -u LONG -u SANITIZE -u BIN -u HELPERS make -s -C "$1" dist DISTDIR="$PWD"; }
long 'make dist: the same bytes from any copy, nothing that was built; it builds and passes tests without git' && ( begin
	name=zc-$version
	dist "$TOP"
	mv "$name.tar.gz" first.tar.gz
	tar -xzf first.tar.gz
	for file in Makefile NEWS LICENSE zcc.c lib/hosts/zc-hosts man/zc.7 tests/run; do [ -s "$name/$file" ]; done
	tar -tvzf first.tar.gz | not grep -v "^-rw[x-]r-[x-]r-[x-] 0/0 .* $name/"
	(umask 077 && cp -r "$name" copy) # another user's mask, times, and files of a build
	touch -r "$name/Makefile" copy/Makefile
	mkdir copy/build copy/.pc
	touch copy/build/x.o copy/.pc/x copy/zcc copy/counts_per_sec
	dist copy
	cmp first.tar.gz "$name.tar.gz"
	env -u LONG -u ONLY -u BIN -u HELPERS make --no-print-directory -C "$name" CC="$CC" check-portable >log 2>&1 || { cat log; false; }
	not grep -i warning log
	tail -n 1 log | grep ' passed, 0 failed, '
	make -s -C copy CC="$CC" clean all
	cmp copy/zcc "$name/zcc"
); ok
finish
