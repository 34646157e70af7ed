#include "lib/report/units.h"

double kbytes_per_sec(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double)bytes / 1024 / seconds : 0;
}

double gbits_per_sec(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double)bytes * 8 / 1e9 / seconds : 0;
}

double cost_us_per_kib(double load, double n_cpus, uint64_t bytes, double seconds)
{
	return bytes > 0 ? load * n_cpus * seconds * 1e6 / ((double)bytes / 1024) : NAN;
}

int decimals(double seconds)
{
	return seconds < 0.1 ? 6 : 3;
}

double percent(double share)
{
	double p = 100 * share;

	return p < 0 && p > -0.05 ? 0 : p;
}

const char *load_format(double load, double uncertainty, double n_cpus, uint64_t bytes,
			double seconds, char buf[128])
{
	double us = cost_us_per_kib(load, n_cpus, bytes, seconds);
	char plus_minus[32] = "", cost[48] = "";

	buf[0] = '\0';
	if (isnan(load))
		return buf;
	if (!isnan(uncertainty))
		snprintf(plus_minus, sizeof(plus_minus), " +-%.1f%%", 100 * uncertainty);
	if (!isnan(us))
		snprintf(cost, sizeof(cost), ", cost %.3f us/KiB", us);
	snprintf(buf, 128, ", load %.1f%%%s of %.0f CPUs%s", percent(load), plus_minus, n_cpus,
		 cost);
	return buf;
}

const char *rate_text(uint64_t bytes, double seconds, double load, double uncertainty,
		      double n_cpus, char buf[RATE_STRLEN])
{
	char part[128];

	snprintf(buf, RATE_STRLEN, "%.0f kbytes/sec (%.3f Gbit/s)%s",
		 kbytes_per_sec(bytes, seconds), gbits_per_sec(bytes, seconds),
		 load_format(load, uncertainty, n_cpus, bytes, seconds, part));
	return buf;
}

double per_second(uint64_t n, double seconds)
{
	return seconds > 0 ? (double)n / seconds : 0;
}
