#!/bin/sh
# make dist, and a Debian package that debhelper builds from its tarball, is installed into a root of its
# own, runs there and is removed.
#
# only: check-long
# seconds: 120
# limit: 900
. "$TOP/tests/lib.sh"

if sanitized; then
	skip 'the tarball and the package' 'they are without sanitizers'
	finish
fi
version=$(sed -n 's/^VERSION *= *//p' "$TOP/Makefile")
name=zc-$version
tarball=$PWD/$name.tar.gz

# bare CMD...: without what `make check` sets for this test
bare() { env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u LONG -u SANITIZE -u BIN -u HELPERS -u DESTDIR "$@"; }

it 'make dist: a tarball of the sources, in a folder of their name, without what was built or hidden'; ( begin
	bare make -s -C "$TOP" dist DISTDIR="$PWD" 2>dist.err || { cat dist.err; false; }
	tar -tzf "$tarball" >list
	not grep -v "^$name/" list
	for f in Makefile README LICENSE zcc.c lib/hosts/zc-hosts common.h lib/net/wire.c man/zc.7 man/zc-method.7 tests/run tests/system/package.sh; do
		grep -qx "$name/$f" list
	done
	grep -E '/(build|\.git|\.ci|debian)(/|$)|/\.gitignore$|\.[oda]$|\.gz$' list | not grep .
	grep -Ex "$name/(zcc|zcs|cyclesoak|run_rr|counts_per_sec)" list | not grep .
	tar -tvzf "$tarball" | not grep -v '^-rw[x-]r-[x-]r-[x-] 0/0 '
); ok

# Everything below is about this copy, in which there is no git, nor above it.
tar -xzf "$tarball"
it 'make dist is reproducible, and makes the same bytes from its own tarball'; ( begin
	# Another user's mask, times of reading, and files of a build.
	(umask 077 && cp -r "$name" copy)
	touch -r "$name/Makefile" copy/Makefile
	mkdir copy/build copy/.pc again
	touch copy/build/x.o copy/.pc/x copy/zcc copy/counts_per_sec
	for from in "$TOP" copy; do
		bare make -s -C "$from" dist DISTDIR="$PWD/again"
		cmp "$tarball" "again/$name.tar.gz"
	done
); ok
it 'make dist names a file that git does not know'; ( begin; need git
	cp -r "$name" clone
	cd clone
	git init -q
	git add .
	git -c user.name=tests -c user.email=tests@localhost commit -q -m x
	touch lib/net/new.c zc-0.tar.gz
	bare make -s dist DISTDIR="$PWD/.." DIST=clone-1 2>&1 | grep -x 'not in git: lib/net/new.c'
); ok
it 'the tarball builds and passes tests where there is no git'; ( begin
	bare make --no-print-directory -C "$name" CC="$CC" check T='unit help wire' >inner.log 2>&1 || { cat inner.log; false; }
	not grep -i warning inner.log
	tail -n 1 inner.log | grep ' passed, 0 failed, '
	bare make -C "$name" clean
); ok

debian_files()
{
	mkdir -p "$name/debian/source"
	cd "$name/debian" || return
	cat >control <<-END
		Source: zc
		Section: net
		Priority: optional
		Maintainer: The tests of zc <nobody@localhost>
		Build-Depends: debhelper-compat (= 13)
		Standards-Version: 4.6.2
		Rules-Requires-Root: no

		Package: zc
		Architecture: linux-any
		Depends: \${shlibs:Depends}, \${misc:Depends}
		Description: measure what it costs a host to move bytes over TCP
		 zcc sends, zcs receives, cyclesoak measures the CPU load of anything.
	END
	cat >changelog <<-END
		zc ($version-1) unstable; urgency=medium

		  * A package for the tests.

		 -- The tests of zc <nobody@localhost>  Sun, 01 Nov 2026 00:00:00 +0000
	END
	printf '%s\n' '#!/usr/bin/make -f' 'export DEB_BUILD_MAINT_OPTIONS = hardening=+all' '%:' '	dh $@' \
	    'override_dh_auto_install:' '	dh_auto_install -- PREFIX=/usr' 'override_dh_auto_test:' >rules
	chmod +x rules
	echo '3.0 (quilt)' >source/format
	cp ../LICENSE copyright
}
it 'debhelper builds a package, with the flags of Debian, that needs glibc alone'; ( begin; need dh dpkg-buildpackage dpkg-deb
	(debian_files)
	cp "$tarball" "zc_$version.orig.tar.gz"
	(cd "$name" && bare dpkg-buildpackage -us -uc -b -d) >package.log 2>&1 || { tail -n 30 package.log; false; }
	not grep -E 'warning: |unrecognized' package.log
	grep -q 'fdebug-prefix-map\|ffile-prefix-map' package.log
	cp zc_"$version"-1_*.deb zc.deb
	dpkg-deb -f zc.deb Depends | grep -Ex 'libc6 \([^)]*\)'
); ok
[ -e zc.deb ] || finish

own_dpkg()
{
	[ "$(id -u)" -eq 0 ] || skip_check 'not root'
	PATH=$PATH:/usr/sbin:/sbin dpkg --root="$PWD/root" --force-depends --log=/dev/null "$@" >dpkg.log 2>&1 ||
		{ cat dpkg.log; return 1; }
}
it 'dpkg installs the package: programs, pages, completion; they send and receive; dpkg removes all of it'; ( begin
	mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates
	touch root/var/lib/dpkg/status root/var/lib/dpkg/available
	own_dpkg -i zc.deb
	BIN=$PWD/root/usr/bin
	for t in zcc zcs cyclesoak run_rr; do
		[ "$("$BIN/$t" --version)" = "$t $version" ]
		gzip -dc root/usr/share/man/man1/$t.1.gz | grep -qx "\.Os zc $version"
		[ -s root/usr/share/bash-completion/completions/$t ]
	done
	not ls -d root/usr/local root/etc
	start_zcs -1
	exits 0 "$BIN/zcc" -s 0 -p "$PORT" --congestion reno -n 2
	grep -q 'all bytes sent were received' out
	ended $ZCS
	own_dpkg --purge zc
	find root -path root/var -prune -o ! -type d -print | not grep .
	find root/var -name 'zc.*' | not grep .
); ok
finish
