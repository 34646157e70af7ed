#include "lib/report/environment.h"

#include <glob.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "lib/load/cpus.h"
#include "lib/load/kernel.h"

#define SYS_CPU "/sys/devices/system/cpu/"

static const struct {
	const char *key, *path;
} files[] = {
	{"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
	{"governor", SYS_CPU "cpu0/cpufreq/scaling_governor"},
	{"cpufreq_boost", SYS_CPU "cpufreq/boost"},
	{"no_turbo", SYS_CPU "intel_pstate/no_turbo"},
	{"preempt", "/sys/kernel/debug/sched/preempt"}, /* only root can read it */
	{"hypervisor", "/sys/hypervisor/type"},
	{"vendor", "/sys/class/dmi/id/sys_vendor"},
};

/*
 * The host.
 */

/* Adds the first line of a file, which may be missing, to `lines` of `size` bytes. */
static void add_file(char *lines, size_t size, const char *key, const char *path)
{
	char line[512];

	if (file_read_line(path, line, sizeof(line)) == 0)
		string_append(lines, size, "%s: %s\n", key, line);
}

void environment_read(struct environment *e)
{
	static const char *const set[] = {"unknown", "n", "y"};
	glob_t found = {.gl_pathc = 0};
	char model[128];
	size_t i;

	memset(e, 0, sizeof(*e));
	uname(&e->system);
	e->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_model(model, sizeof(model));
	snprintf(e->host, sizeof(e->host), "version: zc %s\nkernel: %s\nkernel_version: %s\n",
		 VERSION, e->system.release, e->system.version);
	if (model[0] != '\0')
		string_append(e->host, sizeof(e->host), "cpu_model: %s\n", model);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		add_file(e->host, sizeof(e->host), files[i].key, files[i].path);
	for (i = 0; i < KERNEL_OPTIONS; i++)
		string_append(e->host, sizeof(e->host), "%s: %s\n", kernel_option_name[i],
			      set[1 + kernel_option((enum kernel_option)i)]);
	/* These count the time in which a CPU does not sleep; hybrid CPUs have cpu_core and cpu_atom. */
	glob("/sys/bus/event_source/devices/msr/events/mperf", 0, NULL, &found);
	glob("/sys/bus/event_source/devices/cpu*/events/ref-cycles", GLOB_APPEND, NULL, &found);
	string_append(e->host, sizeof(e->host), "cycle_counters:%s",
		      found.gl_pathc > 0                           ? ""
		      : access("/sys/bus/event_source", F_OK) == 0 ? " none"
								   : " unknown");
	for (i = 0; i < found.gl_pathc; i++)
		string_append(e->host, sizeof(e->host), " %s", basename(found.gl_pathv[i]));
	string_append(e->host, sizeof(e->host), "\n");
	globfree(&found);
	found = (glob_t){.gl_pathc = 0};
	/* Documentation/ABI/testing/sysfs-devices-system-cpu */
	glob(SYS_CPU "vulnerabilities/*", 0, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++)
		add_file(e->vulnerabilities, sizeof(e->vulnerabilities),
			 basename(found.gl_pathv[i]), found.gl_pathv[i]);
	globfree(&found);
}

void boot_read(char boot[BOOT_SIZE])
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */
	const char *s;
	char id[64];

	*boot = '\0';
	if (file_read_line("/proc/sys/kernel/random/boot_id", id, sizeof(id)) != 0)
		return;
	for (s = id; *s != '\0'; s++)
		hash = (hash ^ (unsigned char)*s) * 1099511628211u;
	snprintf(boot, BOOT_SIZE, "%016" PRIx64, hash);
}

/*
 * The interface.
 */

/* ioctl(2) of SIOCETHTOOL with its argument (linux/ethtool.h). */
static int ethtool(int fd, struct ifreq *ifr, void *arg)
{
	ifr->ifr_data = arg;
	return ioctl(fd, SIOCETHTOOL, ifr);
}

static void read_offloads(int fd, struct ifreq *ifr, struct link *l)
{
	static const struct {
		uint32_t command, mask;
		const char *name;
	} all[] = {{ETHTOOL_GTSO, UINT32_MAX, "tso"},
		   {ETHTOOL_GGSO, UINT32_MAX, "gso"},
		   {ETHTOOL_GGRO, UINT32_MAX, "gro"},
		   {ETHTOOL_GFLAGS, ETH_FLAG_LRO, "lro"}};
	struct ethtool_value v;
	bool answered = false;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		v = (struct ethtool_value){.cmd = all[i].command};
		if (ethtool(fd, ifr, &v) != 0)
			continue;
		answered = true;
		if ((v.data & all[i].mask) != 0)
			string_append(l->offloads, sizeof(l->offloads), "%s%s",
				      l->offloads[0] != '\0' ? "," : "", all[i].name);
	}
	if (answered && l->offloads[0] == '\0')
		strcpy(l->offloads, "none");
}

