#include "lib/report/figures.h"

#include "tests/unit/unit.h"

static bool all_nan(const void *doubles, size_t size)
{
	const double *d = doubles;
	size_t i;

	for (i = 0; i < size / sizeof(*d) && isnan(d[i]); i++)
		;
	return i == size / sizeof(*d);
}

static void test_init(void)
{
	struct figures f;

	memset(&f, 0x11, sizeof(f));
	figures_init(&f);
	ok(f.bytes == 0 && f.files == 0 && f.calls == 0 && f.warmup == 0 && f.clients == 0 &&
		   f.host.unsafe == 0 && f.method[0] == '\0' && f.refused[0] == '\0',
	   "counts begin at 0, and words empty");
	ok(isnan(f.seconds) && isnan(f.cpu) && isnan(f.host.cpus) && isnan(f.host.seconds) &&
		   isnan(f.host.load) && isnan(f.host.uncertainty) && isnan(f.host.slowed) &&
		   isnan(f.host.tasks) && all_nan(&f.host.rates, sizeof(f.host.rates)) &&
		   all_nan(&f.zerocopy, sizeof(f.zerocopy)) && isnan(f.tcp.retransmits) &&
		   isnan(f.tcp.rtt) && isnan(f.tcp.rcv_ooo),
	   "what was not measured is not known");
}

static void test_add(void)
{
	struct figures sum, a;

	figures_init(&sum);
	figures_init(&a);
	a.bytes = 1;
	a.files = 2;
	a.calls = 3;
	a.warmup = 4;
	a.seconds = 2;
	a.host.load = 0.5;
	a.host.unsafe = UNSAFE_STEAL;
	a.tcp.retransmits = 5;
	a.tcp.rtt = 6;
	a.tcp.mss = 1448;
	a.zerocopy = (struct zerocopy_figures){1, 2, 3};
	strcpy(a.method, "read");
	figures_add(&sum, &a);
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c): all bytes are set */
	ok(memcmp(&sum, &a, sizeof(a)) == 0, "the sum of one has all of its figures");
	a.seconds = 1.5;
	a.host.load = 0.25;
	a.host.unsafe = UNSAFE_WEIGHT;
	figures_add(&sum, &a);
	ok(sum.bytes == 2 && sum.files == 4 && sum.calls == 6 && sum.warmup == 8 &&
		   sum.tcp.retransmits == 10 && sum.zerocopy.copied == 4,
	   "counts, retransmits and sends add");
	ok(sum.seconds == 2 && sum.host.load == 0.5, "time and load of a sum are the longest's");
	ok(sum.host.unsafe == (UNSAFE_STEAL | UNSAFE_WEIGHT), "a sum has the reasons of both");
	ok(isnan(sum.tcp.rtt) && sum.tcp.mss == 1448,
	   "a sum of two has no round-trip time, and the size of segments that both have");
	is(sum.method, "read", "a sum has the method of what was added");
	a.seconds = 3;
	a.tcp.mss = 536;
	a.tcp.retransmits = NAN;
	figures_add(&sum, &a);
	ok(sum.seconds == 3 && sum.host.load == 0.25 && sum.bytes == 3,
	   "the longest may be the last that is added");
	ok(isnan(sum.tcp.mss) && isnan(sum.tcp.retransmits),
	   "what is not known of one, or differs, is not known of a sum");
}

static void test_rates(void)
{
	struct figures f = {.bytes = 125000000, .seconds = 0.5};

	ok(kbytes_per_sec(2048, 2) == 1, "2048 bytes in 2 s are 1 KiB/s");
	ok(per_second(10, 4) == 2.5, "10 in 4 s are 2.5 per second");
	ok(kbytes_per_sec(1, 0) == 0 && per_second(1, 0) == 0, "a rate in no time is 0");
	ok(kbytes_per_sec(1, NAN) == 0, "a rate in an unknown time is 0");
	ok(figure_value(figure_named("bits_per_second"), &f) == 2e9, "a throughput in bits");
	f.cut = true;
	ok(isnan(figure_value(figure_named("bits_per_second"), &f)),
	   "what was cut has no throughput");
}

