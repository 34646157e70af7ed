#!/bin/sh
# The systemd unit in zc(7): systemd-analyze accepts it, and zcs its options.
#
# seconds: 1
. "$TOP/tests/lib.sh"

# The unit is the literal block of the page that begins with [Unit]; the programs need not be installed.
sed -n '/^\[Unit\]$/,/^\.Ed$/{/^\.Ed$/d;p;}' "$TOP/man/zc.7" | sed "s/\\\\-/-/g; s,^ExecStart=/usr/local/bin/,ExecStart=$BIN/," >zcs.service
it 'zc(7): systemd-analyze accepts the unit'; ( begin; need systemd-analyze
	systemd-analyze verify "$PWD/zcs.service" >out 2>&1
	not grep 'zcs\.service' out # of other units it prints what it pleases
); ok
it "zc(7): zcs starts with the unit's options, as a dynamic user"; ( begin
	# shellcheck disable=SC2046 # the options are words
	start_zcs $(sed -n 's/^ExecStart=[^ ]*zcs //p' zcs.service)
	grep -qx DynamicUser=yes zcs.service
); ok
finish
