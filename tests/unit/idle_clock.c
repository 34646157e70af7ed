/* The clock beside a kernel that is a script; the kernel's verifier is asked where it may be. */
#include "lib/base/proc.h"
#include "lib/load/idle_clock.h"
#include "lib/load/kernel.h"

#include <linux/bpf.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define KEEPS_FILES
#include "tests/unit/script.h"

static struct machine {
	const char *title;
	int fails_at, error; /* which of bpf(2) and mmap(2), from 1; 0: none */
	bool is_root, is_permitted;
	char setting; /* of ftrace; 0: the file is missing */
	bool is_written;
	int calls;
} the;

static struct idle_clock_cpu counts[2]; /* of which the second runs the programs */

static bool fails(void)
{
	errno = the.error;
	return ++the.calls == the.fails_at;
}

static int script_bpf(int command, const union bpf_attr *a)
{
	if (command == BPF_MAP_CREATE)
		note(" map %u %u %u %u %x", a->map_type, a->key_size, a->value_size, a->max_entries,
		     a->map_flags);
	else if (command == BPF_PROG_LOAD)
		note(" %s %u %u %u %u %c", a->prog_name, a->prog_type, a->expected_attach_type,
		     a->attach_btf_id, a->insn_cnt, *(const char *)(uintptr_t)a->license);
	else
		note(" attach %u", a->raw_tracepoint.prog_fd);
	return fails() ? -1 : 10 + the.calls;
}

static long read_setting(char *value)
{
	*value = the.setting;
	return the.setting != 0;
}

static char *read_btf(size_t *size);

#define syscall(number, command, attr, size) script_bpf(command, attr)
#define mmap(at, size, prot, flags, fd, off)                                                       \
	(note(" mmap %zu %d", size, fd), fails() ? MAP_FAILED : counts)
#define munmap(at, size)                  note(" munmap %zu%s", size, (at) == counts ? "" : "?")
#define close(fd)                         note(" close %d", fd)
#define open(path, flags)                 (strcmp(path, FTRACE) == 0 ? 8 : 7)
#define inotify_init1(flags)              9
#define inotify_add_watch(fd, path, what) note("watch %d %x", fd, what)
#define read(fd, to, size)                ((void)(to), (fd) == 9 && the.is_written ? 16 : -1)
#define pread(fd, to, size, at)           ((fd) == 8 ? read_setting(to) : -1)
#define readlink(path, to, size)          (strcpy(to, "/x/zcc"), 6)
#define geteuid()                         ((uid_t)!the.is_root)
#define kernel_permits(one, two)          ((one) != (two) && the.is_permitted)
#define file_read_all(path, size)         read_btf(size)
#include "lib/load/idle_clock.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */
#undef syscall

/* A made-up BTF: types of all forms around the hooks, a typedef with a hook's name, and a hook twice. */
#define TYPE(name, kind, members) name, (uint32_t)(kind) << 24 | (members), 0
/* clang-format off */
enum { INT = 1, ENTER = 5, EXIT = 26, IN = 46, OUT_OF = 61 }; /* where names begin */
static struct {
	struct btf_header header;
	char names[80];
	uint32_t types[56];
} btf = {
	{.magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof(struct btf_header), .type_off = 80,
	 .type_len = 4 * 56, .str_len = 80},
	 "\0int\0tick_nohz_idle_enter\0tick_nohz_idle_exit\0tick_irq_enter\0tick_nohz_irq_exit",
	 {TYPE(INT, BTF_KIND_INT, 0), 0, TYPE(0, BTF_KIND_FUNC_PROTO, 2), 0, 0, 0, 0,
	  TYPE(OUT_OF, BTF_KIND_TYPEDEF, 0), TYPE(EXIT, BTF_KIND_FUNC, 1),
	  TYPE(INT, BTF_KIND_STRUCT, 2), 0, 0, 0, 0, 0, 0, TYPE(INT, 19, 2), 0, 0, 0, 0, 0, 0,
	  TYPE(IN, BTF_KIND_FUNC, 0), TYPE(ENTER, BTF_KIND_FUNC, 0), TYPE(IN, BTF_KIND_FUNC, 0),
	  TYPE(0, BTF_KIND_ARRAY, 0), 0, 0, 0, TYPE(OUT_OF, BTF_KIND_FUNC, 0)}};
/* clang-format on */
static bool has_no_btf;

