/*
 * ring: io_uring(7) for tests.
 *
 *	ring try [zc]			exit status 0 if this process may use it, with SEND_ZC
 *	ring forbid EPERM command...	run a command for which io_uring_setup fails with that errno
 */
#include "lib/net/uring.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* A socket of a pair has no SEND_ZC, which is EOPNOTSUPP, but a kernel before 6.2 fails with EINVAL. */
static int try_ring(bool zc)
{
	struct io_uring_cqe done = {.res = 0};
	struct io_uring_sqe *sqe;
	struct uring u;
	int sock[2];

	if (uring_open(&u, 4, true) != 0 || uring_start(&u) != 0)
		return 1;
	if (!zc)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock) != 0)
		return 1;
	sqe = uring_request(&u, IORING_OP_SEND_ZC, sock[0], "x", 1);
	sqe->ioprio = IORING_SEND_ZC_REPORT_USAGE;
	if (uring_enter(&u, 1, 1000) != 0 || !uring_next(&u, &done))
		return 1;
	return done.res == -EINVAL;
}

static void forbid(unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		err(125, "seccomp");
}

int main(int argc, char **argv)
{
	if (argc >= 2 && strcmp(argv[1], "try") == 0)
		return try_ring(argc > 2);
	if (argc < 4 || strcmp(argv[1], "forbid") != 0)
		errx(2, "usage: ring try [zc] | forbid ERRNO command...");
	forbid(strcmp(argv[2], "EPERM") == 0 ? EPERM : ENOSYS);
	execvp(argv[3], argv + 3);
	err(125, "%s", argv[3]);
}
