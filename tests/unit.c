/* unit: the functions of common and lib that read what others wrote, each with good and bad input. */
#include "common.h"
#include "lib/load/baseline.h"
#include "lib/load/calibration.h"
#include "lib/load/cgroup.h"
#include "lib/load/counters.h"
#include "lib/load/cpus.h"
#include "lib/load/limits.h"
#include "lib/load/load.h"
#include "lib/load/soaker.h"
#include "lib/net/socket.h"
#include "lib/net/wire.h"
#include "lib/report/json.h"
#include "lib/report/receipt.h"
#include "lib/report/terms.h"
#include "lib/report/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>

static int number, failures;

static void ok(bool holds, const char *what, const char *detail)
{
	failures += !holds;
	printf("%s %d - %s%s%s\n", holds ? "ok" : "not ok", ++number, what, *detail ? ": " : "",
	       detail);
}

static void test_sizes(void)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {
		{"0", 0},
		{"1", 1},
		{"64k", 65536},
		{"64K", 65536},
		{"3m", 3u << 20},
		{"4g", 4ull << 30},
		{"1t", 1ull << 40},
		{"18446744073709551615", UINT64_MAX},
		{"16777215t", 16777215ull << 40},
	};
	static const char *const bad[] = {
		/* No number. */
		"",
		"k",
		"-1",
		"+1",
		" 1",
		"1 ",
		"1kk",
		"1x",
		"0x10",
		"1.5k",
		"1e3",
		/* 2^64 and more. */
		"18446744073709551616",
		"16777216t",
		"99999999999999999999g",
	};
	uint64_t v;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ok(parse_size(good[i].text, &v) == NULL && v == good[i].value, "a size",
		   good[i].text);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(parse_size(bad[i], &v) != NULL, "not a size", bad[i]);
}

static void test_seconds(void)
{
	static const char *const bad[] = {"",    "x",     "-1", "1e5", "nan",
					  "inf", "1.2.3", ".5", "0x1", " 1"};
	double v = 0;
	size_t i;

	ok(parse_seconds("0.25", &v) == NULL && v == 0.25, "seconds", "0.25");
	ok(parse_seconds("10", &v) == NULL && v == 10, "seconds", "10");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(parse_seconds(bad[i], &v) != NULL && v == 10, "not seconds", bad[i]);
}

static void test_cpus(void)
{
	static const char *const same[] = {"0", "0-3", "1,3", "0-1,4-5,7", "8191"};
	static const char *const bad[] = {
		/* No list. */
		"",
		",",
		"0,",
		",0",
		"-",
		"1-",
		"-1",
		"2-1",
		"a",
		"0 1",
		"0-0-0",
		/* More than there can be. */
		"8192",
		"0-8192",
		"0-8191,0",
		"99999999999999999999",
	};
	struct cpus c;
	char text[64];
	size_t i;

	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		bool parsed = parse_cpus(same[i], &c) == NULL;

		cpus_format(&c, text, sizeof(text));
		ok(parsed && strcmp(text, same[i]) == 0, "a CPU list, read and written", same[i]);
	}
	ok(parse_cpus("3,1,1", &c) == NULL && c.n == 3 && c.id[0] == 3 && c.id[1] == 1 &&
		   c.id[2] == 1,
	   "a CPU list keeps order and repeats", "3,1,1");
	ok(parse_cpus("0-8191", &c) == NULL && c.n == CPUS_MAX, "as many CPUs as there can be", "");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c.n = -7;
		ok(parse_cpus(bad[i], &c) != NULL && c.n == -7, "not a CPU list", bad[i]);
	}
}

/* With simultaneous multithreading off, CPUs are numbered 0, 2, 4, ... */
static void test_long_cpu_lists(void)
{
	static struct cpus c, again;
	static char text[CPU_LIST_MAX];
	int i;

	for (c.n = 930; c.n <= CPUS_MAX / 2; c.n = c.n == 930 ? 931 : c.n + 3165) {
		for (i = 0; i < c.n; i++)
			c.id[i] = 2 * i;
		ok(cpus_format(&c, text, sizeof(text)) && parse_cpus(text, &again) == NULL &&
			   again.n == c.n &&
			   memcmp(again.id, c.id, (size_t)c.n * sizeof(c.id[0])) == 0,
		   "every second CPU, written and read", "");
		ok(!cpus_format(&c, text, strlen(text)) && text[strlen(text)] == '\0',
		   "a CPU list that lacks room for its last byte is reported", "");
	}
}

/* Builds a stream: headers by value, bodies as that many bytes. */
static size_t put_stream(unsigned char *p, const uint32_t *header, const bool *is_length, size_t n)
{
	size_t len = 0, i;

	for (i = 0; i < n; i++) {
		wire_put(p + len, header[i]);
		len += WIRE_HEADER;
		if (is_length[i]) {
			memset(p + len, 'x', header[i]);
			len += header[i];
		}
	}
	return len;
}

