#include "support/test.h"

#include <stdlib.h>

#include "trust/reparse.h"

enum { SYMLINK = (int)0xa000000c, MOUNT_POINT = (int)0xa0000003, RELATIVE = 1, MAX_BYTES = 512 };

static void put16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

/* A REPARSE_DATA_BUFFER with the layout of [MS-FSCC] 2.1.2.4 and 2.1.2.5: the name to show comes
 * before the other. */
static size_t make_link(uint8_t out[MAX_BYTES], uint32_t tag, const char *target, uint32_t flags)
{
    static const char shown[] = "xy";
    size_t names = tag == (uint32_t)SYMLINK ? 20 : 16;
    size_t size = strlen(target) * 2;
    memset(out, 0, MAX_BYTES);
    put16(out, tag & 0xffff);
    put16(out + 2, tag >> 16);
    put16(out + 4, names - 8 + 4 + size);
    put16(out + 8, 4);
    put16(out + 10, size);
    put16(out + 14, 4);
    if (tag == (uint32_t)SYMLINK) {
        put16(out + 16, flags);
    }
    for (size_t i = 0; i < 2; i++) {
        put16(out + names + i * 2, (uint8_t)shown[i]);
    }
    for (size_t i = 0; target[i]; i++) {
        put16(out + names + 4 + i * 2, (uint8_t)target[i]);
    }
    return names + 4 + size;
}

/* Relative, in Windows' form. */
static size_t make(uint8_t out[MAX_BYTES], uint32_t tag, const char *target)
{
    return make_link(out, tag, target, strncmp(target, "\\??\\", 4) == 0 ? 0 : RELATIVE);
}

/* In memory of the exact size, so that a sanitizer sees a read beyond it. */
static enum reparse_kind read(const uint8_t *bytes, size_t size, char text[MAX_BYTES])
{
    struct buf target;
    uint8_t *exact = malloc(size + 1);
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    buf_init(&target, MAX_BYTES);
    enum reparse_kind kind = reparse_read(span_make(exact, size), &target);
    memcpy(text, target.data ? target.data : (const uint8_t *)"", target.size);
    text[target.size] = 0;
    buf_fini(&target);
    free(exact);
    return kind;
}

static void links_lead_where_their_data_says(void **state)
{
    (void)state;
    static const struct {
        int tag;
        const char *target;
        const char *text;
    } cases[] = {
        {SYMLINK, "\\??\\C:\\a\\b", "C:\\a\\b"},
        {SYMLINK, "\\??\\UNC\\host\\share\\x", "\\\\host\\share\\x"},
        {SYMLINK, "..\\b", "..\\b"},
        {SYMLINK, "\\b", "\\b"},
        {MOUNT_POINT, "\\??\\D:\\data", "D:\\data"},
        {MOUNT_POINT, "\\??\\Volume{01234567-89ab-cdef-0123-456789abcdef}\\",
            "\\\\?\\Volume{01234567-89ab-cdef-0123-456789abcdef}\\"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[MAX_BYTES];
        char text[MAX_BYTES];
        size_t size = make(bytes, (uint32_t)cases[i].tag, cases[i].target);
        assert_int_equal(read(bytes, size, text), REPARSE_LINK);
        assert_string_equal(text, cases[i].text);
        for (size_t cut = 0; cut < size; cut++) {
            assert_int_equal(read(bytes, cut, text), REPARSE_UNKNOWN);
        }
    }
}

static void other_points_are_no_links_or_unknown_ones(void **state)
{
    (void)state;
    static const struct {
        uint32_t tag;
        enum reparse_kind kind;
    } cases[] = {
        {0x80000013, REPARSE_PLAIN},   /* deduplicated */
        {0x9000001a, REPARSE_PLAIN},   /* in a cloud */
        {0x80000017, REPARSE_PLAIN},   /* compressed by WOF */
        {0xa0000019, REPARSE_UNKNOWN}, /* GLOBAL_REPARSE */
        {0xa000001d, REPARSE_UNKNOWN}, /* a link of WSL */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[MAX_BYTES];
        char text[MAX_BYTES];
        size_t size = make(bytes, cases[i].tag, "\\??\\C:\\a");
        assert_int_equal(read(bytes, size, text), cases[i].kind);
        assert_string_equal(text, "");
    }
}

/* Targets that the kernel would accept or refuse; none can be followed as a path. */
static void targets_that_are_no_paths_are_unknown(void **state)
{
    (void)state;
    static const struct {
        int tag;
        uint32_t flags;
        const char *target;
    } cases[] = {
        {SYMLINK, 0, "\\??\\GLOBALROOT\\Device\\HarddiskVolume1\\x"},
        {SYMLINK, 0, "\\??\\PIPE\\x"},
        {SYMLINK, 0, "\\??\\C:x"},
        {SYMLINK, 0, "\\??\\C"},
        {SYMLINK, 0, "\\??\\"},
        {SYMLINK, 0, "\\??\\UNC"},
        {SYMLINK, 0, "\\??\\\\x"},
        {SYMLINK, 0, "\\Device\\HarddiskVolume1\\x"},
        {SYMLINK, 0, "\\DosDevices\\C:\\x"},
        {SYMLINK, 0, "C:\\x"},
        {SYMLINK, 0, "..\\x"},
        {SYMLINK, RELATIVE, "\\??\\C:\\x"},
        {SYMLINK, RELATIVE, "C:\\x"},
        {SYMLINK, RELATIVE, "\\\\host\\share"},
        {MOUNT_POINT, 0, "\\Device\\HarddiskVolume1\\"},
        {MOUNT_POINT, 0, "..\\x"},
        {MOUNT_POINT, 0, "\\??\\GLOBALROOT\\x"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[MAX_BYTES];
        char text[MAX_BYTES];
        size_t size = make_link(bytes, (uint32_t)cases[i].tag, cases[i].target, cases[i].flags);
        assert_int_equal(read(bytes, size, text), REPARSE_UNKNOWN);
    }
}

static void broken_data_is_unknown(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        size_t value;
    } cases[] = {{4, 0}, {4, 0xffff}, {8, 0xffff}, {10, 0xffff}, {10, 0}, {10, 3}, {24, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[MAX_BYTES];
        char text[MAX_BYTES];
        size_t size = make(bytes, (uint32_t)SYMLINK, "..\\b");
        put16(bytes + cases[i].at, cases[i].value);
        assert_int_equal(read(bytes, size, text), REPARSE_UNKNOWN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_lead_where_their_data_says),
        cmocka_unit_test(other_points_are_no_links_or_unknown_ones),
        cmocka_unit_test(targets_that_are_no_paths_are_unknown),
        cmocka_unit_test(broken_data_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
