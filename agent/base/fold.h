#ifndef ETWSHIP_BASE_FOLD_H
#define ETWSHIP_BASE_FOLD_H

#include "base/span.h"

/*
 * Text without its case: Unicode simple case folding (CaseFolding.txt, statuses C and S), one
 * character for one character, independent of any locale. Two texts differ in case alone if their
 * folded forms are the same bytes.
 */

/* Room for the folded form of ${size} bytes: some two-byte characters fold to three. */
static inline size_t fold_bound(size_t size)
{
    return size + size / 2 + 4;
}

/* Fold ${utf8} (not trusted; broken sequences become U+FFFD) into ${out}; the bytes written.
 * ${out} must not overlap. */
size_t fold_utf8(struct span utf8, uint8_t *out);

/* How many bytes of ${utf8} fold to ${folded}, which is folded already; SIZE_MAX if it does not
 * start with them. Stops at the first difference. */
size_t fold_match(struct span utf8, struct span folded);

uint32_t fold_character(uint32_t character);

#endif
