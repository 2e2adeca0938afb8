#include "support/test.h"

#include <stdio.h>

#include "base/bytes.h"
#include "input/bytes/packed.h"
#include "support/packed_put.h"

/* The result of a walk in one line: [name]bytes for each member, !offset for damage, ?reason for a
 * refusal. */
struct heard {
    struct buf text;
    size_t skip_after; /* bytes of each member; 0: all are wanted */
    size_t member_bytes;
    const char *unwanted; /* the member to which the answer is `instead` */
    enum packed_step instead;
    unsigned stop_after; /* questions; 0: never */
    unsigned asked;
    uint64_t bytes;
};

static struct heard heard;
static struct buf file;

static enum packed_step on_begin(void *self, struct span name)
{
    struct heard *h = self;
    buf_printf(&h->text, "[%.*s]", SPAN_ARG(name));
    h->member_bytes = 0;
    return h->unwanted && span_is(name, h->unwanted) ? h->instead : PACKED_GO_ON;
}

static enum packed_step on_bytes(void *self, struct span bytes)
{
    struct heard *h = self;
    h->bytes += bytes.size;
    h->member_bytes += bytes.size;
    if (bytes.size < 100) {
        buf_add_span(&h->text, bytes);
    }
    return h->skip_after && h->member_bytes >= h->skip_after ? PACKED_SKIP : PACKED_GO_ON;
}

static void on_end(void *self)
{
    struct heard *h = self;
    buf_add_byte(&h->text, ';');
}

static void on_damage(void *self, uint64_t offset, const char *what)
{
    struct heard *h = self;
    assert_true(*what);
    buf_printf(&h->text, "!%u", (unsigned)offset);
}

static void on_refuse(void *self, const char *why)
{
    struct heard *h = self;
    buf_printf(&h->text, "?%.*s", (int)strcspn(why, "."), why);
}

static bool on_stopped(void *self)
{
    struct heard *h = self;
    return h->stop_after && ++h->asked >= h->stop_after;
}

static bool walk(const struct packed_limits *limits, struct error *err)
{
    static const struct packed_visitor visitor = {.self = &heard,
        .begin = on_begin,
        .bytes = on_bytes,
        .end = on_end,
        .damage = on_damage,
        .refuse = on_refuse,
        .stopped = on_stopped};
    struct etl_bytes bytes;
    const char *name;
    buf_reset(&heard.text);
    heard.bytes = 0;
    heard.asked = 0;
    etl_bytes_use_memory(&bytes, buf_span(&file), "f");
    enum packed_kind kind = packed_kind_of(span_first(buf_span(&file), PACKED_HEAD_BYTES), &name);
    return packed_walk(&bytes, kind, limits ? limits : &packed_limits, &visitor, err);
}

static void assert_heard(const char *expected)
{
    struct error err;
    if (!walk(NULL, &err)) {
        fail_msg("%s", err.text);
    }
    assert_span(buf_span(&heard.text), expected);
}

static int setup(void **state)
{
    (void)state;
    heard = (struct heard){.bytes = 0};
    buf_init(&heard.text, 1 << 20);
    buf_init(&file, 1 << 24);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buf_fini(&heard.text);
    buf_fini(&file);
    return 0;
}

static bool has_archives(void)
{
    return packed_archive_version() != NULL;
}

static void kinds_are_known_by_their_first_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        size_t size;
        enum packed_kind kind;
        const char *name;
    } cases[] = {
        {"\x1f\x8b\x08\x00\x00\x00\x00\x00", 8, PACKED_GZIP, "gzip"},
        {"\x1f\x8b\x08", 3, PACKED_GZIP, "gzip"}, {"\x1f\x8b\x07", 3, PACKED_NONE, ""},
        {"\x1f\x8b", 2, PACKED_NONE, ""}, {"\x28\xb5\x2f\xfd", 4, PACKED_ZSTD, "zstd"},
        {"\x50\x2a\x4d\x18", 4, PACKED_ZSTD, "zstd"}, {"\x5f\x2a\x4d\x18", 4, PACKED_ZSTD, "zstd"},
        {"\x60\x2a\x4d\x18", 4, PACKED_NONE, ""}, {"PK\3\4", 4, PACKED_ZIP, "zip"},
        {"PK\5\6", 4, PACKED_ZIP, "zip"}, {"MSCF\0\0\0\0", 8, PACKED_CAB, "cab"},
        {"MSCF\0\0\0\1", 8, PACKED_NONE, ""}, {"\xfd\x37zXZ\0", 6, PACKED_OTHER, "xz"},
        {"7z\xbc\xaf\x27\x1c", 6, PACKED_OTHER, "7-Zip"}, {"BZh9", 4, PACKED_OTHER, "bzip2"},
        {"Rar!\x1a\7", 6, PACKED_OTHER, "RAR"}, {"", 0, PACKED_NONE, ""},
        {"\0\0\1\0\0\0\0\0", 8, PACKED_NONE, ""}, /* a buffer of 64 KB */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *name;
        assert_int_equal(
            packed_kind_of(span_make(cases[i].head, cases[i].size), &name), cases[i].kind);
        assert_string_equal(name, cases[i].name);
    }
}