static void test_costs(void)
{
	struct figures f = {.host.load = 0.5, .host.cpus = 2, .bytes = 1024000, .seconds = 1};

	/* Half of 2 CPUs for 1 s is 1e6 us; over 1000 KiB that is 1000 us/KiB. */
	ok(near(figures_cost(&f), 1000), "the cost is in microseconds per KiB");
	ok(near(figures_cost_each(&f, 500), 2000), "the cost of each is in microseconds");
	ok(isnan(figures_cost_each(&f, 0)), "none has no cost");
	f.host.uncertainty = 0.05;
	ok(near(figure_value(figure_named("cost_uncertainty_us_per_kib"), &f), 100),
	   "the uncertainty of a cost is the same share as that of its load");
	f.bytes = 0;
	ok(isnan(figures_cost(&f)), "where nothing was moved there is no cost");
}

static void test_values(void)
{
	struct figures f;

	figures_init(&f);
	f.bytes = 7;
	f.host.load = 0.25;
	strcpy(f.method, "read");
	ok(figure_value(figure_named("bytes"), &f) == 7 &&
		   figure_factor(figure_named("bytes")) == 1,
	   "a count is found by its key");
	ok(figure_value(figure_named("load_percent"), &f) == 0.25 &&
		   figure_factor(figure_named("load_percent")) == 100,
	   "a load is a share, and its key in percent");
	ok(isnan(figure_value(figure_named("method"), &f)), "a word is no number");
	ok(figure_is_possible(FIGURE_COST, -1) && !figure_is_possible(FIGURE_SHARE, -1) &&
		   !figure_is_possible(FIGURE_NUMBER, 0.5) && !figure_is_possible(FIGURE_US, NAN),
	   "a figure has the bounds and the fraction of its kind");
}

/*
 * Receipts.
 */

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
	const char *bad =
		"|\n|bytes=5 seconds=0.5|bytes=5\n|seconds=5\n|bytes=5  seconds=1\n|bytes=5 seconds=1 \n"
		"| bytes=5 seconds=1\n|bytes=5 seconds=1\n\n|bytes=5\nseconds=1\n|bytes=-5 seconds=1\n"
		"|bytes=5 seconds=-1\n|bytes=5 seconds=nan\n|bytes=5 seconds=inf\n|bytes=5 seconds=0x1\n"
		"|bytes=5 seconds=1e3\n|bytes=18446744073709551616 seconds=1\n|bytes= seconds=1\n"
		"|bytes=5 bytes=5 seconds=1\n|=5 bytes=5 seconds=1\n|bytes=1000000000000001024 seconds=1\n"
		"|bytes=1000000000000000001024 seconds=1\n|bytes=5.5 seconds=1\n|bytes=5 seconds=1-2\n"
		"|bytes=5 seconds=1000000000.001\n";
	const char *last = /* behind "bytes=5 seconds=1 " */
		"tasks=1 tasks=1|x|X=1|load=1\t|later=\200|later=\177|load=-100.001|load=100.001"
		"|uncertainty=100.001|uncertainty=-0.1|steal=100.001|cpus=8192.001|cpu=8192"
		"|interrupts=1000000000000001|method=UP|method=aaaaaaaaaaaaaaaa|rcv_rtt=-1|unsafe=|unsafe=,"
		"|unsafe=steal,|unsafe=steal,,weight|unsafe=Steal|kernel=6.1\"x|kernel="
		"|version=1234567890123456|kernel=a kernel=a|cpu=0.5|rcv_mss=0.5|out_of_order=0.5";
	char line[128];
	const char *s;
	struct figures f;
	size_t i;

	for (i = 0; i < LENGTH(good); i++)
		ok(parse(good[i], &f) == NULL, "'%s' is a receipt", good[i]);
	while ((s = next_of(&bad)) != NULL)
		ok(parse(s, &f) != NULL, "'%s' is no receipt", s);
	while ((s = next_of(&last)) != NULL) {
		snprintf(line, sizeof(line), "bytes=5 seconds=1 %s\n", s);
		ok(parse(line, &f) != NULL, "'%s' is no receipt", line);
	}
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

