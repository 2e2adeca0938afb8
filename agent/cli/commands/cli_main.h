#ifndef ETWSHIP_CLI_CLI_MAIN_H
#define ETWSHIP_CLI_CLI_MAIN_H

#include "cli/options/cli.h"

/* Commands, in the order of the help. NULL after the last. */
extern const struct cli_command *const cli_main_commands[];

/* The whole program; main() only calls it. */
int cli_main(int argc, char **argv);

#endif
