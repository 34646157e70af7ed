/*
 * common.h: what every part uses: how a program prints and dies, small files, threads and clocks.  common.c has
 * the same sections in the same order.  This header includes those of the C library that most parts need.
 *
 *	fd = open_retry(path, O_RDONLY);
 *	if (fd < 0)
 *		die_errno("%s", path);
 *	report("%s is open\n", printable(path));
 *
 * Unless its comment differs, a function that can fail returns 0, or a descriptor, on success and -1
 * with errno set on failure.  Functions whose name ends in _or_die exit instead, with one line on
 * stderr.  Times are seconds (double) or nanoseconds (uint64_t, _ns) of CLOCK_MONOTONIC; sizes are
 * bytes; "kbytes" are KiB.
 */
#pragma once

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef __GLIBC__
#error "zc needs glibc 2.27 or later: other C libraries lack functions that it calls"
#endif

/*
 * Diagnostics.  Errors and warnings are one line on stderr that begins with the program's name;
 * warnings are printed by warnx(3).  An error that ends a program is a call of die():
 *
 *	die("%s: no route to it: see ip-route(8)", host);
 */
#define EXIT_USAGE   2
#define EXIT_COMMAND 125 /* of env(1), nice(1), timeout(1): the failure is not the command's */

/*
 * die() prints why the program cannot go on, calls the hook, and exits with EXIT_FAILURE.
 * die_errno() appends what errno means.  usage_error() names the wrong option or argument, calls no
 * hook, and exits with EXIT_USAGE.  Any thread may call them.  Only the first call prints its line: other
 * threads usually fail for the same reason.
 */
#define die(...)         die_of(0, __VA_ARGS__)
#define die_errno(...)   die_of(errno, __VA_ARGS__)
#define usage_error(...) die_of(DIE_OF_USAGE, __VA_ARGS__)

#define DIE_MAX      512  /* bytes of the line; the rest is cut off */
#define DIE_OF_USAGE (-1) /* not an errno */

