#ifndef ETWSHIP_BASE_FOLD_H
#define ETWSHIP_BASE_FOLD_H

#include "base/span.h"

/*
 * Case-insensitive text: Unicode simple case folding (CaseFolding.txt, statuses C and S), one
 * character for one character, independent of the locale. Two texts differ only in case if their
 * folded forms are equal.
 */

/* Space for the folded form of ${size} bytes: some two-byte characters fold to three. */
static inline size_t fold_bound(size_t size)
{
    return size + size / 2 + 4;
}

/* Fold ${utf8} (untrusted; invalid sequences become U+FFFD) into ${out}; returns the bytes written.
 * ${out} must not overlap. */
size_t fold_utf8(struct span utf8, uint8_t *out);

/* Number of bytes of ${utf8} that fold to ${folded}, which is already folded; SIZE_MAX if ${utf8}
 * does not start with it. Stops at the first difference. */
size_t fold_match(struct span utf8, struct span folded);

uint32_t fold_character(uint32_t character);

#endif
