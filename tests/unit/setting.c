#include "common.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* What a signal is to end exits. */
#undef now_ns
#define now_ns()           (clock_ns(CLOCK_MONOTONIC) + (ahead += step))
#define die_of_signal(sig) exit(128 + (sig))
#define _exit(status)      exit(status) /* NOLINT(bugprone-reserved-identifier) */

static uint64_t ahead, step; /* of the clock, and how much more with each look */

#include "lib/compare/setting.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#undef _exit

#define KEEPS_FILES
#include "tests/unit/unit.h"

static char dir[] = "/tmp/zc-setting.XXXXXX";

static _Atomic int stop;

/* What the commands have written since the last call. */
static const char *written(void)
{
	static char text[256];
	FILE *f = fopen("said", "r");

	memset(text, 0, sizeof(text));
	if (f != NULL && fread(text, 1, sizeof(text) - 1, f) > 0)
		unlink("said");
	if (f != NULL)
		fclose(f);
	return text;
}

static void open_settings(struct settings *s, const char *base, const char *second)
{
	static char text[2][256];

	*s = (struct settings){.stop = &stop};
	snprintf(text[0], sizeof(text[0]), "base=%s", base);
	snprintf(text[1], sizeof(text[1]), "second=%s", second);
	setting_add(s, text[0]);
	setting_add(s, text[1]);
}

static void test_options(void)
{
	const char *list = "no tso=ethtool -K a=b|no tso=:|tso|=:|tso=|-=:|no\ntso=:", *next;
	static char text[SETTINGS_MOST + 8][32];
	struct settings s = {.n = 0};
	const char *error;
	int i;

	capture(STDOUT_FILENO);
	for (i = 0; i < (int)LENGTH(text); i++) {
		next = next_of(&list);
		strcpy(text[i], next != NULL ? next : text_of("%d=:", i));
		error = setting_add(&s, text[i]);
		if (error != NULL)
			printf("%d %s\n", i, error);
	}
	is(captured(),
	   "1 is given twice\n2 is not NAME=COMMAND\n3 is not NAME=COMMAND\n4 is not NAME=COMMAND\n"
	   "5 is not a name: files of --save have it for what is not known\n"
	   "21 is one too many: at most 16\n22 is one too many: at most 16\n"
	   "23 is one too many: at most 16\n",
	   "--setting: a name twice, no name, no command and too many are errors");
	is(s.all[0].command, "ethtool -K a=b", "a setting has a command");
	is(s.all[1].name, "no?tso", "a name is printable");
}

static void test_commands(void)
{
	struct settings s;
	char why[DIE_MAX];

	open_settings(&s, "echo base >>said; cat", "echo second >>said");
	ok(setting_enter(&s, 0, why) == NULL && setting_enter(&s, 0, why) == NULL, "the base");
	is(written(), "base\n", "a setting is entered once, and its input is empty");
	ok(setting_enter(&s, 1, why) == NULL && s.present == 1 && settings_restore(false) &&
		   settings_restore(false),
	   "the second setting");
	is(written(), "second\nbase\n", "the base is restored once");
	open_settings(&s, "echo base >>said", "exit 3");
	is(setting_enter(&s, 1, why), "--setting second: its command ended with status 3",
	   "a command that fails");
	ok(settings_restore(false), "left");
	is(written(), "base\n", "after it the base is restored");
}

/* The ways out of a program: base, the second command, and how it goes on; then its status, and what must be said. */
#define BASE   "echo base >>said"
#define SECOND "echo second >>said"

