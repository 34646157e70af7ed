#include "lib/report/receipt.h"

#include <ctype.h>

#define DIGITS  "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"

/* Whether a string has the characters of such a value: a name is that of a version or a release. */
static bool has_characters(enum figure_kind kind, const char *value)
{
	static const char names[] = DIGITS LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ.+-_~:@,/";
	static const char reasons[] = DIGITS LETTERS "_,";
	static const char *const characters[] = {
		[FIGURE_COUNT] = DIGITS,
		[FIGURE_WORD] = LETTERS,
		[FIGURE_NAME] = names,
		[FIGURE_REASONS] = reasons,
	};
	const char *set = characters[kind] != NULL ? characters[kind] : DIGITS "-.";

	return *value != '\0' && value[strspn(value, set)] == '\0';
}

/* The value of a figure; an empty string where it is not known, or no receipt can have it. */
static const char *value_text(const struct figure *row, const struct figures *f,
			      char buf[UNSAFE_STRLEN])
{
	const void *member = figure_member(row, f);
	const double number = figure_value(row, f);

	*buf = '\0';
	switch (row->kind) {
	case FIGURE_WORD:
	case FIGURE_NAME: return has_characters(row->kind, member) ? member : "";
	case FIGURE_REASONS: return limits_format(f->host.unsafe, buf);
	case FIGURE_COUNT:
		snprintf(buf, UNSAFE_STRLEN, "%" PRIu64, *(const uint64_t *)member);
		return buf;
	default:
		if (figure_is_possible(row->kind, number))
			snprintf(buf, UNSAFE_STRLEN, "%.6f", number);
		return buf;
	}
}

size_t receipt_format(const struct figures *f, char *buf)
{
	const struct figure *row;
	char text[UNSAFE_STRLEN];
	const char *value;
	size_t len;

	*buf = '\0';
	for (row = figure_table; row < figure_table + figure_rows; row++) {
		value = row->receipt != NULL ? value_text(row, f, text) : "";
		if (*value != '\0')
			string_append(buf, RECEIPT_MAX, "%s=%s ", row->receipt, value);
	}
	len = strlen(buf);
	buf[len - 1] = '\n';
	return len;
}

/* Stores the value of a key; returns false if the key cannot have it. */
static bool receipt_set(struct figures *f, const struct figure *row, const char *value)
{
	void *member = (char *)f + row->offset;
	char *end;

	if (!has_characters(row->kind, value))
		return false;
	switch (row->kind) {
	case FIGURE_WORD:
	case FIGURE_NAME: return (size_t)snprintf(member, row->size, "%s", value) < row->size;
	case FIGURE_REASONS: return limits_parse(value, member);
	case FIGURE_COUNT:
		errno = 0;
		*(uint64_t *)member = strtoull(value, NULL, 10);
		return errno == 0 && figure_is_possible(row->kind, figure_value(row, f));
	default:
		*(double *)member = strtod(value, &end);
		return *end == '\0' && isdigit((unsigned char)value[value[0] == '-']) &&
		       figure_is_possible(row->kind, figure_value(row, f));
	}
}

/* Reads the string `key=value`.  seen[] has whether the receipt has had the key of each row. */
static bool receipt_pair(struct figures *f, char *pair, bool *seen)
{
	char *value = strchr(pair, '=');
	int i;

	if (value == NULL || value == pair || value[1] == '\0')
		return false;
	*value++ = '\0';
	if (pair[strspn(pair, LETTERS DIGITS "_")] != '\0')
		return false;
	for (i = 0; i < figure_rows; i++)
		if (figure_table[i].receipt != NULL && strcmp(pair, figure_table[i].receipt) == 0)
			break;
	if (i == figure_rows)
		return true;
	if (seen[i])
		return false;
	seen[i] = true;
	return receipt_set(f, &figure_table[i], value);
}

const char *receipt_parse(const char *buf, size_t len, struct figures *f)
{
	char line[RECEIPT_MAX], *rest = line, *pair;
	bool seen[FIGURES_MAX] = {false};
	size_t i;

	figures_init(f);
	if (len == 0 || len > sizeof(line) || buf[len - 1] != '\n')
		return "is not one line";
	for (i = 0; i < len - 1; i++)
		if (buf[i] < ' ' || buf[i] > '~')
			return "has characters that are not text";
	memcpy(line, buf, len);
	line[len - 1] = '\0';
	while ((pair = strsep(&rest, " ")) != NULL)
		if (!receipt_pair(f, pair, seen))
			return "has a bad key=value";
	if (!(seen[0] && seen[1]) && f->refused[0] == '\0')
		return "lacks bytes or seconds";
	if (isnan(f->host.cpus) || f->host.cpus < 1)
		f->host.load = NAN; /* it would be a share of nothing */
	return NULL;
}
