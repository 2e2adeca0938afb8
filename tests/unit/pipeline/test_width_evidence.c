#include "pipeline/record/width_evidence.h"

#include "event/model/schema.h"
#include "support/test.h"

static const struct trace_info traces[2];

/* An event of ${process} with a narrow header. */
static struct event_record event_of(uint8_t class_number, uint32_t process)
{
    return (struct event_record){.kind = RECORD_CLASSIC,
        .pointer_size = 4,
        .provider = {{class_number}},
        .process_id = process,
        .trace = &traces[0]};
}

static void add(
    struct width_evidence *evidence, uint32_t process, uint8_t width, enum width_evidence_kind kind)
{
    struct event_record record = event_of(1, process);
    width_evidence_add(evidence, &record, width, kind);
}

static void assert_width(const struct width_evidence *evidence, uint32_t process, uint8_t width)
{
    struct event_record record = event_of(1, process);
    assert_int_equal(width_evidence_find(evidence, &record), width);
}

static struct width_evidence *create(void)
{
    struct width_evidence *evidence = width_evidence_create(NULL);
    assert_non_null(evidence);
    return evidence;
}

static void evidence_is_of_a_trace_a_class_a_version_and_a_header(void **state)
{
    (void)state;
    struct width_evidence *evidence = create();
    assert_width(evidence, 10, 0);
    assert_width(NULL, 10, 0);
    add(evidence, 10, 8, WIDTH_PROVEN);
    assert_width(evidence, 10, 8);
    struct event_record others[4];
    for (size_t i = 0; i < 4; i++) {
        others[i] = event_of(1, 10);
    }
    others[0].trace = &traces[1];
    others[1].provider.bytes[15] = 1;
    others[2].descriptor.version = 1;
    others[3].pointer_size = 8;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(width_evidence_find(evidence, &others[i]), 0);
    }
    width_evidence_destroy(evidence);
}

static void a_process_speaks_for_itself_before_its_class_does(void **state)
{
    (void)state;
    struct width_evidence *evidence = create();
    add(evidence, 10, 8, WIDTH_PROVEN);
    assert_width(evidence, 20, 8);
    add(evidence, 20, 4, WIDTH_BY_TEXT);
    assert_width(evidence, 20, 4);
    assert_width(evidence, 30, 8); /* a proof wins over texts */
    add(evidence, 40, 4, WIDTH_PROVEN);
    assert_width(evidence, 10, 8);
    assert_width(evidence, 40, 4);
    assert_width(evidence, 30, 0); /* the class does not agree with itself */
    width_evidence_destroy(evidence);
}

static void contradictions_are_no_evidence(void **state)
{
    (void)state;
    struct width_evidence *evidence = create();
    add(evidence, 10, 8, WIDTH_BY_TEXT);
    assert_width(evidence, 10, 8);
    add(evidence, 10, 4, WIDTH_BY_TEXT);
    assert_width(evidence, 10, 0);
    add(evidence, 10, 8, WIDTH_PROVEN);
    assert_width(evidence, 10, 8);
    add(evidence, 10, 4, WIDTH_PROVEN);
    assert_width(evidence, 10, 0);
    width_evidence_destroy(evidence);
}

static void what_was_learned_last_is_kept(void **state)
{
    (void)state;
    enum { KEPT = 4000, CLASSES = 250, PROCESSES = 1000 };
    struct width_evidence *evidence = create();
    for (uint32_t i = 0; i < CLASSES * PROCESSES; i++) {
        struct event_record record = event_of((uint8_t)(i / PROCESSES), i % PROCESSES);
        width_evidence_add(evidence, &record, i & 1 ? 8 : 4, WIDTH_PROVEN);
    }
    for (uint32_t i = CLASSES * PROCESSES - KEPT; i < CLASSES * PROCESSES; i++) {
        struct event_record record = event_of((uint8_t)(i / PROCESSES), i % PROCESSES);
        assert_int_equal(width_evidence_find(evidence, &record), i & 1 ? 8 : 4);
    }
    struct event_record first = event_of(0, 1);
    assert_int_equal(width_evidence_find(evidence, &first), 0);
    width_evidence_destroy(evidence);
}

static enum width_text text_of(enum in_type type, const void *bytes, size_t size)
{
    const struct schema_field number = {.in_type = IN_UINT32};
    const struct schema_field text = {.in_type = (uint16_t)type};
    const struct field fields[] = {
        {.schema = &number, .data = (const uint8_t *)"\1\2\3\4", .size = 4},
        {.schema = &text, .data = bytes, .size = (uint32_t)size}};
    const struct event event = {.fields = fields, .field_count = 2};
    return width_evidence_text(&event);
}

static void texts_begin_like_a_path_or_like_none(void **state)
{
    (void)state;
    static const struct {
        enum width_text text;
        uint16_t units[5];
    } cases[] = {
        {WIDTH_TEXT_PATH, {'C', ':', '\\', 'x'}},
        {WIDTH_TEXT_PATH, {'\\', 'D', 'e', 'v'}},
        {WIDTH_TEXT_ANY, {'n', 't', 'd', 'l'}},
        {WIDTH_TEXT_ANY, {0xa000, '%', 'C', ':'}},
        {WIDTH_TEXT_ANY, {'a', '\t', '\r', '\n'}},
        {WIDTH_TEXT_ANY, {0xd83d, 0xde00, 'x', 'y'}},
        {WIDTH_TEXT_ANY, {0xffe0, 0xfffd, 'x', 'y'}},
        {WIDTH_TEXT_GARBAGE, {0xa000, 0x12, 'C', ':'}},
        {WIDTH_TEXT_GARBAGE, {'C', ':', '\\', 0x85}},
        {WIDTH_TEXT_GARBAGE, {0xe000, 'C', ':', '\\'}},
        {WIDTH_TEXT_GARBAGE, {0xf8ff, 'C', ':', '\\'}},
        {WIDTH_TEXT_GARBAGE, {0xfa80, 0xffff, '\\', 'D'}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(text_of(IN_UNICODE_STRING, cases[i].units, 8), cases[i].text);
    }
    assert_int_equal(text_of(IN_UNICODE_STRING, cases[0].units, 0), WIDTH_TEXT_ANY);
    assert_int_equal(text_of(IN_ANSI_STRING, "C:\\x", 4), WIDTH_TEXT_PATH);
    assert_int_equal(text_of(IN_ANSI_STRING, "\x80\xff.exe", 6), WIDTH_TEXT_ANY);
    assert_int_equal(text_of(IN_ANSI_STRING, "\x12\\x", 3), WIDTH_TEXT_GARBAGE);
    assert_int_equal(text_of(IN_UINT64, "\x12\x12\x12\x12\x12\x12\x12\x12", 8), WIDTH_TEXT_ANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence_is_of_a_trace_a_class_a_version_and_a_header),
        cmocka_unit_test(a_process_speaks_for_itself_before_its_class_does),
        cmocka_unit_test(contradictions_are_no_evidence),
        cmocka_unit_test(what_was_learned_last_is_kept),
        cmocka_unit_test(texts_begin_like_a_path_or_like_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
