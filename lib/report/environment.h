/*
 * environment.h: what a figure depends on beside the program: the kernel, the CPUs, the interface.
 *
 *	environment_read(&environment);
 *	link_read(&link, "eth0");
 *	environment_json(&j, &environment, &link);
 *
 * What this host does not show, such as a container without /sys, is not known, and is omitted.
 */
#pragma once

#include "lib/net/link.h"
#include "lib/report/figures.h"
#include "lib/report/json.h"

/* Each text is empty where it is not known.  A list has a blank between its words. */
struct environment {
	char kernel[RELEASE_SIZE]; /* its release, as `uname -r` prints it */
	char preemption[24];       /* none, voluntary, full, lazy or rt */
	char clocksource[32];
	char cpu_model[128];
	long cpus;         /* CPUs online */
	char governor[32]; /* of the frequency, of all CPUs; `mixed` where they differ */
	int boost;         /* 1: frequencies above the nominal one are on, 0: off, -1: not known */
	bool has_vulnerabilities;
	char mitigated[512],
		vulnerable[512]; /* vulnerabilities of the CPUs, by their names in /sys */
	char hypervisor[32];     /* kvm, xen, vmware, hyperv ... */
};

/* Reads all of it.  To be called once, with the privileges of the start. */
void environment_read(struct environment *e);

/* Prints it as the object `environment`; `l` is the interface, or NULL. */
void environment_json(struct json *j, const struct environment *e, const struct link *l);

/* Prints another host's, of which its receipt has the version and the kernel alone, if it has. */
void environment_json_remote(struct json *j, const struct figures *f);

/* Prints it on stderr, in a few lines. */
void environment_note(const struct environment *e, const struct link *l);

/* Prints it on stdout, in a few lines, without an interface. */
void environment_report(const struct environment *e);

/* Prints a line with what the server's receipt has of it, if it has. */
void environment_note_remote(const struct figures *f);

/* Stores the word in parentheses of `none voluntary (full)`; false if there is none. */
bool environment_chosen(const char *words, char *buf, size_t size);

/* Stores the value of the last `preempt=` of a kernel's command line; false if there is none. */
bool environment_preempt_option(const char *cmdline, char *buf, size_t size);

/*
 * What a file of /sys/devices/system/cpu/vulnerabilities has: 'm' for a mitigation, 'v' for none,
 * 0 where the CPUs are not affected or nothing is known.
 */
char environment_vulnerability(const char *line);
