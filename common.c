#include "common.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Diagnostics.
 */

void usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vwarnx(fmt, ap);
	va_end(ap);
	exit(EXIT_USAGE);
}

void init_output(void)
{
	int fd;

	/* A closed 0, 1 or 2 would be given to the first socket; opened so, writing it is an error. */
	while ((fd = open("/dev/null", O_RDONLY)) >= 0 && fd <= STDERR_FILENO)
		;
	close(fd);
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
}

void catch_stop_signals(void (*handler)(int))
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction new = {.sa_handler = handler};
	struct sigaction old;
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &new, NULL);
}

void report(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vprintf(fmt, ap);
	va_end(ap);
	if (n < 0 || ferror(stdout))
		err(EXIT_FAILURE, "stdout");
}

/*
 * Parsing.
 */

const char *parse_size(const char *s, uint64_t *bytes)
{
	static const char suffixes[] = "kmgt";
	unsigned shift = 0;
	unsigned long long v;
	const char *suffix;
	char *end;

	if (!isdigit((unsigned char)*s))
		return "is not a size: digits, then k, m, g, t or nothing";
	errno = 0;
	v = strtoull(s, &end, 10);
	if (*end != '\0' && end[1] == '\0' &&
	    (suffix = strchr(suffixes, tolower((unsigned char)*end))) != NULL) {
		shift = 10 * (unsigned)(suffix - suffixes + 1);
		end++;
	}
	if (*end != '\0')
		return "is not a size: digits, then k, m, g, t or nothing";
	if (errno == ERANGE || v > UINT64_MAX >> shift)
		return "is larger than 64 bits hold";
	*bytes = (uint64_t)v << shift;
	return NULL;
}

/* Reads a CPU number at *s and moves *s behind it; -1 if there is none. */
static int parse_cpu(const char **s)
{
	long v;
	char *end;

	if (!isdigit((unsigned char)**s))
		return -1;
	v = strtol(*s, &end, 10); /* LONG_MAX when out of range, which the limit refuses too */
	*s = end;
	return v < CPUS_MAX ? (int)v : -1;
}

const char *parse_cpus(const char *s, struct cpus *cpus)
{
	static const char wrong[] = "is not a CPU list, like 0,2-5";
	struct cpus *r = malloc(sizeof(*r));
	const char *why = NULL;
	int first, last;

	if (r == NULL)
		return strerror(errno);
	r->n = 0;
	do {
		first = last = parse_cpu(&s);
		if (first >= 0 && *s == '-') {
			s++;
			last = parse_cpu(&s);
		}
		if (first < 0 || last < first) {
			why = wrong;
		} else if (last - first >= CPUS_MAX - r->n) {
			why = "has more CPUs than any kernel";
		} else {
			while (first <= last)
				r->id[r->n++] = first++;
		}
	} while (why == NULL && *s++ == ',');
	if (why == NULL && s[-1] != '\0')
		why = wrong;
	if (why == NULL)
		*cpus = *r;
	free(r);
	return why;
}

const char *parse_seconds(const char *s, double *seconds)
{
	static const char wrong[] = "is not a number of seconds";
	double v;
	char *end;

	if (s[strspn(s, "0123456789.")] != '\0' || !isdigit((unsigned char)*s))
		return wrong;
	v = strtod(s, &end);
	if (*end != '\0' || !isfinite(v))
		return wrong;
	*seconds = v;
	return NULL;
}

uint64_t arg_size(const char *opt, const char *s, uint64_t min, uint64_t max)
{
	uint64_t v = 0;
	const char *why = parse_size(s, &v);

	if (why != NULL)
		usage_error("%s: '%s' %s", opt, s, why);
	if (v < min || v > max)
		usage_error("%s: '%s' is not between %llu and %llu", opt, s, (unsigned long long)min,
			    (unsigned long long)max);
	return v;
}

long arg_int(const char *opt, const char *s, long min, long max)
{
	long v;
	char *end;

	errno = 0;
	v = strtol(s, &end, 10);
	if (!isdigit((unsigned char)*s) || *end != '\0')
		usage_error("%s: '%s' is not a whole number", opt, s);
	if (errno == ERANGE || v < min || v > max)
		usage_error("%s: '%s' is not between %ld and %ld", opt, s, min, max);
	return v;
}

double arg_seconds(const char *opt, const char *s, double min, double max)
{
	double v = 0;
	const char *why = parse_seconds(s, &v);

	if (why != NULL)
		usage_error("%s: '%s' %s", opt, s, why);
	if (v < min || v > max)
		usage_error("%s: '%s' is not between %g and %g seconds", opt, s, min, max);
	return v;
}

void arg_cpus(const char *opt, const char *s, struct cpus *cpus)
{
	const char *why = parse_cpus(s, cpus);

	if (why != NULL)
		usage_error("%s: '%s' %s", opt, s, why);
}

const char *arg_port(const char *opt, const char *s)
{
	arg_int(opt, s, 0, 65535);
	return s;
}

/*
 * CPU binding and scheduling.
 */

/* Reads a whole small file as a string without its last newline. */
static int read_line(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

static cpu_set_t *cpu_set_new(size_t *size)
{
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);

	if (set == NULL)
		err(EXIT_FAILURE, "CPU set");
	*size = CPU_ALLOC_SIZE(CPUS_MAX);
	CPU_ZERO_S(*size, set);
	return set;
}

