#include "pipeline/deliver/too_old.h"

#include <stdio.h>

struct output_rejection too_old_say(
    struct buf *words, const char *last_words, struct output_rejection why)
{
    if (words->capacity - words->size < TOO_OLD_MAX_BYTES) {
        why.type = span_text(TOO_OLD_TYPE);
        return why;
    }
    char *text = (char *)words->data + words->size;
    int size;
    if (why.status || why.reason.size) {
        struct span type = span_first(why.type, TOO_OLD_MAX_BYTES / 4);
        struct span reason = span_first(why.reason, TOO_OLD_MAX_BYTES / 2);
        size = snprintf(text, TOO_OLD_MAX_BYTES,
            TOO_OLD_TYPE ": tried for longer than retry.max_age. the last answer: status %d "
                         "%.*s: %.*s",
            why.status, SPAN_ARG(type), SPAN_ARG(reason));
    } else {
        size = snprintf(text, TOO_OLD_MAX_BYTES,
            TOO_OLD_TYPE ": tried for longer than retry.max_age. the last failure: %s", last_words);
    }
    why.type = span_text(TOO_OLD_TYPE);
    why.reason = span_make(text, size < TOO_OLD_MAX_BYTES ? (size_t)size : TOO_OLD_MAX_BYTES - 1);
    words->size += why.reason.size;
    return why;
}
