#include "lib/net/wire.h"

#include "tests/unit/unit.h"

/* Two loops without a file, and one of three files: of 5 bytes, none and 30. */
static const uint32_t headers[] = {4, 0, 0, 3, 5, 0, 30, 0};
static unsigned char stream[128];

/* Builds the stream, whose bodies are zeros.  Returns its length. */
static size_t stream_put(uint32_t loops)
{
	size_t len = 0, i;

	memset(stream, 0, sizeof(stream));
	for (i = 0; i < LENGTH(headers); i++) {
		wire_put(stream + len, i == 0 ? loops : headers[i]);
		len += WIRE_HEADER + (i >= 4 ? headers[i] : 0);
	}
	return len;
}

static void test_pieces(void)
{
	const size_t len = stream_put(headers[0]);
	bool whole = true, open = true;
	const char *where;
	struct wire w;
	size_t cut, at;

	for (cut = 1; cut <= len; cut++) {
		w = (struct wire){.state = WIRE_LOOPS};
		for (at = 0; at + cut < len; at += cut)
			wire_feed(&w, stream + at, cut);
		whole &= wire_feed(&w, stream + at, sizeof(stream) - at) == len - at &&
			 w.state == WIRE_DONE && w.bytes == 35 && w.files == 3 &&
			 w.empty_loops == 2 && w.has_file && wire_ended(&w, &where);
		w = (struct wire){.state = WIRE_LOOPS};
		open &= wire_feed(&w, stream, cut - 1) == cut - 1 && !wire_ended(&w, &where) &&
			where != NULL;
	}
	ok(whole, "a stream in pieces of every size is read to its end, and no further");
	ok(open, "an end of the stream at any other place is not proper");
}

static void test_forever(void)
{
	const size_t len = stream_put(WIRE_FOREVER);
	const char *where;
	struct wire w = {0};
	bool all = true;
	size_t cut;

	for (cut = 0; cut <= len; cut++) {
		w = (struct wire){.state = WIRE_LOOPS};
		wire_feed(&w, stream, cut);
		all &= wire_ended(&w, &where) == (cut >= WIRE_HEADER) && w.state != WIRE_DONE;
	}
	ok(all && w.bytes == 35 && w.files == 3,
	   "a stream without a number of loops may end anywhere but in that number");
}

/* One file of 4 GiB - 1 bytes. */
static void test_skip(void)
{
	static const unsigned char one_file[] = {0, 0, 0, 1, 0, 0, 0, 1, 255, 255, 255, 255};
	struct wire w = {.state = WIRE_LOOPS};

	memcpy(stream, one_file, sizeof(one_file));
	wire_feed(&w, stream, 11);
	ok(wire_header_left(&w) == 1 && wire_body_left(&w) == 0, "a header lacks its last byte");
	wire_feed(&w, stream + 11, 1);
	wire_skip(&w, 0xfffffffe);
	ok(wire_header_left(&w) == 0 && wire_body_left(&w) == 1 && w.bytes == 0xfffffffe &&
		   w.files == 0,
	   "bytes of a body that are skipped count");
	wire_skip(&w, 1);
	ok(w.state == WIRE_DONE && w.bytes == 0xffffffff && w.files == 1,
	   "the last byte of a body that is skipped ends the file");
}

TESTS(test_pieces, test_forever, test_skip)