static void test_wire_good(void)
{
	/* 2 loops: of 3 files, one empty; of no files at all. */
	static const uint32_t header[] = {2, 3, 5, 0, 300, 0};
	static const bool is_length[] = {false, false, true, true, true, false};
	unsigned char buf[400];
	size_t len = put_stream(buf, header, is_length, 6), cut, at;
	const char *where;
	struct wire w;
	bool all = true;

	for (cut = 1; cut <= len; cut++) { /* in pieces of every size */
		wire_init(&w, false);
		for (at = 0; at < len; at += cut)
			all &= wire_feed(&w, buf + at, len - at < cut ? len - at : cut) ==
			       (len - at < cut ? len - at : cut);
		all &= w.state == WIRE_DONE && w.bytes == 305 && w.files == 3 && w.loops == 2 &&
		       wire_ended(&w, &where);
	}
	ok(all, "a stream in pieces of every size", "");
	wire_init(&w, false);
	buf[len] = 'y';
	ok(wire_feed(&w, buf, len + 1) == len, "what follows the stream is not of it", "");
	all = true;
	for (cut = 0; cut < len; cut++) { /* ending at every place */
		wire_init(&w, false);
		all &= wire_feed(&w, buf, cut) == cut && !wire_ended(&w, &where) && where != NULL;
	}
	ok(all, "an end at any other place is not proper", "");
}

static void test_wire_forever(void)
{
	static const uint32_t header[] = {WIRE_FOREVER, 1, 9, 2, 7};
	static const bool is_length[] = {false, false, true, false, true};
	unsigned char buf[64];
	size_t len = put_stream(buf, header, is_length, 5), cut;
	const char *where;
	struct wire w = {0};
	bool all = true;

	for (cut = WIRE_HEADER; cut <= len; cut++) {
		wire_init(&w, false);
		all &= wire_feed(&w, buf, cut) == cut && wire_ended(&w, &where) &&
		       w.state != WIRE_DONE;
	}
	ok(all && w.bytes == 16 && w.loops == 1 && w.files == 2, "without end: any end is proper",
	   "");
	wire_init(&w, false);
	wire_feed(&w, buf, WIRE_HEADER - 1);
	ok(!wire_ended(&w, &where), "but not one in the first header", "");
}

static void test_wire_large(void)
{
	unsigned char head[12];
	static char body[1 << 20];
	uint64_t left = 0xffffffff;
	struct wire w;
	size_t n;

	wire_put(head, 1);
	wire_put(head + 4, 1);
	wire_put(head + 8, 0xffffffff);
	wire_init(&w, false);
	wire_feed(&w, head, sizeof(head));
	while (left > 0) {
		n = left < sizeof(body) ? (size_t)left : sizeof(body);
		wire_feed(&w, body, n);
		left -= n;
	}
	ok(w.state == WIRE_DONE && w.bytes == 0xffffffff, "a file of 4 GiB - 1", "");
	wire_put(head, 0);
	wire_init(&w, false);
	ok(wire_feed(&w, head, 12) == 4 && w.state == WIRE_DONE, "no loops: nothing follows", "");
}

static void test_receipt(void)
{
	static const char *const good[] = {
		"bytes=5 seconds=0.5\n",
		"seconds=1 bytes=0\n",
		"bytes=5 seconds=0.5 load=-0.01 cpus=2 reads=7 files=3\n",
		"bytes=18446744073709551615 seconds=1 new_key=some.text,1\n",
		"bytes=5 seconds=999999999999999.875 load=-1000 cpus=1\n",
	};
	static const char *const bad[] = {
		"",
		"\n",
		"bytes=5 seconds=0.5",
		"bytes=5\n",
		"seconds=5\n",
		"bytes=5  seconds=1\n",
		"bytes=5 seconds=1 \n",
		"bytes=5 seconds=1\n\n",
		"bytes=5\nseconds=1\n",
		"bytes=-5 seconds=1\n",
		"bytes=5 seconds=-1\n",
		"bytes=5 seconds=nan\n",
		"bytes=5 seconds=inf\n",
		"bytes=5 seconds=0x1\n",
		"bytes=5 seconds=1e3\n",
		"bytes=18446744073709551616 seconds=1\n",
		"bytes=5 bytes=5 seconds=1\n",
		"bytes= seconds=1\n",
		"=5 bytes=5 seconds=1\n",
		"bytes=5 seconds=1 x\n",
		"bytes=5 seconds=1 X=1\n",
		"bytes=5 seconds=1 load=1\t\n",
		"bytes=5 seconds=1 load=-2000\n",
		"bytes=5 seconds=1 method=UP\n",
		"bytes=5 seconds=1 method=aaaaaaaaaaaaaaaa\n",
		"bytes=5 seconds=1 rcv_rtt=-1\n",
		"bytes=5.5 seconds=1\n",
		"bytes=5 seconds=1-2\n",
		"bytes=5 seconds=1000000000000000\n",
		"bytes=5 seconds=1 unsafe=\n",
		"bytes=5 seconds=1 unsafe=,\n",
		"bytes=5 seconds=1 unsafe=steal,\n",
		"bytes=5 seconds=1 unsafe=steal,,weight\n",
		"bytes=5 seconds=1 unsafe=Steal\n",
	};
	struct figures r;
	char line[64];
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ok(receipt_parse(good[i], strlen(good[i]), &r) == NULL, "a receipt", "");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(receipt_parse(bad[i], strlen(bad[i]), &r) != NULL, "not a receipt", "");
	ok(receipt_parse("bytes=5 seconds=1\0 x=1\n", 23, &r) != NULL, "not a receipt", "a NUL");
	snprintf(line, sizeof(line), "bytes=5 seconds=1 unsafe=steal,new_2,cpu_offline\n");
	ok(receipt_parse(line, strlen(line), &r) == NULL &&
		   r.unsafe == (UNSAFE_STEAL | UNSAFE_OTHER | UNSAFE_CPU_OFFLINE),
	   "a reason of a newer version is one of the others", "");
}

