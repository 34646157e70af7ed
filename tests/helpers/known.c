/*
 * known: programs of which it is known what the kernel does for them, for tests/bench/profile.
 *
 *	known read FILE SECONDS    reads a cached file from begin to end, 1 MiB a call
 *	known pipe - SECONDS       two processes that send each other a byte by pipes
 *	known getppid - SECONDS    the cheapest system call, in a loop
 */
#include "common.h"

static char buffer[1 << 20];

static void read_file(const char *path, uint64_t end)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t at = 0;
	ssize_t n;

	if (fd < 0)
		err(1, "%s", path);
	while (now_ns() < end) {
		n = pread(fd, buffer, sizeof(buffer), at);
		at = n > 0 ? at + n : 0;
	}
	close(fd);
}

static void play(uint64_t end)
{
	int there[2], back[2];
	char byte = 0;

	if (pipe(there) != 0 || pipe(back) != 0)
		err(1, "pipe");
	if (fork() == 0) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	while (now_ns() < end)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			err(1, "pipe");
}

int main(int argc, char **argv)
{
	uint64_t end;

	if (argc != 4)
		errx(2, "usage: known read|pipe|getppid FILE SECONDS");
	end = now_ns() + (uint64_t)(atof(argv[3]) * 1e9);
	if (strcmp(argv[1], "read") == 0)
		read_file(argv[2], end);
	else if (strcmp(argv[1], "pipe") == 0)
		play(end);
	else
		while (now_ns() < end)
			(void)getppid();
	return 0;
}
