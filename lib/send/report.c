#include "lib/send/report.h"

#include "lib/report/units.h"
#include "lib/send/report_json.h"
#include "lib/send/sender.h"

#define COLUMN 24 /* bytes of a figure in a column, with its unit */

/* `%.Nf` and a unit, or `-` where it is not known. */
static const char *number(char buf[COLUMN], int places, double value, const char *unit)
{
	if (isfinite(value))
		snprintf(buf, COLUMN, "%.*f%s", places, value, unit);
	else
		strcpy(buf, "-");
	return buf;
}

/*
 * What is printed while the streams send.
 */

void report_clear_progress(struct send_report *r)
{
	if (r->has_progress)
		fputs("\r\033[K", stderr);
	r->has_progress = false;
}

/* The lock of stdout keeps a thread that dies out of an interval that is being written. */
void report_die(void *report, const char *why)
{
	struct send_report *r = report;

	flockfile(stdout);
	report_clear_progress(r);
	if (r->opt->json)
		json_fail(&r->json, why);
	else if (r->comparison != NULL && r->comparison->plan->rounds > 0)
		comparison_print(r->comparison, r->opt);
}

bool progress_wanted(const struct send_options *opt)
{
	return !opt->quiet && !opt->json && opt->interval <= 0 && opt->debug == 0 &&
	       isatty(STDERR_FILENO) && tcgetpgrp(STDERR_FILENO) == getpgrp();
}

void report_progress(struct send_report *r, double seconds, uint64_t bytes, uint64_t set_bytes,
		     double rate, const char *phase)
{
	const struct send_options *opt = r->opt;
	char left[48] = "";

	/* The runs that are to come take as long as those before. */
	if (r->run > 1)
		snprintf(left, sizeof(left), ", %.0f s left",
			 seconds_between(r->began_ns, now_ns()) / (r->run - 1) *
				 (r->runs - r->run + 1));
	fputs("\r", stderr);
	if (r->runs > 1)
		fprintf(stderr, "run %d of %d%s: ", r->run, r->runs, left);
	fprintf(stderr, "%.1f s", seconds);
	if (opt->seconds > 0)
		fprintf(stderr, " of %g", opt->seconds + opt->warmup);
	else if (set_bytes > 0)
		fprintf(stderr, ", %.0f%%",
			100 * (double)bytes / (double)set_bytes / opt->loops / opt->streams);
	fprintf(stderr, ": %.0f kbytes/sec%s\033[K", rate, phase);
	r->has_progress = true;
}

void report_run(struct send_report *r, int run, int runs)
{
	if (run == 1)
		r->began_ns = now_ns();
	r->run = run;
	r->runs = runs;
}

void report_interval(struct send_report *r, const struct figures *stream, const struct figures *sum,
		     double start, bool measured)
{
	struct json *j = &r->json;
	char rate[RATE_STRLEN], a[COLUMN], b[COLUMN];
	int i;

	flockfile(stdout);
	if (r->opt->json) {
		json_open(j, NULL, '{');
		json_open(j, "streams", '[');
		for (i = 0; i < r->opt->streams; i++)
			json_interval(j, &stream[i], i + 1, start, measured);
		json_close(j, ']');
		json_interval(j, sum, 0, start, measured);
		json_close(j, '}');
	} else {
		report("%s, %s retransmits", rate_text(sum, rate),
		       number(a, 0, sum->tcp.retransmits, ""));
		if (r->opt->streams == 1)
			report(", window %s KiB, RTT %s ms",
			       number(a, 0, stream->tcp.cwnd / 1024, ""),
			       number(b, 3, stream->tcp.rtt / 1000, ""));
		report("%s\n", measured ? "" : ", warm-up");
	}
	funlockfile(stdout);
}

/*
 * The report as text.
 */

