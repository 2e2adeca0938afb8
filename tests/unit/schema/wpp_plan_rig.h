#ifndef ETWSHIP_TESTS_UNIT_SCHEMA_WPP_PLAN_RIG_H
#define ETWSHIP_TESTS_UNIT_SCHEMA_WPP_PLAN_RIG_H

#include "schema/wpp/wpp_plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "decode/decode.h"
#include "event/write/event_formats.h"
#include "support/payload.h"
#include "support/test.h"

/*
 * From the text of a trace message format and the bytes of a record to JSON. The expected values
 * were written by hand: after "What are the WPP extended format specification strings?" and "Trace
 * Message Prefix" on learn.microsoft.com, the C standard for numbers (7.21.6.1), and
 * docs/reference/events.md for the values.
 */
#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))
#define GUID "a5bbbdd9-73f9-3bed-93aa-521a4c96d934"
#define HEAD GUID " driver // SRC=main.c MJ= MN=\n#typev main_c31 10 "
#define TAIL " //   LEVEL=TRACE_LEVEL_ERROR FLAGS=TRACE_POWER FUNC=run\n"

struct made {
    struct arena arena;
    struct decoder decoder;
    struct event_writer *writer;
    struct event_schema *schema;
    struct event_record record;
    struct trace_info trace;
    struct event event;
    struct span payload;
    struct buf out;
};

static inline bool keep(void *self, const struct tmf_message *message)
{
    *(const struct tmf_message **)self = message;
    return true;
}

static inline void fail_at(void *self, const char *text)
{
    (void)self;
    fail_msg("%s", text);
}

static inline void make(struct made *m, const char *tmf, const char *payload, uint8_t pointer_size)
{
    static const struct event_writer_settings settings;
    struct error err = {0};
    const struct tmf_message *message = NULL;
    *m = (struct made){.payload = payload_make(payload)};
    arena_init(&m->arena, 1 << 24);
    buf_init(&m->out, 1 << 24);
    assert_true(decoder_init(&m->decoder, &err));
    m->writer = event_writer_create(&settings, NULL);
    assert_non_null(m->writer);
    const struct tmf_sink sink = {.message = keep, .warn = fail_at, .self = &message};
    assert_true(tmf_read(span_text(tmf), &m->arena, "x.tmf", &sink, &err));
    assert_non_null(message);
    m->schema = wpp_plan_make(message, &m->arena, &err);
    if (!m->schema) {
        fail_msg("%s", err.text);
    }
    m->schema->serial = 1;
    m->record = (struct event_record){.kind = RECORD_MESSAGE,
        .pointer_size = pointer_size,
        .present = RECORD_HAS_THREAD | RECORD_HAS_PROCESS | RECORD_HAS_SEQUENCE,
        .thread_id = 0xab,
        .process_id = 77,
        .message_sequence = 12,
        .cpu = 3,
        .time = UINT64_C(134397270001234567), /* 2026-11-21T09:30:00.1234567Z */
        .provider = m->schema->provider,
        .descriptor = {.id = 10},
        .payload = m->payload,
        .trace = &m->trace};
    decoder_run(&m->decoder, &m->record, m->schema, pointer_size, &m->event);
    event_format_native.event(m->writer, &m->event, &m->out);
    buf_add_byte(&m->out, 0);
    assert_false(m->out.failed);
}

static inline void fini(struct made *m)
{
    event_writer_destroy(m->writer);
    decoder_fini(&m->decoder);
    payload_free(m->payload);
    buf_fini(&m->out);
    arena_fini(&m->arena);
}

/* The text of a member of the line: from ${key} up to ${end}. */
static inline struct span part_of(const struct made *m, const char *key, const char *end)
{
    const char *start = strstr((const char *)m->out.data, key);
    const char *stop = start ? strstr(start + strlen(key), end) : NULL;
    if (!stop) {
        return span_make(NULL, 0);
    }
    start += strlen(key);
    return span_make(start, (size_t)(stop - start));
}

#endif