void cpus_online(struct cpus *cpus)
{
	char buf[4096];
	cpu_set_t *set;
	size_t size;
	int i;

	if (read_line("/sys/devices/system/cpu/online", buf, sizeof(buf)) == 0 &&
	    parse_cpus(buf, cpus) == NULL)
		return;
	set = cpu_set_new(&size);
	if (sched_getaffinity(0, size, set) != 0)
		err(EXIT_FAILURE, "sched_getaffinity");
	cpus->n = 0;
	for (i = 0; i < CPUS_MAX; i++)
		if (CPU_ISSET_S(i, size, set))
			cpus->id[cpus->n++] = i;
	CPU_FREE(set);
}

void cpus_to_soak(int n, struct cpus *cpus)
{
	cpus_online(cpus);
	if (n > cpus->n)
		usage_error("-N, --cpus: %d is more than the %d CPUs that are online", n, cpus->n);
	if (n > 0)
		cpus->n = n;
}

void cpus_format(const struct cpus *cpus, char *buf, size_t size)
{
	size_t used = 0;
	int i, j;

	buf[0] = '\0';
	for (i = 0; i < cpus->n && used < size; i = j + 1) {
		for (j = i; j + 1 < cpus->n && cpus->id[j + 1] == cpus->id[j] + 1; j++)
			;
		used += (size_t)snprintf(buf + used, size - used, i == j ? "%s%d" : "%s%d-%d",
					 i > 0 ? "," : "", cpus->id[i], cpus->id[j]);
	}
}

void exec_or_die(char **argv)
{
	int code;

	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], argv);
	code = errno == ENOENT ? 127 : 126;
	warn("cannot run %s", argv[0]);
	_exit(code);
}

int cpu_bind(int cpu)
{
	size_t size;
	cpu_set_t *set = cpu_set_new(&size);
	int r;

	CPU_SET_S((size_t)cpu, size, set);
	r = sched_setaffinity(0, size, set);
	CPU_FREE(set);
	return r;
}

void cpu_bind_or_die(const struct cpus *cpus, int i)
{
	if (cpus->n > 0 && cpu_bind(cpus->id[i % cpus->n]) != 0)
		err(EXIT_FAILURE, "cannot bind to CPU %d", cpus->id[i % cpus->n]);
}

/*
 * Sockets.
 */

/* Sets one buffer size; the kernel doubles what is asked for its own overhead (socket(7)). */
static void set_bufsize_or_die(int fd, int name, const char *what, const char *limit, int want)
{
	int got = 0;
	socklen_t len = sizeof(got);

	if (setsockopt(fd, SOL_SOCKET, name, &want, sizeof(want)) != 0 ||
	    getsockopt(fd, SOL_SOCKET, name, &got, &len) != 0)
		err(EXIT_FAILURE, "%s buffer of %d bytes", what, want);
	if (got / 2 < want)
		warnx("%s buffer: asked for %d bytes, the kernel gave %d (see %s)", what, want, got / 2,
		      limit);
}

void sock_set_options_or_die(int fd, const struct sock_options *o)
{
	if (o->rcvbuf > 0)
		set_bufsize_or_die(fd, SO_RCVBUF, "receive", "net.core.rmem_max", o->rcvbuf);
	if (o->sndbuf > 0)
		set_bufsize_or_die(fd, SO_SNDBUF, "send", "net.core.wmem_max", o->sndbuf);
	if (o->congestion != NULL && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, o->congestion,
						(socklen_t)strlen(o->congestion)) != 0)
		err(EXIT_FAILURE, "congestion control '%s' (see net.ipv4.tcp_%s_congestion_control)",
		    o->congestion, errno == EPERM ? "allowed" : "available");
}

/* Copies an address; one of IPv4 that is mapped into IPv6 becomes IPv4. */
static socklen_t addr_unmap(const struct sockaddr *sa, socklen_t len, struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	struct sockaddr_in *in = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (sa->sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		memcpy(ss, sa, len);
		return len;
	}
	in->sin_family = AF_INET;
	in->sin_port = in6->sin6_port;
	memcpy(&in->sin_addr, &in6->sin6_addr.s6_addr[12], sizeof(in->sin_addr));
	return sizeof(*in);
}

