#ifndef ETWSHIP_CLI_TYPED_WORDS_H
#define ETWSHIP_CLI_TYPED_WORDS_H

#include "app/trace/typed_fields.h"
#include "base/buf.h"

/* What `check` and `setup` say of the fields of payloads that have types of their own. */

/* Call ${say} with each line, no line break in it: how many have types, what is not known, and up to
 * ${max_conflicts} of the fields in which definitions differ. */
void typed_words_each(const struct typed_fields *typed, size_t max_conflicts,
    void (*say)(void *self, const char *text), void *self);

/* Append all of it as a JSON object. */
void typed_words_write_json(const struct typed_fields *typed, struct buf *out);

#endif
