#include "lib/send/run.h"

#include <limits.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "lib/send/sender.h"
#define KEEPS_FILES
#include "tests/unit/unit.h"

/* The port that a connection to a socket that listens has as the stream of that number, and how much may wait to be sent. */
static int port_of(uint64_t pace, int cport, int number, int *limit)
{
	const struct send_options opt = {.pace = pace, .source = number != 0 ? "127.0.0.1" : NULL};
	const struct run run = {.opt = &opt, .cport = cport};
	struct target t = {.addr_len = sizeof(struct sockaddr_in)};
	struct sockaddr_in own = {.sin_port = 0};
	int listener, fd = listen_and_connect(&listener);
	_Atomic int sock = -1;

	getpeername(fd, (struct sockaddr *)&t.addr, &t.addr_len);
	close(fd);
	close(accept(listener, NULL, NULL));
	fd = target_connect(&t, &run, number, &sock);
	if (fd < 0 || fd != sock)
		abort();
	ok(sock_get(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT) == (number < 0) &&
		   sock_get(fd, SOL_SOCKET, SO_REUSEADDR) == (cport > 0 && number >= 0),
	   "connections may have the same port, and an own one may rest: %d", cport > 0);
	*limit = sock_get(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT);
	getsockname(fd, (struct sockaddr *)&own, &t.addr_len);
	close(fd);
	close(listener);
	return ntohs(own.sin_port);
}

static void test_connections(void)
{
	static const struct {
		uint64_t pace;
		int limit;
	} rows[] = {{0, 0}, {1, 1}, {2000000, 100001}, {1ull << 50, INT_MAX}};
	const int free_port = port_of(0, 0, 0, &(int){0});
	size_t i;
	int limit, port;

	for (i = 0; i < LENGTH(rows); i++) {
		port = port_of(rows[i].pace, free_port - 1 - (int)i, 1 + (int)i, &limit);
		ok(limit == rows[i].limit,
		   "with --pace what waits to be sent takes 0.05 s, and has no limit without");
		ok(port == free_port, "--cport: the streams have this port and the next ones");
	}
	ok(port_of(0, free_port, -1, &limit) != free_port, "who only looks has another port");
}

/* The resolver's answer: a port that nobody listens at, and one that somebody does. */
static struct sockaddr_in answer[2];
static struct addrinfo found[2] = {{.ai_next = &found[1]}};
static int fails; /* how often it has none yet */
static int error; /* of each other time */
static int held;  /* how often they are not freed */

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc has its own */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
		struct addrinfo **list)
{
	(void)name;
	(void)service;
	(void)hints;
	*list = found;
	if (fails-- > 0)
		return EAI_AGAIN;
	held += error == 0;
	errno = EMFILE;
	return error;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
void freeaddrinfo(struct addrinfo *list)
{
	(void)list;
	held--;
}

static bool find(void *run)
{
	struct target t;
	_Atomic int sock;

	return target_find(&t, run, 0, &sock) >= 0;
}

static void test_find(void)
{
	const struct send_options opt = {.server = "name", .port = "80"};
	const struct send_options patient = {
		.server = "name", .port = "80", .wait_server = 60, .timeout = 0.25};
	const struct send_options brief = {.server = "name", .port = "80", .wait_server = 0.9};
	struct run run = {.opt = &opt};
	int listener, fd = listen_and_connect(&listener), i;
	socklen_t len = sizeof(answer[0]);
	_Atomic int sock = -1;
	struct timeval wait = {.tv_sec = 60};
	struct target t;

	getsockname(fd, (struct sockaddr *)&answer[0], &len);
	getpeername(fd, (struct sockaddr *)&answer[1], &len);
	for (i = 0; i < 2; i++) {
		found[i].ai_family = AF_INET;
		found[i].ai_addrlen = len;
		found[i].ai_addr = (struct sockaddr *)&answer[i];
	}
	close(fd);
	fd = target_find(&t, &run, 0, &sock);
	ok(fd >= 0 && memcmp(&t.addr, &answer[1], len) == 0,
	   "the next address of a name is tried where the first accepts no connection");
	close(fd);
	for (i = 0; i < 2; i++) /* its queue is short */
		close(accept(listener, NULL, NULL));
	listen(listener, 9);
	run.opt = &patient;
	fails = 2;
	ok(target_wait(&t, &run) && memcmp(&t.addr, &answer[1], len) == 0 && fails == -1,
	   "--wait-server: a name that cannot be resolved now is tried again");
	run.opt = &brief;
	fails = 1;
	ok(target_wait(&t, &run) && fails == -1, "--wait-server: so it is in less than a second");
	run.opt = &patient;
	fd = target_find(&t, &run, 0, &sock);
	len = sizeof(wait);
	getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, &len);
	ok(wait.tv_sec == 0 && wait.tv_usec >= 250000,
	   "--wait-server: an address is waited for as long as --timeout, and no longer");
	close(fd);
	run.opt = &(struct send_options){.server = "name", .port = "80", .mss = 1};
	ok(!run_attempt(&run, find, &run) && run.has_died && held == 0,
	   "a run that dies while it connects frees the addresses");
	run.opt = &opt;
	ok(run_attempt(&run, find, &run) && !run.has_died && !run.has_failed && !run.is_broken,
	   "the next attempt begins whole");
	run.opt = &patient;
	run.stop = SIGINT;
	ok(target_find(&t, &run, 0, &sock) == -1, "after a signal no other address is tried");
	close(listener);
}

