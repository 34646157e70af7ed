#include "lib/report/usage.h"

#include <getopt.h>
#include <net/if.h>
#include <stdarg.h>

#include "lib/base/texts.h"
#include "lib/load/cpus.h"
#include "lib/net/tls.h"

#define OPTION_NAME 64  /* bytes of `-b, -l, --buffer-size`, with its end */
#define LONG_VALUE  256 /* getopt_long(3) returns the index of a row and this, or a letter */
#define HELP_COLUMN 30  /* where --help begins what an option does, behind its name */
#define HELP_WIDTH  49  /* columns of this text */

/* Names an option as messages and --help do: `-b, --buffer-size`. */
static const char *option_name(const struct option_row *o)
{
	char name[OPTION_NAME] = "";
	const char *c;

	for (c = o->letters; *c != '\0'; c++)
		string_append(name, OPTION_NAME, "%s-%c", c > o->letters ? ", " : "", *c);
	if (o->name != NULL)
		string_append(name, OPTION_NAME, "%s--%s", c > o->letters ? ", " : "", o->name);
	return text_of("%s", name);
}

/* Whether `word` is `-x` or `--name` of that row. */
static bool is_option(const struct option_row *o, const char *word)
{
	if (o->letters == NULL || word[0] != '-' || word[1] == '\0')
		return false;
	if (word[1] == '-')
		return o->name != NULL && strcmp(o->name, word + 2) == 0;
	return strchr(o->letters, word[1]) != NULL;
}

/* The option for which getopt_long(3) returns `value`, or NULL. */
static const struct option_row *option_of(const struct usage *u, int value)
{
	const char word[] = {'-', (char)value, '\0'};
	const struct option_row *o;

	if (value >= LONG_VALUE)
		return &u->rows[value - LONG_VALUE];
	for (o = u->rows; o < u->rows + u->n; o++)
		if (o->kind != OPTION_NONE && is_option(o, word))
			return o;
	return NULL;
}

/*
 * --help.
 */

/* Prints what an option does, in lines of words behind its name. */
static void print_option(const struct option_row *o)
{
	const bool takes = o->placeholder != NULL && !o->optional;
	const char *text = o->help;
	int n;

	printf("%-*s", HELP_COLUMN,
	       text_of("  %s%s%s%s", o->letters[0] != '\0' ? "" : "    ", option_name(o),
		       takes ? "=" : "", takes ? o->placeholder : ""));
	for (; strlen(text) > HELP_WIDTH; text += n + 1) {
		for (n = HELP_WIDTH; text[n] != ' '; n--)
			;
		printf("%.*s\n%*s", n, text, HELP_COLUMN, "");
	}
	printf("%s\n", text);
}

static void print_help(const struct usage *u)
{
	const struct option_row *o;

	for (o = u->rows; o < u->rows + u->n; o++)
		if (o->help != NULL && o->kind == OPTION_NONE)
			printf("%s", o->help);
		else if (o->help != NULL)
			print_option(o);
	report("\nThe manual is %s(1); zc(7) shows how to measure.\n", u->program);
}

/*
 * Errors.
 */

/* Rejects the option `word`, of which getopt_long(3) has returned `c`. */
static _Noreturn void reject_option(const struct usage *u, int c, const char *word)
{
	const struct option_row *o = option_of(u, optopt);
	const char *name = optopt != 0 ? text_of("-%c", optopt)
				       : text_of("%.*s", (int)strcspn(word, "="), word);

	if (o != NULL)
		usage_error("%s %s (try '%s --help')", option_name(o),
			    c == ':' ? "requires an argument" : "takes no argument", u->program);
	for (o = u->rows; o < u->rows + u->n; o++)
		if (o->instead != NULL && is_option(o, name))
			usage_error("unknown option '%s': %s", name, o->instead);
	usage_error("unknown%s option '%s' (try '%s --help')", optopt == 0 ? " or ambiguous" : "",
		    name, u->program);
}

/* Whether an option is one of `words`; there may be none, NULL. */
static bool is_among(const struct option_row *o, const char *words)
{
	char *rest = words != NULL ? strdupa(words) : NULL, *word;

	while ((word = strsep(&rest, " ")) != NULL)
		if (is_option(o, word))
			return true;
	return false;
}

/* The first option among `words`, or of all that are not, that is given; or NULL. */
static const struct option_row *given_of(const struct usage *u, const struct given *given,
					 const char *words, bool among)
{
	size_t i;

	for (i = 0; i < u->n; i++)
		if (given[i].is_given && is_among(&u->rows[i], words) == among)
			return &u->rows[i];
	return NULL;
}

