/*
 * unit.h: what the unit tests share.  tests/unit/NAME.c is a program of its own, which tests the part
 * of lib/ with that name, or common.c, and prints TAP: a line for each check, and their number last.
 *
 *	#include "tests/unit/unit.h"
 *
 *	int main(void)
 *	{
 *		ok(per_second(10, 2) == 5, "10 in 2 seconds are 5 per second");
 *		is(unsafe_mark(0), "", "a safe load has no mark");
 *		return done();
 *	}
 *
 *	make build/tests/unit/NAME && build/tests/unit/NAME
 *
 * At the end as many descriptors are open as at the beginning; a test that keeps some defines KEEPS_FILES.  As unit.sh
 * runs it, what it has allocated is freed.
 *
 * Texts of many lines are files: expect().  `make check T=unit` runs all of them.  A title is a format of
 * printf(3) that says what was done, and what must follow; it stands alone in a list of failures.
 */
#pragma once

#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A function that stands in for another need not use all that it is passed. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Whether two figures are the same but for how they were rounded. */
static inline bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

static struct {
	int checks, failures;
	const char *text; /* that was compared last */
} done_so_far;

/* That a load is not measured takes three lines of 80 columns at most. */
#define WHY_MOST 92 /* characters of a reason that stands beside another */

static inline bool is_short(const char *why)
{
	const char *word;
	int lines = 1, column = (int)strlen("cyclesoak: the load is not measured:"), n;

	for (word = why; *word != '\0'; word += n + (word[n] == ' ')) {
		n = (int)strcspn(word, " ");
		lines += column + 1 + n > 80;
		column = column + 1 + n > 80 ? n : column + 1 + n;
	}
	if (lines > 3)
		printf("# %d lines: %s\n", lines, why);
	return lines <= 3;
}

/* Prints text that may have any bytes, on one line that no reader of TAP takes for a directive. */
static inline void put_text(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s < ' ' || *s > '~' || *s == '#' || *s == '\\')
			printf("\\x%02x", (unsigned char)*s);
		else
			putchar(*s);
}

/* A check: `holds`, which stands at that line of the source, must be true. */
#define ok(holds, ...) check_ok(holds, #holds, __FILE__, __LINE__, __VA_ARGS__)

__attribute__((format(printf, 5, 6))) static inline bool
check_ok(bool holds, const char *code, const char *file, int line, const char *title, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, title);
	vsnprintf(text, sizeof(text), title, ap);
	va_end(ap);
	printf("%s %d - ", holds ? "ok" : "not ok", ++done_so_far.checks);
	put_text(text);
	printf("\n");
	if (!holds) {
		done_so_far.failures++;
		printf("# %s:%d: ", file, line);
		put_text(code);
		printf("\n");
	}
	return holds;
}

/* A check that cannot be made here, and why. */
static inline void skip(const char *title, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++done_so_far.checks, title, why);
}

/* A check: two strings must be the same. */
#define is(got, want, ...)                                                                         \
	(done_so_far.text = (got),                                                                 \
	 show_unless(ok(strcmp(done_so_far.text, want) == 0, __VA_ARGS__), done_so_far.text,       \
		     want))

static inline void show_unless(bool same, const char *got, const char *want)
{
	if (same)
		return;
	printf("# got:  ");
	put_text(got);
	printf("\n# want: ");
	put_text(want);
	printf("\n");
}

/* A check: a text must have a part. */
#define has(got, part, ...)                                                                        \
	(done_so_far.text = (got),                                                                 \
	 show_unless(ok(strstr(done_so_far.text, part) != NULL, __VA_ARGS__), done_so_far.text,    \
		     part))

/*
 * A check: a text must be that below `== TITLE` in tests/unit/expected/NAME, where NAME is the test's; shows
 * the first line that differs.  UPDATE writes the file anew.  Where a text lacks its last newline, the file
 * has a backslash; JSON has lines of 100 characters or more.
 */
