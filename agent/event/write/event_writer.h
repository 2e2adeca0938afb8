#ifndef ETWSHIP_EVENT_EVENT_WRITER_H
#define ETWSHIP_EVENT_EVENT_WRITER_H

#include "base/buf.h"
#include "base/utf.h"
#include "event/model/event.h"
#include "event/model/event_overflow.h"
#include "event/model/event_rollup.h"
#include "event/model/event_zone.h"

/*
 * Decoded events to the bytes of a stream. One writer per stream and worker thread; it caches what
 * is constant per event type, so that an event costs its own values only. Formats are rows of
 * formats.def: a new shape is one file and one line.
 */
struct event_writer;

/*
 * What destinations want of an event's shape beside its format. Zero is the shape that the README
 * describes. Texts are borrowed.
 */
struct event_options {
    bool uint64_strings;        /* native: unsigned numbers of 64 bits as strings, by their type */
    uint32_t max_string_bytes;  /* longer strings and names are cut: event_overflow.h; 0: none is */
    enum event_times times;     /* an `@timestamp` beyond these is replaced: event_overflow.h */
    struct span dataset;        /* ecs: data_stream.dataset; empty: etw.events */
    struct span data_namespace; /* ecs: data_stream.namespace; empty: default */
    bool dataset_varies;        /* ecs: each event has its own, and does not say it */
};

bool event_options_equal(const struct event_options *a, const struct event_options *b);

struct event_agent;

struct event_writer_settings {
    struct span session;         /* etw.session; empty: the session name in the trace */
    const struct codepage *ansi; /* NULL: 1252 */
    struct span tail;            /* JSON members behind the event: event_tail_render */
    const struct event_agent
        *agent;             /* otel: the same as values; borrowed. NULL: nothing is told of it */
    bool colors;            /* pretty: ANSI colours */
    struct event_zone zone; /* pretty: of the event's time */
    struct event_options options;
};

/* Copies what the settings point to, but for the code page and the agent. NULL: out of memory. */
struct event_writer *event_writer_create(
    const struct event_writer_settings *settings, struct error *err);
void event_writer_destroy(struct event_writer *writer); /* NULL is fine */

/* What is written from now on was read at FILETIME ${now}: `event.created` of ecs, which is absent
 * before the first call. To be called now and then, not per event. */
void event_writer_read_at(struct event_writer *writer, uint64_t now);

/* Of the text of the event that was written last: bytes that neither the event nor its definition say,
 * but the machine and the configuration. These are names of its process and its file, session, host, labels
 * and tags. ${writer} may be NULL: 0. */
size_t event_writer_given_bytes(const struct event_writer *writer);

struct event_format {
    const char *name; /* `format:` in YAML, `-f` */

    /* Append one record to ${out}, with its end of line. A failed ${out} is the caller's to see;
     * what was appended is then incomplete. */
    void (*event)(struct event_writer *writer, const struct event *event, struct buf *out);

    /* The same for a gap, at FILETIME ${now} with number ${sequence} of its session; 0: it has none,
     * as it was not seen at the source, and then it has no trace. */
    void (*gap)(struct event_writer *writer, const struct gap *gap, uint64_t now, uint64_t sequence,
        struct buf *out);

    /* The same for what the guard of a session noticed, at the report's own time. It has no number. */
    void (*guard)(struct event_writer *writer, const struct guard_report *report, struct buf *out);

    /* The same for what the agent reports of itself. */
    void (*status)(struct event_writer *writer, const struct status *status, uint64_t now,
        uint64_t sequence, struct buf *out);

    /* The event in ${out}, which holds nothing else, as `event` has written it, stands for several. */
    void (*rollup)(const struct event_rollup *rollup, struct buf *out);
};

/* NULL if there is none of that name. */
const struct event_format *event_format_find(struct span name);

#define FORMAT(id) extern const struct event_format event_format_##id;
#include "event/write/formats.def"
#undef FORMAT

/* Who ships: rendered once per start. Empty members are left out. */
struct event_agent {
    struct span id;
    struct span ephemeral_id;
    struct span name;
    struct span version;
    const struct span *labels; /* key, value, key, value, … */
    size_t label_count;        /* pairs */
    const struct span *tags;
    size_t tag_count;
};

/* `,"agent":{…},"labels":{…},"tags":[…]`, for event_writer_settings.tail. */
void event_tail_render(const struct event_agent *agent, struct buf *out);

#endif
