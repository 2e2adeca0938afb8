#ifndef ETWSHIP_INPUT_UNPACK_OWN_H
#define ETWSHIP_INPUT_UNPACK_OWN_H

#include "base/bytes.h"
#include "input/bytes/unpack.h"

/* Interface between unpack.c and the three formats. */

/* Pointers of one unpack_run call: in <= in_end, base <= at <= limit. */
struct unpack_io {
    const uint8_t *in;
    const uint8_t *in_end;
    bool last;
    uint8_t *base;
    uint8_t *at;
    uint8_t *limit;
};

/*
 * Process one token, table or header. False with the status that unpack_run returns. A failed step
 * consumes nothing, except with UNPACK_FULL, so it can be repeated with more input. At its start
 * the window may be full; no match is open.
 */
bool unpack_lznt1_step(struct unpack *unpack, struct unpack_io *io, enum unpack_status *ret_why);
bool unpack_xpress_step(struct unpack *unpack, struct unpack_io *io, enum unpack_status *ret_why);
bool unpack_xpress_huff_step(
    struct unpack *unpack, struct unpack_io *io, enum unpack_status *ret_why);

/* XPRESS: `flags` with no flag left; the guard bit is at the top. */
#define UNPACK_XPRESS_NO_FLAGS (UINT64_C(1) << 63)
enum { UNPACK_XPRESS_NO_NIBBLE = 0xff };

static inline size_t unpack_in_left(const struct unpack_io *io)
{
    return (size_t)(io->in_end - io->in);
}

static inline size_t unpack_room(const struct unpack_io *io)
{
    return (size_t)(io->limit - io->at);
}

/* Status when the input ends inside a token. */
static inline enum unpack_status unpack_cut_off(const struct unpack_io *io)
{
    return io->last ? UNPACK_CORRUPT : UNPACK_MORE_INPUT;
}

static inline bool unpack_stop(enum unpack_status why, enum unpack_status *ret_why)
{
    *ret_why = why;
    return false;
}

/* Copy as much of the open match as fits. False if it reaches before the window. */
bool unpack_continue_match(struct unpack *unpack, struct unpack_io *io);

/* Open a match and copy as much of it as fits. */
static inline bool unpack_begin_match(
    struct unpack *unpack, struct unpack_io *io, size_t distance, uint64_t length)
{
    unpack->match_distance = (uint32_t)distance;
    unpack->match_left = length;
    return unpack_continue_match(unpack, io);
}

#endif
