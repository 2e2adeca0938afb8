#include "pipeline/deliver/refusals.h"

#include <stdlib.h>

#include "support/test.h"

static void say(struct refusals *refusals, size_t record, int status, const char *reason)
{
    struct output_rejection why = {.status = status,
        .type = span_text("type"),
        .reason = span_text(reason),
        .index = span_text("logs")};
    refusals_add(refusals, record, &why);
}

static void assert_why(
    const struct refusals *refusals, size_t record, int status, const char *reason)
{
    struct output_rejection why = refusals_why(refusals, record);
    assert_int_equal(why.status, status);
    assert_span(why.reason, reason);
    assert_span(why.type, *reason ? "type" : "");
    assert_span(why.index, *reason ? "logs" : "");
}

static void each_record_has_its_own_reason(void **state)
{
    (void)state;
    struct refusals refusals;
    refusals_init(&refusals);
    refusals_begin(&refusals, 5);
    say(&refusals, 3, 400, "one");
    say(&refusals, 0, 413, "another");
    say(&refusals, 4, 400, "one");
    assert_why(&refusals, 3, 400, "one");
    assert_why(&refusals, 0, 413, "another");
    assert_why(&refusals, 4, 400, "one");
    assert_why(&refusals, 1, 0, "");
    assert_why(&refusals, 5, 0, "");
    assert_why(&refusals, SIZE_MAX, 0, "");
    refusals_fini(&refusals);
}

static void reasons_move_with_their_records(void **state)
{
    (void)state;
    struct refusals refusals;
    refusals_init(&refusals);
    refusals_begin(&refusals, 4);
    refusals_move(&refusals, 1, 0); /* nothing was ever refused */
    say(&refusals, 0, 400, "gone");
    say(&refusals, 2, 403, "stays");
    refusals_move(&refusals, 1, 0); /* no record was refused */
    refusals_move(&refusals, 2, 1);
    refusals_move(&refusals, 9, 2); /* there is no such record */
    assert_why(&refusals, 0, 0, "");
    assert_why(&refusals, 1, 403, "stays");
    refusals_fini(&refusals);
}

static void a_later_word_replaces_an_earlier_one(void **state)
{
    (void)state;
    struct refusals refusals;
    refusals_init(&refusals);
    refusals_begin(&refusals, 2);
    say(&refusals, 1, 400, "first");
    say(&refusals, 1, 413, "second");
    say(&refusals, 1, 413, "second");
    assert_why(&refusals, 1, 413, "second");
    refusals_fini(&refusals);
}

static void a_new_call_knows_nothing_of_the_one_before(void **state)
{
    (void)state;
    struct refusals refusals;
    refusals_init(&refusals);
    refusals_begin(&refusals, 2);
    say(&refusals, 0, 400, "before");
    refusals_begin(&refusals, 1);
    assert_why(&refusals, 0, 0, "");
    say(&refusals, 0, 400, "before"); /* with the text that was cleared */
    assert_why(&refusals, 0, 400, "before");
    refusals_begin(&refusals, 1000); /* more than before */
    assert_why(&refusals, 0, 0, "");
    say(&refusals, 999, 500, "last");
    say(&refusals, 1000, 500, "beyond");
    assert_why(&refusals, 999, 500, "last");
    assert_why(&refusals, 1000, 0, "");
    refusals_fini(&refusals);
}

static void long_texts_are_cut_on_a_character(void **state)
{
    (void)state;
    struct refusals refusals;
    char *text = malloc(2 * REFUSAL_REASON_MAX_BYTES + 2);
    assert_non_null(text);
    for (size_t shift = 0; shift < 2; shift++) {
        size_t size = 0;
        text[size++] = 'x';
        size -= 1 - shift;
        while (size < 2 * REFUSAL_REASON_MAX_BYTES) {
            text[size++] = '\xc3';
            text[size++] = '\xa4';
        }
        text[size] = '\0';
        refusals_init(&refusals);
        refusals_begin(&refusals, 1);
        say(&refusals, 0, 400, text);
        struct output_rejection why = refusals_why(&refusals, 0);
        assert_int_equal(why.reason.size, REFUSAL_REASON_MAX_BYTES - shift);
        assert_memory_equal(why.reason.data, text, why.reason.size);
        refusals_fini(&refusals);
    }
    free(text);
}

/* A destination that gives a long reason of its own for each of many records. */
static void without_room_for_more_texts_statuses_are_kept(void **state)
{
    (void)state;
    enum { RECORDS = 2000, REASON = 2000 };
    struct refusals refusals;
    char reason[REASON + 1];
    memset(reason, 'r', REASON);
    reason[REASON] = '\0';
    refusals_init(&refusals);
    refusals_begin(&refusals, RECORDS);
    size_t with_reason = 0;
    for (int i = 0; i < RECORDS; i++) {
        reason[0] = (char)('a' + i % 26);
        reason[1] = (char)('a' + i / 26 % 26);
        say(&refusals, (size_t)i, 400 + i, reason);
    }
    for (int i = 0; i < RECORDS; i++) {
        struct output_rejection why = refusals_why(&refusals, (size_t)i);
        assert_int_equal(why.status, 400 + i);
        if (why.reason.size) {
            assert_int_equal(why.reason.size, REASON);
            assert_int_equal(why.reason.data[0], 'a' + i % 26);
            with_reason++;
        }
    }
    assert_true(with_reason > 400 && with_reason <= REFUSALS_MAX_BYTES / REASON);
    refusals_fini(&refusals);
}

static void one_reason_for_all_is_kept_once(void **state)
{
    (void)state;
    enum { RECORDS = 5000 };
    struct refusals refusals;
    char reason[3000];
    memset(reason, 'r', sizeof(reason));
    reason[sizeof(reason) - 1] = '\0';
    refusals_init(&refusals);
    refusals_begin(&refusals, RECORDS);
    for (size_t i = 0; i < RECORDS; i++) {
        say(&refusals, i, 400, reason);
    }
    assert_why(&refusals, RECORDS - 1, 400, reason);
    assert_true(refusals.text.size < 2 * sizeof(reason));
    refusals_fini(&refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_record_has_its_own_reason),
        cmocka_unit_test(reasons_move_with_their_records),
        cmocka_unit_test(a_later_word_replaces_an_earlier_one),
        cmocka_unit_test(a_new_call_knows_nothing_of_the_one_before),
        cmocka_unit_test(long_texts_are_cut_on_a_character),
        cmocka_unit_test(without_room_for_more_texts_statuses_are_kept),
        cmocka_unit_test(one_reason_for_all_is_kept_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
