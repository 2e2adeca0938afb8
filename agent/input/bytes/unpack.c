#include "input/bytes/unpack_own.h"

/*
 * Shared by the formats: the loop, and matches, which may be longer than the window (up to 4 GB)
 * and continue in the next call. Every iteration of every loop here and in the formats consumes
 * input, produces output, or is the last.
 */

size_t unpack_history(enum unpack_format format)
{
    switch (format) {
    case UNPACK_LZNT1:
        return 4096; /* one chunk */
    case UNPACK_XPRESS:
        return 8192; /* 13 bits of distance */
    case UNPACK_XPRESS_HUFF:
        break;
    }
    return UNPACK_MAX_HISTORY;
}

void unpack_init(struct unpack *unpack, enum unpack_format format)
{
    memset(unpack, 0, sizeof(*unpack));
    unpack->format = format;
    unpack->ended = UNPACK_MORE_INPUT;
    unpack->flags = UNPACK_XPRESS_NO_FLAGS;
    unpack->nibble = UNPACK_XPRESS_NO_NIBBLE;
}

bool unpack_continue_match(struct unpack *unpack, struct unpack_io *io)
{
    size_t room = unpack_room(io);
    size_t length = unpack->match_left < room ? (size_t)unpack->match_left : room;
    if (unpack->match_distance > (size_t)(io->at - io->base)) {
        return false;
    }
    unpack->match_left -= length;

    /* A match may overlap its output and then repeats it. The source stays valid, so each iteration
     * can copy twice as much. */
    const uint8_t *from = io->at - unpack->match_distance;
    while (length > 0) {
        size_t gap = (size_t)(io->at - from);
        size_t size = length < gap ? length : gap;
        memcpy(io->at, from, size);
        io->at += size;
        length -= size;
    }
    return true;
}

static bool step(struct unpack *unpack, struct unpack_io *io, enum unpack_status *ret_why)
{
    if (unpack->match_left > 0) {
        if (io->at == io->limit) {
            return unpack_stop(UNPACK_FULL, ret_why);
        }
        return unpack_continue_match(unpack, io) || unpack_stop(UNPACK_CORRUPT, ret_why);
    }
    switch (unpack->format) {
    case UNPACK_LZNT1:
        return unpack_lznt1_step(unpack, io, ret_why);
    case UNPACK_XPRESS:
        return unpack_xpress_step(unpack, io, ret_why);
    case UNPACK_XPRESS_HUFF:
        return unpack_xpress_huff_step(unpack, io, ret_why);
    }
    return unpack_stop(UNPACK_CORRUPT, ret_why);
}

enum unpack_status unpack_run(struct unpack *unpack, struct span in, bool last,
    struct unpack_window *window, size_t *ret_used)
{
    static const uint8_t nothing[1];
    const uint8_t *start = in.data ? in.data : nothing;
    struct unpack_io io = {
        .in = start,
        .in_end = start + in.size,
        .last = last,
        .base = window->base,
        .at = window->base + window->at,
        .limit = window->base + window->limit,
    };

    enum unpack_status why = unpack->ended;
    if (why == UNPACK_MORE_INPUT) {
        while (step(unpack, &io, &why)) {}
    }
    if (why == UNPACK_END || why == UNPACK_CORRUPT) {
        unpack->ended = why;
    }
    window->at = (size_t)(io.at - io.base);
    *ret_used = (size_t)(io.in - start);
    return why;
}
