#include "lib/receive/guard.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

static const _Atomic uint64_t never;

/* A server of reply mode, whose clients are sent nothing when they are rejected. */
struct server {
	struct receive_options opt;
	struct places places;
	int listener, port;
};

static void server_open(struct server *s, int max_clients)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);

	*s = (struct server){.opt = {.reply = 1, .max_clients = max_clients, .idle_timeout = 60}};
	s->places.opt = &s->opt;
	s->places.continued_ns = &never;
	TAILQ_INIT(&s->places.all);
	pthread_mutex_init(&s->places.lock, NULL);
	pthread_mutex_init(&s->places.log.lock, NULL);
	s->listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(s->listener, (struct sockaddr *)&in, len) != 0 || listen(s->listener, 100) != 0 ||
	    getsockname(s->listener, (struct sockaddr *)&in, &len) != 0)
		err(EXIT_FAILURE, "a listener");
	s->port = ntohs(in.sin_port);
}

/* A client from that address of the loopback network; *fd is its end. */
static struct place *connect_from(struct server *s, const char *address, int *fd)
{
	struct sockaddr_in in = {.sin_family = AF_INET};

	*fd = socket(AF_INET, SOCK_STREAM, 0);
	inet_pton(AF_INET, address, &in.sin_addr);
	if (bind(*fd, (struct sockaddr *)&in, sizeof(in)) != 0)
		err(EXIT_FAILURE, "bind to %s", address);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in.sin_port = htons((uint16_t)s->port);
	if (connect(*fd, (struct sockaddr *)&in, sizeof(in)) != 0)
		err(EXIT_FAILURE, "connect from %s", address);
	return places_accept(&s->places, s->listener, sizeof(struct place));
}

/* The same of a client that must have a place. */
static struct place *accept_from(struct server *s, const char *address, int *fd)
{
	struct place *p = connect_from(s, address, fd);

	if (p == NULL)
		errx(EXIT_FAILURE, "a client from %s was rejected", address);
	return p;
}

static void client_close(struct server *s, struct place *p, int fd)
{
	if (p != NULL) {
		place_release(&s->places, p);
		close(p->sock);
		free(p);
	}
	close(fd);
}

static void test_lists(void)
{
	static const struct {
		const char *list;
		size_t n;
		int bits; /* of the last prefix */
	} good[] = {
		{"192.0.2.1", 1, 128},
		{"192.0.2.0/24", 1, 120},
		{"0.0.0.0/0", 1, 96},
		{"2001:db8::/32", 1, 32},
		{"::/0", 1, 0},
		{"::1", 1, 128},
		{"192.0.2.1,::1/64", 2, 64},
		{"10.0.0.0/8,10.0.0.0/9", 2, 105},
		{"10.0.0.1, 10.0.0.2/31", 2, 127},
		{"192.0.2.1,", 1, 128},
	};
	static const char *const bad[] = {
		"",        ",",           "192.0.2.1,,",  ",192.0.2.1",    "192.0.2.1/33",
		"::1/129", "192.0.2.1/",  "192.0.2.1/-1", "192.0.2.1/x",   "192.0.2.1/8x",
		"192.0.2", "example.org", "2001:db8",     "192.0.2.1/8/8",
	};
	struct allow a;
	size_t i;

	for (i = 0; i < LENGTH(good); i++) {
		a = (struct allow){.n = 0};
		ok(allow_add(&a, good[i].list) && a.n == good[i].n &&
			   a.prefix[a.n - 1].bits == good[i].bits,
		   "--allow %s is a list of %zu prefixes", good[i].list, good[i].n);
		free(a.prefix);
	}
	for (i = 0; i < LENGTH(bad); i++) {
		a = (struct allow){.n = 0};
		ok(!allow_add(&a, bad[i]), "--allow '%s' is malformed", bad[i]);
		free(a.prefix);
	}
}

/* A client from 127.0.0.6 is in the prefixes that a list has, or in none of them. */
static void test_allow(void)
{
	static const struct {
		const char *list;
		bool allowed;
	} cases[] = {
		{"127.0.0.6", true},
		{"127.0.0.7", false},
		{"127.0.0.7/31", true},
		{"127.0.0.8/31", false},
		{"127.0.0.0/29", true},
		{"127.0.0.0/30", false},
		{"0.0.0.0/0", true},
		{"::/0", false},
		{"::1,127.0.0.4/30", true},
		{"128.0.0.0/1", false},
		{"::ffff:127.0.0.0/104", true},
	};
	struct server s;
	struct place *p;
	size_t i;
	int fd;

	for (i = 0; i < LENGTH(cases); i++) {
		server_open(&s, 10);
		allow_add(&s.opt.allow, cases[i].list);
		p = connect_from(&s, "127.0.0.6", &fd);
		ok((p != NULL) == cases[i].allowed, "--allow %s %s 127.0.0.6", cases[i].list,
		   cases[i].allowed ? "includes" : "does not include");
		client_close(&s, p, fd);
		close(s.listener);
		free(s.opt.allow.prefix);
	}
}

