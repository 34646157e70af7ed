/* What a transfer measured, and whether the receipts agree with it: lib/send/result. */
#include "lib/send/result.h"

#include "tests/unit/unit.h"

#define STREAMS 4

static struct stream_result stream[STREAMS];
static char why[DIE_MAX];

/* Streams that sent 1000 bytes each, 100 of them in the warm-up, of which the first n have a receipt. */
static struct send_result with_receipts(int n)
{
	struct send_result res = {.stream = stream, .receipts = n};
	int i;

	for (i = 0; i < STREAMS; i++) {
		stream[i] = (struct stream_result){.has_receipt = i < n};
		stream[i].sent.bytes = 900;
		stream[i].sent.warmup = 100;
		if (i < n)
			stream[i].received.bytes = 1000;
	}
	return res;
}

static void test_check(void)
{
	struct send_result res = with_receipts(STREAMS);
	char text[RECEIPTS_STRLEN];

	ok(result_check(&res, STREAMS, why) == NULL, "receipts of all that was sent agree with it");
	stream[1].received.bytes = 1001;
	stream[2].received.bytes = 999;
	ok(stream_result_missing(&stream[1]) == 1 && stream_result_missing(&stream[2]) == 1,
	   "a receipt differs by a byte more, or a byte less");
	is(result_check(&res, STREAMS, why),
	   "stream 2: the server received 1001 bytes of the 1000 sent",
	   "two receipts are wrong, and their sum is right: the first of them is named");
	res = with_receipts(0);
	ok(result_check(&res, STREAMS, why) == NULL,
	   "a server that gives no receipts is one of 2001");
	is(result_receipts_text(&res, STREAMS, text), "", "and that is no line");
	res = with_receipts(3);
	is(result_check(&res, STREAMS, why), "1 of 4 streams has no receipt",
	   "a stream without a receipt beside others with one is an error");
	res = with_receipts(1);
	is(result_check(&res, STREAMS, why), "3 of 4 streams have no receipt", "and so are three");
	stream[0].received.bytes = 1;
	is(result_check(&res, STREAMS, why),
	   "stream 1: the server received 1 byte of the 1000 sent",
	   "a receipt that is wrong is named even if others are missing");
	is(result_check(&res, 1, why), "the server received 1 byte of the 1000 sent",
	   "a stream alone has no number");
}

int main(void)
{
	test_check();
	return done();
}
