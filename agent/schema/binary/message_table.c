#include "schema/binary/message_table.h"

#include <stdlib.h>

#include "base/order.h"
#include "base/reader.h"
#include "base/utf.h"
#include "schema/text/names.h"

enum {
    MAX_TEXTS = 1 << 20,
    BLOCK_BYTES = 12,
    ENTRY_HEAD_BYTES = 4,
    FLAG_UNICODE = 1, /* MESSAGE_RESOURCE_UNICODE; otherwise the system's code page */
};

struct block {
    uint32_t low;
    uint32_t high;
    uint32_t offset;
};

static struct block read_block(struct reader *r)
{
    struct block block = {.low = reader_u32(r)};
    block.high = reader_u32(r);
    block.offset = reader_u32(r);
    return block;
}

/* Sum of the texts of all blocks; SIZE_MAX with ${err} set if there are too many. */
static size_t count_texts(struct reader blocks, size_t block_count, struct error *err)
{
    uint64_t count = 0;
    for (size_t i = 0; i < block_count; i++) {
        struct block block = read_block(&blocks);
        if (block.high < block.low) {
            error_set(err, ERR_FORMAT, "message table: a block ends before it begins");
            return SIZE_MAX;
        }
        count += (uint64_t)block.high - block.low + 1;
        if (count > MAX_TEXTS) {
            error_set(err, ERR_LIMIT, "message table: more than %d texts", MAX_TEXTS);
            return SIZE_MAX;
        }
    }
    return (size_t)count;
}

/* The texts of a block are contiguous. */
static bool index_block(struct message_table *table, const struct block *block, struct error *err)
{
    size_t at = block->offset;
    for (uint32_t id = block->low;; id++) {
        struct reader r = reader_make(span_from(table->bytes, at));
        size_t length = reader_u16(&r);
        if (at > table->bytes.size || r.failed || length < ENTRY_HEAD_BYTES ||
            length > table->bytes.size - at) {
            return error_set(
                err, ERR_FORMAT, "message table: text 0x%x lies outside the table", id);
        }
        table->entries[table->count++] = (struct message_table_entry){
            .id = id, .offset = (uint32_t)at};
        at += length;
        if (id == block->high) {
            return true;
        }
    }
}

static int compare_entries(const void *a, const void *b)
{
    const struct message_table_entry *x = a;
    const struct message_table_entry *y = b;
    int order = order_u64(x->id, y->id);
    return order ? order : order_u64(x->offset, y->offset);
}

bool message_table_init(struct message_table *table, struct span bytes, struct error *err)
{
    *table = (struct message_table){.bytes = bytes};
    struct reader r = reader_make(bytes);
    size_t block_count = reader_u32(&r);
    if (r.failed || bytes.size > UINT32_MAX || block_count > reader_left(&r) / BLOCK_BYTES) {
        return error_set(err, ERR_FORMAT, "message table: its blocks lie outside the table");
    }
    size_t count = count_texts(r, block_count, err);
    if (count == SIZE_MAX) {
        return false;
    }
    table->entries = malloc((count + 1) * sizeof(*table->entries));
    if (!table->entries) {
        return error_set(err, ERR_MEMORY, "no memory for a message table");
    }
    for (size_t i = 0; i < block_count; i++) {
        struct block block = read_block(&r);
        if (!index_block(table, &block, err)) {
            return false;
        }
    }
    qsort(table->entries, table->count, sizeof(*table->entries), compare_entries);
    return true;
}

void message_table_fini(struct message_table *table)
{
    free(table->entries);
    *table = (struct message_table){0};
}

static const struct message_table_entry *find(const struct message_table *table, uint32_t id)
{
    size_t low = 0;
    size_t high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->entries[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < table->count && table->entries[low].id == id ? &table->entries[low] : NULL;
}

static bool from_code_page(struct arena *arena, struct span text, struct span *ret_text)
{
    text = span_until_nul(text);
    uint8_t *utf8 = malloc(utf8_json_bound(text.size));
    if (!utf8) {
        return false;
    }
    size_t size = codepage_to_utf8(&codepage_1252, text, utf8);
    bool ok = arena_copy(arena, span_make(utf8, size), ret_text);
    free(utf8);
    return ok;
}

bool message_table_text(
    const struct message_table *table, uint32_t id, struct arena *arena, struct span *ret_text)
{
    const struct message_table_entry *entry = find(table, id);
    *ret_text = span_make(NULL, 0);
    if (!entry) {
        return true;
    }
    struct reader r = reader_make(span_from(table->bytes, entry->offset));
    size_t length = reader_u16(&r);
    uint16_t flags = reader_u16(&r);
    struct span raw = reader_take(&r, length - ENTRY_HEAD_BYTES);
    struct span text;
    if (!(flags & FLAG_UNICODE ? names_from_utf16(arena, raw, &text)
                               : from_code_page(arena, raw, &text))) {
        return false;
    }
    while (text.size && (text.data[text.size - 1] == '\n' || text.data[text.size - 1] == '\r')) {
        text.size--;
    }
    *ret_text = text;
    return true;
}
