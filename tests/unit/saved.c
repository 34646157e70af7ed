/* Files of --save: lib/compare/saved.  zc-save(5) has their format. */
#include "lib/base/proc.h"
#include "lib/compare/saved.h"

#include "lib/send/measures.h"
#include "tests/unit/unit.h"

#define ID    "00000000000000a1"
#define OTHER "00000000000000b2"
#define FACTS(id)                                                                                  \
	id "\t#\truns: 2\n" id "\t#\tmachine: zcc 2.0, host\n" id "\t#\t--prepare: a\\tb\n"
#define RECEIPT               "bytes=1048576 seconds=1 load=0.5 cpus=2 shared=0.25"
#define RUN(id, round, words) id "\t" round "\twords=" words "\tnew=1\tsent=" RECEIPT "\n"
#define ONE(id)               RUN(id, "1", "-m a") RUN(id, "1", "-m b")
#define TWO(id)               RUN(id, "2", "-m b") RUN(id, "2", "-m a")
#define HEAD                  "#zc-save 2\n"
#define IGNORED               "saved: file: line 7 is ignored: "

static struct plan *last;

static const char *parse(const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	const char *why;

	saved_close(last);
	capture(STDERR_FILENO);
	why = saved_parse(f, &trials_kind, "file", &last);
	captured();
	fclose(f);
	return why;
}

/* Parses a file behind its head: it must have so many sessions, the last one so many rounds, and this on stderr. */
static void reads(const char *text, int sessions, int rounds, const char *printed_is,
		  const char *title)
{
	char *file;

	if (asprintf(&file, HEAD "%s", text) < 0)
		abort();
	ok(parse(file) == NULL && plan_sessions(last) == sessions &&
		   (last == NULL ? 0 : last->rounds) == rounds,
	   "%s: %d sessions, %d rounds", title, sessions, rounds);
	is(printed, printed_is, "and what is printed of it");
	free(file);
}

static void test_reading(void)
{
	reads(FACTS(ID) ONE(ID) TWO(ID), 1, 2, "", "a session");
	ok(last->n == 2 && plan_figure(last, 0, LOAD, 1) == 0.5 &&
		   plan_figure(last, 0, SHARED, 0) == 0.25 &&
		   strcmp(plan_fact(last, "--prepare"), "a\tb") == 0 &&
		   strcmp(plan_value(&last->run[1], RUN_WORDS), "-m b") == 0,
	   "figures, facts and words are in their places, and an unknown field is ignored");
	reads(FACTS(ID) ONE(ID) FACTS(OTHER) ONE(OTHER) HEAD TWO(OTHER), 2, 2, "",
	      "two sessions, and files that were joined");
	reads(FACTS(ID) ONE(ID) FACTS(OTHER) ONE(OTHER) TWO(ID) TWO(OTHER), 2, 2, "",
	      "sessions whose rounds take turns");
	reads(FACTS(ID) ONE(ID) RUN(ID, "2", "-m b"), 1, 1, "", "a round without its last run");
	reads(FACTS(ID) RUN(ID, "1", "-m a"), 0, 0, "", "a session without a complete round");
	reads(FACTS(ID) ONE(ID) ID "\t2\twords=-m b\tfailed=no route\n" RUN(ID, "2", "-m a"), 1, 2,
	      "", "a run that failed");
	ok(last->failures == 1 && isnan(plan_figure(last, 1, LOAD, 1)) &&
		   plan_figure(last, 0, LOAD, 1) == 0.5,
	   "a run that failed has no figures, and its round counts for others");
	reads(FACTS(ID) ONE(ID) ID "\t2\twords=-m b\tsent=bytes=1 sec\n" RUN(ID, "2", "-m a")
		      RUN(ID, "3", "-m a") RUN(ID, "3", "-m b"),
	      1, 2, IGNORED "a receipt does not parse\n",
	      "a line that was cut voids its round alone");
	reads(FACTS(ID) ONE(ID) RUN(ID, "2", "-m c") RUN(ID, "2", "-m a"), 1, 1,
	      IGNORED "its round has other runs than the first one\n",
	      "a run that the first round has not");
	reads(FACTS(ID) ONE(ID) "nonsense\n" TWO(ID), 1, 2,
	      IGNORED "it does not begin with a session and a round\n", "a line of something else");
	reads(ONE(OTHER), 0, 0,
	      "saved: file: line 2 is ignored: no line before it tells how many runs a round has\n"
	      "saved: file: line 3 is ignored: no line before it tells how many runs a round has\n",
	      "a session without facts");
	reads(FACTS(ID) ONE(ID) TWO(ID) FACTS(ID) ONE(ID) TWO(ID) RUN(ID, "3", "-m a")
		      RUN(ID, "3", "-m b"),
	      1, 3,
	      "saved: file: line 9 is ignored: its session is there already: a round counts once\n",
	      "a file that was joined with itself, and that has grown meanwhile");
}

static void test_many(void)
{
	char text[1024] = FACTS(ID) ONE(ID), told[1024] = "";
	int i;

	for (i = 7; i <= 19; i++)
		strcat(text, "a\n");
	for (i = 7; i <= 16; i++)
		string_append(told, sizeof(told), "saved: file: line %d is ignored: %s\n", i,
			      "it does not begin with a session and a round");
	strcat(told, "saved: file: 3 more lines are ignored\n");
	reads(text, 1, 1, told, "thirteen lines of something else");
}

