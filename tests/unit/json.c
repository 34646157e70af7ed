#include "lib/report/json.h"

#include "tests/unit/unit.h"

static char *printed;
static size_t printed_len;

/* A writer into `printed`. */
static struct json writer(void)
{
	return (struct json){.f = open_memstream(&printed, &printed_len)};
}

/* Ends the writer, and compares what it wrote. */
static void written(struct json *j, const char *want, const char *title)
{
	fclose(j->f);
	is(printed, want, "%s", title);
	free(printed);
}

static void test_strings(void)
{
	static const struct {
		const char *text, *json, *title;
	} cases[] = {
		{"", "\"\"", "an empty string"},
		{"zcc", "\"zcc\"", "plain text"},
		{"a \"b\" \\ c", "\"a \\u0022b\\u0022 \\u005c c\"", "quotes and backslashes"},
		{"\n\t\001\037\177 ~", "\"\\u000a\\u0009\\u0001\\u001f\\u007f ~\"",
		 "control characters"},
		{"a/b'", "\"a/b'\"", "a slash and an apostrophe"},
		{"\302\200\337\277", "\"\302\200\337\277\"", "UTF-8 of 2 bytes, first and last"},
		{"\340\240\200\355\237\277\356\200\200\357\277\277",
		 "\"\340\240\200\355\237\277\356\200\200\357\277\277\"",
		 "UTF-8 of 3 bytes, first and last, and beside the surrogates"},
		{"\360\220\200\200\364\217\277\277", "\"\360\220\200\200\364\217\277\277\"",
		 "UTF-8 of 4 bytes, first and last"},
		/* What is none becomes U+FFFD, a byte at a time, and what follows it is kept. */
		{"\200a", "\"\\ufffda\"", "a byte that continues nothing"},
		{"a\377", "\"a\\ufffd\"", "the byte 0xff"},
		{"\303", "\"\\ufffd\"", "a sequence of 2 bytes without its end"},
		{"\303\"", "\"\\ufffd\\u0022\"", "a sequence of 2 bytes that a quote ends"},
		{"\342\202", "\"\\ufffd\\ufffd\"", "a sequence of 3 bytes without its end"},
		{"\342\202x", "\"\\ufffd\\ufffdx\"", "a sequence of 3 bytes that a letter ends"},
		{"\360\237\230", "\"\\ufffd\\ufffd\\ufffd\"",
		 "a sequence of 4 bytes without its end"},
		{"\300\257", "\"\\ufffd\\ufffd\"", "an overlong sequence of 2 bytes"},
		{"\340\237\277", "\"\\ufffd\\ufffd\\ufffd\"", "an overlong sequence of 3 bytes"},
		{"\360\217\277\277", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"",
		 "an overlong sequence of 4 bytes"},
		{"\355\240\200", "\"\\ufffd\\ufffd\\ufffd\"", "a surrogate"},
		{"\364\220\200\200", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"", "U+110000"},
		{"\365\200\200\200", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"", "beyond U+13FFFF"},
	};
	struct json j;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		j = writer();
		json_string(&j, NULL, cases[i].text);
		written(&j, cases[i].json, cases[i].title);
	}
	j = writer();
	json_open(&j, NULL, '{');
	json_string(&j, "a\"b", "c");
	json_close(&j, '}');
	written(&j, "{\"a\\u0022b\":\"c\"}", "a key is escaped as a string is");
}

static void test_structure(void)
{
	struct json j = writer();

	json_open(&j, NULL, '{');
	json_open(&j, "empty", '{');
	json_close(&j, '}');
	json_open(&j, "list", '[');
	json_count(&j, NULL, 0);
	json_count(&j, NULL, UINT64_MAX);
	json_open(&j, NULL, '[');
	json_close(&j, ']');
	json_close(&j, ']');
	json_bool(&j, "yes", true);
	json_bool(&j, "no", false);
	json_close(&j, '}');
	ok(j.depth == 0, "after the last bracket nothing is open");
	written(&j, "{\"empty\":{},\"list\":[0,18446744073709551615,[]],\"yes\":true,\"no\":false}",
		"objects and arrays have commas between their members");
}

static void test_numbers(void)
{
	struct json j = writer();

	json_open(&j, NULL, '{');
	json_number(&j, "nan", NAN);
	json_number(&j, "a", 0.25);
	json_number(&j, "inf", INFINITY);
	json_number(&j, "minus_inf", -INFINITY);
	json_number(&j, "b", -3);
	json_number(&j, "nan", NAN);
	json_close(&j, '}');
	written(&j, "{\"a\":0.25,\"b\":-3}",
		"numbers that are not known are omitted, and so are their commas");
	j = writer();
	json_number(&j, NULL, 1700000000.123);
	written(&j, "1700000000.12", "a number has 12 digits");
}

static void test_report(void)
{
	struct json j = writer();
	FILE *f = j.f;

	json_report_open_to(&j, f);
	json_open(&j, "start", '{');
	json_open(&j, "list", '[');
	json_count(&j, NULL, 7);
	json_fail(&j, "a \"reason\"");
	ok(j.f == NULL, "a report that failed is closed");
	j.f = f;
	written(&j,
		"{\"schema\":1,\"start\":{\"list\":[7]},\"error\":\"a \\u0022reason\\u0022\"}\n",
		"a report that fails closes all brackets and ends with its error");
}

int main(void)
{
	test_strings();
	test_structure();
	test_numbers();
	test_report();
	return done();
}
