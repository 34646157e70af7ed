#include "lib/send/text.h"

#include "lib/report/group.h"
#include "lib/report/receipt.h"
#include "lib/report/units.h"
#include "lib/report/wrap.h"
#include "lib/send/sender.h"

#define CPU_ROWS   16  /* CPUs with a row each, whatever they do */
#define TCP_STRLEN 128 /* what TCP did in an interval */

/* A number with its decimals, or `-` where it is not known. */
static const char *number(char buf[CELL], int places, double value)
{
	if (isfinite(value))
		snprintf(buf, CELL, "%.*f", places, value);
	else
		strcpy(buf, "-");
	return buf;
}

/*
 * The rows.  A count that is whole has its thousands apart.
 */

static const char *whole(double value, char buf[CELL])
{
	return isnan(value) ? NULL : grouped(value, buf);
}

static const char *decimal(double value, int places, char buf[CELL])
{
	return isnan(value) ? NULL : number(buf, places, value);
}

static const char *share(double value, char buf[CELL])
{
	if (isnan(value))
		return NULL;
	snprintf(buf, CELL, "%.1f%%", percent(value));
	return buf;
}

enum transfer_figure { BYTES, SECONDS, RATE, METHOD, CALLS, CALL_RATE };

static const char *transfer_cell(const struct figures *f, int which, char buf[CELL])
{
	switch ((enum transfer_figure)which) {
	case BYTES: return whole((double)f->bytes, buf);
	case SECONDS: return decimal(f->seconds, decimals(f->seconds), buf);
	case RATE: return whole(kbytes_per_sec(f->bytes, f->seconds), buf);
	case METHOD: return f->method[0] != '\0' ? f->method : NULL;
	case CALLS: return whole((double)f->calls, buf);
	case CALL_RATE: return whole(per_second(f->calls, f->seconds), buf);
	}
	return NULL;
}

static const struct row transfer_rows[] = {
	{"bytes", transfer_cell, BYTES}, {"seconds", transfer_cell, SECONDS},
	{"KiB/s", transfer_cell, RATE},  {"method", transfer_cell, METHOD},
	{"calls", transfer_cell, CALLS}, {"calls/s", transfer_cell, CALL_RATE},
};

enum load_figure { LOAD, TASKS, SWITCHES, INSTRUMENT, CPUS, SLOWED, COST };

/* `61.2%? +-0.4%`, with the mark where the load is unsafe */
static const char *load_text(const struct figures *f, char buf[CELL])
{
	snprintf(buf, CELL, "%.1f%%%s", percent(f->host.load), unsafe_mark(f->host.unsafe));
	if (!isnan(f->host.uncertainty))
		string_append(buf, CELL, " +-%.1f%%", 100 * f->host.uncertainty);
	return buf;
}

static const char *cost_text(double us, unsigned unsafe, char buf[CELL])
{
	if (isnan(us))
		return NULL;
	snprintf(buf, CELL, "%.3f%s", us, unsafe_mark(unsafe));
	return buf;
}

static const char *instrument_text(const char *instrument)
{
	if (strcmp(instrument, LOAD_BY_IDLE) == 0)
		return "idle time";
	return strcmp(instrument, LOAD_BY_SOAKING) == 0 ? "soaking" : NULL;
}

static const char *load_cell(const struct figures *f, int which, char buf[CELL])
{
	if (isnan(f->host.load)) /* there is none, or a reason below */
		return which == LOAD && f->host.unsafe != 0 ? "-" : NULL;
	switch ((enum load_figure)which) {
	case LOAD: return load_text(f, buf);
	case TASKS: return share(f->host.tasks, buf);
	case SWITCHES: return whole(f->host.switches, buf);
	case INSTRUMENT: return instrument_text(f->host.instrument);
	case CPUS: return decimal(f->host.cpus, rint(f->host.cpus) == f->host.cpus ? 0 : 2, buf);
	case SLOWED: return share(f->host.slowed, buf);
	case COST: return cost_text(figures_cost(f), f->host.unsafe, buf);
	}
	return NULL;
}

