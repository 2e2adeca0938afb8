#include "support/test.h"

#include <stdio.h>

#include "outputs/rejections.h"

struct heard {
    struct buf text;
};

static void on_reject(void *self, size_t record, const struct output_rejection *why)
{
    struct heard *heard = self;
    buf_printf(&heard->text, "%zu %d %.*s %.*s %.*s\n", record, why->status, SPAN_ARG(why->type),
        SPAN_ARG(why->reason), SPAN_ARG(why->index));
}

static void add(struct rejections *notes, size_t record, const char *reason)
{
    char copy[64];
    snprintf(copy, sizeof(copy), "%s", reason);
    const struct output_rejection why = {
        .status = 400, .type = span_text("t"), .reason = span_text(copy), .index = span_text("i")};
    rejections_add(notes, record, &why);
    memset(copy, 'x', sizeof(copy)); /* its own copy */
}

static void assert_heard(
    const struct rejections *notes, const enum record_status *statuses, const char *expected)
{
    struct heard heard;
    buf_init(&heard.text, 1 << 24);
    const struct output_report report = {.reject = on_reject, .host = &heard};
    rejections_tell(notes, statuses, &report);
    assert_span(buf_span(&heard.text), expected);
    buf_fini(&heard.text);
}

static void only_what_is_rejected_in_the_end_is_told(void **state)
{
    (void)state;
    struct rejections notes;
    static const enum record_status statuses[] = {
        RECORD_REJECTED, RECORD_DELIVERED, RECORD_RETRY, RECORD_REJECTED};
    rejections_init(&notes);
    assert_heard(&notes, statuses, "");
    for (size_t i = 0; i < 3; i++) {
        add(&notes, i, "because");
    }
    size_t mark = rejections_mark(&notes);
    add(&notes, 3, "not so");
    rejections_remove_after(&notes, mark);
    add(&notes, 3, "");
    assert_heard(&notes, statuses, "0 400 t because i\n3 400 t  i\n");
    rejections_reset(&notes);
    assert_heard(&notes, statuses, "");
    rejections_fini(&notes);
}

static void a_host_that_does_not_want_to_know_is_told_nothing(void **state)
{
    (void)state;
    struct rejections notes;
    static const enum record_status statuses[] = {RECORD_REJECTED};
    const struct output_report report = {.reject = NULL};
    rejections_init(&notes);
    add(&notes, 0, "because");
    rejections_tell(&notes, statuses, &report);
    rejections_fini(&notes);
}

static void count(void *self, size_t record, const struct output_rejection *why)
{
    size_t *counts = self;
    assert_in_range(record, 0, 99999);
    counts[why->reason.size == 0]++;
}

static void without_room_texts_are_left_out_before_notes_are(void **state)
{
    (void)state;
    static enum record_status statuses[100000];
    static const uint8_t reason[1024];
    struct rejections notes;
    size_t counts[2] = {0};
    const struct output_report report = {.reject = count, .host = counts};
    const struct output_rejection why = {.status = 400, .reason = span_make(reason, 1024)};
    rejections_init(&notes);
    for (size_t i = 0; i < 100000; i++) {
        statuses[i] = RECORD_REJECTED;
        rejections_add(&notes, i, &why);
    }
    rejections_tell(&notes, statuses, &report);
    assert_true(counts[0] > 1000 && counts[1] > 0 && counts[0] + counts[1] <= 100000);
    rejections_fini(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_rejected_in_the_end_is_told),
        cmocka_unit_test(a_host_that_does_not_want_to_know_is_told_nothing),
        cmocka_unit_test(without_room_texts_are_left_out_before_notes_are),
    };
    return cmocka_run_group_tests_name("outputs/rejections", tests, NULL, NULL);
}
