#include "lib/report/environment.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/utsname.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "lib/load/cpus.h"

#define SYS_CPU "/sys/devices/system/cpu/"

/*
 * The kernel.
 */

bool environment_chosen(const char *words, char *buf, size_t size)
{
	const char *open = strchr(words, '('), *end = open != NULL ? strchr(open, ')') : NULL;

	if (end == NULL || end == open + 1 || (size_t)(end - open) > size)
		return false;
	snprintf(buf, size, "%.*s", (int)(end - open - 1), open + 1);
	return true;
}

bool environment_preempt_option(const char *cmdline, char *buf, size_t size)
{
	const char *p = cmdline, *found = NULL;
	size_t n;

	while ((p = strstr(p, "preempt=")) != NULL) {
		if (p == cmdline || p[-1] == ' ')
			found = p + strlen("preempt=");
		p++;
	}
	n = found != NULL ? strcspn(found, " ") : 0;
	if (n == 0 || n >= size)
		return false;
	snprintf(buf, size, "%.*s", (int)n, found);
	return true;
}

/* The model of a kernel without an option for it, as it was configured. */
static bool read_configured(struct environment *e)
{
	static const struct {
		const char *line, *model;
	} models[] = {{"CONFIG_PREEMPT_NONE=y\n", "none"},
		      {"CONFIG_PREEMPT_VOLUNTARY=y\n", "voluntary"},
		      {"CONFIG_PREEMPT=y\n", "full"},
		      {"CONFIG_PREEMPT_LAZY=y\n", "lazy"}};
	char path[16 + RELEASE_SIZE], line[256];
	bool found = false;
	size_t i;
	FILE *f;

	snprintf(path, sizeof(path), "/boot/config-%s", e->kernel);
	f = fopen_retry(path);
	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
		for (i = 0; i < sizeof(models) / sizeof(models[0]) && !found; i++) {
			found = strcmp(line, models[i].line) == 0;
			if (found)
				strcpy(e->preemption, models[i].model);
		}
	if (f != NULL)
		fclose(f);
	return found;
}

/* `version` is that of uname(2).  Only root can read the file of debugfs, and only if it is mounted. */
static void read_preemption(struct environment *e, const char *version)
{
	const bool dynamic = strstr(version, "PREEMPT_DYNAMIC") != NULL;
	char line[4096];

	if (strstr(version, "PREEMPT_RT") != NULL) {
		strcpy(e->preemption, "rt");
		return;
	}
	if (file_read_line("/sys/kernel/debug/sched/preempt", line, sizeof(line)) == 0 &&
	    environment_chosen(line, e->preemption, sizeof(e->preemption)))
		return;
	if (dynamic && file_read_line("/proc/cmdline", line, sizeof(line)) == 0 &&
	    environment_preempt_option(line, e->preemption, sizeof(e->preemption)))
		return;
	if (!read_configured(e) && !dynamic && strstr(version, " PREEMPT ") != NULL)
		strcpy(e->preemption, "full");
}

/*
 * The CPUs.
 */

static int is_visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int is_policy(const struct dirent *d)
{
	return strncmp(d->d_name, "policy", 6) == 0;
}

/* Frees what scandir(3) found, which glob(3) would free twice where memory is short. */
static void free_found(struct dirent **found, int n)
{
	int i;

	for (i = 0; i < n; i++)
		free(found[i]);
	if (n >= 0)
		free(found);
}

/* The governor of all CPUs, each of which has one by its policy (cpufreq in Documentation/). */
static void read_governor(struct environment *e)
{
	char line[sizeof(e->governor)], path[PATH_MAX];
	struct dirent **found;
	const int n = scandir(SYS_CPU "cpufreq", &found, is_policy, alphasort);
	int i;

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), SYS_CPU "cpufreq/%s/scaling_governor",
			 found[i]->d_name);
		if (file_read_line(path, line, sizeof(line)) != 0)
			continue;
		if (e->governor[0] != '\0' && strcmp(e->governor, line) != 0)
			strcpy(line, "mixed");
		strcpy(e->governor, line);
		if (strcmp(line, "mixed") == 0)
			break;
	}
	free_found(found, n);
}

