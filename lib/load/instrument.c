#include "lib/load/instrument.h"

#include "lib/load/baseline.h"

static void soak_sample(const struct instrument *in, const struct calibration *c,
			struct load_sample *sum, struct load_sample *each)
{
	load_sample_read(in->soaker, c, sum, each);
}

static double soak_baseline(const struct instrument *in, struct calibration *c, double seconds,
			    const _Atomic int *stop)
{
	return baseline_measure(in->soaker, c, seconds, stop);
}

static void soak_limits(const struct instrument *in, struct limits_mark *m)
{
	soaker_limits(in->soaker, m);
}

static void soak_close(struct instrument *in)
{
	soaker_stop(in->soaker);
}

static void watch_sample(const struct instrument *in, const struct calibration *c,
			 struct load_sample *sum, struct load_sample *each)
{
	(void)c; /* on the idle machine a CPU sleeps for all of the time that tasks leave */
	idle_sample(in->idle, sum, each);
}

static double watch_baseline(const struct instrument *in, struct calibration *c, double seconds,
			     const _Atomic int *stop)
{
	return idle_baseline(in->idle, c, seconds, stop);
}

static void watch_limits(const struct instrument *in, struct limits_mark *m)
{
	struct load_sample s;

	idle_sample(in->idle, &s, NULL);
	*m = s.limits;
}

static void watch_close(struct instrument *in)
{
	idle_close(in->idle);
}

static const struct instrument_kind soaking = {
	.sample = soak_sample,
	.baseline = soak_baseline,
	.limits = soak_limits,
	.close = soak_close,
};

static const struct instrument_kind watching = {
	.sample = watch_sample,
	.baseline = watch_baseline,
	.limits = watch_limits,
	.close = watch_close,
};

struct instrument instrument_soak(struct soaker *s)
{
	return (struct instrument){.kind = &soaking, .soaker = s};
}

struct instrument instrument_idle(struct idle *w)
{
	return (struct instrument){.kind = &watching, .idle = w};
}
