#ifndef ETWSHIP_TESTS_BENCH_LIMIT_H
#define ETWSHIP_TESTS_BENCH_LIMIT_H

#include "event/model/record.h"

/*
 * What a program costs that knows every event type in advance: the yardstick of the benchmark. It
 * writes the native JSON of six kinds of the sample events (support/etl_mix.h) byte for byte as
 * the agent does, with all names as constants and one straight function per kind. No schemas, no
 * filters, no choices: nothing general can be faster by much.
 *
 * Records are trusted to be the mix's own, of 64-bit processes; reads still stay inside the
 * payload. One thread at a time.
 */
struct limit {
    uint64_t second; /* the last one written */
    char second_text[20];
    char etw[512]; /* `,"etw":{"session":"…","sequence":` */
    size_t etw_size;
    char file[1024]; /* `,"file":"…"}` or `}`: ends the etw object */
    size_t file_size;
    char tail[2048]; /* `,"host":{…}` and what the caller gave, `}` and a newline */
    size_t tail_size;
};

/* ${tail}: the members after the event, `,"agent":{…}…`, up to 1 KB, as event_tail_render writes
 * them. False if one of the texts is longer than there is room. */
bool limit_init(struct limit *limit, const struct trace_info *trace, struct span tail);

/* Bytes that limit_write may need for ${record}. */
static inline size_t limit_bound(const struct event_record *record)
{
    return 8192 + 16 * record->payload.size;
}

/* Write one line; returns its length, or 0 for a kind that the program does not know. */
size_t limit_write(struct limit *limit, const struct event_record *record, uint8_t *out);

#endif
