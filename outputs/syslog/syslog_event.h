#ifndef ETWSHIP_OUTPUTS_SYSLOG_EVENT_H
#define ETWSHIP_OUTPUTS_SYSLOG_EVENT_H

#include "base/buf.h"

/* Members of the object `event`, as JSON. */
struct syslog_about {
    struct span code;
    struct span name;
    struct span provider;
    struct span level;
    struct span severity;
};

/* The text that events of one kind share after their time, and what it says. */
struct syslog_kind {
    struct buf text; /* up to the end of `event`; empty: none */
    struct span provider;
    struct syslog_about about;
};

enum { SYSLOG_KINDS = 16 };

/* What a message says of an event beside its JSON, native or ecs. Texts are without the escapes of JSON. */
struct syslog_event {
    struct span time;
    struct span provider;
    struct span code;
    struct span name;
    struct span host;
    struct span pid;
    struct span message;
    struct span data; /* JSON: the object of its payload */
    bool has_level;
    unsigned level;
    struct buf texts;                       /* what the spans point to, if not to the record */
    struct syslog_kind kinds[SYSLOG_KINDS]; /* that came last */
    size_t last_kind;
    size_t next_kind;
    struct buf tail; /* how the last record ended, from its `host` on; empty: that says nothing */
    struct buf tail_name; /* JSON: the name of the machine there */
};

void syslog_event_init(struct syslog_event *event);
void syslog_event_fini(struct syslog_event *event);

/* What ${record} says, which is borrowed until the next. Of other bytes than an event nothing is found.
 * ${with_payload}: its message and payload, too. */
void syslog_event_read(struct syslog_event *event, struct span record, bool with_payload);

/* "CEF:0|…": Micro Focus, "ArcSight Common Event Format". In the header a backslash and a pipe get a backslash,
 * in values a backslash and an equals sign; line breaks are \n and \r. Payload members are keys of their own; one
 * with the name of a key of ours gets `data_` in front. */
void syslog_event_cef(const struct syslog_event *event, struct buf *out);

/* "LEEF:2.0|…|x09|": IBM, "Log Event Extended Format". Attributes have TAB between them; in values TAB and line
 * breaks are \t, \n and \r. Its header knows no escapes: a pipe there becomes a space. */
void syslog_event_leef(const struct syslog_event *event, struct buf *out);

#endif
