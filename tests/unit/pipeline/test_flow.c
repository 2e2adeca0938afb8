#include "pipeline/flow.h"

#include <stdio.h>

#include "support/etl_put.h"
#include "support/payload.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* Definitions: a class with a pointer, a manifest event with one, and an event with two rival
 * definitions behind one of names alone. */
static const char pack_text[] = //
    "etwship-pack 1\n"
    "provider 00000001-0000-0000-0000-000000000000 \"Classes\"\n"
    "event mof 0 1\n"
    "  class 00000002-0000-0000-0000-000000000000\n"
    "  opcode 5 \"Load\"\n"
    "  field \"Base\" Pointer\n"
    "  field \"Size\" UInt32\n"
    "provider 00000003-0000-0000-0000-000000000000 \"Manifest\"\n"
    "event manifest 1 0\n"
    "  field \"Base\" Pointer\n"
    "  field \"Size\" UInt32\n"
    "event manifest 2 0 no_layout\n"
    "event manifest 2 0\n"
    "  field \"A\" UInt32\n"
    "event manifest 2 0\n"
    "  field \"A\" UInt32\n"
    "  field \"B\" UInt32\n"
    "event manifest 3 0\n"
    "provider 00000004-0000-0000-0000-000000000000 \"Files\"\n"
    "event mof 0 1\n"
    "  class 00000005-0000-0000-0000-000000000000\n"
    "  opcode 5 \"Name\"\n"
    "  field \"Base\" Pointer\n"
    "  field \"Size\" UInt32\n"
    "  field \"Name\" UnicodeString\n";

static char folder[TEMP_FOLDER_BYTES];
static char pack_path[TEMP_FOLDER_BYTES + 16];

static int make_pack(void **state)
{
    (void)state;
    if (temp_folder_make(folder, "flow") != 0) {
        return -1;
    }
    snprintf(pack_path, sizeof(pack_path), "%s/a.pack", folder);
    FILE *file = fopen(pack_path, "wb");
    bool ok = file && fputs(pack_text, file) >= 0;
    return file && fclose(file) == 0 && ok ? 0 : -1;
}

