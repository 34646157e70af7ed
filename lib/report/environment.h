/*
 * environment.h: what figures depend on besides the program: the kernel, the CPUs, the interface.
 *
 *	environment_read(&environment);
 *	link_read(&link, "eth0");
 *	environment_json_start(&j, &environment, &link, clock_ns(CLOCK_REALTIME));
 *
 * The lines of the kernel's files are printed as they are.  A file that is missing, as in a container without
 * /sys, is omitted.
 */
#pragma once

#include <net/if.h>
#include <sys/utsname.h>

#include "lib/report/json.h"

struct environment {
	struct utsname system;
	long cpus;       /* online */
	double hz;       /* of the timer; NAN: not known */
	char host[6144]; /* kernel, CPUs and files of /sys: a line `KEY: TEXT` for each */
	char vulnerabilities[4096]; /* of the CPUs: a line `NAME: TEXT` for each */
};

/* An interface.  A text that is not known is empty. */
struct link {
	char interface[IF_NAMESIZE];
	int mtu;           /* bytes; 0: not known */
	char offloads[32]; /* the offloads that are on, such as `tso,gso`; or `none` */
	/*
	 * A line `KEY: TEXT` for each of driver; qdisc, of the whole interface; rps and xps, the CPUs of receive and transmit
	 * packet steering: masks of the queues, with `/` between, or one of all.
	 */
	char lines[256];
};

#define ENVIRONMENT_MAX 12288 /* bytes of all that is known */

/* Reads the host's environment.  To be called once, before the program drops its privileges. */
void environment_read(struct environment *e);

/*
 * Stores a hash of the id that the kernel drew when it booted, by which programs on one kernel know each other, in
 * containers and network namespaces, too.  Nobody can tell the id from it.  An empty string if the id cannot be read.
 */
void boot_read(char boot[HASH_SIZE]);

/* Reads the properties of an interface, by netdevice(7) and SIOCETHTOOL.  `interface` may be NULL or empty. */
void link_read(struct link *l, const char *interface);

/*
 * Stores all that is known, a line `KEY: TEXT` for each, first of the host and then of the interface `l`, which may be
 * NULL.
 */
void environment_lines(const struct environment *e, const struct link *l,
		       char lines[ENVIRONMENT_MAX]);

/* Stores what a receipt has of the environment and of an interface, in figures that have none of it yet. */
void environment_setup(const struct environment *e, const struct link *l, struct figures *f);

/*
 * Prints the first members of a report: version, system_info, timestamp (began_ns of CLOCK_REALTIME) and
 * environment.  `l` is the interface, or NULL.  An environment that was not read has no member.
 */
void environment_json_start(struct json *j, const struct environment *e, const struct link *l,
			    uint64_t began_ns);

/* Prints these lines, except vulnerabilities that the CPUs do not have, each behind `prefix`. */
void environment_print(const struct environment *e, const struct link *l, FILE *f,
		       const char *prefix);
