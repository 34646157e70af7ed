#include "lib/load/idle_clock.h"

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/capability.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "lib/base/proc.h"
#include "lib/load/kernel.h"

#define ENOTSUPP 524 /* of the kernel's include/linux/errno.h */

#define FTRACE "/proc/sys/kernel/ftrace_enabled"

#define CPU_SHIFT 6 /* of the size of a CPU's counts */

_Static_assert(sizeof(struct idle_clock_cpu) == 1 << CPU_SHIFT, "the programs shift");

/* The functions of kernel/time/tick-sched.c to which the programs are attached. */
enum { LOOP_ENTER, LOOP_EXIT, IRQ_ENTER, IRQ_EXIT };

static const char *const hooks[IDLE_CLOCK_HOOKS] = {"tick_nohz_idle_enter", "tick_nohz_idle_exit",
						    "tick_irq_enter", "tick_nohz_irq_exit"};

/*
 * The kernel's description of its functions and types, BTF (Documentation/bpf/btf.rst).
 */

/* The bytes of a type behind its struct btf_type: a constant, and some for each member.  Headers may be older. */
static uint32_t bytes_behind(uint32_t info)
{
	enum { DECL_TAG = 17, ENUM64 = 19, KINDS };
	static const uint8_t once[KINDS] = {
		[BTF_KIND_INT] = 4, [BTF_KIND_ARRAY] = 12, [BTF_KIND_VAR] = 4, [DECL_TAG] = 4};
	static const uint8_t each[KINDS] = {
		[BTF_KIND_STRUCT] = 12,    [BTF_KIND_UNION] = 12,   [BTF_KIND_ENUM] = 8,
		[BTF_KIND_FUNC_PROTO] = 8, [BTF_KIND_DATASEC] = 12, [ENUM64] = 12};
	const uint32_t kind = info >> 24 & 0x1f;

	return kind < KINDS ? once[kind] + each[kind] * (info & 0xffff) : UINT32_MAX;
}

/*
 * Stores the numbers of the hooks; 0: not found.  Returns false if something of a form that is not known here comes
 * before the last hook.
 */
static bool btf_find(const char *btf, size_t size, uint32_t id[IDLE_CLOCK_HOOKS])
{
	const char *types = btf, *names = btf;
	struct btf_header h;
	struct btf_type type;
	uint32_t at = 0, number = 1;
	int k, found = 0;

	memset(id, 0, IDLE_CLOCK_HOOKS * sizeof(*id));
	if (size < sizeof(h))
		return false;
	memcpy(&h, btf, sizeof(h));
	if (h.magic != BTF_MAGIC || (uint64_t)h.hdr_len + h.type_off + h.type_len > size ||
	    (uint64_t)h.hdr_len + h.str_off + h.str_len > size || h.str_len == 0)
		return false;
	types += h.hdr_len + h.type_off;
	names += h.hdr_len + h.str_off;
	if (names[h.str_len - 1] != '\0')
		return false;
	for (; found < IDLE_CLOCK_HOOKS && h.type_len - at >= sizeof(type); number++) {
		memcpy(&type, types + at, sizeof(type));
		at += (uint32_t)sizeof(type);
		if (bytes_behind(type.info) > h.type_len - at || type.name_off >= h.str_len)
			return false;
		at += bytes_behind(type.info);
		for (k = 0; k < IDLE_CLOCK_HOOKS && type.info >> 24 == BTF_KIND_FUNC; k++)
			if (id[k] == 0 && strcmp(names + type.name_off, hooks[k]) == 0) {
				id[k] = number;
				found++;
			}
	}
	return true;
}

