#include "lib/send/run.h"

#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include "lib/load/baseline.h"
#include "tests/unit/unit.h"

static void test_time(void)
{
	ok(time_after(1000, 2.5) == 2500001000, "2.5 seconds after 1000 ns");
	ok(time_after(1000, 0) == NEVER, "0 seconds are no limit");
	ok(time_after(1000, -1) == NEVER, "a time below 0 is no limit");
}

/* Two seconds, of which the soaker of one CPU spun for a half and the host took 5 %. */
static void test_host(void)
{
	static struct baseline b = {.spin = 1, .speed = 1};
	static struct send_options opt;
	static struct run r = {.opt = &opt};
	struct gauge *g = &r.gauge;
	struct figures f;

	g->calibration.cpus.n = 1;
	g->calibration.cpu = &b;
	g->calibration.all = b;
	r.begin.counters.ns = 1000000000;
	r.end.counters.ns = 3000000000;
	r.end.counters.total.interrupts = 500;
	r.end.counters.total.cpu[CPU_STEAL] = 5;
	r.end.counters.total.cpu[CPU_IDLE] = 95;
	r.begin.sum.time = 1;
	r.end.sum.time = 3;
	r.end.sum.spin = r.end.sum.work = 1;
	figures_init(&f);
	run_host_figures(&r, &f);
	ok(f.host.rates.interrupts == 250 && isnan(f.host.load) && f.host.unsafe == 0,
	   "a host whose load is not measured has rates");
	is(f.no_load, "off",
	   "a host whose load is not measured has the reason that it was not asked for");
	opt.gauge.soak = true;
	g->missing = UNSAFE_BASELINE_BUSY;
	run_host_figures(&r, &f);
	ok(isnan(f.host.load) && f.host.unsafe == UNSAFE_BASELINE_BUSY &&
		   strcmp(f.no_load, "baseline") == 0,
	   "a host without a baseline has no load, and the reason");
	g->missing = UNSAFE_SOAKED_ALREADY;
	run_host_figures(&r, &f);
	ok(isnan(f.host.load) && f.host.unsafe == UNSAFE_SOAKED_ALREADY &&
		   strcmp(f.no_load, "held") == 0,
	   "a host that another program soaks has no load, and the reason");
	g->instrument = instrument_soak(NULL); /* nothing reads it */
	run_host_figures(&r, &f);
	ok(near(f.host.load, 0.5) && f.host.seconds == 2 && f.host.cpus == 1,
	   "a host has the load between the two samples");
	ok(f.host.unsafe == UNSAFE_STEAL, "a load of which the host took 5 %% is unsafe");
}

/* Connects to a socket that listens, at a pace.  Returns how much may wait to be sent, or -1. */
static int unsent_limit(uint64_t pace)
{
	const struct send_options opt = {.pace = pace};
	const struct run run = {.opt = &opt};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct target t = {.addr_len = sizeof(a)};
	const int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(a);
	_Atomic int sock = -1;
	int fd = -1, limit = -1;

	if (bind(listener, (struct sockaddr *)&a, len) == 0 && listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)&a, &len) == 0) {
		memcpy(&t.addr, &a, sizeof(a));
		fd = target_connect(&t, &run, &sock);
	}
	if (fd >= 0 && fd == sock) {
		limit = sock_get(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT);
		close(fd);
	}
	close(listener);
	return limit;
}

static void test_pace(void)
{
	ok(unsent_limit(0) == 0, "without --pace what waits to be sent has no limit of its own");
	ok(unsent_limit(2000000) == 100001, "with --pace what waits to be sent takes 0.05 s");
	ok(unsent_limit(1) == 1, "with any --pace something may wait to be sent");
	ok(unsent_limit(1ull << 50) == INT_MAX, "a --pace may be faster than any link");
}

int main(void)
{
	test_pace();
	test_time();
	test_host();
	return done();
}