/* intel_pstate has a file of its own, which has the opposite. */
static int read_boost(void)
{
	char line[8];

	if (file_read_line(SYS_CPU "cpufreq/boost", line, sizeof(line)) == 0)
		return strcmp(line, "0") != 0;
	if (file_read_line(SYS_CPU "intel_pstate/no_turbo", line, sizeof(line)) == 0)
		return strcmp(line, "0") == 0;
	return -1;
}

char environment_vulnerability(const char *line)
{
	if (strncmp(line, "KVM: ", 5) == 0) /* of itlb_multihit, that guests could use */
		line += 5;
	if (strncmp(line, "Mitigation", 10) == 0)
		return 'm';
	return strncmp(line, "Vulnerable", 10) == 0 ? 'v' : 0;
}

/* Appends a word to a list, unless it does not fit. */
static void append(char *list, size_t size, const char *word)
{
	const size_t n = strlen(list);

	if (n + strlen(word) + 2 <= size)
		string_append(list, size, "%s%s", n > 0 ? " " : "", word);
}

/* Documentation/ABI/testing/sysfs-devices-system-cpu */
static void read_vulnerabilities(struct environment *e)
{
	char line[512], path[PATH_MAX], *name;
	struct dirent **found;
	const int n = scandir(SYS_CPU "vulnerabilities", &found, is_visible, alphasort);
	int i;

	for (i = 0; i < n; i++) {
		name = found[i]->d_name;
		snprintf(path, sizeof(path), SYS_CPU "vulnerabilities/%s", name);
		if (file_read_line(path, line, sizeof(line)) != 0)
			continue;
		e->has_vulnerabilities = true;
		make_printable(name);
		switch (environment_vulnerability(line)) {
		case 'm': append(e->mitigated, sizeof(e->mitigated), name); break;
		case 'v': append(e->vulnerable, sizeof(e->vulnerable), name); break;
		}
	}
	free_found(found, n);
}

#if defined(__x86_64__) || defined(__i386__)
/* Leaf 0x40000000 of CPUID has the hypervisor's signature: Documentation/virt/kvm/x86/cpuid.rst. */
static void read_cpuid(struct environment *e)
{
	static const struct {
		const char *signature, *name;
	} known[] = {{"KVMKVMKVM", "kvm"},       {"XenVMMXenVMM", "xen"},
		     {"VMwareVMware", "vmware"}, {"Microsoft Hv", "hyperv"},
		     {"TCGTCGTCGTCG", "qemu"},   {"bhyve bhyve ", "bhyve"}};
	unsigned a, b, c, d;
	char text[13] = "";
	size_t i;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
		return;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(text, &b, 4);
	memcpy(text + 4, &c, 4);
	memcpy(text + 8, &d, 4);
	make_printable(text);
	strcpy(e->hypervisor, text[0] != '\0' ? text : "unknown");
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(text, known[i].signature) == 0)
			strcpy(e->hypervisor, known[i].name);
}
#else
static void read_cpuid(struct environment *e)
{
	(void)e;
}
#endif

/* Reads a line that may be missing. */
static void read_text(const char *path, char *buf, size_t size)
{
	if (file_read_line(path, buf, size) != 0)
		buf[0] = '\0';
}

void environment_read(struct environment *e)
{
	struct utsname u;

	memset(e, 0, sizeof(*e));
	uname(&u);
	snprintf(e->kernel, sizeof(e->kernel), "%s", u.release);
	read_preemption(e, u.version);
	read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  e->clocksource, sizeof(e->clocksource));
	cpu_model(e->cpu_model, sizeof(e->cpu_model));
	e->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	read_governor(e);
	e->boost = read_boost();
	read_vulnerabilities(e);
	read_text("/sys/hypervisor/type", e->hypervisor, sizeof(e->hypervisor));
	if (e->hypervisor[0] == '\0')
		read_cpuid(e);
}

/*
 * Printing.
 */

static void json_word(struct json *j, const char *key, const char *word)
{
	if (word[0] != '\0')
		json_string(j, key, word);
}

/* A list as an array. */
static void json_list(struct json *j, const char *key, const char *list)
{
	char copy[512], *rest = copy;
	const char *word;

	snprintf(copy, sizeof(copy), "%s", list);
	json_open(j, key, '[');
	while ((word = strsep(&rest, " ")) != NULL)
		json_word(j, NULL, word);
	json_close(j, ']');
}

