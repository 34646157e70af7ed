#include "lib/report/intervals.h"

#include "lib/report/stalls.h"

static void print_heading(const struct intervals *s)
{
	printf("%s%15s %13s %16s", s->timestamps ? "             " : "", "interval, s", "KiB/s",
	       "rate");
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

	printf(" %13s %16s", grouped(kbytes_per_sec(f->bytes, f->seconds), t[0]),
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
	const double rate = kbytes_per_sec(f->bytes, f->seconds);
	const double tenths = s->period * 10;
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
	if (s->n == 0 || rate < s->least)
		s->least = rate;
	if (s->n == 0 || rate > s->most)
		s->most = rate;
	s->n++;
	s->bytes += f->bytes;
	s->seconds += f->seconds;
}

void intervals_part(const struct intervals *s, const struct figures *f, const char *name)
{
	printf("%s%15s", s->timestamps ? "             " : "", name);
	print_figures(s, f);
	printf("\n");
}

void intervals_end(struct intervals *s)
{
	char t[3][FIGURE_STRLEN];

	if (s->n > 1)
		printf("%" PRIu64 " intervals, KiB/s: least %s, mean %s, greatest %s\n", s->n,
		       grouped(s->least, t[0]), grouped(kbytes_per_sec(s->bytes, s->seconds), t[1]),
		       grouped(s->most, t[2]));
	s->begun = false;
	s->n = s->bytes = 0;
	s->seconds = 0;
}