/* What each failure to find or to reach the server is called. */
static void test_reasons(void)
{
	static const struct {
		const char *options;
		int error; /* of the resolver; 0: of connect(2) */
		int number;
	} rows[] = {{"", EAI_NONAME, 0},
		    {"-6", EAI_ADDRFAMILY, 0},
		    {"-4", EAI_NODATA, 0},
		    {"--bind 127.0.0.1", EAI_NODATA, 0},
		    {"--wait-server 9", EAI_SYSTEM, 0},
		    {"", 0, ECONNREFUSED},
		    {"--wait-server 0.5", 0, ECONNREFUSED},
		    {"--cport 7", 0, EADDRNOTAVAIL},
		    {"", 0, EADDRNOTAVAIL}};
	static struct send_options opt;
	struct run run = {.opt = &opt};
	struct target t;
	size_t i;

	fails = 0;
	capture(STDOUT_FILENO);
	for (i = 0; i < LENGTH(rows); i++) {
		options_of(&opt, "-s name ", rows[i].options);
		run.cport = opt.cport;
		error = rows[i].error;
		errno = rows[i].number;
		if (error == 0)
			target_fail(&run, opt.wait_server);
		else if (target_find(&t, &run, 0, NULL) != -1)
			abort();
		printf("%s\n", run.failure);
	}
	error = 0;
	expect(captured(), "why a server is not found, or not reached");
}

/* A kernel that lacks an option of the connections. */
static void try_options(void *words)
{
	static struct send_options opt;
	struct run run = {.opt = &opt};

	options_of(&opt, "-s 0 ", words);
	if (opt.debug > 0)
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
	run_try_or_die(&run);
	exit(EXIT_SUCCESS);
}

static void ends(void *worker)
{
}

/* Waits for what never comes. */
static void reads(void *worker)
{
	char c;

	while (read(((struct worker *)worker)->connection, &c, 1) > 0)
		;
}

static int handled;

static uint64_t handle(void *run, uint64_t now)
{
	const struct run *r = run;

	handled++;
	return r != NULL && now >= r->due_ns ? r->due_ns + 5 : 0;
}

