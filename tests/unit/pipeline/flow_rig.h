#ifndef ETWSHIP_TESTS_UNIT_PIPELINE_FLOW_RIG_H
#define ETWSHIP_TESTS_UNIT_PIPELINE_FLOW_RIG_H

#include "pipeline/record/flow.h"

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

static inline int make_pack(void **state)
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

static inline int remove_pack(void **state)
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

static inline bool on_event(void *self, const struct event *event)
{
    static const char *const statuses[] = {"raw", "whole", "rest", "part"};
    struct fixture *f = self;
    buf_printf(&f->log, "%llu:%s/%u/%u%s ", (unsigned long long)event->record->sequence,
        statuses[event->status], event->pointer_size, event->field_count,
        event->stack_count ? "+stack" : "");
    return event->record->sequence != f->stop_at;
}

static inline bool on_gap(void *self, const struct gap *gap, uint64_t now, uint64_t sequence)
{
    struct fixture *f = self;
    buf_printf(&f->log, "%llu:%s@%llu ", (unsigned long long)sequence, gap->reason,
        (unsigned long long)now);
    return sequence != f->stop_at;
}

static inline bool on_other_event(void *self, const struct event *event)
{
    struct fixture *f = self;
    buf_printf(&f->other, "%llu ", (unsigned long long)event->record->sequence);
    return true;
}

/* The wants of ${given}, and its max_events, decoding and filter. */
static inline void fixture_start(struct fixture *f, const struct flow_settings *given)
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
    struct flow_settings settings = *given;
    settings.cache = f->cache;
    settings.consumers = consumers;
    settings.consumer_count = 2;
    f->flow = flow_create(&settings, NULL);
    assert_non_null(f->flow);
    flow_sink(f->flow, &f->sink);
}

static inline void fixture_init(
    struct fixture *f, struct input_decoding decoding, uint64_t max_events)
{
    const struct flow_settings settings = {.decoding = decoding, .max_events = max_events};
    fixture_start(f, &settings);
}

static inline void fixture_init_filtered(struct fixture *f, struct input_decoding decoding,
    uint64_t max_events, const struct flow_filter *filter)
{
    const struct flow_settings settings = {
        .decoding = decoding, .max_events = max_events, .filter = filter};
    fixture_start(f, &settings);
}

static inline void fixture_fini(struct fixture *f)
{
    flow_destroy(f->flow);
    schema_cache_destroy(f->cache);
    buf_fini(&f->log);
    buf_fini(&f->other);
}

static inline bool push(struct fixture *f, struct event_record record, const char *payload)
{
    record.payload = payload_make(payload);
    bool go_on = f->sink.record(f->sink.self, &record);
    payload_free(record.payload);
    return go_on;
}

static const struct trace_info trace = {.has_stacks = true, .pointer_size = 8};
static const struct trace_info plain_trace = {.has_stacks = false, .pointer_size = 8};

static inline struct event_record manifest_event(uint16_t id)
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

static inline struct event_record class_event(void)
{
    struct event_record record = manifest_event(0);
    record.kind = RECORD_CLASSIC;
    record.provider = (struct guid){{2}};
    record.descriptor = (struct event_descriptor){.version = 1, .opcode = 5};
    return record;
}

static inline struct event_record kernel_event(uint16_t hook_id)
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

#endif
