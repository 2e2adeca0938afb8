#ifndef ETWSHIP_CLI_TYPED_WORDS_H
#define ETWSHIP_CLI_TYPED_WORDS_H

#include "app/trace/typed_fields.h"
#include "base/buf.h"

/* Report of `check` and `setup` on payload fields with index types. */

/* Call ${say} with each line, without its line break: how many fields have types, what is unknown,
 * and up to ${max_conflicts} fields in which definitions differ. */
void typed_words_each(const struct typed_fields *typed, size_t max_conflicts,
    void (*say)(void *self, const char *text), void *self);

/* Append all of it as a JSON object. */
void typed_words_write_json(const struct typed_fields *typed, struct buf *out);

#endif
