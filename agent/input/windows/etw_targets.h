#ifndef ETWSHIP_INPUT_WINDOWS_ETW_TARGETS_H
#define ETWSHIP_INPUT_WINDOWS_ETW_TARGETS_H

#include "etw/etw_heap.h"
#include "input/input.h"
#include "input/windows/etw_plan.h"

/*
 * The processes whose heaps a session traces: one that it launches, halted until the session runs;
 * or some that run already. For one that is launched its image's TracingFlags (etw/etw_image_flags.h)
 * are set until the first events have come.
 *
 * The program is launched once in the life of this object. Which one it is stands in the data folder
 * (etw-SESSION.launched) until it has ended: a later run goes on with it as long as it runs, and does
 * not launch a second one. The session's thread alone.
 */
struct etw_targets;

/* ${plan} and what ${env} points to outlive it. ${look_ns}: between two looks for further processes of
 * the names. NULL: no memory. */
struct etw_targets *etw_targets_create(
    const struct etw_plan *plan, const struct input_env *env, uint64_t look_ns);
void etw_targets_destroy(struct etw_targets *targets); /* NULL is fine */

/*
 * Have the processes: launch the program, or find those that run. ERR_CONFIG: none of them will ever
 * run; ERR_STOPPED: none of them runs now. What was there before and has ended is gone from ${ret_pids}, of
 * ETW_MAX_HEAP_PROCESSES.
 */
bool etw_targets_get(
    struct etw_targets *targets, uint32_t *ret_pids, size_t *ret_count, struct error *err);

/* Are they launched, and have not run yet? */
bool etw_targets_are_fresh(const struct etw_targets *targets);

/* The session runs, and is read: let go what was launched. */
bool etw_targets_go(struct etw_targets *targets, struct error *err);

/* The session has come this far: flags that are not needed any more are put back, and now and then
 * processes of the names that have begun since are added, where Windows can (etw_heap_update). */
void etw_targets_look(
    struct etw_targets *targets, const struct etw_session_state *state, uint64_t now_ns);

enum etw_targets_end {
    ETW_TARGETS_RUN,  /* at least one does, or none was asked for yet */
    ETW_TARGETS_OVER, /* all have ended, and there will be no others */
    ETW_TARGETS_AWAY, /* all have ended, others may come */
};

/* Have they all ended? Told once. */
enum etw_targets_end etw_targets_ended(struct etw_targets *targets);

/* input_ops.goes_on, legacy and renounce, of what is launched: the session ends, the program goes on and the
 * next one traces it; one that has ended is not launched again. */
bool etw_targets_goes_on(const struct etw_targets *targets, const struct etw_targets *next);
void etw_targets_legacy(const struct etw_targets *targets, struct buf *out);
void etw_targets_renounce(struct span legacy);

/* The session is gone. What was launched and never ran is ended; what runs goes on. */
void etw_targets_leave(struct etw_targets *targets);

/* The agent ends: end what was launched, if the plan says so. Before etw_targets_leave. */
void etw_targets_stop(struct etw_targets *targets);

#endif