static char *read_btf(size_t *size)
{
	*size = sizeof(btf);
	errno = ENOENT;
	return has_no_btf ? NULL : memcpy(alloc_or_die(1, sizeof(btf), "BTF"), &btf, sizeof(btf));
}

static void test_btf(void)
{
	uint32_t id[IDLE_CLOCK_HOOKS] = {0};
	size_t i, wrong = 0;
	char *const bytes = (char *)&btf;

	ok(hooks_find("BTF", id) == NULL && id[LOOP_ENTER] == 8 && id[LOOP_EXIT] == 4 &&
		   id[IRQ_ENTER] == 7 && id[IRQ_EXIT] == 11,
	   "BTF: each function has the number of its type, whatever stands around it");
	for (i = 0; i < sizeof(btf); i++)
		wrong += btf_find(guarded(&btf, i), i, id);
	ok(wrong == 0, "BTF that is cut off anywhere is rejected");
	for (i = 0; i < 8 * sizeof(btf); i++) {
		bytes[i / 8] ^= (char)(1 << i % 8); /* NOLINT(bugprone-narrowing-conversions) */
		(void)btf_find(guarded(&btf, sizeof(btf)), sizeof(btf), id);
		bytes[i / 8] ^= (char)(1 << i % 8); /* NOLINT(bugprone-narrowing-conversions) */
	}
	btf.names[ENTER] = 'T';
	is(hooks_find("BTF", id), "BTF: the kernel has no function tick_nohz_idle_enter",
	   "a kernel without one of the functions: the message names the function");
	btf.types[1] = 31u << 24;
	is(hooks_find("BTF", id), "BTF: its form is not known", "BTF of another form is rejected");
	has_no_btf = true;
	is(hooks_find("BTF", id),
	   "BTF: No such file or directory: the kernel needs CONFIG_DEBUG_INFO_BTF",
	   "a kernel without BTF: the message names the option");
	has_no_btf = false;
	btf.types[1] = BTF_KIND_INT << 24;
	btf.names[ENTER] = 't';
}

/*
 * Runs the programs of bpf(2), with what they need of an interpreter, on the second of two CPUs.
 */
static uint64_t cpu = 1, now; /* the time does not go on while a program runs */

/* What comes before an instruction of a program, which has interrupts on. */
struct strike {
	int at;
	const char
		*steps; /* I and O: the programs of an interrupt's entry and exit; a dot: 100 ns */
};

static void pass(uint64_t ns, bool is_idle);
static void run_steps(const char *steps);

/* NOLINTBEGIN(performance-no-int-to-ptr,misc-*): its words are addresses, too, and an interrupt runs steps */
static void run_struck(int hook, const struct strike *strike, int strikes)
{
	struct bpf_insn program[CODE_MAX], *i = program;
	uint64_t r[10];
	int k;

	for (assemble(hook, 0, LENGTH(counts), program);; i++) {
		uint64_t *const d = &r[i->dst_reg], s = r[i->src_reg];

		for (k = 0; k < strikes; k++)
			if (strike[k].at == i - program)
				run_steps(strike[k].steps);
		switch (i->code) {
		case BPF_JMP | BPF_CALL: r[0] = i->imm == BPF_FUNC_ktime_get_ns ? now : cpu; break;
		case BPF_JMP | BPF_JGE | BPF_K: i += *d >= (uint64_t)i->imm ? i->off : 0; break;
		case BPF_JMP | BPF_JEQ | BPF_K: i += *d == (uint64_t)i->imm ? i->off : 0; break;
		case BPF_JMP | BPF_JSET | BPF_K: i += *d & (uint64_t)i->imm ? i->off : 0; break;
		case BPF_ALU64 | BPF_LSH | BPF_K: *d <<= i->imm; break;
		case BPF_ALU64 | BPF_XOR | BPF_K: *d ^= (uint64_t)i->imm; break;
		case BPF_ALU64 | BPF_MOV | BPF_K: *d = (uint64_t)i->imm; break;
		case BPF_ALU64 | BPF_ADD | BPF_K: *d += (uint64_t)i->imm; break;
		case BPF_ALU64 | BPF_ADD | BPF_X: *d += s; break;
		case BPF_ALU64 | BPF_SUB | BPF_K: *d -= (uint64_t)i->imm; break;
		case BPF_ALU64 | BPF_SUB | BPF_X: *d -= s; break;
		case LOAD_MAP:
			*d = (uintptr_t)counts;
			i++;
			break;
		case BPF_LDX | BPF_DW | BPF_MEM: memcpy(d, (char *)(uintptr_t)s + i->off, 8); break;
		case BPF_STX | BPF_DW | BPF_MEM:
			memcpy((char *)(uintptr_t)*d + i->off, &s, 8);
			break;
		case BPF_ST | BPF_DW | BPF_MEM:
			s = (uint64_t)i->imm;
			memcpy((char *)(uintptr_t)*d + i->off, &s, 8);
			break;
		case BPF_JMP | BPF_EXIT: return;
		default: abort();
		}
		pass(0, false);
	}
}
/* NOLINTEND(performance-no-int-to-ptr,misc-*) */

