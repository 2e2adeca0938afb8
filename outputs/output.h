#ifndef ETWSHIP_OUTPUTS_OUTPUT_H
#define ETWSHIP_OUTPUTS_OUTPUT_H

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"
#include "event/select/event_template.h"
#include "event/write/event_writer.h"

/*
 * The interface of outputs. An output is one file and one line in outputs.def. It sends each
 * delivery once and returns a verdict; the host (agent/pipeline) retries, backs off, acks and keeps
 * dead letters. One object per worker thread: no locks inside. An output frames bytes, it never
 * encodes an event again.
 */
enum output_verdict {
    OUTPUT_RETRY,     /* nothing is known to have arrived; zero is the safe answer */
    OUTPUT_RECONNECT, /* nothing is known to have arrived, and the connection is gone */
    OUTPUT_DELIVERED, /* the destination has answered for every record */
    OUTPUT_MIXED,     /* see output_report.records */
    OUTPUT_REJECTED,  /* the destination will never take it */
    OUTPUT_FATAL,     /* the output cannot continue at all (a closed pipe, a lost right) */
};

enum record_status {
    RECORD_RETRY,
    RECORD_DELIVERED,
    RECORD_REJECTED,
    RECORD_BLOCKED, /* its route takes nothing at present; records of other routes may be taken.
                       Only from outputs with routes */
    RECORD_HELD,    /* as RECORD_BLOCKED, but the destination refuses every record of the route: its
                    set-up is wrong, not the record (output_report.set_up) */
};

/* The records of one batch that are still to be sent. A first try and a partial resend look
 * alike. */
struct delivery {
    struct span bytes;           /* the records back to back, each with the terminator of the
                                    stream's format */
    const uint32_t *record_ends; /* end offset of each record in `bytes` */
    size_t record_count;

    /* For an output with a route: per record the index of its rendered route template in
     * `route_names`. NULL if the output has none. */
    const uint32_t *routes;
    const struct span *route_names;
    size_t route_count;

    /* Some of it may have arrived already: it was sent before, or a restart left that unknown. */
    bool repeated;

    /* Each record was rejected before (a dead letter that is sent again). */
    bool refused_before;

    /* It was held (RECORD_HELD), and no record of its route was taken since. All records have one
     * route. */
    bool suspect;
    size_t probe; /* if suspect: the record to send first, modulo record_count */

    /* It was held, and some worker has delivered a record of its route since: what this object
     * remembers of refusals there is out of date. */
    bool cleared;

    /* Permanent ids of the records (delivery_id.h). NULL: the output does not want them, or these
     * records have none (dead letters of an output that did not want them then). Record i has place
     * first_place + places[i] of its batch, or without `places` first_place + i. */
    const struct delivery_ids *ids;
    const uint32_t *places;
    uint32_t first_place;
};

/* Why a destination refuses a record, for its dead letter. Views, copied by the host. */
struct output_rejection {
    int status; /* status of the reply, as in HTTP; 0: none */
    struct span type;
    struct span reason;
    struct span index; /* destination of the record; empty: unknown */
    const char
        *set_up; /* set by the host to output_report.set_up if the record is RECORD_HELD; else NULL
                    */
};

struct output_report {
    struct error error;          /* for every verdict but OUTPUT_DELIVERED */
    enum record_status *records; /* room for record_count entries; read with OUTPUT_MIXED */

    /* With every verdict that leaves records to send again. */
    uint32_t wait_ms; /* how long the destination asks to wait; 0: it did not say */
    bool degraded;    /* a fault of the set-up fails every event until a person corrects it: the
                         host retries slowly and shows the output as degraded */

    /* Records that the destination already had although they were not sent before. */
    uint64_t unexpected_duplicates;

    /* Records that were sent but not answered for, and so are sent again: they may arrive twice. */
    uint64_t maybe_duplicates;

    /* How many of the rejected records arrived, where the destination does not say which. All
     * become dead letters; this many count as delivered. */
    uint64_t rejected_but_arrived;

    /* How many of the rejected records may have arrived, `rejected_but_arrived` included. One that
     * cannot be kept as a dead letter is sent again and may arrive twice. */
    uint64_t rejected_maybe_arrived;

    /* At most this many records of earlier deliveries are lost although they counted as delivered:
     * their connection, which has no acknowledgements, broke. The host ships a gap for them. */
    uint64_t maybe_lost;

