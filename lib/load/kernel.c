#include "lib/load/kernel.h"

#include <fcntl.h>
#include <linux/btf.h>
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

#define NAMES_MAX (64 * 1024 * 1024)

static bool contains(const char *text, size_t size, const char *what, size_t n)
{
	return memmem(text, size, what, n) != NULL;
}

/*
 * Reads the names of the kernel's types and their members, which are the last part of the file: a read(2) has a page
 * of it, and the file has a thousand.  Returns NULL if there are none.  The caller frees it.
 */
static char *names_read(const char *path, size_t *size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct btf_header h;
	char *names = NULL;
	ssize_t n = 1;

	*size = 0;
	if (fd < 0)
		return NULL;
	if (pread(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) && h.magic == BTF_MAGIC &&
	    h.str_len < NAMES_MAX)
		names = alloc_or_die(1, h.str_len, path);
	while (names != NULL && *size < h.str_len && n > 0) {
		n = pread(fd, names + *size, h.str_len - *size,
			  (off_t)(h.hdr_len + (uint64_t)h.str_off + *size));
		*size += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	return names;
}

static const char *config_path(void)
{
	struct utsname u;

	uname(&u);
	return text_of("/boot/config-%s", u.release);
}

/* Stores for each option what kernel_option() returns. */
static void options_read(int known[KERNEL_OPTIONS])
{
	size_t size;
	char *all = names_read(KERNEL_BTF, &size);
	const bool has_names = size > 0;
	int i;

	if (!has_names) {
		free(all);
		all = file_read_all(config_path(), &size);
	}
	for (i = 0; i < KERNEL_OPTIONS; i++) {
		if (all == NULL || size == 0)
			known[i] = -1;
		else if (has_names)
			known[i] = contains(all, size, options[i].member,
					    strlen(options[i].member) + 1);
		else
			known[i] = contains(all, size, options[i].line, strlen(options[i].line));
	}
	free(all);
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
