#ifndef ETWSHIP_EVENT_EXTENDED_ITEMS_H
#define ETWSHIP_EVENT_EXTENDED_ITEMS_H

#include "event/model/record.h"

/* True if an item of ${record} before number ${index} has the same key: a key is written once. */
bool extended_items_is_repeated(const struct event_record *record, size_t index);

#endif
