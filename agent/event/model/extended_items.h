#ifndef ETWSHIP_EVENT_EXTENDED_ITEMS_H
#define ETWSHIP_EVENT_EXTENDED_ITEMS_H

#include "event/model/record.h"

/* Does an item of ${record} before number ${index} have the same key? A key stands once. */
bool extended_items_is_repeated(const struct event_record *record, size_t index);

#endif
