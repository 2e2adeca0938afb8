#include "store/pending.h"

#include "base/grow.h"

struct pending_batch {
    struct store_row row;
    struct frame_source *sources;
    size_t source_count;
    struct span body;
    size_t bytes;    /* of memory, the body's too where that is lent */
    bool is_placed;  /* written */
    bool is_durable; /* and synced */
};

struct pending {
    struct pending_batch **batches; /* by id */
    size_t count;
    size_t capacity;
    uint64_t bytes; /* of all */
};

struct pending *pending_create(void)
{
    return calloc(1, sizeof(struct pending));
}

void pending_clear(struct pending *pending)
{
    for (size_t i = 0; i < pending->count; i++) {
        free(pending->batches[i]);
    }
    pending->count = 0;
    pending->bytes = 0;
}

void pending_destroy(struct pending *pending)
{
    if (pending) {
        pending_clear(pending);
        free((void *)pending->batches);
        free(pending);
    }
}

size_t pending_count(const struct pending *pending)
{
    return pending->count;
}

uint64_t pending_bytes(const struct pending *pending)
{
    return pending->bytes;
}

const struct store_row *pending_row(const struct pending *pending, size_t index)
{
    return &pending->batches[index]->row;
}

const struct frame_source *pending_sources(
    const struct pending *pending, size_t index, size_t *ret_count)
{
    *ret_count = pending->batches[index]->source_count;
    return pending->batches[index]->sources;
}

/* The batch, its sources, their names and the body, unless that is lent, in one block. */
static struct pending_batch *copy(const struct store_batch *from, size_t *ret_bytes)
{
    size_t bytes = sizeof(struct pending_batch) + from->source_count * sizeof(struct frame_source);
    for (size_t i = 0; i < from->source_count; i++) {
        bytes += from->sources[i].session.size;
    }
    struct pending_batch *batch = malloc(bytes + (from->is_lent ? 0 : from->body.size));
    if (!batch) {
        return NULL;
    }
    *batch = (struct pending_batch){.source_count = from->source_count};
    batch->sources = (struct frame_source *)(void *)(batch + 1);
    uint8_t *at = (uint8_t *)(batch->sources + from->source_count);
    for (size_t i = 0; i < from->source_count; i++) {
        struct span name = from->sources[i].session;
        batch->sources[i] = (struct frame_source){
            .session = span_make(at, name.size), .sequence = from->sources[i].sequence};
        if (name.size) {
            memcpy(at, name.data, name.size);
        }
        at += name.size;
    }
    batch->body = from->body;
    if (!from->is_lent && from->body.size) {
        memcpy(at, from->body.data, from->body.size);
        batch->body.data = at;
    }
    *ret_bytes = bytes + from->body.size;
    return batch;
}

/* The arguments of segments_append. Views of ${batch}. */
static struct segments_batch frame_of(const struct pending_batch *batch)
{
    return (struct segments_batch){
        .id = batch->row.id,
        .stream = batch->row.stream,
        .first_record = batch->row.first_record,
        .records = batch->row.records,
        .first_time = batch->row.first_time,
        .last_time = batch->row.last_time,
        .entered = batch->row.entered,
        .sources = batch->sources,
        .source_count = batch->source_count,
        .body = batch->body,
    };
}

bool pending_add(struct pending *pending, const struct store_batch *batch,
    const struct store_row *row, struct error *err)
{
    size_t bytes;
    bool has_room = grow_list(
        &pending->batches, pending->count, &pending->capacity, sizeof(struct pending_batch *));
    struct pending_batch *added = has_room ? copy(batch, &bytes) : NULL;
    if (!added) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    added->row = *row;
    added->bytes = bytes;
    struct segments_batch frame = frame_of(added);
    if (!segments_fits(&frame, err)) {
        free(added);
        return false;
    }
    pending->batches[pending->count++] = added;
    pending->bytes += bytes;
    return true;
}

bool pending_place(struct pending *pending, struct segments *segments, struct error *err)
{
    for (size_t i = 0; i < pending->count; i++) {
        struct pending_batch *batch = pending->batches[i];
        if (batch->is_placed) {
            continue;
        }
        struct segments_batch frame = frame_of(batch);
        struct segment_place place;
        if (!segments_append(segments, &frame, &place, err)) {
            return false;
        }
        batch->row.segment = place.segment;
        batch->row.offset = place.offset;
        batch->row.disk_bytes = place.bytes;
        batch->is_placed = true;
    }
    return true;
}

bool pending_sync(struct pending *pending, struct segments *segments, struct error *err)
{
    bool is_durable = true;
    for (size_t i = 0; i < pending->count; i++) {
        is_durable = is_durable && pending->batches[i]->is_durable;
    }
    if (is_durable) {
        return true;
    }
    bool synced = segments_sync(segments, err);
    for (size_t i = 0; i < pending->count; i++) {
        struct pending_batch *batch = pending->batches[i];
        batch->is_durable = batch->is_durable || (synced && batch->is_placed);
        batch->is_placed = batch->is_durable;
    }
    return synced;
}

void pending_undo(struct pending *pending, struct segments *segments)
{
    segments_undo(segments);
    for (size_t i = 0; i < pending->count; i++) {
        pending->batches[i]->is_placed = pending->batches[i]->is_durable;
    }
}

bool pending_uses(const struct pending *pending, uint64_t segment)
{
    for (size_t i = 0; i < pending->count; i++) {
        if (pending->batches[i]->is_placed && pending->batches[i]->row.segment == segment) {
            return true;
        }
    }
    return false;
}

uint64_t pending_segment(const struct pending *pending)
{
    uint64_t segment = 0;
    for (size_t i = 0; i < pending->count; i++) {
        const struct pending_batch *batch = pending->batches[i];
        segment = batch->is_placed ? batch->row.segment : segment;
    }
    return segment;
}

void pending_shift_entered(struct pending *pending, uint64_t by, uint64_t now)
{
    for (size_t i = 0; i < pending->count; i++) {
        uint64_t *entered = &pending->batches[i]->row.entered;
        *entered = *entered <= now - by ? *entered + by : now;
    }
}