static inline void expect(const char *got, const char *title)
{
	static char known[1 << 17], text[1 << 15], want[1 << 16], path[4096];
	static FILE *update;
	const char *at, *top = getenv("TOP");
	size_t n = 0, line = 0, began = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/unit/expected/%s", top != NULL ? top : ".",
		 program_invocation_short_name);
	if (known[0] == '\0' && (file = fopen(path, "r")) != NULL) {
		known[fread(known, 1, sizeof(known) - 1, file)] = '\0';
		fclose(file);
	}
	if (getenv("UPDATE") != NULL && update == NULL)
		update = fopen(path, "w");
	for (at = got; *at != '\0' && n < sizeof(text) - 4; at++) {
		text[n++] = *at;
		if (strchr("{\"", *got) != NULL && *at == ',' && text[n - 2] == '}' &&
		    n > began + 100)
			text[n++] = '\n';
		began = text[n - 1] == '\n' ? n : began;
	}
	strcpy(text + n, n > 0 && text[n - 1] != '\n' ? "\\\n" : "");
	if (update != NULL && fprintf(update, "== %s\n%s", title, text) > 0)
		fflush(update);
	snprintf(want, sizeof(want), "== %s\n", title);
	at = strstr(known, want);
	at = at != NULL ? at + strlen(want) : "";
	for (want[0] = '\0'; *at != '\0' && strncmp(at, "== ", 3) != 0; at += n) {
		n = strcspn(at, "\n") + 1;
		strncat(want, at, n);
	}
	for (n = 0; text[n] == want[n] && text[n] != '\0'; n++)
		if (text[n] == '\n')
			line = n + 1;
	ok(text[n] == want[n] || update != NULL, "%s", title);
	text[line + strcspn(text + line, "\n")] = want[line + strcspn(want + line, "\n")] = '\0';
	show_unless(strcmp(text, want) == 0, text + line, want + line);
}

/* Returns a copy of a table behind which nothing can be read: a loop that goes too far ends the test. */
static inline void *guarded(const void *table, size_t size)
{
	const size_t page = (size_t)getpagesize(), room = (size + page - 1) / page * page;
	char *copy = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (copy == MAP_FAILED || mprotect(copy + room, page, PROT_NONE) != 0)
		abort();
	return memcpy(copy + room - size, table, size);
}

#ifdef PLAN_ROUNDS
/* The tables of a program that compares, guarded. */
static inline struct plan_kind *guarded_kind(const struct plan_kind *of)
{
	struct plan_kind *kind = guarded(of, sizeof(*of));

	kind->measure = guarded(of->measure, (size_t)of->measures * sizeof(*of->measure));
	kind->key = guarded(of->key, (size_t)of->keys * sizeof(*of->key));
	return kind;
}
#endif

/* How often a text has another. */
static inline int occurrences(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

/* The lines of a text that another one lacks; with a separator, on one line. */
static inline const char *new_lines(const char *text, const char *before, const char *separator)
{
	static char lines[1 << 14];
	char line[256];
	size_t size;
	int n;

	for (lines[0] = '\0'; *text != '\0'; text += n + 1) {
		n = (int)strcspn(text, "\n");
		snprintf(line, sizeof(line), "\n%.*s\n", n, text);
		size = strlen(line) - 1;
		if (strstr(before, line) == NULL && strncmp(before, line + 1, size) != 0)
			snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines), "%.*s%s", n,
				 text, separator);
	}
	return lines;
}

