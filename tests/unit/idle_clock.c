/* The part itself, for what it has of its own. */
#include "lib/load/idle_clock.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "lib/load/cpus.h"
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
 * Runs a program of bpf(2), with what it needs of an interpreter, on a CPU at a moment.
 */
/* NOLINTBEGIN(performance-no-int-to-ptr,misc-redundant-expression): its words are addresses, too */
static void run(int hook, struct idle_clock_cpu *cpus, int n, uint64_t cpu, uint64_t now)
{
	struct bpf_insn program[CODE_MAX], *i = program;
	uint64_t r[10];

	for (assemble(hook, 0, n, program);; i++) {
		uint64_t *const d = &r[i->dst_reg], s = r[i->src_reg];

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
	}
}
/* NOLINTEND(performance-no-int-to-ptr,misc-redundant-expression) */

static void test_programs(void)
{
	struct idle_clock_cpu cpus[2] = {{.word = 0}};
	const struct idle_clock c = {.cpu = cpus};

	run(IRQ_EXIT, cpus, 2, 1, 1000);
	run(LOOP_EXIT, cpus, 2, 1, 1500);
	ok(cpus[1].word == 0, "an interrupt outside the idle loop does not begin idle time");
	run(LOOP_ENTER, cpus, 2, 1, 2000);
	ok(near(idle_clock_seconds(&c, 1, 2700), 7e-7),
	   "a CPU is idle from its entry of the loop to the reading");
	run(IRQ_ENTER, cpus, 2, 1, 3000);
	run(IRQ_ENTER, cpus, 2, 1, 3500);
	ok(near(idle_clock_seconds(&c, 1, 9000), 1e-6) && cpus[1].interrupts == 1,
	   "an interrupt ends idle time, and is counted");
	run(IRQ_EXIT, cpus, 2, 1, 4000);
	run(LOOP_EXIT, cpus, 2, 1, 4300);
	run(IRQ_EXIT, cpus, 2, 1, 5000);
	ok(near(idle_clock_seconds(&c, 1, 9000), 1.3e-6),
	   "after the interrupt the CPU is idle until the loop ends");
	run(LOOP_ENTER, cpus, 2, 1, 6000);
	run(IRQ_ENTER, cpus, 2, 1, 6100);
	run(IRQ_EXIT, cpus, 2, 1, 6500);
	run(IRQ_EXIT, cpus, 2, 1, 7000);
	run(LOOP_EXIT, cpus, 2, 1, 7200);
	ok(near(idle_clock_seconds(&c, 1, 9000), 1.6e-6),
	   "a softirq is not idle time behind an interrupt in it");
	run(LOOP_ENTER, cpus, 2, 2, 1000);
	ok(cpus[0].word == 0 && cpus[0].in_loop == 0, "another CPU has counts of its own, or none");
}

/* The kernel's verifier takes the programs by another type where it forbids theirs. */
static void test_verifier(void)
{
	union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY}, load = {.insn_cnt = 0};
	struct bpf_insn program[CODE_MAX];
	int hook, fd, accepted = 0;

	map.key_size = sizeof(uint32_t);
	map.value_size = 4 << CPU_SHIFT;
	map.max_entries = 1;
	map.map_flags = BPF_F_MMAPABLE;
	fd = bpf(BPF_MAP_CREATE, &map);
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
		ok(idle > 0 && idle <= seconds_between(begun, now_ns()), "an idle CPU counts");
	} else {
		ok(strstr(why, "bpf(2)") != NULL || strstr(why, KERNEL_BTF) != NULL ||
			   strstr(why, "64-bit") != NULL,
		   "where there is no clock: why");
	}
	ok(open_files() == files, "nothing of a clock stays open");
	has(explain(EPERM), "'setcap cap_bpf,cap_perfmon+ep /",
	    "without the permission: the way to it");
	has(explain(EOPNOTSUPP), "CONFIG_FUNCTION_TRACER",
	    "where it cannot be attached: what the kernel needs");
}

TESTS(test_btf, test_programs, test_verifier, test_clock)
