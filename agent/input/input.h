#ifndef ETWSHIP_INPUT_INPUT_H
#define ETWSHIP_INPUT_INPUT_H

#include "base/buf.h"
#include "event/event.h"

/*
 * Where records come from. An input is one file and one line in inputs.def; it knows nothing of
 * decoding, queues or outputs. One object serves one session of the configuration; run() is called
 * once, on a thread of its own; stop() may be called from any thread, also before run().
 */

#define INPUT_WHOLE_FILE UINT64_MAX

/* What an input hands its records to. Calls are made one at a time while run() runs, from its thread
 * or from one of its own. */
struct input_sink {
    void *self;

    /* Only from replayable inputs, before the first record(): every record of the source that
     * describes others (event metadata, manifests, stack keys, processes, names of files, system configuration), in file
     * order. Records come again, in their place, through record(). May be NULL. */
    void (*metadata)(void *self, const struct event_record *record);

    /* From where metadata() comes from, before the first record() of the trace: some of its classic
     * events (EVENT_TRACE_HEADER), all of which come again. The width of pointers in their payloads
     * may be another than their headers say, and some of them prove which it is. May be NULL. */
    void (*sample)(void *self, const struct event_record *record);

    /* A record, valid until the call returns. False asks the input to stop. */
    bool (*record)(void *self, const struct event_record *record);

    /* No record of ${trace} comes any more: what is kept for it alone can go. Not called where run()
     * ends first. May be NULL. */
    void (*trace_end)(void *self, const struct trace_info *trace);

    /* There is nothing more for the moment: what was handed over goes on its way. Inputs that wait
     * for their source call it before they do, and every other second at least while they do. False asks
     * the input to stop. May be NULL. */
    bool (*pause)(void *self);

    /* Nothing has come for long: what is held back for records that belong to it need not wait for
     * them. Only from replayable inputs, which say so at the same place again when they replay. May
     * be NULL. */
    void (*settle)(void *self);

    /* Something is known to be missing. May be NULL. */
    void (*gap)(void *self, const struct gap *gap);

    /* The guard of a live session has noticed something; valid until the call returns. May be NULL. */
    void (*guard)(void *self, const struct guard_report *report);

    /* ${what} is wrong at byte ${offset} of ${trace}'s file; what was skipped is not delivered.
     * ${offset} INPUT_WHOLE_FILE: it concerns the file as a whole. May be NULL. */
    void (*damage)(void *self, const struct trace_info *trace, uint64_t offset, const char *what);

    /* What the record, or the gap, that was handed over last is numbered in the session: for who hands them
     * over. May be NULL. */
    const uint64_t *number;

    /* Bytes of the source read so far, both passes. May be NULL. */
    void (*progress)(void *self, uint64_t done_bytes, uint64_t total_bytes);

    /* For going on after a restart; all NULL where nobody keeps positions. The input gives what it
     * gave before, in the same order, so that counting it again gives the same numbers. */

    /* Everything of this file was given (and of all files that were merged with it). */
    void (*file_end)(void *self, const uint8_t file_id[16]);

    /* Was the file taken by everybody in an earlier run? Then it is not given again. */
    bool (*is_done)(void *self, const uint8_t file_id[16]);

    /* Instead of the records up to the end of this file, which is done: go on counting from what
     * was counted at its file_end. */
    void (*skipped)(void *self, const uint8_t file_id[16]);

    /* What was given in earlier runs cannot be given again as it was (damage() said why): what
     * follows counts as new, above everything that was acked. Some of it was given before. Returns
     * the number that what follows is behind: the runs to come begin with giving it here.
     * ${behind}: such a number of an earlier run; 0: above everything. May be NULL. */
    uint64_t (*renumber)(void *self, uint64_t behind);
};

enum input_end {
    INPUT_DONE,    /* the source has ended and everything was delivered */
    INPUT_STOPPED, /* stop() or the sink asked for it */
    INPUT_FAILED,  /* the error says why; what was delivered before stands */
};

/* What to do with kernel call stacks, which come as records of their own. */
enum stack_walk_mode {
    STACK_WALK_JOIN,   /* attach; what has no partner is handed on as an event */
    STACK_WALK_EVENTS, /* hand all of them on as events */
    STACK_WALK_DROP,   /* leave them out */
};

/* Settings of a session that concern decoding its records, not reading them. */
struct input_decoding {
    uint8_t pointer_size; /* 4 or 8; 0: the record's own, checked against the payload */
    enum stack_walk_mode stack_walk;
    bool metadata;     /* deliver records that only carry metadata, too */
    uint32_t codepage; /* Windows code page of ANSI strings; 0: 1252 */
    bool merged;       /* metadata of all files is handed over before the first record */
};

struct config_check;
struct config_field;
struct config_strings;
struct live_groups;
struct live_session;
struct provider_spec;

enum input_note { INPUT_NOTE_INFO, INPUT_NOTE_WARNING };

/* What a session gets from the agent beyond its settings; what it points to outlives the input. Zero
 * is fine: no providers, and nothing known of earlier runs. */
