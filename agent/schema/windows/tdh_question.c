#include "schema/windows/tdh_question.h"

#include <stdlib.h>

enum { MAX_BYTES = UINT16_MAX, HEADER_BYTES = sizeof(struct etw_event_header) };

bool tdh_question_makes_sense(const struct event_record *record)
{
    return (record->kind == RECORD_EVENT || record->kind == RECORD_CLASSIC ||
               record->kind == RECORD_KERNEL) &&
           !(record->flags & EVENT_FLAG_STRING_ONLY) &&
           !record_extended(record, EXTENDED_SCHEMA_TL);
}

static bool is_classic(const struct event_record *record)
{
    return record->kind != RECORD_EVENT;
}

void tdh_question_key(const struct event_record *record, uint8_t ret_key[TDH_KEY_BYTES])
{
    memcpy(ret_key, record->provider.bytes, sizeof(record->provider.bytes));
    ret_key[16] = is_classic(record);
    store_le16(ret_key + 17, is_classic(record) ? 0 : record->descriptor.id);
    ret_key[19] = record->descriptor.version;
    ret_key[20] = is_classic(record) ? record->descriptor.opcode : 0;
}

/* Stack items are large and do not influence the type. */
static bool is_wanted(const struct extended_item *item)
{
    return item->type != EXTENDED_STACK_TRACE32 && item->type != EXTENDED_STACK_TRACE64 &&
           item->data.size > 0;
}

static size_t items_size(const struct event_record *record, size_t *ret_count)
{
    size_t size = 0;
    size_t count = 0;
    while (count < record->extended_count && count < RECORD_MAX_EXTENDED) {
        const struct extended_item *item = &record->extended[count];
        if (is_wanted(item) && item->data.size > MAX_BYTES - size) {
            break;
        }
        size += is_wanted(item) ? item->data.size : 0;
        count++;
    }
    *ret_count = count;
    return size;
}

static void put_header(const struct event_record *record, struct etw_event_header *header)
{
    header->flags = record->flags;
    header->flags |= is_classic(record) ? EVENT_FLAG_CLASSIC : 0;
    header->flags &= (uint16_t) ~(EVENT_FLAG_32_BIT | EVENT_FLAG_64_BIT);
    header->flags |= record->pointer_size == 4 ? EVENT_FLAG_32_BIT : EVENT_FLAG_64_BIT;
    header->event_property = record->event_property;
    header->thread_id = record->thread_id;
    header->process_id = record->process_id;
    header->time_stamp = (int64_t)record->time;
    header->provider_id = record->provider;
    header->descriptor = record->descriptor;
    header->activity_id = record->activity_id;
}

struct tdh_question *tdh_question_create(const struct event_record *record, size_t *ret_bytes)
{
    size_t item_count;
    size_t size = items_size(record, &item_count);
    size_t payload = record->payload.size < MAX_BYTES ? record->payload.size : MAX_BYTES;
    struct tdh_question *question = calloc(1, sizeof(*question) + size + payload);
    if (!question) {
        return NULL;
    }
    uint8_t *at = question->bytes;
    uint16_t count = 0;
    for (size_t i = 0; i < item_count; i++) {
        const struct extended_item *item = &record->extended[i];
        if (is_wanted(item)) {
            memcpy(at, item->data.data, item->data.size);
            question->items[count++] = (struct etw_extended_item){.ext_type = item->type,
                .data_size = (uint16_t)item->data.size,
                .data = (uint64_t)(uintptr_t)at};
            at += item->data.size;
        }
    }
    if (payload) {
        memcpy(at, record->payload.data, payload);
    }
    put_header(record, &question->record.header);
    size_t whole = HEADER_BYTES + payload;
    question->record.header.size = (uint16_t)(whole < UINT16_MAX ? whole : UINT16_MAX);
    question->record.processor_index = record->cpu;
    question->record.extended_data_count = count;
    question->record.extended_data = count ? question->items : NULL;
    question->record.user_data_length = (uint16_t)payload;
    question->record.user_data = at;
    *ret_bytes = sizeof(*question) + size + payload;
    return question;
}
