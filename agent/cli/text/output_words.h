#ifndef ETWSHIP_CLI_OUTPUT_WORDS_H
#define ETWSHIP_CLI_OUTPUT_WORDS_H

#include "app/config/app_config.h"
#include "cli/options/cli.h"

/* What `setup` and `test-output` have in common. */

/* The output that the operand names. NULL: there is none, which was said. */
const struct app_output *output_words_find(
    const struct cli_args *args, const struct app_config *config);

/* Findings become lines on stdout, requests of a dry run text that a console of the server takes. */
struct output_talk output_words_talk(const struct app_output *output, bool dry_run);

/* One line. */
void output_words_say(enum output_finding finding, const char *text);

#endif
