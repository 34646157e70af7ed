#include "lib/load/kernel.h"

#include <sys/utsname.h>

const char *const kernel_option_name[KERNEL_OPTIONS] = {"irq_time_accounting",
							"paravirt_time_accounting"};

/* The line of the configuration, and the name of the member that struct rq of kernel/sched/sched.h then has. */
static const struct {
	const char *line, *member;
} options[KERNEL_OPTIONS] = {
	[KERNEL_IRQ_TIME] = {"\nCONFIG_IRQ_TIME_ACCOUNTING=y\n", "prev_irq_time"},
	[KERNEL_STEAL_TIME] = {"\nCONFIG_PARAVIRT_TIME_ACCOUNTING=y\n", "prev_steal_time_rq"},
};

/* Whether a file has these bytes; -1 if it cannot be read. */
static int contains(const char *path, const char *what, size_t n)
{
	size_t size = 0;
	char *all = file_read_all(path, &size);
	const bool found = all != NULL && memmem(all, size, what, n) != NULL;

	free(all);
	return size > 0 ? found : -1;
}

static const char *config_path(void)
{
	struct utsname u;

	uname(&u);
	return text_of("/boot/config-%s", u.release);
}

int kernel_option(enum kernel_option o)
{
	const int found = contains(KERNEL_BTF, options[o].member, strlen(options[o].member) + 1);

	return found >= 0 ? found
			  : contains(config_path(), options[o].line, strlen(options[o].line));
}

double kernel_hz(void)
{
	static const char line[] = "\nCONFIG_HZ=";
	size_t size = 0;
	char *all = file_read_all(config_path(), &size);
	const char *at = all != NULL ? memmem(all, size, line, strlen(line)) : NULL;
	const double hz = at != NULL ? (double)strtoul(at + strlen(line), NULL, 10) : NAN;

	free(all);
	return hz;
}
