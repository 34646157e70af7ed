#include "lib/net/wire.h"

#include "tests/fuzz/fuzz.h"

/*
 * The case is what a client sends.  It must be taken alike however it is cut into pieces, and whether
 * bodies are looked at or skipped.  The model reads it as zc-wire(5) describes it.
 */
struct stream {
	uint64_t used, files, bytes, body_left;
	uint32_t empty_loops;
	unsigned have; /* bytes of a header that is not complete */
	bool has_file, forever;
	enum wire_state state;
};

static bool take_header(struct stream *m, const unsigned char *p, size_t len, enum wire_state state,
			uint32_t *v)
{
	m->state = state;
	p += m->used;
	len -= m->used;
	m->have = len < 4 ? (unsigned)len : 0;
	m->used += len < 4 ? len : 4;
	if (len < 4)
		return false;
	*v = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	return true;
}

/* zc-wire(5), Transfers.  `sparse`: the case has no bodies, which all come whole. */
static void read_stream(struct stream *m, const unsigned char *p, size_t len, bool sparse)
{
	uint32_t n_loops, n_files, length, i, f;
	uint64_t here;

	memset(m, 0, sizeof(*m));
	if (!take_header(m, p, len, WIRE_LOOPS, &n_loops))
		return;
	m->forever = n_loops == 0xffffffff;
	for (i = 0; m->forever || i < n_loops; i++) {
		if (!take_header(m, p, len, WIRE_FILES, &n_files))
			return;
		if (n_files == 0 && !m->has_file)
			m->empty_loops++;
		for (f = 0; f < n_files; f++) {
			if (!take_header(m, p, len, WIRE_LENGTH, &length))
				return;
			m->has_file = true;
			here = sparse || length < len - m->used ? length : len - m->used;
			m->bytes += here;
			m->used += sparse ? 0 : here;
			if (here < length) {
				m->state = WIRE_BODY;
				m->body_left = length - here;
				return;
			}
			m->files++;
		}
	}
	m->state = WIRE_DONE;
}

static void stream_holds(const struct wire *w, const struct stream *m)
{
	bool proper = m->state == WIRE_DONE || m->forever;
	const char *where = NULL;

	holds(w->state == m->state && w->have == m->have && w->forever == m->forever,
	      "what comes next");
	holds(w->files == m->files && w->bytes == m->bytes, "the counts");
	holds(w->has_file == m->has_file && w->empty_loops == m->empty_loops,
	      "how long the warm-up is");
	holds(wire_body_left(w) == m->body_left, "how much of a body is left");
	holds(wire_header_left(w) == (m->state < WIRE_BODY ? 4 - m->have : 0),
	      "how much of a header is left");
	holds(wire_ended(w, &where) == proper && (where == NULL) == proper,
	      "whether the end is proper");
	if (!proper)
		reason_holds(where);
}

static void same_wire(const struct wire *a, const struct wire *b)
{
	holds(a->state == b->state && a->have == b->have && a->header == b->header &&
		      a->loops_left == b->loops_left && a->files_left == b->files_left &&
		      a->body_left == b->body_left && a->forever == b->forever &&
		      a->files == b->files && a->bytes == b->bytes &&
		      a->empty_loops == b->empty_loops && a->has_file == b->has_file,
	      "pieces give what the whole gives");
}

/* In pieces of at most `most` bytes. */
static size_t feed_pieces(struct wire *w, const char *s, size_t len, size_t most)
{
	size_t at, n, took;

	wire_init(w, false);
	for (at = 0; at < len; at += took) {
		n = 1 + below(len - at < most ? len - at : most);
		took = wire_feed(w, s + at, n);
		holds(took <= n, "no more is taken than there is");
		if (took < n) {
			holds(w->state == WIRE_DONE, "less is taken where the wire ends alone");
			return at + took;
		}
	}
	return at;
}

/* As zcs does where bodies are not looked at: headers by themselves, in pieces too. */
static size_t skip_bodies(struct wire *w, const char *s, size_t len, bool sparse)
{
	size_t at = 0, n, left;

	wire_init(w, false);
	while ((left = wire_body_left(w)) > 0 || ((left = wire_header_left(w)) > 0 && at < len)) {
		if (wire_body_left(w) == 0) {
			n = 1 + below(left < len - at ? left : len - at);
			holds(wire_feed(w, s + at, n) == n, "a header is taken whole");
			at += n;
		} else if (sparse) {
			wire_skip(w, one_in(2) ? left : 1 + below(left));
		} else if (at < len) {
			n = 1 + below(left < len - at ? left : len - at);
			wire_skip(w, n);
			at += n;
		} else {
			break;
		}
	}
	return at;
}

static bool run_wire(const char *s, size_t len)
{
	struct wire whole, w;
	struct stream m;
	const char *where;
	bool ended;

	read_stream(&m, (const unsigned char *)s, len, false);
	wire_init(&whole, false);
	holds(wire_feed(&whole, s, len) == m.used, "what is taken belongs to the wire");
	stream_holds(&whole, &m);
	holds(feed_pieces(&w, s, len, 1) == m.used, "a byte at a time as much is taken");
	same_wire(&w, &whole);
	holds(feed_pieces(&w, s, len, 1 + below(64)) == m.used, "in pieces as much is taken");
	same_wire(&w, &whole);
	holds(skip_bodies(&w, s, len, false) == m.used, "with bodies skipped as much is taken");
	same_wire(&w, &whole);
	ended = wire_ended(&w, &where);

	/* Bodies as long as they say, without having them. */
	read_stream(&m, (const unsigned char *)s, len, true);
	holds(skip_bodies(&w, s, len, true) == m.used, "the headers are taken");
	stream_holds(&w, &m);

	wire_init(&w, true);
	holds(wire_feed(&w, s, len) == len && w.bytes == len, "raw, all is data");
	wire_skip(&w, len);
	holds(w.bytes == 2 * len && w.state == WIRE_RAW && w.files == 0 &&
		      wire_body_left(&w) == SIZE_MAX && wire_header_left(&w) == 0 &&
		      wire_ended(&w, &where),
	      "raw, there are no headers");
	return ended;
}

static void make_wire(struct text *t)
{
	static const char body[64];
	size_t loops = below(5), i, files, length;
	bool forever = one_in(4);

	put_header(t, forever ? 0xffffffff : (uint32_t)loops);
	for (i = 0; i < loops; i++) {
		files = one_in(3) ? 0 : below(5);
		put_header(t, (uint32_t)files);
		while (files-- > 0) {
			length = one_in(4) ? 0 : below(sizeof(body));
			put_header(t, (uint32_t)length);
			put_bytes(t, body, length);
		}
	}
	if (forever && t->len > 4)
		t->len -= below(t->len - 4);
	else if (one_in(4))
		put(t, "more");
}

const struct fuzz_target wire_target = {"wire", false, run_wire, make_wire, NULL};
