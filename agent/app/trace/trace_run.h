#ifndef ETWSHIP_APP_TRACE_RUN_H
#define ETWSHIP_APP_TRACE_RUN_H

#include "pipeline/assembly/pipeline.h"

/*
 * Recorded traces from their first record to their last, for commands: a pipeline of its own with
 * one session and one worker, whose batches wait in memory. The input runs on the calling thread,
 * decoding and output have their own. A signal (plat_on_stop) ends it in good order: what was read
 * is delivered, unless its reader makes it wait.
 */
struct trace_run_output {
    const struct output_ops *ops;
    const void *settings;
    struct worker_stream shape; /* but for its gate and what tells of outputs */
    struct span tail;           /* event_writer_settings.tail */
    const struct event_agent *agent;
    /* A line for people: why it failed, and the run ends, or what it could not do. On its thread */
    void (*warn)(const char *text);
};

struct trace_run_settings {
    const struct input_ops *input;
    const void *settings;       /* of the input */
    struct schema_cache *cache; /* borrowed */
    const struct input_decoding
        *decoding;               /* instead of what the input's settings say; NULL: those */
    bool process_context;        /* events tell whose they are */
    const struct codepage *ansi; /* of the traces' strings and names; NULL: 1252 */
    uint64_t max_events;         /* to read; 0: no limit */

    const struct filter *filter; /* of events; NULL: all */
    /* See worker_rules. */
    bool (*wants)(const void *self, const struct event *event);
    const void *selection;
    struct event_observer observer; /* of the events that these keep, after they were written */
    const struct trace_run_output *output; /* NULL: there is the observer alone */

    bool show_progress; /* a bar on stderr, if that is a terminal */
    /* Told about damage as it is found, on the calling thread; may be NULL. */
    void (*damage)(void *self, const struct trace_info *trace, uint64_t offset, const char *what);
    void *damage_self;
};

struct trace_result {
    enum input_end end;
    struct error error; /* INPUT_FAILED */
    struct session_counts counts;
    uint64_t unsure;        /* events that were kept though the filter could not judge them */
    uint64_t damaged;       /* places of damage in the trace */
    uint64_t files_evicted; /* process_table_counts */
    bool output_failed;
    bool output_closed; /* its reader has gone away */
};

/* False with ${err} set if it cannot start. */
bool trace_run(
    const struct trace_run_settings *settings, struct trace_result *ret_result, struct error *err);

/* False also if the input fails; ${err} is why. */
bool trace_run_whole(
    const struct trace_run_settings *settings, struct trace_result *ret_result, struct error *err);

/* Let signals stop the run that is under way then. Once per process. */
bool trace_run_catch_signals(struct error *err);

/* Has a signal asked to stop? Any thread. */
bool trace_run_stopping(void);

#endif