static int remove_pack(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

/* ---- a flow and what its consumers see ------------------------------------------------------------ */

struct fixture {
    struct schema_cache *cache;
    struct flow *flow;
    struct input_sink sink;
    struct buf log;   /* of the first consumer: `sequence:status/pointer size/fields` */
    struct buf other; /* of the second: sequence numbers */
    unsigned stop_at; /* sequence number at which the first one has enough */
};

static bool on_event(void *self, const struct event *event)
{
    static const char *const statuses[] = {"raw", "whole", "rest", "part"};
    struct fixture *f = self;
    buf_printf(&f->log, "%llu:%s/%u/%u%s ", (unsigned long long)event->record->sequence,
        statuses[event->status], event->pointer_size, event->field_count,
        event->stack_count ? "+stack" : "");
    return event->record->sequence != f->stop_at;
}

static bool on_gap(void *self, const struct gap *gap, uint64_t now, uint64_t sequence)
{
    struct fixture *f = self;
    buf_printf(&f->log, "%llu:%s@%llu ", (unsigned long long)sequence, gap->reason,
        (unsigned long long)now);
    return sequence != f->stop_at;
}

static bool on_other_event(void *self, const struct event *event)
{
    struct fixture *f = self;
    buf_printf(&f->other, "%llu ", (unsigned long long)event->record->sequence);
    return true;
}

static void fixture_init_filtered(struct fixture *f, struct input_decoding decoding,
    uint64_t max_events, const struct flow_filter *filter)
{
    *f = (struct fixture){.stop_at = 0};
    static const char *const paths[] = {pack_path};
    const struct schema_cache_settings cache = {.sources = {.paths = paths, .path_count = 1}};
    f->cache = schema_cache_create(&cache, NULL);
    assert_non_null(f->cache);
    buf_init(&f->log, 1 << 20);
    buf_init(&f->other, 1 << 20);
    const struct flow_consumer consumers[] = {
        {.self = f, .event = on_event, .gap = on_gap}, {.self = f, .event = on_other_event}};
    const struct flow_settings settings = {.cache = f->cache,
        .decoding = decoding,
        .max_events = max_events,
        .filter = filter,
        .consumers = consumers,
        .consumer_count = 2};
    f->flow = flow_create(&settings, NULL);
    assert_non_null(f->flow);
    flow_sink(f->flow, &f->sink);
}

static void fixture_init(struct fixture *f, struct input_decoding decoding, uint64_t max_events)
{
    fixture_init_filtered(f, decoding, max_events, NULL);
}

static void fixture_fini(struct fixture *f)
{
    flow_destroy(f->flow);
    schema_cache_destroy(f->cache);
    buf_fini(&f->log);
    buf_fini(&f->other);
}

static bool push(struct fixture *f, struct event_record record, const char *payload)
{
    record.payload = payload_make(payload);
    bool go_on = f->sink.record(f->sink.self, &record);
    payload_free(record.payload);
    return go_on;
}

static const struct trace_info trace = {.has_stacks = true, .pointer_size = 8};
static const struct trace_info plain_trace = {.has_stacks = false, .pointer_size = 8};

static struct event_record manifest_event(uint16_t id)
{
    return (struct event_record){.kind = RECORD_EVENT,
        .pointer_size = 8,
        .present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD,
        .provider = {{3}},
        .descriptor = {.id = id},
        .time = 1000,
        .time_raw = 1000,
        .trace = &plain_trace};
}

static struct event_record class_event(void)
{
    struct event_record record = manifest_event(0);
    record.kind = RECORD_CLASSIC;
    record.provider = (struct guid){{2}};
    record.descriptor = (struct event_descriptor){.version = 1, .opcode = 5};
    return record;
}

static struct event_record kernel_event(uint16_t hook_id)
{
    struct event_record record = manifest_event(0);
    record.kind = RECORD_KERNEL;
    record.hook_id = hook_id;
    record.provider = (struct guid){{9}};
    record.descriptor = (struct event_descriptor){.opcode = (uint8_t)hook_id};
    record.trace = &trace;
    return record;
}

#define STACK_OF_1000 "e803000000000000 00000000 00000000 0100000000000000"

/* ---- counts ---------------------------------------------------------------------------------------- */

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
    assert_true(push(f, manifest, "0200005b 0100 0000 '<'")); /* no format 1: an event */
    assert_true(push(f, manifest_event(3), ""));
    assert_true(push(f, manifest_event(1), "0011"));
    assert_true(push(f, manifest_event(77), "00"));
    assert_true(flow_finish(f->flow));
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
        struct flow_counts counts = flow_counts(f.flow);
        assert_int_equal(counts.received, 10);
        assert_int_equal(counts.metadata, 3);
        assert_int_equal(counts.joined, cases[i].joined);
        assert_int_equal(counts.unmatched, cases[i].unmatched);
        assert_int_equal(counts.dropped, cases[i].dropped);
        assert_int_equal(counts.events, cases[i].events);
        uint64_t delivered_metadata = cases[i].metadata ? 3 : 0;
        assert_int_equal(counts.received + delivered_metadata,
            counts.metadata + counts.joined + counts.dropped + counts.events);
        assert_int_equal(counts.decode.partial, 1);
        assert_int_equal(counts.decode.other_width, 0);
        assert_false(flow_stopped(f.flow));
        fixture_fini(&f);
    }
}

static void events_are_numbered_from_1_for_every_consumer(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    for (int i = 0; i < 3; i++) {
        assert_true(push(&f, manifest_event(3), ""));
    }
    assert_true(flow_finish(f.flow));
    assert_span(buf_span(&f.log), "1:whole/8/0 2:whole/8/0 3:whole/8/0 ");
    assert_span(buf_span(&f.other), "1 2 3 ");
    fixture_fini(&f);
}

static void a_stack_reaches_the_consumers_with_its_event(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    assert_true(push(&f, kernel_event(0x0301), ""));
    assert_true(push(&f, kernel_event(0x1820), STACK_OF_1000));
    assert_span(buf_span(&f.log), "");
    assert_true(flow_finish(f.flow));
    buf_add_byte(&f.log, 0);
    assert_non_null(strstr((const char *)f.log.data, "+stack"));
    fixture_fini(&f);
}

/* ---- definitions and pointer sizes --------------------------------------------------------------- */

