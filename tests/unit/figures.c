#include "lib/report/figures.h"

#include "lib/report/json.h"
#include "tests/unit/unit.h"

/* Every key of a receipt, with a value of its own. */
static const char all_keys[] =
	"bytes=1 seconds=2 files=3 reads=4 warmup=5 clients=6 method=seven refused=eight "
	"cpu=9 load=10 uncertainty=11 cpus=12 slowed=13 tasks=14 interrupts=15 "
	"packets_in=16 packets_out=17 user=18 nice=19 system=20 idle=21 iowait=22 irq=23 "
	"softirq=24 steal=25 rcv_rtt=26 rcv_mss=27 out_of_order=28 softnet_dropped=29 "
	"softnet_squeezed=30 switches=31 unsafe=steal version=0.2.0-rc1 "
	"kernel=6.18.0+deb13-amd64 no_load=held instrument=countedbythepmu "
	"boot=0123456789abcdef tls=aes-128-gcm tls_version=1.3 tls_by=software tls_records=32 "
	"tls_no_pad=1 tls_errors=33";

/* Prints figures as a receipt. */
static void print_receipt(const struct figures *f)
{
	char line[RECEIPT_MAX];

	report("%.*s", (int)receipt_format(f, line), line);
}

/* Prints all that JSON has of figures, and then those that comparisons have. */
static void print_all(const struct figures *f)
{
	const struct figure *row;
	struct json j = {.depth = 0};

	json_open(&j, NULL, '{');
	json_rows(&j, f, ~0u);
	for (row = figure_table; row < figure_table + figure_rows; row++)
		if (row->key != NULL && row->objects == 0)
			json_number(&j, row->key, figure_factor(row) * figure_value(row, f));
	json_close(&j, '}');
	report("\n");
}

/* Figures when nothing was measured, all keys of a receipt, and a sum of two. */
static void test_sums(void)
{
	struct figures sum, a = figures_of(all_keys);

	capture(STDOUT_FILENO);
	memset(&sum, 0x11, sizeof(sum));
	figures_init(&sum);
	print_all(&sum);
	print_receipt(&sum);
	print_receipt(&a);
	a.tcp.retransmits = 5;
	a.tcp.segments = 100;
	a.tcp.mss = 1448;
	a.tcp.busy = 12;
	a.tcp.rwnd_limited = 4;
	a.waits = (struct waits){20, 4, 3, 21, 22, 23, 24};
	a.zerocopy = (struct zerocopy_figures){1, 2, 3};
	a.host.baseline = BASELINE_OWN;
	figures_add(&sum, &a);
	print_all(&sum);
	a.seconds = 3; /* the longest may be the last that is added */
	a.waits.max_cwnd = 1;
	a.tcp.mss = 536;
	strcpy(a.method, "eight");
	a.tcp.busy = NAN;
	a.host.unsafe = UNSAFE_WEIGHT;
	figures_add(&sum, &a);
	print_all(&sum);
	expect(captured(),
	       "figures of nothing, of one, and a sum of two, of which the longer one has the load");
}

static double value(const char *key, const struct figures *f)
{
	return figure_value(figure_named(key), f);
}

static void test_values(void)
{
	struct figures f = figures_of("bytes=125000000 seconds=0.5 load=0.25 cpus=1 method=read");

	ok(kib_per_second(&f) == 125000000 / 512.0 && per_second(10, 4) == 2.5 &&
		   per_second(1, 0) == 0 && per_second(1, NAN) == 0,
	   "rates are per second, and 0 in no time or an unknown one");
	ok(value("bits_per_second", &f) == 2e9 && value("bytes", &f) == 125000000 &&
		   isnan(value("method", &f)),
	   "a throughput in bits, a count, and a word, which is no number");
	ok(value("load_percent", &f) == 0.25 && figure_factor(figure_named("load_percent")) == 100,
	   "a load is a share, and its key in percent");
	f.cut = true;
	ok(isnan(value("bits_per_second", &f)), "what was cut has no throughput");
	ok(figure_is_possible(FIGURE_COST, -1) && !figure_is_possible(FIGURE_SHARE, -1) &&
		   !figure_is_possible(FIGURE_NUMBER, 0.5) && !figure_is_possible(FIGURE_US, NAN),
	   "a figure has the bounds and the fraction of its kind");
	/* Half of 2 CPUs for 1 s is 1e6 us; over 1000 KiB that is 1000 us/KiB. */
	f = figures_of("bytes=1024000 seconds=1 load=0.5 uncertainty=0.05 cpus=2");
	ok(near(figures_cost(&f), 1000) && near(value("cost_uncertainty_us_per_kib", &f), 100) &&
		   near(figures_cost_each(&f, 500), 2000) && isnan(figures_cost_each(&f, 0)),
	   "a cost is in us per KiB or of each, and as uncertain as its load");
}

