#include "lib/report/units.h"

#include "tests/unit/unit.h"

static void test_rates(void)
{
	ok(kbytes_per_sec(2048, 2) == 1, "2048 bytes in 2 s are 1 KiB/s");
	ok(gbits_per_sec(1000000000, 8) == 1, "10^9 bytes in 8 s are 1 Gbit/s, of 10^9 bits");
	ok(per_second(10, 4) == 2.5, "10 in 4 s are 2.5 per second");
	ok(kbytes_per_sec(1, 0) == 0 && gbits_per_sec(1, 0) == 0 && per_second(1, 0) == 0,
	   "a rate in no time is 0");
	ok(kbytes_per_sec(1, NAN) == 0, "a rate in an unknown time is 0");
	ok(decimals(0.0999) == 6 && decimals(0.1) == 3,
	   "less than 0.1 s is printed in microseconds");
}

static void test_shares(void)
{
	char text[16];

	ok(near(percent(0.5), 50) && near(percent(-0.01), -1), "a share in percent");
	ok(!signbit(percent(-0.0004)), "a share of almost nothing is never -0.0");
	snprintf(text, sizeof(text), "%.1f", percent(-0.0005));
	is(text, "-0.1", "a share that is rounded to -0.1 stays below 0");
	ok(isnan(percent(NAN)), "a share that is not known is no percentage");
}

static void test_costs(void)
{
	struct figures f = {.host.load = 0.5,
			    .host.cpus = 2,
			    .host.seconds = 1,
			    .bytes = 1024000,
			    .seconds = 2};

	/* Half of 2 CPUs for 1 s is 1e6 us; over 1000 KiB that is 1000 us/KiB. */
	ok(near(cost_us_per_kib(0.5, 2, 1024000, 1), 1000), "the cost is in microseconds per KiB");
	ok(isnan(cost_us_per_kib(0.5, 2, 0, 1)), "where nothing was moved there is no cost");
	ok(near(figures_cost(&f), 1000), "the cost is over the seconds of the load");
	ok(near(figures_cost_each(&f, 1000), 1000), "the cost of each is in microseconds");
	ok(isnan(figures_cost_each(&f, 0)), "none has no cost");
	f.host.seconds = NAN;
	ok(near(figures_cost(&f), 2000),
	   "where the seconds of the load are not known the cost is over those of the transfer");
}

static void test_load_text(void)
{
	struct figures f = {.host.load = 0.5,
			    .host.uncertainty = NAN,
			    .host.cpus = 2,
			    .host.seconds = 1,
			    .bytes = 1024000,
			    .seconds = 1};
	char text[LOAD_STRLEN];

	is(load_format(&f, text), "load 50.0% of 2 CPUs, cost 1000.000 us/KiB",
	   "a load and its cost");
	f.host.cpus = 1.75;
	is(load_format(&f, text), "load 50.0% of 1.75 CPUs, cost 875.000 us/KiB",
	   "a load of a time in which a CPU was away");
	f.host.cpus = 2;
	f.host.uncertainty = 0.01;
	f.bytes = 0;
	is(load_format(&f, text), "load 50.0% +-1.0% of 2 CPUs",
	   "a load that moved nothing has no cost");
	f.host.unsafe = UNSAFE_STEAL;
	is(load_format(&f, text), "load 50.0%? +-1.0% of 2 CPUs",
	   "a load that is unsafe has a question mark");
	f.bytes = 1024000;
	is(load_format(&f, text), "load 50.0%? +-1.0% of 2 CPUs, cost 1000.000? us/KiB",
	   "the cost of a load that is unsafe has a question mark, too");
	is(unsafe_mark(0), "", "a load that is safe has no mark");
	f.host.load = NAN;
	is(load_format(&f, text), "", "a load that was not measured is omitted");
}

static void test_rate_text(void)
{
	struct figures f = {.host.load = NAN, .bytes = 125000000, .seconds = 0.5};
	char text[RATE_STRLEN];

	is(rate_text(&f, text), "244141 kbytes/sec (2.000 Gbit/s)", "a rate without a load");
	f.host.load = 0.25;
	f.host.cpus = 4;
	f.host.seconds = 0.5;
	f.host.uncertainty = 0.004;
	is(rate_text(&f, text),
	   "244141 kbytes/sec (2.000 Gbit/s), load 25.0% +-0.4% of 4 CPUs, cost 4.096 us/KiB",
	   "a rate with its load and cost");
	is(throughput_text(&f, text), "244141 kbytes/sec (2.000 Gbit/s)",
	   "a throughput has no load, even if there is one");
	is(interval_text(&f, 4, text),
	   "244141 kbytes/sec (2.000 Gbit/s), 4.0-4.5 s, load 25.0% +-0.4%, cost 4.096 us/KiB",
	   "an interval has its time, and a load without the CPUs");
	f.host.load = NAN;
	f.seconds = 0.0625;
	is(interval_text(&f, 0.5, text), "1953125 kbytes/sec (16.000 Gbit/s), 0.500-0.562 s",
	   "the time of a short interval is in milliseconds");
	f = (struct figures){.host.load = 1e9,
			     .host.uncertainty = 1e9,
			     .host.cpus = 8192,
			     .bytes = UINT64_MAX,
			     .seconds = 1e-9,
			     .host.seconds = 1e15,
			     .host.unsafe = UNSAFE_STEAL};
	ok(strlen(rate_text(&f, text)) < RATE_STRLEN - 1,
	   "the longest rate has room in RATE_STRLEN");
	ok(strlen(interval_text(&f, 1e6, text)) < RATE_STRLEN - 1,
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

int main(void)
{
	test_grouped();
	test_rates();
	test_shares();
	test_costs();
	test_load_text();
	test_rate_text();
	return done();
}
