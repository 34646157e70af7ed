#include "lib/receive/report.h"

#include <stdarg.h>

#include "lib/receive/guard.h"
#include "lib/report/terms.h"
#include "lib/report/units.h"
#include "lib/report/wrap.h"

#define LISTED_MAX    10000       /* clients of one group in end.streams, which is kept in memory */
#define FLOW_BYTES    (64 * 1024) /* of a group's object are kept in memory at most */
#define LINE_STRLEN   1024        /* enough for the lines of a summary */
#define SUMMARY_WIDTH 100         /* columns of its lines */

/* Writes text, which begins a line or continues one.  Returns 0 or the error. */
static int write_all(struct report *r, const char *text, size_t len, bool begins)
{
	ssize_t n = begins && r->mid_line ? write_some(STDOUT_FILENO, "\n", 1, r->stop) : 0;

	r->mid_line &= n <= 0;
	while (n >= 0 && len > 0) {
		n = write_some(STDOUT_FILENO, text, len, r->stop);
		if (n > 0) {
			r->mid_line = text[n - 1] != '\n';
			text += n;
			len -= (size_t)n;
		}
	}
	return n < 0 ? errno : 0;
}

/* Writes text as write_all() does, and dies of an error that lasts; returns whether it could. */
static bool write_text(struct report *r, const char *text, size_t len, bool begins)
{
	int e = write_all(r, text, len, begins);

	if (e == 0)
		return true;
	if (r->opt->once || (e != ENOSPC && e != EDQUOT && e != EFBIG && e != EIO && e != EAGAIN)) {
		r->broken = true;
		errno = e;
		die_errno("stdout");
	}
	if (!atomic_exchange(&r->failed, true))
		note("stdout: %s: output that cannot be written is lost, zcs continues",
		     strerror(e));
	return false;
}

