#include "lib/receive/report.h"

#include <stdarg.h>

#include "lib/receive/guard.h"
#include "lib/receive/methods.h"
#include "lib/report/terms.h"
#include "lib/report/units.h"

#define LINE_MAX_BYTES 1024
#define STREAMS_MAX    10000 /* clients of one group in end.streams, which is kept in memory */
#define FLOW_BYTES     (64 * 1024) /* of a group's object are kept in memory at most */

/* Returns 0 or the error. */
static int write_all(struct report *r, const char *text, size_t len)
{
	ssize_t n;

	for (; len > 0; text += n, len -= (size_t)n) {
		n = write_some(STDOUT_FILENO, text, len, r->stop);
		if (n < 0)
			return errno;
		if (n > 0)
			r->mid_line = text[n - 1] != '\n';
	}
	return 0;
}

/* Writes text, which begins a line or continues one; returns whether it could. */
static bool write_text(struct report *r, const char *text, size_t len, bool begins)
{
	int e = begins && r->mid_line ? write_all(r, "\n", 1) : 0;

	if (e == 0)
		e = write_all(r, text, len);
	if (e == 0)
		return true;
	if (r->once || (e != ENOSPC && e != EDQUOT && e != EIO && e != EAGAIN)) {
		r->broken = true;
		errno = e;
		die_errno("stdout");
	}
	if (!atomic_exchange(&r->failed, true))
		note("stdout: %s: what cannot be written is lost, zcs goes on", strerror(e));
	return false;
}

