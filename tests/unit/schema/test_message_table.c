#include "support/test.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "schema/binary/message_table.h"
#include "support/pe_put.h"

static const struct pe_put_message messages[] = {{1, "one", false}, {2, "two\nlines", false},
    {7, "", false}, {0x10000002, "gr\xfc\xdf", true}, {0xffffffff, "last \xf0\x9f\x98\x80", false}};
enum { MESSAGES = sizeof(messages) / sizeof(messages[0]) };

static void assert_text(const struct message_table *table, uint32_t id, const char *text)
{
    struct arena arena;
    struct span got;
    arena_init(&arena, 1 << 16);
    assert_true(message_table_text(table, id, &arena, &got));
    assert_span(got, text);
    arena_fini(&arena);
}

static void texts_are_found_by_their_numbers(void **state)
{
    (void)state;
    struct buf bytes;
    struct message_table table;
    struct error err;
    buf_init(&bytes, 1 << 16);
    pe_put_messages(&bytes, messages, MESSAGES);
    assert_true(message_table_init(&table, buf_span(&bytes), &err));
    assert_text(&table, 1, "one");
    assert_text(&table, 2, "two\nlines");
    assert_text(&table, 7, "");
    assert_text(&table, 0x10000002, "gr\xc3\xbc\xc3\x9f");
    assert_text(&table, 0xffffffff, "last \xf0\x9f\x98\x80");
    assert_text(&table, 0, "");
    assert_text(&table, 3, "");
    assert_text(&table, 0x10000001, "");
    struct arena none;
    struct span got;
    arena_init(&none, 1);
    assert_false(message_table_text(&table, 1, &none, &got));
    arena_fini(&none);
    message_table_fini(&table);
    message_table_fini(&table);
    buf_fini(&bytes);
}

static void assert_broken(struct span bytes, enum error_code code)
{
    struct message_table table;
    struct error err = {.code = ERR_NONE};
    uint8_t *copy = malloc(bytes.size + 1);
    assert_non_null(copy);
    memcpy(copy, bytes.data, bytes.size);
    assert_false(message_table_init(&table, span_make(copy, bytes.size), &err));
    assert_int_equal(err.code, code);
    message_table_fini(&table);
    free(copy);
}

static void broken_tables_are_refused(void **state)
{
    (void)state;
    struct buf bytes;
    buf_init(&bytes, 1 << 16);
    pe_put_messages(&bytes, messages, MESSAGES);
    for (size_t size = 0; size < bytes.size; size++) {
        assert_broken(span_make(bytes.data, size), ERR_FORMAT);
    }
    static const struct {
        size_t at;
        uint32_t value;
        enum error_code code;
    } rows[] = {
        {0, 0xffffffff, ERR_FORMAT},  /* blocks */
        {4, 3, ERR_FORMAT},           /* begins after its end */
        {8, 0xffffffff, ERR_LIMIT},   /* ends very late */
        {8, 1000, ERR_FORMAT},        /* more texts than there are */
        {12, 0xfffffff0, ERR_FORMAT}, /* texts outside the table */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t kept[4];
        memcpy(kept, bytes.data + rows[i].at, 4);
        store_le32(bytes.data + rows[i].at, rows[i].value);
        assert_broken(buf_span(&bytes), rows[i].code);
        memcpy(bytes.data + rows[i].at, kept, 4);
    }
    size_t first_text = (size_t)4 + 12 * 4;
    /* shorter than its own head: reading it would never end */
    store_le16(bytes.data + first_text, 3);
    assert_broken(buf_span(&bytes), ERR_FORMAT);
    buf_fini(&bytes);
}

static void of_two_texts_of_one_number_the_first_counts(void **state)
{
    (void)state;
    static const struct pe_put_message twice[] = {{5, "first", false}, {5, "second", false}};
    struct buf bytes;
    struct message_table table;
    struct error err;
    buf_init(&bytes, 1 << 16);
    pe_put_messages(&bytes, twice, 2);
    assert_true(message_table_init(&table, buf_span(&bytes), &err));
    assert_text(&table, 5, "first");
    message_table_fini(&table);
    buf_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_found_by_their_numbers),
        cmocka_unit_test(broken_tables_are_refused),
        cmocka_unit_test(of_two_texts_of_one_number_the_first_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