/* Prints a figure of both ends, unless neither is known. */
static void row(const char *name, int places, double left, double right, const char *unit)
{
	char a[COLUMN], b[COLUMN];

	if (!isnan(left) || !isnan(right))
		report("  %-15s %18s %18s\n", name, number(a, places, left, unit),
		       number(b, places, right, unit));
}

/* A load alone, with its mark. */
static const char *share_text(const struct figures *f, char buf[COLUMN])
{
	return number(buf, 1, percent(f->load), f->unsafe != 0 ? "%?" : "%");
}

/* `61.2% +-0.4%`, or `61.2%? +-0.4%` where it is unsafe */
static const char *load_text(const struct figures *f, char buf[COLUMN])
{
	share_text(f, buf);
	if (!isnan(f->load) && !isnan(f->uncertainty))
		snprintf(buf + strlen(buf), COLUMN - strlen(buf), " +-%.1f%%",
			 100 * f->uncertainty);
	return buf;
}

/* Whether it has no fraction: one that is not known has none. */
static bool is_whole(double v)
{
	return isnan(v) || rint(v) == v;
}

/* The k-th reason of a set; `-` in place of the first of none, and else nothing. */
static const char *reason_text(unsigned unsafe, int k)
{
	int i;

	for (i = 0; i < UNSAFE_REASONS; i++)
		if (unsafe & 1u << i && k-- == 0)
			return limits_name(i);
	return unsafe == 0 && k == 0 ? "-" : "";
}

/* A row for each reason, the names of both ends side by side. */
static void report_unsafe(unsigned left, unsigned right)
{
	int k;

	if ((left | right) == 0)
		return;
	for (k = 0; *reason_text(left, k) != '\0' || *reason_text(right, k) != '\0'; k++)
		report("  %-15s %18s %18s\n", k == 0 ? "unsafe: why" : "", reason_text(left, k),
		       reason_text(right, k));
}

/*
 * Prints the figures of both ends.  Those of the kernel's accounting follow the measured load, if
 * they are not next to nothing.
 */
static void report_sides(const struct send_result *res)
{
	const bool known = res->receipts > 0;
	const struct figures *s = &res->sent, *r = &res->received;
	char a[COLUMN], b[COLUMN];
	int i;

	report("  %-15s %18s %18s\n", "", "sender", known ? "receiver" : "no receipt");
	row("bytes", 0, (double)s->bytes, known ? (double)r->bytes : NAN, "");
	row("seconds", decimals(s->seconds), s->seconds, r->seconds, "");
	row("kbytes/sec", 0, kbytes_per_sec(s->bytes, s->seconds),
	    known ? kbytes_per_sec(r->bytes, r->seconds) : NAN, "");
	if (!isnan(s->load) || !isnan(r->load)) {
		report("  %-15s %18s %18s\n", res->local ? "load, both ends" : "load",
		       load_text(s, a), load_text(r, b));
		report_unsafe(s->unsafe, r->unsafe);
		row("CPUs", is_whole(s->cpus) && is_whole(r->cpus) ? 0 : 2, s->cpus, r->cpus, "");
		row("by tasks", 1, percent(s->tasks), percent(r->tasks), "%");
		row("slowed", 1, percent(s->slowed), percent(r->slowed), "%");
		row("us/KiB", 3, figures_cost(s), figures_cost(r), "");
	}
	report("  %-15s %18s %18s\n", "calls by", s->method,
	       known && r->method[0] ? r->method : "-");
	row("calls", 0, (double)s->calls, known ? (double)r->calls : NAN, "");
	row("calls/s", 0, per_second(s->calls, s->seconds),
	    known ? per_second(r->calls, r->seconds) : NAN, "");
	row("interrupts/s", 0, s->rates.interrupts, r->rates.interrupts, "");
	row("packets/s in", 0, s->rates.packets_in, r->rates.packets_in, "");
	row("packets/s out", 0, s->rates.packets_out, r->rates.packets_out, "");
	for (i = 0; i < CPU_COLUMNS; i++)
		if (percent(s->rates.cpu[i]) >= 0.05 || percent(r->rates.cpu[i]) >= 0.05)
			row(cpu_column[i], 1, percent(s->rates.cpu[i]), percent(r->rates.cpu[i]),
			    "%");
}