/* How many descriptors this process has open: a function that opens one must close it. */
static inline int open_files(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* The bytes that this process has mapped: a function that maps some must unmap them. */
static inline size_t mapped_bytes(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	size_t n = 0;

	while (fscanf(maps, "%lx-%lx%*[^\n]", &from, &to) == 2)
		n += to - from;
	fclose(maps);
	return n;
}

/* What was printed, as captured() and died() return it. */
static char printed[1 << 16];

static struct {
	int fd, before, file;
	int out; /* the stdout that there was, if it is captured, too; 0: it is not */
} capturing;

/*
 * What is printed on a descriptor from here on, by stdio or by write(2), is what captured() returns:
 *
 *	capture(STDOUT_FILENO);
 *	report_end(&r);
 *	expect(captured(), "a report has its end");
 */
static inline void capture(int fd)
{
	fflush(stdout);
	capturing.fd = fd;
	capturing.before = dup(fd);
	capturing.file = memfd_create("printed", MFD_CLOEXEC);
	if (capturing.file < 0 || capturing.before < 0 || dup2(capturing.file, fd) < 0)
		abort();
}

/* The same of stderr and stdout. */
static inline void capture_all(void)
{
	capture(STDERR_FILENO);
	capturing.out = dup(STDOUT_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
}

static inline const char *captured(void)
{
	ssize_t n;

	fflush(stdout);
	if (capturing.out > 0) {
		dup2(capturing.out, STDOUT_FILENO);
		close(capturing.out);
		capturing.out = 0;
	}
	n = pread(capturing.file, printed, sizeof(printed) - 1, 0);
	printed[n > 0 ? n : 0] = '\0';
	dup2(capturing.before, capturing.fd);
	close(capturing.before);
	close(capturing.file);
	return printed;
}

/* LeakSanitizer would look for leaks in this process, too, which takes 50 ms. */
static inline void end_at_once(int status, void *arg)
{
	(void)arg;
	fflush(stdout);
	_exit(status);
}

/*
 * Calls a function that is to end the program, in a process of its own.  Returns the exit status, or -1 if the
 * function returns or a signal ends the process.  `printed` then has what came on stderr.
 */
static inline int died(void (*function)(void *arg), void *arg)
{
	size_t used = 0;
	int fd[2], status;
	ssize_t n;
	pid_t pid;

	fflush(stdout);
	if (pipe(fd) != 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		dup2(fd[1], STDERR_FILENO);
		on_exit(end_at_once, NULL);
		function(arg);
		raise(SIGKILL);
	}
	close(fd[1]);
	while ((n = read(fd[0], printed + used, sizeof(printed) - 1 - used)) > 0)
		used += (size_t)n;
	printed[used] = '\0';
	close(fd[0]);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Removes the next word from a list "one|two|three" and returns it; NULL at the end of the list. */
static inline const char *next_of(const char **list)
{
	static char word[256];
	const char *from = *list;
	const size_t n = from != NULL ? strcspn(from, "|") : 0;

	if (from == NULL)
		return NULL;
	if (n >= sizeof(word))
		abort();
	*list = from[n] == '|' ? from + n + 1 : NULL;
	memcpy(word, from, n);
	word[n] = '\0';
	return word;
}

/* Checks, as expect() does, the status and the message by which a function ends the program for each word of a list. */
static inline void expect_deaths(void (*function)(void *arg), const char *list, const char *title)
{
	const char *word;
	int status;

	capture(STDOUT_FILENO);
	while ((word = next_of(&list)) != NULL) {
		status = died(function, (void *)word);
		printf("%d %s%s", status, printed, printed[0] != '\0' ? "" : "\n");
	}
	expect(captured(), title);
}

/* Stores a program's name and, until the next call, words that blanks separate; `_` is a blank in one. */
static inline int words_of(const char *words, char *argv[32])
{
	static char text[2048];
	char *rest = strcpy(text, words), *at;
	int argc;

	argv[0] = program_invocation_name;
	for (argc = 1; argc < 32 && (argv[argc] = strsep(&rest, " ")) != NULL; argc++)
		for (at = argv[argc]; (at = strchr(at, '_')) != NULL;)
			*at = ' ';
	return argc;
}

#ifdef WARMUP_MAX
/* Stores the options that zcc has with these words. */
static inline void options_of(struct send_options *opt, const char *common, const char *more)
{
	static char *argv[32];
	char words[256];

	snprintf(words, sizeof(words), "%s%s", common, more);
	options_parse(opt, words_of(words, argv), argv);
}
#endif

/* Returns a connection to a new listener on 127.0.0.1.  The caller closes both. */
static inline int listen_and_connect(int *listener)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(in);

	*listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(*listener, (struct sockaddr *)&in, len) != 0 || listen(*listener, 1) != 0 ||
	    getsockname(*listener, (struct sockaddr *)&in, &len) != 0 ||
	    connect(fd, (struct sockaddr *)&in, len) != 0)
		abort();
	return fd;
}

#ifdef SOAKER_NAME
/* Returns the same each time; there is room for a third behind them. */
static inline struct soaker *two_empty_soakers(void)
{
	static _Alignas(128) char place[sizeof(struct soaker) + 3 * sizeof(struct soak_cpu)];
	struct soaker *s = (struct soaker *)(void *)place;

	memset(place, 0, sizeof(place));
	s->n = 2;
	return s;
}
#endif

#ifdef RECEIPT_MAX
/* Figures as a receipt has them: "bytes=1024 seconds=1 load=0.5 cpus=2". */
static inline struct figures figures_of(const char *receipt)
{
	char line[RECEIPT_MAX];
	struct figures f;
	const int len = snprintf(line, sizeof(line), "%s\n", receipt);

	if (receipt_parse(line, (size_t)len, &f) != NULL)
		abort();
	return f;
}
#endif

static int open_before;

__attribute__((constructor)) static void begin(void)
{
	void *volatile block = malloc(
		1); /* by it LeakSanitizer begins, which takes signal(2), too */

	free(block);
	unsetenv("LD_PRELOAD"); /* is for this program alone */
	open_before = open_files();
}

/* What main returns: prints how many checks there were.  TESTS(test_this, test_that) is a main that calls them. */
static inline int done(void)
{
#ifndef KEEPS_FILES
	ok(open_files() == open_before, "as many descriptors are open as at the beginning");
#endif
	printf("1..%d\n", done_so_far.checks);
	return done_so_far.failures > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define TESTS(...)                                                                                 \
	int main(void)                                                                             \
	{                                                                                          \
		void (*const all[])(void) = {__VA_ARGS__};                                         \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < LENGTH(all); i++)                                                  \
			all[i]();                                                                  \
		return done();                                                                     \
	}
