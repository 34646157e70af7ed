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

static void test_text(void)
{
	char out[4096];

	stdout_of(print_text, NULL, out, sizeof(out));
	is(out,
	   "step                            by        measured       expected       verdict\n"
	   "zero     mean                   soaking   0.001 CPUs     0.000 +-0.020  pass\n"
	   "yield    a busy thread keeps              90.0 %         >= 97.0        FAIL\n"
	   "stream   soaked / unsoaked                1.21 +-0.03 times                -\n"
	   "         1 of 10 loads unsafe: steal\n"
	   "softirq  load without RPS       idle time -                             not run\n"
	   "         no network namespace\n"
	   "softirq  load with RPS          idle time -                             not run\n"
	   "steal: 1.2% at most in a load\n"
	   "result: 1 passed, 1 failed, 2 could not be run\n",
	   "a line for each verdict, and a reason that two lines share is printed once");
	ok(widest(out) <= 80, "the report fits a terminal");
}

/* Whether the JSON has that text. */
static void has(const char *out, const char *member)
{
	ok(strstr(out, member) != NULL, "JSON has %s", member);
}

static void test_json(void)
{
	char out[8192];

	stdout_of(print_json, NULL, out, sizeof(out));
	ok(strchr(out, '\n') == out + strlen(out) - 1, "JSON is one line");
	has(out, "\"cpus\":2,\"steal_percent\":1.25,\"verdicts\":[{");
	has(out,
	    "{\"step\":\"zero\",\"what\":\"mean\",\"instrument\":\"soaking\",\"unit\":\"CPUs\","
	    "\"measured\":0.0012,\"relation\":\"equal\",\"expected\":0,\"tolerance\":0.02,"
	    "\"verdict\":\"pass\",\"loads\":10,\"unsafe_loads\":0}");
	has(out, "\"measured\":1.214,\"uncertainty\":0.03,\"verdict\":\"figure\",\"loads\":9,"
		 "\"unsafe_loads\":1,\"unsafe\":[\"steal\"]}");
	has(out, "\"verdict\":\"not_run\",\"loads\":0,\"unsafe_loads\":0,"
		 "\"why\":\"no network namespace\"}");
	has(out, "],\"passed\":1,\"failed\":1,\"not_run\":2}");
}

int main(void)
{
	test_text();
	test_json();
	return done();
}
