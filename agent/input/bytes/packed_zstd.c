#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "input/bytes/packed_own.h"

/* Bytes that a decoder needs at the start of a frame. */
enum { FRAME_BEGIN_BYTES = 5 };

/* zstd (RFC 8878): a sequence of frames. */
struct zstd {
    struct packed_walk *walk;
    ZSTD_DStream *stream;
    ZSTD_inBuffer input;
    size_t filled;   /* bytes in `in` */
    size_t hint;     /* bytes that the decoder wants next */
    uint64_t offset; /* after the bytes read */
    bool at_end;
    bool in_frame;
    bool has_more; /* the last call filled the window */
    uint8_t in[PACKED_WINDOW_BYTES];
    uint8_t out[PACKED_WINDOW_BYTES];
};

static bool fill(struct zstd *zstd)
{
    size_t got = 0;
    if (zstd->input.pos < zstd->filled || zstd->at_end) {
        return true;
    }
    if (!packed_read(zstd->walk, zstd->offset, zstd->in, sizeof(zstd->in), &got)) {
        return false;
    }
    zstd->at_end = got < sizeof(zstd->in);
    zstd->offset += got;
    zstd->filled = got;
    zstd->input = (ZSTD_inBuffer){.src = zstd->in};
    return true;
}

static void tell(struct zstd *zstd, const char *what)
{
    packed_damage(zstd->walk, zstd->offset - (zstd->filled - zstd->input.pos), what);
}

/* Produce at most one window of output. *ret_more false: end of the walk. */
static bool step(struct zstd *zstd, bool *ret_more)
{
    enum packed_step wanted = PACKED_GO_ON;
    *ret_more = false;
    if (!fill(zstd)) {
        return false;
    }
    bool is_last = zstd->input.pos == zstd->filled;
    if (is_last && !zstd->in_frame) {
        return true;
    }
    /* A failing call does not report its output: at most one block, and none while the decoder
     * still has bytes of the previous one. */
    size_t left = zstd->has_more ? 0 : zstd->filled - zstd->input.pos;
    zstd->input.size = zstd->input.pos + (zstd->hint < left ? zstd->hint : left);
    ZSTD_outBuffer out = {.dst = zstd->out, .size = sizeof(zstd->out)};
    size_t before = zstd->input.pos;
    size_t result = ZSTD_decompressStream(zstd->stream, &out, &zstd->input);
    if (out.pos && !packed_give(zstd->walk, span_make(zstd->out, out.pos), &wanted)) {
        return false;
    }
    if (wanted != PACKED_GO_ON) {
        return true;
    }
    if (ZSTD_isError(result)) {
        char text[160];
        snprintf(text, sizeof(text), "%s", ZSTD_getErrorName(result));
        tell(zstd, text);
        return true;
    }
    zstd->in_frame = result != 0;
    zstd->has_more = out.pos == out.size;
    zstd->hint = result ? result : FRAME_BEGIN_BYTES;
    if (is_last && zstd->in_frame && out.pos == 0 && zstd->input.pos == before) {
        tell(zstd, "the data is truncated here");
        return true;
    }
    *ret_more = true;
    return true;
}

bool packed_zstd_walk(struct packed_walk *walk)
{
    /* The limit of `zstd -d`: frames that need more than 128 MB are refused. */
    enum { WINDOW_LOG_MAX = 27 };
    struct zstd *zstd = calloc(1, sizeof(*zstd));
    if (zstd) {
        zstd->stream = ZSTD_createDStream();
    }
    if (!zstd || !zstd->stream) {
        free(zstd);
        return error_set(walk->err, ERR_MEMORY, "%s: out of memory", walk->bytes->path);
    }
    ZSTD_DCtx_setParameter(zstd->stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    zstd->walk = walk;
    zstd->hint = FRAME_BEGIN_BYTES;
    zstd->in_frame = true; /* an empty file counts as truncated */
    bool good = true;
    bool more = walk->visitor->begin(walk->visitor->self, span_make(NULL, 0)) == PACKED_GO_ON;
    while (good && more) {
        good = step(zstd, &more);
    }
    ZSTD_freeDStream(zstd->stream);
    free(zstd);
    return good;
}
