/* The part itself, for what it has of its own. */
#include "lib/load/baseline.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "lib/load/keeper.h"
#include "tests/unit/unit.h"

static void test_merge(void)
{
	struct baseline a[2] = {{.tasks = 0.01, .spin = 0.9, .spin_sd = 0.02, .speed = 100},
				{.tasks = 0.02, .spin = 0.8, .speed = 50}};
	struct baseline b[2] = {{.tasks = 0.03, .spin = 0.8, .spin_sd = 0.01, .speed = 80},
				{.tasks = 0.02, .tasks_sd = 0.005, .spin = 0.8, .speed = 50}};
	struct calibration c = {.cpus.n = 2,
				.cpu = a,
				.windows = 4,
				.all = {.tasks = 0.02, .tasks_sd = 0.01},
				.others = 0.015};
	const struct calibration other = {
		.cpus.n = 2, .cpu = b, .windows = 12, .all.tasks = 0.03, .others = 0.025};
	const double drift = baseline_merge(&c, &other);

	/* Less time to spin and more for tasks are load that the first baseline had not. */
	ok(near(drift, 0.06) && near(a[0].drift, 0.12) && near(a[1].drift, 0),
	   "two baselines differ by 6 points of load, and one CPU by 12");
	ok(near(a[0].tasks, 0.02) && near(a[0].spin, 0.85) && near(a[0].speed, 90),
	   "the mean of two baselines is between both");
	ok(near(a[0].spin_sd, 0.05) && near(a[0].tasks_sd, 0.01) && near(a[0].speed_sd, 10) &&
		   near(a[1].tasks_sd, 0.005) && a[1].spin_sd == 0,
	   "a standard deviation is the largest of both and of half of the difference");
	ok(near(c.others, 0.025) && near(c.windows, 12) && near(c.all.spin_sd, 0.03) &&
		   near(c.all.tasks_sd, hypot(0.01 / sqrt(2), 0.005)),
	   "a mean has the share of others of the busier; its windows deviate from their mean, and the baselines from it");
}

/* The soakers of two CPUs, whose counts stand still.  No gap is open. */
static struct soaker *two_soakers(void)
{
	struct soaker *s = alloc_or_die(1, sizeof(*s) + 2 * sizeof(s->cpu[0]), "soaker");

	s->n = 2;
	s->keeper = 1; /* no child of this process */
	s->sees_host = true;
	s->cpu[0] = s->cpu[1] = (struct soak_cpu){.last_ns = 1,
						  .gap_min = UINT64_MAX / 2,
						  .gap_ns = 2000000000,
						  .turns = 900,
						  .dirty_ns = 500000000,
						  .tasks_ns = 3000000000,
						  .host_ns = 4000000000,
						  .switches = 5};
	return s;
}

static void test_sample(void)
{
	struct baseline b[2] = {{.spin = 0.9, .speed = 10}, {.spin = 0.8, .speed = 20}};
	const struct calibration c = {.cpus = {2, {0, 1}}, .cpu = b};
	struct soaker *s = two_soakers();
	const struct instrument in = {&by_soaking, .soaker = s};
	struct load_sample sum, each[2];

	in.kind->sample(&in, &c, &sum, each);
	ok(near(each[1].time, (double)each[1].ns / 1e9) &&
		   near(each[1].spin, (each[1].time - 2.5) / 0.8) &&
		   near(each[1].work, 900 / (0.8 * 20)),
	   "by its baseline a soaker spun while it had no gap and no wait for memory, and turned");
	ok(each[0].tasks == 3 && each[0].host == 4 && each[0].switches == 5,
	   "counts of a soaker are in seconds");
	ok(near(sum.time, each[0].time + each[1].time) &&
		   near(sum.spin, each[0].spin + each[1].spin) &&
		   near(sum.work, each[0].work + each[1].work) && sum.tasks == 6 && sum.host == 8 &&
		   sum.switches == 10 && sum.ns == each[1].ns,
	   "the sample of all CPUs is the sum of theirs");
	s->cpu[0].gap_min = 1000;
	s->sees_host = false;
	in.kind->sample(&in, &c, &sum, each);
	ok(isnan(sum.host) && !isnan(sum.spin),
	   "where a thread's clock also lacks interrupts the host's time is not known by it");
	ok(near(each[0].tasks, each[0].time + 3 - 1e-9) && each[0].spin == 0,
	   "a gap that is open is the time of a task");
	free(s);
}