static void the_first_definition_that_fits_is_taken(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    assert_true(push(&f, manifest_event(2), "01000000"));
    assert_true(push(&f, manifest_event(2), "01000000 02000000"));
    assert_span(buf_span(&f.log), "1:whole/8/1 2:whole/8/2 ");
    assert_int_equal(flow_counts(f.flow).decode.raw, 0);
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
        /* Neither fits exactly: the header's stands. */
        {true, 8, 0, "00000000 01000000 00", "1:part/8/1 "},
        {true, 4, 0, "00000000 01000000 00", "1:rest/4/2 "},
        {true, 8, 0, "000000", "1:part/8/0 "},
        /* The user knows better. */
        {true, 8, 8, "00000000 01000000", "1:part/8/1 "},
        {true, 8, 4, "00000000 01000000", "1:whole/4/2 "},
        {true, 8, 4, "0000000000000000 01000000", "1:rest/4/2 "},
        /* Fields of manifests have sizes that vary: a fit could be an accident. */
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
        assert_span(buf_span(&f.log), cases[i].log);
        bool other = strchr(cases[i].log, '/')[1] != '0' + cases[i].header;
        assert_int_equal(flow_counts(f.flow).decode.other_width, other);
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

/* Wide pointers. The halves of the size are where a narrow layout has the start of the name: the end
 * of it, two letters, a control. */
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
    assert_span(buf_span(&f.log), "1:whole/4/3 2:whole/8/3 3:whole/8/3 4:part/8/0 5:whole/4/3 ");
    assert_int_equal(flow_counts(f.flow).decode.other_width, 3);
    assert_int_equal(flow_counts(f.flow).decode.learned_width, 2);
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
    /* Garbage either way: nothing is known. */
    assert_true(push(&f, file_event(), "44332211 00000000 00901200 0700 L'file' 0000"));
    assert_span(buf_span(&f.log), "1:whole/8/3 2:whole/4/3 3:whole/4/3 4:whole/4/3 ");
    assert_int_equal(flow_counts(f.flow).decode.learned_width, 0);
    fixture_fini(&f);
}

/* ---- ends ------------------------------------------------------------------------------------------- */

static void max_events_ends_the_flow(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 2);
    assert_true(push(&f, manifest_event(3), ""));
    assert_false(push(&f, manifest_event(3), ""));
    assert_true(flow_stopped(f.flow));
    assert_false(push(&f, manifest_event(3), ""));
    const struct gap gap = {.stage = "etw", .reason = "late"};
    f.sink.gap(f.sink.self, &gap);
    assert_false(flow_finish(f.flow));
    assert_span(buf_span(&f.other), "1 2 ");
    assert_span(buf_span(&f.log), "1:whole/8/0 2:whole/8/0 ");
    assert_int_equal(flow_counts(f.flow).events, 2);
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
    assert_false(flow_finish(f.flow));
    assert_span(buf_span(&f.other), "1 2 ");
    fixture_fini(&f);
}

static void a_consumer_that_has_enough_ends_the_flow_for_all(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    f.stop_at = 2;
    assert_true(push(&f, manifest_event(3), ""));
    assert_false(push(&f, manifest_event(3), ""));
    assert_false(push(&f, manifest_event(3), ""));
    assert_span(buf_span(&f.other), "1 2 ");
    assert_true(flow_stopped(f.flow));
    fixture_fini(&f);
}

/* ---- gaps --------------------------------------------------------------------------------------------- */

static void a_gap_stands_behind_what_came_before_it(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    assert_true(push(&f, kernel_event(0x0301), "")); /* held for its stack */
    const struct gap lost = {.stage = "etw", .reason = "lost", .to = 5000};
    f.sink.gap(f.sink.self, &lost);
    assert_true(push(&f, manifest_event(3), ""));
    const struct gap undated = {.stage = "etw", .reason = "undated"};
    f.sink.gap(f.sink.self, &undated);
    assert_true(flow_finish(f.flow));
    buf_add_byte(&f.log, 0);
    const char *log = (const char *)f.log.data;
    assert_non_null(strstr(log, " 2:lost@5000 3:whole/8/0 4:undated@1000 "));
    assert_true(strncmp(log, "1:", 2) == 0);
    assert_span(buf_span(&f.other), "1 3 ");
    assert_int_equal(flow_counts(f.flow).gaps, 2);
    assert_int_equal(flow_counts(f.flow).events, 2);
    fixture_fini(&f);
}

