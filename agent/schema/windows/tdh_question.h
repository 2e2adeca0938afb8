#ifndef ETWSHIP_SCHEMA_WINDOWS_TDH_QUESTION_H
#define ETWSHIP_SCHEMA_WINDOWS_TDH_QUESTION_H

#include "etw/etw_types.h"
#include "event/model/record.h"

/*
 * A copy of an event in the form that TDH takes (EVENT_RECORD), in one allocation, so that TDH can
 * be called after the event itself is gone.
 */
struct tdh_question {
    struct etw_event_record record;
    struct etw_extended_item items[RECORD_MAX_EXTENDED];
    uint8_t bytes[]; /* of the items, then the payload */
};

/* Size of the key that distinguishes event types for TDH. */
enum { TDH_KEY_BYTES = 21 };

/* True if TDH may know the type of ${record}: messages, texts and self-describing events need no
 * look-up. */
bool tdh_question_makes_sense(const struct event_record *record);

void tdh_question_key(const struct event_record *record, uint8_t ret_key[TDH_KEY_BYTES]);

/* A copy that the caller frees with free(), of ${ret_bytes} bytes at most. Stacks, and items or
 * payload beyond 64 KB, are left out. NULL: no memory. */
struct tdh_question *tdh_question_create(const struct event_record *record, size_t *ret_bytes);

#endif
