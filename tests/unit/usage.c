/* What every program's options have in common: lib/report/usage; options.c has those of zcc. */
#include "lib/report/words.h"

#include "tests/unit/unit.h"

static struct test_options {
	uint64_t size;
	bool all;
	const char *word;
} opt;

static struct options_given given;

#define AT(kind, member)             OPTION_AT(struct test_options, kind, member)
#define TAKE(kind, member, function) OPTION_TAKE(struct test_options, kind, member, function)

static void take_word(const struct option_row *o, char *text, void *to)
{
	if (text != NULL && strcmp(text, "good") != 0)
		option_error(o, "'%s' is not good", text);
	*(const char **)to = text != NULL ? text : "none";
}

static const struct option_row rows[] = {
	{.help = "Usage: tool\n\nAll:\n"},
	{"a", "all", NULL, "all of it", AT(FLAG, all)},
	{"", "always", NULL, NULL, AT(FLAG, all)},
	{"sb", "size", "SIZE",
	 "a size, which is so far from being a matter of one line that the text of it goes on in another",
	 AT(SIZE, size), .min = 2, .max = 9},
	{"", "word", "good", "a word", TAKE(TEXT, word, take_word), .optional = true},
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
	check_numbers(OPTION_SECONDS, "0.25=0.25|.5=0.5|5.=5|10s=10|1m=60|.5m=30|2h=7200|0=0|10=10",
		      "|x|-1|1e5|nan|inf|1.2.3|.|0x1| 1|1 s|1ms|1d|s");
}

/* Reads words; before a `:` they are those of a program that may run a command. */
static int read_words(const char *words)
{
	const bool command = words[0] == ':';
	struct usage usage = USAGE("tool", rows, command);
	static const struct option_row *table;
	static char *argv[32];

	table = table != NULL ? table : guarded(rows, sizeof(rows));
	usage.rows = table;
	opt = (struct test_options){0};
	return options_read(&usage, words_of(words + command, argv), argv, &opt, &given);
}

static void read_and_exit(void *words)
{
	read_words(words);
	exit(EXIT_SUCCESS);
}

/* The status and the message of wrong options. */
static void test_wrong(void)
{
	expect_deaths(read_and_exit,
		      "-x|file -R|--nosuch=3|--al|--all=3|-s|-\x01|--\n=3|-b 1|--size=10|-b 3.5"
		      "|-b99999999999999999999g|--word=bad|:-b1|:-b1 ls",
		      "wrong options end the program with a line and a status");
}

static void test_right(void)
{
	ok(read_words("x -ab.0025k --word") == 3 && opt.all && opt.size == 3 &&
		   strcmp(opt.word, "none") == 0,
	   "an argument may stand before options, which go where their rows say, sizes rounded");
	ok(read_words("--alw -- -a") == 3 && opt.all, "`--` ends the options");
	ok(read_words("--word=good --word") == 3 && strcmp(opt.word, "none") == 0 &&
		   option_given(&given, "word")->n == 0,
	   "an option that is given twice has no argument of the first");
	ok(read_words(":-b9 ls -a") == 2 && opt.size == 9 && !opt.all,
	   "the options behind a command are its own");
}

/* Words are in brackets. */
static void test_words(void)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{"", ""},
		{" -S\t -b  64k\n", "[-S][-b][64k]"},
		{"-T 'a \"b\\' -k", "[-T][a \"b\\][-k]"},
		{"-T \"a 'b\\\" \\\\ \\n $x\"", "[-T][a 'b\" \\ \\n $x]"},
		{"a\\ b\\'c \\\\ '' x\"y\"'z'", "[a b'c][\\][][xyz]"},
		{"'a", NULL},
		{"a \"b\\\"", NULL},
		{"a \\", NULL},
	};
	char all[64], **word;
	size_t i;
	int n, k;

	for (i = 0; i < LENGTH(cases); i++) {
		word = words_split(cases[i].text, &n);
		all[0] = '\0';
		for (k = 0; word != NULL && k < n; k++)
			string_append(all, sizeof(all), "[%s]", word[k]);
		ok(word == NULL ? cases[i].words == NULL
				: cases[i].words != NULL && word[n] == NULL &&
					  strcmp(all, cases[i].words) == 0,
		   "the words of <%s> are %s, as a shell has them", cases[i].text, all);
		free(word);
	}
}

static void test_help(void)
{
	capture(STDOUT_FILENO);
	if (fork() == 0)
		read_and_exit("--help");
	wait(NULL);
	expect(captured(), "--help is made from the table");
}

TESTS(test_numbers, test_wrong, test_help, test_right, test_words)
