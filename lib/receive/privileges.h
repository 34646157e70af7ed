/*
 * privileges.h: zcs --user: gives up the privileges with which a program was started.
 *
 *	fd = listen_or_die(...);	(a port below 1024)
 *	privileges_drop_or_die("nobody");
 */
#pragma once

#include "common.h"

/*
 * Becomes that user, with that user's groups, without a capability (capabilities(7)) and for
 * good.  Dies if it cannot, unless the process is that user already, in all of its ids, and in no
 * other's group.  Call it before there are threads.
 */
void privileges_drop_or_die(const char *user);