/* Each number that is stored, in each place that a row of the table names, and in the sum of two. */
static void test_places(void)
{
	const struct figure *row;
	struct figures f, g, sum;
	char line[KEPT_MAX], key[64];
	double n, want;
	const char *found;

	for (row = figure_table; row < figure_table + figure_rows; row++) {
		if (row->derive != NULL || row->all != 0 || row->kind > FIGURE_SHARE)
			continue;
		f = g = figures_of("bytes=1 seconds=1 load=0.5 cpus=1");
		figures_init(&sum);
		n = (double)((row - figure_table) % 64) + 2; /* each kind can be that */
		if (row->kind == FIGURE_COUNT)
			/* NOLINTNEXTLINE(performance-no-int-to-ptr): the table gives const members */
			*(uint64_t *)(uintptr_t)figure_member(row, &f) = (uint64_t)n;
		else
			/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
			*(double *)(uintptr_t)figure_member(row, &f) = n;
		if (row->receipt != NULL) {
			ok((receipt_parse(line, receipt_format(&f, line), &g) == NULL &&
			    figure_value(row, &g) == n) == !row->is_kept,
			   "%s: a receipt has it, unless it is one that is only kept",
			   row->receipt);
			strcpy(line, receipt_format_kept(&f));
			ok(receipt_parse_kept(line, &g) == NULL && figure_value(row, &g) == n,
			   "%s: a receipt that is kept has it", row->receipt);
		}
		if (row->key != NULL && row->objects != 0) {
			snprintf(key, sizeof(key), "\"%s\":", row->key);
			capture(STDOUT_FILENO);
			print_all(&f);
			found = strstr(captured(), key);
			want = n * figure_factor(row);
			ok(found != NULL && near(strtod(found + strlen(key), NULL), want),
			   "%s: JSON has it, times %g", row->key, figure_factor(row));
		}
		figures_add(&sum, &f);
		figures_add(&sum, &f);
		want = row->sum == SUM_ADDED ? 2 * n : row->sum == SUM_NONE ? NAN : n;
		ok(figure_value(row, &sum) == want ||
			   (isnan(want) && isnan(figure_value(row, &sum))),
		   "row %d: a sum of two has it by its rule", (int)(row - figure_table));
	}
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
	const char *good = /* the fifth is of 0.4.0 */
		"bytes=5 seconds=0.5|seconds=1 bytes=0|bytes=5 seconds=0.5 load=-0.01 cpus=2 reads=7 files=3"
		"|bytes=1000000000000000000 seconds=1 new_key=some.text,1"
		"|bytes=5 seconds=1 load=0.5 cpus=2 load_seconds=0.9 load_bytes=4"
		"|bytes=5 seconds=1000000000 load=-100 cpus=8192"
		"|bytes=5 seconds=1 load=100 uncertainty=100 steal=100 cpus=1|refused=full";
	const char *bad =
		"|\n|bytes=5 seconds=0.5|bytes=5\n|seconds=5\n|bytes=5  seconds=1\n|bytes=5 seconds=1 \n"
		"|bytes=5 seconds=-1\n|bytes=5 seconds=nan\n|bytes=5 seconds=inf\n|bytes=5 seconds=0x1\n"
		"|bytes=5 seconds=1e3\n|bytes=18446744073709551616 seconds=1\n|bytes= seconds=1\n"
		"|bytes=5 bytes=5 seconds=1\n|=5 bytes=5 seconds=1\n|bytes=1000000000000001024 seconds=1\n"
		"|bytes=1000000000000000001024 seconds=1\n|bytes=5.5 seconds=1\n|bytes=5 seconds=1-2\n"
		"|bytes=5 seconds=1000000000.001\n";
	const char *last = /* behind "bytes=5 seconds=1 " */
		"tasks=1 tasks=1|x|X=1|load=1\t|later=\200|later=\177|load=-100.001|load=100.001"
		"|uncertainty=100.001|uncertainty=-0.1|steal=100.001|cpus=8192.001"
		"|interrupts=1000000000000001|method=UP|method=aaaaaaaaaaaaaaaa|rcv_rtt=-1|unsafe=steal,"
		"|unsafe=Steal|kernel=6.1\"x|kernel="
		"|version=1234567890123456|kernel=a kernel=a|cpu=0.5|rcv_mss=0.5|out_of_order=0.5";
	char line[RECEIPT_MAX + 2];
	const char *s;
	struct figures f;

	while ((s = next_of(&good)) != NULL) {
		snprintf(line, sizeof(line), "%s\n", s);
		ok(parse(line, &f) == NULL, "'%s' is a receipt", line);
	}
	while ((s = next_of(&bad)) != NULL)
		ok(parse(s, &f) != NULL, "'%s' is no receipt", s);
	while ((s = next_of(&last)) != NULL) {
		snprintf(line, sizeof(line), "bytes=5 seconds=1 %s\n", s);
		ok(parse(line, &f) != NULL, "'%s' is no receipt", line);
	}
	ok(receipt_parse("bytes=5 seconds=1\0 x=1\n", 23, &f) != NULL,
	   "a line with a NUL is no receipt");
	ok(parse("bytes=5 seconds=1 load=0.5 cpus=0.999\n", &f) == NULL && isnan(f.host.load) &&
		   parse("bytes=5 seconds=1 load=0.5\n", &f) == NULL && isnan(f.host.load),
	   "a load of less than one CPU, or of an unknown number, is not known");
	f = figures_of("bytes=5 seconds=1 unsafe=steal,new_2,cpu_offline");
	ok(f.host.unsafe == (UNSAFE_STEAL | UNSAFE_OTHER | UNSAFE_CPU_OFFLINE),
	   "a reason of a newer version is one of the others");
	snprintf(line, sizeof(line), "bytes=5 seconds=1 x=%0*d\n", RECEIPT_MAX - 21, 0);
	ok(parse(line, &f) == NULL && strlen(line) == RECEIPT_MAX,
	   "a receipt may have RECEIPT_MAX bytes");
	snprintf(line, sizeof(line), "bytes=5 seconds=1 x=%0*d\n", RECEIPT_MAX - 20, 0);
	ok(parse(line, &f) != NULL, "one byte more is no receipt");
}

