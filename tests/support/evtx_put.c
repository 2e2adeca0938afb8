#include "support/evtx_put.h"

#include <string.h>

#include "base/bytes.h"

/* Offsets of header members that readers need not look at (libevtx, "Windows XML Event Log
 * format"). */
enum {
    EVTX_PUT_RECORD_TAIL_BYTES = 4,
    EVTX_PUT_RECORD_MAGIC = 0x2a2a,
    EVTX_PUT_CHUNK_FIRST_NUMBER_AT = 8,
    EVTX_PUT_CHUNK_FREE_AT = 48,
    EVTX_PUT_FILE_HEADER_SIZE_AT = 40,
    FILE_LAST_CHUNK = 16,
    FILE_NEXT_ID = 24,
    FILE_HEADER_SIZE = 32,
    FILE_MINOR = 36,
    FILE_MAJOR = 38,
    FILE_CHUNKS = 42,
    FILE_FLAGS = 120,
    CHUNK_LAST_NUMBER = 16,
    CHUNK_FIRST_ID = 24,
    CHUNK_LAST_ID = 32,
    CHUNK_HEADER_SIZE = 40,
    CHUNK_LAST_RECORD = 44,
    CHUNK_RECORDS_CRC = 52,
    CHUNK_FLAGS = 120,
    CHUNK_HEADER_CRC = 124,
    HEADER_BYTES = 128,
};

#define EVTX_PUT_FILE_MAGIC "ElfFile"
#define EVTX_PUT_CHUNK_MAGIC "ElfChnk"

/* Tokens. */
enum {
    EVTX_PUT_TOKEN_END = 0x00,
    EVTX_PUT_TOKEN_OPEN_ELEMENT = 0x01,
    EVTX_PUT_TOKEN_CLOSE_START = 0x02,
    EVTX_PUT_TOKEN_CLOSE_EMPTY = 0x03,
    EVTX_PUT_TOKEN_END_ELEMENT = 0x04,
    EVTX_PUT_TOKEN_VALUE = 0x05,
    EVTX_PUT_TOKEN_ATTRIBUTE = 0x06,
    EVTX_PUT_TOKEN_TEMPLATE = 0x0c,
    EVTX_PUT_TOKEN_OPTIONAL_VALUE_OF = 0x0e,
    EVTX_PUT_TOKEN_FRAGMENT = 0x0f,
    EVTX_PUT_TOKEN_MORE = 0x40,
};

static uint32_t in_chunk(const struct evtx_put *put)
{
    return (uint32_t)(put->at - put->chunk);
}

void evtx_put_bytes(struct evtx_put *put, const void *bytes, size_t size)
{
    memcpy(put->bytes + put->at, bytes, size);
    put->at += size;
}

static void put_u8(struct evtx_put *put, uint8_t value)
{
    evtx_put_bytes(put, &value, 1);
}

static void put_u16(struct evtx_put *put, uint16_t value)
{
    store_le16(put->bytes + put->at, value);
    put->at += 2;
}

static void put_u32(struct evtx_put *put, uint32_t value)
{
    store_le32(put->bytes + put->at, value);
    put->at += 4;
}

static void put_utf16(struct evtx_put *put, const char *text)
{
    for (; *text; text++) {
        put_u16(put, (uint8_t)*text);
    }
}

/* ---- file and chunks ------------------------------------------------------------------------- */

static void begin_chunk(struct evtx_put *put)
{
    put->chunk = put->size;
    put->size += EVTX_PUT_CHUNK_BYTES;
    put->at = put->chunk + EVTX_PUT_CHUNK_HEADER_BYTES;
    put->first_id = 0;
    put->name_count = 0;
    put->template_count = 0;
    memcpy(put->bytes + put->chunk, EVTX_PUT_CHUNK_MAGIC, sizeof(EVTX_PUT_CHUNK_MAGIC));
}

static void end_chunk(struct evtx_put *put)
{
    uint8_t *head = put->bytes + put->chunk;
    store_le64(head + EVTX_PUT_CHUNK_FIRST_NUMBER_AT, put->first_id);
    store_le64(head + CHUNK_LAST_NUMBER, put->last_id);
    store_le64(head + CHUNK_FIRST_ID, put->first_id);
    store_le64(head + CHUNK_LAST_ID, put->last_id);
    store_le32(head + CHUNK_HEADER_SIZE, HEADER_BYTES);
    store_le32(head + CHUNK_LAST_RECORD, (uint32_t)(put->record - put->chunk));
    store_le32(head + EVTX_PUT_CHUNK_FREE_AT, in_chunk(put));
}

void evtx_put_begin(struct evtx_put *put)
{
    memset(put, 0, sizeof(*put));
    memcpy(put->bytes, EVTX_PUT_FILE_MAGIC, sizeof(EVTX_PUT_FILE_MAGIC));
    put->size = EVTX_PUT_FILE_HEADER_BYTES;
    begin_chunk(put);
}

