/* The kernel's functions and their groups: lib/load/symbols. */
#include "lib/load/symbols.h"

#include <linux/perf_event.h>

#include "tests/unit/unit.h"

/* As /proc/kallsyms has them, not in order, with data, a part of a function that a compiler made, and a module. */
static char kernel[] = "0000000000003000 T schedule\n"
		       "0000000000001000 T _copy_to_iter\n"
		       "0000000000002000 t release_sock.isra.0\n"
		       "0000000000002800 D tcp_data\n"
		       "0000000000004000 t unheard_of\n"
		       "0000000000005000 T do_syscall_64\n"
		       "0000000000006000 t _raw_spin_unlock_irqrestore\n"
		       "0000000000007000 T asm_sysvec_reschedule_ipi\n"
		       "not a line\n0\n00000000000000a0 T\n"
		       "0000000000009000 t anything\t[veth]\n"
		       "000000000000a000 t tls_push_record\t[tls]\n"
		       "000000000000b000 t gcmaes_encrypt\t[aesni_intel]\n"
		       "000000000000c000 T tcp_sendmsg_locked\n";

static struct symbols s;

static const char *read_text(const char *text)
{
	char copy[2048];

	strcpy(copy, text);
	return symbols_read(&s, fmemopen(copy, strlen(copy), "r"));
}

static void test_reading(void)
{
	ok(read_text(kernel) == NULL && s.n == 11,
	   "functions are read, and neither data nor other lines");
}

/* Of chains of addresses of the kernel: the groups, of another thread and of a soaker. */
static void test_groups(void)
{
#define KEY(which, key, name) key,
	static const char *const keys[] = {PROFILE_EACH(KEY)};
	const char *chains =
		"1010 2010 5010|6010 2010 5010|4010 2010|4010 5010|5010|9010|a010 c010|"
		"b010 a010|1010 a010|1010 3000|4010 3000|1000|1fff|2801|fff|ffffffff||"
		"7010|3010 5010";
	const char *chain, *groups = "";
	enum profile_group group, of_soaker;
	uint64_t words[5] = {(uint64_t)PERF_CONTEXT_KERNEL};
	char *at;
	size_t n;

	while ((chain = next_of(&chains)) != NULL) {
		for (n = 1, at = (char *)chain; *at != '\0'; n++)
			words[n] = strtoull(at, &at, 16);
		group = symbols_group(&s, words, n, false);
		of_soaker = symbols_group(&s, words, n, true);
		groups = text_of("%s%s: %s, %s\n", groups, chain, keys[group],
				 of_soaker == PROFILE_IDLE ? "idle" : keys[of_soaker]);
	}
	expect(groups,
	       "the innermost function that is in a group has a sample, unless a soaker is not displaced");
	ok(symbols_group(&s, NULL, 0, false) == PROFILE_USER,
	   "a sample without a word is the user's");
	symbols_free(&s);
}

static void test_missing(void)
{
	is(read_text("0000000000000000 T hidden\n"), "/proc/kallsyms has no addresses",
	   "addresses that the kernel hides are missing");
	is(symbols_read(&s, NULL), "/proc/kallsyms", "so is a file that could not be opened");
}

TESTS(test_reading, test_groups, test_missing)
