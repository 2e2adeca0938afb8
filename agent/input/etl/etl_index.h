#ifndef ETWSHIP_INPUT_ETL_INDEX_H
#define ETWSHIP_INPUT_ETL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Positions and order of the buffers of a trace: 16 bytes per buffer, made in the first pass. A
 * chain is the sequence of buffers of one processor. Header buffers form their own chain, because
 * they are written at the start and at the end.
 */
struct etl_index_entry {
    uint64_t place; /* file offset << 16 | chain */
    uint64_t order; /* epoch << 56 | sequence number */
};

enum {
    ETL_INDEX_MAX_EPOCHS = 256,
    ETL_INDEX_HEADER_CHAIN = 0x8000,
    ETL_INDEX_LEFTOVER_CHAIN = 1, /* of event logs */
};

struct etl_index {
    struct etl_index_entry *entries;
    size_t count;
    size_t capacity;
};

/* Zero-initialise for an empty index. */
void etl_index_fini(struct etl_index *index);

/* Add a buffer. ${offset} must be below 2^48, ${epoch} below ETL_INDEX_MAX_EPOCHS; 56 bits of the
 * sequence number are kept. False when out of memory. */
bool etl_index_add(
    struct etl_index *index, uint64_t offset, uint16_t chain, size_t epoch, uint64_t sequence);

/* Call after all buffers were added: sort in place by chain, epoch, sequence number and file
 * offset, and release spare memory. */
void etl_index_sort(struct etl_index *index);

static inline uint64_t etl_index_offset(const struct etl_index_entry *entry)
{
    return entry->place >> 16;
}

static inline uint16_t etl_index_chain(const struct etl_index_entry *entry)
{
    return (uint16_t)entry->place;
}

static inline size_t etl_index_epoch(const struct etl_index_entry *entry)
{
    return (size_t)(entry->order >> 56);
}

#endif