static __attribute__((format(printf, 2, 3))) void print(struct report *r, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
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

/* Ends the stream, so that t->text has all of it. */
static void text_close(struct text *t)
{
	bool failed = ferror(t->json.f) != 0;

	/* fclose(3) shortens the text to its length, for which it may have no memory. */
	failed |= fclose(t->json.f) != 0 || t->text == NULL;
	t->json.f = NULL;
	if (failed)
		die("report: no memory for it");
}

static void text_free(struct text *t)
{
	if (t->json.f != NULL)
		fclose(t->json.f);
	t->json.f = NULL;
	free(t->text);
	t->text = NULL;
}

static struct json *object_open(struct report *r)
{
	r->flowed = r->lost = false;
	text_open(&r->object);
	json_report_open_to(&r->object.json, r->object.json.f);
	return &r->object.json;
}

/* Prints what there is of the object; the rest may follow. */
static void object_flow(struct report *r)
{
	struct text *t = &r->object;

	text_close(t);
	r->lost = r->lost || !write_text(r, t->text, t->size, !r->flowed);
	r->flowed = true;
	text_free(t);
}

static void object_close(struct report *r)
{
	json_close(&r->object.json, '}');
	putc('\n', r->object.json.f);
	object_flow(r);
}

/*
 * Prints the number of clients without a summary, or adds it to a JSON object, if there are any.
 */
static void print_small(struct report *r, struct json *j)
{
	if (r->small.clients > 0 && j == NULL) {
		print(r, "%ju more clients with less than 1 KiB each: %ju bytes in all\n",
		      (uintmax_t)r->small.clients, (uintmax_t)r->small.bytes);
	} else if (r->small.clients > 0) {
		json_open(j, "small_clients", '{');
		json_count(j, "clients", r->small.clients);
		json_count(j, "bytes", r->small.bytes);
		json_close(j, '}');
	}
	r->small = (struct small){0};
}

void report_count_small(struct report *r, uint64_t clients, uint64_t bytes)
{
	pthread_mutex_lock(&r->lock);
	r->small.clients += clients;
	r->small.bytes += bytes;
	pthread_mutex_unlock(&r->lock);
}

void report_last_small(struct report *r)
{
	pthread_mutex_lock(&r->lock);
	if (!r->json) {
		print_small(r, NULL);
	} else if (r->small.clients > 0) {
		print_small(r, object_open(r));
		object_close(r);
	}
	pthread_mutex_unlock(&r->lock);
}

void report_client(struct report *r, const char *name, const struct figures *f, bool warmed_up)
{
	char rate[RATE_STRLEN], method[32] = "", warmup[64] = "";

	if (strcmp(f->method, receive_methods[0].name) != 0)
		snprintf(method, sizeof(method), " by %s", f->method);
	if (warmed_up)
		snprintf(warmup, sizeof(warmup), ", after %ju bytes of warm-up",
			 (uintmax_t)f->warmup);
	pthread_mutex_lock(&r->lock);
	print_small(r, NULL);
	print(r, "%s: %s, %ju bytes in %.*f s, %ju files, %ju reads%s%s\n", name,
	      rate_text(f, rate), (uintmax_t)f->bytes, decimals(f->seconds), f->seconds,
	      (uintmax_t)f->files, (uintmax_t)f->calls, method, warmup);
	pthread_mutex_unlock(&r->lock);
}

static void json_interval(struct report *r, const struct figures *f, double start, int clients,
			  bool warm_up)
{
	struct json *j = &r->object.json;

	json_open(j, NULL, '{');
	json_open(j, "sum", '{');
	json_throughput(j, start, f->seconds, f->bytes);
	json_number(j, "load_percent", 100 * f->load);
	json_count(j, "clients", (uint64_t)clients);
	json_bool(j, "omitted", warm_up);
	json_bool(j, "sender", false);
	json_close(j, '}');
	json_close(j, '}');
	if (f->bytes >= REPORT_LEAST_BYTES || ftello(j->f) >= FLOW_BYTES) {
		object_flow(r); /* so that memory does not grow */
		text_open(&r->object);
	}
}

void report_group_interval(struct report *r, const struct figures *f, double start, int clients,
			   bool warm_up)
{
	char rate[RATE_STRLEN], several[32] = "";

	pthread_mutex_lock(&r->lock);
	if (clients > 1)
		snprintf(several, sizeof(several), ", %d clients", clients);
	if (!r->json)
		print(r, "%s%s%s\n", rate_text(f, rate), several, warm_up ? ", warm-up" : "");
	else if (r->object.json.f != NULL)
		json_interval(r, f, start, clients, warm_up);
	pthread_mutex_unlock(&r->lock);
}

void report_group_begin(struct report *r, const struct sockaddr_storage *peer, bool raw,
			const char *method)
{
	struct json *j;

	pthread_mutex_lock(&r->lock);
	r->listed = r->left_out = 0;
	r->streams.json.comma = false;
	text_open(&r->streams);
	j = object_open(r);
	json_open(j, "start", '{');
	json_program(j);
	json_open(j, "accepted_connection", '{');
	json_address(j, "host", "port", peer);
	json_close(j, '}');
	json_open(j, "test_start", '{');
	json_string(j, "protocol", raw ? "raw TCP" : "TCP");
	json_string(j, "method", method);
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
	if (j->f != NULL && listed && r->listed < STREAMS_MAX) {
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

static void json_group_end(struct report *r, const struct figures *f, bool interrupted)
{
	struct json *j = &r->object.json;

	json_close(j, ']');
	json_open(j, "end", '{');
	json_open(j, "streams", '[');
	text_close(&r->streams);
	fputs(r->streams.text, j->f);
	json_close(j, ']');
	json_stream(j, "sum_received", f, 0, false);
	json_utilization(j, f, NULL);
	json_host(j, "host", f);
	json_count(j, "clients", f->clients);
	if (r->left_out > 0)
		json_count(j, "streams_left_out", r->left_out);
	print_small(r, j);
	json_close(j, '}');
	if (interrupted)
		json_string(j, "error", "interrupted");
	object_close(r);
}

void report_group(struct report *r, const struct figures *f, bool summary, bool overlapped,
		  bool interrupted)
{
	char rate[RATE_STRLEN];

	pthread_mutex_lock(&r->lock);
	if (!r->json && overlapped && summary && f->bytes > 0)
		print(r, "total of %ju clients: %s, %ju bytes in %.*f s\n", (uintmax_t)f->clients,
		      rate_text(f, rate), (uintmax_t)f->bytes, decimals(f->seconds), f->seconds);
	if (r->json && r->object.json.f != NULL) {
		if (summary || r->flowed || f->bytes >= REPORT_LEAST_BYTES) {
			json_group_end(r, f, interrupted);
		} else { /* a group of small clients has no object of its own */
			r->small.clients += f->clients;
			r->small.bytes += f->bytes + f->warmup;
		}
		text_free(&r->object);
		text_free(&r->streams);
	}
	pthread_mutex_unlock(&r->lock);
}

static void json_replies(struct json *j, const struct figures *f,
			 const struct reply_failures *total)
{
	json_throughput(j, 0, f->seconds, f->bytes);
	json_count(j, "replies", f->calls);
	json_number(j, "replies_per_second", f->seconds > 0 ? (double)f->calls / f->seconds : 0);
	json_number(j, "load_percent", 100 * f->load);
	if (total != NULL) {
		json_count(j, "refused", total->refused);
		json_count(j, "silent", total->silent);
		json_count(j, "too_large", total->too_large);
		json_count(j, "broken", total->broken);
	}
}

void report_replies(struct report *r, const struct figures *f, const struct reply_failures *total)
{
	char rate[RATE_STRLEN];

	pthread_mutex_lock(&r->lock);
	if (r->json) {
		json_replies(object_open(r), f, total);
		object_close(r);
	} else if (total == NULL) {
		print(r, "%s, %.0f replies/s\n", rate_text(f, rate), (double)f->calls / f->seconds);
	} else { /* no rate, which would be a mean over idle hours */
		print(r,
		      "total: %ju replies, %ju bytes; %ju refused, %ju silent, "
		      "%ju too large, %ju broken\n",
		      (uintmax_t)f->calls, (uintmax_t)f->bytes, (uintmax_t)total->refused,
		      (uintmax_t)total->silent, (uintmax_t)total->too_large,
		      (uintmax_t)total->broken);
	}
	pthread_mutex_unlock(&r->lock);
}

void report_fail(void *report, const char *why)
{
	struct report *r = report;
	struct json none = {.f = NULL};
	struct text *t = &r->object;
	struct timespec until;
	FILE *f;

	if (!r->json || r->broken)
		return;
	/* The thread that dies may have the lock, or another that does not give it back. */
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_timedlock(&r->lock, &until);
	f = t->json.f;
	if (f != NULL && !r->lost) {
		json_fail(&t->json, why);
		if (fclose(f) == 0 && t->text != NULL) {
			if (!r->flowed && r->mid_line)
				write_all(r, "\n", 1);
			write_all(r, t->text, t->size);
			return;
		}
	}
	if (r->mid_line)
		write_all(r, "\n", 1);
	json_fail(&none, why);
}
