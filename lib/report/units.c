#include "lib/report/units.h"

#include <stdarg.h>

#define FIRST_WIDTH  45    /* columns up to the end of the first figure of a row */
#define COLUMN_WIDTH 21    /* columns of the second figure */
#define LEAST_PART   0.005 /* of the load: a group with less has no row */

int decimals(double seconds)
{
	return seconds < 0.1 ? 6 : 3;
}

double percent(double share)
{
	return share < 0 && share > -0.0005 ? 0 : 100 * share;
}

const char *grouped(double value)
{
	const char *digits = text_of("%.0f", fabs(value));
	const size_t n = strlen(digits);
	char text[32];
	size_t i, k = 0;

	if (!isfinite(value) || n > 18)
		return "-";
	if (value <= -0.5)
		text[k++] = '-';
	for (i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			text[k++] = ',';
		text[k++] = digits[i];
	}
	return text_of("%.*s", (int)k, text);
}

/*
 * A figure in its unit, with its mark and half of its interval.  A value that no host can have measured is printed
 * with an exponent, so that it fits its column.
 */
static const char *with_interval(double value, double half, int places, const char *unit,
				 unsigned unsafe)
{
	const char *text = text_of(fabs(value) < 1e9 ? "%.*f%s%s" : "%.*e%s%s", places, value, unit,
				   unsafe != 0 ? "?" : "");

	if (isnan(value))
		return "-";
	if (!isfinite(half))
		return text;
	return text_of(half < 1e9 ? "%s +-%.*f%s" : "%s +-%.*e%s", text, places, half, unit);
}

const char *decimal(double value, int places)
{
	return with_interval(value, NAN, places, "", 0);
}

#define PLACES_MOST 4 /* of a load in percent */

/* On many CPUs one place may be more than is not known: an interval is never +-0.0%. */
const char *load_text(double share, double half, unsigned unsafe)
{
	int places = 1;

	while (100 * half * pow(10, places) < 0.5 && places < PLACES_MOST)
		places++;
	if (100 * half * pow(10, places) < 0.5)
		places = 1; /* no number of places shows the interval, as that of equal loads */
	return with_interval(percent(share), 100 * half, places, "%", unsafe);
}

const char *cost_text(double us, double half, unsigned unsafe)
{
	return with_interval(us, half, 3, "", unsafe);
}

const char *cost_each_text(const struct figures *f, double n)
{
	return cost_text(figures_cost_each(f, n), figures_cost_half(f, n), f->host.unsafe);
}

static const char *bit_rate_text(double bits)
{
	const bool is_giga = bits >= 1e9;

	return isfinite(bits) ? text_of("%.2f %s", bits / (is_giga ? 1e9 : 1e6),
					is_giga ? "Gbit/s" : "Mbit/s")
			      : "-";
}

/*
 * The throughput and the load of a transfer.
 */

const char *load_format(const struct figures *f)
{
	const struct load *l = &f->host;

	if (isnan(l->load))
		return no_load_is_told(l->no_load)
			       ? text_of("load not measured: %s", no_load_text(l->no_load))
			       : "";
	return text_of(
		"%sload %s of %.4g CPU%s%s", instrument_named(l->instrument)->adjective,
		load_text(l->load, l->uncertainty, l->unsafe), l->cpus, l->cpus == 1 ? "" : "s",
		isnan(figures_cost(f))
			? ""
			: text_of(", cost %s us/KiB", cost_each_text(f, (double)f->bytes / 1024)));
}

const char *throughput_text(const struct figures *f)
{
	return text_of("%.0f kbytes/sec (%.3f Gbit/s)", kib_per_second(f),
		       8e-9 * per_second((double)f->bytes, f->seconds));
}

const char *baselines_format(const struct load *l)
{
	if (!l->bracketed)
		return "idle machine measured before only";
	if (isnan(l->drift))
		return "idle machine measured before and after";
	return text_of("idle machine before and after differs by %.1f points", percent(l->drift));
}

const char *time_text(uint64_t ns, const char *zone)
{
	const uint64_t real = clock_ns(CLOCK_REALTIME) - now_ns() + ns;
	const time_t seconds = (time_t)(real / 1000000000);
	struct tm tm = {.tm_sec = 0};
	char text[32], end[8] = "";

	(*zone == 'Z' ? gmtime_r : localtime_r)(&seconds, &tm);
	strftime(text, sizeof(text), *zone != '\0' ? "%Y-%m-%dT%H:%M:%S" : "%H:%M:%S", &tm);
	strftime(end, sizeof(end), zone, &tm);
	return text_of("%s.%03u%s", text, (unsigned)(real / 1000000 % 1000), end);
}

