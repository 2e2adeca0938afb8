#ifndef ETWSHIP_INPUT_WINDOWS_ETW_ORDER_H
#define ETWSHIP_INPUT_WINDOWS_ETW_ORDER_H

#include "base/error.h"
#include "input/windows/etw_trace.h"

/*
 * Raw buffers arrive when they are flushed, each from one processor. Their records are held until
 * nothing older can arrive, and then delivered in time order. A record that arrives even later is
 * delivered at once, after newer ones. Not thread-safe.
 */
struct etw_order;

struct etw_order_settings {
    size_t max_bytes; /* limit of held buffers; beyond it the oldest records are delivered early */
    void *self;
    bool (*record)(void *self, const struct event_record *record); /* false: stop */
    void (*problem)(void *self, const char *what); /* a buffer was invalid; static text */
};

/* NULL if memory is short. */
struct etw_order *etw_order_create(const struct etw_order_settings *settings, struct error *err);
void etw_order_destroy(struct etw_order *order); /* NULL is fine; held records are dropped. */

/* Add a copy of ${buffer} to the row of its processor; if memory is short, everything is delivered
 * at once. ${trace} must outlive the order. */
void etw_order_add(struct etw_order *order, struct span buffer, struct etw_trace *trace);

/* Deliver records up to ${until}, FILETIME. Nothing is delivered after the callback stopped. */
void etw_order_give(struct etw_order *order, uint64_t until);

/* True if no buffers are held. */
bool etw_order_is_empty(const struct etw_order *order);

/* Number of records delivered after younger ones. */
uint64_t etw_order_late(const struct etw_order *order);

#endif
