#include "lib/load/netstat.h"

/* The next word of *s, which is moved behind it and ended there; NULL at the end of the line. */
static char *next_word(char **s)
{
	char *word;

	do
		word = strsep(s, " \n");
	while (word != NULL && *word == '\0');
	return word;
}

/* Returns the value below `name`; the rest of either line is what follows its group. */
static uint64_t value_of(char *names, char *values, const char *name)
{
	char *n, *v;

	while ((n = next_word(&names)) != NULL && (v = next_word(&values)) != NULL)
		if (strcmp(n, name) == 0)
			return strtoull(v, NULL, 10);
	return COUNTER_UNKNOWN;
}

uint64_t netstat_find(FILE *f, const char *group, const char *name)
{
	const size_t len = strlen(group);
	char *line[2] = {NULL, NULL};
	size_t size[2] = {0, 0};
	uint64_t value = COUNTER_UNKNOWN;

	while (getline(&line[0], &size[0], f) > 0)
		if (strncmp(line[0], group, len) == 0) {
			if (getline(&line[1], &size[1], f) > 0 && strncmp(line[1], group, len) == 0)
				value = value_of(line[0] + len, line[1] + len, name);
			break;
		}
	free(line[0]);
	free(line[1]);
	return value;
}

static uint64_t counter_of(const char *path, const char *group, const char *name)
{
	FILE *f = fopen_retry(path);
	uint64_t value;

	if (f == NULL)
		return COUNTER_UNKNOWN;
	value = netstat_find(f, group, name);
	fclose(f);
	return value;
}

void netstat_read(struct netstat *n)
{
	n->retransmits = counter_of("/proc/net/snmp", "Tcp:", "RetransSegs");
	n->syn_retransmits = counter_of("/proc/net/netstat", "TcpExt:", "TCPSynRetrans");
	n->timeouts = counter_of("/proc/net/netstat", "TcpExt:", "TCPTimeouts");
	n->overflows = counter_of("/proc/net/netstat", "TcpExt:", "ListenOverflows");
}

static uint64_t rise(uint64_t from, uint64_t to)
{
	if (from == COUNTER_UNKNOWN || to == COUNTER_UNKNOWN)
		return COUNTER_UNKNOWN;
	return to > from ? to - from : 0;
}

struct netstat netstat_between(const struct netstat *from, const struct netstat *to)
{
	return (struct netstat){rise(from->retransmits, to->retransmits),
				rise(from->syn_retransmits, to->syn_retransmits),
				rise(from->timeouts, to->timeouts),
				rise(from->overflows, to->overflows)};
}
