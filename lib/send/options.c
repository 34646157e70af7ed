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

double options_timeout(const struct send_options *opt)
{
	return opt->timeout > 0 && opt->pace > 0 ? opt->timeout + PACED_BYTES / (double)opt->pace
						 : opt->timeout;
}

struct run_choice options_run(const struct send_options *opt, int i)
{
	const struct compare_options *c = &opt->compare;
	const bool soaks = c->instruments ? i % 2 == 1 : opt->gauge.soak;
	const int k = c->instruments ? i / 2 : i, chunks = chunks_of(opt);
	const char *instrument = soaks ? LOAD_BY_SOAKING : LOAD_BY_IDLE;

	return (struct run_choice){
		.method = c->method[k / c->streams.n / chunks],
		.chunk = opt->chunks.size[k / c->streams.n % chunks],
		.streams = (int)c->streams.size[k % c->streams.n],
		.instrument = gauge_is_wanted(&opt->gauge) ? instrument : "",
	};
}
