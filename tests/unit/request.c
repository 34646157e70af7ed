/* The part itself, on a network whose times and answers are a script. */
#include "lib/send/transfer.h"

#include <sys/socket.h>

static _Thread_local uint64_t passed_ns = 1000000000;
static int test_connect(const struct target *t, const struct run *r, int number, _Atomic int *sock);
static ssize_t test_recv(int fd, char *buf, size_t size, int flags);
static int test_shutdown(int fd, int how);
static void test_baseline(struct run *r);

#undef now_ns
#define now_ns()                   passed_ns
#define target_connect             test_connect
#define run_baseline_after         test_baseline
#define recv(fd, buf, size, flags) test_recv(fd, buf, size, flags)
#define poll(p, n, ms)             poll(p, n, 0) /* what has not come does not come */
#define shutdown(fd, how)          test_shutdown(fd, how)
#include "lib/send/request.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */
#undef recv
#undef shutdown

#include "tests/unit/unit.h"

/* A server, and what the run has done. */
static struct script {
	const char *answer; /* to each request */
	int error;          /* of connections, from this one on */
	int fails_from;
	bool stays_open;     /* after an answer */
	const char *receipt; /* NULL: none */
	int ms[3],
		slow_ms[3]; /* for connecting, the first byte and the others; and of slow connections */
	_Atomic int slow; /* connections */
	_Atomic int connected, tested;
	int baselines, receipts,
		receipts_before; /* that were asked for; of these before the baseline after the run */
} s;

static _Thread_local int read_before; /* of this connection, whether it is slow */
static _Thread_local bool is_slow;
static pthread_barrier_t both; /* two threads connect, so that neither makes all connections */
static int peer[256];

static void passes(int place)
{
	passed_ns += (uint64_t)(is_slow ? s.slow_ms : s.ms)[place] * 1000000;
}

static int test_connect(const struct target *t, const struct run *r, int number, _Atomic int *sock)
{
	const struct timeval soon = {.tv_usec = 10000};
	const char *answer = number < 0 ? s.receipt : s.answer;
	int fd[2], n;

	if (number < 0) {
		s.receipts++;
	} else {
		if (r->opt->streams > 1)
			pthread_barrier_wait(&both);
		read_before = 0;
		is_slow = atomic_fetch_sub(&s.slow, 1) > 0;
		passes(0);
	}
	n = s.connected++;
	if (s.error != 0 && n >= s.fails_from && number >= 0) {
		errno = s.error;
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0 ||
	    write(fd[1], answer, strlen(answer)) != (ssize_t)strlen(answer) ||
	    (!s.stays_open && shutdown(fd[1], SHUT_WR) != 0) ||
	    setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)) != 0)
		abort();
	peer[n] = fd[1];
	*sock = fd[0];
	return fd[0];
}

/* Each byte of a reply comes alone. */
static ssize_t test_recv(int fd, char *buf, size_t size, int flags)
{
	const ssize_t n = recv(fd, buf, flags == 0 ? 1 : size, flags);

	if (n > 0 && flags == 0)
		passes(read_before++ == 0 ? 1 : 2);
	return n;
}

/* A zcs without --reply closes a connection then. */
static int test_shutdown(int fd, int how)
{
	if (how == SHUT_WR && s.receipt == NULL) {
		s.tested++;
		shutdown(peer[s.connected - 1], SHUT_WR);
	}
	return shutdown(fd, how);
}

static void test_baseline(struct run *r)
{
	(void)r;
	s.baselines++;
	s.receipts_before = s.receipts;
}