_Noreturn void die_of(int error, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* From now on die() and usage_error() exit with this status. */
void die_with(int status);

/* Returns the status with which die() exits. */
int die_failure(void);

/*
 * From now on die() in this thread calls `taker` instead, with the error, which is behind the place that die_about() has.  It
 * must not return.  NULL: the program ends.
 */
void die_is_for(void (*taker)(const char *why));

/* From now on the line of die() begins with the place that it is about; NULL: with none. */
void die_about(const char *place);

/* Stores the line that die(error) would print, without the program's name, and returns it. */
const char *die_line(const char *error, char line[DIE_MAX]);

/* Dies because a command could not be run: with status 127 if `error` is ENOENT, otherwise with 126. */
_Noreturn void command_die(const char *name, int error);

/*
 * Makes die() first call `hook` with `arg` and the error, unless stdout cannot be written: the hook closes a
 * JSON report.  It must not call die().
 */
void die_init(void (*hook)(void *arg, const char *why), void *arg);

/* The length of the UTF-8 sequence at s, 0 if it is none: RFC 3629. */
size_t utf8_length(const char *text);

/*
 * Replaces each control character, and each byte that is not UTF-8, by `?`, in place: the name of a file or a process
 * must neither begin a line nor control the terminal.
 */
void make_printable(char *s);

#define HASH_SIZE 17 /* of 64 bits in hexadecimal */

/* Stores a hash of a text, by FNV-1a, and returns it. */
const char *hash_text(const char *text, char hash[HASH_SIZE]);

/* Returns a printable copy of s, of DIE_MAX + 63 bytes at most, valid until the thread's next call. */
const char *printable(const char *s);

/*
 * Appends formatted text to the string in buf, of `size` bytes.  What does not fit is cut off, at a
 * character; returns whether all of it fits.
 */
bool string_append(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define TEXT_SIZE 1024 /* bytes of a text, with its end */

/* Returns a formatted text, cut off at a character if it is too long, that is valid until the thread has made 15 more. */
const char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The end of a noun behind a count: `s` unless there is one. */
const char *plural(uint64_t n);

/*
 * Allocates n zeroed elements of `size` bytes each, to be freed by free(3), or dies with a message about `what`
 * they are for.
 */
void *alloc_or_die(size_t n, size_t size, const char *what);

/* Returns a copy of a text, to be freed by free(3), or dies likewise. */
char *copy_or_die(const char *text, const char *what);

/*
 * Output.  Nobody waits for who reads it: what a pipe, a terminal or a socket does not take at once is queued, for stdout
 * and stderr alike, and is written in wait_until(), wait_signal() and sleep_ns().  Whole rows for which a queue of 1 MiB
 * has no room are dropped, and counted.  exit(3) waits until the rest is read.
 *
 *	printf("%s\n", row);
 *	if (!report_row())
 *		begun = false;
 *	wait_until(&p, 1, due_ns, NULL);
 *	report("%s\n", total);
 */

/* Opens what is written to stdout and stderr: init_program() calls it. */
void output_open(void);

/* printf(3) to stdout, and report_flush() if `fmt` ends a line: who reads a pipe gets whole lines. */
void report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Lets the report go to `fd`, the open file `path`, which is then closed, in place of stdout.  Returns a descriptor of
 * the stdout that there was, for a command.
 */
int report_to_or_die(int fd, const char *path);

/* Queues what was printed on stdout; dies if stdout cannot be written (full disk, closed pipe). */
void report_flush(void);

/* The same for a row of text, an element of JSON or an event.  Returns false if there is no room: it is dropped. */
bool report_row(void);

/* As report_flush() or report_row(), but fails with errno; ENOBUFS: it is dropped.  After another error it is lost. */
int report_put(bool is_row);

/*
 * Returns how many rows were dropped that no report has told of.  What is printed now is to have the number, if it is not
 * 0.  In a report of text report_put() prints it.
 */
uint64_t report_dropped(void);

/* For a report of JSON: `hook` stores what would close all that is open of it, or an empty text. */
void report_closed_by(void (*hook)(char *text, size_t size));

/* From now on nothing is dropped. */
void output_keep(void);

/*
 * Waits, as at exit(3), until all that is queued was read, while stop signals are unblocked.  This program's other files
 * are closed before: others do not wait for them.  Fails if stdout cannot be written.
 */
int output_finish(void);

/*
 * Ends the program as the signal does by default, without waiting for a reader: a report of JSON is closed if it can be.
 * A signal handler may call it.
 */
_Noreturn void die_of_signal(int sig);

/* As warnx(3), but only if the line can be printed at once: a signal handler may call it. */
void error_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ppoll(2) of at most POLLED_MAX descriptors, until due_ns (UINT64_MAX: without a limit). */
#define POLLED_MAX 2

void wait_until(struct pollfd *p, nfds_t n, uint64_t due_ns, const sigset_t *mask);

/* sigtimedwait(2) until due_ns. */
int wait_signal(const sigset_t *set, siginfo_t *info, uint64_t due_ns);

/*
 * Signals.
 */

/*
 * Stores the signals that stop a program: SIGINT, SIGTERM and SIGHUP, except those that it ignores, as under
 * nohup(1) or in a shell's background job.
 */
void stop_signals(sigset_t *set);

/*
 * Files.
 */

/* open(2) with O_CLOEXEC, repeated after a signal; a file that it creates has mode 0600. */
int open_retry(const char *path, int flags);

/*
 * Threads.
 */

/*
 * Starts a thread with a stack of THREAD_STACK bytes and the caller's blocked signals.  Returns 0 or the error,
 * which is not in errno.
 */
#define THREAD_STACK (128 * 1024)

int thread_start(pthread_t *id, void *(*function)(void *), void *arg);

/*
 * Clocks.
 */
uint64_t clock_ns(clockid_t clock); /* any clock of clock_gettime(2), in ns */
#define now_ns() clock_ns(CLOCK_MONOTONIC)
#define raw_ns() clock_ns(CLOCK_MONOTONIC_RAW) /* runs as the scheduler's clock: it is not slewed */

/* The same time as a struct timespec. */
struct timespec ns_to_timespec(uint64_t ns);

/* Sleeps for `ns` nanoseconds, even if signals come. */
void sleep_ns(uint64_t ns);

/* The time between two readings of one clock, in seconds; 0 if `to` is the earlier one. */
double seconds_between(uint64_t from_ns, uint64_t to_ns);
