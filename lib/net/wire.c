#include "lib/net/wire.h"

#include <arpa/inet.h>

void wire_put(void *p, uint32_t value)
{
	value = htonl(value);
	memcpy(p, &value, sizeof(value));
}

/* Sets what follows a complete file or loop: files and loops may be empty. */
static void wire_next(struct wire *w)
{
	if (w->files_left > 0)
		w->state = WIRE_LENGTH;
	else if (w->forever || w->loops_left > 0)
		w->state = WIRE_FILES;
	else
		w->state = WIRE_DONE;
}

/* Takes those of the next `len` bytes that belong to the body, perhaps none; returns their number. */
static size_t wire_body(struct wire *w, size_t len)
{
	size_t n = len < w->body_left ? len : w->body_left;

	w->body_left -= (uint32_t)n;
	w->bytes += n;
	if (w->body_left == 0) {
		w->files++;
		wire_next(w);
	}
	return n;
}

/* Takes a complete header. */
static void wire_header(struct wire *w, uint32_t value)
{
	if (w->state == WIRE_LENGTH) {
		w->has_file = true;
		w->files_left--;
		w->body_left = value;
		w->state = WIRE_BODY;
		if (value == 0)
			wire_body(w, 0);
		return;
	}
	if (w->state == WIRE_LOOPS) {
		w->loops_left = value;
		w->forever = value == WIRE_FOREVER;
	} else {
		w->loops_left -= !w->forever;
		w->files_left = value;
		w->empty_loops += value == 0 && !w->has_file && w->empty_loops < UINT32_MAX;
	}
	wire_next(w);
}

size_t wire_feed(struct wire *w, const void *buf, size_t len)
{
	const unsigned char *p = buf;
	size_t n = 0;

	if (w->state == WIRE_RAW) {
		w->bytes += len;
		return len;
	}
	while (n < len && w->state != WIRE_DONE) {
		if (w->state == WIRE_BODY) {
			n += wire_body(w, len - n);
			continue;
		}
		w->header = w->header << 8 | p[n++];
		if (++w->have == WIRE_HEADER) {
			w->have = 0;
			wire_header(w, w->header);
		}
	}
	return n;
}

size_t wire_body_left(const struct wire *w)
{
	return w->state == WIRE_RAW ? SIZE_MAX : w->state == WIRE_BODY ? w->body_left : 0;
}

size_t wire_header_left(const struct wire *w)
{
	return w->state < WIRE_BODY ? WIRE_HEADER - w->have : 0;
}

void wire_skip(struct wire *w, size_t len)
{
	if (w->state == WIRE_RAW)
		w->bytes += len;
	else if (len > 0)
		wire_body(w, len);
}

bool wire_begun(const struct wire *w)
{
	return w->state == WIRE_RAW ? w->bytes > 0 : w->state != WIRE_LOOPS;
}

bool wire_is_tls(const struct wire *w)
{
	return !w->forever && w->loops_left == 0x17030300 - 1 && w->files_left >> 24 <= 0x15 &&
	       w->files_left >> 24 >= 0x14;
}

bool wire_ended(const struct wire *w, const char **where)
{
	static const char *const part[] = {
		[WIRE_LOOPS] = "before the first header",
		[WIRE_FILES] = "between two loops",
		[WIRE_LENGTH] = "between two files",
		[WIRE_BODY] = "in the middle of a file",
	};

	if (w->state == WIRE_DONE || w->state == WIRE_RAW || w->forever)
		return true;
	*where = w->have > 0 ? "in the middle of a header" : part[w->state];
	return false;
}
