/* The options of zcc: lib/send/options. */
#include "lib/send/options.h"

#include "lib/send/sender.h"
#include "tests/unit/unit.h"

static struct send_options opt;

struct command {
	char *argv[8]; /* the program's name is the first, and NULL the last */
	int first;     /* the index of the first file */
};

static void parse(void *command)
{
	struct command *c = command;
	int argc = 0;

	while (c->argv[argc] != NULL)
		argc++;
	c->first = options_parse(&opt, argc, c->argv);
}

static void parse_and_exit(void *command)
{
	parse(command);
	exit(EXIT_SUCCESS);
}

static int exits_with(struct command c)
{
	return died(parse_and_exit, &c);
}

static void test_defaults(void)
{
	struct command c = {{"zcc", "-s", "server", "file"}, 0};

	parse(&c);
	ok(strcmp(opt.server, "server") == 0 && strcmp(c.argv[c.first], "file") == 0,
	   "a server and a file are enough");
	is(opt.method->name, "sendfile", "without a method it is sendfile");
	ok(opt.streams == 1 && opt.loops == 1 && opt.seconds == 0 && opt.pace == 0,
	   "without options a file is sent once, over one stream, at any pace");
	c = (struct command){{"zcc", "-s", "0", "-S"}, 0};
	parse(&c);
	is(opt.method->name, "send", "-S is the method send");
	ok(opt.seconds > 0, "without a file there is a limit of time");
	c = (struct command){{"zcc", "-s", "0", "-w", "file"}, 0};
	parse(&c);
	is(opt.method->name, "write", "-w is the method write");
}

/* Two methods and two numbers of streams, each by either instrument. */
static void test_instruments(void)
{
	struct command c = {{"zcc", "-cs0", "--idle", "-m", "send,mmap", "-P", "1,4"}, 0};

	parse(&c);
	ok(opt.compare.wanted && opt.compare.rounds == 5 && options_runs(&opt) == 8,
	   "-c with --idle: each run is made twice, as a comparison");
	c = (struct command){{"zcc", "-s", "0", "-c", "--idle", "--request", "10"}, 0};
	ok(exits_with(c) == 2, "--request has one instrument");
}

/* 33 methods and sizes for each of 32 streams are more runs than a comparison has. */
static void test_most_runs(void)
{
	char sizes[256] = "1", streams[256] = "1", more[260];
	struct command c = {{"zcc", "-s", "0", "-b", sizes, "-P", streams}, 0};
	int i;

	for (i = 2; i <= 32; i++) {
		string_append(sizes, sizeof(sizes), ",%d", i);
		string_append(streams, sizeof(streams), ",%d", i);
	}
	ok(exits_with(c) == EXIT_SUCCESS, "a comparison may have 1024 runs");
	snprintf(more, sizeof(more), "%s,33", sizes);
	c.argv[4] = more;
	ok(died(parse_and_exit, &c) == EXIT_USAGE &&
		   strstr(printed, "a comparison of 1056 runs: more than 1024\n") != NULL,
	   "a comparison of more than 1024 runs is rejected");
}

static void test_limits(void)
{
	struct command c = {{"zcc", "-s", "0", "--pace", "1"}, 0};

	parse(&c);
	ok(opt.pace == 1, "--pace may be 1 byte per second");
	c = (struct command){{"zcc", "-s", "0", "--pace", "0"}, 0};
	ok(exits_with(c) == EXIT_USAGE, "--pace 0 is rejected");
}

/* A zcs that waits for files would be silent until --timeout is over. */
static void test_request_port(void)
{
	struct command wrong = {{"zcc", "-s", "0", "--request", "1", "-p", "2222"}, 0};
	struct command right = {{"zcc", "-s", "0", "--request", "1"}, 0};

	died(parse_and_exit, &wrong);
	has(printed, "port 7890 by default",
	    "--request to the port of transfers prints which port zcs --reply has");
	died(parse_and_exit, &right);
	is(printed, "", "--request without a port prints nothing");
}