/*
 * Five rounds of two CPUs that idle: of the first one tasks took half, and its soakers were twice as fast.  From the
 * second CPU the host takes 0.1 s in each window.
 */
static void test_rounds(void)
{
	const double share[] = {0.5, 0.95, 0.93, 0.96, 0.94};
	const int rounds = 5 * CAL_WINDOWS;
	struct windows *w = alloc_or_die(1, sizeof(*w) + 63 * sizeof(w->at[0]), "windows");
	struct calibration c = {.cpus.n = 2};
	struct load_sample at[2] = {{.time = 1, .steal = 7}, {.time = 1, .steal = 9}}, *cpu;

	ok(isinf(baseline_spread(share, 3)) && near(baseline_spread(share, 4), 0.46) &&
		   near(baseline_spread(share, 5), 0.03),
	   "the last four rounds must agree, whatever was before");
	w->cpus = &c.cpus;
	for (w->n = 0; w->n <= rounds; w->n++) {
		const double tasks = w->n < CAL_WINDOWS ? 0.5 : 0.01 * (w->n % 2);

		memcpy(windows_at(w, w->n), at, sizeof(at));
		at[1].steal += 0.1;
		at[1].host += 0.1 * 0.9 * 0.595; /* that its soaker saw */
		for (cpu = at; cpu < at + 2; cpu++) {
			const double left = (cpu == at ? 0.25 : 0.15) - 0.25 * tasks;

			cpu->time += 0.25;
			cpu->tasks += 0.25 * tasks;
			cpu->spin += 0.9 * left;
			cpu->work += 0.9 * left * (w->n < CAL_WINDOWS ? 200 : 100);
		}
	}
	w->n = rounds;
	windows_store(w, CAL_AGREE * CAL_WINDOWS, &c);
	ok(near(c.others, 0.005) && near(c.cpu[0].spin, 0.9) && near(c.cpu[1].speed, 100) &&
		   near(c.total, 2 * 0.995 * 0.9 * 100) && c.windows == 16,
	   "a baseline is that of the rounds that agree, the last");
	ok(near(c.cpu[1].spin, 0.9) && near(c.cpu[0].spin_sd, 0),
	   "what the host took from one CPU is subtracted from the time of that one alone");
	ok(near(c.all.tasks_sd, 0.005 * sqrt(16. / 15)) && near(c.all.spin_sd, 0),
	   "the standard deviations of a baseline are those between its windows");
	ok(baseline_held(&c) < 0, "a baseline in which every CPU spun is whole");
	c.cpu[1].spin = 0;
	ok(baseline_held(&c) == 1, "a CPU that had no time to spin has no baseline");
	free(c.cpu);
	free(w);
}

/* The shares of rounds, in percent, behind a `b` if the round is busy: how many are made. */
static void test_end_of_rounds(void)
{
	static const struct {
		const char *rounds, *title;
		int n;
	} cases[] = {
		{"1234555555", "rounds end when four in a row agree", 8},
		{"1212121212", "rounds that never agree end after ten", 10},
		{"b12b34b51b23b45", "busy rounds that are not in a row do not end them", 10},
		{"1b2b3456", "two busy rounds in a row end them", 3},
		{"5555", "four rounds that agree from the start are enough", 4},
	};
	const char *at;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		struct rounds r = {.n = 0};
		bool is_busy;

		at = cases[i].rounds;
		do {
			is_busy = *at == 'b';
			at += is_busy;
		} while (rounds_add(&r, 0.01 * (*at++ - '0'), is_busy));
		ok(r.n == cases[i].n, "%s", cases[i].title);
	}
}

#define TEXT_OF(macro) #macro
#define TEXT(macro)    TEXT_OF(macro)
#define FORMAT         TEXT(SOAK_FORMAT)
#define SOAKER         "soaker " FORMAT

