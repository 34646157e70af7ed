#include "lib/report/receipt.h"

#include "tests/unit/unit.h"

static const char *parse(const char *line, struct figures *f)
{
	return receipt_parse(line, strlen(line), f);
}

static void test_parse(void)
{
	static const char *const good[] = {
		"bytes=5 seconds=0.5\n",
		"seconds=1 bytes=0\n",
		"bytes=5 seconds=0.5 load=-0.01 cpus=2 reads=7 files=3\n",
		"bytes=1000000000000000000 seconds=1 new_key=some.text,1\n",
		"bytes=5 seconds=1 load=0.5 cpus=2 load_seconds=0.9 load_bytes=4\n", /* of 0.4.0 */
		"bytes=5 seconds=1000000000 load=-100 cpus=8192\n",
		"bytes=5 seconds=1 load=100 uncertainty=100 steal=100 cpus=1\n",
		"refused=full\n",
	};
	static const char *const bad[] = {
		"",
		"\n",
		"bytes=5 seconds=0.5",
		"bytes=5\n",
		"seconds=5\n",
		"bytes=5  seconds=1\n",
		"bytes=5 seconds=1 \n",
		" bytes=5 seconds=1\n",
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
		"bytes=5 seconds=1 tasks=1 tasks=1\n",
		"bytes= seconds=1\n",
		"=5 bytes=5 seconds=1\n",
		"bytes=5 seconds=1 x\n",
		"bytes=5 seconds=1 X=1\n",
		"bytes=5 seconds=1 load=1\t\n",
		"bytes=5 seconds=1 later=\200\n",
		"bytes=5 seconds=1 later=\177\n",
		"bytes=5 seconds=1 load=-100.001\n",
		"bytes=5 seconds=1 load=100.001\n",
		"bytes=5 seconds=1 uncertainty=100.001\n",
		"bytes=5 seconds=1 uncertainty=-0.1\n",
		"bytes=5 seconds=1 steal=100.001\n",
		"bytes=5 seconds=1 cpus=8192.001\n",
		"bytes=5 seconds=1 cpu=8192\n",
		"bytes=5 seconds=1 interrupts=1000000000000001\n",
		"bytes=1000000000000000001024 seconds=1\n",
		"bytes=1000000000000001024 seconds=1\n",
		"bytes=5 seconds=1 method=UP\n",
		"bytes=5 seconds=1 method=aaaaaaaaaaaaaaaa\n",
		"bytes=5 seconds=1 rcv_rtt=-1\n",
		"bytes=5.5 seconds=1\n",
		"bytes=5 seconds=1-2\n",
		"bytes=5 seconds=1000000000.001\n",
		"bytes=5 seconds=1 unsafe=\n",
		"bytes=5 seconds=1 unsafe=,\n",
		"bytes=5 seconds=1 unsafe=steal,\n",
		"bytes=5 seconds=1 unsafe=steal,,weight\n",
		"bytes=5 seconds=1 unsafe=Steal\n",
		"bytes=5 seconds=1 kernel=6.1\"x\n",
		"bytes=5 seconds=1 kernel=\n",
		"bytes=5 seconds=1 version=1234567890123456\n",
		"bytes=5 seconds=1 kernel=a kernel=a\n",
	};
	struct figures f;
	size_t i;

	for (i = 0; i < LENGTH(good); i++)
		ok(parse(good[i], &f) == NULL, "'%s' is a receipt", good[i]);
	for (i = 0; i < LENGTH(bad); i++)
		ok(parse(bad[i], &f) != NULL, "'%s' is no receipt", bad[i]);
	ok(receipt_parse("bytes=5 seconds=1\0 x=1\n", 23, &f) != NULL,
	   "a line with a NUL is no receipt");
	ok(parse("bytes=5 seconds=1 load=0.5 cpus=0.999\n", &f) == NULL && isnan(f.host.load),
	   "a load of less than one CPU is not known");
	ok(parse("bytes=5 seconds=1 load=0.5\n", &f) == NULL && isnan(f.host.load),
	   "a load of an unknown number of CPUs is not known");
	ok(parse("bytes=5 seconds=1 unsafe=steal,new_2,cpu_offline\n", &f) == NULL &&
		   f.host.unsafe == (UNSAFE_STEAL | UNSAFE_OTHER | UNSAFE_CPU_OFFLINE),
	   "a reason of a newer version is one of the others");
}

