#include "input/etl/etl_ring.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/grow.h"
#include "base/order.h"

/*
 * Design: after the header buffer come slots with uncompressed buffers of the session's size; the
 * writer overwrites the oldest. A round reads the header in every slot and notes buffers newer than
 * the last delivered one, sorted by sequence number; these are delivered one by one. A buffer is
 * copied, then its header is read again: if it changed, the writer was there and the old content is
 * lost. The newest buffer is delivered once a newer one exists, or when it did not change between
 * two rounds. So a round costs one short read per slot, a hundred for a file of 6 MB, and memory
 * for one buffer.
 */
struct slot {
    uint64_t sequence;
    uint64_t offset;
};

struct etl_ring {
    struct etl_file *file;
    uint64_t start; /* of the first slot */
    uint32_t size;  /* of each */
    uint64_t last;  /* sequence number delivered last; the header buffer has 0 */
    uint64_t last_offset;
    struct slot *slots;
    size_t slot_count;
    size_t slot_capacity;
    size_t next;
    uint64_t slots_in_file;
    uint64_t torn;   /* buffers overwritten during copying */
    bool begun;      /* some were delivered */
    uint64_t newest; /* newest buffer in the last round, with its hash */
    uint64_t newest_hash;
    uint8_t *copy;
    struct etl_bytes bytes;
};

struct etl_ring *etl_ring_create(struct etl_file *file, struct error *err)
{
    uint8_t header[ETL_BUFFER_HEADER_SIZE];
    size_t got;
    struct etl_ring *ring = calloc(1, sizeof(*ring));
    uint32_t size = etl_file_info(file)->buffer_size;
    if (size < ETL_BUFFER_HEADER_SIZE || size > ETL_MAX_BUFFER_BYTES) {
        error_set(err, ERR_FORMAT, "%s: a circular trace with an invalid buffer size of %u bytes",
            file->bytes.path, size);
        free(ring);
        return NULL;
    }
    uint8_t *copy = ring ? malloc(size) : NULL;
    if (!copy) {
        free(ring);
        error_set(err, ERR_MEMORY, "%s: out of memory", file->bytes.path);
        return NULL;
    }
    ring->file = file;
    ring->size = size;
    ring->copy = copy;
    if (!etl_bytes_read(&file->bytes, 0, header, sizeof(header), &got, err)) {
        etl_ring_destroy(ring);
        return NULL;
    }
    ring->start = got == sizeof(header) ? load_le32(header) : size;
    return ring;
}

void etl_ring_destroy(struct etl_ring *ring)
{
    if (ring) {
        free(ring->slots);
        free(ring->copy);
        free(ring);
    }
}

uint64_t etl_ring_offset(const struct etl_ring *ring)
{
    return ring->last_offset;
}

/* Parse a data buffer of the session; false if there is none. */
static bool parse(const struct etl_ring *ring, const uint8_t *header, uint64_t offset,
    struct etl_buffer *ret_buffer)
{
    const char *problem = NULL;
    return etl_buffer_parse(header, offset, ret_buffer, &problem) && !problem &&
           ret_buffer->size == ring->size && ret_buffer->sequence != 0 &&
           ret_buffer->sequence >> 40 == 0 && ret_buffer->type != ETL_TYPE_HEADER &&
           !(ret_buffer->flags & ETL_FLAG_COMPRESSED);
}

static bool note(struct etl_ring *ring, const struct etl_buffer *buffer)
{
    if (!grow_list(&ring->slots, ring->slot_count, &ring->slot_capacity, sizeof(*ring->slots))) {
        return false;
    }
    ring->slots[ring->slot_count++] = (struct slot){
        .sequence = buffer->sequence, .offset = buffer->offset};
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct slot *x = a;
    const struct slot *y = b;
    int order = order_u64(x->sequence, y->sequence);
    return order ? order : order_u64(x->offset, y->offset);
}

/* Note buffers newer than the last delivered one. */
static bool look_around(struct etl_ring *ring, struct error *err)
{
    struct etl_bytes *bytes = &ring->file->bytes;
    ring->slot_count = 0;
    ring->next = 0;
    ring->slots_in_file = 0;
    for (uint64_t at = ring->start; at + ring->size <= bytes->size; at += ring->size) {
        uint8_t header[ETL_BUFFER_HEADER_SIZE];
        struct etl_buffer buffer;
        size_t got;
        ring->slots_in_file++;
        if (!etl_bytes_read(bytes, at, header, sizeof(header), &got, err)) {
            return false;
        }
        if (got == sizeof(header) && parse(ring, header, at, &buffer) &&
            buffer.sequence > ring->last && !note(ring, &buffer)) {
            return error_set(err, ERR_MEMORY, "%s: out of memory", bytes->path);
        }
    }
    if (ring->slot_count) {
        qsort(ring->slots, ring->slot_count, sizeof(*ring->slots), compare);
    }
    return true;
}

