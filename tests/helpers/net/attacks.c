#include "tests/helpers/net/net.h"

static int dialled[MANY]; /* the first `count` of them */

static void dial_all(int window)
{
	int i;

	for (i = 0; i < count; i++)
		dialled[i] = dial_with(0, window);
}

static void reset_all(void)
{
	int i;

	for (i = 0; i < count; i++)
		reset(dialled[i]);
}

/* The stream on all connections, in receive windows as small as can be. */
static void play_in_narrow_windows(void)
{
	int i, clamp = 1;

	dial_all(1);
	for (i = 0; i < count; i++) {
		setsockopt(dialled[i], IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp));
		put(dialled[i], stream, stream_len, 0);
	}
}

/* The stream, with an urgent byte at that place. */
static void play(int sock, size_t at)
{
	if (at >= stream_len) {
		put(sock, stream, stream_len, 0);
		return;
	}
	put(sock, stream, at, 0);
	put(sock, stream + at, 1, MSG_OOB);
	put(sock, stream + at + 1, stream_len - at - 1, 0);
}

static void attack_random(void)
{
	unsigned char buf[4096];
	uint32_t how;
	int i, sock;

	for (i = 0; i < count; i++) {
		usleep((useconds_t)pause_ms * 1000);
		how = random_next();
		random_fill(buf, sizeof(buf));
		if (how & 1) {
			put32(buf, how >> 8 & 3);
			put32(buf + 4, how >> 10 & 7);
			put32(buf + 8, how >> 13 & 1023);
		}
		sock = dial();
		put(sock, buf, random_next() % (how & 2 ? 32 : sizeof(buf)), 0);
		switch (how >> 2 & 3) {
		case 0: close(sock); break;
		case 1: reset(sock); break;
		default: finish(sock);
		}
	}
}

static void attack_limits(void)
{
	static const uint32_t value[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
	const unsigned n = sizeof(value) / sizeof(value[0]);
	unsigned char buf[4 * 4 + 100];
	unsigned i, k, rest;
	int sock;

	for (i = seed % 7; i < n * n * n * n; i += 7) { /* all in the course of seven seeds */
		random_fill(buf, sizeof(buf));
		for (k = 0, rest = i; k < 4; k++, rest /= n)
			put32(buf + 4 * k, value[rest % n]);
		sock = dial();
		put(sock, buf, i % 2 ? 16 : sizeof(buf), 0);
		finish(sock);
	}
}

static void attack_empty(void)
{
	unsigned char header[8];
	int loops, sock;

	for (loops = 0; loops < 2; loops++) {
		put32(header, loops ? 0xfffffffe : 1);
		put32(header + 4, 0xffffffff);
		sock = dial();
		put(sock, header, loops ? 4 : 8, 0);
		put_zeros(sock, 4 * (uint64_t)count);
		finish(sock);
	}
}

static void attack_drip(void)
{
	size_t k;
	int i;

	dial_all(0);
	for (k = 0; k < stream_len; k++)
		for (i = 0; i < count; i++)
			put(dialled[i], stream + k, 1, 0);
	for (i = 0; i < count; i++)
		finish(dialled[i]);
}

static void attack_deaf(void)
{
	int i;

	dial_all(1);
	for (i = 0; i < count; i++)
		put(dialled[i], stream, stream_len, 0);
	usleep((useconds_t)(pause_ms > 0 ? pause_ms : 300) *
	       1000); /* for answers that nobody reads */
	reset_all();
}

static void attack_narrow(void)
{
	int i;

	play_in_narrow_windows();
	for (i = 0; i < count; i++)
		finish(dialled[i]);
}

static void attack_sip(void)
{
	char bytes[400];
	int i;

	play_in_narrow_windows();
	for (i = 0; i < 25 * count; i++) {
		if (i % count == 0)
			usleep(100000);
		if (recv(dialled[i % count], bytes, sizeof(bytes), 0) <= 0)
			errx(1, "the server closed connection %d", i % count);
	}
	reset_all();
}

static void attack_halves(void)
{
	static const int how[] = {SHUT_RD, SHUT_WR, SHUT_RDWR};
	size_t at;
	int i, sock;

	for (at = 0; at <= stream_len; at++) {
		for (i = 0; i < 3; i++) {
			sock = dial();
			put(sock, stream, at, 0);
			shutdown(sock, how[i]);
			put(sock, stream + at, stream_len - at, 0);
			finish(sock);
		}
	}
}

static void attack_urgent(void)
{
	size_t at;
	int sock;

	for (at = 0; at <= stream_len; at++) {
		sock = dial();
		if (at < stream_len)
			play(sock, at);
		else
			for (at = 0; at < stream_len; at++)
				put(sock, stream + at, 1, MSG_OOB);
		finish(sock);
	}
}

static void attack_offsets(void)
{
	size_t at;
	int sock;

	for (at = 0; at <= stream_len; at++) {
		sock = dial();
		put(sock, stream, at, 0);
		finish(sock);
		sock = dial();
		put(sock, stream, at, 0);
		reset(sock);
	}
}

static void attack_ask_and_reset(void)
{
	int i, sock;

	for (i = 0; i < count; i++) {
		usleep((useconds_t)pause_ms * 1000);
		sock = dial();
		put(sock, stream, stream_len, 0);
		reset(sock);
	}
}

static void attack_flood(void)
{
	int i;

	for (i = 0; i < count; i++)
		reset(dial_with(SOCK_NONBLOCK, 0));
}

/* Prints what came, a line of text, or that the end did. */
static void print_answer(int sock)
{
	char text[256];
	ssize_t n = recv(sock, text, sizeof(text) - 1, 0);

	if (n > 0) {
		text[n] = '\0';
		text[strcspn(text, "\n")] = '\0';
		printf("said %s\n", text);
	} else {
		printf("closed\n");
	}
	fflush(stdout);
}

static void attack_hold(void)
{
	static struct pollfd p[MANY];
	int left = count, i, ms = pause_ms > 0 ? pause_ms : PATIENCE * 1000;

	for (i = 0; i < count; i++) {
		p[i] = (struct pollfd){.fd = dial(), .events = POLLIN};
		play(p[i].fd, urgent);
	}
	printf("held %d\n", count);
	fflush(stdout);
	while (left > 0) {
		if (poll(p, (nfds_t)count, ms) == 0 && pause_ms == 0)
			errx(1, "held for too long");
		for (i = 0; i < count; i++) {
			if (p[i].fd >= 0 && p[i].revents != 0) {
				print_answer(p[i].fd);
				close(p[i].fd);
				p[i].fd = -1;
				left--;
			} else if (p[i].fd >= 0 && pause_ms > 0) {
				put(p[i].fd, "", 1, 0);
			}
		}
	}
}

static const struct {
	const char *name;
	void (*attack)(void);
} attacks[] = {
	{"random", attack_random},   {"limits", attack_limits},
	{"empty", attack_empty},     {"drip", attack_drip},
	{"deaf", attack_deaf},       {"narrow", attack_narrow},
	{"halves", attack_halves},   {"urgent", attack_urgent},
	{"offsets", attack_offsets}, {"sip", attack_sip},
	{"flood", attack_flood},     {"ask-and-reset", attack_ask_and_reset},
	{"hold", attack_hold},
};

bool attack(const char *name)
{
	size_t i = 0;

	while (i < sizeof(attacks) / sizeof(attacks[0]) && strcmp(name, attacks[i].name) != 0)
		i++;
	if (i == sizeof(attacks) / sizeof(attacks[0]))
		return false;
	attacks[i].attack();
	return true;
}
