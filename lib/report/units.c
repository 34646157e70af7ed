#include "lib/report/units.h"

#include <stdarg.h>

#define FIRST_WIDTH  45 /* columns up to the end of the first figure of a row */
#define COLUMN_WIDTH 21 /* of each other figure */

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

/*
 * A figure in its unit, with its mark and half of its interval.  One that no host can have measured has an
 * exponent, so that it stays in its column.
 */
static const char *with_interval(double value, double half, int places, const char *unit,
				 unsigned unsafe, char buf[FIGURE_STRLEN])
{
	if (isnan(value))
		return strcpy(buf, "-");
	snprintf(buf, FIGURE_STRLEN, fabs(value) < 1e9 ? "%.*f%s%s" : "%.*e%s%s", places, value,
		 unit, unsafe_mark(unsafe));
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

/*
 * What a line has of a transfer.
 */

/* The load with the number of CPUs, unless that is NAN, and the cost. */
static const char *load_of(const struct figures *f, double cpus, char buf[LOAD_STRLEN])
{
	const struct load *l = &f->host;
	const bool unsoaked = strcmp(l->instrument, LOAD_BY_IDLE) == 0;
	char text[FIGURE_STRLEN];

	*buf = '\0';
	if (isnan(l->load))
		return buf;
	string_append(buf, LOAD_STRLEN, "%sload %s", unsoaked ? "unsoaked " : "",
		      load_text(l->load, l->uncertainty, l->unsafe, text));
	if (!isnan(cpus))
		string_append(buf, LOAD_STRLEN, " of %.4g CPUs", cpus);
	if (!isnan(figures_cost(f)))
		string_append(buf, LOAD_STRLEN, ", cost %s us/KiB",
			      cost_text(figures_cost(f), NAN, l->unsafe, text));
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
		 kbytes_per_sec(f->bytes, f->seconds),
		 8e-9 * per_second((double)f->bytes, f->seconds));
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

	load_format_brief(f, load);
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

/*
 * Rows.
 */

/* The name of the k-th reason of a set, or NULL. */
static const char *reason_of(unsigned unsafe, int k)
{
	int i;

	for (i = 0; i < UNSAFE_REASONS; i++)
		if (unsafe & 1u << i && k-- == 0)
			return limits_name(i);
	return NULL;
}

/* A word of struct figures as text has it; NULL where it is empty. */
static const char *word_of(const char *word)
{
	if (strcmp(word, LOAD_BY_IDLE) == 0)
		return "idle time";
	if (strcmp(word, LOAD_BY_SOAKING) == 0)
		return "soaking";
	return *word != '\0' ? word : NULL;
}

static const char *number_of(const struct figure *row, const struct figures *f,
			     char buf[FIGURE_STRLEN])
{
	const double value = figure_value(row, f);

	if (isnan(value))
		return NULL;
	switch (row->kind) {
	case FIGURE_CPU:
	case FIGURE_CPUS: snprintf(buf, FIGURE_STRLEN, "%.4g", value); return buf;
	case FIGURE_SECONDS: return decimal(value, decimals(value), buf);
	case FIGURE_US: return decimal(value / 1000, 3, buf);
	case FIGURE_BYTES: return grouped(value / 1024, buf);
	case FIGURE_COST: return cost_text(value, NAN, f->host.unsafe, buf);
	case FIGURE_LOAD: return load_text(value, f->host.uncertainty, f->host.unsafe, buf);
	case FIGURE_CHANGE:
	case FIGURE_SHARE: return load_text(value, NAN, 0, buf);
	default: return grouped(value, buf);
	}
}

const char *figure_text(const struct figure *row, const struct figures *f, int line,
			char buf[FIGURE_STRLEN])
{
	if (row->kind == FIGURE_REASONS)
		return reason_of(f->host.unsafe, line);
	if (line > 0)
		return NULL;
	if (row->group == GROUP_LOAD && isnan(f->host.load)) /* there is none, or a reason */
		return row->kind == FIGURE_LOAD && f->host.unsafe != 0 ? "-" : NULL;
	if (row->kind == FIGURE_WORD)
		return word_of(figure_member(row, f));
	return number_of(row, f, buf);
}

static const char *cell_of(const struct figure *row, const struct figures *f, int line,
			   char buf[FIGURE_STRLEN])
{
	return f != NULL ? figure_text(row, f, line, buf) : NULL;
}

/* Prints a line of a row; returns false, and prints nothing, if no column has it. */
static bool print_line(const struct columns *c, const struct figure *row, int line)
{
	const char *cell[2], *const none = line == 0 ? "-" : "";
	char buf[2][FIGURE_STRLEN];
	int k;

	for (k = 0; k < 2; k++)
		cell[k] = cell_of(row, c->of[k], line, buf[k]);
	if (cell[0] == NULL && cell[1] == NULL)
		return false;
	report("    %-20s", line == 0 ? row->label : "");
	for (k = 0; k < 2; k++)
		if (c->of[k] != NULL)
			report(" %20s", cell[k] != NULL ? cell[k] : none);
	report("\n");
	return true;
}

/* Removes a column of which no row of the group has a figure. */
static void remove_empty(const struct figures **column, enum figure_group group)
{
	char buf[FIGURE_STRLEN];
	bool known = false;
	int i;

	for (i = 0; i < figure_rows; i++)
		known |= figure_table[i].group == group &&
			 cell_of(&figure_table[i], *column, 0, buf) != NULL;
	if (!known)
		*column = NULL;
}

bool rows_print(const char *heading, struct columns c, enum figure_group group)
{
	int i, k, line, width = FIRST_WIDTH - 2 - (int)strlen(heading);

	remove_empty(&c.of[0], group);
	remove_empty(&c.of[1], group);
	if (c.of[0] == NULL && c.of[1] == NULL)
		return false;
	report("  %s", heading);
	for (k = 0; k < 2; k++) {
		if (c.of[k] == NULL)
			continue;
		if (c.name[k][0] != '\0')
			report("%*s", width, c.name[k]);
		width = COLUMN_WIDTH;
	}
	report("\n");
	for (i = 0; i < figure_rows; i++)
		for (line = 0;
		     figure_table[i].group == group && print_line(&c, &figure_table[i], line);
		     line++)
			;
	return true;
}

/*
 * Lines that break.
 */

static void put(struct wrap *w, const char *s)
{
	if (w->text == NULL)
		fputs(s, stdout);
	else
		string_append(w->text, w->size, "%s", s);
	w->column += (int)strlen(s);
}

void wrap_init(struct wrap *w, char *text, size_t size, int width, const char *indent)
{
	*w = (struct wrap){.size = size, .width = width, .indent = indent};
	w->text = text;
	if (text != NULL)
		*text = '\0';
}

void wrap_add(struct wrap *w, const char *separator, const char *fmt, ...)
{
	char item[WRAP_ITEM];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(item, sizeof(item), fmt, ap);
	va_end(ap);
	if (w->column > 0 && w->column + (int)(strlen(separator) + strlen(item)) > w->width) {
		put(w, "\n");
		w->column = 0;
		put(w, w->indent);
	} else {
		put(w, separator);
	}
	put(w, item);
}

void wrap_add_cpu(struct wrap *w, const char *separator, int id, double load, unsigned unsafe)
{
	char text[FIGURE_STRLEN];

	wrap_add(w, separator, "cpu%d %s", id, load_text(load, NAN, unsafe, text));
}

void wrap_end(struct wrap *w)
{
	put(w, "\n");
	w->column = 0;
	if (w->text == NULL)
		report_flush();
}
