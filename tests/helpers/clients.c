/*
 * clients: short clients, one after another.
 *
 *	clients port senders seconds [count]
 *
 * has that many processes, each of which sends one file of 50 bytes to 127.0.0.1, half-closes, reads what
 * comes back to its end, closes, and does it again.  It prints how many clients a second were served.
 * `count` is the most that each process sends.
 */
#include "common.h"
#include "lib/net/wire.h"

#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define FILE_SIZE   50
#define SENDERS_MAX 64

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
	if (argc != 4 && argc != 5)
		usage_error("clients PORT SENDERS SECONDS [COUNT]");
	to.sin_port = htons((uint16_t)atoi(argv[1]));
	send_all(&to, atol(argv[2]), atof(argv[3]),
		 argc == 5 ? strtoull(argv[4], NULL, 10) : UINT64_MAX);
	return 0;
}
