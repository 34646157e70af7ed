/* What is read about this host and its interfaces: lib/report/environment, lib/net/link. */
#include "lib/report/environment.h"

#include <sched.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

static void test_chosen(void)
{
	char word[8];

	ok(environment_chosen("none voluntary (full) lazy", word, sizeof(word)) &&
		   strcmp(word, "full") == 0,
	   "the preemption model is the word in parentheses");
	ok(!environment_chosen("none voluntary full", word, sizeof(word)) &&
		   !environment_chosen("none (", word, sizeof(word)) &&
		   !environment_chosen(") none (", word, sizeof(word)) &&
		   !environment_chosen("none ()", word, sizeof(word)),
	   "without a word in parentheses there is no preemption model");
	ok(!environment_chosen("(12345678)", word, sizeof(word)) &&
		   environment_chosen("(1234567)", word, sizeof(word)),
	   "a preemption model that does not fit is none");
}

static void test_preempt_option(void)
{
	char word[8];

	ok(environment_preempt_option("quiet preempt=lazy ro", word, sizeof(word)) &&
		   strcmp(word, "lazy") == 0,
	   "preempt= is read from the middle of a command line");
	ok(environment_preempt_option("preempt=full", word, sizeof(word)) &&
		   strcmp(word, "full") == 0,
	   "preempt= is read from a command line that has nothing else");
	ok(environment_preempt_option("preempt=full preempt=none", word, sizeof(word)) &&
		   strcmp(word, "none") == 0,
	   "the last of two preempt= holds");
	ok(!environment_preempt_option("quiet nopreempt=full", word, sizeof(word)) &&
		   !environment_preempt_option("preempt= ro", word, sizeof(word)) &&
		   !environment_preempt_option("preempt=12345678", word, sizeof(word)) &&
		   !environment_preempt_option("", word, sizeof(word)),
	   "a command line without preempt=, or with an empty or long one, has no model");
}

static void test_vulnerability(void)
{
	ok(environment_vulnerability("Mitigation: PTI") == 'm' &&
		   environment_vulnerability("KVM: Mitigation: Split huge pages") == 'm',
	   "a mitigation is one for the host and for guests");
	ok(environment_vulnerability("Vulnerable") == 'v' &&
		   environment_vulnerability("Vulnerable: No microcode") == 'v' &&
		   environment_vulnerability("KVM: Vulnerable") == 'v',
	   "what is vulnerable is not mitigated");
	ok(environment_vulnerability("Not affected") == 0 &&
		   environment_vulnerability("Unknown: No mitigations") == 0 &&
		   environment_vulnerability("") == 0,
	   "a CPU that is not affected, or of which nothing is known, is neither");
}

/* What environment_json() prints of `e` and `l`, in the caller's buffer. */
static const char *printed(const struct environment *e, const struct link *l, char buf[1024])
{
	struct json j = {.f = fmemopen(buf, 1024, "w")};

	if (j.f == NULL)
		err(EXIT_FAILURE, "fmemopen");
	environment_json(&j, e, l);
	fclose(j.f);
	return buf;
}

static void test_json(void)
{
	struct environment e = {.kernel = "6.1-x",
				.preemption = "full",
				.cpus = 3,
				.boost = 0,
				.has_vulnerabilities = true,
				.mitigated = "meltdown mds"};
	struct link l = {.interface = "eth9", .mtu = 1400, .has_offloads = true};
	char buf[1024];

	is(printed(&e, &l, buf),
	   "\"environment\":{\"version\":\"zc " VERSION "\",\"kernel\":\"6.1-x\","
	   "\"preemption\":\"full\",\"cpus_online\":3,\"boost\":false,"
	   "\"mitigated\":[\"meltdown\",\"mds\"],\"vulnerable\":[],"
	   "\"link\":{\"interface\":\"eth9\",\"mtu\":1400,\"offloads\":[]}}",
	   "what is known of the host and of the interface is printed");
	e = (struct environment){.boost = -1};
	l = (struct link){.mtu = 0};
	is(printed(&e, &l, buf), "\"environment\":{\"version\":\"zc " VERSION "\"}",
	   "what is not known is omitted, and so is an interface without a name");
	is(printed(&e, NULL, buf), "\"environment\":{\"version\":\"zc " VERSION "\"}",
	   "without an interface there is none");
}

