#include "lib/load/cpus.h"

#include "tests/unit/unit.h"

static void test_lists(void)
{
	const char *same = "0|0-3|1,3|0-1,4-5,7|8191", *list;
	const char *bad =
		"|,|,0|0,,|0,,1|-|1-|-1|2-1|a|0 1|0-0-0"      /* these are no lists */
		"|8192|0-8192|0-8191,0|99999999999999999999"; /* CPUs that there cannot be */
	struct cpus c;
	char text[64];

	while ((list = next_of(&same)) != NULL) {
		bool parsed = parse_cpus(list, &c) == NULL;

		cpus_format(&c, text, sizeof(text));
		ok(parsed && strcmp(text, list) == 0,
		   "the CPU list '%s' is the same when it is read and written", list);
	}
	ok(parse_cpus("3,1,1", &c) == NULL && c.n == 3 && c.id[0] == 3 && c.id[1] == 1 &&
		   c.id[2] == 1,
	   "a CPU list keeps its order and repeats");
	ok(parse_cpus("0-8191", &c) == NULL && c.n == CPUS_MAX,
	   "a CPU list may have as many CPUs as there can be");
	ok(parse_cpus(" 3 , 1-2,", &c) == NULL && c.n == 3 && c.id[0] == 3 && c.id[2] == 2,
	   "a CPU list may have blanks, and a comma at its end");
	while ((list = next_of(&bad)) != NULL) {
		c.n = -7;
		ok(parse_cpus(list, &c) != NULL && c.n == -7,
		   "parse_cpus: '%s' is rejected and stores nothing", list);
	}
}

/* With simultaneous multithreading off, CPUs are numbered 0, 2, 4, ... */
static void test_long_lists(void)
{
	static struct cpus c, again;
	static char text[CPU_LIST_MAX];
	int i;

	for (c.n = 930; c.n <= CPUS_MAX / 2; c.n = c.n == 930 ? 931 : c.n + 3165) {
		for (i = 0; i < c.n; i++)
			c.id[i] = 2 * i;
		ok(cpus_format(&c, text, sizeof(text)) && parse_cpus(text, &again) == NULL &&
			   again.n == c.n &&
			   memcmp(again.id, c.id, (size_t)c.n * sizeof(c.id[0])) == 0,
		   "every second of %d CPUs is the same when it is written and read", 2 * c.n);
		ok(!cpus_format(&c, text, strlen(text)) && text[strlen(text)] == '\0',
		   "a list of %d CPUs that lacks room for its last byte is reported", c.n);
	}
}

static void test_cpu_of(void)
{
	const struct cpus none = {.n = 0}, two = {.n = 2, .id = {5, 3}};

	ok(cpu_of(&none, 0) == -1, "an empty list has no CPU");
	ok(cpu_of(&two, 0) == 5 && cpu_of(&two, 1) == 3 && cpu_of(&two, 2) == 5 &&
		   cpu_of(&two, 7) == 3,
	   "the CPUs of a list repeat behind its end");
}

static void soak_too_many(void *arg)
{
	static const struct cpus none;

	cpus_to_soak(CPUS_MAX, &none, arg);
}

static void soak_list(void *arg)
{
	static struct cpus c;

	cpus_to_soak(0, arg, &c);
}

static void test_machine(void)
{
	static struct cpus online, c, list;

	cpus_online(&online);
	ok(online.n >= 1 && online.n == (int)sysconf(_SC_NPROCESSORS_ONLN),
	   "cpus_online has as many CPUs as sysconf(3)");
	cpus_to_soak(0, &list, &c);
	ok(c.n == online.n, "cpus_to_soak: 0 stands for all CPUs");
	cpus_to_soak(1, &list, &c);
	ok(c.n == 1 && c.id[0] == online.id[0], "cpus_to_soak: 1 stands for the first CPU");
	ok(died(soak_too_many, &c) == EXIT_USAGE &&
		   strstr(printed, "-N, --cpus: 8192 is more than the ") != NULL,
	   "cpus_to_soak: more CPUs than there are is a usage error");
	list = (struct cpus){2, {online.id[online.n - 1], online.id[0]}};
	cpus_to_soak(0, &list, &c);
	ok(c.n == (online.n > 1 ? 2 : 1) && c.id[0] == online.id[0] &&
		   c.id[c.n - 1] == online.id[online.n - 1],
	   "cpus_to_soak: a list is soaked once each, ascending");
	list.id[1] = CPUS_MAX - 1;
	ok(died(soak_list, &list) == EXIT_USAGE &&
		   strstr(printed, "--on-cpus: CPU 8191 is not online") != NULL,
	   "cpus_to_soak: a CPU that is not online is a usage error");
}

int main(void)
{
	test_lists();
	test_long_lists();
	test_cpu_of();
	test_machine();
	return done();
}
