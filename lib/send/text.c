#include "lib/send/text.h"

#include "lib/report/units.h"

#define TEXT_STALLS 3             /* whose times are printed */
#define CPU_SHOWN   0.01          /* the load from which a CPU has a row, whatever it does */
#define CELL        FIGURE_STRLEN /* bytes of a figure in a column */

/*
 * The groups.
 */

static void print_transfer(const struct send_result *res, int streams)
{
	const bool known = res->receipts > 0;
	char text[RECEIPTS_STRLEN];

	rows_print("transfer", GROUP_TRANSFER, &res->sent, known ? &res->received : NULL);
	if (!known)
		report("    no receipt: what the receiver got is not known\n");
	else if (result_receipts_text(res, streams, text)[0] != '\0')
		report("    %s: the receiver's figures omit them\n", text);
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

/* Where both ends are this host, it has one load, which one of them measured. */
static void print_load(const struct send_result *res, int streams)
{
	const struct figures *s = &res->sent, *r = &res->received, *host = result_host(res);
	char text[BASELINES_STRLEN];

	if (!rows_print(res->local ? "load of this host, both ends" : "load", GROUP_LOAD, host,
			res->local ? host : r))
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

/* `5 to 6`: the CPUs to which a stream and its thread at the server are bound. */
static const char *bound_text(const struct stream_result *s, char buf[CELL])
{
	decimal(s->sent.cpu, 0, buf);
	if (s->has_receipt && !isnan(s->received.cpu))
		string_append(buf, CELL, " to %.0f", s->received.cpu);
	return buf;
}

static void print_streams(const struct stream_result *s, int streams)
{
	char t[5][CELL];
	bool bound = false;
	int i;

	if (streams < 2)
		return;
	for (i = 0; i < streams; i++)
		bound |= strcmp(bound_text(&s[i], t[0]), "-") != 0;
	report("  streams%s %13s %13s %11s %13s\n", bound ? "         CPU" : "", "KiB/s",
	       "retransmits", "RTT, ms", "cwnd, KiB");
	for (i = 1; i <= streams; i++, s++) {
		report("  %7d", i);
		if (bound)
			report(" %11s", bound_text(s, t[0]));
		report(" %13s %13s %11s %13s\n",
		       grouped(kbytes_per_sec(s->sent.bytes, s->sent.seconds), t[1]),
		       grouped(s->sent.tcp.retransmits, t[2]),
		       decimal(s->sent.tcp.rtt / 1000, 3, t[3]),
		       grouped(s->sent.tcp.cwnd / 1024, t[4]));
	}
}

/* Prints the load and the cost of each CPU that has a role in the transfer, or a load. */
static void print_cpus(const struct send_result *res)
{
	char load[CELL], cost[CELL];
	const struct cpu_result *c;
	const struct load *l;
	int i;

	if (res->n_cpus > 0)
		report("  load by CPU %31s %20s\n", "load", "cost, us/KiB");
	for (i = 0; i < res->n_cpus; i++) {
		c = &res->cpu[i];
		l = &c->figures.host;
		if (c->role[0] != '\0' || l->load >= CPU_SHOWN)
			report("    cpu%-17d %20s %20s%s%s\n", c->id,
			       load_text(l->load, l->uncertainty, l->unsafe, load),
			       cost_text(figures_cost(&c->figures), NAN, l->unsafe, cost),
			       c->role[0] != '\0' ? "  " : "", c->role);
	}
}

void text_title(const struct send_options *opt)
{
	if (opt->title != NULL && !opt->quiet)
		report("  title: %s\n", printable(opt->title));
}

void text_target(const struct send_options *opt, const struct send_result *res)
{
	const struct target *t = res->target;
	struct wrap w = {.width = WRAP_WIDTH, .indent = "    "};
	char text[CELL];

	text_title(opt);
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
	report("\n");
	if (res->set->builtin)
		report("  %d files of %d KiB%s, built in", BUILTIN_FILES, BUILTIN_SIZE / 1024,
		       opt->zeros ? " of zeros" : "");
	else
		report("  %zu file%s of %s byte%s", res->set->n, plural(res->set->n),
		       grouped((double)res->set->bytes, text), plural(res->set->bytes));
	if (opt->preload)
		report(", preloaded");
	if (res->set->skipped > 0)
		report(", %s skipped", grouped((double)res->set->skipped, text));
}

void text_transfer(const struct send_options *opt, const struct send_result *res)
{
	const struct figures *sent = &res->sent;
	char rate[RATE_STRLEN], n[CELL], why[DIE_MAX];

	report("%s\n", rate_text(sent, rate));
	if (opt->quiet)
		return;
	text_target(opt, res);
	if (opt->bytes == 0)
		report(", in %s loop%s", grouped((double)res->loops, n), plural(res->loops));
	report("\n");
	if (opt->warmup > 0)
		report("  after %g s of warm-up, %s byte%s\n", opt->warmup,
		       grouped((double)sent->warmup, n), plural(sent->warmup));
	if (res->receipts == opt->streams && result_check(res, opt->streams, why) == NULL)
		report("  all bytes sent were received\n");
	print_transfer(res, opt->streams);
	pauses_text(&res->pauses);
	stalls_list_text(&res->stalls, res->start_ns, TEXT_STALLS);
	print_load(res, opt->streams);
	print_cpus(res);
	rows_print("interrupts and packets", GROUP_HOST, sent, res->local ? sent : &res->received);
	rows_print("TCP", GROUP_TCP, sent, res->receipts > 0 ? &res->received : NULL);
	rows_print("TCP waited for", GROUP_WAITS, sent, sent);
	print_streams(res->stream, opt->streams);
}

void text_interval(struct intervals *table, const struct send_options *opt,
		   const struct figures *stream, const struct figures *sum, double start,
		   bool measured)
{
	char name[32];
	int i;

	intervals_row(table, sum, start, measured, "");
	for (i = 0; opt->streams > 1 && !opt->quiet && i < opt->streams; i++) {
		snprintf(name, sizeof(name), "stream %d", i + 1);
		intervals_part(table, &stream[i], name);
	}
	report_flush();
}
