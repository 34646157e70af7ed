#include "lib/receive/guard.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

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

/* A client that was accepted that long ago, and has moved so many bytes. */
static struct client_end connected(const char *address, unsigned seconds, uint64_t moved)
{
	const struct client_end c = connect_from(address);

	if (c.place != NULL) {
		c.place->accepted_ns -= seconds * 1000000000ull;
		c.place->active_ns = c.place->accepted_ns;
		c.place->moved = moved;
	}
	return c;
}

/*
 * Servers that are full: clients as `address age moved`, then who comes, and which of them is dropped for it; 0: none, and it
 * is rejected.
 */
static void test_room(void)
{
	static const struct {
		const char *clients, *newcomer, *title;
		int dropped;
	} server[] = {
		{"127.0.0.1 11 0", "127.0.0.2", "a client without a header yields its place", 1},
		{"127.0.0.1 11 65535", "127.0.0.2", "a client that moved under 64 KiB does", 1},
		{"127.0.0.1 11 65536", "127.0.0.2", "a client that moved 64 KiB keeps its place",
		 0},
		{"127.0.0.1 20 65536|127.0.0.1 11 0", "127.0.0.2",
		 "beside one of its address that moved 64 KiB a slow client yields", 2},
		{"127.0.0.1 9 0", "127.0.0.2", "a client of less than 10 s keeps its place", 0},
		{"127.0.0.1 11 0", "127.0.0.1", "a client yields none to its own address", 0},
		{"127.0.0.1 11 0|127.0.0.2 11 0", "127.0.0.2",
		 "an address yields none to one with as many", 0},
		{"127.0.0.1 11 0|127.0.0.2 11 0|127.0.0.2 11 99999|127.0.0.1 12 99999", "127.0.0.3",
		 "of two addresses with most, one that has a slow client yields", 1},
		{"127.0.0.1 11 0|127.0.0.2 11 99999|127.0.0.2 11 99999", "127.0.0.3",
		 "an address yields none that has fewer than another", 0},
		{"127.0.0.2 11 0|127.0.0.1 11 0|127.0.0.1 11 0|127.0.0.1 5 0", "127.0.0.2",
		 "of those of the address with most, the one that is longest there yields", 2},
	};
	struct client_end c[4], last;
	const char *left, *text;
	char address[16], byte;
	int i, n, dropped;
	unsigned age, moved;

	for (i = 0; i < (int)LENGTH(server); i++) {
		server_open(4);
		n = 0;
		for (left = server[i].clients;
		     (text = next_of(&left)) != NULL &&
		     sscanf(text, "%15s %u %u", address, &age, &moved) == 3;
		     n++)
			c[n] = connected(address, age, moved);
		opt.max_clients = n;
		last = connect_from(server[i].newcomer);
		/* NOLINTNEXTLINE(clang-analyzer-*): each of n clients is connected */
		for (dropped = n; dropped > 0 && c[dropped - 1].place->dropped != DROP_FULL;)
			dropped--;
		ok(dropped == server[i].dropped && (last.place != NULL) == (dropped > 0) &&
			   places.n == n,
		   "full: %s", server[i].title);
		while (n-- > 0) {
			ok(dropped != n + 1 || recv(c[n].fd, &byte, 1, 0) <= 0,
			   "who yields is disconnected");
			client_close(c[n]);
		}
		client_close(last);
		ok(places.n == 0 && places.refused == 1,
		   "each place is free again, one was refused");
		for (n = 0; n < ORIGINS && LIST_EMPTY(&places.origins[n]); n++)
			;
		ok(n == ORIGINS, "no address is kept");
		close(listener);
	}
}

static void test_no_need(void)
{
	struct client_end slow, last;

	server_open(2);
	slow = connected("127.0.0.1", 3600, 0);
	last = connect_from("127.0.0.2");
	ok(last.place != NULL && slow.place != NULL && slow.place->dropped == DROP_NONE,
	   "a slow client keeps its place while there is room");
	client_close(slow);
	client_close(last);
	close(listener);
}

/* What becomes of a client that sends these bytes, and was accepted that long ago. */
static void test_due(void)
{
	static const struct {
		const char *sent, *why, *title;
		bool raw;
		double limit;
	} client[] = {
		{"abc", "no whole header within 60 seconds (--idle-timeout)", "three bytes", false,
		 60},
		{"abcd", "", "a whole header", false, 60},
		{"a", "", "--raw: a byte", true, 60},
		{"", "silent for 60 seconds (--idle-timeout)", "nothing", false, 60},
		{"abc", "", "three bytes, and no limit", false, 0},
	};
	struct client_end c;
	const char *why;
	size_t i;

	for (i = 0; i < LENGTH(client); i++) {
		server_open(1);
		opt.raw = client[i].raw;
		opt.idle_timeout = client[i].limit;
		c = connected("127.0.0.1", 61, 0);
		if (write(c.fd, client[i].sent, strlen(client[i].sent)) < 0)
			abort();
		places_look(&places);
		why = place_dropped(&places, c.place);
		is(why != NULL ? why : "", client[i].why, "61 s after its accept, limit %g s: %s",
		   client[i].limit, client[i].title);
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
	if (write(c.fd, "abcd", 4) != 4 || write(c.place->sock, "0123456789", 10) != 10)
		abort();
	do {
		sleep_ns(5000000);
		places.looked_ns = 0;
		places_look(&places);
	} while (c.place->moved < 14 && ++tries < 1000);
	ok(c.place->moved == 14, "a client has moved what it sent, and what it acknowledged: %ju",
	   (uintmax_t)c.place->moved);
	client_close(c);
	close(listener);
}

static void test_log(void)
{
	bool all = true;
	int i;

	places = (struct places){.lock = PTHREAD_MUTEX_INITIALIZER};
	for (i = 0; i < LOG_LINES; i++)
		all &= log_allows(&places);
	ok(all && !log_allows(&places) && !log_allows(&places) && places.log.omitted == 2,
	   "the first LOG_LINES lines about clients are printed, and the others counted");
	places.log.since_ns -= LOG_NS;
	ok(log_allows(&places) && places.log.omitted == 0,
	   "after 10 s lines are printed again, and the number of those that were not");
}

TESTS(test_lists, test_allow, test_room, test_no_need, test_due, test_moved, test_log)
