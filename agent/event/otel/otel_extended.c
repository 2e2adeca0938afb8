#include "event/otel/otel_extended.h"

#include "base/bytes.h"
#include "base/put.h"
#include "event/model/event_stack.h"
#include "event/model/extended_items.h"
#include "event/otel/otel_codec.h"

/* Names of items after `etw.extended.`, as the native event has them after `extended.`. */
#define EXTENDED(name) span_text("etw.extended." name)

static void add_number(
    const struct otel_codec *codec, struct buf *out, struct span key, struct span bytes)
{
    if (bytes.size == 8 || bytes.size == 4) {
        otel_codec_unsigned(codec, out, OTEL_RECORD, key, load_le(bytes.data, bytes.size), false);
    } else {
        codec->bytes(out, OTEL_RECORD, key, bytes);
    }
}

static void add_guid(
    const struct otel_codec *codec, struct buf *out, const char *key, struct span bytes)
{
    if (bytes.size == 16) {
        otel_codec_guid(codec, out, OTEL_RECORD, key, bytes.data);
    } else {
        codec->bytes(out, OTEL_RECORD, span_text(key), bytes);
    }
}

static void add_sid(
    const struct otel_codec *codec, struct buf *out, struct span bytes, bool is_text)
{
    enum { LONGEST = 256 };
    struct otel_open open;
    uint8_t text[LONGEST];
    uint8_t *end = text;
    if (is_text) {
        otel_codec_text(codec, out, OTEL_RECORD, "etw.extended.sid", bytes);
    } else if (!put_sid(&end, bytes)) {
        codec->bytes(out, OTEL_RECORD, EXTENDED("sid"), bytes);
    } else if (codec->open_text(out, OTEL_RECORD, EXTENDED("sid"), LONGEST, LONGEST, &open)) {
        buf_add(out, text, (size_t)(end - text));
        codec->close_text(out, &open);
    }
}

static void add_counters(const struct otel_codec *codec, struct buf *out, struct span bytes)
{
    struct otel_open open;
    codec->open_list(out, OTEL_RECORD, EXTENDED("pmc_counters"), &open);
    for (size_t at = 0; at + 8 <= bytes.size; at += 8) {
        otel_codec_unsigned(
            codec, out, OTEL_ELEMENT, span_make(NULL, 0), load_le64(bytes.data + at), false);
    }
    codec->close(out, &open);
}

/* A match id, then one key. */
static void add_stack_key(
    const struct otel_codec *codec, struct buf *out, struct span bytes, size_t width)
{
    struct span key = span_from(bytes, 8);
    if (key.size >= width) {
        otel_codec_hex(codec, out, OTEL_RECORD, EXTENDED("stack_key"), load_le(key.data, width));
    }
}

/* UInt32 id, UInt32 parent id, parent GUID. */
static void add_instance(const struct otel_codec *codec, struct buf *out, struct span bytes)
{
    if (bytes.size < 24) {
        codec->bytes(out, OTEL_RECORD, EXTENDED("instance"), bytes);
        return;
    }
    otel_codec_number(codec, out, OTEL_RECORD, "etw.extended.instance.id", load_le32(bytes.data));
    otel_codec_number(
        codec, out, OTEL_RECORD, "etw.extended.instance.parent_id", load_le32(bytes.data + 4));
    add_guid(codec, out, "etw.extended.instance.parent_guid", span_make(bytes.data + 8, 16));
}

/* The instance ids in the header of an instance record. */
static void add_header_instance(
    const struct otel_codec *codec, struct buf *out, const struct event_record *record)
{
    otel_codec_number(codec, out, OTEL_RECORD, "etw.extended.instance.id", record->instance_id);
    otel_codec_number(
        codec, out, OTEL_RECORD, "etw.extended.instance.parent_id", record->parent_instance_id);
    if (!guid_is_zero(&record->parent_guid)) {
        otel_codec_guid(codec, out, OTEL_RECORD, "etw.extended.instance.parent_guid",
            record->parent_guid.bytes);
    }
}

