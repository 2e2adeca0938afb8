#include "pipeline/record/event_decode.h"

#include "event/value/wpp_format.h"
#include "pipeline/record/width_evidence.h"
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

/* A pointer and a text, which takes the bytes that a narrow pointer leaves: both widths fit. */
static void texts_tell_how_wide_pointers_are(void **state)
{
    (void)state;
    static const char pack[] = "etwship-pack 1\n"
                               "provider 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c \"P\"\n"
                               "event mof 0 2\n"
                               "class 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c\n"
                               "opcode 12\n"
                               "field \"Address\" Pointer\n"
                               "field \"File\" UnicodeString\n";
    /* The upper half of an address of the kernel is no text; what follows is `C:\a`. */
    static const uint8_t wide[] = {
        0, 0x10, 0x20, 0x30, 0x80, 0xf8, 0xff, 0xff, 'C', 0, ':', 0, '\\', 0, 'a', 0, 0, 0};
    static const uint8_t narrow[] = {
        0, 0x10, 0x20, 0x30, 'C', 0, ':', 0, '\\', 0, 'a', 0, 'b', 0, 0, 0};
    static const uint8_t neither[] = {
        0, 0x10, 0x20, 0x30, 'x', 0, 'y', 0, 'z', 0, 'a', 0, 'b', 0, 0, 0};
    const struct {
        struct span payload;
        uint8_t width;
    } rows[] = {{span_make(wide, sizeof(wide)), 8}, {span_make(narrow, sizeof(narrow)), 4},
        {span_make(neither, sizeof(neither)), 0}};
    static const uint8_t headers[] = {4, 8}; /* what they say is not asked */
    const struct schema_cache_settings settings = {.sources = {.pack = span_text(pack)}};
    struct schema_cache *cache = schema_cache_create(&settings, NULL);
    assert_non_null(cache);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) * sizeof(headers); i++) {
        const struct trace_info trace = {.pointer_size = 8};
        struct event_record record = {.kind = RECORD_CLASSIC,
            .present = RECORD_HAS_PROCESS,
            .process_id = 10,
            .pointer_size = headers[i % 2],
            .descriptor = {.version = 2, .opcode = 12},
            .payload = rows[i / 2].payload,
            .trace = &trace};
        assert_true(
            guid_parse(span_text("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"), &record.provider));
        struct event_decode self = {
            .cache = cache, .decoder = &decoder, .widths = width_evidence_create(NULL)};
        assert_non_null(self.widths);
        event_decode_weigh(&self, &record);
        assert_int_equal(width_evidence_find(self.widths, &record), rows[i / 2].width);
        width_evidence_destroy(self.widths);
    }
    schema_cache_destroy(cache);
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
        cmocka_unit_test(texts_tell_how_wide_pointers_are),
        cmocka_unit_test(messages_without_format_are_counted),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
