#ifndef ETWSHIP_TESTS_UNIT_ETW_ETW_CONTROL_RIG_H
#define ETWSHIP_TESTS_UNIT_ETW_ETW_CONTROL_RIG_H

#include "etw/session/etw_control.h"
#include "etw_fake.h"

/* Offsets are those of EVENT_TRACE_PROPERTIES_V2 in the Windows SDK, written as numbers. */

enum {
    BLOCK_BYTES = 144 + 2048 + 2048,
    START_BYTES = BLOCK_BYTES + 1280, /* with room for an extension */
    NAME_AT = 144,
    FILE_AT = 144 + 2048,
};

static const struct guid our_guid = {
    {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 1}};

static inline struct etw_session_spec whole_spec(void)
{
    return (struct etw_session_spec){
        .name = "etwship-a",
        .guid = our_guid,
        .clock = 2,
        .buffer_kb = 256,
        .min_buffers = 64,
        .max_buffers = 128,
        .flush_ms = 1500,
        .flush_threshold = 9,
        .mode = 0x08400109,
        .enable_flags = 0x00010003,
        .file = "C:\\t\\a%d.etl",
        .max_file_size = 200,
        .v2_options = 10,
    };
}

static inline void assert_u32(const uint8_t *block, size_t offset, uint32_t expected)
{
    assert_int_equal(load_le32(block + offset), expected);
}

static inline void assert_utf16(const uint8_t *p, const char *expected)
{
    for (size_t i = 0; i <= strlen(expected); i++) {
        assert_int_equal(load_le16(p + 2 * i), (uint8_t)expected[i]);
    }
}

static inline void put_text(uint8_t *block, size_t offset, const char *text)
{
    for (size_t i = 0; i <= strlen(text); i++) {
        store_le16(block + offset + 2 * i, (uint8_t)text[i]);
    }
}

static inline uint32_t tell(const struct fake_call *call, void *block)
{
    uint8_t *b = block;
    (void)call;
    store_le64(b + 8, 0x7f0000000021);
    memcpy(b + 24, our_guid.bytes, 16);
    store_le32(b + 40, 1);
    for (uint32_t i = 48; i < 104; i += 4) {
        store_le32(b + i, 1000 + i);
    }
    store_le32(b + 64, 0x08000110);
    store_le64(b + 136, 4);
    put_text(b, load_le32(b + 116), "EtwShip-A");
    put_text(b, load_le32(b + 112), "C:\\a.etl");
    return 0;
}

static inline uint32_t deny(const struct fake_call *call, void *block)
{
    (void)call;
    (void)block;
    return ETW_ERROR_ACCESS_DENIED;
}

#endif