/* Reads the numbers of the hooks from the kernel's file.  Returns NULL or what is missing. */
static const char *hooks_find(const char *path, uint32_t id[IDLE_CLOCK_HOOKS])
{
	size_t size;
	char *btf = file_read_all(path, &size);
	bool known;
	int k;

	if (btf == NULL)
		return text_of("%s: %s: the kernel needs CONFIG_DEBUG_INFO_BTF", path,
			       strerror(errno));
	known = btf_find(btf, size, id);
	free(btf);
	if (!known)
		return text_of("%s: its form is not known", path);
	for (k = 0; k < IDLE_CLOCK_HOOKS; k++)
		if (id[k] == 0)
			return text_of("%s: the kernel has no function %s", path, hooks[k]);
	return NULL;
}

/*
 * The programs.
 */

#define OP(op, d, s, o, i)                                                                         \
	{                                                                                          \
		.code = (op), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)               \
	}
#define SET(d, op, i)      OP(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define SET_X(d, op, s)    OP(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define JUMP(op, d, i, to) OP(BPF_JMP | (op) | BPF_K, d, 0, to, i)
#define LOAD(d, member)    OP(BPF_LDX | BPF_DW | BPF_MEM, d, 7, AT(member), 0)
#define STORE(member, s)   OP(BPF_STX | BPF_DW | BPF_MEM, 7, s, AT(member), 0)
#define STORE_K(member, i) OP(BPF_ST | BPF_DW | BPF_MEM, 7, 0, AT(member), i)
#define CALL(function)     OP(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_##function)
#define AT(member)         offsetof(struct idle_clock_cpu, member)
#define OUT                (-1) /* a jump to the end */

#define IF_CPU   (BPF_JMP | BPF_JGE | BPF_K) /* the instruction with the number of CPUs */
#define LOAD_MAP (BPF_LD | BPF_DW | BPF_IMM) /* the instruction with the map */
#define CODE_MAX 32

/* How each program begins: r7 is this CPU's struct.  How it ends: `OUT` jumps to there. */
#define BEGIN                                                                                      \
	CALL(get_smp_processor_id), OP(IF_CPU, 0, 0, OUT, 0), SET(0, BPF_LSH, CPU_SHIFT),          \
		OP(LOAD_MAP, 7, BPF_PSEUDO_MAP_VALUE, 0, 0),                                       \
		OP(0, 0, 0, 0, 0) /* its other half */, SET_X(7, BPF_ADD, 0)
#define END SET(0, BPF_MOV, 0), OP(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/*
 * Interrupts come between any two instructions of the programs of the loop, and run the programs of interrupts there,
 * which nothing interrupts.  Therefore one word, loaded once, tells whether the CPU is idle: a program that an interrupt
 * divides is wrong by the length of that interrupt at most.  In the programs r8 is the word, and r0 the time.
 */

static const struct bpf_insn loop_enter[CODE_MAX] = {
	BEGIN,
	STORE_K(in_loop, 1),
	LOAD(8, word),
	JUMP(BPF_JSET, 8, 1, OUT), /* an interrupt that has just ended began idle time */
	CALL(ktime_get_ns),
	SET(0, BPF_LSH, 1),
	SET(0, BPF_SUB, 1),
	STORE(open, 0),
	SET_X(8, BPF_SUB, 0),
	STORE(word, 8),
	END,
};

static const struct bpf_insn loop_exit[CODE_MAX] = {
	BEGIN,
	STORE_K(in_loop, 0),
	LOAD(8, word),
	SET(8, BPF_XOR, 1), /* now it is odd if there is nothing to end */
	JUMP(BPF_JSET, 8, 1, OUT),
	CALL(ktime_get_ns),
	SET(0, BPF_LSH, 1),
	SET_X(8, BPF_ADD, 0),
	STORE(word, 8),
	END,
};

static const struct bpf_insn irq_enter[CODE_MAX] = {
	BEGIN,
	LOAD(8, word),
	SET(8, BPF_XOR, 1), /* now it is odd if there is nothing to end */
	JUMP(BPF_JSET, 8, 1, OUT),
	CALL(ktime_get_ns),
	SET(0, BPF_LSH, 1),
	SET_X(8, BPF_ADD, 0),
	STORE(word, 8),
	LOAD(1, interrupts),
	SET(1, BPF_ADD, 1),
	STORE(interrupts, 1),
	END,
};

