#include "lib/receive/report.h"

#define LISTED_MAX    10000 /* clients of one group in end.streams, which are kept in memory */
#define SUMMARY_WIDTH 100   /* columns of its lines */

/*
 * Queues what was printed, unless it is a row for which there is no room: then it returns false.  What cannot be written
 * is lost, and the open JSON object with it.
 */
static bool flush(struct report *r, bool is_row)
{
	if (report_put(is_row) == 0)
		return true;
	if (errno == ENOBUFS)
		return false;
	/* These errors may pass: a disk may have room again. */
	if (r->opt->once || (errno != ENOSPC && errno != EDQUOT && errno != EFBIG && errno != EIO &&
			     errno != EAGAIN))
		die_errno("stdout");
	if (!r->failed)
		note("stdout: %s: output that cannot be written is lost, zcs continues",
		     strerror(errno));
	r->failed = true;
	r->json.depth = 0;
	clearerr(stdout);
	putchar('\n'); /* a part of a line may have been written */
	return true;
}

/* Whether the program ends with the group: its summaries and its object are not dropped. */
static bool is_last(const struct report *r)
{
	return r->opt->once || *r->stop != 0;
}

/*
 * Text.
 */

/* With --timestamps the date and time, before a summary; otherwise an empty text. */
static const char *date_of(const struct report *r)
{
	return r->opt->timestamps ? text_of("%s ", time_text(now_ns(), "%z")) : "";
}

/*
 * Prints the summary of a client, or of several: their throughput, unless they were cut, their load if
 * there is one, and their bytes.  Each line, of SUMMARY_WIDTH columns at most, begins with `name` for grep(1).
 * Before it all lines but the first have two blanks, so that "^NAME" finds one line of each summary.
 */
static void print_summary(struct report *r, const char *name, const struct figures *f,
			  const struct stalls *stalls, bool is_client)
{
	const bool is_default = r->opt->method == receive_methods;
	char indented[ADDR_STRLEN + 4];
	const char *bytes = text_of("%ju byte%s in %.*f s", (uintmax_t)f->bytes, plural(f->bytes),
				    decimals(f->seconds), f->seconds);
	struct wrap w = {.width = SUMMARY_WIDTH, .indent = indented};

	snprintf(indented, sizeof(indented), "  %s: ", name);
	wrap_add(&w, "", "%s%s%s", date_of(r), indented + 2, f->cut ? bytes : throughput_text(f));
	if (!isnan(f->host.load)) {
		wrap_add(&w, ", ", "%s", load_format(f));
	} else if (no_load_is_told(f->host.no_load)) {
		wrap_add(&w, "", ",");
		wrap_text(&w, load_format(f));
	}
	if (!f->cut)
		wrap_add(&w, ", ", "%s", bytes);
	if (is_client)
		wrap_add(&w, ", ", "%ju file%s, %ju read%s%s%s", (uintmax_t)f->files,
			 plural(f->files), (uintmax_t)f->calls, plural(f->calls),
			 is_default ? "" : " by ", is_default ? "" : f->method);
	if (is_client && !isnan(figures_mapped(f)))
		wrap_add(&w, ", ", "%.1f%% mapped", 100 * figures_mapped(f));
	if (is_client && f->warmup > 0)
		wrap_add(&w, ", ", "after %ju byte%s of warm-up", (uintmax_t)f->warmup,
			 plural(f->warmup));
	if (stalls->n > 0)
		wrap_add(&w, ", ",
			 "silent %ju time%s for over 0.2 s, the longest %.3f s, the first "
			 "at %.3f s (%s)",
			 (uintmax_t)stalls->n, plural(stalls->n), f->longest_stall / 1e6,
			 seconds_between(stalls->start_ns, stalls->first[0].at_ns),
			 time_text(stalls->first[0].at_ns, ""));
	if (!isnan(f->host.load) && is_client && f->clients > 1)
		wrap_add(&w, ", ", "load of all %ju clients", (uintmax_t)f->clients);
	groups_add(&w, f);
	putchar('\n');
	flush(r, !is_last(r));
}

/*
 * A group of clients.
 */

/* Prints the object `start` of a group, or of replies, which have no method. */
static void json_start(struct report *r, const char *protocol, const char *method)
{
	struct json *j = &r->json;

	json_open(j, "start", '{');
	environment_json_start(j, &r->environment, &r->via, r->began_ns);
	if (method != NULL) {
		json_open(j, "accepted_connection", '{');
		json_address(j, "host", "port", &r->first);
		json_close(j, '}');
	}
	json_open(j, "test_start", '{');
	json_string(j, "protocol", protocol);
	json_string(j, "method", method);
	json_close(j, '}');
	json_close(j, '}');
}

/* Begins the object of a group, unless it is begun. */
static struct json *group_object(struct report *r)
{
	if (r->json.depth == 0) {
		json_report_open(&r->json);
		json_start(r, r->opt->raw ? "raw TCP" : "TCP", r->opt->method->name);
		json_open(&r->json, "intervals", '[');
	}
	return &r->json;
}

void report_group_begin(struct report *r, const struct sockaddr_storage *peer,
			const char *interface)
{
	link_read(&r->via, r->opt->json ? interface : NULL); /* a client reads it if it is needed */
	r->first = *peer;
	r->began_ns = clock_ns(CLOCK_REALTIME);
	r->listed = 0;
	r->left_out = 0;
	r->cut[0] = '\0';
}

