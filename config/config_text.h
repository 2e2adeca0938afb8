#ifndef ETWSHIP_CONFIG_CONFIG_TEXT_H
#define ETWSHIP_CONFIG_CONFIG_TEXT_H

#include "base/buf.h"
#include "config/config.h"

/* Text in messages and values: quotes of what the user wrote, the nearest valid name, ${VAR}. */

/* C0, DEL, C1, and the line and paragraph separators U+2028 and U+2029. */
bool config_text_is_control(uint32_t character);

/* Text of unknown origin, made fit for one line of a message: in single quotes, control characters
 * as \xNN, cut with "…" after some 60 bytes. */
struct config_quote {
    char text[128];
};

struct config_quote config_text_quote(struct span text);

/* Names in a row, "a, b, c"; names without room are left out. */
struct config_names {
    size_t size;
    char text[512];
};

void config_text_list(struct config_names *names, const char *name);

/* The candidate nearest to a misspelt name; ASCII case does not count. */
struct config_nearest {
    struct span text;
    const char *best; /* NULL: none so far */
    size_t distance;
};

void config_text_consider(struct config_nearest *nearest, const char *candidate);

/* The best candidate if it is near enough, else NULL. */
const char *config_text_meant(const struct config_nearest *nearest);

/*
 * Append ${text} to ${out} with `${NAME}` and `${NAME:default}` resolved by ${env} and `$${`
 * replaced by `${`. A default ends at the next `}` and is not resolved itself. Errors: a variable
 * that is not set and has no default, one that is not closed, one with an invalid name.
 */
bool config_text_expand(
    struct span text, config_env_fn env, void *env_self, struct buf *out, struct error *err);

/* Name of the first variable in ${text} whose value is empty or white space; empty: there is none.
 * config_text_expand accepted ${text}. */
struct span config_text_blank_variable(struct span text, config_env_fn env, void *env_self);

/* What is wrong with a secret, as a text that follows "it" ("is empty"),
 * and what to do; NULL: nothing. */
const char *config_text_secret_fault(struct span secret);

#endif
