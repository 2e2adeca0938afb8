#include "unit/pipeline/observer_rig.h"

static void push_one_of_each(struct fixture *f)
{
    assert_true(push(f, kernel_event(0x0000), "00"));          /* trace header */
    assert_true(push(f, kernel_event(0x0301), "00"));          /* an event, owner of a stack */
    assert_true(push(f, kernel_event(0x1820), STACK_OF_1000)); /* its stack */
    assert_true(push(f, kernel_event(0x1820), "0011223344556677 00000000 00000000"));
    struct event_record metadata = class_event();
    metadata.provider = record_metadata_class;
    assert_true(push(f, metadata, "00"));
    struct event_record manifest = manifest_event(0xfffe);
    manifest.descriptor.task = 0xfffe;
    manifest.descriptor.opcode = 0xfe;
    assert_true(push(f, manifest, "0100005b 0100 0000 '<'"));
    assert_true(push(f, manifest, "0200005b 0100 0000 '<'")); /* not format 1, so an event */
    assert_true(push(f, manifest_event(3), ""));
    assert_true(push(f, manifest_event(1), "0011"));
    assert_true(push(f, manifest_event(77), "00"));
    fixture_finish(f);
}

static void every_record_is_counted_once(void **state)
{
    (void)state;
    static const struct {
        enum stack_walk_mode mode;
        bool metadata;
        uint64_t joined;
        uint64_t unmatched;
        uint64_t dropped;
        uint64_t events;
    } cases[] = {
        {STACK_WALK_JOIN, false, 1, 1, 0, 6},
        {STACK_WALK_EVENTS, false, 0, 0, 0, 7},
        {STACK_WALK_DROP, false, 0, 0, 2, 5},
        {STACK_WALK_JOIN, true, 1, 1, 0, 9},
        {STACK_WALK_DROP, true, 0, 0, 2, 8},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        fixture_init(&f,
            (struct input_decoding){.stack_walk = cases[i].mode, .metadata = cases[i].metadata}, 0);
        push_one_of_each(&f);
        const struct session_counts counts = f.counts;
        assert_int_equal(counts.received, 10);
        assert_int_equal(counts.metadata, cases[i].metadata ? 0 : 3);
        assert_int_equal(counts.joined, cases[i].joined);
        assert_int_equal(counts.unmatched, cases[i].unmatched);
        assert_int_equal(counts.dropped[SESSION_DROP_STACK_WALK], cases[i].dropped);
        assert_int_equal(counts.accepted, cases[i].events);
        assert_int_equal(counts.decode.partial, 1);
        assert_int_equal(counts.decode.other_width, 0);
        fixture_fini(&f);
    }
}

static void events_are_numbered_from_1(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    for (int i = 0; i < 3; i++) {
        assert_true(push(&f, manifest_event(3), ""));
    }
    fixture_finish(&f);
    assert_span(buf_span(&f.log), "1:whole/8/0 2:whole/8/0 3:whole/8/0 ");
    fixture_fini(&f);
}

static void a_stack_comes_with_its_event(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    assert_true(push(&f, kernel_event(0x0301), ""));
    assert_true(push(&f, kernel_event(0x1820), STACK_OF_1000));
    assert_span(buf_span(&f.log), "");
    fixture_finish(&f);
    buf_add_byte(&f.log, 0);
    assert_non_null(strstr((const char *)f.log.data, "+stack"));
    fixture_fini(&f);
}

/* ---- definitions and pointer sizes ----------------------------------------------------------- */

static void the_first_definition_that_fits_is_taken(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    assert_true(push(&f, manifest_event(2), "01000000"));
    assert_true(push(&f, manifest_event(2), "01000000 02000000"));
    fixture_finish(&f);
    assert_span(buf_span(&f.log), "1:whole/8/1 2:whole/8/2 ");
    assert_int_equal(f.counts.decode.raw, 0);
    fixture_fini(&f);
}

