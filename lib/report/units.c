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

double figures_cost(const struct figures *f)
{
	const double seconds = isnan(f->soaked) ? f->seconds : f->soaked;

	return cost_us_per_kib(f->load, f->cpus, figures_load_bytes(f), seconds);
}

int decimals(double seconds)
{
	return seconds < 0.1 ? 6 : 3;
}

double percent(double share)
{
	return share < 0 && share > -0.0005 ? 0 : 100 * share;
}

const char *unsafe_mark(unsigned unsafe)
{
	return unsafe != 0 ? "?" : "";
}

const char *load_format(const struct figures *f, char buf[128])
{
	const double us = figures_cost(f);
	char plus_minus[32] = "", cost[48] = "";

	if (isnan(f->load))
		return strcpy(buf, "");
	if (!isnan(f->uncertainty))
		snprintf(plus_minus, sizeof(plus_minus), " +-%.1f%%", 100 * f->uncertainty);
	if (!isnan(us))
		snprintf(cost, sizeof(cost), ", cost %.3f us/KiB", us);
	snprintf(buf, 128, ", load %.1f%%%s%s of %.4g CPUs%s", percent(f->load),
		 unsafe_mark(f->unsafe), plus_minus, f->cpus, cost);
	return buf;
}

const char *rate_text(const struct figures *f, char buf[RATE_STRLEN])
{
	char load[128];

	snprintf(buf, RATE_STRLEN, "%.0f kbytes/sec (%.3f Gbit/s)%s",
		 kbytes_per_sec(f->bytes, f->seconds), gbits_per_sec(f->bytes, f->seconds),
		 load_format(f, load));
	return buf;
}

const char *baselines_format(double drift, char buf[BASELINES_STRLEN])
{
	if (isnan(drift))
		return strcpy(buf, "own baseline before, none after");
	snprintf(buf, BASELINES_STRLEN, "own baselines, drift %.1f%%", percent(drift));
	return buf;
}

double per_second(uint64_t n, double seconds)
{
	return seconds > 0 ? (double)n / seconds : 0;
}
