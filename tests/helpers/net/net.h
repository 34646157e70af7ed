/*
 * net.h: what the parts of tests/helpers/net share: sockets.c has the functions, net.c the options.
 *
 *	sock = dial();
 *	put(sock, stream, stream_len, 0);
 *	finish(sock);
 */
#pragma once

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 50    /* seconds: less than the --idle-timeout of zcs */
#define MANY     10000 /* connections that are open at a time */

/* The options. */
extern struct sockaddr_in source; /* of attacks */
extern struct sockaddr_in server; /* of clients and attacks */
extern unsigned char stream[1 << 20];
extern size_t stream_len, urgent; /* urgent: an offset into the stream */
extern size_t request_len;        /* bytes that an answer waits for, 0: all */
extern int count, pause_ms;
extern uint32_t seed;

/* xorshift32: Marsaglia, "Xorshift RNGs", 2003 */
uint32_t random_next(void);

void random_fill(unsigned char *p, size_t n);

void put32(unsigned char *p, uint32_t v);

/* Waits of reads and writes end with EAGAIN, and small pieces are sent at once. */
void set_up(int sock);

/* `window`: bytes of the receive buffer, 0 for the kernel's. */
int dial_with(int flags, int window);

int dial(void);

/* On 127.0.0.1, or on every address; *a has what a client of this host connects to. */
int listen_at(bool everywhere, int backlog, struct sockaddr_in *a);

void say_port(const struct sockaddr_in *a);

int listen_and_say(int backlog);

/* All of it, if the other side lets it; returns whether it did. */
bool put(int sock, const void *data, size_t n, int flags);

void put_zeros(int sock, uint64_t n);

void put_bytes(int sock, const void *data, size_t n, int ms);

void reset(int sock);

/* The end of what is sent; reads until the other side has closed, too. */
void finish(int sock);

/* serve.c: each returns the program's exit status. */
int serve(int argc, char **argv);
int reply(int mode);
int answer(const char *name);

/* attacks.c: attacks by that name; false if there is none. */
bool attack(const char *name);