/* What the main thread does at a time, as the run may have stopped, or its time be up. */
static void test_steps(void)
{
	/* Whether the time is up, with TLS, why it has stopped; why it then has, and shuts connections down. */
	const char *list = "0 0 0 0 0|1 0 0 -1 1|1 1 0 -1 0|0 0 2 2 1|1 0 15 15 1", *s;
	int is_up, is_tls, stop, then, shuts, fd[2];
	struct worker worker;
	char c;

	while ((s = next_of(&list)) != NULL) {
		sscanf(s, "%d %d %d %d %d", &is_up, &is_tls, &stop, &then, &shuts);
		const struct send_options opt = {.streams = 1,
						 .tls = is_tls > 0 ? (void *)&opt : NULL};
		struct run run = {.opt = &opt, .wake = -1, .workers = (char *)&worker};
		struct event events[] = {{now_ns(), handle}, {NEVER, handle}};
		const uint64_t due = events[0].due_ns;

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
			abort();
		worker.sock = fd[0];
		run.running = 1;
		run.how = SHUT_WR;
		run.stop = stop;
		run.end_ns = is_up ? due : NEVER;
		handled = 0;
		run_step(&run, events, 2, &run);
		ok(handled == 1 && run.due_ns == due && events[0].due_ns == due + 5 &&
			   events[1].due_ns == NEVER,
		   "an event that is due is handled, and knows when it was due");
		ok(run.stop == then && (recv(fd[1], &c, 1, MSG_DONTWAIT) == 0) == (shuts > 0),
		   "a run is stopped by %d, as it was by %d or its time is up: %d", then, stop,
		   is_up);
		close(fd[0]);
		close(fd[1]);
	}
}

static void test_stops(void)
{
	const char *list = "0 -1 -1|0 2 2|-1 2 2|2 -1 2|2 15 15|-1 -1 -1", *s;
	struct run run = {.wake = -1};
	int before, why, want, n;

	while ((s = next_of(&list)) != NULL) {
		sscanf(s, "%d %d %d", &before, &why, &want);
		run.stop = before;
		errno = 7;
		run_stop(&run, why);
		ok(run.stop == want && errno == 7, "a stop by %d after one by %d", why, before);
	}
	for (n = 0; n < 2; n++) {
		run.measuring = n;
		ok(run_hold(&run) == (n > 0) && run.measuring == 2 * n,
		   "a run of which %d are measured is held, or has ended", n);
	}
}

/* Each run begins with nothing of the one before. */
static void test_again(void)
{
	static const int stops[] = {0, TIME_UP, SIGINT};
	const struct send_options opt = {.streams = 2};
	struct worker worker[2];
	struct run run = {.opt = &opt, .interface = "", .wake = eventfd(0, EFD_NONBLOCK)};
	struct event event = {NEVER, handle};
	int fd[2];
	size_t i;

	handled = 0;
	for (i = 0; i < LENGTH(stops); i++) {
		run.is_broken = run.has_failed = run.has_died = true;
		run.shut_ns = 1;
		run.cport = i == 0 ? 0 : 7;
		run_start(&run, ends, worker, sizeof(worker[0]), 2);
		ok(!run.is_broken && !run.has_failed && !run.has_died && run.shut_ns == 0 &&
			   run.measuring == 2 && run.end_ns - run.start_ns == 2000000000,
		   "a run begins whole, and ends in its time");
		run.end_ns = NEVER; /* each step ends with a thread, or the test never does */
		do
			run_step(&run, &event, 1, NULL);
		while (run.running > 0);
		event.due_ns = 0;
		run_step(&run, &event, 1, NULL);
		event.due_ns = NEVER;
		run.stop = stops[i];
		run_end(&run);
		ok(handled == 0 && run.stop == (stops[i] > 0 ? stops[i] : 0) &&
			   run.cport == (i == 0 ? 0 : 9),
		   "a run that was stopped by %d: nothing is done after its end, the next has "
		   "other ports, and a signal stays",
		   stops[i]);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		abort();
	worker[0].connection = worker[1].connection = fd[0];
	run_start(&run, reads, worker, sizeof(worker[0]), 0);
	run_break(&run, "why");
	run_end(&run);
	ok(run.running == 0, "a broken run ends connections that cannot be reset, too");
	close(run.wake);
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	test_find();
	test_reasons();
	expect_deaths(try_options, "-n 1|-d|-d --mptcp|--congestion none",
		      "options that the kernel lacks");
	test_steps();
	test_stops();
	test_again();
	test_connections();
	ok(time_after(1000, 2.5) == 2500001000 && time_after(1000, 0) == NEVER &&
		   interval_after(1000, 9000, 0.5) == 500001000 &&
		   interval_after(1000, 500001000, 0.5) == 1000001000 &&
		   interval_after(1000, 500009000, 0.5) == 1000009000,
	   "a time after another, of which 0 seconds are no limit, and intervals are not made up");
	return done();
}