static void test_receipt_length(void)
{
	const int fill = RECEIPT_MAX - (int)strlen("bytes=5 seconds=1 x=\n");
	char line[RECEIPT_MAX + 2];
	struct figures r;

	snprintf(line, sizeof(line), "bytes=5 seconds=1 x=%0*d\n", fill, 0);
	ok(receipt_parse(line, RECEIPT_MAX, &r) == NULL, "the longest receipt", "");
	snprintf(line, sizeof(line), "bytes=5 seconds=1 x=%0*d\n", fill + 1, 0);
	ok(receipt_parse(line, RECEIPT_MAX + 1, &r) != NULL, "one byte longer", "");
}

static void test_receipt_written(void)
{
	char line[RECEIPT_MAX];
	struct figures r, in;
	size_t len;

	figures_init(&in);
	in.bytes = 7;
	in.files = 2;
	in.calls = 3;
	in.seconds = 1.5;
	in.load = 0.25;
	in.cpus = 4;
	strcpy(in.method, "trunc");
	len = receipt_format(&in, line);
	ok(receipt_parse(line, len, &r) == NULL && r.bytes == 7 && r.files == 2 && r.calls == 3 &&
		   r.seconds == 1.5 && r.load == 0.25 && r.cpus == 4 &&
		   strcmp(r.method, "trunc") == 0 && isnan(r.cpu),
	   "a receipt, written and read", "");
	ok(r.unsafe == 0 && strstr(line, "unsafe") == NULL, "a load that is safe", "no reasons");
	in.unsafe = (1u << UNSAFE_REASONS) - 1;
	len = receipt_format(&in, line);
	ok(receipt_parse(line, len, &r) == NULL && r.unsafe == in.unsafe &&
		   strstr(line, " unsafe=cpu_offline,cpu_online,") != NULL,
	   "a receipt with every reason that its load is unsafe", line);
	in.unsafe = 0;
	in.load = NAN;
	len = receipt_format(&in, line);
	ok(receipt_parse(line, len, &r) == NULL && isnan(r.load), "a load not measured stays out",
	   "");
	in.rates.interrupts = in.uncertainty = in.tcp.rcv_rtt = 1.7e308;
	in.tasks = -1e-3;
	in.slowed = -2000;
	len = receipt_format(&in, line);
	ok(len < 200 && receipt_parse(line, len, &r) == NULL && isnan(r.rates.interrupts) &&
		   isnan(r.tasks) && isnan(r.slowed),
	   "so do numbers that a receipt cannot have", "");
}

