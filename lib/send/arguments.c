#include "lib/send/arguments.h"

#include "common.h"
#include "lib/net/wire.h"
#include "lib/send/sender.h"

#define STREAMS_MAX 1024

/* Of a list each value is a run, and a value that is given twice would make two rows of one name. */
static _Noreturn void reject_repeated(const char *opt, const char *value)
{
	usage_error("%s: '%s' is given twice: -r, --runs repeats all runs", opt, value);
}

static void list_add(const char *opt, const char *text, uint64_t value, struct sizes *list)
{
	int i;

	for (i = 0; i < list->n; i++)
		if (list->size[i] == value)
			reject_repeated(opt, text);
	if (list->n == SIZES_MAX)
		usage_error("%s: more than %d values", opt, SIZES_MAX);
	list->size[list->n++] = value;
}

void arg_chunks(const char *opt, const char *s, struct sizes *list)
{
	char *rest = strdupa(s), *one;

	list->n = 0;
	while ((one = list_next(&rest)) != NULL)
		list_add(opt, one, arg_size(opt, one, 1, 1u << 30), list);
}

void arg_streams(const char *opt, const char *s, struct sizes *list)
{
	char *rest = strdupa(s), *one;

	list->n = 0;
	while ((one = list_next(&rest)) != NULL)
		list_add(opt, one, (uint64_t)arg_int(opt, one, 1, STREAMS_MAX), list);
}

void arg_methods(const char *opt, const char *s, struct compare_options *compare)
{
	char *rest = strdupa(s), *one;
	const struct send_method *m;
	int i;

	for (compare->n_methods = 0; (one = list_next(&rest)) != NULL; compare->n_methods++) {
		m = method_named(one);
		for (i = 0; i < compare->n_methods; i++)
			if (compare->method[i] == m)
				reject_repeated(opt, one);
		if (compare->n_methods == METHODS_MAX)
			usage_error("%s: more than %d methods", opt, METHODS_MAX);
		compare->method[compare->n_methods] = m;
	}
}

void arg_requests(const char *opt, const char *s, struct sizes *list)
{
	char *rest = strdupa(s), *one;

	for (list->n = 0; (one = list_next(&rest)) != NULL; list->n++) {
		if (list->n == SIZES_MAX)
			usage_error("%s: more than %d sizes", opt, SIZES_MAX);
		list->size[list->n] = arg_size(opt, one, 0, UINT32_MAX);
	}
}

double arg_time(const char *opt, const char *s)
{
	double seconds;

	if (parse_seconds(s, &seconds) == NULL && seconds <= 0)
		usage_error("%s: '%s' sends nothing: to send until Ctrl-C give a long time, "
			    "such as 1000h",
			    opt, s);
	return arg_seconds(opt, s, 0.001, 1e9);
}

uint32_t arg_loops(const char *opt, const char *s)
{
	const size_t digits = strspn(s, "0123456789");
	uint64_t bytes;

	if (s[digits] != '\0' && parse_size(s, &bytes) == NULL)
		usage_error("%s: '%s' is not a whole number: zcc sends all files N times, or with "
			    "-t for a time",
			    opt, s);
	return (uint32_t)arg_int(opt, s, 1, WIRE_FOREVER - 1);
}

bool arg_content(const char *opt, const char *s)
{
	if (strcmp(s, "zeros") != 0 && strcmp(s, "random") != 0)
		usage_error("%s: '%s' is neither random nor zeros", opt, s);
	return strcmp(s, "zeros") == 0;
}

double arg_percent(const char *opt, const char *s, double max)
{
	char *text = strdupa(s);
	const size_t n = strlen(text);
	double percent;

	if (n > 1 && text[n - 1] == '%')
		text[n - 1] = '\0';
	if (parse_decimal(text, &percent) != NULL || percent <= 0 || percent > max)
		usage_error("%s: '%s' is not a percentage above 0, up to %g%%", opt, s, max);
	return percent / 100;
}

int arg_first_cpus(const char *opt, const char *s)
{
	if (s[0] == '-')
		usage_error("%s: '%s' is not a whole number: for TCP_NODELAY use --nodelay", opt,
			    s);
	return (int)arg_int(opt, s, 1, CPUS_MAX);
}
