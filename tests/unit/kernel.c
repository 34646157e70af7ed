/* The part itself, for what it has of its own. */
#include "lib/load/kernel.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

int main(void)
{
	static const char config[] =
		"# Automatic\nCONFIG_A=y\nCONFIG_A_B=m\n# CONFIG_C is not set\n";
	static const char types[] = "types", names[] = "\0one\0two";
	const struct btf_header h = {.magic = BTF_MAGIC,
				     .hdr_len = sizeof(h),
				     .str_off = sizeof(types),
				     .str_len = sizeof(names)};
	const char *path = "/proc/self/fd/200";
	const int found = kernel_option(KERNEL_IRQ_TIME);
	char *read = NULL;
	size_t size;

	ok(names_read(path, &size) == NULL && size == 0, "a file that is missing has no names");
	ok(dup2(memfd_create("btf", 0), 200) == 200 && names_read(path, &size) == NULL && size == 0,
	   "nor has an empty one");
	ok(write(200, &h, sizeof(h)) > 0 && write(200, types, sizeof(types)) > 0 &&
		   write(200, names, sizeof(names)) > 0 &&
		   (read = names_read(path, &size)) != NULL && size == sizeof(names) &&
		   memcmp(read, names, size) == 0,
	   "the names of BTF are its last part");
	free(read);
	read = NULL;
	ok(ftruncate(200, sizeof(h) + sizeof(types) + 4) == 0 &&
		   (read = names_read(path, &size)) != NULL && size == 4,
	   "of a file that is cut off there are those that are there");
	free(read);
	close(200);
	ok(contains(config, sizeof(config), "\nCONFIG_A=y\n", 12) &&
		   !contains(config, sizeof(config), "\nCONFIG_A_B=y\n", 14) &&
		   !contains(config, sizeof(config), "\nCONFIG_C=y\n", 12),
	   "an option is set if its line says y");
	ok(found >= -1 && found <= 1 && (access(KERNEL_BTF, R_OK) != 0 || found >= 0),
	   "a kernel with BTF tells its options");
	return done();
}