const char *addr_format(const struct sockaddr *sa, socklen_t len, char buf[ADDR_STRLEN])
{
	char host[ADDR_STRLEN - 10], port[8];
	struct sockaddr_storage ss;

	len = addr_unmap(sa, len, &ss);
	if (getnameinfo((struct sockaddr *)&ss, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return strcpy(buf, "unknown address");
	snprintf(buf, ADDR_STRLEN, ss.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return buf;
}

/* Asks for the route to `ss` and returns the number of its interface, 0 if there is none. */
static uint32_t route_interface(int fd, const struct sockaddr_storage *ss)
{
	struct {
		struct nlmsghdr nh;
		struct rtmsg rt;
		struct rtattr dst;
		unsigned char addr[16];
	} q = {.nh.nlmsg_type = RTM_GETROUTE, .nh.nlmsg_flags = NLM_F_REQUEST};
	char buf[4096] __attribute__((aligned(NLMSG_ALIGNTO)));
	const struct nlmsghdr *nh = (const struct nlmsghdr *)buf;
	const struct rtattr *a;
	size_t addr_len;
	ssize_t n;
	int left;

	if (ss->ss_family == AF_INET6) {
		addr_len = 16;
		memcpy(q.addr, &((const struct sockaddr_in6 *)ss)->sin6_addr, addr_len);
	} else {
		addr_len = 4;
		memcpy(q.addr, &((const struct sockaddr_in *)ss)->sin_addr, addr_len);
	}
	q.rt.rtm_family = (unsigned char)ss->ss_family;
	q.rt.rtm_dst_len = (unsigned char)(8 * addr_len);
	q.dst.rta_type = RTA_DST;
	q.dst.rta_len = (unsigned short)RTA_LENGTH(addr_len);
	q.nh.nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof(q.rt)) + RTA_SPACE(addr_len));
	if (send(fd, &q, q.nh.nlmsg_len, 0) < 0 || (n = recv(fd, buf, sizeof(buf), 0)) < 0)
		return 0;
	if (!NLMSG_OK(nh, (size_t)n) || nh->nlmsg_type != RTM_NEWROUTE)
		return 0;
	left = (int)RTM_PAYLOAD(nh);
	for (a = RTM_RTA(NLMSG_DATA(nh)); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == RTA_OIF)
			return *(const uint32_t *)RTA_DATA(a);
	return 0;
}

int addr_interface(const struct sockaddr *peer, char name[IF_NAMESIZE])
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;
	struct sockaddr_storage ss;
	uint32_t index;
	int fd;

	if (peer->sa_family == AF_INET6 && in6->sin6_scope_id != 0) /* link-local: it says itself */
		return if_indextoname(in6->sin6_scope_id, name) != NULL ? 0 : -1;
	addr_unmap(peer, peer->sa_family == AF_INET6 ? sizeof(*in6) : sizeof(struct sockaddr_in), &ss);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -1;
	index = route_interface(fd, &ss);
	close(fd);
	return index != 0 && if_indextoname(index, name) != NULL ? 0 : -1;
}

const char *sock_congestion(int fd, char name[16])
{
	socklen_t len = 15;

	memset(name, 0, 16);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) != 0 || name[0] == '\0')
		strcpy(name, "unknown");
	return name;
}

/*
 * The wire.
 */

void wire_init(struct wire *w)
{
	memset(w, 0, sizeof(*w));
}

void wire_put(void *p, uint32_t value)
{
	value = htonl(value);
	memcpy(p, &value, sizeof(value));
}

/* What follows when the file or loop before is complete: files and loops may be empty. */
static void wire_next(struct wire *w)
{
	if (w->files_left > 0) {
		w->state = WIRE_LENGTH;
	} else if (w->forever || w->loops_left > 0) {
		w->state = WIRE_FILES;
	} else {
		w->state = WIRE_DONE;
	}
}

static void wire_file_done(struct wire *w)
{
	w->files++;
	if (w->files_left == 0)
		w->loops++;
	wire_next(w);
}

/* Acts on a header that is complete. */
static void wire_header(struct wire *w, uint32_t value)
{
	switch (w->state) {
	case WIRE_LOOPS:
		w->loops_left = value;
		w->forever = value == WIRE_FOREVER;
		wire_next(w);
		break;
	case WIRE_FILES:
		if (!w->forever)
			w->loops_left--;
		w->files_left = value;
		if (value == 0)
			w->loops++;
		wire_next(w);
		break;
	default: /* WIRE_LENGTH */
		w->files_left--;
		w->body_left = value;
		w->state = WIRE_BODY;
		if (value == 0)
			wire_file_done(w);
		break;
	}
}

/* Takes what there is of a body. */
static size_t wire_body(struct wire *w, size_t len)
{
	size_t n = len < w->body_left ? len : w->body_left;

	w->body_left -= (uint32_t)n;
	w->bytes += n;
	if (w->body_left == 0)
		wire_file_done(w);
	return n;
}

size_t wire_feed(struct wire *w, const void *buf, size_t len)
{
	const unsigned char *p = buf, *end = p + len;

	while (p < end && w->state != WIRE_DONE) {
		if (w->state == WIRE_BODY) {
			p += wire_body(w, (size_t)(end - p));
			continue;
		}
		w->header = w->header << 8 | *p++;
		if (++w->have == WIRE_HEADER) {
			w->have = 0;
			wire_header(w, w->header);
		}
	}
	return (size_t)(p - (const unsigned char *)buf);
}

bool wire_ended(const struct wire *w, const char **where)
{
	static const char *const part[] = {
		[WIRE_LOOPS] = "before the first header",
		[WIRE_FILES] = "between two loops",
		[WIRE_LENGTH] = "between two files",
		[WIRE_BODY] = "in the middle of a file",
	};

	if (w->state == WIRE_DONE || w->forever)
		return true;
	*where = w->have > 0 ? "in the middle of a header" : part[w->state];
	return false;
}

/* The keys of a receipt.  A new one is one line here and one member of struct receipt. */
static const struct {
	const char *key;
	enum { KEY_COUNT, KEY_NUMBER } type;
	size_t offset;
	bool required;
} receipt_keys[] = {
	{"bytes", KEY_COUNT, offsetof(struct receipt, bytes), true},
	{"seconds", KEY_NUMBER, offsetof(struct receipt, seconds), true},
	{"files", KEY_COUNT, offsetof(struct receipt, files), false},
	{"reads", KEY_COUNT, offsetof(struct receipt, reads), false},
	{"load", KEY_NUMBER, offsetof(struct receipt, load), false},
	{"cpus", KEY_NUMBER, offsetof(struct receipt, cpus), false},
};
#define RECEIPT_KEYS (sizeof(receipt_keys) / sizeof(receipt_keys[0]))

