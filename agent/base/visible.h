#ifndef ETWSHIP_BASE_VISIBLE_H
#define ETWSHIP_BASE_VISIBLE_H

#include "base/buf.h"

/*
 * For terminals, which names and values from traces must not steer: write the control characters of
 * ${text} behind ${start} (UTF-8) as \u00xx, all but line breaks. C1 controls and DEL are among them,
 * which JSON leaves as they are, and U+2028 and U+2029, which end lines. Without memory for that
 * everything behind ${start} is taken back, and the buffer has failed.
 */
void visible_make(struct buf *text, size_t start);

#endif
