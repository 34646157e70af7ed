#include "lib/load/kernel.h"

#include "lib/base/proc.h"

#include <linux/capability.h>
#include <sys/syscall.h>
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

static const char *config_path(void)
{
	struct utsname u;

	uname(&u);
	return text_of("/boot/config-%s", u.release);
}

/* Whether a text of so many bytes has such a part, of `n` bytes; -1 if there is no text. */
static int contains(const char *text, size_t size, const char *part, size_t n)
{
	return text != NULL && size > 0 ? memmem(text, size, part, n) != NULL : -1;
}

/* Stores for each option what kernel_option() returns.  A name in BTF ends with a zero byte. */
static void options_read(int known[KERNEL_OPTIONS])
{
	size_t types_size, size;
	char *types = file_read_all(KERNEL_BTF, &types_size), *config = NULL;
	int i;

	if (types == NULL || types_size == 0)
		config = file_read_all(config_path(), &size);
	for (i = 0; i < KERNEL_OPTIONS; i++)
		known[i] = config != NULL ? contains(config, size, options[i].line,
						     strlen(options[i].line))
					  : contains(types, types_size, options[i].member,
						     strlen(options[i].member) + 1);
	free(types);
	free(config);
}

int kernel_option(enum kernel_option o)
{
	static int known[KERNEL_OPTIONS];
	static bool is_read;

	if (!is_read)
		options_read(known);
	is_read = true;
	return known[o];
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

bool kernel_permits(int one, int two)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{.effective = 0}};
	uint64_t has;

	syscall(SYS_capget, &header, data);
	has = (uint64_t)data[1].effective << 32 | data[0].effective;
	return has & UINT64_C(1) << CAP_SYS_ADMIN ||
	       (has & UINT64_C(1) << one && has & UINT64_C(1) << two);
}