void evtx_put_chunk(struct evtx_put *put)
{
    end_chunk(put);
    begin_chunk(put);
}

void evtx_put_finish(struct evtx_put *put)
{
    size_t chunks = (put->size - EVTX_PUT_FILE_HEADER_BYTES) / EVTX_PUT_CHUNK_BYTES;
    end_chunk(put);
    put->bytes[FILE_FLAGS] = 0;
    store_le64(put->bytes + FILE_LAST_CHUNK, chunks - 1);
    store_le64(put->bytes + FILE_NEXT_ID, put->last_id + 1);
    store_le32(put->bytes + FILE_HEADER_SIZE, HEADER_BYTES);
    store_le16(put->bytes + FILE_MINOR, 1);
    store_le16(put->bytes + FILE_MAJOR, 3);
    store_le16(put->bytes + EVTX_PUT_FILE_HEADER_SIZE_AT, EVTX_PUT_FILE_HEADER_BYTES);
    store_le16(put->bytes + FILE_CHUNKS, (uint16_t)chunks);
}

void evtx_put_pause(struct evtx_put *put)
{
    enum { DIRTY = 1 };
    end_chunk(put);
    put->bytes[FILE_FLAGS] = DIRTY;
}

/* CRC-32 of IEEE 802.3 (ISO-HDLC), bit by bit. */
static uint32_t add_crc(uint32_t crc, const uint8_t *bytes, size_t size)
{
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ UINT32_C(0xedb88320) : crc >> 1;
        }
    }
    return ~crc;
}

void evtx_put_sums(struct evtx_put *put)
{
    for (size_t at = EVTX_PUT_FILE_HEADER_BYTES; at < put->size; at += EVTX_PUT_CHUNK_BYTES) {
        uint8_t *chunk = put->bytes + at;
        size_t end = load_le32(chunk + EVTX_PUT_CHUNK_FREE_AT);
        store_le32(chunk + CHUNK_RECORDS_CRC,
            add_crc(0, chunk + EVTX_PUT_CHUNK_HEADER_BYTES, end - EVTX_PUT_CHUNK_HEADER_BYTES));
        uint32_t crc = add_crc(0, chunk, CHUNK_FLAGS);
        store_le32(chunk + CHUNK_HEADER_CRC,
            add_crc(crc, chunk + HEADER_BYTES, EVTX_PUT_CHUNK_HEADER_BYTES - HEADER_BYTES));
    }
}

/* ---- records --------------------------------------------------------------------------------- */

void evtx_put_record(struct evtx_put *put, uint64_t id, uint64_t time)
{
    uint8_t head[EVTX_PUT_RECORD_HEAD_BYTES] = {0};
    put->record = put->at;
    put->first_id = put->first_id ? put->first_id : id;
    put->last_id = id;
    store_le32(head, EVTX_PUT_RECORD_MAGIC);
    store_le64(head + 8, id);
    store_le64(head + 16, time);
    evtx_put_bytes(put, head, sizeof(head));
}

