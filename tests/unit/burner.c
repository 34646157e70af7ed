#include "lib/load/burner.h"

#include "lib/load/cpus.h"
#include "tests/unit/unit.h"

static struct burner_done run(const struct burner *b, struct burner_work w)
{
	struct burner_done d;
	struct cpus cpus;

	cpus_online(&cpus);
	w.cpu[0] = cpus.id[0];
	w.cpu[1] = cpus.id[cpus.n - 1];
	burner_run_or_die(b, &w, &d);
	return d;
}

/* No time is judged from below: other programs may have the CPUs. */
static void test_work(const struct burner *b, const char *why)
{
	struct burner_done d = run(b, (struct burner_work){BURNER_REST, .seconds = 0.05});

	ok(d.cpu_seconds < 0.02 && d.count == 0, "rest takes no CPU time");
	d = run(b, (struct burner_work){BURNER_BURN, .seconds = 0.1, .n = 2, .share = 0.5});
	ok(d.cpu_seconds > 0 && d.cpu_seconds < 0.15, "two threads take their share at most");
	d = run(b, (struct burner_work){BURNER_TURN, .seconds = 0.3, .n = 1});
	ok(d.count > 0, "arithmetic is counted");
	d = run(b, (struct burner_work){BURNER_WAKE, .seconds = 0.3, .n = 1, .rate = 1000});
	ok(d.count > 0 && d.count <= 301, "wake-ups are at most what was asked for");
	d = run(b, (struct burner_work){BURNER_STREAM, .seconds = 0.3, .n = 2});
	ok(d.count > 0, "datagrams arrive by loopback");
	if (why[0] != '\0') {
		skip("datagrams arrive between namespaces", why);
		return;
	}
	d = run(b,
		(struct burner_work){BURNER_STREAM, .seconds = 0.3, .n = 2, .path = BURNER_VETH});
	ok(d.count > 0, "datagrams arrive between namespaces");
	d = run(b, (struct burner_work){BURNER_STREAM, .seconds = 0.3, .n = 2,
					.path = BURNER_VETH_RPS});
	ok(d.count > 0, "datagrams arrive by RPS");
}

int main(void)
{
	struct burner b;
	char why[DIE_MAX];

	burner_open_or_die(&b, 0, why);
	test_work(&b, why);
	return done();
}
