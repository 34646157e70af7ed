#include "lib/report/figures.h"

#include "lib/report/json.h"
#include "tests/unit/filled.h"

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

/* Figures when nothing was measured, all that there can be, and sums. */
static void test_all(void)
{
	struct figures f, sum, a = filled(IN_SENDER | IN_RECEIVER, UNSAFE_STEAL),
			       b = filled(IN_SENDER | IN_RECEIVER, UNSAFE_WEIGHT);
	char line[RECEIPT_MAX], kept[KEPT_MAX];

	capture(STDOUT_FILENO);
	memset(&sum, 0x11, sizeof(sum));
	figures_init(&sum);
	print_all(&sum);
	print_receipt(&sum);
	print_all(&a);
	print_receipt(&a);
	report("%s\n", receipt_format_kept(&a));
	figures_add(&sum, &a);
	figures_add(&sum, &a);
	print_all(&sum);
	b.seconds = a.seconds + 1; /* the longest may be the last that is added */
	b.tcp.busy = NAN;
	sum = a;
	figures_add(&sum, &b);
	print_all(&sum);
	b.seconds = a.seconds - 1;
	sum = a;
	figures_add(&sum, &b);
	print_all(&sum);
	expect(captured(), "figures: none, all, and sums, of which the longer one has the load");
	strcpy(kept, receipt_format_kept(&a));
	ok(receipt_parse_kept(strcpy(line, kept), &f) == NULL &&
		   strcmp(receipt_format_kept(&f), kept) == 0,
	   "all figures are read from a receipt that is kept");
	ok(receipt_parse(line, receipt_format(&a, line), &f) == NULL &&
		   receipt_format(&f, kept) == receipt_format(&a, line) &&
		   memcmp(kept, line, receipt_format(&a, line)) == 0 && isnan(f.requests.n),
	   "all figures but those that are only kept are read from a peer's receipt");
}

static double value(const char *key, const struct figures *f)
{
	return figure_value(figure_named(key), f);
}

static void test_values(void)
{
	const struct rusage usage = {.ru_utime = {1, 250000}, .ru_stime = {2, 500000}};
	const struct command_figures c = command_figures_of(&usage);
	struct figures f = figures_of("bytes=125000000 seconds=0.5 method=read");

	ok(c.user == 1.25 && c.system == 2.5, "a command's CPU times are seconds");
	ok(kib_per_second(&f) == 125000000 / 512.0 && per_second(10, 4) == 2.5 &&
		   per_second(1, 0) == 0 && per_second(1, NAN) == 0,
	   "rates are per second, and 0 in no time or an unknown one");
	ok(value("bits_per_second", &f) == 2e9 && isnan(value("method", &f)),
	   "a throughput is in bits, and a word is no number");
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

/* A row of the table: the object of JSON that has it, where man/ has its key, and the keys that only man/ has. */
static const struct document {
	unsigned objects; /* 0: a receipt of a peer; KEPT: one that is kept */
	const char *command, *section, *others;
} documents[] = {
#define KEPT 1u << 31
#define SCHEMA                                                                                     \
	"sed -n '/^    \"[a-z_]*%s\": {$/,/^    },$/s/^        \"\\([a-z_]*\\)\".*/\\1/p' zc-json.schema.json"
#define PAGE "sed -n '/^.Ss %s/,/^.S[sh] Re\\|^.Sh/s/^.It Cm //p' zc-*.5 | tr -d ' ' | tr , '\\n'"
	{IN_SENDER, SCHEMA, "sender", "socket start end sender"},
	{IN_RECEIVER, SCHEMA, "receiver", "socket start end sender"},
	{IN_INTERVAL, SCHEMA, "interval", "socket start end sender clients omitted"},
	{IN_HOST, SCHEMA, "host", "accounting_percent environment no_load_text profile"},
	{IN_PROFILE, SCHEMA, "profile", ""},
	{IN_ACCOUNTING, SCHEMA, "accounting", ""},
	{0, PAGE, "The receipt", "refused"},
	{KEPT, PAGE, "Figures that no peer sends", ""},
};

static void test_documents(void)
{
	const struct document *d;
	const struct figure *row;
	char all[8192], got[4096];
	const char *key;
	FILE *f;

	for (d = documents; d < documents + LENGTH(documents); d++) {
		strcpy(all, "cd ${TOP:-.}/man && { printf '%s\n' ");
		for (row = figure_table; row < figure_table + figure_rows; row++) {
			key = (row->objects & d->objects) != 0 ? row->key : NULL;
			if (d->objects == (row->is_kept ? KEPT : 0))
				key = row->receipt;
			string_append(all, sizeof(all), "%s ", key != NULL ? key : "");
		}
		string_append(all, sizeof(all), "%s; ", d->others);
		string_append(all, sizeof(all), d->command, d->section);
		string_append(all, sizeof(all), "; } | sort | uniq -u");
		/* NOLINTNEXTLINE(cert-env33-c): the words are those of this file and of the table */
		f = popen(all, "r");
		got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
		pclose(f);
		is(got, "", "the keys of %s are those of its document", d->section);
	}
}

TESTS(test_all, test_values, test_parse, test_receipts, test_longest, test_documents)
