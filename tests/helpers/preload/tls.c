/*
 * tls: a library to preload.  Under it the kernel has TLS, of which the first record of each direction is framed, with a
 * tag that depends on the cipher; all that follows is sent as it is.  Each time that it is asked it has counted 256
 * records more, and seven errors.
 *
 *	TLS_BY		what encrypts and decrypts: Sw, Device, or both
 *	TLS_LACKS	`ERROR:N`: the N-th parameters that the process sets are refused, with that number of an error
 */
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CALL_REAL(function, ...) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))(__VA_ARGS__)

enum { ULP = 31, LEVEL = 282, SENDS = 1, RECEIVES = 2, NO_PAD = 4 }; /* linux/tls.h */
enum { HEAD = 5, TAG = 17, MOST = 200 };                             /* bytes */

/* What each descriptor has, by the way. */
static struct connection {
	int is_tls;
	struct way {
		char parameters[64], tag[TAG];
		socklen_t len;
		int has_framed;
	} way[3];
} connections[1024];

static int counted[3]; /* the connections that have begun, by the way */

static int failure(int error)
{
	errno = error;
	return -1;
}

/*
 * Version 1.3; cipher 51 (AES-128-GCM), 52 or 54; an initial vector and a salt of 0, between them the key of one
 * direction that zc-wire(5) has; and a first record of number 0.
 */
static int start(struct way *w, const char *p, socklen_t len)
{
	static const char none[12];
	static int starts;
	const int cipher = (unsigned char)p[2], iv = cipher == 54 ? 12 : 8,
		  key = cipher == 51 ? 16 : 32;
	const int salt = 12 - iv, size = 4 + iv + key + salt + 8;
	int error = 0, n = 0;

	sscanf(getenv("TLS_LACKS"), "%d:%d", &error, &n);
	if (++starts == n)
		return failure(error);
	if (memcmp(p, "\4\3", 2) != 0 || (cipher != 51 && cipher != 52 && cipher != 54) ||
	    len != (socklen_t)size || memcmp(p + 4, none, (size_t)iv) != 0 ||
	    (memcmp(p + 4 + iv, "zcc to zcs: known to everybody..", (size_t)key) != 0 &&
	     memcmp(p + 4 + iv, "zcs to zcc: known to everybody..", (size_t)key) != 0) ||
	    memcmp(p + 4 + iv + key, none, (size_t)salt + 8) != 0)
		return failure(EINVAL);
	*w = (struct way){.len = len};
	memcpy(w->parameters, p, len);
	memcpy(w->tag, p + 4 + iv, 16);
	w->tag[16] = p[2];
	return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	struct connection *c = &connections[fd];
	struct sockaddr_storage peer;
	socklen_t size = sizeof(peer);

	if (level == IPPROTO_TCP && name == ULP) {
		if (strcmp(value, "tls") != 0)
			return failure(ENOENT);
		if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0)
			return -1; /* ENOTCONN */
		if (c->is_tls++)
			return failure(EEXIST);
		return 0;
	}
	if (level != LEVEL)
		return CALL_REAL(setsockopt, fd, level, name, value, len);
	if (!c->is_tls)
		return failure(ENOPROTOOPT);
	if (name == NO_PAD)
		return *(const int *)value == 1 ? 0 : failure(EINVAL);
	counted[name]++;
	return start(&c->way[name], value, len);
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	static unsigned char asked[3] = {0};
	const struct way *w = &connections[fd].way[name == RECEIVES ? RECEIVES : SENDS];

	if (level != LEVEL)
		return CALL_REAL(getsockopt, fd, level, name, value, len);
	if (w->len == 0 || *len != w->len)
		return failure(EINVAL);
	memcpy(value, w->parameters, w->len);
	((unsigned char *)value)[w->len - 2] = ++asked[name]; /* of a number of 64 bits */
	return 0;
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
	struct way *w = &connections[fd].way[SENDS];
	unsigned char record[HEAD + MOST + TAG] = {0x17, 3, 3, 0, (unsigned char)(len + TAG)};

	if (w->len == 0 || w->has_framed++ || len > MOST)
		return CALL_REAL(send, fd, data, len, flags);
	memcpy(record + HEAD, data, len);
	memcpy(record + HEAD + len, w->tag, TAG);
	return CALL_REAL(send, fd, record, HEAD + len + TAG, flags) > 0 ? (ssize_t)len : -1;
}

ssize_t recv(int fd, void *data, size_t len, int flags)
{
	struct way *w = &connections[fd].way[RECEIVES];
	unsigned char record[HEAD + 255] = {0};
	ssize_t n;

	if (w->len == 0 || flags & MSG_PEEK || w->has_framed++)
		return CALL_REAL(recv, fd, data, len, flags);
	if (CALL_REAL(recv, fd, record, HEAD, MSG_WAITALL) != HEAD)
		return failure(EINVAL);
	n = CALL_REAL(recv, fd, record + HEAD, record[4], MSG_WAITALL) - TAG;
	if (n < 0 || (size_t)n > len || memcmp(record + HEAD + n, w->tag, TAG) != 0)
		return failure(EBADMSG);
	memcpy(data, record + HEAD, (size_t)n);
	return n;
}

int close(int fd)
{
	if (fd >= 0)
		connections[fd] = (struct connection){0};
	return CALL_REAL(close, fd);
}

FILE *fopen64(const char *path, const char *mode)
{
	static char text[200];
	static int asked;
	const char *by = getenv("TLS_BY");
	const int sw = by != NULL && strstr(by, "Sw") != NULL;
	const int device = by != NULL && strstr(by, "Device") != NULL;

	if (strcmp(path, "/proc/net/tls_stat") != 0)
		return CALL_REAL(fopen64, path, mode);
	snprintf(text, sizeof(text),
		 "TlsCurrTxSw \t9\nTlsTxSw \t%d\nTlsRxSw \t%d\nTlsTxDevice \t%d\nTlsRxDevice \t%d\n"
		 "TlsRxDeviceResync \t5\nTlsDecryptError \t%d\n",
		 sw * counted[SENDS], sw * counted[RECEIVES], device * counted[SENDS],
		 device * counted[RECEIVES], 7 * asked++);
	return fmemopen(text, strlen(text), "r");
}
