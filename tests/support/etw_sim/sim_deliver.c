/*
 * Buffers to callbacks. The records of all available buffers are merged by their times, ties by the
 * buffers' order; a buffer's callback comes after its last event. Losses are reported before the
 * events of the buffer that they concern (rt-lostevent).
 */
#include "input/record/etl_format.h"
#include "input/record/etl_record.h"
#include "support/etl_writer_header.h"
#include "support/etw_sim/sim_consumer.h"

#include <stdlib.h>

/* {6a399ae0-4bc6-4de9-870b-3657f8947e7e} RT_LostEvent */
static const struct guid lost_guid = {{0xe0, 0x9a, 0x39, 0x6a, 0xc6, 0x4b, 0xe9, 0x4d, 0x87, 0x0b,
    0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e}};

void sim_deliver_fill_info(const struct sim_session *s, struct trace_info *info)
{
    const struct etw_sim_options *o = &s->sim->options;
    uint64_t frequency = s->clock == TRACE_CLOCK_SYSTEM_TIME ? 10000000
                         : s->clock == TRACE_CLOCK_CPU_CYCLE ? (uint64_t)o->cpu_mhz * 1000000
                                                             : o->perf_frequency;
    *info = (struct trace_info){.session_name = s->name,
        .clock = {.type = (enum trace_clock_type)s->clock,
            .start_time = s->start_time,
            .start_raw = s->start_raw,
            .frequency = frequency},
        .boot_time = s->sim->boot_time,
        .timer_resolution = 156250,
        .pointer_size = 8};
}

void sim_deliver_fill_header(const struct sim_session *s, struct etw_logfile_header *header)
{
    const struct etw_sim_options *o = &s->sim->options;
    *header = (struct etw_logfile_header){.buffer_size = s->buffer_bytes,
        .version = 0x0501000a,
        .provider_version = o->os_build,
        .number_of_processors = o->processors,
        .timer_resolution = 156250,
        .maximum_file_size = s->max_file_size,
        .log_file_mode = s->mode,
        .buffers_written = s->buffers_written,
        .start_buffers = 1,
        .pointer_size = o->odd_pointer_size ? 4 : 8,
        .events_lost = (uint32_t)s->counts.events_lost,
        .cpu_speed_mhz = o->cpu_mhz,
        .boot_time = (int64_t)s->sim->boot_time,
        .perf_freq = o->no_perf_freq ? 0 : (int64_t)o->perf_frequency,
        .start_time = (int64_t)s->start_time,
        .reserved_flags = s->clock,
        .buffers_lost = s->real_time_buffers_lost};
}

/* ---- one record ------------------------------------------------------------------------------ */

/* EVENT_EXTENDED_ITEM_INSTANCE. */
struct instance_item {
    uint32_t instance_id;
    uint32_t parent_instance_id;
    struct guid parent_guid;
};

/* Records have few flags themselves. How wide a provider's pointers are their header types say, how
 * wide processor numbers are their buffer does: consumers get both as flags (EVENT_HEADER). */
static uint16_t flags_of(const struct event_record *r)
{
    uint16_t added = EVENT_FLAG_PROCESSOR_INDEX;
    added |= r->pointer_size == 4 ? EVENT_FLAG_32_BIT : EVENT_FLAG_64_BIT;
    switch (r->kind) {
    case RECORD_EVENT:
        return r->flags | added;
    case RECORD_MESSAGE:
        return EVENT_FLAG_TRACE_MESSAGE | added;
    default:
        return EVENT_FLAG_CLASSIC | added;
    }
}

