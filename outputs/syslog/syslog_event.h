#ifndef ETWSHIP_OUTPUTS_SYSLOG_EVENT_H
#define ETWSHIP_OUTPUTS_SYSLOG_EVENT_H

#include "outputs/event_memo.h"

/* Members of the object `event`, as JSON. */
struct syslog_about {
    struct span code;
    struct span name;
    struct span provider;
    struct span level;
    struct span severity;
};

/* The common text of events of one kind after their time, and its members. */
struct syslog_kind {
    struct buf text; /* up to the end of `event`; empty: none */
    struct buf head; /* for the user of the event: a text made from all of this; empty: none yet */
    struct span provider;
    struct syslog_about about;
};

enum { SYSLOG_KINDS = 16 };

/* Values of an event for a message, from native or ecs JSON. Texts are unescaped. */
struct syslog_event {
    struct span time;
    struct span provider;
    struct span code;
    struct span name;
    struct span host;
    struct span pid;
    struct span message;
    struct span data;         /* JSON: the object of its payload */
    struct syslog_kind *kind; /* one of `kinds`; NULL: none */
    bool has_time;
    uint64_t filetime; /* of `time` */
    bool has_level;
    unsigned level;
    struct buf texts;                       /* memory of spans outside the record */
    struct syslog_kind kinds[SYSLOG_KINDS]; /* the last kinds */
    size_t last_kind;
    size_t next_kind;
    struct event_memo memo;
};

void syslog_event_init(struct syslog_event *event);
void syslog_event_fini(struct syslog_event *event);

/* Read ${record}, borrowed until the next call. Bytes that are not an event have no values.
 * ${with_payload}: also message and payload. Without them, provider, code and name are left as they
 * were where the kind has a head. */
void syslog_event_read(struct syslog_event *event, struct span record, bool with_payload);

/* "CEF:0|…": Micro Focus, "ArcSight Common Event Format". In the header a backslash and a pipe get
 * a backslash, in values a backslash and an equals sign; line breaks are \n and \r. Members of the
 * payload are keys of their own; one with a reserved name gets `data_` before it. */
void syslog_event_cef(const struct syslog_event *event, struct buf *out);

/* "LEEF:2.0|…|x09|": IBM, "Log Event Extended Format". TABs separate attributes; in values TAB and
 * line breaks are \t, \n and \r. The header has no escapes: a pipe in it becomes a space. */
void syslog_event_leef(const struct syslog_event *event, struct buf *out);

#endif