size_t receipt_format(const struct receipt *r, char *buf)
{
	size_t used = 0, i;

	for (i = 0; i < RECEIPT_KEYS; i++) {
		const char *member = (const char *)r + receipt_keys[i].offset;
		const char *key = receipt_keys[i].key;

		if (receipt_keys[i].type == KEY_COUNT)
			used += (size_t)snprintf(buf + used, RECEIPT_MAX - used, "%s=%llu ", key,
						 (unsigned long long)*(const uint64_t *)member);
		else if (!isnan(*(const double *)member))
			used += (size_t)snprintf(buf + used, RECEIPT_MAX - used, "%s=%.6f ", key,
						 *(const double *)member);
	}
	buf[used - 1] = '\n';
	return used;
}

/* Stores the value of key i; false if it is not what that key has. */
static bool receipt_set(struct receipt *r, size_t i, const char *value)
{
	char *member = (char *)r + receipt_keys[i].offset, *end;
	unsigned long long count;
	double number;

	if (!isdigit((unsigned char)value[value[0] == '-']))
		return false;
	errno = 0;
	if (receipt_keys[i].type == KEY_COUNT) {
		count = strtoull(value, &end, 10);
		if (value[0] == '-')
			return false;
		*(uint64_t *)member = count;
	} else {
		if (value[strspn(value, "-0123456789.")] != '\0')
			return false;
		number = strtod(value, &end);
		/* A load may come out below 0 on a machine that does more than when calibrated. */
		if (!isfinite(number) || number < (strcmp(receipt_keys[i].key, "load") == 0 ? -1 : 0))
			return false;
		*(double *)member = number;
	}
	return errno == 0 && *end == '\0';
}

/* Takes one `key=value`, cut out as a string.  *seen has a bit for each key that was there. */
static bool receipt_pair(struct receipt *r, char *pair, unsigned *seen)
{
	char *value = strchr(pair, '=');
	size_t i;

	if (value == NULL || value == pair || value[1] == '\0')
		return false;
	*value++ = '\0';
	if (pair[strspn(pair, "abcdefghijklmnopqrstuvwxyz_0123456789")] != '\0')
		return false;
	for (i = 0; i < RECEIPT_KEYS; i++) {
		if (strcmp(pair, receipt_keys[i].key) != 0)
			continue;
		if (*seen & 1u << i)
			return false;
		*seen |= 1u << i;
		return receipt_set(r, i, value);
	}
	return true;
}

const char *receipt_parse(const char *buf, size_t len, struct receipt *r)
{
	char line[RECEIPT_MAX], *rest = line, *pair;
	unsigned seen = 0;
	size_t i;

	memset(r, 0, sizeof(*r));
	r->load = r->cpus = NAN;
	if (len == 0 || len > sizeof(line) || buf[len - 1] != '\n')
		return "is not one line";
	for (i = 0; i < len - 1; i++)
		if (buf[i] < ' ' || buf[i] > '~')
			return "has characters that are not text";
	memcpy(line, buf, len);
	line[len - 1] = '\0';
	while ((pair = strsep(&rest, " ")) != NULL)
		if (!receipt_pair(r, pair, &seen))
			return "has a bad key=value";
	for (i = 0; i < RECEIPT_KEYS; i++)
		if (receipt_keys[i].required && !(seen & 1u << i))
			return "lacks bytes or seconds";
	return NULL;
}

/*
 * Clocks and system counters.
 */

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The first line is all CPUs, `intr` is followed by its total: proc_stat(5). */
static void read_proc_stat(struct counters *c)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned long long v[CPU_COLUMNS] = {0};
	char *line = NULL;
	size_t size = 0;
	int i;

	if (f == NULL)
		return;
	while (getline(&line, &size, f) > 0) {
		if (strncmp(line, "cpu ", 4) == 0) {
			sscanf(line + 4, "%llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2],
			       &v[3], &v[4], &v[5], &v[6], &v[7]);
			for (i = 0; i < CPU_COLUMNS; i++)
				c->cpu[i] = v[i];
		} else if (strncmp(line, "intr ", 5) == 0) {
			c->interrupts = strtoull(line + 5, NULL, 10);
			break;
		}
	}
	free(line);
	fclose(f);
}

/* /proc/net is that of the caller's network namespace; /sys is that of whoever mounted it. */
static void read_proc_net_dev(struct counters *c, const char *interface)
{
	FILE *f = fopen("/proc/net/dev", "re");
	unsigned long long in, out;
	char *line = NULL, *name;
	size_t size = 0, len = strlen(interface);

	if (f == NULL)
		return;
	while (getline(&line, &size, f) > 0) {
		name = line + strspn(line, " ");
		if (strncmp(name, interface, len) != 0 || name[len] != ':')
			continue;
		/* rx: bytes packets and six more; tx: bytes packets */
		if (sscanf(name + len + 1, "%*u %llu %*u %*u %*u %*u %*u %*u %*u %llu", &in, &out) == 2) {
			c->packets_in = in;
			c->packets_out = out;
		}
		break;
	}
	free(line);
	fclose(f);
}

void counters_read(struct counters *c, const char *interface)
{
	memset(c, 0, sizeof(*c));
	read_proc_stat(c);
	if (interface != NULL)
		read_proc_net_dev(c, interface);
	c->ns = now_ns();
}

/* Counters of the kernel may step back: idle and iowait do when a CPU goes offline. */
static double rise(uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) : 0;
}

