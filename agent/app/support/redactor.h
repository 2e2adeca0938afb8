#ifndef ETWSHIP_APP_REDACTOR_H
#define ETWSHIP_APP_REDACTOR_H

#include "base/buf.h"

/*
 * Takes secrets out of texts that are given away. What is known to be secret goes wherever it stands, in
 * every form in which programs write it; besides, what looks like a secret by what stands in front of it, as
 * a log may hold one that was in use before. One thread at a time.
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
 * Hide ${text} from now on, and what it is as JSON, for people (visible.h), in an address, and in base64; with
 * a ${user} (or NULL) as Basic has it, too. Of `scheme credentials` and `id:key` the second half alone as well.
 * What is shorter than REDACTOR_SHORTEST_BYTES would be found everywhere, and stays.
 */
void redactor_add(struct redactor *redactor, const char *text, const char *user);

/* Hide the values of what ${text}, the file of a configuration that may have errors, calls a secret: by
 * keys such as password and token. */
void redactor_add_source(struct redactor *redactor, struct span text);

/* Append ${text} to ${out}, with *** in place of each secret. */
void redactor_write(struct redactor *redactor, struct span text, struct buf *out);

#endif
