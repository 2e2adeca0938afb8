#include "support/pe_put.h"

#include "support/etl_put.h"

enum {
    DOS_BYTES = 128,
    COFF_BYTES = 24,
    OPTIONAL_32_BYTES = 224,
    OPTIONAL_64_BYTES = 240,
    SECTION_BYTES = 40,
    NODE_BYTES = 16,
    ENTRY_BYTES = 8,
    DATA_BYTES = 16,
};

static const uint32_t subnode = 0x80000000u;

static void pad_to(struct buf *out, size_t size)
{
    if (out->size < size) {
        etl_put_zeros(out, size - out->size);
    }
}

static void put_section(
    struct buf *out, const char *name, uint32_t address, size_t size, size_t offset)
{
    size_t start = out->size;
    etl_put_textz(out, name);
    pad_to(out, start + 8);
    etl_put_u32(out, (uint32_t)size);
    etl_put_u32(out, address);
    etl_put_u32(out, (uint32_t)size);
    etl_put_u32(out, (uint32_t)offset);
    pad_to(out, start + SECTION_BYTES);
}

static bool same_type(const struct pe_put_resource *a, const struct pe_put_resource *b)
{
    return a->type_name ? b->type_name && strcmp(a->type_name, b->type_name) == 0
                        : !b->type_name && a->type == b->type;
}

static size_t count_of_type(const struct pe_put_resource *resources, size_t count)
{
    size_t same = 1;
    while (same < count && same_type(resources, &resources[same])) {
        same++;
    }
    return same;
}

static void put_node(struct buf *out, size_t named, size_t numbered)
{
    etl_put_zeros(out, 12);
    etl_put_u16(out, (uint16_t)named);
    etl_put_u16(out, (uint16_t)numbered);
}

static void set_u32(struct buf *out, size_t at, size_t value)
{
    if (!out->failed) {
        store_le32(out->data + at, (uint32_t)value);
    }
}

/* Languages of the only name of a type. */
static void put_languages(
    struct buf *out, const struct pe_put_resource *resources, size_t count, size_t *data_offsets)
{
    put_node(out, 0, count);
    for (size_t i = 0; i < count; i++) {
        etl_put_u32(out, resources[i].language);
        data_offsets[i] = out->size; /* to be filled in */
        etl_put_u32(out, 0);
    }
}

static void put_tree(struct buf *out, const struct pe_put_resource *resources, size_t count,
    struct pe_put_places *places)
{
    size_t tree = out->size;
    size_t targets[PE_PUT_MAX_RESOURCES];
    size_t named = 0;
    size_t types = 0;
    for (size_t i = 0; i < count; i += count_of_type(&resources[i], count - i)) {
        named += resources[i].type_name ? 1 : 0;
        types++;
    }
    put_node(out, named, types - named);
    size_t entries = out->size;
    etl_put_zeros(out, types * ENTRY_BYTES);
    size_t type = 0;
    for (size_t i = 0; i < count; type++) {
        size_t same = count_of_type(&resources[i], count - i);
        if (type == 0) {
            places->names = out->size;
            places->languages = out->size + NODE_BYTES + ENTRY_BYTES;
        }
        set_u32(out, entries + type * ENTRY_BYTES, resources[i].type);
        set_u32(out, entries + type * ENTRY_BYTES + 4, (out->size - tree) | subnode);
        put_node(out, 0, 1);
        etl_put_u32(out, 1);
        etl_put_u32(out, (uint32_t)(out->size + 4 - tree) | subnode);
        put_languages(out, &resources[i], same, &targets[i]);
        if (resources[i].type_name) {
            set_u32(out, entries + type * ENTRY_BYTES, (out->size - tree) | subnode);
            etl_put_u16(out, (uint16_t)strlen(resources[i].type_name));
            etl_put_utf16(out, resources[i].type_name);
            etl_put_zeros(out, (4 - out->size % 4) % 4);
        }
        i += same;
    }
    places->tree = tree;
    places->data = out->size;
    size_t data = out->size + count * DATA_BYTES;
    for (size_t i = 0; i < count; i++) {
        set_u32(out, targets[i], out->size - tree);
        etl_put_u32(out, (uint32_t)(PE_PUT_TREE_ADDRESS + (data - tree)));
        etl_put_u32(out, (uint32_t)resources[i].bytes.size);
        etl_put_zeros(out, 8);
        data += resources[i].bytes.size;
    }
    for (size_t i = 0; i < count; i++) {
        buf_add(out, resources[i].bytes.data, resources[i].bytes.size);
    }
}

