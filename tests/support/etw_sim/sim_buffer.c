/*
 * A session's buffers. One per processor is being filled. A full one waits in `full` for the
 * logger, which writes it to the file and queues it for consumers. Until then it is one of the
 * session's buffers: with none free, events are lost. When queued, it lies in the consumer's
 * memory, or in the playback file if there is no consumer or the consumer has enough. With no room
 * there either, the buffer is lost, and writers are refused until a consumer reads
 * (about-event-tracing).
 *
 * Sessions in buffering mode keep all in `full`, and reuse the oldest.
 */
#include "support/etw_sim/sim_state.h"

#include <stdlib.h>

#include "base/bytes.h"

static void push(struct sim_chunks *list, struct sim_chunk *chunk)
{
    chunk->next = NULL;
    if (list->tail) {
        list->tail->next = chunk;
    } else {
        list->head = chunk;
    }
    list->tail = chunk;
}

static struct sim_chunk *pop(struct sim_chunks *list)
{
    struct sim_chunk *chunk = list->head;
    if (chunk) {
        list->head = chunk->next;
        list->tail = list->head ? list->tail : NULL;
        chunk->next = NULL;
    }
    return chunk;
}

static uint32_t stream_of(const struct sim_session *s, uint16_t cpu)
{
    return cpu % s->streams;
}

static void give_back(struct sim_session *s, struct sim_chunk *chunk)
{
    if (chunk->place == SIM_IN_POOL) {
        s->in_pool--;
    } else if (chunk->place == SIM_IN_CONSUMER) {
        s->in_consumer--;
    } else {
        s->playback_bytes -= s->buffer_bytes;
    }
    if (chunk->place != SIM_IN_POOL) {
        s->playback_full = false;
    }
    push(&s->spare, chunk);
}

/* An empty buffer, or NULL if all are in use. */
static struct sim_chunk *take(struct sim_session *s, uint16_t cpu)
{
    if (s->in_pool >= s->number) {
        if (s->number < s->maximum) {
            s->number++;
        } else if (s->mode & ETW_MODE_BUFFERING && s->full.head) {
            struct sim_chunk *oldest = pop(&s->full);
            s->counts.overwritten += oldest->events;
            give_back(s, oldest);
        } else {
            return NULL;
        }
    }
    struct sim_chunk *chunk = pop(&s->spare);
    if (!chunk) {
        chunk = malloc(sizeof(*chunk) + s->buffer_bytes);
        if (!chunk) {
            return NULL;
        }
    }
    s->in_pool++;
    memset(chunk, 0, sizeof(*chunk));
    memset(chunk->data, 0, SIM_BUFFER_HEADER);
    chunk->used = SIM_BUFFER_HEADER;
    chunk->cpu = cpu;
    chunk->place = SIM_IN_POOL;
    chunk->lost = s->stream_lost[stream_of(s, cpu)];
    s->stream_lost[stream_of(s, cpu)] = 0;
    return chunk;
}

/* The buffer of ${stream} goes to the logger. */
static void close_stream(struct sim_session *s, uint32_t stream)
{
    struct sim_chunk *chunk = s->fill[stream];
    s->fill[stream] = NULL;
    chunk->sequence = ++s->sequence;
    push(&s->full, chunk);
}

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

uint32_t sim_buffer_prepare(struct sim_session *s, uint16_t cpu, size_t bytes)
{
    uint32_t stream = stream_of(s, cpu);
    if (bytes > 0xffff) {
        return SIM_ERROR_ARITHMETIC_OVERFLOW;
    }
    if (padded(bytes) > s->buffer_bytes - SIM_BUFFER_HEADER) {
        return ETW_ERROR_MORE_DATA;
    }
    if (s->playback_full || s->file_full) {
        return SIM_ERROR_LOG_FILE_FULL;
    }
    struct sim_chunk *chunk = s->fill[stream];
    if (chunk && chunk->used + padded(bytes) <= s->buffer_bytes) {
        return 0;
    }
    if (chunk) {
        close_stream(s, stream);
        if (!s->sim->options.logger_period_ms) {
            sim_buffer_log(s, false);
        }
        if (s->file_full) {
            return SIM_ERROR_LOG_FILE_FULL;
        }
    }
    s->fill[stream] = take(s, s->streams == 1 ? 0 : cpu);
    return s->fill[stream] ? 0 : ETW_ERROR_NOT_ENOUGH_MEMORY;
}

void sim_buffer_put(
    struct sim_session *s, uint16_t cpu, int64_t time, struct span record, bool counted)
{
    struct sim_chunk *chunk = s->fill[stream_of(s, cpu)];
    uint8_t *to = chunk->data + chunk->used;
    memcpy(to, record.data, record.size);
    memset(to + record.size, 0, padded(record.size) - record.size);
    chunk->used += (uint32_t)padded(record.size);
    chunk->last_time = time;
    if (counted) {
        chunk->events++;
        s->counts.logged++;
    }
}

void sim_buffer_lose(struct sim_session *s, uint16_t cpu, uint32_t code)
{
    s->counts.events_lost++;
    if (code == SIM_ERROR_LOG_FILE_FULL) {
        s->counts.refused_writes++;
    }
    if (code == ETW_ERROR_NOT_ENOUGH_MEMORY) {
        s->stream_lost[stream_of(s, cpu)] |= SIM_LOST_EVENT;
    }
}

