#include "lib/report/json.h"

#include "tests/unit/unit.h"

/* Prints a document and a newline. */
#define DOCUMENT(...)                                                                              \
	do {                                                                                       \
		struct json j = {.depth = 0};                                                      \
		__VA_ARGS__;                                                                       \
		report("\n");                                                                      \
	} while (0)

/* Prints an object of JSON and a newline. */
#define OBJECT(...) DOCUMENT(json_open(&j, NULL, '{'), __VA_ARGS__, json_close(&j, '}'))

/* What is no UTF-8 becomes U+FFFD, a byte at a time, and what follows it is kept. */
static void test_strings(void)
{
	const char *list =
		"|a/b' \"c\" \\|\n\t\001\037\177 ~"
		/* sequences of 2, 3 and 4 bytes, first and last, and beside the surrogates */
		"|\302\200\337\277|\340\240\200\355\237\277\356\200\200\357\277\277"
		"|\360\220\200\200\364\217\277\277"
		/* what continues nothing, and sequences without their ends */
		"|\200a|a\377|\303|\303\"|\342\202x|\360\237\230"
		/* overlong sequences, a surrogate, U+110000 and more */
		"|\300\257|\340\237\277|\360\217\277\277|\355\240\200|\364\220\200\200|\365\200\200\200";
	const char *s;

	capture(STDOUT_FILENO);
	while ((s = next_of(&list)) != NULL)
		DOCUMENT(json_string(&j, NULL, s));
	expect(captured(), "strings are escaped, and are UTF-8 whatever they were");
}

static void test_structure(void)
{
	capture(STDOUT_FILENO);
	OBJECT(json_open(&j, "empty", '{'), json_close(&j, '}'), json_open(&j, "list", '['),
	       json_count(&j, NULL, 0), json_count(&j, NULL, UINT64_MAX), json_open(&j, NULL, '['),
	       json_close(&j, ']'), json_close(&j, ']'), json_bool(&j, "yes", true),
	       json_bool(&j, "no", false));
	OBJECT(json_number(&j, "nan", NAN), json_number(&j, "a", 0.25),
	       json_number(&j, "inf", INFINITY), json_number(&j, "b", -3));
	DOCUMENT(json_number(&j, NULL, 1700000000.123));
	DOCUMENT(json_report_open(&j), json_open(&j, "start", '{'), json_open(&j, "list", '['),
		 json_count(&j, NULL, 7), json_fail(&j, "a \"reason\""));
	DOCUMENT(j.stream = true, json_report_open(&j), json_string(&j, "title", "t"),
		 json_open(&j, "start", '{'), json_count(&j, "a", 1), json_open(&j, "b", '['),
		 json_close(&j, ']'), json_close(&j, '}'), json_open(&j, "intervals", '['),
		 json_open(&j, NULL, '{'), json_close(&j, '}'), json_open(&j, NULL, '{'),
		 json_open(&j, "c", '{'), json_fail(&j, "d"));
	expect(captured(),
	       "commas are between members, unknown numbers omitted, brackets closed by an error");
}

TESTS(test_strings, test_structure)