/* The newest buffer may be partially written. It counts as complete if it did not change since the
 * last round. */
static bool has_settled(struct etl_ring *ring, uint64_t sequence)
{
    uint64_t hash = XXH3_64bits(ring->copy, ring->size);
    bool settled = ring->newest == sequence && ring->newest_hash == hash;
    ring->newest = sequence;
    ring->newest_hash = hash;
    return settled;
}

enum copied { COPIED, COPY_TORN, COPY_FAILED };

/* Copy the slot's buffer; TORN: it is being written. */
static enum copied copy_slot(struct etl_ring *ring, const struct slot *slot, bool must_settle,
    struct etl_buffer *ret_buffer, struct error *err)
{
    struct etl_bytes *bytes = &ring->file->bytes;
    uint8_t again[ETL_BUFFER_HEADER_SIZE];
    size_t got;
    size_t got_again;
    if (!etl_bytes_read(bytes, slot->offset, ring->copy, ring->size, &got, err) ||
        !etl_bytes_read(bytes, slot->offset, again, sizeof(again), &got_again, err)) {
        return COPY_FAILED;
    }
    bool same = got == ring->size && got_again == sizeof(again) &&
                memcmp(ring->copy, again, sizeof(again)) == 0 &&
                parse(ring, ring->copy, 0, ret_buffer) && ret_buffer->sequence == slot->sequence;
    return same && (!must_settle || has_settled(ring, slot->sequence)) ? COPIED : COPY_TORN;
}

/* Number of buffers between the last one and ${sequence} that were overwritten in the writer's next
 * round. A missing number whose slot the round has not reached was never written. */
static uint64_t count_overwritten(struct etl_ring *ring, uint64_t sequence)
{
    uint64_t newest = ring->slots[ring->slot_count - 1].sequence;
    uint64_t end = newest > ring->slots_in_file ? newest - ring->slots_in_file : 0;
    end = end < sequence ? end : sequence - 1;
    uint64_t count = end > ring->last ? end - ring->last : 0;
    count = count > ring->torn ? count : ring->torn;
    ring->torn = 0;
    return ring->begun ? count : 0;
}

void etl_ring_skip(struct etl_ring *ring, uint64_t sequence)
{
    ring->last = sequence > ring->last ? sequence : ring->last;
    ring->begun = ring->begun || ring->last;
    ring->slot_count = 0;
    ring->next = 0;
}

bool etl_ring_oldest(struct etl_ring *ring, uint64_t *ret_sequence, struct error *err)
{
    if (!look_around(ring, err)) {
        return false;
    }
    *ret_sequence = ring->slot_count ? ring->slots[0].sequence : 0;
    return true;
}

enum etl_ring_step etl_ring_next(struct etl_ring *ring, uint64_t to, bool is_closed,
    struct etl_buffer *ret_buffer, struct etl_bytes **ret_bytes, uint64_t *ret_skipped,
    struct error *err)
{
    if (ring->next == ring->slot_count && !look_around(ring, err)) {
        return ETL_RING_FAILED;
    }
    while (ring->next < ring->slot_count && ring->slots[ring->next].sequence <= to) {
        const struct slot *slot = &ring->slots[ring->next];
        if (slot->sequence <= ring->last) {
            ring->next++; /* duplicate number */
            continue;
        }
        bool is_newest = ring->next + 1 == ring->slot_count;
        enum copied copied = copy_slot(ring, slot, is_newest && !is_closed, ret_buffer, err);
        if (copied == COPY_FAILED) {
            return ETL_RING_FAILED;
        }
        if (copied == COPY_TORN && is_newest) {
            ring->slot_count = 0; /* start a new round next time */
            ring->next = 0;
            return ETL_RING_NONE;
        }
        ring->next++;
        ring->torn += copied == COPY_TORN;
        if (copied == COPIED) {
            *ret_skipped = count_overwritten(ring, slot->sequence);
            ring->begun = true;
            ring->last = slot->sequence;
            ring->last_offset = slot->offset;
            etl_bytes_use_memory(
                &ring->bytes, span_make(ring->copy, ring->size), ring->file->bytes.path);
            *ret_bytes = &ring->bytes;
            return ETL_RING_BUFFER;
        }
    }
    return ETL_RING_NONE;
}
