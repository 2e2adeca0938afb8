#ifndef ETWSHIP_CLI_OUTPUT_WORDS_H
#define ETWSHIP_CLI_OUTPUT_WORDS_H

#include "app/config/app_config.h"
#include "cli/options/cli.h"

/* Shared by `setup` and `test-output`. */

/* The output named by the operand. NULL, with an error printed: there is none. */
const struct app_output *output_words_find(
    const struct cli_args *args, const struct app_config *config);

/* Prints findings as lines on stdout, and requests of a dry run in the syntax of the server's
 * console. */
struct output_talk output_words_talk(const struct app_output *output, bool dry_run);

/* One line. */
void output_words_say(enum output_finding finding, const char *text);

#endif
