#ifndef ETWSHIP_CLI_SERVICE_SETUP_H
#define ETWSHIP_CLI_SERVICE_SETUP_H

#include "cli/options/cli.h"

/*
 * `etwship service setup`, `retire`, `undo` and `forget`: what installers do with the service, its
 * folders and its first configuration. packaging/windows/README.md says who calls which and when.
 */

/* The exit code of what argv[0], argv[1]… name, if that is one of them; else -1. ${start} starts the
 * service, says how that went, and returns its exit code. */
int service_setup_run(int argc, char **argv, int (*start)(void));

#endif
