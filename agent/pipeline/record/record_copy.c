#include "pipeline/record/record_copy.h"

enum { ALIGNMENT = _Alignof(struct event_record) };

static size_t align(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

size_t record_copy_size(const struct event_record *record)
{
    size_t size = sizeof(*record) + record->extended_count * sizeof(*record->extended);
    for (size_t i = 0; i < record->extended_count; i++) {
        size += record->extended[i].data.size;
    }
    return align(size + record->payload.size);
}

struct event_record *record_copy_make(const struct event_record *record, void *memory)
{
    struct event_record *copy = memory;
    struct extended_item *items = (struct extended_item *)(copy + 1);
    uint8_t *bytes = (uint8_t *)(items + record->extended_count);
    *copy = *record;
    copy->extended = items;
    for (size_t i = 0; i < record->extended_count; i++) {
        struct span data = record->extended[i].data;
        items[i] = (struct extended_item){
            .type = record->extended[i].type, .data = span_make(bytes, data.size)};
        if (data.size) {
            memcpy(bytes, data.data, data.size);
        }
        bytes += data.size;
    }
    copy->payload.data = bytes;
    if (record->payload.size) {
        memcpy(bytes, record->payload.data, record->payload.size);
    }
    return copy;
}
