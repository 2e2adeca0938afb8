#ifndef ETWSHIP_TESTS_UNIT_PIPELINE_OBSERVER_RIG_H
#define ETWSHIP_TESTS_UNIT_PIPELINE_OBSERVER_RIG_H

#include "pipeline/assembly/pipeline.h"

#include <stdio.h>

#include "support/etl_put.h"
#include "support/payload.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* Definitions: a class with a pointer, a manifest event with one, and an event with two competing
 * definitions after one that has only names. */
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
    if (temp_folder_make(folder, "observer") != 0) {
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

/* ---- a pipeline without outputs, and its observer -------------------------------------------- */

struct fixture {
    struct schema_cache *cache;
    struct pipeline_session session;
    struct pipeline *pipeline;
    struct input_sink sink;
    struct buf
        log; /* `sequence:status/pointer size/fields`; written until fixture_finish returns */
    unsigned stop_at; /* sequence number at which the observer stops */
    bool is_finished;
    struct session_counts counts; /* these two: after fixture_finish */
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

static inline void on_gap(void *self, const struct gap *gap, uint64_t now, uint64_t sequence)
{
    struct fixture *f = self;
    buf_printf(&f->log, "%llu:%s@%llu ", (unsigned long long)sequence, gap->reason,
        (unsigned long long)now);
}

static inline struct event_observer observe(void *self, size_t worker)
{
    (void)worker;
    return (struct event_observer){.self = self, .event = on_event, .gap = on_gap};
}

static inline struct schema_cache *give_cache(
    void *self, size_t session, size_t worker, struct error *err)
{
    (void)session;
    (void)worker;
    (void)err;
    return ((struct fixture *)self)->cache;
}

/* A replayable session with the filters, decoding and max_events of ${given}. */
static inline void fixture_start(struct fixture *f, const struct pipeline_session *given)
{
    static const char *const paths[] = {pack_path};
    const struct schema_cache_settings cache = {.sources = {.paths = paths, .path_count = 1}};
    *f = (struct fixture){.session = *given};
    f->session.name = "one";
    f->session.replayable = true;
    f->cache = schema_cache_create(&cache, NULL);
    assert_non_null(f->cache);
    buf_init(&f->log, 1 << 20);
    const struct pipeline_settings settings = {.sessions = &f->session,
        .session_count = 1,
        .worker_count = 1,
        .memory_bytes = 16 * 1024 * 1024,
        .make_cache = give_cache,
        .borrows_caches = true,
        .observe = observe,
        .self = f};
    f->pipeline = pipeline_create(&settings, NULL);
    assert_non_null(f->pipeline);
    assert_true(pipeline_start(f->pipeline, NULL));
    pipeline_sink(f->pipeline, 0, &f->sink);
}

static inline void fixture_init(
    struct fixture *f, struct input_decoding decoding, uint64_t max_events)
{
    const struct pipeline_session session = {.decoding = decoding, .max_events = max_events};
    fixture_start(f, &session);
}

static inline void fixture_finish(struct fixture *f)
{
    struct session_counts counts[2];
    pipeline_finish_source(f->pipeline, 0, false);
    assert_true(pipeline_drain(f->pipeline));
    ledger_look(pipeline_ledger(f->pipeline), counts, NULL);
    f->counts = counts[0];
    f->is_finished = true;
    assert_true(ledger_session_balances(&f->counts));
}

static inline void fixture_fini(struct fixture *f)
{
    if (!f->is_finished) {
        fixture_finish(f);
    }
    pipeline_destroy(f->pipeline);
    schema_cache_destroy(f->cache);
    buf_fini(&f->log);
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

#endif