static void test_calibration(void)
{
	/* A machine of two CPUs that are not neighbours. */
	static const char good[] = "2000\nsoaker 4\nmachine m 1 x\ncpus 1,4\nlater key\n"
				   "cpu 1 0.5 0.1 0.5 0.1 4000 1\ncpu 4 0 0 1 0 1000 1\n";
	static const struct {
		const char *find, *put;
	} bad[] = {
		{"2000", "-2000"},
		{"2000", "nan"},
		{"2000", "2000 "},
		{"2000", "3000"},
		{"2000", ""},
		{"soaker 4", "soaker 3"},
		{"later key", "wake"},
		{"later key", "wake 1"},
		{"later key", "wake 1 x"},
		{"later key", "wake 1 2 3"},
		{"later key", "wake 1 1000001"},
		{"soaker 4", "soaker 4294967299"},
		{"soaker 4", "x 3"},
		{"1,4", "1,5"},
		{"1,4", "1,4,5"},
		{"1,4", "4,1"},
		{"1,4", "x"},
		{"4000", "inf"},
		{"4000", "0"},
		{"4000", "-4000"},
		{"4000", "0x1000"},
		{"4000 1", "4000"},
		{"4000 1", "4000 1 1"},
		{"0.5 0.1 0.5", "0.5 0.1 1.5"},
		{"soaker 4", "soaker 4294967299"},
		{"soaker 4", "soaker 4x"},
		{"cpu 1 0.5", "cpu 1 1"},
		{"cpu 4 0", "cpu 4.5 0"},
		{"cpus 1,4\n", ""},
		{"later key", "later"},
	};
#define ZEROS "000000000000000000000000000000000000000000000000000"
#define SPEED "1" ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS /* 10^306 */
	/* Not ascending, a CPU twice; an infinite sum; two versions; escapes for a terminal. */
	static const char *const alone[] = {
		"5\nsoaker 4\nmachine m\ncpus 4,1\ncpu 4 0 0 1 0 2 0\ncpu 1 0 0 1 0 3 0\n",
		"4\nsoaker 4\nmachine m\ncpus 1,1\ncpu 1 0 0 1 0 2 0\ncpu 1 0 0 1 0 2 0\n",
		"5\nsoaker 4\nmachine m\ncpus 0-1\ncpu 0 0 0 1 0 " SPEED
		"00 0\ncpu 1 0 0 1 0 " SPEED "00 0\n",
		"2\nsoaker 3\nsoaker 4\nmachine m\ncpus 1\ncpu 1 0 0 1 0 2 0\n",
		"2\nsoaker 4\nmachine \033[2J\ncpus 1\ncpu 1 0 0 1 0 2 0\n",
		"2\nsoaker 4\nmachine m\r\ncpus 1\ncpu 1 0 0 1 0 2 0\n",
	};
	char text[512], *at;
	struct calibration c;
	size_t i, len;

	ok(calibration_parse(good, strlen(good), &c) == NULL && c.cpus.n == 2 &&
		   c.cpus.id[1] == 4 && c.cpu[0].tasks == 0.5 && c.cpu[0].speed == 4000 &&
		   c.cpu[1].spin == 1 && strcmp(c.machine, "m 1 x") == 0,
	   "a calibration", "");
	free(c.cpu);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strcpy(text, good);
		at = strstr(text, bad[i].find);
		memmove(at + strlen(bad[i].put), at + strlen(bad[i].find),
			strlen(at + strlen(bad[i].find)) + 1);
		memcpy(at, bad[i].put, strlen(bad[i].put));
		ok(calibration_parse(text, strlen(text), &c) != NULL && c.cpu == NULL,
		   "not a calibration", *bad[i].put ? bad[i].put : "a part missing");
	}
	for (i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
		ok(calibration_parse(alone[i], strlen(alone[i]), &c) != NULL && c.cpu == NULL,
		   "not a calibration", "");
	for (len = 0, i = 0; len < strlen(good) - 1; len++)
		i += calibration_parse(good, len, &c) == NULL;
	ok(i == 0, "nor is any beginning of one", "");
}

/* One of two CPUs is away: the load is a share of the other. */
static void test_load_away(void)
{
	struct baseline b[2] = {{.spin = 1, .speed = 1}, {.spin = 1, .speed = 1}};
	struct calibration c = {.cpus = {.n = 2}, .cpu = b};
	struct load_sample from = {.time = 2}, to = {.time = 6}, one = {.time = 4};
	struct load l;

	one.away_ns = to.away_ns = 2000000000;
	to.spin = to.work = 1.5;
	to.tasks = 2 + 0.5;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - 0.25) < 1e-9 && l.cpus == 1 && fabs(l.tasks - 0.25) < 1e-9 &&
		   l.unsafe == 0,
	   "the load of the CPU that is left", "");
	load_between(&c, &from, &one, 1, &l);
	ok(isnan(l.load), "a CPU that is away has no load", "");
	to.away_ns = 500000000;
	to.limits.lost = 1;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - (1 - 1.5 / 3.5)) < 1e-9 && l.cpus == 1.75 &&
		   l.unsafe == UNSAFE_CPU_OFFLINE,
	   "the load of a time in which a CPU came back is unsafe", "");
	to.limits = (struct limits_mark){.now = UNSAFE_CLOCK_SLOW, .moved = 1, .stops = 1};
	load_between(&c, &from, &to, -1, &l);
	ok(l.unsafe == (UNSAFE_CLOCK_SLOW | UNSAFE_SOAKER_MOVED | UNSAFE_SOAKER_STOPPED),
	   "so is one in which soakers were moved or stopped, or what disturbs them holds", "");
	from.limits = to.limits;
	load_between(&c, &from, &to, -1, &l);
	ok(l.unsafe == UNSAFE_CLOCK_SLOW, "what happened before is no reason, what holds is", "");
}

