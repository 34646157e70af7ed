#!/bin/sh
# The samples of README and of the man pages are what the programs print.
#
# group: quiet
# only: named
# seconds: 360
# limit: 1800
. "$TOP/tests/lib.sh"

it 'README, man pages: each sample that can run here has the form that its page shows'; ( begin; need python3 bash
	"$TOP/tests/samples"
); ok
finish
