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

static enum profile_group group(const uint64_t *chain, size_t n)
{
	return symbols_group(&s, chain, n, false);
}

static void test_reading(void)
{
	ok(read_text(kernel) == NULL && s.n == 11,
	   "functions are read, and neither data nor other lines");
}

#define GROUP(...) group((const uint64_t[]){__VA_ARGS__}, LENGTH(((const uint64_t[]){__VA_ARGS__})))

static void test_groups(void)
{
	const uint64_t context = (uint64_t)PERF_CONTEXT_KERNEL;
	const uint64_t user[] = {context}, call[] = {context, 0x5010};
	const uint64_t interrupt[] = {context, 0x7010}, wake[] = {context, 0x3010, 0x5010};

	ok(GROUP(context, 0x1010, 0x2010, 0x5010) == PROFILE_COPY,
	   "the innermost function that is in a group counts");
	ok(GROUP(context, 0x6010, 0x2010, 0x5010) == PROFILE_TCP, "a helper belongs to its caller");
	ok(GROUP(context, 0x4010, 0x2010) == PROFILE_TCP, "as does a function that is in no group");
	ok(GROUP(context, 0x4010, 0x5010) == PROFILE_OTHER,
	   "but the entry of a system call does not stand for what it calls");
	ok(GROUP(context, 0x5010) == PROFILE_ENTRY, "only for itself");
	ok(GROUP(context, 0x9010) == PROFILE_DEVICE, "a module has a group, too");
	ok(GROUP(context, 0xa010, 0xc010) == PROFILE_CRYPTO &&
		   GROUP(context, 0xb010, 0xa010) == PROFILE_CRYPTO &&
		   GROUP(context, 0x1010, 0xa010) == PROFILE_COPY,
	   "kernel TLS and its ciphers are a group, and the copies that TLS makes are copies");
	ok(GROUP(context, 0x1010, 0x3000) == PROFILE_COPY &&
		   GROUP(context, 0x4010, 0x3000) == PROFILE_TCP,
	   "a return address at the begin of a function is in the one before it");
	ok(GROUP(context, 0x1000) == PROFILE_COPY && GROUP(context, 0x1fff) == PROFILE_COPY &&
		   GROUP(context, 0x2801) == PROFILE_TCP,
	   "an address belongs to the function before it, which is no datum");
	ok(GROUP(context, 0xfff) == PROFILE_OTHER, "an address below the first is in no group");
	ok(GROUP(context, 0xffffffff) == PROFILE_TCP, "above the last it is in that of the last");
	ok(group(user, 1) == PROFILE_USER && group(NULL, 0) == PROFILE_USER,
	   "without a function of the kernel it is the user's time");
	ok(symbols_group(&s, user, 1, true) == PROFILE_IDLE &&
		   symbols_group(&s, call, 2, true) == PROFILE_IDLE,
	   "a soaker's loop and its system calls are idle time");
	ok(symbols_group(&s, interrupt, 2, true) == PROFILE_INTERRUPTS &&
		   symbols_group(&s, wake, 3, true) == PROFILE_SCHEDULER,
	   "an interrupt on top of a soaker, and a switch, are load");
	symbols_free(&s);
}

static void test_missing(void)
{
	is(read_text("0000000000000000 T hidden\n"), "/proc/kallsyms has no addresses",
	   "addresses that the kernel hides are missing");
	is(symbols_read(&s, NULL), "/proc/kallsyms", "so is a file that could not be opened");
}

TESTS(test_reading, test_groups, test_missing)
