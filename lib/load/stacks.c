#include "lib/load/stacks.h"

#define STACKS_MAX  49152    /* different ones */
#define SLOTS       65536    /* more than these, so that one is soon found */
#define STACKS_TEXT 16777216 /* bytes of them all */
#define NAMES       1024     /* of tasks, of which a later one may replace an earlier one */
#define NAME_SIZE   16       /* as the kernel has it */

/* The kernel gives it memory as far as it is used. */
struct stacks {
	struct {
		uint32_t at, n; /* where the text is, and how many samples it has */
	} slot[SLOTS];
	struct {
		pid_t tid;
		char name[NAME_SIZE];
	} name[NAMES];
	int different;
	uint64_t dropped;
	size_t used;
	char text[STACKS_TEXT];
};

struct stacks *stacks_open(void)
{
	return alloc_or_die(1, sizeof(struct stacks), "--profile-stacks");
}

const char *stacks_name(struct stacks *s, pid_t tid, const char *name)
{
	const size_t i = (uint32_t)tid % NAMES;
	char *kept = s->name[i].name, *c;
	char line[64];

	if (name == NULL && s->name[i].tid == tid && kept[0] != '\0')
		return kept;
	if (name == NULL && file_read_line(text_of("/proc/%d/comm", tid), line, sizeof(line)) != 0)
		return "[ended]";
	s->name[i].tid = tid;
	snprintf(kept, NAME_SIZE, "%.*s", NAME_SIZE - 1, name != NULL ? name : line);
	make_printable(kept);
	while ((c = strpbrk(kept, "; ")) != NULL)
		*c = '_';
	return kept;
}

/* The slot of a text, or where it has none the one that it is to have. */
static size_t slot_of(const struct stacks *s, const char *text)
{
	const char *c;
	size_t i = 0;

	for (c = text; *c != '\0'; c++)
		i = i * 31 + (unsigned char)*c;
	for (i %= SLOTS; s->slot[i].n > 0 && strcmp(s->text + s->slot[i].at, text) != 0;)
		i = (i + 1) % SLOTS;
	return i;
}

void stacks_add(struct stacks *s, const char *text)
{
	const size_t i = slot_of(s, text), size = strlen(text) + 1;

	if (s->slot[i].n == 0) {
		if (s->different == STACKS_MAX || size > STACKS_TEXT - s->used) {
			s->dropped++;
			return;
		}
		s->slot[i].at = (uint32_t)s->used;
		memcpy(s->text + s->used, text, size);
		s->used += size;
		s->different++;
	}
	s->slot[i].n++;
}

static void print(FILE *f, const void *stacks)
{
	const struct stacks *s = stacks;
	size_t i;

	for (i = 0; i < SLOTS; i++)
		if (s->slot[i].n > 0)
			fprintf(f, "%s %" PRIu32 "\n", s->text + s->slot[i].at, s->slot[i].n);
}

void stacks_write_or_die(const struct stacks *s, const char *path)
{
	if (s->different == 0)
		warnx("--profile-stacks: %s is not written: there is no sample of load",
		      printable(path));
	else
		file_replace_or_die(path, print, s);
	if (s->dropped > 0)
		warnx("--profile-stacks: %s lacks %" PRIu64
		      " samples, whose stacks found no room beside %d others: measure for less time",
		      printable(path), s->dropped, s->different);
}
