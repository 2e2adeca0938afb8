#ifndef ETWSHIP_PIPELINE_STACK_KEYS_H
#define ETWSHIP_PIPELINE_STACK_KEYS_H

#include "event/model/record.h"

/*
 * The stacks of stack keys. The kernel keeps stacks in a cache and names each by a key. A record
 * defines a key when its stack enters the cache (type 34, create), leaves it (35, delete) or is
 * still in it at the end of the session (36, rundown). After a delete the kernel uses the key again
 * for another stack, so a key has several lives, one after another. A reference belongs to the life
 * that contains the time of the reference record itself, which is later than its event. Sources:
 * PERFINFO_STACKWALK_* in ntwmi.h; tests/golden/stacks.py over recorded traces.
 *
 * At most 8 MB are kept. The memory of a life is freed when no later reference to it is possible,
 * so the limit applies to simultaneous lives. A recorded trace has all of its lives learned ahead
 * of time; where they do not fit, the last eighth of the memory is for rundowns, which describe the
 * stacks that are referred to most. One thread at a time.
 */
struct stack_keys;

enum { STACK_KEYS_MAX_FRAMES = 1024 }; /* of one stack; further ones are left out */

struct stack_reference {
    const struct trace_info *trace;
    uint64_t key;
    int64_t time_raw; /* of the reference record */
    uint16_t cpu;     /* … and its processor */
    bool is_user;     /* it is about the user's part of a stack, not about the kernel's */
};

struct stack_keys *stack_keys_create(void); /* NULL: out of memory */
void stack_keys_destroy(struct stack_keys *keys);

/* Take a definition record ahead of its place in the trace. True if it is one and was kept, or was
 * known already. */
bool stack_keys_learn(struct stack_keys *keys, const struct event_record *record);

/* The trace has come to this definition record; takes it like stack_keys_learn if it is new.
 * True if it has resolved a reference. */
bool stack_keys_pass(struct stack_keys *keys, const struct event_record *record);

/* The stack of a reference into ${ret_frames} (room for STACK_KEYS_MAX_FRAMES). False if it is
 * unknown. */
bool stack_keys_find(struct stack_keys *keys, const struct stack_reference *reference,
    uint64_t *ret_frames, uint32_t *ret_count);

/* No reference comes any more to a life that ended before ${time} (FILETIME) and has passed by. */
void stack_keys_remove_before(struct stack_keys *keys, uint64_t time);

/* No record of ${trace} comes any more. */
void stack_keys_remove_trace(struct stack_keys *keys, const struct trace_info *trace);

#endif
