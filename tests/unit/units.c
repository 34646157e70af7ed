#include "lib/report/units.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

/* Numbers as text, a line for each function. */
static void test_numbers(void)
{
	static const double share[] = {0.5, -0.01, -0.0004, -0.0005, NAN},
			    number[] = {0,    999.6, 5071589, -123456, 123456789012345678.0,
					1e18, NAN};
	size_t i;

	capture(STDOUT_FILENO);
	for (i = 0; i < LENGTH(share); i++)
		report("%.1f ", percent(share[i]));
	for (i = 0; i < LENGTH(number); i++)
		report("%s%s", i > 0 ? " " : "\n", grouped(number[i]));
	report("\n%s ", decimal(1.25, 1));
	report("%s ", load_text(0.6123, 0.004, UNSAFE_STEAL));
	report("%s ", load_text(-0.0001, NAN, 0));
	report("%s ", cost_text(0.56, 0.002, 0));
	report("%s\n", load_text(1e300, 1e300, UNSAFE_STEAL));
	expect(captured(), "numbers: no -0.0, commas, marks, dashes for the unknown");
	is(load_text(0.00814, 0.0002, 0), "0.81% +-0.02%",
	   "a load of many CPUs: an interval of less than a tenth has its digits");
	is(load_text(0.3, 0, 0), "30.0% +-0.0%", "and one of nothing has the usual ones");
}

/* What no host has measured, one CPU, and bits at a limit of their unit. */
static void test_rates(void)
{
	struct figures f = figures_of("bytes=0 seconds=0.5 load=100 cpus=1 uncertainty=100");

	capture(STDOUT_FILENO);
	report("%s [%s]\n", throughput_text(&f), load_format(&f));
	report("%s %s\n", bit_rate_text(999.994e6), bit_rate_text(1e9));
	expect(captured(), "rates of nothing, and of bits in Mbit/s or Gbit/s");
}

/* Items on lines of 11 columns, and of 10. */
static void test_wraps(void)
{
	struct wrap w;
	int width;

	capture(STDOUT_FILENO);
	for (width = 11; width >= 10; width--) {
		w = (struct wrap){.width = width, .indent = "  "};
		wrap_add(&w, "", "12345");
		wrap_add(&w, ", ", "8\303\2440");
		wrap_add(&w, ", ", "1");
		wrap_add(&w, ", ", "wider than the line");
		report("\n");
	}
	expect(captured(), "a line breaks before an item too wide, and ends with the comma");
}

TESTS(test_numbers, test_rates, test_wraps)