void report_group_interval(struct report *r, const struct figures *f, double start, bool warm_up)
{
	const struct json before = r->json;
	const bool begun = r->intervals.begun;
	struct json *j;

	if (r->opt->json) {
		j = group_object(r);
		json_open(j, NULL, '{');
		json_interval(j, f, 0, start, !warm_up, false);
		json_close(j, '}');
	} else if (!r->opt->quiet) {
		intervals_row(&r->intervals, f, start, !warm_up,
			      f->clients > 1 ? text_of("%ju clients", (uintmax_t)f->clients) : "");
	}
	if (!flush(r, true)) {
		r->json = before;
		r->intervals.begun = begun;
	}
}

void report_client(struct report *r, const struct place *p, const struct figures *f,
		   const struct stalls *stalls, int number, bool summary, const char *why)
{
	struct stream_record *s = NULL;
	socklen_t len = sizeof(s->local);
	const char *name = addr_format((const struct sockaddr *)&p->peer, sizeof(p->peer));

	if (!r->opt->json) {
		if (summary)
			print_summary(r, name, f, stalls, true);
		return;
	}
	if (why != NULL && r->cut[0] == '\0')
		snprintf(r->cut, sizeof(r->cut), "%s: %s", name, why);
	if (summary && r->listed < LISTED_MAX)
		s = (r->listed & (r->listed - 1)) != 0 /* room doubles at the powers of two */
			    ? r->streams
			    : reallocarray(r->streams, 2 * r->listed + 1, sizeof(*s));
	if (s == NULL) {
		r->left_out++;
		return;
	}
	r->streams = s;
	s += r->listed++;
	*s = (struct stream_record){.peer = p->peer, .f = *f, .number = number};
	getsockname(p->sock, (struct sockaddr *)&s->local, &len);
}

static void group_object_end(struct report *r, const struct figures *f, const struct stalls *stalls)
{
	const bool is_begun = r->json.depth > 0; /* otherwise all of it may be dropped */
	struct json *j = group_object(r);
	const struct stream_record *s;

	json_close(j, ']');
	json_open(j, "end", '{');
	json_open(j, "streams", '[');
	for (s = r->streams; s < r->streams + r->listed; s++) {
		json_open(j, NULL, '{');
		json_address(j, "local_host", "local_port", &s->local);
		json_address(j, "remote_host", "remote_port", &s->peer);
		json_stream(j, "receiver", &s->f, s->number, false);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_stream(j, "sum_received", f, 0, false);
	json_host(j, "host", f);
	stalls_list_json(j, "first_stalls", stalls, NULL);
	json_count(j, "clients", f->clients);
	if (r->left_out > 0)
		json_count(j, "streams_left_out", r->left_out);
	json_close(j, '}');
	json_report_end(j, *r->stop != 0 ? "interrupted" : r->cut[0] != '\0' ? r->cut : NULL);
	flush(r, !is_begun && !is_last(r));
}

void report_group(struct report *r, const struct figures *f, const struct stalls *stalls,
		  bool summary)
{
	r->intervals.begun = false; /* the next group has a heading of its own */
	if (r->opt->json) {
		if (summary || f->bytes >= REPORT_LEAST_BYTES || r->json.depth > 0)
			group_object_end(r, f, stalls);
		free(r->streams);
		r->streams = NULL;
	} else if (f->clients > 1 && summary && f->bytes > 0) {
		print_summary(r, text_of("total of %ju clients", (uintmax_t)f->clients), f, stalls,
			      false);
	}
}

/*
 * Replies.
 */

void report_replies(struct report *r, const struct figures *f, double start,
		    const struct reply_total *total)
{
	const struct netstat *n = total != NULL ? &total->tcp : NULL;
	const bool begun = r->intervals.begun;
	struct json *j = &r->json;

	if (r->opt->json) {
		json_report_open(j);
		if (r->began_ns == 0) {
			r->began_ns = clock_ns(CLOCK_REALTIME);
			json_start(r, "requests over TCP", NULL);
		}
		if (j->stream)
			json_open(j, total == NULL ? "interval" : "end", '{');
		json_rows(j, f, IN_REQUESTS);
		json_count(j, "replies", f->calls);
		json_number(j, "replies_per_second", per_second((double)f->calls, f->seconds));
		json_host(j, "host", f);
		if (total != NULL) {
			json_netstat(j, n);
			json_count(j, "refused", total->refused);
			json_count(j, "silent", total->silent);
			json_count(j, "too_large", total->too_large);
			json_count(j, "broken", total->broken);
		}
		if (j->stream)
			json_close(j, '}');
		json_report_end(j, NULL);
	} else if (total == NULL) {
		intervals_row(&r->intervals, f, start, true, "");
	} else { /* no rate, which would be a mean over idle hours */
		printf("%stotal: %" PRIu64 " %s, %" PRIu64 " byte%s; %" PRIu64 " rejected, %" PRIu64
		       " silent, %" PRIu64 " too large, %" PRIu64 " broken\n",
		       date_of(r), f->calls, f->calls == 1 ? "reply" : "replies", f->bytes,
		       plural(f->bytes), total->refused, total->silent, total->too_large,
		       total->broken);
		/* Lost segments and a full accept queue explain stalls of clients. */
		if (!isnan(n->syn_retransmits) && n->retransmits + n->overflows > 0)
			printf("this host retransmitted %.0f segment%s, of which SYNs: %.0f; "
			       "accept queue full: %.0f\n",
			       n->retransmits, plural((uint64_t)n->retransmits), n->syn_retransmits,
			       n->overflows);
	}
	if (!flush(r, total == NULL))
		r->intervals.begun = begun;
}

void report_fail(void *report, const char *why)
{
	struct report *r = report;
	struct timespec until;

	if (!r->opt->json)
		return;
	/* The thread that dies may have the lock, or the main thread may have it and wait for that thread. */
	until = ns_to_timespec(clock_ns(CLOCK_REALTIME) + 1000000000u);
	pthread_mutex_timedlock(&r->lock, &until);
	json_fail(&r->json, why);
}
