#include "lib/base/texts.h"

struct text {
	char *bytes, **text;
	size_t *size, room;
};

/* This and text_seek(), which ftell(3) calls, are functions of fopencookie(3). */
static ssize_t text_write(void *cookie, const char *bytes, size_t n)
{
	struct text *t = cookie;
	const size_t need = *t->size + n + 1;
	char *more;

	if (need > t->room) {
		more = realloc(t->bytes, 2 * need);
		if (more == NULL)
			return 0;
		t->bytes = more;
		t->room = 2 * need;
	}
	memcpy(t->bytes + *t->size, bytes, n);
	*t->size += n;
	t->bytes[*t->size] = '\0';
	*t->text = t->bytes;
	return (ssize_t)n;
}

static int text_seek(void *cookie, off64_t *at, int whence)
{
	const struct text *t = cookie;

	if (whence == SEEK_SET || *at != 0)
		return -1;
	*at = (off64_t)*t->size;
	return 0;
}

static int text_close(void *cookie)
{
	free(cookie);
	return 0;
}

FILE *text_open_or_die(char **text, size_t *size, const char *what)
{
	const cookie_io_functions_t functions = {
		.write = text_write, .seek = text_seek, .close = text_close};
	struct text *t = alloc_or_die(1, sizeof(*t), what);
	FILE *f = fopencookie(t, "w", functions);

	if (f == NULL)
		die_errno("%s", what);
	*t = (struct text){
		.bytes = alloc_or_die(1, 1, what), .text = text, .size = size, .room = 1};
	*text = t->bytes;
	*size = 0;
	return f;
}

void text_close_or_die(FILE *f, const char *what)
{
	const bool is_whole = !ferror(f); /* fclose(3) tells of its own write alone */

	if (fclose(f) == 0 && is_whole)
		return;
	errno = ENOMEM;
	die_errno("%s", what);
}
