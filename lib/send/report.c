#include "lib/send/report.h"

#include "lib/report/units.h"
#include "lib/send/report_json.h"
#include "lib/send/sender.h"
#include "lib/send/text.h"

/*
 * What is printed while the streams send.
 */

void report_clear_progress(struct send_report *r)
{
	if (r->has_progress)
		fputs("\r\033[K", stderr);
	r->has_progress = false;
}

/*
 * A thread that dies waits for the end of an interval that the main thread is writing.  It keeps the
 * lock until the program has ended.
 */
void report_die(void *report, const char *why)
{
	struct send_report *r = report;

	pthread_mutex_lock(&r->lock);
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
	fprintf(stderr, ": %.0f KiB/s%s\033[K", rate, phase);
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
	int i;

	pthread_mutex_lock(&r->lock);
	if (r->opt->json) {
		json_open(j, NULL, '{');
		json_open(j, "streams", '[');
		for (i = 0; i < r->opt->streams; i++)
			json_interval(j, &stream[i], i + 1, start, measured);
		json_close(j, ']');
		json_interval(j, sum, 0, start, measured);
		json_close(j, '}');
	} else {
		text_interval(r->opt, stream, sum, start, measured);
	}
	pthread_mutex_unlock(&r->lock);
}

/* Prints once what the runs of a comparison send, and where to. */
static void report_comparison(struct send_report *r, const struct send_result *res)
{
	if (!r->has_what && !r->opt->quiet) {
		text_target(r->opt, res);
		if (res->sent.host.baseline == BASELINE_OWN)
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

	environment_note_remote(received);
	if (!isnan(res->sent.host.rates.softnet_dropped))
		warnx("environment: softnet during the run: %.0f packet%s dropped, %.0f poll%s cut short",
		      res->sent.host.rates.softnet_dropped,
		      plural((uint64_t)res->sent.host.rates.softnet_dropped),
		      res->sent.host.rates.softnet_squeezed,
		      plural((uint64_t)res->sent.host.rates.softnet_squeezed));
	if (!isnan(received->host.rates.softnet_dropped))
		warnx("environment: softnet at the server: %.0f packet%s dropped, %.0f poll%s cut short",
		      received->host.rates.softnet_dropped,
		      plural((uint64_t)received->host.rates.softnet_dropped),
		      received->host.rates.softnet_squeezed,
		      plural((uint64_t)received->host.rates.softnet_squeezed));
}

void report_pacing(struct send_report *r, const struct send_result *res)
{
	const struct send_options *opt = r->opt;

	if (opt->quiet || opt->sock.congestion != NULL || opt->pace > 0 ||
	    r->has_warned_of_pacing || strncmp(res->congestion, "bbr", 3) != 0 ||
	    strcmp(res->target->interface, "lo") != 0)
		return;
	r->has_warned_of_pacing = true;
	warnx("the congestion control %s paces the sender, over loopback far below what the host can "
	      "do: try --congestion reno",
	      res->congestion);
}

void report_tcp_alone(struct send_report *r, const char *peer)
{
	if (!atomic_exchange(&r->has_warned_of_tcp, true))
		warnx("--mptcp: %s has only TCP (zcs --mptcp has both)", peer);
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
		text_transfer(r->opt, res);
	}
}
