/*
 * usage.h: the options of a program, one table in the order of --help.  A row is an option, or a text that only
 * --help prints, or an option that the program lacks, with what to do instead.
 *
 *	#define AT(kind, member) OPTION_AT(struct my_options, kind, member)
 *
 *	static const struct option_row rows[] = {
 *		{.help = "Usage: tool [OPTION...]\n\nWhat to send:\n"},
 *		{"n", "loops", "N", "send all files N times (default 1)", AT(INT, loops), .min = 1, .max = 9,
 *		 .not_with = "--time"},
 *		{"q", "quiet", NULL, "print only the first line", AT(FLAG, quiet)},
 *		{"h", "help", NULL, "print this text and exit", OPTION_HELP, .at = 0},
 *		{"u", "udp", .instead = "the tool sends over TCP only"},
 *	};
 *
 *	first = options_read(&USAGE("tool", rows, false), argc, argv, &opt, NULL);
 */
#pragma once

#include "common.h"

struct option_row;
struct tls_cipher;

/* Reads an argument and sets the member `to`; calls option_error() if the argument is wrong. */
typedef void option_take(const struct option_row *o, char *text, void *to);

/* What an option sets.  Numbers are integers of 32 or 64 bits, seconds are double, texts const char *. */
enum option_kind {
	OPTION_NONE,            /* the row is no option of the program */
	OPTION_FLAG,            /* a bool, to true */
	OPTION_COUNT,           /* an int, incremented each time */
	OPTION_CONSTANT,        /* a number, to .min */
	OPTION_INT,             /* a whole number */
	OPTION_SIZE,            /* a number of bytes: 65536, 64k, 1.5m */
	OPTION_SECONDS,         /* seconds: 10, .5, 10s, 2m, 1h */
	OPTION_SECONDS_OR_NONE, /* the same, or 0 */
	OPTION_PERCENT,         /* a double: 3, 2.5% */
	OPTION_WORD,            /* an int: 1, or 2 with its argument, the placeholder */
	OPTION_TEXT,            /* any text */
	OPTION_DEVICE,          /* the name of an interface */
	OPTION_FILE,            /* the name of a file, which is not `-` */
	OPTION_PORT,            /* a number of a port, as text */
	OPTION_CPUS,            /* a struct cpus */
	OPTION_CIPHER,          /* a const struct tls_cipher *; without an argument the default */
	OPTION_HELP,
	OPTION_VERSION
};

struct option_row {
	const char *letters;     /* each of them is the option; "" for none */
	const char *name;        /* of `--name`; NULL: it has letters alone */
	const char *placeholder; /* of the argument; NULL: it takes none */
	const char *help;        /* NULL: --help does not show it */
	enum option_kind kind;
	size_t at, size;   /* the member of the program's options: OPTION_AT() */
	option_take *take; /* sets the member; NULL: by `kind` */
	double min, max;   /* bounds of the argument */
	int is_list; /* the argument may be a list: its place among these, from 1; the first value is set */
	bool is_one;      /* in JSON a single value is no list */
	bool is_repeated; /* it may be given several times, all of which count */
	bool is_neutral;  /* no figure depends on it, or if it is a heading, on those below it */
	bool optional;    /* the argument may be missing; --help shows no placeholder */
	bool is_shared; /* all runs of a comparison have it, or if it is a heading, those below it */
	bool alone;     /* no operand may follow: no file, no command */
	const char *not_with; /* options that it cannot be used together with, `-x --long` */
	const char
		*goes_with; /* the only options that are used together with it, itself included */
	const char *only_with; /* options of which one must be given, `-c or -C` */
	const char *instead;   /* what to do, as the program lacks the option */
};

/* Whether a member can be set by an option of this kind. */
#define OPTION_SETS(kind, member)                                                                  \
	_Generic((member),                                                                         \
		bool: (kind) == OPTION_FLAG,                                                       \
		int: OPTION_IS_NUMBER(kind) || (kind) == OPTION_COUNT || (kind) == OPTION_WORD,    \
		unsigned: OPTION_IS_NUMBER(kind),                                                  \
		unsigned long: OPTION_IS_NUMBER(kind),                                             \
		unsigned long long: OPTION_IS_NUMBER(kind),                                        \
		double: (kind) >= OPTION_SECONDS && (kind) <= OPTION_PERCENT,                      \
		const char *: (kind) >= OPTION_TEXT && (kind) <= OPTION_PORT, \
		default: (kind) == OPTION_CPUS)
