/*
 * environment.h: what a figure depends on beside the program: the kernel, the CPUs, the interface.
 *
 *	environment_read(&environment);
 *	link_read(&link, "eth0");
 *	environment_json_start(&j, &environment, &link, clock_ns(CLOCK_REALTIME));
 *
 * The lines of files are printed as the kernel has them.  What this host does not show, such as a
 * container without /sys, is not known, and is omitted.
 */
#pragma once

#include <net/if.h>
#include <sys/utsname.h>

#include "lib/report/json.h"

struct environment {
	struct utsname system;
	long cpus;                  /* online */
	char host[2048];            /* kernel, CPUs and files of /sys: a line `KEY: TEXT` each */
	char vulnerabilities[4096]; /* of the CPUs: a line `NAME: TEXT` each */
};

/* Each text is empty where it is not known. */
struct link {
	char interface[IF_NAMESIZE];
	char driver[32];
	int mtu;           /* bytes; 0: not known */
	char offloads[32]; /* those that are on, such as `tso,gso`; `none` */
};

/* Reads what there is of the host.  To be called once, with the privileges of the start. */
void environment_read(struct environment *e);

/*
 * Reads what the interface is, by netdevice(7) and SIOCETHTOOL.  `interface` may be NULL or empty.
 */
void link_read(struct link *l, const char *interface);

/*
 * Prints the members with which a report starts that began at that CLOCK_REALTIME: version, system_info, timestamp
 * and environment.  `l` is the interface, or NULL.
 */
void environment_json_start(struct json *j, const struct environment *e, const struct link *l,
			    uint64_t began_ns);

/* Prints it as lines of text, which begin with `prefix`; `l` may be NULL. */
void environment_print(const struct environment *e, const struct link *l, FILE *f,
		       const char *prefix);