/* Receipts of loads, of numbers that a receipt cannot have, and of the least that it can. */
static void test_receipts(void)
{
	struct figures f = figures_of(
		"bytes=7 files=2 reads=3 seconds=1.5 load=0.25 cpus=4 method=trunc");

	capture(STDOUT_FILENO);
	print_receipt(&f);
	f.host.unsafe = (1u << UNSAFE_REASONS) - 1;
	print_receipt(&f);
	f.host.unsafe = 0;
	f.host.load = NAN;
	f.host.rates.interrupts = f.host.uncertainty = f.tcp.rcv_rtt = 1.7e308;
	f.host.tasks = -1e-3;
	f.host.slowed = -0.0;
	strcpy(f.kernel, "6.1 with blanks");
	print_receipt(&f);
	expect(captured(), "receipts omit what they cannot have");
}

/*
 * The documents of man/.
 */

/* The power of ten with the most digits that a kind of figure can have. */
static double longest(enum figure_kind kind)
{
	double n = 1e18;

	while (!figure_is_possible(kind, n) && !figure_is_possible(kind, -n))
		n /= 10;
	return figure_is_possible(kind, -n) ? -n : n;
}

/* The longest receipts that there can be: of each number the greatest, and of each text all bytes. */
static void test_longest(void)
{
	char line[RECEIPT_MAX];
	const struct figure *row;
	struct figures f;
	char *member;

	figures_init(&f);
	f.host.unsafe = (1u << UNSAFE_REASONS) - 1;
	for (row = figure_table; row < figure_table + figure_rows; row++) {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): the table gives const members */
		member = (char *)(uintptr_t)figure_member(row, &f);
		if (row->receipt != NULL && row->size > 0)
			memset(member, 'a', row->size - 1);
		else if (row->kind == FIGURE_COUNT)
			*(uint64_t *)(void *)member = (uint64_t)longest(row->kind);
		else if (row->derive == NULL && row->all == 0 && row->kind <= FIGURE_SHARE)
			*(double *)(void *)member = longest(row->kind);
	}
	ok(receipt_format(&f, line) < RECEIPT_MAX && strlen(receipt_format_kept(&f)) < KEPT_MAX - 1,
	   "the longest receipts have room: %zu bytes, and %zu where one is kept",
	   receipt_format(&f, line), strlen(receipt_format_kept(&f)));
}

