#include "lib/report/periods.h"

#include "tests/unit/unit.h"

/* A command that kept 1.5 of two CPUs busy for two seconds, 0.5 of them with tasks. */
static struct period command(const struct cpus *cpus, const struct load *each)
{
	struct period p = {.cpus = cpus, .each = each, .is_command = true};

	load_init(&p.load);
	p.load.load = 0.75;
	p.load.uncertainty = 0.01;
	p.load.tasks = 0.25;
	p.load.seconds = 2;
	p.load.cpus = 2;
	p.own = (struct command_figures){.user = 0.25, .system = 0.125};
	return p;
}

int main(void)
{
	static const struct cpus cpus = {.n = 2, .id = {0, 3}};
	struct history h = {.n = 0};
	struct load each[2];
	struct period p;

	load_init(&each[0]);
	load_init(&each[1]);
	each[0].load = 1;
	each[1].load = 0.5;
	each[1].unsafe = UNSAFE_STEAL;
	p = command(&cpus, each);
	capture(STDOUT_FILENO);
	period_print(&p, false);
	has(captured(), "System load: 75.0% +-1.0%, cpu0 100.0%, cpu3 50.0%?; took 2.000 s,",
	    "the line of a command has the load of all CPUs, of each, and the time");
	capture(STDOUT_FILENO);
	p.each = NULL;
	period_print(&p, false);
	has(captured(),
	    "; took 2.000 s, user 0.250 s, system 0.125 s;\n  3.000 s of CPU time, CPU time of tasks 1.000 s\n",
	    "CPU time, and that of the tasks, is the sum of all CPUs; that of its processes stands before");
	p.each = each;
	p.load.rates.cpu[CPU_USER] = 0.25;
	capture(STDOUT_FILENO);
	period_json(&p, NULL);
	has(strstr(captured(), "\"load_by_cpu\""),
	    "[{\"cpu\":0,\"load_percent\":100},{\"cpu\":3,\"load_percent\":50,\"unsafe\":[\"steal\"]}]",
	    "JSON has each CPU with its own load and reasons");
	has(printed, "\"accounting_percent\":{\"user\":25}", "and the accounting of all CPUs");
	history_add(&h, 0.5, 0.01, 0);
	history_add(&h, NAN, NAN, UNSAFE_CPU_OFFLINE);
	history_add(&h, 0.7, 0.01, 0);
	capture(STDOUT_FILENO);
	periods_json(&h);
	has(captured(), "\"periods\":2,\"load_percent\":60,",
	    "the closing object counts the periods that have a load");
	capture(STDOUT_FILENO);
	periods_print(&h);
	has(captured(), "mean of 2: 60.0%? +-", "and so does the closing line");
	has(printed, ", minimum 50.0%, maximum 70.0%\n",
	    "which has the least and the greatest load");
	return done();
}