void evtx_put_record_end(struct evtx_put *put)
{
    while ((put->at - put->record) % 8 != 4) {
        put_u8(put, 0);
    }
    uint32_t size = (uint32_t)(put->at + EVTX_PUT_RECORD_TAIL_BYTES - put->record);
    put_u32(put, size);
    store_le32(put->bytes + put->record + 4, size);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* The lower half of a hash with the factor 65599 (libevtx). */
static uint16_t hash_of(const char *name)
{
    uint32_t hash = 0;
    for (; *name; name++) {
        hash = hash * 65599 + (uint8_t)*name;
    }
    return (uint16_t)hash;
}

static void put_name(struct evtx_put *put, const char *name)
{
    enum { NEXT_BYTES = 4 };
    for (size_t i = 0; i < put->name_count; i++) {
        if (strcmp(put->names[i], name) == 0) {
            put_u32(put, put->name_offsets[i]);
            return;
        }
    }
    put_u32(put, in_chunk(put) + 4);
    put->names[put->name_count] = name;
    put->name_offsets[put->name_count++] = in_chunk(put);
    put->at += NEXT_BYTES;
    put_u16(put, hash_of(name));
    put_u16(put, (uint16_t)strlen(name));
    put_utf16(put, name);
    put_u16(put, 0);
}

void evtx_put_fragment(struct evtx_put *put)
{
    static const uint8_t token[] = {EVTX_PUT_TOKEN_FRAGMENT, 1, 1, 0};
    evtx_put_bytes(put, token, sizeof(token));
}

void evtx_put_open(struct evtx_put *put, const char *name, bool has_attributes)
{
    put_u8(put, has_attributes ? EVTX_PUT_TOKEN_OPEN_ELEMENT | EVTX_PUT_TOKEN_MORE
                               : EVTX_PUT_TOKEN_OPEN_ELEMENT);
    if (put->definition) {
        put_u16(put, 0xffff); /* depends on no value */
    }
    put->sizes[put->depth] = put->at;
    put_u32(put, 0);
    put_name(put, name);
    put->attributes[put->depth++] = has_attributes ? put->at : 0;
    if (has_attributes) {
        put_u32(put, 0);
    }
}

void evtx_put_attribute(struct evtx_put *put, const char *name)
{
    put_u8(put, EVTX_PUT_TOKEN_ATTRIBUTE);
    put_name(put, name);
}

static void end_attributes(struct evtx_put *put)
{
    size_t size_at = put->attributes[put->depth - 1];
    if (size_at) {
        store_le32(put->bytes + size_at, (uint32_t)(put->at - size_at - 4));
    }
}

static void end_element(struct evtx_put *put)
{
    size_t size_at = put->sizes[--put->depth];
    store_le32(put->bytes + size_at, (uint32_t)(put->at - size_at - 4));
}

void evtx_put_close_start(struct evtx_put *put)
{
    end_attributes(put);
    put_u8(put, EVTX_PUT_TOKEN_CLOSE_START);
}

void evtx_put_close_empty(struct evtx_put *put)
{
    end_attributes(put);
    put_u8(put, EVTX_PUT_TOKEN_CLOSE_EMPTY);
    end_element(put);
}

void evtx_put_end_element(struct evtx_put *put)
{
    put_u8(put, EVTX_PUT_TOKEN_END_ELEMENT);
    end_element(put);
}

void evtx_put_text(struct evtx_put *put, const char *text)
{
    put_u8(put, EVTX_PUT_TOKEN_VALUE);
    put_u8(put, EVTX_PUT_TEXT16);
    put_u16(put, (uint16_t)strlen(text));
    put_utf16(put, text);
}

void evtx_put_value_of(struct evtx_put *put, uint16_t index, uint8_t type)
{
    put_u8(put, EVTX_PUT_TOKEN_OPTIONAL_VALUE_OF);
    put_u16(put, index);
    put_u8(put, type);
}

void evtx_put_end(struct evtx_put *put)
{
    put_u8(put, EVTX_PUT_TOKEN_END);
}

void evtx_put_element_of(struct evtx_put *put, const char *element, uint16_t index)
{
    evtx_put_open(put, element, false);
    evtx_put_close_start(put);
    evtx_put_value_of(put, index, EVTX_PUT_TEXT16);
    evtx_put_end_element(put);
}

void evtx_put_data_of(struct evtx_put *put, const char *name, uint16_t index)
{
    evtx_put_open(put, "Data", name != NULL);
    if (name) {
        evtx_put_attribute(put, "Name");
        evtx_put_text(put, name);
    }
    evtx_put_close_start(put);
    evtx_put_value_of(put, index, EVTX_PUT_TEXT16);
    evtx_put_end_element(put);
}

/* ---- templates ------------------------------------------------------------------------------- */

bool evtx_put_template(struct evtx_put *put, int id)
{
    put_u8(put, EVTX_PUT_TOKEN_TEMPLATE);
    put_u8(put, 1);
    put_u32(put, (uint32_t)id);
    for (size_t i = 0; i < put->template_count; i++) {
        if (put->templates[i] == id) {
            put_u32(put, put->template_offsets[i]);
            return false;
        }
    }
    put_u32(put, in_chunk(put) + 4);
    put->templates[put->template_count] = id;
    put->template_offsets[put->template_count++] = in_chunk(put);
    put_u32(put, 0); /* the next one of the table in the chunk's header */
    put_u32(put, (uint32_t)id);
    put->at += 12; /* the rest of the GUID */
    put->definition = put->at;
    put_u32(put, 0);
    evtx_put_fragment(put);
    return true;
}

void evtx_put_template_end(struct evtx_put *put)
{
    evtx_put_end(put);
    store_le32(put->bytes + put->definition, (uint32_t)(put->at - put->definition - 4));
    put->definition = 0;
}

void evtx_put_values(struct evtx_put *put, const struct evtx_put_value *values, size_t count)
{
    put_u32(put, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        put_u16(put, values[i].size);
        put_u8(put, values[i].type);
        put_u8(put, 0);
    }
    for (size_t i = 0; i < count; i++) {
        if (values[i].size) {
            evtx_put_bytes(put, values[i].data, values[i].size);
        }
    }
}

struct evtx_put_value evtx_put_text16(const char *text, uint8_t *memory)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        store_le16(memory + 2 * i, (uint8_t)text[i]);
    }
    return (struct evtx_put_value){EVTX_PUT_TEXT16, memory, (uint16_t)(2 * size)};
}

struct evtx_put_value evtx_put_number(
    uint8_t type, uint64_t number, uint8_t size, uint8_t memory[8])
{
    store_le64(memory, number);
    return (struct evtx_put_value){type, memory, size};
}
