#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "input/bytes/packed.h"
#include "support/packed_put.h"

/* Any bytes as a packed file of each kind that they may be. The walk gives no member and no byte
 * beyond the limits. A walk that stops at each member's beginning finds the same first members as a
 * complete one. */
enum { MAX_BYTES = 1 << 22, MAX_MEMBERS = 64, MAX_NAME = 100, HEAD = 100 };

static const struct packed_limits limits = {.max_bytes = MAX_BYTES,
    .free_bytes = 1 << 20,
    .ratio = 500,
    .max_members = MAX_MEMBERS,
    .max_name_bytes = MAX_NAME,
    .max_list_bytes = 1 << 20};

static volatile uint8_t sink;

struct found {
    size_t members;
    size_t bytes;
    size_t in_member;
    bool heads_alone;
    bool told;
};

static enum packed_step on_begin(void *self, struct span name)
{
    struct found *found = self;
    found->members++;
    found->in_member = 0;
    if (found->members > MAX_MEMBERS || name.size > MAX_NAME) {
        abort();
    }
    for (size_t i = 0; i < name.size; i++) {
        sink ^= name.data[i];
    }
    return PACKED_GO_ON;
}

static enum packed_step on_bytes(void *self, struct span bytes)
{
    struct found *found = self;
    found->bytes += bytes.size;
    found->in_member += bytes.size;
    if (found->members == 0 || found->bytes > MAX_BYTES) {
        abort();
    }
    for (size_t i = 0; i < bytes.size; i++) {
        sink ^= bytes.data[i];
    }
    return found->heads_alone && found->in_member >= HEAD ? PACKED_SKIP : PACKED_GO_ON;
}

static void on_damage(void *self, uint64_t offset, const char *what)
{
    (void)offset;
    ((struct found *)self)->told = true;
    sink ^= (uint8_t)*what;
}

static void on_refuse(void *self, const char *why)
{
    on_damage(self, 0, why);
}

static bool walk(const uint8_t *data, size_t size, enum packed_kind kind, struct found *found)
{
    const struct packed_visitor visitor = {.self = found,
        .begin = on_begin,
        .bytes = on_bytes,
        .damage = on_damage,
        .refuse = on_refuse};
    struct etl_bytes bytes;
    struct error err;
    etl_bytes_use_memory(&bytes, span_make(data, size), "fuzz");
    return packed_walk(&bytes, kind, &limits, &visitor, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *name;
    enum packed_kind kind = packed_kind_of(
        span_make(data, size < PACKED_HEAD_BYTES ? size : PACKED_HEAD_BYTES), &name);
    if (kind == PACKED_NONE || kind == PACKED_OTHER ||
        (packed_is_archive(kind) && !packed_archive_version())) {
        return 0;
    }
    struct found all = {.members = 0};
    struct found heads = {.heads_alone = true};
    bool good = walk(data, size, kind, &all);
    walk(data, size, kind, &heads);
    if (good && !packed_is_archive(kind) && (all.members != 1 || heads.members != 1)) {
        abort();
    }
    if (!packed_is_archive(kind) && heads.bytes > all.bytes) {
        abort();
    }
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const struct packed_put_member members[] = {
        {"a.etl", {(const uint8_t *)"one one one", 11}, 0, 0},
        {"deep/b.etl", {(const uint8_t *)"two", 3}, 0x800, 0},
        {"c.txt", {(const uint8_t *)"", 0}, 0, 0},
    };
    struct buf seed;
    buf_init(&seed, max);
    switch (index) {
    case 0:
        packed_put_gzip(&seed, span_text("one"));
        packed_put_gzip(&seed, span_text("two"));
        break;
    case 1:
        packed_put_zstd(&seed, span_text("one"));
        packed_put_zstd_run(&seed, 7, 300000);
        break;
    case 2:
        packed_put_zip(&seed, members, 3);
        break;
    case 3:
        packed_put_cab(&seed, members, 3);
        break;
    default:
        break;
    }
    size_t size = seed.size;
    if (size) {
        memcpy(out, seed.data, size);
    }
    buf_fini(&seed);
    return size;
}
