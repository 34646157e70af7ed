#include "lib/report/verification.h"

#include "tests/unit/unit.h"

static struct evidence evidence = {.cpus = 2, .steal = 0.0125};
static struct verdicts verdicts = {
	.n = 5,
	.count = {1, 1, 1, 2},
	.all = {{.step = "zero",
		 .what = "mean",
		 .instrument = "soaking",
		 .unit = "CPUs",
		 .measured = 0.0012,
		 .half = NAN,
		 .relation = EXPECT_EQUAL,
		 .expected = 0,
		 .tolerance = 0.02,
		 .kind = VERDICT_PASS,
		 .loads = 10},
		{.step = "yield",
		 .what = "a busy thread keeps",
		 .unit = "%",
		 .measured = 90,
		 .half = NAN,
		 .relation = EXPECT_AT_LEAST,
		 .expected = 97,
		 .tolerance = 0,
		 .kind = VERDICT_FAIL},
		{.step = "stream",
		 .what = "soaked / unsoaked",
		 .unit = "times",
		 .measured = 1.214,
		 .half = 0.03,
		 .expected = NAN,
		 .tolerance = NAN,
		 .loads = 9,
		 .unsafe_loads = 1,
		 .unsafe = UNSAFE_STEAL},
		{.step = "softirq",
		 .what = "load without RPS",
		 .instrument = "idle time",
		 .unit = "CPUs",
		 .measured = NAN,
		 .half = NAN,
		 .kind = VERDICT_NOT_RUN,
		 .why = "no network namespace"},
		{.step = "softirq",
		 .what = "load with RPS",
		 .instrument = "idle time",
		 .unit = "CPUs",
		 .measured = NAN,
		 .half = NAN,
		 .kind = VERDICT_NOT_RUN,
		 .why = "no network namespace"}},
};

static void print_text(void *arg)
{
	(void)arg;
	verification_report(&evidence, &verdicts);
}

static void print_json(void *arg)
{
	static struct environment environment;

	(void)arg;
	verification_json(&environment, &evidence, &verdicts);
}

int main(void)
{
	const char *json;

	expect_file("verification", printed_by(print_text, NULL),
		    "a line for each verdict, and a reason that two lines share is printed once");
	ok(widest(printed) <= 80, "the report fits a terminal");
	json = strstr(printed_by(print_json, NULL), "\"cpus\":2");
	expect_file("verification-json", json != NULL ? json : "",
		    "JSON has the verdicts with their figures and reasons, and their numbers");
	ok(strchr(printed, '\n') == printed + strlen(printed) - 1, "JSON is one line");
	return done();
}
