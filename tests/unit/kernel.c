#include "lib/base/proc.h"

#include <linux/capability.h>
#include <sys/syscall.h>

#include "tests/unit/unit.h"

static struct {
	const char *types, *config; /* the files of a kernel; NULL: missing */
	size_t types_size;
	uint64_t capabilities;
	bool fails;
} the;

static char *read_file(const char *path, size_t *size)
{
	const bool is_types = strncmp(path, "/sys/", 5) == 0,
		   is_config = strncmp(path, "/boot/config-", 13) == 0;
	const char *text = is_types ? the.types : is_config ? the.config : NULL;

	*size = is_types ? the.types_size : text != NULL ? strlen(text) : 0;
	return text != NULL ? memcpy(alloc_or_die(1, *size + 1, "file"), text, *size + 1) : NULL;
}

#define file_read_all(path, size) read_file(path, size)
#define syscall(number, header, data)                                                              \
	((number) == SYS_capget && (header)->version == _LINUX_CAPABILITY_VERSION_3                \
		 ? (void)((data)[0].effective = (uint32_t)the.capabilities,                        \
			  (data)[1].effective = (uint32_t)(the.capabilities >> 32))                \
		 : abort())
#include "lib/load/kernel.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

/* The options of kernels with these files. */
static void test_options(void)
{
	static const struct {
		const char *types;
		size_t size;
		const char *config;
		int irq, steal;
	} rows[] = {
		{"a\0prev_irq_time\0b", 17, NULL, 1, 0},
		{"a\0prev_irq_time_b\0prev_steal_time_rq\0", 37, "\nCONFIG_IRQ_TIME_ACCOUNTING=y\n",
		 0, 1},
		{"", 0, "\nCONFIG_IRQ_TIME_ACCOUNTING=y\n# PARAVIRT_TIME_ACCOUNTING\n", 1, 0},
		{NULL, 0, "\nCONFIG_PARAVIRT_TIME_ACCOUNTING=y\nCONFIG_IRQ_TIME_ACCOUNTING=m\n", 0,
		 1},
		{NULL, 0, NULL, -1, -1},
	};
	int known[KERNEL_OPTIONS];
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		the.types = rows[i].types;
		the.types_size = rows[i].size;
		the.config = rows[i].config;
		options_read(known);
		ok(known[KERNEL_IRQ_TIME] == rows[i].irq &&
			   known[KERNEL_STEAL_TIME] == rows[i].steal,
		   "BTF tells a kernel's options, or else its configuration: case %d", (int)i);
	}
	the.config = "\nCONFIG_IRQ_TIME_ACCOUNTING=y\n";
	ok(kernel_option(KERNEL_IRQ_TIME) == 1 && kernel_option(KERNEL_STEAL_TIME) == 0,
	   "an option is that of its name");
	the.config = NULL;
	ok(kernel_option(KERNEL_IRQ_TIME) == 1, "the configuration is read once");
}

static void test_rest(void)
{
	the.config = "\nCONFIG_HZ_1000=y\nCONFIG_HZ=250\n";
	ok(kernel_hz() == 250, "the configuration has the timer's frequency");
	the.config = "\nCONFIG_HZ_1000=y\n";
	ok(isnan(kernel_hz()), "a configuration without the frequency: it is not known");
	the.capabilities = UINT64_C(1) << 38;
	ok(!kernel_permits(1, 38) && !kernel_permits(38, 1) && kernel_permits(38, 38),
	   "both of two are needed");
	the.capabilities = UINT64_C(1) << CAP_SYS_ADMIN;
	ok(kernel_permits(1, 38), "CAP_SYS_ADMIN has them as parts");
}

TESTS(test_options, test_rest)
