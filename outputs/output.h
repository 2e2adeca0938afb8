#ifndef ETWSHIP_OUTPUTS_OUTPUT_H
#define ETWSHIP_OUTPUTS_OUTPUT_H

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"
#include "event/write/event_template.h"
#include "event/write/event_writer.h"

/*
 * Where batches go. An output is one file and one line in outputs.def. It delivers once and says
 * how it went; the host alone retries, backs off, acks and dead-letters. One object per worker
 * thread: no locks inside. An output frames bytes, it never encodes an event again.
 */
enum output_verdict {
    OUTPUT_RETRY,     /* nothing is known to have arrived; zero is the safe answer */
    OUTPUT_RECONNECT, /* the same, and the connection is gone */
    OUTPUT_DELIVERED, /* the destination has answered for every record */
    OUTPUT_MIXED,     /* see output_report.records */
    OUTPUT_REJECTED,  /* the destination will never take it */
    OUTPUT_FATAL,     /* the output cannot go on at all (a closed pipe, a lost right) */
};

enum record_status {
    RECORD_RETRY,
    RECORD_DELIVERED,
    RECORD_REJECTED,
    RECORD_BLOCKED, /* not taken now, which is a matter of where it is routed to: what goes elsewhere may
                       be taken. Only of an output with routes */
    RECORD_HELD, /* the same, as everything that is routed there is refused for itself: no record is bad but
                       the set-up of that place (output_report.set_up) */
};

/* What is left to send of one batch. A first try and a partial resend look the same. */
struct delivery {
    struct span bytes;           /* the records back to back, as the stream's format ends them */
    const uint32_t *record_ends; /* end of each record in `bytes` */
    size_t record_count;

    /* For an output with a route: where each record goes, as an index into `route_names`, the
     * rendered templates. NULL if the output has none. */
    const uint32_t *routes;
    const struct span *route_names;
    size_t route_count;

    /* Was any of it sent before, so that it may have arrived already? Also true where nobody knows:
     * after a restart, for what was not known as acked. */
    bool repeated;

    /* Was each record refused for itself before (a dead letter that is sent again)? */
    bool refused_before;

    /* Was it held as RECORD_HELD, and nothing taken since that goes where it goes? All of it goes there. */
    bool suspect;
    size_t probe; /* if it is: which record to ask for first, modulo record_count */

    /* Was it held so, and has some worker delivered a record for its route since? Then what this output object
     * knows of refusals there is out of date. */
    bool cleared;

    /* What names each record for ever (delivery_id.h); NULL: the output does not want
     * it, or these have none (dead letters of an output that did not want it then). Record i
     * has place first_place + places[i] of its batch, or without `places` first_place + i. */
    const struct delivery_ids *ids;
    const uint32_t *places;
    uint32_t first_place;
};

/* Why a destination does not take a record: what a dead letter says. Views, copied by the host. */
struct output_rejection {
    int status; /* of its reply, as in HTTP; 0: none */
    struct span type;
    struct span reason;
    struct span index; /* where it was to go; empty: unknown */
    const char
        *set_up; /* for the host: output_report.set_up of a record that is RECORD_HELD; else NULL */
};

struct output_report {
    struct error error;          /* for every verdict but OUTPUT_DELIVERED */
    enum record_status *records; /* room for record_count entries; read with OUTPUT_MIXED */

    /* With any verdict that leaves something to send again. */
    uint32_t wait_ms; /* the destination wants to be left alone for so long; 0: it did not say */
    bool degraded;    /* a fault of its set-up, which hits every event until somebody mends it:
                         tried again slowly, and the output counts as degraded */

    /* Records that the destination had already although they were not sent before. */
    uint64_t unexpected_duplicates;

    /* Records that may have arrived without anybody's knowing, and come again: sent, and not answered for. */
    uint64_t maybe_duplicates;

    /* Of the records that are rejected: so many arrived, though the destination does not say which. All are kept
     * as dead letters, but so many count as delivered. */
    uint64_t rejected_but_arrived;

    /* Of the records that are rejected: so many may have arrived, these included. Where one cannot be kept as a
     * dead letter it comes again, and is there twice then. */
    uint64_t rejected_maybe_arrived;

    /* Records of earlier deliveries that may be lost although they counted as delivered, at most: over a
     * connection without acknowledgements that broke. Told as a gap. */
    uint64_t maybe_lost;

