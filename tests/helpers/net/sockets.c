#include "tests/helpers/net/net.h"

uint32_t random_next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

void random_fill(unsigned char *p, size_t n)
{
	for (; n > 0; n--)
		*p++ = (unsigned char)random_next();
}

void put32(unsigned char *p, uint32_t v)
{
	v = htonl(v);
	memcpy(p, &v, 4);
}

void set_up(int sock)
{
	const struct timeval t = {.tv_sec = PATIENCE};
	const int on = 1;

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int dial_with(int flags, int window)
{
	const int sock = socket(AF_INET, SOCK_STREAM | flags, 0), on = 1;

	if (sock < 0)
		err(1, "socket");
	set_up(sock);
	if (window > 0)
		setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window));
	setsockopt(sock, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	if (source.sin_addr.s_addr != 0 &&
	    bind(sock, (struct sockaddr *)&source, sizeof(source)) != 0)
		err(1, "bind");
	if (connect(sock, (struct sockaddr *)&server, sizeof(server)) != 0 && errno != EINPROGRESS)
		err(1, "connect");
	return sock;
}

int dial(void)
{
	return dial_with(0, 0);
}

int listen_at(bool everywhere, int backlog, struct sockaddr_in *a)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	struct sockaddr *at = everywhere ? (struct sockaddr *)&any : (struct sockaddr *)a;
	socklen_t len = everywhere ? sizeof(any) : sizeof(*a);
	const int fd = socket(everywhere ? AF_INET6 : AF_INET, SOCK_STREAM, 0);

	*a = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, at, len) != 0 || listen(fd, backlog) != 0 ||
	    getsockname(fd, at, &len) != 0)
		err(1, "listen");
	if (everywhere)
		a->sin_port = any.sin6_port;
	return fd;
}

void say_port(const struct sockaddr_in *a)
{
	printf("port %d\n", ntohs(a->sin_port));
	fflush(stdout);
}

int listen_and_say(int backlog)
{
	struct sockaddr_in a;
	const int fd = listen_at(false, backlog, &a);

	say_port(&a);
	return fd;
}

bool put(int sock, const void *data, size_t n, int flags)
{
	const char *p = data;
	ssize_t sent;

	for (; n > 0; n -= (size_t)sent, p += sent)
		if ((sent = send(sock, p, n, flags | MSG_NOSIGNAL)) <= 0)
			return false;
	return true;
}

void put_zeros(int sock, uint64_t n)
{
	static const char zeros[4096];
	size_t part;

	for (; n > 0; n -= part) {
		part = n < sizeof(zeros) ? (size_t)n : sizeof(zeros);
		if (!put(sock, zeros, part, 0))
			return;
	}
}

void put_bytes(int sock, const void *data, size_t n, int ms)
{
	const char *p = data;

	for (; n > 0 && put(sock, p, 1, 0); n--, p++)
		usleep((useconds_t)ms * 1000);
}

void reset(int sock)
{
	const struct linger l = {.l_onoff = 1};

	setsockopt(sock, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(sock);
}

void finish(int sock)
{
	char buf[4096];
	ssize_t n;

	shutdown(sock, SHUT_WR);
	while ((n = recv(sock, buf, sizeof(buf), 0)) > 0)
		;
	if (n < 0 && errno == EAGAIN)
		errx(1, "the connection was not closed in %d seconds", PATIENCE);
	close(sock);
}
