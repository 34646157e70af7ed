/*
 * common.h: what two or more of zcc, zcs, cyclesoak and run_rr need.  common.c holds the same
 * sections in the same order.
 *
 * Unless it says otherwise a function that can fail returns 0, or a descriptor, on success and -1
 * with errno set on failure.  Functions whose name ends in _or_die, and those in "diagnostics",
 * print one line and exit instead.  Times are seconds (double) or nanoseconds (uint64_t, _ns) of
 * CLOCK_MONOTONIC; sizes are bytes; "kbytes" are KiB.
 */
#ifndef ZC_COMMON_H
#define ZC_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <net/if.h>
/*
 * The kernel's own struct tcp_info, the longer one.  A source that includes netinet/tcp.h, whose
 * struct of that name is another, does not compile.
 */
#include <linux/tcp.h>

/*
 * Diagnostics.  Errors and warnings are one line on stderr that begins with the program's name, as
 * err(3) has it.  Stdout is for the report and is flushed at each line, even into a pipe.
 *
 * After the options are parsed, whatever ends a program before main returns goes through die():
 *
 *	die("%s: no route to it: see ip-route(8)", host);
 */
#define EXIT_USAGE   2
#define EXIT_COMMAND 125 /* of env(1), nice(1), timeout(1): the failure is not the command's */

/* Prints one line that names the offending option or argument, and exits with EXIT_USAGE. */
_Noreturn void usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Prints why the program cannot go on, calls the hook, and exits with EXIT_FAILURE.  die_errno()
 * appends what errno means.  Any thread may call them; only the first one is heard.
 */
#define DIE_MAX 512 /* bytes of the line; the rest is cut off */

