#include "lib/net/wire.h"

#include "tests/unit/unit.h"

/* Builds a stream: headers by value, bodies as that many bytes. */
static size_t put_stream(unsigned char *p, const uint32_t *header, const bool *is_length, size_t n)
{
	size_t len = 0, i;

	for (i = 0; i < n; i++) {
		wire_put(p + len, header[i]);
		len += WIRE_HEADER;
		if (is_length[i]) {
			memset(p + len, 'x', header[i]);
			len += header[i];
		}
	}
	return len;
}

static void test_good(void)
{
	/* 2 loops: of 3 files, one empty; of no files at all. */
	static const uint32_t header[] = {2, 3, 5, 0, 300, 0};
	static const bool is_length[] = {false, false, true, true, true, false};
	unsigned char buf[400];
	size_t len = put_stream(buf, header, is_length, 6), cut, at;
	const char *where;
	struct wire w;
	bool all = true;

	for (cut = 1; cut <= len; cut++) { /* in pieces of every size */
		wire_init(&w, false);
		for (at = 0; at < len; at += cut)
			all &= wire_feed(&w, buf + at, len - at < cut ? len - at : cut) ==
			       (len - at < cut ? len - at : cut);
		all &= w.state == WIRE_DONE && w.bytes == 305 && w.files == 3 &&
		       w.empty_loops == 0 && wire_ended(&w, &where);
	}
	ok(all, "a stream in pieces of every size is read whole");
	wire_init(&w, false);
	buf[len] = 'y';
	ok(wire_feed(&w, buf, len + 1) == len, "what follows the stream does not belong to it");
	all = true;
	for (cut = 0; cut < len; cut++) { /* ending at every place */
		wire_init(&w, false);
		all &= wire_feed(&w, buf, cut) == cut && !wire_ended(&w, &where) && where != NULL;
	}
	ok(all, "an end of the stream at any other place is not proper");
}

static void test_forever(void)
{
	static const uint32_t header[] = {WIRE_FOREVER, 1, 9, 2, 7};
	static const bool is_length[] = {false, false, true, false, true};
	unsigned char buf[64];
	size_t len = put_stream(buf, header, is_length, 5), cut;
	const char *where;
	struct wire w = {0};
	bool all = true;

	for (cut = WIRE_HEADER; cut <= len; cut++) {
		wire_init(&w, false);
		all &= wire_feed(&w, buf, cut) == cut && wire_ended(&w, &where) &&
		       w.state != WIRE_DONE;
	}
	ok(all && w.bytes == 16 && w.files == 2,
	   "a stream without a number of loops may end anywhere");
	wire_init(&w, false);
	wire_feed(&w, buf, WIRE_HEADER - 1);
	ok(!wire_ended(&w, &where), "a stream may not end in its first header");
}

static void test_large(void)
{
	unsigned char head[12];
	static char body[1 << 20];
	uint64_t left = 0xffffffff;
	struct wire w;
	size_t n;

	wire_put(head, 1);
	wire_put(head + 4, 1);
	wire_put(head + 8, 0xffffffff);
	wire_init(&w, false);
	wire_feed(&w, head, sizeof(head));
	while (left > 0) {
		n = left < sizeof(body) ? (size_t)left : sizeof(body);
		wire_feed(&w, body, n);
		left -= n;
	}
	ok(w.state == WIRE_DONE && w.bytes == 0xffffffff, "a file of 4 GiB - 1 is read whole");
	wire_put(head, 0);
	wire_init(&w, false);
	ok(wire_feed(&w, head, 12) == 4 && w.state == WIRE_DONE, "nothing follows 0 loops");
}

static void test_warm_up(void)
{
	static const uint32_t header[] = {5, 0, 0, 1, 0, 0, 1, 0};
	static const bool is_length[] = {false, false, false, false, true, false, false, true};
	unsigned char buf[64];
	size_t len = put_stream(buf, header, is_length, 8);
	struct wire w;

	wire_init(&w, false);
	ok(wire_feed(&w, buf, len) == len && w.empty_loops == 2 && w.has_file,
	   "only the loops without a file that come before the first file are warm-up");
}

static void test_skip(void)
{
	static const uint32_t header[] = {1, 1, 1000};
	static const bool is_length[] = {false, false, false};
	unsigned char buf[64];
	size_t len = put_stream(buf, header, is_length, 3);
	struct wire w;

	wire_init(&w, false);
	wire_feed(&w, buf, 3);
	ok(wire_header_left(&w) == 1 && wire_body_left(&w) == 0, "a header lacks its last byte");
	wire_feed(&w, buf + 3, len - 3);
	ok(wire_header_left(&w) == 0 && wire_body_left(&w) == 1000, "a body of 1000 bytes is next");
	wire_skip(&w, 999);
	ok(wire_body_left(&w) == 1 && w.bytes == 999 && w.files == 0,
	   "999 bytes of a body that are skipped count");
	wire_skip(&w, 1);
	ok(w.state == WIRE_DONE && w.bytes == 1000 && w.files == 1,
	   "the last byte of a body that is skipped ends the file");
}

static void test_raw(void)
{
	const char *where;
	struct wire w;

	wire_init(&w, true);
	ok(wire_ended(&w, &where), "a raw stream may end before its first byte");
	ok(wire_feed(&w, "12345678", 8) == 8 && w.bytes == 8 && w.files == 0 &&
		   wire_ended(&w, &where),
	   "all bytes of a raw stream are data");
}

int main(void)
{
	test_good();
	test_forever();
	test_large();
	test_warm_up();
	test_skip();
	test_raw();
	return done();
}
