#include "lib/base/proc.h"

#include <sys/stat.h>

int file_read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	char *end;

	if (f == NULL)
		return -1;
	end = fgets(buf, (int)size, f) != NULL ? strchr(buf, '\n') : NULL;
	fclose(f);
	if (end == NULL) {
		errno = EINVAL;
		return -1;
	}
	*end = '\0';
	while ((end = strchr(buf, '\t')) != NULL)
		*end = ' ';
	make_printable(buf);
	return 0;
}

#define ALL_MAX (64 * 1024 * 1024)

char *file_read_all(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	struct stat st = {.st_size = 0};
	char *all;

	if (f == NULL)
		return NULL;
	fstat(fileno(f), &st);
	*size = st.st_size < ALL_MAX ? (size_t)st.st_size : ALL_MAX;
	all = alloc_or_die(1, *size + 1, path);
	*size = fread(all, 1, *size, f);
	fclose(f);
	return all;
}

int file_write(const char *dir, const char *name, const char *text)
{
	const int fd = open_retry(text_of("%s/%s", dir, name), O_WRONLY);
	int e;

	if (fd < 0)
		return -1;
	e = TEMP_FAILURE_RETRY(write(fd, text, strlen(text))) < 0 ? errno : 0;
	close(fd);
	errno = e;
	return e == 0 ? 0 : -1;
}
