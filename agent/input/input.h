#ifndef ETWSHIP_INPUT_INPUT_H
#define ETWSHIP_INPUT_INPUT_H

#include "base/buf.h"
#include "event/model/event.h"

/*
 * Interface of the inputs, which read records. An input is one file and one line in inputs.def; it
 * knows nothing of decoding, queues or outputs. One object serves one session of the configuration.
 * run() is called once, on its own thread; stop() may be called from any thread, also before run().
 */

#define INPUT_WHOLE_FILE UINT64_MAX

/* Receives the records. Calls are made one at a time while run() runs, from its thread or one that
 * it starts. */
struct input_sink {
    void *self;

    /* Only from replayable inputs, before the first record(): every record that describes
     * others (event metadata, manifests, stack keys, processes, file names, system
     * configuration), in file order. record() delivers them again in their place. May be NULL. */
    void (*metadata)(void *self, const struct event_record *record);

    /* Called in the same phase as metadata(), before the trace's first record(), with some of its
     * classic events (EVENT_TRACE_HEADER), which are all delivered again. The pointer width in
     * their payloads may differ from the header, and some of them prove it. May be NULL. */
    void (*sample)(void *self, const struct event_record *record);

    /* A record, valid until the call returns. False asks the input to stop. */
    bool (*record)(void *self, const struct event_record *record);

    /*
     * For an input that reads its traces twice; if both are NULL, record() gets every record.
     *
     * leaves_out() is called before the first record(), for records that describe no others. True:
     * record() would only number and count ${record} whenever it came, judging by its header and
     * its trace. left_out() may then replace record() if the trace has no StackWalk records. It is
     * called for ${count} consecutive records, the latest with the time ${newest}, that got one
     * ${tag} from leaves_out(). Records with another tag may have been among them. False asks the
     * input to stop.
     */
    bool (*leaves_out)(void *self, const struct event_record *record, uint64_t *ret_tag);
    bool (*left_out)(void *self, uint64_t tag, uint64_t count, uint64_t newest);

    /* No further record of ${trace} follows, so its data can be freed. Not called if run() ends
     * earlier. May be NULL. */
    void (*trace_end)(void *self, const struct trace_info *trace);

    /* Nothing more is available at the moment, so pending batches should be sealed. Inputs that
     * wait for more call it before waiting and at least every other second while waiting.
     * False asks the input to stop. May be NULL. */
    bool (*pause)(void *self);

    /* Nothing has arrived for long: records held back to wait for related ones need not wait any
     * more. Only from replayable inputs, which repeat the call in the same place during replay. May
     * be NULL. */
    void (*settle)(void *self);

    /* Records are known to be missing. May be NULL. */
    void (*gap)(void *self, const struct gap *gap);

    /* The guard of a live session reports something; valid until the call returns. May be NULL. */
    void (*guard)(void *self, const struct guard_report *report);

    /* Byte ${offset} of ${trace}'s file is damaged, described by ${what}; skipped data is not
     * delivered. ${offset} INPUT_WHOLE_FILE: the file as a whole. May be NULL. */
    void (*damage)(void *self, const struct trace_info *trace, uint64_t offset, const char *what);

    /* Number in the session of the record or gap passed on last, for the input. May be NULL. */
    const uint64_t *number;

    /* Bytes read so far, in both passes. May be NULL. */
    void (*progress)(void *self, uint64_t done_bytes, uint64_t total_bytes);

    /* For resuming after a restart; all NULL if no positions are kept. The input repeats its
     * records in the same order, so that counting them gives the same numbers. */

    /* Every record of this file, and of all files merged with it, was delivered. */
    void (*file_end)(void *self, const uint8_t file_id[16]);

    /* True if all outputs settled the file in an earlier run. It is then not delivered again. */
    bool (*is_done)(void *self, const uint8_t file_id[16]);

    /* Replaces the records up to the end of this file, which is done: continue counting from the
     * number at its file_end. */
    void (*skipped)(void *self, const uint8_t file_id[16]);

    /* Records of earlier runs cannot be repeated as they were (damage() gave the reason). What
     * follows gets new numbers above every acked one, although some of it was delivered before.
     * Returns the number after which it continues; later runs must start by passing that number as
     * ${behind}; 0: above everything. May be NULL. */
    uint64_t (*renumber)(void *self, uint64_t behind);
};

enum input_end {
    INPUT_DONE,    /* everything was read and delivered */
    INPUT_STOPPED, /* stop() or the sink requested it */
    INPUT_FAILED,  /* the error has the reason; what was delivered before stays valid */
};

/* Handling of kernel call stacks, which are separate records. */
enum stack_walk_mode {
    STACK_WALK_JOIN,   /* attach them to their events; deliver unmatched stacks as events */
    STACK_WALK_EVENTS, /* deliver all as events */
    STACK_WALK_DROP,   /* drop them */
};

/* Settings of a session that concern decoding instead of reading. */
struct input_decoding {
    uint8_t pointer_size; /* 4 or 8; 0: the record's own, checked against the payload */
    enum stack_walk_mode stack_walk;
    bool metadata;     /* also deliver records that only carry metadata */
    uint32_t codepage; /* Windows code page of ANSI strings; 0: 1252 */
    bool merged;       /* metadata of all files is passed on before the first record */
};

struct config_check;
struct config_field;
struct config_strings;
struct evt_scope;
struct live_groups;
struct live_session;
struct provider_spec;

enum input_note { INPUT_NOTE_INFO, INPUT_NOTE_WARNING };

/* Environment that the agent gives a session besides its settings; everything it points to outlives
 * the input. Zeroed means: no providers, and nothing known of earlier runs. */
