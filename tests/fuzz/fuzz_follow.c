#define _GNU_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "input/etl/etl_follow.h"
#include "input/etl/etl_probe.h"
#include "unit/input/trace_bytes.h"

/* Any bytes as a trace that grows in three pieces. No record may come twice, and the records of a
 * processor come in the order of the file. */

enum { MAX_RECORDS = 1 << 16, PIECES = 3 };

struct seen {
    size_t count;
    uint64_t places[MAX_RECORDS];
};

static char path[64];
static volatile uint8_t touched;

static bool on_record(void *self, const struct event_record *record)
{
    struct seen *seen = self;
    for (size_t i = 0; i < record->payload.size; i++) {
        touched ^= record->payload.data[i];
    }
    if (seen->count < MAX_RECORDS) {
        seen->places[seen->count++] = record->position.buffer_offset << 24 |
                                      record->position.record_offset;
    }
    return true;
}

static bool on_reads(void *self, uint64_t to)
{
    (void)self;
    (void)to;
    return true;
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void check(struct seen *seen)
{
    qsort(seen->places, seen->count, sizeof(seen->places[0]), compare);
    for (size_t i = 1; i < seen->count; i++) {
        if (seen->places[i] == seen->places[i - 1]) {
            abort();
        }
    }
}

static struct etl_follow *look(
    struct etl_follow *follow, struct arena *arena, const struct etl_follow_events *events)
{
    struct etl_follow_look found;
    if (!follow) {
        enum etl_probe probe = etl_probe_path(path, NULL);
        if (probe == ETL_PROBE_GROWING || probe == ETL_PROBE_WHOLE) {
            follow = etl_follow_open(path, NULL, arena, 0, events, NULL);
        }
    }
    if (follow && etl_follow_look(follow, path, &found, NULL) && !found.replaced) {
        etl_follow_grow_header(follow, found.header_end, NULL);
        etl_follow_read(follow, UINT64_MAX, NULL);
    }
    return follow;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct seen seen;
    struct arena arena;
    const struct etl_follow_events events = {.self = &seen, .record = on_record, .reads = on_reads};
    if (path[0] == '\0') {
        snprintf(path, sizeof(path), "/tmp/etwship_fuzz_follow_%d", (int)getpid());
    }
    FILE *file = fopen(path, "wb");
    if (!file) {
        abort();
    }
    seen.count = 0;
    arena_init(&arena, 1 << 24);
    struct etl_follow *follow = NULL;
    for (size_t i = 0; i < PIECES; i++) {
        size_t from = size * i / PIECES;
        size_t to = size * (i + 1) / PIECES;
        if (fwrite(data + from, 1, to - from, file) != to - from || fflush(file) != 0) {
            abort();
        }
        follow = look(follow, &arena, &events);
    }
    fclose(file);
    if (follow) {
        etl_follow_flush(follow, NULL);
        check(&seen);
    }
    etl_follow_destroy(follow);
    arena_fini(&arena);
    unlink(path);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static struct trace t;
    if (index > 2) {
        return 0;
    }
    memset(&t, 0, sizeof(t));
    trace_header(&t, (struct trace_options){.open = index > 0, .mode = index == 2 ? 2 : 0});
    trace_buffer(&t, 0, 1, 2000, 10, 1, 3);
    trace_buffer(&t, 1, 2, 2005, 10, 11, 3);
    trace_buffer(&t, 0, 3, 2105, 10, 21, 3);
    size_t size = t.size < max ? t.size : max;
    memcpy(out, t.bytes, size);
    return size;
}