#define OPTION_IS_NUMBER(kind) ((kind) >= OPTION_CONSTANT && (kind) <= OPTION_SIZE)

/* The kind of an option, and the member that it sets: the compiler rejects one of another type. */
#define OPTION_AT(type, k, member)                                                                 \
	.kind = OPTION_##k, .at = offsetof(type, member),                                          \
	.size = sizeof(((type *)0)->member) +                                                      \
		0 * sizeof(char[OPTION_SETS(OPTION_##k, ((type *)0)->member) ? 1 : -1])

/* The same for a member that a function sets, whatever its type. */
#define OPTION_TAKE(type, k, member, function)                                                     \
	.kind = OPTION_##k, .at = offsetof(type, member), .take = (function)

struct usage {
	const char *program;
	const struct option_row *rows;
	size_t n;
	bool command; /* a command may follow: its options are its own, and die() exits with EXIT_COMMAND */
};

/* clang-format off */
/* Rows of every program. */
#define HELP_OPTIONS                                                                               \
	{"h", "help", NULL, "print this text and exit", OPTION_HELP, .at = 0},                     \
	{"V", "version", NULL, "print the version and exit", OPTION_VERSION, .at = 0}
/* clang-format on */

#define OPTIONS_MAX 128 /* rows, and the end that getopt_long(3) needs */

/* A program's table: one that is too long does not compile. */
#define USAGE(program, rows, command)                                                              \
	((struct usage){                                                                           \
		program, rows,                                                                     \
		sizeof(rows) / sizeof((rows)[0]) +                                                 \
			0 * sizeof(char[sizeof(rows) < OPTIONS_MAX * sizeof((rows)[0]) ? 1 : -1]), \
		command})

#define VALUES_MAX 64 /* of a list */

/* A row of the table, and what a command line has of it. */
struct given {
	const struct option_row *row;
	bool is_given;    /* with another value than the default */
	char *text;       /* its argument, where it stands on the command line */
	char **value;     /* of its argument */
	int n;            /* of them: 0, 1, or those of a list */
	uint64_t initial; /* the default of a number */
};

/* All rows of the table, in its order. */
struct options_given {
	struct given option[OPTIONS_MAX];
	int n;
};

/*
 * Stores the options in `to`, a struct of the program, and in *given unless that is NULL.  A wrong one is a usage
 * error; --help and --version print and exit.  Returns the index of the first argument that is no option.
 */
int options_read(const struct usage *u, int argc, char **argv, void *to,
		 struct options_given *given);

/*
 * The same with the words of a run over the options that were given before: these yield to words that set the same, or
 * that they cannot be used together with.  `to` has the defaults.  Options that runs share are a usage error.
 */
void options_read_over(const struct usage *u, const struct options_given *before,
		       const char *operand, int argc, char **argv, void *to,
		       struct options_given *given);

/* The option of that name if it was given, with another value than the default; or NULL. */
const struct given *option_given(const struct options_given *given, const char *name);

/* Where the option of that name stands among all. */
int option_row(const struct options_given *given, const char *name);

/* Whether a row is the head of those below it, and not an option that is gone. */
bool option_is_heading(const struct option_row *o);

/* Whether figures may depend on an option. */
bool option_matters(const struct given *g);

/* `-x`, or without a letter `--name`. */
const char *option_word(const struct option_row *o);

/*
 * Returns the value of an option as text, to be freed: numbers in bytes or seconds, any other as it was given, the values of
 * a list with commas between; `given` of one without an argument.
 */
char *option_text(const struct given *g);

/* The number of an argument of a row; NAN if that is no number. */
double option_number(const struct option_row *o, const char *text);

/*
 * For the functions `take`.  option_error() is a usage_error() that begins with the option's names,
 * `-b, --buffer-size: `.
 */
_Noreturn void option_error(const struct option_row *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The number in a text of this kind; suffixes may have either case.  NAN if the text is no number. */
double parse_number(enum option_kind kind, const char *text);

/* The number of an argument, of the kind and within the bounds of the row. */
double arg_number(const struct option_row *o, const char *text);

/*
 * The host of an argument `HOST`, `[ADDRESS]` or `[ADDRESS]:PORT`, in place.  *port is set if the argument has
 * one and no other option has; if `port` is NULL it is an error.
 */
const char *arg_host(const struct option_row *o, char *text, const char **port);

/*
 * Returns the index of the entry with the name `text` in a table of n entries of `size` bytes.  The
 * first member of an entry is a pointer to its name.
 */
size_t arg_name(const char *name, const char *text, const void *table, size_t n, size_t size);