void sim_buffer_header(const struct sim_session *s, struct sim_chunk *chunk)
{
    uint8_t *h = chunk->data;
    uint16_t flags = chunk->flags | SIM_FLAG_PROC_INDEX;
    flags |= chunk->lost & SIM_LOST_EVENT ? SIM_FLAG_EVENTS_LOST : 0;
    flags |= chunk->lost & SIM_LOST_BUFFER ? SIM_FLAG_BUFFER_LOST : 0;
    memset(h, 0, SIM_BUFFER_HEADER);
    store_le32(h, s->buffer_bytes);
    store_le32(h + 0x04, chunk->used);
    store_le32(h + 0x08, chunk->used);
    store_le64(h + 0x10, (uint64_t)chunk->last_time);
    store_le64(h + 0x18, chunk->sequence);
    store_le16(h + 0x28, chunk->cpu);
    store_le16(h + 0x2a, s->id);
    store_le32(h + 0x2c, 3);
    store_le32(h + 0x30, chunk->used);
    store_le16(h + 0x34, flags);
    memset(h + chunk->used, 0xff, s->buffer_bytes - chunk->used);
}

/* ---- the logger ------------------------------------------------------------------------------ */

static void lose_queued(struct sim_session *s, struct sim_chunk *chunk)
{
    s->real_time_buffers_lost++;
    s->counts.buffers_lost++;
    s->counts.in_lost_buffers += chunk->events;
    s->queue_lost |= SIM_LOST_BUFFER | chunk->lost;
    give_back(s, chunk);
}

static bool find_place(struct sim_session *s, struct sim_chunk *chunk)
{
    const struct etw_sim_options *o = &s->sim->options;
    if (s->lose_buffers) {
        s->lose_buffers--;
        return false;
    }
    if (s->consumer_count && s->in_consumer < o->consumer_buffers) {
        chunk->place = SIM_IN_CONSUMER;
        s->in_consumer++;
    } else if (s->playback_bytes + s->buffer_bytes <= (uint64_t)o->playback_kb * 1024) {
        chunk->place = SIM_IN_PLAYBACK;
        s->playback_bytes += s->buffer_bytes;
    } else {
        s->playback_full = true;
        return false;
    }
    s->in_pool--;
    return true;
}

static void queue(struct sim_session *s, struct sim_chunk *chunk)
{
    if (s->lose_file) {
        s->lose_file--;
        s->queue_lost |= SIM_LOST_FILE;
    }
    if (!find_place(s, chunk)) {
        lose_queued(s, chunk);
        return;
    }
    chunk->lost |= s->queue_lost;
    s->queue_lost = 0;
    chunk->index = ++s->queue_index;
    sim_buffer_header(s, chunk);
    push(&s->queue, chunk);
    sim_consumer_queued(s, chunk);
}

void sim_buffer_log(struct sim_session *s, bool drain)
{
    if (s->mode & ETW_MODE_BUFFERING || (s->sim->logger_held && !drain)) {
        return;
    }
    struct sim_chunk *chunk;
    while ((chunk = pop(&s->full)) != NULL) {
        s->buffers_written++;
        bool room = !s->file || sim_file_write(s, chunk);
        if (s->mode & ETW_MODE_REAL_TIME) {
            queue(s, chunk);
        } else {
            give_back(s, chunk);
        }
        s->file_full = s->file_full || !room;
    }
}

void sim_buffer_flush(struct sim_session *s, bool drain)
{
    struct sim_chunk *last = NULL;
    for (uint32_t i = 0; i < s->streams; i++) {
        if (s->fill[i] && s->fill[i]->used > SIM_BUFFER_HEADER) {
            last = s->fill[i];
            close_stream(s, i);
        }
    }
    if (last) {
        last->flags |= SIM_FLAG_FLUSH_MARKER;
    }
    sim_buffer_log(s, drain);
}

/* ---- consumers ------------------------------------------------------------------------------- */

static void unlink_chunk(struct sim_chunks *list, struct sim_chunk *chunk)
{
    struct sim_chunk *before = NULL;
    struct sim_chunk *at = list->head;
    while (at && at != chunk) {
        before = at;
        at = at->next;
    }
    if (!at) {
        return;
    }
    if (before) {
        before->next = chunk->next;
    } else {
        list->head = chunk->next;
    }
    if (list->tail == chunk) {
        list->tail = before;
    }
    chunk->next = NULL;
}

void sim_buffer_read(struct sim_session *s, struct sim_chunk *chunk, bool delivered)
{
    chunk->readers--;
    if (delivered && !chunk->delivered) {
        chunk->delivered = true;
        s->counts.delivered += chunk->events;
        s->counts.buffers_delivered++;
    }
    if (chunk->readers == 0 && (chunk->delivered || !s->running)) {
        if (!chunk->delivered) {
            s->counts.discarded += chunk->events;
        }
        unlink_chunk(&s->queue, chunk);
        give_back(s, chunk);
        plat_cond_broadcast(&s->sim->changed);
    }
}

void sim_buffer_discard(struct sim_session *s)
{
    struct sim_chunk *chunk;
    while ((chunk = pop(&s->full)) != NULL) {
        s->counts.discarded += chunk->events;
        give_back(s, chunk);
    }
    while ((chunk = pop(&s->queue)) != NULL) {
        s->counts.discarded += chunk->delivered ? 0 : chunk->events;
        give_back(s, chunk);
    }
    while ((chunk = pop(&s->spare)) != NULL) {
        free(chunk);
    }
}

void sim_buffer_free(struct sim_session *s)
{
    for (uint32_t i = 0; i < SIM_MAX_CPUS; i++) {
        free(s->fill[i]);
        s->fill[i] = NULL;
    }
    sim_buffer_discard(s);
}
