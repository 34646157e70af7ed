/*
 * filled.h: figures of which each has a value of its own.  It depends on the key, so that a new row of the table changes no
 * other value, and on how many figures were filled before.
 */
#pragma once

#include "lib/report/figures.h"
#include "tests/unit/unit.h"

static double filled_value(enum figure_kind kind, unsigned n)
{
	switch (kind) {
	case FIGURE_CPUS: return 2 + 0.02 * n;
	case FIGURE_SECONDS: return 1.5 + 0.0371 * n;
	case FIGURE_STALL: return 300000 + 7013 * n;
	case FIGURE_BYTES: return 100000 + 5123 * n;
	case FIGURE_LOAD:
	case FIGURE_SHARE: return 0.1 + 0.00113 * n;
	case FIGURE_CHANGE: return -0.1 - 0.00113 * n;
	default: return 1000 + 37 * n;
	}
}

/* All figures that an end has: IN_SENDER, IN_RECEIVER, whose figures come by a receipt, or both. */
static struct figures filled(unsigned end, unsigned unsafe)
{
	static unsigned others;
	const unsigned ends = IN_SENDER | IN_RECEIVER | IN_STREAM;
	const struct figure *row;
	struct figures f;
	const char *c;
	char *member;
	unsigned n;

	figures_init(&f);
	for (others++, row = figure_table; row < figure_table + figure_rows; row++) {
		if ((row->is_kept && end == IN_RECEIVER) || row->derive != NULL || row->all != 0 ||
		    ((row->objects & ends) != 0 && (row->objects & (end | IN_STREAM)) == 0))
			continue;
		for (n = 197 * others, c = row->key != NULL ? row->key : row->receipt; *c != '\0';)
			n = (31 * n + (unsigned char)*c++) % 997;
		member = (char *)&f + row->offset;
		if (row->kind == FIGURE_COUNT)
			*(uint64_t *)(void *)member = (uint64_t)filled_value(row->kind, n);
		else if (row->kind < FIGURE_WORD)
			*(double *)(void *)member = filled_value(row->kind, n);
		else if (row->size > 0)
			snprintf(member, row->size, "%c%c%c", 'a' + n % 26, 'a' + n / 26 % 26,
				 'a' + n / 676);
	}
	f.host.unsafe = unsafe;
	f.host.baseline = BASELINE_OWN;
	f.host.bracketed = true;
	return f;
}