static void test_read(void)
{
	const int files = open_files();
	struct environment e;
	struct link l;

	environment_read(&e);
	ok(e.kernel[0] != '\0' && e.cpus >= 1, "the kernel and the number of CPUs are known");
	link_read(&l, "lo");
	ok(strcmp(l.interface, "lo") == 0 && l.mtu > 0, "lo has an MTU");
	link_read(&l, "no-such-dev");
	ok(strcmp(l.interface, "no-such-dev") == 0 && l.mtu == 0 && !l.has_offloads &&
		   l.driver[0] == '\0' && l.rx_queues == 0 && l.tx_queues == 0,
	   "of an interface that is missing nothing is known but its name");
	link_read(&l, NULL);
	ok(l.interface[0] == '\0', "no interface has no name");
	link_read(&l, "");
	ok(l.interface[0] == '\0' && l.mtu == 0, "an empty name is no interface");
	ok(open_files() == files, "what reads the environment closes its files");
}

/* The name of an interface of /sys/class/net that is not lo. */
static bool some_interface(char name[IF_NAMESIZE])
{
	struct if_nameindex *all = if_nameindex(), *i;
	char path[64];

	name[0] = '\0';
	for (i = all; i != NULL && i->if_index != 0 && name[0] == '\0'; i++) {
		snprintf(path, sizeof(path), "/sys/class/net/%s/queues", i->if_name);
		if (strcmp(i->if_name, "lo") != 0 && access(path, R_OK) == 0)
			snprintf(name, IF_NAMESIZE, "%s", i->if_name);
	}
	if_freenameindex(all);
	return name[0] != '\0';
}

/* In a network namespace of our own, with the same /sys: has an interface of this name queues? */
static int queues_of_namesake(const char *name)
{
	struct link l;
	pid_t pid;
	int status = 1;

	if (unshare(CLONE_NEWNET) != 0)
		return 2;
	pid = fork();
	if (pid == 0) {
		execlp("ip", "ip", "link", "add", name, "mtu", "1300", "type", "veth", NULL);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return 2;
	link_read(&l, name);
	return l.mtu != 1300 || l.rx_queues != 0 || l.tx_queues != 0;
}

static void test_namesake(void)
{
	static const char what[] = "an interface of another namespace with the same name in /sys "
				   "lends its queues to none";
	char name[IF_NAMESIZE];
	int status = 0;
	struct link l;
	pid_t pid;

	if (!some_interface(name)) {
		skip(what, "no interface but lo");
		return;
	}
	link_read(&l, name);
	ok(l.rx_queues > 0 && l.tx_queues > 0, "an interface has the queues of /sys");
	fflush(stdout); /* ThreadSanitizer's _exit() prints what is buffered */
	pid = fork();
	if (pid == 0)
		_exit(queues_of_namesake(name));
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 2)
		skip(what, "no privilege for namespaces, or no ip(8)");
	else
		ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, what);
}

/* The name of an interface may have any byte but a slash and blanks. */
static void note(void *link)
{
	const struct environment e = {.kernel = "6.1", .boost = -1};

	dup2(STDOUT_FILENO, STDERR_FILENO);
	environment_note(&e, link);
}

static void test_interface(void)
{
	struct link link = {.interface = "a\033[2Jb"};
	const int before = dup(STDERR_FILENO);
	char text[4096];

	stdout_of(note, &link, text, sizeof(text));
	dup2(before, STDERR_FILENO);
	close(before);
	ok(strstr(text, "interface a") != NULL && strchr(text, '\033') == NULL,
	   "the name of an interface is printable on a terminal");
}

int main(void)
{
	test_interface();
	test_chosen();
	test_preempt_option();
	test_vulnerability();
	test_json();
	test_read();
	test_namesake();
	return done();
}
