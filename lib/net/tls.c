#include "lib/net/tls.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <linux/tls.h>
#include <netinet/tcp.h>

#include "lib/net/socket.h"

#ifndef SOL_TLS
#define SOL_TLS 282
#endif
#ifndef TCP_ULP
#define TCP_ULP 31
#endif
#define CHACHA20_POLY1305 54 /* older headers lack it, and these */
#define EXPECT_NO_PAD     4  /* TLS_RX_EXPECT_NO_PAD */
#define SEQUENCE          8  /* bytes of the number of a record */

const struct tls_cipher tls_ciphers[] = {
	{"aes-128-gcm", TLS_CIPHER_AES_GCM_128, 8, 16, 4, "gcm, ctr and ghash-generic"},
	{"aes-256-gcm", TLS_CIPHER_AES_GCM_256, 8, 32, 4, "gcm, ctr and ghash-generic"},
	{"chacha20-poly1305", CHACHA20_POLY1305, 12, 32, 0, "chacha20poly1305 and what it needs"},
};
const size_t tls_ciphers_n = sizeof(tls_ciphers) / sizeof(tls_ciphers[0]);

/* What setsockopt(2) takes: a struct tls12_crypto_info_* of linux/tls.h, whose members have no padding. */
struct parameters {
	struct tls_crypto_info info;
	unsigned char rest[12 + 32 + 4 + SEQUENCE];
};

static size_t sequence_at(const struct tls_cipher *c)
{
	return (size_t)c->iv + c->key + c->salt;
}

static socklen_t size_of(const struct tls_cipher *c)
{
	return (socklen_t)(sizeof(struct tls_crypto_info) + sequence_at(c) + SEQUENCE);
}

/* A count of the connections of this network namespace, since boot; NAN if the kernel has none. */
static double count_of(const char *name)
{
	FILE *f = fopen("/proc/net/tls_stat", "re");
	const size_t len = strlen(name);
	char line[80];
	double count = NAN;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, len) == 0 && isspace((unsigned char)line[len]))
			count = strtod(line + len, NULL);
	if (f != NULL)
		fclose(f);
	return count;
}

double tls_decrypt_errors(void)
{
	return count_of("TlsDecryptError");
}

/* The initial vector, the salt and the number of the first record are 0. */
int tls_start(int fd, const struct tls_cipher *c, enum tls_direction direction, enum tls_way way)
{
	static const char keys[][33] = {[TLS_TO_SERVER] = "zcc to zcs: known to everybody..",
					[TLS_TO_CLIENT] = "zcs to zcc: known to everybody.."};
	struct parameters p = {.info = {TLS_1_3_VERSION, c->type}};

	memcpy(p.rest + c->iv, keys[direction], c->key);
	if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) != 0 && errno != EEXIST)
		return -1;
	return setsockopt(fd, SOL_TLS, way, &p, size_of(c));
}

/* Other connections may begin meanwhile: if both counts rise, it is not known which is this one's. */
int tls_start_where(int fd, const struct tls_cipher *c, enum tls_direction direction,
		    enum tls_way way, const char **place)
{
	const char *by_software = way == TLS_SENDS ? "TlsTxSw" : "TlsRxSw";
	const char *by_device = way == TLS_SENDS ? "TlsTxDevice" : "TlsRxDevice";
	const double software = count_of(by_software), device = count_of(by_device);

	if (tls_start(fd, c, direction, way) != 0)
		return -1;
	*place = "";
	if (count_of(by_software) > software)
		*place = count_of(by_device) > device ? "" : "software";
	else if (count_of(by_device) > device)
		*place = "device";
	return 0;
}

bool tls_expect_no_pad(int fd)
{
	return sock_set(fd, SOL_TLS, EXPECT_NO_PAD, 1) == 0;
}

/* A connection with itself, over loopback: tcp(7). */
static int connect_itself(void)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(own);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&own, len) == 0 &&
	    getsockname(fd, (struct sockaddr *)&own, &len) == 0 &&
	    connect(fd, (struct sockaddr *)&own, len) == 0)
		return fd;
	close(fd);
	return -1;
}

const char *tls_try(const struct tls_cipher *c)
{
	const int fd = connect_itself();
	int e = 0;

	if (fd >= 0 && (tls_start(fd, c, TLS_TO_SERVER, TLS_SENDS) != 0 ||
			tls_start(fd, c, TLS_TO_SERVER, TLS_RECEIVES) != 0))
		e = errno;
	close(fd);
	return e != 0 ? tls_explain(c, e) : NULL; /* without loopback the first connection tells */
}

const char *tls_explain(const struct tls_cipher *c, int error)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* A kernel that has TLS then says that the socket is not connected. */
	const bool has_tls = setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) == 0 ||
			     errno != ENOENT;

	close(fd);
	if (error == ENOTCONN)
		return "the other end closed the connection before both were ready";
	if (!has_tls)
		return "this kernel has no TLS, or its module is not loaded: try 'modprobe tls'";
	if (error == ENOENT)
		return text_of("this kernel lacks %s: load its modules by modprobe(8): %s", c->name,
			       c->modules);
	if (error == EINVAL)
		return text_of("this kernel's TLS 1.3 lacks %s", c->name);
	return strerror(error);
}

const char *tls_error(int error)
{
	if (error == EBADMSG)
		return "sent a TLS record that cannot be decrypted";
	if (error == EIO)
		return "sent a TLS record that is not data";
	return error == EINVAL || error == EMSGSIZE ? "sent what is no TLS record" : NULL;
}

bool tls_is_hello(int fd)
{
	static const unsigned char head[] = {0x17, 3, 3, 0, WIRE_HEADER + TLS_OVERHEAD - 5};
	unsigned char is[sizeof(head)];

	/* A client without TLS may send less than that before it waits. */
	if (recv(fd, is, 1, MSG_PEEK) < 1 || is[0] != head[0])
		return false;
	return recv(fd, is, sizeof(is), MSG_PEEK | MSG_WAITALL) == (ssize_t)sizeof(is) &&
	       memcmp(is, head, sizeof(is)) == 0;
}

double tls_records(int fd, const struct tls_cipher *c, enum tls_way way)
{
	struct parameters p = {.info = {TLS_1_3_VERSION, c->type}};
	socklen_t len = size_of(c);
	uint64_t n = 0;
	size_t i;

	if (getsockopt(fd, SOL_TLS, way, &p, &len) != 0)
		return NAN;
	for (i = 0; i < SEQUENCE; i++)
		n = n << 8 | p.rest[sequence_at(c) + i];
	return (double)n;
}
