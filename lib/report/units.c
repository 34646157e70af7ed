#include "lib/report/units.h"

#include <stdarg.h>

#define FIRST_WIDTH  45 /* columns up to the end of the first figure of a row */
#define COLUMN_WIDTH 21 /* columns of the second figure */

int decimals(double seconds)
{
	return seconds < 0.1 ? 6 : 3;
}

double percent(double share)
{
	return share < 0 && share > -0.0005 ? 0 : 100 * share;
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

/*
 * A figure in its unit, with its mark and half of its interval.  A value that no host can have measured is printed
 * with an exponent, so that it fits its column.
 */
static const char *with_interval(double value, double half, int places, const char *unit,
				 unsigned unsafe, char buf[FIGURE_STRLEN])
{
	if (isnan(value))
		return strcpy(buf, "-");
	snprintf(buf, FIGURE_STRLEN, fabs(value) < 1e9 ? "%.*f%s%s" : "%.*e%s%s", places, value,
		 unit, unsafe != 0 ? "?" : "");
	if (isfinite(half))
		string_append(buf, FIGURE_STRLEN, half < 1e9 ? " +-%.*f%s" : " +-%.*e%s", places,
			      half, unit);
	return buf;
}

const char *decimal(double value, int places, char buf[FIGURE_STRLEN])
{
	return with_interval(value, NAN, places, "", 0, buf);
}

const char *load_text(double share, double half, unsigned unsafe, char buf[FIGURE_STRLEN])
{
	return with_interval(percent(share), 100 * half, 1, "%", unsafe, buf);
}

const char *cost_text(double us, double half, unsigned unsafe, char buf[FIGURE_STRLEN])
{
	return with_interval(us, half, 3, "", unsafe, buf);
}

const char *bit_rate_text(double bits, char buf[FIGURE_STRLEN])
{
	const bool is_giga = bits >= 1e9;

	if (!isfinite(bits))
		return strcpy(buf, "-");
	snprintf(buf, FIGURE_STRLEN, "%.2f %s", bits / (is_giga ? 1e9 : 1e6),
		 is_giga ? "Gbit/s" : "Mbit/s");
	return buf;
}

/*
 * The throughput and the load of a transfer.
 */

const char *load_format(const struct figures *f, bool with_cpus, char buf[LOAD_STRLEN])
{
	const struct load *l = &f->host;
	const bool unsoaked = strcmp(l->instrument, LOAD_BY_IDLE) == 0;
	const char *option = limits_option(l->unsafe);
	char text[UNSAFE_STRLEN];

	*buf = '\0';
	if (isnan(l->load) && l->unsafe != 0)
		string_append(buf, LOAD_STRLEN, "load not measured: %s",
			      limits_format(l->unsafe, text));
	if (isnan(l->load) && option != NULL)
		string_append(buf, LOAD_STRLEN, " (try %s)", option);
	if (isnan(l->load))
		return buf;
	string_append(buf, LOAD_STRLEN, "%sload %s", unsoaked ? "unsoaked " : "",
		      load_text(l->load, l->uncertainty, l->unsafe, text));
	if (with_cpus)
		string_append(buf, LOAD_STRLEN, " of %.4g CPUs", l->cpus);
	if (!isnan(figures_cost(f)))
		string_append(buf, LOAD_STRLEN, ", cost %s us/KiB",
			      cost_text(figures_cost(f), NAN, l->unsafe, text));
	return buf;
}

const char *throughput_text(const struct figures *f, char buf[THROUGHPUT_STRLEN])
{
	snprintf(buf, THROUGHPUT_STRLEN, "%.0f kbytes/sec (%.3f Gbit/s)", kib_per_second(f),
		 8e-9 * per_second((double)f->bytes, f->seconds));
	return buf;
}

const char *baselines_format(double drift, char buf[BASELINES_STRLEN])
{
	if (isnan(drift))
		return strcpy(buf, "own baseline before, none after");
	snprintf(buf, BASELINES_STRLEN, "own baselines, drift %.1f points of load", percent(drift));
	return buf;
}

const char *time_text(uint64_t ns, bool utc, char buf[TIME_STRLEN])
{
	const uint64_t real = clock_ns(CLOCK_REALTIME) - now_ns() + ns;
	const time_t seconds = (time_t)(real / 1000000000);
	struct tm tm = {.tm_sec = 0};
	size_t n;

	(utc ? gmtime_r : localtime_r)(&seconds, &tm);
	n = strftime(buf, TIME_STRLEN, utc ? "%Y-%m-%dT%H:%M:%S" : "%H:%M:%S", &tm);
	snprintf(buf + n, TIME_STRLEN - n, ".%03u%s", (unsigned)(real / 1000000 % 1000),
		 utc ? "Z" : "");
	return buf;
}

/*
 * Rows.
 */

const char *figure_text(const struct figure *row, const struct figures *f, char buf[UNSAFE_STRLEN])
{
	const char *word;
	double value;

	if (f == NULL)
		return NULL;
	if (row->kind == FIGURE_REASONS)
		return f->host.unsafe != 0 ? limits_format(f->host.unsafe, buf) : NULL;
	if (row->group == GROUP_LOAD &&
	    isnan(f->host.load)) /* not measured, or a reason for its absence */
		return row->kind == FIGURE_LOAD && f->host.unsafe != 0 ? "-" : NULL;
	if (row->kind == FIGURE_WORD) {
		word = figure_member(row, f);
		return strcmp(word, LOAD_BY_IDLE) == 0      ? "idle time"
		       : strcmp(word, LOAD_BY_SOAKING) == 0 ? "soaking"
		       : *word != '\0'                      ? word
							    : NULL;
	}
	value = figure_value(row, f);
	if (isnan(value))
		return NULL;
	switch (row->kind) {
	case FIGURE_CPUS: snprintf(buf, FIGURE_STRLEN, "%.4g", value); return buf;
	case FIGURE_SECONDS: return decimal(value, decimals(value), buf);
	case FIGURE_US: return decimal(value / 1000, 3, buf);
	case FIGURE_BYTES: return grouped(value / 1024, buf);
	case FIGURE_BIT_RATE: return bit_rate_text(value, buf);
	case FIGURE_COST: return cost_text(value, NAN, f->host.unsafe, buf);
	case FIGURE_LOAD: return load_text(value, f->host.uncertainty, f->host.unsafe, buf);
	case FIGURE_CHANGE:
	case FIGURE_SHARE: return load_text(value, NAN, 0, buf);
	default: return grouped(value, buf);
	}
}

static void print_row(const struct figure *row, const struct figures *const of[2])
{
	char buf[UNSAFE_STRLEN], other[UNSAFE_STRLEN];
	const char *cell[] = {figure_text(row, of[0], buf), figure_text(row, of[1], other)};
	int k;

	if (cell[0] == NULL && cell[1] == NULL)
		return;
	report("    %-20s", row->label);
	for (k = 0; k < 2; k++)
		if (of[k] != NULL)
			report(" %20s", cell[k] != NULL ? cell[k] : "-");
	report("\n");
}

static bool has_figures(const struct figures *f, enum figure_group group)
{
	const struct figure *row;
	char buf[UNSAFE_STRLEN];

	for (row = figure_table; row < figure_table + figure_rows; row++)
		if (row->group == group && figure_text(row, f, buf) != NULL)
			return true;
	return false;
}

bool rows_print(const char *heading, enum figure_group group, const struct figures *sender,
		const struct figures *receiver)
{
	const struct figures *const of[] = {
		has_figures(sender, group) ? sender : NULL,
		receiver != sender && has_figures(receiver, group) ? receiver : NULL};
	static const char *const name[] = {"sender", "receiver"};
	int i, k, width = FIRST_WIDTH - 2 - (int)strlen(heading);

	if (of[0] == NULL && of[1] == NULL)
		return false;
	report("  %s", heading);
	for (k = 0; k < 2; k++)
		if (of[k] != NULL && receiver != sender) {
			report("%*s", width, name[k]);
			width = COLUMN_WIDTH;
		}
	report("\n");
	for (i = 0; i < figure_rows; i++)
		if (figure_table[i].group == group)
			print_row(&figure_table[i], of);
	return true;
}

/*
 * Intervals.
 */

static void print_heading(const struct intervals *s)
{
	printf("%*s %13s %16s", s->timestamps ? 28 : 15, "interval, s", "KiB/s", "rate");
	if (s->tcp)
		printf(" %12s %10s %9s", "retransmits", "cwnd, KiB", "RTT, ms");
	if (s->requests)
		printf(" %11s", "replies/s");
	if (s->load)
		printf(" %15s %13s", "load", "cost, us/KiB");
	printf("\n");
}

static void print_figures(const struct intervals *s, const struct figures *f)
{
	const struct load *l = &f->host;
	char t[2][FIGURE_STRLEN];

	printf(" %13s %16s", grouped(kib_per_second(f), t[0]),
	       bit_rate_text(8 * per_second((double)f->bytes, f->seconds), t[1]));
	if (s->tcp) {
		printf(" %12s", grouped(f->tcp.retransmits, t[0]));
		printf(" %10s %9s", grouped(f->tcp.cwnd / 1024, t[0]),
		       decimal(f->tcp.rtt / 1000, 3, t[1]));
	}
	if (s->requests)
		printf(" %11s", grouped(per_second((double)f->calls, f->seconds), t[0]));
	if (s->load)
		printf(" %15s %13s", load_text(l->load, l->uncertainty, l->unsafe, t[0]),
		       cost_text(f->bytes > 0 ? figures_cost(f) : NAN, NAN, l->unsafe, t[1]));
}

void intervals_row(struct intervals *s, const struct figures *f, double start, bool measured,
		   const char *note)
{
	const double amount = s->requests ? (double)f->calls : (double)f->bytes / 1024;
	const double rate = per_second(amount, f->seconds), tenths = s->period * 10;
	const int places = fabs(tenths - round(tenths)) < 1e-6 ? 1 : 3;
	char time[TIME_STRLEN], text[FIGURE_STRLEN];

	if (!s->begun)
		print_heading(s);
	s->begun = true;
	if (s->timestamps)
		printf("%s ", time_text(now_ns(), false, time));
	snprintf(text, sizeof(text), "%.*f-%.*f", places, start, places, start + f->seconds);
	printf("%15s", text);
	print_figures(s, f);
	printf("%s%s%s\n", measured ? "" : "  warm-up", note[0] != '\0' ? "  " : "", note);
	if (!measured)
		return;
	s->amount += amount;
	s->seconds += f->seconds;
	if (f->seconds < s->period / 2) /* the rest at the end */
		return;
	if (s->n == 0 || rate < s->least)
		s->least = rate;
	s->most = fmax(s->most, rate);
	s->n++;
}

void intervals_part(const struct intervals *s, const struct figures *f, const char *name)
{
	printf("%*s", s->timestamps ? 28 : 15, name);
	print_figures(s, f);
	printf("\n");
}

void intervals_end(struct intervals *s)
{
	char t[3][FIGURE_STRLEN];

	if (s->n > 1)
		printf("%" PRIu64 " intervals, %s: least %s, mean %s, greatest %s\n", s->n,
		       s->requests ? "replies/s" : "KiB/s", grouped(s->least, t[0]),
		       grouped(per_second(s->amount, s->seconds), t[1]), grouped(s->most, t[2]));
	s->begun = false;
	s->n = 0;
	s->amount = s->seconds = s->most = 0;
}

/*
 * Lines that break.
 */

void wrap_add(struct wrap *w, const char *separator, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = (int)strlen(separator) + vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	/* A column remains for the comma behind the item, in case the line breaks there. */
	if (w->column > 0 && w->column + len >= w->width) {
		printf("%.*s\n", (int)strcspn(separator, " "), separator);
		w->column = 0;
		separator = w->indent;
	}
	w->column += printf("%s", separator);
	va_start(ap, fmt);
	w->column += vprintf(fmt, ap);
	va_end(ap);
}
