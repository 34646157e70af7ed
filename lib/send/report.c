#include "lib/send/report.h"

#include <limits.h>

#include "lib/compare/facts.h"
#include "lib/send/sender.h"

#define TEXT_STALLS 3    /* whose times are printed */
#define CPU_SHOWN   0.01 /* the load from which a CPU has a row, whatever it does */

/*
 * The result.
 */

/* What was moved, the warm-up included. */
static uint64_t bytes_of(const struct figures *f)
{
	return f->bytes + f->warmup;
}

const struct figures *result_host(const struct send_result *res)
{
	return res->local ? figures_of_host(&res->sent, &res->received) : &res->sent;
}

const char *result_check(const struct send_result *res, int streams, char why[DIE_MAX])
{
	const int without = streams - res->receipts;
	const struct stream_result *s = res->stream;
	int i;

	for (i = 0; i < streams; i++, s++)
		if (s->has_receipt && bytes_of(&s->received) != bytes_of(&s->sent)) {
			snprintf(why, DIE_MAX,
				 "%sthe server received %" PRIu64 " bytes of the %" PRIu64 " sent",
				 streams > 1 ? text_of("stream %d: ", i + 1) : "",
				 bytes_of(&s->received), bytes_of(&s->sent));
			return why;
		}
	if (res->receipts == 0 || without == 0)
		return NULL;
	snprintf(why, DIE_MAX, "%d of %d streams %s no receipt%s", without, streams,
		 without == 1 ? "has" : "have",
		 res->sent.warmup > 0 ? ": they may have ended in the warm-up: send more (-n, -t)"
				      : "");
	return why;
}

/*
 * The text.
 */

static void print_transfer(const struct send_result *res, int streams)
{
	const bool known = res->receipts > 0;

	rows_print("transfer", GROUP_TRANSFER, &res->sent, known ? &res->received : NULL);
	if (!known)
		report("    no receipt: the receiver's figures are not known\n");
	else if (res->receipts < streams)
		report("    the receiver's figures omit %d of %d streams, as they have no receipt\n",
		       streams - res->receipts, streams);
}

/* Where both ends are this host, it has one load, which one of them measured. */
static void print_load(const struct send_result *res, int streams)
{
	const struct figures *s = &res->sent, *r = &res->received, *host = result_host(res),
			     *there = res->local ? host : r;

	if (!rows_print(res->local ? "load of this host, both ends" : "load", GROUP_LOAD, host,
			there))
		return;
	rows_print(text_of("CPU time, us/KiB, sampled by %s",
			   s->host.event[0] != '\0' ? s->host.event : r->host.event),
		   GROUP_PROFILE, host, there);
	if (!isnan(s->host.load) && s->host.baseline == BASELINE_OWN)
		report("    %s%s\n", res->local ? "" : "sender: ", baselines_format(&s->host));
	if (!res->local && res->receipts > 0 && isnan(r->host.load))
		wrap_line(WRAP_WIDTH, "    receiver: load not measured: %s",
			  no_load_text(r->host.no_load));
	if (res->receipts > 0 && !isnan(there->host.load) && r->clients > (uint64_t)streams)
		report("    the receiver had %ju clients during the transfer: "
		       "its load is that of all of them\n",
		       (uintmax_t)r->clients);
}

static void print_streams(const struct stream_result *s, int streams)
{
	const char *cpu;
	int i;

	if (streams > 1)
		report("  streams         CPU %13s %13s %11s %13s\n", "KiB/s", "retransmits",
		       "RTT, ms", "cwnd, KiB");
	for (i = 1; streams > 1 && i <= streams; i++, s++) {
		/* `5 to 6`: the CPUs to which the stream and its thread at the server are bound. */
		cpu = decimal(s->sent.cpu, 0);
		if (s->has_receipt && !isnan(s->received.cpu))
			cpu = text_of("%s to %.0f", cpu, s->received.cpu);
		report("  %7d %11s %13s %13s %11s %13s\n", i, cpu,
		       grouped(kib_per_second(&s->sent)), grouped(s->sent.tcp.retransmits),
		       decimal(s->sent.tcp.rtt / 1000, 3), grouped(s->sent.tcp.cwnd / 1024));
	}
}

/* Prints the load and the cost of each CPU that has a role in the transfer, or a load. */
static void print_cpus(const struct send_result *res)
{
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
			       load_text(l->load, l->uncertainty, l->unsafe),
			       cost_each_text(&c->figures, (double)c->figures.bytes / 1024),
			       c->role[0] != '\0' ? "  " : "", c->role);
	}
}