bool option_is_heading(const struct option_row *o)
{
	return o->kind == OPTION_NONE && o->instead == NULL;
}

static const struct option_row *heading_of(const struct option_row *o)
{
	while (!option_is_heading(o))
		o--;
	return o;
}

/* Whether all runs have an option. */
static bool is_shared(const struct option_row *o)
{
	return o->is_shared || heading_of(o)->is_shared;
}

/* Rejects options that cannot be used together, or need another, or cannot be used with an operand. */
static void check_given(const struct usage *u, const struct given *given, bool of_run,
			const char *operand)
{
	const struct option_row *o, *other;
	const char *name;

	for (o = u->rows; o < u->rows + u->n; o++) {
		if (!given[o - u->rows].is_given)
			continue;
		name = option_name(o);
		/* First, as it names the way out. */
		if (o->only_with != NULL && !(of_run && is_shared(o)) &&
		    !given_of(u, given, o->only_with, true))
			usage_error("%s: only with %s", name, o->only_with);
		other = given_of(u, given, o->not_with, true);
		if (other == NULL && o->goes_with != NULL)
			other = given_of(u, given, o->goes_with, false);
		if (other != NULL)
			usage_error("%s and %s cannot be used together", name, option_name(other));
		if (o->alone && operand != NULL)
			usage_error("%s and '%s' cannot be used together", name, operand);
	}
}

/*
 * Arguments.
 */

void option_error(const struct option_row *o, const char *fmt, ...)
{
	char what[DIE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	usage_error("%s: %s", option_name(o), what);
}

/* The suffixes of numbers; those of sizes are as in dd(1) and head(1). */
struct suffix {
	const char *text;
	double factor;
};
static const struct suffix none[] = {{"", 1}, {NULL, 0}};
static const struct suffix percents[] = {{"", 1}, {"%", 1}, {NULL, 0}};
static const struct suffix seconds[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {NULL, 0}};
static const struct suffix sizes[] = {
	{"", 1},         {"k", 0x1p10},   {"m", 0x1p20},   {"g", 0x1p30},   {"t", 0x1p40},
	{"kib", 0x1p10}, {"mib", 0x1p20}, {"gib", 0x1p30}, {"tib", 0x1p40}, {"kb", 1e3},
	{"mb", 1e6},     {"gb", 1e9},     {"tb", 1e12},    {NULL, 0}};

#define SECONDS "a number of seconds, such as 10, 0.5, 10s, 2m or 1h"
#define SIZE    "a size in bytes: 65536, 64k, 1.5m, 64KiB (1024 each) or 64KB (1000)"

/* The kinds of numbers. */
static const struct {
	const struct suffix *suffix;
	bool whole; /* without a suffix it has no fraction */
	const char *is, *unit;
} numbers[OPTION_VERSION + 1] = {
	[OPTION_INT] = {none, true, "a whole number", ""},
	[OPTION_PORT] = {none, true, "a whole number", ""},
	[OPTION_SIZE] = {sizes, true, SIZE, ""},
	[OPTION_SECONDS] = {seconds, false, SECONDS, " seconds"},
	[OPTION_SECONDS_OR_NONE] = {seconds, false, SECONDS, " seconds"},
	[OPTION_PERCENT] = {percents, false, "a percentage", "%"},
};

double parse_number(enum option_kind kind, const char *text)
{
	const struct suffix *suffix = numbers[kind].suffix;
	const bool digits = numbers[kind].whole && suffix == none;
	const char *end = text + strspn(text, digits ? "0123456789" : "0123456789.");
	char *behind;
	const double v = strtod(text, &behind);

	if (end == text || behind != end)
		return NAN;
	while (suffix->text != NULL && strcasecmp(suffix->text, end) != 0)
		suffix++;
	if (suffix->text == NULL || (numbers[kind].whole && *end == '\0' && v != floor(v)))
		return NAN;
	return v * suffix->factor;
}

double arg_number(const struct option_row *o, const char *text)
{
	const double v = parse_number(o->kind, text);

	if (isnan(v) && strcasestr(text, "bit") != NULL)
		option_error(o, "'%s' is in bits: give bytes (100Mbit is 12.5MB)", text);
	if (isnan(v))
		option_error(o, "'%s' is not %s", text, numbers[o->kind].is);
	if (v == 0 && o->kind == OPTION_SECONDS_OR_NONE)
		return v;
	if (v < o->min || v > o->max)
		option_error(o, "'%s' is %sbetween %.16g and %.16g%s", text,
			     o->kind == OPTION_SECONDS_OR_NONE ? "neither 0 nor " : "not ", o->min,
			     o->max, numbers[o->kind].unit);
	return v;
}

const char *arg_host(const struct option_row *o, char *text, const char **port)
{
	char *end = strchr(text, ']'), *colon = strchr(text, ':');
	double n;

	if (text[0] != '[' && colon != NULL && strchr(colon + 1, ':') == NULL)
		option_error(o, "'%s' has a port%s", text,
			     port != NULL ? ", which is -p, --port" : "");
	if (text[0] != '[')
		return text;
	n = end != NULL && end[1] == ':' ? parse_number(OPTION_PORT, end + 2) : NAN;
	if (end == NULL || (end[1] != '\0' && (port == NULL || !(n >= o->min && n <= 65535))))
		option_error(o, "'%s' is not [ADDRESS]%s", text,
			     port != NULL ? " or [ADDRESS]:PORT" : "");
	/* cppcheck-suppress nullPointerRedundantCheck ; option_error() does not return */
	if (end[1] == ':' && *port == NULL)
		*port = end + 2;
	*end = '\0';
	return text + 1;
}

size_t arg_name(const char *name, const char *text, const void *table, size_t n, size_t size)
{
	char names[256] = "";
	const char *one;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&one, (const char *)table + i * size, sizeof(one));
		if (strcmp(one, text) == 0)
			return i;
		string_append(names, sizeof(names), "%s%s", i > 0 ? ", " : "", one);
	}
	usage_error("%s: '%s' is not one of %s", name, text, names);
}