/* What is printed of reasons that come and go. */
static void test_reasons_printed(void)
{
	struct limits_said said = {.reasons = 0};
	unsigned i, n;

	ok(limits_fresh(&said, UNSAFE_STEAL, 0) == UNSAFE_STEAL &&
		   limits_fresh(&said, UNSAFE_STEAL | UNSAFE_WEIGHT, 0) == UNSAFE_WEIGHT,
	   "a reason is printed once while it lasts", "");
	limits_fresh(&said, 0, UNSAFE_STEAL);
	ok(limits_fresh(&said, UNSAFE_STEAL | UNSAFE_WEIGHT, 0) == UNSAFE_WEIGHT,
	   "one that a load could not know has not ended", "");
	for (i = 0, n = 0; i < 1000; i++)
		n += limits_fresh(&said, i % 2 == 0 ? 0 : UNSAFE_STEAL, 0) != 0;
	ok(n == SAY_MOST - 1, "one that comes and goes is printed ten times in all", "");
}

/* A CPU that had 30 % of its time for its soaker when it was calibrated has all of it now. */
static void test_load_below_zero(void)
{
	struct baseline b[1] = {{.spin = 0.9, .speed = 1}};
	struct calibration c = {.cpus = {.n = 1}, .cpu = b};
	struct load_sample from = {.time = 1}, to = {.time = 3};
	struct load l;

	to.spin = to.work = 2 * 1.04;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load + 0.04) < 1e-9 && l.unsafe == 0, "a load a little below 0 is not unsafe",
	   "");
	to.spin = to.work = 2 / 0.3;
	load_between(&c, &from, &to, -1, &l);
	ok(l.load < -2 && l.unsafe == UNSAFE_CALIBRATION, "one far below 0 is", "");
	c.cpu[0].spin_sd = 5;
	load_between(&c, &from, &to, -1, &l);
	ok(l.load < -2 && l.unsafe == 0, "unless it is as uncertain", "");
}

/* Two CPUs: the load is what the formulas of zc(7) make of the samples. */
static void test_load(void)
{
	struct baseline b[2] = {{.tasks = 0.01, .spin = 0.9, .speed = 10},
				{.tasks = 0.03, .spin = 0.8, .speed = 20}};
	struct calibration c = {.cpus = {.n = 2}, .cpu = b};
	struct load_sample from = {.time = 2}, to = {.time = 6}, one = {.time = 4};
	struct load l;

	to.spin = 0.98 * 4; /* all that is left beside the mean tasks */
	to.work = to.spin;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load) < 1e-9 && fabs(l.slowed) < 1e-9 && l.seconds == 2 &&
		   fabs(l.uncertainty - 0.0015) < 1e-9,
	   "an idle machine has no load", "");
	to.spin = 2;
	to.work = 1.5;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - 0.48) < 1e-9 && fabs(l.slowed - 0.25) < 1e-9,
	   "half of it taken, the rest slowed", "");
	load_between(&c, &from, &one, 1, &l);
	ok(fabs(l.load - 0.97) < 1e-9 && l.slowed == 0, "one CPU wholly taken", "");
	load_between(&c, &to, &to, -1, &l);
	ok(isnan(l.load), "no time, no load", "");
	load_between(&c, &to, &from, -1, &l);
	ok(isnan(l.load) && l.seconds == 0, "samples in the wrong order, no load", "");
	to.spin = to.work = 0;
	from.tasks = 0.001;
	load_between(&c, &from, &to, -1, &l);
	ok(l.tasks == 0, "tasks do not have less than none of it", "");
	c.cpu[0].spin_sd = c.cpu[1].spin_sd = 0.03;
	to.spin = to.work = 2;
	c.wake = (struct wake_cost){4e-6, 0};
	to.switches = 4 * 0.1 / 4e-6;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - (0.48 - 0.1)) < 1e-9, "what wake-ups cost is no load", "");
	ok(fabs(l.uncertainty - hypot(hypot(0.03, 0.0015), 0.125)) < 1e-9,
	   "the parts of its uncertainty add as squares", "");
	from.tasks = 0;
	to.tasks = 4 * 0.45;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - (0.45 - 0.02)) < 1e-9, "but no more than the tasks' time leaves", "");
	to.switches = 0;
	to.host = 0.1;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - 0.48) < 1e-9, "no host is known to take time: it was not the host", "");
	from.steal = 7;
	to.steal = 7.19;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - (0.48 - 0.2 / 4)) < 1e-9, "the host's time: as the soakers saw it", "");
	to.steal = 7.1;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - (0.48 - 0.11 / 4)) < 1e-9, "the host's time: within a tick", "");
	to.host = 1;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - (0.48 - 0.1 / 4)) < 1e-9, "the soakers saw what was not the host", "");
}

