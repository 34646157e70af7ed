#include "lib/load/cpus.h"

#include "tests/unit/unit.h"

static char *cpuinfo; /* the file of a machine; NULL: there is none */

#define fopen(path, mode) (cpuinfo != NULL ? fmemopen(cpuinfo, strlen(cpuinfo), "r") : NULL)
#include "lib/load/cpus.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

static void test_lists(void)
{
	const char *good = "0>0|0-1,4-5,7>0-1,4-5,7|8191>8191|3,1,1>3,1,1| 3 , 1-2,>3,1-2";
	const char *bad =
		"|,|0,,1|-|1-|-1|2-1|a|0 1|0-0-0|8192|0-8192|0-8191,0|99999999999999999999";
	const char *list;
	char read[64], text[64];
	struct cpus c;

	while ((list = next_of(&good)) != NULL) {
		snprintf(read, sizeof(read), "%.*s", (int)strcspn(list, ">"), list);
		c.n = 0;
		ok(parse_cpus(read, &c) == NULL, "the CPU list '%s' is read", read);
		cpus_format(&c, text, sizeof(text));
		is(text, strchr(list, '>') + 1, "a CPU list is written without blanks");
	}
	ok(parse_cpus("0-8191", &c) == NULL && c.n == CPUS_MAX && c.id[8191] == 8191,
	   "a CPU list may have as many CPUs as there can be");
	while ((list = next_of(&bad)) != NULL) {
		c.n = -7;
		ok(parse_cpus(list, &c) != NULL && c.n == -7,
		   "parse_cpus: '%s' is rejected and stores nothing", list);
	}
}

static void test_machine(void)
{
	static struct cpus online, c, list;
	int i;

	i = (int)sysconf(_SC_NPROCESSORS_CONF);
	ok(cpus_are_all(&(struct cpus){.n = i}) && !cpus_are_all(&(struct cpus){.n = i - 1}),
	   "all CPUs are those of the machine, and one less are not");
	ok(cpu_of(&list, 0) == -1, "an empty list has no CPU");
	cpus_online(&online);
	c = cpus_to_soak(0, &list);
	ok(online.n == (int)sysconf(_SC_NPROCESSORS_ONLN) && c.n == online.n,
	   "cpus_to_soak: 0 stands for all CPUs, as many as sysconf(3) has");
	c = cpus_to_soak(1, &list);
	ok(c.n == 1 && c.id[0] == online.id[0], "cpus_to_soak: 1 stands for the first CPU");
	ok(cpus_generation(&online) == cpus_generation(&online) &&
		   cpus_generation(&(struct cpus){1, {0}}) !=
			   cpus_generation(&(struct cpus){.n = 0}),
	   "CPUs that stay have one generation, and a CPU that comes or goes changes it");
	list = (struct cpus){2, {online.id[online.n - 1], online.id[0]}};
	ok(cpu_of(&list, 0) == list.id[0] && cpu_of(&list, 1) == list.id[1] &&
		   cpu_of(&list, 2) == list.id[0],
	   "the CPUs of a list repeat behind its end");
	c = cpus_to_soak(0, &list);
	ok(c.n == (online.n > 1 ? 2 : 1) && c.id[0] == online.id[0] &&
		   c.id[c.n - 1] == online.id[online.n - 1],
	   "cpus_to_soak: a list is soaked once each, ascending");
}

/* Places in a list of three CPUs for one that is not online; lists that are tried begin at 3. */
static void use_absent(void *place)
{
	const int i = atoi(place);
	struct cpus list = {3, {0, 0, 0}};

	list.id[i % 3] = CPUS_MAX - 1;
	if (i < 3)
		cpus_to_soak(0, &list);
	cpus_try_or_die(&list);
}

static void test_absent(void)
{
	expect_deaths(use_absent, "0|1|2|3|4|5",
		      "a CPU that is not online is an error wherever it stands in a list");
}

static void test_binding(void)
{
	static struct cpus online;
	cpu_mask before, after;

	cpus_online(&online);
	sched_getaffinity(0, sizeof(before), before);
	cpus_try_or_die(&(struct cpus){.n = 0});
	sched_getaffinity(0, sizeof(after), after);
	ok(memcmp(before, after, sizeof(before)) == 0, "no list leaves a thread where it may run");
	cpus_try_or_die(&online);
	sched_getaffinity(0, sizeof(after), after);
	ok(CPU_COUNT_S(sizeof(after), after) == 1 && sched_getcpu() == online.id[0],
	   "a thread is bound to one CPU, after a trial to the first");
	sched_setaffinity(0, sizeof(before), before);
}

static void test_model(void)
{
	static char two[] = "processor\t: 0\nmodel name\t: A \033B\nmodel name\t: C\n",
		    none[] = "processor\t: 0\n";
	char *const files[] = {two, none, NULL};
	char model[64];
	int i;

	for (i = 0; i < 3; i++) {
		cpuinfo = files[i];
		cpu_model(model, sizeof(model));
		is(model, i == 0 ? "A ?B" : "",
		   "the model is that of the first CPU, and can be printed: %d", i);
	}
}

TESTS(test_lists, test_machine, test_absent, test_binding, test_model)
