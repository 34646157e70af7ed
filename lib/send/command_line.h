/*
 * command_line.h: the options of zcc: their names, the text of --help, the checks, the defaults.
 *
 *	static struct send_options opt;
 *
 *	first = command_line_parse(&opt, argc, argv);
 *	send(argv + first, argc - first);
 */
#pragma once

#include "lib/send/options.h"

/*
 * Stores what is asked for; what is wrong is a usage error.  Returns the index of the first file.  --help
 * and --version are printed and end the program.
 */
int command_line_parse(struct send_options *opt, int argc, char **argv);