/* The k-th of the reasons that make a load unsafe. */
/* NOLINTNEXTLINE(readability-non-const-parameter): a cell has a buffer to fill */
static const char *reason_cell(const struct figures *f, int k, char buf[CELL])
{
	int i;

	(void)buf;
	for (i = 0; i < UNSAFE_REASONS; i++)
		if (f->host.unsafe & 1u << i && k-- == 0)
			return limits_name(i);
	return NULL;
}

enum host_figure { INTERRUPTS, PACKETS_IN, PACKETS_OUT };

static const char *host_cell(const struct figures *f, int which, char buf[CELL])
{
	switch ((enum host_figure)which) {
	case INTERRUPTS: return whole(f->host.rates.interrupts, buf);
	case PACKETS_IN: return whole(f->host.rates.packets_in, buf);
	case PACKETS_OUT: return whole(f->host.rates.packets_out, buf);
	}
	return NULL;
}

static const struct row host_rows[] = {{"interrupts/s", host_cell, INTERRUPTS},
				       {"packets/s in", host_cell, PACKETS_IN},
				       {"packets/s out", host_cell, PACKETS_OUT}};

enum tcp_figure { RETRANSMITS, RTT, MIN_RTT, WINDOW, MSS };

static const char *tcp_cell(const struct figures *f, int which, char buf[CELL])
{
	switch ((enum tcp_figure)which) {
	case RETRANSMITS: return whole(f->tcp.retransmits, buf);
	case RTT: return decimal(f->tcp.rtt / 1000, 3, buf);
	case MIN_RTT: return decimal(f->tcp.min_rtt / 1000, 3, buf);
	case WINDOW: return whole(f->tcp.cwnd / 1024, buf);
	case MSS: return whole(f->tcp.mss, buf);
	}
	return NULL;
}

static const struct row tcp_rows[] = {{"retransmits", tcp_cell, RETRANSMITS},
				      {"RTT, ms", tcp_cell, RTT},
				      {"  minimum, ms", tcp_cell, MIN_RTT},
				      {"window, KiB", tcp_cell, WINDOW},
				      {"MSS, bytes", tcp_cell, MSS}};

#define ROWS(rows) (rows), (int)(sizeof(rows) / sizeof((rows)[0]))

/*
 * The groups.
 */

static void print_transfer(const struct send_result *res, int streams)
{
	char text[RECEIPTS_STRLEN];
	const bool known = res->receipts > 0;
	const struct columns c = {{&res->sent, known ? &res->received : NULL},
				  {"sender", "receiver"}};

	group_print("transfer", c, ROWS(transfer_rows));
	if (!known)
		report("    no receipt: what the receiver got is not known\n");
	else if (result_receipts_text(res, streams, text)[0] != '\0')
		report("    %s: the receiver's figures omit them\n", text);
}

/* Where both ends are this host, it has one load, which one of them measured, and one of each rate. */
static struct columns host_columns(const struct send_result *res, const struct figures *local)
{
	if (res->local)
		return (struct columns){{local, NULL}, {"", NULL}};
	return (struct columns){{&res->sent, &res->received}, {"sender", "receiver"}};
}

/* Why a receipt has no load.  One of an older version has no reason. */
static const char *no_load_text(const char *word)
{
	static const char *const texts[][2] = {
		{NO_LOAD_OFF, "zcs measures it with -c"},
		{NO_LOAD_HELD, "another program there soaks the CPUs"},
		{NO_LOAD_BASELINE, "zcs has no baseline of its host when idle"},
		{NO_LOAD_SHORT, "the transfer ended before its soakers had settled"}};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(word, texts[i][0]) == 0)
			return texts[i][1];
	return "its receipt has none (zcs -c measures it)";
}