void counters_rates(const struct counters *from, const struct counters *to, struct rates *r)
{
	double seconds = rise(from->ns, to->ns) / 1e9, ticks = 0;
	int i;

	memset(r, 0, sizeof(*r));
	if (seconds <= 0)
		return;
	r->interrupts = rise(from->interrupts, to->interrupts) / seconds;
	r->packets_in = rise(from->packets_in, to->packets_in) / seconds;
	r->packets_out = rise(from->packets_out, to->packets_out) / seconds;
	for (i = 0; i < CPU_COLUMNS; i++)
		ticks += rise(from->cpu[i], to->cpu[i]);
	for (i = 0; i < CPU_COLUMNS && ticks > 0; i++)
		r->cpu[i] = rise(from->cpu[i], to->cpu[i]) / ticks;
}

/*
 * The soaker.
 */

#define SOAK_FORMAT     1            /* of the calibration file and the loop that it counts */
#define SOAK_MEMORY     (1024 * 1024) /* bytes that each soaker walks over */
#define SOAK_LINE       64           /* bytes from one dirtied line to the next */
#define SOAK_DIRTY_NS   100000       /* between two: 10,000 lines a second, as in 2001 */
#define SOAK_LOCK_FILE  "/proc/version"
#define SOAK_LOCK_TRIES 200          /* of 10 ms: for the soakers of a killed program to be gone */
#define SOAK_START_NS   5000000000u

/* What a soaker counts, on cache lines (and their prefetched neighbours) of its own. */
struct soak_cpu {
	_Atomic uint64_t loops;
} __attribute__((aligned(128)));

/* Between the program and its soakers. */
struct soak_shared {
	_Atomic int autogroup_errno; /* why the session's weight could not be lowered */
	_Atomic int bind_errno;      /* why a thread could not be bound, and to which CPU */
	_Atomic int bind_cpu;
	struct soak_cpu cpu[];
};

struct soaker {
	pid_t pid;
	int lock;
	int n;
	size_t map_size;
	struct soak_shared *shared;
};

struct soak_thread {
	struct soak_shared *shared;
	int index, cpu;
};

/* Who holds the lock: its pid as /proc/locks has it (proc_locks(5)), 0 if that does not tell. */
static pid_t lock_holder(int fd)
{
	FILE *f = fopen("/proc/locks", "re");
	unsigned major, minor;
	unsigned long long inode;
	char line[256];
	struct stat st;
	int pid, found = 0;

	if (f == NULL)
		return 0;
	if (fstat(fd, &st) != 0)
		st.st_ino = 0;
	while (found == 0 && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%llu", &pid, &major, &minor, &inode) == 4 &&
		    inode == st.st_ino && makedev(major, minor) == st.st_dev)
			found = pid;
	fclose(f);
	return found;
}

static _Noreturn void die_of_holder(pid_t pid)
{
	char path[64], name[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (pid <= 0 || read_line(path, name, sizeof(name)) != 0)
		strcpy(name, "a program that has gone");
	errx(EXIT_FAILURE, "CPUs are being soaked already, by %s (pid %d): wait for it, or stop it", name,
	     pid);
}

/*
 * One set of soakers per machine.  The lock is a flock(2) on a file of /proc: every user can open
 * it, it is nobody's to remove, it is the same in every mount and network namespace, and it is
 * let go by the kernel when its last holder, the soaker included, has gone.
 */
static int lock_or_die(void)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int fd = open(SOAK_LOCK_FILE, O_RDONLY | O_CLOEXEC), i;

	if (fd < 0)
		err(EXIT_FAILURE, SOAK_LOCK_FILE);
	for (i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			err(EXIT_FAILURE, "lock on " SOAK_LOCK_FILE);
		if (i == SOAK_LOCK_TRIES)
			die_of_holder(lock_holder(fd));
		nanosleep(&pause, NULL);
	}
	return fd;
}

/*
 * Sessions share a CPU by the nice value of their autogroup, whatever runs inside (sched(7)).  The
 * kernel lets an ordinary user change one only every 100 ms, machine-wide.
 */
static int autogroup_lower(void)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	int fd, i, r = EAGAIN;

	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : errno; /* ENOENT: a kernel without autogroups */
	for (i = 0; i < 40 && r == EAGAIN; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		r = write(fd, "19", 2) == 2 ? 0 : errno;
	}
	close(fd);
	return r;
}

/*
 * The loop.  Its speed is that of reading the clock, which on shared machines is steadier than
 * that of arithmetic; it dirties a cache line every SOAK_DIRTY_NS so that traffic which takes
 * memory bandwidth or cache slows it.
 */
static _Noreturn void spin(struct soak_cpu *me, volatile unsigned char *memory)
{
	uint64_t loops = 0, now, dirty_at = now_ns();
	size_t line = 0;

	for (;;) {
		now = now_ns();
		if (now >= dirty_at) {
			memory[line]++;
			line = (line + SOAK_LINE) % SOAK_MEMORY;
			dirty_at = now + SOAK_DIRTY_NS;
		}
		atomic_store_explicit(&me->loops, ++loops, memory_order_relaxed);
	}
}

static void *soak_thread(void *arg)
{
	struct soak_thread *t = arg;
	unsigned char *memory;

	if (cpu_bind(t->cpu) != 0) {
		atomic_store(&t->shared->bind_cpu, t->cpu);
		atomic_store(&t->shared->bind_errno, errno);
		_exit(EXIT_FAILURE);
	}
	memory = malloc(SOAK_MEMORY);
	if (memory == NULL)
		_exit(EXIT_FAILURE);
	memset(memory, 1, SOAK_MEMORY);
	spin(&t->shared->cpu[t->index], memory);
}

