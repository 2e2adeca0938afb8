#ifndef ETWSHIP_CLI_COMPLETION_H
#define ETWSHIP_CLI_COMPLETION_H

#include "base/buf.h"
#include "cli/options/cli.h"

/*
 * Scripts that complete words after `etwship` in shells, generated from the tables of commands and
 * options (cli.h), so new rows are completed too: ${commands}, NULL after the last. The scripts
 * request names of providers from the program: `etwship completion providers [TRACE...]`.
 */
void completion_write_bash(const struct cli_command *const *commands, struct buf *out);
void completion_write_zsh(const struct cli_command *const *commands, struct buf *out);
void completion_write_powershell(const struct cli_command *const *commands, struct buf *out);

/* ---- what the tables say; for these writers -------------------------------------------------- */

enum completion_kind {
    COMPLETION_FREE,  /* free text: nothing to offer */
    COMPLETION_WORDS, /* completion_each_word */
    COMPLETION_FILES,
    COMPLETION_PROVIDERS, /* names of providers */
};

/* The kind of value of ${option}, which takes one. */
enum completion_kind completion_of_option(const struct cli_option *option);

/* Call ${each} for each value that ${option} may have. */
void completion_each_word(
    const struct cli_option *option, void (*each)(void *self, struct span word), void *self);

/* True if ${command} takes files, or names of providers, as operands. */
bool completion_takes_files(const struct cli_command *command);
bool completion_takes_providers(const struct cli_command *command);

/* The first sentence of ${help}, at most 80 bytes. */
struct span completion_summary(const char *help);

/* Append ${text}, with ${escape} before each byte that is one of ${special}. */
void completion_add_escaped(struct buf *out, struct span text, const char *special, char escape);

#endif