static void print_load(const struct send_result *res, int streams)
{
	const struct figures *s = &res->sent, *r = &res->received;
	const bool is_remote = isnan(s->host.load) && (!isnan(r->host.load) || s->host.unsafe == 0);
	const struct columns c = host_columns(res, is_remote ? r : s);
	char text[BASELINES_STRLEN];
	struct row rows[UNSAFE_REASONS + 7];
	int i, n = 0;

	rows[n++] = (struct row){"load", load_cell, LOAD};
	rows[n++] = (struct row){"  of it, tasks", load_cell, TASKS};
	rows[n++] = (struct row){"measured by", load_cell, INSTRUMENT};
	for (i = 0; i < UNSAFE_REASONS; i++)
		rows[n++] = (struct row){i == 0 ? "unsafe: why" : "", reason_cell, i};
	rows[n++] = (struct row){"CPUs measured", load_cell, CPUS};
	rows[n++] = (struct row){"idle work slowed by", load_cell, SLOWED};
	rows[n++] = (struct row){"switches/s", load_cell, SWITCHES};
	rows[n++] = (struct row){"cost, us/KiB", load_cell, COST};
	if (!group_print(res->local ? "load of this host, both ends" : "load", c, rows, n))
		return;
	if (s->host.baseline == BASELINE_OWN)
		report("    %s%s\n",
		       res->local ? "" : "sender: ", baselines_format(s->host.drift, text));
	if (!res->local && res->receipts > 0 && isnan(r->host.load))
		report("    receiver: no load: %s\n", no_load_text(r->no_load));
	if (res->receipts > 0 && r->clients > (uint64_t)streams)
		report("    the receiver had %ju clients during the transfer: "
		       "its load is that of all\n",
		       (uintmax_t)r->clients);
}

/*
 * The TCP figures of one stream, or what those of several have in common: the sums of retransmits
 * and of times.
 */
static void tcp_sum(const struct send_result *res, int streams, struct figures *sum)
{
	const struct tcp_figures *t;
	int i;

	*sum = res->stream[0].sent;
	for (i = 1; i < streams; i++) {
		t = &res->stream[i].sent.tcp;
		sum->tcp.retransmits += t->retransmits;
		sum->tcp.busy += t->busy;
		sum->tcp.rwnd_limited += t->rwnd_limited;
		sum->tcp.sndbuf_limited += t->sndbuf_limited;
		sum->tcp.mss = t->mss == sum->tcp.mss ? t->mss : NAN;
		sum->tcp.rtt = sum->tcp.min_rtt = sum->tcp.cwnd = NAN;
	}
}

static void print_tcp(const struct send_result *res, int streams)
{
	const struct tcp_figures *t;
	struct figures sum;
	double busy;

	tcp_sum(res, streams, &sum);
	t = &sum.tcp;
	if (!group_print("TCP", (struct columns){{&sum, NULL}, {"sender", NULL}}, ROWS(tcp_rows)) ||
	    isnan(t->busy + t->rwnd_limited + t->sndbuf_limited))
		return;
	busy = t->busy > 0 ? t->busy : INFINITY;
	report("    limited by the receiver's window %.1f%%, the send buffer %.1f%% of busy "
	       "time\n",
	       100 * t->rwnd_limited / busy, 100 * t->sndbuf_limited / busy);
}

/* `0 to 6`: the CPUs to which a stream and its thread at the server are bound. */
static const char *bound_text(const struct stream_result *s, char buf[CELL])
{
	const double to = s->has_receipt ? s->received.cpu : NAN;

	number(buf, 0, s->sent.cpu);
	if (!isnan(to))
		string_append(buf, CELL, " to %.0f", to);
	return buf;
}

static bool is_bound(const struct stream_result *s)
{
	return !isnan(s->sent.cpu) || (s->has_receipt && !isnan(s->received.cpu));
}

