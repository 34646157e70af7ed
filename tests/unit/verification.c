#include "lib/report/verification.h"

#include "tests/unit/unit.h"

#define NO_NAMESPACE NAN, .kind = VERDICT_NOT_RUN, .why = "no network namespace"

static struct evidence evidence = {.cpus = 2, .steal = 0.0125};
static struct verdicts verdicts = {
	5,
	{1, 1, 1, 2},
	{{"zero", "mean", "soaking", "CPUs", 0.0012, EXPECT_EQUAL, 0, 0.02, VERDICT_PASS,
	  .loads = 10},
	 {"yield", "a busy thread keeps", NULL, "%", 90, EXPECT_AT_LEAST, 97, 0, VERDICT_FAIL,
	  .why = NULL},
	 {"price", "slowing by soaking", NULL, "%", 1.214, EXPECT_NOTHING, NAN, NAN, VERDICT_FIGURE,
	  .loads = 9, .unsafe_loads = 1, .unsafe = UNSAFE_STEAL},
	 {"softirq", "load without RPS", "idle time", "CPUs", NO_NAMESPACE},
	 {"softirq", "load with RPS", "idle time", "CPUs", NO_NAMESPACE}},
};

int main(void)
{
	static struct environment environment;

	capture(STDOUT_FILENO);
	verification_report(&evidence, &verdicts);
	expect(captured(),
	       "a line for each verdict, and a reason that two lines share is printed once");
	capture(STDOUT_FILENO);
	verification_json(&environment, &evidence, &verdicts);
	expect(strstr(captured(), "\"cpus\":2"),
	       "JSON has the verdicts with their figures and reasons, and their numbers");
	return done();
}
