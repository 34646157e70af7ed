/* The part itself, for what it has of its own. */
#include "lib/load/kernel.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

int main(void)
{
	static const char config[] =
		"# Automatic\nCONFIG_A=y\nCONFIG_A_B=m\n# CONFIG_C is not set\n";
	const int found = kernel_option(KERNEL_IRQ_TIME);

	ok(contains(config, sizeof(config), "\nCONFIG_A=y\n", 12) &&
		   !contains(config, sizeof(config), "\nCONFIG_A_B=y\n", 14) &&
		   !contains(config, sizeof(config), "\nCONFIG_C=y\n", 12) &&
		   contains(NULL, 0, "x", 1) == -1,
	   "an option is set if its line says y, and not known without any line");
	ok(found >= -1 && found <= 1 && (access(KERNEL_BTF, R_OK) != 0 || found >= 0),
	   "a kernel with BTF tells its options");
	return done();
}