static void print_streams(const struct send_result *res, int streams)
{
	const struct stream_result *s;
	char t[5][CELL];
	bool bound = false;
	int i;

	if (streams < 2)
		return;
	for (i = 0; i < streams; i++)
		bound |= is_bound(&res->stream[i]);
	report("  streams%s %13s %13s %11s %13s\n", bound ? "         CPU" : "", "KiB/s",
	       "retransmits", "RTT, ms", "window, KiB");
	for (s = res->stream, i = 1; i <= streams; i++, s++) {
		report("  %7d", i);
		if (bound)
			report(" %11s", bound_text(s, t[0]));
		report(" %13s %13s %11s %13s\n",
		       grouped(kbytes_per_sec(s->sent.bytes, s->sent.seconds), t[1]),
		       grouped(s->sent.tcp.retransmits, t[2]),
		       number(t[3], 3, s->sent.tcp.rtt / 1000),
		       grouped(s->sent.tcp.cwnd / 1024, t[4]));
	}
}

/* Prints the load and the cost of a CPU as a row, or adds the load to the line of others. */
static void print_cpu(const struct send_result *res, const struct cpu_result *c,
		      struct wrap *others)
{
	const struct load *l = &c->load;
	char load[CELL], cost[CELL];
	const char *us = cost_text(cost_us_per_kib(l->load, 1, res->sent.bytes, l->seconds),
				   l->unsafe, cost);

	if (others != NULL) {
		wrap_add_cpu(others, others->column == 0 ? "    others: " : ", ", c->id, l->load,
			     l->unsafe);
		return;
	}
	snprintf(load, sizeof(load), "%.1f%%%s +-%.1f%%", percent(l->load), unsafe_mark(l->unsafe),
		 100 * l->uncertainty);
	report("    cpu%-17d %20s %20s%s%s\n", c->id, load, us != NULL ? us : "-",
	       c->role[0] != '\0' ? "  " : "", c->role);
}

/* Where the CPUs are many, those without a role in the transfer have no row of their own. */
static void print_cpus(const struct send_result *res)
{
	const bool many = res->n_cpus > CPU_ROWS;
	const struct cpu_result *c, *end = res->cpu + res->n_cpus;
	struct wrap others;

	if (res->n_cpus == 0)
		return;
	report("  load by CPU %31s %20s\n", "load", "cost, us/KiB");
	for (c = res->cpu; c < end; c++)
		if (!many || c->role[0] != '\0')
			print_cpu(res, c, NULL);
	wrap_init(&others, NULL, 0, WRAP_WIDTH, "      ");
	for (c = res->cpu; c < end; c++)
		if (many && c->role[0] == '\0')
			print_cpu(res, c, &others);
	if (others.column > 0)
		wrap_end(&others);
}

static void print_zerocopy(const struct stream_result *s, int streams)
{
	struct zerocopy_figures sum = {0};
	char copied[CELL], sends[CELL];
	int i;

	if (!s->has_zerocopy)
		return;
	for (i = 0; i < streams; i++) {
		sum.sends += s[i].zerocopy.sends;
		sum.copied += s[i].zerocopy.copied;
		sum.incomplete += s[i].zerocopy.incomplete;
	}
	report("  zerocopy: the kernel copied %s of %s send%s after all (%.1f%%)\n",
	       grouped((double)sum.copied, copied), grouped((double)sum.sends, sends),
	       plural(sum.sends), sum.sends > 0 ? 100 * (double)sum.copied / (double)sum.sends : 0);
	if (sum.incomplete > 0)
		report("  zerocopy: %s send%s %s never completed\n",
		       grouped((double)sum.incomplete, sends), plural(sum.incomplete),
		       sum.incomplete == 1 ? "was" : "were");
}

void text_title(const struct send_options *opt)
{
	if (opt->title != NULL && !opt->quiet)
		report("  title: %s\n", printable(opt->title));
}