/*
 * The documents.
 */

static char names[1 << 17]; /* that a document has, with blanks between */

/*
 * Reads from a file of man/, between the lines `from` and `to`, what lines that begin with `mark` have behind
 * it, up to a character of `stop`.
 */
static void read_names(const char *file, const char *from, const char *to, const char *mark,
		       const char *stop)
{
	const char *top = getenv("TOP");
	char path[4096], line[4096];
	bool inside = false;
	FILE *f;

	names[0] = '\0';
	snprintf(path, sizeof(path), "%s/man/%s", top != NULL ? top : ".", file);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL &&
	       !(inside && strcmp(line, to) == 0)) {
		if (inside && strncmp(line, mark, strlen(mark)) == 0)
			string_append(names, sizeof(names), " %.*s",
				      (int)strcspn(line + strlen(mark), stop), line + strlen(mark));
		inside |= strcmp(line, from) == 0;
	}
	ok(inside && f != NULL && !feof(f), "%s has what begins with: %s", file, from);
	if (f != NULL)
		fclose(f);
}

/* Removes a name; returns whether it was there. */
static bool take(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	const size_t len = strlen(name);
	char *p;

	for (p = names; (p = strstr(p, name)) != NULL; p += len)
		if (strchr(letters, p[-1]) == NULL &&
		    (p[len] == '\0' || strchr(letters, p[len]) == NULL)) {
			memset(p, ' ', len);
			return true;
		}
	return false;
}

/* The document must have the figures of these objects of JSON, or of receipts if there is none. */
static void has_figures(const char *document, unsigned objects)
{
	const struct figure *row;
	const char *key;

	for (row = figure_table; row < figure_table + figure_rows; row++) {
		key = (row->objects & objects) != 0 ? row->key : objects == 0 ? row->receipt : NULL;
		if (key != NULL)
			ok(take(key), "%s has %s", document, key);
	}
}

static void has_no_other(const char *document)
{
	ok(names[strspn(names, " ,")] == '\0', "%s has no other:%s", document, names);
}

static void test_wire(void)
{
	read_names("zc-wire.5", ".Ss The receipt\n", ".Ss Rejection\n", ".It Cm ", "\n");
	string_append(names, sizeof(names), " refused"); /* in a part of its own */
	has_figures("zc-wire(5)", 0);
	has_no_other("zc-wire(5)");
}

static void test_json(void)
{
	static const struct {
		const char *name;
		unsigned objects;
		const char *others[6]; /* that are no figures */
	} object[] = {
		{"sender", IN_SENDER, {"socket", "start", "end", "sender"}},
		{"receiver", IN_RECEIVER, {"socket", "start", "end", "sender"}},
		{"interval",
		 IN_INTERVAL,
		 {"socket", "start", "end", "clients", "omitted", "sender"}},
		{"host", IN_HOST, {"accounting_percent", "environment"}},
		{"accounting", IN_ACCOUNTING, {NULL}},
	};
	char from[64];
	size_t i, k;

	for (i = 0; i < LENGTH(object); i++) {
		snprintf(from, sizeof(from), "    \"%s\": {\n", object[i].name);
		read_names("zc-json.schema.json", from, "    },\n", "        \"", "\"");
		has_figures(object[i].name, object[i].objects);
		for (k = 0; k < LENGTH(object[i].others) && object[i].others[k] != NULL; k++)
			take(object[i].others[k]);
		has_no_other(object[i].name);
	}
	read_names("zc-json.5", ".Sh MEMBERS IN SEVERAL OBJECTS\n", ".Ss The host\n", "", "\n");
	has_figures("zc-json(5)", IN_SENDER | IN_RECEIVER | IN_HOST | IN_ACCOUNTING);
}

int main(void)
{
	test_init();
	test_add();
	test_rates();
	test_costs();
	test_values();
	test_parse();
	test_keys();
	test_length();
	test_format();
	test_room();
	test_wire();
	test_json();
	return done();
}
