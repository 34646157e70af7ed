#include "lib/report/figures.h"

#include <sys/utsname.h>

#include "lib/load/cpus.h"

void figures_init(struct figures *f)
{
	memset(f, 0, sizeof(*f));
	f->seconds = f->cpu = NAN;
	load_init(&f->host);
	set_unknown(&f->tcp, sizeof(f->tcp));
}

bool figure_is_possible(enum figure_kind kind, double value)
{
	static const struct {
		double least, most;
		bool whole;
	} bounds[FIGURE_KINDS] = {
		[FIGURE_COUNT] = {.most = 1e18, .whole = true}, /* of bytes, an exabyte */
		[FIGURE_SECONDS] = {.most = 1e9},               /* 30 years */
		[FIGURE_LOAD] = {.least = -100, .most = 100},
		[FIGURE_SHARE] = {.most = 100},
		[FIGURE_CPU] = {.most = CPUS_MAX - 1, .whole = true},
		[FIGURE_CPUS] = {.most = CPUS_MAX},
		[FIGURE_RATE] = {.most = 1e15},
		[FIGURE_COST] = {.least = -1e15, .most = 1e15},
	};

	return value >= bounds[kind].least && value <= bounds[kind].most &&
	       (!bounds[kind].whole || value == floor(value));
}

void figures_program(struct figures *f)
{
	struct utsname u;

	snprintf(f->version, sizeof(f->version), "%s", VERSION);
	if (uname(&u) == 0)
		snprintf(f->kernel, sizeof(f->kernel), "%s", u.release);
}

void figures_add(struct figures *sum, const struct figures *f)
{
	sum->bytes += f->bytes;
	sum->calls += f->calls;
	sum->files += f->files;
	sum->warmup += f->warmup;
	sum->host.unsafe |= f->host.unsafe;
	if (isnan(sum->seconds) || f->seconds > sum->seconds)
		sum->seconds = f->seconds;
	sum->tcp.retransmits += f->tcp.retransmits;
	strcpy(sum->method, f->method);
}
