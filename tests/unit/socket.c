#include "lib/net/socket.h"

#include <arpa/inet.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "tests/unit/unit.h"

static const char *format6(const char *address, char text[ADDR_STRLEN])
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(80)};

	inet_pton(AF_INET6, address, &in6.sin6_addr);
	return addr_format((struct sockaddr *)&in6, sizeof(in6), text);
}

static void test_addresses(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons(2222),
				 .sin_addr.s_addr = htonl(0xc0000201)};
	struct sockaddr_storage none = {.ss_family = AF_UNSPEC};
	char text[ADDR_STRLEN], host[HOST_STRLEN], port[PORT_STRLEN];

	is(addr_format((struct sockaddr *)&in, sizeof(in), text), "192.0.2.1:2222",
	   "an IPv4 address has its port behind a colon");
	is(format6("2001:db8::1", text), "[2001:db8::1]:80", "an IPv6 address is in brackets");
	is(format6("::ffff:192.0.2.7", text), "192.0.2.7:80",
	   "an IPv4 address that is mapped into IPv6 is printed as IPv4");
	is(addr_format((struct sockaddr *)&none, sizeof(none), text), "unknown address",
	   "an address of no family is unknown");
	ok(addr_split((struct sockaddr *)&in, sizeof(in), host, port) &&
		   strcmp(host, "192.0.2.1") == 0 && strcmp(port, "2222") == 0,
	   "an address is split into host and port");
	ok(!addr_split((struct sockaddr *)&none, sizeof(none), host, port),
	   "an address of no family has no host");
}

/* In a network namespace of our own, whose lo is down and has another name. */
static int format_zone(void)
{
	const struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
					 .sin6_addr = {.s6_addr = {0xfe, 0x80, [15] = 1}},
					 .sin6_scope_id = 1};
	struct ifreq r = {.ifr_name = "lo", .ifr_newname = "a\033[2J"};
	char text[ADDR_STRLEN];
	int fd;

	if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return 2;
	fd = socket(AF_INET6, SOCK_STREAM, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFNAME, &r) != 0)
		return 2;
	close(fd);
	addr_format((const struct sockaddr *)&in6, sizeof(in6), text);
	return strcmp(text, "[fe80::1%a?[2J]:0") != 0;
}

static void test_zone(void)
{
	static const char what[] = "an address with the name of an interface is printable";
	int status = 0;
	pid_t pid;

	fflush(stdout); /* ThreadSanitizer's _exit() prints what is buffered */
	pid = fork();
	if (pid == 0)
		_exit(format_zone());
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 2)
		skip(what, "no privilege for namespaces");
	else
		ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, what);
}

static void test_interface(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int open_before = open_files();
	char name[IF_NAMESIZE] = "";

	addr_interface((struct sockaddr *)&in, name);
	is(name, "lo", "packets for 127.0.0.1 are routed via lo");
	ok(open_files() == open_before, "the lookup of an interface leaves no descriptor open");
}

static void set_sndbuf(void *size)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	sock_set_options_or_die(fd, &(struct sock_options){.sndbuf = *(int *)size});
	close(fd);
}

/* The kernel gives twice what it is asked for, so that half more than its limit looks like enough. */
static void test_limited(void)
{
	char line[32] = "";
	int size;

	file_read_line("/proc/sys/net/core/wmem_max", line, sizeof(line));
	size = (int)strtol(line, NULL, 10);
	if (size < 4096 || size > INT_MAX / 3) {
		skip("a send buffer over the kernel's limit has a warning", "no such limit");
		return;
	}
	died(set_sndbuf, &size);
	is(printed, "", "a send buffer of the kernel's limit has no warning");
	size += size / 2;
	died(set_sndbuf, &size);
	has(printed, "send buffer: asked for ",
	    "a send buffer of half more than the kernel's limit has a warning");
}

static void test_options(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	char name[16];

	ok(sock_set(fd, IPPROTO_TCP, TCP_NODELAY, 1) == 0 &&
		   sock_get(fd, IPPROTO_TCP, TCP_NODELAY) == 1,
	   "an option of a socket is the same when it is set and read");
	ok(sock_set(-1, IPPROTO_TCP, TCP_NODELAY, 1) != 0 && errno == EBADF &&
		   sock_get(-1, IPPROTO_TCP, TCP_NODELAY) == 0,
	   "an option of no socket is 0");
	sock_set_options_or_die(fd, &(struct sock_options){.rcvbuf = 8192, .sndbuf = 16384});
	/* The kernel doubles what it is asked for: socket(7). */
	ok(sock_get(fd, SOL_SOCKET, SO_RCVBUF) == 2 * 8192 &&
		   sock_get(fd, SOL_SOCKET, SO_SNDBUF) == 2 * 16384,
	   "the buffers have the sizes of the options");
	/* QEMU lacks it on a big-endian architecture. */
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) != 0) {
		skip("the congestion control is that of the options", "no TCP_CONGESTION");
	} else {
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
		sock_set_options_or_die(fd, &(struct sock_options){.congestion = "reno"});
		sock_congestion(fd, name);
		is(name, "reno", "the congestion control is that of the options");
	}
	sock_congestion(-1, name);
	is(name, "unknown", "the congestion control of no socket is unknown");
	sock_keep_alive(fd);
	ok(sock_get(fd, SOL_SOCKET, SO_KEEPALIVE) == 1 &&
		   sock_get(fd, IPPROTO_TCP, TCP_KEEPIDLE) +
				   sock_get(fd, IPPROTO_TCP, TCP_KEEPINTVL) *
					   sock_get(fd, IPPROTO_TCP, TCP_KEEPCNT) ==
			   120,
	   "a peer that is unreachable for two minutes is given up");
	close(fd);
}

static void test_pipe(void)
{
	size_t size = 0;
	int fd[2];

	ok(pipe_large(fd, &size) == 0 && size >= 4096 && size <= 1 << 20 &&
		   size == (size_t)fcntl(fd[1], F_GETPIPE_SZ),
	   "a large pipe has the size that is returned");
	ok((fcntl(fd[0], F_GETFD) & fcntl(fd[1], F_GETFD) & FD_CLOEXEC) != 0,
	   "a large pipe is closed in a program that is executed");
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	test_addresses();
	test_zone();
	test_interface();
	test_limited();
	test_options();
	test_pipe();
	return done();
}
