#include <stdlib.h>
#include <zlib.h>

#include "input/bytes/packed_own.h"

/* gzip (RFC 1952): a sequence of members, each with a checksum of its content. */
struct gzip {
    struct packed_walk *walk;
    z_stream z;
    uint64_t offset; /* after the bytes read */
    bool at_end;     /* nothing more can be read */
    uint8_t in[PACKED_WINDOW_BYTES];
    uint8_t out[PACKED_WINDOW_BYTES];
};

static uint64_t place_of(const struct gzip *gzip)
{
    return gzip->offset - gzip->z.avail_in;
}

/* Make at least ${bytes} available, or all that is left. */
static bool fill(struct gzip *gzip, size_t bytes)
{
    z_stream *z = &gzip->z;
    if (gzip->at_end || z->avail_in >= bytes) {
        return true;
    }
    memmove(gzip->in, z->next_in, z->avail_in);
    size_t got;
    size_t room = sizeof(gzip->in) - z->avail_in;
    if (!packed_read(gzip->walk, gzip->offset, gzip->in + z->avail_in, room, &got)) {
        return false;
    }
    gzip->at_end = got < room;
    gzip->offset += got;
    z->next_in = gzip->in;
    z->avail_in += (uInt)got;
    return true;
}

/* After a member: true if another follows. Zeros may pad the file to a block. */
static bool next_member(struct gzip *gzip, bool *ret_more)
{
    z_stream *z = &gzip->z;
    *ret_more = false;
    if (!fill(gzip, 2) || z->avail_in == 0) {
        return z->avail_in == 0;
    }
    if (z->avail_in >= 2 && z->next_in[0] == 0x1f && z->next_in[1] == 0x8b) {
        *ret_more = inflateReset(z) == Z_OK;
        return true;
    }
    uint64_t place = place_of(gzip);
    do {
        for (; z->avail_in && *z->next_in == 0; z->next_in++) {
            z->avail_in--;
        }
        if (z->avail_in) {
            packed_damage(gzip->walk, place, "unknown bytes follow the data");
            return true;
        }
    } while (!gzip->at_end && fill(gzip, 1));
    return gzip->at_end;
}

/* Produce at most one window of output. *ret_more false: end of the walk. */
static bool step(struct gzip *gzip, bool *ret_more)
{
    z_stream *z = &gzip->z;
    enum packed_step wanted = PACKED_GO_ON;
    *ret_more = false;
    if (!fill(gzip, 1)) {
        return false;
    }
    bool is_last = z->avail_in == 0;
    z->next_out = gzip->out;
    z->avail_out = sizeof(gzip->out);
    int result = inflate(z, Z_NO_FLUSH);
    size_t made = sizeof(gzip->out) - z->avail_out;
    if (made && !packed_give(gzip->walk, span_make(gzip->out, made), &wanted)) {
        return false;
    }
    if (wanted != PACKED_GO_ON) {
        return true;
    }
    if (result == Z_STREAM_END) {
        return next_member(gzip, ret_more);
    }
    if (result == Z_MEM_ERROR) {
        return error_set(gzip->walk->err, ERR_MEMORY, "%s: out of memory", gzip->walk->bytes->path);
    }
    if (result == Z_OK || (result == Z_BUF_ERROR && !is_last)) {
        *ret_more = true;
    } else if (result == Z_BUF_ERROR) {
        packed_damage(gzip->walk, place_of(gzip), "the data is truncated here");
    } else {
        packed_damage(gzip->walk, place_of(gzip),
            result == Z_NEED_DICT ? "the data needs a dictionary"
            : z->msg              ? z->msg
                                  : "the data is damaged");
    }
    return true;
}

bool packed_gzip_walk(struct packed_walk *walk)
{
    enum { GZIP_HEADER = 16, WINDOW_BITS = 15 };
    struct gzip *gzip = calloc(1, sizeof(*gzip));
    if (!gzip || inflateInit2(&gzip->z, WINDOW_BITS + GZIP_HEADER) != Z_OK) {
        free(gzip);
        return error_set(walk->err, ERR_MEMORY, "%s: out of memory", walk->bytes->path);
    }
    gzip->walk = walk;
    gzip->z.next_in = gzip->in;
    bool good = true;
    bool more = walk->visitor->begin(walk->visitor->self, span_make(NULL, 0)) == PACKED_GO_ON;
    while (good && more) {
        good = step(gzip, &more);
    }
    inflateEnd(&gzip->z);
    free(gzip);
    return good;
}
