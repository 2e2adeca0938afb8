#include "event/model/record.h"

#include "base/reader.h"

const struct guid record_metadata_class = {{0xc1, 0xf6, 0xcc, 0xbb, 0xd1, 0x6c, 0xc4, 0x48, 0x80,
    0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71}};

const struct extended_item *record_extended(
    const struct event_record *record, enum extended_type type)
{
    for (size_t i = 0; i < record->extended_count; i++) {
        if (record->extended[i].type == type) {
            return &record->extended[i];
        }
    }
    return NULL;
}

bool record_is_manifest_data(const struct event_record *record)
{
    enum { MANIFEST_TASK = 0xfffe, MANIFEST_OPCODE = 0xfe };
    /* Envelope: format, major, minor, magic, u16 total chunks, u16 chunk. */
    enum { ENVELOPE_SIZE = 8, FORMAT_XML = 1, MAGIC = 0x5b };
    const struct event_descriptor *d = &record->descriptor;
    struct span payload = record->payload;
    return record->kind == RECORD_EVENT && !(record->present & RECORD_OF_LOG) &&
           d->id == RECORD_MANIFEST_ID && d->task == MANIFEST_TASK &&
           d->opcode == MANIFEST_OPCODE && payload.size >= ENVELOPE_SIZE &&
           payload.data[0] == FORMAT_XML && payload.data[3] == MAGIC;
}

struct span record_log_message(const struct event_record *record)
{
    const struct extended_item *item = record->present & RECORD_OF_LOG
                                           ? record_extended(record, EXTENDED_LOG_MESSAGE)
                                           : NULL;
    return item ? item->data : span_make(NULL, 0);
}

bool record_is_metadata(const struct event_record *record)
{
    switch (record->kind) {
    case RECORD_KERNEL:
        return record->hook_id == 0;
    case RECORD_CLASSIC:
        return guid_equal(&record->provider, &record_metadata_class);
    case RECORD_EVENT:
        return record_is_manifest_data(record);
    case RECORD_MESSAGE:
    case RECORD_OPAQUE:
        break;
    }
    return false;
}

struct event_descriptor record_read_descriptor(struct reader *r)
{
    struct event_descriptor d = {.id = reader_u16(r)};
    d.version = reader_u8(r);
    d.channel = reader_u8(r);
    d.level = reader_u8(r);
    d.opcode = reader_u8(r);
    d.task = reader_u16(r);
    d.keyword = reader_u64(r);
    return d;
}