/* One CPU of a virtual machine, of which the kernel counts what the host takes. */
static void test_steal(void)
{
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK);
	struct baseline b[1] = {{.spin = 1, .speed = 1}};
	struct calibration c = {.cpus = {.n = 1}, .cpu = b};
	struct load_sample from = {.time = 1, .steal = 7}, to = {.time = 3};
	struct load l;

	to.spin = to.work = 1.5;
	to.steal = 7.2;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - (0.25 - (0.2 - tick) / 2)) < 1e-9 &&
		   fabs(l.uncertainty - hypot(0.0015, tick / 2)) < 1e-9,
	   "what no soaker saw is uncertain by a tick", "");
	from.steal = NAN;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - 0.25) < 1e-9, "no reading at the begin: nothing is subtracted", "");
	from.steal = 7;
	to.steal = NAN;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - 0.25) < 1e-9, "nor if there is none at the end", "");
	to.steal = 3;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load - 0.25) < 1e-9, "nor if the counter stepped back", "");
	to.steal = 8;
	to.spin = to.work = 2;
	load_between(&c, &from, &to, -1, &l);
	ok(fabs(l.load + tick / 2) < 1e-9, "the host took no time in which the soakers spun", "");
}

static void test_addresses(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons(2222),
				 .sin_addr.s_addr = htonl(0xc0000201)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(80)};
	char text[ADDR_STRLEN], name[IF_NAMESIZE];

	addr_format((struct sockaddr *)&in, sizeof(in), text);
	ok(strcmp(text, "192.0.2.1:2222") == 0, "an IPv4 address", text);
	inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr);
	addr_format((struct sockaddr *)&in6, sizeof(in6), text);
	ok(strcmp(text, "[2001:db8::1]:80") == 0, "an IPv6 address", text);
	inet_pton(AF_INET6, "::ffff:192.0.2.7", &in6.sin6_addr);
	addr_format((struct sockaddr *)&in6, sizeof(in6), text);
	ok(strcmp(text, "192.0.2.7:80") == 0, "an IPv4 address in IPv6", text);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ok(addr_interface((struct sockaddr *)&in, name) == 0 && strcmp(name, "lo") == 0,
	   "the way to 127.0.0.1", "lo");
}

static void test_figures(void)
{
	struct figures f = {.load = 0.5,
			    .uncertainty = NAN,
			    .cpus = 2,
			    .soaked = 1,
			    .bytes = 1024000,
			    .seconds = 1};
	char buf[128];

	ok(kbytes_per_sec(2048, 2) == 1 && kbytes_per_sec(1, 0) == 0, "kbytes/sec are KiB", "");
	ok(gbits_per_sec(1000000000, 8) == 1, "Gbit are 10^9", "");
	/* Half of 2 CPUs for 1 s is 1e6 us; over 1000 KiB that is 1000 us/KiB. */
	ok(fabs(cost_us_per_kib(0.5, 2, 1024000, 1) - 1000) < 1e-9, "cost in us/KiB", "");
	ok(isnan(cost_us_per_kib(0.5, 2, 0, 1)), "where nothing was moved there is no cost", "");
	load_format(&f, buf);
	ok(strcmp(buf, ", load 50.0% of 2 CPUs, cost 1000.000 us/KiB") == 0, "a load and its cost",
	   buf);
	f.uncertainty = 0.01;
	f.bytes = 0;
	load_format(&f, buf);
	ok(strcmp(buf, ", load 50.0% +-1.0% of 2 CPUs") == 0, "a load that moved nothing", buf);
	f.unsafe = UNSAFE_STEAL;
	load_format(&f, buf);
	ok(strcmp(buf, ", load 50.0%? +-1.0% of 2 CPUs") == 0, "a load that is unsafe", buf);
	f.bytes = 1024000;
	f.seconds = 2;
	ok(fabs(figures_cost(&f) - 1000) < 1e-9, "the cost is over the seconds of the load", "");
	f.soaked = NAN;
	ok(fabs(figures_cost(&f) - 2000) < 1e-9, "or of the transfer, where those are not known",
	   "");
	ok(!signbit(percent(-0.0004)) && fabs(percent(-0.01) + 1) < 1e-9, "no -0.0%", "");
}

/* What was written to a JSON writer is just that; ends it. */
static void written(struct json *j, char **text, const char *want, const char *what)
{
	fclose(j->f);
	ok(strcmp(*text, want) == 0, what, *text);
	free(*text);
}

