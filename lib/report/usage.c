#include "lib/report/usage.h"

#include <getopt.h>

#include "lib/load/cpus.h"
#include "lib/net/socket.h"

#define OPTIONS_MAX 128
#define OPTION_NAME 64  /* bytes of `-b, -l, --buffer-size`, with its end */
#define LONG_VALUE  256 /* getopt_long(3) returns the index of a row and this, or a letter */
#define HELP_COLUMN 30  /* where --help begins what an option does, behind its name */
#define HELP_WIDTH  49  /* columns of that */

/* Names an option as messages and --help do: `-b, --buffer-size`. */
static const char *option_name(const struct option_row *o, char name[OPTION_NAME])
{
	const char *c;

	name[0] = '\0';
	for (c = o->letters; *c != '\0'; c++)
		string_append(name, OPTION_NAME, "%s-%c", c > o->letters ? ", " : "", *c);
	if (o->name != NULL)
		string_append(name, OPTION_NAME, "%s--%s", c > o->letters ? ", " : "", o->name);
	return name;
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

/* The option that getopt_long(3) has for a value, or NULL. */
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
	char name[OPTION_NAME], lead[OPTION_NAME];
	const char *text = o->help;
	int n;

	snprintf(lead, sizeof(lead), "  %s%s%s%s", o->letters[0] != '\0' ? "" : "    ",
		 option_name(o, name), o->placeholder != NULL && !o->optional ? "=" : "",
		 o->placeholder != NULL && !o->optional ? o->placeholder : "");
	printf("%-*s", HELP_COLUMN, lead);
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

	for (o = u->rows; o < u->rows + u->n; o++) {
		if (o->help != NULL && o->kind == OPTION_NONE)
			printf("%s", o->help);
		else if (o->help != NULL)
			print_option(o);
	}
	report("\nThe manual is %s(1); zc(7) explains the method.\n", u->program);
}

/*
 * What is wrong.
 */

/* Rejects the option `word`, of which getopt_long(3) has returned `c`. */
static _Noreturn void reject_option(const struct usage *u, int c, const char *word)
{
	const struct option_row *o = option_of(u, optopt);
	char name[OPTION_NAME];

	if (o != NULL)
		usage_error("%s %s (try '%s --help')", option_name(o, name),
			    c == ':' ? "requires an argument" : "takes no argument", u->program);
	if (optopt != 0)
		snprintf(name, sizeof(name), "-%c", optopt);
	else
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	for (o = u->rows; o < u->rows + u->n; o++)
		if (o->instead != NULL && is_option(o, name))
			usage_error("unknown option '%s': %s", name, o->instead);
	usage_error("unknown%s option '%s' (try '%s --help')", optopt == 0 ? " or ambiguous" : "",
		    name, u->program);
}

/* The first option among `words` that is given, or NULL. */
static const struct option_row *given_of(const struct usage *u, const bool *given,
					 const char *words)
{
	char *rest = strdupa(words), *word;
	size_t i;

	while ((word = strsep(&rest, " ")) != NULL)
		for (i = 0; i < u->n; i++)
			if (given[i] && is_option(&u->rows[i], word))
				return &u->rows[i];
	return NULL;
}

/* Rejects options that cannot be used together, or need another. */
static void check_given(const struct usage *u, const bool *given)
{
	const struct option_row *o, *other;
	char name[OPTION_NAME], second[OPTION_NAME];

	for (o = u->rows; o < u->rows + u->n; o++) {
		if (!given[o - u->rows])
			continue;
		option_name(o, name);
		if (o->not_with != NULL && (other = given_of(u, given, o->not_with)) != NULL)
			usage_error("%s and %s cannot be used together", name,
				    option_name(other, second));
		if (o->only_with != NULL && given_of(u, given, o->only_with) == NULL)
			usage_error("%s: only with %s", name, o->only_with);
	}
}

/*
 * Reading.
 */

/* Stores an integer of 32 or 64 bits. */
static void store(const struct option_row *o, void *to, uint64_t value)
{
	if (o->size == sizeof(uint32_t))
		*(uint32_t *)to = (uint32_t)value;
	else
		*(uint64_t *)to = value;
}

static double seconds_or_none(const struct option_row *o, const char *name, const char *text)
{
	const double seconds = arg_seconds(name, text, 0, o->max);

	if (seconds > 0 && seconds < o->min)
		usage_error("%s: '%s' is neither 0 nor %g seconds or more", name, text, o->min);
	return seconds;
}

/* Does what an option asks for; false if that was all. */
static bool take_option(const struct usage *u, const struct option_row *o, char *text, void *to)
{
	const int64_t min = (int64_t)o->min, max = (int64_t)o->max;
	char name[OPTION_NAME];

	option_name(o, name);
	switch (o->kind) {
	case OPTION_NONE: break;
	case OPTION_FLAG: *(bool *)to = true; break;
	case OPTION_CONSTANT: store(o, to, (uint64_t)min); break;
	case OPTION_COUNT: ++*(int *)to; break;
	case OPTION_INT: store(o, to, (uint64_t)arg_int(name, text, min, max)); break;
	case OPTION_SIZE: store(o, to, arg_size(name, text, (uint64_t)min, (uint64_t)max)); break;
	case OPTION_SECONDS: *(double *)to = arg_seconds(name, text, o->min, o->max); break;
	case OPTION_SECONDS_OR_NONE: *(double *)to = seconds_or_none(o, name, text); break;
	case OPTION_FILE: *(const char **)to = arg_file(name, text); break;
	case OPTION_DEVICE: *(const char **)to = arg_device(name, text); break;
	case OPTION_CPUS: arg_cpus(name, text, to); break;
	case OPTION_OTHER: o->take(o, name, text, to); break;
	case OPTION_PORT: arg_int(name, text, min, max); /* fallthrough */
	case OPTION_TEXT: *(const char **)to = text; break;
	case OPTION_HELP: print_help(u); return false;
	case OPTION_VERSION: report("%s %s\n", u->program, VERSION); return false;
	}
	return true;
}

/* Makes of the table what getopt_long(3) reads. */
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

int options_read(const struct usage *u, int argc, char **argv, void *to)
{
	char letters[2 * OPTIONS_MAX] = "+:", *order = u->command ? letters : letters + 1;
	bool given[OPTIONS_MAX] = {false};
	struct option longs[OPTIONS_MAX];
	const struct option_row *o;
	int c;

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
		else if (!take_option(u, o, optarg, (char *)to + o->at))
			exit(EXIT_SUCCESS);
		else
			given[o - u->rows] = true;
	}
	check_given(u, given);
	return optind;
}
