#include "lib/send/options.h"

#define PACED_BYTES (2.0 * 64 * 1024) /* two segments as long as the kernel makes them */

bool options_zeros(const struct send_options *opt)
{
	return opt->content != NULL && strcmp(opt->content, "zeros") == 0;
}

static int chunks_of(const struct send_options *opt)
{
	return opt->chunks.n > 0 ? opt->chunks.n : 1;
}

int options_runs(const struct send_options *opt)
{
	return opt->compare.n_methods * chunks_of(opt) * opt->compare.streams.n *
	       (opt->compare.instruments ? 2 : 1);
}

const char *options_instrument(const struct send_options *opt, int i)
{
	const bool soaks = opt->compare.instruments ? i % 2 == 1 : opt->gauge.soak;

	return !gauge_is_wanted(&opt->gauge) ? "" : soaks ? LOAD_BY_SOAKING : LOAD_BY_IDLE;
}

double options_timeout(const struct send_options *opt)
{
	return opt->timeout > 0 && opt->pace > 0 ? opt->timeout + PACED_BYTES / (double)opt->pace
						 : opt->timeout;
}

size_t options_choose_run(struct send_options *opt, int i)
{
	const struct compare_options *c = &opt->compare;
	const int chunks = chunks_of(opt);

	i /= c->instruments ? 2 : 1;
	opt->streams = (int)c->streams.size[i % c->streams.n];
	i /= c->streams.n;
	opt->method = c->method[i / chunks];
	return opt->chunks.size[i % chunks];
}
