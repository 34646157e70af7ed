#include "lib/report/json.h"

#include "tests/fuzz/fuzz.h"

/*
 * The case is a string that a report has from elsewhere: a file's name, a host's.  What is written is a
 * string of JSON, and what a reader makes of it is the case, with U+FFFD for bytes that are not UTF-8.
 */

/* Writes a string; the caller frees what it returns. */
static char *write_string(const char *s)
{
	FILE *const before = stdout;
	struct json j = {.depth = 0};
	char *text = NULL;
	size_t len;

	stdout = open_memstream(&text, &len);
	if (stdout == NULL)
		err(EXIT_FAILURE, "fuzz");
	json_string(&j, NULL, s);
	fclose(stdout);
	stdout = before;
	return text;
}

/*
 * Reads a string of JSON, which must stand for s, into `read`.  Returns whether every byte of s is
 * there.
 */
static bool read_string(const char *json, const char *s, char *read)
{
	bool complete = true;
	unsigned v;

	holds(*json++ == '"', "a string begins with a quote");
	for (; *json != '"'; s++) {
		holds((unsigned char)*json >= ' ' && *json != 127,
		      "control characters are escaped");
		if (*json != '\\') {
			holds(*json == *s, "a byte that is not escaped is that of the string");
			*read++ = *json++;
			continue;
		}
		holds(sscanf(json, "\\u%4x", &v) == 1, "what is escaped has four digits");
		json += 6;
		holds(v == (unsigned char)*s || (v == 0xfffd && (unsigned char)*s >= 0x80),
		      "what is escaped is the byte of the string, or was not UTF-8");
		read += sprintf(read, v == 0xfffd ? "\xef\xbf\xbd" : "%c", (int)v);
		complete &= v != 0xfffd;
	}
	holds(json[1] == '\0' && *s == '\0', "a string ends with a quote, where the case ends");
	*read = '\0';
	return complete;
}

static bool run_json(const char *s, size_t len)
{
	char *json = write_string(s), *again, *read = malloc(3 * len + 1);
	bool complete;

	if (read == NULL)
		err(EXIT_FAILURE, "fuzz");
	complete = read_string(json, s, read);
	again = write_string(read);
	holds(strstr(again, "\\ufffd") == NULL, "what is read is UTF-8");
	free(again);
	free(read);
	free(json);
	return complete;
}

/* A code point of a length that is chosen first. */
static void put_code_point(struct text *t)
{
	static const uint32_t least[] = {1, 0x80, 0x800, 0x10000, 0x110000};
	const size_t n = below(4);
	size_t i;
	uint32_t c = least[n] + (uint32_t)below(least[n + 1] - least[n]);

	if (c < 0x80) {
		put_char(t, (char)c);
		return;
	}
	put_char(t, (char)((0xff00 >> (n + 1) & 0xff) | c >> 6 * n));
	for (i = n; i > 0; i--)
		put_char(t, (char)(0x80 | (c >> 6 * (i - 1) & 0x3f)));
}

static void make_json(struct text *t)
{
	size_t n = below(12);

	while (n-- > 0)
		put_code_point(t);
}

const struct fuzz_target json_target = {
	"json", true, run_json, make_json,
	"\"|\\|\n|\177|\200|\300\257|\355\240\200|\364\220\200\200|\377|\\ufffd|\xef\xbf\xbd"};
