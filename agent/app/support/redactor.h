#ifndef ETWSHIP_APP_REDACTOR_H
#define ETWSHIP_APP_REDACTOR_H

#include "base/buf.h"

/*
 * Removes secrets from texts that are given away: known secrets anywhere, in every form in which
 * programs write them; and text that looks like a secret because of the words before it, since a
 * log may contain an earlier secret. One thread at a time.
 */
struct redactor {
    char **items; /* what is hidden, each form by itself */
    size_t *sizes;
    size_t count;
    size_t capacity;
    bool failed; /* out of memory: nothing may be given away */
};

enum { REDACTOR_SHORTEST_BYTES = 4, REDACTOR_MAX_ITEMS = 20000 };

/* Zeroed memory knows no secret. */
void redactor_fini(struct redactor *redactor);

/*
 * Hide ${text} from now on, also in its forms as JSON, for people (visible.h), in an address, and
 * in base64; with a ${user} (or NULL) also as Basic authentication. Of `scheme credentials` and
 * `id:key` also the second half. Texts shorter than REDACTOR_SHORTEST_BYTES would match everywhere,
 * and stay visible.
 */
void redactor_add(struct redactor *redactor, const char *text, const char *user);

/* Hide the values of what ${text}, the file of a configuration that may have errors, calls a
 * secret: by keys such as password and token. */
void redactor_add_source(struct redactor *redactor, struct span text);

/* Append ${text} to ${out}, with *** in place of each secret. */
void redactor_write(struct redactor *redactor, struct span text, struct buf *out);

#endif
