#ifndef ETWSHIP_APP_SESSION_RUN_H
#define ETWSHIP_APP_SESSION_RUN_H

#include "pipeline/record/flow.h"

/*
 * One session from its first record to its last: an input, a flow and the consumers, on the
 * calling thread. A signal (plat_on_stop) ends it in good order.
 */
struct session_run_settings {
    const struct input_ops *input;
    const void *settings;        /* of the input */
    const struct input_env *env; /* for the input; NULL: one that knows nothing */
    struct schema_cache *cache;
    uint64_t max_events;
    const struct flow_filter *filter;                     /* NULL: all events */
    bool (*wants)(void *self, const struct event *event); /* flow.h; NULL: all events */
    void *wants_self;
    bool process_context;        /* events tell whose they are */
    const struct codepage *ansi; /* of the names of processes; NULL: 1252 */
    const struct flow_consumer *consumers;
    size_t consumer_count;
    bool show_progress; /* a bar on stderr, if that is a terminal */

    /* Told about damage as it is found; may be NULL. */
    void (*damage)(void *self, const struct trace_info *trace, uint64_t offset, const char *what);
    void *damage_self;

    const struct input_decoding
        *decoding; /* instead of what the input's settings say; NULL: those */
};

struct session_result {
    enum input_end end;
    struct error error; /* INPUT_FAILED */
    struct flow_counts counts;
    uint64_t damaged; /* places of damage in the source */
    uint64_t source_bytes;
    uint64_t files_evicted; /* process_table_counts */
};

/* False with ${err} set if the session cannot start. */
bool session_run(const struct session_run_settings *settings, struct session_result *ret_result,
    struct error *err);

/* Let signals stop the session that runs then. Once per process. */
bool session_run_catch_signals(struct error *err);

/* Has a signal asked to stop? Any thread. */
bool session_run_stopping(void);

#endif