/*
 * Rows.
 */

/* The CPU time of a group with its interval, and its share of the load; NULL if that is below half a percent. */
static const char *group_text(const struct figure *row, const struct figures *f)
{
	const double *share = figure_member(row, f), part = *share / f->host.load;
	const double *half = share + (f->host.profile.half - f->host.profile.group);
	const double us = figure_value(row, f);
	const bool is_unsafe = f->host.unsafe != 0 || f->host.profile_unsafe[0] != '\0';

	return f->host.load > 0 && part >= LEAST_PART
		       ? text_of("%s %.0f%%", cost_text(us, us * *half / *share, is_unsafe),
				 100 * part)
		       : NULL;
}

void groups_add(struct wrap *w, const struct figures *f)
{
	const bool is_unsafe = f->host.unsafe != 0 || f->host.profile_unsafe[0] != '\0';
	const struct figure *row;
	const double *share;

	for (row = figure_table; row < figure_table + figure_rows; row++) {
		share = figure_member(row, f);
		if (row->group == GROUP_PROFILE && row->kind == FIGURE_CPU_TIME &&
		    f->host.load > 0 && *share / f->host.load >= LEAST_PART)
			wrap_add(w, ", ", "%s %s", row->label, load_text(*share, NAN, is_unsafe));
	}
	if (f->host.profile_unsafe[0] != '\0')
		wrap_add(w, ", ", "the profile is unsafe: %s", f->host.profile_unsafe);
}

const char *figure_text(const struct figure *row, const struct figures *f)
{
	const char *word, *title;
	double value;

	if (f == NULL)
		return NULL;
	if (row->group == GROUP_LOAD && isnan(f->host.load))
		return row->kind == FIGURE_LOAD && no_load_is_told(f->host.no_load) ? "not measured"
										    : NULL;
	if (row->kind == FIGURE_REASONS)
		return f->host.unsafe != 0 ? limits_format(f->host.unsafe) : NULL;
	if (row->kind == FIGURE_WORD) {
		word = figure_member(row, f);
		title = instrument_named(word)->title;
		return *title != '\0' ? title : *word != '\0' ? word : NULL;
	}
	if (row->group == GROUP_PROFILE && isnan(f->host.load))
		return NULL;
	word = figure_member(row, f);
	if (row->kind == FIGURE_NAME)
		return *word != '\0' ? word : NULL;
	value = figure_value(row, f);
	if (isnan(value))
		return NULL;
	if (row->group == GROUP_PROFILE && row->kind == FIGURE_CPU_TIME)
		return group_text(row, f);
	switch (row->kind) {
	case FIGURE_CPUS: return text_of("%.4g", value);
	case FIGURE_SECONDS: return decimal(value, decimals(value));
	case FIGURE_US: return decimal(value / 1000, 3);
	case FIGURE_STALL: /* with many streams the looks are rarer */
		return value > 0 ? grouped(value / 1000) : f->clients > 16 ? "< 200" : "< 40";
	case FIGURE_BYTES: return grouped(value / 1024);
	case FIGURE_BIT_RATE: return bit_rate_text(value);
	case FIGURE_COST: return cost_each_text(f, (double)f->bytes / 1024);
	case FIGURE_LOAD: return load_text(value, f->host.uncertainty, f->host.unsafe);
	case FIGURE_CHANGE:
	case FIGURE_SHARE: return load_text(value, NAN, 0);
	default: return grouped(value);
	}
}

