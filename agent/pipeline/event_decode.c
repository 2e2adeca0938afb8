#include "pipeline/event_decode.h"

static uint8_t pointer_size_of(const struct event_decode *decode, const struct event_record *record)
{
    return decode->pointer_size ? decode->pointer_size : record->pointer_size;
}

/* May a payload that does not fit be tried with the other size of pointers? */
static bool has_other_width(const struct event_decode *decode, const struct event_schema *schema)
{
    return !decode->pointer_size && schema->kind == SCHEMA_MOF && schema->uses_pointers;
}

/* A 32-bit logger on a 64-bit machine writes 64-bit payloads behind 32-bit headers. Only classes
 * are tried again: their sizes are exact, so a fit with the other width is no accident. */
static bool try_other_width(struct event_decode *decode, const struct event_record *record,
    const struct event_schema *schema, struct event *event)
{
    if (!has_other_width(decode, schema)) {
        return false;
    }
    uint8_t other = record->pointer_size == 8 ? 4 : 8;
    decoder_run(decode->decoder, record, schema, other, event);
    return event->status == DECODE_COMPLETE;
}

/* Does the definition take the payload to its last byte? One of names alone takes nothing. */
static bool fits(struct event_decode *decode, const struct event_record *record,
    const struct event_schema *schema, uint8_t pointer_size, struct event *event)
{
    decoder_run(decode->decoder, record, schema, pointer_size, event);
    return event->status == DECODE_COMPLETE ||
           (event->status == DECODE_RAW && record->payload.size == 0);
}

void event_decode_with(struct event_decode *decode, const struct event_record *record,
    const struct schema_choice *choice, struct event *ret_event)
{
    uint8_t pointer_size = pointer_size_of(decode, record);
    for (size_t i = 0; i < choice->count; i++) {
        if (fits(decode, record, choice->list[i], pointer_size, ret_event)) {
            return;
        }
    }
    for (size_t i = 0; i < choice->count; i++) {
        if (try_other_width(decode, record, choice->list[i], ret_event)) {
            return;
        }
    }
    /* Nothing fits: the first definition stands, with what it could make of it. */
    decoder_run(
        decode->decoder, record, choice->count ? choice->list[0] : NULL, pointer_size, ret_event);
    if (choice->late && ret_event->status == DECODE_RAW) {
        ret_event->error = "Windows (TDH) has not said yet what the event is made of";
    }
}

bool event_decode_begin(struct event_decode *decode, const struct event_record *record,
    const struct schema_choice *choice, uint16_t field_count, struct event *event)
{
    const struct event_schema *schema = choice->count == 1 ? choice->list[0] : NULL;
    if (!schema || !schema->has_layout || has_other_width(decode, schema)) {
        return false;
    }
    const struct event before = *event;
    decoder_begin(
        decode->decoder, record, schema, pointer_size_of(decode, record), field_count, event);
    event->process = before.process;
    event->stack = before.stack;
    event->stack_count = before.stack_count;
    return true;
}

void event_decode_finish(struct event_decode *decode, struct event *event)
{
    decoder_finish(decode->decoder, event);
}

void event_decode_run(
    struct event_decode *decode, const struct event_record *record, struct event *ret_event)
{
    event_decode_with(decode, record, schema_cache_find(decode->cache, record), ret_event);
}

void decode_counts_add(struct decode_counts *counts, const struct event *event)
{
    counts->raw += event->status == DECODE_RAW && event->record->payload.size > 0;
    counts->partial += event->status == DECODE_PARTIAL;
    counts->messages += event->record->kind == RECORD_MESSAGE &&
                        !(event->schema && event->schema->wpp);
    counts->other_width += event->pointer_size != event->record->pointer_size;
}
