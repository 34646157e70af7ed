/* Samples, their rings and their figures: lib/load/profile. */
#include "lib/load/profile.h"

#include <linux/perf_event.h>

#include "tests/unit/unit.h"

#define SIZE 64 /* bytes of the ring */

static _Alignas(8) unsigned char ring[SIZE];
static uint64_t head, seen, sum;

static void start(uint64_t at)
{
	head = at;
	seen = sum = 0;
}

static void put(uint16_t size, uint64_t value)
{
	const struct perf_event_header h = {.type = PERF_RECORD_LOST, .size = size};
	uint64_t words[4] = {0, value, value, value};
	const uint64_t n = size > 32 ? 32 : size < 8 ? 8 : size;
	uint64_t i;

	memcpy(words, &h, sizeof(h));
	for (i = 0; i < n; i++)
		ring[(head + i) % SIZE] = ((unsigned char *)words)[i];
	head += size;
}

static void each(void *arg, const struct perf_event_header *h)
{
	uint64_t last;

	(void)arg;
	memcpy(&last, (const unsigned char *)h + h->size - sizeof(last), sizeof(last));
	seen++;
	sum += last;
}

static void test_ring(void)
{
	start(0);
	ok(ring_each(ring, SIZE, 0, 0, each, NULL) && seen == 0, "an empty ring has no record");
	put(16, 3);
	put(24, 4);
	ok(ring_each(ring, SIZE, 0, head, each, NULL) && seen == 2 && sum == 7,
	   "each record is read");
	put(24, 5);
	ok(ring_each(ring, SIZE, 0, SIZE, each, NULL) && sum == 7 + 12,
	   "also of a ring that is full");
	start(UINT64_MAX - 39); /* the kernel's counters never end */
	put(24, 5);
	put(32, 6);
	ok(ring_each(ring, SIZE, UINT64_MAX - 39, head, each, NULL) && seen == 2 && sum == 11,
	   "a record that ends at the begin of the ring is whole");
}

static void test_hostile_rings(void)
{
	static const uint16_t sizes[] = {0, 4, 7, 12, 20, 48, UINT16_MAX};
	size_t i;

	for (i = 0; i < LENGTH(sizes); i++) {
		start(0);
		put(16, 1);
		put(sizes[i], 1);
		ok(!ring_each(ring, SIZE, 0, 40, each, NULL) && seen == 1,
		   "the records behind one of %d bytes, of 24 that are left, are skipped",
		   sizes[i]);
	}
	start(0);
	put(16, 1);
	ok(!ring_each(ring, SIZE, 0, SIZE + 8, each, NULL) && seen == 0,
	   "a ring cannot have more than its size");
	ok(!ring_each(ring, SIZE, 4, 16, each, NULL), "nor a record between two words");
}

/* A sample of a thread, with addresses of which the record says how many there are. */
static void count(uint16_t size, uint32_t tid, uint64_t n, uint64_t address,
		  struct profile_counts *c)
{
	static struct symbols none;
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t n, chain[2];
	} sample = {{.type = PERF_RECORD_SAMPLE, .size = size},
		    1,
		    tid,
		    n,
		    {(uint64_t)PERF_CONTEXT_KERNEL, address}};

	profile_count(&none, 7, &sample.header, c);
}

static void test_counts(void)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} lost = {{.type = PERF_RECORD_LOST, .size = sizeof(lost)}, 1, 40};
	struct profile_counts c = {.lost = 0};

	count(24, 5, 0, 0, &c);
	count(40, 5, 2, 0x1000, &c);
	count(24, 7, 0, 0, &c);
	ok(c.n[PROFILE_USER] == 1 && c.n[PROFILE_OTHER] == 1 && c.idle == 1 && c.lost == 0,
	   "samples are counted by their groups; those of the soaker are idle time");
	profile_count(NULL, 7, &lost.header, &c);
	ok(c.lost == 40, "samples that the kernel lost are counted");
	count(16, 5, 0, 0, &c);
	count(40, 5, 3, 0, &c);
	count(40, 5, UINT64_MAX, 0, &c);
	ok(c.lost == 43 && c.idle == 1, "samples of impossible sizes are lost, too");
}

static void test_shares(void)
{
	const struct profile_counts idle = {.n[PROFILE_SCHEDULER] = 10, .time = 5};
	const struct profile_counts none = {.n[PROFILE_COPY] = 7};
	struct profile_counts c = {.n = {[PROFILE_COPY] = 300, [PROFILE_SCHEDULER] = 120},
				   .idle = 580};
	struct profile_shares s = {.lost = 0};
	char unsafe[PROFILE_REASONS];

	/* In 10 CPU-seconds the idle machine has 20 samples of the scheduler: 400 are load, 40 % of all. */
	profile_shares(&c, &idle, 10, 0.42, 0.01, &s, unsafe);
	ok(s.samples == 400 && near(s.sampled, 0.4) && near(s.group[PROFILE_COPY], 0.42 * 3 / 4) &&
		   near(s.group[PROFILE_SCHEDULER], 0.42 / 4) && s.group[PROFILE_TCP] == 0,
	   "groups are shares of the load that was measured, without what the idle machine has");
	/* 1.96 sqrt(1/16 300 + 9/16 160) / 400 0.42, 3/4 0.01 and 3/4 0.02: the scheduler's noise is 120 + 4 10. */
	ok(fabs(s.half[PROFILE_COPY] - 0.0272) < 1e-4,
	   "with the errors of the share, of the idle machine and of the load");
	is(unsafe, "", "and are safe");
	c.n[PROFILE_OTHER] = 60;
	c.lost = 20;
	profile_shares(&c, &idle, 10, 0.3, 0.01, &s, unsafe);
	is(unsafe, "other,lost,sampled",
	   "unless much is in no group, or lost, or the samples are not as many as the load");
	ok(near(s.lost, 20.0 / 1080), "what is lost is a share of all samples, lost ones included");
	c.n[PROFILE_OTHER] = c.lost = 0;
	profile_shares(&c, &idle, 10, 0.44, 0.01, &s, unsafe);
	is(unsafe, "", "samples may differ from a load by a fifth of it");
	profile_shares(&(struct profile_counts){.n = {[PROFILE_COPY] = 60}, .idle = 940}, &none, 10,
		       0.08, 0.01, &s, unsafe);
	ok(unsafe[0] == '\0' && near(s.sampled, 0.06),
	   "or by 3 points; without samples of an idle machine nothing is subtracted");
	c = (struct profile_counts){.n = {[PROFILE_COPY] = 25, [PROFILE_SCHEDULER] = 24},
				    .idle = 51};
	profile_shares(&c, &idle, 10, 0.29, 0.01, &s, unsafe);
	is(unsafe, "sampled", "or are few");
	s.group[PROFILE_COPY] = NAN;
	profile_shares(&c, &idle, 10, NAN, NAN, &s, unsafe);
	ok(isnan(s.group[PROFILE_COPY]) && near(s.sampled, 0.29),
	   "where the load is not measured there are samples, and no groups");
}

TESTS(test_ring, test_hostile_rings, test_counts, test_shares)
