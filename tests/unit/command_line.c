/* The options of zcc: lib/send/command_line. */
#include "lib/send/command_line.h"

#include <getopt.h>

#include "lib/send/sender.h"
#include "tests/unit/unit.h"

static struct send_options opt;

struct command {
	char *argv[8]; /* the program's name is the first, and NULL the last */
	bool runs;     /* whether there is something to do after the options are parsed */
};

static void parse(void *command)
{
	struct command *c = command;
	int argc = 0;

	while (c->argv[argc] != NULL)
		argc++;
	optind = 0; /* getopt_long(3) begins anew */
	opt = (struct send_options){.server = ""};
	c->runs = command_line_parse(&opt, argc, c->argv);
}

static void parse_and_exit(void *command)
{
	parse(command);
	exit(EXIT_SUCCESS);
}

static int exits_with(struct command c)
{
	char printed[1024];

	return status_of(parse_and_exit, &c, printed, sizeof(printed));
}

static void test_defaults(void)
{
	struct command c = {{"zcc", "-s", "server", "file"}, false};

	parse(&c);
	ok(c.runs && strcmp(opt.server, "server") == 0 && strcmp(c.argv[optind], "file") == 0,
	   "a server and a file are enough");
	is(opt.method->name, "sendfile", "without a method it is sendfile");
	ok(opt.streams == 1 && opt.loops == 1 && opt.seconds == 0 && opt.pace == 0,
	   "without options a file is sent once, over one stream, at any pace");
	c = (struct command){{"zcc", "-s", "0", "-S"}, false};
	parse(&c);
	is(opt.method->name, "send", "-S is the method send");
	ok(opt.seconds > 0, "without a file there is a limit of time");
	c = (struct command){{"zcc", "-s", "0", "-w", "file"}, false};
	parse(&c);
	is(opt.method->name, "write", "-w is the method write");
}

static void test_limits(void)
{
	struct command c = {{"zcc", "-s", "0", "--pace", "1"}, false};

	parse(&c);
	ok(opt.pace == 1, "--pace may be 1 byte per second");
	c = (struct command){{"zcc", "-s", "0", "--pace", "0"}, false};
	ok(exits_with(c) == EXIT_USAGE, "--pace 0 is rejected");
}

static void test_calibrate(void)
{
	struct command c = {{"zcc", "-C"}, false};

	parse(&c);
	ok(c.runs && opt.calibrate, "-C is enough by itself");
	c = (struct command){{"zcc", "-C", "--json"}, false};
	ok(exits_with(c) == EXIT_USAGE, "-C --json is rejected");
}

static void test_help(void)
{
	struct command c = {{"zcc", "--help"}, true};
	char printed[16384];

	stdout_of(parse, &c, printed, sizeof(printed));
	ok(!c.runs && strstr(printed, "--pace") != NULL, "--help is printed, and nothing is done");
	c = (struct command){{"zcc", "-V"}, true};
	stdout_of(parse, &c, printed, sizeof(printed));
	is(printed, "zcc " VERSION "\n", "-V prints the version");
	ok(!c.runs, "-V: nothing is done");
}

int main(void)
{
	test_defaults();
	test_limits();
	test_calibrate();
	test_help();
	return done();
}