    /* The output calls this for each record that is rejected, blocked or held, before it returns
     * its verdict. ${record}: index in the delivery. May be NULL. A record without a call has no
     * reason in its dead letter. */
    void (*reject)(void *host, size_t record, const struct output_rejection *why);
    void *host; /* its first argument */

    const char *set_up; /* with RECORD_HELD: the likely cause and its remedy; static */
};

struct config_check;
struct config_field;

/* Arguments of create(), and functions that the output may call. All but `name` may be NULL. */
struct output_env {
    const char *name;       /* of the output in the configuration */
    const char *format;     /* name of the records' event format */
    const char *agent_id;   /* agent.id of the events; copied by create. NULL: there is none */
    struct span checkpoint; /* the last checkpoint before a restart; copied by create */

    /* Path of a folder for files of its own, readable by the agent alone. The output creates it
     * when needed; other outputs may use it too. Copied by create. NULL: there is no such
     * folder. */
    const char *folder;

    /*
     * Commit the output's checkpoint durably, together with the position of the last delivered
     * batch: the host calls checkpoint() on this thread and returns when it is on the disk. For
     * changes that must be recorded before they are made (a new file). Call it from send before
     * anything of the batch is written, from idle or from disconnect. False: not stored. NULL:
     * nothing survives a restart.
     */
    bool (*save)(void *host, struct error *err);

    /* Log a warning about something other than a failed delivery (a rotated file cannot be
     * compressed). The host limits repetitions. From any thread. */
    void (*warn)(void *host, const char *text);

    /* Log information, such as which proxy is used. From the threads that may call warn. */
    void (*note)(void *host, const char *text);

    /* Report what this output can guarantee now, for the status: `exactly_once` or `at_least_once`.
     * For outputs that offer both. ${guarantee} is static. Called on the worker's thread, also if
     * it has not changed. */
    void (*guarantee)(void *host, const char *guarantee);

    /* True: the agent stops or the worker ends. send() then returns soon, as OUTPUT_RETRY or
     * OUTPUT_MIXED. */
    bool (*stopping)(void *host);
    void *host; /* first argument of the five */
};

/* Maximum size of a checkpoint in bytes. */
enum { OUTPUT_CHECKPOINT_MAX_BYTES = 1024 * 1024 };

/* One finding of `etwship setup` or `etwship test-output`. */
enum output_finding {
    OUTPUT_FOUND_GOOD,
    OUTPUT_FOUND_NOTE, /* works, but worth knowing */
    OUTPUT_FOUND_FAULT,
};

struct index_fields;

struct output_talk {
    const char *name;   /* of the output in the configuration */
    const char *format; /* event format of the output */
    bool dry_run;       /* change nothing; show the requests that would be sent */

    /* Payload fields in the definitions of its providers; NULL: not collected
     * (output_ops.field_room). */
    const struct index_fields *fields;

    /* ${text}: "what" or "what. what to do". */
    void (*say)(void *host, enum output_finding finding, const char *text);
    void (*show)(void *host, const char *method, const char *path, struct span body);
    void *host; /* first argument of both */
};

/*
 * Sends the agent's own metrics, each time as one request of OpenTelemetry
 * (agent/status/metric_otlp.h), with an object and a thread of its own. A failed request is not
 * sent again: counters are cumulative, so the next one has all that matters.
 */
struct output_metrics {
    uint64_t (*every_ns)(const void *settings); /* interval; 0: off */
    bool (*as_json)(const void *settings);      /* else in protobuf */
    void *(*create)(const void *settings, const struct output_env *env, struct error *err);
    bool (*send)(void *self, struct span request, struct error *err); /* false: not all was taken */
    void (*destroy)(void *self);                                      /* NULL is fine */
};

/* How many different values the events of one session have by its configuration; 0: unknown before
 * they arrive. */
struct output_spread {
    uint64_t hosts;
    uint64_t providers;
    uint64_t levels;
};

/* Streams (or series) that a destination makes of events: one per combination of some values. */
struct output_streams {
    uint64_t count;   /* upper bound, by the known values */
    uint64_t limit;   /* the output makes no more than this */
    const char *most; /* name of the value with the most variants; NULL: none. Static */
    uint64_t most_count;
    char unknown[64];   /* values with an unknown number of variants: "host, channel" */
    const void *member; /* the member of the settings to change */
    size_t member_size;
};

struct output_ops {
    const char *name; /* `type:` in YAML */
    const struct config_field *fields;
    size_t settings_size;

    bool alone;       /* at most one worker: two would mix their records */
    unsigned workers; /* default number of workers; 0: one */

