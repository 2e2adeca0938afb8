#include "support/test.h"

#include <stdlib.h>

#include "store/disk/body.h"

enum { MOST = 100000 };

static void fill(uint8_t *bytes, size_t size, bool random)
{
    uint32_t x = 1;
    for (size_t i = 0; i < size; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = random ? (uint8_t)(x >> 24) : (uint8_t) "{\"id\":12345}"[i % 12];
    }
}

static void test_what_is_packed_is_unpacked(void **state)
{
    (void)state;
    struct body_packer *packer = body_packer_create(NULL);
    uint8_t *raw = malloc(MOST);
    uint8_t *out = malloc(MOST);
    assert_true(packer && raw && out);
    fill(raw, MOST, false);
    for (size_t size = 100; size <= MOST; size = size * 3 + 1) {
        struct span packed;
        assert_true(body_pack(packer, span_make(raw, size), &packed));
        assert_true(packed.size < size);
        assert_true(body_unpack(packed, out, size));
        assert_memory_equal(out, raw, size);
    }
    free(out);
    free(raw);
    body_packer_destroy(packer);
}

static void test_what_would_not_become_smaller_stays_as_it_is(void **state)
{
    (void)state;
    struct body_packer *packer = body_packer_create(NULL);
    uint8_t raw[1000];
    struct span packed;
    assert_non_null(packer);
    fill(raw, sizeof(raw), true);
    for (size_t size = 0; size < sizeof(raw); size += 37) {
        assert_false(body_pack(packer, span_make(raw, size), &packed));
    }
    body_packer_destroy(packer);
}

/* Whatever size it claims, nothing is written beyond the room that was made for it. */
static void test_what_is_not_of_the_size_that_was_said_is_refused(void **state)
{
    (void)state;
    struct body_packer *packer = body_packer_create(NULL);
    uint8_t raw[2000];
    uint8_t *packed = malloc(sizeof(raw));
    struct span whole;
    assert_true(packer && packed);
    fill(raw, sizeof(raw), false);
    assert_true(body_pack(packer, span_make(raw, sizeof(raw)), &whole));
    for (size_t size = sizeof(raw) - 3; size < sizeof(raw) + 3; size++) {
        uint8_t *out = malloc(size);
        assert_non_null(out);
        assert_int_equal(body_unpack(whole, out, size), size == sizeof(raw));
        free(out);
    }
    uint8_t *out = malloc(sizeof(raw));
    assert_non_null(out);
    assert_false(body_unpack(whole, out, 0));
    for (size_t size = 0; size < whole.size; size++) {
        uint8_t *part = malloc(size ? size : 1);
        assert_non_null(part);
        memcpy(part, whole.data, size);
        assert_false(body_unpack(span_make(part, size), out, sizeof(raw)));
        free(part);
    }
    for (size_t bit = 0; bit < 8 * whole.size; bit++) {
        memcpy(packed, whole.data, whole.size);
        packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        (void)body_unpack(span_make(packed, whole.size), out, sizeof(raw));
    }
    free(out);
    free(packed);
    body_packer_destroy(packer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_packed_is_unpacked),
        cmocka_unit_test(test_what_would_not_become_smaller_stays_as_it_is),
        cmocka_unit_test(test_what_is_not_of_the_size_that_was_said_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