/* The bytes of the record in its buffer, which EVENT_HEADER.Size is. */
static uint16_t size_of(const struct event_record *r)
{
    enum { ITEM_HEADER = 8, MESSAGE_HEADER = 8 };
    static const uint8_t headers[] = {[ETL_SYSTEM32] = ETL_SYSTEM_SIZE,
        [ETL_SYSTEM64] = ETL_SYSTEM_SIZE,
        [ETL_COMPACT32] = ETL_COMPACT_SIZE,
        [ETL_COMPACT64] = ETL_COMPACT_SIZE,
        [ETL_FULL_HEADER32] = ETL_FULL_HEADER_SIZE,
        [ETL_INSTANCE32] = ETL_INSTANCE_SIZE,
        [ETL_PERFINFO32] = ETL_PERFINFO_SIZE,
        [ETL_PERFINFO64] = ETL_PERFINFO_SIZE,
        [ETL_EVENT_HEADER32] = ETL_EVENT_HEADER_SIZE,
        [ETL_EVENT_HEADER64] = ETL_EVENT_HEADER_SIZE,
        [ETL_FULL_HEADER64] = ETL_FULL_HEADER_SIZE,
        [ETL_INSTANCE64] = ETL_INSTANCE_SIZE};
    size_t size = r->kind == RECORD_MESSAGE          ? MESSAGE_HEADER
                  : r->header_type < sizeof(headers) ? headers[r->header_type]
                                                     : 0;
    if (r->kind == RECORD_MESSAGE) {
        size += r->message_flags & ETL_WPP_SEQUENCE ? 4 : 0;
        size += r->message_flags & ETL_WPP_COMPONENT ? 4 : r->message_flags & ETL_WPP_GUID ? 16 : 0;
        size += r->message_flags & ETL_WPP_TIMESTAMP ? 8 : 0;
        size += r->message_flags & ETL_WPP_SYSTEMINFO ? 8 : 0;
    }
    for (size_t i = 0; i < r->extended_count; i++) {
        size += (ITEM_HEADER + r->extended[i].data.size + 7) & ~(size_t)7;
    }
    size += r->payload.size;
    return size < UINT16_MAX ? (uint16_t)size : UINT16_MAX;
}

static uint16_t fill_items(const struct event_record *r, struct instance_item *instance,
    struct etw_extended_item items[RECORD_MAX_EXTENDED + 1])
{
    uint16_t count = 0;
    for (size_t i = 0; i < r->extended_count; i++) {
        items[count++] = (struct etw_extended_item){.ext_type = r->extended[i].type,
            .data_size = (uint16_t)r->extended[i].data.size,
            .data = (uint64_t)(uintptr_t)r->extended[i].data.data};
    }
    if (r->present & RECORD_HAS_INSTANCE) {
        *instance = (struct instance_item){r->instance_id, r->parent_instance_id, r->parent_guid};
        items[count++] = (struct etw_extended_item){.ext_type = EXTENDED_INSTANCE_INFO,
            .data_size = sizeof(*instance),
            .data = (uint64_t)(uintptr_t)instance};
    }
    for (uint16_t i = 0; i + 1 < count; i++) {
        items[i].linkage = 1;
    }
    return count;
}

/* The form from before Windows Vista: EVENT_TRACE. */
static void give_event_trace(
    struct sim_trace *t, const struct etw_event_record *record, const struct event_record *r)
{
    struct etw_event_trace event = {
        .header = {.size = record->header.size,
            .type = r->descriptor.opcode,
            .level = r->descriptor.level,
            .version = r->descriptor.version,
            .thread_id = record->header.thread_id,
            .process_id = record->header.process_id,
            .time_stamp = record->header.time_stamp,
            .guid = r->provider,
            .processor_time = record->header.processor_time},
        .instance_id = r->instance_id,
        .parent_instance_id = r->parent_instance_id,
        .parent_guid = r->parent_guid,
        .mof_data = record->user_data,
        .mof_length = record->user_data_length,
        .client_context = (uint32_t)record->processor_index | (uint32_t)record->logger_id << 16,
    };
    /* EVENT_TRACE_LOGFILE's callback is a union of two kinds. */
    void (*callback)(struct etw_event_trace *) = (void (*)(struct etw_event_trace *))(
        void (*)(void))t->log.event_callback;
    if (callback) {
        callback(&event);
    }
    struct etw_sim *sim = etw_sim_world();
    void (*own)(struct etw_event_trace *) = NULL;
    plat_mutex_lock(&sim->lock);
    for (struct sim_trace_callback *c = sim->trace_callbacks; c; c = c->next) {
        own = guid_equal(&c->guid, &r->provider) ? c->callback : own;
    }
    plat_mutex_unlock(&sim->lock);
    if (own) {
        own(&event);
    }
}

