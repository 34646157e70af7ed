#include "lib/load/netstat.h"

#include "tests/unit/unit.h"

/* The value of a counter in a file that has this text. */
static uint64_t value(const char *text, const char *group, const char *name)
{
	FILE *f = fmemopen((char *)text, strlen(text), "r");
	uint64_t v;

	if (f == NULL)
		err(EXIT_FAILURE, "fmemopen");
	v = netstat_find(f, group, name);
	fclose(f);
	return v;
}

static void test_find(void)
{
	static const char text[] = "Ip: A B\nIp: 1 2\nTcp: A Max B C\nTcp: 3 -1 4\nUdp: A\n";

	ok(value(text, "Tcp:", "A") == 3 && value(text, "Ip:", "B") == 2,
	   "a counter is found in its group");
	ok(value(text, "Tcp:", "B") == 4, "a counter behind a negative value is found");
	ok(value(text, "Tcp:", "D") == COUNTER_UNKNOWN &&
		   value(text, "Icmp:", "A") == COUNTER_UNKNOWN &&
		   value("x", "Tcp:", "A") == COUNTER_UNKNOWN,
	   "a counter, or a group, that is missing is not known");
	ok(value(text, "Tcp:", "C") == COUNTER_UNKNOWN &&
		   value(text, "Udp:", "A") == COUNTER_UNKNOWN,
	   "a counter without a value is not known");
}

static void test_between(void)
{
	const struct netstat from = {5, 7, COUNTER_UNKNOWN, 1}, to = {8, 6, 9, 1};
	const struct netstat n = netstat_between(&from, &to);

	ok(n.retransmits == 3 && n.syn_retransmits == 0 && n.timeouts == COUNTER_UNKNOWN &&
		   n.overflows == 0,
	   "a counter rises, does not step back, and is unknown if it was at one end");
}

static void test_read(void)
{
	struct netstat n;

	netstat_read(&n);
	ok(n.retransmits != COUNTER_UNKNOWN && n.syn_retransmits != COUNTER_UNKNOWN &&
		   n.timeouts != COUNTER_UNKNOWN && n.overflows != COUNTER_UNKNOWN,
	   "this kernel has all counters");
}

int main(void)
{
	test_find();
	test_between();
	test_read();
	return done();
}
