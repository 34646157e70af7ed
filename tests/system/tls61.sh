#!/bin/sh
# Kernel TLS on Linux 6.1: the checks of the test tls.
#
# only: check-long
# limit: 1800
KERNEL=6.1
. "$TOP/tests/system/tls.sh"