static void test_rejected(void)
{
	const char *list =
		"# zcc 1.1.0, Linux\n>is of zc 1.x, whose files this version does not read: "
		"give a new file|# cyclesoak 1.1.0\n>is of zc 1.x, whose files this version "
		"does not read: give a new file|round\tmethod\n>was not written by --save";
	const char *case_;
	char text[256], *want;

	while ((case_ = next_of(&list)) != NULL) {
		strcpy(text, case_);
		want = strchr(text, '>');
		*want++ = '\0';
		is(parse(text), want, "a file that begins with %.8s", text);
	}
	is(parse(HEAD OTHER "\t#\truns: 1\n" OTHER "\t#\tmachine: cyclesoak 2.0, host\n" OTHER
			    "\t1\tcommand=true\tsent=" RECEIPT "\n"),
	   "was written by another program", "a session of cyclesoak");
	ok(parse("") == NULL && last == NULL, "an empty file has no session");
}

/* Returns a new file with this text. */
static char *file_of(const char *text)
{
	static char path[] = "/tmp/zc-saved-XXXXXX";
	FILE *f;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	f = fdopen(mkstemp(path), "w");
	fputs(text, f);
	fclose(f);
	return path;
}

/* Two rounds of a run whose words have all that is escaped, behind a session that has no newline at its end. */
static void test_writing(void)
{
	static const char words[] = "a\tb\nc\\d\033e\xff\xc3\xa4";
	char *path = file_of(HEAD FACTS(ID) ONE(ID) "torn");
	struct figures f = figures_of("bytes=1 seconds=1");
	const struct ends ends = {.sent = &f, .received = &f, .local = true};
	struct saving saving = {.f = NULL};
	struct plan p, *kept;
	char *text;
	size_t size;
	int i;

	plan_open(&p, &trials_kind, 1);
	plan_set_value(&p.run[0], RUN_WORDS, words);
	plan_set_value(&p.run[0], RUN_SETTING, "s");
	p.run[0].reference = 1;
	plan_set(&p, "title", "%s", "t");
	f.tcp.retransmits = 3;
	for (i = 0; i < 2; i++) {
		saved_run(&saving, &p, 0, &ends, NULL);
		plan_add(&p, 0, &ends);
		saved_round_or_die(&saving, &p, path);
	}
	saved_run(&saving, &p, 0, NULL, "no\nroute");
	saved_round_or_die(&saving, &p, path);
	saved_run(&saving, &p, 0, &ends, NULL);
	saved_round_or_die(&saving, &p, NULL);
	text = file_read_all(path, &size);
	has(text, "\ntorn\n", "a write begins with a newline where the file has none at its end");
	has(text,
	    "\t1\tsetting=s\twords=a\\tb\\nc\\\\d\\x1be\\xff\xc3\xa4\treference=1\tsent=bytes=1 ",
	    "words are escaped");
	has(text, "\treceived=bytes=1 ", "either end has its receipt");
	has(text, "\tfailed=no\\nroute\n", "a run that failed has its reason");
	ok(memmem(text, size, "title: t", 8) != NULL &&
		   strstr(strstr(text, "title: t") + 1, "title") == NULL,
	   "the facts stand before the first round alone");
	capture(STDERR_FILENO);
	kept = saved_read_or_die(&trials_kind, "--save", path);
	captured();
	ok(plan_sessions(kept) == 2 && kept->rounds == 3 && kept->failures == 1 &&
		   strcmp(kept->failure[0], "no\nroute") == 0 &&
		   strcmp(plan_value(&kept->run[0], RUN_WORDS), words) == 0 &&
		   strcmp(kept->id, p.id) == 0,
	   "what is written is read, and a round that is forgotten is not written");
	saved_close(kept);
	plan_close(&p);
	free(text);
	unlink(path);
}

/* A run with words of so many bytes: tried before a comparison, and written. */
static void write_long(void *size)
{
	struct saving saving = {.f = NULL};
	char words[17000];
	struct plan p;

	snprintf(words, sizeof(words), "%*s", atoi(size), "x");
	plan_open(&p, &trials_kind, 1);
	plan_set_value(&p.run[0], RUN_WORDS, words);
	saved_run(&saving, &p, 0, NULL, "failed");
	saved_try_or_die(&p, "/tmp");
	exit(EXIT_SUCCESS);
}

static void test_long(void)
{
	static const char *const sizes[][2] = {
		{"16800", "--save: a run has more than 16384 bytes: give it a shorter command\n"},
		{"8168", "--save: run 1 has more than 8192 bytes: give it a shorter command\n"},
		{"8167", "cannot write /tmp: not a regular file\n"}};
	size_t i;

	for (i = 0; i < LENGTH(sizes); i++) {
		ok(died(write_long, (void *)sizes[i][0]) == EXIT_FAILURE,
		   "a run of %s bytes is an error", sizes[i][0]);
		has(printed, sizes[i][1], "which says so");
	}
}

TESTS(test_reading, test_many, test_rejected, test_writing, test_long)
