/* The report of requests: lib/send/request_report. */
#include "lib/send/request_report.h"

#include "tests/unit/unit.h"

struct sample {
	struct requests requests;
	struct stall_evidence evidence;
	struct figures host;
	bool quiet;
};

static void print(void *arg)
{
	const struct sample *s = arg;

	requests_text(1000, &s->requests, &s->evidence, &s->host, s->quiet);
}

/* Two requests of which one failed. */
static void test_failures(void)
{
	static struct sample s;
	char printed[4096];

	figures_init(&s.host);
	s.host.seconds = 2;
	s.requests.bytes = 1000;
	s.requests.failed[FAIL_TIMEOUT] = 1;
	s.requests.error[FAIL_TIMEOUT] = ETIMEDOUT;
	stdout_of(print, &s, printed, sizeof(printed));
	ok(strncmp(printed, "1000 bytes ", 11) == 0 && strstr(printed, "\n  failed: 1 ") != NULL,
	   "the report of requests has those that failed");
	s.quiet = true;
	stdout_of(print, &s, printed, sizeof(printed));
	ok(strncmp(printed, "1000 bytes ", 11) == 0 && strstr(printed, "failed") == NULL,
	   "a quiet report of requests has no line of those that failed");
}

int main(void)
{
	test_failures();
	return done();
}
