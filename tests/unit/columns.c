#include "lib/compare/columns.h"

#include "lib/send/trials.h"
#include "tests/unit/unit.h"

/* A run of two ends on one host, whose load one of them had measured. */
static void test_ends(void)
{
	static const struct option_row row = {.letters = "", .name = "columns"};
	static struct columns c = {.kind = &trials_kind};
	struct figures sent = figures_of("bytes=1 seconds=1");
	struct figures received = figures_of("bytes=2 seconds=1 load=0.2 cpus=1");
	struct figures host = figures_of("bytes=3 seconds=1 load=0.3 cpus=1");
	const struct plan_result res = {{&sent, &received}, {&host, NULL}};
	char keys[] = "bytes,remote_bytes,load_percent,remote_load_percent";
	struct plan p;

	columns_take(&row, keys, &c);
	plan_open(&p, &trials_kind, 1, 1);
	plan_add(&p, 0, &res);
	capture(STDOUT_FILENO);
	columns_print(&c, &p, 0, &res);
	is(captured(), "bytes\tremote_bytes\tload_percent\tremote_load_percent\n1\t2\t30\t20\n",
	   "a figure is that of its end, and a load of this host that of the end which measured it");
	plan_close(&p);
}

TESTS(test_ends)
