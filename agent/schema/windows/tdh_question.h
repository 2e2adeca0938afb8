#ifndef ETWSHIP_SCHEMA_WINDOWS_TDH_QUESTION_H
#define ETWSHIP_SCHEMA_WINDOWS_TDH_QUESTION_H

#include "etw/etw_types.h"
#include "event/record.h"

/*
 * An event as TDH takes it (EVENT_RECORD), with everything it points to, in one piece of memory: for
 * asking what the event is made of after the event itself has gone.
 */
struct tdh_question {
    struct etw_event_record record;
    struct etw_extended_item items[RECORD_MAX_EXTENDED];
    uint8_t bytes[]; /* of the items, then the payload */
};

/* What tells two types of events apart for TDH. */
enum { TDH_KEY_BYTES = 21 };

/* Can TDH know the type of ${record}? Messages, texts, and events that describe themselves need
 * nobody else. */
bool tdh_question_makes_sense(const struct event_record *record);

void tdh_question_key(const struct event_record *record, uint8_t ret_key[TDH_KEY_BYTES]);

/* A copy for the caller to free(), of at most ${ret_bytes} bytes; stacks, and what is beyond 64 KB
 * of items or of payload, are left out. NULL without memory. */
struct tdh_question *tdh_question_create(const struct event_record *record, size_t *ret_bytes);

#endif
