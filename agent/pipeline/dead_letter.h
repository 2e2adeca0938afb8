#ifndef ETWSHIP_PIPELINE_DEAD_LETTER_H
#define ETWSHIP_PIPELINE_DEAD_LETTER_H

#include "base/buf.h"
#include "base/span.h"

/*
 * A record that a destination will never take, with what it said of it, and its form as a line of
 * JSON, in which it is kept. Spans are views.
 */
struct dead_letter {
    uint64_t id;   /* within the store: 1, 2, 3, … */
    uint64_t time; /* FILETIME, when it was put aside */
    /* The record's name in its spool, by which one that comes again is known; epoch 0: unknown. Not part
     * of its form as a line. */
    uint64_t epoch;
    uint64_t record;
    bool
        waits; /* where there is no room, it does not take the place of an older one. Not in the line */
    struct span output;
    int status; /* of the reply, as in HTTP; 0: unknown */
    struct span type;
    struct span reason;
    struct span index;
    struct span route; /* by the output's template; empty: it has none */
    struct span
        document_id;      /* what the record is called for ever (delivery_id.h); empty: nothing */
    struct span document; /* without the line break behind it; empty: it was too long to be kept */
};

/* Longer documents are not kept, only what was said of them. */
enum { DEAD_LETTER_DOCUMENT_MAX_BYTES = 8 * 1024 * 1024 };

/* The letter as a JSON object for users: `id, time, output, status, type, reason, index, document`;
 * what is unknown is null, and a document that is no JSON object is a string, of one that is no text `base64:`
 * and its bytes. No line break. */
void dead_letter_json(const struct dead_letter *letter, struct buf *out);

/* The letter as a line that dead_letter_read reads, with its line break. */
void dead_letter_write(const struct dead_letter *letter, struct buf *out);

/*
 * Read a line (without its line break) that dead_letter_write wrote; its members have a fixed order,
 * and a line that was not written to its end is refused. Texts are unescaped into ${texts}, which is
 * emptied. False if it is no such line, or there is no memory. ${line} is not trusted.
 */
bool dead_letter_read(struct span line, struct buf *texts, struct dead_letter *ret_letter);

#endif