/* A server with one place too few: which client has to make room, and which newcomer is rejected. */
static void test_places(void)
{
	struct place *a, *b, *c, *other;
	struct server s;
	int fd[4];

	server_open(&s, 2);
	a = accept_from(&s, "127.0.0.6", &fd[0]);
	b = accept_from(&s, "127.0.0.6", &fd[1]);
	ok(s.places.n == 2, "as many clients as --max-clients have places");
	c = connect_from(&s, "127.0.0.6", &fd[2]);
	ok(c == NULL && s.places.refused == 1, "one client more of the same network is rejected");
	client_close(&s, c, fd[2]);
	other = accept_from(&s, "127.0.0.7", &fd[3]);
	ok(s.places.n == 2 &&
		   (a->dropped == DROPPED_FOR_ROOM) + (b->dropped == DROPPED_FOR_ROOM) == 1,
	   "a client of a network with fewer places gets that of an idle one");
	c = connect_from(&s, "127.0.0.7", &fd[2]);
	ok(c == NULL, "a client of a network with as many places as others is rejected");
	client_close(&s, c, fd[2]);
	ok(place_linger(&s.places, other), "a client that has a place may linger");
	c = accept_from(&s, "127.0.0.8", &fd[2]);
	ok(other->network == NULL && other->dropped == NOT_DROPPED,
	   "a newcomer gets the place of a client that lingers");
	ok(!place_linger(&s.places, other), "a client without a place cannot linger");
	client_close(&s, a, fd[0]);
	client_close(&s, b, fd[1]);
	client_close(&s, c, fd[2]);
	client_close(&s, other, fd[3]);
	ok(s.places.n == 0 && TAILQ_EMPTY(&s.places.all), "no place is left when all have gone");
	close(s.listener);
}

static struct place place_of(const char *address)
{
	struct place p = {.sock = -1};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&p.peer;

	in6->sin6_family = AF_INET6;
	inet_pton(AF_INET6, address, &in6->sin6_addr);
	return p;
}

static void test_log(void)
{
	struct place p = place_of("2001:db8::1"), neighbour = place_of("2001:db8::2"),
		     other = place_of("2001:db8:0:1::1");
	struct server s;
	bool all = true;
	int i;

	server_open(&s, 1);
	close(s.listener);
	for (i = 0; i < LOG_LINES; i++)
		all &= log_line(&s.places, LOG_BAD, &p) == 0;
	ok(all, "the first LOG_LINES lines about a network are printed");
	ok(log_line(&s.places, LOG_BAD, &p) == -1 && log_line(&s.places, LOG_BAD, &neighbour) == -1,
	   "more lines about a network of 64 bits are not printed");
	ok(s.places.log.left_out == 2, "lines that are not printed are counted");
	ok(log_line(&s.places, LOG_SMALL, &p) == 0,
	   "lines of another kind have a limit of their own");
	ok(log_line(&s.places, LOG_BAD, &other) == 0, "lines about another network are printed");
	for (i = 0; i < LOG_SLOTS; i++)
		s.places.log.slot[LOG_BAD][i].since_ns -= LOG_NS / 2;
	ok(LOG_NS == 10000000000u && log_line(&s.places, LOG_BAD, &p) == -1,
	   "in 10 s no more lines are printed");
	for (i = 0; i < LOG_SLOTS; i++)
		s.places.log.slot[LOG_BAD][i].since_ns -= LOG_NS / 2;
	ok(log_line(&s.places, LOG_BAD, &p) == 3,
	   "after 10 s the next line has the number of those that were not printed");
	ok(log_line(&s.places, LOG_BAD, &p) == 0, "a number of lines is printed once");
}

static void test_dropped(void)
{
	struct place p = {.dropped = DROPPED_SILENT};
	struct server s = {.opt = {.idle_timeout = 2.5}};
	char text[128];

	s.places.opt = &s.opt;
	place_format_dropped(&s.places, &p, text, sizeof(text));
	is(text, "silent for 2.5 seconds (--idle-timeout)", "why a silent client was dropped");
	p.dropped = DROPPED_SLOW;
	place_format_dropped(&s.places, &p, text, sizeof(text));
	is(text, "dropped: moved under 1 KiB in 2.5 seconds while the server was full",
	   "why a slow client was dropped");
	p.dropped = DROPPED_FOR_ROOM;
	place_format_dropped(&s.places, &p, text, sizeof(text));
	is(text, "dropped: its place was given to another address (--max-clients)",
	   "why a client was dropped for another");
}

/* Whether a client that has sent nothing loses its place at the next look. */
static bool loses_place(double idle_timeout)
{
	struct server s;
	struct place *p;
	bool lost;
	int fd;

	server_open(&s, 2);
	s.opt.idle_timeout = idle_timeout;
	p = accept_from(&s, "127.0.0.1", &fd);
	p->active_ns -= 5000000000;
	p->moved[0] = 0;
	s.places.looked_ns = now_ns() - LOOK_NS;
	places_look(&s.places);
	lost = p->dropped == DROPPED_SILENT;
	client_close(&s, p, fd);
	close(s.listener);
	return lost;
}

static void test_silent(void)
{
	ok(loses_place(1), "a client that is silent for --idle-timeout loses its place");
	ok(!loses_place(10), "a client that is silent for less keeps its place");
	ok(!loses_place(0), "--idle-timeout 0: a client that is silent keeps its place");
}

int main(void)
{
	test_lists();
	test_allow();
	test_places();
	test_log();
	test_dropped();
	test_silent();
	return done();
}