/*
 * Reading.
 */

/* Stores an integer of 32 or 64 bits. */
static void store(const struct option_row *o, void *to, double value)
{
	if (o->size == sizeof(uint32_t))
		*(uint32_t *)to = (uint32_t)round(value);
	else
		*(uint64_t *)to = (uint64_t)round(value);
}

/* Memory that lasts as long as the program: members of options point into it. */
static void *lasting(size_t size)
{
	static struct lasting {
		struct lasting *before;
		char *data[];
	} * last;
	struct lasting *one = alloc_or_die(1, sizeof(*one) + size, "options");

	one->before = last;
	last = one;
	return one->data;
}

static char *text_copy(const char *text)
{
	return strcpy(lasting(strlen(text) + 1), text);
}

/* Sets the member of an option, or prints what the option asks for and exits. */
static void take_option(const struct usage *u, const struct option_row *o, char *text, void *to)
{
	static char empty[] = "";
	const bool has_text = text != NULL;
	const char *why;

	if (o->take != NULL) {
		o->take(o, text, to);
		return;
	}
	text = has_text ? text : empty;
	switch (o->kind) {
	case OPTION_NONE: break;
	case OPTION_FLAG: *(bool *)to = true; break;
	case OPTION_CONSTANT: store(o, to, o->min); break;
	case OPTION_COUNT: ++*(int *)to; break;
	case OPTION_WORD:
		if (has_text && strcmp(text, o->placeholder) != 0)
			option_error(o, "'%s' is not '%s'", text, o->placeholder);
		*(int *)to = has_text ? 2 : 1;
		break;
	case OPTION_INT:
	case OPTION_SIZE: store(o, to, arg_number(o, text)); break;
	case OPTION_SECONDS:
	case OPTION_SECONDS_OR_NONE:
	case OPTION_PERCENT: *(double *)to = arg_number(o, text); break;
	case OPTION_FILE:
		if (strcmp(text, "-") == 0)
			option_error(o, "'-' is not standard output: a file of this name is './-'");
		if (text[0] == '\0')
			option_error(o, "'' is not the name of a file");
		*(const char **)to = text;
		break;
	case OPTION_DEVICE: /* the kernel takes an empty name for empty, and cuts a long one */
		if (text[0] == '\0' || strlen(text) >= IF_NAMESIZE)
			option_error(o, "'%s' does not have 1 to %d characters", text,
				     IF_NAMESIZE - 1);
		*(const char **)to = text;
		break;
	case OPTION_CIPHER:
		*(const struct tls_cipher **)to =
			!has_text ? tls_ciphers
				  : &tls_ciphers[arg_name(option_name(o), text, tls_ciphers,
							  tls_ciphers_n, sizeof(tls_ciphers[0]))];
		break;
	case OPTION_CPUS:
		if ((why = parse_cpus(text, to)) != NULL)
			option_error(o, "'%s' %s", text, why);
		break;
	case OPTION_PORT: arg_number(o, text); /* fallthrough */
	case OPTION_TEXT: *(const char **)to = text; break;
	case OPTION_HELP: print_help(u); exit(EXIT_SUCCESS);
	case OPTION_VERSION: report("%s %s\n", u->program, VERSION); exit(EXIT_SUCCESS);
	}
}