static __attribute__((format(printf, 2, 3))) void print(struct report *r, const char *fmt, ...)
{
	char line[LINE_STRLEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	write_text(r, line, strlen(line), true);
}

static void text_open(struct text *t)
{
	t->json.f = open_memstream(&t->text, &t->size);
	if (t->json.f == NULL)
		die_errno("report");
}

/* Ends the stream and returns its text, which the caller frees. */
static char *text_end(struct text *t)
{
	FILE *f = t->json.f;
	bool failed = ferror(f) != 0;

	t->json.f = NULL;
	/* fclose(3) shortens the text to its length, for which it may have no memory. */
	if (fclose(f) != 0 || failed || t->text == NULL)
		die("report: out of memory");
	return t->text;
}

static void object_open(struct report *r)
{
	r->printed = OBJECT_NOT;
	text_open(&r->object);
	json_report_open_to(&r->object.json, r->object.json.f);
}

/* Prints what there is of the object; the rest may follow. */
static void object_flow(struct report *r)
{
	char *text = text_end(&r->object);

	if (r->printed == OBJECT_LOST ||
	    !write_text(r, text, r->object.size, r->printed == OBJECT_NOT))
		r->printed = OBJECT_LOST;
	else
		r->printed = OBJECT_PART;
	free(text);
}

static void object_close(struct report *r)
{
	json_close(&r->object.json, '}');
	putc('\n', r->object.json.f);
	object_flow(r);
}

/* Prints the number of clients without a summary, or adds it to the JSON object, if there are any. */
static void print_small(struct report *r)
{
	struct json *j = &r->object.json;

	if (r->small_clients > 0 && !r->opt->json) {
		print(r, "%ju more client%s with less than 1 KiB each: %ju byte%s in all\n",
		      r->small_clients, plural(r->small_clients), r->small_bytes,
		      plural(r->small_bytes));
	} else if (r->small_clients > 0) {
		json_open(j, "small_clients", '{');
		json_count(j, "clients", r->small_clients);
		json_count(j, "bytes", r->small_bytes);
		json_close(j, '}');
	}
	r->small_clients = r->small_bytes = 0;
}

void report_count_small(struct report *r, uint64_t bytes)
{
	pthread_mutex_lock(&r->lock);
	r->small_clients++;
	r->small_bytes += bytes;
	pthread_mutex_unlock(&r->lock);
}

void report_last_small(struct report *r)
{
	bool has_object;

	pthread_mutex_lock(&r->lock);
	has_object = r->opt->json && r->small_clients > 0;
	if (has_object)
		object_open(r);
	print_small(r);
	if (has_object)
		object_close(r);
	pthread_mutex_unlock(&r->lock);
}

/*
 * Begins the summary of clients in a buffer: their throughput, unless they were cut, their load if
 * there is one, and their bytes.
 * `indented` is their name behind two blanks: each line but the first, of SUMMARY_WIDTH columns at
 * most, begins with it, so that grep(1) finds all that belongs to a name, and by "^" one line.
 */
static void summary_begin(struct wrap *w, char line[LINE_STRLEN], const char *indented,
			  const struct figures *f)
{
	char text[RATE_STRLEN], bytes[64];

	snprintf(bytes, sizeof(bytes), "%ju byte%s in %.*f s", (uintmax_t)f->bytes,
		 plural(f->bytes), decimals(f->seconds), f->seconds);
	wrap_init(w, line, LINE_STRLEN, SUMMARY_WIDTH, indented);
	wrap_add(w, "", "%s%s", indented + 2, f->cut ? bytes : throughput_text(f, text));
	if (!isnan(f->host.load))
		wrap_add(w, ", ", "%s", load_format_brief(f, text));
	if (!f->cut)
		wrap_add(w, ", ", "%s", bytes);
}

static void summary_print(struct report *r, struct wrap *w, const struct figures *f, bool is_client)
{
	if (!isnan(f->host.load) && is_client && f->clients > 1)
		wrap_add(w, ", ", "load of %.4g CPUs and all %ju clients", f->host.cpus,
			 (uintmax_t)f->clients);
	else if (!isnan(f->host.load))
		wrap_add(w, ", ", "load of %.4g CPUs", f->host.cpus);
	wrap_end(w);
	print(r, "%s", w->text);
}

void report_client(struct report *r, const struct sockaddr_storage *peer, const struct figures *f,
		   bool warmed_up)
{
	const bool is_default = r->opt->method == receive_methods;
	char address[ADDR_STRLEN], name[ADDR_STRLEN + 4], line[LINE_STRLEN];
	struct wrap w;

	addr_format((const struct sockaddr *)peer, sizeof(*peer), address);
	snprintf(name, sizeof(name), "  %s: ", address);
	summary_begin(&w, line, name, f);
	wrap_add(&w, ", ", "%ju file%s, %ju read%s%s%s", (uintmax_t)f->files, plural(f->files),
		 (uintmax_t)f->calls, plural(f->calls), is_default ? "" : " by ",
		 is_default ? "" : f->method);
	if (warmed_up)
		wrap_add(&w, ", ", "after %ju byte%s of warm-up", (uintmax_t)f->warmup,
			 plural(f->warmup));
	pthread_mutex_lock(&r->lock);
	print_small(r);
	summary_print(r, &w, f, true);
	pthread_mutex_unlock(&r->lock);
}

void report_group_interval(struct report *r, const struct figures *f, double start, bool warm_up)
{
	struct json *j = &r->object.json;
	char rate[RATE_STRLEN], several[32] = "";

	pthread_mutex_lock(&r->lock);
	if (r->opt->json) {
		json_open(j, NULL, '{');
		json_open(j, "sum", '{');
		json_timed(j, start, f, IN_INTERVAL);
		json_count(j, "clients", f->clients);
		json_bool(j, "omitted", warm_up);
		json_bool(j, "sender", false);
		json_close(j, '}');
		json_close(j, '}');
		if (f->bytes >= REPORT_LEAST_BYTES || ftello(j->f) >= FLOW_BYTES) {
			object_flow(r); /* so that memory does not grow */
			text_open(&r->object);
		}
	} else if (!r->opt->quiet) {
		if (f->clients > 1)
			snprintf(several, sizeof(several), ", %ju clients", (uintmax_t)f->clients);
		print(r, "%s%s%s\n", interval_text(f, start, rate), several,
		      warm_up ? ", warm-up" : "");
	}
	pthread_mutex_unlock(&r->lock);
}

void report_group_begin(struct report *r, const struct sockaddr_storage *peer,
			const char *interface)
{
	struct json *j = &r->object.json;
	struct link link;

	link_read(&link, interface);
	pthread_mutex_lock(&r->lock);
	r->listed = r->left_out = 0;
	r->streams.json.comma = false;
	text_open(&r->streams);
	object_open(r);
	json_open(j, "start", '{');
	json_program(j, &r->environment, &link);
	json_open(j, "accepted_connection", '{');
	json_address(j, "host", "port", peer);
	json_close(j, '}');
	json_open(j, "test_start", '{');
	json_string(j, "protocol", r->opt->raw ? "raw TCP" : "TCP");
	json_string(j, "method", r->opt->method->name);
	json_close(j, '}');
	json_close(j, '}');
	json_open(j, "intervals", '[');
	pthread_mutex_unlock(&r->lock);
}

void report_stream(struct report *r, int sock, const struct sockaddr_storage *peer,
		   const struct figures *f, int number, bool listed)
{
	struct json *j = &r->streams.json;

	pthread_mutex_lock(&r->lock);
	if (j->f != NULL && listed && r->listed < LISTED_MAX) {
		r->listed++;
		json_open(j, NULL, '{');
		json_addresses(j, sock, peer);
		json_stream(j, "receiver", f, number, false);
		json_close(j, '}');
	} else {
		r->left_out++;
	}
	pthread_mutex_unlock(&r->lock);
}

void report_cut(struct report *r, const struct sockaddr_storage *peer, const char *why)
{
	char address[ADDR_STRLEN];

	addr_format((const struct sockaddr *)peer, sizeof(*peer), address);
	pthread_mutex_lock(&r->lock);
	if (r->cut == NULL && asprintf(&r->cut, "%s: %s", address, why) < 0)
		r->cut = NULL;
	pthread_mutex_unlock(&r->lock);
}

static void print_total(struct report *r, const struct figures *f)
{
	char name[48], line[LINE_STRLEN];
	struct wrap w;

	snprintf(name, sizeof(name), "  total of %ju client%s: ", (uintmax_t)f->clients,
		 plural(f->clients));
	summary_begin(&w, line, name, f);
	summary_print(r, &w, f, false);
}

void report_group(struct report *r, const struct figures *f, bool summary)
{
	struct json *j = &r->object.json;
	char *streams;

	pthread_mutex_lock(&r->lock);
	if (!r->opt->json) {
		if (f->clients > 1 && summary && f->bytes > 0)
			print_total(r, f);
	} else if (!summary && r->printed == OBJECT_NOT && f->bytes < REPORT_LEAST_BYTES) {
		/* A group of small clients has no object of its own. */
		r->small_clients += f->clients;
		r->small_bytes += f->bytes + f->warmup;
		free(text_end(&r->object));
		free(text_end(&r->streams));
	} else {
		json_close(j, ']');
		json_open(j, "end", '{');
		json_open(j, "streams", '[');
		streams = text_end(&r->streams);
		fputs(streams, j->f);
		free(streams);
		json_close(j, ']');
		json_stream(j, "sum_received", f, 0, false);
		json_utilization(j, f, NULL);
		json_host(j, "host", f);
		json_count(j, "clients", f->clients);
		if (r->left_out > 0)
			json_count(j, "streams_left_out", r->left_out);
		print_small(r);
		json_close(j, '}');
		if (*r->stop != 0)
			json_string(j, "error", "interrupted");
		else if (r->cut != NULL)
			json_string(j, "error", r->cut);
		object_close(r);
	}
	free(r->cut);
	r->cut = NULL;
	pthread_mutex_unlock(&r->lock);
}

/* The first object has `start`. */
static void replies_start(struct report *r)
{
	struct json *j = &r->object.json;

	if (r->has_start)
		return;
	r->has_start = true;
	json_open(j, "start", '{');
	json_program(j, &r->environment, NULL);
	json_open(j, "test_start", '{');
	json_string(j, "protocol", "requests over TCP");
	json_close(j, '}');
	json_close(j, '}');
}

/* What the clients' stalls may come from; nothing if there is nothing. */
static void netstat_text(struct report *r, const struct netstat *n)
{
	if (n->retransmits == COUNTER_UNKNOWN || n->syn_retransmits == COUNTER_UNKNOWN ||
	    n->overflows == COUNTER_UNKNOWN || n->retransmits + n->overflows == 0)
		return;
	print(r,
	      "this host retransmitted %ju segment%s, of which SYNs: %ju; accept queue full: %ju\n",
	      n->retransmits, plural(n->retransmits), n->syn_retransmits, n->overflows);
}

void report_replies(struct report *r, const struct figures *f, double start,
		    const struct reply_total *total)
{
	const double per_s = per_second(f->calls, f->seconds);
	struct json *j = &r->object.json;
	char rate[RATE_STRLEN];

	pthread_mutex_lock(&r->lock);
	if (r->opt->json) {
		object_open(r);
		replies_start(r);
		json_rows(j, f, IN_REQUESTS);
		json_count(j, "replies", f->calls);
		json_number(j, "replies_per_second", per_s);
		json_host(j, "host", f);
		if (total != NULL) {
			json_netstat(j, &total->tcp);
			json_count(j, "refused", total->failures->refused);
			json_count(j, "silent", total->failures->silent);
			json_count(j, "too_large", total->failures->too_large);
			json_count(j, "broken", total->failures->broken);
		}
		object_close(r);
	} else if (total == NULL) {
		print(r, "%s, %.0f replies/s\n", interval_text(f, start, rate), per_s);
	} else { /* no rate, which would be a mean over idle hours */
		print(r,
		      "total: %ju %s, %ju byte%s; %ju refused, %ju silent, "
		      "%ju too large, %ju broken\n",
		      f->calls, f->calls == 1 ? "reply" : "replies", f->bytes, plural(f->bytes),
		      total->failures->refused, total->failures->silent, total->failures->too_large,
		      total->failures->broken);
		netstat_text(r, &total->tcp);
	}
	pthread_mutex_unlock(&r->lock);
}

void report_fail(void *report, const char *why)
{
	struct report *r = report;
	struct json none = {.f = NULL};
	struct text *t = &r->object;
	FILE *f;
	struct timespec until;

	if (!r->opt->json || r->broken)
		return;
	/* The thread that dies may have the lock, or another that does not give it back. */
	until = ns_to_timespec(clock_ns(CLOCK_REALTIME) + 1000000000u);
	pthread_mutex_timedlock(&r->lock, &until);
	f = r->printed != OBJECT_LOST ? t->json.f : NULL;
	if (f != NULL)
		json_fail(&t->json, why);
	if (f != NULL && fclose(f) == 0 && t->text != NULL) {
		write_all(r, t->text, t->size, r->printed == OBJECT_NOT);
	} else {
		write_all(r, "", 0, true);
		json_fail(&none, why);
	}
}
