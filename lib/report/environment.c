#include "lib/report/environment.h"

#include <dirent.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "lib/load/cpus.h"

#define SYS_CPU "/sys/devices/system/cpu/"

#define ENVIRONMENT_STRLEN 8192 /* enough for the lines of the host */

static const struct {
	const char *key, *path;
} files[ENVIRONMENT_FILES] = {
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

/* Reads a line that may be missing. */
static void read_text(const char *path, char *buf, size_t size)
{
	if (file_read_line(path, buf, size) != 0)
		buf[0] = '\0';
}

static int is_visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Documentation/ABI/testing/sysfs-devices-system-cpu */
static void read_vulnerabilities(struct environment *e)
{
	static const char dir[] = SYS_CPU "vulnerabilities";
	char line[512], path[sizeof(dir) + NAME_MAX + 1];
	struct dirent **found;
	const int n = scandir(dir, &found, is_visible, alphasort);
	int i;

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, found[i]->d_name);
		if (file_read_line(path, line, sizeof(line)) == 0)
			string_append(e->vulnerabilities, sizeof(e->vulnerabilities), "%s: %s\n",
				      found[i]->d_name, line);
		free(found[i]);
	}
	if (n >= 0)
		free(found);
}

void environment_read(struct environment *e)
{
	int i;

	memset(e, 0, sizeof(*e));
	uname(&e->kernel);
	e->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_model(e->cpu_model, sizeof(e->cpu_model));
	for (i = 0; i < ENVIRONMENT_FILES; i++)
		read_text(files[i].path, e->file[i], sizeof(e->file[i]));
	read_vulnerabilities(e);
}

/*
 * The interface.
 */

/* ioctl(2) of SIOCETHTOOL with its argument (linux/ethtool.h). */
static int ethtool(int fd, const char *interface, void *arg)
{
	struct ifreq ifr = {.ifr_data = arg};

	strcpy(ifr.ifr_name, interface);
	return ioctl(fd, SIOCETHTOOL, &ifr);
}

static void read_offloads(int fd, struct link *l)
{
	static const struct {
		uint32_t command, mask;
		const char *name;
	} all[] = {{ETHTOOL_GTSO, UINT32_MAX, "tso"},
		   {ETHTOOL_GGSO, UINT32_MAX, "gso"},
		   {ETHTOOL_GGRO, UINT32_MAX, "gro"},
		   {ETHTOOL_GFLAGS, ETH_FLAG_LRO, "lro"}};
	struct ethtool_value v;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		v = (struct ethtool_value){.cmd = all[i].command};
		if (ethtool(fd, l->interface, &v) != 0)
			continue;
		l->has_offloads = true;
		if ((v.data & all[i].mask) != 0)
			string_append(l->offloads, sizeof(l->offloads), "%s%s",
				      l->offloads[0] != '\0' ? " " : "", all[i].name);
	}
}

void link_read(struct link *l, const char *interface)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq ifr = {0};
	int fd;

	*l = (struct link){.mtu = 0};
	snprintf(l->interface, sizeof(l->interface), "%s", interface != NULL ? interface : "");
	if (l->interface[0] == '\0')
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* these calls take any socket */
	if (fd < 0)
		return;
	strcpy(ifr.ifr_name, l->interface);
	if (ioctl(fd, SIOCGIFMTU, &ifr) == 0)
		l->mtu = ifr.ifr_mtu;
	if (ethtool(fd, l->interface, &driver) == 0)
		snprintf(l->driver, sizeof(l->driver), "%.31s", printable(driver.driver));
	read_offloads(fd, l);
	close(fd);
}

/*
 * Printing.
 */

static void json_word(struct json *j, const char *key, const char *word)
{
	if (word[0] != '\0')
		json_string(j, key, word);
}