    /* Warning of `check` if recorded traces go to a destination that refuses old events by default:
     * "Loki refuses …. raise …". NULL: it takes them. */
    const char *refuses_old;
    unsigned refuses_older_days; /* with it: of which age, by default */

    /* It shows events to a person watching now: by default nothing is spooled for it. */
    bool shows;

    /* The formats that `format` may name, with spaces between; NULL: any. */
    const char *formats;

    /* Name of the event format whose bytes this output wants, NULL: the `format` setting. */
    const char *(*format)(const void *settings);

    /* Set the options that it wants for encoding its events. ${options} is zeroed and may get views
     * of the settings. Outputs with equal format and options share a stream. May be NULL. */
    void (*options)(const void *settings, struct event_options *options);

    const struct output_metrics *metrics; /* NULL: it cannot send metrics */

    /* Maximum number of bytes that each worker uses besides copies of one batch (a library with its
     * own buffers and threads), if a batch has at most ${batch_bytes} and ${batch_events}. Part of
     * agent.memory. NULL: a negligible number. */
    uint64_t (*memory)(const void *settings, uint64_t batch_bytes, uint64_t batch_events);

    /* Compute how many streams the events of sessions with ${spreads} make. For `check`. NULL: it
     * makes none. */
    void (*streams)(const void *settings, const struct output_spread *spreads, size_t count,
        struct output_streams *ret_streams);

    /* The text template (event_template.h) of a record's route, or NULL. The host renders it once
     * per event, with field values made safe by `route_safety`, and passes the results in
     * delivery.routes. May be NULL. */
    const char *(*route)(const void *settings);
    enum event_template_safety route_safety;

    /* True: it needs delivery.ids. NULL: false; then no ids are made. */
    bool (*ids)(const void *settings);

    /* The file that this output writes to (a path or path template), or NULL. `check` refuses two
     * outputs with one file and a session that reads it. May be NULL. */
    const char *(*target)(const void *settings);

    /* Append Markdown to the generated reference: what users should know beyond the keys. May be
     * NULL. */
    void (*reference)(struct buf *out);

    /* Report every error in the settings, also in incomplete ones (config_check.h). No I/O. May be
     * NULL. */
    void (*check)(const void *settings, struct config_check *check);

    /* Report warnings: settings that are valid but hardly meant. Called if check() found no error.
     * May be NULL. */
    void (*warnings)(const void *settings, struct config_check *check);

    /* Report settings that this system or build does not support but another does: `run` refuses
     * them, `check` lists them. May be NULL. */
    void (*can_run)(const void *settings, struct config_check *check);

    /* Prepare the destination for events (index templates, policies). Idempotent. Blocks until
     * done. False: failed, and the fault was reported by ${talk}. NULL: nothing to prepare. */
    bool (*setup)(const void *settings, const struct output_talk *talk);

    /* For how many payload fields (output_talk.fields) of ${format} events `setup` can make types;
     * 0: for none. NULL: 0. */
    size_t (*field_room)(const void *settings, const char *format);

    /* Test each step that a delivery needs, but send nothing. Blocks and returns as setup(). NULL:
     * only a delivery can tell. */
    bool (*examine)(const void *settings, const struct output_talk *talk);

    void *(*create)(const void *settings, const struct output_env *env, struct error *err);
    bool (*connect)(void *self, struct error *err); /* may be NULL */
    enum output_verdict (*send)(
        void *self, const struct delivery *delivery, struct output_report *report);
    void (*disconnect)(void *self); /* may be NULL */
    void (*destroy)(void *self);    /* NULL and half-built are fine */

    /*
     * Append to ${out} what the output needs after a restart to continue exactly after the last
     * delivered batch; it then removes what was written later, and the host delivers that again. At
     * most OUTPUT_CHECKPOINT_MAX_BYTES. On the worker's thread: after a delivered batch, or from
     * output_env.save. False with ${err} set: the previous checkpoint and its position stay. May be
     * NULL.
     */
    bool (*checkpoint)(void *self, struct buf *out, struct error *err);

    /*
     * Called on the worker's thread when there has been nothing to send for a moment, once
     * connected: rotation by age, compression, fsync. Takes about 100 ms at most. Returns until
     * when (plat_monotonic_ns()) it wants to be called again if nothing is sent before; UINT64_MAX:
     * it need not. May be NULL.
     */
    uint64_t (*idle)(void *self);
};

#endif
