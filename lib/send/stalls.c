#include "lib/send/stalls.h"

/*
 * A connection stalls if it waits for data for STALL_NS or longer, and STALL_CONNECT times as long as
 * it took to be made: the network alone does not delay it so.  It stalls while connecting if that
 * takes STALL_CONNECT_NS or longer, and STALL_CONNECT times as long as the fastest connection took: a
 * SYN is sent again after 1 s (TCP_TIMEOUT_INIT of the kernel, RFC 6298).
 */
#define STALL_NS         20000000u
#define STALL_CONNECT_NS 900000000u
#define STALL_CONNECT    5

#define STEAL_SHOWN 0.01 /* share of the CPU time; less hardly delays anything */

static bool waited_for_data(const struct wait *w)
{
	return w->longest_ns >= STALL_NS && w->longest_ns >= STALL_CONNECT * w->connect_ns;
}

enum stall_place stall_of(const struct wait *w)
{
	if (waited_for_data(w))
		return w->before_first ? STALL_FIRST_BYTE : STALL_DATA;
	return w->connect_ns >= STALL_CONNECT_NS ? STALL_CONNECTING : STALL_PLACES;
}

void stalls_add(struct stalls *s, const struct wait *w)
{
	const enum stall_place place = stall_of(w);

	if (place != STALL_PLACES)
		latency_add(&s->at[place],
			    place == STALL_CONNECTING ? w->connect_ns : w->longest_ns);
}

void stalls_add_open(struct stalls *s, const struct wait *w, uint64_t age_ns)
{
	s->open++;
	s->open_stalled += stall_of(w) != STALL_PLACES;
	if (age_ns > s->open_longest_ns)
		s->open_longest_ns = age_ns;
}

void stalls_merge(struct stalls *sum, const struct stalls *s)
{
	int i;

	for (i = 0; i < STALL_PLACES; i++)
		latency_merge(&sum->at[i], &s->at[i]);
	sum->open += s->open;
	sum->open_stalled += s->open_stalled;
	if (s->open_longest_ns > sum->open_longest_ns)
		sum->open_longest_ns = s->open_longest_ns;
}

void stalls_settle(struct stalls *s, const struct latency *connects)
{
	if (connects->n > 0)
		latency_drop_below(&s->at[STALL_CONNECTING],
				   1e9 * STALL_CONNECT * latency_percentile(connects, 0));
}

uint64_t stalls_count(const struct stalls *s)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < STALL_PLACES; i++)
		n += s->at[i].n;
	return n;
}

/*
 * The text.
 */

static const char *const place_name[] = {"connecting", "before the first byte",
					 "after the first byte"};
static const char *const place_key[] = {"connecting", "first_byte", "data"};

/* A share in percent, with the digits that tell it from 0 and from all. */
static const char *share_text(uint64_t part, uint64_t all, char buf[16])
{
	const double p = 100 * (double)part / (double)all;
	int digits = p < 0.1 ? 4 : p < 10 ? 1 : 0;
	double shown;

	do {
		snprintf(buf, 16, "%.*f%%", digits, p);
		shown = strtod(buf, NULL);
	} while (digits++ < 9 && ((shown <= 0 && part > 0) || (shown >= 100 && part < all)));
	return buf;
}

/* One stall has one time; several have a median and a maximum. */
static void place_text(const char *name, const struct latency *h)
{
	if (h->n == 1)
		report("    %s: 1, %.1f ms\n", name, (double)h->max / 1e6);
	else if (h->n > 1)
		report("    %s: %" PRIu64 ", median %.1f ms, maximum %.1f ms\n", name, h->n,
		       1000 * latency_percentile(h, 0.5), (double)h->max / 1e6);
}

static void hint_text(const char *time, uint64_t n, const char *reason)
{
	if (n > 0)
		report("    %s (%" PRIu64 "): %s\n", time, n, reason);
}

