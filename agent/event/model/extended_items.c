#include "event/model/extended_items.h"

static bool is_stack_key(uint16_t type)
{
    return type == EXTENDED_STACK_KEY32 || type == EXTENDED_STACK_KEY64;
}

bool extended_items_is_repeated(const struct event_record *record, size_t index)
{
    uint16_t type = record->extended[index].type;
    for (size_t i = 0; i < index; i++) {
        uint16_t before = record->extended[i].type;
        if (before == type || (is_stack_key(type) && is_stack_key(before))) {
            return true;
        }
    }
    return false;
}