static const struct way {
	const char *base, *second;
	char how;
	int status;
	const char *said, *printed, *title;
} ways[] = {
	{BASE, SECOND, 'e', 0, "second\nbase\n", "", "an exit"},
	{BASE "; exit 4", SECOND, 'e', 1, "second\nbase\n",
	 "setting: --setting base is not restored: its command ended with status 4\n",
	 "an exit, and its status, if the base cannot be restored"},
	{BASE, "sleep 60", 'i', 0, "base\n",
	 "setting: ending; restoring 'base', for 30 s at most\n", "an interrupted command"},
	{BASE, SECOND, 's', 128 + SIGTERM, "second\nbase\n",
	 "setting: ending; restoring 'base', for 30 s at most\n", "a signal"},
	{BASE, SECOND "; exec sleep 60", 'c', 128 + SIGTERM, "second\nbase\n",
	 "setting: ending; restoring 'base', for 30 s at most\n", "a signal while a command runs"},
	{BASE "; exit 4", SECOND, 's', 1, "second\nbase\n",
	 "setting: ending; restoring 'base', for 30 s at most\n"
	 "setting: --setting base is not restored: its command ended with status 4\n",
	 "a signal, and the status, if the base cannot be restored"},
	{"sleep 60", SECOND, 's', 1, "second\n",
	 "setting: ending; restoring 'base', for 30 s at most\n"
	 "setting: --setting base is not restored: its command did not end in 30 seconds\n",
	 "a signal, but not for ever"},
	{BASE, SECOND, 'f', 128 + SIGINT, "second\nbase\n",
	 "setting: ending; restoring 'base', for 30 s at most\n",
	 "the end of an interrupted report"},
};

static void leave(void *of)
{
	const struct way *way = of;
	struct settings s;
	char why[DIE_MAX];
	const char *error;

	init_program();
	open_settings(&s, way->base, way->second);
	if (way->how == 'c') {
		prepare(&s, why);
		shell_start(s.all[1].command, NULL, SHELL_PRINTS);
	} else {
		stop = way->how == 'i';
		step = 0;
		error = setting_enter(&s, 1, why);
		if ((error != NULL) != stop || (stop && strcmp(error, "interrupted") != 0))
			exit(EXIT_USAGE);
	}
	while (way->how == 'c' && access("said", F_OK) != 0)
		sleep_ns(SHELL_LOOK_NS);
	ahead = way->base[0] == 's' ? -40000000000u : 0; /* the 30 s are over */
	if (way->how == 'f')
		settings_finish(SIGINT);
	if (way->how != 'e' && way->how != 'i')
		settings_die_of(SIGTERM);
	exit(EXIT_SUCCESS);
}

static void test_ways(void)
{
	const struct way *way;

	for (way = ways; way < ways + LENGTH(ways); way++) {
		ok(died(leave, (void *)way) == way->status, "the base is restored: %s", way->title);
		is(printed, way->printed, "what is printed while the base is restored: %s",
		   way->title);
		is(written(), way->said, "the base is restored once: %s", way->title);
	}
}

/* Has a setting entered while a program of that name has the lock; without a name there can be no descriptor. */
static void enter_locked(void *name)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = getpid()};
	const int other = open("/dev/zero", O_RDWR | O_CLOEXEC);
	struct rlimit files;
	struct settings s;
	char why[DIE_MAX];

	open_settings(&s, ":", ":");
	step = 1000000000;
	stop = *(char *)name == 's';
	if (shell_open() != NULL || other < 0 || fcntl(other, F_OFD_SETLK, &l) != 0)
		exit(EXIT_USAGE);
	prctl(PR_SET_NAME, name);
	getrlimit(RLIMIT_NOFILE, &files);
	if (*(char *)name == '\0')
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, files.rlim_max});
	dprintf(STDERR_FILENO, "%s", setting_enter(&s, 1, why));
	setrlimit(RLIMIT_NOFILE, &files);
	exit(lock == -1 && entered == NULL ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void test_lock(void)
{
	static const char *const names[][2] = {
		{"zcc", "already, by zcc (pid "},
		{"cyclesoak", "already, by cyclesoak (pid "},
		{"other", "already, by a program of another PID namespace or user (pid "},
		{"stopped", "interrupted"},
		{"", "cannot lock /dev/zero: Bad file descriptor"}};
	size_t i;

	for (i = 0; i < LENGTH(names); i++) {
		ok(died(enter_locked, (void *)names[i][0]) == EXIT_SUCCESS,
		   "settings that are locked by another program (%s) are not entered", names[i][0]);
		has(printed, names[i][1], "which an error says");
	}
}

int main(void)
{
	if (mkdtemp(dir) == NULL || chdir(dir) != 0)
		err(EXIT_FAILURE, "%s", dir);
	test_options();
	test_commands();
	test_ways();
	test_lock();
	unlink("said");
	rmdir(dir);
	return done();
}