static void names_of_packed_files_are_known(void **state)
{
    (void)state;
    static const char *const packed[] = {"a.etl.gz", "b/*.ZST", "c.zip", "c.cab", "x.etl.xz"};
    static const char *const plain[] = {"a.etl", "gz", "x.gz/a.etl", "*.zip.etl"};
    for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
        assert_true(packed_is_named(packed[i]));
    }
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        assert_false(packed_is_named(plain[i]));
    }
}

static void members_and_frames_follow_each_other(void **state)
{
    (void)state;
    packed_put_gzip(&file, span_text("one"));
    packed_put_gzip(&file, span_text(""));
    packed_put_gzip(&file, span_text("two"));
    assert_heard("[]onetwo");
    buf_add(&file, "\0\0\0\0\0", 5);
    assert_heard("[]onetwo");
    buf_add_text(&file, "x");
    assert_heard("[]onetwo!75"); /* the zeros begin there */
    buf_reset(&file);
    packed_put_zstd(&file, span_text("one"));
    buf_add(&file, "\x51\x2a\x4d\x18\2\0\0\0xy", 10);
    packed_put_zstd(&file, span_text(""));
    packed_put_zstd(&file, span_text("two"));
    assert_heard("[]onetwo");
    buf_add_text(&file, "rubbish");
    assert_true(walk(NULL, NULL));
    assert_memory_equal(heard.text.data, "[]onetwo!", 9);
}

static void what_came_out_before_damage_is_given(void **state)
{
    (void)state;
    packed_put_gzip(&file, span_text("whole"));
    packed_put_gzip(&file, span_text("second"));
    const size_t end_of_data = file.size - 8;
    const size_t whole = file.size;
    for (size_t size = end_of_data; size < whole; size++) {
        char expected[64];
        file.size = size;
        snprintf(expected, sizeof(expected), "[]wholesecond!%zu", size);
        assert_heard(expected);
    }
    file.size = whole;
    file.data[whole - 5] ^= 1; /* of the checksum, which ends at 53 */
    assert_heard("[]wholesecond!53");
}

static void any_cut_is_told(void **state)
{
    (void)state;
    static uint8_t bytes[100000];
    for (int kind = 0; kind < 2; kind++) {
        buf_reset(&file);
        if (kind == 0) {
            packed_put_gzip(&file, span_make(bytes, sizeof(bytes)));
        } else {
            packed_put_zstd(&file, span_make(bytes, sizeof(bytes)));
        }
        const size_t whole = file.size;
        for (size_t size = PACKED_HEAD_BYTES; size < whole; size += 97) {
            file.size = size;
            assert_true(walk(NULL, NULL));
            assert_non_null(memchr(heard.text.data, '!', heard.text.size));
            assert_true(heard.bytes <= sizeof(bytes));
        }
    }
}

static const struct packed_put_member members[] = {
    {"a.etl", {(const uint8_t *)"one", 3}, 0, 0},
    {"deep/b.etl", {(const uint8_t *)"two", 3}, 0, 0},
    {"c.etl", {(const uint8_t *)"three", 5}, 0, 0},
};

static void archives_give_all_their_members(void **state)
{
    (void)state;
    if (!has_archives()) {
        skip();
    }
    for (int kind = 0; kind < 2; kind++) {
        buf_reset(&file);
        heard.unwanted = NULL;
        (kind ? packed_put_cab : packed_put_zip)(&file, members, 3);
        assert_heard("[a.etl]one;[deep/b.etl]two;[c.etl]three;");
        heard.unwanted = "deep/b.etl";
        heard.instead = PACKED_SKIP;
        assert_heard("[a.etl]one;[deep/b.etl][c.etl]three;");
        heard.instead = PACKED_STOP;
        assert_heard("[a.etl]one;[deep/b.etl]");
    }
}

static void what_a_zip_hides_is_refused(void **state)
{
    (void)state;
    struct packed_put_member some[3];
    if (!has_archives()) {
        skip();
    }
    memcpy(some, members, sizeof(some));
    some[0].flags = 1;
    some[1].method = 12; /* bzip2 */
    packed_put_zip(&file, some, 3);
    assert_heard("[a.etl]?is encrypted[deep/b.etl]?uses an unsupported packing method: ZIP 2"
                 "[c.etl]three;");
}