/* Whether two arguments mean the same. */
static bool is_same(const struct option_row *o, const char *a, const char *b)
{
	return o->kind == OPTION_TEXT ? strcmp(a, b) == 0
				      : parse_number(o->kind, a) == parse_number(o->kind, b);
}

/* Each value of a list is a run: a value that is given twice would make two rows of the same name. */
static void take_list(const struct usage *u, struct given *g, char *text, void *to)
{
	char *rest = text_copy(text + strspn(text, " ")), *one;
	int i;

	g->text = text;
	for (g->n = 0; (one = strsep(&rest, ",")) != NULL; g->n++) {
		one += strspn(one, " ");
		if (*one == '\0')
			option_error(g->row, "'%s' has an empty value", text);
		if (g->n == VALUES_MAX)
			option_error(g->row, "more than %d values", VALUES_MAX);
		take_option(u, g->row, one, (char *)to + g->row->at);
		for (i = 0; i < g->n; i++)
			if (is_same(g->row, g->value[i], one))
				option_error(g->row,
					     "'%s' is given twice: -r, --runs repeats all runs",
					     one);
		g->value[g->n] = one;
	}
	take_option(u, g->row, g->value[0], (char *)to + g->row->at);
}

/* Sets the member of an option, and keeps its argument. */
static void take_given(const struct usage *u, struct given *g, char *text, void *to)
{
	g->is_given = true;
	if (text != NULL && g->value == NULL)
		g->value = lasting(VALUES_MAX * sizeof(*g->value));
	if (!g->row->is_repeated)
		g->n = 0; /* the last one counts */
	if (g->row->is_list && text != NULL) {
		take_list(u, g, text, to);
		return;
	}
	if (text != NULL && g->n == VALUES_MAX)
		option_error(g->row, "given more than %d times", VALUES_MAX);
	if (text != NULL)
		g->value[g->n++] = text;
	/* Taking it may change it. */
	take_option(u, g->row, text != NULL ? text_copy(text) : NULL, (char *)to + g->row->at);
}

/* Sets the member of an option as it was given, unless runs share what it has. */
static void retake(const struct usage *u, const struct given *g, void *to)
{
	if (!g->row->is_repeated)
		take_option(u, g->row, g->n > 0 ? text_copy(g->value[0]) : NULL,
			    (char *)to + g->row->at);
}

/* Whether the member of an option, if that is a number, has its default. */
static bool is_default(const struct given *g, const void *of)
{
	const struct option_row *o = g->row;

	return o->size > 0 && o->size <= sizeof(g->initial) && g->n <= 1 && !o->is_repeated &&
	       memcmp((const char *)of + o->at, &g->initial, o->size) == 0;
}

const struct given *option_given(const struct options_given *given, const char *name)
{
	const struct given *g;

	for (g = given->option; g < given->option + given->n; g++)
		if (g->is_given && g->row->name != NULL && strcmp(g->row->name, name) == 0)
			return g;
	return NULL;
}

int option_row(const struct options_given *given, const char *name)
{
	int i = 0;

	while (given->option[i].row->name == NULL || strcmp(given->option[i].row->name, name) != 0)
		i++;
	return i;
}

bool option_matters(const struct given *g)
{
	return g->row->kind != OPTION_NONE && g->is_given && !g->row->is_neutral &&
	       (!heading_of(g->row)->is_neutral || g->row->is_repeated);
}

const char *option_word(const struct option_row *o)
{
	return o->letters[0] != '\0' ? text_of("-%c", o->letters[0]) : text_of("--%s", o->name);
}

char *option_text(const struct given *g)
{
	char *text = NULL;
	double number;
	size_t size;
	FILE *f = text_open_or_die(&text, &size, "options");
	int i;

	for (i = 0; i < g->n; i++) {
		number = option_number(g->row, g->value[i]);
		fputs(i > 0 ? "," : "", f);
		if (isnan(number))
			fputs(g->value[i], f);
		else
			fprintf(f, "%.16g", number);
	}
	fputs(g->n == 0 ? "given" : "", f);
	text_close_or_die(f, "options");
	return text;
}