void text_target(const struct send_options *opt, const struct send_result *res)
{
	const struct target *t = res->target;
	char text[CELL];
	struct wrap w;

	text_title(opt);
	wrap_init(&w, NULL, 0, WRAP_WIDTH, "    ");
	wrap_add(&w, "", "  to %s%s%s", t->name, t->interface[0] != '\0' ? " via " : "",
		 printable(t->interface));
	wrap_add(&w, ", ", "%s", res->congestion);
	if (opt->cork)
		wrap_add(&w, ", ", "corked");
	if (opt->nodelay)
		wrap_add(&w, ", ", "nodelay");
	if (res->mptcp)
		wrap_add(&w, ", ", "MPTCP");
	if (opt->sock.dscp > 0)
		wrap_add(&w, ", ", "DSCP %d", opt->sock.dscp);
	if (opt->raw)
		wrap_add(&w, ", ", "raw");
	if (opt->pace > 0)
		wrap_add(&w, ", ", "paced to %s KiB/s", grouped((double)opt->pace / 1024, text));
	if (opt->streams > 1)
		wrap_add(&w, ", ", "%d streams", opt->streams);
	wrap_end(&w);
	if (res->set->builtin)
		report("  %d files of %d KiB%s, built in", BUILTIN_FILES, BUILTIN_SIZE / 1024,
		       opt->zeros ? " of zeros" : "");
	else
		report("  %zu file%s of %s byte%s", res->set->n, plural(res->set->n),
		       grouped((double)res->set->bytes, text), plural(res->set->bytes));
	if (res->set->skipped > 0)
		report(", %s skipped", grouped((double)res->set->skipped, text));
}

void text_transfer(const struct send_options *opt, const struct send_result *res)
{
	const struct figures *sent = &res->sent;
	char rate[RATE_STRLEN], n[CELL];

	report("%s\n", rate_text(sent, rate));
	if (opt->quiet)
		return;
	text_target(opt, res);
	report(", in %s loop%s\n", grouped((double)res->loops, n), plural(res->loops));
	if (opt->warmup > 0)
		report("  after %g s of warm-up, %s byte%s\n", opt->warmup,
		       grouped((double)sent->warmup, n), plural(sent->warmup));
	if (res->receipts == opt->streams && res->missing == 0)
		report("  all bytes sent were received\n");
	print_transfer(res, opt->streams);
	print_load(res, opt->streams);
	print_cpus(res);
	group_print("interrupts and packets", host_columns(res, sent), ROWS(host_rows));
	print_tcp(res, opt->streams);
	print_streams(res, opt->streams);
	print_zerocopy(res->stream, opt->streams);
}

/* What TCP did in an interval, of one stream or, without a window and a time, of the sum. */
static const char *interval_tcp(const struct tcp_figures *t, bool is_stream, char buf[TCP_STRLEN])
{
	char a[CELL], b[CELL];

	snprintf(buf, TCP_STRLEN, "%s retransmit%s", number(a, 0, t->retransmits),
		 plural(isnan(t->retransmits) ? 0 : (uint64_t)t->retransmits));
	if (is_stream)
		string_append(buf, TCP_STRLEN, ", window %s KiB, RTT %s ms",
			      number(a, 0, t->cwnd / 1024), number(b, 3, t->rtt / 1000));
	return buf;
}

void text_interval(const struct send_options *opt, const struct figures *stream,
		   const struct figures *sum, double start, bool measured)
{
	const bool one = opt->streams == 1;
	const char *warm_up = measured ? "" : ", warm-up";
	struct tcp_figures t = one ? stream->tcp : sum->tcp;
	char rate[RATE_STRLEN], tcp[TCP_STRLEN];
	int i;

	t.retransmits = sum->tcp.retransmits;
	interval_text(sum, start, rate);
	interval_tcp(&t, one, tcp);
	if (isnan(sum->host.load))
		report("%s, %s%s\n", rate, tcp, warm_up);
	else
		report("%s%s\n  %s\n", rate, warm_up, tcp);
	for (i = 0; !one && !opt->quiet && i < opt->streams; i++)
		report("  stream %d: %s, %s%s\n", i + 1, interval_text(&stream[i], start, rate),
		       interval_tcp(&stream[i].tcp, true, tcp), warm_up);
}
