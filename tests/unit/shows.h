/*
 * shows.h: whether a text shows the values of a report's JSON, by a pattern whose numbers are expressions of its members.
 *
 *	(print a report as JSON)
 *	json_captured();
 *	(print it as text)
 *	shows(captured(), "  seconds  {end.sum_sent.seconds}\n", "a report of text has the seconds of JSON");
 */
#pragma once

#include <ctype.h>

#include "tests/unit/unit.h"

/*
 * JSON.
 */

static char json[sizeof(printed)]; /* the report at hand */

/* Keeps what was printed from the first `{` on. */
static void json_captured(void)
{
	const char *at = strchr(captured(), '{');

	strcpy(json, at != NULL ? at : "{}");
}

static const char *behind(const char *value)
{
	bool is_quoted = false;
	int depth = 0;

	for (; *value != '\0'; value++) {
		is_quoted ^= *value == '"';
		if (is_quoted)
			continue;
		if (depth == 0 && strchr(",]}", *value) != NULL)
			break;
		depth += (strchr("[{", *value) != NULL) - (strchr("]}", *value) != NULL);
	}
	return value;
}

/* The value of a member or element of an object or array, by its key or index of n characters; NULL if there is none. */
static const char *member_of(const char *object, const char *key, size_t n)
{
	const bool has_keys = *object == '{';
	const char *at = object + 1, *value;
	size_t i, length;

	for (i = 0; (has_keys || *object == '[') && strchr("]}", *at) == NULL; i++) {
		length = has_keys ? strcspn(at + 1, "\"") : 0;
		value = at + (has_keys ? length + 3 : 0);
		if (has_keys ? length == n && strncmp(at + 1, key, n) == 0
			     : isdigit(*key) && i == strtoul(key, NULL, 10))
			return value;
		at = behind(value);
		at += *at == ',';
	}
	return NULL;
}

/* The value at a path, as in `end.streams.0.sender`. */
static const char *value_at(const char *value, const char *path)
{
	size_t n = strcspn(path, ".");

	for (; (value = member_of(value, path, n)) != NULL && path[n] != '\0';
	     n = strcspn(path, "."))
		path += n + 1;
	return value;
}

/* The value of `100*end.host.cpus/2`: one step after the other, whatever they are; NAN if JSON lacks one of them. */
static double value_of(const char *expression)
{
	double value = 0, next;
	const char *at;
	char word[128], how = '+';
	size_t n;

	for (;; expression += n + 1) {
		n = strcspn(expression, "+-*/");
		snprintf(word, sizeof(word), "%.*s", (int)n, expression);
		at = isdigit(*word) ? word : value_at(json, word);
		next = at != NULL ? strtod(at, NULL) : NAN;
		value = how == '+'   ? value + next
			: how == '-' ? value - next
			: how == '*' ? value * next
				     : value / next;
		if (expression[n] == '\0')
			return value;
		how = expression[n];
	}
}

/*
 * Text.
 */

/* How many characters of a text are this number as it is printed there; -1 if it is another one. */
static int number_in(const char *text, double value)
{
	char digits[64] = "";
	int n = *text == '-', i, places;

	n += (int)strspn(text + n, "0123456789,.");
	while (n > 0 && strchr(",.", text[n - 1]) != NULL)
		n--;
	for (i = 0; i < n; i++)
		if (text[i] != ',')
			string_append(digits, sizeof(digits), "%c", text[i]);
	places = strchr(digits, '.') != NULL ? (int)strlen(strchr(digits, '.')) - 1 : 0;
	return n > 0 && fabs(strtod(digits, NULL) - value) <=
				       0.5 * pow(10, -places) + 1e-9 * fabs(value)
		       ? n
		       : -1;
}

/* How many characters are the text that JSON has there, or the texts of an array with commas between; or -1. */
static int text_in(const char *text, const char *value)
{
	const char *end = behind(value);
	int n = 0;

	for (; value < end; value++)
		if (strchr("[]\"", *value) == NULL && text[n++] != *value)
			return -1;
	return n;
}

/*
 * How many characters of a text are what a pattern has in braces; or -1.  It is an expression, and what follows it unless
 * the text is `-`, as there is no value; or `?PATH`, the mark of what is unsafe there; `=PATH`, that of a ratio that is
 * 1; or `*`, anything up to a bracket.
 */
static int part_in(const char *text, char *part)
{
	const char *unit = strchrnul(part, '|'), *value;
	int n;

	if (*part == '*')
		return (int)strcspn(text, ")");
	if (*part == '?')
		return value_at(json, text_of("%s%sunsafe", part + 1,
					      part[1] != '\0' ? "." : "")) != NULL;
	if (*part == '=')
		return value_of(text_of("%s.low", part + 1)) <= 1 &&
				       value_of(text_of("%s.high", part + 1)) >= 1
			       ? 2
			       : 0;
	part = strndupa(part, (size_t)(unit - part));
	value = value_at(json, part);
	if (value != NULL && strchr("\"[", *value) != NULL)
		return text_in(text, value);
	if (isnan(value_of(part)))
		return *text == '-' ? 1 : -1;
	n = number_in(text, value_of(part));
	unit += *unit == '|';
	return n > 0 && strncmp(text + n, unit, strlen(unit)) == 0 ? n + (int)strlen(unit) : -1;
}

/* Checks that a text is as the pattern says.  A blank of it stands for any blanks and ends of lines. */
static void shows(const char *text, const char *pattern, const char *title)
{
	const char *at = text + strspn(text, " \n"), *p = pattern, *end;
	int n = 0;

	while (*p != '\0' && n >= 0) {
		end = p + 1;
		if (*p == '{') {
			end = strchr(p, '}') + 1;
			n = part_in(at, strndupa(p + 1, (size_t)(end - p - 2)));
		} else if (*p == ' ') {
			n = (int)strspn(at, " \n");
			n = n > 0 ? n : -1;
		} else {
			n = *at == *p ? 1 : -1;
		}
		at += n > 0 ? n : 0;
		p = n < 0 ? p : end;
	}
	at += strspn(at, " \n");
	if (!ok(*p == '\0' && *at == '\0', "%s: its numbers are those of JSON", title)) {
		printf("# at: %.*s\n# not: %.100s\n", (int)strcspn(at, "\n"), at, p);
	}
}
