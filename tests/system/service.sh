#!/bin/sh
# The systemd unit in zc(7): systemd-analyze accepts it, and zcs its options.
#
# seconds: 1
. "$TOP/tests/lib.sh"

# The unit is the literal block of the page that begins with [Unit].
sed -n '/^\[Unit\]$/,/^\.Ed$/{/^\.Ed$/d;p;}' "$TOP/man/zc.7" | sed 's/\\-/-/g' >unit
# The programs need not be installed where they are tested.
sed "s,^ExecStart=/usr/local/bin/,ExecStart=$BIN/," unit >zcs.service

# Of the other units of the machine it prints what it pleases, below their paths.
it 'zc(7): systemd-analyze accepts the unit'; ( begin; need systemd-analyze
	systemd-analyze verify "$PWD/zcs.service" >out 2>&1
	cat out
	not grep 'zcs\.service' out
); ok

# shellcheck disable=SC2046 # the options are words
start_zcs $(sed -n 's/^ExecStart=[^ ]*zcs //p' zcs.service)
check "zc(7): zcs starts with the unit's options, as a dynamic user" grep -qx DynamicUser=yes unit
finish