static void a_consumer_can_have_enough_at_a_gap(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, (struct input_decoding){.pointer_size = 0}, 0);
    f.stop_at = 1;
    const struct gap gap = {.stage = "etw", .reason = "lost"};
    f.sink.gap(f.sink.self, &gap);
    assert_true(flow_stopped(f.flow));
    assert_false(push(&f, manifest_event(3), ""));
    fixture_fini(&f);
}

/* Header, schema and payload decide; numbers and gaps are as without a filter. */
static void a_filter_drops_and_counts_events_by_rule(void **state)
{
    (void)state;
    static const struct filter_rule rules[] = {
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"event.opcode == 1", 17}},
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"not exists(provider.name)", 25}},
        {.action = FILTER_ACTION_KEEP,
            .text = {(const uint8_t *)"exists(data.A) and data.A == 17", 31}},
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"event.code in (1-2)", 19}},
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"exists(extended.stack)", 22}},
    };
    uint64_t hits[6] = {0};
    struct filter_scratch scratch;
    struct filter_place place;
    struct filter *filter = filter_create(rules, 5, &place, NULL);
    assert_non_null(filter);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    struct flow_filter by = {.filter = filter, .scratch = &scratch, .hits = hits};
    struct fixture f;
    fixture_init_filtered(&f, (struct input_decoding){.stack_walk = STACK_WALK_JOIN}, 3, &by);
    struct event_record started = manifest_event(3);
    started.descriptor.opcode = 1;
    assert_true(push(&f, started, "")); /* 1: rule 0 */
    struct event_record unknown = manifest_event(1);
    unknown.provider = (struct guid){{7}};
    assert_true(push(&f, unknown, "00"));                 /* 2: rule 1 */
    assert_true(push(&f, manifest_event(2), "11000000")); /* 3: rule 2 */
    assert_true(push(&f, manifest_event(2), "12000000")); /* 4: rule 3 */
    assert_true(push(&f, manifest_event(3), ""));         /* 5: none */
    const struct gap gap = {.stage = "etw", .reason = "lost", .to = 4};
    f.sink.gap(f.sink.self, &gap);                    /* 6 */
    assert_true(push(&f, manifest_event(1), "0011")); /* 7: rule 3 */
    assert_false(push(&f, manifest_event(3), "00"));  /* 8: none, the third to pass */
    assert_true(flow_stopped(f.flow));
    assert_span(buf_span(&f.log), "3:whole/8/1 5:whole/8/0 6:lost@4 8:rest/8/0 ");
    struct flow_counts counts = flow_counts(f.flow);
    assert_int_equal(counts.events, 3);
    assert_int_equal(counts.filtered, 4);
    assert_int_equal(counts.received, counts.events + counts.filtered);
    static const uint64_t expected[] = {1, 1, 1, 2, 0, 2};
    assert_memory_equal(hits, expected, sizeof(expected));
    fixture_fini(&f);
    filter_scratch_fini(&scratch);
    filter_destroy(filter);
}