#define KEPT (1u << 31) /* in the place of objects: figures that only --save keeps */

/* What a command prints there must be the keys of these objects of JSON, or of receipts, and the others. */
static void check_keys(const char *command, const char *document, unsigned objects,
		       const char *others)
{
	char all[8192] = "cd ${TOP:-.}/man && { printf '%s\\n' ", got[4096];
	const struct figure *row;
	const char *key;
	FILE *f;

	for (row = figure_table; row < figure_table + figure_rows; row++) {
		key = (row->objects & objects) != 0 ? row->key : NULL;
		if (objects == (row->is_kept ? KEPT : 0))
			key = row->receipt;
		if (key != NULL)
			string_append(all, sizeof(all), "%s ", key);
	}
	string_append(all, sizeof(all), "%s; ", others);
	string_append(all, sizeof(all), command, document);
	string_append(all, sizeof(all), "; } | sort | uniq -u");
	/* NOLINTNEXTLINE(cert-env33-c): the words are those of this file and of the table */
	f = popen(all, "r");
	got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
	pclose(f);
	is(got, "", "the keys of %s are those of its document", document);
}

static void test_documents(void)
{
	static const struct {
		const char *name;
		unsigned objects;
		const char *others;
	} cases[] = {{"sender", IN_SENDER, "socket start end sender"},
		     {"receiver", IN_RECEIVER, "socket start end sender"},
		     {"interval", IN_INTERVAL, "socket start end sender clients omitted"},
		     {"host", IN_HOST, "accounting_percent environment no_load_text profile"},
		     {"profile", IN_PROFILE, ""},
		     {"accounting", IN_ACCOUNTING, ""}};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++)
		check_keys(
			"sed -n '/^    \"[a-z_]*%s\": {$/,/^    },$/s/^        \"\\([a-z_]*\\)\".*/\\1/p' "
			"zc-json.schema.json",
			cases[i].name, cases[i].objects, cases[i].others);
	check_keys("echo refused; sed -n '/^.Ss %s/,/^.Ss Rejection/s/^.It Cm //p' zc-wire.5 | "
		   "tr -d ' ' | tr , '\\n'",
		   "The receipt", 0, "");
	check_keys("sed -n '/^.Ss %s/,/^.Sh/s/^.It Cm //p' zc-save.5 | tr -d ' ' | tr , '\\n'",
		   "Figures that no peer sends", KEPT, "");
}

static void test_commands(void)
{
	const struct rusage usage = {.ru_utime = {1, 250000}, .ru_stime = {2, 500000}};
	const struct command_figures f = command_figures_of(&usage);

	ok(f.user == 1.25 && f.system == 2.5, "a command's CPU times are seconds");
}

TESTS(test_commands, test_sums, test_values, test_places, test_parse, test_receipts, test_longest,
      test_documents)
