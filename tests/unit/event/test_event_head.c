#include "event/write/event_writer_state.h"
#include "unit/event/writer_fixture.h"

/* Heads are kept from event to event. Whatever came before, an event is written like by a writer
 * that has seen no other. */

static const struct piece one_number[] = {{"A", IN_UINT32, 0, "2a000000", NULL}};

static const struct schema_keyword keywords[] = {
    {.mask = 1, .name = {(const uint8_t *)"KeywordOne", 10}},
    {.mask = 2, .name = {(const uint8_t *)"KeywordTwo", 10}},
    {.mask = 4, .name = {(const uint8_t *)"KeywordThreeWithAVeryLongName", 29}},
    {.mask = 8, .name = {(const uint8_t *)"KeywordFourWithAVeryLongName", 28}}};

static void assert_as_alone(struct writer_fixture *f, const struct event_format *format)
{
    static const struct event_writer_settings settings;
    struct event_writer *alone = event_writer_create(&settings, NULL);
    struct buf expected;
    assert_non_null(alone);
    buf_init(&expected, 1 << 20);
    format->event(alone, &f->event, &expected);
    buf_reset(&f->out);
    format->event(f->writer, &f->event, &f->out);
    assert_false(expected.failed || f->out.failed);
    if (!span_equal(buf_span(&f->out), buf_span(&expected))) {
        fail_msg("%s: %.*s, alone %.*s", format->name, SPAN_ARG(buf_span(&f->out)),
            SPAN_ARG(buf_span(&expected)));
    }
    buf_fini(&expected);
    event_writer_destroy(alone);
}

static void write_all_kinds(const struct event_format *format, enum schema_kind kind, bool message)
{
    enum { TURNS = 3, LEVELS = 3, OPCODES = 40, KEYWORDS = 16 };
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, kind);
    f.schema.message = span_text(message ? "has %1" : "");
    f.schema.opcode_name = span_text("Opcode");
    f.schema.keywords = keywords;
    f.schema.keyword_count = sizeof(keywords) / sizeof(keywords[0]);
    fixture_set_fields(&f, one_number, 1);
    struct event_descriptor *d = &f.record.descriptor;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (unsigned i = 0; i < LEVELS * OPCODES; i++) {
            d->level = (uint8_t)(i % LEVELS);
            d->opcode = (uint8_t)(i / LEVELS);
            d->keyword = (i + turn) * 7 % KEYWORDS | (uint64_t)turn << (turn * 20);
            f.record.provider.bytes[0] = (uint8_t)(i % 5);
            assert_as_alone(&f, format);
        }
    }
    fixture_fini(&f);
}

static void descriptors_of_a_type_take_turns(void **state)
{
    (void)state;
    const struct event_format *const formats[] = {
        &event_format_native, &event_format_ecs, &event_format_otel, &event_format_otlp};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        write_all_kinds(formats[i], SCHEMA_MANIFEST, true);
        write_all_kinds(formats[i], SCHEMA_TRACELOGGING, false);
    }
}

/* Of a program that gives each event keywords of its own, the writer keeps one head, not one for
 * each. */
static void keywords_take_no_place(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_TRACELOGGING);
    fixture_set_fields(&f, one_number, 1);
    for (uint64_t i = 0; i < 1000; i++) {
        f.record.descriptor.keyword = i << 30;
        f.record.descriptor.opcode = (uint8_t)(i % 4);
        buf_reset(&f.out);
        event_format_native.event(f.writer, &f.event, &f.out);
        assert_false(f.out.failed);
    }
    assert_int_equal(f.writer->heads_kept, 4);
    fixture_fini(&f);
}

/* They have no definition: only the record has their names. */
static void events_without_a_schema_take_turns(void **state)
{
    (void)state;
    enum { TURNS = 3, KINDS = RECORD_OPAQUE + 1 };
    const struct event_format *const formats[] = {
        &event_format_native, &event_format_ecs, &event_format_otel, &event_format_otlp};
    for (size_t n = 0; n < sizeof(formats) / sizeof(formats[0]); n++) {
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_UNKNOWN);
        f.event.schema = NULL;
        f.event.status = DECODE_RAW;
        for (unsigned i = 0; i < TURNS * KINDS * 64; i++) {
            f.record.kind = (enum record_kind)(i % KINDS);
            f.record.present = i & 8 && f.record.kind == RECORD_EVENT ? RECORD_OF_LOG : 0;
            f.record.header_type = (uint8_t)(i % 3 + 1);
            f.record.hook_id = (uint16_t)(f.record.kind == RECORD_KERNEL ? 0x100 + i % 7 : 0);
            f.record.provider.bytes[0] = (uint8_t)(i & 16 ? 1 : 0);
            f.record.descriptor = (struct event_descriptor){.id = (uint16_t)(i & 32),
                .level = (uint8_t)(i % 2),
                .opcode = (uint8_t)(i / KINDS % 2),
                .keyword = (uint64_t)(i % 4) << (i % 5 * 8)};
            assert_as_alone(&f, formats[n]);
        }
        assert_in_range(f.writer->heads_kept, 1, 512);
        fixture_fini(&f);
    }
}

/* Names that a log has in each of its events are not kept. */
static void undescribed_events_are_kept_as_one(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_UNKNOWN);
    f.event.schema = NULL;
    f.event.status = DECODE_RAW;
    for (unsigned i = 0; i < 1000; i++) {
        f.record.present = i % 2 ? RECORD_OF_LOG : 0;
        buf_reset(&f.out);
        event_format_native.event(f.writer, &f.event, &f.out);
        assert_false(f.out.failed);
    }
    assert_int_equal(f.writer->heads_kept, 1);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_of_a_type_take_turns),
        cmocka_unit_test(keywords_take_no_place),
        cmocka_unit_test(events_without_a_schema_take_turns),
        cmocka_unit_test(undescribed_events_are_kept_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
