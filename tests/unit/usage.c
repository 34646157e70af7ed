#include "lib/report/usage.h"

#include <netinet/in.h>

#include "tests/unit/unit.h"

static struct test_options {
	double seconds, interval, share;
	uint64_t size;
	int number, family, debug;
	bool all, quiet;
	const char *port, *file, *text, *word;
} opt;

#define AT(member) OPTION_AT(struct test_options, member)

static void take_word(const struct option_row *o, char *text, void *to)
{
	if (text != NULL && strcmp(text, "good") != 0)
		option_error(o, "'%s' is not good", text);
	*(const char **)to = text != NULL ? text : "none";
}

static const struct option_row rows[] = {
	{.help = "Usage: tool\n\nAll:\n"},
	{"a", "all", NULL, "all of it", OPTION_FLAG, AT(all)},
	{"", "always", NULL, NULL, OPTION_FLAG, AT(all)},
	{"q", "quiet", NULL, "not so much", OPTION_FLAG, AT(quiet), .not_with = "-a --file"},
	{"sb", "size", "SIZE",
	 "a size, which is so far from being a matter of one line that the text of it goes on in another",
	 OPTION_SIZE, AT(size), .min = 2, .max = 9},
	{"l", NULL, "N", "a number", OPTION_INT, AT(number), .min = 2, .max = 9},
	{"t", "time", "SECS", "seconds", OPTION_SECONDS, AT(seconds), .min = 2, .max = 9},
	{"I", "interval", "SECS", "seconds, or none", OPTION_SECONDS_OR_NONE, AT(interval),
	 .min = 2, .max = 9},
	{"", "share", "PERCENT", "a percentage", OPTION_PERCENT, AT(share), .min = 2, .max = 9},
	{"p", "port", "PORT", "a port", OPTION_PORT, AT(port), .min = 2, .max = 65535},
	{"", "file", "FILE", "a file", OPTION_FILE, AT(file), .only_with = "-t or --port"},
	{"", "text", "TEXT", "a text", OPTION_TEXT, AT(text)},
	{"", "word", "good", "a word", OPTION_TEXT, AT(word), .take = take_word, .optional = true},
	{"6", NULL, NULL, "IPv6", OPTION_CONSTANT, AT(family), .min = AF_INET6},
	{"d", "debug", NULL, "more", OPTION_COUNT, AT(debug)},
	{"h", "help", NULL, "this", OPTION_HELP, .at = 0},
	{"V", "version", NULL, "version", OPTION_VERSION, .at = 0},
	{"R", "reverse", .instead = "there is no way back"},
};

/* Each text of `good` must be the number behind its `=`, and none of `bad` a number. */
static void check_numbers(enum option_kind kind, const char *good, const char *bad)
{
	char text[32];
	const char *s;

	while ((s = next_of(&good)) != NULL) {
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(s, "="), s);
		ok(round(1000 * parse_number(kind, text)) == round(1000 * atof(strchr(s, '=') + 1)),
		   "'%s' is the number %s", text, strchr(s, '=') + 1);
	}
	while ((s = next_of(&bad)) != NULL)
		ok(isnan(parse_number(kind, s)), "'%s' is no number of its kind", s);
}

static void test_numbers(void)
{
	check_numbers(
		OPTION_SIZE,
		"0=0|1=1|64k=65536|64K=65536|3m=3145728|4g=4294967296|1t=1099511627776"
		"|1.5k=1536|.5m=524288|1.5G=1610612736|2.k=2048"                  /* fractions */
		"|64KiB=65536|64kib=65536|64KB=64000|1mb=1000000|12.5MB=12500000" /* as dd(1) */
		"|1TiB=1099511627776|1TB=1000000000000",
		"|k|-1|+1| 1|1 |1kk|1x|0x10|1.5|.k|.|1..5k|1,5k|1b|1i|1ki|1kbb|1 k|100Mbit|1e3");
	ok(round(parse_number(OPTION_SIZE, "1.1k")) == 1126, "a size is rounded to whole bytes");
	check_numbers(OPTION_SECONDS, "0.25=0.25|.5=0.5|5.=5|10s=10|1m=60|.5m=30|2h=7200|0=0|10=10",
		      "|x|-1|1e5|nan|inf|1.2.3|.|0x1| 1|1 s|1ms|1d|s");
}

static void test_names(void)
{
	static const char *const names[] = {"one", "two", "three"};

	ok(arg_name("-x", "three", names, LENGTH(names), sizeof(names[0])) == 2,
	   "arg_name: the index of the name");
}

struct command {
	const char *argv[6]; /* cppcheck-suppress unusedStructMember ; it is read in a child */
	const char *printed;
};

static int read_words(const char *const *words, bool command)
{
	static char *argv[8];
	int argc;

	argv[0] = program_invocation_name;
	for (argc = 1; *words != NULL; words++)
		argv[argc++] = strdupa(*words);
	argv[argc] = NULL;
	opt = (struct test_options){0};
	return options_read(&USAGE("tool", rows, command), argc, argv, &opt);
}

static void read_and_exit(void *command)
{
	read_words(((const struct command *)command)->argv, false);
	exit(EXIT_SUCCESS);
}

static void read_for_command(void *command)
{
	read_words(((const struct command *)command)->argv, true);
	exit(EXIT_SUCCESS);
}