double option_number(const struct option_row *o, const char *text)
{
	return numbers[o->kind].suffix != NULL ? parse_number(o->kind, text) : NAN;
}

/* Converts the table to the arguments of getopt_long(3). */
static void describe_options(const struct usage *u, struct option *longs, char *letters)
{
	const struct option_row *o;
	const char *c;
	int has;

	for (o = u->rows; o < u->rows + u->n; o++) {
		if (o->kind == OPTION_NONE)
			continue;
		has = o->optional              ? optional_argument
		      : o->placeholder != NULL ? required_argument
					       : no_argument;
		if (o->name != NULL)
			*longs++ = (struct option){o->name, has, NULL,
						   (int)(o - u->rows) + LONG_VALUE};
		for (c = o->letters; *c != '\0'; c++)
			letters = stpcpy(letters,
					 (char[]){*c, has != no_argument ? ':' : '\0', '\0'});
	}
	*longs = (struct option){0};
	*letters = '\0';
}

/*
 * Stores the options in `to` and *all, which are those of a run alone if `of_run`.  Returns the index of the first
 * argument that is no option.
 */
static int take_words(const struct usage *u, int argc, char **argv, bool of_run, void *to,
		      struct options_given *all)
{
	char letters[2 * OPTIONS_MAX] = "+:", *order = u->command ? letters : letters + 1;
	struct given *g;
	struct option longs[OPTIONS_MAX];
	const struct option_row *o;
	int c;

	*all = (struct options_given){.n = (int)u->n};
	for (g = all->option; g < all->option + all->n; g++) {
		g->row = &u->rows[g - all->option];
		if (g->row->size <= sizeof(g->initial))
			memcpy(&g->initial, (char *)to + g->row->at, g->row->size);
	}
	describe_options(u, longs, letters + 2);
	opterr = 0;
	optind = 0; /* getopt_long(3) begins anew */
	while (u->command && getopt_long(argc, argv, order, longs, NULL) != -1)
		;
	if (u->command && optind < argc)
		die_with(EXIT_COMMAND);
	optind = 0;
	while ((c = getopt_long(argc, argv, order, longs, NULL)) != -1) {
		o = c == '?' || c == ':' ? NULL : option_of(u, c);
		if (o == NULL)
			reject_option(u, c, argv[optind - 1]);
		if (of_run && is_shared(o))
			option_error(o,
				     "is not an option of a single run: give it outside of --vs");
		take_given(u, &all->option[o - u->rows], optarg, to);
	}
	return optind;
}

/* Checks the options together.  Those that have their default are as if they were not given. */
static void end_reading(const struct usage *u, const char *operand, bool of_run, const void *to,
			struct options_given *all)
{
	struct given *g;

	check_given(u, all->option, of_run, operand);
	for (g = all->option; g < all->option + all->n; g++)
		g->is_given &= !is_default(g, to);
}

int options_read(const struct usage *u, int argc, char **argv, void *to,
		 struct options_given *given)
{
	struct options_given all;
	const int first = take_words(u, argc, argv, false, to, &all);

	end_reading(u, argv[first], false, to, &all);
	if (given != NULL)
		*given = all;
	return first;
}

/*
 * Whether an option that was given before yields to words, which `to` has.  An address may have set the port.  A row
 * of which `at` is 0 has all of `to`.
 */
static bool yields(const struct given *before, const struct options_given *words, const void *to)
{
	const struct option_row *o = before->row;
	const struct given *g;

	for (g = words->option; g < words->option + words->n; g++)
		if (g->is_given && (g->row == o || (o->at > 0 && g->row->at == o->at) ||
				    is_among(o, g->row->not_with) || is_among(g->row, o->not_with)))
			return true;
	return o->size > 0 && o->size <= sizeof(before->initial) &&
	       memcmp((const char *)to + o->at, &before->initial, o->size) != 0;
}

void options_read_over(const struct usage *u, const struct options_given *before,
		       const char *operand, int argc, char **argv, void *to,
		       struct options_given *given)
{
	struct options_given words;
	const int first = take_words(u, argc, argv, true, to, &words);
	int i;

	if (argv[first] != NULL)
		usage_error("'%s' is not an option", argv[first]);
	*given = words;
	for (i = 0; i < before->n; i++)
		if (before->option[i].is_given && !yields(&before->option[i], &words, to))
			given->option[i] = before->option[i];
	for (i = 0; i < given->n; i++)
		if (given->option[i].is_given && !words.option[i].is_given)
			retake(u, &given->option[i], to);
	end_reading(u, operand, true, to, given);
}
