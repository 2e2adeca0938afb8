#ifndef ETWSHIP_CONFIG_CONFIG_TEXT_H
#define ETWSHIP_CONFIG_CONFIG_TEXT_H

#include "base/buf.h"
#include "config/config.h"

/* Text in messages and values: quoting what somebody wrote, the nearest valid name, ${VAR}. */

/* C0, DEL, C1, and the line and paragraph separators U+2028 and U+2029. */
bool config_text_is_control(uint32_t character);

/* Text of unknown origin, fit for one line of a message: in single quotes, control characters as
 * \xNN, cut with "…" after some 60 bytes. */
struct config_quote {
    char text[128];
};

struct config_quote config_text_quote(struct span text);

/* Names in a row, "a, b, c"; those that find no room are left out. */
struct config_names {
    size_t size;
    char text[512];
};

void config_text_list(struct config_names *names, const char *name);

/* The candidate nearest to a misspelt name; ASCII case does not count. */
struct config_nearest {
    struct span text;
    const char *best; /* NULL: none considered yet */
    size_t distance;
};

void config_text_consider(struct config_nearest *nearest, const char *candidate);

/* The best candidate if it is near enough to be meant, else NULL. */
const char *config_text_meant(const struct config_nearest *nearest);

/*
 * Append ${text} to ${out} with `${NAME}` and `${NAME:default}` resolved by ${env} and `$${`
 * written as `${`. A default reaches to the next `}` and is not resolved itself. A variable that is
 * not set and has no default, an unclosed or an ill-named one is an error.
 */
bool config_text_expand(
    struct span text, config_env_fn env, void *env_self, struct buf *out, struct error *err);

/* The name of the first variable in ${text} that is set, but to nothing or to white space alone; empty:
 * there is none. ${text} is one that config_text_expand takes. */
struct span config_text_blank_variable(struct span text, config_env_fn env, void *env_self);

/* What is wrong with a secret, after "it": "is empty", or … and what to do; NULL: nothing. */
const char *config_text_secret_fault(struct span secret);

#endif