void link_read(struct link *l, const char *interface)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq ifr = {0};
	int fd;

	*l = (struct link){.mtu = 0};
	if (interface == NULL || *interface == '\0')
		return;
	snprintf(l->interface, sizeof(l->interface), "%s", interface);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* these calls take any socket */
	if (fd < 0)
		return;
	strcpy(ifr.ifr_name, l->interface);
	if (ioctl(fd, SIOCGIFMTU, &ifr) == 0)
		l->mtu = ifr.ifr_mtu;
	if (ethtool(fd, &ifr, &driver) == 0)
		snprintf(l->driver, sizeof(l->driver), "%.31s", printable(driver.driver));
	read_offloads(fd, &ifr, l);
	close(fd);
}

/*
 * Printing.
 */

/* Prints lines `KEY: TEXT` as members. */
static void json_lines(struct json *j, const char *lines)
{
	char copy[sizeof(((struct environment *)0)->vulnerabilities)], *rest = copy, *text;
	const char *key;

	snprintf(copy, sizeof(copy), "%s", lines);
	while ((text = strsep(&rest, "\n")) != NULL && (key = strsep(&text, ":")) != NULL &&
	       text != NULL)
		json_string(j, key, text + 1);
}

static void json_link(struct json *j, const struct link *l)
{
	char copy[sizeof(l->offloads)], *rest = strcpy(copy, l->offloads);
	const char *word;

	json_open(j, "link", '{');
	json_string(j, "interface", l->interface);
	json_string(j, "driver", l->driver[0] != '\0' ? l->driver : NULL);
	if (l->mtu > 0)
		json_count(j, "mtu", (uint64_t)l->mtu);
	if (l->offloads[0] != '\0') {
		json_open(j, "offloads", '[');
		while (strcmp(l->offloads, "none") != 0 && (word = strsep(&rest, ",")) != NULL)
			json_string(j, NULL, word);
		json_close(j, ']');
	}
	json_close(j, '}');
}

void environment_json_start(struct json *j, const struct environment *e, const struct link *l,
			    uint64_t began_ns)
{
	const struct utsname *u = &e->system;
	char system[sizeof(*u)], text[64];
	const time_t began = (time_t)(began_ns / 1000000000);
	struct tm tm;

	json_string(j, "version", "zc " VERSION);
	snprintf(system, sizeof(system), "%s %s %s %s", u->sysname, u->nodename, u->release,
		 u->machine);
	json_string(j, "system_info", system);
	json_open(j, "timestamp", '{');
	gmtime_r(&began, &tm);
	strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	json_string(j, "time", text);
	json_count(j, "timesecs", (uint64_t)began);
	json_count(j, "timemillisecs", began_ns / 1000000);
	json_close(j, '}');
	json_open(j, "environment", '{');
	json_lines(j, e->host);
	json_count(j, "cpus_online", (uint64_t)e->cpus);
	if (e->vulnerabilities[0] != '\0') {
		json_open(j, "vulnerabilities", '{');
		json_lines(j, e->vulnerabilities);
		json_close(j, '}');
	}
	if (l != NULL && l->interface[0] != '\0')
		json_link(j, l);
	json_close(j, '}');
}

/* Prints lines `KEY: TEXT`, except vulnerabilities that the CPUs do not have. */
static void print_lines(const char *lines, FILE *f, const char *prefix)
{
	static const char none[] = ": Not affected";
	size_t len;

	for (; *lines != '\0'; lines += len + 1) {
		len = strcspn(lines, "\n");
		if (strncmp(lines + strcspn(lines, ":"), none, strlen(none)) != 0)
			fprintf(f, "%senvironment: %.*s\n", prefix, (int)len, lines);
	}
}

void environment_print(const struct environment *e, const struct link *l, FILE *f,
		       const char *prefix)
{
	print_lines(e->host, f, prefix);
	fprintf(f, "%senvironment: cpus_online: %ld\n", prefix, e->cpus);
	print_lines(e->vulnerabilities, f, prefix);
	if (l != NULL && l->interface[0] != '\0')
		fprintf(f, "%senvironment: interface %s: driver %s, MTU %d, offloads %s\n", prefix,
			printable(l->interface), *l->driver != '\0' ? l->driver : "not known",
			l->mtu, *l->offloads != '\0' ? l->offloads : "not known");
}