static void start_threads(struct soaker *s, const struct cpus *cpus)
{
	struct soak_thread *t = calloc((size_t)cpus->n, sizeof(*t));
	pthread_attr_t attr;
	pthread_t id;
	int i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (i = 0; i < cpus->n; i++) {
		if (t == NULL)
			_exit(EXIT_FAILURE);
		t[i] = (struct soak_thread){.shared = s->shared, .index = i, .cpu = cpus->id[i]};
		if (pthread_create(&id, &attr, soak_thread, &t[i]) != 0)
			_exit(EXIT_FAILURE);
	}
}

/* Keeps nothing of its parent's but the lock: no port, no pipe, no terminal. */
static void let_go(int keep)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	if (keep > 3)
		close_range(3, (unsigned)keep - 1, 0);
	close_range((unsigned)keep + 1, ~0u, 0);
}

static _Noreturn void soaker_main(struct soaker *s, const struct cpus *cpus, pid_t parent)
{
	const struct sched_param none = {0};
	sigset_t all;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before we asked */
		_exit(EXIT_FAILURE);
	prctl(PR_SET_NAME, "zc-soaker");
	setsid();
	let_go(s->lock);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL); /* only SIGKILL ends it: its parent's, or its parent's end */
	atomic_store(&s->shared->autogroup_errno, autogroup_lower());
	setpriority(PRIO_PROCESS, 0, 19);
	sched_setscheduler(0, SCHED_IDLE, &none);
	start_threads(s, cpus);
	for (;;)
		pause();
}

/* The soakers must not die unseen: the work they no longer do would be taken for load. */
static void check_alive(const struct soaker *s)
{
	int status, e;

	if (waitpid(s->pid, &status, WNOHANG) != s->pid)
		return;
	if ((e = atomic_load(&s->shared->bind_errno)) != 0)
		errx(EXIT_FAILURE, "cannot soak CPU %d: %s", atomic_load(&s->shared->bind_cpu), strerror(e));
	if (WIFSIGNALED(status))
		errx(EXIT_FAILURE, "the soaker was killed by signal %d", WTERMSIG(status));
	errx(EXIT_FAILURE, "the soaker could not be started: out of memory or threads");
}

/* The first CPU whose soaker has not run yet, -1 if all have. */
static int first_silent(const struct soaker *s)
{
	int i;

	for (i = 0; i < s->n; i++)
		if (atomic_load_explicit(&s->shared->cpu[i].loops, memory_order_relaxed) == 0)
			return i;
	return -1;
}

/* A CPU that real-time programs hold whole never runs its soaker: that is load, not failure. */
static void wait_until_running(const struct soaker *s, const struct cpus *cpus)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t until = now_ns() + SOAK_START_NS;
	int silent, e;

	while ((silent = first_silent(s)) >= 0 && now_ns() < until) {
		nanosleep(&pause, NULL);
		check_alive(s);
	}
	if (silent >= 0)
		warnx("CPU %d left its soaker no time in 5 seconds: a real-time program holds it",
		      cpus->id[silent]);
	if ((e = atomic_load(&s->shared->autogroup_errno)) != 0)
		warnx("the soakers take CPU from other sessions: /proc/PID/autogroup: %s", strerror(e));
}

struct soaker *soaker_start_or_die(const struct cpus *cpus)
{
	struct soaker *s = calloc(1, sizeof(*s));
	pid_t parent = getpid();

	if (s == NULL)
		err(EXIT_FAILURE, "soaker");
	s->n = cpus->n;
	s->map_size = sizeof(*s->shared) + (size_t)cpus->n * sizeof(s->shared->cpu[0]);
	s->shared = mmap(NULL, s->map_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->shared == MAP_FAILED)
		err(EXIT_FAILURE, "soaker memory");
	s->lock = lock_or_die();
	signal(SIGCHLD, SIG_DFL); /* were it ignored, the soakers could not be waited for */
	s->pid = fork();
	if (s->pid < 0)
		err(EXIT_FAILURE, "fork");
	if (s->pid == 0)
		soaker_main(s, cpus, parent);
	wait_until_running(s, cpus);
	return s;
}

void soaker_stop(struct soaker *s)
{
	check_alive(s);
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(s->lock);
	munmap(s->shared, s->map_size);
	free(s);
}

void soaker_counts(const struct soaker *s, uint64_t *ns, uint64_t *loops)
{
	int i;

	check_alive(s);
	*ns = now_ns();
	for (i = 0; i < s->n; i++)
		loops[i] = atomic_load_explicit(&s->shared->cpu[i].loops, memory_order_relaxed);
}

void soaker_sample(const struct soaker *s, const struct calibration *c, struct soak_sample *p)
{
	int i;

	check_alive(s);
	p->ns = now_ns();
	p->idle = 0;
	for (i = 0; i < s->n; i++)
		p->idle += (double)atomic_load_explicit(&s->shared->cpu[i].loops, memory_order_relaxed) /
			   c->rate[i];
}

double soak_load(const struct soak_sample *from, const struct soak_sample *to, int n_cpus)
{
	double seconds = (double)(to->ns - from->ns) / 1e9;

	return seconds > 0 ? 1 - (to->idle - from->idle) / (seconds * n_cpus) : NAN;
}

