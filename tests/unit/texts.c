/* Texts beside a heap that has no room for the N-th growth. */
#include "lib/base/texts.h"

#include <limits.h>

#include "tests/unit/unit.h"

static int left; /* growths until one fails; 0: none does */

static void *grow(void *p, size_t n)
{
	if (left > 0 && --left == 0) {
		left = INT_MAX;
		return NULL;
	}
	return realloc(p, n);
}

#define realloc(p, n) grow(p, n)
#include "lib/base/texts.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

/* Writes 40,000 numbers, whose lengths do not divide a buffer of stdio. */
static char *numbers(size_t *size)
{
	char *text;
	FILE *f = text_open_or_die(&text, size, "numbers");
	long at = 0;
	int i;

	for (i = 0; i < 40000; i++) {
		if (left <= 0 && ftell(f) != at) /* what is lost has no place */
			abort();
		at += fprintf(f, "%d ", i);
	}
	text_close_or_die(f, "numbers");
	return text;
}

static void write_numbers(void *unused)
{
	size_t size;

	free(numbers(&size));
	exit(EXIT_SUCCESS);
}
/* gcc's analyzer takes the child of died() for one that goes on: it does not see through this. */
static void (*volatile write_or_die)(void *unused) = write_numbers;

static void test_texts(void)
{
	int growths, status, i;
	size_t size;
	char *text, *at;
	FILE *f;

	for (growths = 1; growths < 100; growths++) {
		left = growths;
		status = died(write_or_die, NULL);
		if (status == EXIT_SUCCESS)
			break;
		ok(status == EXIT_FAILURE &&
			   strstr(printed, "numbers: Cannot allocate memory") != NULL,
		   "a text that lacks memory for growth %d is an error", growths);
	}
	ok(growths > 3, "a long text grows again and again: %d times", growths - 1);
	left = 0;
	at = text = numbers(&size);
	for (i = 0; i < 40000; i++)
		if (strtol(at, &at, 10) != i)
			break;
	ok(i == 40000 && strcmp(at, " ") == 0 && strlen(text) == size,
	   "a text has all that was written");
	free(text);
	f = text_open_or_die(&text, &size, "nothing");
	text_close_or_die(f, "nothing");
	ok(size == 0 && text[0] == '\0', "a text that nothing was written to is empty");
	free(text);
}

TESTS(test_texts)
