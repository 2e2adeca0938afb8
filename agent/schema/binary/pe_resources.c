#include "schema/binary/pe_resources.h"

#include <stdlib.h>

#include "base/reader.h"

/*
 * The resource directory is a tree by type, name and language, then data. A hostile file chooses
 * all offsets. The depth is fixed here, which ends loops. The number of entries is limited over the
 * whole tree, which ends shared branches.
 */
enum {
    DOS_BYTES = 64,
    DOS_NEW_HEADER = 60, /* e_lfanew */
    COFF_BYTES = 24,     /* including the signature */
    SECTION_BYTES = 40,
    MAX_SECTIONS = 2048,
    MAGIC_PE32 = 0x10b,
    MAGIC_PE32_PLUS = 0x20b,
    DIRECTORY_RESOURCES = 2,
    NODE_BYTES = 16,
    ENTRY_BYTES = 8,
    DATA_BYTES = 16,
    MAX_ENTRIES = 65536,
    TYPE_MESSAGE_TABLE = 11, /* RT_MESSAGETABLE */
};

static const uint32_t high_bit = 0x80000000u;

struct section {
    uint32_t address;
    uint32_t file_offset;
    uint32_t file_size;
};

struct finder {
    const struct pe_input *input;
    struct section *sections;
    size_t section_count;
    uint32_t tree; /* address of the directory; offsets in the tree are relative to it */
    size_t entries;
    struct pe_resources *resources;
    struct error *err;
};

static bool read_exactly(struct finder *f, uint64_t offset, void *data, size_t size)
{
    size_t got = 0;
    if (!f->input->read(f->input->self, offset, data, size, &got, f->err)) {
        return false;
    }
    return got == size ||
           error_set(f->err, ERR_FORMAT, "the file ends before byte %llu that its headers point to",
               (unsigned long long)offset + size);
}

/* ---- headers --------------------------------------------------------------------------------- */

/* Address of the resource directory, 0 if there is none. */
static uint32_t read_optional_header(struct span bytes)
{
    struct reader r = reader_make(bytes);
    uint16_t magic = reader_u16(&r);
    if (magic != MAGIC_PE32 && magic != MAGIC_PE32_PLUS) {
        return 0;
    }
    reader_skip(&r, magic == MAGIC_PE32 ? 90 : 106);
    uint32_t directories = reader_u32(&r);
    reader_skip(&r, DIRECTORY_RESOURCES * 8);
    uint32_t address = reader_u32(&r);
    return r.failed || directories <= DIRECTORY_RESOURCES ? 0 : address;
}

static bool read_sections(struct finder *f, uint64_t offset, size_t count)
{
    uint8_t *bytes = malloc(count * SECTION_BYTES);
    f->sections = malloc(count * sizeof(*f->sections));
    bool ok = bytes && f->sections;
    if (!ok) {
        error_set(f->err, ERR_MEMORY, "no memory for the headers of a program file");
    }
    ok = ok && read_exactly(f, offset, bytes, count * SECTION_BYTES);
    for (size_t i = 0; ok && i < count; i++) {
        struct reader r = reader_make(span_make(bytes + i * SECTION_BYTES + 12, 12));
        struct section *section = &f->sections[i];
        section->address = reader_u32(&r);
        section->file_size = reader_u32(&r);
        section->file_offset = reader_u32(&r);
    }
    free(bytes);
    f->section_count = ok ? count : 0;
    return ok;
}

/* Returns true with `tree` 0 if there is nothing to read. */
static bool read_headers(struct finder *f)
{
    uint8_t dos[DOS_BYTES];
    uint8_t coff[COFF_BYTES];
    uint8_t optional[256];
    size_t got = 0;
    const struct pe_input *in = f->input;
    if (!in->read(in->self, 0, dos, sizeof(dos), &got, f->err)) {
        return false;
    }
    if (got < sizeof(dos) || memcmp(dos, "MZ", 2) != 0) {
        return true;
    }
    uint64_t at = load_le32(dos + DOS_NEW_HEADER);
    if (!in->read(in->self, at, coff, sizeof(coff), &got, f->err)) {
        return false;
    }
    if (got < sizeof(coff) || memcmp(coff, "PE\0\0", 4) != 0) {
        return true; /* a program of MS-DOS or 16-bit Windows */
    }
    f->resources->is_program = true;
    size_t section_count = load_le16(coff + 6);
    size_t optional_size = load_le16(coff + 20);
    at += COFF_BYTES;
    size_t wanted = optional_size < sizeof(optional) ? optional_size : sizeof(optional);
    if (!read_exactly(f, at, optional, wanted)) {
        return false;
    }
    f->tree = read_optional_header(span_make(optional, wanted));
    if (f->tree == 0 || section_count == 0) {
        f->tree = 0;
        return true;
    }
    if (section_count > MAX_SECTIONS) {
        return error_set(f->err, ERR_LIMIT, "more than %d sections", MAX_SECTIONS);
    }
    return read_sections(f, at + optional_size, section_count);
}