static void test_json_strings(void)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{"", "\"\""},
		{"zcc", "\"zcc\""},
		{"a \"b\" \\ c", "\"a \\u0022b\\u0022 \\u005c c\""},
		{"\n\t\001\037\177 ~", "\"\\u000a\\u0009\\u0001\\u001f\\u007f ~\""},
		{"a/b'", "\"a/b'\""},
		/* UTF-8 of every length stays as it is: the first and the last of each. */
		{"\302\200\337\277", "\"\302\200\337\277\""},
		{"\340\240\200\355\237\277\356\200\200\357\277\277",
		 "\"\340\240\200\355\237\277\356\200\200\357\277\277\""},
		{"\360\220\200\200\364\217\277\277", "\"\360\220\200\200\364\217\277\277\""},
		/* What is none becomes U+FFFD, a byte at a time, and what follows it is kept. */
		{"\200a", "\"\\ufffda\""},
		{"a\377", "\"a\\ufffd\""},
		{"\303", "\"\\ufffd\""},
		{"\303\"", "\"\\ufffd\\u0022\""},
		{"\342\202", "\"\\ufffd\\ufffd\""},
		{"\342\202x", "\"\\ufffd\\ufffdx\""},
		{"\360\237\230", "\"\\ufffd\\ufffd\\ufffd\""},
		/* Overlong. */
		{"\300\257", "\"\\ufffd\\ufffd\""},
		{"\340\237\277", "\"\\ufffd\\ufffd\\ufffd\""},
		{"\360\217\277\277", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
		/* A surrogate. */
		{"\355\240\200", "\"\\ufffd\\ufffd\\ufffd\""},
		/* Beyond U+10FFFF. */
		{"\364\220\200\200", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
		{"\365\200\200\200", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
	};
	struct json j;
	char *text;
	size_t len, i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		j = (struct json){.f = open_memstream(&text, &len)};
		json_string(&j, NULL, cases[i].text);
		written(&j, &text, cases[i].json, "a string in JSON");
	}
	j = (struct json){.f = open_memstream(&text, &len)};
	json_open(&j, NULL, '{');
	json_string(&j, "a\"b", "c");
	json_close(&j, '}');
	written(&j, &text, "{\"a\\u0022b\":\"c\"}", "a key in JSON");
}

static void test_json(void)
{
	struct json j;
	char *text;
	size_t len;

	j = (struct json){.f = open_memstream(&text, &len)};
	json_open(&j, NULL, '{');
	json_open(&j, "empty", '{');
	json_close(&j, '}');
	json_open(&j, "list", '[');
	json_count(&j, NULL, 0);
	json_count(&j, NULL, UINT64_MAX);
	json_open(&j, NULL, '[');
	json_close(&j, ']');
	json_close(&j, ']');
	json_bool(&j, "yes", true);
	json_bool(&j, "no", false);
	json_close(&j, '}');
	written(&j, &text,
		"{\"empty\":{},\"list\":[0,18446744073709551615,[]],\"yes\":true,\"no\":false}",
		"objects and arrays, and commas between");
	j = (struct json){.f = open_memstream(&text, &len)};
	json_open(&j, NULL, '{');
	json_number(&j, "nan", NAN);
	json_number(&j, "a", 0.25);
	json_number(&j, "inf", INFINITY);
	json_number(&j, "minus_inf", -INFINITY);
	json_number(&j, "b", -3);
	json_number(&j, "nan", NAN);
	json_close(&j, '}');
	written(&j, &text, "{\"a\":0.25,\"b\":-3}",
		"numbers that are not known stay out, and so do their commas");
	j = (struct json){.f = open_memstream(&text, &len)};
	json_open(&j, NULL, '{');
	json_throughput(&j, 1, 2, 500);
	json_close(&j, '}');
	written(&j, &text,
		"{\"start\":1,\"end\":3,\"seconds\":2,\"bytes\":500,\"bits_per_second\":2000}",
		"a throughput");
	j = (struct json){.f = open_memstream(&text, &len)};
	json_open(&j, NULL, '{');
	json_throughput(&j, 0, 0, 500);
	json_close(&j, '}');
	written(&j, &text,
		"{\"start\":0,\"end\":0,\"seconds\":0,\"bytes\":500,\"bits_per_second\":0}",
		"a throughput in no time");
}

/* Nothing of what an end did not measure is in its part of the report. */
static void test_json_figures(void)
{
	struct figures f;
	struct json j;
	char *text;
	size_t len;

	figures_init(&f);
	f.bytes = 2048;
	f.files = 3;
	f.calls = 4;
	f.warmup = 5;
	f.seconds = 2;
	j = (struct json){.f = open_memstream(&text, &len)};
	json_open(&j, NULL, '{');
	json_stream(&j, "receiver", &f, 0, false);
	json_close(&j, '}');
	written(&j, &text,
		"{\"receiver\":{\"start\":0,\"end\":2,\"seconds\":2,\"bytes\":2048,"
		"\"bits_per_second\":8192,\"warmup_bytes\":5,\"files\":3,\"calls\":4,"
		"\"sender\":false}}",
		"what a receiver counts");
	f.load = 0.5;
	f.cpus = 2;
	f.rates.interrupts = 7;
	f.rates.cpu[CPU_IDLE] = 0.5;
	for (len = 0; len < CPU_COLUMNS; len++)
		if (len != CPU_IDLE)
			f.rates.cpu[len] = NAN;
	j = (struct json){.f = open_memstream(&text, &len)};
	json_open(&j, NULL, '{');
	json_host(&j, "host", &f);
	json_close(&j, '}');
	written(&j, &text,
		"{\"host\":{\"cpus\":2,\"load_percent\":50,\"cost_us_per_kib\":1000000,"
		"\"interrupts_per_second\":7,\"accounting_percent\":{\"idle\":50}}}",
		"a host's load, and nothing that was not measured");
	f.unsafe = UNSAFE_CPU_OFFLINE | UNSAFE_WEIGHT;
	j = (struct json){.f = open_memstream(&text, &len)};
	json_open(&j, NULL, '{');
	json_load(&j, &f);
	json_close(&j, '}');
	written(&j, &text,
		"{\"cpus\":2,\"load_percent\":50,\"unsafe\":[\"cpu_offline\",\"weight\"],"
		"\"cost_us_per_kib\":1000000,\"interrupts_per_second\":7}",
		"what makes a load unsafe");
	j = (struct json){.f = open_memstream(&text, &len)};
	json_open(&j, NULL, '{');
	json_utilization(&j, &f, NULL);
	json_close(&j, '}');
	written(&j, &text, "{\"cpu_utilization_percent\":{\"host_total\":50}}",
		"the load as iperf3 names it");
}

