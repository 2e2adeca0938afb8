#include "support/etl_encode.h"

#include "support/etl_put.h"

enum { MAX_RECORD = 0xffff, MARKER_EVENT = 0xc0, MARKER_MESSAGE = 0x90 };

/* HeaderType by pointer size: [0] 4 bytes, [1] 8. */
static uint8_t header_type(uint8_t pointer_size, uint8_t type32, uint8_t type64)
{
    return pointer_size == 4 ? type32 : type64;
}

/* Write the size of the record that began at ${start} into its header at ${size_at}. */
static void finish(struct buf *out, size_t start, size_t size_at)
{
    if (out->failed) {
        return;
    }
    size_t size = out->size - start;
    if (size > MAX_RECORD) {
        out->failed = true;
        return;
    }
    store_le16(out->data + start + size_at, (uint16_t)size);
}

void etl_encode_kernel(struct buf *out, const struct etl_kernel *h, struct span payload)
{
    static const uint8_t types[][2] = {
        [ETL_SYSTEM] = {1, 2}, [ETL_COMPACT] = {3, 4}, [ETL_PERFINFO] = {16, 17}};
    size_t start = out->size;
    uint16_t version = h->version;
    if (h->form == ETL_PERFINFO) {
        version = (uint16_t)((version & 0xff) | (h->pebs_index ? 0x8000 : 0) |
                             (h->counter_count & 7) << 8);
    }
    etl_put_u16(out, version);
    etl_put_u8(out, header_type(h->pointer_size, types[h->form][0], types[h->form][1]));
    etl_put_u8(out, MARKER_EVENT);
    etl_put_u16(out, 0);
    etl_put_u16(out, h->hook_id);
    if (h->form != ETL_PERFINFO) {
        etl_put_u32(out, h->thread_id);
        etl_put_u32(out, h->process_id);
    }
    etl_put_u64(out, (uint64_t)h->time);
    if (h->form == ETL_SYSTEM) {
        etl_put_u32(out, h->kernel_ticks);
        etl_put_u32(out, h->user_ticks);
    }
    if (h->form == ETL_PERFINFO && h->pebs_index) {
        etl_put_u64(out, *h->pebs_index);
    }
    for (unsigned i = 0; h->form == ETL_PERFINFO && i < (h->counter_count & 7); i++) {
        etl_put_u64(out, h->counters[i]);
    }
    buf_add_span(out, payload);
    finish(out, start, 4);
}

void etl_encode_classic(struct buf *out, const struct etl_classic *h, struct span payload)
{
    size_t start = out->size;
    etl_put_u16(out, 0);
    etl_put_u8(out,
        h->instance ? header_type(h->pointer_size, 11, 21) : header_type(h->pointer_size, 10, 20));
    etl_put_u8(out, MARKER_EVENT);
    etl_put_u8(out, h->opcode);
    etl_put_u8(out, h->level);
    etl_put_u16(out, h->version);
    etl_put_u32(out, h->thread_id);
    etl_put_u32(out, h->process_id);
    etl_put_u64(out, (uint64_t)h->time);
    etl_put_guid(out, &h->class_guid);
    etl_put_u32(out, h->kernel_ticks);
    etl_put_u32(out, h->user_ticks);
    if (h->instance) {
        etl_put_u32(out, h->instance_id);
        etl_put_u32(out, h->parent_instance_id);
        etl_put_guid(out, &h->parent_guid);
    }
    buf_add_span(out, payload);
    finish(out, start, 0);
}

/* The chain of extended items: each with an 8-byte header, padded to 8. */
static void put_items(struct buf *out, const struct extended_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = items[i].data.size;
        size_t padded = (8 + size + 7) & ~(size_t)7;
        if (padded > MAX_RECORD) {
            out->failed = true;
            return;
        }
        etl_put_u16(out, (uint16_t)padded);
        etl_put_u16(out, items[i].type);
        etl_put_u16(out, i + 1 < count ? 1 : 0);
        etl_put_u16(out, (uint16_t)size);
        buf_add_span(out, items[i].data);
        etl_put_zeros(out, padded - 8 - size);
    }
}

