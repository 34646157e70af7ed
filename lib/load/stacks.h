/*
 * stacks.h: the calls that led to samples, counted and written as flame graph tools read them.
 *
 *	s = stacks_open();
 *	stacks_name(s, tid, "zcc");
 *	stacks_add(s, text_of("%s;outermost;innermost", stacks_name(s, tid, NULL)));
 *	stacks_write_or_die(s, path);
 *	free(s);
 */
#pragma once

#include "common.h"

#define STACK_MAX 8192 /* bytes of a stack's text */

struct stacks;

struct stacks *stacks_open(void);

/* Stores the name of a task, unless it is NULL.  Returns it, with what separates the parts of a line replaced. */
const char *stacks_name(struct stacks *s, pid_t tid, const char *name);

/* Counts a stack; one that finds no room is counted apart. */
void stacks_add(struct stacks *s, const char *text);

/* Replaces a file by a line for each stack, if there is any, and prints how many samples found no room. */
void stacks_write_or_die(const struct stacks *s, const char *path);
