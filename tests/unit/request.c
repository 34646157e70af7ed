/* The part itself, on a network that takes seconds by a clock of its own. */
#include "lib/send/transfer.h"

static _Thread_local uint64_t passed_ns = 1000000000;
static int test_connect(const struct target *t, const struct run *r, int number, _Atomic int *sock);
static void test_baseline(struct run *r);

#undef now_ns
#define now_ns()           passed_ns
#define target_connect     test_connect
#define run_baseline_after test_baseline
#include "lib/send/request.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#define KEEPS_FILES
#include "tests/unit/unit.h"

static pthread_barrier_t both; /* threads connect, so that neither makes all connections */
static _Atomic int slow;       /* connections that are to take 9 s; others take 1 s */
static int receipts;           /* that were asked for */
static int receipts_before;    /* of these before the baseline after the run */
/* Connects to a server that answers at once, with a byte, or a receipt. */
static int test_connect(const struct target *t, const struct run *r, int number, _Atomic int *sock)
{
	const char *answer = number < 0 ? "bytes=6 seconds=99 reads=6\n" : "x";
	int fd[2];

	(void)t;
	(void)r;
	if (number < 0) {
		receipts++;
	} else {
		pthread_barrier_wait(&both);
		passed_ns += atomic_fetch_sub(&slow, 1) > 0 ? 9000000000 : 1000000000;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0 ||
	    write(fd[1], answer, strlen(answer)) != (ssize_t)strlen(answer) ||
	    shutdown(fd[1], SHUT_WR) != 0)
		abort();
	*sock = fd[0];
	return fd[0];
}

static void test_baseline(struct run *r)
{
	(void)r;
	receipts_before = receipts;
}

/* The connections of two threads, of which so many are slow. */
static const struct requests *requests_of(struct request_server *server, int n, int are_slow,
					  bool compares)
{
	static struct send_options opt = {.streams = 2, .request = 1};
	static struct requests all;
	static struct target target;
	static struct send_report report;
	static struct run run;
	char why[DIE_MAX];

	opt.loops = (uint32_t)n;
	opt.compares = compares;
	report.opt = &opt;
	slow = are_slow;
	run_open(&run, &opt);
	requests_run(&run, &report, &target, server, &all, why);
	return &all;
}

int main(void)
{
	struct request_server server = {.closes = false};
	const struct requests *q;

	pthread_barrier_init(&both, NULL, 2);
	q = requests_of(&server, 6, 0, false);
	ok(q->latency[TOTAL].n == 6 && q->host.bytes == 6 && server.succeeded,
	   "the requests of all threads are counted");
	ok(requests_stalled(q) == 0,
	   "waits while connecting that the network's delay explains are no stalls, in any thread");
	q = requests_of(&server, 6, 2, false);
	ok(q->stalled[STALL_CONNECTING].n == 2,
	   "waits while connecting that are far longer than others are stalls, in each thread");
	/* Else the server's load may be that of its idle host. */
	q = requests_of(&server, 6, 0, true);
	ok(q->has_receipt && q->received.requests.n == 6 && receipts_before == 2,
	   "the receipts of a comparison enclose the run, without the baseline after it");
	return done();
}
