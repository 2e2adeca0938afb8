#ifndef ETWSHIP_INPUT_WINDOWS_ETW_ORDER_H
#define ETWSHIP_INPUT_WINDOWS_ETW_ORDER_H

#include "base/error.h"
#include "input/windows/etw_trace.h"

/*
 * Raw buffers come as they are flushed, each of one processor: their records are held until nothing
 * older can be on its way any more, and then given in one order of time. What comes later still is
 * given at once, after newer ones. One thread at a time.
 */
struct etw_order;

struct etw_order_settings {
    size_t max_bytes; /* of held buffers: with more, the oldest records are given early */
    void *self;
    bool (*record)(void *self, const struct event_record *record); /* false: no more */
    void (*problem)(void *self, const char *what); /* a buffer made no sense; static text */
};

/* NULL without memory. */
struct etw_order *etw_order_create(const struct etw_order_settings *settings, struct error *err);
void etw_order_destroy(struct etw_order *order); /* NULL is fine; what is held is dropped */

/* Take ${buffer} (copied; without memory for that all of it is given at once), behind those of its
 * processor. ${trace} outlives it. */
void etw_order_add(struct etw_order *order, struct span buffer, struct etw_trace *trace);

/* Give what is not younger than ${until}, FILETIME. After a refusal nothing is given any more. */
void etw_order_give(struct etw_order *order, uint64_t until);

/* Is anything held? */
bool etw_order_is_empty(const struct etw_order *order);

/* Records that were given after younger ones. */
uint64_t etw_order_late(const struct etw_order *order);

#endif
