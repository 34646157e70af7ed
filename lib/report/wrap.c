#include "lib/report/wrap.h"

#include <stdarg.h>

#include "lib/report/units.h"

static void put(struct wrap *w, const char *s)
{
	if (w->text == NULL)
		fputs(s, stdout);
	else
		string_append(w->text, w->size, "%s", s);
	w->column += (int)strlen(s);
}

void wrap_init(struct wrap *w, char *text, size_t size, int width, const char *indent)
{
	*w = (struct wrap){.size = size, .width = width, .indent = indent};
	w->text = text;
	if (text != NULL)
		*text = '\0';
}

void wrap_add(struct wrap *w, const char *separator, const char *fmt, ...)
{
	char item[WRAP_ITEM];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(item, sizeof(item), fmt, ap);
	va_end(ap);
	if (w->column > 0 && w->column + (int)(strlen(separator) + strlen(item)) > w->width) {
		put(w, "\n");
		w->column = 0;
		put(w, w->indent);
	} else {
		put(w, separator);
	}
	put(w, item);
}

void wrap_add_cpu(struct wrap *w, const char *separator, int id, double load, unsigned unsafe)
{
	char text[FIGURE_STRLEN];

	wrap_add(w, separator, "cpu%d %s", id, load_text(load, NAN, unsafe, text));
}

void wrap_end(struct wrap *w)
{
	put(w, "\n");
	w->column = 0;
	if (w->text == NULL)
		report_flush();
}