/* What the header drops is not even held, but has its turn, its number and its stack. */
static void what_the_header_drops_takes_its_stack_along(void **state)
{
    (void)state;
    static const struct filter_rule rules[] = {
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"event.opcode == 1", 17}},
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"etw.sequence == 3", 17}},
    };
    uint64_t hits[3] = {0};
    struct filter_scratch scratch;
    struct filter_place place;
    struct filter *filter = filter_create(rules, 2, &place, NULL);
    assert_non_null(filter);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    struct flow_filter by = {.filter = filter, .scratch = &scratch, .hits = hits};
    struct fixture f;
    fixture_init_filtered(&f, (struct input_decoding){.stack_walk = STACK_WALK_JOIN}, 0, &by);
    struct event_record other = kernel_event(0x0302);
    other.time_raw = 2000;
    assert_true(push(&f, other, "00"));                         /* 1 */
    assert_true(push(&f, kernel_event(0x0301), "00"));          /* 2: dropped by its header */
    assert_true(push(&f, kernel_event(0x1820), STACK_OF_1000)); /* its stack */
    assert_true(push(&f, other, "00"));                         /* 3: dropped by its number */
    assert_true(push(&f, other, "00"));                         /* 4 */
    assert_int_equal(hits[0], 0);                               /* not before its turn */
    assert_true(flow_finish(f.flow));
    assert_span(buf_span(&f.log), "1:raw/8/0 4:raw/8/0 ");
    struct flow_counts counts = flow_counts(f.flow);
    assert_int_equal(counts.joined, 1);
    assert_int_equal(counts.unmatched, 0);
    assert_int_equal(counts.filtered, 2);
    assert_int_equal(counts.received, counts.events + counts.filtered + counts.joined);
    static const uint64_t expected[] = {1, 1, 2};
    assert_memory_equal(hits, expected, sizeof(expected));
    fixture_fini(&f);
    filter_scratch_fini(&scratch);
    filter_destroy(filter);
}

/* Rules are asked early, before an event is held for its stack, and those in doubt again in its turn. */
static void doubt_is_counted_once(void **state)
{
    (void)state;
    static const char slow[] = "provider.name matches '^(\\w+\\w*\\w*\\w*\\w*\\w*\\w*\\w*)+[!-]$'";
    for (int drops = 0; drops < 2; drops++) {
        const struct filter_rule rule = {
            .action = FILTER_ACTION_DROP, .text = span_text(slow), .drops_unsure = drops};
        uint64_t hits[2] = {0};
        struct filter_scratch scratch;
        struct filter_place place;
        struct filter *filter = filter_create(&rule, 1, &place, NULL);
        assert_non_null(filter);
        assert_true(filter_scratch_init(&scratch, NULL, NULL));
        struct flow_filter by = {.filter = filter, .scratch = &scratch, .hits = hits};
        struct fixture f;
        fixture_init_filtered(&f, (struct input_decoding){.stack_walk = STACK_WALK_JOIN}, 0, &by);
        assert_true(push(&f, manifest_event(3), ""));
        assert_true(push(&f, manifest_event(3), ""));
        assert_true(flow_finish(f.flow));
        assert_int_equal(filter_rule_unsure(filter, 0), 2);
        assert_int_equal(hits[0], drops ? 2 : 0);
        assert_int_equal(flow_counts(f.flow).unsure, drops ? 0 : 2);
        fixture_fini(&f);
        filter_scratch_fini(&scratch);
        filter_destroy(filter);
    }
}

static void too_many_consumers_are_refused(void **state)
{
    (void)state;
    static struct flow_consumer consumers[65];
    const struct flow_settings settings = {.consumers = consumers, .consumer_count = 65};
    struct error err = {0};
    assert_null(flow_create(&settings, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    flow_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_is_counted_once),
        cmocka_unit_test(events_are_numbered_from_1_for_every_consumer),
        cmocka_unit_test(a_stack_reaches_the_consumers_with_its_event),
        cmocka_unit_test(the_first_definition_that_fits_is_taken),
        cmocka_unit_test(only_classes_are_tried_with_the_other_pointer_size),
        cmocka_unit_test(a_sample_of_the_class_tells_the_width_of_its_events),
        cmocka_unit_test(a_forced_width_needs_no_samples),
        cmocka_unit_test(what_the_kernel_writes_is_as_its_header_says),
        cmocka_unit_test(without_samples_an_events_own_text_tells),
        cmocka_unit_test(max_events_ends_the_flow),
        cmocka_unit_test(max_events_counts_what_was_held_back_too),
        cmocka_unit_test(a_consumer_that_has_enough_ends_the_flow_for_all),
        cmocka_unit_test(a_gap_stands_behind_what_came_before_it),
        cmocka_unit_test(a_consumer_can_have_enough_at_a_gap),
        cmocka_unit_test(a_filter_drops_and_counts_events_by_rule),
        cmocka_unit_test(what_the_header_drops_takes_its_stack_along),
        cmocka_unit_test(doubt_is_counted_once),
        cmocka_unit_test(too_many_consumers_are_refused),
    };
    return cmocka_run_group_tests(tests, make_pack, remove_pack);
}
