#include "lib/load/burner.h"

#include "lib/load/cpus.h"
#define KEEPS_FILES
#include "tests/unit/unit.h"

static bool is_forbidden;

#define unshare(flags) (errno = EPERM, is_forbidden ? -1 : unshare(flags))
#include "lib/load/burner.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

static struct burner b;

static struct burner_done work_of(struct burner_work w)
{
	struct burner_done d;
	struct cpus cpus;

	cpus_online(&cpus);
	w.cpu[0] = cpus.id[0];
	w.cpu[1] = cpus.id[cpus.n - 1];
	burner_run_or_die(&b, &w, &d);
	return d;
}

/* No time is judged from below: other programs may have the CPUs, so that it is tried again. */
/* cppcheck-suppress unusedFunction ; cppcheck overlooks calls with a compound literal */
static void counts(struct burner_work w, uint64_t least, const char *title)
{
	int tries;

	for (tries = 0; tries < 50; tries++)
		if (work_of(w).count >= (double)least)
			break;
	ok(tries < 50, "%s", title);
}

int main(void)
{
	static const char *const titles[] = {NULL, "datagrams arrive between namespaces",
					     "datagrams arrive by RPS"};
	struct burner_done d;
	char why[DIE_MAX];
	enum burner_path i;

	is_forbidden = true;
	burner_open(&b, 0, why);
	is(why, "no network namespace: Operation not permitted",
	   "what forbids a namespace is a reason");
	is_forbidden = false;
	burner_open(&b, 0, why);
	d = work_of((struct burner_work){.rate = 1, .seconds = 0.05});
	ok(d.cpu_seconds < 0.02 && d.count == 0, "rest takes no CPU time");
	d = work_of((struct burner_work){.share = 0.5, .rate = 100, .seconds = 0.1, .n = 2});
	ok(d.cpu_seconds > 0 && d.cpu_seconds < 0.15, "two threads take their share at most");
	d = work_of((struct burner_work){.rate = 1000, .seconds = 0.1, .n = 1});
	ok(d.count <= 101, "wake-ups are at most what was asked for");
	counts((struct burner_work){.rate = 1000, .seconds = 0.1, .n = 1}, 1,
	       "wake-ups are counted");
	counts((struct burner_work){.share = 1, .rate = 100, .seconds = 0.1, .n = 1}, 100,
	       "turns of work are counted");
	for (i = BURNER_VETH; i <= BURNER_VETH_RPS; i++)
		if (why[0] == '\0')
			counts(
				(struct burner_work){
					.rate = 2000, .path = i, .seconds = 0.05, .n = 2},
				300, titles[i]); /* of 100 bursts of two, each of many */
		else
			skip(titles[i], why);
	return done();
}
