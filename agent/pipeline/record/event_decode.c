#include "pipeline/record/event_decode.h"

static uint8_t pointer_size_of(const struct event_decode *decode, const struct event_record *record)
{
    return decode->pointer_size ? decode->pointer_size : record->pointer_size;
}

/* May a payload that does not fit be tried with the other size of pointers? */
static bool has_other_width(const struct event_decode *decode, const struct event_schema *schema)
{
    return !decode->pointer_size && schema->kind == SCHEMA_MOF && schema->uses_pointers;
}

static uint8_t other_width(const struct event_record *record)
{
    return record->pointer_size == 8 ? 4 : 8;
}

/* Decode with the first definition that consumes the payload exactly. One with names only consumes
 * nothing. */
static inline bool any_fits(struct event_decode *decode, const struct event_record *record,
    const struct schema_choice *choice, struct event *event)
{
    uint8_t pointer_size = pointer_size_of(decode, record);
    bool fits = false;
    for (size_t i = 0; !fits && i < choice->count; i++) {
        decoder_run(decode->decoder, record, choice->list[i], pointer_size, event);
        fits = event->status == DECODE_COMPLETE ||
               (event->status == DECODE_RAW && record->payload.size == 0);
    }
    return fits;
}

/* A 32-bit logger on a 64-bit machine writes 64-bit payloads after 32-bit headers. Only classes
 * are tried again: their sizes are exact, so a fit with the other width is no accident. */
static bool any_fits_other_width(struct event_decode *decode, const struct event_record *record,
    const struct schema_choice *choice, struct event *event)
{
    for (size_t i = 0; i < choice->count; i++) {
        if (has_other_width(decode, choice->list[i])) {
            decoder_run(decode->decoder, record, choice->list[i], other_width(record), event);
            if (event->status == DECODE_COMPLETE) {
                return true;
            }
        }
    }
    return false;
}

static bool may_have_other_width(const struct event_decode *decode,
    const struct event_record *record, const struct schema_choice *choice)
{
    /* Events of the kernel itself match their headers. */
    bool may = false;
    for (size_t i = 0; record->kind == RECORD_CLASSIC && i < choice->count; i++) {
        may |= has_other_width(decode, choice->list[i]);
    }
    return may;
}

/* ${event} fits with the width of its header. Is it another event with the other width that is
 * right? Then ${event} is that one. */
static bool is_overruled(struct event_decode *decode, const struct event_record *record,
    const struct schema_choice *choice, struct event *event, bool *ret_decode_again)
{
    if (!may_have_other_width(decode, record, choice)) {
        return false;
    }
    uint8_t known = width_evidence_find(decode->widths, record);
    if (known == record->pointer_size ||
        (!known && width_evidence_text(event) != WIDTH_TEXT_GARBAGE)) {
        return false;
    }
    *ret_decode_again = true;
    bool is_right = any_fits_other_width(decode, record, choice, event) &&
                    (known || width_evidence_text(event) == WIDTH_TEXT_PATH);
    event->is_width_learned = is_right && known;
    return is_right;
}

/* Nothing fits: the first definition stands, with what it could make of the payload. */
static void decode_with_first(struct event_decode *decode, const struct event_record *record,
    const struct schema_choice *choice, struct event *event)
{
    bool is_tried_last = choice->count == 1 && !has_other_width(decode, choice->list[0]);
    if (!is_tried_last) {
        const struct event_schema *first = choice->count ? choice->list[0] : NULL;
        uint8_t own = pointer_size_of(decode, record);
        uint8_t known = may_have_other_width(decode, record, choice)
                            ? width_evidence_find(decode->widths, record)
                            : 0;
        decoder_run(decode->decoder, record, first, known ? known : own, event);
        event->is_width_learned = known && known != own;
    }
    if (choice->late && event->status == DECODE_RAW) {
        event->error = "Windows (TDH) has not returned the layout of the event yet";
    }
}

void event_decode_with(struct event_decode *decode, const struct event_record *record,
    const struct schema_choice *choice, struct event *ret_event)
{
    if (any_fits(decode, record, choice, ret_event)) {
        bool again = false;
        if (!is_overruled(decode, record, choice, ret_event, &again) && again) {
            any_fits(decode, record, choice, ret_event);
        }
    } else if (!any_fits_other_width(decode, record, choice, ret_event)) {
        decode_with_first(decode, record, choice, ret_event);
    }
}

void event_decode_weigh(struct event_decode *decode, const struct event_record *record)
{
    const struct schema_choice *choice = schema_cache_find(decode->cache, record);
    if (!decode->widths || !may_have_other_width(decode, record, choice)) {
        return;
    }
    struct event event;
    bool fits_own = any_fits(decode, record, choice, &event);
    enum width_text own_text = fits_own ? width_evidence_text(&event) : WIDTH_TEXT_ANY;
    bool fits_other = any_fits_other_width(decode, record, choice, &event);
    enum width_text other_text = fits_other ? width_evidence_text(&event) : WIDTH_TEXT_ANY;
    if (fits_own != fits_other) {
        width_evidence_add(decode->widths, record,
            fits_own ? record->pointer_size : other_width(record), WIDTH_PROVEN);
        return;
    }
    /* With pointers too narrow, what is left of them stands before the text; with pointers too wide
     * its start is missing, which may look like a path still. */
    bool is_narrow = record->pointer_size == 4;
    enum width_text narrow = is_narrow ? own_text : other_text;
    enum width_text wide = is_narrow ? other_text : own_text;
    if (narrow == WIDTH_TEXT_PATH) {
        width_evidence_add(decode->widths, record, 4, WIDTH_BY_TEXT);
    } else if (narrow == WIDTH_TEXT_GARBAGE && wide == WIDTH_TEXT_PATH) {
        width_evidence_add(decode->widths, record, 8, WIDTH_BY_TEXT);
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
    event_decode_keep(event, &before);
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

/* The record of an event log that has no message, although the user wants one. */
static bool is_silent(const struct event *event)
{
    return !(event->record->present & RECORD_WITHOUT_MESSAGE) &&
           !record_log_message(event->record).size &&
           !(event->schema && event->schema->message.size);
}

/* Of most events nothing is counted here. */
void decode_counts_add(struct decode_counts *counts, const struct event *event)
{
    const struct event_record *record = event->record;
    if (event->status != DECODE_COMPLETE) {
        counts->raw += event_is_undecoded(event);
        counts->partial += event->status == DECODE_PARTIAL;
    }
    if (record->kind == RECORD_MESSAGE) {
        counts->messages += !(event->schema && event->schema->wpp);
    }
    if (record->present & RECORD_OF_LOG) {
        counts->silent += is_silent(event);
    }
    if (event->pointer_size != record->pointer_size) {
        counts->other_width++;
        counts->learned_width += event->is_width_learned;
    }
}
