#include "lib/load/bracket.h"

#include "lib/load/baseline.h"

/*
 * Measures one baseline; false if *stop ended that.  A CPU that left its soaker no time has none,
 * which baseline_is_whole() tells.
 */
static bool measure(struct bracket *b, const struct instrument *in, struct calibration *c,
		    const _Atomic int *stop)
{
	const double tasks = in->kind->baseline(in, c, b->seconds, stop);
	const bool whole = isnan(tasks) || baseline_is_whole(c);

	if (isnan(tasks))
		return false;
	b->busy[b->closing] = tasks > CAL_BUSY || !whole;
	if (whole && tasks > CAL_FULL) {
		if (!b->warned_of_full)
			warnx("the machine is not idle beside the %s: other programs took %.1f%% of it: "
			      "no load is reported",
			      b->what, 100 * tasks);
		b->warned_of_full = true;
	} else if (whole && tasks > CAL_BUSY && !b->warned) {
		warnx("the machine is not idle beside the %s: other programs took %.1f%% of it: "
		      "the load is unsafe",
		      b->what, 100 * tasks);
		b->warned = true;
	}
	return true;
}

bool bracket_open(struct bracket *b, const char *what, const struct instrument *in,
		  struct calibration *c, double seconds)
{
	char when[64];

	*b = (struct bracket){.what = what, .seconds = seconds, .drift = NAN};
	in->kind->limits(in, &b->begun);
	measure(b, in, c, NULL);
	if (baseline_is_whole(c))
		return true;
	snprintf(when, sizeof(when), "before the %s", what);
	baseline_warn_held(in->soaker, c, when, "no load is measured");
	return false;
}

/*
 * Converts a sample that was taken against one baseline to another.  Idle time is counted against none,
 * and its sum is the kernel's own, which has one error of counting and not one for each CPU.
 */
static void rebase(struct load_sample *sum, struct load_sample *each,
		   const struct calibration *from, const struct calibration *to)
{
	double spin;
	int i;

	if (to->lines > 0)
		return;
	sum->spin = sum->work = 0;
	for (i = 0; i < to->cpus.n; i++) {
		spin = from->cpu[i].spin / to->cpu[i].spin;
		each[i].spin *= spin;
		each[i].work *= spin * from->cpu[i].speed / to->cpu[i].speed;
		sum->spin += each[i].spin;
		sum->work += each[i].work;
	}
}

bool bracket_close(struct bracket *b, const struct instrument *in, struct calibration *c,
		   const struct bracket_samples *samples, const _Atomic int *stop)
{
	const size_t size = (size_t)c->cpus.n * sizeof(*c->cpu);
	struct calibration mean;
	char when[64], result[128];

	b->drift = NAN;
	b->after = (struct calibration){.cpus = c->cpus};
	b->seconds = fmax(b->seconds, (samples->to->time - samples->from->time) / c->cpus.n);
	in->kind->limits(in, &b->ended);
	b->closing = true;
	if (!measure(b, in, &b->after, stop))
		return false;
	if (!baseline_is_whole(&b->after)) {
		if (!b->warned_of_half) {
			snprintf(when, sizeof(when), "after the %s", b->what);
			snprintf(
				result, sizeof(result),
				"only the baseline before the %s could be used, and the load is unsafe",
				b->what);
			baseline_warn_held(in->soaker, &b->after, when, result);
		}
		b->warned_of_half = true;
		bracket_end(b);
		return false;
	}
	mean = b->after;
	mean.cpu = alloc_or_die((size_t)c->cpus.n, sizeof(*c->cpu), "calibration");
	memcpy(mean.cpu, b->after.cpu, size);
	b->drift = 0 - baseline_merge(&mean, c);
	/* A disturbed baseline makes the load unsafe, too. */
	samples->from->limits = b->begun;
	in->kind->limits(in, &samples->to->limits);
	rebase(samples->from, samples->from_each, c, &mean);
	rebase(samples->to, samples->to_each, c, &mean);
	free(c->cpu);
	*c = mean;
	return true;
}

void bracket_next(struct bracket *b, struct calibration *c)
{
	if (b->after.cpu == NULL)
		return;
	free(c->cpu);
	*c = b->after;
	b->after.cpu = NULL;
	b->begun = b->ended;
	b->busy[0] = b->busy[1];
	b->busy[1] = false;
}

unsigned bracket_unsafe(const struct bracket *b)
{
	return b->busy[0] || b->busy[1] ? UNSAFE_BASELINE_BUSY : 0;
}

void bracket_end(struct bracket *b)
{
	free(b->after.cpu);
	b->after.cpu = NULL;
}