/* Prints the label of the report, if it has one. */
static void print_title(const struct send_options *opt)
{
	if (opt->title != NULL && !opt->quiet)
		report("  title: %s\n", printable(opt->title));
}

/* Prints the destination and the options of the connection, then the file set as it is begun. */
static void print_target(const struct send_options *opt, const struct send_result *res)
{
	const struct target *t = &res->target;
	struct wrap w = {.width = WRAP_WIDTH, .indent = "    "};

	print_title(opt);
	wrap_add(&w, "", "  to %s", t->name);
	if (t->interface[0] != '\0' && !res->has_subflows)
		wrap_add(&w, "", " via %s", printable(t->interface));
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
	if (opt->pace >= 10 * 1024)
		wrap_add(&w, ", ", "paced to %s KiB/s", grouped((double)opt->pace / 1024));
	else if (opt->pace > 0)
		wrap_add(&w, ", ", "paced to %s bytes/s", grouped((double)opt->pace));
	if (opt->streams > 1)
		wrap_add(&w, ", ", "%d streams", opt->streams);
	report("\n");
	if (res->set->builtin)
		report("  %d built-in files of %d KiB", BUILTIN_FILES, BUILTIN_SIZE / 1024);
	else
		report("  %zu file%s of %s byte%s", res->set->n, plural(res->set->n),
		       grouped((double)res->set->bytes), plural(res->set->bytes));
	if (opt->preload)
		report(", preloaded");
	if (res->set->skipped > 0)
		report(", %s skipped", grouped((double)res->set->skipped));
}

/* Prints one line that scripts read, and, unless quiet, all figures. */
static void print_report(const struct send_options *opt, const struct send_result *res)
{
	const struct figures *sent = &res->sent;
	const bool on_lo = res->local && strcmp(res->target.interface, "lo") == 0;
	const char *load = load_format(sent);
	char why[DIE_MAX];

	/* A line with figures is for grep(1), and so is that of -q. */
	wrap_line(opt->quiet || !isnan(sent->host.load) ? INT_MAX : WRAP_WIDTH, "%s%s%s",
		  throughput_text(sent), load[0] != '\0' ? ", " : "", load);
	if (opt->quiet)
		return;
	print_target(opt, res);
	if (opt->bytes == 0 && res->loops == 0)
		report(", in less than a loop");
	else if (opt->bytes == 0)
		report(", in %s loop%s", grouped((double)res->loops), plural(res->loops));
	report("\n");
	if (opt->warmup > 0)
		report("  after %g s of warm-up, %s byte%s\n", opt->warmup,
		       grouped((double)sent->warmup), plural(sent->warmup));
	if (res->receipts == opt->streams && result_check(res, opt->streams, why) == NULL)
		report("  all bytes sent were received\n");
	print_transfer(res, opt->streams);
	pauses_text(&res->pauses);
	stalls_list_text(&res->stalls, TEXT_STALLS);
	print_load(res, opt->streams);
	print_cpus(res);
	rows_print("interrupts and packets", GROUP_HOST, sent, on_lo ? sent : &res->received);
	rows_print("TCP", GROUP_TCP, sent, res->receipts > 0 ? &res->received : NULL);
	rows_print("TCP waited for", GROUP_WAITS, sent, sent);
	print_streams(res->stream, opt->streams);
}

/*
 * What is printed while the streams send.
 */

void report_clear_progress(struct send_report *r)
{
	if (r->has_progress) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	r->has_progress = false;
}

void report_end_error(struct send_report *r, const char *why)
{
	report_clear_progress(r);
	if (r->opt->json)
		json_fail(&r->json, why);
}

bool progress_wanted(const struct send_options *opt)
{
	return !opt->quiet && !opt->json && opt->interval <= 0 && opt->debug == 0 &&
	       tcgetpgrp(STDERR_FILENO) == getpgrp();
}

void report_progress(struct send_report *r, double seconds, uint64_t bytes, uint64_t all,
		     const char *phase)
{
	const struct send_options *opt = r->opt;

	fputs("\r", stderr);
	if (r->runs > 1)
		fprintf(stderr, "run %d of %d: ", r->run, r->runs);
	fprintf(stderr, "%.1f s", seconds);
	if (opt->seconds > 0)
		fprintf(stderr, " of %g", opt->seconds + opt->warmup);
	else if (all > 0)
		fprintf(stderr, ", %.0f%%", 100 * (double)bytes / (double)all);
	fprintf(stderr, ": %.0f KiB/s%s\033[K", per_second((double)bytes / 1024, seconds), phase);
	fflush(stderr);
	r->has_progress = true;
}

