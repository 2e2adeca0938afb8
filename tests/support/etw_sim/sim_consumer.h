#ifndef ETWSHIP_TESTS_SUPPORT_SIM_CONSUMER_H
#define ETWSHIP_TESTS_SUPPORT_SIM_CONSUMER_H

#include <stdatomic.h>

#include "base/arena.h"
#include "input/etl/etl_file.h"
#include "support/etw_sim/sim_state.h"

enum sim_trace_kind { SIM_TRACE_LIVE, SIM_TRACE_RAW, SIM_TRACE_FILE };

/*
 * Buffers for a consumer in another program, in place of callbacks: false if no more may follow.
 * ${ret_taken}: they have left this program. Called without the lock.
 */
struct sim_trace;
struct sim_away {
    bool (*take)(void *self, const struct sim_trace *t, struct sim_chunk *const *chunks,
        size_t count, bool *ret_taken);
    uint32_t most_bytes; /* at once, of buffers */
    void *self;
};

enum { SIM_MAX_BATCH = 64, SIM_MAX_HANDLES = 64 };

/* The object that OpenTrace makes. */
struct sim_trace {
    struct sim_trace *next;        /* of the world */
    struct sim_trace *next_reader; /* of the session */
    uint64_t handle;
    enum sim_trace_kind kind;
    struct sim_session *session; /* held by its `users` */
    struct etw_logfile log;      /* a copy, callbacks and context in it */
    struct etw_open_options raw;
    const struct sim_away *away; /* NULL: this program's consumer */
    struct sim_link *link;       /* the session is a machine's */
    struct trace_info info;
    struct sim_chunk *unread; /* of the session's queue */
    uint64_t last_wanted;     /* closing: nothing after this index */
    int64_t start;            /* ProcessTrace's bounds, FILETIME; 0 and INT64_MAX: none */
    int64_t end;
    bool processing;
    atomic_bool closing;

    char *path; /* files */
    struct etl_handles handles;
    struct arena arena;
    struct etl_file *file;
};

/* SetTraceCallback. */
struct sim_trace_callback {
    struct sim_trace_callback *next;
    struct guid guid;
    void (*callback)(struct etw_event_trace *event);
};

/* OpenTrace for a consumer in another program: a handle for ProcessTrace and CloseTrace, and the
 * session's logfile data; or 0 with ${ret_code}. */
uint64_t sim_consumer_open_away(struct etw_sim *sim, const etw_char *name,
    const struct sim_away *away, void (*tell)(void *self, const struct sim_session *s), void *self,
    uint32_t *ret_code);

/* sim_deliver.c; all without the lock. */

/* The header event of a session, for worlds whose live consumers get it. */
void sim_deliver_header(struct sim_trace *t);

/*
 * All events of ${chunks} by their times, each buffer's callback after its last event. False if a
 * callback asked to stop. ${ret_late} grows by the buffers given after CloseTrace.
 */
bool sim_deliver_batch(
    struct sim_trace *t, struct sim_chunk *const *chunks, size_t count, uint64_t *ret_late);

/* Give one record to the callback of ${t}, unless it is outside the times of ProcessTrace. */
void sim_deliver_record(struct sim_trace *t, const struct event_record *record, uint16_t logger_id);

/* The values that OpenTrace returns. */
void sim_deliver_fill_header(const struct sim_session *s, struct etw_logfile_header *header);
void sim_deliver_fill_info(const struct sim_session *s, struct trace_info *info);

/* sim_trace_file.c: open t->path; merged delivery of files. */
uint32_t sim_trace_file_open(struct sim_trace *t);
uint32_t sim_trace_file_run(struct sim_trace *const *traces, size_t count);
void sim_trace_file_close(struct sim_trace *t);

#endif
