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
	test_wire();
	test_json();
	return done();
}
