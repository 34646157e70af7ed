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

static const struct instrument_kind soaking = {
	.sample = soak_sample,
	.baseline = soak_baseline,
	.limits = soak_limits,
	.close = soak_close,
};

struct instrument instrument_soak(struct soaker *s)
{
	return (struct instrument){.kind = &soaking, .soaker = s};
}
