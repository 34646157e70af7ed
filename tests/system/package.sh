#!/bin/sh
# A Debian package, which debhelper builds from the tarball of make dist, is installed into a root of its own, runs there
# and is removed.
#
# only: check-long
# seconds: 60
# limit: 900
. "$TOP/tests/lib.sh"

if sanitized; then
	skip 'the package' 'it is without sanitizers'
	finish
fi
version=$(sed -n 's/^VERSION *= *//p' "$TOP/Makefile")
name=zc-$version
# bare CMD...: without what `make check` sets for this test
bare() { env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u LONG -u SANITIZE -u BIN -u HELPERS -u DESTDIR "$@"; }

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
	bare make -s -C "$TOP" dist DISTDIR="$PWD"
	tar -xzf "$name.tar.gz"
	(debian_files)
	mv "$name.tar.gz" "zc_$version.orig.tar.gz"
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