struct input_env {
    const char *name;                      /* of the session; NULL: none */
    const struct provider_spec *providers; /* provider_spec.h; keyword names as bits where known */
    size_t provider_count;
    const char *data_dir; /* for what is to be known after a restart; NULL: nothing is */
    uint64_t last_time; /* FILETIME up to which outputs had all events in an earlier run; 0: unknown
                           */
    struct span legacy; /* of the input before in this process (input_ops.legacy); empty: none */

    /* The class and type of the kernel event that is called ${name}; NULL: names are not known. */
    bool (*kernel_event)(struct span name, struct guid *ret_class, uint8_t *ret_type);

    /* A start that fails, or an end by somebody else, is the session's end: somebody looks on and
     * may try again himself. */
    bool once;

    /* Something that people must know and that ends nothing: one sentence. Any thread. May be
     * NULL. */
    void (*note)(void *self, enum input_note level, const char *text);
    void *self;
};

/* Settings that sessions of ETW share; NULL where the type has none. */
struct input_live {
    const struct live_session *session;
    const struct live_groups *groups;
    const char *launch; /* command line of a program that is run for it (platform/plat_child.h) */
    const char *launch_folder;
    bool launch_in_service; /* also with the rights of a service */
};

/* What `providers` of a session means. */
enum input_providers {
    INPUT_PROVIDERS_OPTIONAL, /* none: every event that is there */
    INPUT_PROVIDERS_REQUIRED, /* they are switched on for it */
    INPUT_PROVIDERS_NONE,     /* its events do not come from providers */
};

struct input_ops {
    const char *name;                  /* `type:` of a session */
    const struct config_field *fields; /* its keys, config/config.h */
    size_t settings_size;
    bool replayable; /* the source waits and can be read again: back-pressure may block it */
    bool waits;      /* as replayable ones do, but what was read is not read again: see bookmarks */
    bool needs_etw;  /* runs on Windows alone */
    bool needs_eventlog; /* the same */
    bool switches_on;    /* providers, for itself: what comes of others belongs to it, too */
    bool kernel;         /* its events are the kernel's, by flags or by providers of its own */
    bool is_alone;       /* a machine runs one of it at a time */
    enum input_providers providers;
    /* Do its events go to outputs? NULL: they do. No I/O. */
    bool (*delivers)(const void *settings);
    /* Has it nothing to read without providers, as its `flags` name no kernel events? NULL: it has
     * no such key, `providers` tells. No I/O. */
    bool (*needs_providers)(const void *settings);
    /* Says everything that is wrong with settings, also with incomplete ones (config_check.h); no
     * I/O. May be NULL. */
    void (*check)(const void *settings, struct config_check *check);
    /* The same of what is valid but hardly meant. May be NULL. */
    void (*doubt)(const void *settings, struct config_check *check);
    /* Append what Windows is asked for, for people: lines that begin with ${indent}. May be NULL. */
    void (*words)(const void *settings, const char *indent, struct buf *out);
    struct input_live (*live)(const void *settings); /* live_options.h; may be NULL */
    void (*decoding)(const void *settings, struct input_decoding *ret_decoding);
    const struct config_strings *(*paths)(const void *settings); /* what it reads; may be NULL */

    /* ${settings} outlive what is made of them. */
    void *(*create)(const void *settings, const struct input_env *env, struct error *err);

    /* Where the order of records depends on more than the source itself, what is needed to give
     * them in the same order again: `state` appends it, on any thread while run() runs; `restore`
     * takes it back before run(). `forget`, on any thread: everybody has taken the file (file_end)
     * and will be remembered for it (is_done), so the state need not begin before its end. NULL:
     * there is nothing to know. */
    bool (*state)(void *self, struct buf *out, struct error *err);
    void (*restore)(void *self, struct span state);
    void (*forget)(void *self, const uint8_t file_id[16]);

    /*
     * Of one that `waits`: append what a next run needs to go on behind number ${number} (input_sink.number), up to
     * which everything is safe; on any thread while run() runs. `restore` takes it back before run(). NULL: there
     * is nothing to know.
     */
    bool (*bookmarks)(void *self, uint64_t number, struct buf *out, struct error *err);

    /*
     * What an input runs outside of this process need not end with it where the agent goes on with
     * another configuration. Would ${next}, which was created and does not run, go on with what ${self} runs?
     * Then, before stop(), `pass_on` has run() leave it running, and when that has returned, `legacy`
     * appends what the next one is to know (nothing: it is to start anew). That one must end it, if it does not
     * pass it on either; where none comes, `renounce` does. NULL: there is no such thing.
     */
    bool (*goes_on)(const void *self, const void *next);
    void (*pass_on)(void *self);
    void (*legacy)(void *self, struct buf *out);
    void (*renounce)(struct span legacy);

    enum input_end (*run)(void *self, const struct input_sink *sink, struct error *err);
    void (*stop)(void *self);
    void (*destroy)(void *self); /* NULL is fine */
};

static inline bool input_delivers(const struct input_ops *ops, const void *settings)
{
    return !ops->delivers || ops->delivers(settings);
}

#endif
