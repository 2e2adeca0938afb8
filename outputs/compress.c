/*
 * gzip uses ISA-L if available, which is several times faster than zlib and writes the same format.
 * A body is compressed in one call with space for the worst case: no loops and no flushing, and
 * pages of the output that are never written cost nothing. Parts are copied together before that
 * call: fed with one event at a time, ISA-L takes 1.5 times as long; larger pieces gain nothing,
 * because it copies them.
 */
#include "outputs/compress.h"

#include <stdlib.h>
#include <zstd.h>

#ifdef ETWSHIP_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

enum {
    LEVEL = 1,
    /* One call accepts this many bytes: the libraries count in unsigned int. */
    MOST_BYTES = 1 << 30,
};

struct compress {
    struct buf gathered; /* copy of the parts, back to back */
    ZSTD_CCtx *zstd;     /* NULL: gzip */
#ifdef ETWSHIP_ISAL
    struct isal_zstream isal;
    uint8_t *work;
#else
    z_stream zlib;
    bool has_zlib;
#endif
};

#ifdef ETWSHIP_ISAL

/* On Windows for x64 a function preserves XMM6 to XMM15 ("x64 calling convention" on
 * learn.microsoft.com), but ISA-L 2.31 clears the upper half of XMM7. Listed here as changed, they
 * are preserved by the compiler for our callers. */
#if defined(_WIN64) && defined(__x86_64__)
#define KEEP_XMM()                                                                             \
    __asm__ volatile("" ::                                                                     \
                         : "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
                     "xmm14", "xmm15")
#else
#define KEEP_XMM() ((void)0)
#endif

static bool gzip_init(struct compress *self)
{
    self->work = malloc(ISAL_DEF_LVL1_DEFAULT);
    return self->work != NULL;
}

static void gzip_fini(struct compress *self)
{
    free(self->work);
}

/* Data that deflate cannot shrink is stored in blocks of up to 65,535 bytes with 5 more bytes each
 * (RFC 1951, 3.2.4). ISA-L's blocks are smaller at worst. */
static size_t gzip_bound(struct compress *self, size_t size)
{
    (void)self;
    return size + size / 1024 + 1024;
}

static size_t gzip_whole(struct compress *self, struct span in, struct buf *out)
{
    struct isal_zstream *stream = &self->isal;
    isal_deflate_stateless_init(stream);
    stream->level = LEVEL;
    stream->level_buf = self->work;
    stream->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    stream->gzip_flag = IGZIP_GZIP;
    stream->end_of_stream = 1;
    stream->flush = NO_FLUSH;
    stream->next_in = (uint8_t *)(uintptr_t)in.data; /* the library only reads it */
    stream->avail_in = (uint32_t)in.size;
    stream->next_out = out->data;
    stream->avail_out = (uint32_t)out->capacity;
    int code = isal_deflate_stateless(stream);
    KEEP_XMM();
    return code == COMP_OK ? stream->total_out : 0;
}

#else

enum { WINDOW_BITS = 15, GZIP_FORMAT = 16, MEMORY_LEVEL = 8 };

static bool gzip_init(struct compress *self)
{
    self->has_zlib = deflateInit2(&self->zlib, LEVEL, Z_DEFLATED, WINDOW_BITS + GZIP_FORMAT,
                         MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
    return self->has_zlib;
}

static void gzip_fini(struct compress *self)
{
    if (self->has_zlib) {
        deflateEnd(&self->zlib);
    }
}

static size_t gzip_bound(struct compress *self, size_t size)
{
    return deflateBound(&self->zlib, (uLong)size);
}

static size_t gzip_whole(struct compress *self, struct span in, struct buf *out)
{
    deflateReset(&self->zlib);
    self->zlib.next_in = (Bytef *)(uintptr_t)in.data; /* the library only reads it */
    self->zlib.avail_in = (uInt)in.size;
    self->zlib.next_out = out->data;
    self->zlib.avail_out = (uInt)out->capacity;
    return deflate(&self->zlib, Z_FINISH) == Z_STREAM_END ? (size_t)self->zlib.total_out : 0;
}

#endif

struct compress *compress_create(enum http_compression kind, struct error *err)
{
    struct compress *self = calloc(1, sizeof(*self));
    bool good = self != NULL;
    if (good) {
        buf_init(&self->gathered, MOST_BYTES);
    }
    if (good && kind == HTTP_ZSTD) {
        self->zstd = ZSTD_createCCtx();
        good = self->zstd &&
               !ZSTD_isError(ZSTD_CCtx_setParameter(self->zstd, ZSTD_c_compressionLevel, LEVEL));
    } else if (good) {
        good = gzip_init(self);
    }
    if (!good) {
        compress_destroy(self);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    return self;
}

bool compress_open(enum http_compression kind, struct compress **ret_compress, struct error *err)
{
    *ret_compress = kind == HTTP_PLAIN ? NULL : compress_create(kind, err);
    return kind == HTTP_PLAIN || *ret_compress;
}

void compress_destroy(struct compress *compress)
{
    if (compress) {
        buf_fini(&compress->gathered);
        ZSTD_freeCCtx(compress->zstd);
        gzip_fini(compress);
        free(compress);
    }
}

bool compress_whole(struct compress *compress, struct span in, struct buf *out, struct error *err)
{
    buf_reset(out);
    size_t bound = in.size > MOST_BYTES     ? SIZE_MAX
                   : compress->zstd != NULL ? ZSTD_compressBound(in.size)
                                            : gzip_bound(compress, in.size);
    if (!buf_reserve(out, bound)) {
        return error_set(err, ERR_LIMIT, "no memory to compress %zu bytes", in.size);
    }
    size_t size;
    if (compress->zstd) {
        size = ZSTD_compress2(compress->zstd, out->data, out->capacity, in.data, in.size);
        size = ZSTD_isError(size) ? 0 : size;
    } else {
        size = gzip_whole(compress, in, out);
    }
    if (!size) {
        return error_set(err, ERR_MEMORY, "cannot compress %zu bytes", in.size);
    }
    out->size = size;
    return true;
}

bool compress_parts(struct compress *compress, const struct span *parts, size_t count,
    struct buf *out, struct error *err)
{
    buf_reset(&compress->gathered);
    for (size_t i = 0; i < count; i++) {
        buf_add_span(&compress->gathered, parts[i]);
    }
    if (compress->gathered.failed) {
        return error_set(err, ERR_LIMIT, "no memory to compress %zu parts", count);
    }
    return compress_whole(compress, buf_span(&compress->gathered), out, err);
}
