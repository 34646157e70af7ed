#include "lib/load/readings.h"

/* Returns the slot of an interface: its own, or the one with the oldest reading. */
static struct reading *slot_of(struct readings *r, const char *interface)
{
	struct reading *s, *oldest = r->slot;

	for (s = r->slot; s < r->slot + READING_SLOTS; s++) {
		if (s->counters.ns != 0 && strcmp(s->interface, interface) == 0)
			return s;
		if (s->counters.ns < oldest->counters.ns)
			oldest = s;
	}
	snprintf(oldest->interface, sizeof(oldest->interface), "%s", interface);
	oldest->counters.ns = 0;
	return oldest;
}

void readings_get(struct readings *r, const char *interface, struct counters *c)
{
	struct reading *s;

	pthread_mutex_lock(&r->lock);
	s = slot_of(r, interface);
	if (s->counters.ns == 0 || now_ns() > s->counters.ns + READING_NS)
		counters_read(&s->counters, interface[0] != '\0' ? interface : NULL);
	*c = s->counters;
	pthread_mutex_unlock(&r->lock);
}
