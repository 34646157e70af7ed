#include "lib/compare/setting.h"

#include <sys/wait.h>

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
	char good[] = "no tso=ethtool -K eth0 tso off", again[] = "no tso=:", none[] = "tso";
	char nameless[] = "=:", empty[] = "tso=", unknown[] = "-=:", same[] = "no\ntso=:";
	char name[SETTINGS_MOST + 1][16];
	struct settings s = {.n = 0};
	int i;

	ok(setting_add(&s, good) == NULL && strcmp(s.all[0].name, "no tso") == 0 &&
		   strcmp(s.all[0].command, "ethtool -K eth0 tso off") == 0,
	   "setting_add: a name and a command");
	ok(setting_add(&s, again) != NULL && setting_add(&s, none) != NULL &&
		   setting_add(&s, nameless) != NULL && setting_add(&s, empty) != NULL &&
		   setting_add(&s, unknown) != NULL && s.n == 1,
	   "setting_add: a name twice, no name and no command are errors");
	setting_add(&s, same);
	is(s.all[1].name, "no?tso", "a name is printable");
	for (i = 2; i <= SETTINGS_MOST; i++) {
		snprintf(name[i], sizeof(name[i]), "%d=:", i);
		ok((setting_add(&s, name[i]) == NULL) == (i < SETTINGS_MOST), "setting %d", i + 1);
	}
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
	open_settings(&s, "exit 4", "kill -9 $$");
	is(setting_enter(&s, 1, why), "--setting second: its command was ended by signal 9",
	   "a command that is ended by a signal");
	ok(!settings_restore(false), "a base that cannot be restored is an error");
}

static void on_signal(int sig)
{
	settings_restore(false);
	_exit(sig);
}

/* tests/system/settings.sh has the other ways out. */
static void test_signal_while_restoring(void)
{
	static struct settings s;
	char why[DIE_MAX];
	int status;
	pid_t pid;

	open_settings(&s, "kill -15 $PPID; sleep 0.1; echo base >>said", ":");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_signal}, NULL);
		setting_enter(&s, 1, why);
		exit(99);
	}
	ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == SIGTERM,
	   "a signal while the base is restored");
	is(written(), "base\n", "waits for it");
}

int main(void)
{
	if (mkdtemp(dir) == NULL || chdir(dir) != 0)
		err(EXIT_FAILURE, "%s", dir);
	test_options();
	test_commands();
	test_signal_while_restoring();
	unlink("said");
	rmdir(dir);
	return done();
}
