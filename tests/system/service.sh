#!/bin/sh
# The systemd unit in zc(7): systemd-analyze accepts it, and zcs its options.
#
# seconds: 1
. "$TOP/tests/lib.sh"

# The unit is the literal block of the page that begins with [Unit].
sed -n '/^\[Unit\]$/,/^\.Ed$/{/^\.Ed$/d;p;}' "$TOP/man/zc.7" | sed 's/\\-/-/g' >unit
# The programs need not be installed where they are tested.
sed "s,^ExecStart=/usr/local/bin/,ExecStart=$BIN/," unit >zcs.service

it 'zc(7): the unit has all sections, a dynamic user, and starts zcs'; ( begin
	for part in Unit Service Install; do
		[ "$(grep -cx "\[$part\]" unit)" -eq 1 ]
	done
	[ "$(grep -c '^ExecStart=/usr/local/bin/zcs ' unit)" -eq 1 ]
	grep -qx 'DynamicUser=yes' unit
); ok

# Of the other units of the machine it prints what it pleases, below their paths.
it 'zc(7): systemd-analyze accepts the unit'; ( begin; need systemd-analyze
	systemd-analyze verify "$PWD/zcs.service" >out 2>&1
	cat out
	not grep 'zcs\.service' out
); ok
it 'zc(7): systemd-analyze reports an unknown key in the unit'; ( begin; need systemd-analyze
	mkdir mistaken
	sed 's/^DynamicUser=/DynamicUsr=/' zcs.service >mistaken/zcs.service
	systemd-analyze verify "$PWD/mistaken/zcs.service" >out 2>&1 || true
	grep 'zcs\.service.*DynamicUsr' out
); ok

# shellcheck disable=SC2046 # the options are words
start_zcs $(sed -n 's/^ExecStart=[^ ]*zcs //p' zcs.service)
check "zc(7): zcs starts with the unit's options" [ -n "$PORT" ]
finish