/*
 * What takes such a time.  A delayed acknowledgement takes 40 ms (TCP_DELACK_MIN) and up to two of
 * the kernel's ticks more, and a retransmission 200 ms or more (TCP_RTO_MIN); the client's clock may
 * show a few ms less than the server waited.
 */
static void hints_text(const struct stalls *s)
{
	const struct latency *first = &s->at[STALL_FIRST_BYTE], *data = &s->at[STALL_DATA];
	const uint64_t delayed = latency_count(first, 36e6, 60e6) + latency_count(data, 36e6, 60e6);
	const uint64_t resent = latency_count(first, 190e6, INFINITY) +
				latency_count(data, 190e6, INFINITY);

	hint_text("1 s or more", s->at[STALL_CONNECTING].n,
		  "a lost SYN, or a server whose accept queue is full");
	hint_text("40 to 60 ms", delayed, "a delayed acknowledgement, if not a busy server");
	hint_text("200 ms or more", resent, "a retransmission, or a busy or stopped server");
	hint_text("other times", first->n + data->n - delayed - resent,
		  "a server or a CPU that was busy or stopped");
}

static void evidence_text(const struct stall_evidence *e)
{
	const struct netstat *t = &e->tcp;

	if (t->retransmits != COUNTER_UNKNOWN && t->syn_retransmits != COUNTER_UNKNOWN)
		report("    this host retransmitted %" PRIu64 " segment%s, of which SYNs: %" PRIu64
		       "\n",
		       t->retransmits, plural(t->retransmits), t->syn_retransmits);
	if (e->pauses.n > 0)
		report("    zcc itself was stopped or waited for a CPU: %" PRIu64
		       " time%s, maximum %.1f ms\n",
		       e->pauses.n, plural(e->pauses.n), (double)e->pauses.longest_ns / 1e6);
	if (e->steal > STEAL_SHOWN)
		report("    the host of this virtual machine took %.1f%% of the CPU time\n",
		       100 * e->steal);
}

void stalls_text(const struct stalls *s, uint64_t n, const struct stall_evidence *e, bool brief)
{
	const uint64_t stalled = stalls_count(s);
	char share[16];
	int i;

	if (stalled == 0)
		return;
	report("  STALLED: %" PRIu64 " of %" PRIu64 " connections, %s\n", stalled, n,
	       share_text(stalled, n, share));
	if (brief)
		return;
	for (i = 0; i < STALL_PLACES; i++)
		place_text(place_name[i], &s->at[i]);
	hints_text(s);
	evidence_text(e);
}

/*
 * The JSON.
 */

void latency_json(struct json *j, const char *key, const struct latency *h)
{
	json_open(j, key, '{');
	json_number(j, "p50", latency_percentile(h, 0.5));
	json_number(j, "p90", latency_percentile(h, 0.9));
	json_number(j, "p99", latency_percentile(h, 0.99));
	json_number(j, "p999", latency_percentile(h, 0.999));
	if (h->n > 0)
		json_number(j, "max", (double)h->max / 1e9);
	json_close(j, '}');
}

static void place_json(struct json *j, const char *key, const struct latency *h)
{
	json_open(j, key, '{');
	json_count(j, "connections", h->n);
	latency_json(j, "seconds", h);
	json_close(j, '}');
}

void stalls_json(struct json *j, const struct stalls *s, const struct stall_evidence *e)
{
	struct latency all = {.n = 0};
	int i;

	for (i = 0; i < STALL_PLACES; i++)
		latency_merge(&all, &s->at[i]);
	json_open(j, "stalls", '{');
	json_count(j, "connections", all.n);
	json_count(j, "before_first_byte", s->at[STALL_FIRST_BYTE].n);
	latency_json(j, "seconds", &all);
	for (i = 0; i < STALL_PLACES; i++)
		place_json(j, place_key[i], &s->at[i]);
	json_open(j, "pauses", '{');
	json_count(j, "count", e->pauses.n);
	json_number(j, "max", (double)e->pauses.longest_ns / 1e9);
	json_close(j, '}');
	json_close(j, '}');
}