static void a_zip_without_its_list_is_read_from_its_start(void **state)
{
    (void)state;
    if (!has_archives()) {
        skip();
    }
    packed_put_zip(&file, members, 3);
    file.size -= 60;
    char expected[100];
    snprintf(expected, sizeof(expected), "!%zu[a.etl]one;[deep/b.etl]two;[c.etl]three", file.size);
    assert_true(walk(NULL, NULL));
    assert_memory_equal(heard.text.data, expected, strlen(expected));
}

static void names_have_a_limit(void **state)
{
    (void)state;
    struct packed_put_member some[3];
    struct packed_limits limits = packed_limits;
    if (!has_archives()) {
        skip();
    }
    memcpy(some, members, sizeof(some));
    packed_put_zip(&file, some, 3);
    limits.max_name_bytes = 9;
    assert_true(walk(&limits, NULL));
    const char *text = (const char *)heard.text.data;
    assert_memory_equal(text, "[a.etl]one;!", 12);
    assert_memory_equal(text + heard.text.size - 13, "[c.etl]three;", 13);
}

static void what_becomes_too_large_is_refused(void **state)
{
    (void)state;
    struct packed_limits limits = packed_limits;
    struct error err;
    packed_put_zstd_run(&file, 0, 10000000);
    assert_true(walk(&limits, &err));
    assert_int_equal(heard.bytes, 10000000);
    limits.max_bytes = 9999999;
    assert_false(walk(&limits, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_true(heard.bytes < 10000000);
    limits.max_bytes = packed_limits.max_bytes;
    limits.free_bytes = 1000000;
    assert_false(walk(&limits, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_true(heard.bytes <= 1100000);
    limits.free_bytes = 10000000;
    assert_true(walk(&limits, &err));
    limits.free_bytes = 1000000;
    limits.ratio = (uint32_t)(10000000 / file.size + 1);
    assert_true(walk(&limits, &err));
    if (has_archives()) {
        buf_reset(&file);
        packed_put_zip(&file, members, 3);
        limits.max_members = 2;
        assert_false(walk(&limits, &err));
        assert_int_equal(err.code, ERR_LIMIT);
        assert_span(buf_span(&heard.text), "[a.etl]one;[deep/b.etl]two;");
        limits.max_members = 3;
        limits.max_list_bytes = (uint32_t)file.size - 1;
        assert_false(walk(&limits, &err));
        assert_int_equal(err.code, ERR_LIMIT);
        assert_int_equal(heard.bytes, 0);
    }
}

static void a_stop_is_looked_at_while_it_is_unpacked(void **state)
{
    (void)state;
    struct error err;
    packed_put_zstd_run(&file, 0, 10000000);
    heard.stop_after = 20;
    assert_false(walk(NULL, &err));
    assert_int_equal(err.code, ERR_STOPPED);
    assert_in_range(heard.bytes, 1, 20 * 64 * 1024);
    buf_reset(&file);
    packed_put_gzip(&file, span_text("one"));
    heard.stop_after = 1;
    assert_false(walk(NULL, &err));
    assert_int_equal(err.code, ERR_STOPPED);
    if (has_archives()) {
        buf_reset(&file);
        packed_put_cab(&file, members, 3);
        assert_false(walk(NULL, &err));
        assert_int_equal(err.code, ERR_STOPPED);
        assert_int_equal(heard.bytes, 0);
    }
}

static void what_is_wanted_of_a_member_may_be_its_beginning(void **state)
{
    (void)state;
    heard.skip_after = 1;
    packed_put_zstd_run(&file, 0, 10000000);
    assert_true(walk(NULL, NULL));
    assert_in_range(heard.bytes, 1, 64 * 1024);
    if (has_archives()) {
        buf_reset(&file);
        packed_put_cab(&file, members, 3);
        assert_heard("[a.etl]one[deep/b.etl]two[c.etl]three");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kinds_are_known_by_their_first_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(names_of_packed_files_are_known, setup, teardown),
        cmocka_unit_test_setup_teardown(members_and_frames_follow_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(what_came_out_before_damage_is_given, setup, teardown),
        cmocka_unit_test_setup_teardown(any_cut_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(archives_give_all_their_members, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_zip_hides_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_zip_without_its_list_is_read_from_its_start, setup, teardown),
        cmocka_unit_test_setup_teardown(names_have_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(what_becomes_too_large_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stop_is_looked_at_while_it_is_unpacked, setup, teardown),
        cmocka_unit_test_setup_teardown(
            what_is_wanted_of_a_member_may_be_its_beginning, setup, teardown),
    };
    return cmocka_run_group_tests_name("input/packed", tests, NULL, NULL);
}