void etl_encode_event(struct buf *out, const struct etl_event *h, struct span payload)
{
    size_t start = out->size;
    etl_put_u16(out, 0);
    etl_put_u8(out, header_type(h->pointer_size, 18, 19));
    etl_put_u8(out, MARKER_EVENT);
    etl_put_u16(out, (uint16_t)(h->flags | (h->extended_count ? EVENT_FLAG_EXTENDED_INFO : 0)));
    etl_put_u16(out, h->event_property);
    etl_put_u32(out, h->thread_id);
    etl_put_u32(out, h->process_id);
    etl_put_u64(out, (uint64_t)h->time);
    etl_put_guid(out, &h->provider);
    etl_put_u16(out, h->descriptor.id);
    etl_put_u8(out, h->descriptor.version);
    etl_put_u8(out, h->descriptor.channel);
    etl_put_u8(out, h->descriptor.level);
    etl_put_u8(out, h->descriptor.opcode);
    etl_put_u16(out, h->descriptor.task);
    etl_put_u64(out, h->descriptor.keyword);
    etl_put_u32(out, h->kernel_ticks);
    etl_put_u32(out, h->user_ticks);
    etl_put_guid(out, &h->activity_id);
    put_items(out, h->extended, h->extended_count);
    buf_add_span(out, payload);
    finish(out, start, 0);
}

void etl_encode_message(struct buf *out, const struct etl_message *h, struct span payload)
{
    size_t start = out->size;
    etl_put_u16(out, 0);
    etl_put_u8(out, 0);
    etl_put_u8(out, MARKER_MESSAGE);
    etl_put_u16(out, h->number);
    etl_put_u16(out, h->flags);
    if (h->flags & ETL_MESSAGE_SEQUENCE) {
        etl_put_u32(out, h->sequence);
    }
    if (h->flags & ETL_MESSAGE_COMPONENT) {
        etl_put_u32(out, h->component);
    } else if (h->flags & ETL_MESSAGE_GUID) {
        etl_put_guid(out, &h->guid);
    }
    if (h->flags & ETL_MESSAGE_TIMESTAMP) {
        etl_put_u64(out, (uint64_t)h->time);
    }
    if (h->flags & ETL_MESSAGE_SYSTEMINFO) {
        etl_put_u32(out, h->thread_id);
        etl_put_u32(out, h->process_id);
    }
    buf_add_span(out, payload);
    finish(out, start, 0);
}

static void event_of(struct buf *out, const struct event_record *r)
{
    const struct etl_event header = {.pointer_size = r->pointer_size,
        .flags = r->flags,
        .event_property = r->event_property,
        .thread_id = r->thread_id,
        .process_id = r->process_id,
        .time = r->time_raw,
        .provider = r->provider,
        .descriptor = r->descriptor,
        .kernel_ticks = r->kernel_ticks,
        .user_ticks = r->user_ticks,
        .activity_id = r->activity_id,
        .extended = r->extended,
        .extended_count = r->extended_count};
    etl_encode_event(out, &header, r->payload);
}

static void kernel_of(struct buf *out, const struct event_record *r)
{
    enum etl_kernel_form form = r->header_type >= 16  ? ETL_PERFINFO
                                : r->header_type >= 3 ? ETL_COMPACT
                                                      : ETL_SYSTEM;
    const struct etl_kernel header = {.form = form,
        .pointer_size = r->pointer_size,
        .version = r->descriptor.version,
        .hook_id = r->hook_id,
        .thread_id = r->thread_id,
        .process_id = r->process_id,
        .time = r->time_raw,
        .kernel_ticks = r->kernel_ticks,
        .user_ticks = r->user_ticks};
    etl_encode_kernel(out, &header, r->payload);
}

static void classic_of(struct buf *out, const struct event_record *r)
{
    const struct etl_classic header = {.pointer_size = r->pointer_size,
        .opcode = r->descriptor.opcode,
        .level = r->descriptor.level,
        .version = r->descriptor.version,
        .thread_id = r->thread_id,
        .process_id = r->process_id,
        .time = r->time_raw,
        .class_guid = r->provider,
        .kernel_ticks = r->kernel_ticks,
        .user_ticks = r->user_ticks,
        .instance = (r->present & RECORD_HAS_INSTANCE) != 0,
        .instance_id = r->instance_id,
        .parent_instance_id = r->parent_instance_id,
        .parent_guid = r->parent_guid};
    etl_encode_classic(out, &header, r->payload);
}

static void message_of(struct buf *out, const struct event_record *r)
{
    const struct etl_message header = {.number = r->descriptor.id,
        .flags = r->message_flags,
        .sequence = r->message_sequence,
        .guid = r->provider,
        .component = r->message_component,
        .time = r->time_raw,
        .thread_id = r->thread_id,
        .process_id = r->process_id};
    etl_encode_message(out, &header, r->payload);
}

void etl_encode_record(struct buf *out, const struct event_record *r)
{
    switch (r->kind) {
    case RECORD_EVENT:
        event_of(out, r);
        break;
    case RECORD_CLASSIC:
        classic_of(out, r);
        break;
    case RECORD_KERNEL:
        kernel_of(out, r);
        break;
    case RECORD_MESSAGE:
        message_of(out, r);
        break;
    case RECORD_OPAQUE:
        out->failed = true;
        break;
    }
}
