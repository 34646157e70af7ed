/*
 * arguments.h: arguments of zcc's options that common.h has no parser for.  What is wrong with one is
 * a usage error; `opt` is the option's name in the message.
 *
 *	arg_chunks("-b, --buffer-size", optarg, &opt.chunks);
 *	opt.loops = arg_loops("-n, --loops", optarg);
 */
#pragma once

#include "lib/send/options.h"

/* Lists, with commas between the values, which differ: bytes of a call, numbers of streams, methods. */
void arg_chunks(const char *opt, const char *s, struct sizes *list);
void arg_streams(const char *opt, const char *s, struct sizes *list);
void arg_methods(const char *opt, const char *s, struct compare_options *compare);

/* A list of bytes to ask for.  One that is given twice is measured twice. */
void arg_requests(const char *opt, const char *s, struct sizes *list);

/* How many seconds to send; who gives 0 for no end, as iperf3's users do, is answered. */
double arg_time(const char *opt, const char *s);

/* How often to send all files; who gives bytes, as iperf3's users do, is answered. */
uint32_t arg_loops(const char *opt, const char *s);

/* Returns whether the content is zeros, not random. */
bool arg_content(const char *opt, const char *s);

/* Returns `3%` or `3` as a share. */
double arg_percent(const char *opt, const char *s, double max);

/* How many CPUs to measure; who gives another option, as iperf3's -N takes no argument, is answered. */
int arg_first_cpus(const char *opt, const char *s);