static void only_classes_are_tried_with_the_other_pointer_size(void **state)
{
    (void)state;
    static const struct {
        bool is_class;
        uint8_t header;
        uint8_t setting;
        const char *payload;
        const char *log;
    } cases[] = {
        {true, 8, 0, "0000000000000000 01000000", "1:whole/8/2 "},
        {true, 8, 0, "00000000 01000000", "1:whole/4/2 "},
        {true, 4, 0, "0000000000000000 01000000", "1:whole/8/2 "},
        {true, 4, 0, "00000000 01000000", "1:whole/4/2 "},
        /* Neither fits exactly, so the header's width applies. */
        {true, 8, 0, "00000000 01000000 00", "1:part/8/1 "},
        {true, 4, 0, "00000000 01000000 00", "1:rest/4/2 "},
        {true, 8, 0, "000000", "1:part/8/0 "},
        /* The user's choice wins. */
        {true, 8, 8, "00000000 01000000", "1:part/8/1 "},
        {true, 8, 4, "00000000 01000000", "1:whole/4/2 "},
        {true, 8, 4, "0000000000000000 01000000", "1:rest/4/2 "},
        /* Fields of manifests have variable sizes, so a fit may be an accident. */
        {false, 8, 0, "00000000 01000000", "1:part/8/1 "},
        {false, 4, 0, "0000000000000000 01000000", "1:rest/4/2 "},
        {false, 8, 4, "00000000 01000000", "1:whole/4/2 "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        fixture_init(&f, (struct input_decoding){.pointer_size = cases[i].setting}, 0);
        struct event_record record = cases[i].is_class ? class_event() : manifest_event(1);
        record.pointer_size = cases[i].header;
        assert_true(push(&f, record, cases[i].payload));
        fixture_finish(&f);
        assert_span(buf_span(&f.log), cases[i].log);
        bool other = strchr(cases[i].log, '/')[1] != '0' + cases[i].header;
        assert_int_equal(f.counts.decode.other_width, other);
        fixture_fini(&f);
    }
}

/* An event of a pointer, a size and a name, with a narrow header. */
static struct event_record file_event(void)
{
    struct event_record record = class_event();
    record.provider = (struct guid){{5}};
    record.pointer_size = 4;
    return record;
}

static void sample(struct fixture *f, struct event_record record, const char *payload)
{
    record.payload = payload_make(payload);
    f->sink.sample(f->sink.self, &record);
    payload_free(record.payload);
}

/* Wide pointers. In the place of the size's halves, a narrow layout has the start of the name: its
 * end, two letters, a control character. */
#define PROVES_WIDE "4433221100000000 00900000 L'file' 0000"
#define MAY_BE_BOTH "4433221100000000 00902500 L'file' 0000"
#define READS_BADLY "4433221100000000 00901200 L'C:\\file' 0000"

static void a_sample_of_the_class_tells_the_width_of_its_events(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    assert_true(push(&f, file_event(), MAY_BE_BOTH));
    sample(&f, file_event(), PROVES_WIDE);
    assert_true(push(&f, file_event(), MAY_BE_BOTH));
    assert_true(push(&f, file_event(), PROVES_WIDE));
    assert_true(push(&f, file_event(), "44332211 00")); /* neither fits: the class decides */
    struct event_record other = file_event();
    other.descriptor.version = 2;
    assert_true(push(&f, other, MAY_BE_BOTH));
    fixture_finish(&f);
    assert_span(buf_span(&f.log), "1:whole/4/3 2:whole/8/3 3:whole/8/3 4:part/8/0 5:whole/4/3 ");
    assert_int_equal(f.counts.decode.other_width, 3);
    assert_int_equal(f.counts.decode.learned_width, 2);
    fixture_fini(&f);
}

static void a_forced_width_needs_no_samples(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 4}, 0);
    assert_null(f.sink.sample);
    fixture_fini(&f);
}

static void what_the_kernel_writes_is_as_its_header_says(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    struct event_record record = file_event();
    record.kind = RECORD_KERNEL;
    record.hook_id = 0x1402;
    sample(&f, record, PROVES_WIDE);
    assert_true(push(&f, record, READS_BADLY));
    fixture_finish(&f);
    assert_span(buf_span(&f.log), "1:whole/4/3 ");
    fixture_fini(&f);
}

