/*
 * accepts: short clients, and the least that can serve them, to hold zcs against.
 *
 *	accepts serve			(prints `port N`, and serves until it is killed)
 *	accepts reply			(the same for requests, as those of zcc --request)
 *	accepts send port senders seconds [count]
 *
 * `serve` is one thread that accepts a client, reads to the end of its stream, writes one line as long
 * as a receipt, and closes; `reply` reads the size of the reply, writes that and closes.  `send` has that many processes, each of which sends one file of 50 bytes to
 * 127.0.0.1, half-closes, reads what comes back to its end, closes, and does it again.  It prints how
 * many clients a second were served.  `count` is the most that each process sends.
 */
#include "common.h"
#include "lib/net/wire.h"

#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define FILE_SIZE    50
#define RECEIPT_SIZE 160 /* bytes of the receipt of such a client */
#define REPLY_MAX    65536
#define SENDERS_MAX  64

static void serve_receipt(int fd)
{
	char buf[4096], line[RECEIPT_SIZE];

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	if (write(fd, line, sizeof(line)) < 0)
		die_errno("write");
}

static void serve_reply(int fd)
{
	static const char data[REPLY_MAX];
	uint32_t size;

	if (read(fd, &size, sizeof(size)) == (ssize_t)sizeof(size) && ntohl(size) <= REPLY_MAX &&
	    write(fd, data, ntohl(size)) < 0)
		die_errno("write");
}

static void serve(void (*serve_one)(int fd))
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int l = socket(AF_INET, SOCK_STREAM, 0), fd;
	socklen_t len = sizeof(a);

	if (l < 0)
		die_errno("socket");
	/* cppcheck-suppress invalidFunctionArg ; die_errno() does not return */
	if (bind(l, (struct sockaddr *)&a, len) != 0 || listen(l, 4096) != 0 ||
	    getsockname(l, (struct sockaddr *)&a, &len) != 0)
		die_errno("listen");
	report("port %d\n", ntohs(a.sin_port));
	while ((fd = accept(l, NULL, NULL)) >= 0) {
		serve_one(fd);
		close(fd);
	}
	die_errno("accept");
}

/* One client, from a source address of its own, each of which has ports of its own in TIME_WAIT. */
static void send_one(const struct sockaddr_in *to, uint32_t source)
{
	const struct sockaddr_in from = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + source)};
	unsigned char stream[3 * WIRE_HEADER + FILE_SIZE] = {0};
	char buf[4096];
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	ssize_t n, got = 0;

	wire_put(stream, 1);
	wire_put(stream + WIRE_HEADER, 1);
	wire_put(stream + 2 * WIRE_HEADER, FILE_SIZE);
	if (fd < 0)
		die_errno("socket");
	if (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)) != 0 ||
	    bind(fd, (const struct sockaddr *)&from, sizeof(from)) != 0 ||
	    connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0)
		die_errno("connect");
	if (send(fd, stream, sizeof(stream), 0) != (ssize_t)sizeof(stream) ||
	    shutdown(fd, SHUT_WR) != 0)
		die_errno("send");
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		got += n;
	if (n < 0)
		die_errno("read");
	if (got < 40)
		die("a client was closed after %zd bytes of a receipt", got);
	close(fd);
}

/* Sends until the time is over, and `most` clients at most; *done counts them. */
static void send_until(const struct sockaddr_in *to, uint64_t end, uint64_t most, uint32_t source,
		       uint64_t *done)
{
	while (*done < most && now_ns() < end) {
		send_one(to, source);
		++*done;
	}
}

static void send_all(const struct sockaddr_in *to, long senders, double seconds, uint64_t most)
{
	uint64_t *done = mmap(NULL, SENDERS_MAX * sizeof(*done), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t start = now_ns(), sum = 0;
	bool failed = false;
	int status;
	long i;

	if (done == MAP_FAILED)
		die_errno("mmap");
	for (i = 0; i < senders; i++)
		if (fork() == 0) {
			send_until(to, start + (uint64_t)(seconds * 1e9), most, (uint32_t)i,
				   &done[i]);
			_exit(0);
		}
	while (wait(&status) > 0)
		failed |= status != 0;
	for (i = 0; i < senders; i++)
		sum += done[i];
	if (failed)
		exit(EXIT_FAILURE);
	report("%.0f\n", (double)sum / seconds_between(start, now_ns()));
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	init_program(NULL);
	if (argc == 2 && strcmp(argv[1], "serve") == 0) {
		serve(serve_receipt);
	} else if (argc == 2 && strcmp(argv[1], "reply") == 0) {
		serve(serve_reply);
	} else if ((argc == 5 || argc == 6) && strcmp(argv[1], "send") == 0) {
		to.sin_port = htons((uint16_t)atoi(argv[2]));
		send_all(&to, atol(argv[3]), atof(argv[4]),
			 argc == 6 ? strtoull(argv[5], NULL, 10) : UINT64_MAX);
	} else {
		usage_error(
			"accepts serve | accepts reply | accepts send PORT SENDERS SECONDS [COUNT]");
	}
	return 0;
}
