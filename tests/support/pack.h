#ifndef ETWSHIP_TESTS_SUPPORT_PACK_H
#define ETWSHIP_TESTS_SUPPORT_PACK_H

#include "base/buf.h"

/*
 * Compressors for tests and the trace generator: the counterpart of agent/input/bytes/unpack.h,
 * written from the compression halves of [MS-XCA] (2.1, 2.3, 2.5). Greedy, deterministic, not fast;
 * they use what the formats allow: matches of any length, all length escapes, raw chunks.
 *
 * Each appends one whole stream for ${in} to ${out}. False if memory ran out or ${out} is full.
 */
bool pack_xpress(struct span in, struct buf *out);
bool pack_lznt1(struct span in, struct buf *out);
bool pack_xpress_huff(struct span in, struct buf *out);

#endif
