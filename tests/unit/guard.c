/* The places of zcs, and its lines about clients: lib/receive/guard.c, by a clock of the test. */
#include "lib/receive/guard.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

#define S 1000000000ull

static uint64_t at = 1000 * S; /* the time */
static int lacks;              /* the error of accept4(2); 0: none */

#undef now_ns
#define now_ns()     at
#define accept4(...) (lacks != 0 ? (errno = lacks, -1) : accept4(__VA_ARGS__))
#include "lib/receive/guard.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

/* A server of reply mode, whose clients are sent nothing when they are rejected. */
static struct receive_options opt;
static struct places places;
static int listener;

/* A client, and its end of the connection. */
struct client_end {
	struct place *place;
	int fd;
};

static void server_open(int max_clients)
{
	opt = (struct receive_options){.reply = 1, .max_clients = max_clients, .idle_timeout = 60};
	places = (struct places){.opt = &opt};
	pthread_mutex_init(&places.lock, NULL);
	close(listen_and_connect(&listener));
	close(accept(listener, NULL, NULL));
}

/* Connects from that address of the loopback network.  A client that is rejected has no place. */
static struct client_end connect_from(const char *address)
{
	struct sockaddr_in from = {.sin_family = AF_INET}, to;
	const struct client_end c = {.fd = socket(AF_INET, SOCK_STREAM, 0)};
	socklen_t len = sizeof(to);

	inet_pton(AF_INET, address, &from.sin_addr);
	if (getsockname(listener, (struct sockaddr *)&to, &len) != 0 ||
	    bind(c.fd, (struct sockaddr *)&from, sizeof(from)) != 0 ||
	    connect(c.fd, (struct sockaddr *)&to, len) != 0)
		err(EXIT_FAILURE, "connect from %s", address);
	return (struct client_end){places_accept(&places, listener, sizeof(struct place)), c.fd};
}

/* Closes it.  Returns whether it had a place. */
static bool client_close(struct client_end c)
{
	close(c.fd);
	if (c.place == NULL)
		return false;
	place_close(&places, c.place);
	free(c.place);
	return true;
}

static void test_lists(void)
{
	const char *good = "192.0.2.1 1 128|0.0.0.0/0 1 96|::/0 1 0|2001:db8::/32 1 32|"
			   "192.0.2.1,::1/64 2 64|10.0.0.1,10.0.0.2/31 2 127|192.0.2.1, 1 128";
	const char *bad =
		"|,|192.0.2.1/33|::1/129|192.0.2.1/|192.0.2.1/-1|192.0.2.1/x|192.0.2.1/8x|"
		"192.0.2|example.org|2001:db8|192.0.2.1/8/8";
	const char *text;
	char list[64];
	struct allow a;
	int n, bits; /* prefixes, and of the last of them */

	while ((text = next_of(&good)) != NULL &&
	       sscanf(text, "%63s %d %d", list, &n, &bits) == 3) {
		a = (struct allow){.n = 0};
		ok(allow_add(&a, list) && a.n == (size_t)n && a.prefix[n - 1].bits == bits,
		   "--allow %s is a list of %d prefixes", list, n);
		free(a.prefix);
	}
	while ((text = next_of(&bad)) != NULL) {
		a = (struct allow){.n = 0};
		ok(!allow_add(&a, text), "--allow '%s' is malformed", text);
		free(a.prefix);
	}
}

/* A client from 127.0.0.6 is in the prefixes that a list has, or in none of them. */
static void test_allow(void)
{
	static const char *const lists[] = {
		"127.0.0.7|127.0.0.8/31|127.0.0.0/30|::/0|128.0.0.0/1|::ffff:127.0.0.4/127",
		"127.0.0.6|127.0.0.7/31|127.0.0.0/29|0.0.0.0/0|::1,127.0.0.4/30|::ffff:127.0.0.0/104|::ffff:127.0.0.4/126",
	};
	const char *left, *list;
	int allowed;

	server_open(1); /* which each of them gets */
	for (allowed = 0; allowed <= 1; allowed++)
		for (left = lists[allowed]; (list = next_of(&left)) != NULL;) {
			allow_add(&opt.allow, list);
			ok(client_close(connect_from("127.0.0.6")) == allowed,
			   "--allow %s %s 127.0.0.6", list,
			   allowed ? "includes" : "does not include");
			free(opt.allow.prefix);
			opt.allow = (struct allow){.n = 0};
		}
	close(listener);
}

/* A client that was accepted so many ns ago, and has moved so many bytes. */
static struct client_end connected(const char *address, unsigned long long ago, uint64_t moved)
{
	const struct client_end c = connect_from(address);

	if (c.place == NULL)
		abort();
	c.place->accepted_ns -= ago;
	c.place->active_ns = c.place->accepted_ns;
	c.place->moved = moved;
	return c;
}

/*
 * Servers that are full: clients as `address age moved`, an age of 10 s, or of 1 ns more, then who comes, and which of them is dropped for it; 0: none, and it
 * is rejected; -1: there is room.
 */