static const struct command wrong[] = {
	{{"-x"}, "unknown option '-x' (try 'tool --help')"},
	{{"-ax"}, "unknown option '-x' (try 'tool --help')"},
	{{"--size=2", "-xa"}, "unknown option '-x' (try 'tool --help')"},
	{{"file", "-R"}, "unknown option '-R': there is no way back"},
	{{"--reverse=3"}, "unknown option '--reverse': there is no way back"},
	{{"--nosuch=3"}, "unknown or ambiguous option '--nosuch' (try 'tool --help')"},
	{{"--al"}, "unknown or ambiguous option '--al' (try 'tool --help')"},
	{{"--all=3"}, "-a, --all takes no argument (try 'tool --help')"},
	{{"-s"}, "-s, -b, --size requires an argument (try 'tool --help')"},
	{{"-a", "--si"}, "-s, -b, --size requires an argument (try 'tool --help')"},
	{{"--text"}, "--text requires an argument (try 'tool --help')"},
	{{"-l"}, "-l requires an argument (try 'tool --help')"},
	{{"-\x01"}, "unknown option '-?' (try 'tool --help')"},
	{{"--\n=3"}, "unknown or ambiguous option '--?' (try 'tool --help')"},
	{{"-b", "1"}, "-s, -b, --size: '1' is not between 2 and 9"},
	{{"-l", "10"}, "-l: '10' is not between 2 and 9"},
	{{"-t1.9"}, "-t, --time: '1.9' is not between 2 and 9 seconds"},
	{{"-b", "3.5"},
	 "-s, -b, --size: '3.5' is not a size in bytes: 65536, 64k, 1.5m, 64KiB (1024 each) or "
	 "64KB (1000)"},
	{{"-b99999999999999999999g"},
	 "-s, -b, --size: '99999999999999999999g' is not between 2 and 9"},
	{{"-l", "3.5"}, "-l: '3.5' is not a whole number"},
	{{"-l", "-3"}, "-l: '-3' is not a whole number"},
	{{"-t9ms"}, "-t, --time: '9ms' is not a number of seconds, such as 10, 0.5, 10s, 2m or 1h"},
	{{"-I", "1.99"}, "-I, --interval: '1.99' is not 0, nor between 2 and 9 seconds"},
	{{"--share=9.5%"}, "--share: '9.5%' is not between 2 and 9%"},
	{{"--file", "-", "-t2"},
	 "--file: '-' is not standard output: a file of this name is './-'"},
	{{"-p1"}, "-p, --port: '1' is not between 2 and 65535"},
	{{"-p65536"}, "-p, --port: '65536' is not between 2 and 65535"},
	{{"--word=bad"}, "--word: 'bad' is not good"},
	{{"-a", "-q"}, "-q, --quiet and -a, --all cannot be used together"},
	{{"-q", "--file=x", "-p2"}, "-q, --quiet and --file cannot be used together"},
	{{"--file", "x"}, "--file: only with -t or --port"},
};

static void test_wrong(void)
{
	char want[256];
	size_t i;

	for (i = 0; i < LENGTH(wrong); i++) {
		struct command c = wrong[i];

		ok(died(read_and_exit, &c) == EXIT_USAGE,
		   "wrong options, the %zuth, end the program with status 2", i);
		snprintf(want, sizeof(want), "%s: %s\n", program_invocation_short_name, c.printed);
		is(printed, want, "wrong options, the %zuth, print one line", i);
	}
}

static void test_right(void)
{
	static const char *const numbers[] = {"-adb2", "--interval=0", "-l9", "-d",
					      "-t9",   "--share=2.5%", NULL};
	static const char *const texts[] = {"x", "-6p2", "--file=./-", "--text=", "--word", NULL};
	static const char *const given[] = {"--alw", "--", "-q", NULL};

	ok(read_words(numbers, false) == 7, "options are read up to the end");
	ok(opt.all && !opt.quiet && opt.debug == 2 && opt.size == 2 && opt.number == 9 &&
		   opt.interval == 0 && opt.seconds == 9 && opt.share == 2.5,
	   "flags, counts and numbers go where their rows say");
	ok(read_words(texts, false) == 5, "an argument may stand before the options");
	ok(opt.family == AF_INET6 && strcmp(opt.port, "2") == 0 && strcmp(opt.file, "./-") == 0 &&
		   opt.text[0] == '\0' && strcmp(opt.word, "none") == 0,
	   "constants and texts go where their rows say");
	ok(read_words(given, false) == 3 && opt.all && !opt.quiet, "`--` ends the options");
}

static void test_command(void)
{
	static const char *const words[] = {"-a", "ls", "-q", NULL};
	struct command alone = {{"-l1"}, NULL}, behind = {{"-l1", "ls"}, NULL};

	ok(died(read_for_command, &alone) == EXIT_USAGE,
	   "a program that may run a command has status 2 without one");
	ok(died(read_for_command, &behind) == EXIT_COMMAND,
	   "a usage error before a command is status 125");
	ok(read_words(words, true) == 2 && opt.all && !opt.quiet,
	   "the options behind a command are its own");
}

static void print_in_child(void *command)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		read_and_exit(command);
	waitpid(pid, &status, 0);
}

static void test_printed(void)
{
	struct command help = {{"--help"}, NULL}, version = {{"-V", "-x"}, NULL};

	expect_file("usage-help", printed_by(print_in_child, &help),
		    "--help is made from the table");
	is(printed_by(print_in_child, &version), "tool " VERSION "\n",
	   "-V prints the version, and ends the program");
}

int main(void)
{
	test_numbers();
	test_names();
	test_right();
	test_wrong();
	test_command();
	test_printed();
	return done();
}
