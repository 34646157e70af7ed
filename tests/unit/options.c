/* The options of zcc: lib/send/options. */
#include "lib/send/options.h"

#include "lib/send/sender.h"
#include "tests/unit/unit.h"

static struct send_options opt;

/* Returns the first file, or NULL. */
static const char *parse(const char *words)
{
	static char *argv[32];

	return argv[options_parse(&opt, words_of(words, argv), argv)];
}

/* Prints all options but those that are NULL in each case, a line each. */
static void print_all(void)
{
	const struct sock_options *k = &opt.sock;
	const struct gauge_setup *g = &opt.gauge;
	const struct compare_options *c = &opt.compare;

	report("server %s\nport %s\nsource %s\nfamily %d\ncport %d\nrcvbuf %d\nsndbuf %d\ndscp %d\n",
	       opt.server, opt.port, opt.source != NULL ? opt.source : "any", opt.family, opt.cport,
	       k->rcvbuf, k->sndbuf, k->dscp);
	report("mptcp %d\nmss %d\nnodelay %d\ncork %d\nbind %d\ncongestion %d\ndevice %d\nfile %s\n",
	       k->mptcp, opt.mss, opt.nodelay, opt.cork, opt.bind.n, k->congestion != NULL,
	       k->device != NULL, opt.files[0] != NULL ? opt.files[0] : "-");
	report("soak %d\nidle %d\nown %d\nprofile %d\nnever_idle %d\nparks %d\ncounts %d\n",
	       g->soak, g->idle, g->own, g->profile, g->never_idle, g->parks, g->file != NULL);
	report("wait %g\nwait_idle %g\nCPUs %d\non %d\n", g->wait, g->wait_idle, g->n_cpus,
	       g->on.n);
	report("method %s\nstreams %d\nchunk %ju\nloops %u\nseconds %g\nbytes %ju\nwarmup %g\n",
	       opt.method->name, opt.streams, (uintmax_t)opt.chunk, opt.loops, opt.seconds,
	       (uintmax_t)opt.bytes, opt.warmup);
	report("pace %ju\nraw %d\npreload %d\ntls %d\nkeep %d\nrequests", (uintmax_t)opt.pace,
	       opt.raw, opt.preload, opt.tls != NULL, opt.keep);
	if (opt.request != NO_REQUEST)
		report(" %ju", (uintmax_t)opt.request);
	report("\ntimeout %g\nwait_server %g\ninterval %g\n", opt.timeout, opt.wait_server,
	       opt.interval);
	report("compares %d\nruns %d\nrounds %d\nprecision %g\nfail_above %g\nretries %d\nsettle %g\n",
	       opt.compares, opt.runs, c->rounds, c->precision, c->fail_above, c->retries,
	       c->settle);
	report("brief %d\ndry %d\nquiet %d\njson %d\ntimestamps %d\ndebug %d\ntitle %s\n", c->brief,
	       c->dry, opt.quiet, opt.json, opt.timestamps, opt.debug,
	       opt.title != NULL ? opt.title : "-");
}

/* All options of the first command line, and those of the others that differ from it. */
static void test_right(void)
{
	const char *list =
		"-s 0|-s 0 -t 1|-s 0 -n 2|-s 0 --bytes 1|-s 0 -c|-s 0 --idle|-s 0 -c --profile"
		"|-s 0 --raw|-s 0 -m mmap|-s 0 --request=1 --keep|-s 0 -r 2"
		"|-s 0 --vs -S|-s 0 --tls|-s 0 --setting a=: --setting b=:|-s 0 -w file"
		"|-cs0 --idle -P 1,4 -m send,_write|-s 0 --request 1,2 --timeout=0 --idle -c --fail-above 3|-s 0 --request 1,2 --retry 2"
		"|-s 0 --pace 1 -6dd -T a_title --precision=2.5%"
		/* addresses in brackets, as URLs and the messages of zcs have them */
		"|-p 9 -s [::1]:2223|-s [fe80::1%lo] file -p 1|-s 0 --bind [::1]";
	char first[sizeof(printed)] = "", all[16384] = "";
	const char *words;

	while ((words = next_of(&list)) != NULL) {
		parse(words);
		capture(STDOUT_FILENO);
		print_all();
		string_append(all, sizeof(all), "%s: %s\n", words,
			      new_lines(captured(), first, "; "));
		if (first[0] == '\0')
			strcpy(first, printed);
	}
	expect(all, "options of zcc are read, and each mode has its defaults");
}

