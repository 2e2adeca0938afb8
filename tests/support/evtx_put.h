#ifndef ETWSHIP_TESTS_SUPPORT_EVTX_PUT_H
#define ETWSHIP_TESTS_SUPPORT_EVTX_PUT_H

#include "base/span.h"

/*
 * Writes event logs (.evtx), token by token, as Windows does: names and templates are at the place
 * of their first use in a chunk, and later uses have their offset. Equal calls give equal bytes.
 */
enum {
    EVTX_PUT_FILE_HEADER_BYTES = 4096,
    EVTX_PUT_CHUNK_BYTES = 65536,
    EVTX_PUT_CHUNK_HEADER_BYTES = 512,
    EVTX_PUT_RECORD_HEAD_BYTES = 24,

    EVTX_PUT_MAX_CHUNKS = 4,
    EVTX_PUT_MAX_NAMES = 64,
    EVTX_PUT_MAX_TEMPLATES = 16,
    EVTX_PUT_MAX_DEPTH = 32,
};

/* Types of values ([MS-EVEN6] 2.2.12, libevtx). */
enum evtx_put_type {
    EVTX_PUT_NULL = 0x00,
    EVTX_PUT_TEXT16 = 0x01,
    EVTX_PUT_UINT8 = 0x04,
    EVTX_PUT_INT16 = 0x05,
    EVTX_PUT_UINT16 = 0x06,
    EVTX_PUT_UINT32 = 0x08,
    EVTX_PUT_UINT64 = 0x0a,
    EVTX_PUT_BOOL = 0x0d,
    EVTX_PUT_BINARY = 0x0e,
    EVTX_PUT_GUID = 0x0f,
    EVTX_PUT_FILETIME = 0x11,
    EVTX_PUT_SID = 0x13,
    EVTX_PUT_HEX64 = 0x15,
    EVTX_PUT_BINARY_XML = 0x21,
    EVTX_PUT_ARRAY = 0x80, /* of one of these */
};

struct evtx_put {
    uint8_t bytes[EVTX_PUT_FILE_HEADER_BYTES + EVTX_PUT_MAX_CHUNKS * EVTX_PUT_CHUNK_BYTES];
    size_t size;
    size_t chunk;  /* offset of the current chunk */
    size_t at;     /* offset of the next byte */
    size_t record; /* offset of the current record */
    uint64_t first_id;
    uint64_t last_id;
    const char *names[EVTX_PUT_MAX_NAMES];
    uint32_t name_offsets[EVTX_PUT_MAX_NAMES];
    size_t name_count;
    int templates[EVTX_PUT_MAX_TEMPLATES];
    uint32_t template_offsets[EVTX_PUT_MAX_TEMPLATES];
    size_t template_count;
    size_t definition; /* offset of the size of the template that is being defined; 0: none is */
    size_t sizes[EVTX_PUT_MAX_DEPTH];
    size_t attributes[EVTX_PUT_MAX_DEPTH];
    unsigned depth;
};

void evtx_put_begin(struct evtx_put *put);
void evtx_put_chunk(struct evtx_put *put);  /* end the chunk, begin the next */
void evtx_put_finish(struct evtx_put *put); /* end the chunk and the file */

/* Make the bytes so far the content of an open log. More records may follow. */
void evtx_put_pause(struct evtx_put *put);

/* Give all chunks of the finished file their checksums. */
void evtx_put_sums(struct evtx_put *put);

void evtx_put_record(struct evtx_put *put, uint64_t id, uint64_t time);
void evtx_put_record_end(struct evtx_put *put);

/* Tokens. */
void evtx_put_fragment(struct evtx_put *put);
void evtx_put_open(struct evtx_put *put, const char *name, bool has_attributes);
void evtx_put_attribute(struct evtx_put *put, const char *name);
void evtx_put_close_start(struct evtx_put *put);
void evtx_put_close_empty(struct evtx_put *put);
void evtx_put_end_element(struct evtx_put *put);
void evtx_put_text(struct evtx_put *put, const char *text);
void evtx_put_value_of(struct evtx_put *put, uint16_t index, uint8_t type);
void evtx_put_end(struct evtx_put *put);

/* An element without attributes that holds a value of the template; with ${name}, <Data Name=…>. */
void evtx_put_element_of(struct evtx_put *put, const char *element, uint16_t index);
void evtx_put_data_of(struct evtx_put *put, const char *name, uint16_t index);

/* An instance of template ${id}. True: it is new in this chunk, and its definition follows, to
 * evtx_put_template_end. Then the values. */
bool evtx_put_template(struct evtx_put *put, int id);
void evtx_put_template_end(struct evtx_put *put);

struct evtx_put_value {
    uint8_t type;
    const void *data;
    uint16_t size;
};

void evtx_put_values(struct evtx_put *put, const struct evtx_put_value *values, size_t count);

/* A value: ASCII as UTF-16 in ${memory}, without NUL; a number. */
struct evtx_put_value evtx_put_text16(const char *text, uint8_t *memory);
struct evtx_put_value evtx_put_number(
    uint8_t type, uint64_t number, uint8_t size, uint8_t memory[8]);

/* Any bytes. */
void evtx_put_bytes(struct evtx_put *put, const void *bytes, size_t size);

#endif
