/*
 * zcc: sends files to zcs over TCP, or requests bytes of it, and reports what that cost both hosts.
 */
#include "lib/base/program.h"
#include "lib/compare/setting.h"
#include "lib/send/trials.h"

static struct send_options opt;

/* The runs, one after the other; a signal handler writes why they are to stop. */
static struct run run;

/*
 * The first signal ends the run: zcc reports it, or the complete rounds of a comparison.  A second signal ends the
 * program, which may be waiting for the server or for the reader of its report.  The first setting is restored.
 */
static void on_signal(int sig)
{
	if (run.stop > 0)
		settings_die_of(sig);
	run_stop(&run, sig);
}

/* Until a connection is open there is nothing to report, and a signal just ends the program. */
static void catch_signals(void)
{
	sigset_t unblocked;

	catch_stop_signals_waiting(on_signal, &unblocked);
	sigprocmask(SIG_SETMASK, &unblocked, NULL);
}

int main(int argc, char **argv)
{
	struct send_report rep = {.opt = &opt};
	struct trials trials = {
		.opt = &opt, .run = &run, .report = &rep, .connected = catch_signals};
	char why[DIE_MAX];
	const char *error;
	int first;

	init_program();
	die_init(trials_die, &trials);
	first = options_parse(&opt, argc, argv);
	rep.json.stream = opt.json == JSON_EVENTS;
	if (opt.calibrate) {
		gauge_calibrate_or_die(&opt.gauge, false);
		return EXIT_SUCCESS;
	}
	if (opt.compare.compare != NULL) {
		trials_compare(&trials);
		return trials.comparison.status;
	}
	if (opt.json || opt.debug > 0 || opt.compares)
		environment_read(&rep.environment);
	opt.gauge.debug = opt.debug > 0;
	opt.gauge.what = opt.request != NO_REQUEST ? "requests" : "transfer";
	run_open(&run, &opt);
	error = trials_run(&trials, argv + first, argc - first, why);
	run_close(&run);
	if (run.stop > 0)
		settings_finish(run.stop);
	if (error != NULL)
		warnx("%s", printable(error));
	return error == NULL ? trials.comparison.status : EXIT_FAILURE;
}