static void parse_and_exit(void *words)
{
	parse(words);
	exit(EXIT_SUCCESS);
}

/* Options that are no usage error, but for a hint, stand at the end. */
static void test_wrong(void)
{
	expect_deaths(
		parse_and_exit,
		"-v|-s 0 -t 9ms|-s 0 -I 0.001|-s 0 -f x"
		"|-s 0 --request 10,10|-s 0 --request 1 --keep --vs --request_0|-s 0 --bind [::1]:2222|-s [::1]:65536|-s 0 -p 1,|-s 0 -m send,,mmap|-s 0 -b 4k,4096"
		"|-s 0 -m send,write,mmap,splice -b 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"
		" -P 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"
		"|-s 0 --vs -J|-s 0 --vs -hS|-s 0 --vs --vs=-S|-s 0 --vs --cport_1|-s 0 --vs --setting_a=:"
		"|-s 0 --vs -S_file|-s 0 --vs -n_1_-t_1|-s 0 --vs -b_x|-s 0 --vs --foo|-s 0 --vs '|-s 0 --vs --preload"
		"|-s 0 -r 2 --vs -S --fail-above 1|-s 0 -r 3 --fail-above 50|-s 0 --vs --content_zeros|-s 0 --vs --keep|-s 0 --request 1 --vs -k|-s 0 --vs --request_1|-s 0 --request 1,2 --brief --vs --retry_1"
		"|-s 0 --cport 65530 -P 6|-s 0 --cport 65530 -P 7|-s 0 --cport 65528 -r 2 -P 1,3|-s 0 --cport 65528 -r 2 -P 1,3 -m send,mmap"
		"|-s 0 --cport 65000 -r 10 -P 8 --vs -P_19 --setting a=: --setting b=:|-s 0 --cport 65530 -P 2 --request 1,2,3,4|-C"
		"|-s 0 --tls --raw|-s 0 --tls --mptcp|-s 0 --tls --request 10|-s 0 --tls=rot13|-s 0 --preload"
		"|-s 0 --tls -m send,zerocopy|-s 0 --tls --vs -m_uring|-s 0 --tls -m uring-zc",
		"wrong options of zcc end it with a line");
}

/* Lists of as many values as there may be, and of one more. */
static void test_many(void)
{
	static const char *const cases[][2] = {{"-b", "%d"}, {"--request", "%d"}};
	char words[512];
	size_t i;
	int n, status;

	capture(STDOUT_FILENO);
	for (i = 0; i < LENGTH(cases); i++) {
		snprintf(words, sizeof(words), "-s 0 %s ", cases[i][0]);
		for (n = 1; n <= VALUES_MAX + 1; n++) {
			string_append(words, sizeof(words), n > 1 ? "," : "");
			string_append(words, sizeof(words), cases[i][1], n);
			if (n < VALUES_MAX)
				continue;
			status = died(parse_and_exit, words);
			report("%d values: %d%s%s", n, status, printed[0] != '\0' ? " " : "\n",
			       printed);
		}
	}
	expect(captured(), "lists have 64 values, and no more");
}

static void test_command(void)
{
	char *command;

	parse("-s 0 -k --tls=aes-256-gcm --idle=clock -b 1k --json file");
	command = options_command(&opt);
	is(command, "zcc -b 1k -s 0 --tls=aes-256-gcm -k --idle=clock file",
	   "a run is known by its options, but those of the output");
	free(command);
}

TESTS(test_command, test_right, test_wrong, test_many)
