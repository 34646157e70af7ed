#include "lib/report/periods.h"

#include "lib/report/units.h"

/* What a command took: time, CPU time of its processes, that of the machine, and that of the tasks. */
static void print_command(const struct period *p, struct wrap *line)
{
	const struct load *l = &p->figures.host;
	const double all = l->cpus * l->seconds;

	wrap_add(line, "; ", "took %.3f s", l->seconds);
	wrap_add(line, ", ", "user %.3f s", p->figures.command.user);
	wrap_add(line, ", ", "system %.3f s", p->figures.command.system);
	if (isnan(l->load))
		return;
	wrap_add(line, "; ", "%.3f s of CPU time", l->load * all);
	if (!isnan(l->tasks))
		wrap_add(line, ", ", "CPU time of tasks %.3f s", l->tasks * all);
}

/* Of many periods one may be dropped, if nobody reads them. */
static void flush(const struct period *p, bool is_first)
{
	if (p->is_command || p->run > 0 || is_first)
		report_flush();
	else
		(void)report_row();
}

void period_print(const struct period *p, bool accounting)
{
	struct wrap line = {.width = WRAP_WIDTH, .indent = "  "};
	const struct load *l = &p->figures.host;
	int i;

	if (isnan(l->load)) {
		wrap_text(&line,
			  text_of("System load: not measured: %s", no_load_text(l->no_load)));
	} else {
		wrap_add(&line, "", "System load: %s",
			 load_text(l->load, l->uncertainty, l->unsafe));
		if (!isnan(l->slowed))
			wrap_add(&line, ", ", "slowed %.1f%%", percent(l->slowed));
	}
	for (i = 0; p->each != NULL && i < p->cpus->n; i++)
		wrap_add(&line, ", ", "cpu%d %s", p->cpus->id[i],
			 load_text(p->each[i].load, NAN, p->each[i].unsafe));
	if (p->is_command)
		print_command(p, &line);
	if (!isnan(l->load) && l->baseline == BASELINE_OWN)
		wrap_add(&line, "; ", "%s", baselines_format(l));
	groups_add(&line, &p->figures);
	for (i = 0; i < CPU_COLUMNS && accounting && !isnan(l->rates.cpu[i]); i++)
		wrap_add(&line, i > 0 ? ", " : "; ", "%s%s %.1f%%",
			 i > 0 ? "" : "kernel: ", cpu_column[i], percent(l->rates.cpu[i]));
	putchar('\n');
	flush(p, false);
}

void period_json(const struct period *p, const struct environment *start)
{
	struct figures of_cpu = p->figures;
	const struct figures *f = &p->figures;
	struct json j = {.stream = false};
	int i;

	json_report_open(&j);
	if (start != NULL) {
		json_open(&j, "start", '{');
		environment_json_start(&j, start, NULL, clock_ns(CLOCK_REALTIME));
		json_close(&j, '}');
	}
	if (p->run > 0) {
		json_count(&j, "run", (uint64_t)p->run);
		json_string(&j, "command", p->command);
		json_string(&j, "setting", p->setting);
	}
	if (p->is_command)
		json_rows(&j, f, IN_COMMAND);
	else
		json_number(&j, "seconds", f->seconds);
	json_rows(&j, f, IN_HOST);
	json_open(&j, "load_by_cpu", '[');
	for (i = 0; p->each != NULL && i < p->cpus->n; i++) {
		of_cpu.host = p->each[i];
		json_open(&j, NULL, '{');
		json_count(&j, "cpu", (uint64_t)p->cpus->id[i]);
		json_rows(&j, &of_cpu, IN_CPU);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_cpu_time(&j, f);
	json_report_end(&j, NULL);
	flush(p, start != NULL);
}

void periods_print(const struct history *h)
{
	double mean, half;

	if (h->n == 0)
		return;
	mean = history_mean(h, &half);
	report("mean of %ld: %s, minimum %.1f%%, maximum %.1f%%\n", h->n,
	       load_text(mean, half, h->unsafe), percent(h->min), percent(h->max));
}

void periods_json(const struct history *h)
{
	double mean, half;
	struct json j = {.stream = false};

	if (h->n == 0)
		return;
	mean = history_mean(h, &half);
	json_report_open(&j);
	json_count(&j, "periods", (uint64_t)h->n);
	json_number(&j, "load_percent", 100 * mean);
	json_number(&j, "load_uncertainty_percent", 100 * half);
	json_unsafe(&j, h->unsafe);
	json_number(&j, "load_min_percent", 100 * h->min);
	json_number(&j, "load_max_percent", 100 * h->max);
	json_report_close(&j, NULL);
}