/* Every key with a value of its own: none is stored in the place of another. */
static void test_keys(void)
{
	static const char line[] =
		"bytes=1 seconds=2 files=3 reads=4 warmup=5 clients=6 method=seven refused=eight "
		"cpu=9 load=10 uncertainty=11 cpus=12 slowed=13 tasks=14 interrupts=15 "
		"packets_in=16 packets_out=17 user=18 nice=19 system=20 idle=21 iowait=22 irq=23 "
		"softirq=24 steal=25 rcv_rtt=26 rcv_mss=27 out_of_order=28 "
		"unsafe=steal softnet_dropped=30 softnet_squeezed=31 version=0.2.0-rc1 "
		"kernel=6.18.0+deb13-amd64 no_load=held switches=32 instrument=countedbythepmu\n";
	char written[RECEIPT_MAX];
	struct figures f, again;

	ok(parse(line, &f) == NULL, "a receipt may have all keys");
	ok(f.bytes == 1 && f.seconds == 2 && f.files == 3 && f.calls == 4 && f.warmup == 5 &&
		   f.clients == 6 && f.cpu == 9 && f.host.unsafe == UNSAFE_STEAL,
	   "bytes, seconds, files, reads, warmup, clients, cpu and unsafe are read");
	is(f.method, "seven", "the key method is read");
	is(f.refused, "eight", "the key refused is read");
	is(f.version, "0.2.0-rc1", "the key version is read");
	is(f.kernel, "6.18.0+deb13-amd64", "the key kernel is read");
	is(f.no_load, "held", "the key no_load is read");
	is(f.host.instrument, "countedbythepmu", "the key instrument is read");
	ok(f.host.switches == 32, "the key switches is read");
	ok(f.host.rates.softnet_dropped == 30 && f.host.rates.softnet_squeezed == 31,
	   "the keys of softnet are read");
	ok(f.host.load == 10 && f.host.uncertainty == 11 && f.host.cpus == 12 &&
		   f.host.slowed == 13 && f.host.tasks == 14,
	   "load, uncertainty, cpus, slowed and tasks are read");
	ok(f.host.rates.interrupts == 15 && f.host.rates.packets_in == 16 &&
		   f.host.rates.packets_out == 17,
	   "interrupts and packets are read");
	ok(f.host.rates.cpu[CPU_USER] == 18 && f.host.rates.cpu[CPU_NICE] == 19 &&
		   f.host.rates.cpu[CPU_SYSTEM] == 20 && f.host.rates.cpu[CPU_IDLE] == 21 &&
		   f.host.rates.cpu[CPU_IOWAIT] == 22 && f.host.rates.cpu[CPU_IRQ] == 23 &&
		   f.host.rates.cpu[CPU_SOFTIRQ] == 24 && f.host.rates.cpu[CPU_STEAL] == 25,
	   "the columns of CPU time are read");
	ok(f.tcp.rcv_rtt == 26 && f.tcp.rcv_mss == 27 && f.tcp.rcv_ooo == 28,
	   "the TCP figures are read");
	ok(parse("bytes=1 seconds=2 cpu=0.5\n", &f) != NULL &&
		   parse("bytes=1 seconds=2 rcv_mss=0.5\n", &f) != NULL &&
		   parse("bytes=1 seconds=2 out_of_order=0.5\n", &f) != NULL &&
		   parse("bytes=1 seconds=2 cpus=0.5\n", &f) == NULL,
	   "a CPU, bytes and packets have no fraction");
	parse(line, &f);
	written[receipt_format(&f, written) - 1] = '\0';
	ok(strncmp(written, "bytes=1 seconds=2.000000 files=3 warmup=5 method=seven reads=4 ",
		   63) == 0 &&
		   strstr(written, " unsafe=steal no_load=held cpus=12.000000 ") != NULL,
	   "a receipt has the keys in their order: %s", written);
	ok(receipt_parse(strcat(written, "\n"), strlen(written) + 1, &again) == NULL &&
		   /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c): all bytes are set */
		   memcmp(&f, &again, sizeof(f)) == 0,
	   "a receipt that has all keys reads the same");
}

static void test_length(void)
{
	const int fill = RECEIPT_MAX - (int)strlen("bytes=5 seconds=1 x=\n");
	char line[RECEIPT_MAX + 2];
	struct figures f;

	snprintf(line, sizeof(line), "bytes=5 seconds=1 x=%0*d\n", fill, 0);
	ok(receipt_parse(line, RECEIPT_MAX, &f) == NULL, "a receipt may have RECEIPT_MAX bytes");
	snprintf(line, sizeof(line), "bytes=5 seconds=1 x=%0*d\n", fill + 1, 0);
	ok(receipt_parse(line, RECEIPT_MAX + 1, &f) != NULL, "one byte more is no receipt");
}

