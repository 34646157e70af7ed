#include "lib/compare/setting.h"

#include "lib/compare/shell.h"

#define RESTORE_NS 30000000000u /* for which a command may run that restores the base */

enum { TO_RESTORE, RESTORING, RESTORED }; /* states of the base */

static _Atomic int base;
static struct settings *entered; /* whose commands were begun; NULL: none were */

const char *setting_add(struct settings *s, char *text)
{
	char *command = strchr(text, '=');
	int i;

	if (command == NULL || command == text || command[1] == '\0')
		return "is not NAME=COMMAND";
	if (s->n == SETTINGS_MOST)
		return "is one too many: at most 16";
	*command++ = '\0';
	make_printable(text);
	if (strcmp(text, "-") == 0)
		return "is not a name: files of --save have it for what is not known";
	for (i = 0; i < s->n; i++)
		if (strcmp(s->all[i].name, text) == 0)
			return "is given twice";
	s->all[s->n++] = (struct setting_command){text, command};
	s->present = -1;
	return NULL;
}

void setting_take(const struct option_row *o, char *text, void *to)
{
	const char *error = setting_add(to, text);

	if (error != NULL)
		option_error(o, "'%s' %s", text, error);
}

static void restore_at_exit(void)
{
	if (settings_restore())
		return;
	fflush(NULL);
	_exit(die_failure());
}

static void on_other(int sig)
{
	(void)shell_end_running();
	(void)settings_restore();
	signal(sig, SIG_DFL);
	raise(sig);
}

void settings_catch(void)
{
	static const int signals[] = {SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2};
	const struct sigaction new = {.sa_handler = on_other};
	struct sigaction old;
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &new, NULL);
}

const char *setting_enter(struct settings *s, int i, char why[DIE_MAX])
{
	const struct setting_command *c = &s->all[i];
	const char *error;
	int status = 0;
	pid_t pid;

	if (s->present == i)
		return NULL;
	shell_open();
	if (entered == NULL) {
		settings_catch();
		atexit(restore_at_exit);
	}
	entered = s;
	base = TO_RESTORE;
	s->present = -1;
	pid = shell_start(c->command, false);
	error = pid < 0 ? strerror(errno) : NULL;
	if (pid > 0 && shell_wait(pid, &status, UINT64_MAX))
		error = shell_error(status);
	if (error == NULL)
		s->present = i;
	else
		snprintf(why, DIE_MAX, "--setting %s: %s", c->name, error);
	return error == NULL ? NULL : why;
}

/* Ends the command that runs, which may have changed a part of what it is to change, and restores the base. */
static const char *restore(struct settings *s)
{
	const uint64_t until = now_ns() + RESTORE_NS;
	int status = 0;
	pid_t pid;

	if (!shell_end_running())
		return "a command that runs cannot be ended";
	pid = shell_start(s->all[0].command, false);
	if (pid < 0)
		return strerror(errno);
	if (shell_wait(pid, &status, until))
		return shell_error(status);
	kill(-pid, SIGKILL);
	return "its command did not end in 30 seconds";
}

/* warnx(3) may wait for a lock that the interrupted thread has. */
bool settings_restore(void)
{
	struct settings *s = entered;
	int state = TO_RESTORE;
	char line[DIE_MAX] = "";
	sigset_t all, before;
	const char *error;

	if (s == NULL || s->present == 0)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (!atomic_compare_exchange_strong(&base, &state, RESTORING)) {
		/* Another thread restores the base, and then ends the program. */
		while (base == RESTORING)
			sleep_ns(SHELL_LOOK_NS);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		return true;
	}
	error = restore(s);
	if (error != NULL) {
		string_append(line, sizeof(line), "%s: --setting %s is not restored: %s\n",
			      program_invocation_short_name, s->all[0].name, error);
		(void)!write(STDERR_FILENO, line, strlen(line));
	}
	base = RESTORED;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error == NULL;
}

void settings_die_of(int sig)
{
	if (!settings_restore())
		_exit(die_failure());
	signal(sig, SIG_DFL);
	raise(sig);
	/* cppcheck-suppress unreachableCode ; the compiler does not know that raise(3) ends it */
	_exit(128 + sig);
}