/* Makes requests, whose options follow those of the script, and prints how they ended. */
static void requests_of(const char *title, struct script script, const char *words)
{
	static char *argv[32];
	static struct send_options opt;
	static struct requests all;
	struct request_server server = {.closes = false};
	struct send_report report_of = {.opt = &opt};
	struct target target = {.name = "server"};
	struct run run;
	char why[DIE_MAX];
	const char *error;
	int i;

	s = script;
	options_parse(&opt, words_of(text_of("-s server %s", words), argv), argv);
	run_open(&run, &opt);
	error = requests_run(&run, &report_of, &target, &server, &all, why);
	run_close(&run);
	report("%s: %ju bytes of %ju requests, the longest %ju ms, stalls", title,
	       (uintmax_t)all.host.bytes, (uintmax_t)all.latency[TOTAL].n,
	       (uintmax_t)all.latency[TOTAL].max / 1000000);
	for (i = 0; i < STALL_PLACES; i++)
		report(" %ju of %ju ms", (uintmax_t)all.stalled[i].n,
		       (uintmax_t)all.wait[i].max / 1000000);
	for (i = 0; i < FAILURES; i++)
		if (all.failed[i] > 0)
			report(", failed: %ju %s", (uintmax_t)all.failed[i],
			       failure_text(all.error[i]));
	if (all.has_receipt)
		report(", a receipt of %g", all.received.requests.n);
	if (s.baselines == 0)
		report(", no baseline");
	if (s.receipts > 0)
		report(", %d before the baseline", s.receipts_before);
	report(", the last %ju; %d tested%s; %s\n", (uintmax_t)all.failed_last, s.tested,
	       requests_go_on(&server) ? ", more follow" : "", error != NULL ? error : "all right");
	for (i = 0; i < s.connected; i++)
		close(peer[i]);
}

#define SERVER(answer, ...)                                                                        \
	(struct script)                                                                            \
	{                                                                                          \
		answer, .ms = {1000}, .slow_ms = {9000}, __VA_ARGS__                               \
	}
#define SLOW(...)                                                                                  \
	(struct script)                                                                            \
	{                                                                                          \
		"xyz", .ms = {1, 1, 1}, .slow_ms = {__VA_ARGS__}, .slow = 2                        \
	}
#define RECEIPT(of) .receipt = "bytes=6 seconds=" of " reads=6\n"

/* Waits that the network's delay explains are no stalls, in any thread. */
static void test_waits(void)
{
	capture(STDOUT_FILENO);
	requests_of("two threads", SERVER("x", ), "--request 1 -n 6 -P 2 -I 9");
	requests_of("two slow connections", SERVER("x", .slow = 2), "--request 1 -n 6 -P 2");
	requests_of("two slow first bytes", SLOW(1, 30, 1), "--request 3 -n 9");
	requests_of("two slow last bytes", SLOW(1, 1, 40), "--request 3 -n 9");
	requests_of("one kept connection", SLOW(99, 1, 1), "--request 1 -n 3 --keep");
	expect(captured(), "requests and their waits are counted, by their place");
}

/* A request that succeeds makes a server one. */
static void test_failures(void)
{
	capture(STDOUT_FILENO);
	requests_of("nobody", SERVER("x", .error = ECONNREFUSED), "--request 1 -n 9");
	requests_of("no descriptors", SERVER("x", .error = EMFILE), "--request 1 -n 9");
	requests_of("no ports later", SERVER("x", .error = EADDRNOTAVAIL, .fails_from = 4),
		    "--request 1 -n 9");
	requests_of("no reply", SERVER("", ), "--request 1 -n 9");
	requests_of("a long reply", SERVER("xyz", ), "--request 1 -n 9");
	requests_of("a short reply", SERVER("x", ), "--request 2 -n 9");
	requests_of("no end", SERVER("x", .stays_open = true), "--request 1 -n 9");
	requests_of("an end", SERVER("x", ), "--request 1 -n 9 --keep");
	requests_of("a transfer", SERVER("", .stays_open = true), "--request 1 -n 9");
	requests_of("silence of 1 s", SERVER("", .stays_open = true),
		    "--request 1 -n 9 --timeout 1");
	requests_of("silence of 1.1 s", SERVER("", .stays_open = true),
		    "--request 1 -n 9 --timeout 1.1");
	expect(captured(), "servers that do not serve requests are told apart");
}

/* One that came after the baseline would have the load of the server's idle host. */
static void test_receipts(void)
{
	capture_all();
	requests_of("a receipt", SERVER("x", RECEIPT("99")), "--request 1 -n 6 -P 2 -r 1");
	requests_of("another client", SERVER("x", RECEIPT("0")), "--request 1 -n 6 -r 1");
	requests_of("no receipt", SERVER("x", .receipt = ""), "--request 1 -n 6 -r 1");
	expect(captured(),
	       "receipts of a comparison enclose the run, without the baseline after it");
}

int main(void)
{
	pthread_barrier_init(&both, NULL, 2);
	test_waits();
	test_failures();
	test_receipts();
	return done();
}
