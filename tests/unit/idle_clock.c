#include "lib/base/proc.h"
#include "lib/load/kernel.h"

static bool is_root, is_permitted; /* this process */

/* The part itself, for what it has of its own. */
#define geteuid()                ((uid_t)!is_root)
#define kernel_permits(one, two) ((one) != (two) && is_permitted)
#include "lib/load/idle_clock.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "lib/load/cpus.h"
#define KEEPS_FILES
#include "tests/unit/unit.h"

/*
 * A made-up BTF: types of all forms around the hooks, a typedef with a hook's name, and a hook twice.
 */
static char btf[1024];
static size_t btf_size;

static void put(const void *from, size_t size)
{
	memcpy(btf + btf_size, from, size);
	btf_size += size;
}

static void put_type(const char *name, uint32_t kind, uint32_t members, size_t behind)
{
	static const char names[] = "\0int\0tick_nohz_idle_enter\0tick_nohz_idle_exit\0"
				    "tick_irq_enter\0tick_nohz_irq_exit";
	static const uint32_t zero[8];
	struct btf_header h = {.magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof(h)};
	struct btf_type t = {.info = kind << 24 | members};

	if (btf_size == 0) {
		h.str_len = h.type_off = sizeof(names);
		put(&h, sizeof(h));
		put(names, sizeof(names));
	}
	while (name != NULL && strcmp(names + t.name_off, name) != 0)
		t.name_off++;
	put(&t, sizeof(t));
	put(zero, behind);
	memcpy(&h, btf, sizeof(h));
	h.type_len += (uint32_t)(sizeof(t) + behind);
	memcpy(btf, &h, sizeof(h));
}

static void make_btf(void)
{
	btf_size = 0;
	put_type("int", BTF_KIND_INT, 0, 4);
	put_type(NULL, BTF_KIND_FUNC_PROTO, 2, 16);
	put_type("tick_nohz_irq_exit", BTF_KIND_TYPEDEF, 0, 0);
	put_type("tick_nohz_idle_exit", BTF_KIND_FUNC, 1, 0);
	put_type("int", BTF_KIND_STRUCT, 2, 24);
	put_type("int", 19, 2, 24);
	put_type("tick_irq_enter", BTF_KIND_FUNC, 0, 0);
	put_type("tick_nohz_idle_enter", BTF_KIND_FUNC, 0, 0);
	put_type("tick_irq_enter", BTF_KIND_FUNC, 0, 0);
	put_type(NULL, BTF_KIND_ARRAY, 0, 12);
	put_type("tick_nohz_irq_exit", BTF_KIND_FUNC, 0, 0);
}

/* Finds the hooks in the first `size` bytes, behind which an access is an error for a sanitizer. */
static bool find(size_t size, uint32_t id[IDLE_CLOCK_HOOKS])
{
	char *copy = malloc(size + 1);
	bool known;

	if (copy == NULL)
		abort();
	memcpy(copy + 1, btf, size);
	known = btf_find(copy + 1, size, id);
	free(copy);
	return known;
}

static void test_btf(void)
{
	const char *path = "/proc/self/fd/200";
	uint32_t id[IDLE_CLOCK_HOOKS];
	const char *why;
	size_t i, wrong = 0;

	make_btf();
	ok(find(btf_size, id) && id[LOOP_ENTER] == 8 && id[LOOP_EXIT] == 4 && id[IRQ_ENTER] == 7 &&
		   id[IRQ_EXIT] == 11,
	   "BTF: each function has the number of its type, whatever stands around it");
	for (i = 0; i < btf_size; i++)
		wrong += find(i, id);
	ok(wrong == 0, "BTF that is cut off anywhere is rejected");
	for (i = 0; i < 8 * btf_size; i++) {
		btf[i / 8] ^= (char)(1 << i % 8); /* NOLINT(bugprone-narrowing-conversions) */
		(void)find(btf_size, id);
		btf[i / 8] ^= (char)(1 << i % 8); /* NOLINT(bugprone-narrowing-conversions) */
	}
	why = hooks_find(path, id);
	ok(why != NULL && strstr(why, "CONFIG_DEBUG_INFO_BTF") != NULL,
	   "a kernel without BTF: the message names the option");
	ok(dup2(memfd_create("btf", 0), 200) == 200 &&
		   write(200, btf, btf_size) == (ssize_t)btf_size && hooks_find(path, id) == NULL,
	   "BTF is read from a file");
	btf[sizeof(struct btf_header) + 5] = 'T';
	ok(pwrite(200, btf, btf_size, 0) > 0 && (why = hooks_find(path, id)) != NULL &&
		   strstr(why, "no function tick_nohz_idle_enter") != NULL,
	   "a kernel without one of the functions: the message names the function");
	put_type(NULL, 31, 0, 0);
	ok(pwrite(200, btf, btf_size, 0) > 0 && (why = hooks_find(path, id)) != NULL &&
		   strstr(why, "form is not known") != NULL,
	   "BTF of a form that is not known is rejected");
	close(200);
}

/*
 * Runs the programs of bpf(2), with what they need of an interpreter, on the second of two CPUs.
 */
static struct idle_clock_cpu cpus[2];
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

	for (assemble(hook, 0, LENGTH(cpus), program);; i++) {
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
			*d = (uintptr_t)cpus;
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
	return idle_clock_seconds(&(const struct idle_clock){.cpu = cpus}, 1, ns);
}

