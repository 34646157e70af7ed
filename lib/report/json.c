#include "lib/report/json.h"

/* The length of the UTF-8 sequence at s, 0 if it is none: RFC 3629. */
static size_t utf8_length(const unsigned char *s)
{
	/* A code point below the least one of a sequence's length is overlong. */
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t c = n == 1 ? s[0] : s[0] & 0x7fu >> n;
	size_t i;

	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3fu);
	}
	if ((s[0] >= 0x80 && s[0] < 0xc0) || s[0] > 0xf7 || (c >= 0xd800 && c < 0xe000))
		return 0; /* a byte that begins no sequence, or a surrogate */
	return c >= least[n] && c <= 0x10ffff ? n : 0;
}

static void json_text(struct json *j, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n;

	putc('"', j->f);
	for (; *s != '\0'; s += n > 0 ? n : 1) {
		n = utf8_length(s);
		if (n == 0) /* of a file name, which may have any bytes */
			fputs("\\ufffd", j->f);
		else if (*s < ' ' || *s == '"' || *s == '\\' || *s == 0x7f)
			fprintf(j->f, "\\u%04x", *s);
		else
			fwrite(s, 1, n, j->f);
	}
	putc('"', j->f);
}

static void json_key(struct json *j, const char *key)
{
	if (j->comma)
		putc(',', j->f);
	j->comma = true;
	if (key != NULL) {
		json_text(j, key);
		putc(':', j->f);
	}
}

void json_open(struct json *j, const char *key, char bracket)
{
	json_key(j, key);
	putc(bracket, j->f);
	j->comma = false;
	j->closing[j->depth++] = bracket == '{' ? '}' : ']';
}

void json_close(struct json *j, char bracket)
{
	putc(bracket, j->f);
	j->comma = true;
	j->depth--;
}

void json_report_open_to(struct json *j, FILE *f)
{
	*j = (struct json){.f = f};
	json_open(j, NULL, '{');
	json_count(j, "schema", JSON_SCHEMA);
}

void json_fail(struct json *j, const char *why)
{
	if (j->f == NULL || j->depth == 0)
		json_report_open(j);
	while (j->depth > 1)
		json_close(j, j->closing[j->depth - 1]);
	json_string(j, "error", why);
	json_close(j, '}');
	putc('\n', j->f);
	stdout_flush();
	j->f = NULL;
}

void json_number(struct json *j, const char *key, double value)
{
	if (!isfinite(value))
		return;
	json_key(j, key);
	fprintf(j->f, "%.12g", value);
}

void json_count(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	fprintf(j->f, "%llu", (unsigned long long)value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	fputs(value ? "true" : "false", j->f);
}

void json_string(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	json_text(j, value);
}

void json_report_close(struct json *j, const char *error)
{
	if (error != NULL)
		json_string(j, "error", error);
	json_close(j, '}');
	report("\n");
	j->f = NULL;
}