#define CAL_SECONDS   1    /* of one round */
#define CAL_ROUNDS    10   /* at most */
#define CAL_AGREE     3    /* rounds in a row that must agree */
#define CAL_TOLERANCE 0.01 /* within this share of their mean */

/* One round: the loops per second of each CPU; returns their sum. */
static double calibrate_round(const struct soaker *s, uint64_t *from, uint64_t *to, double *rate)
{
	const struct timespec round = {.tv_sec = CAL_SECONDS};
	uint64_t start, end;
	double total = 0;
	int i;

	soaker_counts(s, &start, from);
	nanosleep(&round, NULL);
	soaker_counts(s, &end, to);
	for (i = 0; i < s->n; i++) {
		rate[i] = (double)(to[i] - from[i]) * 1e9 / (double)(end - start);
		total += rate[i];
	}
	return total;
}

/* By how much the last CAL_AGREE totals differ, as a share of the largest. */
static double spread(const double *total, int n)
{
	double min = total[n - 1], max = total[n - 1];
	int i;

	for (i = n - CAL_AGREE; i < n; i++) {
		min = fmin(min, total[i]);
		max = fmax(max, total[i]);
	}
	return max > 0 ? (max - min) / max : 1;
}

/* Runs rounds until they agree; c->rate becomes the mean of the last ones. */
static void calibrate_rounds(const struct soaker *s, struct calibration *c)
{
	size_t n = (size_t)s->n;
	uint64_t *from = calloc(n, sizeof(*from)), *to = calloc(n, sizeof(*to));
	double *rate = calloc(n * CAL_ROUNDS, sizeof(*rate)), total[CAL_ROUNDS];
	int round = 0, i, j;

	if (from == NULL || to == NULL || rate == NULL)
		err(EXIT_FAILURE, "calibration");
	do {
		total[round] = calibrate_round(s, from, to, rate + n * (size_t)round);
		report("calibrating: %.0f loops/sec\n", total[round]);
		round++;
	} while (round < CAL_AGREE || (round < CAL_ROUNDS && spread(total, round) > CAL_TOLERANCE));
	if (spread(total, round) > CAL_TOLERANCE)
		warnx("the last rounds differ by %.1f%%: loads will be off by as much",
		      100 * spread(total, round));
	c->total = 0;
	for (i = 0; i < s->n; i++) {
		for (j = round - CAL_AGREE; j < round; j++)
			c->rate[i] += rate[n * (size_t)j + (size_t)i] / CAL_AGREE;
		if (c->rate[i] <= 0)
			errx(EXIT_FAILURE, "CPU %d left its soaker no time: calibrate an idle system",
			     c->cpus.id[i]);
		c->total += c->rate[i];
	}
	free(from);
	free(to);
	free(rate);
}

static void calibration_print(FILE *f, const struct calibration *c)
{
	char cpus[4096];
	int i;

	cpus_format(&c->cpus, cpus, sizeof(cpus));
	fprintf(f, "%.0f\nsoaker %d\ncpus %s\n", c->total, SOAK_FORMAT, cpus);
	for (i = 0; i < c->cpus.n; i++)
		fprintf(f, "rate %d %.1f\n", c->cpus.id[i], c->rate[i]);
}

/* Writes beside `path` and renames: a reader sees the old file or the new one, never a part. */
static void calibration_save_or_die(const struct calibration *c, const char *path)
{
	sigset_t all, old;
	char *tmp;
	FILE *f = NULL;
	bool ok;
	int fd, e;
	mode_t mask = umask(0);

	umask(mask);
	if (asprintf(&tmp, "%s.XXXXXX", path) < 0)
		err(EXIT_FAILURE, "%s", path);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old); /* no signal may leave the temporary file behind */
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0 || (f = fdopen(fd, "w")) == NULL)
		err(EXIT_FAILURE, "cannot write %s", path);
	calibration_print(f, c);
	ok = fchmod(fd, 0666 & ~mask) == 0 && fflush(f) == 0 && fsync(fd) == 0;
	e = errno;
	if (fclose(f) != 0 && ok) {
		ok = false;
		e = errno;
	}
	if (ok && rename(tmp, path) != 0) {
		ok = false;
		e = errno;
	}
	if (!ok) {
		unlink(tmp);
		errx(EXIT_FAILURE, "cannot write %s: %s", path, strerror(e));
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	free(tmp);
}

void calibrate_or_die(int n_cpus, const char *path)
{
	struct calibration *c = calloc(1, sizeof(*c));
	struct soaker *s;

	if (c == NULL)
		err(EXIT_FAILURE, "calibration");
	cpus_to_soak(n_cpus, &c->cpus);
	c->rate = calloc((size_t)c->cpus.n, sizeof(*c->rate));
	if (c->rate == NULL)
		err(EXIT_FAILURE, "calibration");
	s = soaker_start_or_die(&c->cpus);
	calibrate_rounds(s, c);
	soaker_stop(s);
	calibration_save_or_die(c, path);
	report("calibrated OK.  %.0f loops/sec\n", c->total);
	free(c->rate);
	free(c);
}

/* A rate: a finite number above 0 and nothing behind it. */
static bool parse_rate(const char *s, double *rate)
{
	char *end;

	if (!isdigit((unsigned char)*s) || s[strspn(s, "0123456789.")] != '\0')
		return false;
	*rate = strtod(s, &end);
	return *end == '\0' && isfinite(*rate) && *rate > 0;
}