/* File offset of ${size} bytes at ${address}; false if no section contains all of them. */
static bool locate(const struct finder *f, uint64_t address, uint64_t size, uint64_t *ret_offset)
{
    for (size_t i = 0; i < f->section_count; i++) {
        const struct section *section = &f->sections[i];
        if (address >= section->address &&
            address + size <= (uint64_t)section->address + section->file_size) {
            *ret_offset = section->file_offset + (address - section->address);
            return true;
        }
    }
    return error_set(f->err, ERR_FORMAT,
        "its resources at address 0x%llx lie outside the sections of the file",
        (unsigned long long)address);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static bool read_tree(struct finder *f, uint32_t at, void *data, size_t size)
{
    uint64_t offset = 0;
    return locate(f, (uint64_t)f->tree + at, size, &offset) && read_exactly(f, offset, data, size);
}

/* Read a node and its entries, which the caller frees. */
static bool read_node(struct finder *f, uint32_t at, uint8_t **ret_entries, size_t *ret_count)
{
    uint8_t node[NODE_BYTES];
    *ret_entries = NULL;
    if (!read_tree(f, at, node, sizeof(node))) {
        return false;
    }
    size_t count = (size_t)load_le16(node + 12) + load_le16(node + 14);
    f->entries += count;
    if (f->entries > MAX_ENTRIES) {
        return error_set(f->err, ERR_LIMIT, "it has more than %d resources", MAX_ENTRIES);
    }
    *ret_count = count;
    if (count == 0) {
        return true;
    }
    *ret_entries = malloc(count * ENTRY_BYTES);
    if (!*ret_entries) {
        return error_set(f->err, ERR_MEMORY, "no memory for a directory of resources");
    }
    return read_tree(f, at + NODE_BYTES, *ret_entries, count * ENTRY_BYTES);
}

static bool add_data(struct finder *f, uint32_t at, enum pe_resource_type type, uint32_t language)
{
    uint8_t data[DATA_BYTES];
    struct pe_resources *to = f->resources;
    if (to->count == PE_MAX_RESOURCES) {
        return error_set(f->err, ERR_LIMIT, "it has more than %d message tables", PE_MAX_RESOURCES);
    }
    if (!read_tree(f, at, data, sizeof(data))) {
        return false;
    }
    struct pe_resource *resource = &to->list[to->count];
    resource->type = type;
    resource->language = (uint16_t)language;
    resource->size = load_le32(data + 4);
    if (!locate(f, load_le32(data), resource->size, &resource->offset)) {
        return false;
    }
    to->count++;
    return true;
}

/* Collect the resources of one type; ${below}: levels of nodes between this one and the data. */
static bool walk(struct finder *f, uint32_t at, enum pe_resource_type type, unsigned below)
{
    uint8_t *entries;
    size_t count = 0;
    bool ok = read_node(f, at, &entries, &count);
    for (size_t i = 0; ok && i < count; i++) {
        uint32_t name = load_le32(entries + i * ENTRY_BYTES);
        uint32_t target = load_le32(entries + i * ENTRY_BYTES + 4);
        if (!(target & high_bit) != (below == 0)) {
            ok = error_set(f->err, ERR_FORMAT,
                "its resource tree does not have the three levels type, name and language");
        } else {
            ok = below == 0 ? add_data(f, target, type, name)
                            : walk(f, target & ~high_bit, type, below - 1);
        }
    }
    free(entries);
    return ok;
}

static bool is_wevt_template(struct finder *f, uint32_t name, bool *ret_is)
{
    static const char wanted[] = "WEVT_TEMPLATE";
    enum { UNITS = sizeof(wanted) - 1 };
    uint8_t text[2 + 2 * UNITS];
    *ret_is = false;
    if (!read_tree(f, name & ~high_bit, text, 2)) {
        return false;
    }
    if (load_le16(text) != UNITS) {
        return true;
    }
    if (!read_tree(f, name & ~high_bit, text, sizeof(text))) {
        return false;
    }
    *ret_is = true;
    for (size_t i = 0; i < UNITS; i++) {
        *ret_is &= load_le16(text + 2 + 2 * i) == (uint8_t)wanted[i];
    }
    return true;
}

static bool walk_types(struct finder *f)
{
    uint8_t *entries;
    size_t count = 0;
    bool ok = read_node(f, 0, &entries, &count);
    for (size_t i = 0; ok && i < count; i++) {
        uint32_t name = load_le32(entries + i * ENTRY_BYTES);
        uint32_t target = load_le32(entries + i * ENTRY_BYTES + 4);
        bool is_template = false;
        if (name & high_bit) {
            ok = is_wevt_template(f, name, &is_template);
        }
        if (ok && (is_template || name == TYPE_MESSAGE_TABLE)) {
            ok = (target & high_bit)
                     ? walk(f, target & ~high_bit,
                           is_template ? PE_WEVT_TEMPLATE : PE_MESSAGE_TABLE, 1)
                     : error_set(f->err, ERR_FORMAT, "a type of its resources has no names");
        }
    }
    free(entries);
    return ok;
}

bool pe_resources_find(
    const struct pe_input *input, struct pe_resources *ret_resources, struct error *err)
{
    struct finder f = {.input = input, .resources = ret_resources, .err = err};
    ret_resources->is_program = false;
    ret_resources->count = 0;
    bool ok = read_headers(&f) && (f.tree == 0 || walk_types(&f));
    free(f.sections);
    return ok;
}