/* Two threads may read the clock in either order: a time is never negative, nor 2^64 ns. */
static void test_seconds_between(void)
{
	ok(seconds_between(1000000000, 3500000000) == 2.5, "2.5 s between two times", "");
	ok(seconds_between(7, 7) == 0, "no time between a time and itself", "");
	ok(seconds_between(3500000000, 1000000000) == 0, "0 s to a time that came before", "");
}

static bool all_nan(const void *doubles, size_t size)
{
	const double *d = doubles;
	size_t i;

	for (i = 0; i < size / sizeof(*d) && isnan(d[i]); i++)
		;
	return i == size / sizeof(*d);
}

static void test_figures_init(void)
{
	struct figures f;

	memset(&f, 0, sizeof(f));
	figures_init(&f);
	ok(f.bytes == 0 && f.files == 0 && f.calls == 0 && f.warmup == 0 && f.clients == 0 &&
		   f.method[0] == '\0' && f.refused[0] == '\0',
	   "counts begin at 0", "");
	ok(isnan(f.seconds + f.cpu) && isnan(f.cpus) && isnan(f.load) && isnan(f.uncertainty) &&
		   isnan(f.slowed) && isnan(f.tasks) && all_nan(&f.rates, sizeof(f.rates)) &&
		   all_nan(&f.tcp, sizeof(f.tcp)),
	   "what was not measured is not known", "");
}

/* A counter that is not known at either end gives no rate, and the others do. */
static void test_counters(void)
{
	struct counters from = {
		.ns = 1000000000, .interrupts = 1000, .packets_in = 10, .packets_out = 20};
	struct counters to = {
		.ns = 3000000000, .interrupts = 3000, .packets_in = 20, .packets_out = 10};
	struct rates r;

	to.cpu[CPU_IDLE] = 150;
	to.cpu[CPU_USER] = 50;
	counters_rates(&from, &to, &r);
	ok(r.interrupts == 1000 && r.packets_in == 5, "rates", "");
	ok(r.packets_out == 0, "a counter that steps back", "");
	ok(r.cpu[CPU_IDLE] == 0.75 && r.cpu[CPU_USER] == 0.25 && r.cpu[CPU_STEAL] == 0, "shares",
	   "");
	from.interrupts = to.packets_in = COUNTER_UNKNOWN;
	counters_rates(&from, &to, &r);
	ok(isnan(r.interrupts) && isnan(r.packets_in), "counters that are not known", "");
	ok(r.cpu[CPU_IDLE] == 0.75 && r.packets_out == 0, "others that are", "");
	from.cpu[CPU_USER] = COUNTER_UNKNOWN;
	counters_rates(&from, &to, &r);
	ok(isnan(r.cpu[CPU_IDLE]) && isnan(r.cpu[CPU_USER]), "shares of what is not known", "");
	counters_rates(&to, &to, &r);
	ok(isnan(r.interrupts) && isnan(r.packets_in) && isnan(r.packets_out) &&
		   isnan(r.cpu[CPU_IDLE]),
	   "no rates between a reading and itself", "");
	counters_read(&to, "no-such-dev");
	ok(to.interrupts != COUNTER_UNKNOWN && to.cpu[CPU_IDLE] != COUNTER_UNKNOWN, "/proc/stat",
	   "");
	ok(to.packets_in == COUNTER_UNKNOWN, "an interface that is not there", "");
}

int main(void)
{
	test_sizes();
	test_seconds();
	test_cpus();
	test_wire_good();
	test_wire_forever();
	test_wire_large();
	test_receipt();
	test_receipt_length();
	test_receipt_written();
	test_calibration();
	test_figures_init();
	test_long_cpu_lists();
	test_load();
	test_load_away();
	test_reasons_printed();
	test_load_below_zero();
	test_steal();
	test_addresses();
	test_figures();
	test_json_strings();
	test_json();
	test_json_figures();
	test_seconds_between();
	test_counters();
	printf("1..%d\n", number);
	return failures > 0;
}
