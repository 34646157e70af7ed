/*
 * soak2001: the baseline, a soaker as they were in 2001: a process for each CPU at nice 19, bound
 * to none, that counts rounds of arithmetic.  On the machines of then that was enough.
 *
 *	soak2001 -C file			calibrates the idle machine for 3 seconds
 *	soak2001 -f file [-o file] command...	soaks while the command runs, then prints
 *						`load=0.1234 seconds=1.0012`, its share of all CPUs
 *						and its life
 */
#include "common.h"
#include "lib/load/cpus.h"

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALIBRATION_SECONDS 3
#define ROUND               1000 /* steps of arithmetic that count as one */

struct soaker2001 {
	volatile uint64_t rounds;
	pid_t pid;
} __attribute__((aligned(128)));

struct reading {
	uint64_t ns;
	double rounds; /* of all soakers */
};

static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
}

static _Noreturn void spin(struct soaker2001 *me)
{
	volatile uint64_t x = 1;
	int i;

	for (;;) {
		for (i = 0; i < ROUND; i++)
			x = x * 3 + 1;
		me->rounds++;
	}
}

/* Starts them and returns when each has counted. */
static struct soaker2001 *soak(int n)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	size_t size = (size_t)n * sizeof(struct soaker2001);
	struct soaker2001 *s;
	pid_t parent = getpid(), pid;
	int i;

	s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		err(EXIT_FAILURE, "soaker memory");
	for (i = 0; i < n; i++) {
		pid = fork();
		if (pid < 0)
			err(EXIT_FAILURE, "fork");
		if (pid == 0) {
			end_with(parent);
			setpriority(PRIO_PROCESS, 0, 19);
			spin(&s[i]);
		}
		s[i].pid = pid; /* not by the child, which shares it and has 0 */
	}
	for (i = 0; i < n; i++)
		while (s[i].rounds == 0)
			nanosleep(&pause, NULL);
	return s;
}

static void stop(const struct soaker2001 *s, int n)
{
	int i;

	for (i = 0; i < n; i++)
		kill(s[i].pid, SIGKILL);
	for (i = 0; i < n; i++)
		while (waitpid(s[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
}

static struct reading read_soakers(const struct soaker2001 *s, int n)
{
	struct reading r = {.ns = now_ns()};
	int i;

	for (i = 0; i < n; i++)
		r.rounds += (double)s[i].rounds;
	return r;
}

/* Rounds per second. */
static double rate(struct reading from, struct reading to)
{
	return (to.rounds - from.rounds) * 1e9 / (double)(to.ns - from.ns);
}

static FILE *open_or_die(const char *path, const char *mode)
{
	FILE *f = fopen(path, mode);

	if (f == NULL)
		err(EXIT_FAILURE, "%s", path);
	return f;
}

static void close_or_die(FILE *f, const char *path)
{
	if (fclose(f) != 0)
		err(EXIT_FAILURE, "%s", path);
}

static void calibrate(int n, const char *path)
{
	const struct timespec t = {.tv_sec = CALIBRATION_SECONDS};
	struct soaker2001 *s = soak(n);
	struct reading from = read_soakers(s, n), to;
	FILE *f = open_or_die(path, "w");

	nanosleep(&t, NULL);
	to = read_soakers(s, n);
	stop(s, n);
	fprintf(f, "%.1f\n", rate(from, to));
	close_or_die(f, path);
}

static double calibrated(const char *path)
{
	FILE *f = open_or_die(path, "r");
	double r;

	if (fscanf(f, "%lf", &r) != 1 || r <= 0)
		errx(EXIT_FAILURE, "%s: not a calibration", path);
	fclose(f);
	return r;
}

/* Runs the command; returns its wait status. */
static int command(char **argv)
{
	pid_t parent = getpid(), pid = fork();
	int status;

	if (pid < 0)
		err(EXIT_FAILURE, "fork");
	if (pid == 0) {
		end_with(parent);
		command_exec(argv);
		command_die(argv[0], errno);
	}
	while (waitpid(pid, &status, 0) != pid)
		;
	return status;
}

static int soak_command(int n, const char *file, FILE *out, char **argv)
{
	double idle = calibrated(file);
	struct soaker2001 *s = soak(n);
	struct reading from = read_soakers(s, n), to;
	int status = command(argv);

	to = read_soakers(s, n);
	stop(s, n);
	fprintf(out, "load=%.4f seconds=%.6f\n", 1 - rate(from, to) / idle,
		(double)(to.ns - from.ns) / 1e9);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const char *file = "", *out = NULL;
	FILE *f = stdout;
	struct cpus online;
	int c, status, files = 0;
	bool calibrates = false;

	while ((c = getopt(argc, argv, "+C:f:o:")) != -1) {
		if (c == 'C' || c == 'f') {
			calibrates = c == 'C';
			file = optarg;
			files++;
		} else if (c == 'o') {
			out = optarg;
		} else {
			exit(EXIT_USAGE);
		}
	}
	if (files != 1 || calibrates != (optind == argc))
		usage_error("usage: soak2001 -C file | -f file [-o file] command [arg...]");
	cpus_online(&online);
	if (calibrates) {
		calibrate(online.n, file);
		return EXIT_SUCCESS;
	}
	if (out != NULL)
		f = open_or_die(out, "w");
	status = soak_command(online.n, file, f, argv + optind);
	close_or_die(f, out != NULL ? out : "stdout");
	return status;
}
