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
 * `make check T=unit` runs all of them.  A title is a format of printf(3) that says what was done, and
 * what must follow; it stands alone in a list of failures.
 */
#pragma once

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Whether two figures are the same but for how they were rounded. */
static inline bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

static struct {
	int checks, failures;
} done_so_far;

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

static inline bool check_ok(bool holds, const char *code, const char *file, int line,
			    const char *title, ...) __attribute__((format(printf, 5, 6)));

static inline bool check_ok(bool holds, const char *code, const char *file, int line,
			    const char *title, ...)
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
#define is(got, want, ...) show_unless(ok(strcmp(got, want) == 0, __VA_ARGS__), got, want)

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

/*
 * Calls a function that is to end the program, in a process of its own.  Returns its exit status, or
 * -1 if it returns or a signal ends it; stores what it prints on stderr.
 */
static inline int status_of(void (*function)(void *arg), void *arg, char *printed, size_t size)
{
	size_t used = 0;
	int fd[2], status;
	ssize_t n;
	pid_t pid;

	printed[0] = '\0';
	fflush(stdout);
	if (pipe(fd) != 0 || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		dup2(fd[1], STDERR_FILENO);
		function(arg);
		raise(SIGKILL);
	}
	close(fd[1]);
	while ((n = read(fd[0], printed + used, size - 1 - used)) > 0)
		used += (size_t)n;
	printed[used] = '\0';
	close(fd[0]);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* How many descriptors this process has open: a function that opens one must close it. */
static inline int open_files(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Calls a function, and stores what it prints on standard output, whether by stdio or by write(2). */
static inline void stdout_of(void (*function)(void *arg), void *arg, char *printed, size_t size)
{
	FILE *file = tmpfile();
	const int before = dup(STDOUT_FILENO);
	ssize_t n;

	fflush(stdout);
	if (file == NULL || before < 0 || dup2(fileno(file), STDOUT_FILENO) < 0)
		abort();
	function(arg);
	fflush(stdout);
	n = pread(fileno(file), printed, size - 1, 0);
	printed[n > 0 ? n : 0] = '\0';
	dup2(before, STDOUT_FILENO);
	close(before);
	fclose(file);
}

/* The columns of the widest line of a text. */
static inline size_t widest(const char *s)
{
	size_t most = 0, n;

	for (; *s != '\0'; s += n + (s[n] == '\n')) {
		n = strcspn(s, "\n");
		most = n > most ? n : most;
	}
	return most;
}

/* What main returns: prints how many checks there were. */
static inline int done(void)
{
	printf("1..%d\n", done_so_far.checks);
	return done_so_far.failures > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