static void test_room(void)
{
	static const struct {
		const char *clients, *newcomer, *title;
		int dropped;
	} server[] = {
		{"127.0.0.1 10000000001 0", "127.0.0.2",
		 "a client without a header yields its place", 1},
		{"127.0.0.1 10000000001 65535", "127.0.0.2",
		 "a client that moved under 64 KiB does", 1},
		{"127.0.0.1 10000000001 65536", "127.0.0.2",
		 "a client that moved 64 KiB keeps its place", 0},
		{"127.0.0.1 10000000001 65536|127.0.0.1 10000000001 0", "127.0.0.2",
		 "beside one of its address that moved 64 KiB a slow client yields", 2},
		{"127.0.0.1 10000000000 0", "127.0.0.2", "a client of 10 s keeps its place", 0},
		{"127.0.0.1 10000000001 0", "127.0.0.1", "a client yields none to its own address",
		 0},
		{"127.0.0.1 10000000001 0|127.0.0.2 10000000001 0", "127.0.0.2",
		 "an address yields none to one with as many", 0},
		{"127.0.0.1 10000000001 0|127.0.0.2 10000000001 0|127.0.0.2 10000000001 99999|127.0.0.1 10000000001 99999",
		 "127.0.0.3", "of two addresses with most, one that has a slow client yields", 1},
		{"127.0.0.2 10000000001 99999|127.0.0.2 10000000001 99999|127.0.0.1 10000000001 0",
		 "127.0.0.3", "an address yields none that has fewer than another", 0},
		{"127.0.0.2 10000000001 0|127.0.0.1 10000000001 0|127.0.0.1 10000000001 0|127.0.0.1 10000000000 0",
		 "127.0.0.2",
		 "of those of the address with most, the one that is longest there yields", 2},
		{"127.0.0.1 3600000000000 0", "127.0.0.2", "none yields while there is room", -1},
	};
	struct client_end c[4], last;
	const char *left, *text;
	char address[16];
	struct linger linger;
	socklen_t len = sizeof(linger);
	ssize_t told;
	int i, n, dropped, room;
	unsigned long long age;
	unsigned moved;

	for (i = 0; i < (int)LENGTH(server); i++) {
		server_open(4);
		opt.reply = i % 2 != 0;
		n = 0;
		for (left = server[i].clients;
		     (text = next_of(&left)) != NULL &&
		     sscanf(text, "%15s %llu %u", address, &age, &moved) == 3;
		     n++)
			c[n] = connected(address, age, moved);
		room = server[i].dropped < 0;
		opt.max_clients = n + room;
		last = connect_from(server[i].newcomer);
		/* NOLINTNEXTLINE(clang-analyzer-*): each of n clients is connected */
		for (dropped = n; dropped > 0 && c[dropped - 1].place->dropped != DROP_FULL;)
			dropped--;
		ok(dropped == server[i].dropped + room &&
			   (last.place != NULL) == (dropped > 0 || room) &&
			   places.n == opt.max_clients,
		   "full: %s", server[i].title);
		while (n-- > 0) {
			told = dropped == n + 1 ? recv(c[n].fd, address, 1, 0) : 0;
			getsockopt(c[n].place->sock, SOL_SOCKET, SO_LINGER, &linger, &len);
			ok((dropped != n + 1 || told == !opt.reply) &&
				   linger.l_onoff == (dropped == n + 1),
			   "who yields is told why, and reset at the end");
			client_close(c[n]);
		}
		client_close(last);
		ok(places.n == 0 && places.refused == !room,
		   "each place is free again, one was refused");
		for (n = 0; n < ORIGINS && LIST_EMPTY(&places.origins[n]); n++)
			;
		ok(n == ORIGINS, "no address is kept");
		close(listener);
	}
}

/* What becomes of a client that sends these bytes, 60 s after its accept and, if it did not come then, after its last byte. */
static void test_due(void)
{
	static const char silent[] = "silent for 60 seconds (--idle-timeout)",
			  none[] = "no whole header within 60 seconds (--idle-timeout)",
			  file[] = "no byte of a file within 0 seconds of the last client "
				   "(-1, --idle-timeout)";
	static const struct {
		const char *sent, *first, *last;
		bool raw;
		double limit;
	} client[] = {
		{"abc", none, none, false, 60}, {"abcd", "", silent, false, 60},
		{"a", "", silent, true, 60},    {"", silent, silent, false, 60},
		{"abc", "", "", false, 0},
	};
	const uint64_t looks[] = {60 * S - 1, 60 * S, 60 * S - 1 + LOOK_NS, 120 * S - 1};
	struct client_end c;
	const char *why;
	size_t i, j;

	for (i = 0; i < LENGTH(client); i++) {
		server_open(1);
		opt.raw = client[i].raw;
		opt.idle_timeout = client[i].limit;
		c = connected("127.0.0.1", 0, 0);
		if (write(c.fd, client[i].sent, strlen(client[i].sent)) < 0)
			abort();
		for (j = 0; j < LENGTH(looks); j++) {
			at = c.place->accepted_ns + looks[j];
			places_look(&places);
			why = place_dropped(&places, c.place);
			is(why != NULL ? why : "",
			   j < 2    ? ""
			   : j == 2 ? client[i].first
				    : client[i].last,
			   "%g s after its accept, limit %g s%s: '%s'", (double)looks[j] / 1e9,
			   client[i].limit, client[i].raw ? ", --raw" : "", client[i].sent);
		}
		place_drop(&places, c.place, DROP_FILE);
		why = place_dropped(&places, c.place);
		is(why, client[i].last[0] != '\0' ? client[i].last : file,
		   "a client is dropped once");
		client_close(c);
		close(listener);
	}
}

