#ifndef ETWSHIP_PIPELINE_DEAD_LETTER_H
#define ETWSHIP_PIPELINE_DEAD_LETTER_H

#include "base/buf.h"
#include "base/span.h"

/*
 * A record that a destination will never take, with what it said of it. Spans are views.
 */
struct dead_letter {
    uint64_t id;   /* within the store: 1, 2, 3, … */
    uint64_t time; /* FILETIME, when it was put aside */
    /* The record's id in its spool, by which a repeated record is recognised; epoch 0: unknown. */
    uint64_t epoch;
    uint64_t record;
    bool waits; /* where there is no room, it does not take the place of an older one */
    struct span output;
    int status; /* of the reply, as in HTTP; 0: unknown */
    struct span type;
    struct span reason;
    struct span index;
    struct span route; /* by the output's template; empty: it has none */
    struct span
        document_id;      /* what the record is called for ever (delivery_id.h); empty: nothing */
    struct span document; /* without the line break after it; empty: it was too long to be kept */
};

/* The letter as a JSON object for users: `id, time, output, status, type, reason, index, document`;
 * what is unknown is null, and a document that is no JSON object is a string, of one that is no
 * text `base64:` and its bytes. No line break. */
void dead_letter_json(const struct dead_letter *letter, struct buf *out);

#endif
