#include "pipeline/record/event_decode.h"

#include "event/value/wpp_format.h"
#include "support/test.h"

/* An event whose definition has not come yet. */
static struct decoder decoder;

static int begin(void **state)
{
    (void)state;
    return decoder_init(&decoder, NULL) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    decoder_fini(&decoder);
    return 0;
}

static struct event decode(const struct schema_choice *choice, struct span payload)
{
    static struct event_record record;
    struct event_decode self = {.decoder = &decoder};
    struct event event;
    record = (struct event_record){.kind = RECORD_EVENT, .pointer_size = 8, .payload = payload};
    event_decode_with(&self, &record, choice, &event);
    return event;
}

static void an_event_without_definition_says_nothing_of_it(void **state)
{
    (void)state;
    const struct schema_choice nothing = {.count = 0};
    struct event event = decode(&nothing, span_text("abcd"));
    assert_int_equal(event.status, DECODE_RAW);
    assert_null(event.error);
}

static void one_whose_definition_is_late_says_so(void **state)
{
    (void)state;
    const struct schema_choice late = {.count = 0, .late = true};
    struct event event = decode(&late, span_text("abcd"));
    assert_int_equal(event.status, DECODE_RAW);
    assert_non_null(strstr(event.error, "TDH"));
}

static void one_that_another_definition_fits_does_not(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 1 << 16);
    struct schema_field field = {.name = span_text("A"), .in_type = IN_UINT32, .count = 1};
    struct event_schema schema = {.kind = SCHEMA_MANIFEST,
        .has_layout = true,
        .fields = &field,
        .field_count = 1,
        .top_count = 1};
    assert_true(schema_finish(&schema, &arena, NULL));
    const struct schema_choice late = {.list = {&schema}, .count = 1, .late = true};
    struct event event = decode(&late, span_text("abcd"));
    assert_int_equal(event.status, DECODE_COMPLETE);
    assert_null(event.error);
    arena_fini(&arena);
}

static void messages_without_format_are_counted(void **state)
{
    (void)state;
    const struct wpp_format *const format = &(struct wpp_format){.piece_count = 0};
    const struct event_schema known = {.kind = SCHEMA_WPP, .wpp = format};
    const struct event_schema unknown = {.kind = SCHEMA_WPP}; /* as the cache returns it */
    const struct {
        enum record_kind kind;
        const struct event_schema *schema;
        uint64_t count;
    } cases[] = {{RECORD_MESSAGE, &known, 0}, {RECORD_MESSAGE, &unknown, 1},
        {RECORD_MESSAGE, NULL, 1}, {RECORD_EVENT, NULL, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct decode_counts counts = {.raw = 0};
        const struct event_record record = {.kind = cases[i].kind};
        const struct event event = {.record = &record, .schema = cases[i].schema};
        decode_counts_add(&counts, &event);
        assert_int_equal(counts.messages, cases[i].count);
        assert_int_equal(
            counts.raw, cases[i].count); /* there are no arguments, but there is a text */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_without_definition_says_nothing_of_it),
        cmocka_unit_test(one_whose_definition_is_late_says_so),
        cmocka_unit_test(one_that_another_definition_fits_does_not),
        cmocka_unit_test(messages_without_format_are_counted),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