/* Prints the destination, the options and the file set. */
static void report_what(const struct send_options *opt, const struct send_result *res)
{
	report("  to %s%s%s, %s%s%s%s", res->target->name,
	       res->target->interface[0] != '\0' ? " via " : "", res->target->interface,
	       res->congestion, opt->cork ? ", corked" : "", opt->nodelay ? ", nodelay" : "",
	       opt->raw ? ", raw" : "");
	if (res->mptcp)
		report(", MPTCP");
	if (opt->sock.dscp > 0)
		report(", DSCP %d", opt->sock.dscp);
	if (opt->pace > 0)
		report(", paced to %.0f kbytes/sec", (double)opt->pace / 1024);
	if (opt->streams > 1)
		report(", %d streams", opt->streams);
	if (res->set->builtin)
		report("; %d files of %d KiB%s, built in", BUILTIN_FILES, BUILTIN_SIZE / 1024,
		       opt->zeros ? " of zeros" : "");
	else
		report("; %zu files of %" PRIu64 " bytes", res->set->n, res->set->bytes);
}

static void report_streams(const struct send_result *res, int streams)
{
	const struct stream_result *s = res->stream;
	char t[6][COLUMN];
	int i;

	report("  stream  CPU to CPU     kbytes/sec  retransmits   RTT ms  window KiB  "
	       "delivery Gbit/s\n");
	for (i = 0; i < streams; i++, s++)
		report("  %6d %4s %6s %14.0f %12s %8s %11s %16s\n", i + 1,
		       number(t[0], 0, s->sent.cpu, ""),
		       number(t[1], 0, s->has_receipt ? s->received.cpu : NAN, ""),
		       kbytes_per_sec(s->sent.bytes, s->sent.seconds),
		       number(t[2], 0, s->sent.tcp.retransmits, ""),
		       number(t[3], 3, s->sent.tcp.rtt / 1000, ""),
		       number(t[4], 0, s->sent.tcp.cwnd / 1024, ""),
		       number(t[5], 3, s->sent.tcp.delivery_rate * 8 / 1e9, ""));
}

static void report_tcp(const struct tcp_figures *t)
{
	const double busy = t->busy > 0 ? t->busy : INFINITY;

	if (isnan(t->mss + t->retransmits)) {
		report("  TCP: not known\n");
		return;
	}
	report("  TCP: %.0f retransmits, RTT %.3f ms (least %.3f), window %.0f KiB, MSS %.0f, "
	       "delivery %.3f Gbit/s\n",
	       t->retransmits, t->rtt / 1000, t->min_rtt / 1000, t->cwnd / 1024, t->mss,
	       t->delivery_rate * 8 / 1e9);
	report("  limited by the receiver's window %.1f%%, by the send buffer %.1f%% "
	       "of the time\n",
	       100 * t->rwnd_limited / busy, 100 * t->sndbuf_limited / busy);
}

static void report_zerocopy(const struct stream_result *s, int streams)
{
	struct zerocopy_figures sum = {0};
	int i;

	if (!s->has_zerocopy)
		return;
	for (i = 0; i < streams; i++) {
		sum.sends += s[i].zerocopy.sends;
		sum.copied += s[i].zerocopy.copied;
		sum.incomplete += s[i].zerocopy.incomplete;
	}
	report("  zerocopy: %ju of %ju sends were copied by the kernel after all (%.1f%%)\n",
	       (uintmax_t)sum.copied, (uintmax_t)sum.sends,
	       sum.sends > 0 ? 100 * (double)sum.copied / (double)sum.sends : 0);
	if (sum.incomplete > 0)
		report("  zerocopy: %" PRIu64 " sends were never completed\n", sum.incomplete);
}

