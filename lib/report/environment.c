#include "lib/report/environment.h"

#include <glob.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "lib/base/proc.h"
#include "lib/load/kernel.h"
#include "lib/net/socket.h"

#define SYS_CPU "/sys/devices/system/cpu/"

static const struct {
	const char *key, *path;
} files[] = {
	{"cmdline", "/proc/cmdline"},
	{"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
	{"governor", SYS_CPU "cpu0/cpufreq/scaling_governor"},
	{"cpufreq_boost", SYS_CPU "cpufreq/boost"},
	{"no_turbo", SYS_CPU "intel_pstate/no_turbo"},
	{"preempt", "/sys/kernel/debug/sched/preempt"}, /* only root can read it */
	{"hypervisor", "/sys/hypervisor/type"},
	{"vendor", "/sys/class/dmi/id/sys_vendor"},
	{"tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem"},
	{"tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem"},
	{"tcp_notsent_lowat", "/proc/sys/net/ipv4/tcp_notsent_lowat"},
	{"rmem_max", "/proc/sys/net/core/rmem_max"},
	{"wmem_max", "/proc/sys/net/core/wmem_max"},
	{"default_qdisc", "/proc/sys/net/core/default_qdisc"},
	{"netdev_budget", "/proc/sys/net/core/netdev_budget"},
	{"busy_poll", "/proc/sys/net/core/busy_poll"},
	{NULL, NULL},
};

/*
 * The host.
 */

/* Adds the first line of a file, which may be missing, to `lines` of `size` bytes. */
static void add_file(char *lines, size_t size, const char *key, const char *path)
{
	char line[4096];

	if (file_read_line(path, line, sizeof(line)) == 0)
		string_append(lines, size, "%s: %s\n", key, line);
}

/* Finds the text of a key; returns its length. */
static int find_line(const char *lines, const char *key, const char **text)
{
	const size_t n = strlen(key);

	for (; *lines != '\0'; lines += strcspn(lines, "\n") + 1)
		if (strncmp(lines, key, n) == 0 && lines[n] == ':') {
			*text = lines + n + 2;
			return (int)strcspn(*text, "\n");
		}
	return 0;
}

/* The value, up to a blank, of the last such word of a line, which is what the kernel takes; NULL: there is none. */
static const char *find_parameter(const char *line, const char *name)
{
	const char *value = NULL;

	for (; *line != '\0' && *line != '\n'; line += strcspn(line, " \n"), line += *line == ' ')
		if (strncmp(line, name, strlen(name)) == 0)
			value = line + strlen(name);
	return value;
}

/*
 * Adds how the kernel preempts: as debugfs has it, or the boot, or the kernel's version, which names a fixed model.
 * Where the model depends on the boot it is not known without them.
 */
static void add_preempt(struct environment *e)
{
	const char *version = e->system.version, *model, *end;
	int n = find_line(e->host, "preempt", &model);

	if (n > 0 && (model = strchr(model, '(')) != NULL) {
		end = ")";
		model++;
	} else if (find_line(e->host, "cmdline", &model) > 0 &&
		   (model = find_parameter(model, "preempt=")) != NULL) {
		end = " \n";
	} else {
		end = "";
		model = strstr(version, "PREEMPT_RT") != NULL        ? "rt"
			: strstr(version, "PREEMPT_DYNAMIC") != NULL ? "?"
			: strstr(version, "PREEMPT") != NULL         ? "full or lazy"
								     : "none or voluntary";
	}
	string_append(e->host, sizeof(e->host), "preempt_model: %.*s\n", (int)strcspn(model, end),
		      model);
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
	for (i = 0; files[i].key != NULL; i++)
		add_file(e->host, sizeof(e->host), files[i].key, files[i].path);
	add_preempt(e);
	e->hz = kernel_hz();
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

void boot_read(char boot[HASH_SIZE])
{
	char id[64];

	*boot = '\0';
	if (file_read_line("/proc/sys/kernel/random/boot_id", id, sizeof(id)) == 0)
		hash_text(id, boot);
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
		   {ETHTOOL_GFLAGS, ETH_FLAG_LRO, "lro"},
		   {.name = NULL}};
	struct ethtool_value v;
	bool answered = false;
	size_t i;

	for (i = 0; all[i].name != NULL; i++) {
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

static void add_line(struct link *l, const char *key, const char *text)
{
	if (*text != '\0')
		string_append(l->lines, sizeof(l->lines), "%s: %s\n", key, text);
}

/* Adds the masks of an interface's queues, such as those of rx-N/rps_cpus; one if all are the same. */
static void read_steering(struct link *l, const char *key, const char *pattern)
{
	glob_t found = {.gl_pathc = 0};
	char first[1024] = "", mask[1024], text[64];
	char all[16384] = "";
	bool same = true;
	size_t i;

	glob(text_of("/sys/class/net/%s/queues/%s", l->interface, pattern), 0, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++) {
		if (file_read_line(found.gl_pathv[i], mask, sizeof(mask)) != 0)
			continue;
		if (all[0] == '\0')
			strcpy(first, mask);
		same &= strcmp(first, mask) == 0;
		string_append(all, sizeof(all), "%s%s", all[0] != '\0' ? "/" : "", mask);
	}
	globfree(&found);
	name_copy(text, sizeof(text), same ? first : all);
	add_line(l, key, text);
}

/* rtnetlink(7) */
static void read_qdisc(struct link *l)
{
	char qdisc[16] = "";
	struct {
		struct nlmsghdr nh;
		struct ifinfomsg link;
		char rest[16384];
	} m = {.nh = {.nlmsg_type = RTM_GETLINK,
		      .nlmsg_flags = NLM_F_REQUEST,
		      .nlmsg_len = NLMSG_LENGTH(sizeof(m.link))},
	       .link = {.ifi_index = (int)if_nametoindex(l->interface)}};
	const struct rtattr *a = IFLA_RTA(&m.link);
	int left;

	if (!netlink_ask(NETLINK_ROUTE, &m.nh, sizeof(m), RTM_NEWLINK))
		return;
	for (left = (int)IFLA_PAYLOAD(&m.nh); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == IFLA_QDISC)
			name_copy(qdisc, sizeof(qdisc), RTA_DATA(a));
	add_line(l, "qdisc", qdisc);
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
		add_line(l, "driver", text_of("%.31s", printable(driver.driver)));
	read_offloads(fd, &ifr, l);
	close(fd);
	read_qdisc(l);
	read_steering(l, "rps", "rx-*/rps_cpus");
	read_steering(l, "xps", "tx-*/xps_cpus");
}

/*
 * All of it.
 */

void environment_lines(const struct environment *e, const struct link *l,
		       char lines[ENVIRONMENT_MAX])
{
	snprintf(lines, ENVIRONMENT_MAX, "hostname: %s\n%scpus_online: %ld\n%s", e->system.nodename,
		 e->host, e->cpus, e->vulnerabilities);
	if (e->hz > 0)
		string_append(lines, ENVIRONMENT_MAX, "hz: %g\n", e->hz);
	if (l == NULL || l->interface[0] == '\0')
		return;
	string_append(lines, ENVIRONMENT_MAX, "interface: %s\n", printable(l->interface));
	if (l->mtu > 0)
		string_append(lines, ENVIRONMENT_MAX, "mtu: %d\n", l->mtu);
	if (l->offloads[0] != '\0')
		string_append(lines, ENVIRONMENT_MAX, "offloads: %s\n", l->offloads);
	string_append(lines, ENVIRONMENT_MAX, "%s", l->lines);
}

void environment_setup(const struct environment *e, const struct link *l, struct figures *f)
{
	char lines[ENVIRONMENT_MAX];
	const struct figure *row;
	const char *text;
	char *member;
	int n;

	environment_lines(e, l, lines);
	for (row = figure_table; row < figure_table + figure_rows; row++) {
		member = (char *)f + row->offset;
		n = row->objects & IN_ENVIRONMENT ? find_line(lines, row->key, &text) : 0;
		if (n == 0 || *text == '?')
			continue;
		if (row->size > 0)
			name_copy(member, row->size, strndupa(text, (size_t)n));
		else
			*(double *)(void *)member = strtod(text, NULL);
	}
	n = find_line(lines, "cmdline", &text);
	hash_text(n > 0 ? strndupa(text, (size_t)n) : "", f->setup.cmdline);
	hash_text(e->vulnerabilities, f->setup.mitigations);
}

/*
 * Printing.
 */

/* Prints lines `KEY: TEXT` as members. */
static void json_lines(struct json *j, const char *lines)
{
	char copy[sizeof(((struct environment *)0)->host)], *rest = copy, *text;
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
	json_number(j, "mtu", l->mtu > 0 ? (double)l->mtu : NAN);
	json_lines(j, l->lines);
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
	if (u->sysname[0] != '\0')
		json_string(j, "system_info", system);
	json_open(j, "timestamp", '{');
	gmtime_r(&began, &tm);
	strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	json_string(j, "time", text);
	json_count(j, "timesecs", (uint64_t)began);
	json_count(j, "timemillisecs", began_ns / 1000000);
	json_close(j, '}');
	if (u->sysname[0] == '\0')
		return;
	json_open(j, "environment", '{');
	json_lines(j, e->host);
	json_count(j, "cpus_online", (uint64_t)e->cpus);
	json_number(j, "hz", e->hz > 0 ? e->hz : NAN);
	if (e->vulnerabilities[0] != '\0') {
		json_open(j, "vulnerabilities", '{');
		json_lines(j, e->vulnerabilities);
		json_close(j, '}');
	}
	if (l != NULL && l->interface[0] != '\0')
		json_link(j, l);
	json_close(j, '}');
}

void environment_print(const struct environment *e, const struct link *l, FILE *f,
		       const char *prefix)
{
	static const char none[] = ": Not affected";
	char lines[ENVIRONMENT_MAX], *rest = lines, *line;

	environment_lines(e, l, lines);
	while ((line = strsep(&rest, "\n")) != NULL && rest != NULL)
		if (strncmp(line + strcspn(line, ":"), none, strlen(none)) != 0)
			fprintf(f, "%senvironment: %s\n", prefix, line);
}
