/*
 * zcc: sends files to zcs over TCP, or requests bytes of it, and reports what that cost both hosts.
 */
#include <limits.h>

#include "common.h"
#include "lib/send/plan.h"
#include "lib/send/request.h"
#include "lib/send/transfer.h"

static struct send_options opt;

/* The runs, one after the other; a signal handler writes why they are to stop. */
static struct run run;

/*
 * The first signal ends the run: zcc reports it, or the complete rounds of a comparison.  A second signal ends the
 * program, which may be waiting for the server or for the reader of its report.
 */
static void on_signal(int sig)
{
	if (run.stop > 0) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	run_stop(&run, sig);
}

/* Until a connection is open there is nothing to report, and a signal just ends the program. */
static void catch_signals(void)
{
	sigset_t unblocked;

	catch_stop_signals_waiting(on_signal, &unblocked);
	sigprocmask(SIG_SETMASK, &unblocked, NULL);
}

/* Ends as the signal would have ended the program, so that a shell's loop stops too. */
static _Noreturn void die_of_signal(void)
{
	signal(run.stop, SIG_DFL);
	raise(run.stop);
	/* cppcheck-suppress unreachableCode ; the compiler does not know that raise(3) ends it */
	_exit(128 + run.stop);
}

/* Closes the report of a program that dies; that of a comparison has its complete rounds. */
static void close_report(void *report, const char *why)
{
	struct send_report *rep = report;

	report_die(rep, why);
	if (rep->plan != NULL && rep->plan->rounds > 0)
		comparison_print(rep->plan, rep, why);
}

/*
 * The order of events.
 */

/*
 * Checks a transfer, reports it, and adds complete figures to run i of the plan.  Returns NULL or what is
 * wrong, a text that may be in `why`.
 */
static const char *judge(const struct transfer *t, struct plan *plan, int i, int retry,
			 char why[DIE_MAX])
{
	const struct send_result *res = &t->result;
	struct send_report *rep = t->report;
	const char *error = result_check(res, opt.streams, why);
	char reasons[UNSAFE_STRLEN];

	if (run.stop > 0)
		error = "interrupted";
	else if (error != NULL)
		error = die_line(error, why);
	rep->repeats = false;
	gauge_say(&run.gauge, &res->sent.host, false);
	if (error == NULL)
		report_warn(rep, res);
	if (error == NULL && retry < opt.retries && result_is_unsafe(res)) {
		warnx("the load is unsafe (%s): the run is repeated, %d of %d",
		      limits_format(res->sent.host.unsafe | res->received.host.unsafe, reasons),
		      retry + 1, opt.retries);
		rep->repeats = true;
	}
	/* The last object has the error: that of a comparison is to come. */
	report_end(rep, res,
		   error != NULL || opt.compare.wanted ? error : fileset_error(res->set, why));
	if (error == NULL && !rep->repeats) {
		plan_note(plan, &opt, res);
		plan_add(plan, i, res);
	}
	return error;
}

/*
 * Sends the file set over new connections, as run i of the plan.  Returns NULL or what is wrong, a text that
 * may be in `why`.
 */
static const char *send_once(struct send_report *rep, const struct fileset *set, struct plan *plan,
			     int i, int retry, char why[DIE_MAX])
{
	struct transfer t = {.opt = &opt, .run = &run, .report = rep, .result.set = set};
	const char *error;

	if (transfer_open(&t, plan->run[i].chunk)) {
		catch_signals();
		if (opt.compare.wanted && !opt.quiet && !opt.json && rep->run == 1 && retry == 0)
			comparison_print_size(plan, &opt);
		report_start(rep, &t.result.target, &t.result);
		transfer_run(&t);
	}
	if (!t.measuring && run.stop <= 0)
		die("everything was sent before the warm-up ended: send more (-n, -t)");
	if (!t.measuring) {
		close_report(rep, "interrupted");
		if (plan->added == 0)
			warnx("interrupted before the warm-up ended: nothing was measured");
		die_of_signal();
	}
	error = judge(&t, plan, i, retry, why);
	transfer_close(&t);
	return error;
}

/* In a comparison messages name the run, and each reason of a load has one line, or with -d all of them. */
static void name_run(const struct plan *plan, int i)
{
	static char place[COMPARISON_PLACE];

	if (!opt.compare.wanted)
		return;
	die_about(comparison_run_place(plan, i, place));
	run.gauge.said.place = place;
	run.gauge.said.most = opt.debug > 0 ? UINT_MAX : 1;
}

/* Runs the plan, one round after the other.  Returns NULL or what is wrong. */
static const char *send_rounds(struct send_report *rep, const struct fileset *set,
			       struct plan *plan, char why[DIE_MAX])
{
	const double precision = opt.compare.precision;
	const char *ports = opt.port, *error = NULL;
	const struct plan_run *r;
	int i, k, rounds, retry;

