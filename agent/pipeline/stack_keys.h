#ifndef ETWSHIP_PIPELINE_STACK_KEYS_H
#define ETWSHIP_PIPELINE_STACK_KEYS_H

#include "event/record.h"

/*
 * What stack keys stand for. A key is defined when its stack enters the kernel's cache (type 34),
 * leaves it (35) or at the end of the session (36), and may be used again for another stack after
 * it has left. So a reference means the first definition of its key that ends at or after the
 * reference's time, else the last creation before it.
 *
 * At most 8 MB of frames are kept; what comes beyond stays unresolved.
 */
struct stack_keys;

struct stack_keys *stack_keys_create(void); /* NULL: out of memory */
void stack_keys_destroy(struct stack_keys *keys);

/* Take a definition record. True if it is one and was kept, or was known already. */
bool stack_keys_learn(struct stack_keys *keys, const struct event_record *record);

/* Frames for ${key} of ${trace} at raw time ${time}; NULL if unknown. Marks the definition as
 * used. */
const uint64_t *stack_keys_find(struct stack_keys *keys, const struct trace_info *trace,
    uint64_t key, int64_t time, uint32_t *ret_count);

/* Has a reference been resolved by the definition that ${record} is? */
bool stack_keys_used(const struct stack_keys *keys, const struct event_record *record);

#endif
