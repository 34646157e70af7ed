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
	const double seconds = isnan(f->host.seconds) ? f->seconds : f->host.seconds;

	return cost_us_per_kib(f->host.load, f->host.cpus, f->bytes, seconds);
}

double figures_cost_each(const struct figures *f, uint64_t n)
{
	const double seconds = isnan(f->host.seconds) ? f->seconds : f->host.seconds;

	return n > 0 ? f->host.load * f->host.cpus * seconds * 1e6 / (double)n : NAN;
}

double figures_cost_uncertainty(const struct figures *f)
{
	struct figures half = *f;

	half.host.load = isnan(f->host.load) ? NAN : f->host.uncertainty;
	return figures_cost(&half);
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

const char *grouped(double value, char buf[FIGURE_STRLEN])
{
	char digits[FIGURE_STRLEN];
	int n = snprintf(digits, sizeof(digits), "%.0f", fabs(value)), i, k = 0;

	if (!isfinite(value) || n > 18)
		return strcpy(buf, "-");
	if (value <= -0.5)
		buf[k++] = '-';
	for (i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			buf[k++] = ',';
		buf[k++] = digits[i];
	}
	buf[k] = '\0';
	return buf;
}

/* The load with its mark and its uncertainty; the number of CPUs unless that is NAN; the cost. */
static const char *load_of(const struct figures *f, double cpus, char buf[LOAD_STRLEN])
{
	const double us = figures_cost(f);
	const char *mark = unsafe_mark(f->host.unsafe);
	const bool unsoaked = strcmp(f->host.instrument, LOAD_BY_IDLE) == 0;
	char plus_minus[32] = "", of[32] = "", cost[48] = "";

	if (isnan(f->host.load))
		return strcpy(buf, "");
	if (!isnan(f->host.uncertainty))
		snprintf(plus_minus, sizeof(plus_minus), " +-%.1f%%", 100 * f->host.uncertainty);
	if (!isnan(cpus))
		snprintf(of, sizeof(of), " of %.4g CPUs", cpus);
	if (!isnan(us))
		snprintf(cost, sizeof(cost), ", cost %.3f%s us/KiB", us, mark);
	snprintf(buf, LOAD_STRLEN, "%sload %.1f%%%s%s%s%s", unsoaked ? "unsoaked " : "",
		 percent(f->host.load), mark, plus_minus, of, cost);
	return buf;
}

const char *load_format(const struct figures *f, char buf[LOAD_STRLEN])
{
	return load_of(f, f->host.cpus, buf);
}

const char *load_format_brief(const struct figures *f, char buf[LOAD_STRLEN])
{
	return load_of(f, NAN, buf);
}

const char *throughput_text(const struct figures *f, char buf[RATE_STRLEN])
{
	snprintf(buf, RATE_STRLEN, "%.0f kbytes/sec (%.3f Gbit/s)",
		 kbytes_per_sec(f->bytes, f->seconds), gbits_per_sec(f->bytes, f->seconds));
	return buf;
}

const char *rate_text(const struct figures *f, char buf[RATE_STRLEN])
{
	char load[LOAD_STRLEN];

	load_format(f, load);
	throughput_text(f, buf);
	string_append(buf, RATE_STRLEN, "%s%s", load[0] != '\0' ? ", " : "", load);
	return buf;
}

const char *interval_text(const struct figures *f, double start, char buf[RATE_STRLEN])
{
	const int places = f->seconds < 0.2 ? 3 : 1;
	char load[LOAD_STRLEN];

	load_of(f, NAN, load);
	throughput_text(f, buf);
	string_append(buf, RATE_STRLEN, ", %.*f-%.*f s%s%s", places, start, places,
		      start + f->seconds, load[0] != '\0' ? ", " : "", load);
	return buf;
}

const char *baselines_format(double drift, char buf[BASELINES_STRLEN])
{
	if (isnan(drift))
		return strcpy(buf, "own baseline before, none after");
	snprintf(buf, BASELINES_STRLEN, "own baselines, drift %.1f points of load", percent(drift));
	return buf;
}

double per_second(uint64_t n, double seconds)
{
	return seconds > 0 ? (double)n / seconds : 0;
}