void sim_deliver_record(struct sim_trace *t, const struct event_record *r, uint16_t logger_id)
{
    struct etw_extended_item items[RECORD_MAX_EXTENDED + 1];
    struct instance_item instance;
    if ((int64_t)r->time < t->start || (int64_t)r->time > t->end) {
        return;
    }
    /* Only a message's own header says which fields it has. Windows' values for the others are not
     * documented, so consumers get those that are most easily mistaken for a value. */
    bool is_message = r->kind == RECORD_MESSAGE;
    uint32_t no_id = is_message ? 0 : UINT32_MAX;
    struct guid provider = r->provider;
    if (r->present & RECORD_HAS_COMPONENT) {
        store_le32(provider.bytes, r->message_component);
    }
    int64_t stamp = t->log.process_trace_mode & ETW_PROCESS_RAW_TIMESTAMP ? r->time_raw
                                                                          : (int64_t)r->time;
    bool has_process = r->present & RECORD_HAS_PROCESS;
    bool has_thread = r->present & RECORD_HAS_THREAD;
    struct etw_event_record record = {
        .header = {.size = size_of(r),
            .header_type = r->header_type,
            .flags = flags_of(r),
            .event_property = r->event_property,
            .thread_id = has_thread ? r->thread_id : no_id,
            .process_id = has_process ? r->process_id : no_id,
            .time_stamp = r->present & RECORD_TIME_OF_BUFFER ? 0 : stamp,
            .provider_id = provider,
            .descriptor = r->descriptor,
            .activity_id = r->activity_id},
        .processor_index = r->cpu,
        .logger_id = logger_id,
        .user_data_length = (uint16_t)r->payload.size,
        .user_data = (void *)(uintptr_t)r->payload.data,
        .user_context = t->log.context};
    record.header.kernel_time = r->kernel_ticks;
    record.header.user_time = r->user_ticks;
    record.extended_data_count = fill_items(r, &instance, items);
    record.extended_data = record.extended_data_count ? items : NULL;
    if (!(t->log.process_trace_mode & ETW_PROCESS_EVENT_RECORD)) {
        give_event_trace(t, &record, r);
    } else if (t->log.event_callback) {
        t->log.event_callback(&record);
    }
}

static void put_header(const struct sim_session *s, struct buf *out)
{
    const struct etw_sim_options *o = &s->sim->options;
    const struct etl_options options = {.buffer_size = s->buffer_bytes,
        .processors = (uint16_t)o->processors,
        .pointer_size = 8,
        .clock = (enum trace_clock_type)s->clock,
        .perf_frequency = o->perf_frequency,
        .cpu_mhz = o->cpu_mhz,
        .start_time = s->start_time,
        .start_raw = s->start_raw,
        .boot_time = s->sim->boot_time,
        .log_file_mode = s->mode,
        .session_name = s->name_text,
        .file_name = s->file_text};
    etl_writer_header_record(&options, &(struct etl_counts){.buffers_written = 1}, out);
}

void sim_deliver_header(struct sim_trace *t)
{
    struct sim_session *s = t->session;
    struct buf bytes;
    struct event_record record;
    struct extended_item items[RECORD_MAX_EXTENDED];
    struct etl_scope scope = {.trace = &t->info};
    if (t->kind == SIM_TRACE_RAW || !s->sim->options.header_event) {
        return;
    }
    buf_init(&bytes, SIM_RECORD_ROOM);
    plat_mutex_lock(&s->sim->lock);
    put_header(s, &bytes);
    plat_mutex_unlock(&s->sim->lock);
    if (!bytes.failed) {
        etl_record_read(buf_span(&bytes), &scope, items, &record);
        sim_deliver_record(t, &record, s->id);
    }
    buf_fini(&bytes);
}

