#ifndef ETWSHIP_TESTS_UNIT_EVENT_LOG_RIG_H
#define ETWSHIP_TESTS_UNIT_EVENT_LOG_RIG_H

#include <stdlib.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "decode/decode.h"
#include "event/formats/event_format.h"
#include "event/write/event_writer.h"
#include "input/etl/etl_merge.h"
#include "schema/cache/schema_cache.h"
#include "support/evtx_sample.h"
#include "support/test.h"

/* Reads the event log that was put, like the input, and writes its events. One reading at a
 * time. */

static struct evtx_put put;
static struct error err;

enum { MAX_DAMAGE = 16 };

struct damage {
    size_t count;
    uint64_t offsets[MAX_DAMAGE];
    const char *what[MAX_DAMAGE];
};

static inline void note_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct damage *damage = self;
    (void)trace;
    assert_true(damage->count < MAX_DAMAGE);
    damage->offsets[damage->count] = offset;
    damage->what[damage->count++] = what;
}

struct reading {
    struct arena arena;
    struct etl_file *file;
    struct etl_merge *merge;
    struct damage damage;
    struct schema_cache *cache;
    struct decoder decoder;
    struct event_writer *writer;
    struct buf out;
};

static inline void reading_begin(struct reading *r, bool carves)
{
    static const struct schema_cache_settings settings;
    static const struct event_writer_settings plain;
    *r = (struct reading){.file = NULL};
    const struct etl_visitor visitor = {.self = &r->damage, .damage = note_damage};
    arena_init(&r->arena, 1 << 24);
    buf_init(&r->out, 1 << 24);
    r->file = etl_file_open_memory(span_make(put.bytes, put.size), "mem.evtx", &r->arena, &err);
    assert_non_null(r->file);
    r->file->naming.carves = carves;
    assert_true(etl_file_index(r->file, &visitor, &err));
    r->merge = etl_merge_create(&r->file, 1, &err);
    r->cache = schema_cache_create(&settings, &err);
    r->writer = event_writer_create(&plain, &err);
    assert_true(r->merge && r->cache && r->writer && decoder_init(&r->decoder, &err));
}

static inline void reading_init(struct reading *r)
{
    reading_begin(r, false);
}

static inline void carving_init(struct reading *r)
{
    reading_begin(r, true);
}

static inline void reading_fini(struct reading *r)
{
    event_writer_destroy(r->writer);
    decoder_fini(&r->decoder);
    schema_cache_destroy(r->cache);
    etl_merge_destroy(r->merge);
    etl_file_destroy(r->file);
    buf_fini(&r->out);
    arena_fini(&r->arena);
}

/* The next record in the order of the merge; NULL: there is none. */
static inline const struct event_record *next(struct reading *r)
{
    const struct event_record *record;
    size_t file;
    enum etl_merge_step step;
    do {
        step = etl_merge_next(r->merge, &record, &file, &err);
    } while (step == ETL_MERGE_FILE_END);
    assert_int_not_equal(step, ETL_MERGE_FAILED);
    return step == ETL_MERGE_RECORD ? record : NULL;
}

/* As JSON in this format, without the line break. Valid until the next call. */
static inline struct span next_as(struct reading *r, const char *format)
{
    const struct event_record *record = next(r);
    assert_non_null(record);
    const struct schema_choice *choice = schema_cache_find(r->cache, record);
    assert_int_equal(choice->count, 1);
    struct event event;
    decoder_run(&r->decoder, record, choice->list[0], record->pointer_size, &event);
    buf_reset(&r->out);
    event_format_find(span_text(format))->event(r->writer, &event, &r->out);
    assert_false(r->out.failed);
    return span_first(buf_span(&r->out), r->out.size - 1);
}

/* Where these ASCII characters stand in the log as UTF-16, at or after ${at}. */
static inline size_t find_wide(size_t at, const char *text)
{
    for (; at < put.size; at++) {
        size_t n = 0;
        while (text[n] && at + 2 * n + 1 < put.size &&
               load_le16(put.bytes + at + 2 * n) == (uint8_t)text[n]) {
            n++;
        }
        if (text[n] == '\0') {
            return at;
        }
    }
    fail_msg("%s is not in the log", text);
    return at;
}

static inline bool holds(struct span text, const char *part)
{
    struct span wanted = span_text(part);
    for (size_t i = 0; i + wanted.size <= text.size; i++) {
        if (memcmp(text.data + i, wanted.data, wanted.size) == 0) {
            return true;
        }
    }
    print_error("\"%s\" is not in \"%.*s\"\n", part, SPAN_ARG(text));
    return false;
}

#endif
