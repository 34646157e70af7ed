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
int main(void)
{
	static const struct {
		enum burner_path path;
		const char *title;
	} paths[] = {{BURNER_LOOPBACK, "datagrams arrive by loopback"},
		     {BURNER_VETH, "datagrams arrive between namespaces"},
		     {BURNER_VETH_RPS, "datagrams arrive by RPS"}};
	struct burner_done d;
	struct burner b;
	char why[DIE_MAX];
	size_t i;

	burner_open_or_die(&b, 0, why);
	d = run(&b, (struct burner_work){BURNER_REST, .seconds = 0.05});
	ok(d.cpu_seconds < 0.02 && d.count == 0, "rest takes no CPU time");
	d = run(&b, (struct burner_work){BURNER_BURN, .seconds = 0.1, .n = 2, .share = 0.5});
	ok(d.cpu_seconds > 0 && d.cpu_seconds < 0.15, "two threads take their share at most");
	d = run(&b, (struct burner_work){BURNER_TURN, .seconds = 0.1, .n = 1});
	ok(d.count > 0, "arithmetic is counted");
	d = run(&b, (struct burner_work){BURNER_WAKE, .seconds = 0.2, .n = 1, .rate = 1000});
	ok(d.count > 0 && d.count <= 201, "wake-ups are at most what was asked for");
	for (i = 0; i < LENGTH(paths); i++) {
		if (i > 0 && why[0] != '\0') {
			skip(paths[i].title, why);
			continue;
		}
		d = run(&b, (struct burner_work){BURNER_STREAM, .seconds = 0.1, .n = 2,
						 .path = paths[i].path});
		ok(d.count > 0, "%s", paths[i].title);
	}
	return done();
}
