#ifndef ETWSHIP_EVENT_RECORD_LETTER_H
#define ETWSHIP_EVENT_RECORD_LETTER_H

#include "base/reader.h"

/* For tables that have payloads as one letter per field: the letters that mean the same in all of
 * them. */

static inline uint64_t record_letter_pointer(struct reader *r, uint8_t pointer_size)
{
    return pointer_size == 8 ? reader_u64(r) : reader_u32(r);
}

/* Skip a field that is left out: `a` an address, `w` a text in UTF-16, `?` four bytes where newer
 * builds have them, a digit so many bytes. */
static inline void record_letter_skip(struct reader *r, char letter, uint8_t pointer_size)
{
    switch (letter) {
    case 'a':
        reader_skip(r, pointer_size);
        break;
    case 'w':
        reader_text16(r);
        break;
    case '?':
        reader_skip(r, reader_left(r) ? 4 : 0);
        break;
    default:
        reader_skip(r, (size_t)(letter - '0'));
        break;
    }
}

#endif
