#ifndef ETWSHIP_SCHEMA_PACK_LINE_H
#define ETWSHIP_SCHEMA_PACK_LINE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/guid.h"

/*
 * Lines of a schema pack: words, numbers and quoted texts, separated by blanks; `#` begins a
 * comment. Every function that can fail returns false with ${err} set to `FILE:LINE: …`.
 */
struct pack_line {
    const char *file;
    struct error *err;
    struct arena *arena; /* for quoted texts */
    struct span rest;    /* text after this line */
    struct span line;    /* unread part of this line */
    size_t number;       /* of this line, from 1 */
};

/* Go to the next line. False at the end of the text. */
bool pack_line_next(struct pack_line *in);

bool pack_line_at_end(struct pack_line *in);
bool pack_line_at_reference(struct pack_line *in);

/* The next word; empty at the end of the line or before a quoted text. */
struct span pack_line_word(struct pack_line *in);

/* Read a quoted text, unescaped, into the arena. */
bool pack_line_text(struct pack_line *in, struct span *ret_text);

/* Read a decimal or 0x number of at most ${max}. */
bool pack_line_number(struct pack_line *in, uint64_t max, uint64_t *ret_value);
bool pack_line_guid(struct pack_line *in, struct guid *ret_guid);

/* Read a field reference: a name (into ${ret_name}) or @number (into ${ret_index}). */
bool pack_line_reference(struct pack_line *in, uint16_t *ret_index, struct span *ret_name);

/* Set ${err} to what is wrong with this line. Always false. */
bool pack_line_fail(struct pack_line *in, const char *what);
bool pack_line_fail_word(struct pack_line *in, const char *what, struct span word);
bool pack_line_fail_memory(struct pack_line *in);

#endif