struct input_env {
    const char *name; /* of the session; may be NULL */
    /* provider_spec.h; keyword names resolved to bits where known */
    const struct provider_spec *providers;
    size_t provider_count;
    const struct evt_scope *scope; /* evt_scope.h: what is kept of event logs; NULL: all */
    const char *language; /* of messages, where the settings name none; NULL: the system's */
    const char *data_dir; /* for state that must survive a restart; NULL: none */
    /* FILETIME up to which outputs had all events in an earlier run; 0: unknown */
    uint64_t last_time;
    /* state of the previous input in this process (input_ops.takeover); empty: none */
    struct span takeover;

    /* Class and type of the kernel event ${name}; NULL: names are unknown. */
    bool (*kernel_event)(struct span name, struct guid *ret_class, uint8_t *ret_type);

    /* Report a failed start or a foreign stop as the end of the session: the caller supervises the
     * session and decides about another try. */
    bool once;

    /* Report a condition that the user must know but that ends nothing: one sentence. Thread-safe.
     * May be NULL. */
    void (*note)(void *self, enum input_note level, const char *text);
    /* Not everything can be read now, for the reason ${why}, and the input retries; NULL: it reads
     * again. Called on the thread of run(). May be NULL. */
    void (*trouble)(void *self, const char *why);
    void *self;
};

/* Settings common to ETW sessions; NULL if the type has none. */
struct input_live {
    const struct live_session *session;
    const struct live_groups *groups;
    /* command line of a program that runs for the session (platform/plat_child.h) */
    const char *launch;
    const char *launch_folder;
    bool launch_in_service; /* also with the rights of a service */
};

/* Meaning of a session's key `providers`. */
enum input_providers {
    INPUT_PROVIDERS_OPTIONAL, /* may be empty: every event is delivered */
    INPUT_PROVIDERS_REQUIRED, /* the input enables them */
    INPUT_PROVIDERS_NONE,     /* not used: events do not come from providers */
};

struct input_ops {
    const char *name;                  /* value of `type:` */
    const struct config_field *fields; /* its keys; see config/config.h */
    size_t settings_size;
    bool replayable;     /* what it reads can wait and be read again: back-pressure may block it */
    bool waits;          /* can wait, but is not read again; see bookmarks */
    bool needs_etw;      /* works only on Windows */
    bool needs_eventlog; /* works only on Windows */
    bool switches_on;    /* enables providers; all events of its session are its own */
    bool kernel;         /* its events come from the kernel, by flags or system providers */
    bool is_alone;       /* a machine runs only one of it at a time */
    enum input_providers providers;
    /* True if its events go to outputs. NULL: true. No I/O. */
    bool (*delivers)(const void *settings);
    /* True if it has nothing to read without providers because its `flags` enable no kernel events.
     * NULL: there is no such key; `providers` applies. No I/O. */
    bool (*needs_providers)(const void *settings);
    /* Report all errors in settings, which may be incomplete (config_check.h). No I/O. May be
     * NULL. */
    void (*check)(const void *settings, struct config_check *check);
    /* Warn about settings that are valid but probably not intended. May be NULL. */
    void (*warnings)(const void *settings, struct config_check *check);
    /* Append a description of the request to Windows, in lines that begin with ${indent}. ${scope}:
     * as in input_env. May be NULL. */
    void (*words)(
        const void *settings, const struct evt_scope *scope, const char *indent, struct buf *out);
    struct input_live (*live)(const void *settings); /* live_options.h; may be NULL */
    void (*decoding)(const void *settings, struct input_decoding *ret_decoding);
    /* files that it reads; may be NULL */
    const struct config_strings *(*paths)(const void *settings);

    /* ${settings} must outlive the object. */
    void *(*create)(const void *settings, const struct input_env *env, struct error *err);

    /*
     * For inputs with an order of records that depends on more than its files: `state` appends
     * what is needed to reproduce the order, on any thread during run(); `restore` takes it before
     * run(). `settle_file`, on any thread: all outputs have settled the file (file_end) and is_done
     * will report it, so the state may begin after it. NULL: no such state.
     */
    bool (*state)(void *self, struct buf *out, struct error *err);
    void (*restore)(void *self, struct span state);
    void (*settle_file)(void *self, const uint8_t file_id[16]);

    /*
     * For an input that `waits`: append what the next run needs to continue after ${number}
     * (input_sink.number), up to which everything is safe; on any thread during run(). `restore`
     * takes it before run(). NULL: no such state.
     */
    bool (*bookmarks)(void *self, uint64_t number, struct buf *out, struct error *err);

    /*
     * An input may run something outside this process that should survive a change of the
     * configuration. `continues`: true if ${next}, created but not running, can take over what
     * ${self} runs. In that case `leave_running` is called before stop(), so that run() leaves it
     * running; after run() returned, `takeover` appends what the next input needs to know (nothing:
     * it starts anew). The next input then owns it: it must end it or leave it to the input after
     * it. If no input follows, `end_takeover` ends it. NULL: not supported.
     */
    bool (*continues)(const void *self, const void *next);
    void (*leave_running)(void *self);
    void (*takeover)(void *self, struct buf *out);
    void (*end_takeover)(struct span takeover);

    enum input_end (*run)(void *self, const struct input_sink *sink, struct error *err);
    void (*stop)(void *self);
    void (*destroy)(void *self); /* NULL is fine */
};

static inline bool input_delivers(const struct input_ops *ops, const void *settings)
{
    return !ops->delivers || ops->delivers(settings);
}

#endif
