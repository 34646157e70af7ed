/* The part itself, for what it has of its own. */
#include "lib/report/environment.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "tests/unit/unit.h"

static struct environment e;
static struct link l;

/* What is printed of the time, the host and a link. */
static const char *json_of(const struct link *link)
{
	struct json j = {.depth = 0};

	capture(STDOUT_FILENO);
	strcpy(e.system.sysname, "Linux"); /* else nothing is known of a machine */
	environment_json_start(&j, &e, link, 1700000000123000000);
	return strstr(captured(), "\"timestamp\"");
}

static void test_printed(void)
{
#define TIME                                                                                       \
	"\"timestamp\":{\"time\":\"Tue, 14 Nov 2023 22:13:20 GMT\",\"timesecs\":1700000000,"       \
	"\"timemillisecs\":1700000000123},"
	static const char bare[] = TIME "\"environment\":{\"cpus_online\":0}";

	is(json_of(&l), bare,
	   "what is not known is omitted, and so is an interface without a name");
	is(json_of(NULL), bare, "without an interface there is none");
	e = (struct environment){.host = "version: zc 1\nkernel_version: #1 SMP: x\n",
				 .cpus = 3,
				 .hz = 1,
				 .vulnerabilities = "mds: Not affected\nl1tf: Vulnerable: x\n"};
	l = (struct link){.interface = "a\033[2Jb", .mtu = 1400, .offloads = "none"};
	is(json_of(&l),
	   TIME
	   "\"environment\":{\"version\":\"zc 1\",\"kernel_version\":\"#1 SMP: x\",\"cpus_online\":3,\"hz\":1,"
	   "\"vulnerabilities\":{\"mds\":\"Not affected\",\"l1tf\":\"Vulnerable: x\"},"
	   "\"link\":{\"interface\":\"a\\u001b[2Jb\",\"mtu\":1400,\"offloads\":[]}}",
	   "what is known of the host and of the interface is printed");
	capture(STDOUT_FILENO);
	environment_print(&e, &l, stdout, "");
	is(captured(),
	   "environment: hostname: \nenvironment: version: zc 1\n"
	   "environment: kernel_version: #1 SMP: x\nenvironment: cpus_online: 3\n"
	   "environment: l1tf: Vulnerable: x\nenvironment: hz: 1\nenvironment: interface: a?[2Jb\n"
	   "environment: mtu: 1400\nenvironment: offloads: none\n",
	   "a terminal gets no control characters, and no vulnerability of other CPUs");
}

/* What a host without debugfs tells of preemption. */
static void test_preempt(void)
{
	static const struct {
		const char *host, *model;
	} cases[] = {
		{"cmdline: quiet preempt=lazy nopti\n", "lazy"},
		{"cmdline: preempt=full\nvendor: x\n", "full"},
		{"cmdline: preempt=none x preempt=full\n", "full"},
		{"cmdline: quiet x.preempt=no\n", "none or voluntary"},
		{"cmdline: quiet\nvendor: preempt=full\n", "none or voluntary"},
		{"vendor: preempt=full\n", "none or voluntary"},
	};
	struct environment at = {.cpus = 1};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		strcpy(at.host, cases[i].host);
		add_preempt(&at);
		is(strstr(at.host, "preempt_model: "),
		   text_of("preempt_model: %s\n", cases[i].model),
		   "of the kernel's command line only the last such word counts: %s",
		   cases[i].model);
	}
}

/* In a network namespace of its own, whose lo gets rid of its offloads. */
static void read_offloads_off(void *arg)
{
	const uint32_t all[] = {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO};
	struct ifreq r = {.ifr_name = "lo"};
	size_t i;
	int fd;

	(void)arg;
	if (unshare(CLONE_NEWNET) != 0)
		_exit(2);
	fd = socket(AF_UNIX, SOCK_DGRAM, 0); /* a socket is of the namespace that made it */
	for (i = 0; i < LENGTH(all); i++) {
		struct ethtool_value off = {.cmd = all[i]};

		r.ifr_data = (void *)&off;
		if (ioctl(fd, SIOCETHTOOL, &r) != 0)
			_exit(2);
	}
	link_read(&l, "lo");
	_exit(strcmp(l.offloads, "none") == 0 ? 0 : 1);
}

static void test_read(void)
{
	static const char none[] = "an interface of which all offloads are off has none";
	const int before = open_files();
	int status, i, known = 0;
	const char *at;

	environment_read(&e);
	for (i = 0; i < KERNEL_OPTIONS; i++)
		known += find_line(e.host, kernel_option_name[i], &at) > 0;
	at = strchr(strstr(e.host, "preempt_model: "), '\n') + 1;
	for (i = 0; (at = strchr(at, '\n')) != NULL; i++)
		at++;
	ok(known == KERNEL_OPTIONS && i == KERNEL_OPTIONS + 1,
	   "behind the model of preemption there are the kernel's options and the cycle counters");
	link_read(&l, "lo");
	ok(l.mtu > 0, "an interface has its MTU");
	link_read(&l, "no-such-dev");
	ok(strcmp(l.interface, "no-such-dev") == 0 && l.mtu == 0 && l.offloads[0] == '\0' &&
		   l.lines[0] == '\0',
	   "of an interface that is missing nothing is known but its name");
	ok(open_files() == before, "what reads the environment closes its files");
	status = died(read_offloads_off, NULL);
	if (status == 2)
		skip(none, "no privilege for namespaces, or offloads that stay on");
	else
		ok(status == 0, none);
}

TESTS(test_printed, test_preempt, test_read)