static void json_link(struct json *j, const struct link *l)
{
	json_open(j, "link", '{');
	json_string(j, "interface", l->interface);
	json_word(j, "driver", l->driver);
	if (l->mtu > 0)
		json_count(j, "mtu", (uint64_t)l->mtu);
	if (l->has_offloads)
		json_list(j, "offloads", l->offloads);
	if (l->rx_queues > 0)
		json_count(j, "rx_queues", (uint64_t)l->rx_queues);
	if (l->tx_queues > 0)
		json_count(j, "tx_queues", (uint64_t)l->tx_queues);
	json_close(j, '}');
}

void environment_json(struct json *j, const struct environment *e, const struct link *l)
{
	json_open(j, "environment", '{');
	json_string(j, "version", "zc " VERSION);
	json_word(j, "kernel", e->kernel);
	json_word(j, "preemption", e->preemption);
	json_word(j, "clocksource", e->clocksource);
	json_word(j, "cpu_model", e->cpu_model);
	if (e->cpus > 0)
		json_count(j, "cpus_online", (uint64_t)e->cpus);
	json_word(j, "governor", e->governor);
	if (e->boost >= 0)
		json_bool(j, "boost", e->boost);
	if (e->has_vulnerabilities) {
		json_list(j, "mitigated", e->mitigated);
		json_list(j, "vulnerable", e->vulnerable);
	}
	json_word(j, "hypervisor", e->hypervisor);
	if (l != NULL && l->interface[0] != '\0')
		json_link(j, l);
	json_close(j, '}');
}

void environment_json_remote(struct json *j, const struct figures *f)
{
	char version[8 + sizeof(f->version)];

	if (f->version[0] == '\0' && f->kernel[0] == '\0')
		return;
	snprintf(version, sizeof(version), "zc %s", f->version);
	json_open(j, "environment", '{');
	json_word(j, "version", f->version[0] != '\0' ? version : "");
	json_word(j, "kernel", f->kernel);
	json_close(j, '}');
}

static const char *known(const char *text)
{
	return text[0] != '\0' ? text : "not known";
}

typedef void printer(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints the host's lines, each by a call of `print`, which ends it. */
static void print_host(const struct environment *e, printer *print)
{
	print("environment: zc %s, kernel %s%s%s, clocksource %s", VERSION, e->kernel,
	      e->preemption[0] != '\0' ? ", preemption " : "", e->preemption,
	      known(e->clocksource));
	print("environment: %ld CPUs online: %s;%s%s%s%s hypervisor %s", e->cpus,
	      known(e->cpu_model), e->governor[0] != '\0' ? " governor " : "", e->governor,
	      e->governor[0] != '\0' ? "," : "",
	      e->boost < 0    ? ""
	      : e->boost == 0 ? " boost off,"
			      : " boost on,",
	      e->hypervisor[0] != '\0' ? e->hypervisor : "none");
	if (e->has_vulnerabilities)
		print("environment: mitigations: %s; vulnerable: %s",
		      e->mitigated[0] != '\0' ? e->mitigated : "none",
		      e->vulnerable[0] != '\0' ? e->vulnerable : "none");
}

static printer report_line;

static void report_line(const char *fmt, ...)
{
	char line[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	report("%s\n", line);
}

void environment_report(const struct environment *e)
{
	print_host(e, report_line);
}

void environment_note(const struct environment *e, const struct link *l)
{
	print_host(e, warnx);
	if (l->interface[0] != '\0')
		warnx("environment: interface %s: driver %s, MTU %d, offloads %s, %d rx and %d tx queues",
		      printable(l->interface), known(l->driver), l->mtu,
		      !l->has_offloads         ? "not known"
		      : l->offloads[0] != '\0' ? l->offloads
					       : "none",
		      l->rx_queues, l->tx_queues);
}

void environment_note_remote(const struct figures *f)
{
	if (f->version[0] != '\0' || f->kernel[0] != '\0')
		warnx("environment: the server has zc %s, kernel %s",
		      f->version[0] != '\0' ? f->version : "of a version not known",
		      known(f->kernel));
}
