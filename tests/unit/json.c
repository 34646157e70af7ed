#include "lib/report/json.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

/* Prints a document, with a newline behind it. */
#define DOCUMENT(...)                                                                              \
	do {                                                                                       \
		struct json j = {.depth = 0};                                                      \
		__VA_ARGS__;                                                                       \
		report("\n");                                                                      \
	} while (0)

/* Prints an object of JSON, with a newline behind it. */
#define OBJECT(...) DOCUMENT(json_open(&j, NULL, '{'), __VA_ARGS__, json_close(&j, '}'))

/* What is no UTF-8 becomes U+FFFD, a byte at a time, and what follows it is kept. */
static void strings(void *unused)
{
	const char *list =
		"|zcc|a \"b\" \\ c|\n\t\001\037\177 ~|a/b'"
		/* sequences of 2, 3 and 4 bytes, first and last, and beside the surrogates */
		"|\302\200\337\277|\340\240\200\355\237\277\356\200\200\357\277\277"
		"|\360\220\200\200\364\217\277\277"
		/* what continues nothing, and sequences without their ends */
		"|\200a|a\377|\303|\303\"|\342\202|\342\202x|\360\237\230"
		/* overlong sequences, a surrogate, U+110000 and more */
		"|\300\257|\340\237\277|\360\217\277\277|\355\240\200|\364\220\200\200|\365\200\200\200";
	const char *s;

	(void)unused;
	while ((s = next_of(&list)) != NULL)
		DOCUMENT(json_string(&j, NULL, s));
	OBJECT(json_string(&j, "a\"b", "c"));
}

static void structure(void *unused)
{
	(void)unused;
	OBJECT(json_open(&j, "empty", '{'), json_close(&j, '}'), json_open(&j, "list", '['),
	       json_count(&j, NULL, 0), json_count(&j, NULL, UINT64_MAX), json_open(&j, NULL, '['),
	       json_close(&j, ']'), json_close(&j, ']'), json_bool(&j, "yes", true),
	       json_bool(&j, "no", false));
	OBJECT(json_number(&j, "nan", NAN), json_number(&j, "a", 0.25),
	       json_number(&j, "inf", INFINITY), json_number(&j, "minus", -INFINITY),
	       json_number(&j, "b", -3), json_number(&j, "nan", NAN));
	DOCUMENT(json_number(&j, NULL, 1700000000.123));
	DOCUMENT(json_report_open(&j), json_open(&j, "start", '{'), json_open(&j, "list", '['),
		 json_count(&j, NULL, 7), json_fail(&j, "a \"reason\""));
}

static void throughputs(void *unused)
{
	struct figures f = figures_of("bytes=500 seconds=2");

	(void)unused;
	OBJECT(json_timed(&j, 1, &f, IN_REQUESTS));
	f.seconds = 0;
	OBJECT(json_timed(&j, 0, &f, IN_REQUESTS));
	f.cut = true;
	OBJECT(json_timed(&j, 0, &f, IN_REQUESTS));
}

static void addresses(void *unused)
{
	struct sockaddr_storage addr = {.ss_family = AF_UNSPEC};
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;

	(void)unused;
	OBJECT(json_address(&j, "host", "port", &addr));
	in->sin_family = AF_INET;
	in->sin_port = htons(2222);
	in->sin_addr.s_addr = htonl(0xc0000201);
	OBJECT(json_address(&j, "host", "port", &addr));
}

static void streams(void *unused)
{
	struct figures f = figures_of("bytes=2048 seconds=2 files=3 reads=4 warmup=5");

	(void)unused;
	OBJECT(json_stream(&j, "receiver", &f, 0, false));
	f.tcp = (struct tcp_figures){1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
	OBJECT(json_stream(&j, NULL, &f, 1, true));
	OBJECT(json_stream(&j, NULL, &f, 1, false));
}

static void hosts(void *unused)
{
	struct figures f = figures_of("bytes=2048 seconds=2 load=0.5 cpus=2 interrupts=7 idle=0.5");
	struct figures remote;
	int i;

	(void)unused;
	OBJECT(json_host(&j, "host", &f));
	OBJECT(json_utilization(&j, &f, NULL));
	f.host =
		figures_of(
			"bytes=1 seconds=1 load=0.5 uncertainty=0.01 cpus=2 tasks=0.02 slowed=0.03 "
			"switches=7 interrupts=7 packets_in=8 packets_out=9 instrument=soak "
			"unsafe=cpu_offline,weight")
			.host;
	f.host.others = 0.25;
	f.host.drift = -0.125;
	f.host.baseline = BASELINE_OWN;
	strcpy(f.no_load, NO_LOAD_OFF);
	OBJECT(json_rows(&j, &f, IN_HOST));
	for (i = 0; i < CPU_COLUMNS; i++)
		f.host.rates.cpu[i] = (i + 1) / 128.0;
	OBJECT(json_accounting(&j, &f));
	remote = figures_of("bytes=1 seconds=1 load=0.25 cpus=1");
	OBJECT(json_utilization(&j, &f, &remote));
}

int main(void)
{
	expect(printed_by(strings, NULL), "strings are escaped, and are UTF-8 whatever they were");
	expect(printed_by(structure, NULL),
	       "commas are between members, unknown numbers omitted, brackets closed by an error");
	expect(printed_by(throughputs, NULL), "a throughput, in no time, and of what was cut");
	expect(printed_by(addresses, NULL), "an address that cannot be output is omitted");
	expect(printed_by(streams, NULL),
	       "streams have their counts and TCP figures that are known");
	expect(printed_by(hosts, NULL), "hosts have what is known of loads, costs, and CPU time");
	return done();
}
