/* Stacks, their limits and their file: lib/load/stacks. */
#include "lib/load/stacks.h"

#include "tests/unit/unit.h"

static char path[] = "/tmp/zc-stacks-XXXXXX";

/* Adds stacks of `size` bytes, each once, and one twice; returns how many lines the file then has. */
static int lines_of(int stacks, int size)
{
	struct stacks *s = stacks_open();
	char text[STACK_MAX];
	int i, lines = 0, twice = 0;
	FILE *f;

	for (i = 0; i < stacks; i++) {
		snprintf(text, sizeof(text), "zcc;%0*d", size - 5, i);
		stacks_add(s, text);
		if (i == 7)
			stacks_add(s, text);
	}
	capture(STDERR_FILENO);
	stacks_write_or_die(s, path);
	free(s);
	f = fopen(path, "re");
	while (f != NULL && fgets(text, sizeof(text), f) != NULL) {
		lines++;
		twice += strstr(text, "7 2\n") != NULL;
	}
	if (f != NULL)
		fclose(f);
	return twice == 1 ? lines : -1;
}

int main(void)
{
	struct stacks *s = stacks_open();

	is(stacks_name(s, 7, "a b;c\x1b"), "a_b_c?",
	   "a name has nothing that ends a part of a line");
	is(stacks_name(s, 7, NULL), "a_b_c?", "and is kept");
	is(stacks_name(s, 7 + 1024, "a name of many bytes"), "a_name_of_many_",
	   "one that is too long is cut off");
	is(stacks_name(s, -7, NULL), "[ended]",
	   "a task that ended before it was looked up has none");
	free(s);
	close(mkstemp(path));
	ok(lines_of(1000, 100) == 1000, "each stack has a line with how many samples it has");
	is(captured(), "", "and there is no warning");
	ok(lines_of(50000, 20) == 49152, "there is an end to their number");
	has(captured(), "lacks 848 samples, whose stacks found no room beside 49152 others",
	    "a warning counts what finds no room");
	ok(lines_of(6000, 4096) == 4096, "and to their bytes");
	has(captured(), "lacks 1904 samples", "which has the warning, too");
	unlink(path);
	return done();
}