	rep->runs = opt.compare.rounds * plan->n;
	while (plan->rounds < opt.compare.rounds && error == NULL && run.stop <= 0) {
		rounds = plan->rounds;
		for (k = 0; k < plan->n && error == NULL && run.stop <= 0; k++) {
			i = plan_turn(plan, k);
			r = &plan->run[i];
			opt.method = &send_methods[method_place(r->sent.method)];
			opt.streams = (int)r->streams;
			if (r->port[0] != '\0')
				opt.port = r->port;
			retry = 0;
			do {
				run_gauge(&run, strcmp(r->instrument, LOAD_BY_SOAKING) == 0);
				name_run(plan, i);
				rep->run = plan->added + 1;
				error = send_once(rep, set, plan, i, retry++, why);
			} while (rep->repeats && run.stop <= 0);
			die_about(NULL);
		}
		/* A signal may have come when a round was complete. */
		if (opt.compare.save != NULL && plan->rounds > rounds)
			saved_append_or_die(plan, opt.compare.save);
		if (precision > 0 &&
		    (plan_is_precise(plan, precision) || plan_is_hopeless(plan, precision)))
			break;
	}
	opt.port = ports;
	return run.stop > 0 ? "interrupted" : error;
}

/* Reads the files of --save and --against, and tries to write that of --save, or dies. */
static void plan_find(struct plan *plan, struct saved *before, struct saved *kept)
{
	const char *save = opt.compare.save, *against = opt.compare.against;

	if (save != NULL) {
		saved_read_or_die(kept, "--save", save);
		saved_append_or_die(plan, save);
	}
	if (against != NULL) {
		if (access(against, R_OK) != 0)
			die_errno("--against: %s", printable(against));
		saved_read_or_die(before, "--against", against);
		comparison_check_or_die(plan, before->last, "--against", against);
		/* If both options name the same sessions, these count as the other side only. */
		if (kept->last != NULL && strcmp(kept->text, before->text) != 0)
			plan->earlier = kept->last;
	}
	plan->before = before->last;
	plan->kept = kept->last;
}

/* Prepares the plan: the instrument varies fastest, then the last list, that of the streams. */
static void plan_prepare(struct plan *plan)
{
	const struct compare_options *c = &opt.compare;
	const int inner = opt.chunks.n * c->streams.n; /* runs of a method and a port */
	const struct send_method *m;
	struct plan_run *r;
	bool soaks;
	int i, k;

	plan_open(plan, c->runs, c->rounds);
	for (i = 0; i < plan->n; i++) {
		r = &plan->run[i];
		k = c->instruments ? i / 2 : i;
		m = &send_methods[c->methods.size[k / inner / c->ports.n]];
		soaks = c->instruments ? i % 2 == 1 : opt.gauge.soak;
		strcpy(r->sent.method, m->name);
		if (c->ports.n > 1)
			snprintf(r->port, sizeof(r->port), "%" PRIu64,
				 c->ports.size[k / inner % c->ports.n]);
		if (gauge_is_wanted(&opt.gauge))
			strcpy(r->instrument, soaks ? LOAD_BY_SOAKING : LOAD_BY_IDLE);
		r->streams = c->streams.size[k % c->streams.n];
		r->chunk = method_chunk(m, opt.chunks.size[k / c->streams.n % opt.chunks.n],
					(int)r->streams);
	}
}

/* Sends the files: once, or as often as a comparison needs.  Returns NULL or what is wrong. */
static const char *send_all(struct send_report *rep, char **names, int n, char why[DIE_MAX])
{
	struct saved before = {.last = NULL}, kept = before;
	const char *error;
	struct fileset set;
	struct plan plan;

	plan_prepare(&plan);
	if (opt.compare.dry) {
		comparison_print_runs(&plan, &opt);
		plan_close(&plan);
		return NULL;
	}
	plan_find(&plan, &before, &kept);
	fileset_open(&set, names, n, opt.zeros);
	if (opt.bytes > 0 && set.bytes == 0)
		die("--bytes: the files are empty");
	if (set.bytes == 0)
		warnx("the files have 0 bytes, as those of /proc seem to have: no data are sent");
	if (opt.preload)
		fileset_preload(&set);
	rep->plan = opt.compare.wanted ? &plan : NULL;
	error = send_rounds(rep, &set, &plan, why);
	rep->plan = NULL;
	if (error == NULL)
		error = fileset_error(&set, why);
	if (opt.compare.wanted && plan.rounds > 0)
		comparison_print(&plan, rep, error);
	fileset_close(&set);
	plan_close(&plan);
	saved_close(&before);
	saved_close(&kept);
	return error;
}

static const char *request_all(struct send_report *rep, char why[DIE_MAX])
{
	struct target target;

	target_find(&target, &run, NULL);
	run_gauge(&run, opt.gauge.soak);
	catch_signals();
	return requests_run(&run, rep, &target, why);
}

int main(int argc, char **argv)
{
	struct send_report rep = {.opt = &opt, .lock = REPORT_LOCK};
	char why[DIE_MAX];
	const char *error;
	int first;

	init_program(&run.stop);
	die_init(close_report, &rep);
	first = options_parse(&opt, argc, argv);
	rep.json.stream = opt.json == JSON_EVENTS;
	if (opt.calibrate) {
		gauge_calibrate_or_die(&opt.gauge, opt.force);
		return EXIT_SUCCESS;
	}
	if (opt.json || opt.debug > 0)
		environment_read(&rep.environment);
	run_open(&run, &opt);
	error = opt.requests.n > 0 ? request_all(&rep, why)
				   : send_all(&rep, argv + first, argc - first, why);
	run_close(&run);
	if (run.stop > 0)
		die_of_signal();
	if (error != NULL)
		warnx("%s", error);
	return error == NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}
