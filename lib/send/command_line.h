/*
 * command_line.h: the options of zcc: their names, the text of --help, the checks, the defaults.
 *
 *	static struct send_options opt = {.server = ""};
 *
 *	if (!command_line_parse(&opt, argc, argv))
 *		return EXIT_SUCCESS;
 *	send(argv + optind, argc - optind);
 */
#pragma once

#include "lib/send/options.h"

/*
 * Stores what was asked for; what is wrong is a usage error.  The files begin at argv[optind].
 * Returns false if --help or --version was asked for, and is printed.
 */
bool command_line_parse(struct send_options *opt, int argc, char **argv);