void pe_put(struct buf *out, const struct pe_put_options *options,
    const struct pe_put_resource *resources, size_t count, struct pe_put_places *ret_places)
{
    struct pe_put_places places = {.header = DOS_BYTES};
    size_t optional = options->is_32_bit ? OPTIONAL_32_BYTES : OPTIONAL_64_BYTES;
    buf_add(out, "MZ", 2);
    pad_to(out, 60);
    etl_put_u32(out, DOS_BYTES);
    pad_to(out, DOS_BYTES);

    buf_add(out, "PE\0\0", 4);
    etl_put_u16(out, options->is_32_bit ? 0x14c : 0x8664);
    etl_put_u16(out, 2); /* sections */
    etl_put_zeros(out, 12);
    etl_put_u16(out, (uint16_t)optional);
    etl_put_u16(out, 0x2022);

    size_t start = out->size;
    etl_put_u16(out, options->is_32_bit ? 0x10b : 0x20b);
    pad_to(out, start + (options->is_32_bit ? 92 : 108));
    etl_put_u32(out, 16); /* data directories: of exports, imports, resources */
    etl_put_zeros(out, 16);
    places.resource_entry = out->size;
    etl_put_u32(out, count ? PE_PUT_TREE_ADDRESS : 0);
    etl_put_u32(out, 0);
    pad_to(out, start + optional);

    places.sections = out->size;
    size_t text = out->size + (size_t)2 * SECTION_BYTES;
    put_section(out, ".text", 0x1000, options->gap, text);
    put_section(out, ".rsrc", PE_PUT_TREE_ADDRESS, 0, text + options->gap);
    etl_put_zeros(out, options->gap);
    size_t tree = out->size;
    if (count) {
        put_tree(out, resources, count, &places);
    }
    set_u32(out, places.resource_entry + 4, out->size - tree);
    set_u32(out, places.sections + SECTION_BYTES + 8, out->size - tree);
    set_u32(out, places.sections + SECTION_BYTES + 16, out->size - tree);
    if (ret_places) {
        *ret_places = places;
    }
}

/* ---- message tables -------------------------------------------------------------------------- */

static void put_message(struct buf *out, const struct pe_put_message *message)
{
    size_t start = out->size;
    etl_put_zeros(out, 4);
    if (message->is_ansi) {
        buf_add(out, message->text, strlen(message->text));
        etl_put_textz(out, "\r\n");
    } else {
        etl_put_utf16(out, message->text);
        etl_put_utf16z(out, "\r\n");
    }
    etl_put_zeros(out, (4 - (out->size - start) % 4) % 4);
    if (!out->failed) {
        store_le16(out->data + start, (uint16_t)(out->size - start));
        store_le16(out->data + start + 2, message->is_ansi ? 0 : 1);
    }
}

static bool begins_block(const struct pe_put_message *messages, size_t i)
{
    return i == 0 || messages[i].id != messages[i - 1].id + 1;
}

void pe_put_messages(struct buf *out, const struct pe_put_message *messages, size_t count)
{
    size_t start = out->size;
    size_t blocks = 0;
    for (size_t i = 0; i < count; i++) {
        blocks += begins_block(messages, i) ? 1 : 0;
    }
    etl_put_u32(out, (uint32_t)blocks);
    size_t block = out->size - 12;
    etl_put_zeros(out, blocks * 12);
    for (size_t i = 0; i < count; i++) {
        if (begins_block(messages, i)) {
            block += 12;
            set_u32(out, block, messages[i].id);
            set_u32(out, block + 8, out->size - start);
        }
        set_u32(out, block + 4, messages[i].id);
        put_message(out, &messages[i]);
    }
}
