/* How zcs receives: lib/receive/receiver, by each method. */
#include "lib/receive/receiver.h"

#include <sys/resource.h>

#include "tests/unit/unit.h"

/* A method that cannot be opened, as there is no descriptor left. */
static void test_not_opened(void)
{
	struct rlimit none, before;
	struct receiver r;
	const char *why;
	size_t i;

	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 0;
	for (i = 0; i < receive_methods_n; i++) {
		receiver_init(&r, STDIN_FILENO, &receive_methods[i], false);
		setrlimit(RLIMIT_NOFILE, &none);
		why = receiver_open(&r, 1024);
		setrlimit(RLIMIT_NOFILE, &before);
		if (strcmp(r.method->name, "splice") == 0)
			is(why, strerror(EMFILE), "-m splice without descriptors cannot be opened");
		receiver_close(&r);
	}
}

int main(void)
{
	test_not_opened();
	return done();
}