static void run_at(uint64_t ns, int hook)
{
	now = ns;
	run_struck(hook, NULL, 0);
}

static double idle_at(uint64_t ns)
{
	return idle_clock_seconds(&(const struct idle_clock){.cpu = counts}, 1, ns);
}

static void test_programs(void)
{
	run_at(1000, IRQ_EXIT);
	ok(counts[1].word == 0, "an interrupt outside the idle loop does not begin idle time");
	run_at(2000, LOOP_ENTER);
	run_at(3000, IRQ_ENTER);
	run_at(3500, IRQ_ENTER);
	ok(near(idle_at(9000), 1e-6) && counts[1].interrupts == 1,
	   "an interrupt ends idle time, and is counted");
	for (cpu = 2; cpu < 4; cpu++)
		run_at(8000, LOOP_ENTER);
	cpu = 1;
	ok(counts[0].word == 0 && counts[0].in_loop == 0 && near(idle_at(9000), 1e-6),
	   "another CPU has counts of its own, or none");
}

/*
 * The programs of the loop, struck by interrupts between any two instructions, beside the truth.
 */
static uint64_t truth;  /* the idle time, in ns */
static double worst;    /* by how much a reading was wrong */
static uint64_t struck; /* ns: how long the interrupts took that struck */

/* Time passes, and somebody reads the clock. */
static void pass(uint64_t ns, bool is_idle)
{
	now += ns;
	truth += is_idle ? ns : 0;
	worst = fmax(worst, fabs(1e9 * idle_at(now) - (double)truth));
}

/* NOLINTNEXTLINE(misc-no-recursion): an interrupt in a program runs steps */
static void run_steps(const char *steps)
{
	for (; *steps != '\0'; steps++) {
		if (*steps == '.') {
			pass(100, false);
			struck += 100;
		} else {
			run_struck(*steps == 'I' ? IRQ_ENTER : IRQ_EXIT, NULL, 0);
		}
	}
}

/* An interrupt; one that runs a softirq, which another interrupt interrupts; the same with nohz_full; and two that wake a task. */
static const char *const steps[] = {"I...O", "I.O..O", "I.I.O..O", "I...", "I.O.."};

static bool wakes(const char *s)
{
	return s[strlen(s) - 1] == '.';
}

/* The CPU leaves and enters the idle loop, is interrupted in it and outside of it, and all is counted. */
static bool is_counted(int times)
{
	const uint64_t interrupts = counts[1].interrupts;
	const double off = 1e9 * idle_at(now) - (double)truth;
	int i, wrong = 0;

	for (i = 0; i < times; i++) {
		run_steps("I.O");
		run_struck(LOOP_ENTER, NULL, 0);
		pass(1000, true);
		run_steps(steps[i % 3]);
		pass(1000, true);
		wrong += counts[1].word % 2 != 1;
		run_struck(LOOP_EXIT, NULL, 0);
		pass(500, false);
		wrong += counts[1].word % 2 != 0 ||
			 fabs(1e9 * idle_at(now) - (double)truth - off) > 1e-3;
	}
	return wrong == 0 && counts[1].interrupts - interrupts >= (uint64_t)times;
}

/* Strikes a program twice in an idle period.  Returns whether readings stay right, and all that follows is counted. */
static bool survives(int hook, const struct strike strike[2])
{
	const bool sleeps = !wakes(strike[0].steps) && !wakes(strike[1].steps);
	const int in_enter = hook == LOOP_ENTER ? 2 : 0;
	bool right;

	memset(counts, 0, sizeof(counts));
	truth = now = 0;
	right = is_counted(3) && near(idle_at(now), 1e-9 * (double)truth);
	worst = 0;
	struck = 0;
	run_struck(LOOP_ENTER, strike, in_enter);
	if (sleeps || hook == LOOP_EXIT)
		pass(1000, true);
	run_struck(LOOP_EXIT, strike, 2 - in_enter);
	right &= worst < (double)struck + 1e-3; /* of rounding */
	return is_counted(100) && right;
}