bool rows_print(const char *heading, enum figure_group group, const struct figures *sender,
		const struct figures *receiver)
{
	static const char *const name[] = {"sender", "receiver"};
	const struct figures *const of[] = {sender, receiver != sender ? receiver : NULL};
	const char *cell[2] = {NULL, NULL};
	bool known[2] = {false, false};
	const struct figure *row, *end = figure_table + figure_rows;
	int k, width = FIRST_WIDTH - 2 - (int)strlen(heading);

	for (row = figure_table; row < end; row++)
		for (k = 0; k < 2 && row->group == group; k++)
			known[k] = known[k] || figure_text(row, of[k]) != NULL;
	if (!known[0] && !known[1])
		return false;
	report("  %s", heading);
	for (k = 0; k < 2; k++)
		if (known[k] && receiver != sender) {
			report("%*s", width, name[k]);
			width = COLUMN_WIDTH;
		}
	report("\n");
	for (row = figure_table; row < end; row++) {
		for (k = 0; k < 2; k++)
			cell[k] = row->group == group ? figure_text(row, of[k]) : NULL;
		if (cell[0] == NULL && cell[1] == NULL)
			continue;
		report("    %-20s", row->label);
		for (k = 0; k < 2; k++)
			if (known[k])
				report(" %20s", cell[k] != NULL ? cell[k] : "-");
		report("\n");
	}
	return true;
}

/*
 * Intervals.
 */

/* The title of a column, or the text of its figure, which is made only then. */
#define COLUMN(width, title, text) printf(" %*s", width, f == NULL ? (title) : (text))

/* Prints the columns of an interval, or if `f` is NULL their titles. */
static void print_columns(const struct intervals *s, const struct figures *f)
{
	COLUMN(13, "KiB/s", grouped(kib_per_second(f)));
	COLUMN(16, "rate", bit_rate_text(8 * per_second((double)f->bytes, f->seconds)));
	if (s->tcp) {
		COLUMN(12, "retransmits", grouped(f->tcp.retransmits));
		COLUMN(10, "cwnd, KiB", grouped(f->tcp.cwnd / 1024));
		COLUMN(9, "RTT, ms", decimal(f->tcp.rtt / 1000, 3));
	}
	if (s->requests)
		COLUMN(11, "replies/s", grouped(per_second((double)f->calls, f->seconds)));
	if (s->load) {
		COLUMN(15, "load", load_text(f->host.load, f->host.uncertainty, f->host.unsafe));
		COLUMN(13, "cost, us/KiB", cost_text(figures_cost(f), NAN, f->host.unsafe));
	}
}

void intervals_row(struct intervals *s, const struct figures *f, double start, bool measured,
		   const char *note)
{
	const double tenths = s->period * 10;
	const int places = fabs(tenths - round(tenths)) < 1e-6 ? 1 : 3;

	if (!s->begun)
		intervals_part(s, NULL, "interval, s");
	s->begun = true;
	if (s->timestamps)
		printf("%s ", time_text(now_ns(), ""));
	printf("%15s", text_of("%.*f-%.*f", places, start, places, start + f->seconds));
	print_columns(s, f);
	printf("%s%s%s\n", measured ? "" : "  warm-up", note[0] != '\0' ? "  " : "", note);
}

void intervals_part(const struct intervals *s, const struct figures *f, const char *name)
{
	printf("%*s", s->timestamps ? 28 : 15, name);
	print_columns(s, f);
	printf("\n");
}

/*
 * Lines that break.
 */

int width_of(const char *utf8)
{
	int n = 0;

	for (; *utf8 != '\0'; utf8++)
		n += (*utf8 & 0xc0) != 0x80;
	return n;
}

void wrap_add(struct wrap *w, const char *separator, const char *fmt, ...)
{
	char *item;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&item, fmt, ap) < 0)
		die_errno("a report");
	va_end(ap);
	/* A column remains for the comma behind the item, in case the line breaks there. */
	if (w->column > 0 && w->column + width_of(separator) + width_of(item) >= w->width) {
		printf("%.*s\n", (int)strcspn(separator, " "), separator);
		w->column = 0;
		separator = w->indent;
	}
	w->column += width_of(separator) + width_of(item);
	printf("%s%s", separator, item);
	free(item);
}

void wrap_text(struct wrap *w, const char *text)
{
	size_t n;

	for (; *text != '\0'; text += n + (text[n] == ' ')) {
		n = strspn(text, " ");
		n += strcspn(text + n, " ");
		wrap_add(w, w->column > 0 ? " " : "", "%.*s", (int)n, text);
	}
}

void wrap_line(int width, const char *fmt, ...)
{
	struct wrap w = {.width = width};
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		die_errno("a report");
	va_end(ap);
	make_printable(text);
	w.indent = text_of("%*s", (int)strspn(text, " ") + 2, "");
	wrap_text(&w, text);
	report("\n");
	free(text);
}
