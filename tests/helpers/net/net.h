/*
 * net.h: what the parts of tests/helpers/net share: net.c has options, sockets, clients and attacks, serve.c servers,
 * relay.c a path.
 *
 *	sock = dial(0);
 *	put(sock, stream, stream_len);
 *	finish(sock);
 */
#pragma once

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 50 /* seconds: less than the --idle-timeout of zcs */

extern const char
	*option[128]; /* by letter: its argument, "" if it has none, NULL if it is not given */
extern char **args;   /* what is no option; before it the command */
extern unsigned char stream[1 << 20]; /* of -f */
extern size_t stream_len;

/* Whether option `letter` is given, and the number that it has, else `otherwise`. */
bool has(int letter);
long number(int letter, long otherwise);
/* Whether `word` is this. */
bool is(const char *word, const char *this);

void random_fill(unsigned char *p, size_t n);
void sleep_ms(long ms);

/* Waits of reads and writes end with EAGAIN, and small pieces are sent at once. */
void set_up(int sock);

/* A connection to the server; `window`: bytes of the receive buffer, 0 for the kernel's. */
int dial(int window);

/* All of it, if the other side lets it; returns whether it did. */
bool put(int sock, const void *data, size_t n);
void put_zeros(int sock, uint64_t n);

void reset(int sock);
/* The end of what is sent; reads until the other side has closed, too. */
void finish(int sock);

void serve(void);
void reply(void);
void answer(void);
void relay(void);