/* A client that asked, and took the reply: acknowledgements may be late. */
static void test_moved(void)
{
	struct client_end c;
	int tries = 0;

	server_open(1);
	c = connect_from("127.0.0.1");
	if (c.place == NULL || write(c.fd, "abcd", 4) != 4 ||
	    write(c.place->sock, "0123456789", 10) != 10)
		abort();
	do {
		sleep_ns(5000000);
		at += LOOK_NS;
		places_look(&places);
	} while (c.place->moved < 14 && ++tries < 1000);
	ok(c.place->moved == 14, "a client has moved what it sent, and what it acknowledged: %ju",
	   (uintmax_t)c.place->moved);
	client_close(c);
	close(listener);
}

static void test_log(void)
{
	const struct place client = {.sock = -1};
	bool all = true;
	int i;

	places = (struct places){.lock = PTHREAD_MUTEX_INITIALIZER};
	for (i = 0; i < LOG_LINES; i++)
		all &= log_allows(&places);
	ok(all && !log_allows(&places) && !log_client(&places, &client, "why") &&
		   places.log.omitted == 2,
	   "the first LOG_LINES lines about clients are printed, and the others counted");
	at += LOG_NS;
	ok(!log_allows(&places), "within 10 s no more lines are printed");
	at++;
	capture(STDERR_FILENO);
	all = log_allows(&places) && places.log.omitted == 0;
	has(captured(), ": 3 lines about clients were omitted\n", "their number is printed");
	ok(all, "after 10 s lines are printed again");
}

/* A client that is rejected is told why, where it reads an answer; where it does not, it may not take the end for one. */
static void test_refusals(void)
{
	static const struct {
		const char *told, *why;
		bool raw, reply, full;
		int error;
	} server[] = {
		{"refused=address\n", "not in --allow", false, false, false, 0},
		{"refused=full\n", "all places are taken (--max-clients)", false, false, true, 0},
		{"", "not in --allow", true, false, false, ECONNRESET},
		{"", "not in --allow", false, true, false, 0},
	};
	char text[64];
	size_t i;
	ssize_t n;
	int fd;

	for (i = 0; i < LENGTH(server); i++) {
		server_open(!server[i].full);
		opt.raw = server[i].raw;
		opt.reply = server[i].reply;
		allow_add(&opt.allow, server[i].full ? "127.0.0.0/8" : "127.0.0.2");
		capture(STDERR_FILENO);
		fd = connect_from("127.0.0.1").fd;
		has(captured(), server[i].why, "a client that is rejected has a line: %zu", i);
		errno = 0;
		n = recv(fd, text, sizeof(text) - 1, 0);
		ok((n < 0 ? errno : 0) == server[i].error, "and an end, or a reset: %zu", i);
		text[n > 0 ? n : 0] = '\0';
		is(text, server[i].told, "and is told why: %zu", i);
		free(opt.allow.prefix);
		close(fd);
		close(listener);
	}
}

/* accept(2) lacks what other clients have: new ones wait, and a line says so, once in 10 s; other errors are one client's. */
static void test_lack(void)
{
	static const int errors[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM, ECONNABORTED};
	bool waits, said[3];
	size_t i;

	server_open(1);
	for (i = 0; i < LENGTH(errors) + 3;
	     i++) { /* the last 10 s after those before, and 1 ns more */
		lacks = errors[i < LENGTH(errors) ? i : 0];
		at += i > 5 ? LOG_NS - LACK_NS + i - 6 : 0;
		places.lacked_ns = i <= 5 ? 0 : places.lacked_ns;
		capture(STDERR_FILENO);
		places_accept(&places, listener, sizeof(struct place));
		said[i < 5 ? 0 : i - 5] = *captured() != '\0';
		waits = places_lack(&places);
		at += LACK_NS - 1;
		waits &= places_lack(&places);
		at++;
		ok(waits == (i != 4) && (i > 4 || said[0] == waits) && !places_lack(&places),
		   "accept: %s: new clients wait for 0.1 s, and there is a line", strerror(lacks));
	}
	ok(said[0] && !said[1] && said[2], "while it lasts there is one line in 10 s");
	lacks = 0;
	close(listener);
}

TESTS(test_lists, test_allow, test_room, test_due, test_moved, test_log, test_refusals, test_lack)
