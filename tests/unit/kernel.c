/* The part itself, for what it has of its own. */
#include "lib/load/kernel.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

int main(void)
{
	static const char config[] =
		"# Automatic\nCONFIG_A=y\nCONFIG_A_B=m\n# CONFIG_C is not set\n";
	const char *path = "/proc/self/fd/200";
	const int found = kernel_option(KERNEL_IRQ_TIME);

	ok(contains(path, "\nCONFIG_A=y\n", 12) == -1, "a file that is missing says nothing");
	ok(dup2(memfd_create("config", 0), 200) == 200 &&
		   contains(path, "\nCONFIG_A=y\n", 12) == -1,
	   "nor does an empty one");
	ok(write(200, config, strlen(config)) > 0 && contains(path, "\nCONFIG_A=y\n", 12) == 1 &&
		   contains(path, "\nCONFIG_A_B=y\n", 14) == 0 &&
		   contains(path, "\nCONFIG_C=y\n", 12) == 0,
	   "an option is set if its line says y");
	close(200);
	ok(found >= -1 && found <= 1 && (access(KERNEL_BTF, R_OK) != 0 || found >= 0),
	   "a kernel with BTF tells its options");
	return done();
}
