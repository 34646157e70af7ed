#include "lib/report/units.h"

#include "tests/unit/unit.h"

static void test_shares(void)
{
	char text[16];

	ok(near(percent(0.5), 50) && near(percent(-0.01), -1), "a share in percent");
	ok(!signbit(percent(-0.0004)), "a share of almost nothing is never -0.0");
	snprintf(text, sizeof(text), "%.1f", percent(-0.0005));
	is(text, "-0.1", "a share that is rounded to -0.1 stays below 0");
	ok(isnan(percent(NAN)), "a share that is not known is no percentage");
}

static void test_intervals(void)
{
	char text[FIGURE_STRLEN];

	is(load_text(0.6123, 0.004, UNSAFE_STEAL, text), "61.2%? +-0.4%",
	   "a load has its mark and half of its interval");
	is(load_text(-0.0001, NAN, 0, text), "0.0%", "a load of almost nothing is never -0.0");
	is(load_text(NAN, 0.1, 0, text), "-", "a load that is not known is a dash");
	is(cost_text(0.56, 0.002, 0, text), "0.560 +-0.002", "a cost has no unit");
	is(decimal(1.25, 1, text), "1.2", "a number has its decimals");
	ok(strlen(load_text(1e300, 1e300, UNSAFE_STEAL, text)) < FIGURE_STRLEN,
	   "a load of 300 digits stays in its buffer");
}

static void test_load_text(void)
{
	struct figures f = {.host.load = 0.5,
			    .host.uncertainty = NAN,
			    .host.cpus = 2,
			    .bytes = 1024000,
			    .seconds = 1};
	char text[LOAD_STRLEN];

	is(load_format(&f, true, text), "load 50.0% of 2 CPUs, cost 1000.000 us/KiB",
	   "a load and its cost");
	f.host.cpus = 1.75;
	is(load_format(&f, true, text), "load 50.0% of 1.75 CPUs, cost 875.000 us/KiB",
	   "a load of a time in which a CPU was away");
	f.host.cpus = 2;
	f.host.uncertainty = 0.01;
	f.bytes = 0;
	is(load_format(&f, true, text), "load 50.0% +-1.0% of 2 CPUs",
	   "a load that moved nothing has no cost");
	f.host.unsafe = UNSAFE_STEAL;
	is(load_format(&f, true, text), "load 50.0%? +-1.0% of 2 CPUs",
	   "a load that is unsafe has a question mark");
	f.bytes = 1024000;
	is(load_format(&f, true, text), "load 50.0%? +-1.0% of 2 CPUs, cost 1000.000? us/KiB",
	   "the cost of a load that is unsafe has a question mark, too");
	is(unsafe_mark(0), "", "a load that is safe has no mark");
	f.host.load = NAN;
	is(load_format(&f, true, text), "", "a load that was not measured is omitted");
}

static void test_rate_text(void)
{
	struct figures f = {.host.load = NAN, .bytes = 125000000, .seconds = 0.5};
	char text[RATE_STRLEN];

	is(rate_text(&f, NAN, text), "244141 kbytes/sec (2.000 Gbit/s)", "a rate without a load");
	f.host.load = 0.25;
	f.host.cpus = 4;
	f.host.uncertainty = 0.004;
	is(rate_text(&f, NAN, text),
	   "244141 kbytes/sec (2.000 Gbit/s), load 25.0% +-0.4% of 4 CPUs, cost 4.096 us/KiB",
	   "a rate with its load and cost");
	is(throughput_text(&f, text), "244141 kbytes/sec (2.000 Gbit/s)",
	   "a throughput has no load, even if there is one");
	is(rate_text(&f, 4, text),
	   "244141 kbytes/sec (2.000 Gbit/s), 4.0-4.5 s, load 25.0% +-0.4%, cost 4.096 us/KiB",
	   "an interval has its time, and a load without the CPUs");
	f.host.load = NAN;
	f.seconds = 0.0625;
	is(rate_text(&f, 0.5, text), "1953125 kbytes/sec (16.000 Gbit/s), 0.500-0.562 s",
	   "the time of a short interval is in milliseconds");
	f = (struct figures){.host.load = 1e9,
			     .host.uncertainty = 1e9,
			     .host.cpus = 8192,
			     .bytes = UINT64_MAX,
			     .seconds = 1e-9,
			     .host.unsafe = UNSAFE_STEAL};
	ok(strlen(rate_text(&f, NAN, text)) < RATE_STRLEN - 1,
	   "the longest rate has room in RATE_STRLEN");
	ok(strlen(rate_text(&f, 1e6, text)) < RATE_STRLEN - 1,
	   "the longest interval has room in RATE_STRLEN");
}

static void test_grouped(void)
{
	char text[FIGURE_STRLEN];

	is(grouped(0, text), "0", "0 has one digit");
	is(grouped(999.6, text), "1,000", "a number is rounded, and a thousand has a comma");
	is(grouped(5071589, text), "5,071,589", "each three digits have a comma");
	is(grouped(-123456, text), "-123,456", "no comma stands behind a sign");
	is(grouped(123456789012345678.0, text), "123,456,789,012,345,680", "18 digits have room");
	is(grouped(1e18, text), "-", "a number of 19 digits is no figure");
	is(grouped(NAN, text), "-", "a number that is not known is a dash");
}

/* Rows of a load that one end measured and the other has a reason against. */
static void print_load(void *arg)
{
	const struct figures *f = arg;

	rows_print("load", GROUP_LOAD, &f[0], &f[1]);
}

static void test_rows(void)
{
	struct figures f[2];

	figures_init(&f[0]);
	figures_init(&f[1]);
	is(printed_by(print_load, f), "", "a group of which nothing is known is not printed");
	f[0].host.load = 0.25;
	f[0].host.cpus = 1.5;
	strcpy(f[0].host.instrument, LOAD_BY_IDLE);
	is(printed_by(print_load, f),
	   "  load                                 sender\n"
	   "    load                                25.0%\n"
	   "    measured by                     idle time\n"
	   "    CPUs measured                         1.5\n",
	   "columns and rows of which nothing is known are omitted");
	f[1].host.unsafe = UNSAFE_BASELINE_BUSY | UNSAFE_CALIBRATION;
	is(printed_by(print_load, f),
	   "  load                                 sender             receiver\n"
	   "    load                                25.0%                    -\n"
	   "    measured by                     idle time                    -\n"
	   "    unsafe: why                             - baseline_busy,calibration\n"
	   "    CPUs measured                         1.5                    -\n",
	   "the reasons have a row, also where there is no load");
}

/* Prints items as a line of so many columns. */
static void print_items(void *width)
{
	struct wrap w = {.width = *(const int *)width, .indent = "  "};

	wrap_add(&w, "", "12345");
	wrap_add(&w, ", ", "%d", 890);
	wrap_add(&w, ", ", "1");
	wrap_add(&w, ", ", "wider than the line");
}

static void test_breaks(void)
{
	int width = 10;

	is(printed_by(print_items, &width), "12345, 890\n  1\n  wider than the line",
	   "items that are just as wide as the line stay on it");
	width = 9;
	is(printed_by(print_items, &width), "12345\n  890, 1\n  wider than the line",
	   "a line breaks before an item that is too wide for it, without the separator");
}

int main(void)
{
	test_grouped();
	test_shares();
	test_intervals();
	test_rows();
	test_load_text();
	test_rate_text();
	test_breaks();
	return done();
}
