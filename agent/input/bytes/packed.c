#include "input/bytes/packed_own.h"

#include <inttypes.h>

enum { MB = 1024 * 1024 };

/* deflate compresses 1032 bytes into one at best, traces usually compress to a tenth: the ratio is
 * above anything a trace reaches. The largest traces in practice are some ten GB. */
const struct packed_limits packed_limits = {
    .max_bytes = (uint64_t)64 * 1024 * MB,
    .free_bytes = (uint64_t)1024 * MB,
    .ratio = 1000,
    .max_members = 100000,
    .max_name_bytes = 1024,
    .max_list_bytes = 16 * MB,
};

struct magic {
    uint8_t bytes[PACKED_HEAD_BYTES];
    uint8_t mask[PACKED_HEAD_BYTES];
    enum packed_kind kind;
    const char *name;
};

/* A trace cannot begin like this: it begins with the size of its first buffer, a multiple of 256
 * below 16 MB. */
static const struct magic magics[] = {
    {{0x1f, 0x8b, 8}, {0xff, 0xff, 0xff}, PACKED_GZIP, "gzip"},
    {{0x28, 0xb5, 0x2f, 0xfd}, {0xff, 0xff, 0xff, 0xff}, PACKED_ZSTD, "zstd"},
    /* a skippable frame, as written by pzstd */
    {{0x50, 0x2a, 0x4d, 0x18}, {0xf0, 0xff, 0xff, 0xff}, PACKED_ZSTD, "zstd"},
    {{'P', 'K', 3, 4}, {0xff, 0xff, 0xff, 0xff}, PACKED_ZIP, "zip"},
    {{'P', 'K', 5, 6}, {0xff, 0xff, 0xff, 0xff}, PACKED_ZIP, "zip"}, /* without members */
    {{'M', 'S', 'C', 'F'}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, PACKED_CAB, "cab"},
    {{0xfd, '7', 'z', 'X', 'Z', 0}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, PACKED_OTHER, "xz"},
    {{'7', 'z', 0xbc, 0xaf, 0x27, 0x1c}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, PACKED_OTHER,
        "7-Zip"},
    {{'B', 'Z', 'h'}, {0xff, 0xff, 0xff}, PACKED_OTHER, "bzip2"},
    {{'R', 'a', 'r', '!', 0x1a, 7}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, PACKED_OTHER, "RAR"},
};

enum packed_kind packed_kind_of(struct span head, const char **ret_name)
{
    uint8_t bytes[PACKED_HEAD_BYTES] = {0};
    memcpy(bytes, head.data, head.size < sizeof(bytes) ? head.size : sizeof(bytes));
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
        bool is = true;
        for (size_t k = 0; k < PACKED_HEAD_BYTES; k++) {
            is = is && ((bytes[k] ^ magics[i].bytes[k]) & magics[i].mask[k]) == 0;
        }
        if (is) {
            *ret_name = magics[i].name;
            return magics[i].kind;
        }
    }
    *ret_name = "";
    return PACKED_NONE;
}

bool packed_is_named(const char *path)
{
    static const char *const endings[] = {
        ".gz", ".zst", ".zip", ".cab", ".xz", ".7z", ".bz2", ".rar"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (span_ends_nocase(span_text(path), endings[i])) {
            return true;
        }
    }
    return false;
}

/* ---- shared by the readers ------------------------------------------------------------------- */

bool packed_goes_on(struct packed_walk *walk)
{
    const struct packed_visitor *visitor = walk->visitor;
    return !visitor->stopped || !visitor->stopped(visitor->self) ||
           error_set(walk->err, ERR_STOPPED, "%s: stopped", walk->bytes->path);
}

bool packed_read(
    struct packed_walk *walk, uint64_t offset, void *data, size_t size, size_t *ret_read)
{
    return packed_goes_on(walk) &&
           etl_bytes_read(walk->bytes, offset, data, size, ret_read, walk->err);
}

bool packed_count(struct packed_walk *walk)
{
    return walk->members++ < walk->limits->max_members ||
           error_set(walk->err, ERR_LIMIT,
               "%s: holds more than %" PRIu32 " files. unpack the traces", walk->bytes->path,
               walk->limits->max_members);
}

bool packed_give(struct packed_walk *walk, struct span bytes, enum packed_step *ret_step)
{
    const struct packed_limits *limits = walk->limits;
    walk->given += bytes.size;
    if (walk->given > limits->max_bytes) {
        return error_set(walk->err, ERR_LIMIT,
            "%s: unpacks to more than %" PRIu64 " bytes. unpack it and read the result",
            walk->bytes->path, limits->max_bytes);
    }
    if (walk->given > limits->free_bytes && walk->given / limits->ratio > walk->bytes->size) {
        return error_set(walk->err, ERR_LIMIT,
            "%s: unpacks to more than %" PRIu32 " times its size, like files made to fill "
            "disks. if you trust it, unpack it and read the result",
            walk->bytes->path, limits->ratio);
    }
    if (!packed_goes_on(walk)) {
        return false;
    }
    *ret_step = walk->visitor->bytes(walk->visitor->self, bytes);
    return true;
}

void packed_damage(struct packed_walk *walk, uint64_t offset, const char *what)
{
    if (walk->visitor->damage) {
        walk->visitor->damage(walk->visitor->self, offset, what);
    }
}

bool packed_walk(struct etl_bytes *bytes, enum packed_kind kind, const struct packed_limits *limits,
    const struct packed_visitor *visitor, struct error *err)
{
    struct packed_walk walk = {.bytes = bytes, .limits = limits, .visitor = visitor, .err = err};
    switch (kind) {
    case PACKED_GZIP:
        return packed_gzip_walk(&walk);
    case PACKED_ZSTD:
        return packed_zstd_walk(&walk);
    case PACKED_ZIP:
    case PACKED_CAB:
        return packed_archive_walk(&walk, kind);
    case PACKED_NONE:
    case PACKED_OTHER:
        break;
    }
    return error_set(err, ERR_UNSUPPORTED,
        "%s: is packed in an unsupported format. unpack it first", bytes->path);
}