/*
 * As in the kernel, idle time that is open is dropped, and begins anew: an interrupt in a softirq in the idle loop opens it
 * at its end, and the softirq's own end comes later.  A CPU with nohz_full comes here at the end of any interrupt.
 */
static const struct bpf_insn irq_exit[CODE_MAX] = {
	BEGIN,
	LOAD(1, in_loop),
	JUMP(BPF_JEQ, 1, 0, OUT),
	LOAD(8, word),
	LOAD(1, open),
	JUMP(BPF_JSET, 8, 1, 1), /* over the next instruction */
	SET(1, BPF_MOV, 0),      /* nothing is open */
	SET_X(8, BPF_ADD, 1),
	CALL(ktime_get_ns),
	SET(0, BPF_LSH, 1),
	SET(0, BPF_SUB, 1),
	STORE(open, 0),
	SET_X(8, BPF_SUB, 0),
	STORE(word, 8),
	END,
};

static const struct bpf_insn *const programs[IDLE_CLOCK_HOOKS] = {loop_enter, loop_exit, irq_enter,
								  irq_exit};

/* Stores the program of a hook, for so many CPUs; returns its length. */
static int assemble(int hook, int map, int cpus, struct bpf_insn program[CODE_MAX])
{
	int k, n = 1;

	memcpy(program, programs[hook], CODE_MAX * sizeof(*program));
	while (program[n - 1].code != (BPF_JMP | BPF_EXIT)) /* of END */
		n++;
	for (k = 0; k < n; k++) {
		if (program[k].off == OUT)
			program[k].off = (int16_t)(n - 2 - (k + 1));
		if (program[k].code == IF_CPU)
			program[k].imm = cpus;
		if (program[k].code == LOAD_MAP)
			program[k].imm = map;
	}
	return n;
}

static int bpf(int command, union bpf_attr *a)
{
	return (int)syscall(SYS_bpf, command, a, sizeof(*a));
}

/* Loads a program, attaches it to a function of the kernel, and returns the link that holds it there. */
static int attach(const struct bpf_insn *program, int n, uint32_t function)
{
	union bpf_attr load, open;
	int fd, link, error;

	memset(&load, 0, sizeof(load)); /* an initializer need not clear a union */
	memset(&open, 0, sizeof(open));
	load.prog_type = BPF_PROG_TYPE_TRACING;
	load.expected_attach_type = BPF_TRACE_FENTRY;
	load.attach_btf_id = function;
	load.insns = (uintptr_t)program;
	load.insn_cnt = (uint32_t)n;
	load.license = (uintptr_t) "Dual MIT/GPL";
	strcpy(load.prog_name, "zc_idle");
	fd = bpf(BPF_PROG_LOAD, &load);
	if (fd < 0)
		return -1;
	open.raw_tracepoint.prog_fd = (uint32_t)fd;
	link = bpf(BPF_RAW_TRACEPOINT_OPEN, &open);
	error = errno;
	close(fd);
	errno = error;
	return link;
}

/*
 * The clock.
 */

static const struct idle_clock closed = {
	.map = -1, .link = {-1, -1, -1, -1}, .setting = -1, .watch = -1};

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The file stays open, as otherwise the kernel may forget what is watched.  It may be missing, and so may the watch. */
static void watch_setting(struct idle_clock *c)
{
	c->setting = open(FTRACE, O_RDONLY | O_CLOEXEC);
	c->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	inotify_add_watch(c->watch, FTRACE, IN_MODIFY);
}

bool idle_clock_is_silenced(struct idle_clock *c)
{
	char value = '1', writes[1024];

	if (read(c->watch, writes, sizeof(writes)) > 0)
		c->silenced = true;
	if (pread(c->setting, &value, 1, 0) == 1 && value == '0')
		c->silenced = true;
	return c->silenced;
}

