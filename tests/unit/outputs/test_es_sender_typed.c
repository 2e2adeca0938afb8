#include "unit/outputs/es_sender_rig.h"

/* An index with types for the fields of payloads refuses payloads that do not fit them. */

static void setup_typed(struct fixture *f, size_t count)
{
    setup(f, 0);
    es_sender_destroy(f->sender);
    f->typed = true;
    make(f, false, NULL);
    buf_reset(&f->bytes);
    for (size_t i = 0; i < count; i++) {
        buf_printf(&f->bytes, "{\"data\":{\"n\":%zu}}\n", i);
        f->ends[i] = (uint32_t)f->bytes.size;
    }
    f->delivery = (struct delivery){.bytes = buf_span(&f->bytes),
        .record_ends = f->ends,
        .record_count = count,
        .ids = &f->ids};
}

static void assert_documents(struct fixture *f, const char *expected)
{
    char *text = bulk_fake_documents(f->fake, false);
    assert_string_equal(text, expected);
    free(text);
}

static void what_does_not_fit_is_sent_once_more_without_an_index(void **state)
{
    static const struct bulk_step step = {.item_first = 1,
        .item_count = 2,
        .item_status = 400,
        .item_type = "mapper_parsing_exception"};
    struct fixture f;
    (void)state;
    setup_typed(&f, 4);
    bulk_fake_script(f.fake, &step, 1);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(bulk_fake_count(f.fake), 2);
    assert_documents(&f, "{\"data\":{\"n\":0}}\n{\"data\":{\"n\":3}}\n"
                         "{\"data_unindexed\":{\"n\":1}}\n{\"data_unindexed\":{\"n\":2}}\n");
    assert_int_equal(f.rejections.size, 0);
    assert_non_null(strstr(f.warning, "data_unindexed"));
    assert_non_null(strstr(f.warning, "mapper_parsing_exception"));
    assert_non_null(strstr(f.warning, "etwship setup siem"));
    /* The id is the event's, so an event that comes again is there already. */
    f.delivery.repeated = true;
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(f.report.unexpected_duplicates, 0);
    teardown(&f);
}

static void what_is_refused_again_keeps_its_first_reason(void **state)
{
    static const struct bulk_step steps[] = {
        {.item_first = 0, .item_count = 3, .item_status = 400, .item_type = "first"},
        {.item_first = 1, .item_count = 1, .item_status = 400, .item_type = "second"}};
    struct fixture f;
    (void)state;
    setup_typed(&f, 3);
    bulk_fake_script(f.fake, steps, 2);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_records(&f, 0, 1, RECORD_DELIVERED);
    assert_records(&f, 1, 2, RECORD_REJECTED);
    assert_records(&f, 2, 3, RECORD_DELIVERED);
    assert_span(buf_span(&f.rejections), "1 400 first|because of 1|etw\n");
    teardown(&f);
}

/* No event is given up because an answer is missing. */
static void without_an_answer_it_is_tried_again(void **state)
{
    static const struct {
        struct bulk_step second;
        enum record_status status;
    } cases[] = {
        {{.status = 503}, RECORD_RETRY},
        {{.lost = true, .obeyed = true}, RECORD_RETRY},
        {{.item_count = BULK_ALL, .item_status = 429, .item_type = "busy"}, RECORD_RETRY},
        {{.item_count = BULK_ALL, .item_status = 400, .item_type = "bad"}, RECORD_REJECTED},
        {{.status = 413}, RECORD_REJECTED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bulk_step steps[] = {
            {.item_first = 1, .item_count = 1, .item_status = 400, .item_type = "bad"},
            cases[i].second};
        struct fixture f;
        setup_typed(&f, 2);
        bulk_fake_script(f.fake, steps, 2);
        assert_int_equal(send_all(&f), OUTPUT_MIXED);
        assert_records(&f, 0, 1, RECORD_DELIVERED);
        assert_records(&f, 1, 2, cases[i].status);
        teardown(&f);
    }
}

static void without_a_payload_there_is_nothing_to_try(void **state)
{
    static const struct bulk_step step = {
        .item_count = BULK_ALL, .item_status = 400, .item_type = "bad"};
    struct fixture f;
    (void)state;
    setup_typed(&f, 0);
    prepare(&f, 3);
    bulk_fake_script(f.fake, &step, 1);
    assert_int_equal(send_all(&f), OUTPUT_REJECTED);
    assert_int_equal(bulk_fake_count(f.fake), 1);
    assert_string_equal(f.warning, "");
    teardown(&f);
}

/* A sender of another output gives up refused events. */
static void without_types_nothing_is_sent_twice(void **state)
{
    static const struct bulk_step step = {
        .item_count = BULK_ALL, .item_status = 400, .item_type = "bad"};
    struct fixture f;
    (void)state;
    setup(&f, 2);
    bulk_fake_script(f.fake, &step, 1);
    assert_int_equal(send_all(&f), OUTPUT_REJECTED);
    assert_int_equal(bulk_fake_count(f.fake), 1);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_sent_once_more_without_an_index),
        cmocka_unit_test(what_is_refused_again_keeps_its_first_reason),
        cmocka_unit_test(without_an_answer_it_is_tried_again),
        cmocka_unit_test(without_a_payload_there_is_nothing_to_try),
        cmocka_unit_test(without_types_nothing_is_sent_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
