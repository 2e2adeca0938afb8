#include "support/packed_put.h"

#include "base/bytes.h"

static void put16(struct buf *out, size_t value)
{
    buf_add_le16(out, (uint16_t)value);
}

static void put32(struct buf *out, size_t value)
{
    buf_add_le32(out, (uint32_t)value);
}

/* ISO 3309, bit by bit. */
static uint32_t crc32_of(struct span bytes)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < bytes.size; i++) {
        crc ^= bytes.data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        }
    }
    return ~crc;
}

void packed_put_gzip(struct buf *out, struct span bytes)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8, [9] = 255};
    enum { MAX_STORED = 0xffff };
    struct span left = bytes;
    buf_add(out, header, sizeof(header));
    do {
        struct span block = span_first(left, MAX_STORED);
        left = span_from(left, block.size);
        buf_add_byte(out, left.size == 0);
        put16(out, block.size);
        put16(out, ~block.size & 0xffff);
        buf_add_span(out, block);
    } while (left.size);
    put32(out, crc32_of(bytes));
    put32(out, bytes.size);
}

enum { ZSTD_BLOCK_BYTES = 128 * 1024 };

/* Without a content size or checksum; windows of 128 KB. */
static void put_zstd_header(struct buf *out)
{
    static const uint8_t header[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3};
    buf_add(out, header, sizeof(header));
}

static void put_zstd_block(struct buf *out, bool is_last, unsigned type, size_t size)
{
    uint8_t bytes[4];
    store_le32(bytes, (uint32_t)(size << 3 | type << 1 | is_last));
    buf_add(out, bytes, 3);
}

void packed_put_zstd(struct buf *out, struct span bytes)
{
    put_zstd_header(out);
    do {
        struct span block = span_first(bytes, ZSTD_BLOCK_BYTES);
        bytes = span_from(bytes, block.size);
        put_zstd_block(out, bytes.size == 0, 0, block.size);
        buf_add_span(out, block);
    } while (bytes.size);
}

void packed_put_zstd_run(struct buf *out, uint8_t byte, uint64_t count)
{
    put_zstd_header(out);
    do {
        size_t size = count < ZSTD_BLOCK_BYTES ? (size_t)count : ZSTD_BLOCK_BYTES;
        count -= size;
        put_zstd_block(out, count == 0, 1, size);
        buf_add_byte(out, byte);
    } while (count);
}

/* What the local header and the list at the end have in common. */
static void put_zip_facts(struct buf *out, const struct packed_put_member *member)
{
    put16(out, 20);
    put16(out, member->flags);
    put16(out, member->method);
    put32(out, 0x21 << 16); /* 1980-01-01 */
    put32(out, crc32_of(member->bytes));
    put32(out, member->bytes.size);
    put32(out, member->bytes.size);
    put16(out, strlen(member->name));
    put16(out, 0);
}

void packed_put_zip(struct buf *out, const struct packed_put_member *members, size_t count)
{
    enum { LOCAL = 0x04034b50, ENTRY = 0x02014b50, END = 0x06054b50, UNIX = 3 };
    size_t start = out->size;
    for (size_t i = 0; i < count; i++) {
        put32(out, LOCAL);
        put_zip_facts(out, &members[i]);
        buf_add_text(out, members[i].name);
        buf_add_span(out, members[i].bytes);
    }
    size_t list = out->size - start;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        put32(out, ENTRY);
        put16(out, UNIX << 8 | 20);
        put_zip_facts(out, &members[i]);
        put16(out, 0);
        put32(out, 0);
        put32(out, (size_t)0100644 << 16);
        put32(out, at);
        buf_add_text(out, members[i].name);
        at += 30 + strlen(members[i].name) + members[i].bytes.size;
    }
    size_t list_bytes = out->size - start - list;
    put32(out, END);
    put32(out, 0);
    put16(out, count);
    put16(out, count);
    put32(out, list_bytes);
    put32(out, list);
    put16(out, 0);
}

void packed_put_cab(struct buf *out, const struct packed_put_member *members, size_t count)
{
    enum { HEADER = 36, FOLDER = 8, ENTRY = 16, DATA = 8, BLOCK_BYTES = 32768 };
    struct buf all;
    buf_init(&all, 1 << 24);
    size_t names = 0;
    for (size_t i = 0; i < count; i++) {
        names += ENTRY + strlen(members[i].name) + 1;
        buf_add_span(&all, members[i].bytes);
    }
    size_t blocks = (all.size + BLOCK_BYTES - 1) / BLOCK_BYTES;
    buf_add_text(out, "MSCF");
    put32(out, 0);
    put32(out, HEADER + FOLDER + names + blocks * DATA + all.size);
    put32(out, 0);
    put32(out, HEADER + FOLDER);
    put32(out, 0);
    put16(out, 0x0103);
    put16(out, 1);
    put16(out, count);
    put16(out, 0);
    put32(out, 0);
    put32(out, HEADER + FOLDER + names);
    put16(out, blocks);
    put16(out, 0);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        put32(out, members[i].bytes.size);
        put32(out, at);
        put16(out, 0);
        put32(out, 0x21);
        put16(out, 0x20 | 0x80);
        buf_add_text(out, members[i].name);
        buf_add_byte(out, 0);
        at += members[i].bytes.size;
    }
    for (struct span left = buf_span(&all); left.size;) {
        struct span block = span_first(left, BLOCK_BYTES);
        left = span_from(left, block.size);
        put32(out, 0);
        put16(out, block.size);
        put16(out, block.size);
        buf_add_span(out, block);
    }
    buf_fini(&all);
}
