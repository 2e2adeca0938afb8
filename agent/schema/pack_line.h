#ifndef ETWSHIP_SCHEMA_PACK_LINE_H
#define ETWSHIP_SCHEMA_PACK_LINE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/guid.h"

/*
 * The lines of a schema pack: words, numbers and quoted texts, between blanks; `#` begins a
 * comment. Every function that can fail returns false with ${err} set to `FILE:LINE: …`.
 */
struct pack_line {
    const char *file;
    struct error *err;
    struct arena *arena; /* of quoted texts */
    struct span rest;    /* of the text, behind this line */
    struct span line;    /* what is left of this line */
    size_t number;       /* of this line, from 1 */
};

/* Go to the next line. False at the end of the text. */
bool pack_line_next(struct pack_line *in);

bool pack_line_at_end(struct pack_line *in);
bool pack_line_at_text(struct pack_line *in);
bool pack_line_at_reference(struct pack_line *in);

/* Empty at the end of the line or where a quoted text stands. */
struct span pack_line_word(struct pack_line *in);

/* A quoted text, unescaped, into the arena. */
bool pack_line_text(struct pack_line *in, struct span *ret_text);

/* A decimal or 0x number of at most ${max}. */
bool pack_line_number(struct pack_line *in, uint64_t max, uint64_t *ret_value);
bool pack_line_guid(struct pack_line *in, struct guid *ret_guid);

/* A field by name (into ${ret_name}) or as @number (into ${ret_index}). */
bool pack_line_reference(struct pack_line *in, uint16_t *ret_index, struct span *ret_name);

/* Always false: what is wrong with this line. */
bool pack_line_fail(struct pack_line *in, const char *what);
bool pack_line_fail_word(struct pack_line *in, const char *what, struct span word);
bool pack_line_fail_memory(struct pack_line *in);

#endif
