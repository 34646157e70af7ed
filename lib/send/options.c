#include "lib/send/options.h"

static int chunks_of(const struct send_options *opt)
{
	return opt->chunks.n > 0 ? opt->chunks.n : 1;
}

int options_runs(const struct send_options *opt)
{
	return opt->compare.n_methods * chunks_of(opt) * opt->compare.streams.n;
}

size_t options_choose_run(struct send_options *opt, int i)
{
	const struct compare_options *c = &opt->compare;
	const int chunks = chunks_of(opt);

	opt->streams = (int)c->streams.size[i % c->streams.n];
	i /= c->streams.n;
	opt->method = c->method[i / chunks];
	return opt->chunks.size[i % chunks];
}