static void test_programs(void)
{
	run_at(1000, IRQ_EXIT);
	ok(cpus[1].word == 0, "an interrupt outside the idle loop does not begin idle time");
	run_at(2000, LOOP_ENTER);
	run_at(3000, IRQ_ENTER);
	run_at(3500, IRQ_ENTER);
	ok(near(idle_at(9000), 1e-6) && cpus[1].interrupts == 1,
	   "an interrupt ends idle time, and is counted");
	for (cpu = 2; cpu < 4; cpu++)
		run_at(8000, LOOP_ENTER);
	cpu = 1;
	ok(cpus[0].word == 0 && cpus[0].in_loop == 0 && near(idle_at(9000), 1e-6),
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
static bool counts(int times)
{
	const uint64_t interrupts = cpus[1].interrupts;
	const double off = 1e9 * idle_at(now) - (double)truth;
	int i, wrong = 0;

	for (i = 0; i < times; i++) {
		run_steps("I.O");
		run_struck(LOOP_ENTER, NULL, 0);
		pass(1000, true);
		run_steps(steps[i % 3]);
		pass(1000, true);
		wrong += cpus[1].word % 2 != 1;
		run_struck(LOOP_EXIT, NULL, 0);
		pass(500, false);
		wrong += cpus[1].word % 2 != 0 ||
			 fabs(1e9 * idle_at(now) - (double)truth - off) > 1e-3;
	}
	return wrong == 0 && cpus[1].interrupts - interrupts >= (uint64_t)times;
}

/* Strikes a program twice in an idle period.  Returns whether readings stay right, and all that follows is counted. */
static bool survives(int hook, const struct strike strike[2])
{
	const bool sleeps = !wakes(strike[0].steps) && !wakes(strike[1].steps);
	const int in_enter = hook == LOOP_ENTER ? 2 : 0;
	bool right;

	memset(cpus, 0, sizeof(cpus));
	truth = now = 0;
	right = counts(3) && near(idle_at(now), 1e-9 * (double)truth);
	worst = 0;
	struck = 0;
	run_struck(LOOP_ENTER, strike, in_enter);
	if (sleeps || hook == LOOP_EXIT)
		pass(1000, true);
	run_struck(LOOP_EXIT, strike, 2 - in_enter);
	right &= worst < (double)struck + 1e-3; /* of rounding */
	return counts(100) && right;
}

static void test_strikes(void)
{
	const int events = LENGTH(steps);
	struct bpf_insn program[CODE_MAX];
	struct strike s[2];
	char wrong[64];
	int hook, n, k;

	for (hook = LOOP_ENTER; hook <= LOOP_EXIT; hook++) {
		n = assemble(hook, 0, LENGTH(cpus), program);
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
	fd = bpf(BPF_MAP_CREATE, &map);
	memset(&load, 0, sizeof(load));
	load.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	load.insns = (uintptr_t)program;
	load.license = (uintptr_t) "Dual MIT/GPL";
	for (hook = 0; hook < IDLE_CLOCK_HOOKS; hook++) {
		load.insn_cnt = (uint32_t)assemble(hook, fd, 4, program);
		accepted += bpf(BPF_PROG_LOAD, &load) >= 0;
	}
	if (accepted == 0 && (errno == EPERM || errno == ENOSYS || errno == EBADF))
		skip("the kernel's verifier accepts the programs", "bpf(2) is not permitted");
	else
		ok(accepted == IDLE_CLOCK_HOOKS, "the kernel's verifier accepts the programs");
}

static void test_clock(void)
{
	struct idle_clock c = {.cpu = NULL};
	const int files = open_files();
	const uint64_t begun = now_ns();
	const char *why;
	double idle = 0;

	idle_clock_close(&c);
	why = idle_clock_open(&c, 0);
	if (why == NULL) {
		cpu_bind(0);
		sleep_ns(2000000);
		idle = idle_clock_seconds(&c, 0, now_ns());
		idle_clock_close(&c);
		if (idle == 0)
			skip("an idle CPU counts", "CPU 0 was busy all the time");
		else
			ok(idle <= seconds_between(begun, now_ns()), "an idle CPU counts");
	} else {
		ok(strstr(why, "bpf(2)") != NULL || strstr(why, KERNEL_BTF) != NULL ||
			   strstr(why, "64-bit") != NULL,
		   "where there is no clock: why");
	}
	ok(open_files() == files, "nothing of a clock stays open");
}

static void test_advice(void)
{
	static const struct {
		int error;
		bool is_root, is_permitted;
		const char *part;
	} rows[] = {
		{524, false, false, "bpf(2): the kernel needs CONFIG_BPF_SYSCALL"},
		{EMFILE, false, false, "bpf(2): raise the limit of open files"},
		{E2BIG, false, false, "other programs have attached all 38"},
		{ENOMEM, false, false, "bpf(2): Cannot allocate memory"},
		{EPERM, false, false, "'setcap cap_bpf,cap_perfmon+ep /"},
		{EPERM, true, false,
		 "bpf(2): forbidden by a lockdown, a security module or a container"},
		{EPERM, false, true,
		 "bpf(2): forbidden by a lockdown, a security module or a container"},
	};
	uint32_t id[IDLE_CLOCK_HOOKS];
	size_t longest = strlen(hooks_find(KERNEL_BTF "-", id)), i, n;

	for (i = 0; i < LENGTH(rows); i++) {
		is_root = rows[i].is_root;
		is_permitted = rows[i].is_permitted;
		has(explain("bpf(2)", rows[i].error), rows[i].part,
		    "where BPF programs cannot be attached: what helps, of error %d",
		    rows[i].error);
	}
	for (i = 1; i < 600; i++) {
		n = strlen(explain("bpf(2)", (int)i));
		longest = n > longest ? n : longest;
	}
	ok(longest <= WHY_MOST, "the longest reason has %zu characters", longest);
}

TESTS(test_btf, test_programs, test_strikes, test_verifier, test_clock, test_advice)
