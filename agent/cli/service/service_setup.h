#ifndef ETWSHIP_CLI_SERVICE_SETUP_H
#define ETWSHIP_CLI_SERVICE_SETUP_H

#include "cli/options/cli.h"

/*
 * `etwship service setup`, `retire`, `undo` and `forget`: the steps of installers with the service,
 * its folders and its first configuration. packaging/windows/README.md has their order.
 */

/* Run the command in argv[0], argv[1]… and return its exit code; -1 if it is none of these.
 * ${start} starts the service, prints the result, and returns the exit code. */
int service_setup_run(int argc, char **argv, int (*start)(void));

#endif
