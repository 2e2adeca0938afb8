#ifndef ETWSHIP_INPUT_WINDOWS_ETW_TARGETS_H
#define ETWSHIP_INPUT_WINDOWS_ETW_TARGETS_H

#include "etw/session/etw_heap.h"
#include "input/input.h"
#include "input/windows/etw_plan.h"

/*
 * The processes with heaps traced by a session: a program that it launches, suspended until the
 * session runs, or running processes. The TracingFlags of a launched program's image
 * (etw/etw_image_flags.h) are set until the first events have arrived.
 *
 * The program is launched once in the life of this object. A file in the data folder
 * (etw-SESSION.launched) records it until it has ended: a later run continues with it while it
 * runs, and does not launch a second one. Only for the session's thread.
 */
struct etw_targets;

/* ${plan} and what ${env} points to must outlive it. ${look_ns}: interval between searches for new
 * processes with the names. NULL: no memory. */
struct etw_targets *etw_targets_create(
    const struct etw_plan *plan, const struct input_env *env, uint64_t look_ns);
void etw_targets_destroy(struct etw_targets *targets); /* NULL is fine */

/*
 * Obtain the processes: launch the program, or find running ones. ERR_CONFIG: none of them will
 * ever run; ERR_STOPPED: none of them runs now. ${ret_pids} has ETW_MAX_HEAP_PROCESSES entries;
 * processes that have ended are removed from it.
 */
bool etw_targets_get(
    struct etw_targets *targets, uint32_t *ret_pids, size_t *ret_count, struct error *err);

/* True if the program was launched but not resumed yet. */
bool etw_targets_are_fresh(const struct etw_targets *targets);

/* The session runs and is read: resume the launched program. */
bool etw_targets_go(struct etw_targets *targets, struct error *err);

/* Periodic work: restore flags that are no longer needed, and add new processes with the names, if
 * Windows supports that (etw_heap_update). */
void etw_targets_look(
    struct etw_targets *targets, const struct etw_session_state *state, uint64_t now_ns);

enum etw_targets_end {
    ETW_TARGETS_RUN,  /* at least one runs, or none was requested yet */
    ETW_TARGETS_OVER, /* all have ended, and no others will follow */
    ETW_TARGETS_AWAY, /* all have ended, others may follow */
};

/* Whether all have ended. Reported once. */
enum etw_targets_end etw_targets_ended(struct etw_targets *targets);

/* Implement input_ops.continues, takeover and end_takeover for a launched program: the session
 * ends, the program continues, and the next session traces it. A program that has ended is not
 * launched again. */
bool etw_targets_goes_on(const struct etw_targets *targets, const struct etw_targets *next);
void etw_targets_write_takeover(const struct etw_targets *targets, struct buf *out);
void etw_targets_end_takeover(struct span takeover);

/* The session is gone. A launched program that never ran is ended; a running one continues. */
void etw_targets_end_session(struct etw_targets *targets);

/* The agent stops: end the launched program if the plan says so. Call before
 * etw_targets_end_session. */
void etw_targets_stop(struct etw_targets *targets);

#endif
