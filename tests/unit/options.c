/* The options of zcc: lib/send/options. */
#include "lib/send/options.h"

#include "lib/send/sender.h"
#include "tests/unit/unit.h"

static struct send_options opt;

/* Reads the options "one|two|..."; returns the first file, or NULL. */
static const char *parse(const char *words)
{
	static char *argv[16];
	const char *word;
	int argc;

	argv[0] = program_invocation_name;
	for (argc = 1; (word = next_of(&words)) != NULL; argc++)
		argv[argc] = strdup(word);
	argv[argc] = NULL;
	return argv[options_parse(&opt, argc, argv)];
}

static void parse_and_exit(void *words)
{
	parse(words);
	exit(EXIT_SUCCESS);
}

static int exits_with(const char *words)
{
	return died(parse_and_exit, (void *)words);
}

static void test_defaults(void)
{
	is(parse("-s|server|file"), "file", "a server and a file are enough");
	ok(strcmp(opt.server, "server") == 0 && strcmp(opt.method->name, "sendfile") == 0,
	   "without a method it is sendfile");
	ok(opt.streams == 1 && opt.loops == 1 && opt.seconds == 0 && opt.pace == 0,
	   "without options a file is sent once, over one stream, at any pace");
	ok(parse("-s|0|-S") == NULL && strcmp(opt.method->name, "send") == 0,
	   "-S is the method send");
	ok(opt.seconds > 0, "without a file there is a limit of time");
	parse("-s|0|-w|file");
	is(opt.method->name, "write", "-w is the method write");
}

/* Two methods and two numbers of streams, each by either instrument. */
static void test_instruments(void)
{
	parse("-cs0|--idle|-m|send,mmap|-P|1,4");
	ok(opt.compare.wanted && opt.compare.rounds == 5 && options_runs(&opt) == 8,
	   "-c with --idle: each run is made twice, as a comparison");
}

/* 33 sizes for each of 32 streams are more runs than a comparison has. */
static void test_most_runs(void)
{
	char list[256] = "1", words[600];
	int i;

	for (i = 2; i <= 32; i++)
		string_append(list, sizeof(list), ",%d", i);
	snprintf(words, sizeof(words), "-s|0|-b|%s|-P|%s", list, list);
	ok(exits_with(words) == EXIT_SUCCESS, "a comparison may have 1024 runs");
	snprintf(words, sizeof(words), "-s|0|-b|%s,33|-P|%s", list, list);
	ok(exits_with(words) == EXIT_USAGE &&
		   strstr(printed, "a comparison of 1056 runs: more than 1024\n") != NULL,
	   "a comparison of more than 1024 runs is rejected");
}

/* A zcs that waits for files would be silent until --timeout is over. */
static void test_request_port(void)
{
	exits_with("-s|0|--request|1|-p|2222");
	has(printed, "port 7890 by default",
	    "--request to the port of transfers prints which port zcs --reply has");
	exits_with("-s|0|--request|1");
	is(printed, "", "--request without a port prints nothing");
}

/* -s and --bind take an address in brackets, as URLs and the messages of zcs have it. */
static void test_addresses(void)
{
	static const struct {
		const char *words, *host, *port;
	} cases[] = {
		{"-s|server|file|-p|99", "server", "99"},
		{"-s|::1|file|-p|99", "::1", "99"},
		{"-s|[::1]|file|-p|99", "::1", "99"},
		{"-s|[::1]:2223|file|-p|99", "::1", "99"},
		{"-s|[::1]:2223|file", "::1", "2223"},
		{"-s|[fe80::1%lo]|file|-p|1", "fe80::1%lo", "1"},
		{"-s|[192.0.2.1]:7|file", "192.0.2.1", "7"},
	};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		parse(cases[i].words);
		ok(strcmp(opt.server, cases[i].host) == 0 && strcmp(opt.port, cases[i].port) == 0,
		   "%s: the host is %s, the port %s", cases[i].words, cases[i].host, cases[i].port);
	}
	parse("-s|0|--bind|[::1]");
	is(opt.source, "::1", "--bind [::1] is ::1");
}

/* 0 stands for none where other programs of the suite take it. */
static void test_none(void)
{
	parse("-s|0|-I|0|--timeout|0");
	ok(opt.interval == 0 && opt.timeout == 0, "-I 0 and --timeout 0 are none");
	parse("-s|0|--request=1");
	ok(opt.timeout == 60, "--request has a --timeout unless it is given");
	parse("-s|0|--request=1|--timeout=0");
	ok(opt.timeout == 0, "--request --timeout 0 never times out");
	parse("-s|0|--pace|1");
	ok(opt.pace == 1, "--pace may be 1 byte per second");
	parse("-s|0|-P|1,2,|-m|send, write");
	ok(opt.compare.streams.n == 2 && opt.compare.n_methods == 2,
	   "lists may have blanks, and a comma at their end");
	parse("-C");
	ok(opt.calibrate, "-C is enough by itself");
}

static void test_wrong(void)
{
	static const char *const wrong[] = {"-s|0|-t|0",
					    "-s|0|--save|-",
					    "-s|0|--pace|0",
					    "-C|--json",
					    "-s|0|--precision|3m",
					    "-s|0|-c|--idle|--request|10",
					    "-s|0|--bind|[::1]:2222",
					    "-s|[::1",
					    "-s|[::1]2222",
					    "-s|[::1]:",
					    "-s|[::1]:x",
					    "-s|[::1]:65536"};
	size_t i;

	for (i = 0; i < LENGTH(wrong); i++)
		ok(exits_with(wrong[i]) == EXIT_USAGE, "zcc %s is rejected", wrong[i]);
}

int main(void)
{
	test_instruments();
	test_most_runs();
	test_defaults();
	test_request_port();
	test_addresses();
	test_none();
	test_wrong();
	return done();
}