static void without_samples_an_events_own_text_tells(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    assert_true(push(&f, file_event(), READS_BADLY));
    assert_true(push(&f, file_event(), MAY_BE_BOTH));
    assert_true(push(&f, file_event(), "44332211 00900000 L'C:\\file' 0000"));
    /* Garbage in both layouts: the width stays unknown. */
    assert_true(push(&f, file_event(), "44332211 00000000 00901200 0700 L'file' 0000"));
    fixture_finish(&f);
    assert_span(buf_span(&f.log), "1:whole/8/3 2:whole/4/3 3:whole/4/3 4:whole/4/3 ");
    assert_int_equal(f.counts.decode.learned_width, 0);
    fixture_fini(&f);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void max_events_ends_the_source(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 2);
    assert_true(push(&f, manifest_event(3), ""));
    assert_false(push(&f, manifest_event(3), ""));
    assert_false(push(&f, manifest_event(3), ""));
    const struct gap gap = {.stage = "etw", .unit = "events", .reason = "late"};
    f.sink.gap(f.sink.self, &gap);
    fixture_finish(&f);
    assert_span(buf_span(&f.log), "1:whole/8/0 2:whole/8/0 ");
    assert_int_equal(f.counts.accepted, 2);
    fixture_fini(&f);
}

static void max_events_counts_what_was_held_back_too(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 2);
    for (int i = 0; i < 5; i++) {
        assert_true(push(&f, kernel_event(0x0301), ""));
    }
    fixture_finish(&f);
    fixture_fini(&f);
}

/* However far the source has read meanwhile. */
static void nothing_follows_what_was_enough(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    f.stop_at = 2;
    for (int i = 0; i < 4; i++) {
        assert_true(push(&f, manifest_event(3), ""));
    }
    const struct gap gap = {.stage = "etw", .unit = "events", .reason = "lost"};
    f.sink.gap(f.sink.self, &gap);
    fixture_finish(&f);
    assert_span(buf_span(&f.log), "1:whole/8/0 2:whole/8/0 ");
    assert_int_equal(f.counts.accepted, 2);
    assert_int_equal(f.counts.filtered, 2);
    fixture_fini(&f);
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static void a_gap_stands_behind_what_came_before_it(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    assert_true(push(&f, kernel_event(0x0301), "")); /* held for its stack */
    const struct gap lost = {.stage = "etw", .unit = "events", .reason = "lost", .to = 5000};
    f.sink.gap(f.sink.self, &lost);
    assert_true(push(&f, manifest_event(3), ""));
    const struct gap undated = {.stage = "etw", .unit = "events", .reason = "undated"};
    f.sink.gap(f.sink.self, &undated);
    fixture_finish(&f);
    buf_add_byte(&f.log, 0);
    const char *log = (const char *)f.log.data;
    assert_non_null(strstr(log, " 2:lost@5000 3:whole/8/0 4:undated@1000 "));
    assert_true(strncmp(log, "1:", 2) == 0);
    assert_int_equal(f.counts.gaps, 2);
    assert_int_equal(f.counts.accepted, 2);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_is_counted_once),
        cmocka_unit_test(events_are_numbered_from_1),
        cmocka_unit_test(a_stack_comes_with_its_event),
        cmocka_unit_test(the_first_definition_that_fits_is_taken),
        cmocka_unit_test(only_classes_are_tried_with_the_other_pointer_size),
        cmocka_unit_test(a_sample_of_the_class_tells_the_width_of_its_events),
        cmocka_unit_test(a_forced_width_needs_no_samples),
        cmocka_unit_test(what_the_kernel_writes_is_as_its_header_says),
        cmocka_unit_test(without_samples_an_events_own_text_tells),
        cmocka_unit_test(max_events_ends_the_source),
        cmocka_unit_test(max_events_counts_what_was_held_back_too),
        cmocka_unit_test(nothing_follows_what_was_enough),
        cmocka_unit_test(a_gap_stands_behind_what_came_before_it),
    };
    return cmocka_run_group_tests(tests, make_pack, remove_pack);
}