    /* Say why record ${record} of the delivery is rejected or blocked: before OUTPUT_REJECTED for all
     * or any, and for each that is rejected, blocked or held. May be NULL; what is not said is rejected without
     * a reason. */
    void (*reject)(void *host, size_t record, const struct output_rejection *why);
    void *host; /* its first argument */

    const char *set_up; /* with RECORD_HELD: what it looks like, and what to do about it; static */
};

struct config_check;
struct config_field;

/* What the host gives an output at its making, and does for it. All but `name` may be missing. */
struct output_env {
    const char *name;       /* of the output in the configuration */
    const char *format;     /* name of the event format that the records have */
    const char *agent_id;   /* agent.id of the events; copied by create. NULL: there is none */
    struct span checkpoint; /* what checkpoint() gave last before a restart; copied by create */

    /* Where it may keep files of its own, the agent's alone: made if it needs it. Another output uses it, too.
     * Copied by create. NULL: there is no such place. */
    const char *folder;

    /*
     * Store the output's checkpoint now, durably, together with the position of the last batch that
     * was delivered: the host calls checkpoint() on this thread and returns when it is on the disk.
     * For what must be known before it is done (a new file is about to be written to). Only from
     * send, before the batch has left a trace, from idle and from disconnect. False if it was not
     * stored. NULL: there is no restart to prepare for.
     */
    bool (*save)(void *host, struct error *err);

    /* Tell people what is no failed delivery (a rotated file cannot be compressed). Any number of
     * times; the host thins repetitions. */
    void (*warn)(void *host, const char *text);

    /* Tell people what is good to know and no trouble, such as which proxy is used. Threads as for warn. */
    void (*note)(void *host, const char *text);

    /* Is it time to give up waiting inside send? Then send returns soon, as OUTPUT_RETRY or
     * OUTPUT_MIXED. */
    bool (*stopping)(void *host);
    void *host; /* first argument of the four */
};

/* A checkpoint is at most this long. */
enum { OUTPUT_CHECKPOINT_MAX_BYTES = 1024 * 1024 };

/* Who prepares or tries an output hears how it goes (`etwship setup`, `etwship test-output`). */
enum output_finding {
    OUTPUT_FOUND_GOOD,
    OUTPUT_FOUND_NOTE, /* good enough, but worth knowing */
    OUTPUT_FOUND_FAULT,
};

struct index_fields;

struct output_talk {
    const char *name;   /* of the output in the configuration */
    const char *format; /* of the events that it gets */
    bool dry_run;       /* change nothing, and show what would be sent */

    /* What definitions say of the payloads that it gets; NULL: nobody looked (output_ops.field_room). */
    const struct index_fields *fields;

    /* ${text}: "what" or "what. what to do". */
    void (*say)(void *host, enum output_finding finding, const char *text);
    void (*show)(void *host, const char *method, const char *path, struct span body);
    void *host; /* first argument of both */
};

/*
 * An output that takes the agent's own metrics, too, each time as one request of OpenTelemetry (the agent's
 * status/metric_otlp.h). They have an object and a thread of their own, and are kept for nobody: of a request that
 * fails, the next one says all that matters, as counters are cumulative.
 */
struct output_metrics {
    uint64_t (*every_ns)(const void *settings); /* 0: it does not want them */
    bool (*as_json)(const void *settings);      /* else in protobuf */
    void *(*create)(const void *settings, const struct output_env *env, struct error *err);
    bool (*send)(void *self, struct span request, struct error *err); /* false: not all was taken */
    void (*destroy)(void *self);                                      /* NULL is fine */
};

/* How many different values the events of one session have, as far as its configuration says; 0: nobody knows
 * before they come. */
struct output_spread {
    uint64_t hosts;
    uint64_t providers;
    uint64_t levels;
};

/* What events become at a destination that keeps those apart which differ in some values: streams, series. */
struct output_streams {
    uint64_t count;   /* at most, as far as is known */
    uint64_t limit;   /* more are not made */
    const char *most; /* which value makes the most of them; NULL: none. Static */
    uint64_t most_count;
    char unknown[64];   /* values of which nobody knows how many there are: "host, channel" */
    const void *member; /* of the settings: what to change */
    size_t member_size;
};

struct output_ops {
    const char *name; /* `type:` in YAML */
    const struct config_field *fields;
    size_t settings_size;

    bool
        alone; /* of one output there can be one object, one worker: two would cut in on each other */
    unsigned workers; /* how many it has, unless somebody says so; 0: one */

