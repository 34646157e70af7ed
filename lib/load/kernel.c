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

int kernel_option(enum kernel_option o)
{
	struct utsname u;
	char path[sizeof(u.release) + 16];
	int found = contains(KERNEL_BTF, options[o].member, strlen(options[o].member) + 1);

	if (found < 0 && uname(&u) == 0) {
		snprintf(path, sizeof(path), "/boot/config-%s", u.release);
		found = contains(path, options[o].line, strlen(options[o].line));
	}
	return found;
}
