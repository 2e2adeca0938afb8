#ifndef ETWSHIP_EVENT_EVENT_WRITER_H
#define ETWSHIP_EVENT_EVENT_WRITER_H

#include "base/utf.h"
#include "event/model/event.h"
#include "event/model/event_rollup.h"
#include "event/model/event_zone.h"
#include "event/write/event_options.h"

/*
 * Encodes decoded events as the records of a stream. One writer per stream and worker thread. It
 * caches the constant parts per event type, so an event costs its own values only. Formats are rows
 * of formats.def: a new shape is one file and one line.
 */
struct event_writer;

struct event_agent;

struct event_writer_settings {
    struct span session;             /* etw.session; empty: the session name in the trace */
    const struct codepage *ansi;     /* NULL: 1252 */
    struct span tail;                /* JSON members after the event: event_tail_render */
    const struct event_agent *agent; /* otel: the agent's values; borrowed. NULL: none */
    bool colors;                     /* pretty: ANSI colours */
    struct event_zone zone;          /* pretty: time zone of the event's time */
    struct event_options options;
};

/* Copies what the settings point to, except the code page and the agent. NULL: out of memory. */
struct event_writer *event_writer_create(
    const struct event_writer_settings *settings, struct error *err);
void event_writer_destroy(struct event_writer *writer); /* NULL is fine */

/* Set the read time of the following events to FILETIME ${now}: `event.created` of ecs, which is
 * absent before the first call. Call it periodically, not per event. */
void event_writer_read_at(struct event_writer *writer, uint64_t now);

/* Bytes of the last event's text that come from the machine and the configuration, not from the
 * event or its definition: names of its process and its file, session, host, labels and tags.
 * ${writer} may be NULL: 0. */
size_t event_writer_given_bytes(const struct event_writer *writer);

struct event_format {
    const char *name; /* `format:` in YAML, `-f` */

    /* Append one record to ${out}, with its end of line. The caller checks ${out} for failure; the
     * record is then incomplete. */
    void (*event)(struct event_writer *writer, const struct event *event, struct buf *out);

    /* Append a gap, at FILETIME ${now} with number ${sequence} of its session; 0: not noticed at
     * the source, so it has neither number nor trace. */
    void (*gap)(struct event_writer *writer, const struct gap *gap, uint64_t now, uint64_t sequence,
        struct buf *out);

    /* Append a report of a session's guard, with the report's own time and no number. */
    void (*guard)(struct event_writer *writer, const struct guard_report *report, struct buf *out);

    /* Append a report of the agent on itself. */
    void (*status)(struct event_writer *writer, const struct status *status, uint64_t now,
        uint64_t sequence, struct buf *out);

    /* Make the event in ${out}, which holds exactly one record of `event`, represent several. */
    void (*rollup)(const struct event_rollup *rollup, struct buf *out);
};

/* The agent that ships, rendered once per start. Empty members are left out. */
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