static void report_text(const struct send_options *opt, const struct send_result *res)
{
	const struct figures *sent = &res->sent;
	char rate[RATE_STRLEN], text[BASELINES_STRLEN];
	const struct cpu_result *c;

	report("%s\n", rate_text(sent, rate));
	if (opt->quiet)
		return;
	report_what(opt, res);
	report(", in %" PRIu64 " loops\n", res->loops);
	if (opt->warmup > 0)
		report("  after %g s of warm-up, %" PRIu64 " bytes\n", opt->warmup, sent->warmup);
	report_sides(res);
	if (sent->baseline == BASELINE_OWN)
		report("  load: %s\n", baselines_format(sent->drift, text));
	if (res->receipts == opt->streams && res->missing == 0)
		report("  all bytes sent were received\n");
	if (res->receipts > 0 && res->received.clients > (uint64_t)opt->streams)
		report("  the receiver had %ju clients during the transfer: its load is that of all\n",
		       (uintmax_t)res->received.clients);
	if (opt->streams > 1)
		report_streams(res, opt->streams);
	else
		report_tcp(&res->stream[0].sent.tcp);
	report_zerocopy(res->stream, opt->streams);
	for (c = res->cpu; c < res->cpu + res->n_cpus; c++)
		report("  CPU %-4d load %5.1f%%%s +-%.1f%%, %.3f us/KiB %s\n", c->id,
		       percent(c->load.load), unsafe_mark(c->load.unsafe),
		       100 * c->load.uncertainty,
		       cost_us_per_kib(c->load.load, 1, sent->bytes, c->load.seconds), c->role);
}

/* Prints once what the runs of a comparison send, and where to. */
static void report_comparison(struct send_report *r, const struct send_result *res)
{
	if (!r->has_what && !r->opt->quiet) {
		report_what(r->opt, res);
		if (res->sent.baseline == BASELINE_OWN)
			report("; own baselines");
		report("\n");
	}
	r->has_what = true;
}

/*
 * The beginning and the end of a report.
 */

/* Prints on stderr, once, what this host is. */
static void note_start(struct send_report *r, const struct link *link)
{
	if (!r->has_noted)
		environment_note(&r->environment, link);
	r->has_noted = true;
}

/* Prints on stderr what -d adds to a report of both ends. */
static void note_end(const struct send_result *res)
{
	const struct figures *received = &res->received;

	if (received->version[0] != '\0' || received->kernel[0] != '\0')
		warnx("environment: the server has zc %s, kernel %s", received->version,
		      received->kernel);
	if (!isnan(res->sent.rates.softnet_dropped))
		warnx("environment: softnet during the run: %.0f packets dropped, %.0f polls cut short",
		      res->sent.rates.softnet_dropped, res->sent.rates.softnet_squeezed);
	if (!isnan(received->rates.softnet_dropped))
		warnx("environment: softnet at the server: %.0f packets dropped, %.0f polls cut short",
		      received->rates.softnet_dropped, received->rates.softnet_squeezed);
}

void report_start(struct send_report *r, const struct target *target, const struct send_result *res)
{
	struct link link;

	if (!r->opt->json && r->opt->debug == 0)
		return;
	link_read(&link, target->interface);
	if (r->opt->debug > 0)
		note_start(r, &link);
	if (r->opt->json)
		json_start(&r->json, r->opt, &r->environment, &link, res);
}

void report_end(struct send_report *r, const struct send_result *res, const char *error)
{
	if (r->opt->debug > 0 && res != NULL)
		note_end(res);
	if (r->opt->json) {
		json_close(&r->json, ']');
		if (res != NULL)
			json_end(&r->json, r->opt, res);
		json_report_close(&r->json, error);
	} else if (res != NULL && r->is_comparison) {
		report_comparison(r, res);
	} else if (res != NULL) {
		report_text(r->opt, res);
	}
}
