/*
 * pair.h: two paths for datagrams between two network namespaces of this process's own.  On the second
 * path another CPU handles the softirqs of what arrives: receive packet steering (RPS,
 * Documentation/networking/scaling.rst).  The work is the same, but no process is charged for it.
 *
 *	if (!pair_open(1, pair, why))
 *		warnx("%s", why);
 *	send(pair[0].send, buf, sizeof(buf), 0);
 *	recv(pair[0].receive, buf, sizeof(buf), 0);
 */
#pragma once

#include "common.h"

/* UDP sockets: what is sent on the one arrives at the other. */
struct pair {
	int send, receive;
};

/* A path via an address of this host in the network namespace of the caller, such as 127.0.0.1. */
int pair_local(struct pair *p, const char *address);

/*
 * Opens both paths, and moves the process, which has one thread, into the sender's namespaces: a user
 * namespace is one of them if it has no privilege, and before Linux 6.3 a mount namespace.  Returns false,
 * and stores why, where the kernel or the administrator does not permit that.
 */
bool pair_open(int rps_cpu, struct pair pair[2], char why[DIE_MAX]);

/* Writes the mask of one CPU, as the kernel reads it: words of 32 bits with commas between. */
void pair_mask(int cpu, char *buf, size_t size);
