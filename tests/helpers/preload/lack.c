/*
 * lack: a library to preload.  Under it realloc(3) has no memory while there is a file `lack` in the
 * directory.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* cppcheck-suppress unusedFunction ; the program that it is preloaded to calls it */
void *realloc(void *p, size_t size)
{
	void *(*real)(void *, size_t) = dlsym(RTLD_NEXT, "realloc");

	if (access("lack", F_OK) != 0)
		return real(p, size);
	errno = ENOMEM;
	return NULL;
}