static void add_unknown(
    const struct otel_codec *codec, struct buf *out, uint16_t type, struct span bytes)
{
    uint8_t key[2 * PUT_MAX];
    uint8_t *end = put_hex(put_literal(key, "etw.extended.type_"), type);
    codec->bytes(out, OTEL_RECORD, span_make(key, (size_t)(end - key)), bytes);
}

static void add_item(
    const struct otel_codec *codec, struct buf *out, uint16_t type, struct span bytes)
{
    switch (type) {
    case EXTENDED_TS_ID:
        add_number(codec, out, EXTENDED("session_id"), bytes);
        break;
    case EXTENDED_PEBS_INDEX:
        add_number(codec, out, EXTENDED("pebs_index"), bytes);
        break;
    case EXTENDED_EVENT_KEY:
        add_number(codec, out, EXTENDED("event_key"), bytes);
        break;
    case EXTENDED_PROCESS_START_KEY:
        add_number(codec, out, EXTENDED("start_key"), bytes);
        break;
    case EXTENDED_QPC_DELTA:
        add_number(codec, out, EXTENDED("qpc_delta"), bytes);
        break;
    case EXTENDED_CONTROL_GUID:
        add_guid(codec, out, "etw.extended.control_guid", bytes);
        break;
    case EXTENDED_CONTAINER_ID:
        add_guid(codec, out, "etw.extended.container_id", bytes);
        break;
    case EXTENDED_INSTANCE_INFO:
        add_instance(codec, out, bytes);
        break;
    case EXTENDED_PMC_COUNTERS:
        add_counters(codec, out, bytes);
        break;
    case EXTENDED_STACK_KEY32:
        add_stack_key(codec, out, bytes, 4);
        break;
    case EXTENDED_STACK_KEY64:
        add_stack_key(codec, out, bytes, 8);
        break;
    case EXTENDED_PSM_KEY:
        codec->bytes(out, OTEL_RECORD, EXTENDED("psm_key"), bytes);
        break;
    default:
        add_unknown(codec, out, type, bytes);
        break;
    }
}

static void add_stack(const struct otel_codec *codec, struct buf *out, const struct event *event)
{
    const struct event_record *record = event->record;
    struct event_frames frames = {.event = event};
    struct otel_open open;
    uint64_t frame;
    for (size_t i = 0; i < record->extended_count; i++) {
        struct span data = record->extended[i].data;
        if (event_stack_is_item(record->extended[i].type) && data.size >= 8 &&
            load_le64(data.data)) {
            otel_codec_number(codec, out, OTEL_RECORD, "etw.stack.match_id", load_le64(data.data));
            break;
        }
    }
    codec->open_list(out, OTEL_RECORD, span_text("etw.stack"), &open);
    while (event_stack_next(&frames, &frame) && !out->failed) {
        otel_codec_hex(codec, out, OTEL_ELEMENT, span_make(NULL, 0), frame);
    }
    codec->close(out, &open);
}

/* True if the item is written elsewhere, or only describes the layout. */
static bool is_silent(uint16_t type)
{
    return type == EXTENDED_RELATED_ACTIVITY_ID || type == EXTENDED_SCHEMA_TL ||
           type == EXTENDED_PROV_TRAITS || event_stack_is_item(type);
}

void otel_extended_add(struct event_writer *writer, const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    const struct otel_codec *codec = writer->codec;
    if (record->present & RECORD_HAS_INSTANCE && !record_extended(record, EXTENDED_INSTANCE_INFO)) {
        add_header_instance(codec, out, record);
    }
    for (size_t i = 0; i < record->extended_count; i++) {
        const struct extended_item *item = &record->extended[i];
        if (is_silent(item->type) || record_is_log_message(record, item) ||
            extended_items_is_repeated(record, i)) {
            continue;
        }
        if (item->type == EXTENDED_SID) {
            add_sid(codec, out, item->data, record->present & RECORD_SID_IS_TEXT);
        } else {
            add_item(codec, out, item->type, item->data);
        }
    }
    if (event_stack_is_there(event)) {
        add_stack(codec, out, event);
    }
}