static void json_link(struct json *j, const struct link *l)
{
	char copy[sizeof(l->offloads)], *rest = strcpy(copy, l->offloads);
	const char *word;

	json_open(j, "link", '{');
	json_string(j, "interface", l->interface);
	json_word(j, "driver", l->driver);
	if (l->mtu > 0)
		json_count(j, "mtu", (uint64_t)l->mtu);
	if (l->has_offloads) {
		json_open(j, "offloads", '[');
		while ((word = strsep(&rest, " ")) != NULL)
			json_word(j, NULL, word);
		json_close(j, ']');
	}
	json_close(j, '}');
}

static void json_vulnerabilities(struct json *j, const struct environment *e)
{
	char copy[sizeof(e->vulnerabilities)], *rest = strcpy(copy, e->vulnerabilities), *text;
	const char *name;

	json_open(j, "vulnerabilities", '{');
	while ((text = strsep(&rest, "\n")) != NULL && strchr(text, ':') != NULL) {
		name = strsep(&text, ":");
		json_string(j, name, text + 1);
	}
	json_close(j, '}');
}

static void json_environment(struct json *j, const struct environment *e, const struct link *l)
{
	int i;

	json_open(j, "environment", '{');
	json_string(j, "version", "zc " VERSION);
	json_word(j, "kernel", e->kernel.release);
	json_word(j, "kernel_version", e->kernel.version);
	json_word(j, "cpu_model", e->cpu_model);
	if (e->cpus > 0)
		json_count(j, "cpus_online", (uint64_t)e->cpus);
	for (i = 0; i < ENVIRONMENT_FILES; i++)
		json_word(j, files[i].key, e->file[i]);
	if (e->vulnerabilities[0] != '\0')
		json_vulnerabilities(j, e);
	if (l != NULL && l->interface[0] != '\0')
		json_link(j, l);
	json_close(j, '}');
}

void environment_json_start(struct json *j, const struct environment *e, const struct link *l,
			    time_t began)
{
	const struct utsname *u = &e->kernel;
	char system[sizeof(*u)], text[64];
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
	json_close(j, '}');
	json_environment(j, e, l);
}

static const char *known(const char *text)
{
	return text[0] != '\0' ? text : "not known";
}

/* Stores the host's lines. */
static void format_host(const struct environment *e, char buf[ENVIRONMENT_STRLEN])
{
	char copy[sizeof(e->vulnerabilities)], *rest = strcpy(copy, e->vulnerabilities);
	const char *line;
	int i;

	snprintf(buf, ENVIRONMENT_STRLEN,
		 "environment: zc %s, kernel %s %s\nenvironment: %ld CPUs online: %s\n", VERSION,
		 e->kernel.release, e->kernel.version, e->cpus, known(e->cpu_model));
	for (i = 0; i < ENVIRONMENT_FILES; i++)
		if (e->file[i][0] != '\0')
			string_append(buf, ENVIRONMENT_STRLEN, "environment: %s: %s\n",
				      files[i].key, e->file[i]);
	while ((line = strsep(&rest, "\n")) != NULL)
		if (line[0] != '\0' && strstr(line, ": Not affected") == NULL)
			string_append(buf, ENVIRONMENT_STRLEN, "environment: %s\n", line);
}

void environment_report(const struct environment *e)
{
	char text[ENVIRONMENT_STRLEN];

	format_host(e, text);
	report("%s", text);
}

void environment_note(const struct environment *e, const struct link *l)
{
	char text[ENVIRONMENT_STRLEN], *rest = text;
	const char *line;

	format_host(e, text);
	while ((line = strsep(&rest, "\n")) != NULL && rest != NULL)
		warnx("%s", line);
	if (l->interface[0] != '\0')
		warnx("environment: interface %s: driver %s, MTU %d, offloads %s",
		      printable(l->interface), known(l->driver), l->mtu,
		      !l->has_offloads         ? "not known"
		      : l->offloads[0] != '\0' ? l->offloads
					       : "none");
}

void environment_note_remote(const struct figures *f)
{
	if (f->version[0] != '\0' || f->kernel[0] != '\0')
		warnx("environment: the server has zc %s, kernel %s",
		      f->version[0] != '\0' ? f->version : "of a version not known",
		      known(f->kernel));
}