void report_interval(struct send_report *r, const struct stream_result *stream,
		     const struct figures *sum, double start, bool measured)
{
	struct json *j = &r->json;
	const bool comma = j->comma, begun = r->intervals.begun;
	int i;

	if (r->opt->json) {
		json_open(j, NULL, '{');
		json_open(j, "streams", '[');
		for (i = 0; i < r->opt->streams; i++)
			json_interval(j, &stream[i].interval, i + 1, start, measured, true);
		json_close(j, ']');
		json_interval(j, sum, 0, start, measured, true);
		json_close(j, '}');
	} else {
		intervals_row(&r->intervals, sum, start, measured, "");
		for (i = 0; r->opt->streams > 1 && !r->opt->quiet && i < r->opt->streams; i++)
			intervals_part(&r->intervals, &stream[i].interval,
				       text_of("stream %d", i + 1));
	}
	if (!report_row()) {
		j->comma = comma;
		r->intervals.begun = begun;
	}
}

/*
 * The beginning and the end of a report.
 */

void report_warn(struct send_report *r, const struct send_result *res)
{
	const struct send_options *opt = r->opt;
	const bool is_short = res->sent.seconds < SHORT_SECONDS;

	if (opt->quiet && !opt->compares)
		return;
	if (is_short && !r->has_warned)
		warnx("the transfer took less than half a second, so that its figures mean "
		      "little: send more (-n, -t)");
	r->has_warned |= is_short;
	if (!is_short && r->run <= 1 && opt->sock.congestion == NULL && opt->pace == 0 &&
	    strncmp(res->congestion, "bbr", 3) == 0 && strcmp(res->target.interface, "lo") == 0)
		warnx("the congestion control %s paces the sender, over loopback far below what the "
		      "host can do: try --congestion reno",
		      res->congestion);
}

void report_tcp_alone(struct send_report *r, const char *peer)
{
	if (!atomic_exchange(&r->has_warned_of_tcp, true))
		warnx("--mptcp: %s has only TCP (zcs --mptcp has both)", peer);
}

void report_json_open(struct json *j, const char *object, const struct send_report *r,
		      const struct link *link)
{
	const struct send_options *opt = r->opt;

	json_report_open(j);
	json_string(j, "title", opt->title);
	json_open(j, object, '{');
	environment_json_start(j, &r->environment, link, clock_ns(CLOCK_REALTIME));
	json_open(j, "connecting_to", '{');
	json_string(j, "host", opt->server);
	json_number(j, "port", parse_number(OPTION_PORT, opt->port)); /* none of a list */
	json_close(j, '}');
	facts_json(j, &opt->given);
}

