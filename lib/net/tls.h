/*
 * tls.h: kernel TLS 1.3 (Documentation/networking/tls.rst) on a connection, with a fixed key for each direction that
 * everybody knows: it measures what TLS costs, and protects nothing.
 *
 *	why = tls_try(cipher);			(whether this host has it)
 *	...
 *	if (tls_start(fd, cipher, TLS_TO_SERVER, TLS_SENDS) != 0)
 *		die("--tls: %s", tls_explain(cipher, errno));
 *
 * A client says hello by a record with the number of its loops alone, and the server answers by a record with
 * `tls=CIPHER` and a newline.  zc-wire(5) has the keys and the hello.
 */
#pragma once

#include "lib/net/wire.h"

/* A cipher of TLS 1.3.  The sizes, in bytes, are those of its struct tls12_crypto_info_* of linux/tls.h. */
struct tls_cipher {
	const char *name; /* of --tls */
	uint16_t type;
	unsigned char iv, key, salt;
	const char *modules; /* of the kernel, as a message names them */
};

extern const struct tls_cipher tls_ciphers[]; /* the first is the default */
extern const size_t tls_ciphers_n;

#define TLS_VERSION "1.3"

enum tls_direction { TLS_TO_SERVER, TLS_TO_CLIENT };
enum tls_way { TLS_SENDS = 1, TLS_RECEIVES = 2 }; /* TLS_TX and TLS_RX of linux/tls.h */

/*
 * Has the kernel encrypt what a connected socket sends from now on, or decrypt what it receives.  The connection must be
 * open in both directions.
 */
int tls_start(int fd, const struct tls_cipher *c, enum tls_direction direction, enum tls_way way);

/*
 * The same, and stores what encrypts or decrypts: `software` or `device`; an empty text if the kernel does not say, before
 * Linux 5.5.
 */
int tls_start_where(int fd, const struct tls_cipher *c, enum tls_direction direction,
		    enum tls_way way, const char **place);

/* Lets the kernel decrypt in place what has no padding (Linux 6.0).  Returns whether it does. */
bool tls_expect_no_pad(int fd);

/* Returns NULL, or why this host cannot have kernel TLS with that cipher, with the way out. */
const char *tls_try(const struct tls_cipher *c);

/* Why tls_start() failed with `error`. */
const char *tls_explain(const struct tls_cipher *c, int error);

/* What is wrong with a record that recv(2) cannot return, for `error`. */
const char *tls_error(int error);

#define TLS_OVERHEAD 22    /* bytes of a record beside its data: head, type and tag */
#define TLS_DATA_MAX 16384 /* bytes of data of a record */

/* Whether a connection begins with a hello, of which one byte has come: waits for its head. */
bool tls_is_hello(int fd);

/* The records that a connection has sent, or received, so far; NAN if the kernel does not say. */
double tls_records(int fd, const struct tls_cipher *c, enum tls_way way);

/* The records of all connections of this network namespace that could not be decrypted; NAN: not known. */
double tls_decrypt_errors(void);
