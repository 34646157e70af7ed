#include "lib/compare/setting.h"

#include "lib/base/proc.h"
#include "lib/base/program.h"
#include "lib/compare/shell.h"

#define RESTORE_NS 30000000000u /* for which a command may run that restores the base */
#define LOCK_NS    2000000000u  /* for which another program may still have the lock */
#define LOCK_FILE  "/dev/zero"

static struct settings
	*entered;       /* whose commands were begun since the base was in force; or NULL */
static bool has_failed; /* the base could not be restored */
static int lock = -1;   /* the descriptor that has the lock of the machine's settings */

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
	if (settings_restore(false))
		return;
	(void)output_finish();
	_exit(die_failure());
}

void settings_catch(void)
{
	struct sigaction new = {.sa_handler = settings_die_of};
	int sig;

	deadly_signals(&new.sa_mask);
	for (sig = 1; sig <= SIGRTMAX; sig++)
		if (sigismember(&new.sa_mask, sig) == 1)
			sigaction(sig, &new, NULL);
}

/* The text of a lock that cannot be had. */
static const char *lock_error(struct flock *l, char why[DIE_MAX])
{
	char name[64];

	if (errno != EAGAIN && errno != EACCES) {
		snprintf(why, DIE_MAX, "--setting: cannot lock " LOCK_FILE ": %s", strerror(errno));
		return why;
	}
	/* The id is one of the holder's PID namespace: here it may be another program's. */
	if (fcntl(lock, F_OFD_GETLK, l) != 0 || l->l_type == F_UNLCK ||
	    file_read_line(text_of("/proc/%jd/comm", (intmax_t)l->l_len), name, sizeof(name)) !=
		    0 ||
	    (strcmp(name, "zcc") != 0 && strcmp(name, "cyclesoak") != 0))
		strcpy(name, "a program of another PID namespace or user");
	snprintf(
		why, DIE_MAX,
		"--setting: the settings of this host are being changed already, by %s (pid %jd): wait "
		"for it or stop it",
		name, (intmax_t)l->l_len);
	return why;
}

/*
 * Takes the lock of the machine's settings, as two programs would change them under each other's runs.  It is a lock of
 * fcntl(2) on the device node whose flock(2) is the soakers' lock, and independent of that.  It begins at byte 0, and its
 * length is the id of its holder, which nothing else tells.  Another program still has it after some time: it may have
 * started this one, so that waiting for its end would be a deadlock.
 */
static const char *take_lock(const struct settings *s, char why[DIE_MAX])
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = getpid()};
	const uint64_t until = now_ns() + LOCK_NS;

	lock = open_retry(LOCK_FILE, O_RDWR);
	while (fcntl(lock, F_OFD_SETLK, &l) != 0) {
		if (now_ns() > until || (errno != EAGAIN && errno != EACCES))
			return lock_error(&l, why);
		if (*s->stop > 0)
			return "interrupted";
		sleep_ns(SHELL_LOOK_NS);
	}
	return NULL;
}

static void unlock(void)
{
	close(lock);
	lock = -1;
}

/* What is to be done before a command. */
static const char *prepare(struct settings *s, char why[DIE_MAX])
{
	const char *error = lock < 0 ? shell_open() : NULL;

	if (error == NULL && lock < 0 && (error = take_lock(s, why)) != NULL)
		unlock();
	if (error == NULL && entered == NULL) {
		settings_catch();
		atexit(restore_at_exit);
	}
	if (error == NULL)
		entered = s;
	return error;
}

static const char *name_of(const struct setting_command *c)
{
	return text_of("--setting %s", c->name);
}

const char *setting_enter(struct settings *s, int i, char why[DIE_MAX])
{
	const struct setting_command *c = &s->all[i];
	const char *error;
	pid_t pid;

	if (s->present == i)
		return NULL;
	error = prepare(s, why);
	if (error != NULL)
		return error;
	s->present = -1;
	pid = shell_start(c->command, NULL, i == 0 ? SHELL_STAYS : SHELL_PRINTS);
	if (pid < 0) {
		error = strerror(errno);
	} else if (!shell_wait(pid, name_of(c), s->stop, UINT64_MAX, &error)) {
		(void)settings_restore(true);
		return "interrupted";
	}
	if (error == NULL)
		s->present = i;
	else
		snprintf(why, DIE_MAX, "%s: %s", name_of(c), error);
	return error == NULL ? NULL : why;
}

/* Ends the command that runs, which may have changed a part of what it is to change, and restores the base. */
static const char *restore(const struct settings *s)
{
	const uint64_t until = now_ns() + RESTORE_NS;
	const char *error;
	pid_t pid;

	if (!shell_end_running())
		return "a command that runs cannot be ended";
	pid = shell_start(s->all[0].command, NULL, SHELL_STAYS);
	if (pid < 0)
		return strerror(errno);
	if (shell_wait(pid, name_of(&s->all[0]), NULL, until, &error))
		return error;
	kill(-pid, SIGKILL);
	return "its command did not end in 30 seconds";
}

bool settings_restore(bool by_signal)
{
	const struct settings *s;
	sigset_t all, before;
	const char *error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	s = entered;
	entered = NULL;
	if (s != NULL) {
		if (by_signal && s->present != 0)
			error_line("ending; restoring '%s', for 30 s at most", s->all[0].name);
		error = s->present != 0 ? restore(s) : NULL;
		if (error != NULL)
			error_line("--setting %s is not restored: %s", s->all[0].name, error);
		unlock();
		has_failed = error != NULL;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !has_failed;
}

void settings_die_of(int sig)
{
	(void)shell_end_running();
	if (!settings_restore(true))
		_exit(die_failure());
	die_of_signal(sig);
}

void settings_finish(int sig)
{
	(void)settings_restore(true);
	(void)output_finish();
	settings_die_of(sig);
}
