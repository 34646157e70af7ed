/*
 * script.h: for a part beside a kernel that is a script.  Macros that stand before the part replace its calls.  They note
 * what was called, and end the part where a call does not return:
 *
 *	#define setsid()      note("session;")
 *	#define _exit(status) note_end("exit %d", status)
 *	#include "lib/load/part.c"
 *
 *	is(calls_of(part_main, &arg), "session;exit 0", "the part has a session of its own");
 */
#pragma once

#include <setjmp.h>

#include "tests/unit/unit.h"

static struct {
	char calls[1 << 14];
	jmp_buf end;
} script;

#define note(...)     string_append(script.calls, sizeof(script.calls), __VA_ARGS__)
#define note_end(...) (note(__VA_ARGS__), longjmp(script.end, 1))

/* What a function calls until its end, or that of the part. */
static inline const char *calls_of(void (*function)(void *arg), void *arg)
{
	script.calls[0] = '\0';
	if (setjmp(script.end) == 0)
		function(arg);
	return script.calls;
}
