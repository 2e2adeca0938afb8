#include "store/disk/body.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "store/disk/frame.h"

enum { LEVEL = 1 };

struct body_packer {
    ZSTD_CCtx *zstd;
    struct buf out;
};

struct body_packer *body_packer_create(struct error *err)
{
    struct body_packer *packer = calloc(1, sizeof(*packer));
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (!packer || !zstd) {
        ZSTD_freeCCtx(zstd);
        free(packer);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    packer->zstd = zstd;
    buf_init(&packer->out, ZSTD_COMPRESSBOUND((size_t)FRAME_MAX_BODY_BYTES));
    return packer;
}

void body_packer_destroy(struct body_packer *packer)
{
    if (packer) {
        ZSTD_freeCCtx(packer->zstd);
        buf_fini(&packer->out);
        free(packer);
    }
}

bool body_pack(struct body_packer *packer, struct span raw, struct span *ret_packed)
{
    buf_reset(&packer->out);
    if (raw.size == 0 || !buf_reserve(&packer->out, ZSTD_compressBound(raw.size))) {
        return false;
    }
    size_t size = ZSTD_compressCCtx(
        packer->zstd, packer->out.data, packer->out.capacity, raw.data, raw.size, LEVEL);
    if (ZSTD_isError(size) || size >= raw.size) {
        return false;
    }
    *ret_packed = span_make(packer->out.data, size);
    return true;
}

bool body_unpack(struct span packed, uint8_t *out, size_t raw_bytes)
{
    return ZSTD_decompress(out, raw_bytes, packed.data, packed.size) == raw_bytes;
}
