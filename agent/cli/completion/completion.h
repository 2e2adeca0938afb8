#ifndef ETWSHIP_CLI_COMPLETION_H
#define ETWSHIP_CLI_COMPLETION_H

#include "base/buf.h"
#include "cli/options/cli.h"

/*
 * Scripts that complete words after `etwship` in shells, made from the tables of commands and options
 * (cli.h): what is added there is completed without more. Names of providers are asked of the program
 * when they are wanted: `etwship completion providers [TRACE...]`.
 */
void completion_write_bash(struct buf *out);
void completion_write_zsh(struct buf *out);
void completion_write_powershell(struct buf *out);

/* ---- what the tables say; for these writers --------------------------------------------------------- */

enum completion_kind {
    COMPLETION_FREE,  /* free text: nothing to offer */
    COMPLETION_WORDS, /* completion_each_word */
    COMPLETION_FILES,
    COMPLETION_PROVIDERS, /* names of providers */
};

/* What the value of ${option} is, which takes one. */
enum completion_kind completion_of_option(const struct cli_option *option);

/* Hand over the values that ${option} may have. */
void completion_each_word(
    const struct cli_option *option, void (*each)(void *self, struct span word), void *self);

/* Does ${command} take files, or names of providers, as operands? */
bool completion_takes_files(const struct cli_command *command);
bool completion_takes_providers(const struct cli_command *command);

/* The first sentence of ${help}, at most 80 bytes. */
struct span completion_summary(const char *help);

/* Append ${text}, with ${escape} before each byte that is one of ${special}. */
void completion_add_escaped(struct buf *out, struct span text, const char *special, char escape);

#endif