/* The addresses of each connection, and what the first has of the kernel. */
static void json_connections(struct json *j, const struct send_result *res, int streams)
{
	int i;

	json_open(j, "connected", '[');
	for (i = 0; i < streams; i++) {
		json_open(j, NULL, '{');
		json_count(j, "socket", (uint64_t)i + 1);
		json_address(j, "local_host", "local_port", &res->stream[i].local);
		json_address(j, "remote_host", "remote_port", &res->target.addr);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_count(j, "tcp_mss_default", (uint64_t)res->mss);
	json_count(j, "sndbuf_actual", (uint64_t)res->sndbuf);
	json_count(j, "rcvbuf_actual", (uint64_t)res->rcvbuf);
	json_string(j, "interface", res->target.interface);
}

/* Prints the object `start`, and begins the list of what is measured. */
static void json_start(struct send_report *r, const struct link *link,
		       const struct send_result *res)
{
	const struct send_options *opt = r->opt;
	struct json *j = &r->json;

	if (j->stream && opt->compares) {
		json_report_open(j);
		json_open(j, "run", '{');
		json_count(j, "run", (uint64_t)r->run);
		json_count(j, "runs", (uint64_t)r->runs);
		json_close(j, '}');
	}
	report_json_open(j, "start", r, link);
	if (res != NULL)
		json_connections(j, res, opt->streams);
	json_open(j, "test_start", '{');
	json_string(j, "protocol",
		    res == NULL ? "requests over TCP"
		    : opt->raw  ? "raw TCP"
				: "TCP");
	json_count(j, "num_streams", (uint64_t)opt->streams);
	json_number(j, "duration", opt->seconds);
	if (res != NULL) {
		json_count(j, "blksize", res->chunk);
		json_number(j, "omit", opt->warmup);
		json_string(j, "method", opt->method->name);
		json_bool(j, "cork", opt->cork);
		json_bool(j, "nodelay", opt->nodelay);
		json_count(j, "fqrate", opt->pace * 8);
		json_count(j, "files", res->set->n);
		json_count(j, "file_bytes", res->set->bytes);
		json_bool(j, "builtin_files", res->set->builtin);
		json_bool(j, "preload", opt->preload);
		json_count(j, "bytes", opt->bytes);
	}
	json_close(j, '}');
	json_close(j, '}');
	json_open(j, res != NULL ? "intervals" : "requests", '[');
	report_flush();
}

void report_start(struct send_report *r, const struct target *target, const struct send_result *res)
{
	struct link link;

	if (!r->opt->json && res == NULL && !r->is_begun) {
		r->is_begun = true;
		print_title(r->opt);
		if (r->opt->compares && !r->opt->quiet)
			report("  requests to %s via %s\n", target->name,
			       printable(target->interface));
	}
	if (!r->opt->json && r->opt->debug == 0)
		return;
	link_read(&link, target->interface);
	if (r->opt->debug > 0 && r->run <= 1)
		environment_print(&r->environment, &link, stderr, "zcc: ");
	if (r->opt->json)
		json_start(r, &link, res);
}

static void json_streams(struct json *j, const struct stream_result *s, int streams)
{
	int i;

	json_open(j, "streams", '[');
	for (i = 0; i < streams; i++, s++) {
		json_open(j, NULL, '{');
		json_stream(j, "sender", &s->sent, i + 1, true);
		if (s->has_receipt)
			json_stream(j, "receiver", &s->received, i + 1, false);
		json_rows(j, &s->sent, IN_STREAM);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_cpus(struct json *j, const struct send_result *res)
{
	const struct cpu_result *c;
	int i;

	json_open(j, "load_by_cpu", '[');
	for (i = 0; i < res->n_cpus; i++) {
		c = &res->cpu[i];
		json_open(j, NULL, '{');
		json_count(j, "cpu", (uint64_t)c->id);
		json_rows(j, &c->figures, IN_CPU);
		json_string(j, "role", c->role);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_end(struct json *j, const struct send_options *opt, const struct send_result *res)
{
	char why[DIE_MAX];
	const struct figures *remote = res->receipts > 0 ? &res->received : NULL;

	json_open(j, "end", '{');
	json_streams(j, res->stream, opt->streams);
	json_stream(j, "sum_sent", &res->sent, 0, true);
	if (remote != NULL)
		json_stream(j, "sum_received", remote, 0, false);
	json_string(j, "sender_tcp_congestion", res->congestion);
	if (opt->sock.mptcp)
		json_bool(j, "mptcp", res->mptcp);
	json_host(j, "host", &res->sent);
	if (remote != NULL)
		json_host(j, "remote", remote);
	json_cpus(j, res);
	stalls_list_json(j, "first_stalls", &res->stalls, NULL);
	pauses_json(j, &res->pauses);
	json_bool(j, "both_ends_on_host", res->local);
	if (!opt->raw)
		json_count(j, "receipts", (uint64_t)res->receipts);
	if (res->receipts == opt->streams)
		json_bool(j, "bytes_agree", result_check(res, opt->streams, why) == NULL);
	json_close(j, '}');
}

void report_end(struct send_report *r, const struct send_result *res, const char *error)
{
	const struct send_options *opt = r->opt;

	if (res != NULL && opt->debug > 0 && res->received.version[0] != '\0')
		warnx("environment: the server has zc %s, kernel %s", res->received.version,
		      res->received.kernel);
	if (opt->json) {
		json_close(&r->json, ']');
		if (res != NULL)
			json_end(&r->json, opt, res);
		if (r->repeats)
			json_bool(&r->json, "repeated", true);
		json_report_close(&r->json, error);
	} else if (opt->quiet && r->fails) {
		return; /* scripts read the figures of transfers that are whole */
	} else if (res != NULL && (!opt->compares || r->fails)) {
		if (opt->compares)
			report("the run that failed:\n");
		if (!r->repeats)
			print_report(opt, res);
	} else if (res != NULL && !r->is_begun && !opt->quiet) {
		r->is_begun = true;
		/* What the runs of a comparison send, and where to. */
		print_target(opt, res);
		report("%s\n", res->sent.host.baseline == BASELINE_OWN ? "; own baselines" : "");
	}
}
