/* Lines that break between items: lib/report/wrap. */
#include "lib/report/wrap.h"

#include "lib/load/limits.h"
#include "tests/unit/unit.h"

static char printed[16384];

static void test_breaks(void)
{
	struct wrap w;

	wrap_init(&w, printed, sizeof(printed), 10, "  ");
	wrap_add(&w, "", "12345");
	wrap_add(&w, ", ", "%d", 890);
	wrap_end(&w);
	is(printed, "12345, 890\n", "items that are just as wide as the line stay on it");
	wrap_init(&w, printed, sizeof(printed), 9, "  ");
	wrap_add(&w, "", "12345");
	wrap_add(&w, ", ", "%d", 890);
	wrap_add(&w, ", ", "1");
	wrap_add(&w, ", ", "wider than the line");
	wrap_end(&w);
	is(printed, "12345\n  890, 1\n  wider than the line\n",
	   "a line breaks before an item that is too wide for it, without the separator");
	wrap_init(&w, printed, 4, 80, "");
	wrap_add(&w, "", "12345");
	wrap_add(&w, ", ", "6");
	wrap_end(&w);
	is(printed, "123", "a text that is too long is cut");
}

/* A machine of 512 CPUs, of which each has a load as wide as can be. */
static void test_many_cpus(void)
{
	struct wrap w;
	char cpu[32];
	int i, n = 0;

	wrap_init(&w, printed, sizeof(printed), WRAP_WIDTH, "  ");
	wrap_add(&w, "", "System load: 100.0%%? +-0.4%%");
	wrap_add(&w, ", ", "slowed -10.0%%");
	for (i = 0; i < 512; i++)
		wrap_add_cpu(&w, ", ", i, 1, UNSAFE_STEAL);
	wrap_end(&w);
	for (i = 0; i < 512; i++) {
		snprintf(cpu, sizeof(cpu), "cpu%d 100.0%%?", i);
		n += strstr(printed, cpu) != NULL;
	}
	ok(n == 512, "the loads of 512 CPUs are all there, with their marks: %d", n);
	ok(widest(printed) <= 80 && widest(printed) > 60,
	   "and no line has more than 80 columns: %zu", widest(printed));
	ok(strstr(printed, "slowed -10.0%, cpu0 100.0%?, cpu1 ") != NULL,
	   "a comma stands between the load, what it is slowed by, and the CPUs");
}

static void print_cpu_away(void *arg)
{
	struct wrap w;

	(void)arg;
	wrap_init(&w, NULL, 0, WRAP_WIDTH, "");
	wrap_add_cpu(&w, "", 3, NAN, 0);
	wrap_add_cpu(&w, ", ", 4, -0.0001, 0);
	wrap_end(&w);
}

int main(void)
{
	test_breaks();
	test_many_cpus();
	stdout_of(print_cpu_away, NULL, printed, sizeof(printed));
	is(printed, "cpu3 -, cpu4 0.0%\n",
	   "without a buffer it prints; a CPU without a load is a dash");
	return done();
}
