#include "support/test.h"

#include "base/crc32c.h"

enum { MOST = 300 };

static void fill(uint8_t *bytes, size_t size, uint32_t seed)
{
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

/* RFC 3720, appendix B.4: the bytes, and the bytes of the CRC in the RFC's order, which is the
 * order on the wire, the lowest first. */
static void test_the_examples_of_the_rfc(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0};
    uint8_t ones[32];
    uint8_t up[32];
    uint8_t down[32];
    memset(ones, 0xff, sizeof(ones));
    for (unsigned i = 0; i < 32; i++) {
        up[i] = (uint8_t)i;
        down[i] = (uint8_t)(31 - i);
    }
    static const uint8_t read10[48] = {0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x14,
        0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0,
        0, 0, 0, 0, 0};
    const struct {
        struct span bytes;
        uint32_t crc;
    } rows[] = {
        {span_make(zeros, 32), 0x8a9136aa},   /* aa 36 91 8a */
        {span_make(ones, 32), 0x62a8ab43},    /* 43 ab a8 62 */
        {span_make(up, 32), 0x46dd794e},      /* 4e 79 dd 46 */
        {span_make(down, 32), 0x113fdb5c},    /* 5c db 3f 11 */
        {span_make(read10, 48), 0xd9963a56},  /* 56 3a 96 d9 */
        {span_text("123456789"), 0xe3069283}, /* the usual check value of this CRC */
        {span_make(NULL, 0), 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(crc32c_add(0, rows[i].bytes), rows[i].crc);
        assert_int_equal(crc32c_add_plain(0, rows[i].bytes), rows[i].crc);
    }
}

static void test_both_ways_agree_at_every_length_and_place(void **state)
{
    (void)state;
    uint8_t bytes[MOST];
    fill(bytes, sizeof(bytes), 1);
    for (size_t at = 0; at < 9; at++) {
        for (size_t size = 0; at + size <= MOST; size++) {
            struct span s = span_make(bytes + at, size);
            assert_int_equal(crc32c_add(0, s), crc32c_add_plain(0, s));
        }
    }
}

/* Sizes at which blocks are computed side by side. */
static void test_both_ways_agree_on_long_texts(void **state)
{
    (void)state;
    enum { LONG = 20000 };
    static uint8_t bytes[LONG];
    fill(bytes, sizeof(bytes), 3);
    for (size_t size = 3000; size < LONG; size += 61) {
        struct span s = span_make(bytes + size % 13, size - size % 13);
        assert_int_equal(crc32c_add((uint32_t)size, s), crc32c_add_plain((uint32_t)size, s));
    }
}

static void test_the_parts_make_the_crc_of_the_whole(void **state)
{
    (void)state;
    uint8_t bytes[MOST];
    fill(bytes, sizeof(bytes), 2);
    uint32_t whole = crc32c_add_plain(0, span_make(bytes, MOST));
    for (size_t cut = 0; cut <= MOST; cut++) {
        uint32_t first = crc32c_add(0, span_make(bytes, cut));
        assert_int_equal(crc32c_add(first, span_make(bytes + cut, MOST - cut)), whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_examples_of_the_rfc),
        cmocka_unit_test(test_both_ways_agree_at_every_length_and_place),
        cmocka_unit_test(test_both_ways_agree_on_long_texts),
        cmocka_unit_test(test_the_parts_make_the_crc_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
