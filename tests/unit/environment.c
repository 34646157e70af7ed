#include "lib/report/environment.h"

#include "tests/unit/unit.h"

struct host {
	struct environment e;
	struct link l;
	const struct link *link;
};

static void print_json(void *host)
{
	const struct host *h = host;
	struct json j = {.depth = 0};

	environment_json_start(&j, &h->e, h->link, 0);
}

/* What is printed of a host behind the time. */
static const char *start_of(struct host *h)
{
	return strstr(printed_by(print_json, h), "\"environment\"");
}

static void test_json(void)
{
	struct host h = {.e = {.host = "version: zc 1\nkernel: 6.1-x\nkernel_version: #1 SMP: x\n",
			       .cpus = 3,
			       .vulnerabilities = "mds: Mitigation: SMT: off\nl1tf: Vulnerable\n"},
			 .l = {.interface = "eth9", .mtu = 1400, .offloads = "none"},
			 .link = &h.l};

	is(start_of(&h),
	   "\"environment\":{\"version\":\"zc 1\",\"kernel\":\"6.1-x\","
	   "\"kernel_version\":\"#1 SMP: x\",\"cpus_online\":3,\"vulnerabilities\":{"
	   "\"mds\":\"Mitigation: SMT: off\",\"l1tf\":\"Vulnerable\"},"
	   "\"link\":{\"interface\":\"eth9\",\"mtu\":1400,\"offloads\":[]}}",
	   "what is known of the host and of the interface is printed");
	h = (struct host){.link = &h.l};
	is(start_of(&h), "\"environment\":{\"cpus_online\":0}",
	   "what is not known is omitted, and so is an interface without a name");
	h.link = NULL;
	is(start_of(&h), "\"environment\":{\"cpus_online\":0}",
	   "without an interface there is none");
}

static void test_read(void)
{
	const int files = open_files();
	struct environment e;
	struct link l;

	environment_read(&e);
	ok(strstr(e.host, "\nkernel: ") != NULL && e.cpus >= 1,
	   "the kernel and the number of CPUs are known");
	link_read(&l, "lo");
	ok(strcmp(l.interface, "lo") == 0 && l.mtu > 0, "lo has an MTU");
	link_read(&l, "no-such-dev");
	ok(strcmp(l.interface, "no-such-dev") == 0 && l.mtu == 0 && l.offloads[0] == '\0' &&
		   l.driver[0] == '\0',
	   "of an interface that is missing nothing is known but its name");
	link_read(&l, NULL);
	ok(l.interface[0] == '\0', "no interface has no name");
	link_read(&l, "");
	ok(l.interface[0] == '\0' && l.mtu == 0, "an empty name is no interface");
	ok(open_files() == files, "what reads the environment closes its files");
}

/* The name of an interface may have any byte but a slash and blanks. */
static void note(void *link)
{
	const struct environment e = {
		.vulnerabilities = "mds: Not affected\nl1tf: Vulnerable; SMT: Not affected\n"};

	environment_print(&e, link, stdout, "");
}

static void test_interface(void)
{
	struct link link = {.interface = "a\033[2Jb"};

	printed_by(note, &link);
	ok(strstr(printed, "interface a") != NULL && strchr(printed, '\033') == NULL,
	   "the name of an interface is printable on a terminal");
	ok(strstr(printed, "environment: l1tf: Vulnerable; SMT: Not affected\n") != NULL &&
		   strstr(printed, "mds") == NULL,
	   "a vulnerability is printed unless the CPUs are not affected");
}

int main(void)
{
	test_interface();
	test_json();
	test_read();
	return done();
}
