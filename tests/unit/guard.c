#include "lib/receive/guard.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

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
	pthread_mutex_init(&s->places.lock, NULL);
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
		place_close(&s->places, p);
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
	const char *bad =
		"|,|192.0.2.1/33|::1/129|192.0.2.1/|192.0.2.1/-1|192.0.2.1/x|192.0.2.1/8x|"
		"192.0.2|example.org|2001:db8|192.0.2.1/8/8";
	struct allow a;
	const char *list;
	size_t i;

	for (i = 0; i < LENGTH(good); i++) {
		a = (struct allow){.n = 0};
		ok(allow_add(&a, good[i].list) && a.n == good[i].n &&
			   a.prefix[a.n - 1].bits == good[i].bits,
		   "--allow %s is a list of %zu prefixes", good[i].list, good[i].n);
		free(a.prefix);
	}
	while ((list = next_of(&bad)) != NULL) {
		a = (struct allow){.n = 0};
		ok(!allow_add(&a, list), "--allow '%s' is malformed", list);
		free(a.prefix);
	}
}

/* A client from 127.0.0.6 is in the prefixes that a list has, or in none of them. */
static void test_allow(void)
{
	static const char *const lists[] = {
		"127.0.0.7|127.0.0.8/31|127.0.0.0/30|::/0|128.0.0.0/1",
		"127.0.0.6|127.0.0.7/31|127.0.0.0/29|0.0.0.0/0|::1,127.0.0.4/30|::ffff:127.0.0.0/104",
	};
	const char *left, *list;
	int fd, allowed;
	struct server s;
	struct place *p;

	for (allowed = 0; allowed <= 1; allowed++)
		for (left = lists[allowed]; (list = next_of(&left)) != NULL;) {
			server_open(&s, 10);
			allow_add(&s.opt.allow, list);
			p = connect_from(&s, "127.0.0.6", &fd);
			ok((p != NULL) == allowed, "--allow %s %s 127.0.0.6", list,
			   allowed ? "includes" : "does not include");
			client_close(&s, p, fd);
			close(s.listener);
			free(s.opt.allow.prefix);
		}
}

/* A server of four places: one address has three of them, and another the fourth. */
static void test_places(void)
{
	struct place *p[4];
	struct server s;
	int fd[4], none, i;

	server_open(&s, 4);
	for (i = 0; i < 3; i++)
		p[i] = accept_from(&s, "127.0.0.6", &fd[i]);
	ok(connect_from(&s, "127.0.0.6", &none) == NULL && s.places.refused == 1,
	   "an address has three quarters of the places");
	close(none);
	p[3] = accept_from(&s, "127.0.0.7", &fd[3]);
	ok(s.places.n == 4, "another address has the rest");
	client_close(&s, p[0], fd[0]);
	p[0] = accept_from(&s, "127.0.0.8", &fd[0]);
	ok(connect_from(&s, "127.0.0.8", &none) == NULL && s.places.refused == 2,
	   "as many clients as --max-clients have places");
	close(none);
	for (i = 0; i < 4; i++)
		client_close(&s, p[i], fd[i]);
	ok(s.places.n == 0 && LIST_EMPTY(&s.places.all), "no place is left when all have gone");
	p[0] = accept_from(&s, "127.0.0.6", &fd[0]);
	ok(p[0] != NULL, "an address whose clients have gone has places again");
	client_close(&s, p[0], fd[0]);
	close(s.listener);
	for (i = 1; i <= 2; i++) {
		server_open(&s, i);
		p[0] = connect_from(&s, "127.0.0.6", &fd[0]);
		ok(p[0] != NULL, "an address has a place where there are but %d", i);
		client_close(&s, p[0], fd[0]);
		close(s.listener);
	}
}

static void test_log(void)
{
	struct server s;
	bool all = true;
	int i;

	server_open(&s, 1);
	close(s.listener);
	for (i = 0; i < LOG_LINES; i++)
		all &= log_allows(&s.places);
	ok(all, "the first LOG_LINES lines about clients are printed");
	ok(!log_allows(&s.places) && !log_allows(&s.places) && s.places.log.omitted == 2,
	   "lines that are not printed are counted");
	s.places.log.since_ns -= LOG_NS / 2;
	ok(LOG_NS == 10000000000u && !log_allows(&s.places), "in 10 s no more lines are printed");
	s.places.log.since_ns -= LOG_NS / 2;
	ok(log_allows(&s.places) && s.places.log.omitted == 0,
	   "after 10 s lines are printed again, and the number of those that were not");
}

static void test_silence(void)
{
	struct server s = {.opt = {.idle_timeout = 2.5}};
	static char text[128];

	s.places.opt = &s.opt;
	place_format_silence(&s.places, text, sizeof(text));
	is(text, "silent for 2.5 seconds (--idle-timeout)", "why a silent client was dropped");
}

/* Whether a client that has sent nothing for five seconds is dropped at the next look. */
static bool is_dropped(double idle_timeout)
{
	struct server s;
	struct place *p;
	bool dropped;
	int fd;

	server_open(&s, 2);
	s.opt.idle_timeout = idle_timeout;
	p = accept_from(&s, "127.0.0.1", &fd);
	s.places.looked_ns = now_ns() - LOOK_NS;
	places_look(&s.places);
	p->active_ns -= 5000000000;
	s.places.looked_ns -= LOOK_NS;
	places_look(&s.places);
	dropped = p->silent;
	client_close(&s, p, fd);
	close(s.listener);
	return dropped;
}

static void test_silent(void)
{
	ok(is_dropped(1), "a client that is silent for --idle-timeout is dropped");
	ok(!is_dropped(10), "a client that is silent for less is not dropped");
	ok(!is_dropped(0), "--idle-timeout 0: a client that is silent is not dropped");
}

int main(void)
{
	test_lists();
	test_allow();
	test_places();
	test_log();
	test_silence();
	test_silent();
	return done();
}