    /* What its destination says of old events, where it refuses them unless somebody has set it up for
     * them: "Loki refuses …. raise …". For `check`, where recorded traces go there. NULL: it does not. */
    const char *refuses_old;
    unsigned refuses_older_days; /* with it: of which age, by default */

    /* It shows events to whoever looks on now: nothing is kept for later unless somebody asks. */
    bool shows;

    /* The formats that `format` may name, with spaces between; NULL: any. */
    const char *formats;

    /* Name of the event format whose bytes this output wants, NULL: the `format` setting. */
    const char *(*format)(const void *settings);

    /* Set what it wants of its events' shape beside the format: ${options} is zero, and views of the
     * settings may be put there. Outputs that want the same share a stream. May be NULL. */
    void (*options)(const void *settings, struct event_options *options);

    const struct output_metrics *metrics; /* NULL: it has no use for them */

    /* Say how many streams events make that come from sessions with ${spreads}. For `check`. NULL: there are none. */
    void (*streams)(const void *settings, const struct output_spread *spreads, size_t count,
        struct output_streams *ret_streams);

    /* The text template (event_template.h) that says where each record goes, NULL: there is none.
     * The host renders it once per event, with field values made safe by `route_safety`, and hands
     * the results over in delivery.routes. May be NULL. */
    const char *(*route)(const void *settings);
    enum event_template_safety route_safety;

    /* Does it want to know what its records are called (delivery.ids)? May be NULL: it does not, and
     * then nobody takes the trouble. */
    bool (*ids)(const void *settings);

    /* The file that this output writes to (a path or path template), NULL: none. For checks across
     * outputs and sessions: no two outputs share one, and no session reads what it writes. May be
     * NULL. */
    const char *(*target)(const void *settings);

    /* Append to the generated reference, in Markdown, what users should know beyond its keys. May be
     * NULL. */
    void (*reference)(struct buf *out);

    /* Says everything that is wrong with settings, also with incomplete ones (config_check.h); no
     * I/O. May be NULL. */
    void (*check)(const void *settings, struct config_check *check);

    /* The same of what is valid, but hardly meant, of settings without mistakes. May be NULL. */
    void (*doubt)(const void *settings, struct config_check *check);

    /* Report settings that this system or build cannot obey, though another can: `run` refuses them, `check`
     * lists them. May be NULL. */
    void (*can_run)(const void *settings, struct config_check *check);

    /* Make the destination ready for events, once and for all; doing it again changes nothing. Waits
     * as long as it takes. False: something is at fault, and was said. NULL: nothing is to be made
     * ready. */
    bool (*setup)(const void *settings, const struct output_talk *talk);

    /* For how many fields of payloads ${format} events `setup` can make types of their own, in
     * output_talk.fields; 0: it does not want to. NULL: 0. */
    size_t (*field_room)(const void *settings, const char *format);

    /* Try, one after the other, what a delivery needs, up to but without sending one. The same.
     * NULL: nothing can be said but by a delivery. */
    bool (*examine)(const void *settings, const struct output_talk *talk);

    void *(*create)(const void *settings, const struct output_env *env, struct error *err);
    bool (*connect)(void *self, struct error *err); /* may be NULL */
    enum output_verdict (*send)(
        void *self, const struct delivery *delivery, struct output_report *report);
    void (*disconnect)(void *self); /* may be NULL */
    void (*destroy)(void *self);    /* NULL and half-built are fine */

    /*
     * Append to ${out} what must be known after a restart to go on exactly behind the last batch
     * that was delivered; what was written since is then taken back and delivered again. At most
     * OUTPUT_CHECKPOINT_MAX_BYTES. On the worker's thread: after a delivered batch, or from
     * output_env.save. False with ${err} set: keep the checkpoint before, and its position. May be
     * NULL.
     */
    bool (*checkpoint)(void *self, struct buf *out, struct error *err);

    /* Does it give checkpoints with ${settings}? Only an output without them is let go on past a batch of which something
     * is left (RECORD_BLOCKED). May be NULL: it does if it can. */
    bool (*checkpoints)(const void *settings);

    /* Called on the worker's thread when there has been nothing to send for a moment, once connected:
     * rotation by age, compression, fsync. Takes about 100 ms at most. Returns until when
     * (plat_monotonic_ns()) it wants to be called again if nothing is sent before; UINT64_MAX: it need
     * not. May be NULL. */
    uint64_t (*idle)(void *self);
};

#endif