/* -s and --bind take an address in brackets, as URLs and the messages of zcs have it. */
static void test_addresses(void)
{
	static const struct {
		const char *server, *port, *host, *result;
	} cases[] = {
		{"server", "99", "server", "99"},
		{"::1", "99", "::1", "99"},
		{"[::1]", "99", "::1", "99"},
		{"[::1]:2223", "99", "::1", "99"},
		{"[::1]:2223", NULL, "::1", "2223"},
		{"[fe80::1%lo]", "1", "fe80::1%lo", "1"},
		{"[192.0.2.1]:7", NULL, "192.0.2.1", "7"},
	};
	static char *const wrong[] = {"[::1", "[::1]2222", "[::1]:", "[::1]:x", "[::1]:65536"};
	char source[] = "[::1]", source_port[] = "[::1]:2222";
	struct command c;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		c = (struct command){{"zcc", "-s", strdupa(cases[i].server), "file"}, 0};
		if (cases[i].port != NULL) {
			c.argv[4] = "-p";
			c.argv[5] = strdupa(cases[i].port);
		}
		parse(&c);
		ok(strcmp(opt.server, cases[i].host) == 0 && strcmp(opt.port, cases[i].result) == 0,
		   "-s %s, -p %s: the host is %s, the port %s", cases[i].server,
		   cases[i].port != NULL ? cases[i].port : "not given", cases[i].host,
		   cases[i].result);
	}
	for (i = 0; i < LENGTH(wrong); i++)
		ok(exits_with((struct command){{"zcc", "-s", strdupa(wrong[i])}, 0}) == EXIT_USAGE,
		   "-s %s is rejected", wrong[i]);
	c = (struct command){{"zcc", "-s", "0", "--bind", source}, 0};
	parse(&c);
	is(opt.source, "::1", "--bind [::1] is ::1");
	ok(exits_with((struct command){{"zcc", "-s", "0", "--bind", source_port}, 0}) == EXIT_USAGE,
	   "--bind [::1]:2222 is rejected: the kernel chooses the port");
}

/* 0 stands for none where other programs of the suite take it. */
static void test_none(void)
{
	struct command c = {{"zcc", "-s", "0", "-I", "0", "--timeout", "0"}, 0};

	parse(&c);
	ok(opt.interval == 0 && opt.timeout == 0, "-I 0 and --timeout 0 are none");
	c = (struct command){{"zcc", "-s", "0", "--request=1"}, 0};
	parse(&c);
	ok(opt.timeout == 60, "--request has a --timeout unless it is given");
	c = (struct command){{"zcc", "-s", "0", "--request=1", "--timeout=0"}, 0};
	parse(&c);
	ok(opt.timeout == 0, "--request --timeout 0 never times out");
	ok(exits_with((struct command){{"zcc", "-s", "0", "-t", "0"}, 0}) == EXIT_USAGE,
	   "-t 0 is rejected");
	ok(exits_with((struct command){{"zcc", "-s", "0", "--save", "-"}, 0}) == EXIT_USAGE,
	   "--save - is rejected");
}

static void test_habits(void)
{
	struct command c = {{"zcc", "-s", "0", "-P", "1,2,", "-m", "send, write"}, 0};

	parse(&c);
	ok(opt.compare.streams.n == 2 && opt.compare.n_methods == 2,
	   "lists may have blanks, and a comma at their end");
	c = (struct command){{"zcc", "-s", "0", "--precision", "3m"}, 0};
	ok(exits_with(c) == EXIT_USAGE, "--precision takes no suffix of seconds");
}

static void test_calibrate(void)
{
	struct command c = {{"zcc", "-C"}, 0};

	parse(&c);
	ok(opt.calibrate, "-C is enough by itself");
	c = (struct command){{"zcc", "-C", "--json"}, 0};
	ok(exits_with(c) == EXIT_USAGE, "-C --json is rejected");
}

int main(void)
{
	test_instruments();
	test_most_runs();
	test_defaults();
	test_limits();
	test_request_port();
	test_addresses();
	test_none();
	test_habits();
	test_calibrate();
	return done();
}