/* One line after the first; *n counts the rates.  Keys of later versions are passed over. */
static const char *calibration_line(char *line, struct calibration *c, int *format, int *n)
{
	char *key = strsep(&line, " "), *cpu;

	if (line == NULL)
		return "is not a calibration";
	if (strcmp(key, "soaker") == 0) {
		*format = atoi(line);
	} else if (strcmp(key, "cpus") == 0) {
		if (c->rate != NULL || parse_cpus(line, &c->cpus) != NULL)
			return "has a bad CPU list";
		c->rate = calloc((size_t)c->cpus.n, sizeof(*c->rate));
		if (c->rate == NULL)
			return strerror(errno);
	} else if (strcmp(key, "rate") == 0) {
		cpu = strsep(&line, " ");
		if (c->rate == NULL || *n >= c->cpus.n || line == NULL || atoi(cpu) != c->cpus.id[*n] ||
		    !parse_rate(line, &c->rate[*n]))
			return "has a bad rate";
		++*n;
	}
	return NULL;
}

/* All of it, but leaves what it allocated to its caller when something is wrong. */
static const char *calibration_lines(char *text, struct calibration *c)
{
	int format = 0, n = 0;
	double sum = 0;
	char *line = strsep(&text, "\n");
	const char *why = NULL;

	if (!parse_rate(line, &c->total))
		return "does not begin with a number of loops per second";
	while (why == NULL && (line = strsep(&text, "\n")) != NULL && (*line != '\0' || text != NULL))
		why = calibration_line(line, c, &format, &n);
	if (why != NULL)
		return why;
	if (format != SOAK_FORMAT)
		return "was not made by this version's soaker";
	if (c->rate == NULL || n != c->cpus.n)
		return "lacks the rate of a CPU";
	while (n-- > 0)
		sum += c->rate[n];
	return fabs(sum - c->total) > 0.001 * sum ? "contradicts itself" : NULL;
}

const char *calibration_parse(const char *text, size_t len, struct calibration *c)
{
	const char *why;
	char *copy;

	memset(c, 0, sizeof(*c));
	if (len == 0)
		return "is empty";
	if (memchr(text, '\0', len) != NULL)
		return "is not a text file";
	copy = strndup(text, len);
	if (copy == NULL)
		return strerror(errno);
	why = calibration_lines(copy, c);
	free(copy);
	if (why != NULL) {
		free(c->rate);
		c->rate = NULL;
	}
	return why;
}

#define CALIBRATION_MAX (1024 * 1024) /* bytes: ten times what CPUS_MAX CPUs need */

/* Reads the file whole; like every error here, what cannot be read says what to run. */
static char *calibration_read_or_die(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO must not block */
	struct stat st;
	char *text;
	ssize_t n;

	if (fd < 0)
		errx(EXIT_FAILURE, "no calibration: %s: %s: run 'cyclesoak -C' here on the idle system",
		     path, strerror(errno));
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > CALIBRATION_MAX)
		errx(EXIT_FAILURE, "%s is not a calibration file: run 'cyclesoak -C'", path);
	text = malloc(CALIBRATION_MAX);
	if (text == NULL)
		err(EXIT_FAILURE, "%s", path);
	for (*len = 0; *len < CALIBRATION_MAX; *len += (size_t)n) {
		n = read(fd, text + *len, CALIBRATION_MAX - *len);
		if (n < 0)
			err(EXIT_FAILURE, "%s", path);
		if (n == 0)
			break;
	}
	close(fd);
	return text;
}

void calibration_load_or_die(struct calibration *c, const char *path, int n_cpus)
{
	struct cpus *want = malloc(sizeof(*want));
	char has[4096], wants[4096], *text;
	const char *why;
	size_t len;

	if (want == NULL)
		err(EXIT_FAILURE, "calibration");
	cpus_to_soak(n_cpus, want);
	text = calibration_read_or_die(path, &len);
	why = calibration_parse(text, len, c);
	if (why != NULL)
		errx(EXIT_FAILURE, "%s %s: run 'cyclesoak -C'", path, why);
	cpus_format(&c->cpus, has, sizeof(has));
	cpus_format(want, wants, sizeof(wants));
	if (strcmp(has, wants) != 0)
		errx(EXIT_FAILURE, "%s is for CPUs %s, not for %s: run 'cyclesoak -C', or give its -N", path,
		     has, wants);
	free(text);
	free(want);
}

/*
 * Reports.
 */

double kbytes_per_sec(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double)bytes / 1024 / seconds : 0;
}

double gbits_per_sec(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double)bytes * 8 / 1e9 / seconds : 0;
}

double cost_us_per_kib(double load, double n_cpus, uint64_t bytes, double seconds)
{
	return bytes > 0 ? load * n_cpus * seconds * 1e6 / ((double)bytes / 1024) : 0;
}

int decimals(double seconds)
{
	return seconds < 0.1 ? 6 : 3;
}

double percent(double share)
{
	double p = 100 * share;

	return p < 0 && p > -0.05 ? 0 : p;
}

const char *load_format(double load, double n_cpus, uint64_t bytes, double seconds, char buf[96])
{
	if (isnan(load))
		buf[0] = '\0';
	else
		snprintf(buf, 96, ", load %.1f%% of %.0f CPUs, cost %.3f us/KiB", percent(load), n_cpus,
			 cost_us_per_kib(load, n_cpus, bytes, seconds));
	return buf;
}