_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die_errno(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Has die() call `hook` with its line first, unless stdout cannot be written: it closes a JSON
 * report.  It must not die itself.
 */
void die_init(void (*hook)(const char *why));

/*
 * The text with `?` for each control character, cut to a little more than DIE_MAX: a file's name must
 * not begin a line of its own or command the terminal.  Valid until the thread's next call.
 */
const char *printable(const char *s);

/* Has die(), usage_error() and usage_exit() exit with this status from now on. */
void die_with(int status);

/* Ends the program where getopt_long(3) has named the offending option already. */
_Noreturn void usage_exit(void);

/*
 * Has getopt_long(3), which begins its errors with argv[0], name the program as err(3) does: without
 * a path.
 */
void name_in_errors(char **argv);

/* Makes stdout line buffered and SIGPIPE an ordinary error.  Call first. */
void init_output(void);

/*
 * Has `handler` called on SIGINT, SIGTERM and SIGHUP, without SA_RESTART, so that calls that block
 * return.  One that is ignored stays so: nohup(1), and a shell's background jobs.
 */
void catch_stop_signals(void (*handler)(int));

/* The same for a program with threads: blocked but where the main thread waits, with *unblocked. */
void catch_stop_signals_waiting(void (*handler)(int), sigset_t *unblocked);

/* open(2) with O_CLOEXEC, begun anew where a signal interrupts it. */
int open_retry(const char *path, int flags);

/*
 * A stdio stream on a descriptor, or on a file to be read, whose calls are begun anew where a signal
 * interrupts them: stdio's own lose what they were about to write.  NULL on failure.
 */
FILE *fdopen_retry(int fd, const char *mode);
FILE *fopen_retry(const char *path);

/* printf to stdout; exits with a line on stderr when that fails (full disk, closed pipe). */
void report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Parsing.  parse_* return NULL, or what is wrong with the text, to be put after it in a message;
 * the result is then untouched.  arg_* do the same for an option's argument and make a usage
 * error of it; `opt` is how the option is called in the message, `-b, --buffer-size`.
 */
#define CPUS_MAX 8192 /* the largest NR_CPUS of any kernel configuration (x86, MAXSMP) */

#define CPU_LIST_MAX (64 * 1024) /* bytes: a list of every second CPU takes 20 KiB */

struct cpus {
	int n;
	int id[CPUS_MAX]; /* in the order given, not sorted; repeats are kept */
};

/* A whole number with an optional suffix k, m, g, t (binary, either case): bytes. */
const char *parse_size(const char *s, uint64_t *bytes);

/* A CPU list as the kernel writes it, `0,2-5` (Documentation/admin-guide/kernel-parameters.rst). */
const char *parse_cpus(const char *s, struct cpus *cpus);

/* A non-negative decimal number of seconds, `5` or `0.25`. */
const char *parse_seconds(const char *s, double *seconds);

uint64_t arg_size(const char *opt, const char *s, uint64_t min, uint64_t max);
int64_t arg_int(const char *opt, const char *s, int64_t min, int64_t max);
double arg_seconds(const char *opt, const char *s, double min, double max);
void arg_cpus(const char *opt, const char *s, struct cpus *cpus);
void arg_family(int *family, int want); /* -4 and -6, which exclude each other */
const char *arg_port(const char *opt, const char *s, long min);

/*
 * Which of a table's entries is called `s`.  Each of the n entries has `size` bytes, and its first
 * member is a pointer to its name.
 */
size_t arg_name(const char *opt, const char *s, const void *table, size_t n, size_t size);

/*
 * CPU binding and threads.
 */

/* The CPUs online, ascending (/sys/devices/system/cpu/online, else sched_getaffinity(2)). */
void cpus_online(struct cpus *cpus);

/*
 * The CPUs to soak: the first `n` that are online, or all of them if n is 0.  More than there are
 * is a usage error of -N.
 */
void cpus_to_soak(int n, struct cpus *cpus);

/* Writes `cpus`, which must be ascending, as a kernel CPU list.  False if it was cut off at `size`. */
bool cpus_format(const struct cpus *cpus, char *buf, size_t size);

struct option;

/*
 * Has the program exit with EXIT_COMMAND from now on, should it fail, if a command follows its
 * options.  It parses the options silently, so it is to be called before they are parsed.
 */
void command_expect(int argc, char **argv, const char *shortopts, const struct option *longopts);

/* Becomes the command, found by PATH.  SIGPIPE gets its default action back.  Returns if it fails. */
void command_exec(char **argv);

/* Dies because execvp(3) failed with that errno: 127 is the status of ENOENT, 126 of all others. */
_Noreturn void command_die(const char *name, int error);

/* waitpid(2), begun anew where a signal interrupts it. */
pid_t wait_pid(pid_t pid, int *status, int options);

/* Binds the calling thread to one CPU. */
int cpu_bind(int cpu);

/* The i-th CPU of the list, going round it; -1 of an empty list. */
int cpu_of(const struct cpus *cpus, int i);

/* Binds the calling thread to that CPU; no-op on an empty list. */
void cpu_bind_or_die(const struct cpus *cpus, int i);

/*
 * Tries every CPU of the list, so that one that cannot be had is known before there are threads,
 * and stays on the first.
 */
void cpus_try_or_die(const struct cpus *cpus);

/* Whether two lists have the same CPUs in the same order. */
bool cpus_equal(const struct cpus *a, const struct cpus *b);

/*
 * Starts a thread with a small stack (THREAD_STACK bytes, or the least that the system has) and with those signals blocked that the
 * caller has blocked.  Returns 0 or the error, which is not in errno.
 */
#define THREAD_STACK (128 * 1024)

int thread_start(pthread_t *id, void *(*function)(void *), void *arg);

/* Allocates an empty set for CPUS_MAX CPUs (CPU_FREE it), or dies; *size is for CPU_ISSET_S and its like. */
cpu_set_t *cpu_set_new(size_t *size);

/* Replaces what a terminal might obey by `?`: the text may be anybody's. */
void make_printable(char *s);

/* Reads a small file, as of /proc, into a printable string without its last newline. */
int file_read_line(const char *path, char *buf, size_t size);

/* Reads until end of file, or `size` bytes, whose number is stored into *len. */
int file_read(int fd, char *buf, size_t size, size_t *len);

/* Writes a small file of /proc or of a control group. */
int file_write(const char *dir, const char *name, const char *text);

/*
 * Clocks and system counters.
 */
uint64_t now_ns(void);

/* The clock that is not slewed, so that it runs as the scheduler's does (CLOCK_MONOTONIC_RAW). */
uint64_t raw_ns(void);

/* CPU time of the calling thread. */
uint64_t thread_cpu_ns(void);

/* Sleeps for `ns` nanoseconds, signals or not. */
void sleep_ns(uint64_t ns);

/* The time between two readings of now_ns(), in seconds; 0 where `to` came first. */
double seconds_between(uint64_t from_ns, uint64_t to_ns);

/* The same as die_init() for a hook that takes an argument. */
void die_init_with(void (*hook)(void *arg, const char *why), void *arg);

#endif