static void test_strikes(void)
{
	const int events = LENGTH(steps);
	struct bpf_insn program[CODE_MAX];
	struct strike s[2];
	char wrong[64];
	int hook, n, k;

	for (hook = LOOP_ENTER; hook <= LOOP_EXIT; hook++) {
		n = assemble(hook, 0, LENGTH(counts), program);
		wrong[0] = '\0';
		for (k = 0; k < n * n * events * events; k++) {
			s[0] = (struct strike){k % n, steps[k / n / n % events]};
			s[1] = (struct strike){k / n % n, steps[k / n / n / events]};
			/* Behind an interrupt that wakes a task others end likewise, until it runs. */
			if (s[0].at > s[1].at || (wakes(s[0].steps) && !wakes(s[1].steps)))
				continue;
			if (!survives(hook, s))
				snprintf(wrong, sizeof(wrong), "%s before %d, %s before %d",
					 s[0].steps, s[0].at, s[1].steps, s[1].at);
		}
		is(wrong, "",
		   "%s: wherever interrupts divide the program, the clock is wrong by their length at most",
		   hooks[hook]);
	}
}

/* The kernel's verifier takes the programs by another type where it forbids theirs. */
static void test_verifier(void)
{
	union bpf_attr map, load;
	struct bpf_insn program[CODE_MAX];
	int hook, fd, accepted = 0;

	memset(&map, 0, sizeof(map));
	map.map_type = BPF_MAP_TYPE_ARRAY;
	map.key_size = sizeof(uint32_t);
	map.value_size = 4 << CPU_SHIFT;
	map.max_entries = 1;
	map.map_flags = BPF_F_MMAPABLE;
	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map));
	memset(&load, 0, sizeof(load));
	load.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	load.insns = (uintptr_t)program;
	load.license = (uintptr_t) "Dual MIT/GPL";
	for (hook = 0; hook < IDLE_CLOCK_HOOKS; hook++) {
		load.insn_cnt = (uint32_t)assemble(hook, fd, 4, program);
		accepted += syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load)) >= 0;
	}
	if (accepted == 0 && (errno == EPERM || errno == ENOSYS || errno == EBADF))
		skip("the kernel's verifier accepts the programs", "bpf(2) is not permitted");
	else
		ok(accepted == IDLE_CLOCK_HOOKS, "the kernel's verifier accepts the programs");
}

static void open_and_close(void *unused)
{
	struct idle_clock c = {.cpu = NULL};
	const char *why;

	idle_clock_close(&c);
	why = idle_clock_open(&c, 1);
	note("\n%s: %s%s%s\n", the.title, why != NULL ? why : "opens",
	     c.cpu == (why == NULL ? counts : NULL) ? "" : "?",
	     why == NULL && idle_clock_is_silenced(&c) ? ", and is silenced" : "");
	the.setting = '1'; /* it stays silenced */
	the.is_written = false;
	note("%s", why == NULL && idle_clock_is_silenced(&c) ? "silenced:" : "");
	idle_clock_close(&c);
	idle_clock_close(&c);
	note(why == NULL ? "\n" : "");
}

static void test_clock(void)
{
	static const struct machine rows[] = {
		{"a clock", .setting = '1'},
		{"a setting that is 0", .setting = '0'},
		{"a setting that was written", .is_written = true},
		{"a kernel without bpf(2)", 1, .error = 524},
		{"files", 1, .error = EMFILE},
		{"a user", 1, .error = EPERM},
		{"root", 1, .error = EPERM, .is_root = true},
		{"who has the capabilities", 1, .error = EPERM, .is_permitted = true},
		{"memory that cannot be mapped", 2, .error = ENOMEM},
		{"a program that is rejected", 3, .error = EINVAL},
		{"the last of many programs", 10, .error = E2BIG},
	};
	size_t i, n, longest = 0;

	script.calls[0] = '\0';
	for (i = 0; i < LENGTH(rows); i++) {
		the = rows[i];
		open_and_close(NULL);
	}
	expect(script.calls, "a clock opens, or has a reason, and closes all that it has opened");
	for (i = 1; i < 600; i++) {
		n = strlen(explain("bpf(2)", (int)i));
		longest = n > longest ? n : longest;
	}
	ok(longest <= WHY_MOST, "the longest reason has %zu characters", longest);
}

TESTS(test_btf, test_programs, test_strikes, test_verifier, test_clock)
