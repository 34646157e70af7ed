#include "lib/send/arguments.h"

#include "common.h"
#include "lib/net/wire.h"
#include "lib/send/methods.h"

#define STREAMS_MAX 1024

void arg_sizes(const char *opt, const char *s, uint64_t min, uint64_t max, struct sizes *list)
{
	char *rest = strdupa(s), *one;

	for (list->n = 0; (one = strsep(&rest, ",")) != NULL; list->n++) {
		if (list->n == SIZES_MAX)
			usage_error("%s: more than %d sizes", opt, SIZES_MAX);
		list->size[list->n] = arg_size(opt, one, min, max);
	}
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

void arg_streams(const char *opt, const char *s, struct sizes *list)
{
	char *rest = strdupa(s), *one;

	for (list->n = 0; (one = strsep(&rest, ",")) != NULL; list->n++) {
		if (list->n == SIZES_MAX)
			usage_error("%s: more than %d numbers", opt, SIZES_MAX);
		list->size[list->n] = (uint64_t)arg_int(opt, one, 1, STREAMS_MAX);
	}
}

void arg_methods(const char *opt, const char *s, struct compare_options *compare)
{
	char *rest = strdupa(s), *one;

	for (compare->n_methods = 0; (one = strsep(&rest, ",")) != NULL; compare->n_methods++) {
		if (compare->n_methods == METHODS_MAX)
			usage_error("%s: more than %d methods", opt, METHODS_MAX);
		compare->method[compare->n_methods] = method_named(one);
	}
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
	if (parse_seconds(text, &percent) != NULL || percent <= 0 || percent > max)
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
