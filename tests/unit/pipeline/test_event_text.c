#include "pipeline/record/event_text.h"

#include <stdio.h>

#include "support/test.h"

/* The text of an event is `N` and a newline. N is its sequence number, filled with blanks to
 * `kernel_ticks` bytes. A shortened text is marked with `!`. */
static void put_event(struct event_writer *writer, const struct event *event, struct buf *out)
{
    (void)writer;
    char text[40];
    bool is_short = event->error != NULL;
    int size = snprintf(text, sizeof(text), "%s%llu", is_short ? "!" : "",
        (unsigned long long)event->record->sequence);
    buf_add(out, text, (size_t)size);
    size_t blanks = is_short ? 0 : event->record->kernel_ticks;
    for (; blanks >= 1024; blanks -= 1024) {
        static const char blank[1024];
        buf_add(out, blank, sizeof(blank));
    }
    buf_add_byte(out, '\n');
    if (is_short) {
        assert_int_equal(event->status, DECODE_PARTIAL);
        assert_int_equal(event->field_count, 0);
    }
}

static const struct event_format fake_format = {.name = "fake", .event = put_event};

/* Add an event whose text takes ${bytes} to ${out}. Is it shortened? */
static bool is_cut(struct buf *out, uint32_t bytes)
{
    struct event_record record = {.sequence = 7, .kernel_ticks = bytes};
    struct event event = {.record = &record, .field_count = 3, .status = DECODE_COMPLETE};
    bool cut;
    assert_true(event_text_add(&fake_format, NULL, &event, out, &cut));
    return cut;
}

static void an_event_that_is_too_long_is_shortened(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 2 * EVENT_TEXT_MAX_BYTES);
    assert_false(is_cut(&out, 1024));
    assert_true(is_cut(&out, EVENT_TEXT_MAX_BYTES));
    assert_true(is_cut(&out, 40 * 1024 * 1024));
    assert_int_equal(out.size, 1 + 1024 + 1 + 2 * 3);
    assert_false(is_cut(&out, EVENT_TEXT_MAX_BYTES - 1024)); /* just fits */
    buf_fini(&out);
}

/* The text before it does not change. */
static void an_event_without_room_is_shortened(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 4096);
    assert_false(is_cut(&out, 1024));
    assert_true(is_cut(&out, 4096));
    assert_span(span_from(buf_span(&out), 1 + 1024 + 1), "!7\n");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_that_is_too_long_is_shortened),
        cmocka_unit_test(an_event_without_room_is_shortened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
