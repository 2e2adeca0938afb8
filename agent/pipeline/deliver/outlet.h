#ifndef ETWSHIP_PIPELINE_OUTLET_H
#define ETWSHIP_PIPELINE_OUTLET_H

#include "pipeline/batch/delivered.h"
#include "pipeline/deliver/dead_letters.h"
#include "pipeline/deliver/delivery_host.h"
#include "pipeline/record/ledger.h"
#include "pipeline/slab/losses.h"
#include "pipeline/spool/spool.h"

/*
 * One output at work: its threads take the batches of a cursor, deliver them and ack. An outlet
 * waits for its destination alone, so one that is stuck does not delay another.
 *
 * With a spool that keeps what waits, nothing is lost when the output ends or the agent stops: it
 * stays there, and counts as pending. The spool remembers how far the output is, and its
 * checkpoint; then `resume` and outlet_progress have nothing to say.
 */
struct outlet;

struct outlet_settings {
    size_t index;       /* of the output, in the ledger */
    const char *name;   /* borrowed */
    const char *format; /* name of the event format of its stream; borrowed */
    const struct output_ops *ops;
    const void *settings; /* of the output; borrowed */
    struct delivery_retry retry;
    bool ends_on_failure;   /* delivery_host_settings */
    size_t workers;         /* threads; batches of several may arrive in any order */
    bool ids;               /* it wants to know what its records are called */
    struct span checkpoint; /* of the run before; copied */
    const char *folder;     /* output_env.folder; copied */
    const char *agent_id;   /* output_env.agent_id; borrowed */
    const uint64_t
        *resume; /* by session: what lies at or below was delivered then; NULL: nothing */
    /* By session: of which batches that holds, and what else was delivered; NULL: of all. */
    const struct delivered *delivered;
    /* By session: an earlier run may have delivered more of it than `resume` knows. NULL: none. */
    const bool *repeats;
    size_t session_count;

    struct spool *spool; /* borrowed */
    size_t cursor;
    struct ledger *ledger; /* borrowed */
    struct losses *losses; /* borrowed; NULL: they are not shipped */
    bool drops_held; /* where as much is held as may be, the oldest live events of that make room */
    struct dead_letters *dead_letters; /* borrowed; NULL: what is refused is lost */

    /*
     * Store what outlet_progress tells, durably; called on a thread of the output. NULL: there is
     * no place to store it.
     */
    bool (*save)(void *self, struct error *err);
    /* The output has ended permanently; ${closed}: because its reader closed it. Any thread. May be
     * NULL. */
    void (*ended)(void *self, size_t index, bool closed);
    /* The agent is not to wait any more, beside OUTLET_CANCELS.
     * Threads of the outlet. May be NULL. */
    bool (*stopping)(void *self);
    /* Log a warning. Warnings with equal ${kind}, a word, are about the same cause. Any thread. */
    void (*warn)(void *self, const char *output, const char *kind, const char *text);
    /* Log information. Any thread. May be NULL. */
    void (*note)(void *self, const char *output, const char *text);
    void *self;
};

/* Makes the output objects; starts nothing. NULL with ${err} set on failure. */
struct outlet *outlet_create(const struct outlet_settings *settings, struct error *err);

/* Joined, or never started. NULL is fine. */
void outlet_destroy(struct outlet *outlet);

bool outlet_start(struct outlet *outlet, struct error *err);

/*
 * End the output, which may do its last chores and have its state saved meanwhile: a save asks
 * every outlet for its state, so all of them are closed before the first is destroyed.
 * After outlet_join.
 */
void outlet_close(struct outlet *outlet);

/* How far the agent has asked an outlet to stop. Each value includes those before it, and it never
 * decreases. */
enum outlet_state {
    OUTLET_RUNS,
    /* The agent stops: it tries at once what waits for its next try, as much may have changed since
     * the last one. It waits as long as the destination asked it to. */
    OUTLET_RETRIES_NOW,
    /* With a spool that keeps: it ends after the batch that it is sending has arrived or failed.
     * The spool keeps the rest for the next run, or the next agent. */
    OUTLET_HANDS_OVER,
    /* It no longer waits for the destination: it counts what is left as dropped, and positions
     * stay. For a moment it still delivers events of the agent itself, which report what was
     * dropped. */
    OUTLET_CANCELS,
};

/* Bring the outlet to ${to}. A state that it has passed is ignored:
 * several threads may ask. Any thread. */
void outlet_move(struct outlet *outlet, enum outlet_state to);

/* That moment. An output that has not returned two seconds after it was cancelled is stuck. */
enum { OUTLET_LAST_WORDS_MS = 1500, OUTLET_STUCK_MS = 2000 };

/*
 * Wait until its threads have ended: they do at the end of the spool. False if one is stuck inside
 * the output; then the outlet must not be destroyed. May be called again.
 */
bool outlet_join(struct outlet *outlet);

/*
 * Get the state to store for a restart: per session the sequence up to which everything is acked,
 * and the matching checkpoint, appended to ${checkpoint}. Returns a number that grows with every
 * change; if ${known_change} equals it, nothing is written. Any thread.
 */
uint64_t outlet_progress(
    struct outlet *outlet, uint64_t known_change, uint64_t *ret_sequences, struct buf *checkpoint);

/* Has its reader gone away? Then what it did not take is no loss. */
bool outlet_closed(struct outlet *outlet);

#endif
