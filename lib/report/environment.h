/*
 * environment.h: what a figure depends on beside the program: the kernel, the CPUs, the interface.
 *
 *	environment_read(&environment);
 *	link_read(&link, "eth0");
 *	environment_json_start(&j, &environment, &link, time(NULL));
 *
 * The lines of files are printed as the kernel has them.  What this host does not show, such as a
 * container without /sys, is not known, and is omitted.
 */
#pragma once

#include <net/if.h>
#include <sys/utsname.h>

#include "lib/report/figures.h"
#include "lib/report/json.h"

#define ENVIRONMENT_FILES 7

/* Each text is empty where it is not known. */
struct environment {
	struct utsname kernel;
	long cpus; /* online */
	char cpu_model[128];
	char file[ENVIRONMENT_FILES][128]; /* the first lines of files in /sys */
	char vulnerabilities[4096];        /* of the CPUs: a line `NAME: TEXT` each */
};

struct link {
	char interface[IF_NAMESIZE]; /* its name; empty: none is known */
	char driver[32];             /* empty: not known */
	int mtu;                     /* bytes; 0: not known */
	bool has_offloads;           /* the next is known */
	char offloads[32]; /* those of `tso gso gro lro` that are on, with blanks between */
};

/* Reads what there is of the host.  To be called once, with the privileges of the start. */
void environment_read(struct environment *e);

/*
 * Reads what the interface is, by netdevice(7) and SIOCETHTOOL.  `interface` may be NULL or empty.
 */
void link_read(struct link *l, const char *interface);

/*
 * Prints the members with which a report that began at that time starts: version, system_info, timestamp
 * and environment.  `l` is the interface, or NULL.
 */
void environment_json_start(struct json *j, const struct environment *e, const struct link *l,
			    time_t began);

/* Prints it on stderr, in a few lines. */
void environment_note(const struct environment *e, const struct link *l);

/* Prints it on stdout, in a few lines, without an interface. */
void environment_report(const struct environment *e);

/* Prints a line with what the server's receipt has of it, if it has. */
void environment_note_remote(const struct figures *f);