/* What may help where bpf(2) has failed; NULL: nothing is known. */
static const char *advice(int error)
{
	char self[256] = "";

	switch (error) {
	case EPERM:
		if (geteuid() == 0 || kernel_permits(CAP_BPF, CAP_PERFMON))
			return "forbidden by a lockdown, a security module or a container";
		if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
			strcpy(self, program_invocation_name);
		return text_of("become root, or run 'setcap cap_bpf,cap_perfmon+ep %s'",
			       printable(self));
	case E2BIG:
		return "other programs have attached all 38 BPF programs that a function takes: "
		       "end one";
	case EMFILE: return "raise the limit of open files (ulimit -n)";
	case ENOSYS:
	case EINVAL:
	case EOPNOTSUPP:
		return "the kernel needs CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and "
		       "CONFIG_FUNCTION_TRACER";
	default: return NULL;
	}
}

/* Why a system call has failed. */
static const char *explain(const char *call, int error)
{
	const char *help;

	if (error == ENOTSUPP) /* strerror(3) does not know it */
		error = EOPNOTSUPP;
	help = advice(error);
	return text_of("%s: %s", call, help != NULL ? help : strerror(error));
}

const char *idle_clock_open(struct idle_clock *c, int last)
{
	union bpf_attr a;
	struct bpf_insn program[CODE_MAX];
	uint32_t id[IDLE_CLOCK_HOOKS] = {0};
	void *map = MAP_FAILED;
	const char *why;
	int k;

	*c = closed;
#if !(defined(__x86_64__) || defined(__aarch64__)) || !defined(__LP64__)
	return "it works on 64-bit x86 and arm64 only";
#endif
	watch_setting(c);
	c->size = ((size_t)last + 1) << CPU_SHIFT;
	memset(&a, 0, sizeof(a));
	a.map_type = BPF_MAP_TYPE_ARRAY;
	a.key_size = sizeof(uint32_t);
	a.value_size = (uint32_t)c->size;
	a.max_entries = 1;
	a.map_flags = BPF_F_MMAPABLE;
	c->map = bpf(BPF_MAP_CREATE, &a);
	/* Who may not use bpf(2) need not read the megabytes of that file. */
	why = c->map < 0 ? explain("bpf(2)", errno) : hooks_find(KERNEL_BTF, id);
	if (why != NULL) {
		idle_clock_close(c);
		return why;
	}
	map = mmap(NULL, c->size, PROT_READ, MAP_SHARED, c->map, 0);
	if (map != MAP_FAILED)
		c->cpu = map;
	for (k = 0; k < IDLE_CLOCK_HOOKS && map != MAP_FAILED; k++) {
		c->link[k] = attach(program, assemble(k, c->map, last + 1, program), id[k]);
		if (c->link[k] < 0)
			break;
	}
	if (map != MAP_FAILED && k == IDLE_CLOCK_HOOKS)
		return NULL;
	why = explain(map == MAP_FAILED ? "mmap(2)" : "bpf(2)", errno);
	idle_clock_close(c);
	return why;
}

double idle_clock_seconds(const struct idle_clock *c, int cpu, uint64_t ns)
{
	const uint64_t word = c->cpu[cpu].word;

	return 1e-9 * (double)((word % 2 != 0 ? word - 1 + 2 * ns : word) >> 1);
}

void idle_clock_close(struct idle_clock *c)
{
	int k;

	if (c->size == 0)
		return;
	if (c->cpu != NULL)
		munmap((void *)(uintptr_t)c->cpu, c->size); /* NOLINT(performance-no-int-to-ptr) */
	for (k = 0; k < IDLE_CLOCK_HOOKS; k++)
		close_file(c->link[k]);
	close_file(c->watch);
	close_file(c->setting);
	close_file(c->map);
	*c = closed;
}