/* ---- buffers --------------------------------------------------------------------------------- */

struct cursor {
    struct sim_chunk *chunk;
    uint32_t offset; /* of the next record */
    bool begun;
    bool done;
    struct etl_scope scope;
    struct event_record record;
    struct extended_item items[RECORD_MAX_EXTENDED];
};

static void step(struct cursor *c)
{
    struct span rest = span_from(span_make(c->chunk->data, c->chunk->used), c->offset);
    uint32_t size = 0;
    if (rest.size < ETL_RECORD_START_SIZE ||
        etl_record_frame(rest.data, &size) != ETL_FRAME_RECORD || size > rest.size) {
        c->done = true;
        return;
    }
    c->scope.position.record_offset = c->offset;
    etl_record_read(span_first(rest, size), &c->scope, c->items, &c->record);
    c->offset += (size + 7) & ~7u;
}

static void tell_losses(struct sim_trace *t, struct cursor *c)
{
    for (unsigned bit = 0; bit < 3; bit++) {
        if (c->chunk->lost >> bit & 1) {
            const struct event_record lost = {.kind = RECORD_CLASSIC,
                .header_type = ETL_FULL_HEADER64,
                .pointer_size = 8,
                .present = RECORD_HAS_TIME,
                .cpu = c->chunk->cpu,
                .time_raw = c->record.time_raw,
                .time = c->record.time,
                .provider = lost_guid,
                .descriptor = {.opcode = (uint8_t)(32 + bit)},
                .trace = &t->info};
            sim_deliver_record(t, &lost, t->session->id);
        }
    }
}

static bool end_buffer(struct sim_trace *t, const struct sim_chunk *chunk)
{
    t->log.buffers_read++;
    t->log.filled = chunk->used;
    t->log.buffer_size = t->session->buffer_bytes;
    t->log.current_time = (int64_t)trace_clock_filetime(&t->info.clock, chunk->last_time);
    if (t->kind == SIM_TRACE_RAW && t->raw.buffer_callback) {
        const struct etw_buffer_info info = {
            .trace = t->handle, .header = &t->log.header, .buffers_read = t->log.buffers_read};
        return t->raw.buffer_callback(
                   chunk->data, t->session->buffer_bytes, &info, t->raw.buffer_context) != 0;
    }
    return !t->log.buffer_callback || t->log.buffer_callback(&t->log) != 0;
}

static struct cursor *earliest(struct cursor *cursors, size_t count)
{
    struct cursor *best = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!cursors[i].done && (!best || cursors[i].record.time_raw < best->record.time_raw)) {
            best = &cursors[i];
        }
    }
    return best;
}

static bool give_raw(struct sim_trace *t, struct sim_chunk *const *chunks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!end_buffer(t, chunks[i])) {
            return false;
        }
    }
    return true;
}

bool sim_deliver_batch(
    struct sim_trace *t, struct sim_chunk *const *chunks, size_t count, uint64_t *ret_late)
{
    if (t->kind == SIM_TRACE_RAW && !t->raw.event_callback) {
        return give_raw(t, chunks, count);
    }
    struct cursor *cursors = calloc(count, sizeof(*cursors));
    if (!cursors) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        cursors[i].chunk = chunks[i];
        cursors[i].offset = SIM_BUFFER_HEADER;
        cursors[i].scope.trace = &t->info;
        cursors[i].scope.cpu = chunks[i]->cpu;
        step(&cursors[i]);
    }
    bool go_on = true;
    struct cursor *c;
    while (go_on && (c = earliest(cursors, count)) != NULL) {
        if (!c->begun) {
            c->begun = true;
            tell_losses(t, c);
        }
        *ret_late += atomic_load(&t->closing);
        sim_deliver_record(t, &c->record, t->session->id);
        step(c);
        if (c->done) {
            go_on = end_buffer(t, c->chunk);
        }
    }
    free(cursors);
    return go_on;
}