/* A machine of two CPUs that are not neighbours. */
static const char good[] = "2000\n" SOAKER "\nmachine m 1 x\ncpus 1,4\nall 2 0.250000 0.125000\n"
			   "cpu 1 0.500000 0.200000 0.510000 0.100000 4000.0 1.0\n"
			   "cpu 4 0.000000 0.000000 1.000000 0.000000 1000.0 0.0\n";

static bool parse(const char *text, size_t len, struct calibration *c)
{
	FILE *const f = fmemopen((char *)text, len, "r");
	const char *const why = calibration_read(f, c);

	return fclose(f) == 0 && why == NULL;
}

static void test_good(void)
{
	struct calibration c;
	size_t len, accepted = 0;

	ok(parse(good, strlen(good) - 1, &c) && c.others == 0.25 && c.shared,
	   "a calibration is read even if it lacks its last newline, and has a mean of tasks");
	capture(STDOUT_FILENO);
	calibration_print(stdout, &c);
	is(captured(), good, "a calibration is the same when it is read and written");
	free(c.cpu);
	for (len = 1; len < strlen(good) - strlen("0.0\n"); len++)
		accepted += parse(good, len, &c);
	ok(accepted == 0, "no beginning of a calibration is one");
}

static void test_bad(void)
{
	const char *bad = /* what is put for what */
		"2000>-2000|2000>nan|2000>|1,4>1,5|1,4>1,4,5|1,4>4,1|1,4>x|cpus 1,4\n>|1,4>1,1"
		"|cpu 1 0.5>cpu 1 1.0|cpu 4>cpu 4.5|4000.0>nan|4000.0>inf|4000.0>0|4000>-4000"
		"|4000.0 1.0>4000|1.0\n>1 1\n|1.0\n>inf\n|1.0\n>-1\n|0.500000>nan|0.510000>1.5"
		"|0.510000>0|" SOAKER ">soaker 3|" SOAKER ">" SOAKER "x|" SOAKER ">x " FORMAT
		"|all>later key|0.250000>-1|0.250000>1.1|0.125000>1.1|all 2>all 1|0.125000>0 x";
	char text[512], find[64], *put;
	const char *change, *at;
	struct calibration c;

	while ((change = next_of(&bad)) != NULL) {
		strcpy(find, change);
		put = strchrnul(find, '>');
		*put++ = '\0';
		at = strstr(good, find);
		sprintf(text, "%.*s%s%s", (int)(at - good), good, put, at + strlen(find));
		ok(!parse(text, strlen(text), &c) && c.cpu == NULL,
		   "a calibration with '%s' for '%s' is rejected", put, find);
	}
}

static void find_or_die(void *path)
{
	struct calibration c = {.cpu = NULL};

	cpus_online(&c.cpus);
	calibration_find_or_die(&c, path, false);
}

static void test_fit(void)
{
	static const char *const why[] = {"cannot", "is for other CPUs than these ",
					  "was made on another machine or kernel"};
	static struct baseline b[CPUS_MAX];
	char path[] = "/tmp/zc-50%%-XXXXXX", want[128];
	struct calibration c;
	int i, k;

	close(mkstemp(path));
	for (i = 0; i < 3; i++) {
		c = (struct calibration){.cpu = b, .windows = 2, .cpus = {1, {CPUS_MAX - 1}}};
		if (i != 1)
			cpus_online(&c.cpus);
		for (k = 0; k < c.cpus.n; k++)
			b[k].spin = b[k].speed = 1;
		describe_machine(c.machine, sizeof(c.machine));
		if (i == 2)
			c.machine[0]++;
		file_replace_or_die(path, calibration_print, &c);
		snprintf(want, sizeof(want), ": %s %s", path, why[i]);
		ok((died(find_or_die, path) == EXIT_FAILURE && strstr(printed, want) != NULL) ==
			   (i > 0),
		   "of another machine's or other CPUs' calibration the file is named: %d", i);
	}
	unlink(path);
}

TESTS(test_merge, test_sample, test_rounds, test_end_of_rounds, test_good, test_bad, test_fit)