static void test_format(void)
{
	char line[RECEIPT_MAX];
	struct figures f, in;
	size_t len;

	figures_init(&in);
	in.bytes = 7;
	in.files = 2;
	in.calls = 3;
	in.seconds = 1.5;
	in.host.load = 0.25;
	in.host.cpus = 4;
	strcpy(in.method, "trunc");
	len = receipt_format(&in, line);
	ok(receipt_parse(line, len, &f) == NULL && f.bytes == 7 && f.files == 2 && f.calls == 3 &&
		   f.seconds == 1.5 && f.host.load == 0.25 && f.host.cpus == 4 &&
		   strcmp(f.method, "trunc") == 0 && isnan(f.cpu),
	   "a receipt is the same when it is written and read");
	ok(strstr(line, " files=2 warmup=0 ") != NULL, "a receipt has the counts that are 0");
	ok(f.host.unsafe == 0 && strstr(line, "unsafe") == NULL,
	   "a load that is safe has no reasons");
	in.host.unsafe = (1u << UNSAFE_REASONS) - 1;
	len = receipt_format(&in, line);
	ok(receipt_parse(line, len, &f) == NULL && f.host.unsafe == in.host.unsafe &&
		   strstr(line, " unsafe=cpu_offline,cpu_online,") != NULL,
	   "a receipt may have every reason that its load is unsafe");
	in.host.unsafe = 0;
	in.host.load = NAN;
	len = receipt_format(&in, line);
	ok(receipt_parse(line, len, &f) == NULL && isnan(f.host.load),
	   "a load that was not measured is omitted");
	in.host.rates.interrupts = in.host.uncertainty = in.tcp.rcv_rtt = 1.7e308;
	in.host.tasks = -1e-3;
	in.host.slowed = -0.0;
	len = receipt_format(&in, line);
	ok(memmem(line, len, " slowed=-0.000000", 17) != NULL,
	   "a share just below 0, as it was read, keeps its sign");
	in.host.slowed = -2000;
	len = receipt_format(&in, line);
	ok(len < 200 && receipt_parse(line, len, &f) == NULL && isnan(f.host.rates.interrupts) &&
		   isnan(f.host.tasks) && isnan(f.host.slowed),
	   "numbers that a receipt cannot have are omitted");
	in.host.slowed = -100;
	len = receipt_format(&in, line);
	ok(receipt_parse(line, len, &f) == NULL && f.host.slowed == -100,
	   "a share may be as low as -100");
	in.host.slowed = -100.5;
	len = receipt_format(&in, line);
	ok(receipt_parse(line, len, &f) == NULL && isnan(f.host.slowed),
	   "a share below -100 is omitted");
	strcpy(in.kernel, "6.1 with blanks");
	strcpy(in.version, VERSION);
	len = receipt_format(&in, line);
	ok(receipt_parse(line, len, &f) == NULL && f.kernel[0] == '\0' &&
		   strcmp(f.version, VERSION) == 0,
	   "a kernel's release that a receipt cannot have is omitted");
	memset(in.kernel, 'k', sizeof(in.kernel) - 1);
	len = receipt_format(&in, line);
	ok(receipt_parse(line, len, &f) == NULL && strcmp(f.kernel, in.kernel) == 0,
	   "a kernel's release may have all the characters that uname(2) gives");
}

/* The longest value of each key. */
static void test_room(void)
{
	char line[RECEIPT_MAX];
	struct figures f;
	size_t len;
	int i;

	figures_init(&f);
	for (i = 0; i < figure_rows; i++) {
		void *member = (char *)&f + figure_table[i].offset;

		if (figure_table[i].size > 0)
			memset(member, 'a', figure_table[i].size - 1);
		else if (figure_table[i].kind == FIGURE_COUNT)
			*(uint64_t *)member = 1000000000000000000;
		else if (figure_table[i].derive == NULL && figure_table[i].kind < FIGURE_WORD)
			*(double *)member = figure_is_possible(figure_table[i].kind, -100) ? -100
											   : 1;
	}
	f.host.unsafe = (1u << UNSAFE_REASONS) - 1;
	len = receipt_format(&f, line);
	ok(len < RECEIPT_MAX / 2 && receipt_parse(line, len, &f) == NULL,
	   "a receipt of all keys has room, and leaves more for those to come: %zu bytes", len);
}

int main(void)
{
	test_parse();
	test_keys();
	test_length();
	test_format();
	test_room();
	return done();
}
